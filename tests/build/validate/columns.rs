use super::{Row, check, row};

fn changed(change: impl Fn(&mut Row)) -> Row {
    let mut row = row("01", "population");
    change(&mut row);
    row
}

#[test]
fn good_row_passes_every_rule() {
    check(row("01", "population"), &[]);
}

#[test]
fn null_in_a_required_column_is_quarantined() {
    check(
        changed(|row| row.grades = None),
        &[("missing_value", "`grades` is null, expected a value")],
    );
    check(changed(|row| row.portion = None), &[]);
}

#[test]
fn code_without_its_leading_zero_is_quarantined() {
    check(
        changed(|row| row.state = Some("1".into())),
        &[(
            "malformed_code",
            "`state` is `1`, expected exactly 2 digits",
        )],
    );
    check(
        changed(|row| row.state = Some("0x".into())),
        &[(
            "malformed_code",
            "`state` is `0x`, expected exactly 2 digits",
        )],
    );
    check(
        changed(|row| row.state = Some("٠٠".into())),
        &[(
            "malformed_code",
            "`state` is `٠٠`, expected exactly 2 digits",
        )],
    );
}

#[test]
fn unknown_category_is_quarantined() {
    let expected = "`null_reason` is `lost`, expected one of `insufficient_sample`, `not_applicable`, `suppressed`, `not_published`, `zero_universe`, `open_ended_interval`, `unknown_special_value`";
    check(
        changed(|row| (row.value, row.null_reason) = (None, Some("lost".into()))),
        &[("unknown_category", expected)],
    );
    check(
        changed(|row| (row.value, row.null_reason) = (None, Some("suppressed".into()))),
        &[],
    );
}

#[test]
fn integer_bounds_are_inclusive() {
    check(
        changed(|row| row.persons = Some(-1)),
        &[("out_of_range", "`persons` is -1, expected at least 0")],
    );
    check(changed(|row| row.persons = Some(0)), &[]);
    check(changed(|row| row.persons = Some(i64::MAX)), &[]);
}

#[test]
fn float_bounds_are_inclusive() {
    check(
        changed(|row| row.portion = Some(1.25)),
        &[(
            "out_of_range",
            "`portion` is 1.25, expected between 0 and 1",
        )],
    );
    check(changed(|row| row.portion = Some(1.0)), &[]);
    check(
        changed(|row| row.lat = Some(-90.5)),
        &[(
            "out_of_range",
            "`lat` is -90.5, expected between -90 and 90",
        )],
    );
}

#[test]
fn not_a_number_is_quarantined() {
    let expected = [
        ("not_finite", "`portion` is NaN, expected a finite number"),
        ("out_of_range", "`portion` is NaN, expected between 0 and 1"),
    ];
    check(changed(|row| row.portion = Some(f64::NAN)), &expected);
}

#[test]
fn decimal_wider_than_its_type_is_quarantined() {
    let fits = 99_999_999_999_999;
    check(
        changed(|row| row.value = Some(fits + 1)),
        &[(
            "too_many_digits",
            "`value` is 10000000000000.0, expected at most 14 digits",
        )],
    );
    check(
        changed(|row| row.value = Some(-fits - 1)),
        &[(
            "too_many_digits",
            "`value` is -10000000000000.0, expected at most 14 digits",
        )],
    );
    check(changed(|row| row.value = Some(fits)), &[]);
}

#[test]
fn only_calendar_dates_pass() {
    for text in [
        "2023-02-29",
        "2023-13-01",
        "2023-1-05",
        "20230105",
        "2023-01-05T00:00",
        "+023-01-05",
        "",
    ] {
        check(
            changed(|row| row.since = Some(text.into())),
            &[(
                "invalid_date",
                &format!("`since` is `{text}`, expected a calendar date YYYY-MM-DD"),
            )],
        );
    }
    check(changed(|row| row.since = Some("2000-02-29".into())), &[]);
}

#[test]
fn lists_have_no_empty_items() {
    for list in ["01,", ",01", "01,,02", ",", ""] {
        check(
            changed(|row| row.grades = Some(list.split(',').collect())),
            &[(
                "empty_list_item",
                &format!("`grades` is `{list}`, expected a list without empty items"),
            )],
        );
    }
    check(changed(|row| row.grades = Some(Vec::new())), &[]);
}

#[test]
fn record_id_belongs_to_its_dataset() {
    for text in ["geo.school:1", "test.thing:", "test.things:1"] {
        let expected =
            format!("`record_id` is `{text}`, expected `test.thing:` and the record's key");
        check(
            changed(|row| row.record_id = Some(text.into())),
            &[("malformed_record_id", &expected)],
        );
    }
}

#[test]
fn row_that_breaks_several_rules_counts_once() {
    let expected = [
        (
            "malformed_code",
            "`state` is `1`, expected exactly 2 digits",
        ),
        ("missing_value", "`grades` is null, expected a value"),
        ("out_of_range", "`persons` is -1, expected at least 0"),
    ];
    let broken =
        changed(|row| (row.state, row.grades, row.persons) = (Some("1".into()), None, Some(-1)));
    check(broken.clone(), &expected);
    let report = super::verdict_of(&[broken]).report;
    assert_eq!(
        report.quarantined,
        [("malformed_code".to_owned(), 1)].into()
    );
}
