//! Checks files of records: each record's pointer must lead to bytes that alone decode to the same
//! record, and a second read must give the same result.

use std::collections::BTreeMap;
use std::path::Path;

use polars::prelude::DataFrame;
use pubdata_build::decode::{
    ColumnPlan, Decoded, HashPartitioner, KeptRows, Task, columns, count_records, decode, decode_chunks, excerpt, partition, read_partition, read_range,
};
use pubdata_core::pipeline::{Encoding, Format};
use pubdata_core::provenance::POINTERS;

use crate::archives::stored;
use crate::place;

const MAX_BYTES: u64 = 1 << 20;

/// Maximum number of records to decode alone.
const ALONE: usize = 6;

const ENCODINGS: [Encoding; 4] = [Encoding::Utf8, Encoding::Windows1252, Encoding::Latin1, Encoding::Utf8OrWindows1252];

/// Decodes delimited text: two bytes choose the declaration, then the file follows.
pub fn delimited(data: &[u8]) {
    let (how, data) = place::choice(data);
    let (more, bytes) = place::choice(data);
    let is = |byte: u8, bit: u8| byte & (1 << bit) != 0;
    let header: Vec<String> = if is(how, 4) { ["a", "b", "c"].map(str::to_owned).to_vec() } else { Vec::new() };
    let has_header_line = header.is_empty();
    let format = Format::Delimited {
        delimiters: [vec![','], vec!['|'], vec!['\t'], vec![',', ';', '|']][usize::from(how & 3)].clone(),
        quoting: is(how, 2),
        escape: (is(how, 2) && is(how, 3)).then_some('\\'),
        header,
        fewest_cells: is(more, 4).then_some(2),
        label_lines: u32::from(more & 3),
        header_start: (has_header_line && is(more, 3)).then(|| "a".to_owned()),
        ruler: (has_header_line && is(more, 2)).then_some('-'),
        normalized_header: has_header_line && is(how, 5),
        encoding: ENCODINGS[usize::from(how >> 6)],
    };
    let keep = is(more, 5).then(|| vec![String::new(), "1".to_owned()]);
    check(&place::file("table", bytes), bytes, &format, None, keep);
}

/// Decodes fixed-width text: two bytes choose the record length and the encoding, then the file
/// follows.
pub fn fixed_width(data: &[u8]) {
    let (length, data) = place::choice(data);
    let (how, bytes) = place::choice(data);
    let length = u32::from(length % 64) + 1;
    let fields = [("a", [1, length.div_ceil(2)]), ("b", [length.div_ceil(2), 1]), ("whole", [1, length])];
    let fields: BTreeMap<String, [u32; 2]> = fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect();
    let format = Format::FixedWidth { record_bytes: length, encoding: ENCODINGS[usize::from(how & 3)], fields };
    check(&place::file("table", bytes), bytes, &format, None, (how & 4 != 0).then(|| vec!["1".to_owned(), "A".to_owned()]));
}

/// Decodes a list of lists of texts.
pub fn json_rows(bytes: &[u8]) {
    check(&place::file("table", bytes), bytes, &Format::JsonRows, None, None);
}

/// Decodes JSON records: one byte chooses their path, then the file follows.
pub fn json_records(data: &[u8]) {
    let (how, bytes) = place::choice(data);
    let records = [None, Some("features"), Some("result.records"), Some("a")][usize::from(how & 3)].map(str::to_owned);
    check(&place::file("table", bytes), bytes, &Format::JsonRecords { records, normalized_header: how & 4 != 0 }, None, None);
}

/// Decodes a workbook: a sheet, a zero byte, and the shared strings.
pub fn xlsx(data: &[u8]) {
    const SHEET: &str = "xl/worksheets/sheet1.xml";
    let (sheet, shared) = data.iter().position(|byte| *byte == 0).map_or((data, None), |at| (&data[..at], Some(&data[at + 1..])));
    let members: Vec<(&str, &[u8])> = [(SHEET, sheet)].into_iter().chain(shared.map(|shared| ("xl/sharedStrings.xml", shared))).collect();
    check(&place::file("table", &stored(&members)), sheet, &Format::Xlsx, Some(SHEET), None);
}

fn task<'a>(path: &'a Path, format: &'a Format, member: Option<&'a str>, plan: &'a ColumnPlan, only: Option<&'a [(u64, u64)]>) -> Task<'a> {
    Task { path, format, member, plan, input: 7, member_number: 3, max_bytes: MAX_BYTES, only }
}

/// Reads a file by the names in its own header and checks the result. `bytes` is the content that
/// pointers refer to.
pub fn check(path: &Path, bytes: &[u8], format: &Format, member: Option<&str>, keep: Option<Vec<String>>) {
    let nothing = ColumnPlan::default();
    let names = columns(&task(path, format, member, &nothing, None)).unwrap_or_default();
    let _ = count_records(path, format, MAX_BYTES);
    check_excerpt(format, bytes);
    let named = |index: usize| names.iter().filter(|name| !name.is_empty()).nth(index).map_or("a", String::as_str);
    let mut plan = ColumnPlan::new(vec!["c#".to_owned(), String::new()]).want_optional("one", &[named(0), "a"]).want_optional("two", &[named(1)]);
    plan = plan.want_optional("three", &["nowhere", named(2)]);
    if let Some(prefixes) = keep {
        plan = plan.keep_prefixes("one", prefixes);
    }
    let Ok(decoded) = decode(&task(path, format, member, &plan, None)) else { return };
    let again = decode(&task(path, format, member, &plan, None)).expect("what was read is read again");
    assert!(again.frame.equals_missing(&decoded.frame) && again.malformed == decoded.malformed && again.columns == decoded.columns, "read twice");
    pointers_lead_back(path, bytes, format, member, &plan, &decoded);
    in_chunks(path, format, member, &plan, &decoded);
    through_buckets(path, format, member, &plan, &decoded);
}

