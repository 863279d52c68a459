//! Decodes a sheet from an Excel workbook. The first row is the header. Dates are stored as numbers
//! and remain numbers.

use std::io::Read;

use super::header::Resolved;
use super::records::{Records, Sink};
use super::xml::{XmlDocument, XmlElement, XmlPiece, XmlReader};
use super::{Malformed, Task, archive, open, unreadable};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::pipeline::Encoding;

/// Member with the strings that cells reference by number. All spreadsheet programs use this name.
const SHARED_STRINGS: &str = "xl/sharedStrings.xml";

/// Maximum number of columns in a sheet: ECMA-376, part 1, 18.3.1.73.
const MAX_COLUMNS: usize = 16_384;

/// Decodes a sheet from a workbook (ECMA-376, part 1, 18.3 and 18.4). The first row is the header;
/// a record's bytes are its `row` element. Numbers keep their text from the file. Dates are stored
/// as numbers and remain numbers.
pub(super) fn decode(task: &Task<'_>, sink: &mut Sink<'_>) -> Result<Vec<Malformed>> {
    let (shared, content) = sheet(task)?;
    let document = XmlDocument::new(&content)?;
    let mut rows = Rows {
        reader: document.reader(),
        shared,
        left: task.max_bytes,
    };
    let names = rows.header()?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let resolved = task.plan.resolve(&names)?;
    let mut records = Records::new(&resolved, Encoding::Utf8, sink)?;
    while let Some(row) = rows.next()? {
        let place = (row.offset, row.length);
        if task.only.is_none_or(|ranges| ranges.contains(&place)) {
            push(&mut records, &resolved, &row, &content)?;
        }
    }
    records.finish()
}

/// Returns the column names from the first row.
pub(super) fn header(task: &Task<'_>) -> Result<Vec<String>> {
    let (shared, content) = sheet(task)?;
    let document = XmlDocument::new(&content)?;
    Rows {
        reader: document.reader(),
        shared,
        left: task.max_bytes,
    }
    .header()
}

/// Reads the shared strings and the sheet.
fn sheet(task: &Task<'_>) -> Result<(Vec<String>, Vec<u8>)> {
    let sheet = task
        .member
        .ok_or_else(|| Error::config("a sheet is a member of its workbook: declare `member`"))?;
    let shared = match archive::has_member(task.path, SHARED_STRINGS)? {
        true => {
            shared_strings(&content(task, SHARED_STRINGS)?).context(|| SHARED_STRINGS.to_owned())?
        }
        false => Vec::new(),
    };
    Ok((shared, content(task, sheet)?))
}

fn content(task: &Task<'_>, member: &str) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    open(task.path, Some(member), task.max_bytes)?
        .read_to_end(&mut content)
        .map_err(unreadable)?;
    Ok(content)
}

fn push(
    records: &mut Records<'_, '_>,
    resolved: &Resolved,
    row: &Row,
    content: &[u8],
) -> Result<()> {
    let cells = match &row.cells {
        Ok(cells) if cells.len() <= resolved.width => cells,
        Ok(cells) => {
            return malformed(
                records,
                format!(
                    "the row has {} cells, the header has {}",
                    cells.len(),
                    resolved.width
                ),
                row,
                content,
            );
        }
        Err(problem) => return malformed(records, problem.clone(), row, content),
    };
    if cells.iter().all(Option::is_none) {
        return Ok(());
    }
    let cell = |place: usize| {
        cells
            .get(place)
            .and_then(|cell| cell.as_deref())
            .map(str::as_bytes)
    };
    if resolved.is_kept(|place| cell(place).unwrap_or_default()) {
        records.push(resolved, row.offset, row.length, cell)
    } else {
        Ok(())
    }
}

fn malformed(
    records: &mut Records<'_, '_>,
    detail: String,
    row: &Row,
    content: &[u8],
) -> Result<()> {
    let range = usize::try_from(row.offset)
        .ok()
        .zip(usize::try_from(row.offset + row.length).ok());
    let record = range
        .and_then(|(first, end)| content.get(first..end))
        .unwrap_or_default();
    records.malformed(detail, record, row.offset)
}

/// A row, with its cells by column or a description of the problem with them.
struct Row {
    cells: std::result::Result<Vec<Option<String>>, String>,
    offset: u64,
    length: u64,
}

struct Rows<'d> {
    reader: XmlReader<'d>,
    shared: Vec<String>,
    /// Number of bytes left for further cells. Without a limit, a short sheet could reference a
    /// long string any number of times.
    left: u64,
}

