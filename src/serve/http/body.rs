//! Reads a JSON body strictly: it must be one object, and each field must be known and have the
//! expected type. Each body has a struct that declares its fields; the schema is derived from the
//! same struct.

use std::ops::RangeInclusive;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::http::problem::{Code, Problem, Result};
use crate::http::{nearest, object};

/// Maximum number of items in a batch, for every plan.
pub const MAX_BATCH_ITEMS: usize = 100;

/// Survey years that a request may name.
pub const YEARS: RangeInclusive<i64> = 1900..=2200;

/// Declares the fields of a request body, or of an object inside a body, as a struct that the
/// reader fills. Each field gets a constant with the field's name, so readers never repeat a name
/// as a literal.
macro_rules! request {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$life:lifetime>)? {
            $($(#[$attribute:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        #[derive(Debug, schemars::JsonSchema)]
        $(#[$meta])*
        $vis struct $name $(<$life>)? {
            $($(#[$attribute])* pub $field: $type,)*
        }

        #[expect(non_upper_case_globals, reason = "a constant is named as its field")]
        impl $(<$life>)? $name $(<$life>)? {
            /// Names of all fields.
            pub const FIELDS: &'static [&'static str] = &[$(Self::$field),*];
            $(pub const $field: &'static str = stringify!($field);)*
        }
    };
}
pub(crate) use request;

/// Returns the value of a required field.
///
/// # Errors
/// `missing_parameter` if the value is `None`.
pub fn required<T>(field: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| {
        Problem::of_field(
            Code::MissingParameter,
            field,
            format!("the body needs `{field}`"),
        )
    })
}

/// JSON body whose field names are all known.
#[derive(Debug)]
pub struct Body(Map<String, Value>);

impl Body {
    /// Reads a body that may contain only the given fields.
    ///
    /// # Errors
    /// `invalid_json` if the body is not a JSON object; `unknown_parameter` with the nearest known
    /// field if a field is unknown.
    pub fn read(bytes: &[u8], fields: &[&str]) -> Result<Self> {
        let wrong = |error: serde_json::Error| {
            Problem::of_field(
                Code::InvalidJson,
                "body",
                format!("the body is not valid JSON: {error}"),
            )
        };
        let fields_there = object::read(bytes).map_err(wrong)?;
        let fields_there = fields_there.ok_or_else(|| {
            Problem::of_field(Code::InvalidJson, "body", "the body must be a JSON object")
        })?;
        let read = |(name, text): (String, &RawValue)| {
            Ok((
                name,
                serde_json::from_str::<Value>(text.get()).map_err(wrong)?,
            ))
        };
        let object = fields_there
            .into_iter()
            .map(read)
            .collect::<Result<Map<String, Value>>>()?;
        match object.keys().find(|key| !fields.contains(&key.as_str())) {
            Some(key) => {
                let key: String = key.chars().take(64).collect();
                let message = format!(
                    "there is no field `{key}` here; {}",
                    nearest::hint(&key, fields)
                );
                Err(Problem::of_field(Code::UnknownParameter, &key, message))
            }
            None => Ok(Self(object)),
        }
    }

    /// Returns a list of strings, or `None` if the field is absent.
    pub fn texts(&self, field: &str) -> Result<Option<Vec<String>>> {
        let wrong = || {
            Problem::of_field(
                Code::InvalidParameter,
                field,
                format!(
                    "`{field}` must be an array of strings (codes keep their leading zeros as strings)"
                ),
            )
        };
        let Some(value) = self.0.get(field) else {
            return Ok(None);
        };
        let items = value.as_array().ok_or_else(wrong)?;
        items
            .iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect::<Result<Vec<_>>>()
            .map(Some)
    }

    /// Returns a string, or `None` if the field is absent or null.
    pub fn text(&self, field: &str) -> Result<Option<String>> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Problem::of_field(
                Code::InvalidParameter,
                field,
                format!("`{field}` must be a string"),
            )),
        }
    }

    /// Returns an integer within a range, or `None` if the field is absent or null.
    pub fn whole(&self, field: &str, range: RangeInclusive<i64>) -> Result<Option<i64>> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match integer(value).filter(|number| range.contains(number)) {
                Some(number) => Ok(Some(number)),
                None => {
                    let message = format!(
                        "`{field}` must be a whole number from {} to {}",
                        range.start(),
                        range.end()
                    );
                    Err(Problem::of_field(Code::InvalidParameter, field, message))
                }
            },
        }
    }

    /// Returns a year within [`YEARS`], or `None` if the field is absent or null.
    pub fn year(&self, field: &str) -> Result<Option<i64>> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match integer(value).filter(|year| YEARS.contains(year)) {
                Some(year) => Ok(Some(year)),
                None => Err(Problem::of_field(
                    Code::InvalidParameter,
                    field,
                    format!("`{field}` must be a year such as 2023"),
                )),
            },
        }
    }

    /// Returns the positions of the given words in the list of known words.
    ///
    /// # Errors
    /// `invalid_parameter` if the list is empty, a word is unknown, or a word occurs twice.
    pub fn positions(&self, field: &str, words: &[String], known: &[&str]) -> Result<Vec<usize>> {
        let wrong = |message: String| Problem::of_field(Code::InvalidParameter, field, message);
        if words.is_empty() {
            return Err(wrong(format!("`{field}` is empty")));
        }
        let mut positions = Vec::with_capacity(words.len());
        for word in words {
            let shown: String = word.chars().take(64).collect();
            let position = known
                .iter()
                .position(|known| known == word)
                .ok_or_else(|| {
                    wrong(format!(
                        "`{shown}` is not valid; {}",
                        nearest::hint(&shown, known)
                    ))
                })?;
            if positions.contains(&position) {
                return Err(wrong(format!("`{word}` is listed twice")));
            }
            positions.push(position);
        }
        Ok(positions)
    }
}

/// Returns a whole number in any notation, because JSON Schema also accepts 2023.0 as an integer.
fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        value
            .as_f64()
            .filter(|number| number.fract() == 0.0)
            .map(|number| number as i64)
    })
}
