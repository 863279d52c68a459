use std::path::Path;

use serde_json::{Value, json};

use super::GEOGRAPHY;
use pubdata_testing::{Place, copy_folder};

/// Replaces a file with a copy in which the middle byte is changed; links to the old bytes stay
/// whole.
fn flip_middle(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn whole_release_is_verified_and_rebuilt_to_the_same_id() {
    let place = Place::published();
    let answer = place
        .pubdata(&["verify", "--rebuild", "--json"])
        .expect(0)
        .json();
    assert_eq!(answer["verified"]["problems"].as_array().unwrap().len(), 0);
    assert!(
        answer["verified"]["parts"].as_u64().unwrap() > 50,
        "shards included"
    );
    assert_eq!(answer["rebuilt"]["release_id"], place.current());
    assert_eq!(answer["rebuilt"]["rebuilt_id"], place.current());
    // Links between permits and licenses are built on other pipelines, in an order.
    assert!(place.manifest()["tasks"]["permit.austin_links"].is_object());
    assert_eq!(
        answer["rebuilt"]["notes"],
        serde_json::json!({}),
        "a build of this program must be reproducible"
    );
    let text = place.pubdata(&["verify"]).expect(0);
    assert!(text.stdout.starts_with("match"), "{}", text.stdout);
}

#[test]
fn release_with_a_stale_task_and_quarantine_rebuilds_to_the_same_id() {
    let place = Place::published_with(GEOGRAPHY);
    place.edit("acsdt5y2023-b01003.dat", |text| {
        text.replace("860Z200US90210|19652|1335", "860Z200US90210|19652|1335|7|")
    });
    place.run(&[]).expect(10);
    std::fs::remove_file(place.file("acsdt5y2022-b01003.dat")).unwrap();
    place.run(&[]).expect(30);
    let answer = place
        .pubdata(&["verify", "--rebuild", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        answer["rebuilt"]["rebuilt_id"],
        place.current(),
        "{answer:#}"
    );
}

#[test]
fn changed_or_missing_part_is_named() {
    let place = Place::published_with(GEOGRAPHY);
    flip_middle(&place.part("geo.school/part-0.parquet"));
    std::fs::remove_file(place.part("geo.county/part-0.parquet")).unwrap();
    let answer = place.pubdata(&["verify", "--json"]).expect(1).json();
    let problems = answer["verified"]["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems.iter().any(|problem| problem
            .as_str()
            .unwrap()
            .contains("geo.school/part-0.parquet")),
        "{problems:?}"
    );
    assert!(
        problems.iter().any(|problem| problem
            .as_str()
            .unwrap()
            .contains("geo.county/part-0.parquet")),
        "{problems:?}"
    );
    assert!(
        place
            .pubdata(&["verify"])
            .expect(1)
            .stdout
            .contains("mismatch")
    );
}

#[test]
fn lost_parts_of_the_only_release_are_rewritten_by_a_forced_run() {
    let place = Place::published_with(GEOGRAPHY);
    let release = place.current();
    flip_middle(&place.part("geo.school/part-0.parquet"));
    std::fs::remove_file(place.part("geo.county/part-0.parquet")).unwrap();
    let answer = place.run(&[]).expect(0).json();
    assert_eq!(
        answer["outcome"], "unchanged",
        "without --force, no part is built or available"
    );
    let answer = place.run(&["--force"]).expect(0).json();
    assert_eq!(
        (&answer["outcome"], &answer["release_id"]),
        (&"mended".into(), &release.into())
    );
    place.pubdata(&["verify"]).expect(0);
    assert_eq!(
        place.run(&["--force"]).expect(0).json()["outcome"],
        "unchanged"
    );
}

#[test]
fn changed_or_missing_snapshot_is_named() {
    let place = Place::published_with(GEOGRAPHY);
    let (changed, gone) = (
        place.snapshot("acsdt5y2023-b19013.dat"),
        place.snapshot("Geos20225YR.txt"),
    );
    flip_middle(&changed);
    std::fs::remove_file(&gone).unwrap();
    let answer = place.pubdata(&["verify", "--json"]).expect(1).json();
    let problems: Vec<&str> = answer["verified"]["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem.as_str().unwrap())
        .collect();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems
            .iter()
            .any(|problem| problem.contains(changed.to_str().unwrap())
                && problem.contains("is not what was fetched")
                && problem.contains("changed within bytes 0 to 65536")),
        "{problems:?}"
    );
    let missing = answer["verified"]["missing"].as_array().unwrap();
    assert!(
        missing.len() == 1
            && missing[0]
                .as_str()
                .unwrap()
                .contains(&format!("{} is gone", gone.display())),
        "{missing:?}"
    );
    // A missing snapshot is not damage: it is not reported.
    place.run(&["--force"]).expect(0);
    std::fs::remove_file(&gone).unwrap();
    let reported = place.pubdata(&["verify", "--rebuild"]).expect(2).stdout;
    assert!(
        reported.contains("not possible")
            && !reported.contains("mismatch")
            && reported.contains(gone.to_str().unwrap()),
        "{reported}"
    );
}

#[test]
fn snapshot_changed_on_disk_is_not_built_from_and_is_fetched_again() {
    let place = Place::published_with(GEOGRAPHY);
    let (release, snapshot) = (place.current(), place.snapshot("acsdt5y2023-b19013.dat"));
    flip_middle(&snapshot);
    let answer = place.run(&["--force", "--offline"]).expect(20);
    let reasons = answer.reasons("census.acs5/vintage=2023");
    assert!(
        reasons.contains(snapshot.to_str().unwrap())
            && reasons.contains("the next run fetches the file again"),
        "{reasons}"
    );
    place.run(&[]).expect(0);
    assert_eq!(place.current(), release);
    place.pubdata(&["verify"]).expect(0);
}

#[test]
fn changed_manifest_is_refused() {
    let place = Place::published_with(GEOGRAPHY);
    let path = place.part("manifest.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, text.replacen("\"rows\": 60", "\"rows\": 61", 1)).unwrap();
    assert_ne!(std::fs::read_to_string(&path).unwrap(), text);
    let answer = place.pubdata(&["verify"]).expect(60);
    assert!(
        answer.stderr.contains(&place.current()) && answer.stderr.contains("manifest"),
        "{answer:#?}"
    );
}

