//! Answers `GET metrics/{metric}`: one metric for all areas of a kind, ordered by value or by area
//! code.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::geo::area::{Area, AreaKind, vintage};
use crate::geo::estimates::{Estimate, MetricTable};
use crate::geo::figures::{AreaFigures, Vintage};
use crate::geo::metric::unit_and_universe;
use crate::geo::notices::{add_not_fetched_notice, add_zcta_notice};
use crate::geo::source_table::{INCLUDE, RecordReferences, SourceTable};
use crate::geo::state_counties::state_of;
use crate::geo::tables::Geo;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::{Coverage, Meta};
use crate::http::nearest;
use crate::http::paging::ListPaging;
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, RELEASE, TextForm, VINTAGE, format};
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::place::areas::PlaceTable;
use pubdata_core::canonical::state::by_fips;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/metrics/{metric}",
    operation_id: "listMetricAreas",
    summary: "One metric of all areas",
    access: Access::Scope(Scope::Geo),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<MetricAreas<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Memory(areas),
};

query! {
    pub struct Parameters<'a> {
        /// Kind of area.
        geography_type: &'a str = Kind::Word(&["zcta", "county"]).or("zcta"),
        /// Limits the list to these areas, as at most 100 comma-separated codes of the kind in
        /// `geography_type`. Ranks are then relative to these areas. Areas that the survey does not
        /// cover come last.
        areas: Vec<&'a str> = Kind::Form(TextForm { pattern: "^[0-9]{5}$", description: "the code of an area, five digits" }).items(1, 100),
        /// Limits the list to areas in this state, given by postal code or name. Ranks are then
        /// relative to these areas. Other values are rejected.
        state: Option<&'a str> = Kind::State,
        vintage: Option<i64> = VINTAGE,
        /// `value_desc`: highest value first; `value_asc`: lowest first; `id`: by code, with the
        /// ranks of `value_desc`. An open-ended median is ranked by its bound, above an equal value
        /// if `at_least` and below it if `at_most`. When areas are ordered by value, areas with
        /// neither value nor bound come last.
        sort: &'a str = Kind::Word(&[DESCENDING, ASCENDING, "id"]).or(DESCENDING),
        include: Option<&'a str> = INCLUDE, limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format("areas"), ..RELEASE, ..AS_OF,
    }
}

#[derive(Serialize, JsonSchema)]
struct MetricAreas<'a> {
    #[schemars(extend("$field" = "geo.zcta_metric/metric"))]
    metric: &'a str,
    #[schemars(extend("$field" = "geo.zcta_metric/unit"))]
    unit: &'a str,
    #[schemars(extend("$field" = "geo.zcta_metric/universe", "nullable" = true))]
    universe: Option<&'a str>,
    /// Kind of the areas in the list: `zcta` or `county`.
    #[schemars(extend("enum" = ["zcta", "county"]))]
    geography_type: &'static str,
    /// Survey vintage of the figures.
    vintage: &'a Vintage,
    /// Areas with their figures, in the requested order.
    areas: Vec<RankedArea<'a>>,
    /// Sources of the rows; present only with `include=provenance`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SourceTable<'a>")]
    provenance: Option<SourceTable<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MetricAreasArea")]
struct RankedArea<'a> {
    /// Equal values share a rank. An open-ended median is ranked by its bound, above an equal value
    /// if `at_least` and below it if `at_most`; medians with equal bounds share a rank. Null for an
    /// area with neither value nor bound, which comes last if areas are sorted by value.
    #[schemars(extend("minimum" = 1))]
    rank: Option<i64>,
    /// Five digits: the ZCTA code, or the FIPS code of the county.
    #[schemars(extend("pattern" = "^[0-9]{5}$"))]
    id: &'a str,
    /// Display name of the area.
    name: &'a str,
    /// State of the county, or of the ZCTA's primary county, as a postal code; null if it is not
    /// known.
    #[schemars(extend("pattern" = "^[A-Z]{2}$"))]
    state_code: Option<&'a str>,
    #[serde(flatten)]
    figures: AreaFigures<'a>,
    /// Records of the area and its figure; present only with `include=provenance`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RecordReferences<'a>")]
    provenance: Option<RecordReferences<'a>>,
}

