use std::collections::BTreeSet;

use pubdata_build::publish::{list, prepare, promote, prune, referenced_snapshots, rollback};
use pubdata_core::error::ErrorKind;
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_store::ChannelAction;

use super::{NOW, Place, contracts};

fn time(text: &str) -> jiff::Timestamp {
    text.parse().unwrap()
}

/// Publishes `nights` releases to `nightly`, a day apart, and returns their ids in order.
async fn publish_nights(place: &Place, nights: u32) -> Vec<ReleaseId> {
    let mut ids = Vec::new();
    for night in 1..=nights {
        let built = place.built(2024, &format!("night {night}"), i64::from(night));
        ids.push(
            place
                .try_publish(vec![built], &format!("2026-01-{night:02}T00:00:00Z"))
                .await
                .unwrap()
                .release_id,
        );
    }
    ids
}

#[tokio::test]
async fn releases_are_listed_newest_first_with_their_channels() {
    let place = Place::new();
    assert_eq!(list(&place.releases).await.unwrap(), []);
    let ids = publish_nights(&place, 2).await;
    promote(&place.releases, "nightly", "stable", NOW)
        .await
        .unwrap()
        .unwrap();
    let listed = list(&place.releases).await.unwrap();
    let lines: Vec<_> = listed
        .iter()
        .map(|line| {
            (
                &line.release_id,
                line.channels.join(","),
                line.rows["test.place"],
                line.published_at.as_deref().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            (
                &ids[1],
                "nightly,stable".to_owned(),
                3,
                "2026-01-02T00:00:00Z"
            ),
            (&ids[0], String::new(), 3, "2026-01-01T00:00:00Z")
        ]
    );
    assert!(listed.iter().all(|line| line.size_bytes > Some(0)
        && line.is_sample == Some(false)
        && line.stale_tasks.is_empty()));
}

#[tokio::test]
async fn promote_moves_a_channel_once() {
    let place = Place::new();
    let error = promote(&place.releases, "nightly", "stable", NOW)
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (
            ErrorKind::Config,
            "nothing was ever published to channel `nightly`"
        )
    );
    let ids = publish_nights(&place, 1).await;
    let entry = promote(&place.releases, "nightly", "stable", NOW)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (
            entry.channel.as_str(),
            entry.generation,
            &entry.release_id,
            entry.action
        ),
        ("stable", 1, &ids[0], ChannelAction::Promote)
    );
    assert_eq!(
        promote(&place.releases, "nightly", "stable", NOW)
            .await
            .unwrap(),
        None
    );
}

#[tokio::test]
async fn rollback_goes_back_one_release_at_a_time_and_publish_continues() {
    let place = Place::new();
    let ids = publish_nights(&place, 3).await;
    let back = |to: Option<ReleaseId>| rollback(&place.releases, "nightly", to, NOW);
    let entry = back(None).await.unwrap().unwrap();
    assert_eq!(
        (&entry.release_id, entry.generation, entry.action),
        (&ids[1], 4, ChannelAction::Rollback)
    );
    assert_eq!(back(None).await.unwrap().unwrap().release_id, ids[0]);
    let error = back(None).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`nightly` has no earlier release"),
        "{error}"
    );
    assert_eq!(
        back(Some(ids[2].clone()))
            .await
            .unwrap()
            .unwrap()
            .release_id,
        ids[2]
    );
    assert_eq!(
        back(Some(ids[2].clone())).await.unwrap(),
        None,
        "already at that release"
    );
    let error = back(Some("r00000000000000000000".parse().unwrap()))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("there is no release r00000000000000000000"),
        "{error}"
    );
    back(Some(ids[0].clone())).await.unwrap().unwrap();
    let again = place.publish(vec![place.built(2024, "night 2", 2)]).await;
    assert_eq!(
        (&again.release_id, again.parts_written),
        (&ids[1], 0),
        "a rolled back release is published again unchanged"
    );
    assert_eq!(place.current().await.as_ref(), Some(&ids[1]));
}

