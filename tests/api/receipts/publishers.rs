//! Tests the log when publishers are killed, run at the same time, are robbed, or lose their
//! memory: only published releases are signed, and never two trees of one size.

use pubdata_core::ids::Digest;
use pubdata_store::receipts::{Checkpoint, Seal, SealedRelease, root};
use serde_json::{Value, json};

use super::SealedPlace;
use pubdata_testing::{copy_folder, files_below};

const RECORD: &str = "geo.zcta_metric:2023:90210:population";

/// Publishes a release with the bureau's change, unsealed.
fn another_release(sealed: &SealedPlace, population: u32) {
    sealed.place.edit("acsdt5y2023-b01003.dat", |text| {
        let at = text.find("860Z200US90210|").unwrap() + "860Z200US90210|".len();
        let end = at + text[at..].find('|').unwrap();
        format!("{}{population}{}", &text[..at], &text[end..])
    });
    sealed.place.run(&["census.acs5"]).expect(0);
}

fn log(sealed: &SealedPlace) -> Vec<(String, Vec<u8>)> {
    let folder = sealed.place.home().join("log");
    files_below(&folder)
        .into_iter()
        .map(|file| {
            (
                file.strip_prefix(&folder).unwrap().display().to_string(),
                std::fs::read(file).unwrap(),
            )
        })
        .collect()
}

/// Digest of a release that was never published.
fn forged() -> Digest {
    let manifest_sha256 = Digest::sha256(b"never published");
    let release = SealedRelease {
        datasets: 1,
        manifest_sha256,
        records_root: Digest::sha256(b"nothing"),
        release_id: pubdata_core::ids::ReleaseId::from_digest(&manifest_sha256),
    };
    release.digest()
}

