//! Tests lists of areas: the ZCTAs of a county, the counties of a state, and one metric of all
//! areas.

use pubdata_store::PartReport;
use serde_json::{Value, json};

use super::draft;
use crate::serve::home::Table;
use crate::serve::zip_code::{zip, zip_county};
use crate::serve::{World, notices};

const METRICS: &str = "/v1/geo-demographics/metrics";

fn ids(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|item| item["geography"]["id"].as_str().unwrap())
        .collect()
}

/// A release that also has the counties of ZIP codes; it places a quarter of 10001 in Los Angeles.
async fn with_parts() -> World {
    let world = World::empty(|_| {}).await;
    let mut draft = draft(19_652.0);
    let table = |dataset_id, rows| Table {
        dataset_id,
        vintage_year: None,
        bucket: None,
        folders: &[],
        rows,
        report: PartReport::default(),
    };
    let codes = [
        "10001|New York|NY|36061|40.7484|-73.9967|standard|10001|same_code",
        "90209|Beverly Hills|CA|06037|34.09|-118.4|po_box_or_unique|90210|spatial_join",
        "90210|Beverly Hills|CA|06037|34.0901|-118.4065|standard|90210|same_code",
    ];
    draft.tables.push(table(
        "zip.zip",
        codes.iter().map(|line| zip(line)).collect(),
    ));
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
    let answer = world
        .ok("/v1/geo-demographics/counties/06037/locations?metric=population")
        .await;
    assert_eq!(
        (
            answer["data"]["geography"]["id"].as_str(),
            answer["data"]["vintage"]["year"].as_i64()
        ),
        (Some("06037"), Some(2023))
    );
    let reported = |item: &Value| {
        ["land_share", "is_primary", "part_record_id"].map(|name| item[name].clone())
    };
    let locations = answer["data"]["locations"].as_array().unwrap();
    assert_eq!(ids(&answer["data"]["locations"]), ["10001", "90210"]);
    assert_eq!(
        reported(&locations[0]),
        [json!(0.25), json!(false), json!("zip.county:10001:06037")]
    );
    assert_eq!(
        reported(&locations[1]),
        [json!(0.9876), json!(true), json!("zip.county:90210:06037")]
    );
    let population = json!({
        "population": {"value": 19_652, "bound": null, "bound_type": null, "moe": 1_335, "moe_approximate": null, "moe_status": "published", "qualifier": null, "null_reason": null, "record_id": "geo.zcta_metric:2023:90210:population"}
    });
    assert_eq!(locations[1]["metrics"], population);
    assert_eq!(
        notices(&answer),
        ["ZCTA_NOT_USPS_ZIP", "PRIMARY_COUNTY_RULE"]
    );
    // The exact record of the share.
    let chain = world.ok("/v1/provenance/zip.county:10001:06037").await;
    assert_eq!(
        chain["data"]["record"]["record_id"],
        "zip.county:10001:06037"
    );
    // A county named for the gazetteer's ZCTAs and absent from the county table.
    assert_eq!(
        world
            .get("/v1/geo-demographics/counties/36061/locations")
            .await
            .problem(),
        (404, "not_found".to_owned())
    );
}

#[tokio::test]
async fn zctas_by_primary_county_alone_carry_a_notice() {
    let world = World::new().await;
    let answer = world
        .ok("/v1/geo-demographics/counties/06037/locations")
        .await;
    assert_eq!(ids(&answer["data"]["locations"]), ["90210"]);
    let location = &answer["data"]["locations"][0];
    assert_eq!(
        [
            &location["land_share"],
            &location["is_primary"],
            &location["part_record_id"],
            &location["metrics"]
        ],
        [&json!(0.9876), &json!(true), &Value::Null, &json!({})]
    );
    let rule = answer["meta"]["notices"]
        .as_array()
        .unwrap()
        .iter()
        .find(|notice| notice["code"] == "PRIMARY_COUNTY_RULE")
        .unwrap();
    assert!(
        rule["message"]
            .as_str()
            .unwrap()
            .starts_with("This release has one county for each ZCTA"),
        "{rule}"
    );
    let none = world
        .ok("/v1/geo-demographics/counties/09110/locations")
        .await;
    assert_eq!(
        (
            none["data"]["locations"].as_array().unwrap().len(),
            &none["meta"]["page"]["total"]
        ),
        (0, &json!(0))
    );
    let unknown = world
        .get("/v1/geo-demographics/counties/06037/locations?vintage=2019")
        .await;
    assert_eq!(unknown.problem(), (404, "coverage_unavailable".to_owned()));
}

