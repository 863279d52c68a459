use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use pubdata_build::publish::{
    Contribution, Outcome, list, prepare, promote, reason_not_reusable, rollback, stage, staged,
};
use pubdata_core::error::ErrorKind;
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_store::{ChannelAction, Manifest, StaleTask, StaleTasks};

use super::{NOW, Place, build, contracts, frame, reused, task_id};

const LATER: &str = "2026-02-03T04:05:06Z";

fn inode(place: &Place, release_id: &ReleaseId, year: i32) -> u64 {
    let path = place
        .root()
        .join(format!("releases/{release_id}/test.place/{year}.parquet"));
    std::fs::metadata(path).unwrap().ino()
}

#[tokio::test]
async fn release_is_complete_and_the_channel_points_at_it() {
    let place = Place::new();
    let committed = place
        .publish(vec![
            place.built(2023, "one", 1),
            place.built(2024, "one", 1),
        ])
        .await;
    assert_eq!(
        (
            committed.outcome,
            &committed.previous,
            committed.parts_written
        ),
        (Outcome::Published, &None, 2)
    );
    let entry = place.releases.channel("nightly").await.unwrap().unwrap();
    assert_eq!(
        (entry.generation, &entry.release_id, entry.action),
        (1, &committed.release_id, ChannelAction::Publish)
    );
    let manifest = place
        .releases
        .manifest(&committed.release_id)
        .await
        .unwrap();
    assert_eq!(
        (
            manifest.rows("test.place"),
            manifest.quarantined("test.place")["bad_code"]
        ),
        (6, 4)
    );
    let paths: Vec<String> = place.files(&committed.release_id).into_keys().collect();
    let log = "test.place/_delta_log/00000000000000000000.json";
    assert_eq!(
        paths,
        [
            "datapackage.json",
            "manifest.json",
            "test.place/2023.parquet",
            "test.place/2024.parquet",
            log
        ]
    );
    let part = &manifest.datasets["test.place"].parts[1];
    assert_eq!(
        part.key_range,
        Some((
            "test.place:2024:00501".to_owned(),
            "test.place:2024:99999".to_owned()
        ))
    );
    assert_eq!(
        std::fs::read_dir(place.home.staging_dir()).unwrap().count(),
        0,
        "staging is cleared"
    );
}

#[tokio::test]
async fn equal_builds_make_the_same_release_at_any_place_time_and_order() {
    let (here, there) = (Place::new(), Place::new());
    let first = here
        .publish(vec![here.built(2023, "one", 1), here.built(2024, "one", 1)])
        .await;
    let second = there
        .try_publish(
            vec![there.built(2024, "one", 1), there.built(2023, "one", 1)],
            LATER,
        )
        .await
        .unwrap();
    assert_eq!(first.release_id, second.release_id);
    let parts = |place: &Place| {
        let mut files = place.files(&first.release_id);
        files.remove("manifest.json");
        files
    };
    assert_eq!(parts(&here), parts(&there));
}

#[tokio::test]
async fn repeated_publish_changes_nothing() {
    let place = Place::new();
    let first = place.publish(vec![place.built(2024, "one", 1)]).await;
    let again = place
        .try_publish(vec![place.built(2024, "one", 1)], LATER)
        .await
        .unwrap();
    assert_eq!(
        (again.outcome, &again.release_id),
        (Outcome::Unchanged, &first.release_id)
    );
    let reused = place.try_publish(vec![reused(2024)], LATER).await.unwrap();
    assert_eq!(reused.outcome, Outcome::Unchanged);
    assert_eq!(
        place
            .releases
            .channel_history("nightly")
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        place
            .releases
            .manifest(&first.release_id)
            .await
            .unwrap()
            .published_at,
        NOW
    );
    assert_eq!(
        std::fs::read_dir(place.home.staging_dir()).unwrap().count(),
        0
    );
}

