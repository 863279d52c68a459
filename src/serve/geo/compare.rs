//! Compares two ZCTAs. Whether a difference is significant is the Bureau's rule at 90 % confidence: the square of the difference is
//! greater than the sum of the squared margins of error. Equal is not greater, so whole numbers decide and nothing is rounded.
//!
//! # Source
//! U.S. Census Bureau, "Understanding and Using American Community Survey Data", chapter 7; "Instructions for Applying Statistical
//! Testing to ACS 5-Year Data".

use crate::geo::area::{Area, AreaKind};
use crate::geo::estimates::Estimate;
use crate::geo::metric::unit_and_universe;
use crate::geo::metric_text::{trim_of, write_tenths};
use crate::geo::tables::Geo;
use crate::http::body::Body;
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::OF_RELEASE;
use crate::http::problem::{Code, Problem, Result};
use crate::json::{Json, Trim};
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/geo-demographics/locations/compare",
    operation_id: "compareLocations",
    summary: "Comparison of two ZCTAs",
    access: Access::Scope(Scope::Geo),
    parameters: OF_RELEASE,
    body: Some("CompareRequest"),
    data: Data::Written("Comparison"),
    validity: Validity::Release,
    handler: Handler::Memory(compare),
};

/// Standard errors of a published 90 % margin of error.
const Z_90: f64 = 1.645;

/// What the Bureau's test says about two estimates. Values are in tenths.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub difference: Option<i64>,
    pub difference_moe: Option<f64>,
    pub z: Option<f64>,
    pub significant_at_90: Option<bool>,
    /// What the margins of the test are: `published`, or `controlled` where one estimate counts as free of sampling error.
    pub margin_basis: Option<&'static str>,
    /// Why the test is not appropriate.
    pub reason: Option<&'static str>,
}

/// One side of a comparison. Values are in tenths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side<'a> {
    pub value: Option<i64>,
    pub moe: Option<i64>,
    pub moe_status: &'a str,
}

/// Tests the difference of two estimates.
///
/// # Units
/// All figures in tenths of the metric's unit, except `z`, which has none.
pub fn compare_estimates(a: Side<'_>, b: Side<'_>) -> Comparison {
    let without =
        |difference, reason| Comparison { difference, difference_moe: None, z: None, significant_at_90: None, margin_basis: None, reason: Some(reason) };
    let has_status = |status: &str| [a, b].iter().any(|side| side.moe_status == status);
    let (Some(value_a), Some(value_b)) = (a.value, b.value) else {
        let is_missing = |side: Side<'_>| side.value.is_none() && side.moe_status != "open_ended";
        return without(None, if is_missing(a) || is_missing(b) { "value_not_available" } else { "open_ended_median" });
    };
    // Published figures have at most 14 digits; a difference beyond the machine's numbers cannot come from them.
    let Some(difference) = value_a.checked_sub(value_b) else { return without(None, "value_not_available") };
    if [a, b].iter().all(|side| side.moe_status == "controlled") {
        return without(Some(difference), "both_controlled");
    }
    // A controlled estimate has no sampling error: its margin counts as 0.
    let moe = |side: Side<'_>| if side.moe_status == "controlled" { Some(0) } else { side.moe };
    let (Some(moe_a), Some(moe_b)) = (moe(a), moe(b)) else {
        return without(Some(difference), if has_status("not_published") { "no_published_moe" } else { "moe_not_fetched" });
    };
    let squares = i128::from(moe_a).pow(2) + i128::from(moe_b).pow(2);
    let difference_moe = (squares as f64).sqrt();
    Comparison {
        difference: Some(difference),
        difference_moe: Some(difference_moe),
        z: (squares > 0).then(|| difference as f64 * Z_90 / difference_moe),
        significant_at_90: Some(i128::from(difference).pow(2) > squares),
        margin_basis: Some(if has_status("controlled") { "controlled" } else { "published" }),
        reason: None,
    }
}

