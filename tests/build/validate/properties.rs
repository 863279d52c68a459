use proptest::prelude::*;
use pubdata_build::validate::validate;
use pubdata_core::issue::{Issue, Severity};

use super::{Row, candidate, contract, expectations, inputs, issue, lines, pointer, row};

/// Generates rows from small domains, so that repetitions, contradictions and every kind of broken
/// rule occur.
fn any_row() -> impl Strategy<Value = Row> {
    let key = (
        0..3u8,
        prop::sample::select(vec![
            "population",
            "owner_occupied_share",
            "renter_occupied_share",
            "nonsense",
        ]),
        0..10u8,
    );
    let cells = (
        prop::option::weighted(0.9, 0..3i64),
        prop::option::weighted(0.8, Just(4)),
        prop::option::weighted(0.9, -1..3i64),
        0..4u64,
    );
    (key, cells).prop_map(|((state, metric, luck), (value, moe, persons, offset))| {
        let mut row = row(&format!("0{state}"), metric);
        match luck {
            0 => row.record_id = Some("test.thing:same".into()),
            1 => row.record_id = None,
            2 => row.lat = None,
            3 => row.warnings = Some(vec!["aged"]),
            4 => row.state = None,
            _ => {}
        }
        Row {
            value,
            moe,
            persons,
            pointers: vec![0, 1, offset, 9],
            ..row
        }
    })
}

fn any_issue() -> impl Strategy<Value = Issue> {
    let severity = prop::sample::select(vec![Severity::Warning, Severity::Quarantine]);
    let record = prop::option::of(prop::sample::select(vec![
        "K1",
        "test.thing:2023:00:population",
    ]));
    (
        prop::sample::select(vec!["unmapped", "rounded"]),
        severity,
        record,
        prop::option::of(0..2u64),
    )
        .prop_map(|(code, severity, record, offset)| {
            issue(code, severity, record, offset.map(pointer))
        })
}

fn rows_and_a_shuffle() -> impl Strategy<Value = (Vec<Row>, Vec<Row>, Vec<Issue>, Vec<Issue>)> {
    (
        prop::collection::vec(any_row(), 0..25),
        prop::collection::vec(any_issue(), 0..6),
    )
        .prop_flat_map(|(rows, issues)| {
            let shuffled = (
                Just(rows.clone()).prop_shuffle(),
                Just(issues.clone()).prop_shuffle(),
            );
            shuffled.prop_map(move |(shuffled_rows, shuffled_issues)| {
                (rows.clone(), shuffled_rows, issues.clone(), shuffled_issues)
            })
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_row_is_lost_and_order_does_not_matter((rows, shuffled_rows, issues, shuffled_issues) in rows_and_a_shuffle()) {
        let verdict_of = |rows: &[Row], issues| validate(contract(), Some(&expectations()), candidate(rows, issues), &inputs(), Some(3), false).unwrap();
        let from_decode = verdict_of(&[], issues.clone()).report.quarantined.values().sum::<u64>();
        let verdict = verdict_of(&rows, issues);

        let collapsed = verdict.repeated.len() as u64 / 4;
        let quarantined = verdict.report.quarantined.values().sum::<u64>() - from_decode;
        prop_assert_eq!(rows.len() as u64, verdict.frame.height() as u64 + quarantined + collapsed);
        prop_assert!(verdict.frame.column("record_id").unwrap().as_materialized_series().n_unique().unwrap() == verdict.frame.height());

        let shuffled = verdict_of(&shuffled_rows, shuffled_issues);
        prop_assert_eq!(lines(&shuffled.frame), lines(&verdict.frame));
        prop_assert_eq!(shuffled.quarantine, verdict.quarantine);
        prop_assert_eq!(shuffled.report, verdict.report);
        prop_assert_eq!(shuffled.blocked, verdict.blocked);
    }

    #[test]
    fn passed_table_passes_again_unchanged((rows, _, _, _) in rows_and_a_shuffle()) {
        let verdict = super::verdict_of(&rows);
        let mut again = candidate(&[], Vec::new());
        again.frame = verdict.frame.clone();
        // Quarantined rows can be half of a total, which is then no longer checked: the warnings
        // stay.
        let again = validate(contract(), Some(&expectations()), again, &inputs(), None, false).unwrap();
        prop_assert_eq!(lines(&again.frame), lines(&verdict.frame));
        prop_assert_eq!(again.quarantine, Vec::new());
    }
}
