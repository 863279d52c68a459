use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::desk::{Desk, Entry, accession, segment};

/// Builds `pubdata follow --once` on the desk's publisher.
fn program(desk: &Desk) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pubdata"));
    command
        .args([
            "follow",
            "--once",
            "--json",
            "--mirror",
            &desk.publisher.base_url(),
            "--home",
        ])
        .arg(desk.home_path());
    command
        .env("PUBDATA_LOG", "error")
        .env_remove("PUBDATA_DECLARATIONS")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Kills the program repeatedly while the feed grows: at any moment, no filing is logged twice or
/// missed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn follower_killed_at_any_moment_logs_each_filing_once() {
    let desk = Desk::new().await;
    let mut last = 0;
    let mut killed = 0;
    for round in 0..24_u64 {
        last += 37;
        desk.show(&(1..=last).rev().map(Entry::new).collect::<Vec<_>>());
        let mut command = program(&desk);
        let wait = Duration::from_millis(4 + 9 * round % 160);
        let status = tokio::task::spawn_blocking(move || {
            let mut process = command.spawn().unwrap();
            std::thread::park_timeout(wait);
            process.kill().unwrap();
            process.wait().unwrap()
        });
        killed += u32::from(status.await.unwrap().signal() == Some(9));
    }
    assert!(
        killed > 5,
        "{killed} of the programs were killed while they worked"
    );
    let mut command = program(&desk);
    let status = tokio::task::spawn_blocking(move || command.status().unwrap())
        .await
        .unwrap();
    assert_eq!(status.code(), Some(0));
    desk.assert_once(1..=last);
}

/// A killed follower leaves a prefix of its writes: cut anywhere, the log opens, and the next poll
/// completes it.
#[tokio::test]
async fn log_cut_anywhere_in_its_last_batch_is_completed() {
    let desk = Desk::new().await;
    desk.show(&[2, 1].map(Entry::new));
    desk.poll(&mut desk.follower()).await;
    let before = std::fs::read(segment(&desk.home_path())).unwrap().len();
    desk.show(&[5, 4, 3, 2, 1].map(Entry::new));
    desk.poll(&mut desk.follower()).await;
    let whole = std::fs::read(segment(&desk.home_path())).unwrap();
    for length in (before..whole.len())
        .step_by(61)
        .chain([whole.len() - 1, whole.len()])
    {
        std::fs::write(segment(&desk.home_path()), &whole[..length]).unwrap();
        let readable = desk.events().len();
        assert!(
            readable == 2 || length == whole.len(),
            "{length}: uncommitted events are not read: {readable} events"
        );
        let mut follower = desk.follower();
        let kept = desk.events().len();
        assert!((2..=5).contains(&kept), "{length}: {kept}");
        assert_eq!(follower.last_seq() as usize, kept, "{length}");
        desk.poll(&mut follower).await;
        let order: Vec<String> = desk
            .assert_once(1..=5)
            .into_iter()
            .map(|event| event.accession_number)
            .collect();
        assert_eq!(order, [1, 2, 3, 4, 5].map(accession), "{length}");
    }
}

#[tokio::test]
async fn log_damaged_before_its_last_commit_is_not_taken_for_torn() {
    let desk = Desk::new().await;
    desk.show(&[2, 1].map(Entry::new));
    desk.poll(&mut desk.follower()).await;
    let path = segment(&desk.home_path());
    let text = std::fs::read_to_string(&path).unwrap();
    for damaged in [
        text.replacen("\"seq\":1", "\"seq\":7", 1),
        text.replacen("\"seq\":2", "\"seq\" 2", 1),
        text.replacen("format_version\":1", "format_version\":9", 1),
    ] {
        assert_ne!(damaged, text);
        std::fs::write(&path, &damaged).unwrap();
        let error = pubdata_run::follow::Follower::open(desk.settings())
            .err()
            .unwrap();
        assert_eq!(
            error.kind(),
            pubdata_core::error::ErrorKind::Store,
            "{error}"
        );
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            damaged,
            "no byte is cut"
        );
    }
}
