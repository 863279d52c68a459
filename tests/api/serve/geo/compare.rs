use serde_json::{Value, json};

use crate::serve::{World, notices};

const COMPARE: &str = "/v1/geo-demographics/locations/compare";

fn compared<'a>(answer: &'a Value, metric: &str) -> &'a Value {
    answer["data"]["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .find(|compared| compared["metric"] == metric)
        .unwrap()
}

#[tokio::test]
async fn comparison_applies_the_strict_test_and_gives_reasons() {
    let world = World::new().await;
    let answer = world.post(COMPARE, &json!({"locations": ["90210", "10001"], "metrics": ["population", "households", "median_household_income", "median_home_value", "owner_occupied_share", "poverty_rate"]})).await;
    assert_eq!(
        answer.status,
        200,
        "{}",
        String::from_utf8_lossy(&answer.bytes)
    );
    let answer = answer.json();
    let population = json!({
        "metric": "population", "unit": "persons", "universe": "Total population",
        "values": [
            {"id": "90210", "value": 19_652, "bound": null, "bound_type": null, "moe": 1_335, "moe_approximate": null, "moe_status": "published", "qualifier": null, "null_reason": null, "record_id": "geo.zcta_metric:2023:90210:population"},
            {"id": "10001", "value": 29_079, "bound": null, "bound_type": null, "moe": 1_500, "moe_approximate": null, "moe_status": "published", "qualifier": null, "null_reason": null, "record_id": "geo.zcta_metric:2023:10001:population"}
        ],
        "difference": -9_427, "difference_moe": 2_008.04, "z": -7.7227, "significant_at_90": true, "margin_basis": "published", "reason": null
    });
    assert_eq!(compared(&answer, "population"), &population);
    // One record id for each value, in order; the area's id if a value has no estimate.
    let values = answer["data"]["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|compared| compared["values"].as_array().unwrap());
    let expected = values.map(|value| {
        value["record_id"].as_str().map_or_else(
            || format!("geo.geography:{}", value["id"].as_str().unwrap()),
            str::to_owned,
        )
    });
    let stamps = answer["data"]["provenance"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stamp| stamp["record_id"].as_str().unwrap().to_owned());
    assert_eq!(stamps.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    // 500² = 300² + 400²: exactly at the limit.
    let households = compared(&answer, "households");
    assert_eq!(
        (
            &households["difference"],
            &households["difference_moe"],
            &households["z"],
            &households["significant_at_90"]
        ),
        (&json!(500), &json!(500), &json!(1.645), &json!(false))
    );
    let verdict = |metric: &str| {
        (
            compared(&answer, metric)["difference"].clone(),
            compared(&answer, metric)["significant_at_90"].clone(),
            compared(&answer, metric)["reason"].clone(),
        )
    };
    assert_eq!(
        verdict("median_household_income"),
        (Value::Null, Value::Null, json!("open_ended_median"))
    );
    assert_eq!(
        verdict("median_home_value"),
        (Value::Null, Value::Null, json!("value_not_available"))
    );
    assert_eq!(
        verdict("owner_occupied_share"),
        (json!(14.5), Value::Null, json!("moe_not_fetched"))
    );
    assert_eq!(
        verdict("poverty_rate"),
        (Value::Null, Value::Null, json!("value_not_available"))
    );
    assert_eq!(answer["data"]["locations"][1]["id"], "10001");
    assert_eq!(answer["data"]["vintage"]["year"], 2023);
}

#[tokio::test]
async fn two_controlled_estimates_are_not_tested() {
    let world = World::new().await;
    let answer = world
        .post(
            COMPARE,
            &json!({"locations": ["00627", "00663"], "metrics": ["population"]}),
        )
        .await
        .json();
    let population = compared(&answer, "population");
    assert_eq!(
        (
            &population["difference"],
            &population["significant_at_90"],
            &population["reason"]
        ),
        (&json!(10), &Value::Null, &json!("both_controlled"))
    );
}

#[tokio::test]
async fn comparison_uses_the_vintage_and_defaults_to_all_metrics() {
    let world = World::new().await;
    // In JSON Schema, 2022.0 is an integer too.
    let answer = world
        .post(
            COMPARE,
            &json!({"locations": ["90210", "96799"], "vintage": 2022.0}),
        )
        .await
        .json();
    assert_eq!(answer["data"]["vintage"]["year"], 2022);
    assert_eq!(answer["data"]["comparisons"].as_array().unwrap().len(), 12);
    assert_eq!(
        answer["data"]["comparisons"][0]["values"][0]["value"],
        18_652
    );
    assert_eq!(
        answer["data"]["comparisons"][0]["values"][1]["null_reason"],
        "not_in_survey"
    );
    assert!(notices(&answer).contains(&"NOT_IN_SURVEY"));
}

#[tokio::test]
async fn controlled_estimate_is_named_beside_the_verdict() {
    let world = World::new().await;
    let answer = world
        .post(
            COMPARE,
            &json!({"locations": ["00627", "10001"], "metrics": ["population"]}),
        )
        .await
        .json();
    // 110 controlled and 29,079 ± 1,500: the margin of the difference is that of 10001 alone.
    let population = compared(&answer, "population");
    let reported = [
        "difference",
        "difference_moe",
        "significant_at_90",
        "margin_basis",
        "reason",
    ]
    .map(|name| population[name].clone());
    assert_eq!(
        reported,
        [
            json!(-28_969),
            json!(1_500),
            json!(true),
            json!("controlled"),
            Value::Null
        ]
    );
}

#[tokio::test]
async fn comparison_takes_exactly_two_areas() {
    let world = World::new().await;
    for locations in [
        json!([]),
        json!(["90210"]),
        json!(["90210", "10001", "00627"]),
    ] {
        let answer = world
            .post(COMPARE, &json!({ "locations": locations }))
            .await;
        assert_eq!(
            answer.problem(),
            (400, "invalid_parameter".to_owned()),
            "{locations}"
        );
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            detail.contains("exactly two")
                && detail.contains("/v1/geo-demographics/metrics/{metric}"),
            "{detail}"
        );
    }
    assert_eq!(
        world
            .post(COMPARE, &json!({"locations": ["90210", "90210"]}))
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
}
