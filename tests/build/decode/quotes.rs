//! Checks that misplaced quotation marks cost their own record, never its neighbours.

use pubdata_core::pipeline::Format;

use super::{Source, delimited, plan_of};

fn names(text: &str, escape: Option<char>) -> (Vec<String>, Vec<String>) {
    let format = match delimited(',', true, &[]) {
        Format::Delimited {
            delimiters,
            quoting,
            header,
            fewest_cells,
            label_lines,
            header_start,
            ruler,
            normalized_header,
            encoding,
            ..
        } => Format::Delimited {
            delimiters,
            quoting,
            escape,
            header,
            fewest_cells,
            label_lines,
            header_start,
            ruler,
            normalized_header,
            encoding,
        },
        _ => unreachable!(),
    };
    let source = Source::new(
        text.as_bytes(),
        None,
        format,
        plan_of(&["no", "name", "city"]),
    );
    let decoded = source.decode(None).unwrap();
    source.assert_round_trip(&decoded);
    let cells = decoded
        .frame
        .column("name")
        .unwrap()
        .str()
        .unwrap()
        .iter()
        .map(|cell| cell.unwrap_or_default().to_owned())
        .collect();
    (
        cells,
        decoded
            .malformed
            .into_iter()
            .map(|malformed| malformed.source_text)
            .collect(),
    )
}

const HEADER: &str = "no,name,city\n";

#[test]
fn stray_quotation_mark_costs_only_its_own_record() {
    let stray = "\"2\",\"PIPE 5\" LLC\",\"Mesa\"\n";
    let two_lines = "\"4\",\"FOUR\nAND MORE\",\"Mesa\"\n";
    let text = format!(
        "{HEADER}\"1\",\"ONE\",\"Mesa\"\n{stray}\"3\",\"THREE\",\"Mesa\"\n{two_lines}\"5\",\"FIVE\",\"Mesa\"\n"
    );
    let (read, malformed) = names(&text, None);
    assert_eq!(read, ["ONE", "THREE", "FOUR\nAND MORE", "FIVE"]);
    assert_eq!(malformed, [stray.trim_end()]);
    // Two stray marks close each other's record, which then has too many cells.
    let text = format!("{HEADER}{stray}\"3\",\"THREE\",\"Mesa\"\n{stray}\"5\",\"FIVE\",\"Mesa\"\n");
    let (read, malformed) = names(&text, None);
    assert_eq!(
        (read, malformed),
        (
            vec!["THREE".to_owned(), "FIVE".to_owned()],
            vec![stray.trim_end().to_owned(); 2]
        )
    );
    // The last line of a file.
    let (read, malformed) = names(
        &format!("{HEADER}\"1\",\"ONE\",\"Mesa\"\n{}", stray.trim_end()),
        None,
    );
    assert_eq!(
        (read, malformed),
        (vec!["ONE".to_owned()], vec![stray.trim_end().to_owned()])
    );
}

#[test]
fn escaped_quotation_mark_is_part_of_its_cell() {
    let text = format!(
        "{HEADER}\"1\",\"\\\"ACME\\\" BUILDERS, LLC\",\"Mesa\"\n\"2\",\"PIPE 5\\\" LLC\",\"Mesa\"\n\"3\",\"A \"\"B\"\" C\",\"Mesa\"\n\"4\",\"TWO\nLINES\",\"Mesa\"\n"
    );
    let (read, malformed) = names(&text, Some('\\'));
    assert_eq!(
        read,
        [
            "\"ACME\" BUILDERS, LLC",
            "PIPE 5\" LLC",
            "A \"B\" C",
            "TWO\nLINES"
        ]
    );
    assert_eq!(malformed, [""; 0]);
    // A cell that ends in the escape is not closed: only this cell is lost.
    let text = format!("{HEADER}\"1\",\"ROAD\\\",\"Mesa\"\n\"2\",\"TWO\",\"Mesa\"\n");
    let (read, malformed) = names(&text, Some('\\'));
    assert_eq!(
        (read, malformed),
        (
            vec!["TWO".to_owned()],
            vec!["\"1\",\"ROAD\\\",\"Mesa\"".to_owned()]
        )
    );
}
