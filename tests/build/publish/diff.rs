use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::{DataFrame, NamedFrom, Series};
use pubdata_build::publish::{Build, Contribution, stage};
use pubdata_core::contract::Contracts;
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_core::pipeline::LayoutEvidence;
use pubdata_core::provenance::Obtained;
use pubdata_store::{
    self as store, Cause, ColumnChange, DatasetDiff, RecordChange, RecordDiff, ReleaseDiff,
};

use super::{Place, build, contracts, frame, pointers, reused, task_id};
use crate::lists;

/// Publishes the builds in sequence while 2023 stays unchanged, and compares the two releases.
async fn compare_builds(
    contracts: &Contracts,
    old: Build,
    new: Build,
    examples: usize,
) -> ReleaseDiff {
    let place = Place::new();
    let contribution = |contracts: &Contracts, build: Build| {
        Contribution::Built(stage(&place.home, contracts, build).unwrap())
    };
    let from = place
        .publish(vec![
            place.built(2023, "one", 1),
            contribution(&super::contracts(), old),
        ])
        .await
        .release_id;
    let to = place
        .publish(vec![reused(2023), contribution(contracts, new)])
        .await
        .release_id;
    diff(&place, &from, &to, examples).await
}

async fn diff(place: &Place, from: &ReleaseId, to: &ReleaseId, examples: usize) -> ReleaseDiff {
    let (from, to) = (
        place.releases.manifest(from).await.unwrap(),
        place.releases.manifest(to).await.unwrap(),
    );
    store::diff(&place.releases, (&from, &to), examples, &[])
        .await
        .unwrap()
}

fn change(column: &str, from: Option<&str>, to: Option<&str>) -> ColumnChange {
    ColumnChange {
        column: column.to_owned(),
        from: from.map(str::to_owned),
        to: to.map(str::to_owned),
    }
}

fn source_changed(source_id: &str, from: &str, to: &str) -> Cause {
    let digest = |content: &str| Some(Digest::sha256(format!("{source_id} {content}").as_bytes()));
    Cause::SourceChanged {
        source_id: source_id.to_owned(),
        url: format!("https://example.org/{source_id}.zip"),
        from: digest(from),
        to: digest(to),
    }
}

/// Returns the frame of 2024 with another first place, so that one record disappears and one
/// appears.
fn moved(mut frame: DataFrame) -> DataFrame {
    frame
        .with_column(
            Series::new(
                "record_id".into(),
                [
                    "test.place:2024:00502",
                    "test.place:2024:10001",
                    "test.place:2024:99999",
                ],
            )
            .into(),
        )
        .unwrap();
    frame
        .with_column(Series::new("code".into(), ["00502", "10001", "99999"]).into())
        .unwrap();
    frame
}

#[tokio::test]
async fn added_removed_and_changed_records_are_counted_with_their_cause() {
    let mut later = moved(frame(2024, 8));
    later
        .with_column(Series::new("share".into(), [Some(-5_i64), Some(123), Some(999_999)]).into())
        .unwrap();
    let grades: [Option<&[&str]>; 3] = [Some(&["PK"]), None, Some(&["09", "10"])];
    later
        .with_column(lists("grades", grades.into_iter()))
        .unwrap();
    let found = compare_builds(
        &contracts(),
        build(2024, "one", frame(2024, 7)),
        build(2024, "two", later),
        9,
    )
    .await;
    let causes = vec![
        source_changed("test.a", "one", "two"),
        source_changed("test.b", "one", "two"),
    ];
    assert_eq!(found.causes, BTreeMap::from([(task_id(2024), causes)]));
    let place = &found.datasets["test.place"];
    assert_eq!(
        (
            place.added,
            place.removed,
            place.changed,
            place.provenance_only,
            place.unchanged
        ),
        (1, 1, 2, 0, 3)
    );
    assert_eq!(place.tasks, BTreeSet::from([task_id(2024)]));
    let record = |record_id: &str, change, columns| RecordDiff {
        record_id: record_id.to_owned(),
        change,
        columns,
        why: None,
    };
    let whole = |code: &str, persons: &str, grades: &str, is_new: bool| {
        let values = [
            ("year", "2024"),
            ("code", code),
            ("persons", persons),
            ("lat", "40.75"),
            ("is_open", "true"),
            ("opened", "1969-12-31"),
            ("share", "-0.5"),
        ];
        let values = values
            .into_iter()
            .chain([("grades", grades), ("validation_status", "passed")]);
        values
            .map(|(column, value)| {
                if is_new {
                    change(column, None, Some(value))
                } else {
                    change(column, Some(value), None)
                }
            })
            .collect()
    };
    let expected = [
        record(
            "test.place:2024:10001",
            RecordChange::Changed,
            vec![change("share", None, Some("12.3"))],
        ),
        record(
            "test.place:2024:99999",
            RecordChange::Changed,
            vec![change("grades", Some("[]"), Some("[09, 10]"))],
        ),
        record(
            "test.place:2024:00502",
            RecordChange::Added,
            whole("00502", "8", "[PK]", true),
        ),
        record(
            "test.place:2024:00501",
            RecordChange::Removed,
            whole("00501", "7", "[PK, KG, 01]", false),
        ),
    ];
    assert_eq!(place.examples, expected);
}

