//! Reads objects in a JSON body strictly. Numbers keep every digit and never pass through binary
//! floating point.

use serde_json::value::RawValue;

use crate::http::problem::{Code, Problem, Result};
use crate::http::{nearest, object};

/// A JSON object without unknown fields.
#[derive(Debug)]
pub struct Fields<'a> {
    /// Prefix of the object's field names in messages, such as `line_items[2].`.
    place: String,
    fields: object::Fields<'a>,
}

impl<'a> Fields<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// `invalid_json` if the body is not a JSON object; `unknown_parameter` for an unknown field,
    /// with the nearest known name.
    pub fn of_body(bytes: &'a [u8], known: &[&str]) -> Result<Self> {
        let wrong = |error: serde_json::Error| {
            Problem::of_field(
                Code::InvalidJson,
                "body",
                format!("the body is not valid JSON: {error}"),
            )
        };
        let fields = object::read(bytes).map_err(wrong)?;
        Self::new(
            fields.ok_or_else(|| {
                Problem::of_field(Code::InvalidJson, "body", "the body must be a JSON object")
            })?,
            String::new(),
            known,
        )
    }

    /// Reads an object. `place` is the prefix of its field names in messages.
    ///
    /// # Errors
    /// `invalid_parameter` if the value is not an object; `unknown_parameter` if it has other
    /// fields.
    pub fn read(value: &'a RawValue, place: String, known: &[&str]) -> Result<Self> {
        let here = place.trim_end_matches('.');
        let fields = object::read(value.get().as_bytes()).map_err(|error| {
            Problem::of_field(Code::InvalidJson, here, format!("`{here}`: {error}"))
        })?;
        // Only addresses have a ZIP code.
        let other = if known.contains(&"zip") {
            r#" such as {"zip": "55401"}, or an address on one line"#
        } else {
            ""
        };
        let wrong = || {
            Problem::of_field(
                Code::InvalidParameter,
                here,
                format!("`{here}` must be an object{other}"),
            )
        };
        let fields = fields.ok_or_else(wrong)?;
        Self::new(fields, place, known)
    }

    fn new(fields: object::Fields<'a>, place: String, known: &[&str]) -> Result<Self> {
        match fields.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => {
                let key: String = key.chars().take(64).collect();
                let message = format!(
                    "there is no field `{place}{key}` here; {}",
                    nearest::hint(&key, known)
                );
                Err(Problem::of_field(
                    Code::UnknownParameter,
                    &format!("{place}{key}"),
                    message,
                ))
            }
            None => Ok(Self { place, fields }),
        }
    }

    /// Returns the prefix of this object's field names.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns a problem with a field.
    pub fn wrong(&self, name: &str, message: &str) -> Problem {
        let field = format!("{}{name}", self.place);
        Problem::of_field(
            Code::InvalidParameter,
            &field,
            format!("`{field}`: {message}"),
        )
    }

    /// Returns a problem with a missing field.
    pub fn missing(&self, name: &str) -> Problem {
        let field = format!("{}{name}", self.place);
        Problem::of_field(
            Code::MissingParameter,
            &field,
            format!("the body needs `{field}`"),
        )
    }

    /// Returns a problem for two fields of which one is required. The problem names the first
    /// field.
    pub fn missing_either(&self, name: &str, other: &str) -> Problem {
        let field = format!("{}{name}", self.place);
        Problem::of_field(
            Code::MissingParameter,
            &field,
            format!("the body needs `{}{other}` or `{field}`", self.place),
        )
    }

    /// Returns a field, or `None` if it is absent or null.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.fields
            .get(name)
            .copied()
            .filter(|value| value.get() != "null")
    }

    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns a single-line string with at most `max` characters.
    pub fn text(&self, name: &str, max: usize) -> Result<Option<String>> {
        self.get(name)
            .map(|value| text_of(value, &format!("{}{name}", self.place), max))
            .transpose()
    }

    /// Returns a string that must be one of the given words.
    pub fn word(&self, name: &str, words: &[&'static str]) -> Result<Option<&'static str>> {
        let Some(text) = self.text(name, 64)? else {
            return Ok(None);
        };
        match words.iter().find(|word| **word == text) {
            Some(word) => Ok(Some(word)),
            None => Err(self.wrong(
                name,
                &format!("`{text}` is not valid; {}", nearest::hint(&text, words)),
            )),
        }
    }

    /// Returns a boolean.
    pub fn flag(&self, name: &str) -> Result<Option<bool>> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        serde_json::from_str(value.get())
            .map(Some)
            .map_err(|_| self.wrong(name, "expected true or false"))
    }

    /// Returns a number in units of 10^-`scale`. Its magnitude must be at most `max` whole units,
    /// and it must not have more than `scale` decimal places.
    pub fn decimal(&self, name: &str, scale: u8, max: i64) -> Result<Option<i64>> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let bound = i128::from(max) * 10i128.pow(u32::from(scale));
        let units = units_of(value.get(), scale)
            .filter(|units| units.abs() <= bound)
            .and_then(|units| i64::try_from(units).ok());
        units.map(Some).ok_or_else(|| {
            self.wrong(
                name,
                &format!("expected a number with at most {scale} decimals, from -{max} to {max}"),
            )
        })
    }

    /// Returns the values of a list.
    ///
    /// # Errors
    /// `invalid_parameter` if the value is not a list or is empty; the result of `too_many` if the
    /// list has more than `max` values.
    pub fn list(
        &self,
        name: &str,
        max: usize,
        too_many: impl Fn(usize) -> Problem,
    ) -> Result<Option<Vec<&'a RawValue>>> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let values: Vec<&'a RawValue> =
            serde_json::from_str(value.get()).map_err(|_| self.wrong(name, "expected a list"))?;
        match values.len() {
            0 => Err(self.wrong(name, "the list is empty")),
            count if count > max => Err(too_many(count)),
            _ => Ok(Some(values)),
        }
    }

    /// Returns one object from a list.
    pub fn item(
        &self,
        name: &str,
        index: usize,
        value: &'a RawValue,
        known: &[&str],
    ) -> Result<Self> {
        Self::read(value, format!("{}{name}[{index}].", self.place), known)
    }
}

