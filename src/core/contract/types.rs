//! Defines contracts: columns, types, keys, rules and links. Parses decimals exactly, without
//! floating-point arithmetic.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Words;

/// The contract of one served table.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct Contract {
    /// `{family}.{table}`, equal to the file's path under `schemas/`.
    pub dataset_id: String,
    /// Semantic version, `schema_version` in provenance.
    #[schemars(extend("pattern" = "^[0-9]+[.][0-9]+[.][0-9]+$"))]
    pub version: String,
    /// Display name of the table.
    pub title: String,
    /// Meaning of a row, in one sentence: "One row per …".
    pub grain: String,
    /// Columns that identify a row.
    pub primary_key: Vec<String>,
    /// Columns by which rows are sorted.
    pub sort_by: Vec<String>,
    /// Columns whose values name the parts of a release.
    pub partition_by: Vec<String>,
    /// Type of area, for datasets with one row per area; null for other datasets.
    pub geography_type: Option<String>,
    /// API paths served from this table.
    pub serves: Vec<String>,
    /// Content that a reader might expect here but will not find.
    pub not_covered: Vec<String>,
    /// Links to the publisher's pages, by name. In each URL, `{column}` is replaced by the record's
    /// value, `{cik_number}` by its CIK without zeros and `{accession_compact}` by its accession
    /// number without dashes. Links are filled in when the record is served and never stored, so
    /// they do not affect rows.
    #[serde(skip)]
    pub links: BTreeMap<String, String>,
    /// Columns in file order.
    pub columns: Vec<Column>,
    /// Notes about values, in display order. They are added when the record is served and never
    /// stored, so they do not affect rows.
    #[serde(skip)]
    pub values: Vec<ValueNotes>,
    /// Rules that the columns and rows must satisfy.
    pub invariants: Vec<Invariant>,
}

/// Notes about one value of a column.
#[derive(Debug, Clone, Deserialize)]
pub struct ValueNotes {
    pub column: String,
    pub value: String,
    /// Notes by name, such as `label` or `unit`.
    #[serde(flatten)]
    notes: BTreeMap<String, String>,
}

impl ValueNotes {
    /// Returns a note by name; `None` if the value has no such note.
    pub fn note(&self, name: &str) -> Option<&str> {
        self.notes.get(name).map(String::as_str)
    }
}

impl Contract {
    /// Iterates over the notes about a column's values, in the contract's order.
    pub fn values_of(&self, column: &str) -> impl Iterator<Item = &ValueNotes> {
        self.values
            .iter()
            .filter(move |known| known.column == column)
    }

    /// Returns the notes about one value.
    pub fn value(&self, column: &str, value: &str) -> Option<&ValueNotes> {
        self.values_of(column).find(|known| known.value == value)
    }

    /// Returns the column with the given name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Iterates over a record's derived columns that have a value, each with an explanation of how
    /// the value is derived from the source.
    pub fn derivations<'a>(
        &'a self,
        record: &'a Map<String, Value>,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        let has_value = |column: &&Column| {
            record
                .get(&column.name)
                .is_some_and(|value| !value.is_null())
        };
        self.columns
            .iter()
            .filter(has_value)
            .filter_map(|column| Some((column.name.as_str(), column.derivation.as_deref()?)))
    }

    /// Returns whether rows are sorted primarily by the start of their record ids. The ids start
    /// with the first key column, which is text or constant within a part.
    pub fn is_sorted_by_subject(&self) -> bool {
        let Some(first) = self
            .sort_by
            .first()
            .filter(|first| self.primary_key.first() == Some(first))
        else {
            return false;
        };
        self.partition_by.contains(first)
            || self
                .column(first)
                .is_some_and(|column| column.column_type.physical == Physical::String)
    }
}

/// A column of a contract, with its type resolved.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Name of the semantic type in `_types.toml`.
    pub type_name: String,
    /// The resolved semantic type of the column.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    /// True if the column may contain nulls.
    pub nullable: bool,
    /// Meaning of the column, with its unit.
    pub description: String,
    /// The column with the publisher's text from which this column is decoded; absent for other
    /// columns. Records whose text has no known meaning are counted under `unknown_values`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub coded_from: Option<String>,
    /// How the column's values are derived, if the source states a similar but different value. The
    /// text is shown when served and never stored, so it does not affect rows.
    #[serde(default, skip_serializing)]
    pub derivation: Option<String>,
}

/// Column that lists a record's unknown values, each prefixed with the column name: `status=Hold`.
pub const UNKNOWN_VALUES: &str = "unknown_values";

