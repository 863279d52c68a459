//! The metrics of one vintage in memory: twelve cells for each area, found by the area's code. What cells have in common (unit,
//! universe, variables, file) is kept once.

use crate::serve::geo::metric_text::MetricText;
use crate::serve::json::Json;
use crate::serve::place::area_codes::AreaCodes;
use crate::serve::release::dictionary::{ABSENT, Dictionary};
use crate::serve::release::provenance::Origin;

/// Estimates of one vintage for one kind of area.
#[derive(Debug)]
pub struct MetricTable {
    pub vintage_year: i32,
    /// The same as text, for record ids.
    pub vintage_text: String,
    /// The vintage object of answers, as JSON text.
    pub vintage: Box<str>,
    pub(super) codes: AreaCodes,
    pub(super) names: Vec<Option<Box<str>>>,
    /// One row of cells per area, in the order of the metric keys.
    pub(super) cells: Vec<Cell>,
    pub(super) shared: Vec<Shared>,
    pub(super) texts: Vec<MetricText>,
    /// What each metric's cells usually are, for areas that have none.
    pub(super) usual: Vec<Option<u16>>,
    pub(super) descriptors: Vec<Descriptor>,
    /// Qualifiers, reasons, statuses and warning lists; 0 is none.
    pub(super) words: Dictionary,
    pub(super) metric_count: usize,
}

/// One estimate. Values are in tenths.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub value: i64,
    /// The published margin; of what was computed from counts the approximate one.
    pub moe: i64,
    pub shared: u16,
    pub validation_status: u16,
}

pub(super) const NONE: i64 = i64::MIN;
pub(super) const EMPTY: Cell = Cell { value: NONE, moe: NONE, shared: ABSENT, validation_status: 0 };

/// What many cells of a metric share beside their figures, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shared {
    pub metric: u16,
    pub descriptor: u16,
    pub qualifier: u16,
    pub null_reason: u16,
    pub moe_status: u16,
    pub warnings: u16,
}

/// What many cells share of where they come from.
#[derive(Debug, PartialEq, Eq)]
pub struct Descriptor {
    pub unit: String,
    pub universe: String,
    pub(super) table_id: String,
    pub(super) variables: Vec<String>,
    pub(super) moe_variable: Option<String>,
    pub(super) is_derived: bool,
    /// The members `universe` and `source` of the metric's object, as JSON text.
    pub universe_and_source: Box<str>,
    pub origin: Option<Origin>,
}

/// One estimate, ready to be written. Values are in tenths.
#[derive(Debug, Clone, Copy)]
pub struct Estimate<'a> {
    pub value: Option<i64>,
    pub moe: Option<i64>,
    pub moe_approximate: Option<i64>,
    pub moe_status: &'a str,
    pub qualifier: Option<&'a str>,
    pub null_reason: Option<&'a str>,
    pub validation_status: &'a str,
    pub descriptor: &'a Descriptor,
}

impl MetricTable {
    /// Number of areas.
    pub fn areas(&self) -> usize {
        self.codes.len()
    }

    /// The code of an area.
    pub fn code(&self, area: usize) -> String {
        self.codes.at(area)
    }

    /// Finds an area.
    pub fn find(&self, code: &str) -> Option<usize> {
        self.codes.find(code)
    }

    /// The area's name in the survey.
    pub fn area_name(&self, area: usize) -> Option<&str> {
        self.names[area].as_deref()
    }

    /// The estimate of an area; none when its record was set aside.
    pub fn estimate(&self, area: usize, metric: usize) -> Option<Estimate<'_>> {
        let cell = &self.cells[area * self.metric_count + metric];
        let shared = self.shared.get(usize::from(cell.shared))?;
        let descriptor = &self.descriptors[usize::from(shared.descriptor)];
        let margin = figure(cell.moe);
        Some(Estimate {
            value: figure(cell.value),
            moe: margin.filter(|_| !descriptor.is_derived),
            moe_approximate: margin.filter(|_| descriptor.is_derived),
            moe_status: self.words.text(shared.moe_status).unwrap_or_default(),
            qualifier: self.words.text(shared.qualifier),
            null_reason: self.words.text(shared.null_reason),
            validation_status: self.words.text(cell.validation_status).unwrap_or_default(),
            descriptor,
        })
    }

    /// Writes the members of the metric's object of an area, with the pieces of its record's id; whether there is an estimate.
    pub fn write(&self, json: &mut Json, area: usize, metric: usize, record_id: &[&str]) -> bool {
        let cell = &self.cells[area * self.metric_count + metric];
        let Some(text) = self.texts.get(usize::from(cell.shared)) else { return false };
        text.write(json, figure(cell.value), figure(cell.moe), Some(record_id));
        true
    }

    /// What the metric's cells usually are.
    pub fn usual(&self, metric: usize) -> Option<&Descriptor> {
        self.usual[metric].map(|number| &self.descriptors[usize::from(number)])
    }
}

fn figure(tenths: i64) -> Option<i64> {
    (tenths != NONE).then_some(tenths)
}

/// Writes a vintage object: a five-year survey is named by its last year.
pub fn write_vintage(json: &mut Json, year: i32) {
    json.object(|json| {
        json.key("survey").text("ACS 5-year estimates");
        json.key("period").text(&format!("{}-{year}", year - 4));
        json.key("year").integer(i64::from(year));
    });
}
