use proptest::prelude::*;
use pubdata_build::decode::{ColumnPlan, member_name};
use pubdata_core::pipeline::{Encoding, Format};

use super::{MAX_BYTES, Source, decode_file, delimited, plan_of};
use pubdata_testing::publisher::{archive, bomb, corrupt_archive};
use pubdata_testing::{only_member, project};

const COLUMNS: [&str; 3] = ["a", "b", "c"];

/// Generates bytes that have a meaning for a decoder more often than by chance.
fn hostile_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just(b"|".to_vec()),
        4 => Just(b"\n".to_vec()),
        2 => Just(b"\r\n".to_vec()),
        2 => Just(b"\r".to_vec()),
        3 => Just(b"\"".to_vec()),
        1 => Just(b"\"\"".to_vec()),
        1 => Just(b"\0".to_vec()),
        1 => Just(b"\xEF\xBB\xBF".to_vec()),
        1 => Just(b"\xFF\xC0".to_vec()),
        1 => Just("ñ\u{2028}😀".as_bytes().to_vec()),
        4 => "[ a-z0-9.]{0,6}".prop_map(String::into_bytes),
        2 => proptest::collection::vec(any::<u8>(), 0..12),
    ];
    proptest::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

/// Generates variants of a real file with some bytes replaced, removed or added, and sometimes
/// truncated.
fn mutated(bytes: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), 0..4_u8, any::<u8>());
    (
        proptest::collection::vec(change, 0..12),
        proptest::option::of(any::<prop::sample::Index>()),
    )
        .prop_map(move |(changes, cut)| {
            let mut bytes = bytes.to_vec();
            for (index, kind, byte) in changes {
                let at = index.index(bytes.len());
                match kind {
                    0 => bytes[at] = byte,
                    1 => bytes[at] = b"|\"\n\r\0,[]"[usize::from(byte) % 8],
                    2 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, byte),
                }
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            bytes
        })
}

fn check(bytes: &[u8], format: Format, plan: ColumnPlan) {
    let source = Source::new(bytes, None, format, plan);
    if let Ok(decoded) = source.decode(None) {
        assert!(
            decoded.frame.height() + decoded.malformed.len() <= bytes.len() + 1,
            "no more records than bytes"
        );
        source.assert_round_trip(&decoded);
    }
}

const TABLE: &[u8] = include_bytes!(
    "../../../fixtures/census/acs5/basic/source/www2.census.gov/programs-surveys/acs/summary_file/2023/table-based-SF/data/5YRData/acsdt5y2023-b25003.dat"
);

const DOWNLOAD: &[u8] = include_bytes!(
    "../../../fixtures/census/acs5/data_census_gov/source/ACSDT5Y2023.B01003-Data.csv"
);

