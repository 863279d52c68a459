//! Fills the disk at each write: a limit on file sizes makes each write beyond it fail, for root
//! and for every other user.

use std::fs::OpenOptions;
use std::process::Stdio;
use std::time::Duration;

use super::signals::until;
use super::{Ground, assert_helpful};
use pubdata_testing::{Answer, answer};

/// Limits a file to `blocks` blocks of 512 bytes. The signal is ignored, so the write fails and the
/// process continues.
fn full_at(blocks: u32) -> String {
    format!("trap '' XFSZ; ulimit -f {blocks}")
}

fn full() -> std::fs::File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

fn run_full(ground: &Ground, blocks: u32) -> Answer {
    let arguments = ground.tonight();
    answer(&mut ground.limited(
        &full_at(blocks),
        &arguments.iter().map(String::as_str).collect::<Vec<_>>(),
    ))
}

/// Goes from "no write fits" to "every write fits", from an empty home and from where a killed run
/// ended: downloads, states, parts, the manifest, the channel move.
#[test]
fn run_on_a_full_disk_ends_with_60_and_the_next_run_finishes_it() {
    let ground = Ground::new();
    let expected = ground.expected();
    // Each run reads a just written file again (`YOUNG` of `fetch::fetcher`) and needs space for
    // it. This is not the case under test.
    until("the list is no new file any more", || {
        ground.age_of_the_list() > Duration::from_secs(3)
    });
    let mut places = Vec::new();
    let started = [
        (None, &[0, 1, 8, 17, 18, 24][..]),
        (Some("commit.begun"), &[1, 8, 18]),
        (Some("commit.manifest_written"), &[0]),
    ];
    for (point, blocks) in started
        .into_iter()
        .flat_map(|(point, sizes)| sizes.iter().map(move |blocks| (point, *blocks)))
    {
        ground.back();
        if let Some(point) = point {
            ground
                .command(&[])
                .args(ground.tonight())
                .env(pubdata_build::publish::fault::VARIABLE, point)
                .output()
                .unwrap();
        }
        let full = run_full(&ground, blocks);
        let what = format!("{blocks} blocks after {point:?}");
        if full.code != Some(0) {
            assert_eq!(full.code, Some(60), "{what}: {full:#?}");
            assert!(
                full.stderr.contains("File too large") && full.stderr.contains("make room there"),
                "{what}: {full:#?}"
            );
            assert!(
                !full.stderr.contains("panicked")
                    && !full.stderr.contains("a source is not available"),
                "no publisher is blamed: {full:#?}"
            );
            let error: serde_json::Value =
                serde_json::from_str(full.stderr.lines().last().unwrap()).unwrap();
            places.push(error["error"].as_str().unwrap().to_owned());
        }
        ground.heals(&expected, &what);
    }
    for place in [
        "/state/partial/",
        "/staging/",
        "releases/r",
        "channels/nightly/",
    ] {
        assert!(
            places.iter().any(|reported| reported.contains(place)),
            "one of the runs filled {place}: {places:#?}"
        );
    }
}

/// Makes the ledger longer than the limit.
fn lengthen_ledger(ground: &Ground) {
    let path = ground.home().join("ledger.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, text.repeat(20_000 / text.len() + 1)).unwrap();
}

/// The ledger line is the last write of a run: the release is already published, and a partial line
/// does no harm.
#[test]
fn run_that_cannot_write_its_ledger_line_has_published_and_ends_with_60() {
    let ground = Ground::new();
    let expected = ground.expected();
    lengthen_ledger(&ground);
    let full = run_full(&ground, 24);
    assert_eq!(
        (full.code, ground.current()),
        (Some(60), expected.clone()),
        "{full:#?}"
    );
    assert!(
        full.stderr.contains("cannot append to") && full.stderr.contains("ledger.jsonl"),
        "{full:#?}"
    );
    ground.heals(&expected, "the ledger");
}

/// The cause that ended the run comes first, although the ledger write failed too.
#[test]
fn run_with_a_failed_ledger_write_reports_its_cause_to_the_hook() {
    let ground = Ground::new();
    ground.put("hook.sh", "cat > \"$1\"\n");
    let reported = ground.path("told.json");
    let hook = format!(
        "sh {} {}",
        ground.path("hook.sh").display(),
        reported.display()
    );
    lengthen_ledger(&ground);
    let arguments = ground.tonight();
    let arguments: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .chain(["--hook", &hook])
        .collect();
    let full = answer(&mut ground.limited(&full_at(8), &arguments));
    assert_eq!(full.code, Some(60), "{full:#?}");
    let error = full.stderr.lines().last().unwrap();
    assert!(
        error.contains("cannot write") && !error.contains("ledger.jsonl"),
        "{full:#?}"
    );
    assert!(
        full.stderr.contains("the run is not in the ledger"),
        "{full:#?}"
    );
    let message: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&reported).unwrap()).unwrap();
    assert_eq!(
        (&message["events"][0]["event"], &message["exit_code"]),
        (&"failed".into(), &60.into()),
        "{message:#}"
    );
    assert!(
        message["events"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("File too large"),
        "{message:#}"
    );
}

