//! Tests `pubdata verify --url` as typed on the command line.

use std::process::Command;

use serde_json::json;

use super::{Auditor, Liar, served};
use crate::receipts::SealedPlace;
use pubdata_testing::{Answer, Place, answer};

/// Runs the program with the auditor's home.
async fn requested(auditor: &Auditor, arguments: &[&str]) -> Answer {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pubdata"));
    for name in [
        "PUBDATA_STORE",
        "PUBDATA_DECLARATIONS",
        "PUBDATA_CONTACT",
        "PUBDATA_CA",
        "PUBDATA_KEY",
        "PUBDATA_LOG",
        "NO_COLOR",
    ] {
        command.env_remove(name);
    }
    command
        .args(["verify", "--url", &auditor.url, "--home"])
        .arg(auditor.home.path())
        .args(arguments);
    if let Some(key) = &auditor.api_key {
        command.env("PUBDATA_KEY", key);
    }
    tokio::task::spawn_blocking(move || answer(&mut command))
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn first_audit_trusts_the_key_and_the_next_names_what_was_seen() {
    let sealed = SealedPlace::new();
    let key = sealed.key.clone();
    let liar = Liar::new(served(sealed).await).await;
    let auditor = Auditor::new(&liar);
    let quick = ["--records", "3", "--publisher-mb", "0", "--seed", "5"];
    let first = requested(&auditor, &quick).await.expect(0);
    assert!(
        first.stdout.contains(
            "key trusted on first use: compare it with what the publisher says elsewhere"
        ),
        "{first:#?}"
    );
    assert!(
        first.stdout.contains("records   3 of 3 records proven")
            && first.stdout.contains("--seed 5"),
        "{first:#?}"
    );
    assert!(
        first
            .stdout
            .trim_end()
            .lines()
            .last()
            .unwrap()
            .starts_with(&format!("match {}, release r", auditor.url)),
        "{first:#?}"
    );
    let second = requested(&auditor, &quick).await.expect(0);
    assert!(
        !second.stdout.contains("trusted on first use") && second.stdout.contains("seen      20"),
        "{second:#?}"
    );
    let file = auditor.home.path().join("log.key");
    std::fs::write(&file, format!("{key}\n")).unwrap();
    let named = requested(
        &auditor,
        &[&quick[..], &["--json", "--key", file.to_str().unwrap()]].concat(),
    )
    .await
    .expect(0)
    .json();
    assert_eq!(
        (
            &named["format"],
            &named["outcome"],
            &named["log"]["key_from"]
        ),
        (
            &json!("pubdata.verify_url"),
            &json!("match"),
            &json!("given")
        )
    );
    for said in [&first, &second] {
        let api_key = auditor.api_key.as_ref().unwrap();
        assert!(
            !said.stdout.contains(api_key) && !said.stderr.contains(api_key),
            "{said:#?}"
        );
    }

    liar.replaces(
        "/v1/provenance/",
        r#""part":{"path":""#,
        r#""part":{"path":"\u001b[2Jx"#,
    );
    let lied = requested(&auditor, &quick).await.expect(1);
    assert!(
        lied.stdout.contains("names part \\u{1b}[2Jx") && !lied.stdout.contains('\u{1b}'),
        "{lied:#?}"
    );
    assert!(
        lied.stdout
            .trim_end()
            .lines()
            .last()
            .unwrap()
            .starts_with("mismatch "),
        "{lied:#?}"
    );

    liar.lies(|path, status, bytes| {
        if path.starts_with("/v1/receipts/") {
            (404, b"{}".to_vec())
        } else {
            (status, bytes)
        }
    });
    requested(&auditor, &quick).await.expect(30);
    let other = Auditor {
        api_key: None,
        ..auditor
    };
    let keyless = requested(&other, &quick).await.expect(40);
    assert!(keyless.stderr.contains("PUBDATA_KEY"), "{keyless:#?}");
    requested(&other, &["--records", "0"]).await.expect(0);
}

#[test]
fn options_of_other_verify_modes_are_refused() {
    let place = Place::new();
    let url = ["verify", "--url", "http://127.0.0.1:1"];
    for arguments in [
        &["--rebuild"][..],
        &["--channel", "stable"],
        &["r2aff1ba0a9637f99283d"],
    ] {
        let refused = place.pubdata(&[&url[..], arguments].concat()).expect(40);
        assert!(
            refused.stderr.contains("cannot be used with"),
            "{refused:#?}"
        );
    }
    for arguments in [
        &["--key", "x"][..],
        &["--records", "1"],
        &["--seed", "1"],
        &["--publisher-mb", "1"],
        &["--mirror", "x"],
    ] {
        let refused = place.pubdata(&[&["verify"], arguments].concat()).expect(40);
        assert!(refused.stderr.contains("--url"), "{refused:#?}");
    }
    let refused = place
        .pubdata(&[&url[..], &["--key", "non+sen+se"]].concat())
        .expect(40);
    assert!(
        refused
            .stderr
            .contains("`non+sen+se` is not a verification key"),
        "{refused:#?}"
    );
    place.pubdata(&url).expect(30);
}