#[tokio::test]
async fn unchanged_parts_are_linked_and_changed_ones_are_written() {
    let place = Place::new();
    let first = place
        .publish(vec![
            place.built(2023, "one", 1),
            place.built(2024, "one", 1),
        ])
        .await;
    let second = place
        .publish(vec![reused(2023), place.built(2024, "two", 2)])
        .await;
    assert_eq!((second.parts_linked, second.parts_written), (1, 1));
    assert_eq!(
        inode(&place, &first.release_id, 2023),
        inode(&place, &second.release_id, 2023)
    );
    assert_ne!(
        inode(&place, &first.release_id, 2024),
        inode(&place, &second.release_id, 2024)
    );
}

#[tokio::test]
async fn stale_marks_are_kept_beside_releases_and_follow_a_promotion() {
    let place = Place::new();
    let mut marked = build(2024, "one", frame(2024, 1));
    (marked.entry.is_stale, marked.entry.stale_reason) =
        (true, Some("as a program of before wrote it".to_owned()));
    place
        .publish(vec![Contribution::Built(
            stage(&place.home, &contracts(), marked).unwrap(),
        )])
        .await;
    let stale = async |channel: &str| {
        place
            .releases
            .present(channel)
            .await
            .unwrap()
            .unwrap()
            .tasks
            .remove(&task_id(2024))
            .unwrap()
            .stale_reason
    };
    assert_eq!(
        stale("nightly").await.as_deref(),
        Some("as a program of before wrote it")
    );
    let first = place.publish(vec![reused(2024)]).await;
    assert_eq!(stale("nightly").await, None);
    let mark = |reason: &str| {
        StaleTasks::new(
            [(
                task_id(2024),
                StaleTask {
                    reason: reason.to_owned(),
                    since: Some(NOW.to_owned()),
                },
            )]
            .into(),
        )
    };
    place
        .releases
        .put_stale_tasks("nightly", &mark("the publisher answers 503"))
        .await
        .unwrap();
    assert_eq!(
        place.publish(vec![reused(2024)]).await.outcome,
        Outcome::Unchanged
    );
    assert_eq!(
        stale("nightly").await.as_deref(),
        Some("the publisher answers 503")
    );
    assert!(
        !place
            .releases
            .manifest(&first.release_id)
            .await
            .unwrap()
            .tasks[&task_id(2024)]
            .is_stale
    );

    promote(&place.releases, "nightly", "stable", NOW)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        stale("stable").await.as_deref(),
        Some("the publisher answers 503")
    );
    let listed = list(&place.releases).await.unwrap();
    for release in listed {
        let is_pointed_at = release.release_id == first.release_id;
        assert_eq!(
            (release.channels.len(), release.stale_tasks.len()),
            if is_pointed_at { (2, 1) } else { (0, 0) }
        );
    }
    place
        .releases
        .put_stale_tasks("nightly", &StaleTasks::new(BTreeMap::new()))
        .await
        .unwrap();
    assert_eq!(
        (stale("nightly").await, stale("stable").await.is_some()),
        (None, true)
    );
    assert!(
        promote(&place.releases, "nightly", "stable", NOW)
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(stale("stable").await, None);
}

#[tokio::test]
async fn missing_or_contradictory_contribution_is_refused() {
    let place = Place::new();
    let error = place
        .try_publish(vec![reused(2024)], NOW)
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no release yet to reuse test.places/vintage=2024 from"),
        "{error}"
    );
    assert!(
        place
            .try_publish(Vec::new(), NOW)
            .await
            .unwrap_err()
            .to_string()
            .contains("nothing to publish")
    );
    let error = place
        .try_publish(
            vec![place.built(2024, "one", 1), place.built(2024, "one", 1)],
            NOW,
        )
        .await
        .unwrap_err();
    assert!(error.to_string().contains("contributes twice"), "{error}");
    let mut other = build(2024, "one", frame(2024, 1));
    other.task_id = "test.other".to_owned();
    let other = Contribution::Built(stage(&place.home, &contracts(), other).unwrap());
    let error = place
        .try_publish(vec![place.built(2024, "one", 1), other], NOW)
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("both make the part test.place/2024.parquet"),
        "{error}"
    );
    assert_eq!(place.current().await, None);
}

