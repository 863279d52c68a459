use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pubdata_core::ids::ReleaseId;
use pubdata_serve::Limits;

use crate::serve::geo::draft;
use crate::serve::home::point;
use crate::serve::{World, notices};

const PROFILE: &str = "/v1/geo-demographics/locations/90210";

#[tokio::test]
async fn earlier_releases_answer_by_id_and_by_day() {
    let world = World::new().await;
    let first = world.release_id.clone();
    let mut later = draft(20_000.0);
    later.published_at = "2026-01-12T23:59:59Z";
    let second = world.publish(&later).await;
    world.service.refresh().await.unwrap();
    let requested = async |query: &str| {
        let answer = world.ok(&format!("{PROFILE}{query}")).await;
        (
            answer["meta"]["release"]["release_id"]
                .as_str()
                .unwrap()
                .to_owned(),
            answer["data"]["summary"]["population"]["value"]
                .as_i64()
                .unwrap(),
        )
    };
    let (before, after) = ((first.to_string(), 19_652), (second.to_string(), 20_000));
    assert_eq!(requested("").await, after);
    assert_eq!(requested(&format!("?release={first}")).await, before);
    assert_eq!(requested("?as_of=2026-01-11").await, before);
    assert_eq!(
        requested("?as_of=2026-01-12").await,
        after,
        "the end of the day counts"
    );
    let problem = world.get(&format!("{PROFILE}?as_of=2131-01-01")).await;
    assert_eq!(problem.problem(), (404, "coverage_unavailable".to_owned()));
    assert!(
        problem.json()["detail"]
            .as_str()
            .unwrap()
            .contains("2131-01-01 lies in the future"),
        "a later release would change the answer"
    );
    assert_eq!(
        world
            .get(&format!("{PROFILE}?as_of=2026-01-09"))
            .await
            .problem(),
        (404, "coverage_unavailable".to_owned())
    );
    assert_eq!(
        world
            .get(&format!("{PROFILE}?release=r00000000000000000000"))
            .await
            .problem(),
        (404, "coverage_unavailable".to_owned())
    );
}

#[tokio::test]
async fn rollback_serves_the_earlier_release_again() {
    let world = World::new().await;
    let second = world.publish(&draft(20_000.0)).await;
    assert_eq!(world.service.refresh().await.unwrap(), Some(second));
    point(&world.releases(), &world.release_id, "2026-01-13T00:00:00Z").await;
    assert_eq!(
        world.service.refresh().await.unwrap(),
        Some(world.release_id.clone())
    );
    assert_eq!(
        world.ok(PROFILE).await["data"]["summary"]["population"]["value"],
        19_652
    );
    assert_eq!(
        world.service.refresh().await.unwrap(),
        None,
        "nothing has moved since"
    );
}

/// The previously served release is still in memory: no part is read again, not even a damaged one.
/// Without room in memory, parts are read.
#[tokio::test]
async fn rollback_to_the_previous_release_waits_for_no_part() {
    for (retained_bytes, is_kept) in [(Limits::default().retained_bytes, true), (0, false)] {
        let world = World::with(|settings| {
            settings.limits = Limits {
                retained_bytes,
                ..Limits::default()
            }
        })
        .await;
        let first = world.release_id.clone();
        let second = world.publish(&draft(20_000.0)).await;
        assert_eq!(world.service.refresh().await.unwrap(), Some(second.clone()));
        damage_schools(&world, &first).await;
        point(&world.releases(), &first, "2026-01-13T00:00:00Z").await;
        let (served, population) = if is_kept {
            (Some(first.clone()), 19_652)
        } else {
            (None, 20_000)
        };
        assert_eq!(world.service.refresh().await.ok().flatten(), served);
        assert_eq!(
            world.ok(PROFILE).await["data"]["summary"]["population"]["value"],
            population
        );
    }
}

#[tokio::test]
async fn release_without_its_manifest_is_not_served_again() {
    let world = World::new().await;
    world.publish(&draft(20_000.0)).await;
    world.service.refresh().await.unwrap();
    world
        .releases()
        .delete_release(&world.release_id)
        .await
        .unwrap();
    point(&world.releases(), &world.release_id, "2026-01-13T00:00:00Z").await;
    assert!(world.service.refresh().await.is_err());
    assert_eq!(
        world.ok(PROFILE).await["data"]["summary"]["population"]["value"],
        20_000
    );
}

/// Changes a byte in the middle of a part.
async fn damage_schools(world: &World, id: &ReleaseId) {
    let manifest = world.releases().manifest(id).await.unwrap();
    let part = &manifest.datasets["geo.school"].parts[0];
    let mut bytes = world.releases().part(id, part).await.unwrap().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    world
        .releases()
        .put_part(id, &part.path, bytes.into())
        .await
        .unwrap();
}

#[tokio::test]
async fn deleted_release_is_no_longer_kept() {
    let world = World::new().await;
    world.publish(&draft(20_000.0)).await;
    world.service.refresh().await.unwrap();
    world
        .releases()
        .delete_release(&world.release_id)
        .await
        .unwrap();
    let answer = world
        .get(&format!("{PROFILE}?release={}", world.release_id))
        .await;
    assert_eq!(answer.problem(), (404, "coverage_unavailable".to_owned()));
    assert!(
        answer.json()["detail"]
            .as_str()
            .unwrap()
            .ends_with("is no longer kept")
    );
}

