//! Answers `GET /v1/properties/{address}` and `GET /v1/properties?address=`: the permits of one property, by its address or id.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt;

use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::paging::ListPaging;
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, Parameter, RELEASE, format};
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::permit::datasets::CONTACTS;
use crate::permit::datasets::LINKS;
use crate::permit::datasets::PERMITS;
use crate::permit::datasets::Permit;
use crate::permit::links::parties;
use crate::permit::place::{Candidate, candidates, check_covered, is_at, read_address};
use crate::permit::search::published;
use crate::permit::table::Permits;
use crate::permit::{record as permit_record, summary};
use crate::release::rows::Record;
use pubdata_core::canonical::address::Address;
use pubdata_core::canonical::line::parse_line;
use pubdata_store::Scope;

/// The parameters with the address in the path.
const PARAMETERS: &[Parameter] = &[LIMIT, CURSOR, format("permits"), RELEASE, AS_OF];

pub const BY_ADDRESS: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/properties/{address}",
    operation_id: "getProperty",
    summary: "A property and its permits",
    access: Access::Scope(Scope::General),
    parameters: PARAMETERS,
    body: None,
    data: Data::Written("Property"),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| answer(call, json, call.path_value("address")).boxed()),
};

pub const BY_QUERY: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/properties",
    operation_id: "findProperty",
    summary: "A property and its permits, the address as a parameter",
    access: Access::Scope(Scope::General),
    parameters: QUERY_PARAMETERS,
    body: None,
    data: Data::Written("Property"),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| answer_query(call, json).boxed()),
};
/// The parameters with the address among them.
const QUERY_PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "address",
        kind: Kind::Text { min: 3, max: 200 },
        description: "Street address on one line, with ZIP code or city and state; or a property id. Another text is refused. For addresses with `/` or `#`, which paths do not take.",
    },
    LIMIT,
    CURSOR,
    format("permits"),
    RELEASE,
    AS_OF,
];

async fn answer_query(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let address = call.query.get("address").ok_or_else(|| Problem::of_field(Code::MissingParameter, "address", "`address` is needed"))?;
    answer(call, json, address).await
}

/// A property that was found.
struct Found {
    rows: Vec<u32>,
    quality: &'static str,
}

async fn answer(call: &Call<'_>, json: &mut Json, text: &str) -> Result<Meta> {
    let permits = published(call)?;
    let paging = ListPaging::of(call)?;
    let found = match permits.of_property(text) {
        [] => by_address(call, permits, text).await?,
        rows => Found { rows: rows.to_vec(), quality: "exact" },
    };
    let mut rows = found.rows;
    summary::newest_first(permits, &mut rows);
    let all = permits.rows.fetch(call.reader(), &rows).await?;
    let Some(first) = all.iter().find(|permit| permit.text("address_normalized").is_some()).or(all.first()) else {
        return Err(Problem::internal(&"a row was not read"));
    };
    let page = permits.rows.fetch(call.reader(), paging.slice(&rows)).await?;
    let parties = parties(call, permits, &page).await?;
    let mut meta = Meta::of(&[PERMITS, CONTACTS, LINKS], format!("{} permits of {} jurisdictions", permits.rows.len(), permits.lists.len()));
    json.object(|json| {
        first.member(json, "property_id");
        write_address(json, first);
        json.key("match").object(|json| {
            json.key("quality").text(found.quality);
            json.key("candidates").array(|_| {});
        });
        write_parcels(json, &all);
        let point = all.iter().find(|permit| permit.float("lat").is_some()).unwrap_or(first);
        point.members(json, &["lat", "lon"]);
        summary::write(json, &mut meta, permits, &rows);
        json.key("permits").array(|json| page.iter().zip(&parties).for_each(|(permit, parties)| permit_record::write(json, call, permit, Some(parties))));
    });
    match found.quality {
        "unit_ignored" => meta.notice("UNIT_IGNORED", "No permit names the unit that was asked for: these are all permits of the building."),
        "street_and_zip" => meta.notice(
            "ADDRESS_COMPLETED",
            "The address that was asked for lacks, or has another, suffix or directional; only one address here has its number, street and place.",
        ),
        _ => {}
    }
    meta.page = Some(paging.page_of_all(rows.len()));
    Ok(meta)
}

