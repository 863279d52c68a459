//! Compares a server's provenance response for a record with the record's receipt.

use std::collections::BTreeSet;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::report::shown;
use super::server::{Chain, ChainSource};

const POINTERS: &str = "source_pointers";

/// Returns the differences between `/v1/provenance` and the receipt.
pub(super) fn differences(record: &Map<String, Value>, chain: &Chain) -> Vec<String> {
    let mut found = Vec::new();
    let columns = &chain.record.columns;
    let names: BTreeSet<&String> = record
        .keys()
        .chain(columns.keys())
        .filter(|name| *name != POINTERS)
        .collect();
    for name in names {
        let (sealed, served) = (
            record.get(name),
            columns.get(name).map(|served| canonical(served)),
        );
        if sealed != served.as_ref() {
            let text = |value: Option<&Value>| {
                value.map_or_else(
                    || "nothing".to_owned(),
                    |value| shown(&value.to_string()).chars().take(100).collect(),
                )
            };
            found.push(format!(
                "the receipt has {name} {}, and /v1/provenance says {}",
                text(sealed),
                text(served.as_ref())
            ));
        }
    }
    let served: Vec<Value> = chain.sources.iter().map(pointer).collect();
    if record.get(POINTERS).and_then(Value::as_array) != Some(&served) {
        found.push("the receipt has other source pointers than /v1/provenance".to_owned());
    }
    found
}

/// Converts a value to the format used in receipts, in which numbers are strings.
fn canonical(served: &RawValue) -> Value {
    let text = served.get();
    if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return serde_json::from_str(text).unwrap_or_default();
    }
    if text
        .bytes()
        .all(|byte| byte == b'-' || byte.is_ascii_digit())
    {
        return text.into();
    }
    // Use the shortest digits that represent the same number: `19652.0` becomes 19652.
    text.parse::<f64>()
        .map_or_else(|_| text.into(), |number| number.to_string().into())
}

/// Converts a source pointer to the format used in receipts.
fn pointer(source: &ChainSource) -> Value {
    serde_json::json!({
        "length": source.length.to_string(),
        "member": source.member,
        "offset": source.offset.to_string(),
        "snapshot": source.member_digest.unwrap_or(source.snapshot.sha256),
        "source_id": source.source_id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_their_decimal_digits() {
        for (served, expected) in [
            ("19652.0", Value::from("19652")),
            ("-1.50", "-1.5".into()),
            ("9007199254740993", "9007199254740993".into()),
            ("0.1", "0.1".into()),
            ("1e21", "1000000000000000000000".into()),
            ("\"007\"", "007".into()),
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("[\"a\"]", serde_json::json!(["a"])),
        ] {
            assert_eq!(
                canonical(&RawValue::from_string(served.to_owned()).unwrap()),
                expected,
                "{served}"
            );
        }
    }
}
