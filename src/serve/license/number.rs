//! Finds licenses by number, state and profession.

use std::collections::BTreeSet;

use super::record::LicenseWithActions;
use super::table::{LicenseList, Licenses, SELF_REPORTED};
use crate::http::meta::Meta;
use crate::http::problem::{Result, not_covered};
use pubdata_core::canonical::license_number::{display, normalized};

/// Words that users put before the number of any board.
pub const PREFIXES: [&str; 4] = ["LICENSE", "LIC", "NUMBER", "NO"];

/// Adds a notice that an empty result is not proof.
pub fn add_no_match_notice(meta: &mut Meta) {
    meta.notice(
        "NO_MATCH_IS_NOT_PROOF",
        "The searched lists have no match. Lists may omit new, old or withheld licenses: this does not prove that no license exists.",
    );
}

/// Checks that licenses of the state are covered.
///
/// # Errors
/// `coverage_unavailable`, with the covered states.
pub fn covered_state<'a>(licenses: &'a Licenses, state: &str) -> Result<&'a str> {
    let covered = licenses.rows.values("state");
    covered
        .iter()
        .find(|known| **known == state)
        .copied()
        .ok_or_else(|| {
            not_covered(
                "state",
                format!("licenses of {state} are not covered"),
                &covered,
            )
        })
}

/// Checks that a list of the state has licenses of the profession.
///
/// # Errors
/// `coverage_unavailable`, with the professions covered in the state.
pub fn check_profession(licenses: &Licenses, state: &str, profession: Option<&str>) -> Result<()> {
    let Some(profession) = profession else {
        return Ok(());
    };
    let covered: BTreeSet<&str> = lists_of(licenses, state)
        .flat_map(|(_, list)| list.professions.iter().map(String::as_str))
        .collect();
    if covered.contains(profession) {
        return Ok(());
    }
    let covered: Vec<&str> = covered.into_iter().collect();
    Err(not_covered(
        "profession",
        format!("licenses of the profession {profession} in {state} are not covered"),
        &covered,
    ))
}

pub fn lists_of<'a>(
    licenses: &'a Licenses,
    state: &'a str,
) -> impl Iterator<Item = (&'a str, &'a LicenseList)> {
    licenses
        .lists
        .iter()
        .filter(move |((known, _), _)| known == state)
        .map(|((_, source), list)| (source.as_str(), list))
}

/// Returns the rows with a number in a state. If no board's list contains the number as written or
/// normalised, also searches for it without the board's prefix. A match in a self-reported list
/// does not end the search.
pub fn rows_of_number(
    licenses: &Licenses,
    state: &str,
    number: &str,
    profession: Option<&str>,
) -> Vec<u32> {
    let matches = |row: &u32| {
        profession
            .is_none_or(|profession| licenses.index.professions.at(*row as usize) == profession)
    };
    let mut found = BTreeSet::new();
    for form in [display(number), normalized(number, &[])] {
        found.extend(
            licenses
                .with_number(state, &form)
                .iter()
                .copied()
                .filter(matches),
        );
        if found.iter().any(|row| licenses.is_board_license(*row)) {
            return found.into_iter().collect();
        }
    }
    for (source, _) in lists_of(licenses, state) {
        let prefixes: Vec<String> = std::iter::once(source)
            .chain(PREFIXES)
            .map(str::to_owned)
            .collect();
        let rows = licenses
            .with_number(state, &normalized(number, &prefixes))
            .iter()
            .copied();
        found.extend(
            rows.filter(|row| licenses.rows.partition(*row, "source") == source)
                .filter(matches),
        );
    }
    found.into_iter().collect()
}

/// Licenses found for a number.
pub struct Found<'a> {
    /// Licenses from boards' lists, or self-reported licenses if no board has the number.
    pub licenses: Vec<Stated<'a>>,
    /// Self-reported licenses with a number that a board's list also contains.
    pub self_reported: Vec<Stated<'a>>,
}

/// A license, with further records that state the same license.
pub struct Stated<'a> {
    pub license: LicenseWithActions<'a>,
    /// Further records of the license. A provider states the same number for each of its
    /// taxonomies.
    pub also: Vec<LicenseWithActions<'a>>,
}

/// Separates boards' licenses from self-reported licenses, and merges several statements by one
/// holder. If any number is spelled exactly as in the request, keeps only the licenses with this
/// spelling, because `007` and `7` may both exist.
pub fn disambiguate<'a>(found: Vec<LicenseWithActions<'a>>, number: &str) -> Found<'a> {
    let (reported, of_boards): (Vec<_>, Vec<_>) = found.into_iter().partition(is_self_reported);
    let of_boards: Vec<Stated<'a>> = exact_spelling(of_boards, number)
        .into_iter()
        .map(|license| Stated {
            license,
            also: Vec::new(),
        })
        .collect();
    let reported = by_holder(exact_spelling(reported, number));
    match of_boards.is_empty() {
        true => Found {
            licenses: reported,
            self_reported: Vec::new(),
        },
        false => Found {
            licenses: of_boards,
            self_reported: reported,
        },
    }
}

fn is_self_reported(found: &LicenseWithActions<'_>) -> bool {
    found.license.text("evidence") == Some(SELF_REPORTED)
}

fn by_holder(found: Vec<LicenseWithActions<'_>>) -> Vec<Stated<'_>> {
    let mut holders: Vec<Stated<'_>> = Vec::new();
    for license in found {
        let is_same = |known: &&mut Stated<'_>| {
            HOLDER
                .iter()
                .all(|column| known.license.license.text(column) == license.license.text(column))
        };
        match holders.iter_mut().find(is_same) {
            Some(known) => known.also.push(license),
            None => holders.push(Stated {
                license,
                also: Vec::new(),
            }),
        }
    }
    holders
}

/// Columns that are equal in all statements of a number by the same holder. `verify_url` is the
/// provider's page.
const HOLDER: [&str; 4] = [
    "source",
    "number_normalized",
    "holder_name_normalized",
    "verify_url",
];

fn exact_spelling<'a>(
    found: Vec<LicenseWithActions<'a>>,
    number: &str,
) -> Vec<LicenseWithActions<'a>> {
    let shown = display(number);
    let is_so = |found: &LicenseWithActions<'_>| display(found.license.at("number")) == shown;
    if found.len() < 2 || !found.iter().any(is_so) {
        found
    } else {
        found.into_iter().filter(is_so).collect()
    }
}
