use pubdata_build::validate::validate;
use pubdata_core::contract::Contract;

use super::{Row, candidate, changed_contract, expectations, inputs, lines, row, verdict_of};

#[test]
fn repeated_row_is_kept_once_with_its_first_source_position() {
    let later = Row {
        pointers: vec![0, 1, 500, 20],
        ..row("01", "population")
    };
    let verdict = verdict_of(&[
        later.clone(),
        row("02", "population"),
        row("01", "population"),
        later.clone(),
    ]);
    assert_eq!(
        verdict.repeated,
        [later.pointers.clone(), later.pointers].concat()
    );
    assert_eq!(
        lines(&verdict.frame),
        lines(&verdict_of(&[row("01", "population"), row("02", "population")]).frame)
    );
    assert_eq!(verdict.quarantine, Vec::new());
}

#[test]
fn different_rows_under_one_key_are_all_quarantined() {
    let other = Row {
        value: Some(999),
        pointers: vec![1, 0, 7, 3],
        ..row("01", "population")
    };
    let verdict = verdict_of(&[row("01", "population"), other, row("02", "population")]);
    let found: Vec<_> = verdict
        .quarantine
        .iter()
        .map(|issue| {
            (
                issue.code.as_str(),
                issue.detail.as_str(),
                issue.pointer.as_ref().unwrap().offset,
            )
        })
        .collect();
    let detail =
        "2 different records have the key year 2023, state `01`, metric `population`, expected one";
    assert_eq!(
        found,
        [("duplicate_key", detail, 100), ("duplicate_key", detail, 7)]
    );
    assert_eq!(
        verdict.report.quarantined,
        [("duplicate_key".to_owned(), 2)].into()
    );
    assert_eq!(verdict.frame.height(), 1);
    let places: Vec<u64> = verdict
        .quarantined_pointers
        .chunks(4)
        .map(|quad| quad[2])
        .collect();
    assert_eq!(
        places,
        [100, 7],
        "all rows of the sources that the records were made from"
    );
}

#[test]
fn majority_row_of_a_key_is_kept_and_others_are_quarantined() {
    let odd = |value: i64, offset: u64| Row {
        value: Some(value),
        pointers: vec![1, 0, offset, 3],
        ..row("01", "population")
    };
    let same = |offset: u64| Row {
        pointers: vec![0, 1, offset, 20],
        ..row("01", "population")
    };
    let verdict = verdict_of(&[
        odd(999, 7),
        same(500),
        same(300),
        row("02", "population"),
        same(400),
    ]);
    let kept: Vec<&str> = verdict
        .frame
        .column("record_id")
        .unwrap()
        .str()
        .unwrap()
        .iter()
        .flatten()
        .collect();
    assert_eq!(
        kept,
        [
            "test.thing:2023:01:population",
            "test.thing:2023:02:population"
        ]
    );
    assert_eq!(
        lines(&verdict.frame),
        lines(&verdict_of(&[same(300), row("02", "population")]).frame),
        "as if the odd row were absent"
    );
    let found: Vec<_> = verdict
        .quarantine
        .iter()
        .map(|issue| {
            (
                issue.code.as_str(),
                issue.detail.as_str(),
                issue.pointer.as_ref().unwrap().offset,
            )
        })
        .collect();
    let detail = "3 of 4 records with the key year 2023, state `01`, metric `population` say the same, and this one does not";
    assert_eq!(found, [("duplicate_key", detail, 7)]);
    assert_eq!(
        (verdict.quarantined_pointers.len(), verdict.repeated.len()),
        (4, 8),
        "one pointer, and two of rows that only repeat"
    );
}

#[test]
fn half_of_the_rows_of_a_key_are_not_a_majority() {
    let other = |value: i64| Row {
        value: Some(value),
        ..row("01", "population")
    };
    for rows in [
        vec![other(1), other(1), other(2), other(2)],
        vec![other(1), other(1), other(2), other(3)],
        vec![other(1), other(2)],
    ] {
        let verdict = verdict_of(&rows);
        assert_eq!(verdict.frame.height(), 0, "{:?}", lines(&verdict.frame));
    }
}

#[test]
fn two_equal_rows_outweigh_one_in_any_order() {
    let other = Row {
        value: Some(999),
        ..row("01", "population")
    };
    for place in 0..3 {
        let mut rows = vec![row("01", "population"), row("01", "population")];
        rows.insert(place, other.clone());
        let verdict = verdict_of(&rows);
        assert_eq!(verdict.repeated.len(), 4, "one pointer");
        assert_eq!(
            verdict.report.quarantined,
            [("duplicate_key".to_owned(), 1)].into()
        );
        assert_eq!(
            lines(&verdict.frame),
            lines(&verdict_of(&[row("01", "population")]).frame)
        );
    }
}

