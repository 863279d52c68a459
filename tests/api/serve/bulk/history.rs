use axum::body::Body;
use axum::http::Request;
use pubdata_store::Scope;
use serde_json::{Value, json};

use super::world;
use crate::serve::World;
use crate::serve::geo::draft;

const POPULATION: &str = "/v1/records/geo.zcta_metric:2023:90210:population/history";

#[tokio::test]
async fn record_history_lists_its_changing_releases_with_causes() {
    let (world, [first, second, _, fourth]) = world().await;
    let data = world.ok(POPULATION).await["data"].clone();
    assert_eq!(
        (&data["record_id"], &data["is_complete"]),
        (
            &json!("geo.zcta_metric:2023:90210:population"),
            &json!(true)
        )
    );
    let entries = data["entries"].as_array().unwrap();
    assert_eq!(
        entries.len(),
        2,
        "releases without a change of the record are one entry"
    );
    let (newest, oldest) = (&entries[0], &entries[1]);
    assert_eq!(
        newest["first"],
        json!({"release_id": second.as_str(), "published_at": "2026-01-11T01:00:00Z"})
    );
    assert_eq!(
        newest["last"],
        json!({"release_id": fourth.as_str(), "published_at": "2026-01-13T01:00:00Z"})
    );
    assert_eq!(
        (&newest["releases"], &newest["is_present"]),
        (&json!(3), &json!(true))
    );
    assert_eq!(
        newest["changes"],
        json!([{"column": "value", "before": 19_652, "after": 20_000}])
    );
    assert_eq!(
        newest["causes"],
        json!([{"cause": "source_changed", "before": null, "after": null}])
    );
    assert_eq!(
        newest["inputs"][0]["after"]["source_version"],
        "2019-2023 again"
    );
    assert_eq!(
        (&oldest["first"], &oldest["releases"], &oldest["changes"]),
        (&oldest["last"], &json!(1), &json!([]))
    );
    assert_eq!(
        (&oldest["first"]["release_id"], &oldest["causes"]),
        (&json!(first.as_str()), &json!([]))
    );
    let same = world.ok("/v1/records/geo.county:06037/history").await["data"]["entries"].clone();
    assert_eq!(
        (same.as_array().unwrap().len(), &same[0]["releases"]),
        (1, &json!(4)),
        "no part of it changed"
    );
}

#[tokio::test]
async fn record_that_disappears_and_returns_is_reported_so() {
    let world = World::new().await;
    let mut without = draft(19_652.0);
    without.published_at = "2026-01-11T01:00:00Z";
    without.tables[1]
        .rows
        .retain(|row| row["record_id"] != "geo.zcta_metric:2023:90210:population");
    world.publish(&without).await;
    let mut again = draft(20_000.0);
    again.published_at = "2026-01-12T01:00:00Z";
    world.publish(&again).await;
    world.service.refresh().await.unwrap();
    let entries = world.ok(POPULATION).await["data"]["entries"].clone();
    let present: Vec<&Value> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["is_present"])
        .collect();
    assert_eq!(present, [&json!(true), &json!(false), &json!(true)]);
    assert!(
        entries
            .as_array()
            .unwrap()
            .iter()
            .all(|entry| entry["changes"] == json!([])),
        "the releases have no record to compare"
    );
}

#[tokio::test]
async fn record_history_needs_its_family_and_refuses_unknown_ids() {
    let world = World::new().await;
    for (scope, status) in [
        (Scope::Geo, 200),
        (Scope::General, 403),
        (Scope::Admin, 403),
    ] {
        let key = world.create_key(&[scope], "unlimited").key;
        assert_eq!(
            world
                .send(
                    Request::get(POPULATION)
                        .header("x-api-key", &key)
                        .body(Body::empty())
                        .unwrap()
                )
                .await
                .status,
            status,
            "{scope}"
        );
    }
    assert_eq!(
        world
            .send(Request::get(POPULATION).body(Body::empty()).unwrap())
            .await
            .problem(),
        (401, "missing_api_key".to_owned())
    );
    for (id, status, code) in [
        ("geo.zcta_metric:2023:90209:population", 404, "not_found"),
        ("geo.nothing:1", 404, "not_found"),
        ("90210", 400, "invalid_parameter"),
    ] {
        let problem = world.get(&format!("/v1/records/{id}/history")).await;
        assert_eq!(
            (problem.problem(), &problem.json()["errors"][0]["field"]),
            ((status, code.to_owned()), &json!("record_id")),
            "{id}"
        );
    }
}

/// A part that several releases share is read once: damage in the folder of another release does
/// not show.
#[tokio::test]
async fn part_shared_by_releases_is_read_once() {
    let (world, [_, second, third, fourth]) = world().await;
    let path = "geo.zcta_metric/2023.parquet";
    let folder = world.home.root().join("releases");
    for release in [&second, &third] {
        let file = folder.join(release.as_str()).join(path);
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, "spoilt").unwrap();
    }
    assert_eq!(
        world.ok(POPULATION).await["data"]["entries"][0]["last"]["release_id"],
        fourth.as_str()
    );
}