#[tokio::test]
async fn counties_of_a_state_are_those_of_the_vintage() {
    let world = World::new().await;
    let california = world
        .ok("/v1/geo-demographics/states/ca/counties?metric=median_household_income,population")
        .await;
    assert_eq!(
        (
            california["data"]["state_code"].as_str(),
            ids(&california["data"]["counties"])
        ),
        (Some("CA"), vec!["06037"])
    );
    let income = &california["data"]["counties"][0]["metrics"]["median_household_income"];
    // Los Angeles County's figure, as the Bureau publishes it.
    assert_eq!(
        (&income["value"], &income["moe"], &income["record_id"]),
        (
            &json!(87_760),
            &json!(463),
            &json!("geo.county_metric:2023:06037:median_household_income")
        )
    );
    // A vintage has the counties of its survey, even if today's gazetteer differs. A state without
    // counties in the survey has those of the gazetteer.
    let of_2022 = world
        .ok("/v1/geo-demographics/states/CT/counties?vintage=2022")
        .await;
    assert_eq!(ids(&of_2022["data"]["counties"]), ["09001"]);
    assert_eq!(
        of_2022["data"]["counties"][0]["geography"]["name"],
        "Fairfield County, Connecticut"
    );
    let of_2023 = world.ok("/v1/geo-demographics/states/CT/counties").await;
    assert_eq!(ids(&of_2023["data"]["counties"]), ["09110"]);
    assert_eq!(
        world
            .get("/v1/geo-demographics/states/XX/counties")
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
    assert_eq!(
        world
            .get("/v1/geo-demographics/states/NY/counties")
            .await
            .problem(),
        (404, "not_found".to_owned())
    );
    let by_name = world
        .ok("/v1/geo-demographics/states/california/counties")
        .await;
    assert_eq!(
        (
            by_name["data"]["state_code"].as_str(),
            ids(&by_name["data"]["counties"])
        ),
        (Some("CA"), vec!["06037"])
    );
}

fn ranks(answer: &Value) -> Vec<(Option<i64>, &str)> {
    answer["data"]["areas"]
        .as_array()
        .unwrap()
        .iter()
        .map(|area| (area["rank"].as_i64(), area["id"].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn equal_values_share_a_rank_and_areas_without_one_come_last() {
    let world = World::new().await;
    // The record of 10001 is quarantined; the other four have 50.0.
    let answer = world.ok(&format!("{METRICS}/poverty_rate")).await;
    assert_eq!(
        ranks(&answer),
        [
            (Some(1), "00627"),
            (Some(1), "00663"),
            (Some(1), "90210"),
            (Some(1), "99546"),
            (None, "10001")
        ]
    );
    assert_eq!(
        (
            &answer["data"]["areas"][4]["value"],
            &answer["data"]["areas"][4]["null_reason"]
        ),
        (&Value::Null, &json!("quarantined"))
    );
    assert_eq!(
        notices(&answer),
        ["ZCTA_NOT_USPS_ZIP", "RANKS_IGNORE_MARGINS"]
    );
    // 29,079, 19,652, 110, 100 and 50 persons.
    let down = world
        .ok(&format!("{METRICS}/population?sort=value_desc"))
        .await;
    assert_eq!(
        ranks(&down),
        [
            (Some(1), "10001"),
            (Some(2), "90210"),
            (Some(3), "00627"),
            (Some(4), "00663"),
            (Some(5), "99546")
        ]
    );
    let up = world
        .ok(&format!("{METRICS}/population?sort=value_asc"))
        .await;
    assert_eq!(
        ranks(&up),
        [
            (Some(1), "99546"),
            (Some(2), "00663"),
            (Some(3), "00627"),
            (Some(4), "90210"),
            (Some(5), "10001")
        ]
    );
    let by_id = world.ok(&format!("{METRICS}/population?sort=id")).await;
    assert_eq!(
        ranks(&by_id),
        [
            (Some(3), "00627"),
            (Some(4), "00663"),
            (Some(1), "10001"),
            (Some(2), "90210"),
            (Some(5), "99546")
        ]
    );
    // Households: 10,500 in 90210, 10,000 in 10001, and 50 in the others, which share rank three.
    let tied = world.ok(&format!("{METRICS}/households")).await;
    assert_eq!(
        ranks(&tied),
        [
            (Some(1), "90210"),
            (Some(2), "10001"),
            (Some(3), "00627"),
            (Some(3), "00663"),
            (Some(3), "99546")
        ]
    );
    let tied_up = world
        .ok(&format!("{METRICS}/households?sort=value_asc"))
        .await;
    assert_eq!(
        ranks(&tied_up),
        [
            (Some(1), "00627"),
            (Some(1), "00663"),
            (Some(1), "99546"),
            (Some(4), "10001"),
            (Some(5), "90210")
        ]
    );
}

#[tokio::test]
async fn metric_list_is_paged_and_filtered_by_state_and_vintage() {
    let world = World::new().await;
    let first = world.ok(&format!("{METRICS}/population?limit=3")).await;
    let cursor = first["meta"]["page"]["next_cursor"].as_str().unwrap();
    assert_eq!(first["meta"]["page"]["total"], 5);
    let second = world
        .ok(&format!("{METRICS}/population?limit=3&cursor={cursor}"))
        .await;
    assert_eq!(ranks(&second), [(Some(4), "00663"), (Some(5), "99546")]);
    let of_state = world.ok(&format!("{METRICS}/population?state=ca")).await;
    assert_eq!(
        (
            ranks(&of_state),
            &of_state["data"]["areas"][0]["state_code"]
        ),
        (vec![(Some(1), "90210")], &json!("CA"))
    );
    let counties = world
        .ok(&format!(
            "{METRICS}/median_household_income?geography_type=county&vintage=2022"
        ))
        .await;
    assert_eq!(
        (ranks(&counties), &counties["data"]["areas"][0]["value"]),
        (vec![(Some(1), "06037"), (Some(2), "09001")], &json!(83_411))
    );
    assert_eq!(
        (
            &counties["data"]["areas"][1]["state_code"],
            &counties["data"]["areas"][1]["name"]
        ),
        (&json!("CT"), &json!("Fairfield County, Connecticut"))
    );
    let margins = |answer: &Value| {
        let mut notices = answer["meta"]["notices"].as_array().unwrap().iter();
        notices
            .find(|notice| notice["code"] == "RANKS_IGNORE_MARGINS")
            .unwrap()["message"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(margins(&first).contains("/v1/geo-demographics/locations/compare"));
    let of_counties = margins(&counties);
    assert!(
        !of_counties.contains("/locations/compare") && of_counties.contains("the two `moe`"),
        "this path accepts ZCTAs only: {of_counties}"
    );
    let unknown = world.get(&format!("{METRICS}/popluation")).await;
    assert_eq!(
        (
            unknown.problem().0,
            unknown.json()["detail"].as_str().unwrap()
        ),
        (
            400,
            "`popluation` is not a metric; did you mean `population`?"
        )
    );
    assert_eq!(
        world
            .get(&format!("{METRICS}/population?state=XX"))
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
    assert_eq!(
        world
            .get(&format!("{METRICS}/population?vintage=2019"))
            .await
            .problem(),
        (404, "coverage_unavailable".to_owned())
    );
}

#[tokio::test]
async fn open_ended_medians_are_ranked_by_their_bound() {
    let world = World::new().await;
    // Two of 3,500 or more, one of 3,500, one of 100, one of less than 100.
    let down = world.ok(&format!("{METRICS}/median_gross_rent")).await;
    assert_eq!(
        ranks(&down),
        [
            (Some(1), "00627"),
            (Some(1), "90210"),
            (Some(3), "10001"),
            (Some(4), "00663"),
            (Some(5), "99546")
        ]
    );
    let up = world
        .ok(&format!("{METRICS}/median_gross_rent?sort=value_asc"))
        .await;
    assert_eq!(
        ranks(&up),
        [
            (Some(1), "99546"),
            (Some(2), "00663"),
            (Some(3), "10001"),
            (Some(4), "00627"),
            (Some(4), "90210")
        ]
    );
    let reported = |area: &Value| {
        ["value", "bound", "bound_type", "qualifier", "null_reason"].map(|name| area[name].clone())
    };
    let at_least = [
        Value::Null,
        json!(3_500),
        json!("at_least"),
        json!("3,500 or more"),
        json!("open_ended_interval"),
    ];
    let at_most = [
        Value::Null,
        json!(100),
        json!("at_most"),
        json!("less than 100"),
        json!("open_ended_interval"),
    ];
    assert_eq!(
        (
            reported(&down["data"]["areas"][0]),
            reported(&down["data"]["areas"][4])
        ),
        (at_least, at_most)
    );
    assert_eq!(
        notices(&down),
        [
            "ZCTA_NOT_USPS_ZIP",
            "RANKS_IGNORE_MARGINS",
            "OPEN_ENDED_RANKS"
        ]
    );
    let table = String::from_utf8(
        world
            .get(&format!("{METRICS}/median_gross_rent?format=csv"))
            .await
            .bytes,
    )
    .unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines[0].starts_with("rank,id,name,state_code,value,bound,bound_type,moe,"),
        "{table}"
    );
    assert!(lines[1].starts_with("1,00627,ZCTA 00627,PR,,3500,at_least,,,open_ended,\"3,500 or more\",open_ended_interval,"), "{table}");
}

#[tokio::test]
async fn metric_of_chosen_areas_is_ranked_among_them() {
    let world = World::new().await;
    let answer = world
        .ok(&format!(
            "{METRICS}/population?areas=96799,90210,00627,90210,10001"
        ))
        .await;
    assert_eq!(
        ranks(&answer),
        [
            (Some(1), "10001"),
            (Some(2), "90210"),
            (Some(3), "00627"),
            (None, "96799")
        ]
    );
    let outside = &answer["data"]["areas"][3];
    assert_eq!(
        (
            &outside["null_reason"],
            &outside["record_id"],
            &answer["meta"]["page"]["total"]
        ),
        (&json!("not_in_survey"), &Value::Null, &json!(4))
    );
    let by_id = world
        .ok(&format!("{METRICS}/population?areas=90210,00627&sort=id"))
        .await;
    assert_eq!(ranks(&by_id), [(Some(2), "00627"), (Some(1), "90210")]);
    let of_state = world
        .ok(&format!("{METRICS}/population?areas=90210,00627&state=PR"))
        .await;
    assert_eq!(ranks(&of_state), [(Some(1), "00627")]);
    let counties = world
        .ok(&format!(
            "{METRICS}/population?geography_type=county&areas=06037"
        ))
        .await;
    assert_eq!(ranks(&counties), [(Some(1), "06037")]);
    let unknown = world
        .get(&format!("{METRICS}/population?areas=90210,90209"))
        .await;
    assert_eq!(
        (
            unknown.problem(),
            unknown.json()["errors"][0]["field"].clone()
        ),
        ((404, "not_found".to_owned()), json!("areas"))
    );
    assert_eq!(
        world
            .get(&format!("{METRICS}/population?areas=9021"))
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
}

#[tokio::test]
async fn lists_name_their_records_and_describe_each_source_once() {
    let world = with_parts().await;
    let snapshot = |vintage: Option<i32>| {
        let snapshot = crate::serve::home::snapshot(vintage);
        json!({"source_id": snapshot.source_id, "source_url": snapshot.url, "source_version": snapshot.source_version, "source_date": snapshot.source_date, "source_mirror": null})
    };
    for (path, rows, records) in [
        (
            "counties/06037/locations?metric=population,households",
            "/data/locations",
            vec![
                ("geo.geography", None, "90210"),
                ("geo.zcta_metric", Some(2023), "2023:90210:population"),
                ("geo.zcta_metric", Some(2023), "2023:90210:households"),
                ("zip.county", None, "90210:06037"),
            ],
        ),
        (
            "states/CA/counties?metric=population",
            "/data/counties",
            vec![
                ("geo.county", None, "06037"),
                ("geo.county_metric", Some(2023), "2023:06037:population"),
            ],
        ),
        (
            "metrics/population?state=CA",
            "/data/areas",
            vec![
                ("geo.geography", None, "90210"),
                ("geo.zcta_metric", Some(2023), "2023:90210:population"),
            ],
        ),
    ] {
        let path = format!("/v1/geo-demographics/{path}");
        let plain = world.ok(&path).await;
        assert_eq!(
            (
                plain["data"].get("provenance"),
                plain.pointer(&format!("{rows}/0/provenance"))
            ),
            (None, None),
            "{path}"
        );
        let answer = world.ok(&format!("{path}&include=provenance")).await;
        let row = answer
            .pointer(rows)
            .unwrap()
            .as_array()
            .unwrap()
            .last()
            .unwrap();
        let reported: Vec<&Value> = row["provenance"].as_array().unwrap().iter().collect();
        assert_eq!(
            reported
                .iter()
                .map(|record| record["record_id"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>(),
            records
                .iter()
                .map(|(dataset, _, key)| format!("{dataset}:{key}"))
                .collect::<Vec<_>>()
        );
        for (record, (dataset_id, vintage, _)) in reported.iter().zip(&records) {
            let source = &answer["data"]["provenance"][record["source"].as_str().unwrap()];
            assert_eq!(
                (
                    source["dataset_id"].as_str(),
                    record["validation_status"].as_str()
                ),
                (Some(*dataset_id), Some("passed")),
                "{record}"
            );
            for (name, expected) in snapshot(*vintage).as_object().unwrap() {
                assert_eq!(&source[name], expected, "{record}");
            }
            assert!(source["schema_version"].is_string(), "{source}");
        }
        let sources = answer["data"]["provenance"].as_object().unwrap();
        let datasets: std::collections::BTreeSet<&str> =
            records.iter().map(|(dataset, ..)| *dataset).collect();
        assert_eq!(
            sources.len(),
            datasets.len(),
            "each source once: {sources:?}"
        );
    }
}