#[test]
fn record_id_under_two_keys_quarantines_both() {
    let stolen = Row {
        record_id: row("01", "population").record_id,
        ..row("02", "population")
    };
    let verdict = verdict_of(&[row("01", "population"), stolen]);
    let details: Vec<&str> = verdict
        .quarantine
        .iter()
        .map(|issue| issue.detail.as_str())
        .collect();
    assert_eq!(
        details,
        ["2 records have the record_id `test.thing:2023:01:population`, expected one"; 2]
    );
    assert_eq!(
        verdict.report.quarantined,
        [("duplicate_record_id".to_owned(), 2)].into()
    );
}

#[test]
fn rows_are_sorted_by_the_contract_and_then_by_record_id() {
    let expected = [
        "test.thing:2023:01:median_age",
        "test.thing:2023:01:population",
        "test.thing:2023:02:households",
        "test.thing:2023:10:median_age",
    ];
    let [first, second, third, fourth] = [
        row("01", "median_age"),
        row("01", "population"),
        row("02", "households"),
        row("10", "median_age"),
    ];
    // Unsorted; sorted by the contract but not by id; sorted.
    let unsorted = [&third, &second, &fourth, &first].map(Clone::clone);
    let not_by_id = [&second, &first, &third, &fourth].map(Clone::clone);
    for rows in [unsorted, not_by_id, [first, second, third, fourth]] {
        let verdict = verdict_of(&rows);
        let ids: Vec<&str> = verdict
            .frame
            .column("record_id")
            .unwrap()
            .str()
            .unwrap()
            .iter()
            .flatten()
            .collect();
        assert_eq!(ids, expected);
    }
}

#[test]
fn rows_without_a_key_are_not_duplicates_of_each_other() {
    let keyless = |offset: u64, value: i64| Row {
        state: None,
        record_id: None,
        value: Some(value),
        pointers: vec![0, 1, offset, 9],
        ..row("01", "population")
    };
    let verdict = verdict_of(&[keyless(1, 1), keyless(2, 2)]);
    let codes: Vec<&str> = verdict
        .quarantine
        .iter()
        .map(|issue| issue.code.as_str())
        .collect();
    assert_eq!(codes, ["missing_value"; 4]);
    assert_eq!(
        verdict.report.quarantined,
        [("missing_value".to_owned(), 2)].into()
    );
}

#[test]
fn duplicate_key_is_found_among_few_unsorted_rows_and_among_many() {
    let contract = changed_contract("\"metric\"]", "\"since\"]");
    for rows in [2, 16, 17, 18, 28] {
        let on = |day: i64| Row {
            since: Some(format!("2024-02-{day:02}")),
            record_id: Some(format!("test.thing:{day}")),
            value: Some(day),
            ..row("01", "population")
        };
        let falling: Vec<Row> = (1..=rows).rev().map(on).collect();
        assert_eq!(codes_of(&contract, &falling), [] as [String; 0], "{rows}");
        for twice in [0, falling.len() - 2] {
            let mut repeating = falling.clone();
            repeating[falling.len() - 1]
                .since
                .clone_from(&falling[twice].since);
            assert_eq!(
                codes_of(&contract, &repeating),
                ["duplicate_key"; 2],
                "{rows}"
            );
        }
    }
}

#[test]
fn keys_may_be_decimals_or_booleans() {
    let with = |lat: f64, is_open: bool, record_id: &str| Row {
        lat: Some(lat),
        is_open: Some(is_open),
        record_id: Some(record_id.to_owned()),
        ..row("01", "population")
    };
    let rows = [
        with(34.5, true, "test.thing:a"),
        with(34.0, false, "test.thing:b"),
        with(34.5, true, "test.thing:c"),
    ];
    for column in ["lat", "is_open"] {
        let contract = changed_contract("\"metric\"]", &format!("\"{column}\"]"));
        assert_eq!(
            codes_of(&contract, &rows[..2]),
            [] as [String; 0],
            "{column}"
        );
        let of_all = codes_of(&contract, &rows);
        assert_eq!(of_all, ["duplicate_key"; 2], "{column}");
    }
}

fn codes_of(contract: &Contract, rows: &[Row]) -> Vec<String> {
    let verdict = validate(
        contract,
        Some(&expectations()),
        candidate(rows, Vec::new()),
        &inputs(),
        None,
        false,
    )
    .unwrap();
    verdict
        .quarantine
        .into_iter()
        .map(|issue| issue.code)
        .collect()
}
