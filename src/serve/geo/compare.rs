//! Compares two ZCTAs. By the Bureau's rule, a difference is significant at 90 % confidence if its
//! square is greater than the sum of the squared margins of error. If the two are equal, the
//! difference is not significant. The test uses whole numbers, so nothing is rounded.
//!
//! # Source
//! U.S. Census Bureau, "Understanding and Using American Community Survey Data", chapter 7;
//! "Instructions for Applying Statistical Testing to ACS 5-Year Data".

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Decimal, Fixed, Text};
use crate::geo::area::{Area, AreaKind};
use crate::geo::estimates::Estimate;
use crate::geo::figures::{AreaFigures, Vintage};
use crate::geo::geography::Geography;
use crate::geo::metric::unit_and_universe;
use crate::geo::metric_text::printed;
use crate::geo::tables::Geo;
use crate::http::body::{Body, YEARS, request, required};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::RELEASE_PARAMETERS;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::release::provenance::Provenance;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/geo-demographics/locations/compare",
    operation_id: "compareLocations",
    summary: "Comparison of two ZCTAs",
    access: Access::Scope(Scope::Geo),
    parameters: RELEASE_PARAMETERS,
    body: Some(Data::for_type::<CompareRequest>()),
    data: Data::for_type::<Compared<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Memory(compare),
};

/// Number of standard errors in a published 90 % margin of error.
const Z_90: f64 = 1.645;

request! {
    struct CompareRequest {
        /// Codes of the two ZCTAs to compare, five digits each.
        #[schemars(inner(regex(pattern = "^[0-9]{5}$")), extend("uniqueItems" = true))]
        locations: [String; 2],
        /// Metric keys; all twelve when absent.
        // Parsed as positions in the metric list.
        #[schemars(length(min = 1), extend("type" = "array", "uniqueItems" = true, "items" = {"$field": "geo.zcta_metric/metric"}))]
        metrics: Option<Vec<usize>>,
        /// Final year of the survey period; the newest vintage if null or absent.
        #[schemars(range(min = *YEARS.start(), max = *YEARS.end()))]
        vintage: Option<i64>,
    }
}

impl CompareRequest {
    fn read(body: &[u8], known: &[&str]) -> Result<Self> {
        let body = Body::read(body, Self::FIELDS)?;
        let wrong =
            |message: String| Problem::of_field(Code::InvalidParameter, Self::locations, message);
        let locations: [String; 2] = required(Self::locations, body.texts(Self::locations)?)?.try_into().map_err(|codes: Vec<String>| {
            wrong(format!(
                "a comparison takes exactly two ZCTA codes, got {}; for one metric of many areas use GET /v1/geo-demographics/metrics/{{metric}} with `areas`",
                codes.len()
            ))
        })?;
        if locations[0] == locations[1] {
            return Err(wrong(format!(
                "{} is listed twice; an area does not differ from itself",
                locations[0]
            )));
        }
        let metrics = body
            .texts(Self::metrics)?
            .map(|keys| body.positions(Self::metrics, &keys, known))
            .transpose()?;
        Ok(Self {
            locations,
            metrics,
            vintage: body.year(Self::vintage)?,
        })
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Comparison")]
struct Compared<'a> {
    /// Survey vintage of all compared figures.
    vintage: &'a Vintage,
    /// The compared areas, in the order of the request.
    locations: Vec<Text<'a, Geography<'a>>>,
    /// One comparison for each metric.
    comparisons: Vec<ComparedMetric<'a>>,
    /// Provenance of the figures, one record for each value, in the order of `comparisons`.
    provenance: Vec<Provenance<'a>>,
}

/// Comparison of one metric between the two areas.
#[derive(Serialize, JsonSchema)]
struct ComparedMetric<'a> {
    #[schemars(extend("$field" = "geo.zcta_metric/metric"))]
    metric: &'a str,
    #[schemars(extend("$field" = "geo.zcta_metric/unit"))]
    unit: &'a str,
    #[schemars(extend("$field" = "geo.zcta_metric/universe", "nullable" = true))]
    universe: Option<&'a str>,
    /// Figures of the two areas, in the order of the request.
    values: Vec<ComparedValue<'a>>,
    /// First value minus second value; null if a value is missing or open-ended.
    difference: Option<Fixed>,
    /// 90 % margin of error of the difference, in the metric's unit; null if it cannot be computed.
    difference_moe: Option<Decimal>,
    /// Difference in standard errors, significant beyond 1.645 in either direction; null if it
    /// cannot be computed.
    z: Option<Decimal>,
    /// Result of the Bureau's test at 90 % confidence; null if the test is not appropriate, with
    /// the reason in `reason`.
    significant_at_90: Option<bool>,
    /// Margins that the test used: `published`, or `controlled` if one estimate is controlled to
    /// the population estimates. By the Bureau's method, such an estimate has no sampling error.
    /// Null if no test was made.
    #[schemars(extend("enum" = ["published", "controlled"]))]
    margin_basis: Option<&'static str>,
    /// Why `significant_at_90` is null: a value is missing, a median is open-ended, both values are
    /// controlled, or a margin is not published or was not fetched. Null if the test was made.
    #[schemars(extend("enum" = ["value_not_available", "open_ended_median", "both_controlled", "no_published_moe", "moe_not_fetched"]))]
    reason: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ComparedMetricValue")]
struct ComparedValue<'a> {
    /// ZCTA code of the area.
    id: &'a str,
    #[serde(flatten)]
    figures: AreaFigures<'a>,
}

