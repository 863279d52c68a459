//! Compares figures that the publishers print, and every kind of cell, with what the pipelines
//! publish from the fixtures.

use std::collections::BTreeMap;

use pubdata_store::Record;
use serde_json::{Value, json};

use super::cases::{Published, case, publish};

/// Returns the named columns of a record, in the given order.
fn columns(published: &Published, record_id: &str, names: &[&str]) -> Value {
    let dataset_id = record_id.split(':').next().unwrap();
    let (record, _) = published.datasets[dataset_id]
        .get(record_id)
        .unwrap_or_else(|| panic!("no record {record_id}"));
    names
        .iter()
        .map(|name| {
            record
                .get(*name)
                .unwrap_or_else(|| panic!("{record_id} has no {name}"))
                .clone()
        })
        .collect()
}

#[track_caller]
fn assert_metric(published: &Published, record: &str, expected: &Value) {
    let names = ["value", "moe", "moe_status", "qualifier", "null_reason"];
    assert_eq!(
        &columns(published, record, &names),
        expected,
        "{record}: {names:?}"
    );
}

/// Parses a published figure in the digits of the source.
fn number(digits: &str) -> Value {
    serde_json::from_str(digits).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn well_known_figures_are_published() {
    let published = publish(&case("census.acs5", "basic")).await;
    // data.census.gov: ACSDT5Y2023.B01003, ACSST5Y2023.S1901 and ACSST5Y2022.S1901.
    assert_metric(
        &published,
        "geo.zcta_metric:2023:90210:population",
        &json!([19652, 1335, "published", null, null]),
    );
    assert_metric(
        &published,
        "geo.county_metric:2023:06037:median_household_income",
        &json!([87760, 463, "published", null, null]),
    );
    assert_metric(
        &published,
        "geo.county_metric:2022:06037:median_household_income",
        &json!([83411, 439, "published", null, null]),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_area_has_twelve_metrics_per_vintage_with_value_or_reason() {
    let published = publish(&case("census.acs5", "basic")).await;
    for (dataset_id, area, areas) in [
        ("geo.zcta_metric", "zcta", 28),
        ("geo.county_metric", "county_fips", 51),
    ] {
        let mut metrics: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for (record, pointers) in published.datasets[dataset_id].values() {
            let text = |name: &str| record[name].as_str().unwrap().to_owned();
            assert_eq!(text(area).len(), 5, "leading zeros are kept");
            assert_eq!(
                record["record_id"],
                format!(
                    "{dataset_id}:{}:{}:{}",
                    record["vintage_year"],
                    text(area),
                    text("metric")
                )
            );
            assert_ne!(
                record["value"].is_null(),
                record["null_reason"].is_null(),
                "{record:?}"
            );
            assert_eq!(
                record["moe"].is_null(),
                record["moe_status"] != "published",
                "{record:?}"
            );
            assert!(!pointers.is_empty(), "{record:?}");
            metrics
                .entry((record["vintage_year"].to_string(), text(area)))
                .or_default()
                .push(text("metric"));
        }
        assert_eq!(
            metrics.len(),
            2 * areas,
            "{dataset_id}: vintages times areas"
        );
        assert!(
            metrics.values().all(|metrics| metrics.len() == 12),
            "{dataset_id}: {metrics:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_special_value_is_published_with_its_meaning() {
    let published = publish(&case("census.acs5", "basic")).await;
    let zcta = |record: &str| format!("geo.zcta_metric:2023:{record}");
    for (record, expected) in [
        (
            zcta("00627:population"),
            json!([32753, null, "controlled", null, null]),
        ),
        (
            zcta("16321:median_home_value"),
            json!([null, null, "not_published", null, "suppressed"]),
        ),
        (
            zcta("39038:poverty_rate"),
            json!([null, null, "not_fetched", null, "suppressed"]),
        ),
        (
            zcta("82224:median_gross_rent"),
            json!([null, null, "not_published", null, "not_applicable"]),
        ),
        (
            zcta("05253:median_gross_rent"),
            json!([null, null, "not_published", null, "not_published"]),
        ),
        (
            zcta("05253:median_household_income"),
            json!([null, null, "not_published", null, "insufficient_sample"]),
        ),
        (
            zcta("06079:owner_occupied_share"),
            json!([null, null, "not_fetched", null, "zero_universe"]),
        ),
        (
            zcta("85724:poverty_rate"),
            json!([null, null, "not_fetched", null, "zero_universe"]),
        ),
        (
            zcta("06336:unemployment_rate"),
            json!([null, null, "not_fetched", null, "zero_universe"]),
        ),
        // 21 of 80 is 26.25 percent: half a tenth rounds up.
        (
            zcta("99546:poverty_rate"),
            json!([26.3, null, "not_fetched", null, null]),
        ),
    ] {
        assert_metric(&published, &record, &expected);
    }
    // The Bureau's sentinels of the lowest and the highest interval, with the margin -333333333.
    for (record, bound, bound_type, qualifier) in [
        (
            "95120:median_household_income",
            250_000,
            "at_least",
            "250,000 or more",
        ),
        (
            "95120:median_home_value",
            2_000_000,
            "at_least",
            "2,000,000 or more",
        ),
        (
            "95120:median_gross_rent",
            3_500,
            "at_least",
            "3,500 or more",
        ),
        (
            "79754:median_household_income",
            2_500,
            "at_most",
            "less than 2,500",
        ),
    ] {
        let names = [
            "value",
            "bound",
            "bound_type",
            "moe",
            "moe_status",
            "qualifier",
            "null_reason",
        ];
        let expected = json!([
            null,
            bound,
            bound_type,
            null,
            "open_ended",
            qualifier,
            "open_ended_interval"
        ]);
        assert_eq!(
            columns(&published, &zcta(record), &names),
            expected,
            "{record}"
        );
    }
    // A sentinel with its own margin is an ordinary value.
    let (record, _) = &published.datasets["geo.zcta_metric"][&zcta("42223:median_home_value")];
    assert_eq!(
        (
            &record["value"],
            &record["moe_status"],
            &record["qualifier"]
        ),
        (&json!(2_000_001), &json!("published"), &Value::Null)
    );
    // The margin says `open-ended`, but the value is not a declared bound.
    let undeclared = columns(
        &published,
        &zcta("35951:median_gross_rent"),
        &[
            "value",
            "bound",
            "qualifier",
            "validation_status",
            "warnings",
        ],
    );
    assert_eq!(
        undeclared,
        json!([
            null,
            2000,
            "2,000 or more",
            "passed_with_warnings",
            ["undeclared_open_interval"]
        ])
    );
    // The area has no residents: real zeros, with the margin that is published for them.
    let (record, _) = &published.datasets["geo.zcta_metric"][&zcta("85724:population")];
    assert_eq!(
        (&record["value"], &record["moe_status"]),
        (&json!(0), &json!("published"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn derived_percentage_names_its_variables_and_those_of_its_margin() {
    let published = publish(&case("census.acs5", "basic")).await;
    let names = [
        "is_derived",
        "table_id",
        "variables",
        "moe",
        "moe_status",
        "moe_variable",
        "universe",
    ];
    let expected = json!([
        true,
        "B23025",
        ["B23025_E005", "B23025_E003"],
        null,
        "not_fetched",
        "B23025_M005,B23025_M003",
        "Civilian labor force"
    ]);
    assert_eq!(
        columns(
            &published,
            "geo.zcta_metric:2023:90210:unemployment_rate",
            &names
        ),
        expected
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn percentages_with_a_key_equal_the_published_ones_and_their_margins() {
    let published = publish(&case("census.acs5", "api_key")).await;
    // data.census.gov, ACSST5Y2023.S1501, columns C02_014 and C02_015.
    for (zcta, high_school, high_school_moe, bachelors, bachelors_moe) in S1501 {
        let record = |metric: &str| format!("geo.zcta_metric:2023:{zcta}:{metric}");
        assert_metric(
            &published,
            &record("high_school_attainment"),
            &json!([
                number(high_school),
                number(high_school_moe),
                "published",
                null,
                null
            ]),
        );
        assert_metric(
            &published,
            &record("bachelors_attainment"),
            &json!([
                number(bachelors),
                number(bachelors_moe),
                "published",
                null,
                null
            ]),
        );
    }
    // The area has no residents: the counts decide, whatever the published table marks.
    assert_metric(
        &published,
        "geo.zcta_metric:2023:06079:high_school_attainment",
        &json!([null, null, "not_published", null, "zero_universe"]),
    );
    let names = [
        "is_derived",
        "table_id",
        "variables",
        "moe_variable",
        "universe",
        "warnings",
    ];
    let expected = json!([
        false,
        "S1501",
        ["S1501_C02_015E"],
        "S1501_C02_015M",
        "Population 25 years and over",
        []
    ]);
    assert_eq!(
        columns(
            &published,
            "geo.zcta_metric:2023:95120:bachelors_attainment",
            &names
        ),
        expected
    );
    let is_derived = |(record, _): &&Record| record["is_derived"] == true;
    assert_eq!(
        published.datasets["geo.zcta_metric"]
            .values()
            .find(is_derived),
        None
    );
    assert_eq!(
        published.datasets["geo.county_metric"]
            .values()
            .find(is_derived),
        None
    );
}

/// ZCTA, percent high school graduate or higher and its margin, percent bachelor's degree or higher
/// and its margin.
const S1501: [(&str, &str, &str, &str, &str); 10] = [
    ("00959", "87", "1.5", "35.7", "1.5"),
    ("04469", "100", "39.8", "89.4", "36.2"),
    ("05253", "100", "4.4", "57.7", "16.3"),
    ("06336", "100", "75.8", "35", "39.2"),
    ("16321", "66.7", "39.3", "0", "95"),
    ("39038", "76.5", "5.7", "22.4", "4.8"),
    ("57460", "96", "3.5", "18.9", "9.8"),
    ("82224", "100", "100", "0", "100"),
    ("95120", "96.9", "1.3", "74.4", "2.3"),
    ("99519", "97.2", "2.5", "22.7", "6.7"),
];

#[tokio::test(flavor = "multi_thread")]
async fn primary_county_is_the_one_with_the_largest_land_part() {
    let published = publish(&case("census.gazetteer", "basic")).await;
    let mut parts: BTreeMap<String, Vec<(u64, u64, String)>> = BTreeMap::new();
    let relationship = pubdata_testing::project(
        "fixtures/census/zcta_county/basic/source/www2.census.gov/geo/docs/maps-data/data/rel2020/zcta520/tab20_zcta520_county20_natl.txt",
    );
    for line in std::fs::read_to_string(relationship)
        .unwrap()
        .lines()
        .skip(1)
    {
        let cells: Vec<&str> = line.split('|').collect();
        if !cells[1].is_empty() {
            parts.entry(cells[1].to_owned()).or_default().push((
                cells[16].parse().unwrap(),
                cells[17].parse().unwrap(),
                cells[9].to_owned(),
            ));
        }
    }
    let rows = &published.datasets["geo.geography"];
    assert_eq!(rows.len(), 31);
    for (record, _) in rows.values() {
        let zcta = record["zcta"].as_str().unwrap();
        let parts = &parts[zcta];
        let largest = parts
            .iter()
            .max_by_key(|(land, water, fips)| (*land, *water, std::cmp::Reverse(fips.clone())))
            .unwrap();
        assert_eq!(record["county_count"], parts.len(), "{zcta}");
        if largest.2.starts_with("09") {
            assert!(
                record["primary_county_fips"]
                    .as_str()
                    .unwrap()
                    .starts_with("091"),
                "{record:?}"
            );
            continue;
        }
        assert_eq!(record["primary_county_fips"], largest.2, "{zcta}");
        assert_eq!(record["primary_county_basis"], "largest_land_part");
        let share = largest.0 as f64 / parts.iter().map(|(land, ..)| land).sum::<u64>() as f64;
        assert!(
            (record["primary_county_land_share"].as_f64().unwrap() - share).abs() < 1e-9,
            "{record:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connecticut_has_planning_regions() {
    let published = publish(&case("census.gazetteer", "basic")).await;
    let names = [
        "primary_county_fips",
        "primary_county_name",
        "primary_county_basis",
        "primary_state_code",
    ];
    let county = |zcta: &str| columns(&published, &format!("geo.geography:{zcta}"), &names);
    assert_eq!(
        county("06001"),
        json!(["09110", "Capitol Planning Region", "planning_region", "CT"])
    );
    // Split between regions: Bristol and Windham follow their principal towns. They have no land
    // share, because the file has none.
    assert_eq!(
        county("06010"),
        json!([
            "09140",
            "Naugatuck Valley Planning Region",
            "principal_town",
            "CT"
        ])
    );
    assert_eq!(
        county("06226"),
        json!([
            "09180",
            "Southeastern Connecticut Planning Region",
            "principal_town",
            "CT"
        ])
    );
    assert_eq!(
        columns(
            &published,
            "geo.geography:06010",
            &["primary_county_land_share"]
        ),
        json!([null])
    );
    // Fishers Island begins with 06 but lies in New York.
    assert_eq!(
        county("06390"),
        json!(["36103", "Suffolk County", "largest_land_part", "NY"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn both_gazetteer_layouts_give_the_same_areas() {
    let pipes = publish(&case("census.gazetteer", "basic")).await;
    let tabs = publish(&case("census.gazetteer", "2024_layout")).await;
    for dataset_id in ["geo.geography", "geo.county"] {
        let without_year = |published: &Published| -> Vec<_> {
            let rows = published.datasets[dataset_id].values();
            rows.map(|(record, _)| {
                record
                    .iter()
                    .filter(|(name, _)| *name != "gazetteer_year")
                    .map(|(name, cell)| (name.clone(), cell.clone()))
                    .collect::<Vec<_>>()
            })
            .collect()
        };
        assert_eq!(without_year(&pipes), without_year(&tabs), "{dataset_id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn published_school_equals_the_directory() {
    let published = publish(&case("nces.ccd_directory", "basic")).await;
    let school = |id: &str, names: &[&str]| columns(&published, &format!("geo.school:{id}"), names);
    let names = [
        "name",
        "is_open",
        "status",
        "school_type",
        "level",
        "grade_low",
        "grade_high",
        "grades_offered",
        "lat",
        "lon",
        "county_fips",
    ];
    // Lines of ccd_sch_029_2526_w_0a_050626.csv and EDGE_GEOCODE_PUBLICSCH_2425.TXT.
    let expected = json!([
        "Albertville Middle School",
        true,
        "open",
        "regular",
        "middle",
        "07",
        "08",
        ["07", "08"],
        34.2602,
        -86.2062,
        "01095"
    ]);
    assert_eq!(school("010000500870", &names), expected);
    assert_eq!(
        school(
            "010000700337",
            &["grade_low", "grade_high", "grades_offered"]
        ),
        json!(["06", "12", ["06", "07", "08", "11", "12"]])
    );
    for (id, status, is_open) in [
        ("069037000004", "closed", false),
        ("069037000006", "added", true),
        ("069037000008", "inactive", false),
        ("069037000010", "reopened", true),
    ] {
        assert_eq!(
            school(id, &["status", "is_open"]),
            json!([status, is_open]),
            "{id}"
        );
    }
    assert_eq!(
        school("069037000025", &["is_open", "status_updated"]),
        json!([true, "closed"]),
        "closed since, but open in the school year"
    );
    assert_eq!(
        school("069037000005", &["lat", "lon", "geocode_school_year"]),
        json!([null, null, null]),
        "no geocode"
    );
    assert_eq!(school("339007000001", &["state_code"]), json!(["NH"]));
    assert!(
        school("339007000001", &["postal_code"])[0]
            .as_str()
            .unwrap()
            .starts_with("03"),
        "leading zero"
    );
    assert!(
        school("069037000003", &["name"])[0]
            .as_str()
            .unwrap()
            .contains('"'),
        "quotation mark in an unquoted cell"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_of_known_annual_reports_are_published() {
    let published = publish(&case("sec.financials", "basic")).await;
    // Apple's 10-K of fiscal 2010, in full dollars; then a bank, a year of 53 weeks, and a fiscal
    // year named after its first months.
    for (record, fiscal_year, value) in [
        (
            "0000320193:revenue:2009-09-27..2010-09-25:0001193125-10-238044",
            2010,
            "65225000000",
        ),
        (
            "0000320193:net_income:2009-09-27..2010-09-25:0001193125-10-238044",
            2010,
            "14013000000",
        ),
        (
            "0000320193:total_assets:2010-09-25:0001193125-10-238044",
            2010,
            "75183000000",
        ),
        (
            "0000320193:total_liabilities:2010-09-25:0001193125-10-238044",
            2010,
            "27392000000",
        ),
        (
            "0000320193:stockholders_equity:2010-09-25:0001193125-10-238044",
            2010,
            "47791000000",
        ),
        (
            "0000320193:operating_cash_flow:2009-09-27..2010-09-25:0001193125-10-238044",
            2010,
            "18595000000",
        ),
        (
            "0000320193:eps_diluted:2009-09-27..2010-09-25:0001193125-10-238044",
            2010,
            "15.15",
        ),
        (
            "0000320193:shares_outstanding:2010-09-25:0001193125-10-238044",
            2010,
            "917307099",
        ),
        (
            "0000019617:revenue:2023-01-01..2023-12-31:0000019617-24-000225",
            2023,
            "158104000000",
        ),
        (
            "0000320193:revenue:2022-09-25..2023-09-30:0000320193-23-000106",
            2023,
            "383285000000",
        ),
        (
            "0000354950:revenue:2023-01-30..2024-01-28:0000354950-24-000062",
            2023,
            "152669000000",
        ),
        (
            "0001045810:revenue:2024-01-29..2025-01-26:0001045810-25-000023",
            2025,
            "130497000000",
        ),
    ] {
        let found = columns(
            &published,
            &format!("sec.financial_value:{record}"),
            &["fiscal_year", "fiscal_period", "value"],
        );
        assert_eq!(found, json!([fiscal_year, "FY", number(value)]), "{record}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn later_report_restates_splits_or_corrects_and_keeps_each_figure() {
    let published = publish(&case("sec.financials", "basic")).await;
    for (record, observation, change, value) in [
        (
            "0000320193:revenue:2008-09-28..2009-09-26:0001193125-09-214859",
            1,
            "first",
            "36537000000",
        ),
        (
            "0000320193:revenue:2008-09-28..2009-09-26:0001193125-10-012091",
            2,
            "value",
            "42905000000",
        ),
        (
            "0000320193:revenue:2008-09-28..2009-09-26:0001193125-10-238044",
            3,
            "equal",
            "42905000000",
        ),
        (
            "0000055785:revenue:2010-01-01..2010-03-31:0000055785-10-000019",
            1,
            "first",
            "4835",
        ),
        (
            "0000055785:revenue:2010-01-01..2010-03-31:0000055785-10-000026",
            2,
            "scale_error",
            "4835000000",
        ),
        (
            "0000055785:revenue:2023-01-01..2023-12-31:0001628280-26-007567",
            2,
            "value",
            "17146000000",
        ),
        (
            "0000320193:eps_diluted:2011-09-25..2012-09-29:0001193125-14-383437",
            2,
            "split",
            "6.31",
        ),
        (
            "0000320193:eps_diluted:2017-10-01..2018-09-29:0000320193-20-000096",
            2,
            "split",
            "2.98",
        ),
        (
            "0001045810:eps_diluted:2023-01-30..2024-01-28:0001045810-25-000023",
            2,
            "split",
            "1.19",
        ),
    ] {
        let found = columns(
            &published,
            &format!("sec.financial_value:{record}"),
            &["observation", "change", "value"],
        );
        assert_eq!(
            found,
            json!([observation, change, number(value)]),
            "{record}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_periodic_reports_enter_and_missing_figures_have_a_reason() {
    let published = publish(&case("sec.financials", "basic")).await;
    let forms = ["10-K", "10-K/A", "10-KT", "10-Q", "10-Q/A"];
    for (record, _) in published.datasets["sec.financial_value"].values() {
        let form = record["form"].as_str();
        let has_report =
            !record["value"].is_null() || record["null_reason"] == "filed_not_in_archive";
        assert_eq!(
            form.is_some_and(|form| forms.contains(&form)),
            has_report,
            "{record:?}"
        );
        assert_ne!(
            record["value"].is_null(),
            record["null_reason"].is_null(),
            "{record:?}"
        );
    }
    for (record, reason) in [
        ("0001326801:shares_outstanding:annual:none", "multi_class"),
        ("0000002488:total_liabilities:annual:none", "not_tagged"),
        ("0000019617:revenue:quarterly:none", "no_periodic_report"),
        ("0001997711:total_assets:annual:none", "not_a_10k_filer"),
        ("0009900001:total_assets:annual:none", "other_unit"),
        (
            "0000320193:revenue:annual:none:0000320193-25-000079",
            "filed_not_in_archive",
        ),
    ] {
        assert_eq!(
            columns(
                &published,
                &format!("sec.financial_value:{record}"),
                &["null_reason"]
            ),
            json!([reason]),
            "{record}"
        );
    }
    let outcomes: BTreeMap<&str, &str> = published.datasets["sec.archive_member"]
        .values()
        .map(|(member, _)| {
            (
                member["cik"].as_str().unwrap(),
                member["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        (
            outcomes.len(),
            outcomes
                .values()
                .filter(|outcome| **outcome == "published")
                .count()
        ),
        (14, 9)
    );
    assert_eq!(
        (outcomes["0001997711"], outcomes["0009900005"]),
        ("foreign_filer", "no_periodic_report")
    );
}