#[tokio::test]
async fn parts_of_an_older_major_schema_are_not_reused() {
    let place = Place::new();
    let first = place.publish(vec![place.built(2024, "one", 1)]).await;
    let manifest = place.releases.manifest(&first.release_id).await.unwrap();
    let mut newer = contracts();
    newer.get_mut("test.place").unwrap().version = "1.1.0".to_owned();
    assert_eq!(
        reason_not_reusable(Some(&manifest), &newer, &task_id(2024)),
        None
    );
    newer.get_mut("test.place").unwrap().version = "2.0.0".to_owned();
    let refusal = reason_not_reusable(Some(&manifest), &newer, &task_id(2024)).unwrap();
    assert!(
        refusal.contains("schema version 1.0.0, now 2.0.0"),
        "{refusal}"
    );
}

#[tokio::test]
async fn one_of_two_publishers_from_one_generation_wins() {
    let place = Place::new();
    let before = place.publish(vec![place.built(2024, "one", 1)]).await;
    let contracts = contracts();
    let prepare = |contribution: Contribution, run: &'static str| {
        let (releases, contracts) = (&place.releases, &contracts);
        async move {
            prepare(
                releases,
                contracts,
                "nightly",
                vec![contribution],
                false,
                run,
                NOW,
            )
            .await
            .unwrap()
        }
    };
    let fast = prepare(place.built(2024, "two", 2), "fast").await;
    let elsewhere = Place::beside(&place);
    let slow = prepare(elsewhere.built(2024, "three", 3), "slow").await;
    let loser = slow.manifest().release_id.clone();
    let won = fast.publish(&place.home, &place.releases).await.unwrap();
    let error = slow
        .publish(&elsewhere.home, &elsewhere.releases)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    let text = error.to_string();
    assert!(
        text.contains("`nightly`")
            && text.contains("run fast")
            && text.contains(won.release_id.as_str()),
        "{text}"
    );
    assert_eq!(place.current().await, Some(won.release_id.clone()));
    let history: Vec<_> = place
        .releases
        .channel_history("nightly")
        .await
        .unwrap()
        .into_iter()
        .map(|entry| entry.release_id)
        .collect();
    assert_eq!(history, [before.release_id, won.release_id.clone()]);
    assert!(
        place.releases.exists(&loser).await.unwrap(),
        "the loser's release is whole, and no channel points at it"
    );

    let resumed = staged(
        &elsewhere.home,
        &task_id(2024),
        &Digest::sha256(b"2024 three"),
        None,
    )
    .unwrap()
    .unwrap();
    let again = elsewhere.publish(vec![Contribution::Built(resumed)]).await;
    assert_eq!(
        (again.release_id, again.previous, again.parts_written),
        (loser, Some(won.release_id), 0)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn publishers_racing_in_parallel_leave_one_line_of_history() {
    let place = Place::new();
    let racers: Vec<_> = (0..8)
        .map(|racer| {
            let place = Place::beside(&place);
            tokio::spawn(async move {
                place
                    .try_publish(vec![place.built(2020 + racer, "one", 1)], NOW)
                    .await
            })
        })
        .collect();
    let mut published = Vec::new();
    for racer in racers {
        match racer.await.unwrap() {
            Ok(committed) => published.push(committed),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Busy, "{error}"),
        }
    }
    let history = place.releases.channel_history("nightly").await.unwrap();
    assert_eq!(
        history.len(),
        published.len(),
        "each success is one generation"
    );
    assert!(!history.is_empty());
    for (entry, generation) in history.iter().zip(1..) {
        assert_eq!(entry.generation, generation);
        let winner = published
            .iter()
            .find(|committed| committed.release_id == entry.release_id)
            .unwrap();
        let before = history
            .iter()
            .find(|before| before.generation + 1 == generation)
            .map(|before| before.release_id.clone());
        assert_eq!(
            winner.previous, before,
            "no publisher overwrote a generation it had not seen"
        );
    }
}

