//! Checks figures against the publishers' files, and figures that the server computes.

use std::collections::BTreeSet;

use pubdata_testing::project;
use serde_json::{Value, json};

use super::{ok, same};
use crate::specification::Desk;

/// Every ZCTA and county of the Bureau's population table has that estimate and that margin of
/// error.
pub async fn every_area_of_the_survey_has_its_figures(desk: &Desk) -> Result<(), String> {
    let folder = project(
        "fixtures/census/acs5/basic/source/www2.census.gov/programs-surveys/acs/summary_file/2023/table-based-SF/data/5YRData",
    );
    let table = std::fs::read_to_string(folder.join("acsdt5y2023-b01003.dat")).unwrap();
    let mut areas = 0;
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split('|').collect();
        let path = match (
            cells[0].strip_prefix("860Z200US"),
            cells[0].strip_prefix("0500000US"),
        ) {
            (Some(zcta), _) => format!("/v1/geo-demographics/locations/{zcta}"),
            (_, Some(fips)) => format!("/v1/geo-demographics/counties/{fips}"),
            _ => continue,
        };
        areas += 1;
        let reply = ok(desk, &path).await?;
        let population = &reply.body["data"]["summary"]["population"];
        // Special values are negative: the Bureau controls the estimate, or gives no margin of
        // error.
        let published = |cell: &str| cell.parse::<f64>().ok().filter(|number| *number >= 0.0);
        let came = (population["value"].as_f64(), population["moe"].as_f64());
        same(
            &format!("{path}: population and margin of `{line}`"),
            came,
            (published(cells[1]), published(cells[2])),
        )?;
    }
    same("areas of the table", areas, 79)
}

/// Every figure of a company's annual and quarterly history was filed in the named report, for the
/// same days.
pub async fn every_value_is_in_the_archive_of_facts(desk: &Desk) -> Result<(), String> {
    let archive = project(
        "fixtures/sec/financials/basic/source/www.sec.gov/Archives/edgar/daily-index/xbrl/companyfacts.zip",
    );
    let mut archive = zip::ZipArchive::new(std::fs::File::open(archive).unwrap()).unwrap();
    let facts: Value =
        serde_json::from_reader(archive.by_name("CIK0000320193.json").unwrap()).unwrap();
    let mut compared = 0;
    for period in ["annual", "quarterly"] {
        let reply = ok(
            desk,
            &format!("/v1/sec/companies/320193/financials?period={period}"),
        )
        .await?;
        for series in reply.at("data.series[]")? {
            for value in series["values"].as_array().unwrap() {
                let (taxonomy, concept) = value["concept"]
                    .as_str()
                    .unwrap_or_default()
                    .split_once(':')
                    .unwrap_or_default();
                let filed = facts["facts"][taxonomy][concept]["units"]
                    [value["unit"].as_str().unwrap_or_default()]
                .as_array();
                // A share count has its own day and the report's period.
                let end = if value["as_of_date"].is_null() {
                    &value["period_end"]
                } else {
                    &value["as_of_date"]
                };
                let is_it = |fact: &Value| {
                    fact["val"].as_f64() == value["value"].as_f64()
                        && fact["accn"] == value["accession_number"]
                        && fact["end"] == *end
                        && fact["form"] == value["form"]
                };
                compared += 1;
                same(
                    &format!("{value}: in the archive of facts"),
                    filed.is_some_and(|facts| facts.iter().any(is_it)),
                    true,
                )?;
            }
        }
    }
    same("more than 100 values are compared", compared > 100, true)
}

/// A difference is significant at 90 percent exactly if its square is larger than the sum of the
/// squares of the published margins.
pub async fn significance_is_the_test_of_the_bureau(desk: &Desk) -> Result<(), String> {
    let mut verdicts = BTreeSet::new();
    for pair in [
        ["90210", "95120"],
        ["90210", "03579"],
        ["06010", "90210"],
        ["00601", "90210"],
        ["00959", "95120"],
        ["06010", "03579"],
    ] {
        let reply = desk
            .post(
                "/v1/geo-demographics/locations/compare",
                &json!({"locations": pair}),
            )
            .await;
        for comparison in reply.at("data.comparisons[]")? {
            let of = |index: usize, name: &str| comparison["values"][index][name].as_f64();
            let margin = |index: usize| {
                if comparison["values"][index]["moe_status"] == "controlled" {
                    Some(0.0)
                } else {
                    of(index, "moe")
                }
            };
            let what = format!("{} of {pair:?}", comparison["metric"]);
            let (Some(value), Some(other)) = (of(0, "value"), of(1, "value")) else {
                same(
                    &what,
                    (&comparison["difference"], &comparison["significant_at_90"]),
                    (&Value::Null, &Value::Null),
                )?;
                continue;
            };
            let difference = comparison["difference"].as_f64().unwrap_or(f64::NAN);
            same(
                &format!("{what}: difference"),
                (difference * 100.0).round(),
                ((value - other) * 100.0).round(),
            )?;
            let expected = match (margin(0), margin(1)) {
                (Some(margin), Some(other)) if margin + other > 0.0 => {
                    Value::from(difference * difference > margin * margin + other * other)
                }
                _ => Value::Null,
            };
            same(
                &format!("{what}: significant_at_90"),
                &comparison["significant_at_90"],
                &expected,
            )?;
            verdicts.insert(expected.to_string());
        }
    }
    same(
        "verdicts met",
        verdicts,
        ["false", "null", "true"].map(str::to_owned).into(),
    )
}

/// Miles along a great circle.
fn great_circle(from: (f64, f64), to: (f64, f64)) -> f64 {
    let (latitude, longitude) = ((to.0 - from.0).to_radians(), (to.1 - from.1).to_radians());
    let part = (latitude / 2.0).sin().powi(2)
        + from.0.to_radians().cos() * to.0.to_radians().cos() * (longitude / 2.0).sin().powi(2);
    2.0 * 3_958.761_3 * part.sqrt().asin()
}

pub async fn schools_come_nearest_first(desk: &Desk) -> Result<(), String> {
    let reply = ok(
        desk,
        "/v1/geo-demographics/locations/90210/schools?radius_mi=5&limit=100",
    )
    .await?;
    let number = |value: &Value, name: &str| value[name].as_f64().unwrap_or(f64::NAN);
    let point = |value: &Value| (number(value, "lat"), number(value, "lon"));
    // The internal point of the Gazetteer.
    let origin = (34.100_517, -118.414_63);
    let mut before = 0.0;
    for school in reply.at("data.schools[]")? {
        let distance = number(school, "distance_mi");
        same(
            &format!("{}: straight line", school["school_id"]),
            (distance - great_circle(origin, point(school))).abs() < 0.011,
            true,
        )?;
        same(
            &format!("{}: distance and order", school["school_id"]),
            before <= distance && distance <= 5.0,
            true,
        )?;
        before = distance;
    }
    Ok(())
}

#[test]
fn degree_of_latitude_is_69_miles() {
    assert!((great_circle((34.0, -118.0), (35.0, -118.0)) - 69.09).abs() < 0.01);
}
