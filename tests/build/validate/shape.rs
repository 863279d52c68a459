use polars::prelude::*;
use pubdata_build::validate::{Candidate, validate};
use pubdata_core::error::ErrorKind;

use super::{Row, candidate, contract, expectations, frame, inputs, lines, row, verdict_of};

fn failure_of(change: impl Fn(&mut Candidate)) -> String {
    let mut candidate = candidate(&[row("01", "population")], Vec::new());
    change(&mut candidate);
    let error = validate(
        contract(),
        Some(&expectations()),
        candidate,
        &inputs(),
        None,
        false,
    )
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Contract);
    error.to_string()
}

const FORM: &str = "test.thing year=2023: the built table does not have the contract's form: ";

#[test]
fn missing_unknown_and_mistyped_columns_are_all_named() {
    let message = failure_of(|candidate| {
        candidate.frame = candidate.frame.drop("lat").unwrap();
        candidate.frame.rename("moe", "margin".into()).unwrap();
        let text = candidate
            .frame
            .column("value")
            .unwrap()
            .cast(&DataType::String)
            .unwrap();
        candidate.frame.with_column(text).unwrap();
    });
    let expected = "column `value` is str, expected i64; column `moe` is missing; column `lat` is missing; column `margin` is not in the contract";
    assert_eq!(message, format!("{FORM}{expected}"));
}

#[test]
fn partition_must_match_the_contract() {
    let message =
        failure_of(|candidate| _ = candidate.partition.insert("state".into(), "01".into()));
    assert_eq!(
        message,
        "test.thing state=01 year=2023: the built table does not have the contract's form: partition is by (state, year), expected (year)"
    );
}

#[test]
fn row_of_another_partition_is_an_error() {
    let message = failure_of(|candidate| {
        candidate.frame = frame(&[
            row("01", "population"),
            Row {
                year: Some(2022),
                ..row("02", "population")
            },
        ]);
    });
    assert_eq!(
        message,
        "test.thing year=2023: the built table of partition year=2023 holds a row with year 2022"
    );
}

#[test]
fn pointer_to_an_unknown_input_is_an_error() {
    for pointers in [vec![2, 0, 0, 1], vec![0, 2, 0, 1], vec![0, 0, 1]] {
        let message = failure_of(|candidate| {
            candidate.frame = frame(&[Row {
                pointers: pointers.clone(),
                ..row("01", "population")
            }]);
        });
        assert_eq!(
            message,
            "test.thing year=2023: row 0 holds source pointers that do not belong to this build's inputs"
        );
    }
}

#[test]
fn contract_of_another_dataset_is_an_error() {
    let message = failure_of(|candidate| candidate.dataset_id = "test.other".into());
    assert_eq!(
        message,
        "test.other year=2023: the contract given is that of test.thing"
    );
}

#[test]
fn passed_table_has_the_contracts_columns_in_order() {
    let rows = [row("01", "population")];
    let shuffled: Vec<Column> = frame(&rows)
        .columns()
        .iter()
        .rev()
        .filter(|column| column.name() != "warnings")
        .cloned()
        .collect();
    let mut candidate = candidate(&rows, Vec::new());
    candidate.frame = DataFrame::new(1, shuffled).unwrap();
    let verdict = validate(
        contract(),
        Some(&expectations()),
        candidate,
        &inputs(),
        None,
        false,
    )
    .unwrap();
    assert!(
        verdict
            .frame
            .get_column_names()
            .into_iter()
            .eq(contract().columns.iter().map(|column| &column.name))
    );
    let expected = "test.thing:2023:01:population|2023|01|population|persons|123|45|null|7|0.5|true|2024-02-29|01,02|34.1|-118.4|passed||[0, 1, 100, 20]";
    assert_eq!(lines(&verdict.frame), [expected]);
    assert_eq!(lines(&verdict.frame), lines(&verdict_of(&rows).frame));
}

#[test]
fn empty_table_has_the_contracts_columns_too() {
    let verdict = verdict_of(&[]);
    assert_eq!(
        (verdict.frame.height(), verdict.frame.width()),
        (0, contract().columns.len())
    );
}
