//! Parses an SEC filer number with or without leading zeros, and prints it with ten digits.

use std::fmt;
use std::str::FromStr;

use super::ParseIdError;

/// A Central Index Key (CIK): the SEC's number for a filer, printed with ten digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cik(u64);

impl Cik {
    /// Returns the number, without leading zeros.
    pub fn number(self) -> u64 {
        self.0
    }

    /// Creates a CIK from a number; `None` if it has more than ten digits or is 0.
    pub fn from_number(number: u64) -> Option<Self> {
        (1..10_000_000_000)
            .contains(&number)
            .then_some(Self(number))
    }
}

impl FromStr for Cik {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let digits = text.trim_start_matches('0');
        let has_form = text.len() <= 19
            && (1..=10).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = if has_form {
            digits.parse().ok().and_then(Self::from_number)
        } else {
            None
        };
        number.ok_or_else(|| {
            ParseIdError::new(
                text,
                "a CIK: one to ten digits, with or without leading zeros",
            )
        })
    }
}

impl fmt::Display for Cik {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:010}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Cik;

    #[test]
    fn leading_zeros_are_optional_and_always_printed() {
        assert_eq!("320193".parse::<Cik>().unwrap().to_string(), "0000320193");
        assert_eq!("0000320193".parse::<Cik>().unwrap().number(), 320_193);
        assert_eq!(
            "0000000000000320193".parse::<Cik>().unwrap().number(),
            320_193
        );
        for wrong in [
            "",
            "0",
            "0000000000",
            "12345678901",
            "32O193",
            "+320193",
            " 320193",
        ] {
            assert!(wrong.parse::<Cik>().is_err(), "{wrong}");
        }
    }
}
