//! Parses a five-digit ZCTA code, which is not a postal ZIP Code. Checks only the format.

use std::fmt;
use std::str::FromStr;

use super::{ParseIdError, is_digits};

/// A ZIP Code Tabulation Area code: five digits, including leading zeros. The area is built from
/// census blocks and is not a postal ZIP Code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Zcta(String);

impl Zcta {
    /// Returns the five digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Zcta {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        if is_digits(text, 5) {
            Ok(Self(text.to_owned()))
        } else {
            Err(ParseIdError::new(text, "a ZCTA code: exactly five digits"))
        }
    }
}

impl fmt::Display for Zcta {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
