//! Runs two processes on one home: a run beside every other command, and each command beside
//! itself.

use std::collections::BTreeSet;
use std::process::{Child, Stdio};

use pubdata_store::{EventLog, Home};

use super::{Ground, assert_helpful};

#[test]
fn command_that_would_disturb_a_run_ends_with_50_and_others_work() {
    let ground = Ground::new();
    let expected = ground.expected();
    let current = ground.current();
    let home = Home::open(&ground.home()).unwrap();
    for (name, arguments) in ground.commands() {
        let run = home.lock().unwrap();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let answer = ground.pubdata(&arguments);
        let is_disturbing = matches!(name, "run" | "fetch" | "import" | "releases prune");
        assert_eq!(
            answer.code,
            Some(if is_disturbing { 50 } else { 0 }),
            "{name}: {answer:#?}"
        );
        if is_disturbing {
            assert_helpful(&answer, "another run holds the lock", name);
            assert_eq!(ground.current(), current, "{name}");
        }
        drop(run);
        ground.back();
    }
    ground.heals(&expected, "beside a run");
}

#[test]
fn second_follower_ends_with_50() {
    let ground = Ground::new();
    let _first = EventLog::open(&Home::open(&ground.home()).unwrap(), |_| ()).unwrap();
    let second = ground
        .pubdata(&[
            "follow",
            "--once",
            "--mirror",
            ground.mirror().to_str().unwrap(),
        ])
        .expect(50);
    assert_helpful(&second, "another follower holds the lock", "follow");
}

fn started(ground: &Ground, arguments: &[&str]) -> Child {
    ground
        .command(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// No concurrent writer loses what another one wrote.
#[test]
fn concurrent_writes_are_all_kept() {
    let ground = Ground::new();
    let names: BTreeSet<String> = (0..8).map(|number| format!("reader-{number}")).collect();
    let keys: Vec<Child> = names
        .iter()
        .map(|name| {
            started(
                &ground,
                &["keys", "create", "--name", name, "--scopes", "geo"],
            )
        })
        .collect();
    let words: Vec<Child> = (0..8)
        .map(|_| started(&ground, &["accept", "census.population:floor"]))
        .collect();
    for child in keys.into_iter().chain(words) {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let listed = ground.pubdata(&["keys", "list", "--json"]).expect(0).json();
    let listed: BTreeSet<String> = listed["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(listed.is_superset(&names), "{listed:?}");
    let accepted = std::fs::read_to_string(ground.home().join("accepted.jsonl")).unwrap();
    assert_eq!(
        accepted
            .lines()
            .filter(|line| line.contains("\"floor\""))
            .count(),
        8,
        "{accepted}"
    );
}

/// Each of several concurrent moves of a channel starts from the release it saw, or reports that it
/// did not move the channel.
#[test]
fn one_of_two_channel_moves_wins_and_the_other_reports_it() {
    let ground = Ground::new();
    for _ in 0..5 {
        let moves = ground.moves().len();
        let both: Vec<Child> = (0..2)
            .map(|_| started(&ground, &["releases", "rollback", "--to", &other(&ground)]))
            .collect();
        let codes: Vec<Option<i32>> = both
            .into_iter()
            .map(|child| child.wait_with_output().unwrap().status.code())
            .collect();
        assert!(
            codes.contains(&Some(0)) && codes.iter().all(|code| matches!(code, Some(0 | 50))),
            "{codes:?}"
        );
        assert_eq!(
            ground.moves().len(),
            moves + 1,
            "the channel was moved once: {codes:?}"
        );
        ground.pubdata(&["verify"]).expect(0);
    }
}

/// Returns a release that the channel does not point at.
fn other(ground: &Ground) -> String {
    let releases = pubdata_testing::folders(&ground.home().join("releases"));
    let ids = releases
        .iter()
        .map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned());
    ids.into_iter().find(|id| *id != ground.current()).unwrap()
}
