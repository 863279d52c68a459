use std::cell::RefCell;
use std::path::PathBuf;

use polars::prelude::DataFrame;
use proptest::prelude::*;
use pubdata::decode::{HashPartitioner, Task, decode_chunks, read_partition};
use pubdata::ids::hash_bucket;
use pubdata::provenance::POINTERS;

use super::{MAX_BYTES, Source, delimited, places, plan_of};

const COLUMNS: [&str; 3] = ["key", "b", "c"];

/// The rows of a source in buckets, split in frames of so many rows.
fn split(source: &Source, rows: usize, count: u32, fallback_key: Option<&str>) -> Vec<DataFrame> {
    let folder = tempfile::tempdir().unwrap();
    let path_of = |bucket: u32| -> PathBuf { folder.path().join(bucket.to_string()) };
    let partitioner = HashPartitioner { key: "key", fallback_key, count, only: None, path_of: &path_of };
    let columns = RefCell::new(Vec::new());
    let task =
        Task { path: &source.path, format: &source.format, member: None, plan: &source.plan, input: 7, member_number: 9, max_bytes: MAX_BYTES, only: None };
    decode_chunks(&task, rows, &mut |frame| {
        assert!(frame.height() <= rows, "{} rows are more than {rows}", frame.height());
        *columns.borrow_mut() = frame.get_column_names().iter().filter(|name| **name != POINTERS).map(ToString::to_string).collect();
        partitioner.take(&frame).map(drop)
    })
    .unwrap();
    let frames: Vec<DataFrame> = (0..count).map(|bucket| read_partition(&path_of(bucket), &columns.borrow(), [7, 9]).unwrap()).collect();
    for frame in &frames {
        let numbers = frame.column(POINTERS).unwrap().explode(polars::prelude::ExplodeOptions { empty_as_null: false, keep_nulls: false }).unwrap();
        assert!(numbers.u64().unwrap().iter().step_by(4).all(|input| input == Some(7)));
    }
    frames
}

/// The cells of a row, and its place.
type Row = (Vec<Option<String>>, (u64, u64));

fn cells(frame: &DataFrame, row: usize) -> Row {
    let cells = COLUMNS.iter().map(|column| frame.column(column).unwrap().str().unwrap().get(row).map(str::to_owned)).collect();
    (cells, places(frame)[row])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_come_out_of_their_buckets_as_they_went_in(
        lines in proptest::collection::vec(("[a-e]{0,2}", "[ -~ñ,\"\u{85}]{0,8}", "(\"\"|\"a,b\"|\"a\"\"b\nc\"|x|)"), 0..40),
        rows in 1..7_usize,
        count in 1..5_u32,
        fallback_key in prop_oneof![Just(None), Just(Some("b"))],
    ) {
        let text: String = lines.iter().map(|(key, b, c)| format!("{key},{},{c}\n", b.replace(['"', ','], "'"))).collect();
        let source = Source::new(text.as_bytes(), None, delimited(',', true, &COLUMNS), plan_of(&COLUMNS));
        let whole = source.decode(None).unwrap().frame;
        let mut expected: Vec<Vec<Row>> = vec![Vec::new(); count as usize];
        let keys = whole.column("key").unwrap().str().unwrap();
        for row in 0..whole.height() {
            let key = keys.get(row).or_else(|| whole.column(fallback_key?).unwrap().str().unwrap().get(row));
            let bucket = key.map_or(0, |key| hash_bucket(key, count));
            expected[bucket as usize].push(cells(&whole, row));
        }
        for (bucket, frame) in split(&source, rows, count, fallback_key).iter().enumerate() {
            prop_assert_eq!(frame.height(), expected[bucket].len());
            for (row, expected) in expected[bucket].iter().enumerate() {
                prop_assert_eq!(&cells(frame, row), expected);
            }
        }
    }
}

#[test]
fn a_frame_without_the_column_is_refused() {
    let source = Source::new(b"a,b,c\n", None, delimited(',', true, &COLUMNS), plan_of(&COLUMNS));
    let path_of = |_: u32| -> PathBuf { unreachable!("nothing is written") };
    let partitioner = HashPartitioner { key: "number", fallback_key: None, count: 2, only: None, path_of: &path_of };
    assert!(partitioner.take(&source.decode(None).unwrap().frame).unwrap_err().to_string().contains("no column `number`"));
}
