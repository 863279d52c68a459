//! Parses the five digits of a ZCTA, which is never a postal ZIP Code. Checks the form only.

use std::fmt;
use std::str::FromStr;

use super::{ParseIdError, is_digits};

/// A ZIP Code Tabulation Area code: five digits, leading zeros kept. The area is built from census
/// blocks and is not a postal ZIP Code.
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
