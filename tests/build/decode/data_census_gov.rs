//! Decodes downloads of data.census.gov: byte order mark, labels in the second line, every cell
//! quoted, and a comma at the end of each line.

use std::collections::BTreeMap;
use std::path::Path;

use polars::prelude::DataFrame;
use pubdata_build::decode::{ColumnPlan, Decoded};
use pubdata_core::pipeline::{Encoding, Format};

use super::{decode_file, places};
use pubdata_testing::{project, shared_data};

fn decode(path: &Path, plan: &ColumnPlan) -> Decoded {
    let format = Format::Delimited {
        delimiters: vec![','],
        quoting: true,
        escape: None,
        header: Vec::new(),
        fewest_cells: None,
        label_lines: 1,
        header_start: None,
        ruler: None,
        normalized_header: false,
        encoding: Encoding::Utf8,
    };
    let decoded = decode_file(path, None, &format, plan, None).unwrap();
    assert_eq!(decoded.malformed, Vec::new());
    let replayed = decode_file(path, None, &format, plan, Some(&places(&decoded.frame))).unwrap();
    assert!(replayed.frame.equals_missing(&decoded.frame));
    decoded
}

/// Builds a plan for a table of which only some columns are read.
fn plan(columns: &[&str], ignore: &[&str]) -> ColumnPlan {
    let ignore = ignore.iter().map(|name| (*name).to_owned()).collect();
    columns
        .iter()
        .fold(ColumnPlan::new(ignore), |plan, column| {
            plan.want(column, &[column])
        })
}

/// Returns the rows as text cells.
fn rows(frame: &DataFrame, columns: &[&str]) -> Vec<Vec<String>> {
    let columns: Vec<_> = columns
        .iter()
        .map(|column| frame.column(column).unwrap().str().unwrap())
        .collect();
    (0..frame.height())
        .map(|row| {
            columns
                .iter()
                .map(|column| column.get(row).unwrap_or_default().to_owned())
                .collect()
        })
        .collect()
}

const POPULATION: [&str; 4] = ["GEO_ID", "NAME", "B01003_001E", "B01003_001M"];
const TENURE: [&str; 8] = [
    "GEO_ID",
    "NAME",
    "B25003_001E",
    "B25003_001M",
    "B25003_002E",
    "B25003_002M",
    "B25003_003E",
    "B25003_003M",
];

#[test]
fn fixtures_keep_symbols_as_text_and_omit_the_line_of_labels() {
    let folder = project("fixtures/census/acs5/data_census_gov/source");
    let population = rows(
        &decode(
            &folder.join("ACSDT5Y2023.B01003-Data.csv"),
            &plan(&POPULATION, &[]),
        )
        .frame,
        &POPULATION,
    );
    assert!(
        population.contains(
            &["860Z200US90210", "ZCTA5 90210", "19652", "1335"]
                .map(str::to_owned)
                .to_vec()
        ),
        "{population:?}"
    );
    assert!(
        population.iter().any(|row| row[3] == "*****"),
        "a controlled estimate"
    );
    assert!(
        population.iter().all(|row| row[0] != "Geography"),
        "labels are not data"
    );

    let tenure = rows(
        &decode(
            &folder.join("ACSDT5Y2023.B25003-Data.csv"),
            &plan(&TENURE, &[]),
        )
        .frame,
        &TENURE,
    );
    let twice: Vec<_> = tenure
        .iter()
        .filter(|row| row[0] == "860Z200US01001")
        .collect();
    assert!(twice.len() == 2 && twice[0] == twice[1], "{twice:?}");

    let income = ["GEO_ID", "S1901_C01_012E", "S1901_C01_012M"];
    let text = std::fs::read_to_string(folder.join("ACSST5Y2023.S1901-Data.csv")).unwrap();
    let others: Vec<&str> = text
        .trim_start_matches('\u{feff}')
        .lines()
        .next()
        .unwrap()
        .split(',')
        .map(|name| name.trim_matches('"'))
        .filter(|name| !income.contains(name))
        .collect();
    let income = rows(
        &decode(
            &folder.join("ACSST5Y2023.S1901-Data.csv"),
            &plan(&income, &others),
        )
        .frame,
        &income,
    );
    assert!(
        income.iter().any(|row| row[1] == "-" && row[2] == "**"),
        "{income:?}"
    );
}

#[test]
fn real_population_table_has_every_zcta() {
    let Some(shared) = shared_data("census/acs/ACSDT5Y2023.B01003-Data.csv") else {
        return;
    };
    let rows = rows(&decode(&shared, &plan(&POPULATION, &[])).frame, &POPULATION);
    assert_eq!(rows.len(), 33_772);
    assert!(
        rows.contains(
            &["860Z200US90210", "ZCTA5 90210", "19652", "1335"]
                .map(str::to_owned)
                .to_vec()
        )
    );
    assert_eq!(
        rows.iter().filter(|row| row[3] == "*****").count(),
        10,
        "controlled estimates"
    );
}

#[test]
fn real_tenure_table_has_540_lines_twice() {
    let Some(shared) = shared_data("census/acs/ACSDT5Y2023.B25003-Data.csv") else {
        return;
    };
    let rows = rows(&decode(&shared, &plan(&TENURE, &[])).frame, &TENURE);
    let mut by_area: BTreeMap<&str, Vec<&Vec<String>>> = BTreeMap::new();
    for row in &rows {
        by_area.entry(&row[0]).or_default().push(row);
    }
    let repeated: Vec<_> = by_area.values().filter(|rows| rows.len() > 1).collect();
    assert!(
        repeated
            .iter()
            .all(|rows| rows.windows(2).all(|pair| pair[0] == pair[1])),
        "repetitions are identical"
    );
    assert_eq!(rows.len() - by_area.len(), 540);
}
