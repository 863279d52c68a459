use std::os::unix::process::ExitStatusExt;
use std::sync::{Arc, Once};

use pubdata_build::publish::fault::{FAULT_POINTS, VARIABLE};
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::error::ErrorKind;
use pubdata_fetch::FetchProgress;
use pubdata_run::{self as run, Observer, SharedObserver, TaskReport};
use pubdata_store::Home;

use super::GEOGRAPHY;
use pubdata_testing::{Place, copy_folder, settings};

/// Kills the program at each point of the second run, checks the remaining files, and runs again.
fn killed_at(points: impl Iterator<Item = &'static &'static str>) -> Vec<bool> {
    let place = Place::published_with(GEOGRAPHY);
    let old = place.current();
    let aside = place.root().join("old");
    copy_folder(&place.home(), &aside);
    place.edit("acsdt5y2023-b01003.dat", |text| {
        text.replace("860Z200US90210|19652|1335", "860Z200US90210|19653|1335")
    });
    let expected = place.run(&[]).expect(0).release_id();
    assert_ne!(old, expected);
    let mut moved = Vec::new();
    for point in points {
        std::fs::remove_dir_all(place.home()).unwrap();
        copy_folder(&aside, &place.home());
        let killed = place
            .run_command(&[])
            .env(VARIABLE, point)
            .output()
            .unwrap();
        assert_eq!(
            killed.status.signal(),
            Some(6),
            "{point}: died there: {killed:?}"
        );
        let current = place.current();
        assert!(current == old || current == expected, "{point}: {current}");
        moved.push(current == expected);
        place.pubdata(&["verify"]).expect(0);
        let next = place.run(&[]).expect(0);
        assert_eq!(
            next.release_id(),
            expected,
            "{point}: as an undisturbed run"
        );
        assert_eq!(
            next.json()["outcome"],
            if current == old {
                "published"
            } else {
                "unchanged"
            },
            "{point}"
        );
        assert_eq!(place.current(), expected, "{point}");
        place.pubdata(&["verify"]).expect(0);
    }
    moved
}

#[test]
fn kill_while_a_build_is_staged_keeps_the_old_release_and_recovers() {
    let moved = killed_at(
        FAULT_POINTS
            .iter()
            .filter(|point| point.starts_with("stage.")),
    );
    assert!(moved.len() >= 4 && !moved.contains(&true), "{moved:?}");
}

#[test]
fn kill_during_a_commit_leaves_the_old_or_new_release_and_recovers() {
    let moved = killed_at(
        FAULT_POINTS
            .iter()
            .filter(|point| point.starts_with("commit.")),
    );
    assert!(
        moved.len() >= 6 && moved.contains(&false) && moved.contains(&true),
        "{moved:?}"
    );
}

#[test]
fn build_staged_before_the_kill_is_not_repeated() {
    let place = Place::with(GEOGRAPHY);
    let killed = place
        .run_command(&[])
        .env(VARIABLE, "commit.begun")
        .output()
        .unwrap();
    assert_eq!(killed.status.signal(), Some(6));
    let next = place.run(&[]).expect(0);
    assert_eq!(next.task("nces.ccd_directory")["outcome"], "resumed");
    assert_eq!(
        next.release_id(),
        Place::published_with(GEOGRAPHY).current()
    );
}

#[test]
fn forced_run_or_a_dropped_acceptance_rebuilds_staged_parts() {
    for (first, then) in [
        (&[][..], &["--force"][..]),
        (&["--accept", "nces.ccd_directory"], &[]),
    ] {
        let place = Place::with(GEOGRAPHY);
        let killed = place
            .run_command(first)
            .env(VARIABLE, "commit.begun")
            .output()
            .unwrap();
        assert_eq!(killed.status.signal(), Some(6));
        let next = place.run(then).expect(0);
        assert_eq!(next.task("nces.ccd_directory")["outcome"], "built");
    }
}

