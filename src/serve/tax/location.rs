//! Reads the address of a sale, normalises it and finds its state.

use std::collections::BTreeSet;

use crate::http::meta::Notice;
use crate::http::parameters::{not_a_state, shown};
use crate::http::problem::{Code, Problem, Result};
use crate::place::zips::Zips;
use pubdata_core::canonical::address::{Address, city, city_key};
use pubdata_core::canonical::line::{parse_line, parse_place};
use pubdata_core::canonical::state::{self, usps};
use pubdata_core::canonical::street::parse_street;

/// An address as the caller sends it.
#[derive(Debug, Clone, Copy, Default)]
pub struct AddressQuery<'a> {
    /// The address on one line, instead of the other fields.
    pub address: Option<&'a str>,
    pub street: Option<&'a str>,
    pub city: Option<&'a str>,
    pub state: Option<&'a str>,
    pub zip: Option<&'a str>,
    /// FIPS code of the county, if the caller knows it.
    pub county_fips: Option<&'a str>,
    /// True if the place is outside every city, whatever its postal city.
    pub is_unincorporated: bool,
}

/// A place whose state is known.
#[derive(Debug)]
pub struct Location {
    pub address: Address,
    pub state: &'static str,
    /// Row of the address's ZIP code.
    pub zip_row: Option<usize>,
    /// FIPS code of the county as the caller gave it.
    pub county_fips: Option<String>,
    /// True if the place is outside every city.
    pub is_unincorporated: bool,
    pub notices: Vec<Notice>,
}

impl Location {
    /// Reads an address. `place` is the prefix of field names in messages, such as `to.`.
    ///
    /// # Errors
    /// `missing_parameter` if the address has neither a ZIP code nor a city and state;
    /// `invalid_parameter` if a value is malformed or the state does not exist; `not_found` if the
    /// ZIP code does not exist and no state is given.
    pub fn from_query(zips: Option<&Zips>, query: AddressQuery<'_>, place: &str) -> Result<Self> {
        let field = |name: &str| format!("{place}{name}");
        let mut address = address_of(query, &field)?;
        if address.zip.is_empty() && query.city.is_some() && address.state.is_empty() {
            let message = format!(
                "`{}` needs `{}`, or a ZIP code instead",
                field("city"),
                field("state")
            );
            return Err(Problem::of_field(
                Code::MissingParameter,
                &field("state"),
                message,
            ));
        }
        if address.zip.is_empty() && (address.city.is_empty() || address.state.is_empty()) {
            return Err(Problem::of_field(
                Code::MissingParameter,
                &field("zip"),
                format!("an address needs `{}`, or city and state", field("zip")),
            ));
        }
        let zip_row = if address.zip.is_empty() {
            None
        } else {
            zips.and_then(|zips| zips.find(&address.zip))
        };
        let of_zip = zips
            .zip(zip_row)
            .and_then(|(zips, row)| usps(zips.states.at(row)));
        let mut notices = Vec::new();
        let mut notice = |code: &'static str, message: String| {
            notices.push(Notice {
                code,
                message: message.into(),
            });
        };
        let state = match (usps(&address.state), of_zip) {
            // For some military ZIP codes, the source names a different region than the first
            // digits imply.
            (Some(given), Some(_))
                if zips
                    .zip(zip_row)
                    .is_some_and(|(zips, row)| zips.military_regions.get(row) == Some(given)) =>
            {
                given
            }
            (Some(given), Some(of_zip)) if given != of_zip => {
                notice(
                    "ZIP_STATE_MISMATCH",
                    format!(
                        "ZIP code {} is in {of_zip}, but the address names {given}: the answer is for {given}.",
                        address.zip
                    ),
                );
                given
            }
            (Some(state), _) | (None, Some(state)) => state,
            (None, None) => {
                return Err(Problem::of_field(
                    Code::NotFound,
                    &field("zip"),
                    format!(
                        "ZIP Code {} was not found; add `state` to search that state's rates",
                        address.zip
                    ),
                ));
            }
        };
        if let (Some(zips), Some(row)) = (zips, zip_row)
            && !address.city.is_empty()
            && !zips.city_names(row).contains(&city_key(&address.city))
        {
            notice(
                "CITY_ZIP_MISMATCH",
                format!(
                    "ZIP code {} belongs to {}, but the address names {}: the ZIP code decides.",
                    address.zip,
                    zips.cities.at(row),
                    address.city
                ),
            );
        }
        if address.street.is_empty() && query.county_fips.is_none() && of_zip == Some(state) {
            let others = zips
                .map(|zips| other_states(zips, &address.zip, state))
                .unwrap_or_default();
            if !others.is_empty() {
                let message = format!(
                    "ZIP code {} also lies in {}: the answer is for {state}; give `{}` for a place in another state.",
                    address.zip,
                    others.join(", "),
                    field("state")
                );
                notice("ZIP_CROSSES_STATES", message);
            }
        }
        address.state = state.to_owned();
        let county_fips = county_of(query.county_fips, state, &field("county_fips"))?;
        Ok(Self {
            address,
            state,
            zip_row,
            county_fips,
            is_unincorporated: query.is_unincorporated,
            notices,
        })
    }

    /// Returns the ZIP code as a number.
    pub fn zip(&self) -> Option<u32> {
        self.address.zip.parse().ok()
    }

    /// Returns the ZIP+4 code as a nine-digit number.
    pub fn zip9(&self) -> Option<u32> {
        Some(self.zip()? * 10_000 + self.address.zip4.parse::<u32>().ok()?)
    }
}

