//! Serializes answer values whose JSON form serde does not provide. Each type has a JSON schema.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::ser::{Error as _, Serializer};
use serde_json::value::RawValue;

use crate::json::{Json, Trim};
use pubdata_core::contract::Day;
use pubdata_core::ids::Digest;

/// A day, as days since 1970-01-01; written `YYYY-MM-DD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date(pub i32);

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Day::from_number(self.0))
    }
}

/// An exact decimal number: `units` of 10^-`scale`; written as a number without trailing zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    pub units: i128,
    pub scale: u8,
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        as_written(serializer, |json| json.wide_decimal(self.units, self.scale))
    }
}

/// An exact decimal number, written with all its decimal places: `units` of 10^-`scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixed {
    pub units: i64,
    pub scale: u8,
}

impl Serialize for Fixed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Below this bound, the shortest form of the float has exactly one decimal place, which may
        // be zero.
        const MOST: u64 = 1_000_000_000_000_000;
        match self.scale {
            0 => serializer.serialize_i64(self.units),
            1 if self.units.unsigned_abs() < MOST => {
                serializer.serialize_f64(self.units as f64 / 10.0)
            }
            _ => as_written(serializer, |json| {
                json.decimal(self.units, self.scale, Trim::Keep);
            }),
        }
    }
}

/// A float in the shortest form that reads back as the same value; null if it is not finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Float(pub f64);

impl Serialize for Float {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        as_written(serializer, |json| json.float(self.0))
    }
}

/// Serializes a number in a format that serde does not support.
fn as_written<S: Serializer>(
    serializer: S,
    write: impl FnOnce(&mut Json),
) -> Result<S::Ok, S::Error> {
    let mut json = Json::default();
    write(&mut json);
    let text = String::from_utf8(json.into_bytes()).map_err(S::Error::custom)?;
    RawValue::from_string(text)
        .map_err(S::Error::custom)?
        .serialize(serializer)
}

macro_rules! schemas {
    ($($type:ty, $name:literal: $schema:tt;)*) => {
        $(impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        })*
    };
}

schemas! {
    Date, "Date": {"type": "string", "format": "date"};
    Decimal, "Decimal": {"type": "number"};
    Fixed, "Fixed": {"type": "number"};
    Float, "Float": {"type": "number"};
    Instant<'_>, "Instant": {"type": "string"};
    Sha256, "Sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"};
    ColumnValue<'_>, "ColumnValue": {"type": ["string", "number", "boolean", "array", "null"], "items": {"type": "string"}};
}

/// An instant (RFC 3339, in UTC), written to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instant<'a>(pub &'a str);

impl Serialize for Instant<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.split_once('.') {
            Some((seconds, _)) => serializer.collect_str(&format_args!("{seconds}Z")),
            None => serializer.serialize_str(self.0),
        }
    }
}

/// A SHA-256 digest, in hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sha256(pub Digest);

/// A record's value in one column.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ColumnValue<'a>(pub &'a serde_json::Value);

/// JSON text of a `T`, written verbatim.
#[derive(Debug, Clone)]
pub struct Text<'a, T> {
    text: Cow<'a, str>,
    of: PhantomData<fn() -> T>,
}

impl<T> Text<'_, T> {
    /// Returns the text that `write` writes, which must be the JSON of a `T`.
    pub fn written(write: impl FnOnce(&mut Json)) -> Self {
        let mut json = Json::new();
        write(&mut json);
        Self {
            text: String::from_utf8(json.into_bytes())
                .expect("the writer makes UTF-8")
                .into(),
            of: PhantomData,
        }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl<T: Serialize> Text<'_, T> {
    pub fn new(value: &T) -> Self {
        Self::written(|json| json.value(value))
    }
}

impl<'a, T> Text<'a, T> {
    /// Wraps text that is already the JSON of a `T`.
    pub fn made(text: &'a str) -> Self {
        Self {
            text: text.into(),
            of: PhantomData,
        }
    }
}

impl<T> Serialize for Text<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // `RawValue` would parse the text first.
        serializer.serialize_bytes(self.text.as_bytes())
    }
}

impl<T: JsonSchema> JsonSchema for Text<'_, T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// A JSON object whose field names are data. The fields are written in the given order.
#[derive(Debug, Clone)]
pub struct Members<K, V>(pub Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Members<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<K, V: JsonSchema> JsonSchema for Members<K, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("MembersOf{}", V::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "additionalProperties": generator.subschema_for::<V>()})
    }
}

#[cfg(test)]
mod tests {
    use super::{Date, Fixed, Instant, Text};
    use crate::json::{Json, Trim};

    #[test]
    fn instants_are_written_to_the_second() {
        for text in ["2026-01-15T12:00:00.531358399Z", "2026-01-15T12:00:00Z"] {
            assert_eq!(
                serde_json::to_string(&Instant(text)).unwrap(),
                "\"2026-01-15T12:00:00Z\""
            );
        }
    }

    #[test]
    fn days_agree_with_a_calendar() {
        let mut date = jiff::civil::date(1890, 1, 1);
        for days in -29_219..60_000 {
            assert_eq!(Text::new(&Date(days)).as_str(), format!("\"{date}\""));
            date = date.tomorrow().unwrap();
        }
    }

    #[test]
    fn fixed_numbers_have_all_of_their_decimals() {
        let mut units = vec![0, 1, -1, 10, -5, 455, 450, i64::MAX, i64::MIN];
        units.extend((1..19).flat_map(|digits| {
            [
                10i64.pow(digits) - 1,
                10i64.pow(digits),
                -10i64.pow(digits) - 1,
            ]
        }));
        for (units, scale) in units
            .into_iter()
            .flat_map(|units| [0, 1, 3].map(|scale| (units, scale)))
        {
            let mut expected = Json::default();
            expected.decimal(units, scale, Trim::Keep);
            assert_eq!(
                Text::new(&Fixed { units, scale }).as_str().as_bytes(),
                expected.into_bytes()
            );
        }
    }

    #[test]
    fn text_is_written_as_it_is() {
        assert_eq!(
            Text::new(&[Text::<()>::made("{\"a\": 1.50}"), Text::made("null")]).as_str(),
            "[{\"a\": 1.50},null]"
        );
    }
}
