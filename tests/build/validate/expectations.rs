use pubdata_build::validate::{Verdict, validate};
use pubdata_core::issue::Severity;
use pubdata_core::pipeline::Expectations;

use super::{Row, candidate, contract, expectations, inputs, issue, messages, pointer, row};

fn good_rows(count: usize) -> Vec<Row> {
    (0..count)
        .map(|number| row(&format!("{number:02}"), "population"))
        .collect()
}

fn verdict_of(
    rows: &[Row],
    expectations: &Expectations,
    previous_rows: Option<u64>,
    is_sample: bool,
) -> Verdict {
    validate(
        contract(),
        Some(expectations),
        candidate(rows, Vec::new()),
        &inputs(),
        previous_rows,
        is_sample,
    )
    .unwrap()
}

#[test]
fn floor_blocks_unless_the_source_is_a_sample() {
    let floor = Expectations {
        min_rows: 10,
        ..expectations()
    };
    let expected = "test.thing year=2023: 9 rows, but min_rows is 10: a source is cut off or incomplete; compare its size with the publisher's and run \
                    `pubdata run` again, or lower `min_rows` under [expect.\"test.thing\"] in the pipeline's file when the publisher really dropped them";
    assert_eq!(
        messages(verdict_of(&good_rows(9), &floor, None, false)),
        [expected]
    );
    assert_eq!(
        messages(verdict_of(&good_rows(9), &floor, None, true)),
        Vec::<String>::new()
    );
    assert_eq!(
        messages(verdict_of(&good_rows(10), &floor, None, false)),
        Vec::<String>::new()
    );
    let expected = "test.thing year=2023: no rows, and even a sample has one: a source holds nothing but its header, or none of its records can be published";
    assert_eq!(messages(verdict_of(&[], &floor, None, true)), [expected]);
}

#[test]
fn ceiling_is_a_note() {
    let ceiling = Expectations {
        max_rows: 2,
        ..expectations()
    };
    let verdict = verdict_of(&good_rows(3), &ceiling, None, false);
    assert_eq!(
        (verdict.blocked.len(), verdict.report.notes),
        (0, vec!["3 rows, more than max_rows 2".to_owned()])
    );
    assert_eq!(
        verdict_of(&good_rows(2), &ceiling, None, false)
            .report
            .notes,
        Vec::<String>::new()
    );
}

#[test]
fn loss_of_rows_blocks_even_for_a_sample() {
    let expected = "test.thing year=2023: 14 rows against 20 in the last release, 30 % fewer, but max_shrink_percent is 5: a source is cut off, or the publisher \
                    dropped records; look at what is missing; if it is right, accept it or raise `max_shrink_percent` under [expect.\"test.thing\"] in the pipeline's file";
    for is_sample in [false, true] {
        assert_eq!(
            messages(verdict_of(
                &good_rows(14),
                &expectations(),
                Some(20),
                is_sample
            )),
            [expected]
        );
        assert_eq!(
            messages(verdict_of(
                &good_rows(19),
                &expectations(),
                Some(20),
                is_sample
            )),
            Vec::<String>::new()
        );
    }
    assert_eq!(
        messages(verdict_of(&[], &expectations(), Some(0), false)),
        Vec::<String>::new()
    );
}

#[test]
fn gain_of_rows_is_reported_but_not_published() {
    let verdict = verdict_of(&good_rows(16), &expectations(), Some(13), false);
    assert_eq!(verdict.report.notes, Vec::<String>::new());
    assert_eq!(
        verdict.growth,
        ["16 rows against 13 in the last release, 23.08 % more, above max_growth_percent 20"]
    );
    assert_eq!(
        verdict_of(&good_rows(12), &expectations(), Some(10), false).growth,
        Vec::<String>::new()
    );
}

#[test]
fn share_of_quarantined_records_warns_and_then_blocks() {
    let levels = Expectations {
        warn_quarantined_percent: 10.0,
        max_quarantined_percent: 20.0,
        ..expectations()
    };
    let with_broken = |broken: usize| {
        let mut rows = good_rows(10);
        rows.iter_mut()
            .take(broken)
            .for_each(|row| row.persons = Some(-1));
        verdict_of(&rows, &levels, None, true)
    };
    assert_eq!(
        (
            with_broken(1).is_above_warning_level,
            with_broken(1).blocked.len()
        ),
        (false, 0)
    );
    assert_eq!(
        (
            with_broken(2).is_above_warning_level,
            with_broken(2).blocked.len()
        ),
        (true, 0)
    );
    let expected = "test.thing year=2023: 3 of 10 records break rules, 30 %, but max_quarantined_percent is 20: out_of_range 3 (first: \
                    test.thing:2023:00:population: `persons` is -1, expected at least 0); the publisher changed the file or the declaration is wrong: correct it, or \
                    raise `max_quarantined_percent` under [expect.\"test.thing\"] in the pipeline's file when the records really are bad";
    assert_eq!(messages(with_broken(3)), [expected]);
}

