use pubdata_build::validate::validate;
use pubdata_core::contract::{Physical, Rule};

use super::{
    Row, candidate, changed_contract, check, contract, contracts, expectations, inputs, lists_of,
    row, verdict_of,
};

fn changed(change: impl Fn(&mut Row)) -> Row {
    let mut row = row("01", "population");
    change(&mut row);
    row
}

#[test]
fn exactly_one_of_refuses_both_and_neither() {
    let both = "`value` is 12.3, `null_reason` is `suppressed`; expected: A value or a reason";
    check(
        changed(|row| row.null_reason = Some("suppressed".into())),
        &[("value_or_reason", both)],
    );
    check(
        changed(|row| row.value = None),
        &[(
            "value_or_reason",
            "`value` is null, `null_reason` is null; expected: A value or a reason",
        )],
    );
    check(
        changed(|row| (row.value, row.null_reason) = (None, Some("suppressed".into()))),
        &[],
    );
}

#[test]
fn exactly_one_of_covers_any_number_of_columns() {
    let broken = |columns: &str, change: &dyn Fn(&mut Row)| {
        // Closed: persons and date may be absent.
        let changed = changed(|row| {
            row.is_open = Some(false);
            change(row);
        });
        let contract = changed_contract(
            "columns = [\"value\", \"null_reason\"]",
            &format!("columns = [{columns}]"),
        );
        let verdict = validate(
            &contract,
            Some(&expectations()),
            candidate(&[changed], Vec::new()),
            &inputs(),
            None,
            false,
        )
        .unwrap();
        verdict
            .quarantine
            .iter()
            .filter(|issue| issue.code == "value_or_reason")
            .count()
    };
    let three = "\"persons\", \"null_reason\", \"since\"";
    let set = |persons: bool, reason: bool, since: bool| {
        move |row: &mut Row| {
            row.persons = persons.then_some(7);
            row.null_reason = reason.then(|| "suppressed".to_owned());
            row.since = since.then(|| "2024-02-29".to_owned());
        }
    };
    for (persons, reason, since) in [
        (true, false, false),
        (false, true, false),
        (false, false, true),
    ] {
        assert_eq!(broken(three, &set(persons, reason, since)), 0);
        assert_eq!(
            broken(three, &set(!persons, !reason, !since)),
            1,
            "two of three"
        );
    }
    assert_eq!(
        (
            broken(three, &set(false, false, false)),
            broken(three, &set(true, true, true))
        ),
        (1, 1)
    );
    assert_eq!(
        (
            broken("\"persons\"", &set(true, true, true)),
            broken("\"persons\"", &set(false, true, true))
        ),
        (0, 1)
    );
}

#[test]
fn all_or_none_refuses_some() {
    check(
        changed(|row| row.lon = None),
        &[(
            "coordinates_in_pairs",
            "`lat` is 34.1, `lon` is null; expected: Both coordinates or neither",
        )],
    );
    check(changed(|row| (row.lat, row.lon) = (None, None)), &[]);
}

#[test]
fn present_iff_refuses_an_extra_and_a_missing_value() {
    let missing = "`moe` is null, `unit` is `persons`; expected: A margin exactly for persons";
    check(
        changed(|row| row.moe = None),
        &[("moe_of_persons", missing)],
    );
    let surplus = "`moe` is 4.5, `unit` is `years`; expected: A margin exactly for persons";
    check(
        changed(|row| row.unit = Some("years".into())),
        &[("moe_of_persons", surplus)],
    );
    check(
        changed(|row| (row.unit, row.moe) = (Some("years".into()), None)),
        &[],
    );
}

#[test]
fn present_unless_requires_values_where_the_condition_does_not_hold() {
    let expected = "`persons` is null, `since` is `2024-02-29`, `is_open` is true; expected: Persons and a date unless shut";
    check(
        changed(|row| row.persons = None),
        &[("persons_unless_shut", expected)],
    );
    check(
        changed(|row| (row.persons, row.since, row.is_open) = (None, None, Some(false))),
        &[],
    );
    let unknown = "`persons` is 7, `since` is null, `is_open` is null; expected: Persons and a date unless shut";
    check(
        changed(|row| (row.since, row.is_open) = (None, None)),
        &[("persons_unless_shut", unknown)],
    );
}

#[test]
fn range_where_compares_decimals_exactly() {
    let percent = |value: i64| {
        changed(|row| (row.unit, row.moe, row.value) = (Some("percent".into()), None, Some(value)))
    };
    let above =
        "`value` is 100.1, `unit` is `percent`; expected: Percentages lie between 0 and 100";
    check(percent(1001), &[("percent_in_range", above)]);
    check(
        percent(-1),
        &[(
            "percent_in_range",
            "`value` is -0.1, `unit` is `percent`; expected: Percentages lie between 0 and 100",
        )],
    );
    check(percent(1000), &[]);
    check(percent(0), &[]);
    check(changed(|row| row.value = Some(-1)), &[]);
}

fn tenure(state: &str, metric: &str, value: Option<i64>) -> Row {
    let null_reason = value.is_none().then(|| "suppressed".to_owned());
    Row {
        unit: Some("percent".into()),
        moe: None,
        value,
        null_reason,
        ..row(state, metric)
    }
}

