//! Answers `GET /v1/zip/{zip}/nearby`: the ZIP codes around a ZIP code, nearest first. Distances
//! are measured between points, regardless of areas.

use schemars::JsonSchema;
use serde::Serialize;

use super::code::{ZIPS, find, published, scope};
use crate::answer::{Decimal, Float};
use crate::http::components::Data;
use crate::http::cursor;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::{Coverage, Meta, Page};
use crate::http::paging::Paging;
use pubdata_store::Scope;

use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, RELEASE, format};
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::place::distance::{distance_mi, within};
use crate::place::zips::Zips;
use crate::release::provenance::Provenance;

query! {
    pub struct Parameters<'a> {
        /// Great-circle distance between the codes' points, statute miles.
        radius_mi: f64 = Kind::Number { min: 0.1, max: 100.0 }.or("10.0"),
        /// Limits the list to codes of this kind.
        r#type: Option<&'a str> = Kind::OneOf("zip.zip", "type"),
        /// `true`: include the code itself.
        include_self: Option<bool> = Kind::Flag,
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format(""), ..RELEASE, ..AS_OF,
    }
}

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/zip/{zip}/nearby",
    operation_id: "getNearbyZips",
    summary: "ZIP codes around a ZIP code",
    access: Access::Scope(Scope::General),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<NearbyZips<'static>>(),
    cache_policy: CachePolicy::PerDay,
    handler: Handler::Memory(nearby),
};

/// A code within the radius: hundredths of a mile, as shown and sorted, and its row.
type Near = (u32, usize);

/// Answers `GET /v1/zip/{zip}/nearby`.
pub fn nearby(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (zips, query) = (published(call)?, Parameters::read(call)?);
    let center = find(call, zips, call.path_value("zip"))?.row;
    let place = zips.place(center);
    let place = place.ok_or_else(|| {
        Problem::of_field(
            Code::NotFound,
            "zip",
            format!(
                "ZIP code {} has no coordinates, so distances cannot be computed",
                zips.codes.at(center)
            ),
        )
    })?;
    let paging = Paging::new(call, query.limit, query.cursor)?;
    let limit = paging.limit;
    let has_self = query.include_self == Some(true);

    let is_selected = |row: usize| {
        (has_self || row != center)
            && query
                .r#type
                .is_none_or(|required| zips.types.at(row) == required)
    };
    let hundredths = |row: usize| {
        zips.place(row).map_or(0, |other| {
            (distance_mi(place, other) * 100.0).round() as u32
        })
    };
    let rows = within(&zips.points, place, query.radius_mi)
        .into_iter()
        .map(|near| near.row as usize)
        .filter(|row| is_selected(*row));
    let mut near: Vec<Near> = rows.map(|row| (hundredths(row), row)).collect();
    let total = near.len();
    // Rows are sorted by code.
    near.sort_unstable();
    if let Some(key) = &paging.after {
        let last = key
            .split_once(':')
            .and_then(|(hundredths, row)| Some((hundredths.parse().ok()?, row.parse().ok()?)))
            .ok_or_else(cursor::malformed_cursor)?;
        near.retain(|near| *near > last);
    }
    let has_more = near.len() > limit;
    near.truncate(limit);
    let next_cursor = near
        .last()
        .filter(|_| has_more)
        .map(|(hundredths, row)| paging.cursor(&format!("{hundredths}:{row}")));
    json.value(&NearbyZips(
        near.iter().map(|near| shown(call, zips, *near)).collect(),
    ));

    let page = Page {
        limit,
        count: near.len(),
        next_cursor,
        total,
        is_total_exact: true,
        is_cut: false,
    };
    let coverage = Some(Coverage {
        scope: scope(zips),
        ..Coverage::default()
    });
    let mut meta = Meta {
        datasets: vec![ZIPS.into()],
        page: Some(page),
        coverage,
        ..Meta::default()
    };
    meta.notice("CENTROID_DISTANCE", "Distances are straight lines between the codes' points: a code is within the radius if its point is.");
    Ok(meta)
}

#[derive(Serialize, JsonSchema)]
struct NearbyZips<'a>(Vec<NearbyZip<'a>>);

#[derive(Serialize, JsonSchema)]
struct NearbyZip<'a> {
    #[schemars(extend("$field" = "zip.zip/zip"))]
    zip: &'a str,
    #[serde(rename = "type")]
    #[schemars(extend("$field" = "zip.zip/type"))]
    kind: &'a str,
    #[schemars(extend("$field" = "zip.zip/city"))]
    city: &'a str,
    #[schemars(extend("$field" = "zip.zip/state"))]
    state: &'a str,
    #[schemars(extend("$field" = "zip.zip/lat", "nullable" = false))]
    lat: Float,
    #[schemars(extend("$field" = "zip.zip/lon", "nullable" = false))]
    lon: Float,
    /// Great-circle distance between the codes' points, statute miles, rounded to 0.01.
    #[schemars(range(min = 0))]
    distance_mi: Decimal,
    /// `centroid`: the distance is measured between the points of the two ZIP codes, not between
    /// their borders.
    #[schemars(extend("enum" = ["centroid"]))]
    basis: &'static str,
    /// Provenance of the ZIP code's record in `zip.zip`.
    provenance: Provenance<'a>,
}

fn shown<'a>(call: &'a Call<'_>, zips: &'a Zips, (hundredths, row): Near) -> NearbyZip<'a> {
    let (lat, lon) = zips.place(row).unwrap_or((f64::NAN, f64::NAN));
    NearbyZip {
        zip: zips.codes.at(row),
        kind: zips.types.at(row),
        city: zips.cities.at(row),
        state: zips.states.at(row),
        lat: Float(lat),
        lon: Float(lon),
        distance_mi: Decimal {
            units: hundredths.into(),
            scale: 2,
        },
        basis: "centroid",
        provenance: zips.provenance.for_row(&call.release.manifest, row),
    }
}
