//! Defines area figures as answers show them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Fixed, Text};
use crate::release::provenance::Provenance;

/// A five-year survey, named after its last year.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Vintage {
    /// Name of the survey: `ACS 5-year estimates`.
    survey: &'static str,
    /// Span of years in the format `start-end`.
    period: String,
    /// Final year of the period.
    year: i32,
}

impl Vintage {
    pub fn from_year(year: i32) -> Self {
        Self {
            survey: "ACS 5-year estimates",
            period: format!("{}-{year}", year - 4),
            year,
        }
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Figures<'a, N> {
    #[schemars(extend("$field" = "geo.zcta_metric/value"))]
    pub value: Option<N>,
    #[schemars(extend("$field" = "geo.zcta_metric/bound"))]
    pub bound: Option<N>,
    #[schemars(title = "BoundType", extend("$field" = "geo.zcta_metric/bound_type"))]
    pub bound_type: Option<&'a str>,
    #[schemars(extend("$field" = "geo.zcta_metric/moe"))]
    pub moe: Option<N>,
    #[schemars(extend("$field" = "geo.zcta_metric/moe_approximate"))]
    pub moe_approximate: Option<N>,
    #[schemars(title = "MoeStatus", extend("$field" = "geo.zcta_metric/moe_status"))]
    pub moe_status: &'a str,
    #[schemars(extend("$field" = "geo.zcta_metric/qualifier"))]
    pub qualifier: Option<&'a str>,
    #[schemars(title = "MetricNullReason", extend("$field" = "geo.zcta_metric/null_reason", "also" = ["not_in_survey", "quarantined"]))]
    pub null_reason: Option<&'a str>,
}

impl<'a, N> Figures<'a, N> {
    /// Returns the figures of an area without an estimate.
    pub fn none(reason: &'a str) -> Self {
        Self {
            value: None,
            bound: None,
            bound_type: None,
            moe: None,
            moe_approximate: None,
            moe_status: "not_published",
            qualifier: None,
            null_reason: Some(reason),
        }
    }

    /// Converts each figure with `form`.
    pub fn map<M>(self, form: impl Fn(N) -> M) -> Figures<'a, M> {
        let Self {
            value,
            bound,
            bound_type,
            moe,
            moe_approximate,
            moe_status,
            qualifier,
            null_reason,
        } = self;
        let [value, bound, moe, moe_approximate] =
            [value, bound, moe, moe_approximate].map(|figure| figure.map(&form));
        Figures {
            value,
            bound,
            bound_type,
            moe,
            moe_approximate,
            moe_status,
            qualifier,
            null_reason,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AreaFigures<'a> {
    #[serde(flatten)]
    pub figures: Figures<'a, Fixed>,
    /// Id of the figure's record, for `/v1/provenance/{record_id}`; null if the survey has no
    /// estimate for the area.
    pub record_id: Option<String>,
}

/// One metric of an area, as answers show it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Metric<'a> {
    #[schemars(title = "MetricKey", extend("$field" = "geo.zcta_metric/metric"))]
    pub key: &'a str,
    #[schemars(title = "MetricUnit", extend("$field" = "geo.zcta_metric/unit"))]
    pub unit: &'a str,
    #[serde(flatten)]
    pub figures: Figures<'a, Text<'static, Fixed>>,
    #[schemars(extend("$field" = "geo.zcta_metric/universe", "nullable" = true))]
    pub universe: Option<&'a str>,
    /// Survey table and variables of the figure; null if the survey has no estimate for the area.
    pub source: Option<Source<'a>>,
    /// Id of the figure's record, for `/v1/provenance/{record_id}`; null if the survey has no
    /// estimate for the area.
    pub record_id: Option<Text<'static, String>>,
    #[schemars(extend("$field" = "geo.zcta_metric/warnings"))]
    pub warnings: Vec<&'a str>,
    /// Record and publisher's file of the figure, or of the area if the survey has no estimate for
    /// it. Present only in answers about one area.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Provenance<'a>")]
    pub provenance: Option<Provenance<'a>>,
    /// Figures for every published vintage, oldest first; present only with `history=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<PastFigures<'a>>")]
    pub history: Option<Vec<PastFigures<'a>>>,
}

/// Survey table and variables of a figure.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Source<'a> {
    #[schemars(extend("$field" = "geo.zcta_metric/table_id"))]
    pub table_id: &'a str,
    #[schemars(extend("$field" = "geo.zcta_metric/variables"))]
    pub variables: &'a [String],
    #[schemars(extend("$field" = "geo.zcta_metric/moe_variable"))]
    pub moe_variable: Option<&'a str>,
    #[schemars(extend("$field" = "geo.zcta_metric/is_derived"))]
    pub derived: bool,
}

/// Figures of a metric in one vintage.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PastFigures<'a> {
    /// Survey vintage to which the figure belongs.
    pub vintage: &'a Vintage,
    #[serde(flatten)]
    pub figures: AreaFigures<'a>,
    /// Record and publisher's file of the figure; null if the survey has no estimate for the area.
    pub provenance: Option<Provenance<'a>>,
}
