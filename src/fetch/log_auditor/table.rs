//! Reads the record ids from a text table (RFC 4180), which may be truncated.

/// Returns the cells of the column `record_id`; `None` if the table has no such column or is not
/// UTF-8. Omits the last line if it may be truncated.
pub(super) fn record_ids(table: &[u8], is_whole: bool) -> Option<Vec<String>> {
    let mut lines = lines(table);
    if !is_whole {
        lines.pop();
    }
    let column = lines
        .first()?
        .iter()
        .position(|name| name == b"record_id")?;
    lines
        .into_iter()
        .skip(1)
        .map(|mut line| {
            (column < line.len()).then(|| String::from_utf8(line.swap_remove(column)).ok())?
        })
        .collect()
}

/// Returns the cells of each line. The last line may lack a line ending.
fn lines(table: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let (mut lines, mut line, mut cell) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_quoted = false;
    let mut bytes = table.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if is_quoted && bytes.peek() == Some(&b'"') => {
                bytes.next();
                cell.push(b'"');
            }
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => line.push(std::mem::take(&mut cell)),
            b'\n' if !is_quoted => {
                cell.pop_if(|last| *last == b'\r');
                line.push(std::mem::take(&mut cell));
                lines.push(std::mem::take(&mut line));
            }
            _ => cell.push(byte),
        }
    }
    if !(line.is_empty() && cell.is_empty()) {
        line.push(cell);
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_column_whatever_stands_beside_them() {
        let table = b"name,record_id\r\n\"a, \"\"b\"\"\r\nc\",x.y:1\r\n,\"x.y:2,3\"\r\nlast,x.y:4";
        assert_eq!(
            record_ids(table, true).unwrap(),
            ["x.y:1", "x.y:2,3", "x.y:4"]
        );
        assert_eq!(record_ids(table, false).unwrap(), ["x.y:1", "x.y:2,3"]);
        assert_eq!(record_ids(b"record_id\r\n", true), Some(Vec::new()));
        for nonsense in [
            &b""[..],
            b"name\r\na\r\n",
            b"a,record_id\r\nx\r\n",
            b"record_id\r\n\xff\r\n",
            b"\"",
            b"\0\0\0",
        ] {
            assert_eq!(record_ids(nonsense, true), None, "{nonsense:?}");
        }
    }
}