#[tokio::test]
async fn rollback_to_a_release_needs_no_older_generation() {
    let place = Place::new();
    let ids = publish_nights(&place, 3).await;
    std::fs::write(
        place.home.root().join("channels/nightly/0000000001.json"),
        "not what it was",
    )
    .unwrap();
    let error = rollback(&place.releases, "nightly", None, NOW)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("0000000001.json is damaged"),
        "{error}"
    );
    assert_eq!(
        rollback(&place.releases, "nightly", Some(ids[0].clone()), NOW)
            .await
            .unwrap()
            .unwrap()
            .release_id,
        ids[0]
    );
}

#[tokio::test]
async fn prune_keeps_the_newest_and_the_current_release_of_each_channel() {
    let place = Place::new();
    let ids = publish_nights(&place, 2).await;
    promote(&place.releases, "nightly", "stable", NOW)
        .await
        .unwrap()
        .unwrap();
    let stable = ids[1].clone();
    let mut ids = ids;
    for night in 3..=5 {
        let built = place.built(2024, &format!("night {night}"), night);
        ids.push(
            place
                .try_publish(vec![built], &format!("2026-01-{night:02}T00:00:00Z"))
                .await
                .unwrap()
                .release_id,
        );
    }
    let pruned = prune(&place.releases, 2, time("2026-01-06T00:00:00Z"))
        .await
        .unwrap();
    let expected: BTreeSet<_> = [&ids[0], &ids[2]].into_iter().cloned().collect();
    assert_eq!(
        pruned.releases.into_iter().collect::<BTreeSet<_>>(),
        expected
    );
    let kept: BTreeSet<_> = place.releases.list().await.unwrap().into_iter().collect();
    assert_eq!(
        kept,
        [&stable, &ids[3], &ids[4]].into_iter().cloned().collect()
    );
    assert!(!place.root().join("releases").join(ids[0].as_str()).exists());
    let snapshot = |night: i64| Digest::sha256(format!("test.a night {night}").as_bytes());
    let referenced = referenced_snapshots(&place.releases, &[]).await.unwrap();
    assert_eq!(
        (1..=5)
            .map(|night| referenced.contains(&snapshot(night)))
            .collect::<Vec<_>>(),
        [false, true, false, true, true]
    );

    rollback(&place.releases, "nightly", None, NOW)
        .await
        .unwrap()
        .unwrap();
    prune(&place.releases, 1, time("2026-01-06T00:00:00Z"))
        .await
        .unwrap();
    let kept: BTreeSet<_> = place.releases.list().await.unwrap().into_iter().collect();
    assert_eq!(
        kept,
        [&stable, &ids[3]].into_iter().cloned().collect(),
        "after a rollback the current release is the earlier one"
    );
    let error = prune(&place.releases, 0, time(NOW)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}

#[tokio::test]
async fn prune_keeps_what_another_publisher_may_soon_point_at() {
    let place = Place::new();
    publish_nights(&place, 1).await;
    // A lost race: a whole release that no channel ever pointed at, published at NOW.
    let elsewhere = Place::beside(&place);
    let built = vec![elsewhere.built(2024, "lost", 9)];
    let loser = prepare(
        &elsewhere.releases,
        &contracts(),
        "nightly",
        built,
        false,
        "slow",
        NOW,
    )
    .await
    .unwrap();
    place.publish(vec![place.built(2024, "won", 8)]).await;
    let lost = loser.manifest().release_id.clone();
    loser
        .publish(&elsewhere.home, &elsewhere.releases)
        .await
        .unwrap_err();
    // A folder without a manifest.
    let started: ReleaseId = "r00000000000000000001".parse().unwrap();
    place
        .releases
        .put_part(&started, "test.place/part-0.parquet", "half".into())
        .await
        .unwrap();

    let written = jiff::Timestamp::now();
    prune(&place.releases, 5, time("2026-01-02T03:30:00Z"))
        .await
        .unwrap();
    assert!(
        place.releases.exists(&lost).await.unwrap(),
        "half an hour old"
    );
    assert_eq!(place.releases.list_incomplete().await.unwrap().len(), 1);
    let pruned = prune(
        &place.releases,
        5,
        written + jiff::SignedDuration::from_hours(2),
    )
    .await
    .unwrap();
    assert_eq!(
        (pruned.releases, pruned.incomplete),
        (vec![lost], vec![started])
    );
    assert_eq!(place.releases.list_incomplete().await.unwrap(), []);
}
