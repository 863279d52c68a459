//! Parses an SEC accession number into one integer. Parsing is fast because the data contain tens
//! of millions of accession numbers.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;

use super::ParseIdError;

/// SEC accession number of a filing: `0000320193-20-000096`. The first ten digits identify the
/// filer agent, not the company.
///
/// The number is stored as an 18-digit integer, so that numeric order equals text order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(inline, with = "String", extend("pattern" = "^[0-9]{10}-[0-9]{2}-[0-9]{6}$"))]
pub struct AccessionNumber(u64);

impl AccessionNumber {
    /// Parses an accession number with dashes.
    pub fn from_bytes(text: &[u8]) -> Option<Self> {
        let [
            a1,
            a2,
            a3,
            a4,
            a5,
            a6,
            a7,
            a8,
            a9,
            a10,
            b'-',
            y1,
            y2,
            b'-',
            n1,
            n2,
            n3,
            n4,
            n5,
            n6,
        ] = *text
        else {
            return None;
        };
        if !a1.is_ascii_digit() || !a2.is_ascii_digit() {
            return None;
        }
        let leading = u64::from(a1 & 0x0F) * 10 + u64::from(a2 & 0x0F);
        Some(Self(
            (leading * 100_000_000 + eight_digits([a3, a4, a5, a6, a7, a8, a9, a10])?)
                * 100_000_000
                + eight_digits([y1, y2, n1, n2, n3, n4, n5, n6])?,
        ))
    }

    /// Returns the 18 digits as a number.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// Parses eight ASCII digits.
fn eight_digits(text: [u8; 8]) -> Option<u64> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // Combines digits into pairs, pairs into groups of four, and these into the number: three
    // multiplications instead of eight.
    let digits = u64::from_le_bytes(text) & 0x0F0F_0F0F_0F0F_0F0F;
    let pairs = ((digits * 10) + (digits >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = ((pairs * 100) + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    Some(((fours * 10_000) + (fours >> 32)) & 0xFFFF_FFFF)
}

impl FromStr for AccessionNumber {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        Self::from_bytes(text.as_bytes()).ok_or_else(|| {
            ParseIdError::new(text, "an accession number, such as `0000320193-20-000096`")
        })
    }
}

impl serde::Serialize for AccessionNumber {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for AccessionNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:010}-{:02}-{:06}",
            self.0 / 100_000_000,
            self.0 / 1_000_000 % 100,
            self.0 % 1_000_000
        )
    }
}

#[cfg(test)]
mod tests {
    use super::AccessionNumber;

    #[test]
    fn printed_accession_number_parses_back_and_keeps_the_order() {
        for text in [
            "0000320193-20-000096",
            "9999999997-99-999999",
            "0000000000-00-000000",
        ] {
            assert_eq!(text.parse::<AccessionNumber>().unwrap().to_string(), text);
        }
        let (a, b) = (
            "0000320193-20-000096".parse::<AccessionNumber>().unwrap(),
            "0001193125-10-012085".parse().unwrap(),
        );
        assert!(a < b);
        for wrong in [
            "",
            "000032019320000096",
            "0000320193-20-00009",
            "0000320193-20-00009x",
            "0000320193_20_000096",
            "0000320193-20-0000961",
        ] {
            assert!(wrong.parse::<AccessionNumber>().is_err(), "{wrong}");
        }
    }
}
