use pubdata_core::pipeline::{Encoding, Format};

use super::{Source, plan_of};

const INDEX: &str = "Description:           XBRL Index of EDGAR Dissemination Feed\nComments:              none\n \n \nCIK|Form Type\n-------------\n320193|10-K\n\n19617|8-K\n";

fn index(text: &str) -> Source {
    let format = Format::Delimited {
        delimiters: vec!['|'],
        quoting: false,
        escape: None,
        header: Vec::new(),
        fewest_cells: None,
        label_lines: 0,
        header_start: Some("CIK|".to_owned()),
        ruler: Some('-'),
        normalized_header: false,
        encoding: Encoding::Utf8,
    };
    Source::new(
        text.as_bytes(),
        None,
        format,
        plan_of(&["CIK", "Form Type"]),
    )
}

#[test]
fn preamble_is_skipped_and_its_records_keep_their_positions() {
    let source = index(INDEX);
    let decoded = source.decode(None).unwrap();
    assert_eq!((decoded.frame.height(), decoded.malformed.len()), (2, 0));
    source.assert_round_trip(&decoded);
}

#[test]
fn missing_header_or_ruler_is_an_error() {
    for (from, to, reason) in [
        (
            "CIK|Form Type\n",
            "Form Type|CIK\n",
            "none of the first 100 lines begins with `CIK|`",
        ),
        (
            "-------------\n",
            "",
            "the line after the header is not a line of `-`",
        ),
        (
            "-------------\n",
            "------ ------\n",
            "the line after the header is not a line of `-`",
        ),
        ("Description:", "<html>", "an HTML or XML page"),
    ] {
        let error = index(&INDEX.replacen(from, to, 1))
            .decode(None)
            .unwrap_err()
            .to_string();
        assert!(error.contains(reason), "{error}");
    }
    let long = format!("{}{INDEX}", " \n".repeat(100));
    assert!(index(&long).decode(None).is_err(), "a preamble has an end");
}