/// Published as by an earlier program that trusted unverified facts about parts.
#[test]
fn manifest_that_contradicts_its_parts_is_a_mismatch() {
    let place = Place::published_with(&["permit.nola"]);
    let released = place.part("manifest.json").parent().unwrap().to_owned();
    let manifest = place.manifest();
    let forged = |edit: &dyn Fn(&mut Value)| {
        let mut manifest = manifest.clone();
        edit(&mut manifest);
        let id = serde_json::from_value::<pubdata_store::Manifest>(manifest.clone())
            .unwrap()
            .derive_release_id();
        manifest["release_id"] = json!(id);
        let folder = released.with_file_name(id.to_string());
        copy_folder(&released, &folder);
        std::fs::remove_file(folder.join("manifest.json")).unwrap();
        std::fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
        let answer = place
            .pubdata(&["verify", "--json", &id.to_string()])
            .expect(1)
            .json();
        answer["verified"]["problems"].to_string()
    };
    let permits = "/datasets/permit.permit/parts/0";
    let part = |manifest: &mut Value, key: &str, value: Value| {
        manifest.pointer_mut(permits).unwrap()[key] = value;
    };
    let reported = [
        (
            "it has no part of permit.contact",
            forged(&|manifest| {
                drop(
                    manifest["datasets"]
                        .as_object_mut()
                        .unwrap()
                        .remove("permit.contact"),
                );
            }),
        ),
        (
            "it has no part of permit.permit",
            forged(&|manifest| manifest["datasets"] = json!({})),
        ),
        (
            "first and last records",
            forged(&|manifest| {
                part(
                    manifest,
                    "key_range",
                    json!(["permit.permit:zz:A", "permit.permit:zz:B"]),
                );
            }),
        ),
        (
            "have the path",
            forged(&|manifest| {
                manifest.pointer_mut(permits).unwrap()["partition"]["jurisdiction"] =
                    json!("us-tx-austin");
            }),
        ),
        (
            "license.license",
            forged(&|manifest| {
                let datasets = manifest["datasets"].as_object_mut().unwrap();
                let permits = datasets.remove("permit.permit").unwrap();
                datasets.insert("license.license".to_owned(), permits);
            }),
        ),
        (
            "of the rule x",
            forged(&|manifest| {
                manifest.pointer_mut(permits).unwrap()["report"]["quarantined"] =
                    json!({"x": 1_u64 << 40});
            }),
        ),
        (
            "the records point to",
            forged(&|manifest| {
                let rows = &mut manifest["tasks"]["permit.nola"]["source_rows"]["permit.nola"];
                (rows["records"], rows["left_out"]["unused"]) =
                    (json!(5), json!(rows["records"].as_u64().unwrap() - 5));
            }),
        ),
        (
            "add up to",
            forged(&|manifest| {
                manifest["tasks"]["permit.nola"]["source_rows"]["permit.nola"]["read"] =
                    json!(1_000);
            }),
        ),
    ];
    for (expected, problems) in reported {
        assert!(problems.contains(expected), "{expected}: {problems}");
    }
    place.pubdata(&["verify"]).expect(0);
}