const DESCENDING: &str = "value_desc";
const ASCENDING: &str = "value_asc";

/// An area of the table and its rank; the rank is `None` if the area has neither value nor bound.
type Ranked = (usize, Option<usize>);

/// Sort key of areas: a value or a bound, then -1 for an upper bound, 0 for a value, 1 for a lower
/// bound.
type RankKey = (i64, i8);

/// Answers `GET metrics/{metric}`.
pub fn areas(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let query = Parameters::read(call)?;
    let (geo, key) = (Geo::from_release(call.release), call.path_value("metric"));
    let metric = geo
        .metric_keys
        .iter()
        .position(|known| known == key)
        .ok_or_else(|| {
            let (known, shown): (Vec<&str>, String) = (
                geo.metric_keys.iter().map(String::as_str).collect(),
                key.chars().take(64).collect(),
            );
            Problem::of_field(
                Code::InvalidParameter,
                "metric",
                format!(
                    "`{shown}` is not a metric; {}",
                    nearest::hint(&shown, &known)
                ),
            )
        })?;
    let kind = if query.geography_type == "county" {
        AreaKind::County
    } else {
        AreaKind::Zcta
    };
    let table = vintage(kind.metric_tables(&geo), query.vintage, kind)?;
    let state = query.state.map(state_of).transpose()?;
    let places = kind.places(&geo);
    let is_in_state = |area: Area<'_>| state.is_none_or(|state| state_code(area) == Some(state));
    let sort = query.sort;
    let mut named = (!query.areas.is_empty())
        .then(|| named(&geo, kind, table, query.areas))
        .transpose()?;
    named
        .iter_mut()
        .for_each(|named| named.retain(|area| is_in_state(*area)));
    let (mut found, has_bounds) = match &named {
        Some(named) => ranked(
            table,
            metric,
            named.iter().filter_map(|area| area.area),
            sort,
        ),
        None if state.is_none() => ranked(table, metric, 0..table.areas(), sort),
        None => ranked(
            table,
            metric,
            (0..table.areas()).filter(|area| {
                is_in_state(area_of(kind, (table, places), *area, &table.code(*area)))
            }),
            sort,
        ),
    };
    // Areas that the survey does not cover are numbered after those of the table.
    let outside: Vec<Area<'_>> = named
        .into_iter()
        .flatten()
        .filter(|area| area.area.is_none())
        .collect();
    found.extend((0..outside.len()).map(|position| (table.areas() + position, None)));
    let paging = ListPaging::new(call, query.limit, query.cursor)?;
    let mut sources = query.include.map(|_| SourceTable::default());
    let (unit, universe) = unit_and_universe(table, key, metric);
    let page = paging.slice(&found);
    let codes: Vec<Option<String>> = page
        .iter()
        .map(|(number, _)| (*number < table.areas()).then(|| table.code(*number)))
        .collect();
    let areas = page.iter().zip(&codes).map(|((number, rank), code)| {
        let area = code.as_deref().map_or_else(
            || outside[number - table.areas()],
            |code| area_of(kind, (table, places), *number, code),
        );
        RankedArea {
            rank: rank.map(|rank| rank as i64),
            id: area.code,
            name: area.name(),
            state_code: state_code(area),
            figures: area.figures(key, metric),
            provenance: sources
                .as_mut()
                .map(|sources| sources.area(&geo, &area, &[metric])),
        }
    });
    let areas = areas.collect();
    json.value(&MetricAreas {
        metric: key,
        unit,
        universe,
        geography_type: kind.name(),
        vintage: &table.vintage,
        areas,
        provenance: sources,
    });
    let mut meta = Meta {
        page: Some(paging.page_of_all(found.len())),
        ..Meta::default()
    };
    meta.datasets
        .extend([kind.metric_dataset().into(), kind.place_dataset().into()]);
    let scope = format!(
        "{} areas with estimates in vintage {}",
        table.areas(),
        table.vintage_year
    );
    meta.coverage = Some(Coverage {
        geography_type: Some(kind.name()),
        scope,
        ..Coverage::default()
    });
    if kind == AreaKind::Zcta {
        add_zcta_notice(&mut meta);
    }
    let test = match kind {
        AreaKind::Zcta => {
            "POST /v1/geo-demographics/locations/compare tests whether a difference is significant"
        }
        AreaKind::County => {
            "A difference is significant at 90 % if it is larger than the square root of the sum of the squares of the two `moe`"
        }
    };
    let message = format!(
        "Ranks use the estimates alone: two areas whose margins of error overlap may be in the opposite order. {test}."
    );
    meta.notice("RANKS_IGNORE_MARGINS", message);
    if has_bounds {
        meta.notice(
            "OPEN_ENDED_RANKS",
            "Open-ended medians are ranked by `bound`, above an equal value if `at_least` and below it if `at_most`. Areas with equal bounds share a rank, although their medians may differ.",
        );
    }
    add_not_fetched_notice(&mut meta, table, &[metric]);
    Ok(meta)
}