/// Type of columns that state how the meaning of a record's text was determined.
pub const WORD_BASIS: &str = "word_basis";

/// Units by column name suffix.
const UNITS: [(&str, &str); 3] = [
    ("_sqmi", "square miles"),
    ("_bytes", "bytes"),
    ("_share", "fraction"),
];

impl Column {
    /// Returns the unit of the column's values, if the column name states one.
    pub fn unit(&self) -> Option<&'static str> {
        UNITS
            .iter()
            .find(|(ending, _)| self.name.ends_with(ending))
            .map(|(_, unit)| *unit)
    }
}

/// A semantic type: physical representation and allowed values.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnType {
    /// Physical representation of a value.
    pub physical: Physical,
    /// Description of what a value means.
    pub description: String,
    /// Total number of digits in a decimal; 0 for other types.
    #[serde(default)]
    pub precision: u8,
    /// Number of decimal places of a decimal; 0 for other types.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub scale: i8,
    /// True if a decimal is printed without trailing zeros.
    #[serde(default)]
    pub trim: bool,
    /// Exact number of digits in a code; null if the type is not a code.
    pub digits: Option<usize>,
    /// The allowed values. If empty, all values are allowed.
    #[serde(default)]
    pub values: Vec<String>,
    /// Smallest allowed value; null if there is no limit.
    pub min: Option<f64>,
    /// Largest allowed value; null if there is no limit.
    pub max: Option<f64>,
    /// The unit of a number, spelled out; absent if the number has no unit. The unit is shown when
    /// served and never stored, so it does not affect rows.
    #[serde(default, skip_serializing)]
    pub unit: Option<String>,
    /// Known publisher terms, normalised, each with the value that it means
    /// (`schemas/_vocabulary_*.toml`); absent if none are known.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub words: Words,
}

/// Maximum number of digits in a decimal that frames store as a number.
const MAX_NUMBER_PRECISION: u8 = 18;

impl ColumnType {
    /// Returns whether frames store this decimal as text, because 64 bits are too small.
    pub fn is_decimal_text(&self) -> bool {
        self.physical == Physical::Decimal && self.precision > MAX_NUMBER_PRECISION
    }
}

/// Parses a decimal number without an exponent as units of 10^-`scale`. Returns `None` if it is
/// malformed or has more decimal places.
pub fn parse_decimal(text: &str, scale: i8) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let signed = |magnitude: i128| {
        if digits.len() < text.len() {
            -magnitude
        } else {
            magnitude
        }
    };
    let scale = usize::try_from(scale).ok()?;
    // Fast path: most numbers are integers that fit in a machine word, so each digit is read once.
    if (1..=18).contains(&digits.len()) && scale <= 20 {
        let digit = |number: u64, byte: u8| {
            byte.is_ascii_digit()
                .then(|| number * 10 + u64::from(byte - b'0'))
        };
        if let Some(number) = digits.bytes().try_fold(0, digit) {
            return Some(signed(i128::from(number) * power_of_ten(scale)));
        }
    }
    let (whole, fraction) = match memchr::memchr(b'.', digits.as_bytes()) {
        Some(point) => (&digits[..point], &digits[point + 1..]),
        None => (digits, "0"),
    };
    let fraction = fraction.trim_end_matches('0');
    if whole.is_empty()
        || fraction.len() > scale
        || whole.len() + scale > 38
        || !whole
            .bytes()
            .chain(fraction.bytes())
            .all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    // The result has fewer than 10^38 units, which fits in an i128.
    let magnitude = number_of(whole) * power_of_ten(scale)
        + number_of(fraction) * power_of_ten(scale - fraction.len());
    Some(signed(magnitude))
}

/// Parses up to 38 digits.
fn number_of(digits: &str) -> i128 {
    // Most numbers have few digits, and 64-bit multiplication is much faster than 128-bit
    // multiplication.
    let (first, rest) = digits.as_bytes().split_at(digits.len().min(18));
    let first = first
        .iter()
        .fold(0_u64, |number, byte| number * 10 + u64::from(byte - b'0'));
    rest.iter().fold(i128::from(first), |number, byte| {
        number * 10 + i128::from(byte - b'0')
    })
}

fn power_of_ten(exponent: usize) -> i128 {
    const POWERS: [i128; 39] = {
        let (mut powers, mut next) = ([1; 39], 1);
        while next < 39 {
            powers[next] = powers[next - 1] * 10;
            next += 1;
        }
        powers
    };
    POWERS[exponent]
}

