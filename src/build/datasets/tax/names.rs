//! Looks up names of counties and places by code, and county codes by name.

use std::collections::HashMap;

use crate::datasets::Context;
use crate::normalise::{pointers, text};
use pubdata_core::error::Result;
use pubdata_core::provenance::POINTERS;

/// A name or code, with pointers to its source.
pub(super) struct Known {
    pub(super) text: String,
    pub(super) pointers: Vec<u64>,
}

#[derive(Default)]
pub(super) struct Names {
    /// County names by five-digit FIPS code.
    counties: HashMap<String, Known>,
    /// County codes by state and uppercase name without `County`.
    county_codes: HashMap<(String, String), Known>,
    /// Place names by state and place code.
    places: HashMap<(String, String), Known>,
}

impl Names {
    pub(super) fn of_counties(context: &Context<'_>) -> Result<Self> {
        let mut names = Self::default();
        let frame = context.read_one("census.county_code")?.frame;
        let (state, code, name) = (
            text(&frame, "state_fips")?,
            text(&frame, "county_code")?,
            text(&frame, "name")?,
        );
        for (row, pointers) in pointers(&frame, POINTERS)?.into_iter().enumerate() {
            if let (Some(state), Some(code), Some(name)) =
                (state.get(row), code.get(row), name.get(row))
            {
                let (fips, pointers) = (format!("{state}{code}"), pointers.unwrap_or_default());
                let by_name = (
                    state.to_owned(),
                    name.strip_suffix(" County").unwrap_or(name).to_uppercase(),
                );
                names.county_codes.entry(by_name).or_insert_with(|| Known {
                    text: fips.clone(),
                    pointers: pointers.clone(),
                });
                names.counties.entry(fips).or_insert(Known {
                    text: name.to_owned(),
                    pointers,
                });
            }
        }
        Ok(names)
    }

    pub(super) fn load_counties_and_places(context: &Context<'_>) -> Result<Self> {
        let mut names = Self::of_counties(context)?;
        names.read_places(context)?;
        Ok(names)
    }

    fn read_places(&mut self, context: &Context<'_>) -> Result<()> {
        let frame = context.read_one("census.place_code")?.frame;
        let (state, code, name) = (
            text(&frame, "state_fips")?,
            text(&frame, "place_code")?,
            text(&frame, "name")?,
        );
        for (row, pointers) in pointers(&frame, POINTERS)?.into_iter().enumerate() {
            if let (Some(state), Some(code), Some(name)) =
                (state.get(row), code.get(row), name.get(row))
            {
                let known = Known {
                    text: strip_place_kind(name),
                    pointers: pointers.unwrap_or_default(),
                };
                self.places
                    .entry((state.to_owned(), code.to_owned()))
                    .or_insert(known);
            }
        }
        Ok(())
    }

    pub(super) fn county(&self, fips: &str) -> Option<&Known> {
        self.counties.get(fips)
    }

    pub(super) fn county_code(&self, state_fips: &str, name: &str) -> Option<&Known> {
        let name = name.trim().to_uppercase();
        self.county_codes.get(&(
            state_fips.to_owned(),
            name.strip_suffix(" COUNTY").unwrap_or(&name).to_owned(),
        ))
    }

    pub(super) fn place(&self, state_fips: &str, code: &str) -> Option<&Known> {
        self.places.get(&(state_fips.to_owned(), code.to_owned()))
    }

    /// Returns a state's counties, in code order.
    pub(super) fn counties_of(&self, state_fips: &str) -> Vec<(&String, &Known)> {
        let mut counties: Vec<(&String, &Known)> = self
            .counties
            .iter()
            .filter(|(fips, _)| fips.starts_with(state_fips))
            .collect();
        counties.sort_by_key(|(fips, _)| *fips);
        counties
    }
}

/// Removes the kind of place from the end of a name, as in `Minneapolis city`.
fn strip_place_kind(name: &str) -> String {
    let is_kind = |word: &str| {
        word.trim_start_matches('(')
            .starts_with(|c: char| c.is_lowercase())
            || word == "CDP"
    };
    let mut words: Vec<&str> = name.split(' ').collect();
    while words.len() > 1 && words.last().is_some_and(|word| is_kind(word)) {
        words.pop();
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::strip_place_kind;

    #[test]
    fn kinds_are_no_part_of_a_name() {
        for (name, expected) in [
            ("Minneapolis city", "Minneapolis"),
            ("St. Paul city", "St. Paul"),
            ("Carson City", "Carson City"),
            ("Abanda CDP", "Abanda"),
            (
                "Nashville-Davidson metropolitan government (balance)",
                "Nashville-Davidson",
            ),
            ("Lake in the Hills village", "Lake in the Hills"),
            ("city", "city"),
        ] {
            assert_eq!(strip_place_kind(name), expected);
        }
    }
}
