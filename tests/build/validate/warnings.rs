use pubdata_build::validate::validate;
use pubdata_core::issue::Severity;

use super::{Row, candidate, contract, expectations, inputs, issue, lists_of, pointer, row};

#[test]
fn warnings_of_normalise_are_merged_sorted_and_counted() {
    let rows = [
        Row {
            warnings: Some(vec!["rounded", "aged"]),
            ..row("01", "population")
        },
        row("02", "population"),
        row("03", "population"),
    ];
    let issues = vec![
        issue(
            "rounded",
            Severity::Warning,
            Some("test.thing:2023:01:population"),
            None,
        ),
        issue(
            "corrected",
            Severity::Warning,
            Some("test.thing:2023:01:population"),
            None,
        ),
        issue(
            "corrected",
            Severity::Warning,
            Some("test.thing:2023:02:population"),
            None,
        ),
    ];
    let verdict = validate(
        contract(),
        Some(&expectations()),
        candidate(&rows, issues),
        &inputs(),
        None,
        false,
    )
    .unwrap();
    let texts = |name: &str| {
        verdict
            .frame
            .column(name)
            .unwrap()
            .str()
            .unwrap()
            .iter()
            .map(|text| text.unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        lists_of(&verdict.frame, "warnings"),
        [
            vec!["aged", "corrected", "rounded"],
            vec!["corrected"],
            vec![]
        ]
    );
    assert_eq!(
        texts("validation_status"),
        ["passed_with_warnings", "passed_with_warnings", "passed"]
    );
    let counts = [
        ("aged".to_owned(), 1),
        ("corrected".to_owned(), 2),
        ("rounded".to_owned(), 1),
    ];
    assert_eq!(verdict.report.warnings, counts.into());
    assert_eq!(
        (verdict.report.notes, verdict.quarantine),
        (Vec::<String>::new(), Vec::new())
    );
}

#[test]
fn warning_without_a_published_record_is_a_note_unless_it_names_a_row() {
    let issues = vec![
        issue("not_geocoded", Severity::Warning, None, None),
        issue(
            "not_geocoded",
            Severity::Warning,
            Some("test.thing:2023:77:population"),
            Some(pointer(1)),
        ),
    ];
    let verdict = validate(
        contract(),
        Some(&expectations()),
        candidate(&[row("01", "population")], issues),
        &inputs(),
        None,
        false,
    )
    .unwrap();
    assert_eq!(
        verdict.report.notes,
        ["not_geocoded: 1 findings about no published record; first: what not_geocoded saw"]
    );
    assert_eq!(verdict.report.warnings, [].into());
}

#[test]
fn warnings_of_rows_quarantined_are_not_counted() {
    let broken = Row {
        warnings: Some(vec!["aged"]),
        persons: Some(-1),
        ..row("01", "population")
    };
    let verdict = super::verdict_of(&[broken]);
    assert_eq!(verdict.report.warnings, [].into());
    assert_eq!(
        verdict.report.quarantined,
        [("out_of_range".to_owned(), 1)].into()
    );
}
