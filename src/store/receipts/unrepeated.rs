//! Parses JSON and rejects objects that contain a field name twice, as RFC 8785 requires.
//! Otherwise, one reader could show the first of the two fields while another checks the second.

use std::fmt::{Formatter, Result as Formatted};

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A value in which no object contains a field name twice.
#[derive(Debug)]
pub struct UniqueMembersJson(pub Value);

struct Reader;

impl<'de> Deserialize<'de> for UniqueMembersJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> Formatted {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(UniqueMembersJson(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some((name, UniqueMembersJson(value))) = members.next_entry::<String, _>()? {
            if values.contains_key(&name) {
                return Err(A::Error::custom(format!(
                    "`{}` is named twice",
                    name.escape_debug()
                )));
            }
            values.insert(name, value);
        }
        Ok(Value::Object(values))
    }
}
