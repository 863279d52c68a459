//! Builds an area's metrics for answers, and the provenance of a set of metrics.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::answer::{Members, Text};
use crate::geo::area::Area;
use crate::geo::estimates::{Descriptor, Estimate, MetricTable, verdict};
use crate::geo::figures::{AreaFigures, Figures, Metric};
use crate::geo::metric_text::printed;
use crate::geo::tables::Geo;
use crate::http::parameters::{Kind, Parameter};
use crate::json::Json;
use crate::release::loaded::Release;
use crate::release::provenance::{Provenance, schema_version};

/// Reason for a metric whose area is not in the survey.
pub const NOT_IN_SURVEY: &str = "not_in_survey";
/// Reason for a metric whose record was quarantined by validation.
pub const QUARANTINED: &str = "quarantined";

const METRIC_KEYS: Kind = Kind::OneOf("geo.zcta_metric", "metric");

/// Parameter that selects metrics of an area.
pub const METRIC_OF_AREA: Parameter =
    METRIC_KEYS.described("Comma list of metric keys; all twelve when absent.");
/// Parameter that selects metrics of the areas in a list.
pub const METRIC_OF_LIST: Parameter = METRIC_KEYS.described(
    "Comma list of metrics whose values and margins of error each area has; none when absent.",
);

/// Returns the requested metrics in request order, as positions in the release's order.
pub fn requested_metrics(geo: &Geo<'_>, keys: &[&str]) -> Vec<usize> {
    keys.iter()
        .filter_map(|key| geo.metric_keys.iter().position(|known| known == key))
        .collect()
}

/// Returns the metrics of an answer about one area: the requested metrics, or all metrics.
pub fn metrics_of_area(geo: &Geo<'_>, keys: &[&str]) -> Vec<usize> {
    if keys.is_empty() {
        (0..geo.metric_keys.len()).collect()
    } else {
        requested_metrics(geo, keys)
    }
}

/// Metrics in page order: size, age, living conditions, wealth. Each entry has a key, a unit for
/// vintages in which no area has the metric, and a description.
#[rustfmt::skip]
pub const METRICS: [(&str, &str, &str); 12] = [
    ("population", "persons", "Number of people in the area."),
    ("households", "households", "Number of households in the area."),
    ("median_age", "years", "Median age of the area's population, in years."),
    ("median_household_income", "usd", "Median household income in US dollars, in prices of the vintage's final year."),
    ("poverty_rate", "percent", "Part of the people with known poverty status whose income is below the poverty level, in percent (0 to 100)."),
    ("unemployment_rate", "percent", "Unemployed part of the civilian labor force, in percent (0 to 100)."),
    ("owner_occupied_share", "percent", "Owner-occupied part of the occupied housing units, in percent (0 to 100)."),
    ("renter_occupied_share", "percent", "Renter-occupied part of the occupied housing units, in percent (0 to 100)."),
    ("median_home_value", "usd", "Median value of owner-occupied housing units, in US dollars."),
    ("median_gross_rent", "usd", "Median gross rent per month, in US dollars."),
    ("high_school_attainment", "percent", "Part of the people aged 25 and over with a high school diploma or more, in percent (0 to 100)."),
    ("bachelors_attainment", "percent", "Part of the people aged 25 and over with a bachelor's degree or more, in percent (0 to 100)."),
];

/// Returns the unit and the universe of a metric, even if the area lacks the metric.
pub fn unit_and_universe<'a>(
    table: &'a MetricTable,
    key: &str,
    metric: usize,
) -> (&'a str, Option<&'a str>) {
    match table.usual(metric) {
        Some(usual) => (usual.unit.as_str(), Some(usual.universe.as_str())),
        None => (
            METRICS
                .iter()
                .find(|(known, ..)| *known == key)
                .map_or("", |(_, unit, _)| unit),
            None,
        ),
    }
}

/// Metric objects by metric key.
#[derive(Serialize, JsonSchema)]
pub struct Metrics<'a>(Text<'static, Members<&'a str, Metric<'a>>>);

/// Figures of the requested metrics, by key.
#[derive(Serialize)]
pub struct ChosenFigures<'a>(Members<&'a str, AreaFigures<'a>>);

impl JsonSchema for ChosenFigures<'_> {
    fn schema_name() -> Cow<'static, str> {
        "ChosenFigures".into()
    }

    /// Lists each metric by name, because a table of areas has columns for the named metrics.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let figures = generator.subschema_for::<AreaFigures<'_>>();
        let member = |(key, _, description): (&str, &str, &str)| {
            let mut member = figures.clone();
            member.insert("description".to_owned(), description.into());
            (key.to_owned(), member.to_value())
        };
        let properties: Map<String, Value> = METRICS.into_iter().map(member).collect();
        json_schema!({"type": "object", "description": "Figures of the metrics that `metric` names, by metric key.", "properties": properties})
    }
}

