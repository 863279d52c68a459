use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The contract of one served table.
#[derive(Debug, Clone, Serialize)]
pub struct Contract {
    /// `{family}.{table}`, equal to the file's place under `schemas/`.
    pub dataset_id: String,
    /// Semantic version, `schema_version` in provenance.
    pub version: String,
    pub title: String,
    /// One sentence: "One row per …".
    pub grain: String,
    pub primary_key: Vec<String>,
    pub sort_by: Vec<String>,
    /// Columns whose values name the folders of a release.
    pub partition_by: Vec<String>,
    /// Kind of area, for datasets with one row per area.
    pub geography_type: Option<String>,
    /// API paths answered from this table.
    pub serves: Vec<String>,
    /// What a reader might look for here in vain.
    pub not_covered: Vec<String>,
    /// Addresses at the publisher, by name: texts in which `{column}` stands for the record's value, `{cik_number}` for its CIK without
    /// zeros and `{accession_compact}` for its accession number without dashes. Filled in when served, never stored: they decide no row.
    #[serde(skip)]
    pub links: BTreeMap<String, String>,
    pub columns: Vec<Column>,
    pub invariants: Vec<Invariant>,
}

impl Contract {
    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// A column of a contract, with its type resolved.
#[derive(Debug, Clone, Serialize)]
pub struct Column {
    pub name: String,
    /// Name of the semantic type in `_types.toml`.
    pub type_name: String,
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    pub nullable: bool,
    pub description: String,
}

/// A semantic type: physical representation and the values it admits.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnType {
    pub physical: Physical,
    pub description: String,
    /// Total digits of a decimal.
    #[serde(default)]
    pub precision: u8,
    /// Digits after the point of a decimal.
    #[serde(default)]
    pub scale: i8,
    /// Whether a decimal is printed without trailing zeros.
    #[serde(default)]
    pub trim: bool,
    /// Exact number of digits of a code.
    pub digits: Option<usize>,
    /// The values allowed; all when empty.
    #[serde(default)]
    pub values: Vec<String>,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

/// How a column is stored. In frames between normalise and publish: `Decimal` is an `Int64` of unscaled units, `Date` an ISO
/// string, `StringList` one string joined with commas, `Pointers` the list that `provenance` describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
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

/// A rule over the rows of a table.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Invariant {
    /// Name of the rule in reports and quarantine.
    pub code: String,
    pub rule: Rule,
    pub columns: Vec<String>,
    /// Rows the rule is about; all when absent.
    #[serde(rename = "where")]
    pub condition: Option<Condition>,
    #[serde(default)]
    pub group_by: Vec<String>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub total: Option<f64>,
    pub tolerance: Option<f64>,
    #[serde(default)]
    pub severity: Severity,
    pub description: String,
}

/// Rows whose `column` has the value, or one of the values.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    pub column: String,
    pub equals: Option<String>,
    #[serde(rename = "in", default)]
    pub any_of: Vec<String>,
}

/// The forms an invariant can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Exactly one of the columns has a value.
    ExactlyOneOf,
    /// All of the columns have a value, or none has.
    AllOrNone,
    /// The columns have a value exactly where the condition holds.
    PresentIff,
    /// The columns have a value wherever the condition does not hold.
    PresentUnless,
    /// The columns' values lie between `min` and `max` where the condition holds.
    RangeWhere,
    /// In each group the columns' values where the condition holds add up to `total` within `tolerance`, if none is null.
    SumWithin,
}

/// What breaking an invariant does to the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Published with the rule's code among its warnings.
    Warning,
    /// Set aside.
    #[default]
    Quarantine,
}
