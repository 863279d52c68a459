//! The facts of a companyfacts member as values: exact decimals, units, form types and periods, as
//! filed. Nothing is rounded or converted: an amount that cannot be held exactly is refused, and a
//! unit that is not published reads as `Other`.

use std::collections::BTreeSet;

use crate::normalise::Day;
use pubdata_core::ids::AccessionNumber;

/// One fact of a companyfacts member, undimensioned, as filed: what a company reported for one
/// concept, unit and period in one filing.
///
/// `fy` and `fp` are the filing's, not the fact's, and the SEC rewrites them: they are only ever
/// compared with what the dates say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    /// Position of the concept in the list of wanted concepts.
    pub concept: u16,
    pub unit: Unit,
    /// First day of a duration; none for an instant.
    pub start: Option<Day>,
    /// Last day of a duration, or the instant.
    pub end: Day,
    pub value: Amount,
    pub accession: AccessionNumber,
    pub form: Form,
    pub filed: Day,
    /// The filing's fiscal year and period as the SEC stamps them.
    pub fy: Option<i16>,
    pub fp: Option<FilingPeriod>,
    /// Place of the fact's JSON object in the member, from `{` to `}`.
    pub offset: u32,
    pub length: u32,
}

/// An exact decimal: so many units of 10^-10.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(pub i128);

impl Amount {
    /// Digits after the point.
    pub const SCALE: u32 = 10;

    /// The amount 1.
    pub const ONE: i128 = 10_i128.pow(Self::SCALE);

    /// Digits in all, as far as the published decimal holds them.
    const PRECISION: u32 = 28;

    /// Takes a number as JSON writes it: `-12.50`, `6e-06`. Exact or refused; zeros at the end of
    /// the fraction say nothing.
    ///
    /// # Errors
    /// What keeps the text from being an amount, to follow "it …".
    pub fn from_literal(literal: &[u8]) -> Result<Self, &'static str> {
        const NO_NUMBER: &str = "is not a number";
        let (is_negative, unsigned) = literal
            .strip_prefix(b"-")
            .map_or((false, literal), |unsigned| (true, unsigned));
        // Nearly all are whole numbers that fit a machine's.
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
        // The digits without zeros before and after them, and the place of the last.
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

/// An exponent; of those beyond all use, one that is as far beyond.
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

/// Units that metrics and statement lines are published in. A fact in another unit is kept as
/// `Other`: never converted, never published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    Usd,
    UsdPerShare,
    Shares,
    Other,
}

impl Unit {
    /// Takes a unit as a member names it; `USD/shares` is written in several ways.
    pub fn from_text(text: &[u8]) -> Self {
        match text {
            b"USD" => Self::Usd,
            b"USD/shares" | b"USD/Shares" | b"USD/share" => Self::UsdPerShare,
            b"shares" => Self::Shares,
            _ => Self::Other,
        }
    }
}

/// Form type of the filing that reported a fact. Only periodic reports enter a series.
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
    /// Annual reports of foreign private issuers, which feed no series.
    TwentyF,
    TwentyFA,
    FortyF,
    FortyFA,
    Other,
}

impl Form {
    /// The periodic reports as EDGAR writes them. Older and special variants (10-K405, 10-KSB) are
    /// none of the XBRL years.
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

    /// Takes a form type as EDGAR writes it.
    pub fn from_text(text: &[u8]) -> Self {
        Self::NAMES
            .iter()
            .find(|(name, _)| name.as_bytes() == text)
            .map_or(Self::Other, |(_, form)| *form)
    }

    /// The form as EDGAR writes it.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, form)| *form == self)
            .map_or("other", |(name, _)| name)
    }

    /// Whether it is an annual report: a 10-K, a transition report or an amendment of one.
    pub fn is_annual(self) -> bool {
        matches!(self, Self::TenK | Self::TenKA | Self::TenKT | Self::TenKTA)
    }

    /// Returns true for annual reports of foreign private issuers: 20-F, 40-F and their amendments.
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

    /// Whether it is a quarterly report: a 10-Q, a transition report or an amendment of one.
    pub fn is_quarterly(self) -> bool {
        matches!(self, Self::TenQ | Self::TenQA | Self::TenQT | Self::TenQTA)
    }
}

/// The SEC's fiscal period stamp of a filing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FilingPeriod {
    Fy,
    Q1,
    Q2,
    Q3,
    Q4,
}

impl FilingPeriod {
    /// Takes a stamp; none for those that no periodic report has.
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

/// What one companyfacts member holds, as far as it is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompanyFacts {
    /// The key in the member; the file name is trusted, this is compared with it.
    pub cik: u64,
    /// May be a co-registrant's: never published as the company's name.
    pub entity_name: String,
    /// Facts of wanted concepts, in member order.
    pub facts: Vec<Fact>,
    /// All facts of the member, wanted or not.
    pub facts_total: u64,
    /// Taxonomies of the member, in member order.
    pub taxonomies: Vec<String>,
    /// Keys that the format does not have, as `level.key`: `member.ticker`, `fact.decimals`. Those
    /// of facts only where the concept is wanted.
    pub unknown_keys: BTreeSet<String>,
    /// Facts of wanted concepts that are not as the format says, with why.
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
