//! Tests areas and schools; holds the release that most tests query.

mod compare;
mod connecticut;
mod lists;
mod profile;
mod schools;

use std::collections::BTreeMap;

use pubdata_store::PartReport;
use serde_json::{Value, json};

use super::home::{Draft, Table, metric};

const METRICS: [&str; 12] = [
    "bachelors_attainment",
    "high_school_attainment",
    "households",
    "median_age",
    "median_gross_rent",
    "median_home_value",
    "median_household_income",
    "owner_occupied_share",
    "population",
    "poverty_rate",
    "renter_occupied_share",
    "unemployment_rate",
];

/// The release that most tests query. The caller sets 90210's population, so that releases can
/// differ.
pub fn draft(population: f64) -> Draft {
    let table = |dataset_id, vintage_year, rows| Table {
        dataset_id,
        vintage_year,
        bucket: None,
        folders: &[],
        rows,
        report: PartReport::default(),
    };
    let mut tables = vec![
        table(
            "geo.zcta_metric",
            Some(2022),
            zcta_metrics(2022, population - 1_000.0),
        ),
        table(
            "geo.zcta_metric",
            Some(2023),
            zcta_metrics(2023, population),
        ),
        table("geo.county_metric", Some(2022), county_metrics(2022)),
        table("geo.county_metric", Some(2023), county_metrics(2023)),
        table("geo.geography", None, zctas()),
        table("geo.county", None, counties()),
        table("geo.school", None, schools()),
    ];
    tables[1].report = PartReport {
        words: BTreeMap::new(),
        quarantined: BTreeMap::from([("value_or_reason".to_owned(), 1)]),
        warnings: BTreeMap::from([("tenure_adds_up".to_owned(), 1)]),
        notes: vec!["more rows than the ceiling".to_owned()],
        empty_columns: None,
    };
    Draft {
        tables,
        is_sample: false,
        published_at: "2026-01-10T01:00:00Z",
        due: None,
    }
}

fn zcta_metrics(year: i32, population: f64) -> Vec<Value> {
    let derived = |value: f64| {
        json!({
            "value": value, "moe": null, "moe_approximate": 3.4, "moe_status": "not_fetched", "moe_variable": "B25003_M002,B25003_M001", "is_derived": true
        })
    };
    let controlled = |value: f64| json!({"value": value, "moe": null, "moe_status": "controlled"});
    let open_ended = |bound: f64, bound_type: &str, qualifier: &str| {
        json!({
            "value": null, "bound": bound, "bound_type": bound_type, "moe": null, "moe_status": "open_ended", "qualifier": qualifier, "null_reason": "open_ended_interval"
        })
    };
    let missing = json!({"value": null, "moe": null, "moe_status": "not_published", "null_reason": "insufficient_sample"});
    let mut special: BTreeMap<(&str, &str), Value> = BTreeMap::new();
    special.insert(("00627", "population"), controlled(110.0));
    special.insert(("00663", "population"), controlled(100.0));
    special.insert(
        ("10001", "population"),
        json!({"value": 29_079.0, "moe": 1_500.0}),
    );
    special.insert(
        ("90210", "population"),
        json!({"value": population, "moe": 1_335.0}),
    );
    special.insert(
        ("10001", "households"),
        json!({"value": 10_000.0, "moe": 400.0}),
    );
    special.insert(
        ("90210", "households"),
        json!({"value": 10_500.0, "moe": 300.0}),
    );
    special.insert(
        ("90210", "median_household_income"),
        open_ended(250_000.0, "at_least", "250,000 or more"),
    );
    special.insert(
        ("00627", "median_gross_rent"),
        open_ended(3_500.0, "at_least", "3,500 or more"),
    );
    special.insert(
        ("90210", "median_gross_rent"),
        open_ended(3_500.0, "at_least", "3,500 or more"),
    );
    special.insert(
        ("10001", "median_gross_rent"),
        json!({"value": 3_500.0, "moe": 100.0}),
    );
    special.insert(
        ("99546", "median_gross_rent"),
        open_ended(100.0, "at_most", "less than 100"),
    );
    special.insert(
        ("00663", "median_gross_rent"),
        json!({"value": 100.0, "moe": 20.0}),
    );
    special.insert(("90210", "median_home_value"), missing);
    special.insert(("10001", "owner_occupied_share"), derived(30.5));
    special.insert(("90210", "owner_occupied_share"), derived(45.0));
    special.insert(("10001", "renter_occupied_share"), json!({"value": 69.7, "validation_status": "passed_with_warnings", "warnings": ["tenure_adds_up"]}));
    special.insert(
        ("90210", "unemployment_rate"),
        json!({"value": 0.0, "moe": 20.8}),
    );
    let rows = ["00627", "00663", "10001", "90210", "99546"]
        .into_iter()
        .flat_map(|code| METRICS.map(|key| (code, key)));
    // One record of 10001 is quarantined.
    let rows = rows.filter(|pair| *pair != ("10001", "poverty_rate"));
    let rows = rows.map(|(code, key)| {
        metric(
            "geo.zcta_metric",
            year,
            code,
            key,
            special.get(&(code, key)).unwrap_or(&json!({})),
        )
    });
    rows.map(|row| {
        with(
            row.clone(),
            "area_name",
            json!(format!("ZCTA5 {}", row["zcta"].as_str().unwrap())),
        )
    })
    .collect()
}