fn check_excerpt(format: &Format, bytes: &[u8]) {
    for (is_whole, records) in [(true, 3), (false, 2), (true, usize::MAX)] {
        let Some((cut, count)) = excerpt(format, bytes, is_whole, records) else { continue };
        assert!(count <= records as u64, "{count} records are in an excerpt of {records}");
        let is_prefix = bytes.starts_with(&cut);
        assert!(is_prefix || matches!(format, Format::JsonRows | Format::JsonRecords { .. }), "an excerpt is the file's beginning");
    }
}

/// Returns offset and length of each record.
fn places(frame: &DataFrame) -> Vec<(u64, u64)> {
    let lists = frame.column(POINTERS).expect("a frame has pointers").list().expect("pointers are lists");
    let numbers = |row: usize| -> Vec<u64> { lists.get_as_series(row).expect("a row has a pointer").u64().expect("of numbers").into_no_null_iter().collect() };
    let places = (0..frame.height()).map(numbers);
    places.map(|numbers| (numbers[0..2] == [7, 3]).then_some((numbers[2], numbers[3])).expect("a pointer names its file")).collect()
}

fn pointers_lead_back(path: &Path, bytes: &[u8], format: &Format, member: Option<&str>, plan: &ColumnPlan, decoded: &Decoded) {
    let places = places(&decoded.frame);
    let malformed = decoded.malformed.iter().map(|malformed| (malformed.offset, malformed.length));
    for (offset, length) in places.iter().copied().chain(malformed) {
        assert!(offset.checked_add(length).is_some_and(|end| end <= bytes.len() as u64), "bytes {offset} to {length} more are not in the file");
    }
    assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "records share bytes");
    let replayed = decode(&task(path, format, member, plan, Some(&places))).expect("records are read again");
    assert!(replayed.frame.equals_missing(&decoded.frame), "{:?} is not {:?}", replayed.frame, decoded.frame);
    for (row, (offset, length)) in places.iter().enumerate().take(ALONE) {
        let range = read_range(path, member, *offset, *length, MAX_BYTES).expect("a record's bytes are there");
        assert_eq!(range, bytes[*offset as usize..(*offset + *length) as usize]);
        let alone = decode(&task(path, format, member, plan, Some(&[(*offset, *length)]))).expect("a record is read alone");
        assert!(alone.frame.equals_missing(&decoded.frame.slice(row as i64, 1)), "record {row} alone is another: {:?}", alone.frame);
    }
    for malformed in decoded.malformed.iter().take(ALONE) {
        let range = &bytes[malformed.offset as usize..(malformed.offset + malformed.length) as usize];
        let text: String = String::from_utf8_lossy(range).chars().take(2_000).collect();
        assert_eq!(text, malformed.source_text, "a finding shows its bytes");
    }
}

/// Checks that small frames together equal the whole.
fn in_chunks(path: &Path, format: &Format, member: Option<&str>, plan: &ColumnPlan, decoded: &Decoded) {
    let mut whole: Option<DataFrame> = None;
    let mut take = |frame: DataFrame| -> pubdata_core::error::Result<()> {
        match &mut whole {
            Some(whole) => drop(whole.vstack_mut(&frame)?),
            None => whole = Some(frame),
        }
        Ok(())
    };
    let (malformed, columns) = decode_chunks(&task(path, format, member, plan, None), 3, &mut take).expect("read in pieces");
    assert!(whole.expect("every file gives a frame").equals_missing(&decoded.frame), "pieces are the whole");
    assert!(malformed == decoded.malformed && columns == decoded.columns);
}

/// Checks that rows split into buckets on disk are read back unchanged.
fn through_buckets(path: &Path, format: &Format, member: Option<&str>, plan: &ColumnPlan, decoded: &Decoded) {
    let folder = place::empty("buckets");
    let split = |count: u32| {
        let path_of = |bucket: u32| folder.join(format!("{count}-{bucket}"));
        let partitioner = HashPartitioner { key: "one", fallback_key: Some("two"), count, kept: KeptRows::All, path_of: &path_of };
        let (partitioned, malformed, columns) = partition(&task(path, format, member, plan, None), partitioner).expect("rows are split");
        assert!(partitioned.rows == decoded.frame.height() as u64 && malformed == decoded.malformed && columns == decoded.columns);
        (0..count).map(|bucket| read_partition(&path_of(bucket), &partitioned.columns, [7, 3]).expect("rows are read back")).collect::<Vec<DataFrame>>()
    };
    assert!(split(1)[0].equals_missing(&decoded.frame), "rows of one bucket are all rows");
    assert_eq!(split(4).iter().map(DataFrame::height).sum::<usize>(), decoded.frame.height());
}
