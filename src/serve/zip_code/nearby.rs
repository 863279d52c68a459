//! Answers `GET /v1/zip/{zip}/nearby`: the codes around one, nearest first. Distances are between points, whatever area is around them.

use super::code::{ZIPS, find, published, scope};
use crate::http::components::Data;
use crate::http::cursor;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::{Coverage, Meta, Page};
use crate::http::paging::Paging;
use pubdata_store::Scope;

use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, Parameter, RELEASE, format};
use crate::http::problem::{Code, Problem, Result};
use crate::json::{Json, Trim};
use crate::place::distance::{distance_mi, within};
use crate::place::zips::Zips;

const DEFAULT_RADIUS_MI: f64 = 10.0;

/// The endpoint's parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "radius_mi",
        kind: Kind::Number { min: 0.1, max: 100.0, default: Some(DEFAULT_RADIUS_MI) },
        description: "Great-circle distance between the codes' points, statute miles.",
    },
    Parameter { name: "type", kind: Kind::OneOf("zip.zip", "type"), description: "Only codes of this kind." },
    Parameter { name: "include_self", kind: Kind::Flag, description: "`true`: the code itself is among the answers." },
    LIMIT,
    CURSOR,
    format(""),
    RELEASE,
    AS_OF,
];

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/zip/{zip}/nearby",
    operation_id: "getNearbyZips",
    summary: "ZIP codes around a ZIP code",
    access: Access::Scope(Scope::General),
    parameters: PARAMETERS,
    body: None,
    data: Data::Written("NearbyZips"),
    validity: Validity::Day,
    handler: Handler::Memory(nearby),
};

/// A code within the radius: hundredths of a mile, as shown and sorted by, and its row.
type Near = (u32, usize);

/// Answers `GET /v1/zip/{zip}/nearby`.
///
/// # Errors
/// `invalid_parameter`, when the code is malformed; `not_found`, when there is no such code or it has no coordinates; `invalid_cursor`;
/// `coverage_unavailable`, when the release has no ZIP codes.
pub fn nearby(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (zips, query) = (published(call)?, call.query);
    let center = find(call, zips, call.path_value("zip"))?.row;
    let place = zips.place(center);
    let place = place
        .ok_or_else(|| Problem::of_field(Code::NotFound, "zip", format!("ZIP code {} has no coordinates, so nothing can be near it", zips.codes.at(center))))?;
    let radius_mi: f64 = query.parsed("radius_mi").unwrap_or(DEFAULT_RADIUS_MI);
    let paging = Paging::of(call)?;
    let limit = paging.limit;
    let has_self = query.get("include_self") == Some("true");

    let is_wanted = |row: usize| (has_self || row != center) && query.get("type").is_none_or(|wanted| zips.types.at(row) == wanted);
    let shown = |row: usize| zips.place(row).map_or(0, |other| (distance_mi(place, other) * 100.0).round() as u32);
    let rows = within(&zips.points, place, radius_mi).into_iter().map(|near| near.row as usize).filter(|row| is_wanted(*row));
    let mut near: Vec<Near> = rows.map(|row| (shown(row), row)).collect();
    let total = near.len();
    // Rows are in the order of their codes.
    near.sort_unstable();
    if let Some(key) = &paging.after {
        let last = key.split_once(':').and_then(|(hundredths, row)| Some((hundredths.parse().ok()?, row.parse().ok()?))).ok_or_else(cursor::not_a_cursor)?;
        near.retain(|near| *near > last);
    }
    let has_more = near.len() > limit;
    near.truncate(limit);
    let next_cursor = near.last().filter(|_| has_more).map(|(hundredths, row)| paging.cursor(&format!("{hundredths}:{row}")));
    json.array(|json| near.iter().for_each(|near| write_near(json, call, zips, *near)));

    let page = Page { limit, count: near.len(), next_cursor, total, is_total_exact: true, is_cut: false };
    let coverage = Some(Coverage { scope: scope(zips), ..Coverage::default() });
    let mut meta = Meta { datasets: vec![ZIPS.into()], page: Some(page), coverage, ..Meta::default() };
    meta.notice("CENTROID_DISTANCE", "Distances are straight lines between the codes' points: a code whose point is within the radius counts.");
    Ok(meta)
}

fn write_near(json: &mut Json, call: &Call<'_>, zips: &Zips, (hundredths, row): Near) {
    let (lat, lon) = zips.place(row).unwrap_or((f64::NAN, f64::NAN));
    json.object(|json| {
        json.key("zip").text(zips.codes.at(row));
        json.key("type").text(zips.types.at(row));
        json.key("city").text(zips.cities.at(row));
        json.key("state").text(zips.states.at(row));
        json.key("lat").float(lat);
        json.key("lon").float(lon);
        json.key("distance_mi").decimal(i64::from(hundredths), 2, Trim::Zeros);
        json.key("basis").text("centroid");
        zips.provenance.write(json.key("provenance"), &call.release.manifest, row);
    });
}
