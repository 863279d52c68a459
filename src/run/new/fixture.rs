//! Writes a few rows in the publisher's layout for a fixture. Keeps only the publisher's codes,
//! dates, amounts, ZIP codes and the name of the city. Numbers, addresses, coordinates and persons
//! are invented, and columns that are not read are empty.

use super::fit::{DAYS, is_code};
use super::guess::Guesses;
use super::sample::Sample;
use pubdata_core::pipeline::{Encoding, Format};

const MAX_ROWS: usize = 6;

/// Writes the fixture's rows as a file in the publisher's layout.
pub(super) fn rows(sample: &Sample, guesses: &Guesses, has_whole_addresses: bool) -> Vec<u8> {
    let chosen = chosen(sample, guesses);
    let cell = |number: usize, row: usize, place: usize| -> String {
        let Some(mapped) = guesses.mapped.iter().find(|mapped| mapped.column == number) else {
            return String::new();
        };
        let Some(text) = sample.columns[number].cells[row].as_deref() else {
            return String::new();
        };
        invented(&mapped.ours, text.trim(), place, has_whole_addresses)
    };
    let rows: Vec<Vec<String>> = chosen
        .iter()
        .enumerate()
        .map(|(place, row)| {
            (0..sample.columns.len())
                .map(|number| cell(number, *row, place + 1))
                .collect()
        })
        .collect();
    match &sample.format {
        Format::Delimited {
            delimiters,
            encoding,
            ..
        } => delimited(sample, &rows, delimiters[0], *encoding),
        Format::JsonRecords { records, .. } => json(sample, &rows, records.as_deref()),
        _ => unreachable!("no other layout is found"),
    }
}

/// Selects rows with different statuses and types.
fn chosen(sample: &Sample, guesses: &Guesses) -> Vec<usize> {
    let coded: Vec<usize> = ["status", "type"]
        .iter()
        .filter_map(|ours| guesses.position(ours))
        .collect();
    let mut seen: Vec<Vec<Option<&str>>> = Vec::new();
    let mut chosen = Vec::new();
    let records = usize::try_from(sample.records).unwrap_or(usize::MAX).min(
        sample
            .columns
            .first()
            .map_or(0, |column| column.cells.len()),
    );
    for row in 0..records {
        let words: Vec<Option<&str>> = coded
            .iter()
            .map(|column| sample.columns[*column].cells[row].as_deref())
            .collect();
        if chosen.len() < MAX_ROWS && !seen.contains(&words) {
            seen.push(words);
            chosen.push(row);
        }
    }
    for row in 0..records.min(MAX_ROWS / 2) {
        if chosen.len() < MAX_ROWS / 2 && !chosen.contains(&row) {
            chosen.push(row);
        }
    }
    chosen.sort_unstable();
    chosen
}

/// Returns the invented content that replaces a cell.
fn invented(ours: &str, text: &str, place: usize, has_whole_addresses: bool) -> String {
    if text.is_empty() {
        return String::new();
    }
    let house = 98 + 2 * place;
    match ours {
        "permit_number" | "parcel" | "contractor_license_number" => number(text, place),
        "line1" if has_whole_addresses => format!("{house} EXAMPLE ST, EXAMPLE CITY, 00000"),
        "line1" => format!("{house} EXAMPLE ST"),
        "house_number" => house.to_string(),
        "street_name" => "EXAMPLE".to_owned(),
        "street_suffix" => "ST".to_owned(),
        "description" => "EXAMPLE WORK".to_owned(),
        "link" => format!("https://example.org/{place}"),
        "lat" | "lon" | "location" => coarse(text),
        "contractor_name" if place.is_multiple_of(2) => "JANE EXAMPLE".to_owned(),
        "contractor_name" | "contractor_business_name" => "SAMPLE BUILDERS LLC".to_owned(),
        "job_value" | "fees" | "square_feet" | "housing_units" | "city" | "address_state"
        | "zip" => text.to_owned(),
        _ if DAYS.contains(&ours) => text.to_owned(),
        _ if is_code(ours) && !is_contact_detail(text) => text.to_owned(),
        _ => String::new(),
    }
}

/// Invents a number in the same format, consisting of zeros and the row number at the end.
fn number(text: &str, place: usize) -> String {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let own = place.to_string();
    if digits < own.len() {
        return format!("EXAMPLE-{place}");
    }
    let mut left = digits;
    let replaced = |character: char| {
        if !character.is_ascii_digit() {
            return character;
        }
        left -= 1;
        own.chars().rev().nth(left).unwrap_or('0')
    };
    text.chars().map(replaced).collect()
}

/// Rounds coordinates to one decimal place, which identifies a region but no building.
fn coarse(text: &str) -> String {
    let mut decimals: Option<usize> = None;
    let mut kept = String::new();
    for character in text.chars() {
        match (character.is_ascii_digit(), decimals) {
            (true, Some(count)) => {
                decimals = Some(count + 1);
                if count == 0 {
                    kept.push(character);
                }
            }
            (true, None) => kept.push(character),
            (false, _) => {
                decimals = (character == '.').then_some(0);
                kept.push(character);
            }
        }
    }
    kept
}

