//! Renders the pages of ZIP codes, counties and states: figures with margins, compared with the
//! surrounding areas and over the years.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{FutureExt, try_join};
use minijinja::Value;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::chart::{Estimate, Mark, PeriodEstimate, Place, bars, map, periods};
use super::templates::{context, segment};
use super::visit::{Visit, target};
use super::words::{amount, words};
use super::{Made, Page};
use crate::http::problem::Result;

pub const PAGES: &[Page] = &[
    Page {
        path: "/zip/{zip}",
        make: |visit| zip(visit).boxed(),
    },
    Page {
        path: "/county/{fips}",
        make: |visit| county(visit).boxed(),
    },
    Page {
        path: "/state/{state}",
        make: |visit| state(visit).boxed(),
    },
    Page {
        path: "/compare",
        make: |visit| compare(visit).boxed(),
    },
];

/// Radius in miles for schools.
const SCHOOL_RADIUS_MI: f64 = 5.0;

async fn zip(visit: &Visit<'_>) -> Result<Made> {
    let zip = segment(visit.value("zip"));
    let area = format!("/v1/geo-demographics/locations/{zip}/demographics?history=true");
    let (mut place, postal) = try_join!(
        visit.ask_optional(area.clone()),
        visit.ask_optional(format!("/v1/zip/{zip}"))
    )?;
    if place.is_null() && postal.is_null() {
        // This request returns the problem that explains why neither the ZIP code nor the ZCTA
        // exists.
        place = visit.ask(area).await?;
    }
    let county = match place["data"]["geography"]["primary_county_fips"].as_str() {
        Some(fips) => {
            visit
                .ask_optional(format!("/v1/geo-demographics/counties/{}", segment(fips)))
                .await?
        }
        None => Json::Null,
    };
    let near = format!("/v1/geo-demographics/locations/{zip}/schools?radius_mi={SCHOOL_RADIUS_MI}");
    let schools = if place.is_null() {
        Json::Null
    } else {
        visit.ask_optional(near).await?
    };
    let own = format!("ZCTA {}", visit.value("zip"));
    let metrics = metrics(
        &place["data"]["demographics"],
        &own,
        &[(
            &county["data"]["geography"]["name"],
            &county["data"]["summary"],
        )],
    );
    // The ZCTA that represents a ZIP code without its own ZCTA.
    let area = postal["data"]["zcta"]["code"].as_str();
    let mut estimates = postal["data"]["demographics"]
        .as_object()
        .into_iter()
        .flatten();
    let has_estimates = estimates.any(|(_, metric)| !metric["value"].is_null());
    let context = context! {
        area, has_estimates, zip => visit.value("zip"), place => place["data"], postal => postal["data"], county => county["data"], metrics,
        schools => schools["data"], school_map => school_map(&schools["data"]), sources => sources(&postal["data"]),
    };
    Ok(Made::Page("zip.html", context))
}

/// Returns the provenance entries of an answer, one for each dataset and source.
fn sources(answer: &Json) -> Vec<&Json> {
    let mut known = BTreeSet::new();
    let stamps = answer["provenance"].as_array().into_iter().flatten();
    stamps
        .filter(|stamp| known.insert((stamp["dataset_id"].as_str(), stamp["source_id"].as_str())))
        .collect()
}

