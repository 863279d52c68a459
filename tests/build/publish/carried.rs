//! Checks that reused rows leave no trace in a part: its bytes equal those of a clean build,
//! whichever subjects changed.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use polars::prelude::{DataFrame, NamedFrom, Series};
use proptest::prelude::*;
use pubdata_build::publish::{
    BuiltTable, KeepStatistics, Lineage, PartSubject, PreviousPart, ReusedRows, RowValidation,
    Stage, StagedPart, Statistics, stage,
};
use pubdata_core::contract::{Contract, Contracts, Physical};
use pubdata_core::ids::Digest;
use pubdata_store::{PartReport, Staging};

use super::{Place, build, column, contract, frame, inputs, pointers};
use crate::lists;

/// Subjects by key: the number of rows of each, and a number that its rows depend on.
type Subjects = BTreeMap<u32, (usize, i64)>;

fn with_warnings() -> Contract {
    let mut contract = contract();
    contract
        .columns
        .push(column("warnings", Physical::StringList, false));
    contract
}

/// A subject, the number of a row within it, and the subject's number.
type Row = (u32, usize, i64);

fn rows_of(subjects: &Subjects, is_selected: impl Fn(u32) -> bool) -> DataFrame {
    let selected = subjects
        .iter()
        .filter(|(subject, _)| is_selected(**subject));
    let rows: Vec<Row> = selected
        .flat_map(|(subject, (rows, seed))| (0..*rows).map(move |row| (*subject, row, *seed)))
        .collect();
    let number = |(subject, row, seed): &Row| i64::from(*subject) * 31 + *row as i64 * 7 + seed;
    let texts = |name: &str, of: &dyn Fn(&Row) -> Option<String>| {
        Series::new(name.into(), rows.iter().map(of).collect::<Vec<_>>())
    };
    let lists_of = |name: &str, of: &dyn Fn(&Row) -> Option<Vec<String>>| {
        let made: Vec<_> = rows.iter().map(of).collect();
        lists(name, made.iter().map(Option::as_deref))
    };
    let warnings = |row: &Row| {
        let codes: &[&str] = if number(row) % 5 == 0 {
            &["odd", "late"]
        } else {
            &[]
        };
        Some(codes.iter().map(|code| (*code).to_owned()).collect())
    };
    let pointed: Vec<[u64; 4]> = rows
        .iter()
        .map(|row| [0, 1, number(row).unsigned_abs(), 20])
        .collect();
    DataFrame::new_infer_height(vec![
        texts("record_id", &|(subject, row, _)| {
            Some(format!("test.place:{subject:04}:{row:05}"))
        })
        .into(),
        Series::new("year".into(), vec![2024_i32; rows.len()]).into(),
        texts("code", &|(subject, row, _)| {
            Some(format!("{subject:04}{row:05}"))
        })
        .into(),
        Series::new(
            "persons".into(),
            rows.iter()
                .map(|row| (number(row) % 3 != 0).then(|| number(row)))
                .collect::<Vec<_>>(),
        )
        .into(),
        Series::new(
            "lat".into(),
            rows.iter()
                .map(|row| Some(number(row) as f64 / 7.0))
                .collect::<Vec<_>>(),
        )
        .into(),
        Series::new(
            "is_open".into(),
            rows.iter()
                .map(|row| (number(row) % 4 != 0).then(|| number(row) % 2 == 0))
                .collect::<Vec<_>>(),
        )
        .into(),
        texts("opened", &|row| {
            Some(format!(
                "20{:02}-02-0{}",
                number(row) % 100,
                1 + number(row) % 9
            ))
        })
        .into(),
        Series::new(
            "share".into(),
            rows.iter()
                .map(|row| Some(number(row) % 1_000))
                .collect::<Vec<_>>(),
        )
        .into(),
        lists_of("grades", &|row| {
            (number(row) % 6 != 0).then(|| vec!["PK".to_owned(), (number(row) % 13).to_string()])
        }),
        texts("validation_status", &|_| Some("passed".to_owned())).into(),
        pointers(&pointed.iter().map(<[u64; 4]>::as_slice).collect::<Vec<_>>()).into(),
        lists_of("warnings", &warnings),
    ])
    .unwrap()
}

