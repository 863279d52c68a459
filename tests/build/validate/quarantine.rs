use std::collections::BTreeMap;

use polars::prelude::*;
use pubdata_build::validate::quarantine_table;
use pubdata_core::error::ErrorKind;
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::provenance::SourcePointer;

use super::{contracts, inputs, issue, lines, pointer};

fn table(partition: &[(&str, &str)], issues: &[Issue]) -> pubdata_core::error::Result<DataFrame> {
    let partition: BTreeMap<String, String> = partition
        .iter()
        .map(|(column, value)| ((*column).to_owned(), (*value).to_owned()))
        .collect();
    quarantine_table(
        &contracts()["pubdata.quarantine"],
        "test.thing",
        &partition,
        issues,
        &inputs(),
    )
}

#[test]
fn each_finding_is_a_row_with_its_own_record_id() {
    let other_place = SourcePointer {
        source_id: "test.b".into(),
        snapshot: pubdata_core::ids::Digest::sha256(b"test.b"),
        member: None,
        offset: 5,
        length: 6,
    };
    let issues = [
        issue(
            "unmapped",
            Severity::Quarantine,
            Some("K1"),
            Some(pointer(300)),
        ),
        issue(
            "unmapped",
            Severity::Quarantine,
            Some("K1"),
            Some(pointer(200)),
        ),
        issue(
            "out_of_range",
            Severity::Quarantine,
            Some("test.thing:2023:01:population"),
            None,
        ),
        issue("rounded", Severity::Warning, Some("K1"), Some(pointer(1))),
        issue("unmapped", Severity::Quarantine, None, Some(other_place)),
    ];
    let prefix = "pubdata.quarantine:test.thing:year=2023:";
    let expected = [
        format!(
            "{prefix}K1:unmapped|test.thing|year=2023|unmapped|what unmapped saw|the line|failed|[0, 1, 200, 20]"
        ),
        format!(
            "{prefix}K1:unmapped#2|test.thing|year=2023|unmapped|what unmapped saw|the line|failed|[0, 1, 300, 20]"
        ),
        format!(
            "{prefix}test.b@5:unmapped|test.thing|year=2023|unmapped|what unmapped saw|the line|failed|[1, 0, 5, 6]"
        ),
        format!(
            "{prefix}test.thing:2023:01:population:out_of_range|test.thing|year=2023|out_of_range|what out_of_range saw|the line|failed|[]"
        ),
    ];
    let frame = table(&[("year", "2023")], &issues).unwrap();
    assert_eq!(lines(&frame), expected);
    let reversed: Vec<Issue> = issues.into_iter().rev().collect();
    assert_eq!(
        lines(&table(&[("year", "2023")], &reversed).unwrap()),
        expected
    );
}

#[test]
fn table_keeps_its_contract_and_its_pointers_resolve() {
    let frame = table(
        &[],
        &[issue(
            "unmapped",
            Severity::Quarantine,
            Some("K1"),
            Some(pointer(200)),
        )],
    )
    .unwrap();
    let contract = &contracts()["pubdata.quarantine"];
    assert!(
        frame
            .get_column_names()
            .into_iter()
            .eq(contract.columns.iter().map(|column| &column.name))
    );
    assert_eq!(
        frame.column("partition").unwrap().str().unwrap().get(0),
        Some("")
    );
    let numbers = frame
        .column("source_pointers")
        .unwrap()
        .list()
        .unwrap()
        .get_as_series(0)
        .unwrap();
    assert_eq!(
        inputs().resolve(numbers.u64().unwrap().cont_slice().unwrap()),
        [pointer(200)]
    );
}

#[test]
fn long_source_text_is_cut_by_characters() {
    let long = Issue {
        source_text: Some("é".repeat(2001)),
        ..issue(
            "unmapped",
            Severity::Quarantine,
            Some(&"k".repeat(900)),
            None,
        )
    };
    let frame = table(&[], &[long]).unwrap();
    assert_eq!(
        frame.column("source_text").unwrap().str().unwrap().get(0),
        Some("é".repeat(2000).as_str())
    );
    let record_id = frame
        .column("record_id")
        .unwrap()
        .str()
        .unwrap()
        .get(0)
        .unwrap();
    assert_eq!(
        record_id,
        format!(
            "pubdata.quarantine:test.thing::{}:unmapped",
            "k".repeat(300)
        )
    );
}

#[test]
fn finding_in_an_unknown_input_is_an_error() {
    let strange = SourcePointer {
        source_id: "test.c".into(),
        ..pointer(1)
    };
    let error = table(
        &[],
        &[issue("unmapped", Severity::Quarantine, None, Some(strange))],
    )
    .unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (
            ErrorKind::Contract,
            "a finding `unmapped` points to test.c, which is not an input of this build"
        )
    );
}

#[test]
fn no_findings_make_an_empty_table() {
    assert_eq!(table(&[], &[]).unwrap().height(), 0);
}
