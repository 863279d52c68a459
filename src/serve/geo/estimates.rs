//! Holds the metrics of one vintage in memory: twelve cells for each area, found by the area's
//! code. Facts that cells share (unit, universe, variables, file) are stored once.

use serde::{Deserialize, Serialize};

use crate::answer::Text;
use crate::geo::figures::{Figures, Metric, Source, Vintage};
use crate::geo::metric_text::{GAP, MetricText};
use crate::index::file::{Column, Small, stored};
use crate::json::Json;
use crate::place::area_codes::AreaCodes;
use crate::release::dictionary::Dictionary;
use crate::release::provenance::{FirstSource, Origin, PartOrigins};
use crate::release::text_column::TextColumn;

/// Estimates of one vintage for one kind of area.
#[derive(Debug)]
pub struct MetricTable {
    pub vintage_year: i32,
    /// `vintage_year` as text, for record ids.
    pub vintage_text: String,
    pub vintage: Vintage,
    estimates: Estimates,
    /// Metric texts, indexed by the number of a [`Shared`].
    texts: Vec<MetricText>,
    /// Origins, indexed by the number of a [`Descriptor`].
    origins: Vec<Origin>,
    /// For each metric, true if the Bureau's margins were not fetched.
    lacks_margins: Vec<bool>,
    metric_count: usize,
}

/// Data read from a part, independent of the release that contains it. Values are in tenths.
#[derive(Debug, Default)]
pub(super) struct Estimates {
    /// Vintage of the survey; `None` for a part without rows.
    pub vintage_year: Small<Option<i32>>,
    pub codes: AreaCodes,
    /// Names of the areas; empty if an area has no name.
    pub names: TextColumn,
    /// One row of cells per area, in the order of the metric keys. An open-ended median is stored
    /// as its bound.
    pub values: Column<i64>,
    /// Published margins; approximate margins for figures computed from counts.
    pub moes: Column<i64>,
    /// Numbers of [`Shared`]; [`ABSENT`](crate::release::dictionary::ABSENT) if an area has no
    /// estimate.
    pub shared_of: Column<u16>,
    pub validation_statuses: Column<u16>,
    pub shared: Small<Vec<Shared>>,
    /// Most common descriptor of each metric, used for areas without an estimate.
    pub usual: Small<Vec<Option<u16>>>,
    pub descriptors: Small<Vec<Descriptor>>,
    /// Source of the first row of each descriptor.
    pub sources: Small<Vec<Option<FirstSource>>>,
    /// Bound types, qualifiers, reasons, statuses and warning lists; 0 means none.
    pub words: Dictionary,
}

stored!(Estimates {
    vintage_year,
    codes,
    names,
    values,
    moes,
    shared_of,
    validation_statuses,
    shared,
    usual,
    descriptors,
    sources,
    words
});

pub(super) const NONE: i64 = i64::MIN;

/// Facts, other than the figures, that many cells of a metric share. Cells refer to them by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Shared {
    pub metric: u16,
    pub descriptor: u16,
    /// Number of the bound type; 0 for figures that are not open-ended.
    pub bound_type: u16,
    pub qualifier: u16,
    pub null_reason: u16,
    pub moe_status: u16,
    pub warnings: u16,
}

/// Facts about the source that many cells share.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    pub unit: String,
    pub universe: String,
    pub(super) table_id: String,
    pub(super) variables: Vec<String>,
    pub(super) moe_variable: Option<String>,
    pub(super) is_derived: bool,
}

impl Descriptor {
    pub fn source(&self) -> Source<'_> {
        Source {
            table_id: &self.table_id,
            variables: &self.variables,
            moe_variable: self.moe_variable.as_deref(),
            derived: self.is_derived,
        }
    }
}

/// One estimate, in tenths.
#[derive(Debug, Clone)]
pub struct Estimate<'a> {
    pub figures: Figures<'a, i64>,
    pub validation_status: &'a str,
    pub descriptor: &'a Descriptor,
    pub origin: &'a Origin,
}

impl Estimates {
    /// Builds the figures of a cell. `figure` is a bound if the cell has a bound type.
    fn figures<N>(&self, shared: &Shared, figure: Option<N>, margin: Option<N>) -> Figures<'_, N> {
        let bound_type = self.words.text(shared.bound_type);
        let (value, bound) = if bound_type.is_some() {
            (None, figure)
        } else {
            (figure, None)
        };
        let is_derived = self.descriptors[usize::from(shared.descriptor)].is_derived;
        let (moe, moe_approximate) = if is_derived {
            (None, margin)
        } else {
            (margin, None)
        };
        Figures {
            value,
            bound,
            bound_type,
            moe,
            moe_approximate,
            moe_status: self.words.text(shared.moe_status).unwrap_or_default(),
            qualifier: self.words.text(shared.qualifier),
            null_reason: self.words.text(shared.null_reason),
        }
    }
}

