//! Tests one metric of all companies for a fiscal year.

use serde_json::{Value, json};

use super::{draft, publish, restated_and_stated_twice, world};
use crate::serve::{World, collect_record_ids, notices};

const FRAMES: &str = "/v1/sec/financials/frames";

fn reported(answer: &Value) -> Vec<(&str, u64)> {
    let values = answer["data"]["values"].as_array().unwrap();
    values
        .iter()
        .map(|value| {
            (
                value["cik"].as_str().unwrap(),
                value["value"].as_u64().unwrap(),
            )
        })
        .collect()
}

#[tokio::test]
async fn frame_has_the_last_report_of_every_company() {
    let world = world().await;
    let answer = world
        .ok(&format!("{FRAMES}/revenue?fiscal_year=2023"))
        .await;
    // The last of Kimberly-Clark's three reports counts.
    assert_eq!(
        reported(&answer),
        [
            ("0000055785", 17_146_000_000),
            ("0000320193", 383_285_000_000)
        ]
    );
    let kimberly = json!({
        "cik": "0000055785", "name": "KIMBERLY CLARK CORP", "fiscal_period": "FY", "period_start": "2023-01-01", "period_end": "2023-12-31", "value": 17_146_000_000_u64, "unit": "USD", "is_ytd": false,
        "accession_number": "0001628280-26-007567", "evidence_url": "https://www.sec.gov/Archives/edgar/data/55785/000162828026007567/0001628280-26-007567-index.htm",
        "provenance": {
            "dataset_id": "sec.financial_value", "source_id": "test.places_file", "source_url": "https://publisher.example/places.txt", "source_version": "2025",
            "source_date": "2025-09-01", "source_mirror": null, "schema_version": world.contracts["sec.financial_value"].version, "validation_status": "passed",
            "record_id": "sec.financial_value:0000055785:revenue:2023-01-01..2023-12-31:0001628280-26-007567"
        }
    });
    assert_eq!(answer["data"]["values"][0], kimberly);
    assert_eq!(
        ["metric", "unit", "period_type"].map(|name| answer["data"][name].as_str().unwrap()),
        ["revenue", "USD", "annual"]
    );
    assert_eq!(notices(&answer), ["VALUES_AS_FILED", "FISCAL_PERIODS"]);
    let of_2024 = world
        .ok(&format!("{FRAMES}/revenue?fiscal_year=2024"))
        .await;
    assert_eq!(
        reported(&of_2024),
        [
            ("0000055785", 20_058_000_000),
            ("0000320193", 391_035_000_000),
            ("0001045810", 60_922_000_000)
        ]
    );
    let none = world
        .ok(&format!("{FRAMES}/revenue?fiscal_year=1999"))
        .await;
    assert_eq!(
        (reported(&none), &none["meta"]["page"]["total"]),
        (vec![], &json!(0))
    );
}

#[tokio::test]
async fn frame_values_equal_the_companys_and_lead_to_records() {
    let world = World::empty(|_| {}).await;
    let mut draft = draft();
    draft.tables.extend(restated_and_stated_twice());
    publish(&world, draft).await;
    for (metric, period, year, count) in [
        ("revenue", "annual", 2017, 1),
        ("revenue", "annual", 2024, 3),
        ("total_assets", "annual", 2008, 1),
        ("operating_cash_flow", "quarterly", 2024, 2),
        ("eps_diluted", "annual", 2023, 1),
    ] {
        let frame = world
            .ok(&format!(
                "{FRAMES}/{metric}?fiscal_year={year}&period={period}"
            ))
            .await;
        let values = frame["data"]["values"].as_array().unwrap();
        assert_eq!(values.len(), count, "{metric} {year}");
        for value in values {
            let path = format!(
                "/v1/sec/companies/{}/financials?metric={metric}&period={period}&fiscal_year_from={year}&fiscal_year_to={year}",
                value["cik"].as_str().unwrap()
            );
            let company = world.ok(&path).await;
            let known = company["data"]["series"][0]["values"].as_array().unwrap();
            let same = known
                .iter()
                .find(|known| known["provenance"]["record_id"] == value["provenance"]["record_id"])
                .unwrap_or_else(|| panic!("{value} is not among {known:?}"));
            for member in [
                "fiscal_period",
                "period_start",
                "period_end",
                "value",
                "unit",
                "is_ytd",
                "accession_number",
                "evidence_url",
                "provenance",
            ] {
                assert_eq!(value[member], same[member], "{member} of {value}");
            }
        }
        let mut record_ids = Vec::new();
        collect_record_ids(&frame, &mut record_ids);
        for record_id in record_ids {
            assert_eq!(
                world.ok(&format!("/v1/provenance/{record_id}")).await["data"]["record"]["record_id"],
                record_id.as_str()
            );
        }
    }
}

#[tokio::test]
async fn frame_is_paged_and_invalid_questions_are_explained() {
    let world = world().await;
    let first = world
        .ok(&format!("{FRAMES}/revenue?fiscal_year=2024&limit=2"))
        .await;
    let cursor = first["meta"]["page"]["next_cursor"].as_str().unwrap();
    let second = world
        .ok(&format!(
            "{FRAMES}/revenue?fiscal_year=2024&limit=2&cursor={cursor}"
        ))
        .await;
    assert_eq!(reported(&second), [("0001045810", 60_922_000_000)]);
    // Other metrics and report kinds replace the first ones in the cache, which are then computed
    // again.
    for metric in [
        "net_income",
        "total_assets",
        "total_liabilities",
        "stockholders_equity",
        "eps_diluted",
    ] {
        assert_eq!(
            world
                .get(&format!("{FRAMES}/{metric}?fiscal_year=2024"))
                .await
                .status,
            200,
            "{metric}"
        );
    }
    assert_eq!(
        world
            .ok(&format!("{FRAMES}/revenue?fiscal_year=2024&limit=2"))
            .await["data"],
        first["data"]
    );
    let problem = async |path: &str| {
        let answer = world.get(&format!("{FRAMES}/{path}")).await;
        (
            answer.problem(),
            answer.json()["detail"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(
        problem("revenue").await,
        (
            (400, "missing_parameter".to_owned()),
            "`fiscal_year` is needed".to_owned()
        )
    );
    assert_eq!(
        problem("revenues?fiscal_year=2024").await,
        (
            (400, "invalid_parameter".to_owned()),
            "`revenues` is not a metric; did you mean `revenue`?".to_owned()
        )
    );
    assert_eq!(
        problem("revenue?fiscal_year=24").await.0,
        (400, "invalid_parameter".to_owned())
    );
    let areas = World::new().await;
    assert_eq!(
        areas
            .get(&format!("{FRAMES}/revenue?fiscal_year=2024"))
            .await
            .problem(),
        (404, "coverage_unavailable".to_owned())
    );
}
