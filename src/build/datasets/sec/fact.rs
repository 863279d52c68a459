//! Defines the facts in a companyfacts member as values: exact decimals, units, form types and
//! periods, as filed. Never rounds or converts. An amount that cannot be represented exactly is
//! rejected, and an unpublished unit is read as `Other`.

use std::collections::BTreeSet;

use crate::normalise::Day;
use pubdata_core::ids::AccessionNumber;

/// An undimensioned fact in a companyfacts member, as filed: the value that a company reported for
/// one concept, unit and period in one filing.
///
/// `fy` and `fp` belong to the filing, not to the fact, and the SEC rewrites them. They are used
/// only for comparison with the dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    /// Index of the fact's concept in the list of wanted concepts.
    pub concept: u16,
    pub unit: Unit,
    /// First day of a duration; `None` for an instant.
    pub start: Option<Day>,
    /// Last day of a duration, or the instant.
    pub end: Day,
    pub value: Amount,
    pub accession: AccessionNumber,
    pub form: Form,
    pub filed: Day,
    /// The filing's fiscal year and period, as stamped by the SEC.
    pub fy: Option<i16>,
    pub fp: Option<FilingPeriod>,
    /// Byte offset of the fact's JSON object in the member, which extends from `{` to `}`. The next
    /// field is the object's length.
    pub offset: u32,
    pub length: u32,
}

/// Exact decimal in units of 10^-10.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(pub i128);

impl Amount {
    /// Number of decimal places.
    pub const SCALE: u32 = 10;

    /// The amount 1.
    pub const ONE: i128 = 10_i128.pow(Self::SCALE);

    /// Total number of digits that the published decimal can represent.
    const PRECISION: u32 = 28;

    /// Parses a number as written in JSON: `-12.50`, `6e-06`. The result is exact. Trailing zeros
    /// in the fraction have no meaning.
    ///
    /// # Errors
    /// Returns the reason why the text is not an amount, worded to follow "it …".
    pub fn from_literal(literal: &[u8]) -> Result<Self, &'static str> {
        const NO_NUMBER: &str = "is not a number";
        let (is_negative, unsigned) = literal
            .strip_prefix(b"-")
            .map_or((false, literal), |unsigned| (true, unsigned));
        // Fast path, because nearly all numbers are integers that fit into 64 bits.
        if (1..=18).contains(&unsigned.len()) && unsigned.iter().all(u8::is_ascii_digit) {
            let number = unsigned
                .iter()
                .fold(0_i64, |number, digit| number * 10 + i64::from(digit & 0x0F));
            return Ok(Self(
                i128::from(if is_negative { -number } else { number }) * Self::ONE,
            ));
        }
        let (digits, exponent) = match unsigned.iter().position(|byte| matches!(byte, b'e' | b'E'))
        {
            Some(place) => (
                &unsigned[..place],
                exponent(&unsigned[place + 1..]).ok_or(NO_NUMBER)?,
            ),
            None => (unsigned, 0),
        };
        let point = digits
            .iter()
            .position(|byte| *byte == b'.')
            .unwrap_or(digits.len());
        let (whole, fraction) = (
            &digits[..point],
            digits.get(point + 1..).unwrap_or_default(),
        );
        let is_fraction_left_out = point < digits.len() && fraction.is_empty();
        if whole.is_empty()
            || is_fraction_left_out
            || !whole.iter().chain(fraction).all(u8::is_ascii_digit)
        {
            return Err(NO_NUMBER);
        }
        // Digits without leading and trailing zeros, and the exponent of the last digit.
        let zeros_before = whole
            .iter()
            .chain(fraction)
            .take_while(|digit| **digit == b'0')
            .count();
        let zeros_after = whole
            .iter()
            .chain(fraction)
            .rev()
            .take_while(|digit| **digit == b'0')
            .count();
        let count = whole.len() + fraction.len();
        if zeros_before == count {
            return Ok(Self(0));
        }
        let significant = u32::try_from(count - zeros_before - zeros_after).unwrap_or(u32::MAX);
        let shift = |places: usize| i32::try_from(places).unwrap_or(i32::MAX);
        let last_place = exponent
            .saturating_sub(shift(fraction.len()))
            .saturating_add(shift(zeros_after));
        let zeros_to_add = u32::try_from(last_place.saturating_add_unsigned(Self::SCALE))
            .map_err(|_| "has more than ten digits after the point")?;
        if significant.saturating_add(zeros_to_add) > Self::PRECISION {
            return Err("has more than 18 digits before the point");
        }
        let mut number = 0_i128;
        for digit in whole
            .iter()
            .chain(fraction)
            .skip(zeros_before)
            .take(count - zeros_before - zeros_after)
        {
            number = number * 10 + i128::from(digit - b'0');
        }
        number *= 10_i128.pow(zeros_to_add);
        Ok(Self(if is_negative { -number } else { number }))
    }
}