#[test]
fn sum_within_warns_about_both_rows_of_the_group() {
    let verdict = verdict_of(&[
        tenure("01", "owner_occupied_share", Some(601)),
        tenure("01", "renter_occupied_share", Some(400)),
        tenure("02", "owner_occupied_share", Some(602)),
        tenure("02", "renter_occupied_share", Some(400)),
        tenure("03", "owner_occupied_share", Some(1000)),
        tenure("03", "renter_occupied_share", None),
        tenure("04", "owner_occupied_share", Some(300)),
        row("02", "population"),
    ]);
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
    let warned: Vec<String> = texts("record_id")
        .into_iter()
        .zip(lists_of(&verdict.frame, "warnings"))
        .filter(|(_, codes)| *codes == ["tenure_adds_up"])
        .map(|(id, _)| id)
        .collect();
    assert_eq!(
        warned,
        [
            "test.thing:2023:02:owner_occupied_share",
            "test.thing:2023:02:renter_occupied_share"
        ]
    );
    assert_eq!(
        verdict.report.warnings,
        [("tenure_adds_up".to_owned(), 2)].into()
    );
    assert_eq!(
        (verdict.frame.height(), verdict.quarantine),
        (8, Vec::new())
    );
}

#[test]
fn quarantined_row_hides_no_total_of_the_others() {
    let renters = tenure("02", "renter_occupied_share", Some(400));
    // The version of most rows of a key is published, and the odd row is quarantined.
    let odd = Row {
        null_reason: None,
        pointers: vec![0, 1, 300, 20],
        ..tenure("02", "renter_occupied_share", None)
    };
    let again = Row {
        pointers: vec![0, 1, 200, 20],
        ..renters.clone()
    };
    let verdict = verdict_of(&[
        tenure("02", "owner_occupied_share", Some(602)),
        renters,
        again,
        odd,
    ]);
    assert_eq!(
        (verdict.frame.height(), verdict.report.warnings),
        (2, [("tenure_adds_up".to_owned(), 2)].into())
    );
    assert!(!verdict.quarantine.is_empty());
}

#[test]
fn sum_within_can_quarantine() {
    let strict = changed_contract("severity = \"warning\"", "severity = \"quarantine\"");
    let rows = [
        tenure("02", "owner_occupied_share", Some(602)),
        tenure("02", "renter_occupied_share", Some(400)),
    ];
    let verdict = validate(
        &strict,
        Some(&expectations()),
        candidate(&rows, Vec::new()),
        &inputs(),
        None,
        false,
    )
    .unwrap();
    let details: Vec<&str> = verdict
        .quarantine
        .iter()
        .map(|issue| issue.detail.as_str())
        .collect();
    assert_eq!(
        details,
        ["the sum of `value` over year 2023, state `02` is 100.2; expected: Shares add up to 100";
            2]
    );
    assert_eq!(verdict.frame.height(), 0);
}

#[test]
fn rule_that_does_not_fit_its_columns_is_a_configuration_error() {
    let verdict_under = |from: &str, to: &str| {
        let candidate = candidate(&[row("01", "population")], Vec::new());
        validate(
            &changed_contract(from, to),
            Some(&expectations()),
            candidate,
            &inputs(),
            None,
            false,
        )
        .unwrap_err()
        .to_string()
    };
    let on_text = verdict_under(
        "columns = [\"value\"]\nwhere = { column = \"unit\"",
        "columns = [\"metric\"]\nwhere = { column = \"unit\"",
    );
    assert_eq!(
        on_text,
        "test.thing year=2023: rule `percent_in_range`: column `metric` is String: `min` and `max` are for numbers and dates"
    );
    let on_decimal = verdict_under(
        "where = { column = \"unit\", equals = \"percent\" }",
        "where = { column = \"moe\", equals = \"1\" }",
    );
    assert_eq!(
        on_decimal,
        "test.thing year=2023: rule `percent_in_range`: a condition on column `moe` needs a text, a flag, a date or an integer"
    );
    let no_total = verdict_under("total = 100\n", "");
    assert_eq!(
        no_total,
        "test.thing year=2023: rule `tenure_adds_up`: `sum_within` needs `total` and `tolerance`"
    );
}

#[test]
fn built_in_contracts_use_rules_that_fit_their_columns() {
    for contract in contracts().values() {
        for invariant in &contract.invariants {
            let fits = |name: &String| match (
                contract.column(name).unwrap().column_type.physical,
                invariant.rule,
            ) {
                (Physical::Int32 | Physical::Int64 | Physical::Decimal | Physical::Float64, _) => {
                    true
                }
                (Physical::Date, rule) => rule != Rule::SumWithin,
                (_, rule) => !matches!(rule, Rule::RangeWhere | Rule::SumWithin),
            };
            assert!(
                invariant.columns.iter().all(fits),
                "{}: {}",
                contract.dataset_id,
                invariant.code
            );
        }
    }
    assert_eq!(contract().invariants.len(), 6);
}