/// Returns the areas for a list of codes, sorted by code and without duplicates.
fn named<'a>(
    geo: &Geo<'a>,
    kind: AreaKind,
    table: &MetricTable,
    codes: Vec<&'a str>,
) -> Result<Vec<Area<'a>>> {
    let codes: BTreeSet<&str> = codes.into_iter().collect();
    codes
        .into_iter()
        .map(|code| {
            Area::find(
                geo,
                kind,
                code,
                Some(i64::from(table.vintage_year)),
                "areas",
            )
        })
        .collect()
}

fn area_of<'a>(
    kind: AreaKind,
    (table, places): (&'a MetricTable, Option<&'a PlaceTable>),
    area: usize,
    code: &'a str,
) -> Area<'a> {
    Area {
        kind,
        code,
        table,
        area: Some(area),
        place: places.and_then(|places| Some((places, places.find(code)?))),
    }
}

/// Returns the postal code of an area's state; for a ZCTA, the state of the primary county.
fn state_code(area: Area<'_>) -> Option<&str> {
    let of_place = area.place.and_then(|(places, row)| places.states.get(row));
    of_place.or_else(|| {
        if area.kind == AreaKind::County {
            by_fips(area.code.get(..2)?)
        } else {
            None
        }
    })
}

fn rank_key(estimate: &Estimate<'_>) -> Option<RankKey> {
    let figures = &estimate.figures;
    let of_bound = |bound| {
        (
            bound,
            if figures.bound_type == Some("at_least") {
                1
            } else {
                -1
            },
        )
    };
    figures
        .value
        .map(|value| (value, 0))
        .or_else(|| figures.bound.map(of_bound))
}

/// Returns the areas in the requested order, and whether any area has a bound. Areas with neither
/// value nor bound come last. Areas with equal keys share a rank, and the ranks that they would
/// otherwise occupy are skipped.
fn ranked(
    table: &MetricTable,
    metric: usize,
    areas: impl Iterator<Item = usize>,
    sort: &str,
) -> (Vec<Ranked>, bool) {
    let (mut valued, mut others): (Vec<(RankKey, usize)>, Vec<Ranked>) = (Vec::new(), Vec::new());
    for area in areas {
        match table.estimate(area, metric).as_ref().and_then(rank_key) {
            Some(key) => valued.push((key, area)),
            None => others.push((area, None)),
        }
    }
    let has_bounds = valued.iter().any(|((_, side), _)| *side != 0);
    if sort == ASCENDING {
        valued.sort_unstable();
    } else {
        valued.sort_unstable_by_key(|(key, area)| (Reverse(*key), *area));
    }
    let mut ranked: Vec<Ranked> = Vec::with_capacity(valued.len() + others.len());
    let mut rank = 0;
    for (place, (key, area)) in valued.iter().enumerate() {
        if place == 0 || valued[place - 1].0 != *key {
            rank = place + 1;
        }
        ranked.push((*area, Some(rank)));
    }
    if sort == "id" {
        ranked.append(&mut others);
        ranked.sort_unstable();
    }
    ranked.append(&mut others);
    (ranked, has_bounds)
}
