use std::collections::BTreeMap;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::RowGroupMetaData;
use polars::prelude::{BooleanChunked, ChunkFull, DataFrame, NamedFrom, Series};
use pubdata_build::publish::{stage, staged};
use pubdata_core::contract::{Contract, Contracts, arrow_schema};
use pubdata_core::error::ErrorKind;
use pubdata_core::ids::Digest;
use pubdata_store::Staging;

use super::{Place, build, contract, contracts, frame, inputs, pointers, task_id};
use crate::lists;

fn staged_bytes(place: &Place) -> Bytes {
    let build = build(2024, "one", frame(2024, 7));
    let staging = Staging::for_task(&place.home, &build.task_id, &build.entry.input_hash);
    let staged = stage(&place.home, &contracts(), build).unwrap();
    staging
        .part(&staged.parts[0].part.path)
        .unwrap()
        .unwrap()
        .into()
}

fn read(bytes: &Bytes) -> RecordBatch {
    let mut batches = ParquetRecordBatchReaderBuilder::try_new(bytes.clone())
        .unwrap()
        .build()
        .unwrap();
    let batch = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none());
    batch
}

#[test]
fn part_holds_every_type_as_the_frame_had_it() {
    let batch = read(&staged_bytes(&Place::new()));
    assert_eq!(batch.schema().fields(), arrow_schema(&contract()).fields());
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let texts = |name: &str| {
        column(name)
            .as_string::<i32>()
            .iter()
            .map(|cell| cell.unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        texts("record_id"),
        [
            "test.place:2024:00501",
            "test.place:2024:10001",
            "test.place:2024:99999"
        ]
    );
    assert_eq!(texts("code"), ["00501", "10001", "99999"]);
    assert_eq!(
        column("year").as_primitive::<Int32Type>().values(),
        &[2024, 2024, 2024]
    );
    assert_eq!(
        column("persons")
            .as_primitive::<Int64Type>()
            .iter()
            .collect::<Vec<_>>(),
        [Some(7), None, Some(i64::MAX)]
    );
    assert_eq!(
        column("lat")
            .as_primitive::<Float64Type>()
            .iter()
            .collect::<Vec<_>>(),
        [Some(40.75), None, Some(-89.999_999)]
    );
    assert_eq!(
        column("is_open").as_boolean().iter().collect::<Vec<_>>(),
        [Some(true), None, Some(false)]
    );
    assert_eq!(
        column("opened")
            .as_primitive::<Date32Type>()
            .iter()
            .collect::<Vec<_>>(),
        [Some(-1), None, Some(19_782)]
    );
    assert_eq!(
        column("share")
            .as_primitive::<Decimal128Type>()
            .iter()
            .collect::<Vec<_>>(),
        [Some(-5), None, Some(999_999)]
    );
    assert_eq!(column("share").data_type(), &DataType::Decimal128(6, 1));
    let shown = |name: &str, row: usize| {
        ArrayFormatter::try_new(column(name), &FormatOptions::default())
            .unwrap()
            .value(row)
            .to_string()
    };
    assert_eq!(
        [shown("grades", 0), shown("grades", 2)],
        ["[PK, KG, 01]", "[]"]
    );
    assert!(column("grades").is_null(1) && column("grades").is_valid(2));
}

#[test]
fn pointers_are_published_with_source_digest_and_member() {
    let batch = read(&staged_bytes(&Place::new()));
    let lists = batch
        .column_by_name("source_pointers")
        .unwrap()
        .as_list::<i32>();
    let read = |row: usize| {
        let list = lists.value(row);
        let list = list.as_struct();
        let text = |name: &str, index: usize| {
            let cells = list.column_by_name(name).unwrap().as_string::<i32>();
            cells.is_valid(index).then(|| cells.value(index).to_owned())
        };
        let number = |name: &str, index: usize| {
            list.column_by_name(name)
                .unwrap()
                .as_primitive::<Int64Type>()
                .value(index)
        };
        (0..list.len())
            .map(|index| {
                (
                    text("source_id", index).unwrap(),
                    text("snapshot", index).unwrap(),
                    text("member", index),
                    number("offset", index),
                    number("length", index),
                )
            })
            .collect::<Vec<_>>()
    };
    let (a, b) = ("test.a".to_owned(), "test.b".to_owned());
    let digest = |source: &str| Digest::sha256(format!("{source} one").as_bytes()).to_string();
    let member = Some("places.csv".to_owned());
    assert_eq!(
        read(0),
        [(a.clone(), digest("test.a"), member.clone(), 10, 20)]
    );
    assert_eq!(
        read(1),
        [
            (b, digest("test.b"), None, 0, 5),
            (a, digest("test.a"), member, 30, 2)
        ]
    );
    assert_eq!(read(2), []);
    assert_eq!(
        inputs("one").resolve(&[0, 1, 10, 20])[0].source_id,
        "test.a"
    );
}

#[test]
fn footer_of_a_part_describes_it_and_allows_search_by_key() {
    let bytes = staged_bytes(&Place::new());
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let metadata = reader.metadata().clone();
    let file = metadata.file_metadata();
    let footer: BTreeMap<String, String> = file
        .key_value_metadata()
        .unwrap()
        .iter()
        .map(|pair| (pair.key.clone(), pair.value.clone().unwrap()))
        .collect();
    let keys: Vec<&str> = footer.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "ARROW:schema",
            "contract_sha256",
            "dataset_id",
            "pubdata_version",
            "schema_version",
            "task_id"
        ]
    );
    assert_eq!(
        (
            footer["dataset_id"].as_str(),
            footer["schema_version"].as_str()
        ),
        ("test.place", "1.0.0")
    );
    assert_eq!(footer["task_id"], task_id(2024));
    assert_eq!(file.created_by(), Some("pubdata version 0.1.0"));
    let group = metadata.row_group(0);
    let column = |name: &str| {
        group
            .columns()
            .iter()
            .position(|column| column.column_path().string() == name)
            .unwrap()
    };
    for name in ["record_id", "code"] {
        let filter = reader
            .get_row_group_column_bloom_filter(0, column(name))
            .unwrap()
            .unwrap();
        let (there, absent) = if name == "code" {
            ("00501", "00502")
        } else {
            ("test.place:2024:00501", "test.place:2024:00502")
        };
        assert_eq!(
            (filter.check(there), filter.check(absent)),
            (true, false),
            "{name}"
        );
    }
    assert!(
        reader
            .get_row_group_column_bloom_filter(0, column("persons"))
            .unwrap()
            .is_none()
    );
    assert_eq!(
        group.column(column("record_id")).dictionary_page_offset(),
        None
    );
    assert!(
        group
            .columns()
            .iter()
            .all(|column| column.column_index_offset().is_some()
                && column.offset_index_offset().is_some()),
        "page index"
    );
}

