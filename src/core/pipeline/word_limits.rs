//! Defines how many records of a source may contain values of unknown meaning. The defaults are
//! here. Declarations override them for individual columns.

use serde::{Deserialize, Serialize};

/// Limits that a declaration sets for a dataset's coded column.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WordLimits {
    /// Share of records with an unknown term above which an operator must review the source, in
    /// percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_percent: Option<f64>,
    /// Share above which the column is reported as having lost its meaning, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_percent: Option<f64>,
    /// Maximum growth of the share since the last release, in percentage points. Greater growth
    /// blocks the dataset.
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
