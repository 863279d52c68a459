use pubdata_core::pipeline::{Encoding, Format};

use super::{Source, delimited, plan_of};

fn encoded(encoding: Encoding, quoting: bool) -> Format {
    match delimited(',', quoting, &[]) {
        Format::Delimited {
            delimiters,
            quoting,
            header,
            ..
        } => Format::Delimited {
            delimiters,
            quoting,
            escape: None,
            header,
            fewest_cells: None,
            label_lines: 0,
            header_start: None,
            ruler: None,
            normalized_header: false,
            encoding,
        },
        _ => unreachable!(),
    }
}

/// A name in a one-byte encoding and one in a multi-byte encoding, a dash of windows-1252, a byte
/// that windows-1252 leaves undefined, and both kinds of blanks.
const BYTES: &[u8] = b"name,note\nMU\xD1OZ,\"a \x96 \xA0\"\nMU\xC3\x91OZ,\x81\n\xA0,\0 b\0\0\n";

#[test]
fn bytes_are_read_in_the_declared_encoding_with_correct_pointers() {
    let eñe = Some("MUÑOZ");
    for (encoding, expected) in [
        (
            Encoding::Windows1252,
            [
                (eñe, Some("a –")),
                (Some("MUÃ‘OZ"), Some("\u{81}")),
                (None, Some("b")),
            ],
        ),
        (
            Encoding::Latin1,
            [
                (eñe, Some("a \u{96}")),
                (Some("MUÃ\u{91}OZ"), Some("\u{81}")),
                (None, Some("b")),
            ],
        ),
        (
            Encoding::Utf8OrWindows1252,
            [(eñe, Some("a –")), (eñe, Some("\u{81}")), (None, Some("b"))],
        ),
    ] {
        let source = Source::new(
            BYTES,
            None,
            encoded(encoding, true),
            plan_of(&["name", "note"]),
        );
        let decoded = source.decode(None).unwrap();
        assert!(decoded.malformed.is_empty());
        let (names, notes) = (
            decoded.frame.column("name").unwrap().str().unwrap(),
            decoded.frame.column("note").unwrap().str().unwrap(),
        );
        let rows: Vec<_> = names.iter().zip(notes.iter()).collect();
        assert_eq!(rows, expected, "{encoding:?}");
        source.assert_round_trip(&decoded);
    }
}

#[test]
fn invalid_utf_8_is_quarantined_by_record() {
    for quoting in [true, false] {
        let source = Source::new(
            BYTES,
            None,
            encoded(Encoding::Utf8, quoting),
            plan_of(&["name", "note"]),
        );
        let decoded = source.decode(None).unwrap();
        assert_eq!((decoded.frame.height(), decoded.malformed.len()), (0, 3));
        assert!(
            decoded
                .malformed
                .iter()
                .all(|malformed| malformed.detail == "the record is not UTF-8")
        );
        source.assert_round_trip(&decoded);
    }
}

#[test]
fn header_line_is_in_the_encoding_of_its_file() {
    let source = Source::new(
        b"A\xF1o\n2024\n",
        None,
        encoded(Encoding::Windows1252, false),
        plan_of(&["Año"]),
    );
    assert_eq!(source.decode(None).unwrap().frame.height(), 1);
    let source = Source::new(
        b"A\xF1o\n2024\n",
        None,
        encoded(Encoding::Utf8, false),
        plan_of(&["Año"]),
    );
    assert!(
        source
            .decode(None)
            .unwrap_err()
            .to_string()
            .contains("the header line is not UTF-8")
    );
}
