//! Damages one file of each kind in a home, then runs every command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::kinds::{Cure, Kind, harm, kinds};
use super::{Ground, assert_helpful};
use pubdata_testing::files_below;

impl Kind {
    fn is_settings(&self) -> bool {
        self.name == "settings"
    }

    pub fn code_of(&self, command: &str) -> i32 {
        let refused: BTreeMap<_, _> = self.refused.iter().copied().collect();
        if self.is_settings() {
            40
        } else {
            refused.get(command).copied().unwrap_or(0)
        }
    }

    /// Runs every command, each on a home with the same damage.
    fn try_all(&self, ground: &Ground, expected: &str) {
        let damage = |ground: &Ground| {
            let files = (self.files)(ground);
            assert!(!files.is_empty(), "{}", self.name);
            files.iter().for_each(|path| harm(path, self.harm));
            files
        };
        let (current, commands) = (ground.current(), ground.commands());
        for (name, arguments) in &commands {
            damage(ground);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let answer = ground.pubdata(&arguments);
            let what = format!("{name} with damaged {}", self.name);
            assert_eq!(answer.code, Some(self.code_of(name)), "{what}: {answer:#?}");
            match answer.code {
                Some(0) => assert!(!answer.stderr.contains("panicked"), "{what}: {answer:#?}"),
                // A report names every damaged file on standard output.
                Some(1) => assert!(answer.stdout.contains(self.reported), "{what}: {answer:#?}"),
                _ if *name == "upgrade" && answer.stderr.is_empty() => {
                    assert!(
                        answer.stdout.contains("unreadable (1)")
                            && answer.stdout.contains("restore them from a backup"),
                        "{what}: {answer:#?}"
                    );
                }
                _ => assert_helpful(&answer, self.reported, &what),
            }
            ground.back();
        }
        let files = damage(ground);
        assert!(self.name == "channels" || ground.current() == current);
        self.cure(ground, &files);
        ground.heals(expected, self.name);
        ground.back();
    }

    fn cure(&self, ground: &Ground, files: &[PathBuf]) {
        let kept = |path: &Path| {
            ground
                .path("kept")
                .join(path.strip_prefix(ground.home()).unwrap())
        };
        match self.cure {
            Cure::Run => {
                ground.run().expect(0);
            }
            Cure::Force => {
                // A run on the same data repairs the release itself.
                ground.night("5157700");
                let current = ground.current();
                let mended = ground
                    .pubdata(&[
                        "run",
                        "--json",
                        "--force",
                        "--mirror",
                        ground.mirror().to_str().unwrap(),
                    ])
                    .expect(0)
                    .json();
                assert_eq!(
                    mended["release_id"].as_str(),
                    Some(current.as_str()),
                    "{}",
                    self.name
                );
                assert!(
                    mended["outcome"] == "mended"
                        || ["declarations of a release", "companions of a release"]
                            .contains(&self.name),
                    "{}: {mended:#}",
                    self.name
                );
                ground.pubdata(&["verify"]).expect(0);
                ground.night("5157701");
            }
            Cure::PutBack => files.iter().for_each(|path| {
                std::fs::remove_file(path).unwrap();
                std::fs::copy(kept(path), path).unwrap();
            }),
            Cure::Delete => files
                .iter()
                .for_each(|path| std::fs::remove_file(path).unwrap()),
            Cure::Rollback => {
                ground.pubdata(&["releases", "rollback"]).expect(0);
                ground.pubdata(&["verify"]).expect(0);
                ground.night("5157700");
                ground.run().expect(0);
                ground.night("5157701");
            }
        }
    }
}

/// Tries the named kinds; several tests share them so that they run in parallel.
fn try_kinds(names: &[&str]) {
    let (kinds, ground) = (kinds(), Ground::new());
    let expected = ground.expected();
    for name in names {
        kinds
            .iter()
            .find(|kind| kind.name == *name)
            .unwrap()
            .try_all(&ground, &expected);
    }
}

#[test]
fn damaged_identity_or_settings_of_a_home_are_refused_and_kept() {
    try_kinds(&["home", "settings"]);
}

#[test]
fn damaged_history_stops_runs_and_leaves_releases_usable() {
    try_kinds(&["ledger", "acceptances", "logs of servers"]);
}