/// Reads a single-line string with at most `max` characters.
pub fn text_of(value: &RawValue, field: &str, max: usize) -> Result<String> {
    let text: Option<String> = serde_json::from_str(value.get()).ok();
    let is_fit = |text: &String| text.chars().count() <= max && !text.chars().any(char::is_control);
    let message =
        || format!("`{field}`: expected a string of one line and at most {max} characters");
    text.filter(is_fit)
        .ok_or_else(|| Problem::of_field(Code::InvalidParameter, field, message()))
}

/// Parses a JSON number in units of 10^-`scale`. Returns `None` if the number has more decimal
/// places or far too many digits.
fn units_of(text: &str, scale: u8) -> Option<i128> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (
            mantissa,
            exponent
                .parse::<i32>()
                .ok()
                .filter(|exponent| exponent.abs() <= 40)?,
        ),
        None => (text, 0),
    };
    let (sign, magnitude) = mantissa
        .strip_prefix('-')
        .map_or((1, mantissa), |magnitude| (-1, magnitude));
    let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || digits.len() > 30 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value: i128 = digits.parse().ok()?;
    let shift = i32::from(scale) + exponent - i32::try_from(fraction.len()).ok()?;
    let power = |places: u32| 10i128.checked_pow(places);
    let units = if shift >= 0 {
        value.checked_mul(power(shift.unsigned_abs())?)?
    } else {
        let divisor = power(shift.unsigned_abs())?;
        if value % divisor != 0 {
            return None;
        }
        value / divisor
    };
    Some(sign * units)
}

#[cfg(test)]
mod tests {
    use crate::tax::fields::units_of;

    #[test]
    fn numbers_are_read_to_the_digit() {
        for (text, scale, expected) in [
            ("19.99", 2, Some(1_999)),
            ("-0.1", 2, Some(-10)),
            ("0.1000", 1, Some(1)),
            ("1e3", 2, Some(100_000)),
            ("1250e-2", 2, Some(1_250)),
            ("1.5E+1", 0, Some(15)),
            ("0", 2, Some(0)),
            ("-0", 2, Some(0)),
            ("1000000000000.000001", 6, Some(1_000_000_000_000_000_001)),
            ("0.001", 2, None),
            ("1e-3", 2, None),
            ("1e400", 2, None),
            ("99999999999999999999999999999999", 2, None),
            ("\"1\"", 2, None),
            ("true", 2, None),
            ("[1]", 2, None),
            ("1e", 2, None),
        ] {
            assert_eq!(units_of(text, scale), expected, "{text}");
        }
    }
}
