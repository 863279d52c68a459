use std::path::PathBuf;

use polars::prelude::DataFrame;
use proptest::prelude::*;
use pubdata_build::decode::{HashPartitioner, KeptRows, Task, partition, read_partition};
use pubdata_core::ids::hash_bucket;
use pubdata_core::provenance::POINTERS;

use super::{MAX_BYTES, Source, delimited, places, plan_of};

const COLUMNS: [&str; 3] = ["key", "b", "c"];

/// Returns the rows of a source in buckets, split `times` times.
fn split(source: &Source, times: u64, count: u32, fallback_key: Option<&str>) -> Vec<DataFrame> {
    let folder = tempfile::tempdir().unwrap();
    let path_of = |bucket: u32| -> PathBuf { folder.path().join(bucket.to_string()) };
    let partitioner = HashPartitioner {
        key: "key",
        fallback_key,
        count,
        kept: KeptRows::All,
        path_of: &path_of,
    };
    let task = Task {
        path: &source.path,
        format: &source.format,
        member: None,
        plan: &source.plan,
        input: 7,
        member_number: 9,
        max_bytes: MAX_BYTES,
        only: None,
    };
    let mut columns = Vec::new();
    for _ in 0..times {
        let (partitioned, malformed, findings) = partition(&task, partitioner).unwrap();
        let whole = source.decode(None).unwrap();
        assert_eq!(
            (partitioned.rows, malformed, findings),
            (whole.frame.height() as u64, whole.malformed, whole.columns)
        );
        assert_eq!(
            partitioned.filled,
            (0..count)
                .filter(|bucket| path_of(*bucket).exists())
                .collect()
        );
        columns = partitioned.columns;
    }
    let frames: Vec<DataFrame> = (0..count)
        .map(|bucket| read_partition(&path_of(bucket), &columns, [7, 9]).unwrap())
        .collect();
    for frame in &frames {
        let numbers = frame
            .column(POINTERS)
            .unwrap()
            .explode(polars::prelude::ExplodeOptions {
                empty_as_null: false,
                keep_nulls: false,
            })
            .unwrap();
        assert!(
            numbers
                .u64()
                .unwrap()
                .iter()
                .step_by(4)
                .all(|input| input == Some(7))
        );
    }
    frames
}

/// The cells of a row, and its byte range.
type Row = (Vec<Option<String>>, (u64, u64));

fn cells(frame: &DataFrame, row: usize) -> Row {
    let cells = COLUMNS
        .iter()
        .map(|column| {
            frame
                .column(column)
                .unwrap()
                .str()
                .unwrap()
                .get(row)
                .map(str::to_owned)
        })
        .collect();
    (cells, places(frame)[row])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_leave_their_buckets_unchanged(
        lines in proptest::collection::vec(("[a-e]{0,2}", "[ -~ñ,\"\u{85}]{0,8}", "(\"\"|\"a,b\"|\"a\"\"b\nc\"|x|)"), 0..40),
        times in 1..4_u64,
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
        for (bucket, frame) in split(&source, times, count, fallback_key).iter().enumerate() {
            let expected = &expected[bucket];
            prop_assert_eq!(frame.height(), expected.len() * times as usize);
            for (row, expected) in (0..times).flat_map(|_| expected).enumerate() {
                prop_assert_eq!(&cells(frame, row), expected);
            }
        }
    }
}

#[test]
fn rows_beyond_the_memory_limit_keep_their_order() {
    let rows = 300_000;
    let text: String = (0..rows)
        .map(|row| format!("{},{row},a cell of some thirty characters\n", row % 7))
        .collect();
    let source = Source::new(
        text.as_bytes(),
        None,
        delimited(',', false, &COLUMNS),
        plan_of(&COLUMNS),
    );
    let frames = split(&source, 1, 3, None);
    assert_eq!(frames.iter().map(DataFrame::height).sum::<usize>(), rows);
    let keys: Vec<u32> = (0..7).map(|key| hash_bucket(&key.to_string(), 3)).collect();
    for (bucket, frame) in (0..).zip(&frames) {
        let expected = (0..rows)
            .filter(|row| keys[row % 7] == bucket)
            .map(|row| row.to_string());
        let found = frame.column("b").unwrap().str().unwrap();
        assert!(
            found.iter().eq(expected
                .collect::<Vec<_>>()
                .iter()
                .map(|row| Some(row.as_str())))
        );
    }
}

