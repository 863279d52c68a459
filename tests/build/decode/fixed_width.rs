use std::collections::BTreeMap;

use proptest::prelude::*;
use pubdata_build::decode::ColumnPlan;
use pubdata_core::pipeline::{Encoding, Format};

use super::{MAX_BYTES, Source, decode_file, places, plan_of};
use pubdata_testing::publisher::archive;
use pubdata_testing::shared_data;

fn format(record_bytes: u32, encoding: Encoding, fields: &[(&str, u32, u32)]) -> Format {
    let fields: BTreeMap<String, [u32; 2]> = fields
        .iter()
        .map(|(name, first, length)| ((*name).to_owned(), [*first, *length]))
        .collect();
    Format::FixedWidth {
        record_bytes,
        encoding,
        fields,
    }
}

fn sunbiz() -> (Format, ColumnPlan) {
    let fields = [
        ("number", 1, 12),
        ("name", 13, 192),
        ("status", 205, 1),
        ("filing", 206, 15),
        ("agent", 545, 42),
        ("filler", 1437, 4),
    ];
    let names = ["number", "name", "status", "filing", "agent", "filler"];
    (
        format(1440, Encoding::Utf8OrWindows1252, &fields),
        plan_of(&names),
    )
}

#[test]
fn real_daily_file_of_sunbiz_is_read_byte_by_byte() {
    let Some(path) = shared_data("general/business/20230929c.txt") else {
        return;
    };
    let bytes = std::fs::read(path).unwrap();
    let (format, plan) = sunbiz();
    let source = Source::new(&bytes, None, format.clone(), plan.clone());
    let decoded = source.decode(None).unwrap();
    assert_eq!(
        (decoded.frame.height(), decoded.malformed.len()),
        (1_500, 0)
    );
    let text = |column: &str, row: usize| {
        decoded
            .frame
            .column(column)
            .unwrap()
            .str()
            .unwrap()
            .get(row)
            .map(str::to_owned)
    };
    assert_eq!(
        text("number", 1).as_deref(),
        std::str::from_utf8(&bytes[1441..1453]).ok()
    );
    assert_eq!(places(&decoded.frame)[1], (1441, 1440));
    assert!(
        (0..1_500).all(|row| text("filler", row).is_none()),
        "zero bytes are not text"
    );
    assert!((0..1_500).all(|row| matches!(text("status", row).as_deref(), Some("A" | "I"))));
    // Record 974 has a one-byte no-break space after its name; others have two-byte letters.
    let name = text("name", 974).unwrap();
    assert!(name.ends_with("ORATIONS LLC"), "{name:?}");
    source.assert_round_trip(&decoded);

    // The quarterly file is the same in an archive, with other line endings.
    let dos = String::from_utf8_lossy(&bytes[..2_882]).replace('\n', "\r\n");
    let packed = Source::new(
        &archive(&[("cordata0.txt", dos.as_bytes())]),
        Some("cordata0.txt"),
        format,
        plan,
    );
    let decoded = packed.decode(None).unwrap();
    assert_eq!(
        (places(&decoded.frame), decoded.malformed.len()),
        (vec![(0, 1440), (1442, 1440)], 0)
    );
    packed.assert_round_trip(&decoded);
}

#[test]
fn record_of_another_length_is_quarantined() {
    let source = Source::new(
        b"ab 12\nab 1\n\nab 123\r\ncd  7\r\n\x1a",
        None,
        format(5, Encoding::Utf8, &[("a", 1, 2), ("b", 3, 3)]),
        plan_of(&["a", "b"]),
    );
    let decoded = source.decode(None).unwrap();
    assert_eq!(places(&decoded.frame), [(0, 5), (20, 5)]);
    assert_eq!(
        decoded
            .frame
            .column("b")
            .unwrap()
            .str()
            .unwrap()
            .iter()
            .collect::<Vec<_>>(),
        [Some("12"), Some("7")]
    );
    let details: Vec<&str> = decoded
        .malformed
        .iter()
        .map(|malformed| malformed.detail.as_str())
        .collect();
    assert_eq!(
        details,
        [
            "the record has 4 bytes, declared are 5",
            "the record has 6 bytes, declared are 5"
        ]
    );
    source.assert_round_trip(&decoded);
}

#[test]
fn letter_cut_by_a_field_boundary_is_quarantined() {
    let source = Source::new(
        "ab\u{f1}c\nabcde\n".as_bytes(),
        None,
        format(5, Encoding::Utf8, &[("a", 1, 3), ("b", 4, 2)]),
        plan_of(&["a", "b"]),
    );
    let decoded = source.decode(None).unwrap();
    assert_eq!(
        (decoded.frame.height(), decoded.malformed[0].detail.as_str()),
        (1, "the field `a` is not UTF-8")
    );
    source.assert_round_trip(&decoded);
}

#[test]
fn file_without_line_ends_is_an_error() {
    let (format, plan) = sunbiz();
    let source = Source::new(&vec![b'x'; 9 << 20], None, format.clone(), plan.clone());
    assert!(
        source
            .decode(None)
            .unwrap_err()
            .to_string()
            .contains("is longer than")
    );
    assert!(
        decode_file(
            &source.path,
            None,
            &format,
            &plan,
            Some(&[(0, MAX_BYTES + 1)])
        )
        .is_err()
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_keep_their_pointers(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(0), Just(b' '), any::<u8>()], 0..200)) {
        for encoding in [Encoding::Utf8, Encoding::Windows1252, Encoding::Latin1, Encoding::Utf8OrWindows1252] {
            let source = Source::new(&bytes, None, format(3, encoding, &[("a", 1, 1), ("b", 2, 2)]), plan_of(&["a", "b"]));
            if let Ok(decoded) = source.decode(None) {
                source.assert_round_trip(&decoded);
            }
        }
    }
}