#[test]
fn rebuild_from_a_changed_snapshot_has_another_id_and_names_the_part() {
    let place = Place::published_with(GEOGRAPHY);
    let snapshot = place.snapshot("acsdt5y2023-b01003.dat");
    let text = std::fs::read_to_string(&snapshot).unwrap();
    std::fs::remove_file(&snapshot).unwrap();
    std::fs::write(
        &snapshot,
        text.replace("860Z200US90210|19652|", "860Z200US90210|19653|"),
    )
    .unwrap();
    let answer = place
        .pubdata(&["verify", "--rebuild", "--json"])
        .expect(1)
        .json();
    assert_ne!(answer["rebuilt"]["rebuilt_id"], place.current());
    let differences = answer["rebuilt"]["differences"].to_string();
    assert!(
        differences.contains("geo.zcta_metric/2023.parquet"),
        "{differences}"
    );
    assert!(
        place.stale_tasks().is_empty(),
        "a rebuild publishes no release"
    );
}

#[test]
fn unknown_release_is_refused() {
    let place = Place::published_with(GEOGRAPHY);
    place.pubdata(&["verify", "not-an-id"]).expect(40);
    let answer = place.pubdata(&["verify", "r00000000000000000000"]);
    assert!(
        matches!(answer.code, Some(40 | 60)) && answer.stderr.contains("r00000000000000000000"),
        "{answer:#?}"
    );
}

/// A release that is sealed, and what `verify` says of it.
#[test]
fn changed_seal_or_log_is_a_mismatch_that_names_the_file() {
    let place = Place::published_with(GEOGRAPHY);
    let text = place.pubdata(&["verify"]).expect(0).stdout;
    assert!(text.trim_end().ends_with("; not sealed"), "{text}");
    assert_eq!(
        place.pubdata(&["verify", "--json"]).expect(0).json()["sealed"],
        Value::Null
    );
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
    place.pubdata(&["seal", "--signing-key", secret]).expect(0);
    let text = place.pubdata(&["verify"]).expect(0).stdout;
    assert!(
        text.trim_end().ends_with(
            "; sealed: entry 0 of the log data.example.org/2026/nightly, counted from 0"
        ),
        "{text}"
    );
    let sealed = place.pubdata(&["verify", "--json"]).expect(0).json()["sealed"].take();
    assert_eq!(
        sealed,
        json!({"log": "data.example.org/2026/nightly", "log_index": 0, "log_size": 1})
    );

    let seal = format!("releases/{}/records.json", place.current());
    let (checkpoint, entries, tile, key) = (
        "log/nightly/checkpoint/0000000001",
        "log/nightly/tile/entries/000.p/1",
        "log/nightly/tile/0/000.p/1",
        "log/nightly/key",
    );
    for file in [&*seal, checkpoint, entries, tile, key] {
        let path = place.home().join(file);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        says_mismatch(&place, file);
        // The last character but one: in the checkpoint it is of the signature.
        let mut changed = bytes.clone();
        let last = changed.len() - 3;
        changed[last] = if changed[last] == b'A' { b'B' } else { b'A' };
        std::fs::write(&path, changed).unwrap();
        says_mismatch(&place, if file == entries { checkpoint } else { file });
        std::fs::write(&path, bytes).unwrap();
    }
    // Behind the signatures of a note is nothing else.
    let path = place.home().join(checkpoint);
    let note = std::fs::read_to_string(&path).unwrap();
    for added in ["x", "a line\n"] {
        std::fs::write(&path, format!("{note}{added}")).unwrap();
        says_mismatch(&place, checkpoint);
    }
    std::fs::write(&path, note).unwrap();
    place.pubdata(&["verify"]).expect(0);
    std::fs::rename(place.home().join("log"), place.root().join("moved-log")).unwrap();
    says_mismatch(&place, checkpoint);
    // Without the seal too: the home still knows that it has signed.
    std::fs::remove_file(place.home().join(&seal)).unwrap();
    says_mismatch(&place, checkpoint);
    place.pubdata(&["seal", "--signing-key", secret]).expect(0);
    place.pubdata(&["verify"]).expect(0);
}

fn says_mismatch(place: &Place, file: &str) {
    let answer = place.pubdata(&["verify", "--json"]).expect(1).json();
    let problems = answer["verified"]["problems"].to_string();
    assert!(
        problems.contains(file) && answer["sealed"].is_null(),
        "{file}: {answer:#}"
    );
    let text = place.pubdata(&["verify"]).expect(1).stdout;
    assert!(
        text.contains("mismatch")
            && text
                .trim_end()
                .ends_with("; its seal or log does not verify"),
        "{text}"
    );
}

#[test]
fn unsealed_release_beside_a_sealed_one_is_no_mismatch() {
    let place = Place::published_with(GEOGRAPHY);
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
    place.pubdata(&["seal", "--signing-key", secret]).expect(0);
    place.edit("acsdt5y2023-b01003.dat", |text| {
        text.replacen("|19652|", "|19653|", 1)
    });
    place.run(&[]).expect(0);
    let text = place.pubdata(&["verify"]).expect(0).stdout;
    assert!(text.trim_end().ends_with("; not sealed"), "{text}");
}