fn lineage(subjects: &Subjects) -> Lineage {
    Lineage {
        fingerprint: Digest::sha256(b"all"),
        subjects: Some(
            subjects
                .keys()
                .map(|subject| (format!("{subject:04}"), None))
                .collect(),
        ),
    }
}

/// Returns the rows of some subjects of a part.
fn kept_of(bytes: &Bytes, kept: &BTreeSet<u32>) -> ReusedRows {
    PreviousPart::open(bytes.clone())
        .unwrap()
        .keep(|subject| kept.contains(&subject.parse().unwrap()))
        .unwrap()
}

fn table(frame: DataFrame) -> BuiltTable {
    let partition = BTreeMap::from([("year".to_owned(), "2024".to_owned())]);
    BuiltTable {
        dataset_id: "test.place".to_owned(),
        partition,
        frame,
        rows: RowValidation::Unchecked,
        report: PartReport::default(),
    }
}

/// Builds the part: all subjects, or all except those in `kept`, whose rows come from the bytes of
/// an earlier part.
fn part_of(
    place: &Place,
    subjects: &Subjects,
    kept: &BTreeSet<u32>,
    before: Option<&Bytes>,
) -> (StagedPart, Bytes) {
    let build = build(2024, "one", frame(2024, 1));
    let contracts = Contracts::from([("test.place".to_owned(), with_warnings())]);
    let staging = Staging::for_task(&place.home, &build.task_id, &build.entry.input_hash);
    let stage = Stage::begin(&place.home, &contracts, build.task_id, build.entry).unwrap();
    let rows = rows_of(subjects, |subject| !kept.contains(&subject));
    let mut report = PartReport::default();
    let codes = rows.column("warnings").unwrap().list().unwrap().get_inner();
    for code in codes.str().unwrap().iter().flatten() {
        *report.warnings.entry(code.to_owned()).or_default() += 1;
    }
    let table = BuiltTable {
        report,
        ..table(rows)
    };
    let reused = before.map(|bytes| kept_of(bytes, kept));
    stage
        .add(
            table,
            &inputs("one"),
            Some(&lineage(subjects)),
            reused.as_ref(),
        )
        .unwrap();
    let staged = stage.parts().remove(0);
    let bytes = staging.part(&staged.part.path).unwrap().unwrap();
    (staged, bytes.into())
}

fn assert_same(before: &Subjects, after: &Subjects) {
    let place = Place::new();
    let (_, published) = part_of(&place, before, &BTreeSet::new(), None);
    let kept: BTreeSet<u32> = after
        .iter()
        .filter(|(subject, rows)| before.get(subject) == Some(rows))
        .map(|(subject, _)| *subject)
        .collect();
    let (reused, carried_bytes) = part_of(&place, after, &kept, Some(&published));
    let (whole, whole_bytes) = part_of(&place, after, &BTreeSet::new(), None);
    assert_eq!(reused, whole);
    assert!(carried_bytes == whole_bytes);
}

#[test]
fn unchanged_row_groups_equal_those_of_a_clean_build() {
    let before: Subjects = (0..20)
        .map(|subject| (subject, (1_200 + subject as usize * 3, 0)))
        .collect();
    let with = |changes: &[(u32, Option<(usize, i64)>)]| {
        let mut after = before.clone();
        for (subject, rows) in changes {
            match rows {
                Some(rows) => after.insert(*subject, *rows),
                None => after.remove(subject),
            };
        }
        after
    };
    assert_same(&before, &with(&[(7, Some((1_222, 0)))]));
    assert_same(
        &before,
        &with(&[
            (0, None),
            (10, Some((1_190, 5))),
            (19, Some((1, 0))),
            (20, Some((5_000, 1))),
        ]),
    );
    let large = (10, Some((66_000, 0)));
    assert_same(&with(&[large]), &with(&[large, (2, None)]));
}

/// Returns the statistics of a stage that gets parts in an order, each one without the rows of some
/// subjects.
fn compared(place: &Place, parts: &[(&Bytes, Option<&BTreeSet<u32>>)]) -> Statistics {
    let build = build(2024, "one", frame(2024, 1));
    let contracts = Contracts::from([("test.place".to_owned(), with_warnings())]);
    let stage = Stage::begin(&place.home, &contracts, build.task_id, build.entry)
        .unwrap()
        .comparing(KeepStatistics(true));
    for (bytes, kept) in parts {
        match kept {
            Some(kept) => stage
                .add_others_before("test.place", &kept_of(bytes, kept))
                .unwrap(),
            None => stage.add_before("test.place", (*bytes).clone()).unwrap(),
        }
    }
    stage.take_compared().remove("test.place").unwrap().before
}

