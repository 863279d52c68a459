//! Writes metric objects and the provenance of a set of them.

use crate::geo::area::{Area, AreaKind};
use crate::geo::estimates::{Estimate, MetricTable};
use crate::geo::metric_text::{MetricSays, MetricText, json_text, trim_of, write_tenths};
use crate::geo::tables::Geo;
use crate::http::endpoint::Call;
use crate::http::parameters::{Kind, Parameter};
use crate::json::Json;
use crate::release::loaded::Release;
use crate::release::provenance::origin;

/// Reason of a metric whose area is not in the survey.
pub const NOT_IN_SURVEY: &str = "not_in_survey";
/// Reason of a metric whose record was set aside by validation.
pub const QUARANTINED: &str = "quarantined";

const METRIC_KEYS: Kind = Kind::SomeOf("geo.zcta_metric", "metric");

/// The parameter that chooses metrics of an area.
pub const METRIC_OF_AREA: Parameter = Parameter { name: "metric", kind: METRIC_KEYS, description: "Comma list of metric keys; all twelve when absent." };
/// The parameter that chooses metrics of the areas in a list.
pub const METRIC_OF_LIST: Parameter =
    Parameter { name: "metric", kind: METRIC_KEYS, description: "Comma list of metrics whose values and margins of error each area has; none when absent." };

/// The metrics that a request names, in its order and as positions in the release's order; none where it names none.
pub fn asked_metrics(geo: &Geo<'_>, call: &Call<'_>) -> Option<Vec<usize>> {
    let position = |key| geo.metric_keys.iter().position(|known| known == key);
    Some(call.listed("metric")?.into_iter().filter_map(position).collect())
}

/// The metrics of an answer about one area: those that the request names, else all.
pub fn metrics_of_area(geo: &Geo<'_>, call: &Call<'_>) -> Vec<usize> {
    asked_metrics(geo, call).unwrap_or_else(|| (0..geo.metric_keys.len()).collect())
}

/// Units of the metrics, for vintages in which no area has the metric at all.
const UNITS: [(&str, &str); 12] = [
    ("population", "persons"),
    ("median_age", "years"),
    ("households", "households"),
    ("median_household_income", "usd"),
    ("median_home_value", "usd"),
    ("median_gross_rent", "usd"),
    ("owner_occupied_share", "percent"),
    ("renter_occupied_share", "percent"),
    ("high_school_attainment", "percent"),
    ("bachelors_attainment", "percent"),
    ("poverty_rate", "percent"),
    ("unemployment_rate", "percent"),
];

/// Unit and universe of a metric, whether or not the area has it.
pub fn unit_and_universe<'a>(table: &'a MetricTable, key: &str, metric: usize) -> (&'a str, Option<&'a str>) {
    match table.usual(metric) {
        Some(usual) => (usual.unit.as_str(), Some(usual.universe.as_str())),
        None => (UNITS.iter().find(|(known, _)| *known == key).map_or("", |(_, unit)| unit), None),
    }
}

/// Writes the figures of an estimate: value or bound, margin, and why one may be missing.
pub fn write_figures(json: &mut Json, estimate: Option<&Estimate<'_>>, unit: &str, missing: &str) {
    let trim = trim_of(unit);
    write_tenths(json.key("value"), estimate.and_then(|estimate| estimate.value), trim);
    let bound = estimate.and_then(|estimate| estimate.bound);
    write_tenths(json.key("bound"), bound.map(|(bound, _)| bound), trim);
    json.key("bound_type").optional_text(bound.map(|(_, bound_type)| bound_type));
    write_tenths(json.key("moe"), estimate.and_then(|estimate| estimate.moe), trim);
    write_tenths(json.key("moe_approximate"), estimate.and_then(|estimate| estimate.moe_approximate), trim);
    json.key("moe_status").text(estimate.map_or("not_published", |estimate| estimate.moe_status));
    json.key("qualifier").optional_text(estimate.and_then(|estimate| estimate.qualifier));
    json.key("null_reason").optional_text(estimate.map_or(Some(missing), |estimate| estimate.null_reason));
}

