//! Repeats the operations on an S3-compatible store: it needs only configuration, and may refuse,
//! lose or repeat requests.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use pubdata_build::publish::fault::{FAULT_POINTS, VARIABLE};
use pubdata_build::publish::{Outcome, prepare, promote, prune, rollback};
use pubdata_core::error::ErrorKind;
use pubdata_store::{Releases, SharedStore};

use super::{NOW, Place, contracts, crash, reused};
use pubdata_testing::objects::{Fault, ObjectServer};

const STORE: &str = "PUBDATA_TEST_STORE";
const STEP: &str = "PUBDATA_TEST_STEP";

/// Also the program that the test below starts in a separate process, with the environment of an S3
/// store.
#[tokio::test]
async fn store_serves_publish_race_rollback_promote_and_prune() {
    let place = Place::new();
    let url = std::env::var(STORE).ok();
    let place = Place {
        releases: Releases::open(&place.home, url.as_deref()).unwrap(),
        ..place
    };
    let releases = &place.releases;
    assert_eq!(place.current().await, None);
    let first = place
        .publish(vec![
            place.built(2023, "one", 1),
            place.built(2024, "one", 1),
        ])
        .await;
    let elsewhere = Place::beside(&place);
    let slow = prepare(
        releases,
        &contracts(),
        "nightly",
        vec![elsewhere.built(2024, "lost", 3)],
        false,
        "slow",
        NOW,
    )
    .await
    .unwrap();
    let second = place
        .publish(vec![reused(2023), place.built(2024, "two", 2)])
        .await;
    assert_eq!(
        (second.outcome, second.parts_linked, second.parts_written),
        (Outcome::Published, 1, 1)
    );
    let lost = slow.manifest().release_id.clone();
    assert_eq!(
        slow.publish(&elsewhere.home, releases)
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::Busy
    );
    assert_eq!(place.current().await.as_ref(), Some(&second.release_id));
    assert_eq!(
        rollback(releases, "nightly", None, NOW)
            .await
            .unwrap()
            .unwrap()
            .release_id,
        first.release_id
    );
    assert_eq!(
        promote(releases, "nightly", "stable", NOW)
            .await
            .unwrap()
            .unwrap()
            .generation,
        1
    );
    assert_eq!(releases.channels().await.unwrap(), ["nightly", "stable"]);
    let all: BTreeSet<_> = [
        first.release_id.clone(),
        second.release_id.clone(),
        lost.clone(),
    ]
    .into_iter()
    .collect();
    assert_eq!(
        releases
            .list()
            .await
            .unwrap()
            .into_iter()
            .collect::<BTreeSet<_>>(),
        all
    );
    let pruned = prune(
        releases,
        1,
        jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24),
    )
    .await
    .unwrap();
    assert_eq!(
        pruned.releases.into_iter().collect::<BTreeSet<_>>(),
        [second.release_id, lost].into_iter().collect()
    );
    let manifest = releases.manifest(&first.release_id).await.unwrap();
    for part in &manifest.datasets["test.place"].parts {
        pubdata_build::publish::verify_part(
            part,
            &releases.part(&first.release_id, part).await.unwrap(),
        )
        .unwrap();
    }
}

/// Runs the test above in a process whose store is the server's.
async fn on_the_server(server: &ObjectServer, test: &'static str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test])
        .env(STORE, "s3://bucket/some/prefix")
        .envs(server.environment());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("1 passed"),
        "no such test: {test}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s3_store_needs_only_configuration() {
    let server = ObjectServer::start(&[]).await;
    on_the_server(
        &server,
        "publish::s3::store_serves_publish_race_rollback_promote_and_prune",
    )
    .await;
    let keys = server.keys();
    assert!(
        keys.iter().all(|key| key.starts_with("some/prefix/")),
        "{keys:?}"
    );
    let channels: Vec<&String> = keys.iter().filter(|key| key.contains("channels")).collect();
    let expected = [
        "nightly/0000000001",
        "nightly/0000000002",
        "nightly/0000000003",
        "stable/0000000001",
    ];
    assert_eq!(
        channels,
        expected
            .map(|name| format!("some/prefix/channels/{name}.json"))
            .iter()
            .collect::<Vec<_>>()
    );
    assert!(
        !keys.iter().any(|key| key.contains("check")),
        "the check of conditional writes left files: {keys:?}"
    );
}

/// A 409 of S3 means that another creation is in progress, which may still fail. A lost answer
/// looks like a failure, and a retry looks like another writer's request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_with_conflicts_lost_answers_and_outages_loses_nothing() {
    for fault in [Fault::Conflict, Fault::LostAnswer, Fault::Unavailable] {
        let server = ObjectServer::start(&[fault]).await;
        on_the_server(
            &server,
            "publish::s3::store_serves_publish_race_rollback_promote_and_prune",
        )
        .await;
        assert!(
            fault == Fault::Unavailable || server.failed() >= 4,
            "{fault:?} occurred on {} files",
            server.failed()
        );
    }
}

