//! Interprets a pair of estimate and margin cells as a single [`Reading`]. Source: the Bureau's
//! "Notes on ACS Estimate and Annotation Values" and the "Explanation of Symbols" in each table's
//! notes. All figures are in tenths of the metric's unit, so that medians and percentages with one
//! decimal place stay exact.

use serde::Deserialize;

use crate::normalise::grouped;

/// Special values in estimate and margin columns that are not figures.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SpecialValues {
    pub(super) insufficient_sample: String,
    pub(super) moe_insufficient_sample: String,
    pub(super) moe_open_ended: String,
    pub(super) moe_controlled: String,
    pub(super) not_applicable: String,
    pub(super) suppressed: String,
}

/// Sentinels for a median's lowest and highest interval, the bounds that the sentinels represent,
/// and the Bureau's phrase for each bound.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenEnded {
    pub(super) low: String,
    pub(super) low_bound: String,
    pub(super) low_phrase: String,
    pub(super) high: String,
    pub(super) high_bound: String,
    pub(super) high_phrase: String,
}

/// An interpreted pair of cells, with figures in tenths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Reading {
    pub(super) value: Option<i64>,
    /// Bound of a median in an open-ended interval.
    pub(super) bound: Option<i64>,
    /// `at_least` or `at_most`.
    pub(super) bound_type: Option<&'static str>,
    pub(super) moe: Option<i64>,
    /// A share's margin of error, according to the Bureau's formula for users.
    pub(super) moe_approximate: Option<i64>,
    /// `published`, `controlled`, `not_published`, `not_fetched` or `open_ended`.
    pub(super) moe_status: &'static str,
    pub(super) qualifier: Option<String>,
    pub(super) null_reason: Option<&'static str>,
    pub(super) warning: Option<&'static str>,
}

/// A cell that is not a figure and has no known meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unknown(pub(super) String);

/// The Bureau's special values are negative numbers of nine equal digits. No figure is that low.
const MAX_SPECIAL_VALUE: i64 = -1_111_111_110;

/// 100 % in tenths. The Bureau never prints a larger margin for a percentage.
const MAX_MARGIN: i64 = 1_000;

/// Special values that may occur in the cells for one metric.
pub(super) struct Cells {
    jam: [(i64, SpecialValue); 6],
    open_ended: Option<OpenInterval>,
}

struct OpenInterval {
    low: i64,
    low_bound: i64,
    low_phrase: String,
    high: i64,
    high_bound: i64,
    high_phrase: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpecialValue {
    InsufficientSample,
    MoeInsufficientSample,
    MoeOpenEnded,
    MoeControlled,
    NotApplicable,
    Suppressed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    Absent,
    Figure(i64),
    SpecialValue(SpecialValue),
}

impl Cells {
    /// Parses the special values.
    ///
    /// # Errors
    /// Returns the name of a setting that is not a number.
    pub(super) fn new(
        jam: &SpecialValues,
        open_ended: Option<&OpenEnded>,
    ) -> Result<Self, Unknown> {
        let open_interval = |open: &OpenEnded| {
            Ok(OpenInterval {
                low: number(&open.low)?,
                low_bound: number(&open.low_bound)?,
                low_phrase: open.low_phrase.clone(),
                high: number(&open.high)?,
                high_bound: number(&open.high_bound)?,
                high_phrase: open.high_phrase.clone(),
            })
        };
        Ok(Self {
            jam: [
                (
                    number(&jam.insufficient_sample)?,
                    SpecialValue::InsufficientSample,
                ),
                (
                    number(&jam.moe_insufficient_sample)?,
                    SpecialValue::MoeInsufficientSample,
                ),
                (number(&jam.moe_open_ended)?, SpecialValue::MoeOpenEnded),
                (number(&jam.moe_controlled)?, SpecialValue::MoeControlled),
                (number(&jam.not_applicable)?, SpecialValue::NotApplicable),
                (number(&jam.suppressed)?, SpecialValue::Suppressed),
            ],
            open_ended: open_ended.map(open_interval).transpose()?,
        })
    }