#[tokio::test]
async fn records_with_the_same_values_from_other_bytes_are_provenance_only() {
    let mut later = frame(2024, 7);
    later
        .with_column(pointers(&[&[0, 1, 11, 20], &[1, 0, 0, 5, 0, 1, 30, 2], &[]]).into())
        .unwrap();
    let mut new = build(2024, "one", later);
    new.entry.input_hash = Digest::sha256(b"2024 other code");
    new.entry.code_version = "2".to_owned();
    let found = compare_builds(&contracts(), build(2024, "one", frame(2024, 7)), new, 9).await;
    let tasks = BTreeSet::from([task_id(2024)]);
    assert_eq!(
        found.datasets["test.place"],
        DatasetDiff {
            provenance_only: 1,
            unchanged: 5,
            tasks,
            ..DatasetDiff::default()
        }
    );
    assert_eq!(
        found.causes[&task_id(2024)],
        [Cause::CodeChanged {
            from: "1".to_owned(),
            to: "2".to_owned()
        }]
    );
}

#[tokio::test]
async fn declaration_contract_and_sample_changes_are_separate_causes() {
    let changed = |alter: fn(&mut Build)| {
        let mut new = build(2024, "one", frame(2024, 7));
        new.entry.input_hash = Digest::sha256(b"2024 altered");
        alter(&mut new);
        async {
            compare_builds(&contracts(), build(2024, "one", frame(2024, 7)), new, 0)
                .await
                .causes
                .remove(&task_id(2024))
                .unwrap()
        }
    };
    assert_eq!(
        changed(|new| new.entry.declaration_hash = Digest::sha256(b"other")).await,
        [Cause::DeclarationChanged]
    );
    assert_eq!(
        changed(|new| new.entry.contracts_hash = Digest::sha256(b"other")).await,
        [Cause::ContractsChanged]
    );
    assert_eq!(
        changed(|new| new.entry.is_sample = Some(true)).await,
        [Cause::InputsChanged],
        "unknown for the earlier build"
    );
    assert_eq!(
        changed(|new| new.entry.layout_evidence = Some(LayoutEvidence::Confirmed)).await,
        [Cause::LayoutEvidenceChanged]
    );
    let dated = |new: &mut Build| {
        let input = &mut new.entry.inputs[0];
        (input.obtained, input.source_date) = (Obtained::Manual, "2024-05-06".to_owned());
    };
    assert!(
        matches!(changed(dated).await.as_slice(), [Cause::DateChanged { to, .. }] if to == "2024-05-06")
    );
    assert_eq!(
        changed(|new| new.entry.inputs.truncate(1)).await.len(),
        1,
        "a file is no longer read"
    );
}

#[tokio::test]
async fn added_removed_and_stale_tasks_are_causes() {
    let place = Place::new();
    let from = place
        .publish(vec![
            place.built(2023, "one", 1),
            place.built(2024, "one", 1),
        ])
        .await
        .release_id;
    // As earlier programs wrote it.
    let mut stale = build(2023, "one", frame(2023, 1));
    (stale.entry.is_stale, stale.entry.stale_reason) = (true, Some("503".to_owned()));
    let stale = Contribution::Built(stage(&place.home, &contracts(), stale).unwrap());
    let to = place
        .publish(vec![stale, place.built(2025, "one", 1)])
        .await
        .release_id;
    let found = diff(&place, &from, &to, 1).await;
    let stale = Cause::BecameStale {
        reason: Some("503".to_owned()),
    };
    let causes = [
        (task_id(2023), vec![stale]),
        (task_id(2024), vec![Cause::TaskRemoved]),
        (task_id(2025), vec![Cause::TaskAdded]),
    ];
    assert_eq!(found.causes, BTreeMap::from(causes));
    let place_diff = &found.datasets["test.place"];
    assert_eq!(
        (
            place_diff.added,
            place_diff.removed,
            place_diff.unchanged,
            place_diff.examples.len()
        ),
        (3, 3, 3, 2),
        "one of each kind"
    );
    let back = diff(&place, &to, &from, 0).await;
    assert_eq!(back.causes[&task_id(2023)], [Cause::BecameFresh]);
    assert_eq!(diff(&place, &to, &to, 5).await.causes, BTreeMap::new());
}

#[tokio::test]
async fn new_column_is_named_and_the_other_columns_are_compared() {
    let mut newer = contracts();
    let contract = newer.get_mut("test.place").unwrap();
    let mut column = contract.columns[3].clone();
    column.name = "households".to_owned();
    contract.columns.push(column);
    contract.version = "1.1.0".to_owned();
    let mut later = frame(2024, 8);
    later
        .with_column(Series::new("households".into(), [1_i64, 2, 3]).into())
        .unwrap();
    let mut new = build(2024, "one", later);
    new.entry.input_hash = Digest::sha256(b"2024 newer");
    new.entry.contracts_hash = Digest::sha256(b"newer");
    let found = compare_builds(&newer, build(2024, "one", frame(2024, 7)), new, 9).await;
    let place = &found.datasets["test.place"];
    assert_eq!(
        (&place.columns_added, &place.columns_removed),
        (&BTreeSet::from(["households".to_owned()]), &BTreeSet::new())
    );
    assert_eq!((place.changed, place.unchanged), (1, 5));
    assert_eq!(
        place.examples[0].columns,
        [change("persons", Some("7"), Some("8"))]
    );
}
