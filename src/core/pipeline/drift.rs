//! Defines how far each column of a build may drift from the last release before an operator must
//! review the build. The defaults are here. Declarations override them for datasets and columns.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Cadence;

/// Limits that a declaration sets for a dataset and for individual columns.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// Maximum change in a column's share of nulls, in percentage points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_null_points: Option<f64>,
    /// Maximum change in the share of values below the last release's median or quartiles, in
    /// percentage points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_quartile_points: Option<f64>,
    /// Maximum change in a column's sum per value, in percent of the smaller sum: 100 means twice
    /// or half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sum_percent: Option<f64>,
    /// Maximum change in the number of distinct values, in percent of the smaller number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_distinct_percent: Option<f64>,
    /// Maximum share of records in both releases whose value changed, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_changed_percent: Option<f64>,
    /// Maximum share of the last release's records that were removed, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_replaced_percent: Option<f64>,
    /// Limits by column, if different from the dataset's limits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, ColumnDrift>,
}

/// Limits that a declaration sets for one column.
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

/// The effective limits of one column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriftLimits {
    pub null_points: f64,
    pub quartile_points: f64,
    pub sum_percent: f64,
    pub distinct_percent: f64,
    pub changed_percent: f64,
}

/// Default for the share of records that may be removed, in percent.
const REPLACED_PERCENT: f64 = 50.0;

impl Drift {
    /// Returns whether the declaration sets no limits.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the limits of a column of a dataset with the given cadence. A yearly or quarterly
    /// edition changes nearly every record, so a change in most values is not suspicious in itself.
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

    /// Returns the share of the last release's records that may be removed, in percent.
    pub fn replaced_percent(&self) -> f64 {
        self.max_replaced_percent.unwrap_or(REPLACED_PERCENT)
    }
}
