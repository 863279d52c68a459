//! Which lists of permits cover a place that their permits do not name so: many lists state no ZIP
//! codes, and call cities otherwise than the Postal Service does.

use std::collections::BTreeSet;

use crate::http::meta::Notice;
use crate::http::nearest::nearest;
use crate::http::problem::{Code, Problem};
use crate::permit::table::{PermitList, Permits};
use crate::place::zips::Zips;
use pubdata_core::canonical::address::{Address, city_key};
use pubdata_core::canonical::state::usps;

/// A place by the names it has.
#[derive(Debug)]
pub struct Place<'a> {
    zips: Option<&'a Zips>,
    zip_row: Option<usize>,
    /// Postal codes of the states it may lie in; of a ZIP code its own.
    state: String,
    /// Names of its post offices, as cities are compared.
    names: BTreeSet<String>,
    /// Names of its counties, without the word.
    counties: BTreeSet<String>,
}

impl<'a> Place<'a> {
    /// The place of a ZIP code or, without one, of a city in a state. An empty text is none.
    pub fn of(zips: Option<&'a Zips>, zip: &str, city_name: &str, state: &str) -> Self {
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

    /// The postal code of its state, where it is known; else an empty text.
    pub fn state(&self) -> &str {
        &self.state
    }

    pub fn of_address(zips: Option<&'a Zips>, address: &Address) -> Self {
        Self::of(zips, &address.zip, &address.city, &address.state)
    }

    /// Whether a city as a list names it is this place, or what the list has for it: a name that no
    /// post office of the state has, but the place's county (`QUEENS`).
    pub fn is_meant_by(&self, city_name: &str) -> bool {
        let is_county = || {
            self.zips
                .is_some_and(|zips| zips.of_city(&self.state, city_name).is_empty())
                && self.counties.contains(city_name)
        };
        self.names.contains(city_name) || is_county()
    }

    /// Whether a list is of the place.
    pub fn is_named(&self, list_name: &str) -> bool {
        self.names.contains(&city_key(list_name))
    }

    /// Whether a list has permits of the place.
    pub fn is_in(&self, list: &PermitList) -> bool {
        (self.state.is_empty() || list.state == self.state)
            && list.cities.iter().any(|name| self.is_meant_by(name))
    }

    /// Where a ZIP code is, in words.
    fn described(&self) -> Option<String> {
        let (zips, row) = self.zips.zip(self.zip_row)?;
        Some(format!("{}, {}", zips.cities.at(row), zips.states.at(row)))
    }
}

/// A list by its id.
pub type Listed<'a> = (&'a str, &'a PermitList);

/// Says of a found ZIP code that permits of its place may be missing.
pub fn add_without_zip_notice(
    place: &Place<'_>,
    lists: &[Listed<'_>],
    zip: &str,
) -> Option<Notice> {
    let lacking: Vec<Listed<'_>> = lists
        .iter()
        .filter(|(_, list)| list.without_zip > 0 && place.is_in(list))
        .copied()
        .collect();
    let message = || {
        format!(
            "{}: those that are for {zip} are not among these. `address`, `city` with `state`, or `lat` with `lon` find them.",
            shares_without_zip(&lacking)
        )
    };
    (!lacking.is_empty()).then(|| Notice {
        code: "PERMITS_WITHOUT_ZIP",
        message: message().into(),
    })
}

/// The problem of a ZIP code that no permit of the lists states.
pub fn no_zip(
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
            "no permit can be found by the ZIP code {zip}{described}: {}, which does not mean that there are none. {}",
            shares_without_zip(&covering),
            ways_out(place, &covering)
        );
        return Problem::of_field(Code::CoverageUnavailable, "zip", message);
    }
    // Where the ZIP code is not known, only what states no ZIP codes at all is worth a word.
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
            "; {} of {} lists lack ZIP codes (`gaps` of /v1/coverage), and whether any of their permits is there is not known. {}",
            near.len(),
            lists.len(),
            ways_out(place, &near)
        ),
    };
    not_covered(
        permits,
        "zip",
        &format!("no permit of this release states the ZIP code {zip}{described}{hint}"),
    )
}

/// The problem of a point that no permit with coordinates is near.
pub fn no_point(permits: &Permits) -> Problem {
    let lacking: Vec<String> = permits
        .lists
        .iter()
        .filter(|(_, list)| list.with_point == 0)
        .map(|(id, list)| format!("{id} ({} permits)", list.permits))
        .collect();
    let hint = match lacking.is_empty() {
        true => String::new(),
        false => format!(
            "; these lists state no coordinates, and whether any of their permits is near is not known: {}. Ask by `jurisdiction`, `address`, `zip` or `city` with `state`",
            few(&lacking, ", ")
        ),
    };
    not_covered(
        permits,
        "lat",
        &format!("no permit with coordinates is near this point{hint}"),
    )
}

/// The problem of a city that the lists of its state do not name.
pub fn no_city(
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
            .filter(|name| place.is_meant_by(name))
            .map(String::as_str)
            .collect();
        format!(
            "{id} covers `{city_name}` and has for the city there {}",
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
        "permits cannot be found by the city `{city_name}`: {}. Ask for that `city`, or for an `address`{}{}",
        meant.join("; "),
        has(|list| list.without_zip < list.permits, ", a `zip`"),
        has(
            |list| list.with_point > 0,
            ", or `lat` with `lon` and `radius_mi`"
        ),
    );
    Problem::of_field(Code::InvalidParameter, "city", message)
}

/// The problem of a place that no jurisdiction covers, with how many are covered.
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

/// Asks whether a jurisdiction is meant whose place has this name, or nearly this one. The place is
/// compared alone, and in the state that the text names: `us-tx-houston` is nearly `us-tx-austin`,
/// and another city.
pub fn near_jurisdictions(permits: &Permits, text: &str) -> String {
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

/// The most jurisdictions that a message names.
const MAX_NAMED: usize = 3;

/// Joins texts about jurisdictions, as many as a message names.
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

/// `us-il-chicago states a ZIP code for none of its 441 permits`.
fn shares_without_zip(lists: &[Listed<'_>]) -> String {
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

fn ways_out<'a>(place: &Place<'_>, lists: &[Listed<'a>]) -> String {
    let meant = |(_, list): &Listed<'a>| list.cities.iter().find(|name| place.is_meant_by(name));
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
    format!("Ask by `jurisdiction`, `address`, `city` with `state`{named}{by_point}")
}

#[cfg(test)]
mod tests {
    use super::few;

    #[test]
    fn a_message_names_three_jurisdictions_at_most() {
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