#[test]
fn share_of_rows_with_a_warning_blocks_by_its_code() {
    let levels = Expectations {
        max_warned_percent: [("unmapped_status".to_owned(), 2.0)].into(),
        ..expectations()
    };
    let with_warned = |rows: usize, warned: usize, is_sample: bool| {
        let rows: Vec<Row> = (0..rows)
            .map(|number| row(&format!("{number:02}"), "population"))
            .collect();
        let of_code = |code: &str, count: usize| -> Vec<_> {
            rows.iter()
                .take(count)
                .map(|row| issue(code, Severity::Warning, row.record_id.as_deref(), None))
                .collect()
        };
        let issues = [
            of_code("unmapped_status", warned),
            of_code("bad_date", rows.len()),
        ]
        .concat();
        messages(
            validate(
                contract(),
                Some(&levels),
                candidate(&rows, issues),
                &inputs(),
                None,
                is_sample,
            )
            .unwrap(),
        )
    };
    let expected = "test.thing year=2023: 3 of 100 rows have the warning unmapped_status, 3 %, but max_warned_percent allows 2: the publisher changed the file or \
                    the declaration is wrong: correct it, or raise `unmapped_status` in `max_warned_percent` under [expect.\"test.thing\"] in the pipeline's file when \
                    the records really are so";
    for is_sample in [false, true] {
        assert_eq!(with_warned(100, 3, is_sample), [expected]);
        assert_eq!(with_warned(100, 2, is_sample), Vec::<String>::new());
        assert_eq!(
            with_warned(99, 99, is_sample),
            Vec::<String>::new(),
            "a share of a few rows has no meaning"
        );
    }
}

#[test]
fn findings_of_decode_count_as_records_quarantined() {
    let levels = Expectations {
        warn_quarantined_percent: 10.0,
        max_quarantined_percent: 50.0,
        ..expectations()
    };
    let issues = vec![
        issue(
            "unmapped",
            Severity::Quarantine,
            Some("a"),
            Some(pointer(1)),
        ),
        issue("late", Severity::Quarantine, Some("a"), Some(pointer(1))),
        issue(
            "unmapped",
            Severity::Quarantine,
            Some("a"),
            Some(pointer(2)),
        ),
        issue("unmapped", Severity::Quarantine, None, None),
        issue("unmapped", Severity::Quarantine, None, None),
    ];
    let verdict = validate(
        contract(),
        Some(&levels),
        candidate(&good_rows(4), issues),
        &inputs(),
        None,
        false,
    )
    .unwrap();
    assert_eq!(
        verdict.report.quarantined,
        [("late".to_owned(), 1), ("unmapped".to_owned(), 3)].into()
    );
    assert_eq!(verdict.quarantine.len(), 5);
    assert!(verdict.is_above_warning_level);
    assert_eq!(messages(verdict), Vec::<String>::new());
}

#[test]
fn finding_that_blocks_is_a_reason() {
    let issues = vec![
        issue(
            "unknown_special_value",
            Severity::Block,
            Some("test.thing:2023:09:population"),
            None,
        ),
        issue("renamed_column", Severity::Block, None, None),
        issue(
            "unknown_special_value",
            Severity::Block,
            Some("test.thing:2023:08:population"),
            None,
        ),
    ];
    let verdict = validate(
        contract(),
        Some(&expectations()),
        candidate(&good_rows(1), issues),
        &inputs(),
        None,
        true,
    )
    .unwrap();
    let expected = [
        "test.thing year=2023: renamed_column: what renamed_column saw",
        "test.thing year=2023: unknown_special_value: test.thing:2023:08:population: what unknown_special_value saw (and 1 more findings of this kind)",
    ];
    assert_eq!(verdict.quarantine, Vec::new());
    assert_eq!(messages(verdict), expected);
}
