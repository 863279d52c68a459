//! Determines which permit sources cover a place, even if their permits name it differently. Many
//! sources state no ZIP codes, and name cities differently from the Postal Service.

use std::collections::BTreeSet;

use crate::http::meta::Notice;
use crate::http::nearest::nearest;
use crate::http::problem::{Code, Problem};
use crate::permit::table::{PermitList, Permits};
use crate::place::zips::Zips;
use pubdata_core::canonical::address::{Address, city_key};
use pubdata_core::canonical::state::usps;

/// A place with its names.
#[derive(Debug)]
pub struct Place<'a> {
    zips: Option<&'a Zips>,
    zip_row: Option<usize>,
    /// Postal code of the place's state, taken from the ZIP code if one is given; empty if not
    /// known.
    state: String,
    /// Names of the place's post offices, normalised for comparison.
    names: BTreeSet<String>,
    /// Names of the place's counties, without the word "county".
    counties: BTreeSet<String>,
}

impl<'a> Place<'a> {
    /// Builds the place for a ZIP code or, without a ZIP code, for a city in a state. An empty
    /// string means that the value is not given.
    pub fn new(zips: Option<&'a Zips>, zip: &str, city_name: &str, state: &str) -> Self {
        let zip_row = zips.and_then(|zips| zips.find(zip));
        let mut place = Self {
            zips,
            zip_row,
            state: state.to_owned(),
            names: BTreeSet::new(),
            counties: BTreeSet::new(),
        };
        let name = city_key(city_name);
        if let Some(zips) = zips {
            if let Some(row) = zip_row {
                place.state = zips.states.at(row).to_owned();
            }
            let of_city = || {
                zips.of_city(state, &name)
                    .iter()
                    .map(|row| *row as usize)
                    .collect()
            };
            let rows: Vec<usize> = zip_row.map_or_else(of_city, |row| vec![row]);
            let names = zip_row.map(|row| zips.city_names(row)).unwrap_or_default();
            place.names.extend(names);
            place
                .counties
                .extend(rows.into_iter().filter_map(|row| zips.county_as_city(row)));
        }
        if !name.is_empty() {
            place.names.insert(name);
        }
        place
    }

    /// Returns the postal code of the place's state; empty if not known.
    pub fn state(&self) -> &str {
        &self.state
    }

    pub fn of_address(zips: Option<&'a Zips>, address: &Address) -> Self {
        Self::new(zips, &address.zip, &address.city, &address.state)
    }

    /// Returns true if a source's city name means this place. The name must be one of the place's
    /// names, or a name that the place's county has but no post office in the state (`QUEENS`).
    pub fn matches_city_name(&self, city_name: &str) -> bool {
        let is_county = || {
            self.zips
                .is_some_and(|zips| zips.of_city(&self.state, city_name).is_empty())
                && self.counties.contains(city_name)
        };
        self.names.contains(city_name) || is_county()
    }

    /// Returns true if a source's own name is one of the place's names.
    pub fn is_named(&self, list_name: &str) -> bool {
        self.names.contains(&city_key(list_name))
    }

    /// Returns true if a source has permits in the place.
    pub fn is_in(&self, list: &PermitList) -> bool {
        (self.state.is_empty() || list.state == self.state)
            && list.cities.iter().any(|name| self.matches_city_name(name))
    }

    /// Describes where a ZIP code is located.
    fn described(&self) -> Option<String> {
        let (zips, row) = self.zips.zip(self.zip_row)?;
        Some(format!("{}, {}", zips.cities.at(row), zips.states.at(row)))
    }
}

/// A source with its id.
pub type Listed<'a> = (&'a str, &'a PermitList);

/// Builds the notice that permits in a ZIP code may be missing.
pub fn missing_zip_notice(place: &Place<'_>, lists: &[Listed<'_>], zip: &str) -> Option<Notice> {
    let lacking: Vec<Listed<'_>> = lists
        .iter()
        .filter(|(_, list)| list.without_zip > 0 && place.is_in(list))
        .copied()
        .collect();
    let message = || {
        format!(
            "{}: this answer does not include those of them that are in {zip}. Search by `address`, `city` with `state`, or `lat` with `lon` to find them.",
            describe_missing_zips(&lacking)
        )
    };
    (!lacking.is_empty()).then(|| Notice {
        code: "PERMITS_WITHOUT_ZIP",
        message: message().into(),
    })
}