/// Formats an estimate briefly: value and margin as the publisher prints them, the phrase for an
/// open-ended median, or the reason why it is missing.
pub fn format_estimate(estimate: &Estimate<'_>) -> String {
    let unit = estimate.descriptor.unit.as_str();
    let figure = |tenths: i64| Text::new(&printed(tenths, unit)).as_str().to_owned();
    let figures = &estimate.figures;
    match (
        figures.value,
        figures.moe.or(figures.moe_approximate),
        figures.qualifier,
    ) {
        (Some(value), Some(margin), _) => format!("{} ± {} {unit}", figure(value), figure(margin)),
        (Some(value), None, _) => format!("{} {unit}", figure(value)),
        (None, _, Some(qualifier)) => format!("{qualifier} {unit}"),
        (None, _, None) => figures.null_reason.unwrap_or_default().replace('_', " "),
    }
}

impl<'a> Area<'a> {
    pub fn estimate(&self, metric: usize) -> Option<Estimate<'a>> {
        self.area.and_then(|area| self.table.estimate(area, metric))
    }

    /// Returns the figures of a metric and the id of their record.
    pub fn figures(&self, key: &str, metric: usize) -> AreaFigures<'a> {
        let (unit, _) = unit_and_universe(self.table, key, metric);
        let (figures, record_id) = match self.estimate(metric) {
            Some(estimate) => (estimate.figures, Some(self.record_id(key))),
            None => (Figures::none(self.missing_reason()), None),
        };
        AreaFigures {
            figures: figures.map(|tenths| printed(tenths, unit)),
            record_id,
        }
    }

    /// Returns the figures of the given metrics by key.
    pub fn chosen(&self, geo: &Geo<'a>, metrics: &[usize]) -> ChosenFigures<'a> {
        let keys = geo.metric_keys;
        ChosenFigures(Members(
            metrics
                .iter()
                .map(|&metric| (keys[metric].as_str(), self.figures(&keys[metric], metric)))
                .collect(),
        ))
    }

    /// Returns the reason why an area has no estimate record.
    fn missing_reason(&self) -> &'static str {
        if self.area.is_some() {
            QUARANTINED
        } else {
            NOT_IN_SURVEY
        }
    }

    /// Writes metric objects by key, each with its provenance and the fields that `write` adds.
    /// Copies text that was built when the release was loaded. Apart from the figures, this text is
    /// the same for thousands of areas.
    pub fn metrics(
        &self,
        release: &'a Release,
        metrics: &[usize],
        write: impl Fn(&mut Json, &str, usize),
    ) -> Metrics<'a> {
        let keys = Geo::from_release(release).metric_keys;
        Metrics(Text::written(|json| {
            json.object(|json| {
                for &metric in metrics {
                    let key = &keys[metric];
                    json.key(key).object(|json| {
                        self.write_metric(json, key, metric);
                        if !self.area.is_some_and(|area| {
                            self.table.write_provenance(
                                json,
                                area,
                                metric,
                                &self.record_id_pieces(key),
                            )
                        }) {
                            json.key("provenance")
                                .value(&self.provenance(release, &[metric]));
                        }
                        write(json, key, metric);
                    });
                }
            });
        }))
    }

    /// Writes the fields of a metric object.
    pub fn write_metric(&self, json: &mut Json, key: &str, metric: usize) {
        if self.area.is_some_and(|area| {
            self.table
                .write(json, area, metric, &self.record_id_pieces(key))
        }) {
            return;
        }
        let (unit, universe) = unit_and_universe(self.table, key, metric);
        json.members(&Metric {
            key,
            unit,
            figures: Figures::none(self.missing_reason()),
            universe,
            source: self.table.usual(metric).map(Descriptor::source),
            record_id: None,
            warnings: Vec::new(),
            provenance: None,
            history: None,
        });
    }

    /// Returns the record id of one of the area's metrics.
    pub fn record_id(&self, key: &str) -> String {
        self.record_id_pieces(key).concat()
    }

    fn record_id_pieces<'r>(&'r self, key: &'r str) -> [&'r str; 7] {
        [
            self.kind.metric_dataset(),
            ":",
            &self.table.vintage_text,
            ":",
            self.code,
            ":",
            key,
        ]
    }

    /// Returns the provenance of the area's geography; `None` if the release has no record of the
    /// area.
    pub fn geography_provenance(&self) -> Option<Provenance<'a>> {
        let (places, row) = self.place?;
        Some(places.origin.as_ref()?.provenance(
            places.validation_statuses.at(row),
            places.record_ids.at(row),
        ))
    }

    /// Returns the provenance of an answer: the file and record of the first metric, with the worst
    /// validation status of all metrics. For an area outside the survey, returns the provenance of
    /// its geography.
    pub fn provenance(&self, release: &'a Release, metrics: &[usize]) -> Provenance<'a> {
        let mut estimates = metrics
            .iter()
            .filter_map(|&metric| Some((metric, self.estimate(metric)?)));
        let Some((metric, estimate)) = estimates.next() else {
            return self.geography_provenance().unwrap_or_else(|| {
                let dataset = self.kind.metric_dataset();
                let record_id = [dataset, &self.table.vintage_text, self.code].join(":");
                Provenance::new(
                    (dataset, schema_version(&release.manifest, dataset)),
                    ("", None),
                    verdict(true),
                    record_id,
                )
            });
        };
        let are_passed = estimate.validation_status == "passed"
            && estimates.all(|(_, estimate)| estimate.validation_status == "passed");
        estimate.origin.provenance(
            verdict(are_passed),
            self.record_id(&Geo::from_release(release).metric_keys[metric]),
        )
    }
}
