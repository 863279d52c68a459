use serde_json::{Value, json};

use crate::serve::home::Draft;
use crate::serve::{Answer, World, notices};

const PROFILE: &str = "/v1/geo-demographics/locations/90210";

/// Keys of an object in the order of the answer.
fn keys(answer: &Answer, pointer: &str) -> Vec<String> {
    let value: Value = serde_json::from_slice(&answer.bytes).unwrap();
    value
        .pointer(pointer)
        .unwrap()
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect()
}

#[tokio::test]
async fn profile_has_geography_vintage_twelve_metrics_and_provenance() {
    let world = World::new().await;
    let answer = world.ok(PROFILE).await;
    let data = &answer["data"];
    let geography = json!({
        "type": "zcta", "id": "90210", "name": "ZCTA 90210", "input_code": "90210", "matched_by": "exact_zcta_code", "land_area_sqmi": 8.19, "primary_county_fips": "06037",
        "primary_county_name": "Los Angeles County", "primary_county_land_share": 0.9876, "primary_county_basis": "largest_land_part", "primary_state_code": "CA",
        "internal_point": {"lat": 34.100_517, "lon": -118.414_712}, "record_id": "geo.geography:90210"
    });
    assert_eq!(data["geography"], geography);
    assert_eq!(
        data["vintage"],
        json!({"survey": "ACS 5-year estimates", "period": "2019-2023", "year": 2023})
    );
    let snapshot = crate::serve::home::snapshot(Some(2023));
    let provenance = json!({
        "dataset_id": "geo.zcta_metric", "source_id": "test.metrics_file", "source_url": snapshot.url, "source_version": "2019-2023", "source_date": "2024-12-12", "source_mirror": null,
        "schema_version": "2.0.0", "validation_status": "passed", "record_id": "geo.zcta_metric:2023:90210:population"
    });
    let population = json!({
        "key": "population", "unit": "persons", "value": 19_652, "bound": null, "bound_type": null, "moe": 1_335, "moe_approximate": null, "moe_status": "published", "qualifier": null, "null_reason": null, "universe": "Total population",
        "source": {"table_id": "B01003", "variables": ["B01003_E001"], "moe_variable": "B01003_M001", "derived": false},
        "record_id": "geo.zcta_metric:2023:90210:population", "warnings": [], "provenance": provenance
    });
    assert_eq!(data["summary"]["population"], population);
    assert_eq!(data["summary"].as_object().unwrap().len(), 12);
    assert_eq!(data["provenance"], provenance);
    let meta = &answer["meta"];
    assert_eq!(
        meta["release"],
        json!({"release_id": world.release_id.as_str(), "channel": "nightly"})
    );
    assert_eq!(
        meta["coverage"],
        json!({"geography_type": "zcta", "scope": "5 ZCTAs with estimates in vintage 2023"})
    );
    assert_eq!(
        meta["datasets"][0],
        json!({"dataset_id": "geo.zcta_metric", "published_at": "2026-01-10T01:00:00Z", "freshness": "stale"})
    );
    assert_eq!(
        meta["datasets"][1],
        json!({"dataset_id": "geo.geography", "published_at": "2026-01-10T01:00:00Z", "freshness": "fresh"})
    );
    assert_eq!(
        notices(&answer),
        [
            "ZCTA_NOT_USPS_ZIP",
            "PRIMARY_COUNTY_RULE",
            "MOE_NOT_FETCHED"
        ]
    );
}

#[tokio::test]
async fn figures_are_printed_as_the_publisher_prints_them() {
    let world = World::new().await;
    let text = String::from_utf8(world.get(PROFILE).await.bytes).unwrap();
    for expected in [
        r#""unit":"persons","value":19652,"bound":null,"bound_type":null,"moe":1335,"#,
        r#""unit":"percent","value":0.0,"bound":null,"bound_type":null,"moe":20.8,"#,
        r#""unit":"percent","value":45.0,"bound":null,"bound_type":null,"moe":null,"moe_approximate":3.4,"moe_status":"not_fetched""#,
        r#""unit":"usd","value":null,"bound":250000,"bound_type":"at_least","moe":null,"moe_approximate":null,"moe_status":"open_ended","qualifier":"250,000 or more","null_reason":"open_ended_interval""#,
        r#""unit":"usd","value":null,"bound":null,"bound_type":null,"moe":null,"moe_approximate":null,"moe_status":"not_published","qualifier":null,"null_reason":"insufficient_sample""#,
        r#""unit":"years","value":50.0,"bound":null,"bound_type":null,"moe":5.0,"#,
        r#""moe_variable":"B25003_M002,B25003_M001","derived":true"#,
    ] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
}

