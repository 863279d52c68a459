//! A damaged file of each kind that a home has, before every command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Ground, assert_helpful};
use crate::support::files_below;

/// How a file comes to harm.
#[derive(Clone, Copy)]
pub enum Harm {
    /// Bytes that are nothing.
    Garbage,
    /// A line that is none, before all others.
    Line,
}

/// How all is well again.
#[derive(Clone, Copy, PartialEq)]
pub enum Cure {
    /// The next run makes it again.
    Run,
    /// A run that builds all again.
    Force,
    /// A person puts the file back, as the message says.
    PutBack,
    /// A person deletes the file, as the message says; the next run goes on.
    Delete,
    /// A person takes the channel back, and the next run makes the release again.
    Rollback,
}

/// A kind of file, where it is, and the commands that notice, with their exit codes; all others end with 0.
pub struct Kind {
    pub name: &'static str,
    pub files: fn(&Ground) -> Vec<PathBuf>,
    pub harm: Harm,
    /// What a message names.
    pub told: &'static str,
    refused: &'static [(&'static str, i32)],
    cure: Cure,
}

fn one(ground: &Ground, path: &str) -> Vec<PathBuf> {
    vec![ground.home().join(path)]
}

fn of_release(ground: &Ground, release_id: &str, path: &str) -> Vec<PathBuf> {
    let folder = ground.home().join("releases").join(release_id);
    if path.ends_with('/') { files_below(&folder.join(path)) } else { vec![folder.join(path)] }
}

/// All that read or write a home.
const ALL: &[(&str, i32)] = &[
    ("plan", 60),
    ("fetch", 60),
    ("run", 60),
    ("import", 60),
    ("accept", 60),
    ("keys create", 60),
    ("releases promote", 60),
    ("releases rollback", 60),
    ("releases prune", 60),
    ("follow", 60),
    ("status", 60),
    ("metrics", 60),
    ("releases list", 60),
    ("releases show", 60),
    ("releases diff", 60),
    ("trace", 60),
    ("verify", 60),
    ("upgrade", 60),
    ("probe", 60),
    ("keys list", 60),
    ("accept --list", 60),
];

/// Those that need to know what the present release is.
const OF_PRESENT: &[(&str, i32)] = &[
    ("plan", 60),
    ("fetch", 60),
    ("run", 60),
    ("releases promote", 60),
    ("releases prune", 60),
    ("status", 60),
    ("releases show", 60),
    ("releases diff", 60),
    ("trace", 60),
    ("verify", 60),
    ("upgrade", 60),
    ("probe", 60),
];

const OF_CHANNEL: &[(&str, i32)] = &[
    ("plan", 60),
    ("fetch", 60),
    ("run", 60),
    ("releases promote", 60),
    ("releases rollback", 60),
    ("releases prune", 60),
    ("status", 60),
    ("releases list", 60),
    ("releases show", 60),
    ("releases diff", 60),
    ("trace", 60),
    ("verify", 60),
    ("upgrade", 60),
    ("probe", 60),
];

