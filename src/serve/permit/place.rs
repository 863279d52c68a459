//! Finds the permit rows in the places of a request.

use crate::place::zips::Zips;
use std::collections::{BTreeSet, HashSet};

use crate::http::endpoint::Call;
use crate::http::meta::Notice;
use crate::http::problem::{Code, Problem, Result};
use crate::permit::cover::{
    Listed, Place, city_not_covered, missing_zip_notice, not_covered, point_not_covered,
    suggest_jurisdictions, zip_not_covered,
};
use crate::permit::datasets::Permit;
use crate::permit::query::Parameters;
use crate::permit::table::{PermitList, Permits};
use crate::place::distance::within;
use crate::release::rows::Record;
use pubdata_core::canonical::address::{Address, city_key};
use pubdata_core::canonical::line::parse_line;

/// A point farther than this from every permit is not covered.
const COVERED_MI: f64 = 25.0;
const DEFAULT_RADIUS_MI: f64 = 1.0;

/// Returns the rows for every place in the request, in ascending order, along with any notices.
///
/// # Errors
/// `missing_parameter` if the request names no place, or only part of one; `invalid_parameter` if
/// the place cannot be read, or the permits there name another city; `coverage_unavailable` if no
/// covered jurisdiction contains the place, or its source states no ZIP codes.
pub async fn rows_in_places(
    call: &Call<'_>,
    query: &Parameters<'_>,
    permits: &Permits,
) -> Result<(Vec<u32>, Vec<Notice>)> {
    let mut notices = Vec::new();
    let mut found: Option<Vec<u32>> = None;
    let mut narrow = |rows: Vec<u32>| {
        found = Some(match found.take() {
            None => rows,
            Some(known) => {
                let rows: HashSet<u32> = rows.into_iter().collect();
                known.into_iter().filter(|row| rows.contains(row)).collect()
            }
        });
    };
    if let Some(number) = query.permit_number {
        narrow(permits.with_number(number).to_vec());
    }
    if let Some(parcel) = query.parcel {
        narrow(permits.with_parcel(parcel).to_vec());
    }
    if let Some(text) = query.address {
        let address = read_address(text, "address")?;
        check_covered(call, permits, &address, "address")?;
        narrow(
            matching(&candidates(call, permits, &address).await?, &address)
                .into_iter()
                .map(|(row, _)| row)
                .collect(),
        );
    }
    if let Some(center) = center(query)? {
        let radius = query.radius_mi.unwrap_or(DEFAULT_RADIUS_MI);
        if within(&permits.points, center, COVERED_MI).is_empty() {
            return Err(point_not_covered(permits));
        }
        narrow(
            within(&permits.points, center, radius)
                .into_iter()
                .map(|near| near.row)
                .collect(),
        );
    }
    if let Some(rows) = areas(call, query, permits, &mut notices)? {
        narrow(rows);
    }
    let Some(mut rows) = found else {
        let message = "give a place: `address`, `zip`, `city` with `state`, `jurisdiction`, `lat` with `lon`, `parcel` or `permit_number`";
        return Err(Problem::of_field(
            Code::MissingParameter,
            "jurisdiction",
            message,
        ));
    };
    rows.sort_unstable();
    rows.dedup();
    Ok((rows, notices))
}

/// Returns the ids of the jurisdictions that may contain the places of a request: the jurisdiction
/// that the request names, the jurisdictions in its state, or all jurisdictions.
pub fn searched<'p>(call: &Call<'_>, query: &Parameters<'_>, permits: &'p Permits) -> Vec<&'p str> {
    if let Some(jurisdiction) = query.jurisdiction {
        return permits
            .lists
            .keys()
            .map(String::as_str)
            .filter(|known| known.eq_ignore_ascii_case(jurisdiction))
            .collect();
    }
    let zips = call.release.table::<Zips>();
    let place = match query.address {
        Some(address) => Place::of_address(zips, &parse_line(address)),
        None => Place::new(
            zips,
            query.zip.unwrap_or_default(),
            "",
            query.state.unwrap_or_default(),
        ),
    };
    let is_searched = |(_, list): &(&String, &PermitList)| {
        place.state().is_empty() || list.state == place.state()
    };
    permits
        .lists
        .iter()
        .filter(is_searched)
        .map(|(id, _)| id.as_str())
        .collect()
}

fn center(query: &Parameters<'_>) -> Result<Option<(f64, f64)>> {
    match (query.lat, query.lon) {
        (Some(lat), Some(lon)) => Ok(Some((lat, lon))),
        (None, None) if query.radius_mi.is_some() => Err(Problem::of_field(
            Code::MissingParameter,
            "lat",
            "`radius_mi` needs `lat` and `lon`",
        )),
        (None, None) => Ok(None),
        (Some(_), None) => Err(Problem::of_field(
            Code::MissingParameter,
            "lon",
            "`lat` needs `lon`",
        )),
        (None, Some(_)) => Err(Problem::of_field(
            Code::MissingParameter,
            "lat",
            "`lon` needs `lat`",
        )),
    }
}

