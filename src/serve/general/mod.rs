//! The general reference families: businesses, licenses, permits, the contractors behind them and the properties they are for; ZIP codes and sales tax.

pub mod business;
pub mod contractors;
pub mod license;
mod license_record;
mod links;
mod permit_cover;
mod permit_filter;
mod permit_place;
mod permit_record;
pub mod permits;
pub mod properties;
mod ranked;
mod summary;
pub mod tax;
pub mod verify;
pub mod zips;

use std::collections::BTreeSet;

use super::call::{Call, Coverage, Meta, Page};
use super::cursor;
use super::parameters::{Kind, Parameter};
use super::problem::{Code, Problem, Result};
use crate::canonical::state::usps;

const ENTITIES: &str = "business.entity";
const OFFICERS: &str = "business.officer";
const LICENSES: &str = "license.license";
const ACTIONS: &str = "license.action";
const PERMITS: &str = "permit.permit";
const CONTACTS: &str = "permit.contact";

const DEFAULT_LIMIT: usize = 25;
/// Beyond this a total is only said to be at least so many.
const MAX_COUNTED: usize = 10_000;

const STATE: Parameter =
    Parameter { name: "state", kind: Kind::States, description: "Comma list of states, as postal codes; all that are covered when absent." };
const CITY: Parameter = Parameter {
    name: "city",
    kind: Kind::Text { min: 1, max: 80 },
    description: "Only in this city, as the source names it; case and punctuation do not matter.",
};
const ZIP: Parameter = Parameter { name: "zip", kind: Kind::Zip, description: "Only in this ZIP code, five digits." };

/// Where a list of found things is read from.
struct Paging<'a> {
    call: &'a Call<'a>,
    limit: usize,
    /// Place of the first one of the page.
    first: usize,
    filters: String,
}

impl<'a> Paging<'a> {
    fn of(call: &'a Call<'a>) -> Result<Self> {
        let filters = cursor::mark(call.path, call.query);
        let first = match call.query.get("cursor") {
            Some(text) => cursor::sort_key(text, &call.release.manifest.release_id, &filters)?.parse().map_err(|_| cursor::not_one())?,
            None => 0,
        };
        Ok(Self { call, limit: call.query.parsed("limit").unwrap_or(DEFAULT_LIMIT), first, filters })
    }

    /// How much of what was found has to be in order.
    fn end(&self) -> usize {
        self.first + self.limit
    }

    /// The page's part of everything that was found.
    fn slice<'b, T>(&self, found: &'b [T]) -> &'b [T] {
        let start = self.first.min(found.len());
        &found[start..found.len().min(start + self.limit)]
    }

    /// What `meta` says of a page of a list that was found as a whole.
    fn page_of_all(&self, total: usize) -> Page {
        let is_cut = false;
        self.page(total, is_cut)
    }

    /// The same of a list of which more may have been found.
    fn page(&self, total: usize, is_cut: bool) -> Page {
        let count = total.saturating_sub(self.first).min(self.limit);
        let end = self.first + count;
        let next_cursor = (end < total).then(|| self.cursor(end));
        Page { limit: self.limit, count, next_cursor, total: total.min(MAX_COUNTED), is_total_exact: !is_cut && total <= MAX_COUNTED }
    }

    fn cursor(&self, next: usize) -> String {
        cursor::write(&self.call.release.manifest.release_id, &self.filters, &next.to_string())
    }
}

/// The states a request asks for; none when it names none.
///
/// # Errors
/// `invalid_parameter`, when one is no state; `coverage_unavailable`, when one is not covered.
fn states_of(call: &Call<'_>, covered: &[&str], what: &str) -> Result<Option<BTreeSet<String>>> {
    let Some(list) = call.query.get("state") else { return Ok(None) };
    let mut states = BTreeSet::new();
    for text in list.split(',') {
        let state = usps(text).ok_or_else(|| Problem::of_field(Code::InvalidParameter, "state", format!("`state`: `{text}` is no postal code of a state")))?;
        if !covered.contains(&state) {
            return Err(not_covered("state", format!("{what} of {state} are not covered"), covered));
        }
        states.insert(state.to_owned());
    }
    Ok(Some(states))
}

/// The problem of a question about what is not published here, with what is.
fn not_covered(field: &str, what: String, covered: &[&str]) -> Problem {
    let list = if covered.is_empty() { "nothing yet".to_owned() } else { covered.join(", ") };
    Problem::of_field(Code::CoverageUnavailable, field, format!("{what}; covered: {list}. /v1/coverage says more"))
}

/// Two days of a range, both inclusive.
///
/// # Errors
/// `invalid_parameter`, when they are the wrong way round.
fn day_range(call: &Call<'_>, from: &str, to: &str) -> Result<(Option<i32>, Option<i32>)> {
    let day = |name: &str| {
        let date: jiff::civil::Date = call.query.parsed(name)?;
        date.since(jiff::civil::date(1970, 1, 1)).ok().map(|span| span.get_days())
    };
    match (day(from), day(to)) {
        (Some(first), Some(last)) if first > last => Err(Problem::of_field(Code::InvalidParameter, from, format!("`{from}` is after `{to}`"))),
        days => Ok(days),
    }
}

/// Whether a day lies in a range; no day does not, unless the range is open on both sides.
fn is_within(day: i32, (from, to): (Option<i32>, Option<i32>)) -> bool {
    let is_known = day != crate::serve::index::NO_DAY;
    from.is_none_or(|from| is_known && from <= day) && to.is_none_or(|to| is_known && day <= to)
}

fn meta_of(datasets: &[&str], scope: String) -> Meta {
    Meta {
        datasets: datasets.iter().map(|dataset_id| (*dataset_id).to_owned()).collect(),
        coverage: Some(Coverage { scope, ..Coverage::default() }),
        ..Meta::default()
    }
}

/// The words of a comma list; none when the parameter is absent.
fn listed<'a>(call: &'a Call<'_>, name: &str) -> Option<Vec<&'a str>> {
    call.query.get(name).map(|list| list.split(',').collect())
}
