//! Lists the kinds of files in a home, how they are damaged, which commands notice, and how to
//! recover: `docs/FAULTS.md` as a table.

use std::path::{Path, PathBuf};

use super::Ground;
use pubdata_testing::files_below;

/// How a file is damaged.
#[derive(Clone, Copy)]
pub enum Harm {
    /// Meaningless bytes.
    Garbage,
    /// An invalid line before all others.
    Line,
}

/// How the home recovers.
#[derive(Clone, Copy, PartialEq)]
pub enum Cure {
    /// The next run rebuilds the file.
    Run,
    /// A forced run rebuilds everything.
    Force,
    /// The operator restores the file, as the message says.
    PutBack,
    /// The operator deletes the file, as the message says; the next run continues.
    Delete,
    /// The operator rolls the channel back, and the next run rebuilds the release.
    Rollback,
}

/// A kind of file, its location, and the commands that notice the damage, with their exit codes.
/// All other commands end with 0.
pub struct Kind {
    pub name: &'static str,
    pub files: fn(&Ground) -> Vec<PathBuf>,
    pub harm: Harm,
    /// Text that a message contains.
    pub reported: &'static str,
    pub refused: &'static [(&'static str, i32)],
    pub cure: Cure,
}

fn one(ground: &Ground, path: &str) -> Vec<PathBuf> {
    vec![ground.home().join(path)]
}

fn of_release(ground: &Ground, release_id: &str, path: &str) -> Vec<PathBuf> {
    let folder = ground.home().join("releases").join(release_id);
    if path.ends_with('/') {
        files_below(&folder.join(path))
    } else {
        vec![folder.join(path)]
    }
}

/// All commands that read or write a home.
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

/// Commands that need the current release.
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

/// Returns the kinds with the names of `src/store/formats.rs`, and files without a format.
pub fn kinds() -> Vec<Kind> {
    let kind = |name, files, reported, refused, cure| Kind {
        name,
        files,
        harm: Harm::Garbage,
        reported,
        refused,
        cure,
    };
    vec![
        kind(
            "home",
            |ground| one(ground, "home.json"),
            "home.json is damaged",
            ALL,
            Cure::Delete,
        ),
        Kind {
            harm: Harm::Line,
            ..kind(
                "ledger",
                |ground| one(ground, "ledger.jsonl"),
                "ledger.jsonl: line 1: ",
                &[
                    ("plan", 60),
                    ("fetch", 60),
                    ("run", 60),
                    ("import", 60),
                    ("accept", 60),
                    ("status", 60),
                    ("metrics", 60),
                    ("upgrade", 60),
                    ("probe", 60),
                ],
                Cure::PutBack,
            )
        },
        Kind {
            harm: Harm::Line,
            ..kind(
                "acceptances",
                |ground| one(ground, "accepted.jsonl"),
                "accepted.jsonl: line 1: ",
                &[
                    ("plan", 60),
                    ("fetch", 60),
                    ("run", 60),
                    ("import", 60),
                    ("upgrade", 60),
                    ("probe", 60),
                    ("accept --list", 60),
                ],
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
        kind(
            "channels",
            |ground| one(ground, "channels/nightly/0000000002.json"),
            "channels/nightly/0000000002.json is damaged",
            OF_CHANNEL,
            Cure::Delete,
        ),
        kind(
            "what was not renewed",
            |ground| one(ground, "unrenewed/nightly.json"),
            "unrenewed/nightly.json is damaged",
            &[],
            Cure::Run,
        ),
        kind(
            "manifests",
            |ground| of_release(ground, &ground.current(), "manifest.json"),
            "not a manifest",
            OF_PRESENT,
            Cure::Rollback,
        ),
        kind(
            "the manifest of an earlier release",
            |ground| of_release(ground, &ground.first_release(), "manifest.json"),
            "not a manifest",
            &[
                ("releases rollback", 60),
                ("releases diff", 60),
                ("upgrade", 60),
            ],
            Cure::PutBack,
        ),
        kind(
            "parts of builds",
            |ground| of_release(ground, &ground.current(), "geo.population/part-0.parquet"),
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
        kind(
            "companions of a release",
            |ground| of_release(ground, &ground.current(), "geo.population/_delta_log/"),
            "_delta_log/",
            &[("verify", 1)],
            Cure::Force,
        ),
        kind(
            "snapshots",
            |ground| files_below(&ground.home().join("snapshots")),
            "is not what was fetched",
            &[("trace", 1), ("verify", 1)],
            Cure::Run,
        ),
        // Read only by `verify --url`, which the tests in `witness` cover.
        kind(
            "logs of servers",
            |ground| one(ground, &format!("seen-logs/{}.json", "0".repeat(32))),
            "",
            &[("upgrade", 60)],
            Cure::Delete,
        ),
        kind(
            "event log",
            |ground| files_below(&ground.home().join("stream/log")),
            "the log is damaged",
            &[("follow", 60), ("upgrade", 60)],
            Cure::PutBack,
        ),
        kind(
            "state of the feeds",
            |ground| one(ground, "stream/state.json"),
            "state.json is damaged",
            &[("follow", 60), ("upgrade", 60)],
            Cure::Delete,
        ),
        kind(
            "state of URLs",
            |ground| files_below(&ground.home().join("state/urls")),
            "",
            &[],
            Cure::Run,
        ),
        kind(
            "copies of parts",
            |ground| one(ground, "state/tables/nightly/0123456789abcdef.arrow"),
            "",
            &[],
            Cure::Run,
        ),
        kind(
            "plans",
            |ground| one(ground, &format!("plans/{}.json", "0".repeat(64))),
            "",
            &[],
            Cure::Run,
        ),
        kind(
            "receipts of units",
            |ground| one(ground, &format!("staging/{}/000/unit.json", "0".repeat(64))),
            "",
            &[],
            Cure::Run,
        ),
        kind("staged builds", staged, "", &[], Cure::Run),
        kind(
            "settings",
            |ground| one(ground, "pubdata.toml"),
            "pubdata.toml: ",
            &[],
            Cure::Delete,
        ),
    ]
}

/// Returns the files that a killed run on the next data left, complete up to the point of the kill.
fn staged(ground: &Ground) -> Vec<PathBuf> {
    let killed = ground
        .command(&[])
        .args(ground.tonight())
        .env(pubdata_build::publish::fault::VARIABLE, "commit.begun")
        .output()
        .unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&killed.status),
        Some(6)
    );
    let builds: Vec<PathBuf> = files_below(&ground.home().join("staging"))
        .into_iter()
        .filter(|path| path.ends_with("build.json"))
        .collect();
    assert_eq!(builds.len(), 1);
    builds
}

pub fn harm(path: &Path, harm: Harm) {
    let before = std::fs::read(path).unwrap_or_default();
    let damaged = match harm {
        Harm::Garbage => b"\x00\x01garbage{".to_vec(),
        Harm::Line => [b"{\"format_version\":1,\"x\":\n".to_vec(), before].concat(),
    };
    // Replaces the file: others may be links to the same bytes.
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = std::fs::remove_file(path);
    std::fs::write(path, damaged).unwrap();
}
