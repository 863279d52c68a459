use std::fmt;
use std::str::FromStr;

use super::ParseIdError;

/// The number of a filing: `0000320193-20-000096`. The first ten digits are the filer agent's, not the company's.
///
/// Kept as its 18 digits, so that the order of the numbers is the order of the texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessionNumber(u64);

impl AccessionNumber {
    /// Reads the dashed form.
    pub fn from_bytes(text: &[u8]) -> Option<Self> {
        if text.len() != 20 || text[10] != b'-' || text[13] != b'-' {
            return None;
        }
        let mut number = 0_u64;
        for (place, byte) in text.iter().enumerate().filter(|(place, _)| *place != 10 && *place != 13) {
            debug_assert!(place < 20);
            number = number * 10 + u64::from(byte.checked_sub(b'0').filter(|digit| *digit < 10)?);
        }
        Some(Self(number))
    }

    /// The 18 digits as a number.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl FromStr for AccessionNumber {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        Self::from_bytes(text.as_bytes()).ok_or_else(|| ParseIdError::new(text, "an accession number, such as `0000320193-20-000096`"))
    }
}

impl serde::Serialize for AccessionNumber {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for AccessionNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:010}-{:02}-{:06}", self.0 / 100_000_000, self.0 / 1_000_000 % 100, self.0 % 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::AccessionNumber;

    #[test]
    fn the_printed_form_reads_back_and_keeps_the_order() {
        for text in ["0000320193-20-000096", "9999999997-99-999999", "0000000000-00-000000"] {
            assert_eq!(text.parse::<AccessionNumber>().unwrap().to_string(), text);
        }
        let (a, b) = ("0000320193-20-000096".parse::<AccessionNumber>().unwrap(), "0001193125-10-012085".parse().unwrap());
        assert!(a < b);
        for wrong in ["", "000032019320000096", "0000320193-20-00009", "0000320193-20-00009x", "0000320193_20_000096", "0000320193-20-0000961"] {
            assert!(wrong.parse::<AccessionNumber>().is_err(), "{wrong}");
        }
    }
}
