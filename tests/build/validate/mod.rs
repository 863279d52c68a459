//! Validates tables against a test contract: every kind of rule once, on a table small enough to
//! read.

mod columns;
mod expectations;
mod invariants;
mod keys;
mod properties;
mod quarantine;
mod shape;
mod warnings;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use polars::prelude::*;
use pubdata_build::normalise::ListRows;
use pubdata_build::validate::{Candidate, Verdict, validate};
use pubdata_core::contract::{Contract, Contracts};
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::ids::Digest;
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::pipeline::{Declarations, Drift, Expectations};
use pubdata_core::provenance::{Inputs, Obtained, Snapshot, SourcePointer};

use crate::lists;

const CONTRACT: &str = include_str!("thing.toml");

/// Returns the built-in contracts and the test contract.
pub fn contracts() -> &'static Contracts {
    static CONTRACTS: LazyLock<Contracts> = LazyLock::new(|| {
        Declarations::load(
            DeclarationFiles::built_in().with(&[("schemas/test/thing.toml", CONTRACT)]),
        )
        .unwrap()
        .contracts
    });
    &CONTRACTS
}

pub fn contract() -> &'static Contract {
    &contracts()["test.thing"]
}

/// Returns the test contract with one text of its file replaced.
pub fn changed_contract(from: &str, to: &str) -> Contract {
    assert!(CONTRACT.contains(from));
    let text = CONTRACT.replace(from, to);
    Declarations::load(DeclarationFiles::built_in().with(&[("schemas/test/thing.toml", &text)]))
        .unwrap()
        .contracts
        .remove("test.thing")
        .unwrap()
}

/// A row of `test.thing`; [`row`] makes one that keeps every rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub record_id: Option<String>,
    pub year: Option<i32>,
    pub state: Option<String>,
    pub metric: Option<String>,
    pub unit: Option<String>,
    pub value: Option<i64>,
    pub moe: Option<i64>,
    pub null_reason: Option<String>,
    pub persons: Option<i64>,
    pub portion: Option<f64>,
    pub is_open: Option<bool>,
    pub since: Option<String>,
    pub grades: Option<Vec<&'static str>>,
    pub lat: Option<f64>,
    pub lon: Option<f64>,
    pub warnings: Option<Vec<&'static str>>,
    pub pointers: Vec<u64>,
}

pub fn row(state: &str, metric: &str) -> Row {
    Row {
        record_id: Some(format!("test.thing:2023:{state}:{metric}")),
        year: Some(2023),
        state: Some(state.to_owned()),
        metric: Some(metric.to_owned()),
        unit: Some("persons".to_owned()),
        value: Some(123),
        moe: Some(45),
        null_reason: None,
        persons: Some(7),
        portion: Some(0.5),
        is_open: Some(true),
        since: Some("2024-02-29".to_owned()),
        grades: Some(vec!["01", "02"]),
        lat: Some(34.1),
        lon: Some(-118.4),
        warnings: None,
        pointers: vec![0, 1, 100, 20],
    }
}

pub fn frame(rows: &[Row]) -> DataFrame {
    let mut pointers = ListPrimitiveChunkedBuilder::<UInt64Type>::new(
        "source_pointers".into(),
        rows.len(),
        4 * rows.len(),
        DataType::UInt64,
    );
    rows.iter()
        .for_each(|row| pointers.append_slice(&row.pointers));
    let texts = |name: &str, cell: fn(&Row) -> Option<&String>| {
        StringChunked::from_iter_options(
            name.into(),
            rows.iter().map(|row| cell(row).map(String::as_str)),
        )
        .into_column()
    };
    let columns = vec![
        texts("record_id", |row| row.record_id.as_ref()),
        Int32Chunked::from_iter_options("year".into(), rows.iter().map(|row| row.year))
            .into_column(),
        texts("state", |row| row.state.as_ref()),
        texts("metric", |row| row.metric.as_ref()),
        texts("unit", |row| row.unit.as_ref()),
        Int64Chunked::from_iter_options("value".into(), rows.iter().map(|row| row.value))
            .into_column(),
        Int64Chunked::from_iter_options("moe".into(), rows.iter().map(|row| row.moe)).into_column(),
        texts("null_reason", |row| row.null_reason.as_ref()),
        Int64Chunked::from_iter_options("persons".into(), rows.iter().map(|row| row.persons))
            .into_column(),
        Float64Chunked::from_iter_options("portion".into(), rows.iter().map(|row| row.portion))
            .into_column(),
        BooleanChunked::from_iter_options("is_open".into(), rows.iter().map(|row| row.is_open))
            .into_column(),
        texts("since", |row| row.since.as_ref()),
        lists("grades", rows.iter().map(|row| row.grades.as_deref())),
        Float64Chunked::from_iter_options("lat".into(), rows.iter().map(|row| row.lat))
            .into_column(),
        Float64Chunked::from_iter_options("lon".into(), rows.iter().map(|row| row.lon))
            .into_column(),
        lists("warnings", rows.iter().map(|row| row.warnings.as_deref())),
        pointers.finish().into_column(),
    ];
    DataFrame::new(rows.len(), columns).unwrap()
}

