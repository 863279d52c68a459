//! How far a build may be from the one in the last release, column by column, before a person has
//! to look. Defaults are here, what a dataset or a column has otherwise stands in its declaration.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Cadence;

/// Limits that a declaration sets, of a dataset and of single columns of it.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// Largest change of a column's share of nulls, percentage points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_null_points: Option<f64>,
    /// Largest change of the share of values below the last release's median or quartiles,
    /// percentage points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_quartile_points: Option<f64>,
    /// Largest change of a column's sum per value, percent of the smaller of both: 100 is twice or
    /// half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sum_percent: Option<f64>,
    /// Largest change of the number of distinct values, percent of the smaller of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_distinct_percent: Option<f64>,
    /// Largest share of the records of both releases whose value is another, percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_changed_percent: Option<f64>,
    /// Largest share of the last release's records that are gone, percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_replaced_percent: Option<f64>,
    /// The same by column, where it differs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, ColumnDrift>,
}

/// Limits of one column.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnDrift {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_null_points: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_quartile_points: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sum_percent: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_distinct_percent: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_changed_percent: Option<f64>,
}

/// What holds for one column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriftLimits {
    pub null_points: f64,
    pub quartile_points: f64,
    pub sum_percent: f64,
    pub distinct_percent: f64,
    pub changed_percent: f64,
}

/// Share of the records that may be gone, percent.
const REPLACED_PERCENT: f64 = 50.0;

impl Drift {
    /// Whether nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// What holds for a column of a dataset that is issued so often. A yearly or quarterly edition
    /// says something new of nearly every record: there a change of most values is no jump by
    /// itself.
    pub fn limits(&self, column: &str, cadence: Cadence) -> DriftLimits {
        let changed = if matches!(cadence, Cadence::Yearly | Cadence::Quarterly) {
            100.0
        } else {
            50.0
        };
        let none = ColumnDrift::default();
        let own = self.columns.get(column).unwrap_or(&none);
        let limit = |own: Option<f64>, of_dataset: Option<f64>, default: f64| {
            own.or(of_dataset).unwrap_or(default)
        };
        DriftLimits {
            null_points: limit(own.max_null_points, self.max_null_points, 10.0),
            quartile_points: limit(own.max_quartile_points, self.max_quartile_points, 25.0),
            sum_percent: limit(own.max_sum_percent, self.max_sum_percent, 100.0),
            distinct_percent: limit(own.max_distinct_percent, self.max_distinct_percent, 100.0),
            changed_percent: limit(own.max_changed_percent, self.max_changed_percent, changed),
        }
    }

    /// Share of the last release's records that may be gone, percent.
    pub fn replaced_percent(&self) -> f64 {
        self.max_replaced_percent.unwrap_or(REPLACED_PERCENT)
    }
}