/// Returns the problem for a ZIP code that does not occur in any permit of the sources.
pub fn zip_not_covered(
    permits: &Permits,
    place: &Place<'_>,
    lists: &[Listed<'_>],
    is_list_named: bool,
    zip: &str,
) -> Problem {
    let lacking = |covers: &dyn Fn(&PermitList) -> bool| -> Vec<Listed<'_>> {
        lists
            .iter()
            .filter(|(_, list)| list.without_zip > 0 && covers(list))
            .copied()
            .collect()
    };
    let covering = lacking(&|list| is_list_named || place.is_in(list));
    let described = place
        .described()
        .map(|place| format!(" ({place})"))
        .unwrap_or_default();
    if !covering.is_empty() {
        let message = format!(
            "no permit can be found by the ZIP code {zip}{described}: {}, so permits may exist. {}",
            describe_missing_zips(&covering),
            hints(place, &covering)
        );
        return Problem::of_field(Code::CoverageUnavailable, "zip", message);
    }
    // If the ZIP code is not known, only sources without any ZIP codes are worth mentioning.
    let near = lacking(&|list| {
        if place.zip_row.is_some() {
            list.state == place.state
        } else {
            list.without_zip == list.permits
        }
    });
    let hint = match near.is_empty() {
        true => String::new(),
        false => format!(
            "; {} of {} lists lack ZIP codes (`gaps` of /v1/coverage), and some of their permits may be there. {}",
            near.len(),
            lists.len(),
            hints(place, &near)
        ),
    };
    not_covered(
        permits,
        "zip",
        &format!("no permit of this release states the ZIP code {zip}{described}{hint}"),
    )
}

/// Returns the problem for a point without permits nearby.
pub fn point_not_covered(permits: &Permits) -> Problem {
    let lacking: Vec<String> = permits
        .lists
        .iter()
        .filter(|(_, list)| list.with_point == 0)
        .map(|(id, list)| format!("{id} ({} permits)", list.permits))
        .collect();
    let hint = match lacking.is_empty() {
        true => String::new(),
        false => format!(
            "; these lists state no coordinates, and some of their permits may be near: {}. Search by `jurisdiction`, `address`, `zip` or `city` with `state`",
            few(&lacking, ", ")
        ),
    };
    not_covered(
        permits,
        "lat",
        &format!("no permit with coordinates is near this point{hint}"),
    )
}

/// Returns the problem for a city that the sources of its state do not name.
pub fn city_not_covered(
    permits: &Permits,
    place: &Place<'_>,
    lists: &[Listed<'_>],
    city_name: &str,
) -> Problem {
    let covering: Vec<Listed<'_>> = lists
        .iter()
        .filter(|(_, list)| place.is_in(list))
        .copied()
        .collect();
    if covering.is_empty() {
        return not_covered(
            permits,
            "city",
            &format!(
                "permits of `{city_name}` in {} are not covered",
                place.state
            ),
        );
    }
    let meant = |(id, list): &Listed<'_>| {
        let names: Vec<&str> = list
            .cities
            .iter()
            .filter(|name| place.matches_city_name(name))
            .map(String::as_str)
            .collect();
        format!(
            "{id} covers `{city_name}` but names the city {}",
            quoted(&names)
        )
    };
    let meant: Vec<String> = covering.iter().map(meant).collect();
    let has = |is_so: fn(&PermitList) -> bool, way: &'static str| {
        if covering.iter().any(|(_, list)| is_so(list)) {
            way
        } else {
            ""
        }
    };
    let message = format!(
        "permits cannot be found by the city `{city_name}`: {}. Search by that `city`, or by `address`{}{}",
        meant.join("; "),
        has(|list| list.without_zip < list.permits, ", a `zip`"),
        has(
            |list| list.with_point > 0,
            ", or `lat` with `lon` and `radius_mi`"
        ),
    );
    Problem::of_field(Code::InvalidParameter, "city", message)
}