/// Returns the lists of a column without nulls.
pub fn lists_of(frame: &DataFrame, name: &str) -> Vec<Vec<String>> {
    let rows = ListRows::of(frame.column(name).unwrap().as_materialized_series()).unwrap();
    let items = rows.iter().flatten();
    items
        .map(|items| items.map(str::to_owned).collect())
        .collect()
}

/// Formats a frame as text, one line per row, to compare whole tables.
pub fn lines(frame: &DataFrame) -> Vec<String> {
    let cell = |column: &Column, row: usize| match column.get(row).unwrap() {
        AnyValue::List(items) => match items.u64() {
            Ok(numbers) => format!("{:?}", numbers.iter().flatten().collect::<Vec<_>>()),
            Err(_) => items
                .str()
                .unwrap()
                .iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(","),
        },
        other => other.str_value().into_owned(),
    };
    (0..frame.height())
        .map(|row| {
            frame
                .columns()
                .iter()
                .map(|column| cell(column, row))
                .collect::<Vec<_>>()
                .join("|")
        })
        .collect()
}

pub fn expectations() -> Expectations {
    Expectations {
        words: BTreeMap::new(),
        min_rows: 0,
        max_rows: 1000,
        max_shrink_percent: 5.0,
        max_growth_percent: 20.0,
        warn_quarantined_percent: 100.0,
        max_quarantined_percent: 100.0,
        max_warned_percent: BTreeMap::new(),
        drift: Drift::default(),
    }
}

pub fn snapshot(source_id: &str) -> Snapshot {
    Snapshot {
        source_id: source_id.to_owned(),
        keys: BTreeMap::new(),
        url: format!("https://example.org/{source_id}"),
        sha256: Digest::sha256(source_id.as_bytes()),
        size_bytes: 1000,
        source_version: "2023".to_owned(),
        source_date: "2024-01-01".to_owned(),
        etag: None,
        last_modified: None,
        fetched_at: "2024-01-02T00:00:00Z".to_owned(),
        redirected_through: Vec::new(),
        obtained: Obtained::ByProgram,
        mirror: None,
    }
}

/// Returns inputs with two snapshots (0 `test.a`, 1 `test.b`) and one member (1 `a.csv`).
pub fn inputs() -> Inputs {
    let mut inputs = Inputs::new(vec![snapshot("test.b"), snapshot("test.a")]);
    assert_eq!(inputs.member_number(Some("a.csv")), 1);
    inputs
}

pub fn pointer(offset: u64) -> SourcePointer {
    SourcePointer {
        source_id: "test.a".to_owned(),
        snapshot: Digest::sha256(b"test.a"),
        member: Some("a.csv".to_owned()),
        offset,
        length: 20,
    }
}

pub fn issue(
    code: &str,
    severity: Severity,
    record: Option<&str>,
    pointer: Option<SourcePointer>,
) -> Issue {
    Issue {
        code: code.to_owned(),
        severity,
        dataset_id: "test.thing".to_owned(),
        record: record.map(str::to_owned),
        detail: format!("what {code} saw"),
        source_text: Some("the line".to_owned()),
        pointer,
    }
}

pub fn candidate(rows: &[Row], issues: Vec<Issue>) -> Candidate {
    let partition = BTreeMap::from([("year".to_owned(), "2023".to_owned())]);
    Candidate {
        dataset_id: "test.thing".to_owned(),
        partition,
        frame: frame(rows),
        issues,
    }
}

pub fn verdict_of(rows: &[Row]) -> Verdict {
    validate(
        contract(),
        Some(&expectations()),
        candidate(rows, Vec::new()),
        &inputs(),
        None,
        false,
    )
    .unwrap()
}

/// Returns the reasons of a verdict that blocks publication.
pub fn messages(verdict: Verdict) -> Vec<String> {
    verdict
        .blocked
        .into_iter()
        .map(|refusal| refusal.message)
        .collect()
}

/// Asserts which rules a row breaks beside one that keeps them all: `(code, detail)` in order of
/// code. Each finding quarantines the row.
pub fn check(row: Row, expected: &[(&str, &str)]) {
    let verdict = verdict_of(&[self::row("99", "median_age"), row.clone()]);
    let found: Vec<(&str, &str)> = verdict
        .quarantine
        .iter()
        .map(|issue| (issue.code.as_str(), issue.detail.as_str()))
        .collect();
    assert_eq!(found, expected);
    for issue in &verdict.quarantine {
        assert_eq!(
            (&issue.record, issue.severity, issue.dataset_id.as_str()),
            (&row.record_id, Severity::Quarantine, "test.thing")
        );
        assert_eq!(issue.pointer, Some(pointer(100)));
    }
    let is_kept = expected.is_empty();
    assert_eq!(verdict.frame.height(), if is_kept { 2 } else { 1 });
    assert_eq!(
        verdict.report.quarantined.values().sum::<u64>(),
        u64::from(!is_kept)
    );
    assert!(verdict.blocked.is_empty());
}
