//! Checks the complete securities family on real agency files: every figure and every filing
//! against the agency's texts.

mod cases;
mod face;
mod facts;
mod figures;
mod filings;
mod site;

use std::collections::BTreeMap;
use std::process::Command;

use pubdata_core::provenance::SourcePointer;
use pubdata_store::Record;
use serde::Deserialize;
use serde_json::Value;

use pubdata_testing::{folders, rows_below, shared_data};
use site::Site;

/// A row of `sec.financial_value`; decimals are their text, dates `YYYY-MM-DD`.
#[derive(Debug, Deserialize)]
struct Row {
    record_id: String,
    cik: String,
    metric: String,
    unit: String,
    series: String,
    fiscal_year: Option<i32>,
    fiscal_period: Option<String>,
    period_start: Option<String>,
    period_end: Option<String>,
    reported_start: Option<String>,
    reported_end: Option<String>,
    as_of_date: Option<String>,
    is_ytd: bool,
    #[serde(deserialize_with = "digits")]
    value: Option<String>,
    null_reason: Option<String>,
    concept: Option<String>,
    form: Option<String>,
    filed_date: Option<String>,
    accession_number: Option<String>,
    observation: Option<i64>,
    is_latest: bool,
    change: Option<String>,
    supersedes: bool,
    is_restated: bool,
    conflicts: Vec<String>,
    warnings: Vec<String>,
    #[serde(skip)]
    source_pointers: Vec<SourcePointer>,
}

/// Digits of a figure.
fn digits<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok((!value.is_null()).then(|| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    }))
}

#[test]
fn real_sec_archives_are_published_figure_by_figure() {
    let Some(agency) = shared_data("sec") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (mirror, home) = (folder.path().join("mirror"), folder.path().join("home"));
    let site = Site::read(&agency);
    site.lay_out(&mirror);
    let mut command = Command::new(env!("CARGO_BIN_EXE_pubdata"));
    let run = command
        .args(["run", "sec.financials", "sec.submissions"])
        .arg("--mirror")
        .arg(&mirror)
        .arg("--home")
        .arg(&home)
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr)
    );
    assert!(matches!(run.status.code(), Some(0 | 10)), "{said}");

    let release = folders(&home.join("releases")).pop().unwrap();
    let rows: Vec<Row> = rows_below(&release.join("sec.financial_value"))
        .into_values()
        .map(row)
        .collect();
    facts::check_members(
        &site,
        &rows_below(&release.join("sec.archive_member")),
        &rows,
    );
    facts::check_values(&site, &rows);
    facts::check_series(&rows);
    facts::check_observations(&rows);
    facts::check_restated(&rows);
    facts::check_years(&rows);
    let listed = filings::listed(&site);
    facts::check_labels(&rows, &listed);
    facts::check_own_periods(&site, &rows, &listed);
    figures::check(&rows);
    figures::check_lines(&rows_below(&release.join("sec.statement_line")));
    filings::check(
        &listed,
        &site.index,
        &rows_below(&release.join("sec.filing")),
    );
}

fn row((record, source_pointers): Record) -> Row {
    let row: Row = serde_json::from_value(Value::Object(record)).unwrap();
    Row {
        source_pointers,
        ..row
    }
}

/// Groups by a key.
fn grouped<'a, K: Ord>(
    rows: impl IntoIterator<Item = &'a Row>,
    key: impl Fn(&'a Row) -> K,
) -> BTreeMap<K, Vec<&'a Row>> {
    let mut groups: BTreeMap<K, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        groups.entry(key(row)).or_default().push(row);
    }
    groups
}
