//! Answers `GET /v1/zip/{zip}/nearby`: the codes around one, nearest first. Distances are between points, whatever area is around them.

use super::{ZIPS, find, published, scope};
use crate::serve::call::{Call, Coverage, Meta, Page};
use crate::serve::cursor;
use crate::serve::general::DEFAULT_LIMIT;
use crate::serve::geo::distance::{distance_mi, within};
use crate::serve::index::Zips;
use crate::serve::json::{Json, Trim};
use crate::serve::parameters::{AS_OF, CURSOR, Kind, LIMIT, Parameter, RELEASE};
use crate::serve::problem::{Code, Problem, Result};

const DEFAULT_RADIUS: f64 = 10.0;
const KM_IN_MI: f64 = 1.609_344;

/// The endpoint's parameters.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "radius",
        kind: Kind::Number { min: 0.1, max: 100.0, default: Some(DEFAULT_RADIUS) },
        description: "Great-circle distance between the codes' points, in `unit`.",
    },
    Parameter { name: "unit", kind: Kind::Word(&["mi", "km"]), description: "Statute miles (when absent) or kilometres." },
    Parameter { name: "type", kind: Kind::OneOf("zip.zip", "type"), description: "Only codes of this kind." },
    Parameter { name: "include_self", kind: Kind::Flag, description: "`true`: the code itself is among the answers." },
    LIMIT,
    CURSOR,
    RELEASE,
    AS_OF,
];

/// A code within the radius: hundredths of the unit, as shown and sorted by, and its row.
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
    let unit = query.get("unit").unwrap_or("mi");
    let miles = if unit == "km" { KM_IN_MI } else { 1.0 };
    let radius: f64 = query.parsed("radius").unwrap_or(DEFAULT_RADIUS);
    let limit = query.parsed("limit").unwrap_or(DEFAULT_LIMIT);
    let has_self = query.get("include_self") == Some("true");

    let is_wanted = |row: usize| (has_self || row != center) && query.get("type").is_none_or(|wanted| zips.types.at(row) == wanted);
    let shown = |row: usize| zips.place(row).map_or(0, |other| (distance_mi(place, other) * miles * 100.0).round() as u32);
    let rows = within(&zips.points, place, radius / miles).into_iter().map(|near| near.row as usize).filter(|row| is_wanted(*row));
    let mut near: Vec<Near> = rows.map(|row| (shown(row), row)).collect();
    let total = near.len();
    // Rows are in the order of their codes.
    near.sort_unstable();
    let filters = cursor::mark(call.path, query);
    let release_id = &call.release.manifest.release_id;
    if let Some(text) = query.get("cursor") {
        let key = cursor::sort_key(text, release_id, &filters)?;
        let last = key.split_once(':').and_then(|(hundredths, row)| Some((hundredths.parse().ok()?, row.parse().ok()?))).ok_or_else(cursor::not_one)?;
        near.retain(|near| *near > last);
    }
    let has_more = near.len() > limit;
    near.truncate(limit);
    let next_cursor = near.last().filter(|_| has_more).map(|(hundredths, row)| cursor::write(release_id, &filters, &format!("{hundredths}:{row}")));
    json.array(|json| near.iter().for_each(|near| write_near(json, call, zips, *near, unit)));

    let page = Page { limit, count: near.len(), next_cursor, total, is_total_exact: true };
    let coverage = Some(Coverage { scope: scope(zips), ..Coverage::default() });
    let mut meta = Meta { datasets: vec![ZIPS.to_owned()], page: Some(page), coverage, ..Meta::default() };
    meta.notice(
        "CENTROID_DISTANCE",
        "Distances are straight lines between the codes' points: a code whose point is within the radius counts, whatever else of it is.",
    );
    Ok(meta)
}

fn write_near(json: &mut Json, call: &Call<'_>, zips: &Zips, (hundredths, row): Near, unit: &str) {
    let (lat, lon) = zips.place(row).unwrap_or((f64::NAN, f64::NAN));
    json.object(|json| {
        json.key("zip").text(zips.codes.at(row));
        json.key("type").text(zips.types.at(row));
        json.key("city").text(zips.cities.at(row));
        json.key("state").text(zips.states.at(row));
        json.key("lat").float(lat);
        json.key("lon").float(lon);
        json.key("distance").decimal(i64::from(hundredths), 2, Trim::Zeros);
        json.key("unit").text(unit);
        json.key("basis").text("centroid");
        zips.stamps.write(json.key("provenance"), &call.release.manifest, row);
    });
}
