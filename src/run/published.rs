//! What is published of a record, as text: whatever else its publisher's file says is not shown where that may tell of persons.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// What is published of a record: its texts and numbers, without regard to case.
pub(super) struct Published {
    values: BTreeSet<String>,
}

impl Published {
    pub(super) fn of(columns: &Map<String, Value>) -> Self {
        let mut published = Self { values: BTreeSet::new() };
        columns.values().for_each(|value| published.add(value));
        published
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.values.insert(comparable(text));
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

    pub(super) fn has(&self, text: &str) -> bool {
        self.values.contains(&comparable(text))
    }
}

fn comparable(text: &str) -> String {
    text.trim().to_lowercase()
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
}
