use std::collections::{BTreeMap, BTreeSet};

use pubdata_store::{Releases, StaleTask, StaleTasks};
use serde_json::{Value, json};

use super::geo::draft;
use super::home::Draft;
use super::served::Served;
use super::{World, collect_record_ids};
use crate::real::server::Server;
use pubdata_testing::Place;

fn entry<'a>(answer: &'a Value, dataset_id: &str) -> &'a Value {
    answer["data"]["datasets"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["dataset_id"] == dataset_id)
        .unwrap()
}

#[tokio::test]
async fn coverage_lists_present_and_missing_data() {
    let world = World::new().await;
    let answer = world.ok("/v1/coverage").await;
    let contract = &world.contracts["geo.zcta_metric"];
    let partition = |year: i32, quarantined: u64, notes: Value, source_date: &str| {
        json!({
            "partition": {"vintage_year": year.to_string()}, "rows": 59, "quarantined_rows": quarantined, "source_date": source_date, "built_at": "2026-01-10T01:00:00Z", "layout_evidence": null, "evidence": [],
            "late_since": null, "is_stale": false, "stale_reason": null, "notes": notes
        })
    };
    let expected = json!({
        "dataset_id": "geo.zcta_metric", "title": contract.title, "grain": contract.grain, "publisher": "U.S. Census Bureau", "licence": "Public domain",
        "homepage": "https://publisher.example/", "schema_version": contract.version, "is_sample": false,
        "vintages": [{"survey": "ACS 5-year estimates", "period": "2018-2022", "year": 2022}, {"survey": "ACS 5-year estimates", "period": "2019-2023", "year": 2023}],
        "geography_types": [{"geography_type": "zcta", "count": 5}], "lists": [], "reach": {"areas": [], "population": null, "population_share": null, "population_year": null, "areas_without_estimate": 0},
        "reach_by_layout": {"seen": {"lists": 2, "population": null, "population_share": null}, "documented": {"lists": 0, "population": null, "population_share": null}},
        "words": [], "rows": 118, "quarantined_rows": 1, "quarantined": {"value_or_reason": 1}, "warnings": {"tenure_adds_up": 1},
        "source_versions": [{"source_id": "test.metrics_file", "source_version": "2018-2022"}, {"source_id": "test.metrics_file", "source_version": "2019-2023"}],
        "findings": [], "source_rows": [{"source_id": "test.metrics_file", "read": 128, "records": 118, "merged": 2, "quarantined": 4, "left_out": {"repeated": 4}}],
        "source_date": "2024-12-12", "published_at": "2026-01-10T01:00:00Z", "validation_status": "passed_with_warnings", "is_stale": false, "not_covered": contract.not_covered,
        "partitions": [partition(2022, 0, json!([]), "2023-12-12"), partition(2023, 1, json!(["more rows than the ceiling"]), "2024-12-12")], "freshness": "stale", "state": "stale"
    });
    assert_eq!(entry(&answer, "geo.zcta_metric"), &expected);
    assert_eq!(entry(&answer, "geo.school")["rows"], 33);
    let has = |dataset_id: &str| {
        answer["data"]["datasets"]
            .as_array()
            .unwrap()
            .iter()
            .any(|entry| entry["dataset_id"] == dataset_id)
    };
    let without: Vec<Value> = world
        .contracts
        .values()
        .filter(|contract| contract.dataset_id.starts_with("geo.") && !has(&contract.dataset_id))
        .map(|contract| json!({"dataset_id": contract.dataset_id, "title": contract.title}))
        .collect();
    assert_eq!(answer["data"]["without_records"], json!(without));
    assert_eq!(
        world.ok("/v1/geo-demographics/coverage").await["data"],
        answer["data"]
    );
}

