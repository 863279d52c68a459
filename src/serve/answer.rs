//! What answers are made of beside structs: values that are written in a form of their own, each with its JSON schema.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::Json;
use pubdata_core::contract::Day;

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

/// A number in the shortest form that reads back as the same; null when it is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Float(pub f64);

impl Serialize for Float {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        as_written(serializer, |json| json.float(self.0))
    }
}

/// Serializes a number in a form that serde does not have.
fn as_written<S: Serializer>(serializer: S, write: impl FnOnce(&mut Json)) -> Result<S::Ok, S::Error> {
    let mut json = Json::default();
    write(&mut json);
    let text = String::from_utf8(json.into_bytes()).map_err(S::Error::custom)?;
    RawValue::from_string(text).map_err(S::Error::custom)?.serialize(serializer)
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
    Float, "Float": {"type": "number"};
    Instant<'_>, "Instant": {"type": "string"};
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
