//! Checks keys, seals and receipts on the command line: output streams and exit codes.

use pubdata_testing::Place;

use super::GEOGRAPHY;

const POPULATION: &str = "geo.zcta_metric:2023:90210:population";

/// Creates a place whose release is sealed, with `log.key` as `keys signing … > log.key` writes it.
fn sealed() -> Place {
    let place = Place::published_with(GEOGRAPHY);
    let secret = place.root().join("signing.key");
    let secret = secret.to_str().unwrap();
    let made = place
        .pubdata(&[
            "keys",
            "signing",
            "--name",
            "data.example.org/2026",
            "--output",
            secret,
        ])
        .expect(0);
    assert!(
        made.stdout.lines().count() == 1
            && made
                .stderr
                .contains("this key verifies the log of channel nightly"),
        "{made:#?}"
    );
    std::fs::write(place.root().join("log.key"), &made.stdout).unwrap();
    let seal = place
        .pubdata(&["seal", "--signing-key", secret])
        .expect(0)
        .stdout;
    assert!(
        seal.contains("log       data.example.org/2026/nightly, 1 entry\n"),
        "{seal}"
    );
    std::fs::write(
        place.root().join("receipt.json"),
        place.pubdata(&["receipt", POPULATION]).expect(0).stdout,
    )
    .unwrap();
    place
}

#[test]
fn output_of_keys_signing_is_a_key_file_that_verifies() {
    let place = sealed();
    let path = |name: &str| place.root().join(name).display().to_string();
    let reported = place
        .pubdata(&[
            "verify-receipt",
            &path("receipt.json"),
            "--key",
            &path("log.key"),
        ])
        .expect(0)
        .stdout;
    assert!(
        reported
            .contains("log       data.example.org/2026/nightly, entry 0 of 1, counted from 0\n"),
        "{reported}"
    );
}

#[test]
fn exit_codes_of_verify_receipt_equal_those_of_its_help() {
    let place = sealed();
    let key = place.root().join("log.key").display().to_string();
    let receipt = std::fs::read_to_string(place.root().join("receipt.json")).unwrap();
    let file = place.root().join("other.json").display().to_string();
    let code_of = |text: &str| {
        std::fs::write(&file, text).unwrap();
        place
            .pubdata(&["verify-receipt", &file, "--key", &key])
            .code
    };
    assert!(receipt.contains("\"19652\"") && receipt.contains("\"log_index\""));
    let other_record = receipt.replacen(POPULATION, "geo.zcta_metric:2023:90210:households", 1);
    let (changed, cut, renamed) = (
        receipt.replace("\"19652\"", "\"19653\""),
        &receipt[..200],
        receipt.replace("\"log_index\"", "\"log_place\""),
    );
    assert_eq!(
        [
            code_of(&changed),
            code_of(cut),
            code_of(&renamed),
            code_of(&other_record)
        ],
        [Some(1), Some(40), Some(40), Some(1)]
    );
    place
        .pubdata(&["verify-receipt", "/no/such/file", "--key", &key])
        .expect(60);
    let help = place
        .pubdata(&["verify-receipt", "--help"])
        .expect(0)
        .stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains("40, the text is no receipt")
            && help.contains("60, a file cannot be read")
            && help.contains("log.key"),
        "{help}"
    );
}

#[test]
fn key_with_a_typing_error_is_reported_as_such() {
    let place = sealed();
    let key = std::fs::read_to_string(place.root().join("log.key")).unwrap();
    let key = key.trim();
    let receipt = place.root().join("receipt.json").display().to_string();
    for (wrong, says) in [
        (
            key.replace("2026", "2027"),
            "its hash is not that of its name and key",
        ),
        (
            key[..key.len() - 4].to_owned(),
            "a character may be wrong or missing",
        ),
        ("a+b".to_owned(), "a+b"),
    ] {
        let answer = place.pubdata(&["verify-receipt", &receipt, "--key", &wrong]);
        assert!(
            answer.code != Some(0) && answer.stderr.contains(says),
            "{wrong}: {answer:#?}"
        );
        assert!(
            wrong == "a+b" || answer.stderr.contains("proves nothing about that server"),
            "{answer:#?}"
        );
    }
}

#[test]
fn help_of_trace_and_receipt_states_their_exit_codes() {
    let place = Place::published_with(GEOGRAPHY);
    let absent = "geo.zcta_metric:2023:00000:population";
    place.pubdata(&["trace", absent]).expect(40);
    place.pubdata(&["receipt", absent]).expect(60);
    for (command, says) in [
        ("trace", "40, the release has no such record or dataset"),
        ("receipt", "the release is not sealed and logged"),
    ] {
        let help = place.pubdata(&[command, "--help"]).expect(0).stdout;
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(says), "{help}");
    }
}