impl Rows<'_> {
    /// Advances to the sheet's cells and reads the first row.
    fn header(&mut self) -> Result<Vec<String>> {
        self.enter_data()?;
        let header = self
            .next()?
            .ok_or_else(|| Error::format("the sheet has no rows"))?;
        let names = header
            .cells
            .map_err(|problem| Error::format(format!("the first row: {problem}")))?;
        Ok(names
            .iter()
            .map(|name| name.as_deref().unwrap_or_default().trim().to_owned())
            .collect())
    }

    /// Advances to the sheet's cells.
    fn enter_data(&mut self) -> Result<()> {
        while let Some(piece) = self.reader.advance()? {
            match piece {
                XmlPiece::Start(element) if element.depth == 0 && element.name != "worksheet" => {
                    return Err(Error::format(format!(
                        "is a `{}`, not a worksheet",
                        element.name
                    )));
                }
                XmlPiece::Start(element) if element.depth == 1 && element.name == "sheetData" => {
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(Error::format("the worksheet has no `sheetData`"))
    }

    fn next(&mut self) -> Result<Option<Row>> {
        while let Some(piece) = self.reader.advance()? {
            match piece {
                XmlPiece::Start(element) if element.depth == 2 && element.name == "row" => {
                    return self.row(&element).map(Some);
                }
                XmlPiece::End(1) => return Ok(None),
                _ => {}
            }
        }
        Ok(None)
    }

    fn row(&mut self, row: &XmlElement) -> Result<Row> {
        let mut cells: std::result::Result<Vec<Option<String>>, String> = Ok(Vec::new());
        while let Some(piece) = self.reader.advance()? {
            match piece {
                XmlPiece::Start(element)
                    if element.depth == row.depth + 1 && element.name == "c" =>
                {
                    let value = self.cell(&element)?;
                    cells = cells.and_then(|cells| add(cells, element.attribute("", "r"), value));
                }
                XmlPiece::End(depth) if depth == row.depth => break,
                _ => {}
            }
        }
        // Cells with formatting but no content may follow the last column.
        if let Ok(cells) = &mut cells {
            cells.truncate(
                cells
                    .iter()
                    .rposition(Option::is_some)
                    .map_or(0, |last| last + 1),
            );
        }
        Ok(Row {
            cells,
            offset: row.offset,
            length: self.reader.position() - row.offset,
        })
    }

    /// Returns a cell's text. An invalid cell makes its row malformed but does not fail the file.
    fn cell(&mut self, cell: &XmlElement) -> Result<std::result::Result<Option<String>, String>> {
        let kind = cell.attribute("", "t").unwrap_or("n");
        let mut text: Option<String> = None;
        let mut phonetic = None;
        while let Some(piece) = self.reader.advance()? {
            match piece {
                XmlPiece::Start(element) if element.name == "rPh" => {
                    phonetic = phonetic.or(Some(element.depth));
                }
                XmlPiece::Start(element)
                    if phonetic.is_none()
                        && element.name == if kind == "inlineStr" { "t" } else { "v" } =>
                {
                    text.get_or_insert_default()
                        .push_str(&self.reader.content()?.text);
                }
                XmlPiece::End(depth) if depth == cell.depth => break,
                XmlPiece::End(depth) if phonetic == Some(depth) => phonetic = None,
                _ => {}
            }
        }
        let Some(text) = text else {
            return Ok(Ok(None));
        };
        let name = || {
            cell.attribute("", "r")
                .unwrap_or("without a name")
                .to_owned()
        };
        let text = match kind {
            "s" => match text
                .trim()
                .parse()
                .ok()
                .and_then(|number: usize| self.shared.get(number))
            {
                Some(shared) => shared.clone(),
                None => {
                    return Ok(Err(format!(
                        "cell {} names the shared text `{text}`, of {}",
                        name(),
                        self.shared.len()
                    )));
                }
            },
            "inlineStr" | "str" | "n" | "b" | "d" => text,
            "e" => return Ok(Err(format!("cell {} holds the error `{text}`", name()))),
            other => {
                return Ok(Err(format!(
                    "cell {} is of the unknown type `{other}`",
                    name()
                )));
            }
        };
        self.left = self.left.checked_sub(text.len() as u64).ok_or_else(|| {
            Error::format("its cells hold more than the bytes declared as the maximum")
        })?;
        Ok(Ok(Some(text)))
    }
}

/// Puts a cell in its column: the next column, or the column in the cell's reference.
fn add(
    mut cells: Vec<Option<String>>,
    name: Option<&str>,
    value: std::result::Result<Option<String>, String>,
) -> std::result::Result<Vec<Option<String>>, String> {
    let column = match name {
        None => cells.len(),
        Some(name) => column(name).ok_or_else(|| format!("`{name}` is no name of a cell"))?,
    };
    if column < cells.len() {
        return Err(format!(
            "cell {} stands behind others of its row that come after it",
            name.unwrap_or_default()
        ));
    }
    if column >= MAX_COLUMNS {
        return Err(format!("more than {MAX_COLUMNS} columns"));
    }
    let value = value?;
    cells.resize(column, None);
    cells.push(value);
    Ok(cells)
}

/// Returns the column index from a cell reference, counted from 0. `C7` returns 2.
fn column(name: &str) -> Option<usize> {
    let letters = name.bytes().take_while(u8::is_ascii_uppercase).count();
    let is_number =
        name.len() > letters && name.bytes().skip(letters).all(|byte| byte.is_ascii_digit());
    if !(1..=3).contains(&letters) || !is_number {
        return None;
    }
    name.bytes()
        .take(letters)
        .try_fold(0, |column: usize, letter| {
            Some(column * 26 + usize::from(letter - b'A') + 1)
        })
        .map(|column| column - 1)
}

/// Reads the shared strings. Joins formatted runs and skips phonetic readings (`rPh`).
fn shared_strings(content: &[u8]) -> Result<Vec<String>> {
    let document = XmlDocument::new(content)?;
    let mut reader = document.reader();
    let mut texts: Vec<String> = Vec::new();
    let mut phonetic = None;
    while let Some(piece) = reader.advance()? {
        match piece {
            XmlPiece::Start(element) if element.depth == 1 && element.name == "si" => {
                texts.push(String::new());
            }
            XmlPiece::Start(element) if element.name == "rPh" => {
                phonetic = phonetic.or(Some(element.depth));
            }
            XmlPiece::Start(element) if element.name == "t" && phonetic.is_none() => {
                let text = reader.content()?.text;
                if let Some(last) = texts.last_mut() {
                    last.push_str(&text);
                }
            }
            XmlPiece::End(depth) if phonetic == Some(depth) => phonetic = None,
            _ => {}
        }
    }
    Ok(texts)
}