    /// Reads a published estimate and its margin of error.
    ///
    /// # Errors
    /// Fails for an undeclared special value, or for text that is not a number.
    pub(super) fn read(
        &self,
        estimate: Option<&str>,
        moe: Option<&str>,
    ) -> Result<Reading, Unknown> {
        let estimate = self.cell(estimate)?;
        let moe = self.cell(moe)?;
        let value = match estimate {
            Cell::Figure(value) => value,
            Cell::Absent => return Ok(Reading::null("not_published")),
            Cell::SpecialValue(SpecialValue::InsufficientSample) => {
                return Ok(Reading::null("insufficient_sample"));
            }
            Cell::SpecialValue(SpecialValue::NotApplicable) => {
                return Ok(Reading::null("not_applicable"));
            }
            Cell::SpecialValue(SpecialValue::Suppressed) => return Ok(Reading::null("suppressed")),
            Cell::SpecialValue(other) => {
                return Err(Unknown(format!(
                    "the margin's code for {other:?} stands in an estimate column"
                )));
            }
        };
        match moe {
            Cell::Figure(moe) => Ok(Reading {
                value: Some(value),
                moe: Some(moe),
                moe_status: "published",
                ..Reading::default()
            }),
            Cell::SpecialValue(SpecialValue::MoeControlled) => Ok(Reading {
                value: Some(value),
                moe_status: "controlled",
                ..Reading::default()
            }),
            Cell::SpecialValue(SpecialValue::MoeOpenEnded) => self.read_open_ended(value),
            Cell::Absent | Cell::SpecialValue(_) => Ok(Reading {
                value: Some(value),
                moe_status: "not_published",
                ..Reading::default()
            }),
        }
    }

    /// Reads an estimate whose margin states that it lies in an open-ended interval, as a bound and
    /// a phrase. Interprets an undeclared sentinel by its last digit, with a warning. The Bureau's
    /// sentinels end in 1 if they are above the bound and in 9 if they are below it.
    fn read_open_ended(&self, value: i64) -> Result<Reading, Unknown> {
        let warning = Some("undeclared_open_interval");
        match &self.open_ended {
            Some(interval) if value == interval.high => Ok(Reading::open_ended(
                "at_least",
                interval.high_bound,
                interval.high_phrase.clone(),
            )),
            Some(interval) if value == interval.low => Ok(Reading::open_ended(
                "at_most",
                interval.low_bound,
                interval.low_phrase.clone(),
            )),
            _ => match value % 100 {
                10 => Ok(Reading {
                    warning,
                    ..Reading::open_ended(
                        "at_least",
                        value - 10,
                        format!("{} or more", grouped(value / 10 - 1)),
                    )
                }),
                90 => Ok(Reading {
                    warning,
                    ..Reading::open_ended(
                        "at_most",
                        value + 10,
                        format!("less than {}", grouped(value / 10 + 1)),
                    )
                }),
                _ => Err(Unknown(format!(
                    "the margin says that {} lies in an open-ended interval, but it is no sentinel",
                    decimal(value)
                ))),
            },
        }
    }

    /// Reads counts and computes a share. The Bureau publishes margins for shares, but not in the
    /// files that contain the counts.
    ///
    /// # Units
    /// Tenths of a percent, computed with integers; half a tenth is rounded up. The results equal
    /// the Bureau's published percentages.
    pub(super) fn share<'t>(
        &self,
        parts: impl Iterator<Item = Option<&'t str>>,
        whole: Option<&str>,
    ) -> Result<Reading, Unknown> {
        let null = |reason| {
            Ok(Reading {
                moe_status: "not_fetched",
                ..Reading::null(reason)
            })
        };
        let mut sum = 0;
        for part in parts {
            match self.count(part)? {
                Ok(count) => sum += count,
                Err(reason) => return null(reason),
            }
        }
        let whole = match self.count(whole)? {
            Ok(0) => return null("zero_universe"),
            Ok(whole) => whole,
            Err(reason) => return null(reason),
        };
        let tenths = (sum * 2_000 + whole) / (whole * 2);
        Ok(Reading {
            value: Some(tenths),
            moe_status: "not_fetched",
            ..Reading::default()
        })
    }