fn assert_alike(one: &Statistics, other: &Statistics) {
    assert_eq!(one.rows, other.rows);
    let reported = |statistics: &Statistics| -> Vec<String> {
        statistics
            .columns()
            .map(|column| format!("{column:?}"))
            .collect()
    };
    assert_eq!(reported(one), reported(other));
    for changes in [one.changes(other), other.changes(one)] {
        assert!(
            changes.gone == 0 && changes.columns.values().all(|(_, changed)| *changed == 0),
            "{changes:?}"
        );
    }
    assert_eq!(one.changes(other).records, other.changes(one).records);
}

/// If rows of a part are reused, its other rows are compared as if they were in a separate part.
#[test]
fn reused_rows_are_not_compared() {
    let place = Place::new();
    let subjects: Subjects = (0..20)
        .map(|subject| (subject, (1_200 + subject as usize * 3, 0)))
        .collect();
    let (_, all) = part_of(&place, &subjects, &BTreeSet::new(), None);
    let every: BTreeSet<u32> = subjects.keys().copied().collect();
    for built in [
        &[][..],
        &[0],
        &[19],
        &[3, 4, 11],
        &[0, 1, 2, 3, 4, 5, 6, 18],
    ] {
        let kept: BTreeSet<u32> = every
            .iter()
            .copied()
            .filter(|subject| !built.contains(subject))
            .collect();
        let others: Subjects = subjects
            .iter()
            .filter(|(subject, _)| built.contains(subject))
            .map(|(subject, rows)| (*subject, *rows))
            .collect();
        let (_, alone) = part_of(&place, &others, &BTreeSet::new(), None);
        let (by_place, alone) = (
            compared(&place, &[(&all, Some(&kept))]),
            compared(&place, &[(&alone, None)]),
        );
        assert_eq!(
            by_place.rows,
            others.values().map(|(rows, _)| *rows as u64).sum::<u64>()
        );
        assert_alike(&by_place, &alone);
    }
}

/// A sample is full after the first part, so only rows of the next part that can enter it are
/// inspected.
#[test]
fn parts_in_any_order_give_the_same_comparison() {
    let place = Place::new();
    let parts: Vec<Bytes> = (0..3)
        .map(|part| {
            part_of(
                &place,
                &(part * 10..part * 10 + 10)
                    .map(|subject| (subject, (900, i64::from(part))))
                    .collect(),
                &BTreeSet::new(),
                None,
            )
            .1
        })
        .collect();
    let orders = [[0, 1, 2], [2, 1, 0], [1, 2, 0]]
        .map(|order| compared(&place, &order.map(|part: usize| (&parts[part], None))));
    assert_alike(&orders[0], &orders[1]);
    assert_alike(&orders[0], &orders[2]);
    let whole: Subjects = (0..30)
        .map(|subject| (subject, (900, i64::from(subject / 10))))
        .collect();
    let (_, whole) = part_of(&place, &whole, &BTreeSet::new(), None);
    assert_alike(&orders[0], &compared(&place, &[(&whole, None)]));
}

#[test]
fn rows_cannot_be_reused_for_a_subject_that_was_built() {
    let place = Place::new();
    let subjects: Subjects = (0..3).map(|subject| (subject, (10, 0))).collect();
    let (_, published) = part_of(&place, &subjects, &BTreeSet::new(), None);
    let build = build(2024, "one", frame(2024, 1));
    let contracts = Contracts::from([("test.place".to_owned(), with_warnings())]);
    let stage = Stage::begin(&place.home, &contracts, build.task_id, build.entry).unwrap();
    let reused = kept_of(&published, &BTreeSet::from([1]));
    let error = stage
        .add(
            table(rows_of(&subjects, |_| true)),
            &inputs("one"),
            Some(&lineage(&subjects)),
            Some(&reused),
        )
        .unwrap_err()
        .to_string();
    assert!(error.contains("subject 0001 occurs twice"), "{error}");
}

