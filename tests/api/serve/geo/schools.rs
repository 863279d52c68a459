use serde_json::{Value, json};

use super::draft;
use crate::serve::{World, notices};

const NEAR_90210: &str = "/v1/geo-demographics/locations/90210/schools";

fn ids(answer: &Value) -> Vec<String> {
    answer["data"]["schools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|school| school["school_id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn school_answer_is_complete_and_lists_open_schools_only() {
    let world = World::new().await;
    let answer = world.ok(&format!("{NEAR_90210}?limit=1")).await;
    let snapshot = crate::serve::home::snapshot(None);
    let expected = json!({
        "school_id": "060000000000", "name": "School 060000000000", "district": {"id": "0600000", "name": "District"}, "type": "regular", "level": "elementary",
        "grades": {"low": "KG", "high": "05", "offered": ["KG", "01", "02"]}, "is_charter": false, "is_virtual": false, "virtual_status": "not_virtual", "status": "open",
        "status_updated": null, "status_effective_date": "2025-09-01", "address": {"street": "1 \"A\" Street", "city": "City", "state": "CA", "zip": "01234"},
        "county_fips": "06037", "lat": 34.100_517, "lon": -118.414_712, "distance_mi": 0,
        "provenance": {
            "dataset_id": "geo.school", "source_id": "test.places_file", "source_url": snapshot.url, "source_version": "2025", "source_date": "2025-09-01", "source_mirror": null, "schema_version": "1.2.0",
            "validation_status": "passed", "record_id": "geo.school:060000000000"
        }
    });
    assert_eq!(answer["data"]["schools"], json!([expected]));
    assert_eq!(
        answer["data"]["origin"],
        json!({"lat": 34.100_517, "lon": -118.414_712, "basis": "zcta_internal_point"})
    );
    assert_eq!(
        (&answer["data"]["radius_mi"], &answer["data"]["school_year"]),
        (&json!(5), &json!("2025-2026"))
    );
    assert_eq!(
        answer["meta"]["page"]["total"], 30,
        "the closed school and the one without coordinates are not counted"
    );
    assert_eq!(
        notices(&answer),
        [
            "ZCTA_NOT_USPS_ZIP",
            "STRAIGHT_LINE_DISTANCE",
            "SCHOOLS_WITHOUT_COORDINATES"
        ]
    );
    assert!(
        answer["meta"]["notices"][2]["message"]
            .as_str()
            .unwrap()
            .starts_with("1 open school")
    );
}

#[tokio::test]
async fn pages_hold_every_school_once_in_order_of_distance_and_id() {
    let world = World::new().await;
    let whole = world.ok(&format!("{NEAR_90210}?limit=100")).await;
    assert_eq!(
        ids(&whole),
        (0..30)
            .map(|number| format!("060000{number:06}"))
            .collect::<Vec<_>>()
    );
    let distances: Vec<f64> = whole["data"]["schools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|school| school["distance_mi"].as_f64().unwrap())
        .collect();
    assert_eq!(
        (distances[0], distances[2], distances[3], distances[29]),
        (0.0, 0.07, 0.07, 0.97)
    );

    let (mut paged, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let after = cursor
            .map(|cursor| format!("&cursor={cursor}"))
            .unwrap_or_default();
        let page = world.ok(&format!("{NEAR_90210}?limit=7{after}")).await;
        assert_eq!(page["meta"]["page"]["count"], ids(&page).len());
        paged.extend(ids(&page));
        match page["meta"]["page"]["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(paged, ids(&whole));
}

#[tokio::test]
async fn later_pages_come_from_the_release_of_the_first() {
    let world = World::new().await;
    let first = world.ok(&format!("{NEAR_90210}?limit=20")).await;
    let cursor = first["meta"]["page"]["next_cursor"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut other = draft(1.0);
    other.tables.last_mut().unwrap().rows.remove(25);
    let other_id = world.publish(&other).await;
    world.service.refresh().await.unwrap();
    let second = world
        .ok(&format!("{NEAR_90210}?limit=20&cursor={cursor}"))
        .await;
    assert_eq!(second["meta"]["release"], first["meta"]["release"]);
    assert_eq!(ids(&second).len(), 10);
    assert_eq!(
        world
            .get(&format!("{NEAR_90210}?cursor={cursor}&release={other_id}"))
            .await
            .problem(),
        (400, "invalid_cursor".to_owned())
    );
    assert_eq!(
        world
            .get(&format!("{NEAR_90210}?cursor={cursor}&grade=01"))
            .await
            .problem(),
        (400, "invalid_cursor".to_owned())
    );
    assert_eq!(
        world
            .get(&format!("{NEAR_90210}?cursor=bm9uc2Vuc2U"))
            .await
            .problem(),
        (400, "invalid_cursor".to_owned())
    );
}

#[tokio::test]
async fn filters_select_and_unknown_values_do_not_count_as_yes() {
    let world = World::new().await;
    let chosen =
        async |filter: &str| ids(&world.ok(&format!("{NEAR_90210}?limit=100&{filter}")).await);
    assert_eq!(chosen("charter=true").await, ["060000000004"]);
    assert_eq!(
        chosen("charter=false").await.len(),
        29,
        "not applicable is not a charter school"
    );
    assert_eq!(chosen("virtual=true").await, ["060000000006"]);
    assert_eq!(chosen("level=high").await, ["060000000008"]);
    assert_eq!(chosen("grade=10").await, ["060000000008"]);
    assert_eq!(chosen("radius_mi=0.1").await.len(), 4);
    assert_eq!(chosen("level=high&charter=true").await.len(), 0);
}

#[tokio::test]
async fn distance_crosses_the_antimeridian() {
    let world = World::new().await;
    let answer = world
        .ok("/v1/geo-demographics/locations/99546/schools")
        .await;
    assert_eq!(ids(&answer), ["020000000001"]);
    assert_eq!(answer["data"]["schools"][0]["distance_mi"], 4.26);
}
