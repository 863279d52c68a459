//! Collects a record's published values as text. If a list may concern persons, other content of
//! the publisher's file is not shown.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use toml::Table;

use pubdata_build::normalise::{Day, day_from_epoch, day_from_pattern, us_date, without_time};
use pubdata_core::canonical::address::AddressKind;
use pubdata_core::canonical::street::parse_street;

/// Columns of a record that contain the words of its address, parcel and id.
const COMPOSED: &[&str] = &[
    "line1",
    "line2",
    "address_normalized",
    "city",
    "address_state",
    "state",
    "zip",
    "parcel",
    "permit_id",
];
/// Names under which a declaration reads addresses and locations.
const ADDRESS: &[&str] = &[
    "line1",
    "line2",
    "place",
    "city",
    "zip",
    "address_state",
    "location",
    "lat",
    "lon",
];
const MILLISECONDS_PER_DAY: i64 = 86_400_000;
const MILLISECONDS_PER_HOUR: i64 = 3_600_000;

/// The published texts, numbers, dates and street lines of a record, independent of case and
/// format.
pub(crate) struct Published {
    values: BTreeSet<String>,
    street_lines: BTreeSet<String>,
    /// Words of the record's address, parcel and id.
    words: BTreeSet<String>,
    /// The record's latitude and longitude.
    coordinates: Vec<f64>,
    /// The publisher's columns from which the record's margin of error is computed.
    margin_columns: Vec<String>,
}

impl Published {
    pub(crate) fn from_columns(columns: &Map<String, Value>) -> Self {
        let composed = COMPOSED
            .iter()
            .filter_map(|name| columns.get(*name)?.as_str());
        let coordinates = ["lat", "lon"]
            .iter()
            .filter_map(|name| columns.get(*name)?.as_f64())
            .collect();
        let margins = columns
            .get("moe_variable")
            .and_then(Value::as_str)
            .into_iter()
            .flat_map(|names| names.split(','));
        let mut published = Self {
            values: BTreeSet::new(),
            street_lines: BTreeSet::new(),
            words: composed.flat_map(words).collect(),
            coordinates,
            margin_columns: margins.map(str::to_owned).collect(),
        };
        columns.values().for_each(|value| published.add(value));
        published
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.values.insert(comparable(text));
                self.street_lines.extend(street_line(text));
                // Cells of the source are published as an object.
                if let Some(cells) = Some(text)
                    .filter(|text| text.starts_with('{'))
                    .and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok())
                {
                    cells.values().for_each(|value| self.add(value));
                }
            }
            Value::Number(number) => drop(
                self.values
                    .insert(number.to_string().trim_end_matches(".0").to_owned()),
            ),
            Value::Array(items) => {
                for item in items {
                    self.add(item);
                    // `scheme=value`.
                    if let Some((_, value)) = item.as_str().and_then(|text| text.split_once('=')) {
                        self.values.insert(comparable(value));
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Object(_) => {}
        }
    }

    /// Returns true if a text is published verbatim.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.values.contains(&comparable(text))
    }

    /// Returns true if the record lists a publisher's column as one of its sources.
    pub(super) fn names(&self, column: &str) -> bool {
        self.has(column) || self.margin_columns.iter().any(|name| name == column)
    }

    /// Returns true if the entire content of a cell is published. The declaration reads the cell
    /// under the name `name`. A term from a declared list is published as its mapped value. A part
    /// of the address or key is published within the address or key.
    pub(super) fn says_as(&self, name: &str, text: &str, settings: &Table) -> bool {
        let word = || settings.get(name)?.as_table()?.get(text.trim())?.as_str();
        self.says(text)
            || word().is_some_and(|word| !word.is_empty() && self.has(word))
            || (is_part(name, settings) && self.has_parts(text))
    }

    /// Returns true if every part of a text is a coordinate or a word of the address, parcel or id.
    fn has_parts(&self, text: &str) -> bool {
        let is_coordinate = |part: &str| {
            part.parse::<f64>().is_ok_and(|number| {
                self.coordinates
                    .iter()
                    .any(|known| (known - number).abs() < 1e-6)
            })
        };
        let is_published = |part: &str| {
            is_coordinate(part)
                || part == "POINT"
                || words(part).all(|word| self.words.contains(&word))
        };
        let mut parts = text
            .split(|character: char| character.is_whitespace() || "(),".contains(character))
            .filter(|part| !part.is_empty());
        words(text).next().is_some() && parts.all(is_published)
    }

    /// Returns true if the entire content of a text is published, in this or another format.
    pub(crate) fn says(&self, text: &str) -> bool {
        let text = of_pair(text);
        self.has(text)
            || self.has(&code(text))
            || day(text).is_some_and(|day| self.values.contains(&day))
            || number(text).is_some_and(|number| self.values.contains(&number))
            || street_line(text).is_some_and(|line| self.street_lines.contains(&line))
    }
}

