use serde_json::{Value, json};

use crate::serve::{World, notices};

const COMPARE: &str = "/v1/geo-demographics/locations/compare";

fn compared<'a>(answer: &'a Value, metric: &str) -> &'a Value {
    answer["data"]["comparisons"].as_array().unwrap().iter().find(|compared| compared["metric"] == metric).unwrap()
}

#[tokio::test]
async fn comparison_applies_the_strict_test_and_gives_reasons() {
    let world = World::new().await;
    let answer = world.post(COMPARE, &json!({"locations": ["90210", "10001"], "metrics": ["population", "households", "median_household_income", "median_home_value", "owner_occupied_share", "poverty_rate"]})).await;
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.bytes));
    let answer = answer.json();
    let population = json!({
        "metric": "population", "unit": "persons", "universe": "Total population",
        "values": [
            {"id": "90210", "value": 19_652, "moe": 1_335, "moe_approximate": null, "moe_status": "published", "qualifier": null, "null_reason": null, "record_id": "geo.zcta_metric:2023:90210:population"},
            {"id": "10001", "value": 29_079, "moe": 1_500, "moe_approximate": null, "moe_status": "published", "qualifier": null, "null_reason": null, "record_id": "geo.zcta_metric:2023:10001:population"}
        ],
        "difference": -9_427, "difference_moe": 2_008.04, "z": -7.7227, "significant_at_90": true, "reason": null
    });
    assert_eq!(compared(&answer, "population"), &population);
    // One stamp per value, in order; where there is no estimate, that of the place.
    let values = answer["data"]["comparisons"].as_array().unwrap().iter().flat_map(|compared| compared["values"].as_array().unwrap());
    let expected = values.map(|value| value["record_id"].as_str().map_or_else(|| format!("geo.geography:{}", value["id"].as_str().unwrap()), str::to_owned));
    let stamps = answer["data"]["provenance"].as_array().unwrap().iter().map(|stamp| stamp["record_id"].as_str().unwrap().to_owned());
    assert_eq!(stamps.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    // 500² = 300² + 400²: exactly at the limit.
    let households = compared(&answer, "households");
    assert_eq!(
        (&households["difference"], &households["difference_moe"], &households["z"], &households["significant_at_90"]),
        (&json!(500), &json!(500), &json!(1.645), &json!(false))
    );
    let verdict = |metric: &str| {
        (compared(&answer, metric)["difference"].clone(), compared(&answer, metric)["significant_at_90"].clone(), compared(&answer, metric)["reason"].clone())
    };
    assert_eq!(verdict("median_household_income"), (Value::Null, Value::Null, json!("open_ended_median")));
    assert_eq!(verdict("median_home_value"), (Value::Null, Value::Null, json!("value_not_available")));
    assert_eq!(verdict("owner_occupied_share"), (json!(14.5), Value::Null, json!("no_published_moe")));
    assert_eq!(verdict("poverty_rate"), (Value::Null, Value::Null, json!("value_not_available")));
    assert_eq!(answer["data"]["locations"][1]["id"], "10001");
    assert_eq!(answer["data"]["vintage"]["year"], 2023);
}

#[tokio::test]
async fn two_controlled_estimates_are_not_tested() {
    let world = World::new().await;
    let answer = world.post(COMPARE, &json!({"locations": ["00627", "00663"], "metrics": ["population"]})).await.json();
    let population = compared(&answer, "population");
    assert_eq!((&population["difference"], &population["significant_at_90"], &population["reason"]), (&json!(10), &Value::Null, &json!("both_controlled")));
}

#[tokio::test]
async fn comparison_takes_a_vintage_and_all_metrics_when_none_is_named() {
    let world = World::new().await;
    // For JSON Schema 2022.0 is an integer too.
    let answer = world.post(COMPARE, &json!({"locations": ["90210", "96799"], "vintage": 2022.0})).await.json();
    assert_eq!(answer["data"]["vintage"]["year"], 2022);
    assert_eq!(answer["data"]["comparisons"].as_array().unwrap().len(), 12);
    assert_eq!(answer["data"]["comparisons"][0]["values"][0]["value"], 18_652);
    assert_eq!(answer["data"]["comparisons"][0]["values"][1]["null_reason"], "not_in_survey");
    assert!(notices(&answer).contains(&"NOT_IN_SURVEY"));
}

#[tokio::test]
async fn the_first_of_several_areas_is_compared_with_each_of_the_others() {
    let world = World::new().await;
    let metrics = ["population", "households"];
    let answer = world.post(COMPARE, &json!({"locations": ["90210", "10001", "00627", "96799"], "metrics": metrics})).await;
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.bytes));
    let answer = answer.json();
    let comparisons = answer["data"]["comparisons"].as_array().unwrap();
    let told =
        |compared: &Value| (compared["metric"].as_str().unwrap().to_owned(), [0, 1].map(|side| compared["values"][side]["id"].as_str().unwrap().to_owned()));
    let expected = metrics.iter().flat_map(|metric| ["10001", "00627", "96799"].map(|other| ((*metric).to_owned(), ["90210".to_owned(), other.to_owned()])));
    assert_eq!(comparisons.iter().map(told).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    // Each of them is what is said of the two alone.
    for (place, other) in ["10001", "00627", "96799"].iter().enumerate() {
        let pair = world.post(COMPARE, &json!({"locations": ["90210", other], "metrics": ["population"]})).await.json();
        assert_eq!(comparisons[place], pair["data"]["comparisons"][0], "{other}");
    }
    assert_eq!(answer["data"]["locations"].as_array().unwrap().len(), 4);
    assert_eq!(answer["data"]["provenance"].as_array().unwrap().len(), 2 * comparisons.len(), "one of each value");
    assert!(notices(&answer).contains(&"NOT_IN_SURVEY"));
}