#[test]
fn resumed_build_still_reports_its_quarantine() {
    let place = Place::with(GEOGRAPHY);
    place.edit("acsdt5y2023-b01003.dat", |text| {
        text.replace("860Z200US90210|19652|1335", "860Z200US90210|19652|-1335")
    });
    let killed = place
        .run_command(&[])
        .env(VARIABLE, "commit.begun")
        .output()
        .unwrap();
    assert_eq!(killed.status.signal(), Some(6));
    let next = place.run(&[]).expect(10);
    assert_eq!(next.task("census.acs5/vintage=2023")["outcome"], "resumed");
}

#[test]
fn kill_in_the_first_run_publishes_no_release_and_the_next_run_does() {
    let place = Place::with(GEOGRAPHY);
    let killed = place
        .run_command(&[])
        .env(VARIABLE, "commit.manifest_written")
        .output()
        .unwrap();
    assert_eq!(killed.status.signal(), Some(6));
    assert!(!place.home().join("channels/nightly").exists());
    place.pubdata(&["status"]).expect(0);
    assert_eq!(
        place.run(&[]).expect(0).release_id(),
        Place::published_with(GEOGRAPHY).current()
    );
}

#[test]
fn second_concurrent_run_is_refused_and_changes_nothing() {
    let place = Place::published_with(GEOGRAPHY);
    let first = place.current();
    place.edit("acsdt5y2023-b01003.dat", |text| {
        text.replace("860Z200US90210|19652|1335", "860Z200US90210|19653|1335")
    });
    let lock = Home::open(&place.home()).unwrap().lock().unwrap();
    for command in [
        &mut place.run_command(&[]),
        place
            .command(&["fetch"])
            .arg("--mirror")
            .arg(place.mirror()),
    ] {
        let refused = pubdata_testing::answer(command).expect(50);
        assert!(refused.stderr.contains("another run"), "{refused:#?}");
    }
    assert_eq!(
        place.pubdata(&["status", "--json"]).expect(0).json()["is_running"],
        true
    );
    assert_eq!(place.current(), first);
    drop(lock);
    place.run(&[]).expect(0);
    assert_ne!(place.current(), first);
}

/// Rolls back to the previous release as soon as a build begins, as an operator may.
struct RollsBack {
    place: Place,
    once: Once,
}

impl FetchProgress for RollsBack {
    fn started(&self, _: &str, _: Option<u64>) {}
    fn advanced(&self, _: u64) {}
    fn finished(&self) {}
}

impl Observer for RollsBack {
    fn on_fetch_started(&self, _: usize) {}
    fn on_fetched(&self, _: &str, _: &str) {}
    fn on_task_started(&self, _: &str) {
        self.once
            .call_once(|| drop(self.place.pubdata(&["releases", "rollback"]).expect(0)));
    }
    fn on_task_built(&self, _: &TaskReport) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn channel_moved_during_a_run_stays_where_it_was_moved() {
    let place = Place::published();
    let first = place.current();
    let people = |place: &Place, from: &str, to: &str| {
        place.edit("acsdt5y2023-b01003.dat", |text| {
            text.replace(&format!("US90210|{from}|"), &format!("US90210|{to}|"))
        });
    };
    people(&place, "19652", "19653");
    let second = place.run(&[]).expect(0).release_id();
    people(&place, "19653", "19654");
    let settings = settings(
        &place.home(),
        vec![place.mirror().display().to_string()],
        DeclarationFiles::built_in(),
    );
    let observer = Arc::new(RollsBack {
        place,
        once: Once::new(),
    });
    let error = run::run(&settings, &(observer.clone() as SharedObserver))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(
        error.to_string().contains(&format!("was moved to {first}")),
        "{error}"
    );
    let place = &observer.place;
    assert_eq!(place.current(), first);
    let third = place.run(&[]).expect(0).release_id();
    assert!(third != first && third != second);
    std::fs::remove_dir_all(place.home()).unwrap();
    assert_eq!(place.run(&[]).expect(0).release_id(), third);
}
