//! Answers `GET metrics/{metric}`: one metric of all areas of a kind, in the order of its values or of the areas' codes.

use std::cmp::Reverse;

use crate::geo::area::{Area, AreaKind, asked_vintage, vintage};
use crate::geo::estimates::MetricTable;
use crate::geo::metric::unit_and_universe;
use crate::geo::notices::add_zcta_notice;
use crate::geo::state_counties::state_of;
use crate::geo::tables::Geo;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::{Coverage, Meta};
use crate::http::nearest;
use crate::http::paging::ListPaging;
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, Parameter, RELEASE, VINTAGE, format};
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
    parameters: PARAMETERS,
    body: None,
    data: "MetricAreas",
    validity: Validity::Release,
    handler: Handler::Memory(areas),
};

/// The endpoint's parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter { name: "geography_type", kind: Kind::Choice(&["zcta", "county"]), description: "Kind of area." },
    Parameter {
        name: "state",
        kind: Kind::State,
        description: "Only areas of this state, as a postal code; ranks are then those among them. A code that is no state's is refused.",
    },
    VINTAGE,
    Parameter {
        name: "sort",
        kind: Kind::Choice(&[DESCENDING, ASCENDING, "id"]),
        description: "`value_desc`: highest value first; `value_asc`: lowest first; in both, areas without a value come last; `id`: by code, with the ranks of `value_desc`.",
    },
    LIMIT,
    CURSOR,
    format("areas"),
    RELEASE,
    AS_OF,
];

const DESCENDING: &str = "value_desc";
const ASCENDING: &str = "value_asc";

/// An area of the table and its rank; none without a value.
type Ranked = (usize, Option<usize>);

/// Answers `GET metrics/{metric}`.
///
/// # Errors
/// `invalid_parameter`, when metric or state are none; `coverage_unavailable`, when the vintage or the whole dataset is missing; `invalid_cursor`.
pub fn areas(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (geo, key) = (Geo::of(call.release), call.path_value("metric"));
    let metric = geo.metric_keys.iter().position(|known| known == key).ok_or_else(|| {
        let (known, shown): (Vec<&str>, String) = (geo.metric_keys.iter().map(String::as_str).collect(), key.chars().take(64).collect());
        Problem::of_field(Code::InvalidParameter, "metric", format!("`{shown}` is no metric; {}", nearest::hint(&shown, &known)))
    })?;
    let kind = if call.query.get("geography_type") == Some("county") { AreaKind::County } else { AreaKind::Zcta };
    let table = vintage(kind.metric_tables(&geo), asked_vintage(call), kind)?;
    let state = call.query.get("state").map(state_of).transpose()?;
    let places = kind.places(&geo);
    let is_wanted = |area: &usize| state.is_none_or(|state| state_code(area_of(kind, (table, places), *area, &table.code(*area))) == Some(state));
    let found = ranked(table, metric, (0..table.areas()).filter(is_wanted), call.query.get("sort").unwrap_or(DESCENDING));
    let paging = ListPaging::of(call)?;
    let (unit, universe) = unit_and_universe(table, key, metric);
    json.object(|json| {
        json.key("metric").text(key);
        json.key("unit").text(unit);
        json.key("universe").optional_text(universe);
        json.key("geography_type").text(kind.name());
        json.key("vintage").raw(&table.vintage);
        json.key("areas").array(|json| {
            for (number, rank) in paging.slice(&found) {
                let code = table.code(*number);
                let area = area_of(kind, (table, places), *number, &code);
                json.object(|json| {
                    json.key("rank").optional_integer(rank.map(|rank| rank as i64));
                    json.key("id").text(&code);
                    json.key("name").text(area.name());
                    json.key("state_code").optional_text(state_code(area));
                    area.write_figures(json, key, metric);
                });
            }
        });
    });
    let mut meta = Meta { page: Some(paging.page_of_all(found.len())), ..Meta::default() };
    meta.datasets.extend([kind.metric_dataset().into(), kind.place_dataset().into()]);
    let scope = format!("{} areas with estimates in vintage {}", table.areas(), table.vintage_year);
    meta.coverage = Some(Coverage { geography_type: Some(kind.name()), scope, ..Coverage::default() });
    if kind == AreaKind::Zcta {
        add_zcta_notice(&mut meta);
    }
    let test = match kind {
        AreaKind::Zcta => "POST /v1/geo-demographics/locations/compare tests whether a difference is significant",
        AreaKind::County => "A difference is significant at 90 % where it is larger than the square root of the sum of the squares of the two `moe`",
    };
    let message = format!("Ranks are those of the estimates alone: two areas whose margins of error overlap may be the other way round. {test}.");
    meta.notice("RANKS_IGNORE_MARGINS", message);
    Ok(meta)
}

fn area_of<'a>(kind: AreaKind, (table, places): (&'a MetricTable, Option<&'a PlaceTable>), area: usize, code: &'a str) -> Area<'a> {
    Area { kind, code, table, area: Some(area), place: places.and_then(|places| Some((places, places.find(code)?))) }
}

/// Postal code of the state that an area is in: of a ZCTA that of its primary county.
fn state_code(area: Area<'_>) -> Option<&str> {
    let of_place = area.place.and_then(|(places, row)| places.states.get(row));
    of_place.or_else(|| if area.kind == AreaKind::County { by_fips(area.code.get(..2)?) } else { None })
}

/// Areas in the order that is asked for, those without a value last. Equal values have one rank, and as many ranks behind it are left out.
fn ranked(table: &MetricTable, metric: usize, areas: impl Iterator<Item = usize>, sort: &str) -> Vec<Ranked> {
    let value = |area: usize| table.estimate(area, metric).and_then(|estimate| estimate.value);
    let (mut valued, mut others): (Vec<(i64, usize)>, Vec<Ranked>) = (Vec::new(), Vec::new());
    for area in areas {
        match value(area) {
            Some(value) => valued.push((value, area)),
            None => others.push((area, None)),
        }
    }
    if sort == ASCENDING {
        valued.sort_unstable();
    } else {
        valued.sort_unstable_by_key(|(value, area)| (Reverse(*value), *area));
    }
    let mut ranked: Vec<Ranked> = Vec::with_capacity(valued.len() + others.len());
    let mut rank = 0;
    for (place, (value, area)) in valued.iter().enumerate() {
        if place == 0 || valued[place - 1].0 != *value {
            rank = place + 1;
        }
        ranked.push((*area, Some(rank)));
    }
    if sort == "id" {
        ranked.append(&mut others);
        ranked.sort_unstable();
    }
    ranked.append(&mut others);
    ranked
}
