use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use super::world;
use crate::serve::World;

fn entry<'a>(answer: &'a Value, dataset_id: &str) -> &'a Value {
    answer["data"]["datasets"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["dataset_id"] == dataset_id)
        .unwrap()
}

#[tokio::test]
async fn every_dataset_is_listed_with_its_size_and_publisher() {
    let world = World::new().await;
    let answer = world
        .send(Request::get("/v1/datasets").body(Body::empty()).unwrap())
        .await;
    assert_eq!(answer.status, 200, "without a key");
    let answer = answer.json();
    let manifest = world.releases().manifest(&world.release_id).await.unwrap();
    let listed: Vec<&str> = answer["data"]["datasets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["dataset_id"].as_str().unwrap())
        .collect();
    assert_eq!(listed, manifest.datasets.keys().collect::<Vec<_>>());
    let contract = &world.contracts["geo.zcta_metric"];
    let size_bytes: u64 = manifest.datasets["geo.zcta_metric"]
        .parts
        .iter()
        .map(|part| part.size_bytes)
        .sum();
    let expected = json!({
        "dataset_id": "geo.zcta_metric", "family": "geo", "title": contract.title, "grain": contract.grain, "rows": 118, "quarantined_rows": 1,
        "columns": contract.columns.len(), "parts": 2, "size_bytes": size_bytes, "publisher": "U.S. Census Bureau", "licence": "Public domain",
        "homepage": "https://publisher.example/", "freshness": "stale", "late_since": null, "source_date": "2024-12-12"
    });
    assert_eq!(entry(&answer, "geo.zcta_metric"), &expected);
}

#[tokio::test]
async fn dataset_has_columns_rules_limits_and_next_due_date() {
    let (world, _) = world().await;
    let data = world.ok("/v1/datasets/geo.zcta_metric").await["data"].clone();
    let contract = &world.contracts["geo.zcta_metric"];
    assert_eq!(data["not_covered"], json!(contract.not_covered));
    assert_eq!(
        data["primary_key"],
        json!(["vintage_year", "zcta", "metric"])
    );
    let column = |name: &str| {
        data["columns"]
            .as_array()
            .unwrap()
            .iter()
            .find(|column| column["name"] == name)
            .unwrap()
            .clone()
    };
    let metrics = &contract.column("metric").unwrap().column_type.values;
    assert_eq!(
        (column("metric")["values"].clone(), metrics.len()),
        (json!(metrics), 12)
    );
    let (value, zcta) = (column("value"), column("zcta"));
    assert_eq!(
        (
            &value["type"],
            &value["decimals"],
            &value["nullable"],
            &value["meaning"]
        ),
        (
            &json!("decimal"),
            &json!(1),
            &json!(true),
            &json!("metric_value")
        )
    );
    assert_eq!(
        (&zcta["digits"], &zcta["minimum"], &zcta["unit"]),
        (&json!(5), &Value::Null, &Value::Null)
    );
    let area = world.ok("/v1/datasets/geo.geography").await["data"].clone();
    assert!(
        area["columns"]
            .as_array()
            .unwrap()
            .iter()
            .any(|column| column["name"] == "land_area_sqmi" && column["unit"] == "square miles")
    );
    assert_eq!(
        area["findings"],
        json!([{"source_id": "test.places_file", "code": "new_column", "detail": "`AREA_NOTE` is new"}])
    );
    let rules: Vec<&str> = data["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["code"].as_str().unwrap())
        .collect();
    assert_eq!(
        rules,
        contract
            .invariants
            .iter()
            .map(|rule| rule.code.as_str())
            .collect::<Vec<_>>()
    );
    assert_eq!(
        data["credit"],
        "Source: U.S. Census Bureau (https://publisher.example/). Licence: Public domain."
    );
    assert_eq!(
        (&data["quarantined"], &data["warnings"]),
        (
            &json!({"value_or_reason": 1}),
            &json!({"tenure_adds_up": 1})
        )
    );
    assert_eq!(
        (&data["expected"], &data["late_since"]),
        (
            &json!([{"source_id": "test.file", "late_from": "2026-03-31"}]),
            &Value::Null
        )
    );
    world.set_clock("2026-04-01T00:00:00Z");
    let late = world.ok("/v1/datasets/geo.zcta_metric").await["data"].clone();
    assert_eq!(
        (&late["late_since"], &late["freshness"]),
        (&json!("2026-03-31"), &json!("stale"))
    );
    assert_eq!(
        entry(&world.ok("/v1/datasets").await, "geo.zcta_metric")["late_since"],
        "2026-03-31"
    );
}

#[tokio::test]
async fn row_counts_cover_the_kept_earlier_releases() {
    let (world, [first, second, third, fourth]) = world().await;
    let path = "/v1/datasets/geo.zcta_metric";
    let reported = async |path: &str| {
        let answer = world.ok(path).await;
        let history = answer["data"]["history"].as_array().unwrap().clone();
        assert!(
            history
                .iter()
                .all(|entry| (&entry["rows"], &entry["quarantined_rows"])
                    == (&json!(118), &json!(1)))
        );
        history
            .iter()
            .map(|entry| entry["release_id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let all = [&fourth, &third, &second, &first].map(ToString::to_string);
    assert_eq!(reported(path).await, all, "the deleted release is left out");
    assert_eq!(
        reported(&format!("{path}?release={second}")).await,
        all[2..]
    );
    super::roll_back(&world, &second).await;
    assert_eq!(
        reported(path).await,
        all[2..],
        "a rollback gives the earlier answer again"
    );
    world.releases().delete_release(&first).await.unwrap();
    assert_eq!(reported(path).await, all[2..3]);
}

#[tokio::test]
async fn unknown_dataset_is_refused_with_a_hint() {
    let world = World::new().await;
    let problem = world.get("/v1/datasets/geo.nothing").await;
    assert_eq!(problem.problem(), (404, "not_found".to_owned()));
    assert_eq!(problem.json()["errors"][0]["field"], "dataset_id");
    assert!(
        problem.json()["detail"]
            .as_str()
            .unwrap()
            .contains("/v1/datasets")
    );
    assert_eq!(
        world.get("/v1/datasets?family=geo").await.problem(),
        (400, "unknown_parameter".to_owned())
    );
}
