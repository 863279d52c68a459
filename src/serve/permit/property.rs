//! Answers `GET /v1/properties/{address}` and `GET /v1/properties?address=`: the permits for one
//! property, by its address or id.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Float;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::paging::ListPaging;
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, RELEASE, format};
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::permit::datasets::CONTACTS;
use crate::permit::datasets::LINKS;
use crate::permit::datasets::PERMITS;
use crate::permit::datasets::Permit;
use crate::permit::links::parties;
use crate::permit::place::{Candidate, candidates, check_covered, is_at, read_address};
use crate::permit::record;
use crate::permit::search::published;
use crate::permit::summary::{PermitSummary, newest_first};
use crate::permit::table::Permits;
use crate::release::rows::Record;
use pubdata_core::canonical::address::Address;
use pubdata_core::canonical::line::parse_line;
use pubdata_store::Scope;

query! {
    pub struct Parameters<'a> {
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format("permits"), ..RELEASE, ..AS_OF,
    }
}

pub const BY_ADDRESS: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/properties/{address}",
    operation_id: "getProperty",
    summary: "A property and its permits",
    access: Access::Scope(Scope::General),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Property<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| by_path(call, json).boxed()),
};

pub const BY_QUERY: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/properties",
    operation_id: "findProperty",
    summary: "A property and its permits, the address as a parameter",
    access: Access::Scope(Scope::General),
    parameters: AddressParameters::DECLARED,
    body: None,
    data: Data::for_type::<Property<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| by_query(call, json).boxed()),
};

query! {
    pub struct AddressParameters<'a> {
        /// Street address on one line, with ZIP code or city and state; or a property id. Other
        /// values are rejected. Use it for addresses with `/` or `#`, which paths cannot contain.
        address: &'a str = Kind::Text { min: 3, max: 200 }.required("`address` is needed"),
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format("permits"), ..RELEASE, ..AS_OF,
    }
}

async fn by_path(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let Parameters { limit, cursor } = Parameters::read(call)?;
    answer(call, json, call.path_value("address"), (limit, cursor)).await
}

async fn by_query(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let AddressParameters {
        address,
        limit,
        cursor,
    } = AddressParameters::read(call)?;
    answer(call, json, address, (limit, cursor)).await
}

#[derive(Serialize, JsonSchema)]
struct Property<'a> {
    #[schemars(extend("$field" = "permit.permit/property_id"))]
    property_id: Option<&'a str>,
    /// Address of the property; null if the property is known only by its parcel.
    address: Option<PropertyAddress<'a>>,
    /// How the property matches the request.
    #[serde(rename = "match")]
    found: PropertyMatch,
    /// Parcel numbers that the property's permits state.
    parcels: Vec<PropertyParcel<'a>>,
    #[schemars(extend("$field" = "permit.permit/lat"))]
    lat: Option<Float>,
    #[schemars(extend("$field" = "permit.permit/lon"))]
    lon: Option<Float>,
    /// Totals over all permits for the property.
    permit_summary: PermitSummary<'a>,
    /// Permits for the property, newest first.
    permits: Vec<record::Permit<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct PropertyAddress<'a> {
    /// Street line: house number and street.
    line1: String,
    /// House number; null if there is none.
    number: Option<&'a str>,
    /// Direction before the street name, such as `N`; null if there is none.
    predirectional: Option<&'a str>,
    /// Street name without directions and suffix; null if there is none.
    street: Option<&'a str>,
    /// Street suffix, such as `AVE`; null if there is none.
    suffix: Option<&'a str>,
    /// Direction after the street name; null if there is none.
    postdirectional: Option<&'a str>,
    /// City as stated in the permits; null if the permits state none.
    city: Option<&'a str>,
    /// Two-letter postal code of the state; null if the permits have none.
    state: Option<&'a str>,
    /// Five-digit ZIP code; null if the permits have none.
    zip: Option<&'a str>,
    /// Address in the format of Publication 28; not checked against delivery points.
    normalized: String,
}