/// Returns the other states in which a ZIP code has counties, besides its postal state.
fn other_states(zips: &Zips, code: &str, state: &str) -> Vec<&'static str> {
    let Some(counties) = &zips.counties else {
        return Vec::new();
    };
    let states: BTreeSet<&str> = counties
        .of_zip(code)
        .filter_map(|row| state::by_fips(counties.county_fips.at(row).get(..2)?))
        .collect();
    states.into_iter().filter(|other| *other != state).collect()
}

/// Checks that the given county code has five digits and belongs to the state.
fn county_of(query: Option<&str>, state: &str, field: &str) -> Result<Option<String>> {
    let Some(fips) = query else { return Ok(None) };
    if fips.len() != 5 || !fips.bytes().all(|byte| byte.is_ascii_digit()) {
        let message = format!(
            "`{field}`: expected the FIPS code of a county, five digits, got `{}`",
            shown(fips)
        );
        return Err(Problem::of_field(Code::InvalidParameter, field, message));
    }
    match state::fips(state).filter(|of_state| fips.starts_with(of_state)) {
        Some(_) => Ok(Some(fips.to_owned())),
        None => Err(Problem::of_field(
            Code::NotFound,
            field,
            format!("`{field}`: {fips} is not a county of {state}"),
        )),
    }
}

fn address_of(query: AddressQuery<'_>, field: &dyn Fn(&str) -> String) -> Result<Address> {
    let AddressQuery {
        address: line,
        street,
        city: city_name,
        state,
        zip,
        ..
    } = query;
    if let Some(line) = line {
        if street.or(city_name).or(state).or(zip).is_some() {
            return Err(Problem::of_field(
                Code::InvalidParameter,
                &field("address"),
                "give the address on one line, or street, city, state and zip",
            ));
        }
        return Ok(match zip_of(line.trim()) {
            Some((zip, zip4)) => Address {
                zip,
                zip4,
                ..parse_street("")
            },
            // A line without a digit has no house number, so it consists of a city and a state.
            None if !line.bytes().any(|byte| byte.is_ascii_digit()) => parse_place(line),
            None => parse_line(line),
        });
    }
    let mut address = parse_street(street.unwrap_or_default());
    address.city = city(city_name.unwrap_or_default());
    if let Some(zip) = zip {
        (address.zip, address.zip4) = zip_of(zip).ok_or_else(|| {
            Problem::of_field(Code::InvalidParameter, &field("zip"), wrong_zip(zip))
        })?;
    }
    if let Some(state) = state {
        let wrong = || {
            Problem::of_field(
                Code::InvalidParameter,
                &field("state"),
                format!("`{}`: {}", field("state"), not_a_state(state)),
            )
        };
        let code = usps(state).ok_or_else(wrong)?;
        address.state = code.to_owned();
    }
    Ok(address)
}

/// Splits a five-digit ZIP code, or a nine-digit ZIP code with or without a hyphen.
pub fn zip_of(text: &str) -> Option<(String, String)> {
    let digits = match text.split_once('-') {
        Some((five, four)) if five.len() == 5 && four.len() == 4 => format!("{five}{four}"),
        Some(_) => return None,
        None => text.to_owned(),
    };
    let is_code = matches!(digits.len(), 5 | 9) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_code.then(|| (digits[..5].to_owned(), digits[5..].to_owned()))
}

/// Returns the message for a malformed ZIP code.
pub fn wrong_zip(text: &str) -> String {
    format!(
        "expected a ZIP code of five digits, or nine such as 55103-1234, got `{}`",
        shown(text)
    )
}
