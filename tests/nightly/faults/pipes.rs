//! Replaces each kind of file with a named pipe: no command waits for a writer.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::kinds::{Kind, kinds};
use super::running::{Served, logged};
use super::signals::{signal, until};
use super::{Ground, SOURCE};

/// Time limit for a command of a hundredth of a second; on a busy machine it may take longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Puts a pipe in place of a file.
fn put_pipe(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = std::fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Returns the output of a command that must end without help.
#[track_caller]
fn ended(mut command: Command, what: &str) -> Output {
    let mut process = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while process.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            process.kill().unwrap();
            panic!("{what}: it waits");
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    process.wait_with_output().unwrap()
}

/// Returns the exit code that a damaged file of the kind causes. A non-file sometimes counts as
/// absent.
fn code_of(kind: &Kind, command: &str) -> i32 {
    match (kind.name, command) {
        ("snapshots", "trace" | "verify") => 2,
        ("settings", _) => 60,
        _ => kind.code_of(command),
    }
}

fn try_kinds(names: &[&str]) {
    let (kinds, ground) = (kinds(), Ground::new());
    ground.keep();
    for kind in kinds.iter().filter(|kind| names.contains(&kind.name)) {
        for (name, arguments) in ground.commands() {
            let what = format!("{name} with a pipe in place of {}", kind.name);
            (kind.files)(&ground).iter().for_each(|path| put_pipe(path));
            let mut command = ground.command(&[]);
            command.args(arguments);
            let output = ended(command, &what);
            let reported = String::from_utf8_lossy(&output.stderr);
            // A command that cannot write to the pipe's path reports it.
            let is_named = output.status.code() == Some(60)
                && reported.contains("not a file")
                && reported.contains("hint: ");
            assert!(
                is_named || output.status.code() == Some(code_of(kind, name)),
                "{what}: {:?}: {reported}",
                output.status
            );
            assert!(!reported.contains("panicked"), "{what}: {reported}");
            ground.back();
        }
    }
}

#[test]
fn pipe_in_place_of_identity_or_history_blocks_no_command() {
    try_kinds(&[
        "home",
        "settings",
        "ledger",
        "acceptances",
        "logs of servers",
        "API keys",
    ]);
}

#[test]
fn pipe_in_place_of_a_release_pointer_blocks_no_command() {
    try_kinds(&[
        "channels",
        "what was not renewed",
        "manifests",
        "the manifest of an earlier release",
    ]);
}

#[test]
fn pipe_in_place_of_a_part_or_snapshot_blocks_no_command() {
    try_kinds(&[
        "parts of builds",
        "declarations of a release",
        "companions of a release",
        "snapshots",
        "state of URLs",
    ]);
}

#[test]
fn pipe_in_place_of_a_rebuilt_file_or_event_log_blocks_no_command() {
    try_kinds(&[
        "copies of parts",
        "plans",
        "receipts of units",
        "staged builds",
        "event log",
        "state of the feeds",
    ]);
}

/// Every file that a command opens for writing.
#[test]
fn pipe_in_place_of_a_lock_or_new_file_blocks_no_command() {
    let ground = Ground::new();
    ground.keep();
    for path in ["lock", "keys.lock", "keys.json.new", "stream/lock"] {
        for (name, arguments) in ground.commands() {
            put_pipe(&ground.home().join(path));
            let mut command = ground.command(&[]);
            command.args(arguments);
            ended(command, &format!("{name} with a pipe in place of {path}"));
            ground.back();
        }
    }
}

#[test]
fn pipe_is_not_imported_and_the_home_stays_unlocked() {
    let ground = Ground::new();
    let pipe = ground.path("pipe");
    put_pipe(&pipe);
    for path in [pipe.to_str().unwrap(), "/dev/zero"] {
        let output = ended(ground.command(&["import", SOURCE, path]), "import");
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(40), "{reported}");
        assert!(
            reported.contains("is a pipe, a socket or a device, not a file")
                && reported.contains("hint: "),
            "{reported}"
        );
    }
    // The import is refused before the home is locked, so a run in progress does not matter.
    let _lock = pubdata_store::Home::open(&ground.home())
        .unwrap()
        .lock()
        .unwrap();
    assert_eq!(
        ended(
            ground.command(&["import", SOURCE, pipe.to_str().unwrap()]),
            "import"
        )
        .status
        .code(),
        Some(40)
    );
}

#[test]
fn pipe_in_place_of_a_snapshot_counts_as_unreadable_not_as_hashed() {
    let ground = Ground::new();
    ground.keep();
    let before = ground.pubdata(&["verify", "--json"]).expect(0).json()["verified"].clone();
    // The release's snapshot is among them.
    pubdata_testing::files_below(&ground.home().join("snapshots"))
        .iter()
        .for_each(|snapshot| put_pipe(snapshot));
    let answer = ground.pubdata(&["verify", "--json"]).expect(2).json()["verified"].clone();
    assert_eq!(
        (&before["snapshots"], &answer["snapshots"]),
        (&serde_json::json!(1), &serde_json::json!(0))
    );
    let unreadable = answer["unreadable"].as_array().unwrap();
    assert!(
        unreadable.len() == 1
            && unreadable[0]
                .as_str()
                .unwrap()
                .contains("cannot be read: it is not a regular file"),
        "{answer:#}"
    );
    assert_eq!(answer["missing"], serde_json::json!([]));
    assert!(
        ground
            .pubdata(&["verify"])
            .expect(2)
            .stdout
            .contains("; 1 unreadable")
    );
}

/// The next generation of the channel that a server follows.
#[test]
fn server_continues_beside_a_pipe_reports_it_and_stops_on_request() {
    let ground = Ground::new();
    let current = ground.current();
    let mut server = Served::start(&ground);
    until("it serves", || server.serves(&current));
    let next = ground.home().join("channels/nightly/0000000003.json");
    put_pipe(&next);
    until("it says so", || logged(&ground).contains("0000000003.json"));
    assert!(
        logged(&ground).contains("not a file") && server.serves(&current),
        "{}",
        logged(&ground)
    );
    std::fs::remove_file(&next).unwrap();
    let expected = ground.run().expect(0).release_id();
    until("it follows on", || server.serves(&expected));
    put_pipe(&ground.home().join("channels/nightly/0000000004.json"));
    until("it says so again", || {
        logged(&ground).contains("0000000004.json")
    });
    signal(&server.program, "TERM");
    until("it ends", || server.ended().is_some());
    assert_eq!(server.ended(), Some(0));
}

/// The name is none that pubdata writes: it contains a line break.
#[test]
fn foreign_folder_among_the_releases_blocks_no_release() {
    let ground = Ground::new();
    for folder in ["releases/r\n1", "releases/\u{1b}[31m", "channels/a\tb"] {
        std::fs::create_dir(ground.home().join(folder)).unwrap();
    }
    for arguments in [
        &["releases", "list"][..],
        &["upgrade"],
        &["releases", "prune", "--keep", "1"],
        &["status"],
        &["verify"],
    ] {
        ground.pubdata(arguments).expect(0);
    }
}
