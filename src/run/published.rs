//! What is published of a record, as text: whatever else its publisher's file says is not shown where that may tell of persons.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use pubdata_build::normalise::{Day, day_from_pattern, us_date, without_time};
use pubdata_core::canonical::address::AddressKind;
use pubdata_core::canonical::street::parse_street;

/// What is published of a record: its texts, numbers, days and street lines, without regard to case and form.
pub(super) struct Published {
    values: BTreeSet<String>,
    street_lines: BTreeSet<String>,
}

impl Published {
    pub(super) fn of(columns: &Map<String, Value>) -> Self {
        let mut published = Self { values: BTreeSet::new(), street_lines: BTreeSet::new() };
        columns.values().for_each(|value| published.add(value));
        published
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.values.insert(comparable(text));
                self.street_lines.extend(street_line(text));
                // Cells of the source, published as an object.
                if let Some(cells) = Some(text).filter(|text| text.starts_with('{')).and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok()) {
                    cells.values().for_each(|value| self.add(value));
                }
            }
            Value::Number(number) => drop(self.values.insert(number.to_string().trim_end_matches(".0").to_owned())),
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

    /// Whether a text is published as it stands.
    pub(super) fn has(&self, text: &str) -> bool {
        self.values.contains(&comparable(text))
    }

    /// Whether all that a text says is published, in this form or another one.
    pub(super) fn says(&self, text: &str) -> bool {
        let text = of_pair(text);
        self.has(text)
            || day(text).is_some_and(|day| self.values.contains(&day))
            || number(text).is_some_and(|number| self.values.contains(&number))
            || street_line(text).is_some_and(|line| self.street_lines.contains(&line))
    }
}

/// A text without regard to case and to the space around and between its words.
fn comparable(text: &str) -> String {
    text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// The text of a pair as portals write links and telephones: `[text, null]`.
fn of_pair(text: &str) -> &str {
    text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(", null]")).unwrap_or(text)
}

/// The day of a text that is a day and nothing else: a time of day other than midnight says more.
fn day(text: &str) -> Option<String> {
    let text = text.trim();
    let date = without_time(text);
    let time = text.strip_prefix(date)?.trim_start_matches(['T', ' ']).trim_end_matches('Z');
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let is_midnight = matches!(clock, "" | "00:00" | "00:00:00" | "0:00" | "0:00:00" | "12:00:00 AM" | "12:00 AM") && fraction.bytes().all(|byte| byte == b'0');
    let day =
        Day::from_iso(date.as_bytes()).map(|day| day.to_string()).or_else(|| us_date(date)).or_else(|| Some(day_from_pattern(date, "YYYYMMDD")?.to_string()));
    day.filter(|_| is_midnight)
}

/// A number without its dollar sign, the commas between its thousands and the zeros that end its fraction.
fn number(text: &str) -> Option<String> {
    let text = text.trim();
    let plain = text.strip_prefix('$').unwrap_or(text).replace(',', "");
    let is_number = plain.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && plain.parse::<f64>().is_ok();
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let fraction = fraction.trim_end_matches('0');
    is_number.then(|| if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") })
}

/// A street line in its standard form; none of a text that has more or fewer words than that form, which could say something else as well.
fn street_line(text: &str) -> Option<String> {
    let address = parse_street(text);
    let line = address.line();
    let words = text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()).count();
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
        let published = Published::of(columns.as_object().unwrap());
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
        let published = Published::of(columns.as_object().unwrap());
        let same = [
            "2007-07-17T00:00:00",
            "2007-07-17T00:00:00.000",
            "2007-07-17 00:00:00",
            "07/17/2007",
            "7/17/2007 12:00:00 AM",
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
            // A time of day, another day, and no day.
            "2007-07-17T17:21:46",
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
}
