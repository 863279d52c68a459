//! Tests sales taxes: a release of rates and boundaries, and requests about it.

mod batch;
mod calculate;
mod counties;
mod limits;
mod rate;
mod rows;
mod rules;

use pubdata_store::PartReport;
use serde_json::Value;

use super::World;
use super::home::{Draft, Table};
use super::zip_code::{MADE_UP, zip, zip_county};
use rows::{boundaries, in_county, place, rates, rule, taxability, texas_rate};

pub async fn world() -> World {
    let world = World::empty(|_| {}).await;
    world.publish(&draft()).await;
    world.service.refresh().await.unwrap();
    world
}

pub fn draft() -> Draft {
    let table = |dataset_id, folders, rows| Table {
        dataset_id,
        vintage_year: None,
        bucket: None,
        folders,
        rows,
        report: PartReport::default(),
    };
    let mut zips: Vec<Value> = MADE_UP.iter().map(|line| zip(line)).collect();
    zips.sort_by_key(|row| row["zip"].as_str().unwrap().to_owned());
    let rules = vec![
        rule("AZ", "Arizona", "state_only", "statewide", Some("0.056")),
        rule("CA", "California", "full", "places", Some("0.0725")),
        rule("CO", "Colorado", "state_only", "not_covered", Some("0.029")),
        rule("CT", "Connecticut", "full", "statewide", Some("0.0635")),
        rule("FL", "Florida", "state_only", "statewide", Some("0.06")),
        rule("IL", "Illinois", "state_only", "statewide", Some("0.0625")),
        rule("LA", "Louisiana", "none", "not_covered", None),
        rule("MA", "Massachusetts", "full", "statewide", Some("0.0625")),
        rule("MN", "Minnesota", "full", "boundaries", None),
        rule("NJ", "New Jersey", "full", "boundaries", Some("0.06625")),
        rule("NV", "Nevada", "full", "boundaries", Some("0.0685")),
        rule("NY", "New York", "state_only", "statewide", Some("0.04")),
        rule("OR", "Oregon", "full", "no_tax", None),
        rule("TN", "Tennessee", "full", "boundaries", None),
        rule("TX", "Texas", "full", "places", Some("0.0625")),
        rule("VA", "Virginia", "state_only", "statewide", Some("0.053")),
        rule("VT", "Vermont", "full", "boundaries", None),
        rule("WA", "Washington", "full", "boundaries", None),
        rule("WI", "Wisconsin", "full", "boundaries", None),
    ];
    let texas = vec![
        place("TX", 0, Some("Abilene"), None, Some("2221012"), &[]),
        in_county(
            place(
                "TX",
                1,
                Some("Addison"),
                None,
                Some("2057217"),
                &["spd=3057994"],
            ),
            "48113",
        ),
        in_county(
            place(
                "TX",
                2,
                Some("Dallas"),
                None,
                Some("2057207"),
                &["spd=3057994"],
            ),
            "48113",
        ),
        place("TX", 3, Some("Salado"), None, None, &["spd=5014604"]),
        place("TX", 4, Some("Salado"), Some("48491"), None, &[]),
        place("TX", 5, None, Some("48113"), None, &[]),
    ];
    let texas_rates = vec![
        texas_rate("city", "2057207", "Dallas", "0.01"),
        texas_rate("city", "2057217", "Addison", "0.01"),
        texas_rate("city", "2221012", "Abilene", "0.02"),
        texas_rate("county", "113", "Dallas County", "0.005"),
        texas_rate("special", "3057994", "Dallas MTA", "0.01"),
    ];
    let state = |state: &'static str| -> &'static [(&'static str, &'static str)] {
        Box::leak(Box::new([("state", state), ("bucket", "0")]))
    };
    let mut tables = vec![
        table("zip.zip", &[], zips),
        table(
            "zip.county",
            &[],
            vec![
                zip_county("53202", "55079", "Milwaukee County", 1.0),
                zip_county("53224", "55079", "Milwaukee County", 0.9),
                zip_county("53224", "55089", "Ozaukee County", 0.05),
                zip_county("53224", "55133", "Waukesha County", 0.05),
            ],
        ),
        table("tax.state", &[], rules),
        table("tax.taxability", &[], taxability()),
        table("tax.boundary", state("TX"), texas),
        table("tax.rate", &state("TX")[..1], texas_rates),
    ];
    for (code, fips) in [
        ("MN", "27"),
        ("WI", "55"),
        ("WA", "53"),
        ("TN", "47"),
        ("VT", "50"),
        ("NV", "32"),
    ] {
        tables.push(table("tax.rate", &state(code)[..1], rates(code, fips)));
        let rows = boundaries(code, fips);
        if !rows.is_empty() {
            tables.push(table("tax.boundary", state(code), rows));
        }
    }
    Draft {
        tables,
        is_sample: false,
        published_at: "2026-01-10T01:00:00Z",
        due: None,
    }
}

/// Combined rate as text, match level, and codes of the components with their rates.
pub fn outcome(data: &Value) -> (String, &str, Vec<String>) {
    let component = |component: &Value| {
        format!(
            "{} {} {}",
            component["type"].as_str().unwrap(),
            component["code"].as_str().unwrap(),
            component["rate"]
        )
    };
    (
        data["combined_rate"].to_string(),
        data["match"]["level"].as_str().unwrap(),
        data["components"]
            .as_array()
            .unwrap()
            .iter()
            .map(component)
            .collect(),
    )
}

pub async fn rate(world: &World, query: &str) -> Value {
    world.ok(&format!("/v1/tax/rate?{query}")).await
}