/// Returns the rows in a jurisdiction, ZIP code, state or city; `None` if the request names no such
/// place.
fn areas(
    call: &Call<'_>,
    query: &Parameters<'_>,
    permits: &Permits,
    notices: &mut Vec<Notice>,
) -> Result<Option<Vec<u32>>> {
    let Parameters {
        jurisdiction,
        zip,
        city: city_name,
        state,
        ..
    } = *query;
    if city_name.is_some() && state.is_none() {
        return Err(Problem::of_field(
            Code::MissingParameter,
            "state",
            "`city` needs `state`: many states have a city of that name",
        ));
    }
    if jurisdiction.is_none() && zip.is_none() && city_name.is_none() {
        return match state {
            Some(_)
                if query.permit_number.is_none()
                    && query.parcel.is_none()
                    && query.contractor_license.is_none() =>
            {
                Err(Problem::of_field(
                    Code::MissingParameter,
                    "city",
                    "`state` needs `city` or another place: a search cannot cover a whole state",
                ))
            }
            Some(state) => {
                in_state(permits, state).map(|parts| Some(rows_where(permits, &parts, |_| true)))
            }
            None => Ok(None),
        };
    }
    let mut parts: BTreeSet<usize> = (0..permits.rows.parts().len()).collect();
    if let Some(jurisdiction) = jurisdiction {
        let jurisdiction = jurisdiction.to_ascii_lowercase();
        parts.retain(|part| permits.rows.partition_of(*part, "jurisdiction") == jurisdiction);
        if parts.is_empty() {
            let message = format!(
                "permits of `{jurisdiction}` are not covered{}",
                suggest_jurisdictions(permits, &jurisdiction)
            );
            return Err(not_covered(permits, "jurisdiction", &message));
        }
    }
    if let Some(state) = state {
        let of_state = in_state(permits, state)?;
        parts.retain(|part| of_state.contains(part));
    }
    let zips = call.release.table::<Zips>();
    let lists: BTreeSet<&str> = parts
        .iter()
        .map(|part| permits.rows.partition_of(*part, "jurisdiction"))
        .collect();
    let lists: Vec<Listed<'_>> = lists
        .into_iter()
        .filter_map(|id| permits.lists.get_key_value(id))
        .map(|(id, list)| (id.as_str(), list))
        .collect();
    let is_code = |required: Option<&str>, find: &dyn Fn(&str) -> Option<u32>| {
        required.map(|required| find(required).unwrap_or(UNKNOWN))
    };
    let (zip_code, city_code) = (
        is_code(zip, &|zip| permits.zips.find(zip)),
        is_code(city_name, &|name| permits.cities.find(&city_key(name))),
    );
    let matches = |row: u32| {
        zip_code.is_none_or(|zip| permits.zips.at(row) == zip)
            && city_code.is_none_or(|city| permits.cities.at(row) == city)
    };
    let rows = rows_where(permits, &parts, matches);
    if let Some(name) = city_name
        && !parts
            .iter()
            .flat_map(|part| permits.rows.rows_of_part(*part))
            .any(|row| Some(permits.cities.at(row)) == city_code)
    {
        return Err(city_not_covered(
            permits,
            &Place::new(zips, "", name, state.unwrap_or_default()),
            &lists,
            name,
        ));
    }
    if let Some(zip) = zip {
        let place = Place::new(zips, zip, "", "");
        let is_stated = zip_code != Some(UNKNOWN);
        let is_list_named = jurisdiction.is_some();
        if rows.is_empty()
            && (!is_stated
                || lists
                    .iter()
                    .any(|(_, list)| list.without_zip > 0 && (is_list_named || place.is_in(list))))
        {
            return Err(zip_not_covered(permits, &place, &lists, is_list_named, zip));
        }
        notices.extend(missing_zip_notice(&place, &lists, zip));
    }
    Ok(Some(rows))
}

/// Code for a text that occurs in no row.
const UNKNOWN: u32 = u32::MAX;

fn rows_where(
    permits: &Permits,
    parts: &BTreeSet<usize>,
    matches: impl Fn(u32) -> bool,
) -> Vec<u32> {
    parts
        .iter()
        .flat_map(|part| permits.rows.rows_of_part(*part))
        .filter(|row| matches(*row))
        .collect()
}

/// Returns the parts of a state's jurisdictions.
fn in_state(permits: &Permits, state: &str) -> Result<BTreeSet<usize>> {
    let is_of = |part: &usize| {
        permits
            .lists
            .get(permits.rows.partition_of(*part, "jurisdiction"))
            .is_some_and(|list| list.state == state)
    };
    let parts: BTreeSet<usize> = (0..permits.rows.parts().len()).filter(is_of).collect();
    if parts.is_empty() {
        Err(not_covered(
            permits,
            "state",
            &format!("permits of {state} are not covered"),
        ))
    } else {
        Ok(parts)
    }
}

