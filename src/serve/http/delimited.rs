//! Writes the lines of a CSV table (RFC 4180).

/// Writes a line. `None` becomes an empty cell.
pub fn write_line<'a>(text: &mut Vec<u8>, cells: impl Iterator<Item = Option<&'a str>>) {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            text.push(b',');
        }
        cell.into_iter().for_each(|cell| write_text(text, cell));
    }
    text.extend_from_slice(b"\r\n");
}

/// Writes a string, and quotes it if it is empty or contains a quotation mark, a comma or a line
/// break. An empty cell without quotation marks therefore always means null.
pub fn write_text(text: &mut Vec<u8>, cell: &str) {
    if !cell.is_empty()
        && !cell
            .bytes()
            .any(|byte| matches!(byte, b'"' | b',' | b'\r' | b'\n'))
    {
        return text.extend_from_slice(cell.as_bytes());
    }
    text.push(b'"');
    for piece in cell.split_inclusive('"') {
        text.extend_from_slice(piece.as_bytes());
        if piece.ends_with('"') {
            text.push(b'"');
        }
    }
    text.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::write_line;

    #[test]
    fn cells_are_quoted_where_the_format_asks_for_it() {
        let mut text = Vec::new();
        let cells = [
            Some("plain"),
            Some("a,b"),
            Some("say \"hi\""),
            Some("two\r\nlines"),
            Some(""),
            None,
            Some("\""),
            Some(" blank "),
        ];
        write_line(&mut text, cells.into_iter());
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "plain,\"a,b\",\"say \"\"hi\"\"\",\"two\r\nlines\",\"\",,\"\"\"\", blank \r\n"
        );
    }
}