/// Normalises case and whitespace in a text.
fn comparable(text: &str) -> String {
    text.split_whitespace()
        .map(str::to_lowercase)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns true if the declaration composes the address, parcel or key from the column with this
/// name.
fn is_part(name: &str, settings: &Table) -> bool {
    let parcel = settings.get("parcel").and_then(toml::Value::as_table);
    let lists = ["line1", "line2", "keys"]
        .map(|list| settings.get(list))
        .into_iter()
        .chain([parcel.and_then(|parcel| parcel.get("columns"))])
        .flatten();
    ADDRESS.contains(&name)
        || lists.into_iter().any(|list| names_of(list).contains(&name))
        || (name == "permit_number" && !settings.contains_key("keys"))
}

/// Returns the names in a list, which may contain nested lists. `a+b` contains two names, and `a?`
/// may be empty.
fn names_of(list: &toml::Value) -> Vec<&str> {
    match list {
        toml::Value::String(names) => names
            .split('+')
            .map(|name| name.trim_end_matches('?'))
            .collect(),
        toml::Value::Array(lists) => lists.iter().flat_map(names_of).collect(),
        _ => Vec::new(),
    }
}

/// Returns the words of a text in upper case. A ZIP+4 code without a hyphen yields two words.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.flat_map(|word| {
        let is_zip9 = word.len() == 9 && word.bytes().all(|byte| byte.is_ascii_digit());
        let (first, second) = if is_zip9 {
            word.split_at(5)
        } else {
            (word, "")
        };
        [first, second]
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(str::to_uppercase)
    })
}

/// Converts text to our code format: `Non-Residential` becomes `non_residential`.
fn code(text: &str) -> String {
    text.trim().to_lowercase().replace(['-', ' '], "_")
}

/// Returns the text of a pair such as `[text, null]`, which is how portals write links and
/// telephone numbers.
fn of_pair(text: &str) -> &str {
    text.trim()
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(", null]"))
        .unwrap_or(text)
}

/// Parses text that consists only of a date. A time of day is accepted only if it is midnight in
/// UTC or in a US state; any other time is additional content.
fn day(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some(milliseconds) = text.parse::<i64>().ok().filter(|_| text.len() > 10) {
        let is_midnight = milliseconds % MILLISECONDS_PER_HOUR == 0
            && is_midnight_hour(
                milliseconds.rem_euclid(MILLISECONDS_PER_DAY) / MILLISECONDS_PER_HOUR,
            );
        return day_from_epoch(text, MILLISECONDS_PER_DAY)
            .filter(|_| is_midnight)
            .map(|day| day.to_string());
    }
    let date = without_time(text);
    let time = text
        .strip_prefix(date)?
        .trim_start_matches(['T', ' '])
        .trim_end_matches('Z');
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let is_universal = || {
        clock
            .strip_suffix(":00:00")
            .and_then(|hour| hour.parse().ok())
            .is_some_and(is_midnight_hour)
    };
    let is_midnight = (matches!(clock, "" | "00:00" | "0:00" | "12:00:00 AM" | "12:00 AM")
        || is_universal())
        && fraction.bytes().all(|byte| byte == b'0');
    let day = Day::from_iso(date.replace('/', "-").as_bytes())
        .map(|day| day.to_string())
        .or_else(|| us_date(date))
        .or_else(|| Some(day_from_pattern(date, "YYYYMMDD")?.to_string()));
    day.filter(|_| is_midnight)
}

/// Returns true if a day starts at this UTC hour in UTC or in a US state.
fn is_midnight_hour(hour: i64) -> bool {
    matches!(hour, 0 | 4..=10)
}

/// Normalises a number by removing the dollar sign, the thousands separators, and trailing zeros
/// after the decimal point.
fn number(text: &str) -> Option<String> {
    let text = text.trim();
    let plain = text.strip_prefix('$').unwrap_or(text).replace(',', "");
    let digits = plain.strip_prefix('-').unwrap_or(&plain);
    let is_number = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
        && digits.parse::<f64>().is_ok();
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let fraction = fraction.trim_end_matches('0');
    is_number.then(|| {
        if fraction.is_empty() {
            whole.to_owned()
        } else {
            format!("{whole}.{fraction}")
        }
    })
}

