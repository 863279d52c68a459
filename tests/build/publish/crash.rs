use std::path::Path;
use std::process::Command;

use pubdata_build::publish::fault::{FAULT_POINTS, VARIABLE};
use pubdata_build::publish::{Outcome, verify_part};
use pubdata_core::ids::ReleaseId;

use super::{Place, reused};

const HOME: &str = "PUBDATA_TEST_HOME";

/// Also the program that the tests below start in a separate process, with a home and a point to
/// die at.
#[tokio::test]
async fn second_run_replaces_one_year_and_keeps_the_other() {
    let place = match std::env::var_os(HOME) {
        Some(root) => Place::at(Path::new(&root)),
        None => {
            let place = Place::new();
            first_night(&place).await;
            place
        }
    };
    let committed = second_night(&place).await;
    assert_eq!(
        (
            committed.outcome,
            committed.parts_linked,
            committed.parts_written
        ),
        (Outcome::Published, 1, 1)
    );
}

pub async fn first_night(place: &Place) -> ReleaseId {
    place
        .publish(vec![
            place.built(2023, "one", 1),
            place.built(2024, "one", 1),
        ])
        .await
        .release_id
}

pub async fn second_night(place: &Place) -> pubdata_build::publish::Committed {
    place
        .publish(vec![reused(2023), place.built(2024, "two", 2)])
        .await
}

/// Asserts that a release is whole: manifest and every part as recorded.
pub async fn assert_whole(place: &Place, release_id: &ReleaseId) {
    let manifest = place.releases.manifest(release_id).await.unwrap();
    let parts: Vec<_> = manifest
        .datasets
        .values()
        .flat_map(|dataset| &dataset.parts)
        .collect();
    assert_eq!(parts.len(), 2);
    for part in parts {
        verify_part(part, &place.releases.part(release_id, part).await.unwrap()).unwrap();
    }
}

#[tokio::test]
async fn kill_at_any_step_leaves_the_old_or_new_release_and_recovers() {
    let expected = {
        let place = Place::new();
        first_night(&place).await;
        second_night(&place).await.release_id
    };
    let mut seen_old_and_new = (0, 0);
    for point in FAULT_POINTS {
        let place = Place::new();
        let old = first_night(&place).await;
        let killed = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "publish::crash::second_run_replaces_one_year_and_keeps_the_other",
            ])
            .env(HOME, place.root())
            .env(VARIABLE, point)
            .output()
            .unwrap();
        let signal = std::os::unix::process::ExitStatusExt::signal(&killed.status);
        assert_eq!(
            signal,
            Some(6),
            "{point}: aborted there, not before and not after: {}",
            String::from_utf8_lossy(&killed.stdout)
        );

        let current = place.current().await.unwrap();
        if current == old {
            seen_old_and_new.0 += 1;
        } else {
            assert_eq!(current, expected, "{point}");
            seen_old_and_new.1 += 1;
        }
        for release_id in place.releases.list().await.unwrap() {
            assert_whole(&place, &release_id).await;
        }

        let committed = second_night(&place).await;
        assert_eq!(committed.release_id, expected, "{point}");
        assert_eq!(
            committed.outcome,
            if current == old {
                Outcome::Published
            } else {
                Outcome::Unchanged
            },
            "{point}"
        );
        assert_eq!(place.current().await.unwrap(), expected, "{point}");
        assert_whole(&place, &expected).await;
        assert_eq!(
            std::fs::read_dir(place.home.staging_dir()).unwrap().count(),
            0,
            "{point}: staging is cleared"
        );
    }
    assert_eq!(
        seen_old_and_new,
        (10, 2),
        "the channel moves between two points, once"
    );
}

#[tokio::test]
async fn partial_release_folder_is_completed() {
    let place = Place::new();
    first_night(&place).await;
    let expected = {
        let other = Place::new();
        first_night(&other).await;
        second_night(&other).await.release_id
    };
    let folder = place.root().join(format!("releases/{expected}/test.place"));
    for year in [2023, 2024] {
        std::fs::create_dir_all(folder.join(format!("year={year}"))).unwrap();
        std::fs::write(folder.join(format!("{year}.parquet")), b"PAR1 torn").unwrap();
    }
    std::fs::write(folder.join("2024.parquet#1"), b"an upload that never ended").unwrap();
    assert!(!place.releases.exists(&expected).await.unwrap());
    assert_eq!(second_night(&place).await.release_id, expected);
    assert_whole(&place, &expected).await;
}