const ANSWER: &[u8] = br#"[["NAME","S1701_C03_001E","S1701_C03_001M","zip code tabulation area"],
["ZCTA5 00601","61.9","5.2","00601"],
["ZCTA5 \u00f1 \"x\"",null,"-222222222.0","00602"]]
"#;

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn delimited_text_of_any_bytes_keeps_its_pointers(bytes in hostile_bytes(), quoting in any::<bool>()) {
        check(&bytes, delimited('|', quoting, &COLUMNS), plan_of(&COLUMNS));
    }

    #[test]
    fn delimited_text_with_a_header_line_keeps_its_pointers(bytes in hostile_bytes(), quoting in any::<bool>(), bom in any::<bool>()) {
        let head: &[u8] = if bom { b"\xEF\xBB\xBFa|b|c\r\n" } else { b"a|b|c\n" };
        check(&[head, &bytes].concat(), delimited('|', quoting, &[]), plan_of(&COLUMNS).keep_prefixes("b", vec![String::new(), "x".to_owned()]));
    }

    #[test]
    fn header_of_any_bytes_is_read_or_refused(bytes in hostile_bytes()) {
        check(&bytes, delimited('|', true, &[]), ColumnPlan::new(Vec::new()).want_optional("a", &["a", ""]));
    }

    #[test]
    fn damaged_table_is_read_or_refused(bytes in mutated(TABLE)) {
        let plan = ColumnPlan::new(vec!["B25003_E###".to_owned(), "B25003_M###".to_owned()]).want("geo_id", &["GEO_ID"]);
        check(&bytes, delimited('|', false, &[]), plan.keep_prefixes("geo_id", vec!["860Z200US".to_owned()]));
    }

    #[test]
    fn damaged_download_is_read_or_refused(bytes in mutated(DOWNLOAD)) {
        let format = Format::Delimited {
        delimiters: vec![','],
        quoting: true,
        escape: None,
        header: Vec::new(),
        fewest_cells: None,
        label_lines: 1,
        header_start: None,
        ruler: None,
        normalized_header: false,
        encoding: Encoding::Utf8,
    };
        check(&bytes, format, plan_of(&["GEO_ID", "NAME", "B01003_001E", "B01003_001M"]));
    }

    #[test]
    fn damaged_json_answer_is_read_or_refused(bytes in mutated(ANSWER)) {
        let plan = plan_of(&["NAME", "S1701_C03_001E", "S1701_C03_001M", "zip code tabulation area"]);
        check(&bytes, Format::JsonRows, plan);
    }

    #[test]
    fn json_rows_of_any_cells_keep_their_pointers(rows in proptest::collection::vec(proptest::collection::vec(".{0,8}", 0..4), 0..12)) {
        let text = serde_json::to_string(&std::iter::once(COLUMNS.map(str::to_owned).to_vec()).chain(rows).collect::<Vec<_>>()).unwrap();
        check(text.as_bytes(), Format::JsonRows, plan_of(&COLUMNS));
    }

    #[test]
    fn json_of_any_bytes_is_read_or_refused(bytes in proptest::collection::vec(prop::sample::select(b"[]{}\",:0-9.enulltrue \\u00\n\xC3".to_vec()), 0..200)) {
        check(&bytes, Format::JsonRows, plan_of(&COLUMNS));
        check(&[b"[[\"a\",\"b\",\"c\"],", bytes.as_slice(), b"]"].concat(), Format::JsonRows, plan_of(&COLUMNS));
    }

    #[test]
    fn damaged_archive_is_read_or_refused(seed in mutated(ARCHIVE_SEED)) {
        // The archive varies in its bytes; the mutations matter here.
        let whole = archive(&[("x/table.txt", TABLE)]);
        let bytes: Vec<u8> = whole.iter().enumerate().map(|(index, byte)| byte ^ seed.get(index % seed.len().max(1)).map_or(0, |other| other ^ ARCHIVE_SEED[index % ARCHIVE_SEED.len()])).collect();
        let plan = ColumnPlan::new(vec!["B25003_E###".to_owned(), "B25003_M###".to_owned()]).want("geo_id", &["GEO_ID"]);
        let source = Source::new(&bytes, Some("x/table.txt"), delimited('|', false, &[]), plan);
        let _ = member_name(&source.path, "*.txt");
        if let Ok(decoded) = source.decode(None) {
            source.assert_round_trip(&decoded);
        }
    }
}

/// As long as the archive, so that a change of one byte here changes one byte of the archive.
const ARCHIVE_SEED: &[u8] = &[7; 1500];

#[test]
fn real_archive_keeps_its_pointers() {
    let path = project(
        "fixtures/nces/edge_geocode/basic/source/nces.ed.gov/programs/edge/data/EDGE_GEOCODE_PUBLICSCH_2425.zip",
    );
    let columns: Vec<String> = (1..=23).map(|number| format!("c{number}")).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let member = member_name(&path, "*.TXT").unwrap();
    let source = Source::new(
        &std::fs::read(&path).unwrap(),
        Some(&member),
        delimited('|', true, &columns),
        plan_of(&columns),
    );
    let decoded = source.decode(None).unwrap();
    assert_eq!(
        (decoded.frame.height(), decoded.malformed.len()),
        (only_member(&path).1.lines().count(), 0)
    );
    source.assert_round_trip(&decoded);
}

#[test]
fn endless_line_is_refused_before_it_is_read_whole() {
    for quoting in [false, true] {
        let source = Source::new(
            &vec![b'x'; 40 << 20],
            None,
            delimited('|', quoting, &COLUMNS),
            plan_of(&COLUMNS),
        );
        let error = source.decode(None).unwrap_err().to_string();
        assert!(error.contains("is longer than 8388608 bytes"), "{error}");
    }
}

#[test]
fn unclosed_quotation_mark_consumes_at_most_the_longest_record() {
    // Eight megabytes of lines follow the mark: each is scanned once.
    let mut bytes = b"1|\"open|3\n".to_vec();
    bytes.extend(b"1|2|3\n".repeat(2 << 20));
    let source = Source::new(
        &bytes,
        None,
        delimited('|', true, &COLUMNS),
        plan_of(&COLUMNS),
    );
    let decoded = source.decode(None).unwrap();
    assert_eq!(decoded.malformed.len(), 1);
    assert!(
        decoded.malformed[0].length <= (8 << 20) + 6
            && decoded.malformed[0].source_text.len() <= 2_000
    );
    assert!(
        decoded.frame.height() > 500_000,
        "the lines after it are read"
    );
}