#[test]
fn empty_part_is_valid() {
    let place = Place::new();
    let staged = stage(
        &place.home,
        &contracts(),
        build(2024, "one", frame(2024, 7).head(Some(0))),
    )
    .unwrap();
    assert_eq!(
        (
            staged.parts[0].part.rows,
            staged.parts[0].part.key_range.clone()
        ),
        (0, None)
    );
}

#[test]
fn large_parts_have_bounded_row_groups() {
    let rows = 150_000;
    let codes: Vec<String> = (0..rows).map(|row| format!("{row:06}")).collect();
    let ids: Vec<String> = codes
        .iter()
        .map(|code| format!("test.place:2024:{code}"))
        .collect();
    let text = |name: &str, value: Option<&str>| Series::new(name.into(), vec![value; rows]);
    let frame = DataFrame::new_infer_height(vec![
        Series::new("record_id".into(), ids).into(),
        Series::new("year".into(), vec![2024_i32; rows]).into(),
        Series::new("code".into(), codes).into(),
        Series::new("persons".into(), (0..rows as i64).collect::<Vec<_>>()).into(),
        Series::new("lat".into(), vec![None::<f64>; rows]).into(),
        Series::new("is_open".into(), vec![Some(true); rows]).into(),
        text("opened", None).into(),
        Series::new("share".into(), vec![None::<i64>; rows]).into(),
        lists("grades", vec![None::<[&str; 0]>; rows].into_iter()),
        text("validation_status", Some("passed")).into(),
        pointers(&vec![&[0_u64, 1, 10, 20][..]; rows]).into(),
    ])
    .unwrap();
    let place = Place::new();
    let build = build(2024, "one", frame);
    let staging = Staging::for_task(&place.home, &build.task_id, &build.entry.input_hash);
    let staged = stage(&place.home, &contracts(), build).unwrap();
    let bytes: Bytes = staging
        .part(&staged.parts[0].part.path)
        .unwrap()
        .unwrap()
        .into();
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let groups: Vec<i64> = reader
        .metadata()
        .row_groups()
        .iter()
        .map(RowGroupMetaData::num_rows)
        .collect();
    assert_eq!(groups, [65_536, 65_536, 18_928]);
}

/// Stages the good frame with one column replaced and expects a refusal whose text contains all
/// `words`.
fn check_refused(column: Series, words: &[&str]) {
    let mut frame = frame(2024, 7);
    frame.with_column(column.into()).unwrap();
    check_frame_refused(frame, words);
}

