//! Reads the time zones of counties and states from the weather service's list of the counties in
//! its forecast zones. The list has one row for each forecast zone in a county, with the time zone
//! as a letter. A county divided by a time zone boundary has two letters.

use std::collections::{BTreeSet, HashMap};

use crate::datasets::Context;
use crate::normalise::{pointers, text};
use pubdata_core::error::Result;
use pubdata_core::provenance::POINTERS;

const ZONES: &str = "nws.zone_county";

/// Time zones in which a county or state has land.
#[derive(Default)]
pub(super) struct Letters {
    /// The weather service's letters for the time zones.
    letters: BTreeSet<char>,
    pub(super) pointers: Vec<u64>,
}

impl Letters {
    /// Returns the letter, or `None` if there are several.
    pub(super) fn only(&self) -> Option<char> {
        self.letters
            .first()
            .copied()
            .filter(|_| self.letters.len() == 1)
    }

    fn add(&mut self, letters: &str, pointers: &[u64]) {
        self.letters.extend(letters.chars());
        self.pointers.extend(pointers);
    }
}

/// Time zones by county code, and by state postal code.
#[derive(Default)]
pub(super) struct TimeZones {
    of_counties: HashMap<String, Letters>,
    of_states: HashMap<String, Letters>,
}

impl TimeZones {
    /// Reads the list. Returns no time zones if the list is missing. Rows for bodies of water have
    /// no county.
    pub(super) fn read(context: &Context<'_>) -> Result<Self> {
        let mut zones = Self::default();
        let Some(source) = context.read(ZONES)?.pop() else {
            return Ok(zones);
        };
        let frame = context.without_repeats(&source.frame)?;
        let (state, county, zone) = (
            text(&frame, "state")?,
            text(&frame, "county_fips")?,
            text(&frame, "time_zone")?,
        );
        for (row, pointers) in pointers(&frame, POINTERS)?.into_iter().enumerate() {
            if let (Some(state), Some(county), Some(zone)) =
                (state.get(row), county.get(row), zone.get(row))
            {
                let pointers = pointers.unwrap_or_default();
                zones
                    .of_counties
                    .entry(county.to_owned())
                    .or_default()
                    .add(zone, &pointers);
                zones
                    .of_states
                    .entry(state.to_owned())
                    .or_default()
                    .add(zone, &pointers);
            }
        }
        Ok(zones)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.of_counties.is_empty()
    }

    pub(super) fn of_county(&self, fips: &str) -> Option<&Letters> {
        self.of_counties.get(fips)
    }

    pub(super) fn of_state(&self, usps: &str) -> Option<&Letters> {
        self.of_states.get(usps)
    }
}
