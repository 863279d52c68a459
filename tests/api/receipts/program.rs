use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use arrow::array::RecordBatchReader;
use arrow::compute::concat_batches;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pubdata_core::ids::Digest;
use pubdata_store::receipts::{BackgroundRoots, leaf_hash};
use pubdata_store::{Home, Part, Releases};
use serde_json::{Value, json};

use super::SealedPlace;
use pubdata_testing::{Place, files_below};

/// One record of every dataset, and an absent record next to it.
#[test]
fn record_of_every_dataset_is_proven_and_its_absent_neighbour_too() {
    let sealed = SealedPlace::new();
    let manifest = sealed.place.manifest();
    let mut proven = 0;
    for (dataset_id, dataset) in manifest["datasets"].as_object().unwrap() {
        let Some(record_id) = dataset["parts"]
            .as_array()
            .unwrap()
            .iter()
            .find_map(|part| part["key_range"][1].as_str())
        else {
            continue;
        };
        let receipt = sealed.receipt(record_id);
        let said = sealed.verified(&receipt);
        assert_eq!(
            (&said["is_valid"], &said["proves"]["is_present"]),
            (&json!(true), &json!(true)),
            "{record_id}: {said}"
        );
        assert_eq!(said["proves"]["release_id"], manifest["release_id"]);
        assert_eq!(receipt["record"]["record_id"], record_id);
        let absent = format!("{record_id}:no-such-record");
        let said = sealed.verified(&sealed.receipt(&absent));
        assert_eq!(
            (&said["is_valid"], &said["proves"]["is_present"]),
            (&json!(true), &json!(false)),
            "{absent}: {said}"
        );
        assert!(dataset_id == record_id.split(':').next().unwrap());
        proven += 1;
    }
    assert!(proven > 20, "{proven}");
}

/// 90210 in ACS 2023: the fixture's file has 19,652.
#[test]
fn receipt_has_the_record_with_numbers_as_text() {
    let sealed = SealedPlace::new();
    let record = sealed.receipt("geo.zcta_metric:2023:90210:population")["record"].take();
    assert_eq!(
        (&record["value"], &record["zcta"], &record["vintage_year"]),
        (&json!("19652"), &json!("90210"), &json!("2023"))
    );
    let row = &sealed.place.rows("geo.zcta_metric")["geo.zcta_metric:2023:90210:population"];
    assert_eq!(
        record.as_object().unwrap().len(),
        row.0.len() + 1,
        "all columns, and the pointers"
    );
    let pointer = &record["source_pointers"][0];
    assert_eq!(pointer["offset"], row.1[0].offset.to_string());
    assert_eq!(pointer["snapshot"], row.1[0].snapshot.to_string());
}