#[derive(Serialize, JsonSchema)]
struct PropertyMatch {
    /// `street_and_zip`: only the number, street name and place match the request, and only one
    /// address here has them. `unit_ignored`: no permit names the unit.
    #[schemars(extend("enum" = ["exact", "street_and_zip", "unit_ignored"]))]
    quality: &'static str,
    /// Always empty: if several properties match, the answer is a problem that names them.
    candidates: Vec<&'static str>,
}

#[derive(Serialize, JsonSchema)]
struct PropertyParcel<'a> {
    /// Kind of parcel number, such as `pin`, `bbl` or `bin`.
    scheme: &'a str,
    /// Number of the parcel in that scheme, as the jurisdiction publishes it.
    value: &'a str,
}

/// A property found by the request.
struct Found {
    rows: Vec<u32>,
    quality: &'static str,
}

async fn answer(
    call: &Call<'_>,
    json: &mut Json,
    text: &str,
    (limit, cursor): (usize, Option<&str>),
) -> Result<Meta> {
    let permits = published(call)?;
    let paging = ListPaging::new(call, limit, cursor)?;
    let found = match permits.of_property(text) {
        [] => by_address(call, permits, text).await?,
        rows => Found {
            rows: rows.to_vec(),
            quality: "exact",
        },
    };
    let mut rows = found.rows;
    newest_first(permits, &mut rows);
    let all = permits.rows.fetch(call.reader(), &rows).await?;
    let Some(first) = all
        .iter()
        .find(|permit| permit.text("address_normalized").is_some())
        .or(all.first())
    else {
        return Err(Problem::internal(&"a row was not read"));
    };
    let page = permits
        .rows
        .fetch(call.reader(), paging.slice(&rows))
        .await?;
    let parties = parties(call, permits, &page).await?;
    let mut meta = Meta::for_datasets(
        &[PERMITS, CONTACTS, LINKS],
        format!(
            "{} permits of {} jurisdictions",
            permits.rows.len(),
            permits.lists.len()
        ),
    );
    let point = all
        .iter()
        .find(|permit| permit.float("lat").is_some())
        .unwrap_or(first);
    let parcels: BTreeSet<(&str, &str)> = all
        .iter()
        .filter_map(|permit| Some((permit.text("parcel_scheme")?, permit.text("parcel")?)))
        .collect();
    json.value(&Property {
        property_id: first.text("property_id"),
        address: address_of(first),
        found: PropertyMatch {
            quality: found.quality,
            candidates: Vec::new(),
        },
        parcels: parcels
            .into_iter()
            .map(|(scheme, value)| PropertyParcel { scheme, value })
            .collect(),
        lat: point.float("lat").map(Float),
        lon: point.float("lon").map(Float),
        permit_summary: PermitSummary::new(&mut meta, permits, &rows),
        permits: page
            .iter()
            .zip(&parties)
            .map(|(permit, parties)| record::Permit::new(call, permit, parties))
            .collect(),
    });
    match found.quality {
        "unit_ignored" => meta.notice("UNIT_IGNORED", "No permit names the requested unit: these are all permits of the building."),
        "street_and_zip" => meta.notice(
            "ADDRESS_COMPLETED",
            "The suffix or directional of the requested address is missing or differs; only one address here has its number, street and place.",
        ),
        _ => {}
    }
    meta.page = Some(paging.page_of_all(rows.len()));
    Ok(meta)
}