impl MetricTable {
    /// Builds the table from a part; `metric_keys` gives the order of the cells.
    pub(super) fn from_estimates(
        estimates: Estimates,
        metric_keys: &[String],
        origins: &PartOrigins,
    ) -> Self {
        let origins: Vec<Origin> = estimates
            .sources
            .iter()
            .map(|source| origins.of_source(source.as_ref()))
            .collect();
        let text = |shared: &Shared| {
            let descriptor = &estimates.descriptors[usize::from(shared.descriptor)];
            MetricText::from_metric(&Metric {
                key: &metric_keys[usize::from(shared.metric)],
                unit: &descriptor.unit,
                figures: estimates.figures(shared, Some(Text::made(GAP)), Some(Text::made(GAP))),
                universe: Some(&descriptor.universe),
                source: Some(descriptor.source()),
                record_id: Some(Text::made(GAP)),
                warnings: estimates
                    .words
                    .text(shared.warnings)
                    .into_iter()
                    .flat_map(|warnings| warnings.split(','))
                    .collect(),
                provenance: Some(origins[usize::from(shared.descriptor)].provenance("", "")),
                history: None,
            })
        };
        let vintage_year = estimates.vintage_year.unwrap_or(0);
        let mut lacks_margins = vec![false; metric_keys.len()];
        for shared in estimates
            .shared
            .iter()
            .filter(|shared| estimates.words.text(shared.moe_status) == Some("not_fetched"))
        {
            lacks_margins[usize::from(shared.metric)] = true;
        }
        Self {
            vintage_year,
            vintage_text: vintage_year.to_string(),
            vintage: Vintage::from_year(vintage_year),
            texts: estimates.shared.iter().map(text).collect(),
            origins,
            lacks_margins,
            metric_count: metric_keys.len(),
            estimates,
        }
    }

    pub fn areas(&self) -> usize {
        self.estimates.codes.len()
    }

    /// Returns the code of an area.
    pub fn code(&self, area: usize) -> String {
        self.estimates.codes.at(area)
    }

    pub fn find(&self, code: &str) -> Option<usize> {
        self.estimates.codes.find(code)
    }

    /// Returns the area's name in the survey.
    pub fn area_name(&self, area: usize) -> Option<&str> {
        Some(self.estimates.names.get(area)).filter(|name| !name.is_empty())
    }

    /// Returns the estimate of an area; `None` if its record was quarantined.
    pub fn estimate(&self, area: usize, metric: usize) -> Option<Estimate<'_>> {
        let (cell, all) = (area * self.metric_count + metric, &self.estimates);
        let shared = all.shared.get(usize::from(all.shared_of[cell]))?;
        Some(Estimate {
            figures: all.figures(shared, figure(all.values[cell]), figure(all.moes[cell])),
            validation_status: all
                .words
                .text(all.validation_statuses[cell])
                .unwrap_or_default(),
            descriptor: &all.descriptors[usize::from(shared.descriptor)],
            origin: &self.origins[usize::from(shared.descriptor)],
        })
    }

    /// Writes the fields of an area's metric object, with the record id given in pieces. Returns
    /// false if the area has no estimate.
    pub fn write(&self, json: &mut Json, area: usize, metric: usize, record_id: &[&str]) -> bool {
        let (cell, all) = (area * self.metric_count + metric, &self.estimates);
        let Some(text) = self.texts.get(usize::from(all.shared_of[cell])) else {
            return false;
        };
        text.write(
            json,
            figure(all.values[cell]),
            figure(all.moes[cell]),
            record_id,
        );
        true
    }

    /// Writes the provenance of an area's metric. Returns false if the area has no estimate.
    pub fn write_provenance(
        &self,
        json: &mut Json,
        area: usize,
        metric: usize,
        record_id: &[&str],
    ) -> bool {
        let (cell, all) = (area * self.metric_count + metric, &self.estimates);
        let Some(text) = self.texts.get(usize::from(all.shared_of[cell])) else {
            return false;
        };
        text.write_provenance(
            json,
            verdict(all.words.text(all.validation_statuses[cell]) == Some("passed")),
            record_id,
        );
        true
    }

    /// Returns true if the Bureau publishes margins of the metric that were not fetched.
    pub fn lacks_margins(&self, metric: usize) -> bool {
        self.lacks_margins[metric]
    }

    /// Returns the most common descriptor of the metric.
    pub fn usual(&self, metric: usize) -> Option<&Descriptor> {
        self.estimates.usual[metric].map(|number| &self.estimates.descriptors[usize::from(number)])
    }
}

/// Returns the validation status of a set of records.
pub fn verdict(are_passed: bool) -> &'static str {
    if are_passed {
        "passed"
    } else {
        "passed_with_warnings"
    }
}

fn figure(tenths: i64) -> Option<i64> {
    (tenths != NONE).then_some(tenths)
}
