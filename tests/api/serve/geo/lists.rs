//! Lists of areas: the ZCTAs of a county, the counties of a state, and one metric of all.

use pubdata_store::PartReport;
use serde_json::{Value, json};

use super::draft;
use crate::serve::home::Table;
use crate::serve::zip_code::{zip, zip_county};
use crate::serve::{World, notices};

const METRICS: &str = "/v1/geo-demographics/metrics";

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["geography"]["id"].as_str().unwrap()).collect()
}

/// A release that has the counties of ZIP codes, too: a quarter of 10001 is said to lie in Los Angeles.
async fn with_parts() -> World {
    let world = World::empty(|_| {}).await;
    let mut draft = draft(19_652.0);
    let table = |dataset_id, rows| Table { dataset_id, vintage_year: None, bucket: None, folders: &[], rows, report: PartReport::default() };
    let codes = [
        "10001|New York|NY|36061|40.7484|-73.9967|standard|10001|same_code",
        "90209|Beverly Hills|CA|06037|34.09|-118.4|po_box_or_unique|90210|spatial_join",
        "90210|Beverly Hills|CA|06037|34.0901|-118.4065|standard|90210|same_code",
    ];
    draft.tables.push(table("zip.zip", codes.iter().map(|line| zip(line)).collect()));
    draft.tables.push(table(
        "zip.county",
        vec![
            zip_county("10001", "06037", "Los Angeles County", 0.25),
            zip_county("10001", "36061", "New York County", 0.75),
            zip_county("90209", "06037", "Los Angeles County", 1.0),
            zip_county("90210", "06037", "Los Angeles County", 0.9876),
            zip_county("90210", "06111", "Ventura County", 0.0),
        ],
    ));
    world.publish(&draft).await;
    world.service.refresh().await.unwrap();
    world
}

#[tokio::test]
async fn zctas_of_a_county_are_those_with_land_in_it() {
    let world = with_parts().await;
    let answer = world.ok("/v1/geo-demographics/counties/06037/locations?metric=population").await;
    assert_eq!((answer["data"]["geography"]["id"].as_str(), answer["data"]["vintage"]["year"].as_i64()), (Some("06037"), Some(2023)));
    let told = |item: &Value| ["land_share", "is_primary", "part_record_id"].map(|name| item[name].clone());
    let locations = answer["data"]["locations"].as_array().unwrap();
    assert_eq!(ids(&answer["data"]["locations"]), ["10001", "90210"]);
    assert_eq!(told(&locations[0]), [json!(0.25), json!(false), json!("zip.county:10001:06037")]);
    assert_eq!(told(&locations[1]), [json!(0.9876), json!(true), json!("zip.county:90210:06037")]);
    let population = json!({
        "population": {"value": 19_652, "moe": 1_335, "moe_approximate": null, "moe_status": "published", "qualifier": null, "null_reason": null, "record_id": "geo.zcta_metric:2023:90210:population"}
    });
    assert_eq!(locations[1]["metrics"], population);
    assert_eq!(notices(&answer), ["ZCTA_NOT_USPS_ZIP", "PRIMARY_COUNTY_RULE"]);
    // The very record that the share comes from.
    let chain = world.ok("/v1/provenance/zip.county:10001:06037").await;
    assert_eq!(chain["data"]["record"]["record_id"], "zip.county:10001:06037");
    // A county of the gazetteer's ZCTAs, and none of the county table.
    assert_eq!(world.get("/v1/geo-demographics/counties/36061/locations").await.problem(), (404, "not_found".to_owned()));
}

#[tokio::test]
async fn where_only_the_primary_county_is_published_the_notice_says_so() {
    let world = World::new().await;
    let answer = world.ok("/v1/geo-demographics/counties/06037/locations").await;
    assert_eq!(ids(&answer["data"]["locations"]), ["90210"]);
    let location = &answer["data"]["locations"][0];
    assert_eq!(
        [&location["land_share"], &location["is_primary"], &location["part_record_id"], &location["metrics"]],
        [&json!(0.9876), &json!(true), &Value::Null, &json!({})]
    );
    let rule = answer["meta"]["notices"].as_array().unwrap().iter().find(|notice| notice["code"] == "PRIMARY_COUNTY_RULE").unwrap();
    assert!(rule["message"].as_str().unwrap().starts_with("This release has one county for each ZCTA"), "{rule}");
    let none = world.ok("/v1/geo-demographics/counties/09110/locations").await;
    assert_eq!((none["data"]["locations"].as_array().unwrap().len(), &none["meta"]["page"]["total"]), (0, &json!(0)));
    let unknown = world.get("/v1/geo-demographics/counties/06037/locations?vintage=2019").await;
    assert_eq!(unknown.problem(), (404, "coverage_unavailable".to_owned()));
}

#[tokio::test]
async fn counties_of_a_state_are_those_of_the_vintage() {
    let world = World::new().await;
    let california = world.ok("/v1/geo-demographics/states/ca/counties?metric=median_household_income,population").await;
    assert_eq!((california["data"]["state_code"].as_str(), ids(&california["data"]["counties"])), (Some("CA"), vec!["06037"]));
    let income = &california["data"]["counties"][0]["metrics"]["median_household_income"];
    // Los Angeles County's, as the Bureau publishes it.
    assert_eq!(
        (&income["value"], &income["moe"], &income["record_id"]),
        (&json!(87_760), &json!(463), &json!("geo.county_metric:2023:06037:median_household_income"))
    );
    // A vintage has the counties that its survey has, whatever the gazetteer has today; where it has none of the state, those of the gazetteer.
    let of_2022 = world.ok("/v1/geo-demographics/states/CT/counties?vintage=2022").await;
    assert_eq!(ids(&of_2022["data"]["counties"]), ["09001"]);
    assert_eq!(of_2022["data"]["counties"][0]["geography"]["name"], "Fairfield County, Connecticut");
    let of_2023 = world.ok("/v1/geo-demographics/states/CT/counties").await;
    assert_eq!(ids(&of_2023["data"]["counties"]), ["09110"]);
    assert_eq!(world.get("/v1/geo-demographics/states/XX/counties").await.problem(), (400, "invalid_parameter".to_owned()));
    assert_eq!(world.get("/v1/geo-demographics/states/NY/counties").await.problem(), (404, "not_found".to_owned()));
    assert_eq!(world.get("/v1/geo-demographics/states/california/counties").await.problem(), (400, "invalid_parameter".to_owned()));
}

