//! Reads a JSON object and rejects duplicate fields, because the intended value would be ambiguous.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Fields of an object, each with the JSON text of its value.
pub type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// Reads an object. Returns `None` if the text is a JSON value of another type.
///
/// # Errors
/// The text is not valid JSON, or a field occurs twice.
pub fn read(text: &[u8]) -> serde_json::Result<Option<Fields<'_>>> {
    let value: &RawValue = serde_json::from_slice(text)?;
    if !value.get().starts_with('{') {
        return Ok(None);
    }
    serde_json::Deserializer::from_str(value.get())
        .deserialize_map(Once)
        .map(Some)
}

struct Once;

impl<'de> Visitor<'de> for Once {
    type Value = Fields<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Fields::new();
        while let Some(name) = map.next_key::<String>()? {
            match fields.entry(name) {
                Entry::Vacant(place) => drop(place.insert(map.next_value()?)),
                Entry::Occupied(known) => {
                    let shown: String = known.key().chars().take(64).collect();
                    return Err(serde::de::Error::custom(format_args!(
                        "the field `{shown}` occurs twice"
                    )));
                }
            }
        }
        Ok(fields)
    }
}
