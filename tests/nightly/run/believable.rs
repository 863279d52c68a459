//! Checks implausible figures: values above the plausibility range, undeclared codes, and fragments
//! of codes.

use serde_json::{Value, json};

use super::{ACS_2023, GEOGRAPHY};
use pubdata_testing::Place;

const POPULATION: &str = "acsdt5y2023-b01003.dat";
const OF_90210: &str = "860Z200US90210|19652|1335";

/// Returns the exit code, the row of a ZCTA's population after its cells changed, and the rules it
/// broke.
fn population(cells: &str) -> (i32, Value, Vec<String>) {
    let place = Place::published_with(GEOGRAPHY);
    place.edit(POPULATION, |text| {
        text.replace(OF_90210, &format!("860Z200US90210|{cells}"))
    });
    let code = place.run(&[ACS_2023]).code.unwrap();
    let row = place
        .rows("geo.zcta_metric")
        .get("geo.zcta_metric:2023:90210:population")
        .map(|record| Value::Object(record.0.clone()));
    let quarantined = place.rows("pubdata.quarantine");
    let rules = quarantined.values().filter(|(record, _)| {
        record["reason"].to_string().contains("90210")
            || record["record_id"].to_string().contains("90210")
    });
    (
        code,
        row.unwrap_or_default(),
        rules
            .map(|(record, _)| record["rule"].as_str().unwrap().to_owned())
            .collect(),
    )
}

#[test]
fn population_above_the_plausibility_range_is_rejected() {
    let (_, row, rules) = population("99999999|1335");
    assert_eq!(
        (row, rules),
        (Value::Null, vec!["population_believable".to_owned()])
    );
}

#[test]
fn negative_number_that_is_not_a_declared_code_is_rejected() {
    for cells in ["-666666|1335", "-1|1335"] {
        let (_, row, rules) = population(cells);
        assert_eq!(row, Value::Null, "{cells}");
        assert!(
            rules.iter().all(
                |rule| ["value_not_negative", "population_believable"].contains(&rule.as_str())
            ) && !rules.is_empty(),
            "{cells}: {rules:?}"
        );
    }
}

#[test]
fn minus_zero_is_rejected() {
    let (_, row, rules) = population("-0|1335");
    assert_eq!(
        (&row["value"], &row["null_reason"]),
        (&Value::Null, &json!("unknown_special_value")),
        "{row:#}"
    );
    assert_eq!(rules, Vec::<String>::new());
}

#[test]
fn file_of_implausible_populations_blocks_its_task() {
    let place = Place::published_with(GEOGRAPHY);
    place.edit(POPULATION, |text| {
        let line = |line: &str| match line.split('|').collect::<Vec<_>>()[..] {
            [area, _, margin] if area.starts_with("860Z200US") => {
                format!("{area}|99999999|{margin}\n")
            }
            _ => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    });
    let answer = place.run(&[]).expect(20);
    assert!(
        answer.reasons(ACS_2023).contains("population_believable"),
        "{}",
        answer.reasons(ACS_2023)
    );
    assert_eq!(
        place.rows("geo.zcta_metric")["geo.zcta_metric:2023:90210:population"].0["value"],
        json!(19652),
        "the last good figures stay"
    );
}