    /// Approximates a share's margin of error from pairs of estimate and margin for its parts and
    /// its total. Returns `None` if a margin is missing. If several estimates are zero, only the
    /// largest of their margins counts. If the radicand is negative, its terms are added. Source:
    /// Census Bureau, "Understanding and Using American Community Survey Data: What All Data Users
    /// Need to Know" (2020), chapter 8.
    ///
    /// # Units
    /// Tenths of a percent, at the 90 % confidence level that published margins also use.
    pub(super) fn share_margin<'t>(
        &self,
        parts: impl Iterator<Item = (Option<&'t str>, Option<&'t str>)>,
        whole: (Option<&str>, Option<&str>),
    ) -> Option<i64> {
        let (mut sum, mut squares, mut largest_of_zeros) = (0.0, 0.0, 0.0_f64);
        for (estimate, margin) in parts {
            let (estimate, margin) = (self.figure(estimate)?, self.margin(margin)?);
            sum += estimate;
            if estimate == 0.0 {
                largest_of_zeros = largest_of_zeros.max(margin);
            } else {
                squares += margin * margin;
            }
        }
        squares += largest_of_zeros * largest_of_zeros;
        let (whole, whole_margin) = (
            self.figure(whole.0).filter(|whole| *whole > 0.0)?,
            self.margin(whole.1)?,
        );
        let of_whole = (sum / whole * whole_margin).powi(2);
        let radicand = if squares >= of_whole {
            squares - of_whole
        } else {
            squares + of_whole
        };
        Some(((radicand.sqrt() / whole * 1_000.0).round() as i64).min(MAX_MARGIN))
    }

    fn figure(&self, text: Option<&str>) -> Option<f64> {
        match self.cell(text) {
            Ok(Cell::Figure(tenths)) => Some(tenths as f64 / 10.0),
            _ => None,
        }
    }

    /// Returns a margin, which is zero for a controlled estimate.
    fn margin(&self, text: Option<&str>) -> Option<f64> {
        match self.cell(text) {
            Ok(Cell::SpecialValue(SpecialValue::MoeControlled)) => Some(0.0),
            _ => self.figure(text),
        }
    }

    /// Returns a count, or the reason why it is null.
    fn count(&self, text: Option<&str>) -> Result<Result<i64, &'static str>, Unknown> {
        match self.cell(text)? {
            Cell::Figure(tenths) if tenths >= 0 && tenths % 10 == 0 => Ok(Ok(tenths / 10)),
            Cell::Figure(tenths) => Err(Unknown(format!("{} is not a count", decimal(tenths)))),
            Cell::Absent => Ok(Err("not_published")),
            Cell::SpecialValue(SpecialValue::NotApplicable) => Ok(Err("not_applicable")),
            Cell::SpecialValue(SpecialValue::Suppressed) => Ok(Err("suppressed")),
            Cell::SpecialValue(_) => Ok(Err("insufficient_sample")),
        }
    }

    fn cell(&self, text: Option<&str>) -> Result<Cell, Unknown> {
        let Some(text) = text.filter(|text| !matches!(*text, "null" | ".")) else {
            return Ok(Cell::Absent);
        };
        let value = number(text)?;
        if value > MAX_SPECIAL_VALUE {
            return Ok(Cell::Figure(value));
        }
        let known = self.jam.iter().find(|(code, _)| *code == value);
        known
            .map(|(_, jam)| Cell::SpecialValue(*jam))
            .ok_or_else(|| Unknown(format!("special value {text} is not in the declared list")))
    }
}

impl Reading {
    pub(super) fn null(reason: &'static str) -> Self {
        Self {
            moe_status: "not_published",
            null_reason: Some(reason),
            ..Self::default()
        }
    }

    fn open_ended(bound_type: &'static str, bound: i64, phrase: String) -> Self {
        Self {
            bound: Some(bound),
            bound_type: Some(bound_type),
            moe_status: "open_ended",
            qualifier: Some(phrase),
            null_reason: Some("open_ended_interval"),
            ..Self::default()
        }
    }
}