/// By the names of `src/store/formats.rs`, and those of what has no format of its own.
pub fn kinds() -> Vec<Kind> {
    let kind = |name, files, told, refused, cure| Kind { name, files, harm: Harm::Garbage, told, refused, cure };
    vec![
        kind("home", |ground| one(ground, "home.json"), "home.json is damaged", ALL, Cure::Delete),
        Kind {
            harm: Harm::Line,
            ..kind(
                "ledger",
                |ground| one(ground, "ledger.jsonl"),
                "ledger.jsonl: line 1: ",
                &[("plan", 60), ("fetch", 60), ("run", 60), ("import", 60), ("accept", 60), ("status", 60), ("metrics", 60), ("upgrade", 60), ("probe", 60)],
                Cure::PutBack,
            )
        },
        Kind {
            harm: Harm::Line,
            ..kind(
                "acceptances",
                |ground| one(ground, "accepted.jsonl"),
                "accepted.jsonl: line 1: ",
                &[("plan", 60), ("fetch", 60), ("run", 60), ("import", 60), ("upgrade", 60), ("probe", 60), ("accept --list", 60)],
                Cure::PutBack,
            )
        },
        kind(
            "API keys",
            |ground| one(ground, "keys.json"),
            "keys.json is not a keys file",
            &[("keys create", 60), ("keys list", 60), ("upgrade", 60)],
            Cure::PutBack,
        ),
        kind("channels", |ground| one(ground, "channels/nightly/0000000002.json"), "channels/nightly/0000000002.json is damaged", OF_CHANNEL, Cure::Delete),
        kind("what was not renewed", |ground| one(ground, "unrenewed/nightly.json"), "unrenewed/nightly.json is damaged", &[], Cure::Run),
        kind("manifests", |ground| of_release(ground, &ground.current(), "manifest.json"), "not a manifest", OF_PRESENT, Cure::Rollback),
        kind(
            "the manifest of an earlier release",
            |ground| of_release(ground, &ground.first_release(), "manifest.json"),
            "not a manifest",
            &[("releases rollback", 60), ("releases diff", 60), ("upgrade", 60)],
            Cure::PutBack,
        ),
        kind(
            "parts of builds",
            |ground| of_release(ground, &ground.current(), "geo.population/"),
            "geo.population/part-0.parquet",
            &[("releases diff", 60), ("trace", 60), ("verify", 1)],
            Cure::Force,
        ),
        kind(
            "declarations of a release",
            |ground| of_release(ground, &ground.current(), "declarations/"),
            "declarations/",
            &[("trace", 1), ("verify", 1)],
            Cure::Force,
        ),
        kind("snapshots", |ground| files_below(&ground.home().join("snapshots")), "is not what was fetched", &[("trace", 1), ("verify", 1)], Cure::Run),
        kind("event log", |ground| files_below(&ground.home().join("stream/log")), "the log is damaged", &[("follow", 60), ("upgrade", 60)], Cure::PutBack),
        kind("state of the feeds", |ground| one(ground, "stream/state.json"), "state.json is damaged", &[("follow", 60), ("upgrade", 60)], Cure::Delete),
        kind("state of URLs", |ground| files_below(&ground.home().join("state/urls")), "", &[], Cure::Run),
        kind("copies of parts", |ground| one(ground, "state/tables/nightly/0123456789abcdef.arrow"), "", &[], Cure::Run),
        kind("staged builds", staged, "", &[], Cure::Run),
        kind("settings", |ground| one(ground, "pubdata.toml"), "pubdata.toml: ", &[], Cure::Delete),
    ]
}

/// What a killed run of the night to come has left, complete as far as it goes.
fn staged(ground: &Ground) -> Vec<PathBuf> {
    let killed = ground.command(&[]).args(ground.tonight()).env(pubdata::publish::fault::VARIABLE, "commit.begun").output().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&killed.status), Some(6));
    let builds: Vec<PathBuf> = files_below(&ground.home().join("staging")).into_iter().filter(|path| path.ends_with("build.json")).collect();
    assert_eq!(builds.len(), 1);
    builds
}

pub fn harm(path: &Path, harm: Harm) {
    let before = std::fs::read(path).unwrap_or_default();
    let damaged = match harm {
        Harm::Garbage => b"\x00\x01garbage{".to_vec(),
        Harm::Line => [b"{\"format_version\":1,\"x\":\n".to_vec(), before].concat(),
    };
    // In place of the file: others may be links to the same bytes.
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = std::fs::remove_file(path);
    std::fs::write(path, damaged).unwrap();
}

impl Kind {
    fn is_settings(&self) -> bool {
        self.name == "settings"
    }