/// Parses an exponent. Saturates an exponent that is far out of range.
fn exponent(text: &[u8]) -> Option<i32> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let size = digits.iter().fold(0_i32, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add(i32::from(digit - b'0'))
    });
    Some(if is_negative { -size } else { size })
}

/// Units of published metrics and statement lines. A fact in any other unit is kept as `Other`, and
/// is never converted or published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    Usd,
    UsdPerShare,
    Shares,
    Other,
}

impl Unit {
    /// Returns the unit for the text in a member. `USD/shares` has several spellings.
    pub fn from_text(text: &[u8]) -> Self {
        match text {
            b"USD" => Self::Usd,
            b"USD/shares" | b"USD/Shares" | b"USD/share" => Self::UsdPerShare,
            b"shares" => Self::Shares,
            _ => Self::Other,
        }
    }
}

/// Form type of the filing that reported a fact. Only periodic reports become part of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    TenK,
    TenKA,
    TenKT,
    TenKTA,
    TenQ,
    TenQA,
    TenQT,
    TenQTA,
    /// Annual reports by foreign private issuers, which do not become part of any series.
    TwentyF,
    TwentyFA,
    FortyF,
    FortyFA,
    Other,
}

impl Form {
    /// Periodic reports as EDGAR writes them. Older and special variants (10-K405, 10-KSB) do not
    /// occur in the years covered by XBRL.
    const NAMES: [(&str, Self); 12] = [
        ("10-K", Self::TenK),
        ("10-K/A", Self::TenKA),
        ("10-KT", Self::TenKT),
        ("10-KT/A", Self::TenKTA),
        ("10-Q", Self::TenQ),
        ("10-Q/A", Self::TenQA),
        ("10-QT", Self::TenQT),
        ("10-QT/A", Self::TenQTA),
        ("20-F", Self::TwentyF),
        ("20-F/A", Self::TwentyFA),
        ("40-F", Self::FortyF),
        ("40-F/A", Self::FortyFA),
    ];

    /// Returns the form for EDGAR's text.
    pub fn from_text(text: &[u8]) -> Self {
        Self::NAMES
            .iter()
            .find(|(name, _)| name.as_bytes() == text)
            .map_or(Self::Other, |(_, form)| *form)
    }

    /// Returns the form as EDGAR writes it.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, form)| *form == self)
            .map_or("other", |(name, _)| name)
    }

    /// Returns true for annual reports: a 10-K, a transition report or an amendment to either.
    pub fn is_annual(self) -> bool {
        matches!(self, Self::TenK | Self::TenKA | Self::TenKT | Self::TenKTA)
    }

    /// Returns true for annual reports by foreign private issuers: 20-F, 40-F and their amendments.
    pub fn is_foreign(self) -> bool {
        matches!(
            self,
            Self::TwentyF | Self::TwentyFA | Self::FortyF | Self::FortyFA
        )
    }

    /// Returns true for amendments (`/A`).
    pub fn is_amendment(self) -> bool {
        self.name().ends_with("/A")
    }

    /// Returns true for quarterly reports: a 10-Q, a transition report or an amendment to either.
    pub fn is_quarterly(self) -> bool {
        matches!(self, Self::TenQ | Self::TenQA | Self::TenQT | Self::TenQTA)
    }
}

/// The SEC's fiscal period stamp for a filing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FilingPeriod {
    Fy,
    Q1,
    Q2,
    Q3,
    Q4,
}

impl FilingPeriod {
    /// Returns the period for a stamp, or `None` for a stamp that no periodic report has.
    pub fn from_text(text: &[u8]) -> Option<Self> {
        match text {
            b"FY" => Some(Self::Fy),
            b"Q1" => Some(Self::Q1),
            b"Q2" => Some(Self::Q2),
            b"Q3" => Some(Self::Q3),
            b"Q4" => Some(Self::Q4),
            _ => None,
        }
    }
}

/// The wanted content of a companyfacts member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompanyFacts {
    /// CIK in the member, for comparison with the CIK in the file name, which is trusted.
    pub cik: u64,
    /// May be a co-registrant's name, so it is never published as the company's name.
    pub entity_name: String,
    /// Facts about wanted concepts, in member order.
    pub facts: Vec<Fact>,
    /// Number of all facts in the member, wanted or not.
    pub facts_total: u64,
    /// Taxonomies in the member, in member order.
    pub taxonomies: Vec<String>,
    /// Keys outside the format, as `level.key`: `member.ticker`, `fact.decimals`. Keys in facts are
    /// listed only for wanted concepts.
    pub unknown_keys: BTreeSet<String>,
    /// Facts about wanted concepts that do not follow the format, with the reason.
    pub malformed: Vec<MalformedFact>,
}

/// A fact that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedFact {
    pub concept: u16,
    pub detail: String,
    pub offset: u32,
    pub length: u32,
}