#[test]
fn damaged_keys_stop_only_commands_about_keys() {
    try_kinds(&["API keys"]);
}

#[test]
fn damaged_channel_is_named_with_a_hint() {
    try_kinds(&["channels", "what was not renewed"]);
}

#[test]
fn damaged_manifest_is_named_and_rollback_leaves_it() {
    try_kinds(&["manifests", "the manifest of an earlier release"]);
}

#[test]
fn damaged_parts_declarations_and_sidecars_are_named_and_repaired() {
    try_kinds(&[
        "parts of builds",
        "declarations of a release",
        "companions of a release",
    ]);
}

#[test]
fn damaged_snapshots_and_url_state_are_fetched_again() {
    try_kinds(&["snapshots", "state of URLs"]);
}

#[test]
fn damaged_files_that_are_rebuilt_on_demand_cause_no_failure() {
    try_kinds(&[
        "copies of parts",
        "plans",
        "receipts of units",
        "staged builds",
    ]);
}

#[test]
fn damaged_event_log_stops_only_its_follower() {
    try_kinds(&["event log", "state of the feeds"]);
}

/// A partial last line of a line file, left by a killed process, is not damage.
#[test]
fn partial_last_line_is_skipped_and_cut_off() {
    let ground = Ground::new();
    let expected = ground.expected();
    for file in ["ledger.jsonl", "accepted.jsonl"] {
        let path = ground.home().join(file);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(
            &path,
            [&whole[..], b"{\"format_version\":1,\"run_id\":\"2026"].concat(),
        )
        .unwrap();
    }
    for (name, arguments) in ground.commands() {
        if name.starts_with("releases pr") || matches!(name, "releases rollback" | "import") {
            continue;
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        assert_eq!(ground.pubdata(&arguments).code, Some(0), "{name}");
    }
    ground.heals(&expected, "torn lines");
}

/// A temporary state file that was never renamed was once read as a second state of the same file.
#[test]
fn temporary_file_of_a_killed_process_is_not_a_state_of_a_file() {
    let ground = Ground::new();
    ground
        .pubdata(&[
            "import",
            super::SOURCE,
            ground.mirror().join(super::LIST).to_str().unwrap(),
            "--date",
            "2026-01-15",
        ])
        .expect(0);
    for path in files_below(&ground.home().join("state/urls")) {
        std::fs::copy(&path, path.with_extension("json.new")).unwrap();
    }
    let by_hand = ground.pubdata(&["status", "--json"]).expect(0).json()["by_hand"].clone();
    assert_eq!(by_hand.as_array().unwrap().len(), 1, "{by_hand:#}");
    ground
        .pubdata(&["import", super::SOURCE, "--withdraw"])
        .expect(0);
}

/// Without an older release or a backup, the snapshots are the source of the release.
#[test]
fn only_release_with_a_damaged_manifest_is_rebuilt_after_deletion() {
    let ground = Ground::new();
    let expected = ground.current();
    ground.night("5157700");
    ground
        .pubdata(&["releases", "prune", "--keep", "1"])
        .expect(0);
    std::fs::write(
        ground
            .home()
            .join("releases")
            .join(&expected)
            .join("manifest.json"),
        "{",
    )
    .unwrap();
    ground.run().expect(60);
    let none = ground.pubdata(&["releases", "rollback"]).expect(40);
    assert!(none.stderr.contains("no earlier release"), "{none:#?}");
    std::fs::remove_dir_all(ground.home().join("channels/nightly")).unwrap();
    ground.run().expect(0);
    assert_eq!(ground.current(), expected, "the same release");
    ground.pubdata(&["verify", "--rebuild"]).expect(0);
}

/// Every kind in `src/store/formats.rs` is among those that are tried.
#[test]
fn every_kind_of_file_is_damaged_once() {
    let ground = Ground::new();
    let report = ground.pubdata(&["upgrade", "--json"]).expect(0).json();
    let formats = report["formats"]
        .as_array()
        .unwrap()
        .iter()
        .map(|format| format["name"].as_str().unwrap().to_owned());
    let kinds: Vec<&str> = kinds().iter().map(|kind| kind.name).collect();
    let missing: Vec<String> = formats
        .filter(|name| !kinds.contains(&name.as_str()))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}