fn ranks(answer: &Value) -> Vec<(Option<i64>, &str)> {
    answer["data"]["areas"].as_array().unwrap().iter().map(|area| (area["rank"].as_i64(), area["id"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn equal_values_share_a_rank_and_areas_without_one_come_last() {
    let world = World::new().await;
    // 10001's record of it was set aside, the other four have 50.0.
    let answer = world.ok(&format!("{METRICS}/poverty_rate")).await;
    assert_eq!(ranks(&answer), [(Some(1), "00627"), (Some(1), "00663"), (Some(1), "90210"), (Some(1), "99546"), (None, "10001")]);
    assert_eq!((&answer["data"]["areas"][4]["value"], &answer["data"]["areas"][4]["null_reason"]), (&Value::Null, &json!("quarantined")));
    assert_eq!(notices(&answer), ["ZCTA_NOT_USPS_ZIP", "RANKS_IGNORE_MARGINS"]);
    // 29,079, 19,652, 110, 100 and 50 persons.
    let down = world.ok(&format!("{METRICS}/population?sort=value_desc")).await;
    assert_eq!(ranks(&down), [(Some(1), "10001"), (Some(2), "90210"), (Some(3), "00627"), (Some(4), "00663"), (Some(5), "99546")]);
    let up = world.ok(&format!("{METRICS}/population?sort=value_asc")).await;
    assert_eq!(ranks(&up), [(Some(1), "99546"), (Some(2), "00663"), (Some(3), "00627"), (Some(4), "90210"), (Some(5), "10001")]);
    let by_id = world.ok(&format!("{METRICS}/population?sort=id")).await;
    assert_eq!(ranks(&by_id), [(Some(3), "00627"), (Some(4), "00663"), (Some(1), "10001"), (Some(2), "90210"), (Some(5), "99546")]);
    // Households: 10,500 of 90210, 10,000 of 10001, 50 of the others, which share the third rank.
    let tied = world.ok(&format!("{METRICS}/households")).await;
    assert_eq!(ranks(&tied), [(Some(1), "90210"), (Some(2), "10001"), (Some(3), "00627"), (Some(3), "00663"), (Some(3), "99546")]);
    let tied_up = world.ok(&format!("{METRICS}/households?sort=value_asc")).await;
    assert_eq!(ranks(&tied_up), [(Some(1), "00627"), (Some(1), "00663"), (Some(1), "99546"), (Some(4), "10001"), (Some(5), "90210")]);
}

#[tokio::test]
async fn one_metric_of_all_areas_is_paged_and_narrowed_by_state_and_vintage() {
    let world = World::new().await;
    let first = world.ok(&format!("{METRICS}/population?limit=3")).await;
    let cursor = first["meta"]["page"]["next_cursor"].as_str().unwrap();
    assert_eq!(first["meta"]["page"]["total"], 5);
    let second = world.ok(&format!("{METRICS}/population?limit=3&cursor={cursor}")).await;
    assert_eq!(ranks(&second), [(Some(4), "00663"), (Some(5), "99546")]);
    let of_state = world.ok(&format!("{METRICS}/population?state=ca")).await;
    assert_eq!((ranks(&of_state), &of_state["data"]["areas"][0]["state_code"]), (vec![(Some(1), "90210")], &json!("CA")));
    let counties = world.ok(&format!("{METRICS}/median_household_income?geography_type=county&vintage=2022")).await;
    assert_eq!((ranks(&counties), &counties["data"]["areas"][0]["value"]), (vec![(Some(1), "06037"), (Some(2), "09001")], &json!(83_411)));
    assert_eq!((&counties["data"]["areas"][1]["state_code"], &counties["data"]["areas"][1]["name"]), (&json!("CT"), &json!("Fairfield County, Connecticut")));
    let margins = |answer: &Value| {
        let mut notices = answer["meta"]["notices"].as_array().unwrap().iter();
        notices.find(|notice| notice["code"] == "RANKS_IGNORE_MARGINS").unwrap()["message"].as_str().unwrap().to_owned()
    };
    assert!(margins(&first).contains("/v1/geo-demographics/locations/compare"));
    let of_counties = margins(&counties);
    assert!(!of_counties.contains("/locations/compare") && of_counties.contains("the two `moe`"), "that path takes ZCTAs only: {of_counties}");
    let unknown = world.get(&format!("{METRICS}/popluation")).await;
    assert_eq!((unknown.problem().0, unknown.json()["detail"].as_str().unwrap()), (400, "`popluation` is no metric; did you mean `population`?"));
    assert_eq!(world.get(&format!("{METRICS}/population?state=XX")).await.problem(), (400, "invalid_parameter".to_owned()));
    assert_eq!(world.get(&format!("{METRICS}/population?vintage=2019")).await.problem(), (404, "coverage_unavailable".to_owned()));
}