/// Answers `POST locations/compare`.
pub fn compare(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let geo = Geo::of(call.release);
    let body = Body::read(call.body, &["locations", "metrics", "vintage"])?;
    let codes = body.texts("locations")?.ok_or_else(|| missing("locations"))?;
    let codes: [String; 2] = codes.try_into().map_err(|codes: Vec<String>| {
        let message = format!(
            "a comparison takes exactly two ZCTA codes, got {}; for one metric of many areas use GET /v1/geo-demographics/metrics/{{metric}} with `areas`",
            codes.len()
        );
        Problem::of_field(Code::InvalidParameter, "locations", message)
    })?;
    if codes[0] == codes[1] {
        return Err(Problem::of_field(Code::InvalidParameter, "locations", format!("{} is listed twice; an area does not differ from itself", codes[0])));
    }
    let known: Vec<&str> = geo.metric_keys.iter().map(String::as_str).collect();
    let metrics: Vec<usize> = match body.texts("metrics")? {
        Some(keys) => body.positions("metrics", &keys, &known)?,
        None => (0..known.len()).collect(),
    };
    let vintage = body.year("vintage")?;
    let find = |code| Area::find(&geo, AreaKind::Zcta, code, vintage, "locations");
    let areas = [find(&codes[0])?, find(&codes[1])?];
    json.object(|json| {
        areas[0].write_vintage(json.key("vintage"));
        json.key("locations").array(|json| areas.iter().for_each(|area| area.write_geography(&geo, json)));
        json.key("comparisons").array(|json| {
            metrics.iter().for_each(|&metric| write_comparison(json, &areas, known[metric], metric));
        });
        // One stamp per value, in the order of the values.
        json.key("provenance").array(|json| {
            for metric in &metrics {
                areas.iter().for_each(|area| area.write_provenance(call.release, json, std::slice::from_ref(metric)));
            }
        });
    });
    let mut meta = Meta::default();
    areas[0].describe(&mut meta);
    crate::geo::notices::add_not_fetched_notice(&mut meta, areas[0].table, &metrics);
    if areas[0].area.is_some() && areas[1].area.is_none() {
        crate::geo::notices::add_not_in_survey_notice(&mut meta, areas[1].code, areas[1].table.vintage_year);
    }
    Ok(meta)
}

fn write_comparison(json: &mut Json, areas: &[Area<'_>; 2], key: &str, metric: usize) {
    let estimates = [areas[0].estimate(metric), areas[1].estimate(metric)];
    let outcome = compare_estimates(side(estimates[0]), side(estimates[1]));
    let (unit, universe) = unit_and_universe(areas[0].table, key, metric);
    json.object(|json| {
        json.key("metric").text(key);
        json.key("unit").text(unit);
        json.key("universe").optional_text(universe);
        json.key("values").array(|json| {
            for area in areas {
                json.object(|json| {
                    json.key("id").text(area.code);
                    area.write_figures(json, key, metric);
                });
            }
        });
        write_tenths(json.key("difference"), outcome.difference, trim_of(unit));
        write_rounded(json.key("difference_moe"), outcome.difference_moe.map(|tenths| tenths / 10.0), 2);
        write_rounded(json.key("z"), outcome.z, 4);
        json.key("significant_at_90").optional_flag(outcome.significant_at_90);
        json.key("margin_basis").optional_text(outcome.margin_basis);
        json.key("reason").optional_text(outcome.reason);
    });
}

fn side(estimate: Option<Estimate<'_>>) -> Side<'_> {
    match estimate {
        Some(estimate) => Side { value: estimate.value, moe: estimate.moe, moe_status: estimate.moe_status },
        None => Side { value: None, moe: None, moe_status: "not_published" },
    }
}

/// Writes a number rounded to some decimals, without trailing zeros.
fn write_rounded(json: &mut Json, value: Option<f64>, decimals: u8) {
    match value {
        Some(value) => json.decimal((value * 10f64.powi(i32::from(decimals))).round() as i64, decimals, Trim::Zeros),
        None => json.null(),
    }
}

fn missing(field: &str) -> Problem {
    Problem::of_field(Code::MissingParameter, field, format!("the body needs `{field}`"))
}

#[cfg(test)]
mod tests;
