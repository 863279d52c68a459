//! Checks that a release is rebuilt with the declarations and contracts it was built with, whatever
//! was declared since.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use pubdata_build::publish::fault::VARIABLE;
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_store::{Home, Manifest, Releases};
use serde_json::{Value, json};

use pubdata_testing::{Place, copy_folder, files_below, project};

const RECORD: &str = "permit.permit:us-oh-elsewhere:2099P00001";
const TASK: &str = "permit.elsewhere";

/// Creates a folder of declarations beside the home, with a city that the program does not know.
fn folder(place: &Place) -> PathBuf {
    let folder = place.root().join("declarations");
    copy_folder(&project("pipelines"), &folder.join("pipelines"));
    copy_folder(&project("schemas"), &folder.join("schemas"));
    let known = std::fs::read_to_string(folder.join("pipelines/permit/cincinnati.toml")).unwrap();
    let own = known
        .replace("permit.cincinnati", TASK)
        .replace("us-oh-cincinnati", "us-oh-elsewhere");
    std::fs::write(folder.join("pipelines/permit/elsewhere.toml"), own).unwrap();
    folder
}

/// Changes a file of a folder. A change without effect is a mistake in the test.
#[track_caller]
pub(super) fn change(folder: &Path, file: &str, from: &str, to: &str) {
    let path = folder.join(file);
    let before = std::fs::read_to_string(&path).unwrap();
    assert!(before.contains(from), "{file} has no {from}");
    std::fs::write(path, before.replace(from, to)).unwrap();
}

/// Publishes the city with its folder of declarations.
fn published() -> (Place, PathBuf) {
    let place = Place::new();
    let folder = folder(&place);
    place
        .run(&[TASK, "--declarations", folder.to_str().unwrap()])
        .expect(0);
    (place, folder)
}

/// Returns the texts that the current release keeps, by file name.
fn texts(place: &Place) -> BTreeMap<String, PathBuf> {
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    files_below(&place.part("declarations"))
        .into_iter()
        .map(|path| (name(&path), path))
        .collect()
}

#[track_caller]
fn assert_match(place: &Place, release: &str, declared: &[&str]) {
    let trace = place
        .pubdata(&[&["trace", RECORD, "--release", release, "--json"], declared].concat())
        .expect(0)
        .json();
    assert_eq!(
        (&trace["replay"], &trace["notes"], &trace["differences"]),
        (&json!("match"), &json!([]), &json!([])),
        "{trace:#}"
    );
    let report = place
        .pubdata(&[&["verify", release, "--rebuild", "--json"], declared].concat())
        .expect(0)
        .json();
    assert_eq!(report["rebuilt"]["rebuilt_id"], release, "{report:#}");
    assert_eq!(
        (&report["rebuilt"]["replay"], &report["rebuilt"]["notes"]),
        (&json!("match"), &json!({})),
        "{report:#}"
    );
}

#[test]
fn release_is_traced_and_rebuilt_after_declarations_changed() {
    let (place, folder) = published();
    let declared = ["--declarations", folder.to_str().unwrap()];
    let release = place.current();
    assert_match(&place, &release, &declared);
    assert_match(&place, &release, &[]);

    change(
        &folder,
        "pipelines/permit/elsewhere.toml",
        "\n\"Building\" = \"building\"",
        "\n\"Building\" = \"mechanical\"",
    );
    change(
        &folder,
        "schemas/permit/permit.toml",
        "\"job_value\"",
        "\"value_of_job\"",
    );
    change(
        &folder,
        "schemas/permit/permit.toml",
        "\nversion = \"1.",
        "\nversion = \"2.",
    );
    assert_match(&place, &release, &declared);

    // The current declarations apply to new builds.
    let error = place
        .run(&[TASK, "--declarations", folder.to_str().unwrap()])
        .code;
    assert_ne!(error, Some(0), "a column that no code fills");
    change(
        &folder,
        "schemas/permit/permit.toml",
        "\"value_of_job\"",
        "\"job_value\"",
    );
    place.run(&[TASK, declared[0], declared[1]]).expect(0);
    assert_ne!(place.current(), release);
    assert_eq!(place.rows("permit.permit")[RECORD].0["type"], "mechanical");
    for release in [release, place.current()] {
        assert_match(&place, &release, &declared);
        assert_match(&place, &release, &[]);
    }
}