/// Parses a decimal with at most one nonzero digit after the point, in tenths.
fn number(text: &str) -> Result<i64, Unknown> {
    let unknown = || Unknown(format!("`{text}` is not a number with at most one decimal"));
    let (sign, digits) = text
        .strip_prefix('-')
        .map_or((1, text), |digits| (-1, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let has_one_decimal = fraction.bytes().skip(1).all(|byte| byte == b'0');
    if whole.is_empty()
        || whole.len() > 15
        || !is_digits(whole)
        || !is_digits(fraction)
        || !has_one_decimal
    {
        return Err(unknown());
    }
    let tenth = i64::from(fraction.bytes().next().map_or(0, |byte| byte - b'0'));
    let whole: i64 = whole.parse().map_err(|_| unknown())?;
    let tenths = whole * 10 + tenth;
    // No publisher writes a negative zero, so a sign without a number is left over from a code.
    if tenths == 0 && sign < 0 {
        Err(unknown())
    } else {
        Ok(sign * tenths)
    }
}

fn decimal(tenths: i64) -> String {
    format!(
        "{}{}.{}",
        if tenths < 0 { "-" } else { "" },
        tenths.abs() / 10,
        tenths.abs() % 10
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Understanding and Using American Community Survey Data" (2020), chapter 8, "Calculating
    /// MOEs for Derived Proportions". In Fairfax County, 203,119 ± 5,070 of 630,498 ± 831 females
    /// 15 and older were never married.
    #[test]
    fn share_margin_matches_the_example_of_the_census_bureau() {
        let margin = |parts: &[(&str, &str)], whole: (&str, &str)| {
            cells().share_margin(
                parts
                    .iter()
                    .map(|(estimate, margin)| (Some(*estimate), Some(*margin))),
                (Some(whole.0), Some(whole.1)),
            )
        };
        assert_eq!(margin(&[("203119", "5070")], ("630498", "831")), Some(8));
        // By the formula: sqrt(1000² + 2000² + 50²) / 40000 = 5.6 %. Only the larger margin of the
        // two zero estimates counts.
        assert_eq!(
            margin(
                &[
                    ("9000", "1000"),
                    ("11000", "2000"),
                    ("0", "13"),
                    ("0", "50")
                ],
                ("40000", "-555555555")
            ),
            Some(56)
        );
        // With a negative radicand: sqrt(100² + (0.9 × 200)²) / 1000 = 20.6 %.
        assert_eq!(margin(&[("900", "100")], ("1000", "200")), Some(206));
        // ZCTA 82224 in 2023: the formula gives 13 times the total, but the Bureau publishes 100.
        assert_eq!(margin(&[("0", "13")], ("1", "2")), Some(1_000));
        assert_eq!(margin(&[("900", "-222222222")], ("1000", "200")), None);
        assert_eq!(margin(&[("0", "10")], ("0", "10")), None);
    }

    fn cells() -> Cells {
        let text = |text: &str| text.to_owned();
        let jam = SpecialValues {
            insufficient_sample: text("-666666666"),
            moe_insufficient_sample: text("-222222222"),
            moe_open_ended: text("-333333333"),
            moe_controlled: text("-555555555"),
            not_applicable: text("-888888888"),
            suppressed: text("-999999999"),
        };
        let open = OpenEnded {
            low: text("2499"),
            low_bound: text("2500"),
            low_phrase: text("less than 2,500"),
            high: text("250001"),
            high_bound: text("250000"),
            high_phrase: text("250,000 or more"),
        };
        Cells::new(&jam, Some(&open)).unwrap()
    }

    fn read(estimate: &str, moe: &str) -> Reading {
        cells()
            .read(
                Some(estimate).filter(|text| !text.is_empty()),
                Some(moe).filter(|text| !text.is_empty()),
            )
            .unwrap()
    }

    #[test]
    fn ordinary_pairs_keep_both_figures() {
        let published = |value, moe| Reading {
            value: Some(value),
            moe: Some(moe),
            moe_status: "published",
            ..Reading::default()
        };
        assert_eq!(read("19652", "1335"), published(196_520, 13_350));
        assert_eq!(read("39.6", "0.5"), published(396, 5));
        assert_eq!(
            read("0", "13"),
            published(0, 130),
            "a real zero with sampling error"
        );
        assert_eq!(
            read("250001", "5000"),
            published(2_500_010, 50_000),
            "a sentinel with a numeric margin is an ordinary value"
        );
    }

    #[test]
    fn every_special_value_has_its_reason() {
        assert_eq!(
            read("-666666666", "-222222222"),
            Reading::null("insufficient_sample")
        );
        assert_eq!(
            read("-666666666.0", "-222222222.0"),
            Reading::null("insufficient_sample")
        );
        assert_eq!(
            read("-888888888", "-888888888"),
            Reading::null("not_applicable")
        );
        assert_eq!(
            read("-999999999", "-999999999"),
            Reading::null("suppressed")
        );
        assert_eq!(read("", ""), Reading::null("not_published"));
        assert_eq!(read("null", "null"), Reading::null("not_published"));
        assert_eq!(
            read("812", "-555555555"),
            Reading {
                value: Some(8_120),
                moe_status: "controlled",
                ..Reading::default()
            }
        );
        assert_eq!(
            read("812", "-222222222"),
            Reading {
                value: Some(8_120),
                moe_status: "not_published",
                ..Reading::default()
            }
        );
    }

    #[test]
    fn open_ended_medians_carry_bound_and_phrase() {
        let open = |bound, bound_type, phrase: &str, warning| Reading {
            value: None,
            bound: Some(bound),
            bound_type: Some(bound_type),
            moe_status: "open_ended",
            qualifier: Some(phrase.to_owned()),
            null_reason: Some("open_ended_interval"),
            warning,
            ..Reading::default()
        };
        assert_eq!(
            read("250001", "-333333333"),
            open(2_500_000, "at_least", "250,000 or more", None)
        );
        assert_eq!(
            read("2499", "-333333333"),
            open(25_000, "at_most", "less than 2,500", None)
        );
        assert_eq!(
            read("200001", "-333333333"),
            open(
                2_000_000,
                "at_least",
                "200,000 or more",
                Some("undeclared_open_interval")
            )
        );
        assert_eq!(
            read("9999", "-333333333"),
            open(
                100_000,
                "at_most",
                "less than 10,000",
                Some("undeclared_open_interval")
            )
        );
        assert!(cells().read(Some("87760"), Some("-333333333")).is_err());
    }

    #[test]
    fn unknown_special_values_are_never_figures() {
        for estimate in [
            "-777777777",
            "-111111111",
            "abc",
            "12.34",
            "1e5",
            "-",
            "--5",
            "-0",
            "-0.0",
            "9999999999999999",
        ] {
            assert!(
                cells().read(Some(estimate), Some("5")).is_err(),
                "{estimate}"
            );
            assert!(
                cells().read(Some("5"), Some(estimate)).is_err(),
                "{estimate}"
            );
        }
    }

    #[test]
    fn shares_round_half_up_to_a_tenth() {
        let share = |part: &str, whole: &str| {
            cells()
                .share([Some(part)].into_iter(), Some(whole))
                .unwrap()
        };
        let value = |tenths| Reading {
            value: Some(tenths),
            moe_status: "not_fetched",
            ..Reading::default()
        };
        let null = |reason| Reading {
            moe_status: "not_fetched",
            ..Reading::null(reason)
        };
        assert_eq!(share("1", "3"), value(333));
        assert_eq!(share("2", "3"), value(667));
        assert_eq!(share("1", "2000"), value(1), "0.05 rounds up");
        assert_eq!(share("0", "7"), value(0));
        assert_eq!(share("7", "7"), value(1000));
        assert_eq!(
            share("5748", "8025"),
            value(716),
            "90210, owner occupied, 2023"
        );
        assert_eq!(share("0", "0"), null("zero_universe"));
        assert_eq!(share("-999999999", "7"), null("suppressed"));
    }
}