/// Finds the property of an address.
///
/// # Errors
/// `invalid_parameter` if the address cannot be read; `coverage_unavailable` if no permit covers
/// the place; `not_found` if no permit is for the address; `ambiguous_identifier` if several
/// properties match.
async fn by_address(call: &Call<'_>, permits: &Permits, text: &str) -> Result<Found> {
    if permits.lists.keys().any(|jurisdiction| {
        text.to_ascii_lowercase()
            .starts_with(&format!("{jurisdiction}:"))
    }) {
        return Err(Problem::of_field(
            Code::NotFound,
            "address",
            format!("no property has the id `{text}`"),
        ));
    }
    let address = read_address(text, "address")?;
    check_covered(call, permits, &address, "address")?;
    let candidates = candidates(call, permits, &address).await?;
    let exact: Vec<&Candidate<'_>> = candidates
        .iter()
        .filter(|candidate| is_at(&candidate.permit, &address))
        .collect();
    let (chosen, quality) = match exact.is_empty() {
        true => (candidates.iter().collect(), "street_and_zip"),
        false => (exact, "exact"),
    };
    let properties: BTreeMap<&str, &str> = chosen
        .iter()
        .filter_map(|candidate| {
            Some((
                candidate.permit.text("property_id")?,
                candidate
                    .permit
                    .text("address_normalized")
                    .unwrap_or_default(),
            ))
        })
        .collect();
    if properties.len() > 1 {
        let ids: Vec<String> = properties.keys().map(|id| (*id).to_owned()).collect();
        let listed: Vec<String> = properties
            .iter()
            .map(|(id, address)| format!("{id} ({address})"))
            .collect();
        let message = format!(
            "`{text}` is the address of {} properties: {}",
            ids.len(),
            listed.join("; ")
        );
        return Err(Problem {
            candidates: ids,
            ..Problem::of_field(Code::AmbiguousIdentifier, "address", message)
        });
    }
    if chosen.is_empty() {
        return Err(Problem::of_field(
            Code::NotFound,
            "address",
            format!(
                "no permit of this release is for `{}`; properties without permits are not known",
                address.normalized()
            ),
        ));
    }
    Ok(of_unit(&chosen, &address, quality))
}

/// Selects the permits for the requested unit, or all permits for the building if none names the
/// unit.
fn of_unit(chosen: &[&Candidate<'_>], address: &Address, quality: &'static str) -> Found {
    let all = || chosen.iter().map(|candidate| candidate.row).collect();
    if address.unit.is_empty() {
        return Found {
            rows: all(),
            quality,
        };
    }
    let is_unit = |candidate: &&&Candidate<'_>| {
        unit_of(&candidate.permit).is_some_and(|unit| unit.eq_ignore_ascii_case(&address.unit))
    };
    let rows: Vec<u32> = chosen
        .iter()
        .filter(is_unit)
        .map(|candidate| candidate.row)
        .collect();
    if rows.is_empty() {
        Found {
            rows: all(),
            quality: "unit_ignored",
        }
    } else {
        Found { rows, quality }
    }
}

/// Returns the unit of a permit from its normalised address.
fn unit_of(permit: &Record<'_, Permit>) -> Option<String> {
    Some(parse_line(permit.text("address_normalized")?).unit).filter(|unit| !unit.is_empty())
}

/// Returns the address of the property without a unit, because units belong to single permits.
fn address_of<'a>(permit: &'a Record<'_, Permit>) -> Option<PropertyAddress<'a>> {
    let mut key = permit.text("address_key")?.split('|');
    let parts: [Option<&str>; 5] =
        std::array::from_fn(|_| key.next().filter(|part| !part.is_empty()));
    let [number, predirectional, street, suffix, postdirectional] = parts;
    let (city, state, zip) = (
        permit.text("city"),
        permit.text("address_state"),
        permit.text("zip"),
    );
    let joined = |parts: &[Option<&str>], joint: &str| {
        parts
            .iter()
            .flatten()
            .copied()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(joint)
    };
    let (line1, place) = (joined(&parts, " "), joined(&[state, zip], " "));
    let normalized = joined(&[Some(&line1), city, Some(&place)], ", ");
    Some(PropertyAddress {
        line1,
        number,
        predirectional,
        street,
        suffix,
        postdirectional,
        city,
        state,
        zip,
        normalized,
    })
}
