//! Checks a read-only home, and folders and files without access rights. Root is bound as well: the
//! tests drop the capabilities that let it ignore modes.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::{Ground, assert_helpful};
use pubdata_testing::{Answer, answer};

/// Starts the program as a user whom modes restrict.
pub fn bound_command(ground: &Ground, arguments: &[&str]) -> Command {
    // With these two capabilities, root may write anywhere; other users have neither.
    let is_root = std::fs::metadata("/proc/self")
        .is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0);
    if !is_root {
        return ground.command(arguments);
    }
    let mut command = Command::new("setpriv");
    ground.dress(&mut command);
    command
        .args([
            "--bounding-set",
            "-dac_override,-dac_read_search",
            env!("CARGO_BIN_EXE_pubdata"),
        ])
        .args(arguments);
    command
}

fn bound(ground: &Ground, arguments: &[&str]) -> Answer {
    answer(&mut bound_command(ground, arguments))
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn folders(root: &Path) -> Vec<std::path::PathBuf> {
    let mut found = vec![root.to_owned()];
    let mut next = 0;
    while next < found.len() {
        let below = pubdata_testing::folders(&found[next]);
        found.extend(below);
        next += 1;
    }
    found
}

/// Removes the right to write below a folder, runs `work`, and restores the right.
pub fn read_only<T>(home: &Path, work: impl FnOnce() -> T) -> T {
    let (all, files) = (folders(home), pubdata_testing::files_below(home));
    all.iter().for_each(|folder| set_mode(folder, 0o555));
    files.iter().for_each(|file| set_mode(file, 0o444));
    let done = work();
    all.iter().for_each(|folder| set_mode(folder, 0o755));
    files.iter().for_each(|file| set_mode(file, 0o644));
    done
}

#[test]
fn read_only_home_can_be_read_and_every_write_is_reported() {
    let ground = Ground::new();
    let expected = ground.expected();
    let current = ground.current();
    read_only(&ground.home(), || {
        for (name, arguments) in ground.commands() {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let answer = bound(&ground, &arguments);
            let is_looking = matches!(
                name,
                "status"
                    | "metrics"
                    | "releases list"
                    | "releases show"
                    | "releases diff"
                    | "trace"
                    | "upgrade"
                    | "probe"
                    | "keys list"
                    | "accept --list"
                    | "settings"
                    | "check"
                    | "schema"
            );
            assert_eq!(
                answer.code,
                Some(if is_looking { 0 } else { 60 }),
                "{name}: {answer:#?}"
            );
            if !is_looking {
                assert_helpful(&answer, "Permission denied", name);
            }
            assert_eq!(ground.current(), current, "{name}");
        }
        let whole = bound(&ground, &["verify"]);
        assert_eq!(
            whole.code,
            Some(0),
            "without a rebuild, no file is written: {whole:#?}"
        );
    });
    ground.heals(&expected, "a home that was for reading only");
}

/// Removes read and write access from one folder or file at a time.
#[test]
fn lost_rights_are_reported_by_name_and_the_next_run_recovers() {
    let ground = Ground::new();
    let expected = ground.expected();
    for path in [
        "lock",
        "ledger.jsonl",
        "accepted.jsonl",
        "state/urls",
        "state/partial",
        "snapshots/census.population_estimate",
        "staging",
        "channels/nightly",
        "releases",
        "unrenewed",
    ] {
        let locked = ground.home().join(path);
        // Git does not keep empty folders.
        ["staging", "state/partial"]
            .iter()
            .for_each(|folder| std::fs::create_dir_all(ground.home().join(folder)).unwrap());
        let mode = locked.metadata().unwrap().permissions().mode();
        set_mode(&locked, 0);
        let arguments = ground.tonight();
        let answer = bound(
            &ground,
            &arguments.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        set_mode(&locked, mode);
        assert_eq!(answer.code, Some(60), "{path}: {answer:#?}");
        let error: serde_json::Value =
            serde_json::from_str(answer.stderr.lines().last().unwrap()).unwrap();
        assert!(
            error["error"].as_str().unwrap().contains(path)
                && error["error"]
                    .as_str()
                    .unwrap()
                    .contains("ermission denied"),
            "{path}: {error:#}"
        );
        assert!(
            error["hint"]
                .as_str()
                .is_some_and(|hint| hint.contains("needs the right to it")),
            "{path}: {error:#}"
        );
        ground.heals(&expected, path);
        ground.back();
    }
}

/// `status` reports what would stop a run.
#[test]
fn status_reports_an_unreadable_url_state_and_continues() {
    let ground = Ground::new();
    let state = pubdata_testing::files_below(&ground.home().join("state/urls")).remove(0);
    let mode = state.metadata().unwrap().permissions().mode();
    set_mode(&state, 0);
    let status = bound(&ground, &["status", "--json"]);
    set_mode(&state, mode);
    let attention = status.expect(0).json()["attention"].clone();
    let unreadable = attention
        .as_array()
        .unwrap()
        .iter()
        .find(|need| need["what"] == "unreadable")
        .unwrap_or_else(|| panic!("{attention:#}"));
    let reason = unreadable["reason"].as_str().unwrap();
    assert!(
        reason.contains(state.to_str().unwrap()) && reason.contains("ermission denied"),
        "{reason}"
    );
}

/// A file where a folder should be, which no access right fixes.
#[test]
fn file_in_place_of_a_folder_is_named() {
    let ground = Ground::new();
    let expected = ground.expected();
    for folder in ["staging", "state/partial", "snapshots"] {
        let path = ground.home().join(folder);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "in the way").unwrap();
        let answer = ground.run();
        assert_eq!(answer.code, Some(60), "{folder}: {answer:#?}");
        assert!(answer.stderr.contains(folder), "{folder}: {answer:#?}");
        ground.back();
        ground.heals(&expected, folder);
        ground.back();
    }
}
