//! Tests receipts and the log against other implementations of the same standards: `tlog_tiles` and
//! `signed_note` for trees, tiles and notes, a Python file for complete receipts
//! (`peers::receipts`).

mod program;
mod publishers;
mod tampered;
mod trees;

use std::path::PathBuf;

use serde_json::Value;

use pubdata_testing::{Answer, Place, copy_folder};

pub use tampered::attacks;

/// A place whose release is sealed, and the key of its log.
pub struct SealedPlace {
    pub place: Place,
    pub key: String,
}

/// File of the log's public key, next to the publisher's secret.
const PUBLIC_KEY: &str = "signing.key.public";

/// Creates a publisher's key, seals the release and returns the key of the log.
fn seal(place: &Place) -> String {
    let file = place.root().join("signing.key");
    let file = file.to_str().unwrap();
    let made = place
        .pubdata(&[
            "keys",
            "signing",
            "--name",
            "data.example.org/2026",
            "--output",
            file,
            "--json",
        ])
        .expect(0)
        .json();
    let sealed = place
        .pubdata(&["seal", "--signing-key", file, "--json"])
        .expect(0)
        .json();
    assert_eq!(
        (&sealed["key"], &sealed["log"]),
        (&made["key"], &Value::from("data.example.org/2026/nightly"))
    );
    made["key"].as_str().unwrap().to_owned()
}

impl SealedPlace {
    /// The fixtures' release, sealed once for all tests.
    pub fn new() -> Self {
        let sealed = Place::new().kept("sealed", |place| {
            copy_folder(&Place::published().home(), &place.home());
            let key = seal(place);
            std::fs::write(place.root().join(PUBLIC_KEY), key).unwrap();
        });
        Self {
            key: std::fs::read_to_string(sealed.root().join(PUBLIC_KEY)).unwrap(),
            place: sealed,
        }
    }

    pub fn from_place(place: Place) -> Self {
        Self {
            key: seal(&place),
            place,
        }
    }

    /// File of the publisher's secret.
    pub fn secret(&self) -> PathBuf {
        self.place.root().join("signing.key")
    }

    pub fn receipt(&self, record_id: &str) -> Value {
        self.place.pubdata(&["receipt", record_id]).expect(0).json()
    }

    /// Runs `pubdata seal` and returns its output.
    pub fn seal(&self, code: i32) -> Answer {
        self.place
            .pubdata(&["seal", "--signing-key", self.secret().to_str().unwrap()])
            .expect(code)
    }

    /// File of the log.
    pub fn log_file(&self, name: &str) -> PathBuf {
        self.place.home().join("log/nightly").join(name)
    }

    /// Result of `pubdata verify` for a receipt.
    pub fn verified(&self, receipt: &Value) -> Value {
        let file = self.place.root().join("receipt.json");
        std::fs::write(&file, receipt.to_string()).unwrap();
        let answer = self.place.pubdata(&[
            "verify-receipt",
            file.to_str().unwrap(),
            "--key",
            &self.key,
            "--json",
        ]);
        let said = answer.json();
        assert_eq!(
            answer.code,
            Some(i32::from(said["is_valid"] == false)),
            "{answer:?}"
        );
        said
    }
}