/// The figures are the Bureau's for 1 July 2024, as in `fixtures/census/population`.
#[tokio::test]
async fn list_reports_its_population_and_a_city_counts_once() {
    let served = Served::new().await;
    let answer = served.ok("/v1/coverage").await;
    let permits = entry(&answer, "permit.permit");
    let list = |id: &str| {
        permits["lists"]
            .as_array()
            .unwrap()
            .iter()
            .find(|list| list["list"] == id)
            .unwrap_or_else(|| panic!("{id}"))["reach"]
            .clone()
    };
    let new_york = json!({
        "areas": [{"geoid": "3651000", "name": "New York city", "population": 8_478_072}], "population": 8_478_072, "population_share": 0.0249, "population_year": 2024,
        "areas_without_estimate": 0
    });
    assert_eq!(list("us-ny-nyc"), new_york, "two lists");
    let areas: Vec<(&str, i64)> = permits["reach"]["areas"]
        .as_array()
        .unwrap()
        .iter()
        .map(|area| {
            (
                area["geoid"].as_str().unwrap(),
                area["population"].as_i64().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        areas
            .iter()
            .filter(|(geoid, _)| *geoid == "3651000")
            .count(),
        1
    );
    let share = |dataset: &Value| dataset["reach"]["population_share"].as_f64().unwrap();
    assert!(
        permits["lists"].as_array().unwrap().len() >= 60 && share(permits) >= 0.15,
        "{}",
        share(permits)
    );
    assert!(share(entry(&answer, "tax.state")) >= 0.6);
    // California's list and New York City's cover 39,431,263 and 8,478,072 people.
    let licenses = entry(&answer, "license.license");
    assert!(
        licenses["lists"]
            .as_array()
            .unwrap()
            .iter()
            .any(|list| list["reach"]["population"] == 39_431_263),
        "{licenses:#}"
    );
    assert_eq!(
        licenses["reach"]["population"], 340_110_988,
        "one of its lists covers the whole country"
    );
    let texas = entry(&answer, "tax.state")["lists"]
        .as_array()
        .unwrap()
        .iter()
        .find(|list| list["list"] == "TX")
        .unwrap()
        .clone();
    assert_eq!(texas["reach"]["areas"][0]["name"], "Texas");
}

/// Washington's file of contractors has effective dates of licenses and no issue dates: the first
/// is 1985-03-19.
#[tokio::test]
async fn list_reports_its_first_day_for_any_name_of_the_date() {
    let served = Served::new().await;
    let answer = served.ok("/v1/coverage").await;
    let days = |dataset_id: &str, id: &str| {
        let list = entry(&answer, dataset_id)["lists"]
            .as_array()
            .unwrap()
            .iter()
            .find(|list| list["list"] == id)
            .unwrap_or_else(|| panic!("{id}"));
        (
            list["first_date"].as_str().unwrap().to_owned(),
            list["records"].as_u64().unwrap(),
            list["gaps"].clone(),
        )
    };
    assert_eq!(
        days("license.license", "WA-lni"),
        ("1985-03-19".to_owned(), 11, json!(["no dates of issue"]))
    );
    assert_eq!(
        days("business.entity", "FL"),
        ("1999-01-02".to_owned(), 10, json!([]))
    );
    assert_eq!(
        days("business.entity", "IA"),
        ("1866-03-19".to_owned(), 7, json!(["no officers"]))
    );
    assert_eq!(days("business.entity", "NY").0, "1944-11-17");
}

/// If one of two lists loses the meaning of its statuses, only answers from that list report it.
#[tokio::test(flavor = "multi_thread")]
async fn only_answers_of_the_list_with_lost_meanings_report_it() {
    let place = Place::with(&["permit.cincinnati", "permit.minneapolis"]);
    place.edit("uhjb-xac9/rows.csv@accessType=DOWNLOAD", |text| {
        ["ISSUED", "CLOSED", "WITHDRWN"]
            .iter()
            .fold(text, |text, word| {
                text.replace(&format!(",{word},"), ",Synthetic Limbo,")
            })
    });
    let server = Server::start(place, &["permit.cincinnati", "permit.minneapolis"]).await;
    let notices = async |path: &str| {
        let answer = server.ask(path, None).await;
        let notices = answer["meta"]["notices"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        notices
            .into_iter()
            .filter(|notice| notice["code"] == "MEANING_LOST")
            .map(|notice| notice["message"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let [notice] = &notices("/v1/permits/search?jurisdiction=us-oh-cincinnati").await[..] else {
        panic!("one notice")
    };
    assert!(
        notice.contains("`status` (")
            && notice.contains("permit.cincinnati")
            && !notice.contains("permit.minneapolis"),
        "{notice}"
    );
    assert_eq!(
        notices("/v1/permits/search?jurisdiction=us-mn-minneapolis").await,
        Vec::<String>::new()
    );
    assert_eq!(
        notices("/v1/search?q=example").await,
        Vec::<String>::new(),
        "the request named no list"
    );
    let coverage = server.ask("/v1/coverage", None).await;
    let words = entry(&coverage, "permit.permit")["words"]
        .as_array()
        .unwrap();
    let is_lost = |task_id: &str| {
        words
            .iter()
            .find(|word| word["task_id"] == task_id && word["column"] == "status")
            .unwrap()["is_meaning_lost"]
            .clone()
    };
    assert_eq!(
        [is_lost("permit.cincinnati"), is_lost("permit.minneapolis")],
        [json!(true), json!(false)]
    );
    let of_status = words
        .iter()
        .find(|word| word["task_id"] == "permit.cincinnati" && word["column"] == "status")
        .unwrap();
    assert_eq!(of_status["commonest_unknown"][0]["word"], "Synthetic Limbo");
}

#[tokio::test]
async fn freshness_follows_age_cadence_and_failed_renewal() {
    let world = World::new().await;
    let of_counties = async || {
        entry(&world.ok("/v1/coverage").await, "geo.county")["freshness"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    // The newest file is of 2025-09-01; a period is 366 days.
    for (now, expected) in [
        ("2026-09-02T23:00:00Z", "fresh"),
        ("2026-09-03T00:00:00Z", "stale"),
        ("2028-09-03T00:00:00Z", "stale"),
        ("2028-09-04T00:00:00Z", "expired"),
    ] {
        world.set_clock(now);
        assert_eq!(of_counties().await, expected, "{now}");
    }
    world.set_clock("2026-01-15T12:00:00Z");
    let releases = Releases::open(&world.home, None).unwrap();
    let tasks = releases.present("nightly").await.unwrap().unwrap().tasks;
    let tag = async || world.get("/v1/coverage").await.header("etag").to_owned();
    let fresh = tag().await;
    let mut tags = BTreeSet::from([fresh.clone()]);
    // The same release with a source that the next run could not confirm.
    for reason in ["the publisher answered 503", "the publisher answered 404"] {
        let mark = StaleTask {
            reason: reason.to_owned(),
            since: None,
        };
        let marks = tasks
            .keys()
            .map(|task_id| (task_id.clone(), mark.clone()))
            .collect();
        releases
            .put_stale_tasks("nightly", &StaleTasks::new(marks))
            .await
            .unwrap();
        assert_eq!(world.service.refresh().await.unwrap(), None);
        assert_eq!(of_counties().await, "stale");
        assert_eq!(
            entry(&world.ok("/v1/coverage").await, "geo.county")["state"],
            "not_updated"
        );
        assert_eq!(
            entry(&world.ok("/v1/coverage").await, "geo.county")["partitions"][0]["stale_reason"],
            reason
        );
        tags.insert(tag().await);
    }
    assert_eq!(tags.len(), 3, "a cached answer is revalidated");
    releases
        .put_stale_tasks("nightly", &StaleTasks::new(BTreeMap::new()))
        .await
        .unwrap();
    world.service.refresh().await.unwrap();
    assert_eq!(
        (of_counties().await.as_str(), tag().await),
        ("fresh", fresh)
    );
}

#[tokio::test]
async fn late_edition_is_reported_for_the_newest_partition_only() {
    let world = World::new().await;
    world
        .publish(&Draft {
            due: Some("2026-03-31"),
            ..draft(1.0)
        })
        .await;
    world.service.refresh().await.unwrap();
    let late_since = |answer: &Value| -> Vec<Value> {
        let partitions = entry(answer, "geo.zcta_metric")["partitions"]
            .as_array()
            .unwrap()
            .clone();
        partitions
            .into_iter()
            .map(|partition| partition["late_since"].clone())
            .collect()
    };
    let gauge = async || {
        let text = String::from_utf8(world.get("/metrics").await.bytes).unwrap();
        text.lines()
            .filter(|line| line.starts_with("pubdata_task_late_seconds{"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    world.set_clock("2026-03-30T23:59:59Z");
    let on_time = world.get("/v1/coverage").await;
    let answer = world.ok("/v1/coverage").await;
    assert_eq!(late_since(&answer), [Value::Null, Value::Null]);
    assert_eq!(entry(&answer, "geo.county")["freshness"], "fresh");
    let tasks = ["test.metrics/vintage=2023", "test.places"];
    assert_eq!(
        gauge().await,
        tasks.map(|task| format!("pubdata_task_late_seconds{{task=\"{task}\"}} 0"))
    );
    world.set_clock("2026-03-31T00:01:00Z");
    let answer = world.ok("/v1/coverage").await;
    assert_eq!(
        late_since(&answer),
        [Value::Null, json!("2026-03-31")],
        "a build of an older vintage is not late"
    );
    assert_eq!(entry(&answer, "geo.county")["freshness"], "stale");
    assert_eq!(
        gauge().await,
        tasks.map(|task| format!("pubdata_task_late_seconds{{task=\"{task}\"}} 60"))
    );
    assert_ne!(
        world.get("/v1/coverage").await.header("etag"),
        on_time.header("etag")
    );
}

#[tokio::test]
async fn provenance_leads_from_a_record_to_the_bytes() {
    let world = World::new().await;
    let answer = world
        .ok("/v1/provenance/geo.zcta_metric:2023:90210:population")
        .await;
    let data = &answer["data"];
    let manifest = world.releases().manifest(&world.release_id).await.unwrap();
    let part = manifest.datasets["geo.zcta_metric"]
        .parts
        .iter()
        .find(|part| part.path.contains("2023"))
        .unwrap();
    let snapshot = super::home::snapshot(Some(2023));
    assert_eq!(
        data["part"],
        json!({"path": part.path, "rows": part.rows, "size_bytes": part.size_bytes, "sha256": part.sha256.to_string()})
    );
    assert_eq!(
        (
            &data["record"]["record_id"],
            &data["record"]["columns"]["value"]
        ),
        (
            &json!("geo.zcta_metric:2023:90210:population"),
            &json!(19_652)
        )
    );
    let release = json!({"release_id": world.release_id.as_str(), "channel": "nightly", "published_at": "2026-01-10T01:00:00Z", "run_id": "run-1", "pubdata_version": "0.1.0"});
    assert_eq!(data["release"], release);
    assert_eq!(
        (&data["build"]["task_id"], &data["build"]["pipeline_id"]),
        (&json!("test.metrics/vintage=2023"), &json!("test.metrics"))
    );
    let sources = data["sources"].as_array().unwrap();
    assert_eq!(sources.len(), 2);
    let file = json!({
        "sha256": snapshot.sha256.to_string(), "url": snapshot.url, "source_version": "2019-2023", "source_date": "2024-12-12", "fetched_at": "2026-01-02T00:00:00Z", "obtained": "by program", "mirror": null, "redirected_through": ["https://files.publisher.example/a", "https://store.example/b"], "size_bytes": 1_000
    });
    assert_eq!(
        (
            &sources[0]["snapshot"],
            &sources[0]["member"],
            &sources[0]["length"]
        ),
        (&file, &Value::Null, &json!(7))
    );
    assert_eq!(
        sources[1]["offset"].as_u64().unwrap(),
        sources[0]["offset"].as_u64().unwrap() + 100
    );
}

#[tokio::test]
async fn every_record_id_of_an_answer_has_a_provenance() {
    let world = World::new().await;
    let mut ids = Vec::new();
    for path in [
        "/v1/geo-demographics/locations/90210",
        "/v1/geo-demographics/counties/06037",
        "/v1/geo-demographics/locations/90210/schools?limit=2",
    ] {
        collect_record_ids(&world.ok(path).await, &mut ids);
    }
    // For a profile: the area, its twelve metrics and the first of them, each with its provenance.
    // For schools: the area and each school.
    assert_eq!(ids.len(), 27 + 27 + 4);
    for id in ids {
        let answer = world.ok(&format!("/v1/provenance/{id}")).await;
        assert_eq!(answer["data"]["record"]["record_id"], id.as_str());
    }
    assert_eq!(
        world
            .get("/v1/provenance/geo.zcta_metric:2023:90209:population")
            .await
            .problem(),
        (404, "not_found".to_owned())
    );
    assert_eq!(
        world.get("/v1/provenance/geo.unknown:1").await.problem(),
        (404, "not_found".to_owned())
    );
    assert_eq!(
        world.get("/v1/provenance/90210").await.problem(),
        (400, "invalid_parameter".to_owned())
    );
}