#[tokio::test]
async fn metrics_are_served_in_contract_order() {
    let world = World::new().await;
    let text = String::from_utf8(world.get(PROFILE).await.bytes).unwrap();
    let contract_order = &world.contracts["geo.zcta_metric"]
        .column("metric")
        .unwrap()
        .column_type
        .values;
    let places: Vec<usize> = contract_order
        .iter()
        .map(|key| text.find(&format!("{{\"key\":\"{key}\"")).unwrap())
        .collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[tokio::test]
async fn leading_zeros_stay() {
    let world = World::new().await;
    let answer = world.ok("/v1/geo-demographics/locations/00627").await;
    let geography = &answer["data"]["geography"];
    assert_eq!(
        [
            &geography["id"],
            &geography["input_code"],
            &geography["primary_county_fips"]
        ],
        ["00627", "00627", "72027"]
    );
    assert_eq!(
        answer["data"]["summary"]["population"]["moe_status"],
        "controlled"
    );
    assert_eq!(
        answer["data"]["summary"]["population"]["record_id"],
        "geo.zcta_metric:2023:00627:population"
    );
    assert_eq!(
        world
            .get("/v1/geo-demographics/locations/627")
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
}

#[tokio::test]
async fn area_outside_the_survey_has_twelve_reasons() {
    let world = World::new().await;
    let answer = world.ok("/v1/geo-demographics/locations/96799").await;
    let summary = answer["data"]["summary"].as_object().unwrap();
    assert_eq!(summary.len(), 12);
    for (key, metric) in summary {
        assert_eq!(
            (&metric["value"], &metric["moe"], &metric["null_reason"]),
            (&Value::Null, &Value::Null, &json!("not_in_survey")),
            "{key}"
        );
        assert!(
            metric["universe"].is_string() && metric["source"]["table_id"].is_string(),
            "{metric}"
        );
    }
    assert_eq!(
        answer["data"]["geography"]["primary_county_fips"],
        Value::Null
    );
    assert_eq!(answer["data"]["geography"]["primary_county_basis"], "none");
    assert_eq!(
        answer["data"]["provenance"]["record_id"],
        "geo.geography:96799"
    );
    assert_eq!(
        notices(&answer),
        [
            "ZCTA_NOT_USPS_ZIP",
            "PRIMARY_COUNTY_RULE",
            "NOT_IN_SURVEY",
            "MOE_NOT_FETCHED"
        ]
    );
}

#[tokio::test]
async fn area_known_only_to_the_survey_is_served_without_place() {
    let world = World::new().await;
    let answer = world.ok("/v1/geo-demographics/locations/00663").await;
    let geography = &answer["data"]["geography"];
    assert_eq!(
        (
            &geography["name"],
            &geography["land_area_sqmi"],
            &geography["internal_point"]
        ),
        (&json!("ZCTA 00663"), &Value::Null, &Value::Null)
    );
    assert_eq!(answer["data"]["summary"]["population"]["value"], 100);
}

#[tokio::test]
async fn quarantined_record_is_a_null_with_its_reason() {
    let world = World::new().await;
    let answer = world.ok("/v1/geo-demographics/locations/10001").await;
    let poverty = &answer["data"]["summary"]["poverty_rate"];
    assert_eq!(
        (
            &poverty["value"],
            &poverty["null_reason"],
            &poverty["unit"],
            &poverty["record_id"]
        ),
        (
            &Value::Null,
            &json!("quarantined"),
            &json!("percent"),
            &Value::Null
        )
    );
    assert_eq!(
        answer["data"]["summary"]["renter_occupied_share"]["warnings"],
        json!(["tenure_adds_up"])
    );
    assert_eq!(
        answer["data"]["provenance"]["validation_status"],
        "passed_with_warnings"
    );
}

#[tokio::test]
async fn zip_without_zcta_is_not_found_with_the_reason() {
    let world = World::new().await;
    let answer = world.get("/v1/geo-demographics/locations/90209").await;
    assert_eq!(answer.problem(), (404, "not_found".to_owned()));
    assert!(
        answer.json()["detail"]
            .as_str()
            .unwrap()
            .contains("post office boxes")
    );
    for wrong in [
        "9021",
        "902100",
        "9021a",
        "90210-1234",
        "%20%20%20%20%20",
        "٠٠٠٠٠",
    ] {
        let encoded: String = wrong
            .bytes()
            .map(|byte| {
                if byte.is_ascii_alphanumeric() || byte == b'%' {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            })
            .collect();
        assert_eq!(
            world
                .get(&format!("/v1/geo-demographics/locations/{encoded}"))
                .await
                .problem(),
            (400, "invalid_parameter".to_owned()),
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn release_of_samples_does_not_deny_that_an_area_exists() {
    let world = World::new().await;
    let detail = async |world: &World, path: &str| {
        let answer = world.get(&format!("/v1/geo-demographics/{path}")).await;
        assert_eq!(answer.problem(), (404, "not_found".to_owned()));
        answer.json()["detail"].as_str().unwrap().to_owned()
    };
    assert!(
        detail(&world, "counties/48453")
            .await
            .starts_with("there is no county with the FIPS code 48453.")
    );
    world
        .publish(&Draft {
            is_sample: true,
            ..super::draft(19_652.0)
        })
        .await;
    world.service.refresh().await.unwrap();
    // Both exist: Austin's county, and the ZCTA in the middle of Chicago.
    for (path, expected) in [
        ("counties/48453", "has no county with the FIPS code 48453;"),
        ("locations/60601", "has no ZCTA with the code 60601;"),
    ] {
        let detail = detail(&world, path).await;
        assert!(
            detail.starts_with("this release is built from samples and")
                && detail.contains(expected),
            "{detail}"
        );
    }
}

#[tokio::test]
async fn county_profile_answers_by_vintage() {
    let world = World::new().await;
    let answer = world.ok("/v1/geo-demographics/counties/06037").await;
    let geography = json!({
        "type": "county", "id": "06037", "name": "Los Angeles County", "input_code": "06037", "matched_by": "exact_county_fips", "land_area_sqmi": 4059.28,
        "primary_county_fips": "06037", "primary_state_code": "CA", "internal_point": {"lat": 34.196_398, "lon": -118.261_862}, "record_id": "geo.county:06037"
    });
    assert_eq!(answer["data"]["geography"], geography);
    let income = |answer: &Value| {
        (
            answer["data"]["summary"]["median_household_income"]["value"].clone(),
            answer["data"]["summary"]["median_household_income"]["moe"].clone(),
        )
    };
    assert_eq!(income(&answer), (json!(87_760), json!(463)));
    assert_eq!(notices(&answer), Vec::<&str>::new());
    let earlier = world
        .ok("/v1/geo-demographics/counties/06037?vintage=2022")
        .await;
    assert_eq!(income(&earlier), (json!(83_411), json!(439)));
    assert_eq!(earlier["data"]["vintage"]["period"], "2018-2022");
}

#[tokio::test]
async fn dissolved_county_is_found_in_its_vintages() {
    let world = World::new().await;
    let answer = world.get("/v1/geo-demographics/counties/09001").await;
    assert_eq!(answer.problem(), (404, "not_found".to_owned()));
    assert!(
        answer.json()["detail"]
            .as_str()
            .unwrap()
            .contains("vintage 2022")
    );
    let earlier = world
        .ok("/v1/geo-demographics/counties/09001?vintage=2022")
        .await;
    let geography = &earlier["data"]["geography"];
    assert_eq!(
        (&geography["name"], &geography["primary_state_code"]),
        (&json!("Fairfield County, Connecticut"), &json!("CT"))
    );
}

#[tokio::test]
async fn demographics_returns_chosen_metrics_and_their_history() {
    let world = World::new().await;
    let path = format!("{PROFILE}/demographics");
    let all = world.get(&path).await;
    assert_eq!(keys(&all, "/data/demographics").len(), 12);
    assert_eq!(
        notices(&all.json()),
        [
            "ZCTA_NOT_USPS_ZIP",
            "PRIMARY_COUNTY_RULE",
            "MOE_NOT_FETCHED"
        ]
    );
    let some = world
        .ok(&format!(
            "{path}?metrics=poverty_rate,population&history=true"
        ))
        .await;
    let metrics = some["data"]["demographics"].as_object().unwrap();
    assert_eq!(metrics.len(), 2);
    let past: Vec<(i64, f64)> = metrics["population"]["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|past| {
            (
                past["vintage"]["year"].as_i64().unwrap(),
                past["value"].as_f64().unwrap(),
            )
        })
        .collect();
    assert_eq!(past, [(2022, 18_652.0), (2023, 19_652.0)]);
    for (past, version) in metrics["population"]["history"]
        .as_array()
        .unwrap()
        .iter()
        .zip(["2018-2022", "2019-2023"])
    {
        let provenance = &past["provenance"];
        assert_eq!(
            (
                &provenance["record_id"],
                provenance["source_version"].as_str()
            ),
            (&past["record_id"], Some(version)),
            "{past}"
        );
    }
    assert_eq!(
        notices(&some),
        [
            "ZCTA_NOT_USPS_ZIP",
            "PRIMARY_COUNTY_RULE",
            "OVERLAPPING_PERIODS"
        ]
    );
    assert_eq!(
        some["data"]["provenance"]["record_id"], "geo.zcta_metric:2023:90210:poverty_rate",
        "the id of the first requested metric"
    );
    let encoded = world
        .ok(&format!("{path}?metrics=poverty_rate%2Cpopulation"))
        .await;
    assert_eq!(
        encoded["data"]["demographics"].as_object().unwrap().len(),
        2
    );
}

#[tokio::test]
async fn unpublished_vintage_lists_the_published_ones() {
    let world = World::new().await;
    let answer = world.get(&format!("{PROFILE}?vintage=2019")).await;
    assert_eq!(answer.problem(), (404, "coverage_unavailable".to_owned()));
    assert!(
        answer.json()["detail"]
            .as_str()
            .unwrap()
            .ends_with("published: 2022, 2023")
    );
}

#[tokio::test]
async fn metric_and_metrics_select_the_same_and_exclude_each_other() {
    let world = World::new().await;
    for (path, member) in [
        ("locations/90210", "/data/summary"),
        ("locations/90210/demographics", "/data/demographics"),
        ("counties/06037", "/data/summary"),
        ("counties/06037/locations", "/data/locations/0/metrics"),
        ("states/CA/counties", "/data/counties/0/metrics"),
    ] {
        let path = format!("/v1/geo-demographics/{path}");
        let [one, other] = [
            format!("{path}?metric=poverty_rate,population"),
            format!("{path}?metrics=poverty_rate,population"),
        ];
        let answer = world.get(&one).await;
        assert_eq!(
            keys(&answer, member),
            ["population", "poverty_rate"],
            "{one}"
        );
        assert_eq!(
            answer.json()["data"],
            world.ok(&other).await["data"],
            "{other}"
        );
        let both = world
            .get(&format!("{path}?metric=population&metrics=population"))
            .await;
        assert_eq!(
            (both.problem(), both.json()["errors"][0]["field"].clone()),
            ((400, "invalid_parameter".to_owned()), json!("metrics")),
            "{path}"
        );
    }
    let paths = crate::serve::schema::document(&world.contracts)["paths"]
        .as_object()
        .unwrap();
    let operations = paths
        .values()
        .filter_map(|methods| methods["get"]["parameters"].as_array());
    for parameters in operations {
        let names: Vec<&str> = parameters
            .iter()
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        assert!(
            !names.contains(&"metrics"),
            "`metric` is declared once under any name: {names:?}"
        );
    }
}

#[tokio::test]
async fn every_metric_of_an_area_has_its_own_provenance() {
    let world = World::new().await;
    for (path, member) in [
        (PROFILE.to_owned(), "summary"),
        (format!("{PROFILE}/demographics"), "demographics"),
        ("/v1/geo-demographics/counties/06037".to_owned(), "summary"),
    ] {
        let answer = world.ok(&path).await;
        let metrics = answer["data"][member].as_object().unwrap();
        assert_eq!(metrics.len(), 12);
        for (key, metric) in metrics {
            assert_eq!(
                (
                    &metric["provenance"]["record_id"],
                    metric["provenance"]["source_id"].as_str()
                ),
                (&metric["record_id"], Some("test.metrics_file")),
                "{path} {key}"
            );
        }
        assert_eq!(
            answer["data"]["provenance"], metrics["population"]["provenance"],
            "the provenance of the first metric"
        );
        let place = (
            &answer["data"]["geography_provenance"]["record_id"],
            answer["data"]["geography_provenance"]["source_id"].as_str(),
        );
        assert_eq!(
            place,
            (
                &answer["data"]["geography"]["record_id"],
                Some("test.places_file")
            ),
            "{path}"
        );
    }
    let quarantined = world
        .ok("/v1/geo-demographics/locations/10001?metric=poverty_rate")
        .await;
    assert_eq!(
        quarantined["data"]["summary"]["poverty_rate"]["provenance"]["record_id"],
        "geo.geography:10001"
    );
}