/// Reads an address on one line.
///
/// # Errors
/// `invalid_parameter` if the address has no house number and street, or neither a ZIP code nor a
/// city and state.
pub fn read_address(text: &str, field: &str) -> Result<Address> {
    let address = parse_line(text);
    if address.key().is_none() {
        let message = format!(
            "`{text}` is not a street address such as `618 W Elmira St, San Antonio, TX 78212`"
        );
        return Err(Problem::of_field(Code::InvalidParameter, field, message));
    }
    if address.zip.is_empty() && (address.city.is_empty() || address.state.is_empty()) {
        return Err(Problem::of_field(
            Code::InvalidParameter,
            field,
            format!("`{text}`: give a ZIP code, or city and state"),
        ));
    }
    Ok(address)
}

/// Checks that a permit exists in an address's ZIP code, or in its city and state, regardless of
/// the name that a source uses for the city.
pub fn check_covered(
    call: &Call<'_>,
    permits: &Permits,
    address: &Address,
    field: &str,
) -> Result<()> {
    let has_state = address.state.is_empty()
        || permits
            .lists
            .values()
            .any(|list| list.state == address.state);
    let has_zip = !address.zip.is_empty() && permits.zips.find(&address.zip).is_some();
    let has_city =
        !address.city.is_empty() && permits.cities.find(&city_key(&address.city)).is_some();
    if has_state && (has_zip || has_city) {
        return Ok(());
    }
    let place = Place::of_address(call.release.table::<Zips>(), address);
    if permits.lists.values().any(|list| place.is_in(list)) {
        return Ok(());
    }
    Err(not_covered(
        permits,
        field,
        &format!("permits of `{}` are not covered", address.normalized()),
    ))
}

/// A permit with the house number, in a street with the name.
pub struct Candidate<'a> {
    pub row: u32,
    pub permit: Record<'a, Permit>,
}

/// Returns the permits with the house number in all streets with the name.
pub async fn candidates<'a>(
    call: &Call<'_>,
    permits: &'a Permits,
    address: &Address,
) -> Result<Vec<Candidate<'a>>> {
    let rows = permits.at_street(&address.number, &address.street);
    let records = permits.rows.fetch(call.reader(), rows).await?;
    let place = Place::of_address(call.release.table::<Zips>(), address);
    Ok(rows
        .iter()
        .zip(records)
        .map(|(row, permit)| Candidate { row: *row, permit })
        .filter(|candidate| is_in_place(&candidate.permit, address, &place))
        .collect())
}

/// Returns true if a permit is in the ZIP code of an address. If the permit or the address has no
/// ZIP code, compares city and state, regardless of the name that the source uses for the city.
fn is_in_place(permit: &Record<'_, Permit>, address: &Address, place: &Place<'_>) -> bool {
    let is_state = address.state.is_empty()
        || permit
            .text("address_state")
            .unwrap_or_else(|| permit.at("state"))
            == address.state;
    let list = permit.at("jurisdiction_name");
    let is_city = || {
        permit.text("city").map_or_else(
            || place.is_named(list),
            |known| place.matches_city_name(&city_key(known)),
        )
    };
    is_state
        && match permit.text("zip").filter(|_| !address.zip.is_empty()) {
            Some(zip) => zip == address.zip,
            None => is_city(),
        }
}

/// Selects the candidates at the exact address. If none match, selects all candidates, provided
/// that they belong to a single property.
pub fn matching<'a, 'b>(
    candidates: &'b [Candidate<'a>],
    address: &Address,
) -> Vec<(u32, &'b Record<'a, Permit>)> {
    let exact: Vec<(u32, &Record<'_, Permit>)> = candidates
        .iter()
        .filter(|candidate| is_at(&candidate.permit, address))
        .map(|candidate| (candidate.row, &candidate.permit))
        .collect();
    if !exact.is_empty() {
        return exact;
    }
    let streets: BTreeSet<&str> = candidates
        .iter()
        .filter_map(|candidate| candidate.permit.text("property_id"))
        .collect();
    if streets.len() == 1 {
        candidates
            .iter()
            .map(|candidate| (candidate.row, &candidate.permit))
            .collect()
    } else {
        Vec::new()
    }
}

/// Returns true if a permit's address has the same number, street and directionals; the caller
/// checks the ZIP code.
pub fn is_at(permit: &Record<'_, Permit>, address: &Address) -> bool {
    let key = permit.at("address_key");
    let requested = [
        &address.number,
        &address.predirectional,
        &address.street,
        &address.suffix,
        &address.postdirectional,
    ];
    key.split('|')
        .take(5)
        .eq(requested.into_iter().map(String::as_str))
}
