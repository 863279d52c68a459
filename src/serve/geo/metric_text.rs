//! Builds the text of a metric's object around its figures. Thousands of areas share this text, so
//! it is built once when a release is loaded. An answer about an area consists mostly of metrics,
//! and copying their text takes a fraction of the time needed to write each field.

use crate::answer::{Fixed, Text};
use crate::geo::figures::Metric;
use crate::json::{Json, Trim};

/// Placeholder in the template for a metric's figure, margin of error and record id. No record
/// contains this JSON text.
pub const GAP: &str = r#""\u0000""#;

/// Fields of a metric object as JSON text, with gaps for the value or bound, the margin of error
/// and the record id. A separate text contains the provenance fields that name the source.
#[derive(Debug)]
pub struct MetricText {
    before_figure: Box<str>,
    before_margin: Box<str>,
    before_id: Box<str>,
    after_id: Box<str>,
    origin: Box<str>,
    trim: Trim,
}

impl MetricText {
    /// Splits the text of a metric at its three gaps and its provenance.
    pub fn from_metric(metric: &Metric<'_>) -> Self {
        let members = Text::<Metric<'_>>::written(|json| json.members(metric));
        let (own, provenance) = members
            .as_str()
            .split_once(r#","provenance":{"#)
            .unwrap_or_default();
        let (origin, _) = provenance
            .split_once(r#","validation_status""#)
            .unwrap_or_default();
        let mut pieces = own
            .split(GAP)
            .map(|piece| piece.trim_start_matches(',').into());
        let mut next = || pieces.next().unwrap_or_default();
        let [before_figure, before_margin, before_id, after_id] = [next(), next(), next(), next()];
        Self {
            before_figure,
            before_margin,
            before_id,
            after_id,
            origin: origin.into(),
            trim: trim_of(metric.unit),
        }
    }

    /// Writes all fields except the provenance. Figures are given in tenths and written as null if
    /// they are `None`; the record id is given in pieces.
    pub fn write(
        &self,
        json: &mut Json,
        figure: Option<i64>,
        margin: Option<i64>,
        record_id: &[&str],
    ) {
        json.raw(&self.before_figure);
        write_tenths(json, figure, self.trim);
        json.raw(&self.before_margin);
        write_tenths(json, margin, self.trim);
        json.raw(&self.before_id);
        json.plain(record_id);
        json.raw(&self.after_id);
    }

    pub fn write_provenance(&self, json: &mut Json, validation_status: &str, record_id: &[&str]) {
        json.key("provenance").object(|json| {
            json.raw(&self.origin);
            json.key("validation_status").plain(&[validation_status]);
            json.key("record_id").plain(record_id);
        });
    }
}

/// Returns how the publisher prints a unit: one decimal place for years and percentages, none for
/// counts and dollars.
fn trim_of(unit: &str) -> Trim {
    if matches!(unit, "percent" | "years") {
        Trim::Keep
    } else {
        Trim::Zeros
    }
}

/// Formats a number of tenths as the publisher prints figures in this unit.
pub fn printed(tenths: i64, unit: &str) -> Fixed {
    match trim_of(unit) {
        Trim::Zeros if tenths % 10 == 0 => Fixed {
            units: tenths / 10,
            scale: 0,
        },
        _ => Fixed {
            units: tenths,
            scale: 1,
        },
    }
}

fn write_tenths(json: &mut Json, tenths: Option<i64>, trim: Trim) {
    match tenths {
        Some(tenths) => json.decimal(tenths, 1, trim),
        None => json.null(),
    }
}