#[test]
fn every_release_of_the_channel_is_sealed_in_order() {
    let sealed = SealedPlace::new();
    let first = sealed.place.current();
    another_release(&sealed, 19_653);
    another_release(&sealed, 19_654);
    sealed.seal(0);
    for (population, index) in [("19653", 1), ("19654", 2)] {
        let releases = sealed
            .place
            .pubdata(&["releases", "list", "--json"])
            .expect(0)
            .json();
        let ids = releases["releases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|release| release["release_id"].as_str().unwrap().to_owned());
        let receipts = ids.map(|id| {
            sealed
                .place
                .pubdata(&["receipt", RECORD, "--release", &id])
                .expect(0)
                .json()
        });
        let receipt = receipts
            .into_iter()
            .find(|receipt| receipt["record"]["value"] == population)
            .unwrap();
        assert_eq!(
            (
                &receipt["log_index"],
                &sealed.verified(&receipt)["is_valid"]
            ),
            (&json!(index), &json!(true))
        );
    }
    // Back to the first release: it is logged already.
    sealed
        .place
        .pubdata(&["releases", "rollback", "--to", &first])
        .expect(0);
    let before = log(&sealed);
    sealed.seal(0);
    assert_eq!(log(&sealed), before);
}

/// The next publisher makes the same log as an undisturbed one, at whatever point the first was
/// killed.
#[test]
fn work_of_a_killed_publisher_is_finished_with_the_same_bytes() {
    let sealed = SealedPlace::new();
    another_release(&sealed, 19_653);
    let aside = sealed.place.root().join("before");
    copy_folder(&sealed.place.home(), &aside);
    sealed.seal(0);
    let whole = log(&sealed);
    // Files in the order of writing; the signature is remembered before the checkpoint is written.
    let written = [
        "tile/entries/000.p/2",
        "tile/0/000.p/2",
        "checkpoint/0000000002",
    ];
    for (number, is_remembered) in [(1, false), (2, false), (2, true), (3, true)] {
        let done: Vec<(String, Vec<u8>)> = written[..number]
            .iter()
            .map(|name| {
                (
                    (*name).to_owned(),
                    std::fs::read(sealed.log_file(name)).unwrap(),
                )
            })
            .collect();
        let remembered = std::fs::read(sealed.place.home().join("signed/nightly")).unwrap();
        std::fs::remove_dir_all(sealed.place.home()).unwrap();
        copy_folder(&aside, &sealed.place.home());
        for (name, bytes) in done {
            std::fs::write(sealed.log_file(&name), bytes).unwrap();
        }
        if is_remembered {
            std::fs::write(sealed.place.home().join("signed/nightly"), remembered).unwrap();
        }
        std::fs::remove_file(sealed.log_file("key")).unwrap();
        sealed.seal(0);
        assert!(
            log(&sealed) == whole,
            "{number} files were written, {is_remembered}"
        );
    }
}

/// Two homes of one store; one has begun to log a release that the other does not know.
#[test]
fn faster_publisher_is_not_overwritten() {
    let sealed = SealedPlace::new();
    another_release(&sealed, 19_653);
    let aside = sealed.place.root().join("slower");
    copy_folder(&sealed.place.home(), &aside);
    another_release(&sealed, 19_654);
    sealed.seal(0);
    let quicker = log(&sealed);
    // The slower publisher has read the channel before, and writes now.
    copy_folder(&sealed.place.home().join("log"), &aside.join("log"));
    std::fs::remove_file(aside.join("log/nightly/checkpoint/0000000003")).unwrap();
    let at_slower = |arguments: &[&str]| {
        pubdata_testing::answer(
            std::process::Command::new(env!("CARGO_BIN_EXE_pubdata"))
                .args(arguments)
                .arg("--home")
                .arg(&aside),
        )
    };
    let reported = at_slower(&["seal", "--signing-key", sealed.secret().to_str().unwrap()])
        .expect(50)
        .stderr;
    assert!(
        reported.contains("continued meanwhile")
            && reported.contains("log/nightly/tile/entries/000.p/3"),
        "{reported}"
    );
    let of_slower = aside.join("log");
    for (name, bytes) in quicker
        .into_iter()
        .filter(|(name, _)| !name.ends_with("0000000003"))
    {
        assert!(
            std::fs::read(of_slower.join(&name)).unwrap() == bytes,
            "{name}"
        );
    }
}

/// An attacker with write access to the store and without a key.
#[test]
fn content_written_by_an_untrusted_client_is_not_signed() {
    let sealed = SealedPlace::new();
    let first = std::fs::read(sealed.log_file("tile/entries/000.p/1")).unwrap();
    let with_forged = [&first[..], &[0, 32], forged().as_bytes()].concat();
    std::fs::write(sealed.log_file("tile/entries/000.p/2"), &with_forged).unwrap();
    let reported = sealed.seal(50).stderr;
    assert!(
        reported.contains("does not know")
            && reported.contains("none of your publishers wrote log/nightly/tile/entries/000.p/2"),
        "{reported}"
    );
    // With a checkpoint that no key signed.
    let leaves = [&first[2..34], forged().as_bytes()].map(pubdata_store::receipts::leaf_hash);
    let checkpoint = Checkpoint {
        origin: "data.example.org/2026/nightly".to_owned(),
        size: 2,
        root: root(&leaves),
    };
    std::fs::write(
        sealed.log_file("checkpoint/0000000002"),
        format!(
            "{}\n— data.example.org/2026/nightly AAAA\n",
            checkpoint.to_text()
        ),
    )
    .unwrap();
    let reported = sealed.seal(60).stderr;
    assert!(
        reported.contains("is not signed by data.example.org/2026/nightly")
            && reported.contains("somebody else has written below log/"),
        "{reported}"
    );
    for name in ["tile/entries/000.p/2", "checkpoint/0000000002"] {
        std::fs::remove_file(sealed.log_file(name)).unwrap();
    }
    sealed.seal(0);

    // A part's root is checked again if its seal differs from the logged one.
    another_release(&sealed, 19_653);
    let file = sealed
        .place
        .home()
        .join("releases")
        .join(sealed.place.current())
        .join("records.json");
    sealed.seal(0);
    let right = std::fs::read(&file).unwrap();
    another_release(&sealed, 19_654);
    let mut poisoned: Value = serde_json::from_slice(&right).unwrap();
    for parts in poisoned["datasets"].as_object_mut().unwrap().values_mut() {
        parts[0]["root"] = json!("ab".repeat(32));
    }
    // Consistent in itself: the roots above it are recomputed.
    let of_release = poisoned.clone();
    let datasets: std::collections::BTreeMap<String, Vec<pubdata_store::receipts::SealedPart>> =
        serde_json::from_value(of_release["datasets"].clone()).unwrap();
    let tops: Vec<Digest> = datasets
        .iter()
        .map(|(id, parts)| pubdata_store::receipts::SealedDataset::new(id, parts).leaf())
        .collect();
    poisoned["release"]["records_root"] = json!(root(&tops).to_string());
    let text = serde_json::to_vec(&poisoned).unwrap();
    assert!(
        Seal::from_json(&text).is_ok(),
        "the forged seal is consistent in itself"
    );
    let release = file
        .parent()
        .unwrap()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    sealed.place.pubdata(&["verify", &release]).expect(0);
    std::fs::write(&file, text).unwrap();
    let reported = sealed.place.pubdata(&["verify", &release]).expect(1).stdout;
    assert!(
        reported.contains("records.json: it is not the seal of these parts"),
        "{reported}"
    );
    sealed.seal(0);
    assert_eq!(
        std::fs::read(&file).unwrap(),
        right,
        "the seal is made anew"
    );
    let newest = std::fs::read_to_string(
        sealed
            .place
            .home()
            .join("releases")
            .join(sealed.place.current())
            .join("records.json"),
    )
    .unwrap();
    assert!(!newest.contains(&"ab".repeat(32)));
}

/// A log that is lost or reset is rebuilt unchanged while the channel's releases exist, and is
/// refused otherwise.
#[test]
fn reset_log_is_restored_as_signed_or_not_continued() {
    let sealed = SealedPlace::new();
    let first = sealed.place.current();
    let backup = sealed.place.root().join("backup");
    copy_folder(&sealed.place.home().join("log"), &backup);
    another_release(&sealed, 19_653);
    another_release(&sealed, 19_654);
    sealed.seal(0);
    let whole = log(&sealed);
    let lose = || std::fs::remove_dir_all(sealed.place.home().join("log")).unwrap();
    lose();
    sealed.seal(0);
    assert!(log(&sealed) == whole);
    lose();
    copy_folder(&backup, &sealed.place.home().join("log"));
    sealed.seal(0);
    assert!(log(&sealed) == whole);

    std::fs::remove_dir_all(sealed.place.home().join("releases").join(first)).unwrap();
    sealed.seal(0);
    lose();
    let reported = sealed.seal(60).stderr;
    assert!(
        reported.contains("does not have the 3 releases that this home signed")
            && reported.contains("clients that have seen them would see a fork"),
        "{reported}"
    );
    assert!(!sealed.log_file("checkpoint").exists(), "nothing is signed");
}

#[test]
fn another_key_continues_a_log_only_on_request() {
    let sealed = SealedPlace::new();
    let next = sealed.place.root().join("next.key");
    let next = next.to_str().unwrap();
    let made = sealed
        .place
        .pubdata(&[
            "keys",
            "signing",
            "--name",
            "data.example.org/2027",
            "--output",
            next,
            "--json",
        ])
        .expect(0)
        .json();
    let refused = sealed
        .place
        .pubdata(&["seal", "--signing-key", next])
        .expect(60)
        .stderr;
    assert!(
        refused.contains("pubdata seal --continues KEY"),
        "{refused}"
    );
    assert_eq!(
        std::fs::read_to_string(sealed.log_file("key"))
            .unwrap()
            .trim(),
        sealed.key
    );
    let before = sealed.receipt(RECORD);
    sealed
        .place
        .pubdata(&["seal", "--signing-key", next, "--continues", &sealed.key])
        .expect(0);
    assert_eq!(
        std::fs::read_to_string(sealed.log_file("key"))
            .unwrap()
            .trim(),
        made["key"].as_str().unwrap()
    );
    assert_eq!(sealed.verified(&before)["is_valid"], true);
    let after = sealed.receipt(RECORD);
    let file = sealed.place.root().join("after.json");
    std::fs::write(&file, after.to_string()).unwrap();
    sealed
        .place
        .pubdata(&[
            "verify-receipt",
            file.to_str().unwrap(),
            "--key",
            made["key"].as_str().unwrap(),
        ])
        .expect(0);
    sealed
        .place
        .pubdata(&["seal", "--signing-key", next])
        .expect(0);
    assert!(!sealed.log_file("checkpoint/0000000003").exists());
    sealed.seal(60);
}
