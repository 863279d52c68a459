//! Parses the five-digit code of a county or county equivalent. Checks only the format, not whether
//! the county exists.

use std::fmt;
use std::str::FromStr;

use super::{ParseIdError, is_digits};

/// A county FIPS code: two state digits and three county digits, including leading zeros.
/// Connecticut's planning regions count as counties.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CountyFips(String);

impl CountyFips {
    /// Returns the five digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CountyFips {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        if is_digits(text, 5) {
            Ok(Self(text.to_owned()))
        } else {
            Err(ParseIdError::new(
                text,
                "a county FIPS code: exactly five digits",
            ))
        }
    }
}

impl fmt::Display for CountyFips {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
