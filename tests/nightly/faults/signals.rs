//! Kills, stops, pauses and continues every command at any moment.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Ground;

const PATIENCE: Duration = Duration::from_secs(30);

pub fn signal(process: &Child, name: &str) {
    assert!(
        Command::new("kill")
            .args([&format!("-{name}"), &process.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
}

/// Waits until another process reaches a state.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Starts a run that has moved the channel and cannot continue: another process holds the ledger.
fn held_run(ground: &Ground) -> (Child, File) {
    let ledger = File::options()
        .read(true)
        .write(true)
        .open(ground.home().join("ledger.jsonl"))
        .unwrap();
    ledger.lock().unwrap();
    let moves = ground.moves().len();
    let mut run = ground
        .command(&[])
        .args(ground.tonight())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the run moves the channel", || {
        assert!(run.try_wait().unwrap().is_none(), "the run continues");
        ground.moves().len() > moves
    });
    (run, ledger)
}

#[test]
fn stopped_run_leaves_a_whole_release_and_the_next_run_writes_the_rest() {
    let ground = Ground::new();
    let expected = ground.expected();
    for (name, number) in [("TERM", 15), ("INT", 2), ("KILL", 9)] {
        ground.back();
        let (mut run, ledger) = held_run(&ground);
        signal(&run, name);
        assert_eq!(run.wait().unwrap().signal(), Some(number));
        assert_eq!(ground.current(), expected, "{name}: it was published");
        let status = ground.pubdata(&["status", "--json"]).expect(0).json();
        assert_eq!(
            (
                &status["is_running"],
                status["runs"].as_array().unwrap().len()
            ),
            (&false.into(), 2),
            "{name}: the system freed its lock"
        );
        drop(ledger);
        ground.heals(&expected, name);
        let status = ground.pubdata(&["status", "--json"]).expect(0).json();
        assert_eq!(status["runs"].as_array().unwrap().len(), 3, "{name}");
    }
}

#[test]
fn paused_run_blocks_no_reader_and_finishes_when_continued() {
    let ground = Ground::new();
    let expected = ground.expected();
    let (mut run, ledger) = held_run(&ground);
    signal(&run, "STOP");
    for arguments in [
        &["verify"][..],
        &["releases", "list"],
        &["trace", super::RECORD],
        &["keys", "list"],
    ] {
        ground.pubdata(arguments).expect(0);
    }
    assert_eq!(
        ground.pubdata(&["status", "--json"]).expect(0).json()["is_running"],
        true
    );
    let second = ground.run().expect(50);
    assert!(
        second.stderr.contains("another run holds the lock"),
        "{second:#?}"
    );
    drop(ledger);
    signal(&run, "CONT");
    assert_eq!(run.wait().unwrap().code(), Some(0));
    ground.heals(&expected, "continued");
}

/// Kills the command after a few milliseconds, then a few more, until it ends without a kill. The
/// home is whole each time.
#[test]
fn command_killed_at_any_moment_leaves_a_working_home() {
    let ground = Ground::new();
    let expected = ground.expected();
    let mut killed = 0;
    let writing = [
        "plan",
        "fetch",
        "run",
        "import",
        "accept",
        "keys create",
        "releases promote",
        "releases rollback",
        "releases prune",
        "follow",
        "probe",
    ];
    for (name, arguments) in ground
        .commands()
        .into_iter()
        .filter(|(name, _)| writing.contains(name))
    {
        for wait in [8, 16, 24, 32, 48] {
            let mut process = ground
                .command(&[])
                .args(&arguments)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::park_timeout(Duration::from_millis(wait));
            let _ = process.kill();
            killed += u32::from(process.wait().unwrap().signal() == Some(9));
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let is_gone = name == "releases rollback";
        let after = ground.pubdata(&arguments);
        assert!(
            after.code == Some(0) || (is_gone && after.code == Some(40)),
            "{name}: {after:#?}"
        );
        ground.pubdata(&["verify"]).expect(0);
        ground.pubdata(&["status"]).expect(0);
        ground.pubdata(&["keys", "list"]).expect(0);
        let next = ground.run();
        assert_eq!(next.code, Some(0), "{name}: {next:#?}");
        // A manually imported file makes a separate release.
        assert!(
            ground.current() == expected || name == "import",
            "{name}: {next:#?}"
        );
        ground.back();
    }
    assert!(
        killed > 10,
        "{killed} commands were killed while they worked"
    );
}

#[test]
fn follower_that_is_asked_to_stop_ends_with_0() {
    let ground = Ground::new();
    let state = ground.home().join("stream/state.json");
    for name in ["TERM", "INT"] {
        std::fs::remove_file(&state).unwrap();
        let arguments =
            ["follow", "--mirror", ground.mirror().to_str().unwrap()].map(str::to_owned);
        let mut follower = ground
            .command(&[])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until("both feeds were asked", || {
            std::fs::read_to_string(&state).is_ok_and(|text| text.matches("asked_at").count() == 2)
        });
        signal(&follower, name);
        let began = Instant::now();
        while follower.try_wait().unwrap().is_none() && began.elapsed() < PATIENCE {
            std::thread::park_timeout(Duration::from_millis(2));
        }
        let _ = follower.kill();
        assert_eq!(follower.wait().unwrap().code(), Some(0), "{name}");
    }
}