#[test]
fn release_keeps_the_texts_behind_the_hashes_of_its_builds() {
    let (place, folder) = published();
    let manifest = place.manifest();
    let entry = &manifest["tasks"][TASK];
    let mut hashes = vec![
        entry["declaration_hash"].as_str().unwrap(),
        entry["contracts_hash"].as_str().unwrap(),
    ];
    hashes.sort_unstable();
    assert_eq!(manifest["declarations"], json!(hashes));
    let texts = texts(&place);
    assert_eq!(
        texts.keys().cloned().collect::<Vec<_>>(),
        hashes
            .iter()
            .map(|hash| format!("{hash}.jsonl"))
            .collect::<Vec<_>>()
    );
    for (name, path) in &texts {
        assert_eq!(
            format!("{}.jsonl", Digest::sha256(&std::fs::read(path).unwrap())),
            *name
        );
    }
    let declared = std::fs::read_to_string(
        &texts[&format!("{}.jsonl", entry["declaration_hash"].as_str().unwrap())],
    )
    .unwrap();
    let line: Value = serde_json::from_str(&declared).unwrap();
    assert_eq!(
        (&line["pipeline_id"], &line["settings"]["type"]["Building"]),
        (&json!(TASK), &json!("building"))
    );

    // The same snapshots, declarations and program elsewhere.
    let other = Place::new();
    other
        .run(&[TASK, "--declarations", folder.to_str().unwrap()])
        .expect(0);
    assert_eq!(other.current(), place.current());
    for (name, path) in self::texts(&other) {
        assert_eq!(
            std::fs::read(path).unwrap(),
            std::fs::read(&texts[&name]).unwrap()
        );
    }
}

#[test]
fn reused_build_leads_to_the_declarations_it_was_made_with() {
    let (place, folder) = published();
    let before = texts(&place);
    let first = place.current();
    change(
        &folder,
        "pipelines/permit/elsewhere.toml",
        "[\"permitnum\"]",
        "[\"number_of_permit\"]",
    );
    place
        .run(&[
            TASK,
            "census.gazetteer",
            "--declarations",
            folder.to_str().unwrap(),
        ])
        .expect(20);
    assert_ne!(place.current(), first, "another task is built");
    let after = texts(&place);
    for (name, path) in &before {
        assert_eq!(
            path.metadata().unwrap().ino(),
            after[name].metadata().unwrap().ino(),
            "one file in both releases"
        );
    }
    assert_match(
        &place,
        &place.current(),
        &["--declarations", folder.to_str().unwrap()],
    );
    place
        .pubdata(&["releases", "prune", "--keep", "1"])
        .expect(0);
    assert!(!before.values().any(|path| path.exists()));
    assert_match(&place, &place.current(), &[]);
}