fn county_metrics(year: i32) -> Vec<Value> {
    let income = if year == 2023 {
        json!({"value": 87_760.0, "moe": 463.0})
    } else {
        json!({"value": 83_411.0, "moe": 439.0})
    };
    let mut rows: Vec<Value> = METRICS
        .map(|key| {
            metric(
                "geo.county_metric",
                year,
                "06037",
                key,
                if key == "median_household_income" {
                    &income
                } else {
                    &EMPTY
                },
            )
        })
        .into();
    if year == 2022 {
        rows.extend(METRICS.map(|key| {
            metric(
                "geo.county_metric",
                year,
                "09001",
                key,
                &json!({"area_name": "Fairfield County, Connecticut"}),
            )
        }));
    }
    rows
}

static EMPTY: std::sync::LazyLock<Value> = std::sync::LazyLock::new(|| json!({}));

fn zctas() -> Vec<Value> {
    let place = |code: &str, area: f64, lat: f64, lon: f64, county: Option<(&str, &str, &str)>| {
        json!({
            "record_id": format!("geo.geography:{code}"), "zcta": code, "name": format!("ZCTA {code}"), "gazetteer_year": 2025, "land_area_sqm": 1, "water_area_sqm": 0,
            "land_area_sqmi": area, "internal_point_lat": lat, "internal_point_lon": lon, "primary_county_fips": county.map(|county| county.0),
            "primary_county_name": county.map(|county| county.1), "primary_county_land_share": county.map(|_| 0.9876), "primary_county_basis": if county.is_some() { "largest_land_part" } else { "none" },
            "primary_state_fips": county.map(|county| &county.0[..2]), "primary_state_code": county.map(|county| county.2), "county_count": 1,
        })
    };
    vec![
        place(
            "00627",
            22.5,
            18.43,
            -66.85,
            Some(("72027", "Camuy Municipio", "PR")),
        ),
        place(
            "10001",
            0.624,
            40.7506,
            -73.9972,
            Some(("36061", "New York County", "NY")),
        ),
        place(
            "90210",
            8.19,
            34.100_517,
            -118.414_712,
            Some(("06037", "Los Angeles County", "CA")),
        ),
        place("96799", 76.8, -14.3, -170.7, None),
        place(
            "99546",
            300.125,
            51.9,
            179.95,
            Some(("02016", "Aleutians West Census Area", "AK")),
        ),
    ]
}

fn counties() -> Vec<Value> {
    let county = |code: &str, name: &str, state: &str| {
        json!({
            "record_id": format!("geo.county:{code}"), "county_fips": code, "name": name, "gazetteer_year": 2025, "land_area_sqm": 1, "water_area_sqm": 0, "land_area_sqmi": 4_059.28,
            "internal_point_lat": 34.196_398, "internal_point_lon": -118.261_862, "state_fips": &code[..2], "state_code": state,
        })
    };
    vec![
        county("06037", "Los Angeles County", "CA"),
        county("09110", "Capitol Planning Region", "CT"),
    ]
}

fn with(mut row: Value, name: &str, value: Value) -> Value {
    row[name] = value;
    row
}

/// Thirty schools north of 90210, one of each special kind, and one across the antimeridian.
fn schools() -> Vec<Value> {
    let school = |id: &str, lat: Option<f64>, lon: Option<f64>| {
        json!({
            "record_id": format!("geo.school:{id}"), "ncessch": id, "school_year": "2025-2026", "name": format!("School {id}"), "leaid": &id[..7], "district_name": "District",
            "school_type": "regular", "level": "elementary", "grade_low": "KG", "grade_high": "05", "grades_offered": ["KG", "01", "02"], "is_grades_reported": true, "is_charter": false,
            "virtual_status": "not_virtual", "is_open": true, "status": "open", "status_updated": null, "status_effective_date": "2025-09-01", "street": "1 \"A\" Street", "city": "City",
            "state_code": "CA", "postal_code": "01234", "county_fips": "06037", "lat": lat, "lon": lon, "geocode_school_year": "2024-2025", "warnings": [],
        })
    };
    let at = |number: u32| {
        (
            Some(34.100_517 + f64::from(number) * 0.001),
            Some(-118.414_712),
        )
    };
    // Pairs share a location, so that the id decides the order.
    let mut rows: Vec<Value> = (0..30)
        .map(|number| {
            school(
                &format!("060000{number:06}"),
                at(number / 2).0,
                at(number / 2).1,
            )
        })
        .collect();
    rows[4] = with(rows[4].clone(), "is_charter", json!(true));
    rows[5] = with(rows[5].clone(), "is_charter", Value::Null);
    rows[6] = with(
        rows[6].clone(),
        "virtual_status",
        json!("exclusively_virtual"),
    );
    rows[7] = with(rows[7].clone(), "virtual_status", json!("not_reported"));
    rows[8] = with(
        with(rows[8].clone(), "level", json!("high")),
        "grades_offered",
        json!(["09", "10"]),
    );
    let closed = with(
        with(
            school("060000000090", at(0).0, at(0).1),
            "is_open",
            json!(false),
        ),
        "status",
        json!("closed"),
    );
    let nowhere = school("060000000091", None, None);
    let across = school("020000000001", Some(51.9), Some(-179.95));
    rows.extend([closed, nowhere, across]);
    rows.sort_by(|a, b| a["ncessch"].as_str().cmp(&b["ncessch"].as_str()));
    rows
}