fn check_frame_refused(frame: DataFrame, words: &[&str]) {
    let place = Place::new();
    let error = stage(&place.home, &contracts(), build(2024, "one", frame)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Contract, "{error}");
    let text = error.to_string();
    assert!(
        words
            .iter()
            .chain(&["test.place"])
            .all(|word| text.contains(word)),
        "{text}"
    );
    assert!(
        staged(
            &place.home,
            &task_id(2024),
            &Digest::sha256(b"2024 one"),
            None
        )
        .unwrap()
        .is_none()
    );
}

#[test]
fn frame_that_breaks_the_contract_is_refused_with_column_and_record() {
    let first = "test.place:2024:00501";
    let second = "test.place:2024:10001";
    check_frame_refused(
        frame(2024, 7).drop("lat").unwrap(),
        &["column `lat` is missing"],
    );
    check_refused(
        Series::new("surprise".into(), [1_i64, 2, 3]),
        &["column `surprise` is not in the contract"],
    );
    check_refused(
        Series::new("persons".into(), ["1", "2", "3"]),
        &["column `persons` has the type str", "i64"],
    );
    check_refused(
        Series::new("year".into(), [2024_i64, 2024, 2024]),
        &["column `year` has the type i64", "i32"],
    );
    check_refused(
        Series::new("code".into(), [Some("00501"), None, Some("99999")]),
        &["column `code`", second, "is null"],
    );
    check_refused(
        Series::new("opened".into(), [None, Some("2023-02-29"), None]),
        &["column `opened`", second, "`2023-02-29`"],
    );
    check_refused(
        Series::new("opened".into(), [None, Some("20230228"), None]),
        &["column `opened`", second, "`20230228`"],
    );
    check_refused(
        Series::new("share".into(), [Some(-1_000_000_i64), None, None]),
        &["column `share`", first, "more than the 6 digits"],
    );
    check_refused(
        Series::new("lat".into(), [Some(f64::NAN), None, None]),
        &["column `lat`", first, "not a finite number"],
    );
    check_refused(
        lists(
            "grades",
            [None, Some(&["PK", "", "01"][..]), None].into_iter(),
        )
        .take_materialized_series(),
        &["column `grades`", second, "empty item"],
    );
    check_refused(
        lists("grades", [None, Some(&[""][..]), None].into_iter()).take_materialized_series(),
        &["column `grades`", second, "empty item"],
    );
    check_refused(
        Series::new("grades".into(), [None, Some("PK"), None]),
        &["column `grades` has the type str", "list[str]"],
    );
    check_refused(
        pointers(&[&[0, 0, 1, 1], &[0, 0, 1], &[]]),
        &["column `source_pointers`", second, "four numbers"],
    );
}

#[test]
fn unsorted_repeated_or_misplaced_rows_are_refused() {
    check_frame_refused(
        frame(2024, 7).reverse(),
        &[
            "test.place:2024:10001 comes after test.place:2024:99999",
            "(year, code)",
        ],
    );
    check_frame_refused(frame(2023, 7), &["test.place:2023:00501", "year=2024"]);
    let twice = |name: &str, values: [&str; 3]| Series::new(name.into(), values);
    check_refused(
        twice(
            "record_id",
            ["test.place:1", "test.place:2", "test.place:2"],
        ),
        &["`test.place:2` occurs twice"],
    );
    check_refused(
        twice("record_id", ["test.place:1", "other:2", "test.place:3"]),
        &["`other:2` does not begin with `test.place:`"],
    );
    check_refused(
        twice("code", ["00501", "10001", "10001"]),
        &["test.place:2024:99999", "primary key (year, code)"],
    );
}

/// Returns the good frame `rows` times, sorted by the year alone, with descending codes.
fn falling(rows: usize) -> DataFrame {
    let mut frame = (1..rows).fold(frame(2024, 7).head(Some(1)), |all, _| {
        all.vstack(&frame(2024, 7).head(Some(1))).unwrap()
    });
    let codes: Vec<String> = (0..rows)
        .rev()
        .map(|number| format!("{number:05}"))
        .collect();
    let ids: Vec<String> = codes
        .iter()
        .map(|code| format!("test.place:2024:{code}"))
        .collect();
    frame
        .with_column(Series::new("code".into(), codes).into())
        .unwrap();
    frame
        .with_column(Series::new("record_id".into(), ids).into())
        .unwrap();
    frame
}