/// Runs each other writing command on a disk without any space.
#[test]
fn writing_command_on_a_full_disk_ends_with_60_and_changes_nothing() {
    let ground = Ground::new();
    ground.keep();
    let current = ground.current();
    for (name, arguments) in ground.commands() {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let full = answer(&mut ground.limited(&full_at(0), &arguments));
        let expected = match name {
            "plan" | "fetch" | "run" | "import" | "accept" | "keys create" | "releases promote"
            | "releases rollback" | "probe" | "verify" => 60,
            // The log does not change: the follower writes only its own state file.
            "follow" => 60,
            _ => 0,
        };
        assert_eq!(full.code, Some(expected), "{name}: {full:#?}");
        if expected == 60 {
            assert_helpful(&full, "File too large", name);
        }
        assert_eq!(ground.current(), current, "{name}");
        assert_eq!(
            ground.pubdata(&arguments).code,
            Some(0),
            "{name} works again once there is space"
        );
        ground.back();
    }
}

/// A panic while printing was once reported as a defect, with a trace and code 101.
#[test]
fn failed_print_ends_with_60_and_the_work_stays_done() {
    let ground = Ground::new();
    let expected = ground.expected();
    for (name, arguments) in ground.commands() {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let unprinted = answer_with(&ground, &arguments, Stdio::from(full()), Stdio::piped());
        assert_eq!(unprinted.code, Some(60), "{name}: {unprinted:#?}");
        assert_helpful(
            &unprinted,
            "cannot write to standard output: No space left on device",
            name,
        );
        ground.back();
    }
    let arguments = ground.tonight();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    answer_with(&ground, &arguments, Stdio::from(full()), Stdio::piped()).expect(60);
    assert_eq!(
        ground.current(),
        expected,
        "it was published before it was printed"
    );
}

/// Behind `| head` the reader closes the pipe. This is not a defect, prints no message, and keeps
/// the exit code of the work.
#[test]
fn closed_output_pipe_is_not_a_defect() {
    let ground = Ground::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let unread = answer_with(
        &ground,
        &["schema", "dictionary"],
        Stdio::from(writer),
        Stdio::piped(),
    );
    assert_eq!((unread.code, unread.stderr.as_str()), (Some(0), ""));
}

/// A full disk once ended every process that wrote to the log.
#[test]
fn unwritable_log_changes_nothing() {
    let ground = Ground::new();
    let expected = ground.expected();
    let arguments = ground.tonight();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = ground.command(&arguments);
    command.env("PUBDATA_LOG", "trace").stderr(full());
    let unlogged = answer(&mut command).expect(0);
    assert_eq!(
        (unlogged.release_id(), ground.current()),
        (expected.clone(), expected)
    );
    let refused = answer_with(
        &ground,
        &["trace", "nothing"],
        Stdio::piped(),
        Stdio::from(full()),
    );
    assert_eq!(refused.code, Some(40), "only the exit code reports it");
}

fn answer_with(ground: &Ground, arguments: &[&str], stdout: Stdio, stderr: Stdio) -> Answer {
    let output = ground
        .command(arguments)
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Answer {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}