#[test]
fn single_bucket_keeps_its_rows_and_all_rows_are_counted() {
    let text: String = (0..100).map(|row| format!("{row},b,c\n")).collect();
    let source = Source::new(
        text.as_bytes(),
        None,
        delimited(',', false, &COLUMNS),
        plan_of(&COLUMNS),
    );
    let all = split(&source, 1, 4, None);
    let folder = tempfile::tempdir().unwrap();
    let path_of = |bucket: u32| -> PathBuf { folder.path().join(bucket.to_string()) };
    let partitioner = HashPartitioner {
        key: "key",
        fallback_key: None,
        count: 4,
        kept: KeptRows::OfBucket(2),
        path_of: &path_of,
    };
    let task = Task {
        path: &source.path,
        format: &source.format,
        member: None,
        plan: &source.plan,
        input: 7,
        member_number: 9,
        max_bytes: MAX_BYTES,
        only: None,
    };
    let (partitioned, ..) = partition(&task, partitioner).unwrap();
    assert_eq!((partitioned.rows, partitioned.filled), (100, [2].into()));
    assert!(
        read_partition(&path_of(2), &partitioned.columns, [7, 9])
            .unwrap()
            .equals_missing(&all[2])
    );
    assert_eq!(
        read_partition(&path_of(1), &partitioned.columns, [7, 9])
            .unwrap()
            .height(),
        0
    );
}

#[test]
fn changed_bucket_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path_of = |bucket: u32| -> PathBuf { folder.path().join(bucket.to_string()) };
    let source = Source::new(
        "k,ñandú,x\nk,b,\n".as_bytes(),
        None,
        delimited(',', false, &COLUMNS),
        plan_of(&COLUMNS),
    );
    let partitioner = HashPartitioner {
        key: "key",
        fallback_key: None,
        count: 1,
        kept: KeptRows::All,
        path_of: &path_of,
    };
    let task = Task {
        path: &source.path,
        format: &source.format,
        member: None,
        plan: &source.plan,
        input: 7,
        member_number: 9,
        max_bytes: MAX_BYTES,
        only: None,
    };
    let (partitioned, ..) = partition(&task, partitioner).unwrap();
    let written = std::fs::read(path_of(0)).unwrap();
    let read = |bytes: &[u8]| {
        std::fs::write(path_of(0), bytes).unwrap();
        read_partition(&path_of(0), &partitioned.columns, [7, 9])
            .map(|frame| frame.height())
            .map_err(|error| error.to_string())
    };
    assert_eq!(read(&written), Ok(2));
    for length in 1..written.len() {
        assert!(
            read(&written[..length])
                .unwrap_err()
                .ends_with("is damaged"),
            "{length} of {} bytes",
            written.len()
        );
    }
    for place in 0..24 {
        let mut other = written.clone();
        other[place] ^= 0x80;
        assert!(
            read(&other).unwrap_err().ends_with("is damaged"),
            "byte {place}"
        );
    }
}

#[test]
fn file_without_the_column_is_refused() {
    let source = Source::new(
        b"a,b,c\n",
        None,
        delimited(',', true, &COLUMNS),
        plan_of(&COLUMNS),
    );
    let path_of = |_: u32| -> PathBuf { unreachable!("no bucket is written") };
    let partitioner = HashPartitioner {
        key: "number",
        fallback_key: None,
        count: 2,
        kept: KeptRows::All,
        path_of: &path_of,
    };
    let task = Task {
        path: &source.path,
        format: &source.format,
        member: None,
        plan: &source.plan,
        input: 7,
        member_number: 9,
        max_bytes: MAX_BYTES,
        only: None,
    };
    let refused = partition(&task, partitioner).err().unwrap();
    assert!(
        refused.to_string().contains("no column `number`"),
        "{refused}"
    );
}