/// An estimate in a few words: value and margin as the publisher prints them, the phrase of an open-ended median, or why there is none.
pub fn told(estimate: &Estimate<'_>) -> String {
    let unit = estimate.descriptor.unit.as_str();
    let figure = |tenths: i64| json_text(|json| write_tenths(json, Some(tenths), trim_of(unit)));
    match (estimate.value, estimate.moe.or(estimate.moe_approximate), estimate.qualifier) {
        (Some(value), Some(margin), _) => format!("{} ± {} {unit}", figure(value), figure(margin)),
        (Some(value), None, _) => format!("{} {unit}", figure(value)),
        (None, _, Some(qualifier)) => format!("{qualifier} {unit}"),
        (None, _, None) => estimate.null_reason.unwrap_or_default().replace('_', " "),
    }
}

/// Writes the record id of a metric; null when there is no record.
pub fn write_record_id(json: &mut Json, has_record: bool, kind: AreaKind, table: &MetricTable, code: &str, key: &str) {
    if has_record {
        json.plain(&[kind.metric_dataset(), ":", &table.vintage_text, ":", code, ":", key]);
    } else {
        json.null();
    }
}

impl Area<'_> {
    /// The area's estimate of a metric.
    pub fn estimate(&self, metric: usize) -> Option<Estimate<'_>> {
        self.area.and_then(|area| self.table.estimate(area, metric))
    }

    /// Writes the figures of a metric and the id of their record.
    pub fn write_figures(&self, json: &mut Json, key: &str, metric: usize) {
        let estimate = self.estimate(metric);
        let (unit, _) = unit_and_universe(self.table, key, metric);
        write_figures(json, estimate.as_ref(), unit, self.missing_reason());
        write_record_id(json.key("record_id"), estimate.is_some(), self.kind, self.table, self.code, key);
    }

    /// Writes the figures of some metrics by their keys.
    pub fn write_chosen(&self, geo: &Geo<'_>, json: &mut Json, metrics: &[usize]) {
        json.object(|json| {
            for &metric in metrics {
                let key = &geo.metric_keys[metric];
                json.key(key).object(|json| self.write_figures(json, key, metric));
            }
        });
    }

    /// Why an area has no estimate record.
    pub fn missing_reason(&self) -> &'static str {
        if self.area.is_some() { QUARANTINED } else { NOT_IN_SURVEY }
    }

    /// Writes the members of a metric object.
    pub fn write_metric(&self, json: &mut Json, key: &str, metric: usize) {
        let record_id = [self.kind.metric_dataset(), ":", &self.table.vintage_text, ":", self.code, ":", key];
        if self.area.is_some_and(|area| self.table.write(json, area, metric, &record_id)) {
            return;
        }
        let (unit, _) = unit_and_universe(self.table, key, metric);
        let says = MetricSays {
            key,
            unit,
            is_derived: false,
            bound_type: None,
            moe_status: "not_published",
            qualifier: None,
            null_reason: Some(self.missing_reason()),
            universe_and_source: self.table.usual(metric).map(|usual| &*usual.universe_and_source),
            warnings: None,
        };
        MetricText::new(&says).write(json, None, None, None);
    }

    /// The record id of one of the area's metrics.
    pub fn record_id(&self, key: &str) -> String {
        [self.kind.metric_dataset(), &self.table.vintage_text, self.code, key].join(":")
    }

    /// Writes the provenance of the area's geography; null where the release has no record of it.
    pub fn write_geography_provenance(&self, json: &mut Json) {
        match self.place.and_then(|(places, row)| Some((places, row, places.origin.as_ref()?))) {
            Some((places, row, origin)) => origin.write(json, places.validation_statuses.at(row), places.record_ids.at(row)),
            None => json.null(),
        }
    }

    /// Writes the provenance of an answer: the file and record of its first metric, the worst verdict of all; for an area outside
    /// the survey those of its geography.
    pub fn write_provenance(&self, release: &Release, json: &mut Json, metrics: &[usize]) {
        let keys = Geo::of(release).metric_keys;
        let estimates = || metrics.iter().filter_map(|&metric| self.estimate(metric).map(|estimate| (metric, estimate)));
        let verdict = if estimates().all(|(_, estimate)| estimate.validation_status == "passed") { "passed" } else { "passed_with_warnings" };
        if let Some((metric, estimate)) = estimates().next() {
            return estimate.origin.write(json, verdict, &self.record_id(&keys[metric]));
        }
        if let Some((places, row)) = self.place
            && let Some(origin) = &places.origin
        {
            return origin.write(json, places.validation_statuses.at(row), places.record_ids.at(row));
        }
        origin(&release.manifest, self.kind.metric_dataset(), None).write(
            json,
            verdict,
            &format!("{}:{}:{}", self.kind.metric_dataset(), self.table.vintage_year, self.code),
        );
    }
}