    fn code_of(&self, command: &str) -> i32 {
        let refused: BTreeMap<_, _> = self.refused.iter().copied().collect();
        if self.is_settings() { 40 } else { refused.get(command).copied().unwrap_or(0) }
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
                Some(1) => assert!(answer.stdout.contains(self.told), "{what}: {answer:#?}"),
                _ if *name == "upgrade" && answer.stderr.is_empty() => {
                    assert!(answer.stdout.contains("unreadable (1)") && answer.stdout.contains("put it back from a backup"), "{what}: {answer:#?}");
                }
                _ => assert_helpful(&answer, self.told, &what),
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
        let kept = |path: &Path| ground.path("kept").join(path.strip_prefix(ground.home()).unwrap());
        match self.cure {
            Cure::Run => {
                ground.run().expect(0);
            }
            Cure::Force => {
                // Of the same night: the very release is mended.
                ground.night("5157700");
                let current = ground.current();
                let mended = ground.pubdata(&["run", "--json", "--force", "--mirror", ground.mirror().to_str().unwrap()]).expect(0).json();
                assert_eq!(mended["release_id"].as_str(), Some(current.as_str()), "{}", self.name);
                assert!(mended["outcome"] == "mended" || self.name.starts_with("declarations"), "{}: {mended:#}", self.name);
                ground.pubdata(&["verify"]).expect(0);
                ground.night("5157701");
            }
            Cure::PutBack => files.iter().for_each(|path| {
                std::fs::remove_file(path).unwrap();
                std::fs::copy(kept(path), path).unwrap();
            }),
            Cure::Delete => files.iter().for_each(|path| std::fs::remove_file(path).unwrap()),
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
        kinds.iter().find(|kind| kind.name == *name).unwrap().try_all(&ground, &expected);
    }
}

#[test]
fn what_a_home_is_and_how_it_is_set_is_refused_by_name_and_nothing_is_changed() {
    try_kinds(&["home", "settings"]);
}

#[test]
fn a_damaged_history_stops_runs_by_name_and_leaves_releases_to_be_looked_at_and_moved() {
    try_kinds(&["ledger", "acceptances"]);
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
fn damaged_parts_and_declarations_are_named_and_mended() {
    try_kinds(&["parts of builds", "declarations of a release"]);
}

#[test]
fn damaged_snapshots_and_what_is_known_of_urls_are_fetched_again() {
    try_kinds(&["snapshots", "state of URLs"]);
}

#[test]
fn what_is_made_again_when_it_is_needed_is_never_missed() {
    try_kinds(&["copies of parts", "staged builds"]);
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
        std::fs::write(&path, [&whole[..], b"{\"format_version\":1,\"run_id\":\"2026"].concat()).unwrap();
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

/// A state that was written aside and never got its name was taken for a second one of the same file.
#[test]
fn what_a_killed_process_left_aside_is_no_state_of_a_file() {
    let ground = Ground::new();
    ground.pubdata(&["import", super::SOURCE, ground.mirror().join(super::LIST).to_str().unwrap(), "--date", "2026-01-15"]).expect(0);
    for path in files_below(&ground.home().join("state/urls")) {
        std::fs::copy(&path, path.with_extension("json.new")).unwrap();
    }
    let by_hand = ground.pubdata(&["status", "--json"]).expect(0).json()["by_hand"].clone();
    assert_eq!(by_hand.as_array().unwrap().len(), 1, "{by_hand:#}");
    ground.pubdata(&["import", super::SOURCE, "--withdraw"]).expect(0);
}

/// Every kind of `src/store/formats.rs` is among those that are tried.
#[test]
fn every_kind_of_file_is_damaged_once() {
    let ground = Ground::new();
    let report = ground.pubdata(&["upgrade", "--json"]).expect(0).json();
    let formats = report["formats"].as_array().unwrap().iter().map(|format| format["name"].as_str().unwrap().to_owned());
    let kinds: Vec<&str> = kinds().iter().map(|kind| kind.name).collect();
    let missing: Vec<String> = formats.filter(|name| !kinds.contains(&name.as_str())).collect();
    assert_eq!(missing, Vec::<String>::new());
}