/// How a column is stored. In frames between the normalise and publish steps, `Decimal` is an
/// `Int64` of unscaled units, or text if it has more than 18 digits. `Date` is an ISO string or a
/// polars date, `StringList` is a list of strings, and `Pointers` is the list that `provenance`
/// describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(description = "How a column is stored.")]
pub enum Physical {
    String,
    Int32,
    Int64,
    Float64,
    Boolean,
    Date,
    Decimal,
    StringList,
    Pointers,
}

/// A rule that a table's rows must satisfy.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Invariant {
    /// Name of the rule in reports and quarantine.
    pub code: String,
    /// Kind of rule.
    pub rule: Rule,
    /// Columns that the rule checks.
    pub columns: Vec<String>,
    /// Condition that selects the rows to check; null if the rule applies to all rows.
    #[serde(rename = "where")]
    pub condition: Option<Condition>,
    /// Columns that define the groups of `sum_within`.
    #[serde(default)]
    pub group_by: Vec<String>,
    /// Smallest allowed value; null if there is no limit.
    pub min: Option<f64>,
    /// Largest allowed value; null if there is no limit.
    pub max: Option<f64>,
    /// Expected sum of each group; null for other kinds of rules.
    pub total: Option<f64>,
    /// Allowed deviation from `total`; null for other kinds of rules.
    pub tolerance: Option<f64>,
    /// Consequence for a record that violates the rule.
    #[serde(default)]
    pub severity: Severity,
    /// Meaning of the rule and its reason.
    pub description: String,
}

/// Condition that `column` equals the value, or one of several values.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Name of the column to test.
    pub column: String,
    /// The required value; null if `in` lists several values.
    pub equals: Option<String>,
    /// The accepted values; empty if `equals` is used instead.
    #[serde(rename = "in", default)]
    pub any_of: Vec<String>,
}

/// Kinds of invariants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Exactly one of the columns has a value.
    ExactlyOneOf,
    /// Either all of the columns have a value or none of them does.
    AllOrNone,
    /// The columns have a value if and only if the condition holds.
    PresentIff,
    /// The columns have a value unless the condition holds.
    PresentUnless,
    /// If the condition holds, the columns' values are between `min` and `max`. For dates, the year
    /// is compared.
    RangeWhere,
    /// The columns' dates are in ascending order, with equal dates allowed; nulls are ignored.
    InOrder,
    /// In each group, the values of rows that meet the condition add up to `total`, within
    /// `tolerance`. A group with a null value is not checked.
    SumWithin,
}

/// Consequence for a record that violates the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The record is published, with the rule's code among its warnings.
    Warning,
    /// The record is quarantined.
    #[default]
    Quarantine,
}

#[cfg(test)]
mod tests {
    use super::parse_decimal;

    #[test]
    fn decimals_are_read_to_the_digit_or_not_at_all() {
        assert_eq!(
            parse_decimal("274515000000", 10),
            Some(2_745_150_000_000_000_000_000)
        );
        assert_eq!(parse_decimal("-15.15", 2), Some(-1_515));
        assert_eq!(parse_decimal("0.000006", 10), Some(60_000));
        assert_eq!(parse_decimal("1.500", 1), Some(15));
        assert_eq!(parse_decimal("-7", 2), Some(-700));
        for digits in [17, 18, 19, 20] {
            let ten_to = 10_i128.pow(digits - 1);
            assert_eq!(
                parse_decimal(&format!("1{}", "0".repeat(digits as usize - 1)), 18),
                Some(ten_to * 10_i128.pow(18)),
                "{digits} digits"
            );
        }
        assert_eq!(parse_decimal("1", 38), None, "39 digits");
        assert_eq!(
            parse_decimal("1234567890123456789012345", 0),
            Some(1_234_567_890_123_456_789_012_345)
        );
        let most = 10_i128.pow(38) - 1;
        assert_eq!(parse_decimal(&"9".repeat(38), 0), Some(most));
        assert_eq!(
            parse_decimal(&format!("-{}.9", "9".repeat(37)), 1),
            Some(-most)
        );
        for wrong in [
            "",
            "-",
            ".5",
            "1.25",
            "1e5",
            "+1",
            "1,000",
            " 1",
            "1-",
            "1.2.3",
            "10000000000000000000000000000000000000",
        ] {
            assert_eq!(parse_decimal(wrong, 1), None, "{wrong}");
        }
    }
}
