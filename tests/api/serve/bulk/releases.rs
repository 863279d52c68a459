use axum::body::Body;
use axum::http::Request;
use pubdata_core::ids::Digest;
use serde_json::{Value, json};

use super::{roll_back, world};
use crate::serve::World;

#[tokio::test]
async fn releases_are_paged_newest_first_with_their_channel_moves() {
    let (world, [first, second, third, fourth]) = world().await;
    roll_back(&world, &second).await;
    let anonymous = world
        .send(Request::get("/v1/releases").body(Body::empty()).unwrap())
        .await;
    assert_eq!(
        (anonymous.status.as_u16(), anonymous.header("cache-control")),
        (200, "no-store"),
        "the list of kept releases changes over time"
    );
    let mut found: Vec<Value> = Vec::new();
    let mut path = "/v1/releases?limit=4".to_owned();
    loop {
        let answer = world.ok(&path).await;
        found.extend(
            answer["data"]["releases"]
                .as_array()
                .unwrap()
                .iter()
                .cloned(),
        );
        assert_eq!(answer["meta"]["page"]["total"], 6);
        match answer["meta"]["page"]["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/releases?limit=4&cursor={cursor}"),
            None => break,
        }
    }
    let column = |name: &str| {
        found
            .iter()
            .map(|entry| entry[name].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(column("generation"), [6, 5, 4, 3, 2, 1]);
    let mut ids = column("release_id");
    let gone = ids.remove(4);
    assert_eq!(
        ids,
        [&second, &fourth, &third, &second, &first].map(|id| json!(id.as_str()))
    );
    assert_eq!(column("is_kept"), [true, true, true, true, false, true]);
    assert_eq!(
        column("is_current"),
        [true, false, false, false, false, false]
    );
    assert_eq!(column("action")[..2], [json!("rollback"), json!("publish")]);
    let manifest = world.releases().manifest(&first).await.unwrap();
    let parts = || {
        manifest
            .datasets
            .values()
            .flat_map(|dataset| &dataset.parts)
    };
    let expected = json!({
        "release_id": first.as_str(), "generation": 1, "action": "publish", "moved_at": "2026-01-10T01:00:00Z", "published_at": "2026-01-10T01:00:00Z", "run_id": "run-1",
        "rows": parts().map(|part| part.rows).sum::<u64>(), "datasets": manifest.datasets.len(), "parts": parts().count(),
        "size_bytes": parts().map(|part| part.size_bytes).sum::<u64>(), "is_sample": false, "is_kept": true, "is_current": false
    });
    assert_eq!(found[5], expected);
    assert_eq!(
        (
            &found[4]["release_id"],
            &found[4]["rows"],
            &found[4]["published_at"]
        ),
        (&gone, &Value::Null, &Value::Null)
    );
    assert_eq!(
        world.get("/v1/releases?cursor=abc").await.problem(),
        (400, "invalid_cursor".to_owned())
    );
}

#[tokio::test]
async fn release_lists_its_parts_and_source_files() {
    let (world, [first, .., fourth]) = world().await;
    let answer = world.ok(&format!("/v1/releases/{first}")).await;
    assert_eq!(
        answer["meta"]["release"]["release_id"],
        first.as_str(),
        "the answer is from the requested release"
    );
    let (data, manifest) = (
        &answer["data"],
        world.releases().manifest(&first).await.unwrap(),
    );
    assert_eq!(
        (
            &data["is_current"],
            &data["published_at"],
            &data["pubdata_version"]
        ),
        (
            &json!(false),
            &json!("2026-01-10T01:00:00Z"),
            &json!("0.1.0")
        )
    );
    let dataset = data["datasets"]
        .as_array()
        .unwrap()
        .iter()
        .find(|dataset| dataset["dataset_id"] == "geo.zcta_metric")
        .unwrap();
    let part = &manifest.datasets["geo.zcta_metric"].parts[1];
    let expected = json!({
        "path": part.path, "partition": {"vintage_year": "2023"}, "rows": 59, "size_bytes": part.size_bytes, "sha256": part.sha256.to_string(), "task_id": "test.metrics/vintage=2023"
    });
    assert_eq!(
        (
            &dataset["parts"][1],
            &dataset["rows"],
            &dataset["validation_status"]
        ),
        (&expected, &json!(118), &json!("passed_with_warnings"))
    );
    assert_eq!(dataset["notes"], json!(["more rows than the ceiling"]));
    let task = data["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|task| task["task_id"] == "test.metrics/vintage=2023")
        .unwrap();
    let input = json!({
        "source_id": "test.metrics_file", "url": "https://publisher.example/metrics-2023.txt", "sha256": Digest::sha256(b"metrics-2023").to_string(), "size_bytes": 1_000,
        "source_version": "2019-2023", "source_date": "2024-12-12", "fetched_at": "2026-01-02T00:00:00Z", "obtained": "by program", "mirror": null
    });
    assert_eq!(task["inputs"], json!([input]));
    let current = world.ok("/v1/releases/current?dataset=geo.school").await["data"].clone();
    assert_eq!(
        (&current["release_id"], &current["is_current"]),
        (&json!(fourth.as_str()), &json!(true))
    );
    assert_eq!(
        (
            current["datasets"].as_array().unwrap().len(),
            current["tasks"].as_array().unwrap().len()
        ),
        (1, 1)
    );
    assert_eq!(current["tasks"][0]["task_id"], "test.places");
}

#[tokio::test]
async fn unknown_release_is_refused_with_a_hint() {
    let (world, [first, ..]) = world().await;
    for (id, status, code, word) in [
        (
            "r00000000000000000000",
            404,
            "coverage_unavailable",
            "never had",
        ),
        ("latest", 400, "invalid_parameter", "/v1/releases"),
        (
            "%2e%2e%2fchannels",
            400,
            "invalid_parameter",
            "/v1/releases",
        ),
    ] {
        for rest in [
            "",
            "/changes",
            "/datasets/geo.school",
            "/datasets/geo.school?format=csv",
        ] {
            let problem = world.get(&format!("/v1/releases/{id}{rest}")).await;
            assert_eq!(problem.problem(), (status, code.to_owned()), "{id}{rest}");
            let problem = problem.json();
            assert_eq!(problem["errors"][0]["field"], "release_id", "{id}{rest}");
            assert!(
                problem["detail"].as_str().unwrap().contains(word),
                "{problem}"
            );
        }
    }
    world.releases().delete_release(&first).await.unwrap();
    let problem = world.get(&format!("/v1/releases/{first}")).await;
    assert_eq!(problem.problem(), (404, "coverage_unavailable".to_owned()));
    assert!(
        problem.json()["detail"]
            .as_str()
            .unwrap()
            .contains("is no longer kept")
    );
    let problem = world.get("/v1/releases/current?dataset=geo.nothing").await;
    assert_eq!(
        (problem.problem(), &problem.json()["errors"][0]["field"]),
        ((404, "not_found".to_owned()), &json!("dataset"))
    );
}

#[tokio::test]
async fn differences_between_releases_are_listed_with_causes() {
    let (world, [first, second, third, fourth]) = world().await;
    let manifests = [
        world.releases().manifest(&first).await.unwrap(),
        world.releases().manifest(&second).await.unwrap(),
    ];
    let digest = |index: usize, part: usize| {
        manifests[index].datasets["geo.zcta_metric"].parts[part]
            .sha256
            .to_string()
    };
    let data = world
        .ok(&format!("/v1/releases/{second}/changes?since={first}"))
        .await["data"]
        .clone();
    let part = |index: usize, year: &str| {
        json!({
            "path": format!("geo.zcta_metric/{year}.parquet"), "partition": {"vintage_year": year}, "task_id": format!("test.metrics/vintage={year}"), "change": "changed",
            "rows_before": 59, "rows_after": 59, "sha256_before": digest(0, index), "sha256_after": digest(1, index)
        })
    };
    let expected = json!([{
        "dataset_id": "geo.zcta_metric", "rows_before": 118, "rows_after": 118, "parts": {"added": 0, "removed": 0, "changed": 2, "unchanged": 0},
        "changed_parts": [part(0, "2022"), part(1, "2023")]
    }]);
    assert_eq!(data["datasets"], expected);
    assert_eq!(
        (&data["from"]["release_id"], &data["to"]["release_id"]),
        (&json!(first.as_str()), &json!(second.as_str()))
    );
    let task = &data["tasks"].as_array().unwrap()[0];
    assert_eq!(task["task_id"], "test.metrics/vintage=2023");
    assert_eq!(
        task["causes"],
        json!([{"cause": "source_changed", "before": null, "after": null}])
    );
    let file = |input: &Value| {
        [
            &input["source_version"],
            &input["source_date"],
            &input["sha256"],
        ]
        .map(|text| text.as_str().unwrap().to_owned())
    };
    assert_eq!(
        file(&task["inputs"][0]["before"]),
        [
            "2019-2023".to_owned(),
            "2024-12-12".to_owned(),
            Digest::sha256(b"metrics-2023").to_string()
        ]
    );
    assert_eq!(
        file(&task["inputs"][0]["after"]),
        [
            "2019-2023 again".to_owned(),
            "2025-12-11".to_owned(),
            Digest::sha256(b"another file").to_string()
        ]
    );

    // Without `since`, the previous kept release is compared; the third differs from the second by
    // the code of one task alone.
    let data = world.ok(&format!("/v1/releases/{third}/changes")).await["data"].clone();
    assert_eq!(
        (&data["from"]["release_id"], &data["datasets"]),
        (&json!(second.as_str()), &json!([]))
    );
    let code = json!([{"task_id": "test.places", "causes": [{"cause": "code_changed", "before": "0.1.0", "after": "0.2.0"}], "inputs": []}]);
    assert_eq!(data["tasks"], code);
    let data = world.ok("/v1/releases/current/changes").await["data"].clone();
    assert_eq!(
        (
            &data["to"]["release_id"],
            &data["tasks"][0]["causes"][0]["cause"]
        ),
        (&json!(fourth.as_str()), &json!("declaration_changed"))
    );
    let data = world.ok(&format!("/v1/releases/{second}/changes")).await["data"].clone();
    assert_eq!(
        data["from"]["release_id"],
        first.as_str(),
        "releases deleted in between are skipped"
    );
    let problem = world.get(&format!("/v1/releases/{first}/changes")).await;
    assert_eq!(
        (problem.problem(), &problem.json()["errors"][0]["field"]),
        ((404, "coverage_unavailable".to_owned()), &json!("since"))
    );
}

#[tokio::test]
async fn added_and_removed_datasets_and_builds_are_listed() {
    let world = World::new().await;
    let without = crate::serve::home::publish_changed(&world.home, &world.release_id, |manifest| {
        manifest.datasets.remove("geo.school");
        manifest.tasks.remove("test.metrics/vintage=2022");
        for dataset in ["geo.zcta_metric", "geo.county_metric"] {
            manifest.datasets.get_mut(dataset).unwrap().parts.remove(0);
        }
    })
    .await;
    world.service.refresh().await.unwrap();
    for (to, since, change, cause) in [
        (
            without.as_str(),
            world.release_id.as_str(),
            "removed",
            "task_removed",
        ),
        (
            world.release_id.as_str(),
            without.as_str(),
            "added",
            "task_added",
        ),
    ] {
        let data = world
            .ok(&format!("/v1/releases/{to}/changes?since={since}"))
            .await["data"]
            .clone();
        let schools = data["datasets"]
            .as_array()
            .unwrap()
            .iter()
            .find(|dataset| dataset["dataset_id"] == "geo.school")
            .unwrap();
        assert_eq!(
            (
                &schools["parts"][change],
                &schools["changed_parts"][0]["change"]
            ),
            (&json!(1), &json!(change))
        );
        assert_eq!(
            (
                schools["rows_before"].is_null(),
                schools["rows_after"].is_null()
            ),
            (change == "added", change == "removed")
        );
        assert_eq!(
            (
                &data["tasks"][0]["task_id"],
                &data["tasks"][0]["causes"][0]["cause"]
            ),
            (&json!("test.metrics/vintage=2022"), &json!(cause))
        );
        assert_eq!(
            data["tasks"][0]["inputs"][0]["before"].is_null(),
            change == "added"
        );
    }
}
