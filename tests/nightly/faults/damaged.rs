//! A damaged file of each kind that a home has, before every command.

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

    /// Every command on its own, each on the home with the damage.
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
                // A report names all that is damaged on standard output.
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
                // Of the same night: the very release is mended.
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

/// The kinds by their names, some for each test so that they run side by side.
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
fn what_a_home_is_and_how_it_is_set_is_refused_by_name_and_nothing_is_changed() {
    try_kinds(&["home", "settings"]);
}

#[test]
fn a_damaged_history_stops_runs_by_name_and_leaves_releases_to_be_looked_at_and_moved() {
    try_kinds(&["ledger", "acceptances", "logs of servers"]);
}

#[test]
fn damaged_keys_stop_what_is_about_keys_and_nothing_else() {
    try_kinds(&["API keys"]);
}

#[test]
fn a_damaged_channel_is_named_with_its_way_out() {
    try_kinds(&["channels", "what was not renewed"]);
}

#[test]
fn a_damaged_manifest_is_named_and_left_by_a_rollback() {
    try_kinds(&["manifests", "the manifest of an earlier release"]);
}

#[test]
fn damaged_parts_declarations_and_companions_are_named_and_mended() {
    try_kinds(&[
        "parts of builds",
        "declarations of a release",
        "companions of a release",
    ]);
}

#[test]
fn damaged_snapshots_and_what_is_known_of_urls_are_fetched_again() {
    try_kinds(&["snapshots", "state of URLs"]);
}

#[test]
fn what_is_made_again_when_it_is_needed_is_never_missed() {
    try_kinds(&[
        "copies of parts",
        "plans",
        "receipts of units",
        "staged builds",
    ]);
}

#[test]
fn a_damaged_log_of_filings_stops_its_follower_only() {
    try_kinds(&["event log", "state of the feeds"]);
}

/// The last line of a file of lines that a killed process left half written is no damage.
#[test]
fn a_torn_last_line_is_passed_over_and_cut_off() {
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

/// A state that was written aside and never got its name was taken for a second one of the same
/// file.
#[test]
fn what_a_killed_process_left_aside_is_no_state_of_a_file() {
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

/// Nothing to go back to and no backup: the snapshots are what a release is made from.
#[test]
fn a_damaged_manifest_of_the_only_release_is_left_by_deleting_the_channel_and_the_next_run_makes_it_again()
 {
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
    assert_eq!(ground.current(), expected, "the very release");
    ground.pubdata(&["verify", "--rebuild"]).expect(0);
}

/// Every kind of `src/store/formats.rs` is among those that are tried.
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