/// Result of the Bureau's test on two estimates. Values are in tenths.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub difference: Option<i64>,
    pub difference_moe: Option<f64>,
    pub z: Option<f64>,
    pub significant_at_90: Option<bool>,
    /// Margins that the test used: `published`, or `controlled` if one estimate counts as free of
    /// sampling error.
    pub margin_basis: Option<&'static str>,
    /// Reason why the test is not appropriate.
    pub reason: Option<&'static str>,
}

/// One side of a comparison. Values are in tenths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side<'a> {
    pub value: Option<i64>,
    pub moe: Option<i64>,
    pub moe_status: &'a str,
}

/// Tests the difference between two estimates.
///
/// # Units
/// All figures are in tenths of the metric's unit, except `z`, which has no unit.
pub fn compare_estimates(a: Side<'_>, b: Side<'_>) -> Comparison {
    let without = |difference, reason| Comparison {
        difference,
        difference_moe: None,
        z: None,
        significant_at_90: None,
        margin_basis: None,
        reason: Some(reason),
    };
    let has_status = |status: &str| [a, b].iter().any(|side| side.moe_status == status);
    let (Some(value_a), Some(value_b)) = (a.value, b.value) else {
        let is_missing = |side: Side<'_>| side.value.is_none() && side.moe_status != "open_ended";
        return without(
            None,
            if is_missing(a) || is_missing(b) {
                "value_not_available"
            } else {
                "open_ended_median"
            },
        );
    };
    // Published figures have at most 14 digits, so their difference never overflows.
    let Some(difference) = value_a.checked_sub(value_b) else {
        return without(None, "value_not_available");
    };
    if [a, b].iter().all(|side| side.moe_status == "controlled") {
        return without(Some(difference), "both_controlled");
    }
    // A controlled estimate has no sampling error: its margin counts as 0.
    let moe = |side: Side<'_>| {
        if side.moe_status == "controlled" {
            Some(0)
        } else {
            side.moe
        }
    };
    let (Some(moe_a), Some(moe_b)) = (moe(a), moe(b)) else {
        return without(
            Some(difference),
            if has_status("not_published") {
                "no_published_moe"
            } else {
                "moe_not_fetched"
            },
        );
    };
    let squares = i128::from(moe_a).pow(2) + i128::from(moe_b).pow(2);
    let difference_moe = (squares as f64).sqrt();
    Comparison {
        difference: Some(difference),
        difference_moe: Some(difference_moe),
        z: (squares > 0).then(|| difference as f64 * Z_90 / difference_moe),
        significant_at_90: Some(i128::from(difference).pow(2) > squares),
        margin_basis: Some(if has_status("controlled") {
            "controlled"
        } else {
            "published"
        }),
        reason: None,
    }
}

/// Answers `POST locations/compare`.
pub fn compare(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let geo = Geo::from_release(call.release);
    let known: Vec<&str> = geo.metric_keys.iter().map(String::as_str).collect();
    let CompareRequest {
        locations,
        metrics,
        vintage,
    } = CompareRequest::read(call.body, &known)?;
    let metrics = metrics.unwrap_or_else(|| (0..known.len()).collect());
    let find = |code| {
        Area::find(
            &geo,
            AreaKind::Zcta,
            code,
            vintage,
            CompareRequest::locations,
        )
    };
    let areas = [find(&locations[0])?, find(&locations[1])?];
    json.value(&Compared {
        vintage: &areas[0].table.vintage,
        locations: areas.iter().map(|area| area.geography(&geo)).collect(),
        comparisons: metrics
            .iter()
            .map(|&metric| compared(&areas, known[metric], metric))
            .collect(),
        provenance: metrics
            .iter()
            .flat_map(|&metric| areas.map(|area| area.provenance(call.release, &[metric])))
            .collect(),
    });
    let mut meta = Meta::default();
    areas[0].describe(&mut meta);
    crate::geo::notices::add_not_fetched_notice(&mut meta, areas[0].table, &metrics);
    if areas[0].area.is_some() && areas[1].area.is_none() {
        crate::geo::notices::add_not_in_survey_notice(
            &mut meta,
            areas[1].code,
            areas[1].table.vintage_year,
        );
    }
    Ok(meta)
}

fn compared<'a>(areas: &[Area<'a>; 2], key: &'a str, metric: usize) -> ComparedMetric<'a> {
    let [a, b] = areas.map(|area| side(area.estimate(metric)));
    let outcome = compare_estimates(a, b);
    let (unit, universe) = unit_and_universe(areas[0].table, key, metric);
    ComparedMetric {
        metric: key,
        unit,
        universe,
        values: areas
            .iter()
            .map(|area| ComparedValue {
                id: area.code,
                figures: area.figures(key, metric),
            })
            .collect(),
        difference: outcome.difference.map(|tenths| printed(tenths, unit)),
        difference_moe: outcome
            .difference_moe
            .map(|tenths| rounded(tenths / 10.0, 2)),
        z: outcome.z.map(|z| rounded(z, 4)),
        significant_at_90: outcome.significant_at_90,
        margin_basis: outcome.margin_basis,
        reason: outcome.reason,
    }
}

fn side(estimate: Option<Estimate<'_>>) -> Side<'_> {
    match estimate {
        Some(Estimate { figures, .. }) => Side {
            value: figures.value,
            moe: figures.moe,
            moe_status: figures.moe_status,
        },
        None => Side {
            value: None,
            moe: None,
            moe_status: "not_published",
        },
    }
}

/// Rounds a number to `decimals` decimal places.
fn rounded(value: f64, decimals: u8) -> Decimal {
    Decimal {
        units: (value * 10f64.powi(i32::from(decimals))).round() as i128,
        scale: decimals,
    }
}

#[cfg(test)]
mod tests;