async fn county(visit: &Visit<'_>) -> Result<Made> {
    let fips = segment(visit.value("fips"));
    let county = visit
        .ask(format!("/v1/geo-demographics/counties/{fips}"))
        .await?;
    let cursor = visit.parameter("cursor");
    let locations = target(
        &format!("/v1/geo-demographics/counties/{fips}/locations"),
        &[("limit", Some("50")), ("cursor", cursor)],
    );
    let locations = visit.ask_optional(locations).await?;
    let name = county["data"]["geography"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let metrics = metrics(&county["data"]["summary"], &name, &[]);
    Ok(Made::Page(
        "county.html",
        context! { county => county["data"], metrics, locations => locations["data"], page => locations["meta"]["page"] },
    ))
}

async fn state(visit: &Visit<'_>) -> Result<Made> {
    let state = visit.value("state").to_uppercase();
    let metric = visit.parameter("metric").unwrap_or("population");
    let query = [
        ("geography_type", Some("county")),
        ("state", Some(state.as_str())),
        ("limit", Some("100")),
        ("cursor", visit.parameter("cursor")),
    ];
    let counties = visit
        .ask_optional(target(
            &format!("/v1/geo-demographics/metrics/{}", segment(metric)),
            &query,
        ))
        .await?;
    Ok(Made::Page(
        "state.html",
        context! { state, metric, metrics => ORDER, counties => counties["data"], page => counties["meta"]["page"] },
    ))
}

async fn compare(visit: &Visit<'_>) -> Result<Made> {
    let asked: Vec<&str> = visit
        .parameter("areas")
        .map(|areas| {
            areas
                .split([',', ' '])
                .filter(|area| !area.is_empty())
                .collect()
        })
        .unwrap_or_default();
    if asked.len() != 2 {
        return Ok(Made::Page(
            "compare.html",
            context! { asked, comparison => Json::Null, metrics => Vec::<Value>::new() },
        ));
    }
    let answer = visit
        .ask_with(
            "/v1/geo-demographics/locations/compare".to_owned(),
            &json!({ "locations": asked }),
        )
        .await?;
    let rows = answer["data"]["comparisons"].as_array().into_iter().flatten().map(|comparison| {
        let (metric, unit) = (comparison["metric"].as_str().unwrap_or_default(), comparison["unit"].as_str().unwrap_or_default());
        let values = comparison["values"].as_array().into_iter().flatten().enumerate();
        let estimates: Vec<Estimate> = values
            .filter_map(|(number, value)| {
                let of_area = if number == 0 { own_estimate } else { estimate };
                of_area(&format!("ZCTA {}", value["id"].as_str()?), value)
            })
            .collect();
        let open = open_difference(&comparison["values"], unit);
        context! { metric, label => words(metric), unit, comparison, open, chart => bars(&words(metric), unit, &estimates) }
    });
    let metrics: Vec<Value> = rows.collect();
    Ok(Made::Page(
        "compare.html",
        context! { asked, comparison => answer["data"], metrics },
    ))
}

/// Difference between an estimate and a bound: first minus second.
#[derive(Debug, PartialEq, Serialize)]
struct OpenDifference {
    text: String,
    /// Minimum amount by which the second value exceeds the first, if known.
    excess_of_second: Option<String>,
}

fn open_difference(values: &Json, unit: &str) -> Option<OpenDifference> {
    let [first, second] = values.as_array()?.as_slice() else {
        return None;
    };
    // The value of each side; for a bound, also whether it is a lower bound.
    let side = |side: &Json| match side["value"].as_f64() {
        Some(value) => Some((value, None)),
        None => Some((
            side["bound"].as_f64()?,
            Some(side["bound_type"] != "at_most"),
        )),
    };
    let ((first, of_first), (second, of_second)) = (side(first)?, side(second)?);
    let is_at_least = match (of_first, of_second) {
        (Some(is_at_least), None) => is_at_least,
        // A larger second value makes the difference smaller.
        (None, Some(is_at_least)) => !is_at_least,
        _ => return None,
    };
    // Published figures have at most one decimal place.
    let difference = ((first - second) * 10.0).round() / 10.0;
    let text = format!(
        "{} {}",
        if is_at_least { "at least" } else { "at most" },
        amount(difference, unit)
    );
    Some(OpenDifference {
        text,
        excess_of_second: (!is_at_least && difference < 0.0).then(|| amount(-difference, unit)),
    })
}

/// Returns the metrics of an area with their charts, compared with the surrounding areas.
fn metrics(own: &Json, name: &str, others: &[(&Json, &Json)]) -> Vec<Value> {
    let Some(own) = own.as_object() else {
        return Vec::new();
    };
    let by_order: BTreeMap<usize, (&String, &Json)> = own
        .iter()
        .enumerate()
        .map(|(number, (key, metric))| {
            (
                ORDER
                    .iter()
                    .position(|known| known == key)
                    .unwrap_or(ORDER.len() + number),
                (key, metric),
            )
        })
        .collect();
    let rows = by_order.into_values().map(|(key, metric)| {
        let unit = metric["unit"].as_str().unwrap_or_default();
        let of_others = others.iter().filter_map(|(name, metrics)| estimate(name.as_str()?, &metrics[key.as_str()]));
        let estimates: Vec<Estimate> = own_estimate(name, metric).into_iter().chain(of_others).collect();
        // Sizes of areas are not comparable with the sizes of surrounding areas.
        let is_size = matches!(unit, "persons" | "households");
        let chart = if is_size { String::new() } else { bars(&format!("{} of {name}", words(key)), unit, &estimates) };
        context! { key, label => words(key), unit, metric, chart, history => history(key, unit, metric) }
    });
    rows.collect()
}

/// Order of metrics on a page: size, age, living conditions, wealth.
const ORDER: &[&str] = &[
    "population",
    "households",
    "median_age",
    "median_household_income",
    "poverty_rate",
    "unemployment_rate",
    "owner_occupied_share",
    "renter_occupied_share",
    "median_home_value",
    "median_gross_rent",
    "high_school_attainment",
    "bachelors_attainment",
];

fn record_page(record: &Json) -> Option<String> {
    record["record_id"]
        .as_str()
        .map(|id| format!("/records/{}", segment(id)))
}

/// Returns the estimate of the area that the page is about.
fn own_estimate(label: &str, metric: &Json) -> Option<Estimate> {
    estimate(label, metric).map(|estimate| Estimate {
        is_own: true,
        ..estimate
    })
}

/// Returns the estimate of a metric, or `None` if the metric is missing.
fn estimate(label: &str, metric: &Json) -> Option<Estimate> {
    let mark = match (
        metric["value"].as_f64(),
        metric["bound"].as_f64(),
        metric["bound_type"].as_str(),
    ) {
        _ if !metric.is_object() => return None,
        (Some(value), ..) => Mark::Value(value),
        (None, Some(bound), Some("at_most")) => Mark::AtMost(bound),
        (None, Some(bound), _) => Mark::AtLeast(bound),
        (None, None, _) => Mark::Missing(
            metric["null_reason"]
                .as_str()
                .map_or_else(|| "No estimate".to_owned(), words),
        ),
    };
    let moe = metric["moe"]
        .as_f64()
        .or_else(|| metric["moe_approximate"].as_f64());
    Some(Estimate {
        label: label.to_owned(),
        mark,
        moe,
        page: record_page(metric),
        is_own: false,
    })
}

/// Draws the estimates of all vintages; empty if only one vintage has an estimate.
fn history(key: &str, unit: &str, metric: &Json) -> String {
    let points: Vec<PeriodEstimate> = metric["history"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(period)
        .collect();
    if points.len() < 2 {
        String::new()
    } else {
        periods(
            &format!("{} in every published period", words(key)),
            unit,
            &points,
        )
    }
}

fn period(estimate_of: &Json) -> Option<PeriodEstimate> {
    let (first, last) = estimate_of["vintage"]["period"].as_str()?.split_once('-')?;
    Some(PeriodEstimate {
        first_year: first.parse().ok()?,
        last_year: last.parse().ok()?,
        estimate: own_estimate("", estimate_of)?,
    })
}

fn school_map(schools: &Json) -> String {
    let (Some(lat), Some(lon)) = (
        schools["origin"]["lat"].as_f64(),
        schools["origin"]["lon"].as_f64(),
    ) else {
        return String::new();
    };
    let place = |(place, school): (usize, &Json)| {
        let number = place + 1;
        let label = format!(
            "{number}. {}, {:.2} mi",
            school["name"].as_str()?,
            school["distance_mi"].as_f64()?
        );
        Some(Place {
            lat: school["lat"].as_f64()?,
            lon: school["lon"].as_f64()?,
            label,
            number,
            page: record_page(&school["provenance"]),
        })
    };
    let places: Vec<Place> = schools["schools"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
        .filter_map(place)
        .collect();
    if places.is_empty() {
        String::new()
    } else {
        map(
            "Open public schools around the middle of the area",
            (lat, lon),
            SCHOOL_RADIUS_MI,
            &places,
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::open_difference;

    #[test]
    fn difference_of_a_bound_and_an_estimate_is_a_bound() {
        let value = |value: f64| json!({"value": value, "bound": null, "bound_type": null});
        let bound =
            |bound: f64, kind: &str| json!({"value": null, "bound": bound, "bound_type": kind});
        let difference = |first, second| {
            open_difference(&json!([first, second]), "usd")
                .map(|open| (open.text, open.excess_of_second))
        };
        let said =
            |text: &str, excess: Option<&str>| Some((text.to_owned(), excess.map(str::to_owned)));
        let (high, low) = (
            || bound(250_000.0, "at_least"),
            || bound(2_500.0, "at_most"),
        );
        assert_eq!(
            difference(high(), value(100_000.0)),
            said("at least $150,000", None)
        );
        assert_eq!(
            difference(value(100_000.0), high()),
            said("at most -$150,000", Some("$150,000"))
        );
        assert_eq!(
            difference(low(), value(100_000.0)),
            said("at most -$97,500", Some("$97,500"))
        );
        assert_eq!(
            difference(value(100_000.0), low()),
            said("at least $97,500", None)
        );
        // The estimate from a later table may exceed the bound in this one.
        assert_eq!(
            difference(value(260_000.0), high()),
            said("at most $10,000", None)
        );
        assert_eq!(difference(high(), high()), None);
        assert_eq!(
            difference(high(), json!({"value": null, "bound": null})),
            None
        );
        assert_eq!(difference(value(1.0), value(2.0)), None);
    }
}