#[test]
fn log_files_match_the_digests_of_the_seals() {
    let sealed = SealedPlace::new();
    let folder = sealed.place.home().join("log/nightly");
    let files: Vec<String> = files_below(&folder)
        .iter()
        .map(|file| {
            file.strip_prefix(&folder)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        files.into_iter().collect::<std::collections::BTreeSet<_>>(),
        [
            "checkpoint/0000000001",
            "key",
            "tile/0/000.p/1",
            "tile/entries/000.p/1"
        ]
        .map(str::to_owned)
        .into()
    );
    let entry = std::fs::read(folder.join("tile/entries/000.p/1")).unwrap();
    let receipt = sealed.receipt("geo.zcta_metric:2023:90210:population");
    // Manual canonical JSON of the logged entry.
    let release: BTreeMap<String, Value> =
        serde_json::from_value(receipt["release"].clone()).unwrap();
    let digest = Digest::sha256(serde_json::to_string(&release).unwrap().as_bytes());
    assert_eq!(entry, [&[0, 32][..], digest.as_bytes()].concat());
    assert_eq!(
        std::fs::read(folder.join("tile/0/000.p/1")).unwrap(),
        leaf_hash(digest.as_bytes()).as_bytes()
    );
    assert_eq!(
        std::fs::read_to_string(folder.join("key")).unwrap().trim(),
        sealed.key
    );
    let mode = std::fs::metadata(sealed.secret())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn second_run_extends_the_log_and_an_unchanged_one_does_not() {
    let sealed = SealedPlace::new();
    let secret = sealed.secret();
    let secret = secret.to_str().unwrap();
    let first = sealed.receipt("geo.zcta_metric:2023:90210:population");
    let again = sealed
        .place
        .pubdata(&["seal", "--signing-key", secret, "--json"])
        .expect(0)
        .json();
    assert_eq!(again["size"], 1);
    sealed.place.edit("acsdt5y2023-b01003.dat", |text| {
        text.replacen("|19652|", "|19653|", 1)
    });
    sealed.place.run(&["--signing-key", secret]).expect(0);
    let second = sealed.receipt("geo.zcta_metric:2023:90210:population");
    assert_eq!(
        (&first["record"]["value"], &second["record"]["value"]),
        (&json!("19652"), &json!("19653"))
    );
    assert_eq!(
        (
            &second["log_index"],
            sealed.verified(&second)["proves"]["log_size"].as_u64()
        ),
        (&json!(1), Some(2))
    );
    assert_eq!(
        sealed.verified(&first)["is_valid"],
        true,
        "an earlier receipt stays valid"
    );
    let of_before = sealed.place.pubdata(&[
        "receipt",
        "geo.zcta_metric:2023:90210:population",
        "--release",
        first["release"]["release_id"].as_str().unwrap(),
    ]);
    let of_before = of_before.expect(0).json();
    assert_eq!(
        (
            &of_before["log_index"],
            sealed.verified(&of_before)["proves"]["log_size"].as_u64()
        ),
        (&json!(0), Some(2))
    );
}

/// The same release has the same seal, even if parts of it were sealed before.
#[test]
fn seal_depends_on_the_release_alone() {
    let sealed = SealedPlace::new();
    let seal = || {
        sealed
            .place
            .home()
            .join("releases")
            .join(sealed.place.current())
            .join("records.json")
    };
    sealed.place.edit("acsdt5y2023-b01003.dat", |text| {
        text.replacen("|19652|", "|19653|", 1)
    });
    let secret = sealed.secret();
    sealed
        .place
        .run(&["--signing-key", secret.to_str().unwrap()])
        .expect(0);
    let with_roots_of_before = std::fs::read(seal()).unwrap();
    for file in files_below(&sealed.place.home().join("releases"))
        .iter()
        .filter(|file| file.ends_with("records.json"))
    {
        std::fs::remove_file(file).unwrap();
    }
    sealed
        .place
        .pubdata(&["seal", "--signing-key", secret.to_str().unwrap()])
        .expect(0);
    assert_eq!(std::fs::read(seal()).unwrap(), with_roots_of_before);
}

/// Rows sealed from memory during a build have the same roots as parts that are read again, for
/// every dataset.
#[test]
fn sealing_during_the_build_equals_sealing_from_disk() {
    let place = Place::new();
    let secret = place.root().join("signing.key");
    let secret = secret.to_str().unwrap();
    place
        .pubdata(&[
            "keys",
            "signing",
            "--name",
            "data.example.org/2026",
            "--output",
            secret,
        ])
        .expect(0);
    let run = place
        .run_command(&["--signing-key", secret])
        .env("PUBDATA_LOG", "debug")
        .output()
        .unwrap();
    let reported = String::from_utf8_lossy(&run.stderr).into_owned();
    let sealing = reported
        .lines()
        .find(|line| line.contains("sealing"))
        .unwrap_or_default();
    // Most lists contain an unknown word on purpose.
    assert!(
        run.status.code() == Some(10) && sealing.contains("to_read=0"),
        "{sealing}"
    );
    let seal = place
        .home()
        .join("releases")
        .join(place.current())
        .join("records.json");
    let while_built = std::fs::read(&seal).unwrap();
    assert!(
        serde_json::from_slice::<Value>(&while_built).unwrap()["datasets"]
            .as_object()
            .unwrap()
            .len()
            > 20
    );
    std::fs::remove_file(&seal).unwrap();
    place.pubdata(&["seal", "--signing-key", secret]).expect(0);
    assert_eq!(std::fs::read(&seal).unwrap(), while_built);
}

/// Rows that differ from those of the part yield no root; sealing then reads the part and reports
/// the difference.
#[test]
fn rows_yield_the_root_of_their_own_part_only() {
    let sealed = SealedPlace::new();
    let releases = Releases::open(&Home::open(&sealed.place.home()).unwrap(), None).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let manifest = runtime
        .block_on(releases.manifest(&sealed.place.current().parse().unwrap()))
        .unwrap();
    let seal = runtime
        .block_on(releases.seal_file(&manifest.release_id))
        .unwrap()
        .unwrap();
    let seal: Value = serde_json::from_slice(&seal).unwrap();
    let (made, wrong) = (BackgroundRoots::start(), BackgroundRoots::start());
    let parts = manifest
        .datasets
        .iter()
        .flat_map(|(id, dataset)| dataset.parts.iter().map(move |part| (id, part)));
    let parts: Vec<(&String, &Part)> = parts.filter(|(_, part)| part.rows > 0).collect();
    for (_, part) in &parts {
        let bytes = runtime
            .block_on(releases.part(&manifest.release_id, part))
            .unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes)
            .unwrap()
            .with_batch_size(1 << 20)
            .build()
            .unwrap();
        let rows = concat_batches(
            &reader.schema(),
            &reader.map(Result::unwrap).collect::<Vec<_>>(),
        )
        .unwrap();
        made.add(part, &rows);
        wrong.add(part, &rows.slice(0, rows.num_rows() - 1));
    }
    let (made, wrong) = (made.finish(), wrong.finish());
    for (dataset_id, part) in parts {
        let of_part = seal["datasets"][dataset_id]
            .as_array()
            .unwrap()
            .iter()
            .find(|sealed| sealed["path"] == part.path)
            .unwrap();
        assert_eq!(
            made.get(part).unwrap().to_string(),
            of_part["root"].as_str().unwrap(),
            "{}",
            part.path
        );
        assert_eq!(wrong.get(part), None, "{}", part.path);
    }
}

#[test]
fn unsealed_or_damaged_release_is_reported() {
    let place = Place::published();
    let none = place
        .pubdata(&["receipt", "geo.zcta_metric:2023:90210:population"])
        .expect(60);
    assert!(
        none.stderr.contains("is not sealed")
            && none
                .stderr
                .contains("pubdata seal --channel nightly --signing-key FILE"),
        "{}",
        none.stderr
    );
    let sealed = SealedPlace::from_place(place);
    let tile = sealed.place.home().join("log/nightly/tile/entries/000.p/1");
    let mut bytes = std::fs::read(&tile).unwrap();
    bytes[10] ^= 1;
    std::fs::write(&tile, bytes).unwrap();
    let secret = sealed.secret();
    let unheard = sealed
        .place
        .pubdata(&["receipt", "geo.zcta_metric:2023:90210:population"])
        .expect(60);
    assert!(
        unheard
            .stderr
            .contains("its leaves are not those of its checkpoint"),
        "{}",
        unheard.stderr
    );
    // The release is published nevertheless.
    sealed.place.edit("acsdt5y2023-b01003.dat", |text| {
        text.replacen("|19652|", "|19653|", 1)
    });
    let before = sealed.place.current();
    let night = sealed
        .place
        .run_command(&["--signing-key", secret.to_str().unwrap()])
        .env("PUBDATA_LOG", "warn")
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&night.stderr).contains("the release is not sealed"),
        "{night:?}"
    );
    assert_eq!(
        night.status.code(),
        Some(10),
        "most lists contain an unknown word on purpose"
    );
    assert_ne!(sealed.place.current(), before);
    let seal = sealed
        .place
        .home()
        .join("releases")
        .join(&before)
        .join("records.json");
    std::fs::write(&seal, "nothing").unwrap();
    let without = sealed
        .place
        .pubdata(&[
            "receipt",
            "geo.zcta_metric:2023:90210:population",
            "--release",
            &before,
        ])
        .expect(60);
    assert!(
        without.stderr.contains("not the seal of a release"),
        "{}",
        without.stderr
    );
    let damaged = sealed
        .place
        .pubdata(&["seal", "--signing-key", secret.to_str().unwrap()])
        .expect(60);
    assert!(
        damaged
            .stderr
            .contains("its leaves are not those of its checkpoint"),
        "{}",
        damaged.stderr
    );
    let twice = sealed.place.pubdata(&[
        "keys",
        "signing",
        "--name",
        "a",
        "--output",
        secret.to_str().unwrap(),
    ]);
    assert_ne!(twice.code, Some(0), "a key is never overwritten");
    for (arguments, word) in [
        (
            vec!["verify-receipt", "/no/such/file", "--key", &sealed.key],
            "/no/such/file",
        ),
        (
            vec!["verify-receipt", "/dev/zero", "--key", &sealed.key],
            "it has more than 16777216 bytes",
        ),
        (
            vec!["verify-receipt", "-", "--key", "/dev/zero"],
            "more than 65536 bytes",
        ),
        (
            vec!["seal", "--signing-key", "/dev/zero"],
            "more than 65536 bytes",
        ),
        (
            vec!["verify-receipt", "-", "--key", "a+b+c"],
            "is not a verification key",
        ),
        (
            vec!["verify-receipt", "-", "--key", "/no/such/key"],
            "/no/such/key",
        ),
        (
            vec!["verify-receipt", "-", "--key", secret.to_str().unwrap()],
            "this is a signing key",
        ),
        (vec!["receipt", "nonsense"], "nonsense"),
        (vec!["receipt", "no.dataset:1"], "has no dataset"),
    ] {
        let answer = sealed.place.pubdata(&arguments);
        assert!(
            answer.code != Some(0) && answer.stderr.contains(word),
            "{answer:?}"
        );
    }
}
