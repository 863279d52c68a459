//! Defines how far a build may drift from the last release, column by column, before an operator
//! must review it. The defaults are here; deviations of datasets and columns are in their
//! declarations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Cadence;

/// Limits that a declaration sets for a dataset and for single columns.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// Maximum change of a column's share of nulls, percentage points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_null_points: Option<f64>,
    /// Maximum change of the share of values below the last release's median or quartiles,
    /// percentage points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_quartile_points: Option<f64>,
    /// Maximum change of a column's sum per value, percent of the smaller sum: 100 is twice or
    /// half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sum_percent: Option<f64>,
    /// Maximum change of the number of distinct values, percent of the smaller number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_distinct_percent: Option<f64>,
    /// Maximum share of the records in both releases whose value changed, percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_changed_percent: Option<f64>,
    /// Maximum share of the last release's records that were removed, percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_replaced_percent: Option<f64>,
    /// Limits by column, if different.
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

/// The effective limits of one column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriftLimits {
    pub null_points: f64,
    pub quartile_points: f64,
    pub sum_percent: f64,
    pub distinct_percent: f64,
    pub changed_percent: f64,
}

/// Share of the records that may be removed, percent.
const REPLACED_PERCENT: f64 = 50.0;

impl Drift {
    /// Returns whether no limit is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the limits of a column of a dataset with the given cadence. A yearly or quarterly
    /// edition changes nearly every record, so a change of most values is not suspicious by itself.
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

    /// Returns the share of the last release's records that may be removed, percent.
    pub fn replaced_percent(&self) -> f64 {
        self.max_replaced_percent.unwrap_or(REPLACED_PERCENT)
    }
}
