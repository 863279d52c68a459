//! Defines how many records of a source may have a text of unknown meaning. The defaults are here;
//! deviations of columns are in their declarations.

use serde::{Deserialize, Serialize};

/// Limits that a declaration sets for a coded column of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WordLimits {
    /// Share of records without a known word above which an operator must review the source,
    /// percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_percent: Option<f64>,
    /// Share above which the column is reported as having lost its meaning, percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_percent: Option<f64>,
    /// Maximum growth of the share since the last release, percentage points; more blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_growth_points: Option<f64>,
}

impl WordLimits {
    pub fn warn_percent(&self) -> f64 {
        self.warn_percent.unwrap_or(2.0)
    }

    pub fn lost_percent(&self) -> f64 {
        self.lost_percent.unwrap_or(25.0)
    }

    pub fn max_growth_points(&self) -> f64 {
        self.max_growth_points.unwrap_or(10.0)
    }
}
