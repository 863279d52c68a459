//! Describes the declared metrics, including the table lines from which each metric is computed.

use serde::Deserialize;

use super::estimate::{OpenEnded, SpecialValues};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    pub(super) levels: Levels,
    pub(super) jam_values: SpecialValues,
    #[serde(rename = "metric")]
    pub(super) metrics: Vec<Metric>,
}

/// GEO_ID prefix for each level that is kept.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Levels {
    pub(super) zcta: String,
    pub(super) county: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Metric {
    pub(super) key: String,
    pub(super) unit: String,
    pub(super) table: String,
    /// Table lines: a single line for a published figure, or the numerator's lines for a share.
    pub(super) estimate: Vec<u16>,
    pub(super) denominator: Option<u16>,
    pub(super) universe: Option<String>,
    pub(super) open_ended: Option<OpenEnded>,
    pub(super) published: Option<PublishedShare>,
}

/// A percentage that the Bureau publishes with a margin of error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedShare {
    pub(super) table: String,
    pub(super) estimate: String,
    pub(super) moe: String,
    pub(super) universe: String,
}

impl Metric {
    pub(super) fn line(&self, kind: char, line: u16) -> String {
        format!("{}_{kind}{line:03}", self.table)
    }

    pub(super) fn estimates(&self) -> Vec<String> {
        self.estimate
            .iter()
            .map(|line| self.line('E', *line))
            .collect()
    }

    pub(super) fn denominator(&self) -> Option<String> {
        self.denominator.map(|line| self.line('E', line))
    }

    /// Returns the margin column for a published figure, or none for a share.
    pub(super) fn moe(&self) -> Option<String> {
        self.denominator
            .is_none()
            .then(|| self.line('M', self.estimate[0]))
    }

    /// Returns the margin columns for a share's parts, followed by the column for its total.
    pub(super) fn share_margins(&self) -> Vec<String> {
        self.denominator.map_or_else(Vec::new, |whole| {
            self.estimate
                .iter()
                .chain([&whole])
                .map(|line| self.line('M', *line))
                .collect()
        })
    }

    /// Returns the variables that the record names as sources of its margin. For a share, these are
    /// the variables behind the approximate margin.
    pub(super) fn moe_variable(&self) -> Option<String> {
        self.moe().or_else(|| Some(self.share_margins().join(",")))
    }

    pub(super) fn columns(&self) -> Vec<String> {
        self.estimates()
            .into_iter()
            .chain(self.denominator())
            .chain(self.moe())
            .chain(self.share_margins())
            .collect()
    }

    pub(super) fn universe_variable(&self) -> String {
        format!("{}_001", self.table)
    }
}

/// A geographic level, which corresponds to one dataset.
pub(super) struct Level<'s> {
    pub(super) dataset_id: &'static str,
    pub(super) area_column: &'static str,
    pub(super) prefix: &'s str,
    /// Sources of published percentages for this level.
    pub(super) published: [&'static str; 2],
}