#[tokio::test]
async fn damaged_staged_file_is_never_published() {
    let place = Place::new();
    let before = place.publish(vec![place.built(2024, "one", 1)]).await;
    let built = place.built(2024, "two", 2);
    let folder = std::fs::read_dir(place.home.staging_dir())
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let part = folder.join("test.place/2024.parquet");
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[60] ^= 0x40;
    std::fs::write(&part, &bytes).unwrap();
    let error = place.try_publish(vec![built], NOW).await.unwrap_err();
    assert!(error.to_string().contains("has the digest"), "{error}");
    assert_eq!(place.current().await, Some(before.release_id));
    assert!(
        staged(
            &place.home,
            &task_id(2024),
            &Digest::sha256(b"2024 two"),
            None
        )
        .unwrap()
        .is_none(),
        "the next run builds it again"
    );
    let repaired = place.publish(vec![place.built(2024, "two", 2)]).await;
    assert_eq!(repaired.outcome, Outcome::Published);
}

#[tokio::test]
async fn damaged_part_is_not_reused_and_a_new_build_replaces_it() {
    let place = Place::new();
    let before = place
        .publish(vec![
            place.built(2023, "one", 1),
            place.built(2024, "one", 1),
        ])
        .await;
    let path = place.root().join(format!(
        "releases/{}/test.place/2023.parquet",
        before.release_id
    ));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[60] ^= 0x40;
    std::fs::write(&path, &bytes).unwrap();
    let error = place
        .try_publish(vec![reused(2023), place.built(2024, "two", 2)], NOW)
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("2023.parquet is missing or damaged"),
        "{error}"
    );
    assert_eq!(place.current().await, Some(before.release_id));
    let after = place
        .publish(vec![
            place.built(2023, "one", 1),
            place.built(2024, "two", 2),
        ])
        .await;
    assert_eq!(
        after.parts_linked, 0,
        "the link to the damaged part is removed"
    );
    assert!(
        after.parts_written >= 1,
        "the other part may exist from the failed try"
    );
    let manifest = place.releases.manifest(&after.release_id).await.unwrap();
    for part in &manifest.datasets["test.place"].parts {
        pubdata_build::publish::verify_part(
            part,
            &place.releases.part(&after.release_id, part).await.unwrap(),
        )
        .unwrap();
    }
}

#[tokio::test]
async fn changed_manifest_is_detected() {
    let place = Place::new();
    let committed = place.publish(vec![place.built(2024, "one", 1)]).await;
    let path = place
        .root()
        .join(format!("releases/{}/manifest.json", committed.release_id));
    let text = std::fs::read_to_string(&path).unwrap();
    Manifest::from_json(text.as_bytes()).unwrap();
    std::fs::write(&path, text.replace("\"rows\": 3", "\"rows\": 4")).unwrap();
    let error = place
        .releases
        .manifest(&committed.release_id)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("was changed"), "{error}");
    std::fs::write(
        &path,
        text.replace("\"format_version\": 1", "\"format_version\": 99"),
    )
    .unwrap();
    let error = place
        .releases
        .manifest(&committed.release_id)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("manifest format 99"), "{error}");
    std::fs::write(&path, &text[..text.len() / 2]).unwrap();
    assert!(
        place
            .releases
            .manifest(&committed.release_id)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn damaged_current_release_is_left_by_rollback_and_then_repaired() {
    let place = Place::new();
    let first = place.publish(vec![place.built(2024, "one", 1)]).await;
    let second = place.publish(vec![place.built(2024, "two", 2)]).await;
    let manifest = place
        .root()
        .join(format!("releases/{}/manifest.json", second.release_id));
    std::fs::write(&manifest, "{").unwrap();
    let error = place
        .try_publish(vec![place.built(2024, "three", 3)], NOW)
        .await
        .unwrap_err();
    assert!(
        error.hint_text().unwrap().contains("releases rollback"),
        "{error}"
    );
    let listed = list(&place.releases).await.unwrap();
    assert_eq!(
        listed
            .iter()
            .map(|line| (&line.release_id, line.damage.is_some()))
            .collect::<Vec<_>>(),
        [(&first.release_id, false), (&second.release_id, true)]
    );
    rollback(&place.releases, "nightly", None, NOW)
        .await
        .unwrap()
        .unwrap();
    let repaired = place.publish(vec![place.built(2024, "two", 2)]).await;
    assert_eq!(repaired.release_id, second.release_id);
    place.releases.manifest(&second.release_id).await.unwrap();
}