/// Returns the standard format of a street line. Returns `None` if the text has more or fewer words
/// than the standard format, because it may contain something else.
fn street_line(text: &str) -> Option<String> {
    let address = parse_street(text);
    let line = address.line();
    let words = text
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .count();
    (address.kind == AddressKind::Street && line.split(' ').count() == words).then_some(line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Published;

    #[test]
    fn what_is_published_is_found_without_regard_to_case() {
        let columns = json!({
            "name": " Ann Example ", "phones": ["555-0100"], "identifiers": ["tax=77"], "value": 12.0, "count": 3, "is_open": true,
            "source_fields": "{\"street\":\"1 Main St\"}", "nothing": null,
        });
        let published = Published::from_columns(columns.as_object().unwrap());
        for text in ["ANN EXAMPLE", "555-0100", "77", "12", "3", "1 main st"] {
            assert!(published.has(text), "{text}");
        }
        for text in ["Ann", "true", "555-0101", "", "street"] {
            assert!(!published.has(text), "{text}");
        }
    }

    #[test]
    fn days_numbers_and_street_lines_are_found_in_other_forms() {
        let columns = json!({
            "issued_date": "2007-07-17", "job_value": "102795", "square_feet": 2347.0, "line1": "11436 FLUSHWING DR", "url": "https://example.org/permit?id=7",
            "zip": "07017",
        });
        let published = Published::from_columns(columns.as_object().unwrap());
        let same = [
            "2007-07-17T00:00:00",
            "2007-07-17T00:00:00.000",
            "2007-07-17 00:00:00",
            "07/17/2007",
            "7/17/2007 12:00:00 AM",
            // Midnight in Texas, as ISO text and as ArcGIS writes it.
            "2007-07-17T05:00:00",
            "1184648400000",
            "2007/07/17",
            "20070717",
            "102,795.00",
            "$102,795",
            "2347.0",
            "11436  Flushwing  Drive",
            "[https://example.org/permit?id=7, null]",
        ];
        for text in same {
            assert!(published.says(text), "{text}");
        }
        let more = [
            // A time of day other than midnight, another day, and an invalid date.
            "2007-07-17T17:21:46",
            "1184686906000",
            "2007-07-18T00:00:00",
            "2007-13-17T00:00:00",
            "17",
            "102795.5",
            "7017",
            "11437 FLUSHWING DR",
            "11436 FLUSHWING DR APT 2",
            "11436 FLUSHWING DR JAN SAMPLE",
            "JAN SAMPLE 11436 FLUSHWING DR",
            "C/O JAN SAMPLE, 11436 FLUSHWING DR",
            "11436 FLUSHWING DR 512-555-0100",
            "FLUSHWING DR",
            "JAN SAMPLE",
            "[5125550100, null]",
            "5125550100",
            "",
            "T",
            "$",
            ".",
        ];
        for text in more {
            assert!(!published.says(text), "{text}");
        }
    }

    #[test]
    fn cells_match_published_address_parts_keys_and_mapped_words() {
        let columns = json!({
            "permit_id": "us-il-chicago:100090924-2352", "type": "electrical", "property_class": "non_residential", "line1": "901 W MADISON ST", "line2": "UNIT 4",
            "address_normalized": "901 W MADISON ST UNIT 4, CHICAGO, IL 60607-1234", "city": "CHICAGO", "state": "IL", "zip": "60607", "lat": 41.881626937,
            "lon": -87.649751942,
        });
        let published = Published::from_columns(columns.as_object().unwrap());
        let settings: toml::Table = toml::from_str(
            r#"
            keys = [["permit_number", "block?"]]
            line1 = ["house_number+house_fraction", "street_name"]
            [type]
            "EP" = "electrical"
            "BP" = "building"
            "DS" = ""
            "#,
        )
        .unwrap();
        let same = [
            ("house_number", "901"),
            ("house_fraction", "W"),
            ("street_name", "Madison"),
            ("line1", "901 W MADISON ST # 4, Chicago, IL 606071234"),
            ("place", "CHICAGO,IL 60607"),
            ("zip", "60607-1234"),
            ("location", "(41.881626936573106, -87.64975194167972)"),
            ("location", "POINT (-87.649751942 41.881626937)"),
            ("lon", "-87.64975194200"),
            ("permit_number", "100090924"),
            ("block", "2352"),
            ("type", "EP"),
            ("property_class", "Non-Residential"),
        ];
        for (name, text) in same {
            assert!(published.says_as(name, text, &settings), "{name}: {text}");
        }
        let more = [
            // Names of parties that are also words of the street name.
            ("contractor_name", "MADISON"),
            ("owner_name", "901 W MADISON ST # 4, CHICAGO"),
            ("line1", "901 W MADISON ST JAN SAMPLE"),
            ("zip", "60607-9999"),
            ("location", "(41.9, -87.64975194167972)"),
            ("location", "()"),
            ("contractor_type", "EP"),
            ("type", "BP"),
            ("type", "DS"),
            ("lot", "2352"),
        ];
        for (name, text) in more {
            assert!(!published.says_as(name, text, &settings), "{name}: {text}");
        }
    }
}