#[test]
fn records_of_another_width_are_not_collected_without_bound() {
    let source = Source::new(
        &b"x\n".repeat(1 << 20),
        None,
        delimited('|', false, &COLUMNS),
        plan_of(&COLUMNS),
    );
    let error = source.decode(None).unwrap_err().to_string();
    assert!(error.contains("more than 10000 records are not in the declared layout, the first at byte 0: the record has 1 cells, the header has 3"), "{error}");
}

#[test]
fn json_nested_a_million_times_is_refused() {
    let deep = [
        b"[[\"a\",\"b\",\"c\"],".to_vec(),
        vec![b'['; 1 << 20],
        vec![b']'; 1 << 20],
        b"]".to_vec(),
    ]
    .concat();
    let source = Source::new(&deep, None, Format::JsonRows, plan_of(&COLUMNS));
    if let Ok(decoded) = source.decode(None) {
        assert_eq!((decoded.frame.height(), decoded.malformed.len()), (0, 1));
    }
    let open = Source::new(
        &vec![b'['; 1 << 20],
        None,
        Format::JsonRows,
        plan_of(&COLUMNS),
    );
    open.decode(None).unwrap_err();
}

#[test]
fn members_that_grow_beyond_their_limit_are_refused() {
    let format = delimited('|', false, &COLUMNS);
    let bomb = Source::new(
        &bomb("b.txt", 80 << 20),
        Some("b.txt"),
        format.clone(),
        plan_of(&COLUMNS),
    );
    let error = bomb.decode(None).unwrap_err().to_string();
    assert!(
        error.contains("member `b.txt` declares 83886080 bytes, more than the 67108864"),
        "{error}"
    );

    // The directory declares a small member; it is not small.
    let mut lying = pubdata_testing::publisher::bomb("b.txt", 16 << 20);
    let directory = memchr::memmem::rfind(&lying, b"PK\x01\x02").unwrap();
    lying[22..26].copy_from_slice(&100_u32.to_le_bytes());
    lying[directory + 24..directory + 28].copy_from_slice(&100_u32.to_le_bytes());
    let lying = Source::new(&lying, Some("b.txt"), format.clone(), plan_of(&COLUMNS));
    lying.decode(None).unwrap_err();

    let corrupt = Source::new(
        &corrupt_archive("b.txt", TABLE),
        Some("b.txt"),
        format,
        plan_of(&COLUMNS),
    );
    corrupt.decode(None).unwrap_err();
}

#[test]
fn file_larger_than_declared_is_refused_while_it_is_read() {
    let bytes = b"1|2|3\n".repeat(usize::try_from(MAX_BYTES).unwrap() / 6 + 1_000);
    let source = Source::new(
        &bytes,
        None,
        delimited('|', false, &COLUMNS),
        plan_of(&COLUMNS),
    );
    let error = source.decode(None).unwrap_err().to_string();
    assert!(
        error.contains("is larger than the 67108864 bytes declared as its maximum"),
        "{error}"
    );
}

#[test]
fn ranges_outside_the_file_are_refused() {
    let source = Source::new(
        b"1|2|3\n",
        None,
        delimited('|', false, &COLUMNS),
        plan_of(&COLUMNS),
    );
    for range in [
        (0, 100),
        (100, 5),
        (u64::MAX, 1),
        (1, u64::MAX),
        (u64::MAX, u64::MAX),
    ] {
        source.decode(Some(&[range])).unwrap_err();
        decode_file(
            &source.path,
            None,
            &Format::JsonRows,
            &source.plan,
            Some(&[range]),
        )
        .unwrap_err();
    }
}

/// Eight hundred thousand columns: comparing each with every other would take a third of a million
/// million steps, and this test would never end.
#[test]
fn header_as_wide_as_a_line_may_be_is_scanned_once() {
    let columns: Vec<String> = (0..800_000).map(|number| format!("c{number}")).collect();
    let mut header = columns.join("|");
    header.push('\n');
    assert!(header.len() < 8 << 20);
    let record = format!("{}\n", vec!["1"; columns.len()].join("|"));
    let source = Source::new(
        format!("{header}{record}").as_bytes(),
        None,
        delimited('|', false, &[]),
        plan_of(&["c0", "c799999"]),
    );
    let decoded = source.decode(None).unwrap();
    assert_eq!((decoded.frame.height(), decoded.malformed.len()), (1, 0));
    let missing = Source::new(
        header.as_bytes(),
        None,
        delimited('|', false, &[]),
        plan_of(&["c0", "not there"]),
    );
    let error = missing.decode(None).unwrap_err().to_string();
    assert!(
        error.contains("not there") && error.len() < 10_000,
        "{} bytes",
        error.len()
    );
}