/// Returns the problem for a place that no jurisdiction covers, with the number of covered
/// jurisdictions.
pub fn not_covered(permits: &Permits, field: &str, what: &str) -> Problem {
    let end = if what.ends_with('?') { "" } else { "." };
    Problem::of_field(
        Code::CoverageUnavailable,
        field,
        format!(
            "{what}{end} {} jurisdictions are covered: /v1/coverage lists them",
            permits.lists.len()
        ),
    )
}

/// Suggests jurisdictions whose place has this or a similar name. Compares only the place, within
/// the state given in the text. If complete ids were compared, `us-tx-houston` would be similar to
/// `us-tx-austin`.
pub fn suggest_jurisdictions(permits: &Permits, text: &str) -> String {
    let parts: Vec<&str> = text.splitn(3, '-').collect();
    let (state, place) = match parts[..] {
        ["us", state, place] => (usps(state), place),
        _ => (None, text),
    };
    let name = city_key(&place.replace('_', " "));
    let here = || {
        permits
            .lists
            .iter()
            .filter(|(_, list)| state.is_none_or(|state| list.state == state))
    };
    let named: Vec<&str> = here()
        .filter(|(_, list)| city_key(&list.name) == name)
        .map(|(id, _)| id.as_str())
        .collect();
    let is_alike = |id: &str| {
        id.splitn(3, '-')
            .nth(2)
            .is_some_and(|slug| nearest(place, [slug]).is_some())
    };
    let meant = if named.is_empty() {
        here()
            .map(|(id, _)| id.as_str())
            .filter(|id| is_alike(id))
            .collect()
    } else {
        named
    };
    let meant: Vec<String> = meant
        .into_iter()
        .take(MAX_NAMED)
        .map(|id| format!("`{id}`"))
        .collect();
    if meant.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", meant.join(" or "))
    }
}

/// Maximum number of jurisdictions named in a message.
const MAX_NAMED: usize = 3;

/// Joins texts about jurisdictions, up to [`MAX_NAMED`].
fn few(texts: &[String], joint: &str) -> String {
    let more = texts.len().saturating_sub(MAX_NAMED);
    let named = texts[..texts.len() - more].join(joint);
    if more == 0 {
        named
    } else {
        format!("{named} and {more} more")
    }
}

fn quoted(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Describes missing ZIP codes: `us-il-chicago states a ZIP code for none of its 441 permits`.
fn describe_missing_zips(lists: &[Listed<'_>]) -> String {
    let share = |(id, list): &Listed<'_>| match list.without_zip == list.permits {
        true => format!(
            "{id} states a ZIP code for none of its {} permits",
            list.permits
        ),
        false => format!(
            "{id} states no ZIP code for {} of its {} permits",
            list.without_zip, list.permits
        ),
    };
    few(&lists.iter().map(share).collect::<Vec<_>>(), "; ")
}

fn hints<'a>(place: &Place<'_>, lists: &[Listed<'a>]) -> String {
    let meant = |(_, list): &Listed<'a>| {
        list.cities
            .iter()
            .find(|name| place.matches_city_name(name))
    };
    let named = lists
        .first()
        .filter(|_| lists.len() == 1)
        .and_then(meant)
        .map(|name| format!(" (`{name}`)"))
        .unwrap_or_default();
    let point = place
        .zips
        .zip(place.zip_row)
        .and_then(|(zips, row)| zips.place(row));
    let point = point
        .map(|(lat, lon)| format!(" (the ZIP code's point is {lat}, {lon})"))
        .unwrap_or_default();
    let by_point = match lists.iter().any(|(_, list)| list.with_point > 0) {
        true => format!(", or `lat` with `lon` and `radius_mi`{point}"),
        false => String::new(),
    };
    format!("Search by `jurisdiction`, `address`, `city` with `state`{named}{by_point}")
}

#[cfg(test)]
mod tests {
    use super::few;

    #[test]
    fn message_names_at_most_three_jurisdictions() {
        let ids = [
            "us-il-chicago",
            "us-ny-nyc",
            "us-tx-austin",
            "us-tx-dallas",
            "us-wa-seattle",
        ]
        .map(str::to_owned);
        assert_eq!(
            few(&ids[..3], ", "),
            "us-il-chicago, us-ny-nyc, us-tx-austin"
        );
        assert_eq!(
            few(&ids, ", "),
            "us-il-chicago, us-ny-nyc, us-tx-austin and 2 more"
        );
    }
}