/// Also the program that the test below starts.
#[tokio::test]
async fn store_that_ignores_conditions_is_refused() {
    let Ok(url) = std::env::var(STORE) else {
        return;
    };
    let place = Place::new();
    let store = SharedStore::at(&url).unwrap();
    let error = store.check().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(
        error.to_string().contains("ignores conditions") && error.hint_text().is_some(),
        "{error}"
    );
    let releases = Releases::open(&place.home, Some(&url)).unwrap();
    let refused = prepare(
        &releases,
        &contracts(),
        "nightly",
        vec![place.built(2024, "one", 1)],
        false,
        "run",
        NOW,
    )
    .await
    .unwrap_err();
    assert!(
        refused.kind() == ErrorKind::Config && refused.to_string().contains("ignores conditions"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishing_refuses_a_store_that_ignores_conditions() {
    let server = ObjectServer::start(&[Fault::Unconditional]).await;
    on_the_server(
        &server,
        "publish::s3::store_that_ignores_conditions_is_refused",
    )
    .await;
    assert_eq!(server.keys(), Vec::<String>::new());
}

/// Also the program that the test below starts: one step of the runs of `crash`, on the store of
/// its environment.
#[tokio::test]
async fn step_of_two_runs_publishes() {
    let (Ok(url), Ok(home), Ok(step)) = (
        std::env::var(STORE),
        std::env::var("PUBDATA_TEST_HOME"),
        std::env::var(STEP),
    ) else {
        return;
    };
    let place = Place::at(Path::new(&home));
    let place = Place {
        releases: Releases::open(&place.home, Some(&url)).unwrap(),
        ..place
    };
    let releases = &place.releases;
    match step.as_str() {
        "first" => drop(crash::first_night(&place).await),
        "second" => drop(crash::second_night(&place).await),
        _ => {
            for release_id in releases.list().await.unwrap() {
                crash::assert_whole(&place, &release_id).await;
            }
            let before = releases.channel("nightly").await.unwrap().unwrap();
            let committed = crash::second_night(&place).await;
            let outcome = if before.generation == 1 {
                Outcome::Published
            } else {
                Outcome::Unchanged
            };
            assert_eq!(committed.outcome, outcome, "{before:?}");
            crash::assert_whole(&place, &committed.release_id).await;
            let after = releases.channel("nightly").await.unwrap().unwrap();
            assert_eq!(
                (after.generation, &after.release_id),
                (2, &committed.release_id)
            );
            assert_eq!(
                std::fs::read_dir(place.home.staging_dir()).unwrap().count(),
                0,
                "staging is cleared"
            );
            println!(
                "generation before: {}; release {}",
                before.generation, committed.release_id
            );
        }
    }
}

/// As on a folder: readers see the old release or the new one, wherever the publisher dies, and the
/// next run finishes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_at_any_step_on_s3_loses_nothing() {
    let expected = {
        let place = Place::new();
        crash::first_night(&place).await;
        crash::second_night(&place).await.release_id
    };
    let mut seen_old_and_new = (0, 0);
    for point in FAULT_POINTS {
        let server = ObjectServer::start(&[]).await;
        let home = tempfile::tempdir().unwrap();
        let step = async |name: &str, fault: &str| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command
                .args([
                    "--exact",
                    "publish::s3::step_of_two_runs_publishes",
                    "--nocapture",
                ])
                .env(STORE, "s3://bucket/night")
                .envs(server.environment());
            command
                .env("PUBDATA_TEST_HOME", home.path())
                .env(STEP, name)
                .env(VARIABLE, fault);
            tokio::task::spawn_blocking(move || command.output().unwrap())
                .await
                .unwrap()
        };
        assert!(step("first", "").await.status.success(), "{point}");
        let killed = step("second", point).await;
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&killed.status),
            Some(6),
            "{point}: {}",
            String::from_utf8_lossy(&killed.stdout)
        );
        let after = step("after", "").await;
        let reported = String::from_utf8_lossy(&after.stdout).into_owned();
        assert!(
            after.status.success() && reported.contains(&format!("release {expected}")),
            "{point}: {reported}{}",
            String::from_utf8_lossy(&after.stderr)
        );
        match reported.contains("generation before: 1") {
            true => seen_old_and_new.0 += 1,
            false => seen_old_and_new.1 += 1,
        }
    }
    assert_eq!(
        seen_old_and_new,
        (10, 2),
        "the channel moves between two points, once"
    );
}