/// Finds the property of an address.
///
/// # Errors
/// `invalid_parameter`, when it cannot be read; `coverage_unavailable`; `not_found`; `ambiguous_identifier`, when several properties fit.
async fn by_address(call: &Call<'_>, permits: &Permits, text: &str) -> Result<Found> {
    if permits.lists.keys().any(|jurisdiction| text.to_ascii_lowercase().starts_with(&format!("{jurisdiction}:"))) {
        return Err(Problem::of_field(Code::NotFound, "address", format!("no property has the id `{text}`")));
    }
    let address = read_address(text, "address")?;
    check_covered(call, permits, &address, "address")?;
    let candidates = candidates(call, permits, &address).await?;
    let exact: Vec<&Candidate<'_>> = candidates.iter().filter(|candidate| is_at(&candidate.permit, &address)).collect();
    let (chosen, quality) = match exact.is_empty() {
        true => (candidates.iter().collect(), "street_and_zip"),
        false => (exact, "exact"),
    };
    let properties: BTreeMap<&str, &str> = chosen
        .iter()
        .filter_map(|candidate| Some((candidate.permit.text("property_id")?, candidate.permit.text("address_normalized").unwrap_or_default())))
        .collect();
    if properties.len() > 1 {
        let ids: Vec<String> = properties.keys().map(|id| (*id).to_owned()).collect();
        let listed: Vec<String> = properties.iter().map(|(id, address)| format!("{id} ({address})")).collect();
        let message = format!("`{text}` is the address of {} properties: {}", ids.len(), listed.join("; "));
        return Err(Problem { candidates: ids, ..Problem::of_field(Code::AmbiguousIdentifier, "address", message) });
    }
    if chosen.is_empty() {
        return Err(Problem::of_field(
            Code::NotFound,
            "address",
            format!("no permit of this release is for `{}`; a property without permits is not known here", address.normalized()),
        ));
    }
    Ok(of_unit(&chosen, &address, quality))
}

/// The permits of the unit that is asked for, or all of the building's when none names it.
fn of_unit(chosen: &[&Candidate<'_>], address: &Address, quality: &'static str) -> Found {
    let all = || chosen.iter().map(|candidate| candidate.row).collect();
    if address.unit.is_empty() {
        return Found { rows: all(), quality };
    }
    let is_unit = |candidate: &&&Candidate<'_>| unit_of(&candidate.permit).is_some_and(|unit| unit.eq_ignore_ascii_case(&address.unit));
    let rows: Vec<u32> = chosen.iter().filter(is_unit).map(|candidate| candidate.row).collect();
    if rows.is_empty() { Found { rows: all(), quality: "unit_ignored" } } else { Found { rows, quality } }
}

/// Unit of a permit, by its normalised address.
fn unit_of(permit: &Record<'_, Permit>) -> Option<String> {
    Some(parse_line(permit.text("address_normalized")?).unit).filter(|unit| !unit.is_empty())
}

/// Writes the property's address: without a unit, which belongs to single permits.
fn write_address(json: &mut Json, permit: &Record<'_, Permit>) {
    json.key("address");
    let Some(key) = permit.text("address_key") else { return json.null() };
    let parts: Vec<&str> = key.split('|').collect();
    let part = |place: usize| parts.get(place).copied().filter(|part| !part.is_empty());
    let line: Vec<&str> = (0..5).filter_map(part).collect();
    json.object(|json| {
        json.key("line1").text(&line.join(" "));
        for (place, name) in ["number", "predirectional", "street", "suffix", "postdirectional"].into_iter().enumerate() {
            json.key(name).optional_text(part(place));
        }
        permit.member(json, "city");
        permit.member_as(json, "state", "address_state");
        permit.member(json, "zip");
        let place: Vec<&str> = [permit.text("address_state"), permit.text("zip")].into_iter().flatten().collect();
        let line = line.join(" ");
        let pieces: Vec<&str> = [Some(line.as_str()), permit.text("city")].into_iter().flatten().collect();
        let place = place.join(" ");
        let pieces: Vec<&str> = pieces.into_iter().chain([place.as_str()]).filter(|piece| !piece.is_empty()).collect();
        json.key("normalized").text(&pieces.join(", "));
    });
}

fn write_parcels(json: &mut Json, all: &[Record<'_, Permit>]) {
    let parcels: BTreeSet<(&str, &str)> = all.iter().filter_map(|permit| Some((permit.text("parcel_scheme")?, permit.text("parcel")?))).collect();
    json.key("parcels").array(|json| {
        for (scheme, value) in parcels {
            json.object(|json| {
                json.key("scheme").text(scheme);
                json.key("value").text(value);
            });
        }
    });
}