#[test]
fn footer_without_the_subjects_of_its_rows_is_refused() {
    let digest = Digest::sha256(b"one").to_string();
    let subjects = PartSubject::all(&format!("0001 {digest} 3\n0002 - 0\n0003 - 4\n")).unwrap();
    let found: Vec<_> = subjects
        .iter()
        .map(|subject| {
            (
                subject.key.as_str(),
                subject.fingerprint,
                subject.rows.clone(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("0001", Some(Digest::sha256(b"one")), 0..3),
            ("0002", None, 3..3),
            ("0003", None, 3..7)
        ]
    );
    for wrong in [
        format!("0002 {digest}"),
        "0002 - x".to_owned(),
        "0002 ff 1".to_owned(),
        "0002 - 1 1".to_owned(),
        String::new(),
        "0001 - 1".to_owned(),
        "0000 - 1".to_owned(),
        format!("0002 - {}", u64::MAX),
    ] {
        let error = PartSubject::all(&format!("0001 {digest} 3\n{wrong}\n"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&format!("`{wrong}` does not describe the next subject")),
            "{error}"
        );
    }
    let place = Place::new();
    let build = build(2024, "one", frame(2024, 3));
    let contracts = Contracts::from([("test.place".to_owned(), contract())]);
    let staged = stage(&place.home, &contracts, build).unwrap();
    let error = PreviousPart::open(staged.bytes(&staged.parts[0].part).unwrap())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("lists subjects with 0 rows, but the part has 3"),
        "{error}"
    );
}

/// A row that points to a file which this build has not read could not be traced.
#[test]
fn rows_that_point_outside_the_inputs_of_the_build_are_not_reused() {
    let place = Place::new();
    let subjects: Subjects = (0..3).map(|subject| (subject, (10, 0))).collect();
    // Each row points into the whole file, whose digest differs the next day.
    let add = |of_inputs: &str, built: &[u32], reused: Option<&ReusedRows>| {
        let build = build(2024, of_inputs, frame(2024, 1));
        let contracts = Contracts::from([("test.place".to_owned(), with_warnings())]);
        let staging = Staging::for_task(&place.home, &build.task_id, &build.entry.input_hash);
        let stage = Stage::begin(&place.home, &contracts, build.task_id, build.entry).unwrap();
        let mut rows = rows_of(&subjects, |subject| built.contains(&subject));
        rows.with_column(pointers(&vec![&[0, 0, 10, 20][..]; rows.height()]).into())
            .unwrap();
        stage.add(
            table(rows),
            &inputs(of_inputs),
            Some(&lineage(&subjects)),
            reused,
        )?;
        Ok::<_, pubdata_core::error::Error>(Bytes::from(
            staging.part(&stage.parts()[0].part.path).unwrap().unwrap(),
        ))
    };
    let published = add("one", &[0, 1, 2], None).unwrap();
    let kept = || kept_of(&published, &BTreeSet::from([0, 1]));
    assert!(add("one", &[2], Some(&kept())).unwrap() == published);
    let error = add("two", &[2], Some(&kept())).unwrap_err().to_string();
    assert!(
        error.contains("which is not an input of this build"),
        "{error}"
    );
}

/// Rows whose subject did not contribute to the part would belong to no subject.
#[test]
fn rows_of_a_subject_missing_from_the_part_are_refused() {
    let place = Place::new();
    let subjects: Subjects = (0..3).map(|subject| (subject, (10, 0))).collect();
    let others: Subjects = (0..2).map(|subject| (subject, (10, 0))).collect();
    let build = build(2024, "one", frame(2024, 1));
    let contracts = Contracts::from([("test.place".to_owned(), with_warnings())]);
    let stage = Stage::begin(&place.home, &contracts, build.task_id, build.entry).unwrap();
    let error = stage
        .add(
            table(rows_of(&subjects, |_| true)),
            &inputs("one"),
            Some(&lineage(&others)),
            None,
        )
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("rows belong to 0002, which is not a subject of the shard"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn bytes_are_the_same_whichever_subjects_change(
        before in prop::collection::btree_map(0_u32..50, (0_usize..2_000, 0_i64..3), 0..40),
        changes in prop::collection::btree_map(0_u32..55, prop::option::of((0_usize..2_000, 0_i64..3)), 0..5),
    ) {
        let mut after = before.clone();
        for (subject, rows) in changes {
            match rows {
                Some(rows) => drop(after.insert(subject, rows)),
                None => drop(after.remove(&subject)),
            }
        }
        assert_same(&before, &after);
    }
}