#[test]
fn duplicate_key_is_found_among_few_equally_sorted_rows_and_many() {
    let contract = Contract {
        sort_by: vec!["year".to_owned()],
        ..contract()
    };
    let staged = |frame: DataFrame, key: &[&str]| {
        let contract = Contract {
            primary_key: key.iter().map(|name| (*name).to_owned()).collect(),
            ..contract.clone()
        };
        let contracts = Contracts::from([("test.place".to_owned(), contract)]);
        stage(&Place::new().home, &contracts, build(2024, "one", frame))
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    for rows in [2, 16, 17, 18, 40] {
        assert_eq!(staged(falling(rows), &["year", "code"]), Ok(()), "{rows}");
        for twice in [0, rows - 2] {
            let mut frame = falling(rows);
            let mut codes: Vec<String> = frame
                .column("code")
                .unwrap()
                .str()
                .unwrap()
                .iter()
                .flatten()
                .map(str::to_owned)
                .collect();
            codes[rows - 1] = codes[twice].clone();
            frame
                .with_column(Series::new("code".into(), codes).into())
                .unwrap();
            let refused = staged(frame, &["year", "code"]).unwrap_err();
            assert!(
                refused.contains(
                    "test.place:2024:00000 has the primary key (year, code) of an earlier one"
                ),
                "{rows}: {refused}"
            );
        }
    }
    for (key, cells) in [
        ("lat", Series::new("lat".into(), [1.5, -1.5, 1.5])),
        (
            "is_open",
            Series::new("is_open".into(), [true, false, true]),
        ),
    ] {
        let mut frame = falling(3);
        assert!(
            staged(frame.clone(), &["year", key])
                .unwrap_err()
                .contains("test.place:2024:00001 has the primary key"),
            "{key}"
        );
        frame.with_column(cells.into()).unwrap();
        assert!(
            staged(frame.clone(), &["year", key])
                .unwrap_err()
                .contains("test.place:2024:00000 has the primary key"),
            "{key}"
        );
        assert_eq!(staged(frame.head(Some(2)), &["year", key]), Ok(()), "{key}");
    }
}

#[test]
fn value_that_cannot_be_part_of_a_file_name_is_refused() {
    let place = Place::new();
    for value in ["", "..", "a/b", "a b", "a~b"] {
        let mut build = build(2024, "one", frame(2024, 7));
        build.tables[0]
            .partition
            .insert("year".to_owned(), value.to_owned());
        let error = stage(&place.home, &contracts(), build).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("cannot be part of a file's name"),
            "{error}"
        );
    }
}

#[test]
fn equal_frames_make_equal_bytes_however_they_are_chunked() {
    let whole = frame(2024, 7);
    let mut chunked = whole.head(Some(1));
    chunked.vstack_mut(&whole.slice(1, 2)).unwrap();
    let filtered = whole
        .filter(&BooleanChunked::full("all".into(), true, whole.height()))
        .unwrap();
    let digests = [whole, chunked, filtered].map(|frame| {
        let place = Place::new();
        stage(&place.home, &contracts(), build(2024, "one", frame))
            .unwrap()
            .parts[0]
            .part
            .sha256
    });
    assert!(
        digests.iter().all(|digest| *digest == digests[0]),
        "{digests:?}"
    );
}

#[test]
fn whole_staged_build_is_found_again_and_a_damaged_one_is_not() {
    let place = Place::new();
    let hash = Digest::sha256(b"2024 one");
    let find = || staged(&place.home, &task_id(2024), &hash, None).unwrap();
    assert!(find().is_none());
    let made = stage(
        &place.home,
        &contracts(),
        build(2024, "one", frame(2024, 7)),
    )
    .unwrap();
    let found = find().unwrap();
    assert_eq!(
        (&found.task_id, &found.entry, &found.parts),
        (&made.task_id, &made.entry, &made.parts)
    );
    assert!(
        staged(&place.home, &task_id(2024), &Digest::sha256(b"other"), None)
            .unwrap()
            .is_none()
    );
    assert!(
        staged(
            &place.home,
            &task_id(2024),
            &hash,
            Some(&Digest::sha256(b"another release"))
        )
        .unwrap()
        .is_none()
    );

    let folder = std::fs::read_dir(place.home.staging_dir())
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let part = folder.join(&made.parts[0].part.path);
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&part, &bytes).unwrap();
    assert!(find().is_none(), "one flipped bit");
    std::fs::remove_file(&part).unwrap();
    assert!(find().is_none(), "a missing part");
    stage(
        &place.home,
        &contracts(),
        build(2024, "one", frame(2024, 7)),
    )
    .unwrap();
    assert!(find().is_some());
    let description = folder.join("build.json");
    let text = std::fs::read(&description).unwrap();
    std::fs::write(&description, &text[..text.len() / 2]).unwrap();
    assert!(find().is_none(), "half of a description");
}