#[tokio::test]
async fn damaged_release_is_not_served_and_the_current_one_stays() {
    let world = World::new().await;
    let broken = world.publish(&draft(20_000.0)).await;
    damage_schools(&world, &broken).await;
    let error = world.service.refresh().await.unwrap_err().to_string();
    assert!(
        error.contains("geo.school/part-0.parquet: the file is damaged"),
        "{error}"
    );
    assert_eq!(
        world.ok(PROFILE).await["data"]["summary"]["population"]["value"],
        19_652
    );
}

#[tokio::test]
async fn sample_release_is_marked_in_every_answer() {
    let world = World::empty(|_| {}).await;
    let mut draft = draft(1.0);
    draft.is_sample = true;
    world.publish(&draft).await;
    world.service.refresh().await.unwrap();
    for path in [
        PROFILE,
        "/v1/coverage",
        "/v1/geo-demographics/counties/06037",
    ] {
        assert!(
            notices(&world.ok(path).await).contains(&"SAMPLE_RELEASE"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn many_earlier_releases_are_answered_with_little_memory() {
    let world = World::with(|settings| {
        settings.limits = Limits {
            retained_bytes: 0,
            ..Limits::default()
        }
    })
    .await;
    let mut ids = vec![world.release_id.clone()];
    for population in [1.0, 2.0, 3.0] {
        ids.push(world.publish(&draft(population)).await);
    }
    world.service.refresh().await.unwrap();
    for _ in 0..2 {
        for (id, population) in ids.iter().zip([19_652, 1, 2, 3]) {
            let answer = world.ok(&format!("{PROFILE}?release={id}")).await;
            assert_eq!(
                (
                    &answer["meta"]["release"]["release_id"],
                    &answer["data"]["summary"]["population"]["value"]
                ),
                (&id.as_str().into(), &population.into())
            );
        }
    }
}

#[tokio::test]
async fn earlier_releases_load_one_at_a_time_and_once_for_all_clients() {
    let world = World::with(|settings| {
        settings.limits = Limits {
            retained_bytes: 0,
            ..Limits::default()
        }
    })
    .await;
    let second = world.publish(&draft(1.0)).await;
    world.publish(&draft(2.0)).await;
    world.service.refresh().await.unwrap();
    let (one, other) = (
        format!("{PROFILE}?release={}", world.release_id),
        format!("{PROFILE}?release={second}"),
    );
    let (first, same, refused) = tokio::join!(world.get(&one), world.get(&one), world.get(&other));
    assert_eq!((first.status.as_u16(), same.status.as_u16()), (200, 200));
    assert_eq!(
        (
            refused.problem(),
            refused.header("retry-after"),
            refused.header("cache-control")
        ),
        ((503, "busy".to_owned()), "2", "no-store")
    );
    assert_eq!(
        world.ok(&other).await["data"]["summary"]["population"]["value"],
        1,
        "room becomes free a moment later"
    );
    // The client stops waiting for this one: loading continues, and the next client finds it
    // loaded.
    drop(tokio::time::timeout(std::time::Duration::from_millis(1), world.get(&one)).await);
    let mut answer = world.get(&one).await;
    while answer.status == 503 {
        answer = world.get(&one).await;
    }
    assert_eq!(answer.status, 200);
}

/// Answers must be consistent: the release in `meta` and the figures of the two areas belong
/// together, whenever the swap happens.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn swaps_under_load_neither_fail_nor_mix_releases() {
    let world = Arc::new(World::new().await);
    let mut figures = vec![(world.release_id.to_string(), 19_652)];
    let mut ids = vec![world.release_id.clone()];
    for number in 1..4 {
        let id = world.publish(&draft(f64::from(number) * 1_000.0)).await;
        figures.push((id.to_string(), i64::from(number) * 1_000));
        ids.push(id);
    }
    world.service.refresh().await.unwrap();
    let (figures, stop) = (Arc::new(figures), Arc::new(AtomicBool::new(false)));
    let askers: Vec<_> = (0..4)
        .map(|_| {
            let (world, figures, stop) = (world.clone(), figures.clone(), stop.clone());
            tokio::spawn(async move {
                let mut answers = 0;
                while !stop.load(Ordering::Relaxed) {
                    let answer = world
                        .ok(&format!("{PROFILE}/demographics?history=true"))
                        .await;
                    let population = &answer["data"]["demographics"]["population"];
                    let release = answer["meta"]["release"]["release_id"].as_str().unwrap();
                    let expected = figures.iter().find(|(id, _)| id == release).unwrap().1;
                    assert_eq!(population["value"], expected, "release {release}");
                    assert_eq!(
                        population["history"][0]["value"],
                        expected - 1_000,
                        "release {release}"
                    );
                    answers += 1;
                }
                answers
            })
        })
        .collect();
    for round in 0..25 {
        point(
            &world.releases(),
            &ids[round % ids.len()],
            "2026-01-13T00:00:00Z",
        )
        .await;
        world.service.refresh().await.unwrap();
        tokio::task::yield_now().await;
    }
    stop.store(true, Ordering::Relaxed);
    let mut total = 0;
    for asker in askers {
        total += asker.await.unwrap();
    }
    assert!(total > 0);
}