/// Returns true if text looks like an e-mail address or a telephone number.
fn is_contact_detail(text: &str) -> bool {
    text.contains('@') || text.bytes().filter(u8::is_ascii_digit).count() >= 7
}

fn delimited(
    sample: &Sample,
    rows: &[Vec<String>],
    delimiter: char,
    encoding: Encoding,
) -> Vec<u8> {
    let end = if sample
        .bytes
        .split(|byte| *byte == b'\n')
        .next()
        .is_some_and(|line| line.ends_with(b"\r"))
    {
        "\r\n"
    } else {
        "\n"
    };
    let header = sample
        .bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let mut bytes = header
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(header)
        .to_vec();
    if bytes.ends_with(b"\r") {
        bytes.pop();
    }
    bytes.extend_from_slice(end.as_bytes());
    // Columns without a usable name keep their position, with empty cells.
    for row in rows {
        let cells: Vec<String> = sample
            .places
            .iter()
            .map(|place| place.map_or_else(String::new, |number| row[number].clone()))
            .collect();
        let line: Vec<String> = cells.iter().map(|cell| cell_of(cell, delimiter)).collect();
        for character in line.join(&delimiter.to_string()).chars() {
            push(&mut bytes, character, encoding);
        }
        bytes.extend_from_slice(end.as_bytes());
    }
    bytes
}

fn cell_of(text: &str, delimiter: char) -> String {
    let text = text.replace(['\r', '\n'], " ");
    if text.contains([delimiter, '"']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// Writes a character. In a one-byte encoding, characters that both encodings share are kept, and
/// other characters become question marks.
fn push(bytes: &mut Vec<u8>, character: char, encoding: Encoding) {
    if character.is_ascii() || matches!(encoding, Encoding::Utf8 | Encoding::Utf8OrWindows1252) {
        bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        return;
    }
    let byte = u8::try_from(u32::from(character))
        .ok()
        .filter(|byte| *byte >= 0xa0);
    bytes.push(byte.unwrap_or(b'?'));
}

fn json(sample: &Sample, rows: &[Vec<String>], records: Option<&str>) -> Vec<u8> {
    let objects = rows.iter().map(|row| {
        let mut object = serde_json::Map::new();
        for (column, cell) in sample.columns.iter().zip(row) {
            let value = match (cell.is_empty(), cell.parse::<serde_json::Number>()) {
                (true, _) => serde_json::Value::Null,
                (false, Ok(number)) if is_number(sample, &column.published) => {
                    serde_json::Value::Number(number)
                }
                (false, _) => serde_json::Value::String(cell.clone()),
            };
            insert(&mut object, &column.published, value);
        }
        serde_json::Value::Object(object)
    });
    let list = serde_json::Value::Array(objects.collect());
    let wrap = |value: serde_json::Value, name: &str| {
        serde_json::Value::Object([(name.to_owned(), value)].into_iter().collect())
    };
    let document = records.map_or_else(
        || list.clone(),
        |path| path.rsplit('.').fold(list.clone(), wrap),
    );
    let mut text = serde_json::to_vec_pretty(&document).unwrap_or_default();
    text.push(b'\n');
    text
}

fn insert(
    object: &mut serde_json::Map<String, serde_json::Value>,
    path: &str,
    value: serde_json::Value,
) {
    match path.split_once('.') {
        None => drop(object.insert(path.to_owned(), value)),
        Some((first, rest)) => {
            let inner = object
                .entry(first)
                .or_insert_with(|| serde_json::Value::Object(serde_json::Map::new()));
            if let Some(inner) = inner.as_object_mut() {
                insert(inner, rest, value);
            }
        }
    }
}

/// Returns true if the publisher writes an attribute as a number.
fn is_number(sample: &Sample, published: &str) -> bool {
    let leaf = format!("\"{}\"", published.rsplit('.').next().unwrap_or(published));
    memchr::memmem::find_iter(&sample.bytes, leaf.as_bytes()).any(|start| {
        let rest = sample.bytes[start + leaf.len()..]
            .trim_ascii_start()
            .strip_prefix(b":")
            .unwrap_or_default()
            .trim_ascii_start();
        rest.first()
            .is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_leads_to_a_person_or_a_house_is_kept() {
        for (ours, text, expected) in [
            ("permit_number", "BLD-2024-01234", "BLD-0000-00003"),
            ("permit_number", "A", "EXAMPLE-3"),
            ("line1", "14 Real St", "104 EXAMPLE ST"),
            ("lat", "39.739236", "39.7"),
            (
                "location",
                "POINT (-104.990251 39.739236)",
                "POINT (-104.9 39.7)",
            ),
            ("description", "call Ann 303-555-0100", "EXAMPLE WORK"),
            ("contractor_name", "ANN REAL", "SAMPLE BUILDERS LLC"),
            ("status", "Issued", "Issued"),
            ("status", "ann@example.com", ""),
            ("sub_type", "303-555-0100", ""),
            ("owner_name", "ANN REAL", ""),
        ] {
            assert_eq!(invented(ours, text, 3, false), expected, "{ours}");
        }
    }
}