#[test]
fn lost_or_changed_declaration_is_named_and_rewritten_with_the_build() {
    let (place, folder) = published();
    let hash = place.manifest()["tasks"][TASK]["declaration_hash"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = place.part(&format!("declarations/{hash}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("building", "mechanical")).unwrap();
    for _ in ["changed", "lost"] {
        let verified = place.pubdata(&["verify", "--json"]).expect(1).json();
        let problems = verified["verified"]["problems"].to_string();
        assert!(
            problems.contains(&format!(
                "declarations/{hash}.jsonl is missing or was changed"
            )),
            "{problems}"
        );
        let trace = place.pubdata(&["trace", RECORD, "--json"]).expect(1).json();
        assert_eq!(trace["replay"], "mismatch", "{trace:#}");
        assert!(
            trace["differences"].to_string().contains(&hash),
            "{trace:#}"
        );
        place.pubdata(&["verify", "--rebuild"]).expect(1);
        let _ = std::fs::remove_file(&path);
    }
    place
        .run(&[TASK, "--force", "--declarations", folder.to_str().unwrap()])
        .expect(0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    place.pubdata(&["verify"]).expect(0);
}

/// Returns the current release as other code would have made it, from a declaration with another
/// word; the channel points at it.
async fn made_by_other_code(place: &Place, code_version: &str) -> ReleaseId {
    let releases = Releases::open(&Home::open(&place.home()).unwrap(), None).unwrap();
    let before = releases
        .manifest(&place.current().parse().unwrap())
        .await
        .unwrap();
    let mut manifest: Manifest = before.clone();
    let entry = manifest.tasks.get_mut(TASK).unwrap();
    let declared = releases
        .text(&before.release_id, &entry.declaration_hash)
        .await
        .unwrap();
    let declared = declared.replace("\"Building\":\"building\"", "\"Building\":\"mechanical\"");
    let contracts = releases
        .text(&before.release_id, &entry.contracts_hash)
        .await
        .unwrap();
    entry.code_version = code_version.to_owned();
    entry.declaration_hash = Digest::sha256(declared.as_bytes());
    manifest.declarations = [entry.declaration_hash, entry.contracts_hash].into();
    // An earlier program wrote none.
    manifest.sidecars.clear();
    manifest.release_id = manifest.derive_release_id();
    let id = manifest.release_id.clone();
    for text in [declared, contracts] {
        let path = pubdata_store::declared_path(&Digest::sha256(text.as_bytes()));
        releases.put_part(&id, &path, text.into()).await.unwrap();
    }
    for part in manifest
        .datasets
        .values()
        .flat_map(|dataset| &dataset.parts)
    {
        releases
            .link_part(&before.release_id, &part.path, &id, &part.path)
            .await
            .unwrap();
    }
    releases.put_manifest(&manifest).await.unwrap();
    id
}

#[tokio::test]
async fn build_of_other_code_is_no_mismatch_and_the_able_program_is_named() {
    let (place, _) = published();
    let today = place.manifest()["tasks"][TASK]["code_version"]
        .as_str()
        .unwrap()
        .to_owned();
    let builder: u32 = today.split(['+', '.']).nth(3).unwrap().parse().unwrap();
    let reason = format!(
        "made by code version {} of {TASK}, this program has {builder}; pubdata 0.0.9 can",
        builder + 1
    );
    let other = made_by_other_code(&place, &format!("0.0.9+{}.2", builder + 1)).await;
    let trace = place
        .pubdata(&["trace", RECORD, "--release", other.as_str()])
        .expect(2)
        .stdout;
    assert!(
        trace.ends_with(&format!("replay    not possible: {reason}\n")),
        "{trace}"
    );
    let trace = place
        .pubdata(&["trace", RECORD, "--release", other.as_str(), "--json"])
        .expect(2)
        .json();
    assert_eq!(
        (&trace["replay"], &trace["not_possible"], &trace["is_match"]),
        (&json!("not_possible"), &json!(reason), &json!(false))
    );
    let report = place
        .pubdata(&["verify", other.as_str(), "--rebuild", "--json"])
        .expect(2)
        .json();
    assert_eq!(
        (
            &report["rebuilt"]["replay"],
            &report["rebuilt"]["differences"]
        ),
        (&json!("not_possible"), &json!([])),
        "{report:#}"
    );
    assert!(
        report["rebuilt"]["not_possible"][TASK]
            .as_str()
            .unwrap()
            .starts_with(&reason),
        "{report:#}"
    );

    // With the code of this program, it is a mismatch.
    let own = made_by_other_code(&place, &today).await;
    let trace = place
        .pubdata(&["trace", RECORD, "--release", own.as_str()])
        .expect(1)
        .stdout;
    assert!(trace.ends_with("replay    mismatch\n"), "{trace}");
    let report = place
        .pubdata(&["verify", own.as_str(), "--rebuild", "--json"])
        .expect(1)
        .json();
    assert_eq!(report["rebuilt"]["replay"], "mismatch", "{report:#}");
}

#[test]
fn evidence_of_a_layout_is_reported_as_declared_now_without_a_build() {
    let (place, folder) = published();
    let before = place.current();
    let text = std::fs::read_to_string(folder.join("pipelines/permit/elsewhere.toml")).unwrap();
    let seen = text
        .split("seen = \"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    change(
        &folder,
        "pipelines/permit/elsewhere.toml",
        &format!("seen = \"{seen}\""),
        "seen = \"2026-01\"",
    );
    let run = || {
        place
            .run(&[TASK, "--declarations", folder.to_str().unwrap()])
            .expect(0)
    };
    let night = run();
    assert_eq!(
        (
            night.task(TASK)["outcome"].as_str(),
            night.json()["outcome"].as_str()
        ),
        (Some("fresh"), Some("published"))
    );
    assert!(
        place.manifest()["tasks"][TASK]["evidence"]
            .to_string()
            .contains("2026-01")
    );
    assert_ne!(night.release_id(), before);
    // The same holds if the declaration changes after a build was staged.
    std::fs::remove_dir_all(place.home()).unwrap();
    change(
        &folder,
        "pipelines/permit/elsewhere.toml",
        "seen = \"2026-01\"",
        "seen = \"2025-12\"",
    );
    let killed = place
        .run_command(&[TASK, "--declarations", folder.to_str().unwrap()])
        .env(VARIABLE, "commit.begun")
        .output()
        .unwrap();
    assert_eq!(killed.status.signal(), Some(6));
    change(
        &folder,
        "pipelines/permit/elsewhere.toml",
        "seen = \"2025-12\"",
        "seen = \"2026-01\"",
    );
    let resumed = run();
    assert_eq!(
        (resumed.task(TASK)["outcome"].as_str(), resumed.release_id()),
        (Some("resumed"), night.release_id())
    );
}
