//! Finds the boundary records of a place, in order of precedence: address, ZIP+4 code, ZIP code,
//! named place. For states whose boundaries are not published here, it finds the county and city by
//! name.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::http::endpoint::Call;
use crate::place::zips::Zips;
use crate::release::provenance::Provenance;
use crate::tax::goods::StateRules;
use crate::tax::table::STATES;
use crate::tax::table::boundaries::{Boundaries, Jurisdictions};
use crate::tax::table::rates::{Class as TaxClass, Rates};
use crate::tax::table::rules::Rules;
use crate::tax::table::taxability::Taxability;
use crate::tax::table::{StateTax, TaxTables};
use pubdata_core::canonical::address::city_key;
use pubdata_core::canonical::state;
use pubdata_store::Manifest;

use crate::tax::location::Location;

/// A boundary record.
#[derive(Debug, Clone, Copy)]
pub struct Hit<'a> {
    boundaries: &'a Boundaries,
    row: u32,
}

impl<'a> Hit<'a> {
    pub fn days(&self) -> (i32, Option<i32>) {
        self.boundaries.days(self.row)
    }

    pub fn jurisdictions(&self) -> &'a Jurisdictions {
        self.boundaries.jurisdictions(self.row)
    }

    /// Returns true if two records of a state have the same jurisdictions. A ZIP code may have
    /// thousands of records but only a few sets of jurisdictions.
    fn is_alike(&self, other: &Self) -> bool {
        self.boundaries.set(self.row) == other.boundaries.set(other.row)
            || self.jurisdictions() == other.jurisdictions()
    }

    pub fn provenance(&self, manifest: &'a Manifest) -> Provenance<'a> {
        self.boundaries.provenance(manifest, self.row)
    }
}

/// How precisely the place was matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TaxMatchLevel")]
pub enum Level {
    Address,
    Zip9,
    Zip5,
    Zip5Consensus,
    Zip5Lowest,
    Place,
    County,
    State,
}

/// Sets of jurisdictions in which a place may lie, each with its boundary record.
#[derive(Debug)]
pub struct Matches<'a> {
    pub level: Level,
    pub sets: Vec<(Jurisdictions, Option<Hit<'a>>)>,
    /// Areas around a city that is known only as the postal city: the place may be outside every
    /// city.
    pub around: Vec<(Jurisdictions, Option<Hit<'a>>)>,
    /// True if no list of places contains the city's name. The place may lie in any of the sets, or
    /// in an area that no list names.
    pub is_city_unlisted: bool,
}

impl<'a> Matches<'a> {
    fn new(level: Level, sets: Vec<(Jurisdictions, Option<Hit<'a>>)>) -> Self {
        Self {
            level,
            sets,
            around: Vec::new(),
            is_city_unlisted: false,
        }
    }
}

/// A lookup in one state on one day.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    pub zips: Option<&'a Zips>,
    pub rules: &'a Rules,
    taxability: Option<&'a Taxability>,
    /// Row of the state in the rules.
    pub rule: usize,
    pub state: &'a StateTax,
    pub state_code: &'static str,
    /// Days since 1970-01-01.
    pub day: i32,
    pub is_interstate: bool,
    /// True if the state's file lists only addresses with a local tax. At all other addresses in
    /// their ZIP codes, only the state taxes sales.
    lists_only_taxed_addresses: bool,
}

impl<'a> Search<'a> {
    /// Prepares a lookup. Returns `None` if nothing is known about the state.
    pub fn new(
        call: &Call<'a>,
        state_code: &'static str,
        day: i32,
        is_interstate: bool,
    ) -> Option<Self> {
        let index = TaxTables::from_release(call.release);
        let rules = index.rules.as_ref()?;
        let rule = rules.columns.state.find(state_code)?;
        let known = call
            .contracts()
            .get(STATES)
            .and_then(|contract| contract.value("state", state_code));
        let lists_only_taxed_addresses =
            known.and_then(|known| known.note("addresses")) == Some("only_taxed");
        let (zips, state) = (call.release.table(), index.state(state_code));
        let taxability = index.taxability.as_ref();
        Some(Self {
            zips,
            rules,
            taxability,
            rule,
            state,
            state_code,
            day,
            is_interstate,
            lists_only_taxed_addresses,
        })
    }

    pub fn rule_rate(&self) -> Option<i64> {
        self.rules.rate(self.rule)
    }

    pub fn rule_day(&self) -> Option<i32> {
        self.rules.effective_day(self.rule)
    }

    /// Returns the state's rules for goods on the day.
    pub fn rules_of_goods(&self) -> StateRules<'a> {
        StateRules {
            table: self.taxability,
            state: self.state_code,
            day: self.day,
        }
    }

    pub fn state_name(&self) -> &'a str {
        self.rules.columns.state_name.at(self.rule)
    }

    /// Finds the place in the boundary records. Returns `None` if no record for the day covers the
    /// place. A place outside every city never matches a record with a city's tax.
    pub fn by_boundaries(&self, location: &Location) -> Option<Matches<'a>> {
        let Some(mut matches) = self.in_boundaries(location) else {
            return self.outside(location);
        };
        if location.is_unincorporated {
            matches.sets.retain(|(set, _)| set.place.is_none());
        }
        if let Some(given) = &location.county_fips {
            // A state may use county codes other than FIPS.
            let is_there = |set: &Jurisdictions| {
                set.county
                    .as_ref()
                    .is_none_or(|code| code.len() != 3 || given.ends_with(code.as_str()))
            };
            matches.sets.retain(|(set, _)| is_there(set));
            matches.around.retain(|(set, _)| is_there(set));
        }
        (!matches.sets.is_empty()).then_some(matches)
    }

    /// Matches a place outside every city, in a county that no list of cities and counties names.
    /// Such a place has only the state's tax, apart from districts that are not known here.
    fn outside(&self, location: &Location) -> Option<Matches<'a>> {
        let (counties, state_fips) = (self.counties(location), state::fips(self.state_code)?);
        let is_here = counties.iter().any(|county| county.starts_with(state_fips))
            && self.in_counties(&counties).is_empty();
        let is_listed = location.is_unincorporated && self.method() == "places";
        (is_listed && is_here)
            .then(|| Matches::new(Level::County, vec![(Jurisdictions::state_only(), None)]))
    }

    /// Like [`Search::by_boundaries`], regardless of `is_unincorporated`.
    pub fn in_boundaries(&self, location: &Location) -> Option<Matches<'a>> {
        let Some(zip) = location.zip() else {
            return self.by_city(location);
        };
        let of_zip = self
            .by_address(zip, location)
            .or_else(|| self.by_zip9(location))
            .or_else(|| self.by_zip5(zip))
            .or_else(|| self.by_parts_of_zip(zip));
        of_zip.or_else(|| self.by_place(location))
    }

    /// Returns all records that cover the place, whatever their days. They distinguish an unknown
    /// place from a day without records.
    pub fn hits_of_any_day(&self, location: &Location) -> Vec<Hit<'a>> {
        let zips: Vec<u32> = location
            .zip()
            .map_or_else(|| self.zips_of_city(location), |zip| vec![zip]);
        let mut hits: Vec<Hit<'a>> = zips.into_iter().flat_map(|zip| self.in_zip(zip)).collect();
        let counties = self.counties(location);
        hits.extend(
            self.places(location)
                .iter()
                .flat_map(|name| self.all(|boundaries| boundaries.of_place(name, &counties))),
        );
        hits.extend(self.in_counties(&counties));
        hits
    }

    /// Returns all sets of jurisdictions in a ZIP code on the day.
    pub fn sets_of_zip(&self, zip: u32) -> Vec<(Jurisdictions, Option<Hit<'a>>)> {
        let of_code = self.holding(
            self.all(|boundaries| boundaries.of_zip5(zip).chain(boundaries.of_any_zip9(zip))),
        );
        self.with_addresses(zip, of_code)
    }

    /// Adds the address ranges of a ZIP code. If only taxed addresses are listed, the rest of the
    /// ZIP code has only the state's tax.
    fn with_addresses(
        &self,
        zip: u32,
        of_code: Vec<Hit<'a>>,
    ) -> Vec<(Jurisdictions, Option<Hit<'a>>)> {
        let has_code = !of_code.is_empty();
        let mut sets = distinct(
            of_code
                .into_iter()
                .chain(self.holding(self.all(|boundaries| boundaries.of_any_address(zip)))),
        );
        let is_sparse = self.lists_only_taxed_addresses && !has_code;
        if is_sparse
            && !sets.is_empty()
            && sets
                .iter()
                .all(|(set, _)| *set != Jurisdictions::state_only())
        {
            sets.push((Jurisdictions::state_only(), None));
        }
        sets
    }

    fn in_zip(&self, zip: u32) -> Vec<Hit<'a>> {
        self.all(|boundaries| {
            boundaries
                .of_zip5(zip)
                .chain(boundaries.of_any_zip9(zip))
                .chain(boundaries.of_any_address(zip))
        })
    }

    fn all<I: IntoIterator<Item = u32>>(&self, rows: impl Fn(&'a Boundaries) -> I) -> Vec<Hit<'a>> {
        self.state
            .boundaries
            .iter()
            .flat_map(|boundaries| {
                rows(boundaries)
                    .into_iter()
                    .map(move |row| Hit { boundaries, row })
            })
            .collect()
    }

    fn holding(&self, hits: impl IntoIterator<Item = Hit<'a>>) -> Vec<Hit<'a>> {
        let is_on = |hit: &Hit<'a>| {
            let (begin, end) = hit.days();
            begin <= self.day && end.is_none_or(|end| self.day <= end)
        };
        hits.into_iter().filter(is_on).collect()
    }

    /// Finds records that cover an address. Records for a part of a building come before records
    /// for the entire building, and narrower ranges come before wider ones.
    fn by_address(&self, zip: u32, location: &Location) -> Option<Matches<'a>> {
        let boundaries = self.state.boundaries.iter();
        let fits = boundaries.flat_map(|boundaries| {
            boundaries
                .of_address(zip, &location.address)
                .into_iter()
                .map(move |fit| (boundaries, fit))
        });
        let on_day: Vec<_> = fits
            .filter(|(boundaries, fit)| {
                !self
                    .holding([Hit {
                        boundaries,
                        row: fit.row,
                    }])
                    .is_empty()
            })
            .collect();
        let rank = |fit: &crate::tax::table::addresses::Fit| (fit.is_whole_building, fit.width);
        let best = on_day.iter().map(|(_, fit)| rank(fit)).min()?;
        let hits =
            on_day
                .into_iter()
                .filter(|(_, fit)| rank(fit) == best)
                .map(|(boundaries, fit)| Hit {
                    boundaries,
                    row: fit.row,
                });
        Some(Matches::new(Level::Address, distinct(hits)))
    }

    /// Finds records with the narrowest range of ZIP+4 codes. A wide range is the default for the
    /// ranges inside it.
    fn by_zip9(&self, location: &Location) -> Option<Matches<'a>> {
        let zip9 = location.zip9()?;
        let ranges = self.state.boundaries.iter().flat_map(|boundaries| {
            boundaries
                .of_zip9(zip9)
                .map(move |(row, width)| (Hit { boundaries, row }, width))
        });
        let on_day: Vec<_> = ranges
            .filter(|(hit, _)| !self.holding([*hit]).is_empty())
            .collect();
        let narrowest = on_day.iter().map(|(_, width)| *width).min()?;
        let hits = on_day
            .into_iter()
            .filter(|(_, width)| *width == narrowest)
            .map(|(hit, _)| hit);
        Some(Matches::new(Level::Zip9, distinct(hits)))
    }

    fn by_zip5(&self, zip: u32) -> Option<Matches<'a>> {
        let sets = distinct(self.holding(self.all(|boundaries| boundaries.of_zip5(zip))));
        let level = if sets.len() > 1 {
            Level::Zip5Lowest
        } else {
            Level::Zip5
        };
        (!sets.is_empty()).then(|| Matches::new(level, sets))
    }

    /// Combines the parts of a ZIP code into a result for the entire ZIP code.
    fn by_parts_of_zip(&self, zip: u32) -> Option<Matches<'a>> {
        let sets = self.with_addresses(
            zip,
            self.holding(self.all(|boundaries| boundaries.of_any_zip9(zip))),
        );
        let level = if sets.len() == 1 {
            Level::Zip5Consensus
        } else {
            Level::Zip5Lowest
        };
        (!sets.is_empty()).then(|| Matches::new(level, sets))
    }

    /// Finds a named place, or all areas of its county if no record has the name.
    fn by_place(&self, location: &Location) -> Option<Matches<'a>> {
        let (counties, names) = (self.counties(location), self.places(location));
        let of_name = |name: &String| {
            distinct(self.holding(self.all(|boundaries| boundaries.of_place(name, &counties))))
        };
        let rest = || self.holding(self.in_counties(&counties));
        if let Some(sets) = names.iter().map(of_name).find(|sets| !sets.is_empty()) {
            // An address names its postal city, which also delivers outside the city.
            let other = || {
                self.holding(
                    self.places_of(&counties, |name| name == city_key(&location.address.city)),
                )
            };
            let around = if location.zip().is_some() {
                distinct(rest().into_iter().chain(other()))
            } else {
                Vec::new()
            };
            let around = around
                .into_iter()
                .filter(|(set, _)| sets.iter().all(|(known, _)| known != set))
                .collect();
            return Some(Matches {
                around,
                ..Matches::new(Level::Place, sets)
            });
        }
        if self.method() != "places" || names.is_empty() {
            let sets = distinct(rest());
            return (!sets.is_empty()).then(|| Matches::new(Level::County, sets));
        }
        let sets = distinct(
            rest()
                .into_iter()
                .chain(self.holding(self.places_of(&counties, |_| true))),
        );
        // A county listed as one area has one rate, whatever the name of the place.
        let is_one_area = sets.len() == 1 && counties.iter().all(|county| self.has_rest(county));
        (!sets.is_empty()).then(|| Matches {
            is_city_unlisted: !is_one_area,
            ..Matches::new(Level::County, sets)
        })
    }

    fn places_of(&self, counties: &[String], is_selected: impl Fn(&str) -> bool) -> Vec<Hit<'a>> {
        self.all(|boundaries| {
            boundaries
                .places_of(counties)
                .into_iter()
                .filter(|(_, name)| is_selected(name))
                .map(|(row, _)| row)
                .collect::<Vec<u32>>()
        })
    }

    /// Returns true if a list states the taxes of a county outside its named places.
    fn has_rest(&self, county: &String) -> bool {
        !self
            .holding(self.in_counties(std::slice::from_ref(county)))
            .is_empty()
    }

    /// Returns the jurisdictions common to all sets. Returns only the state's tax if a part of
    /// their counties may be in none of the sets.
    pub fn common(
        &self,
        location: &Location,
        sets: &[(Jurisdictions, Option<Hit<'a>>)],
    ) -> Jurisdictions {
        let counties = self.counties(location);
        let is_whole = |county: &String| self.is_without_boundaries() || self.has_rest(county);
        let Some(((first, _), others)) =
            sets.split_first().filter(|_| counties.iter().all(is_whole))
        else {
            return Jurisdictions::state_only();
        };
        let is_in_all =
            |is_in: &dyn Fn(&Jurisdictions) -> bool| others.iter().all(|(set, _)| is_in(set));
        Jurisdictions {
            has_state_tax: first.has_state_tax && is_in_all(&|set| set.has_state_tax),
            county: first
                .county
                .clone()
                .filter(|_| is_in_all(&|set| set.county == first.county)),
            place: None,
            special: first
                .special
                .iter()
                .filter(|own| is_in_all(&|set| set.special.contains(own)))
                .cloned()
                .collect(),
        }
    }

    /// Returns the name of the city used in the lookup, from the address or the ZIP code.
    pub fn city_name<'l>(&'l self, location: &'l Location) -> &'l str {
        let of_zip = self.zips.zip(location.zip_row).filter(|(zips, row)| {
            !zips
                .city_names(*row)
                .contains(&city_key(&location.address.city))
        });
        of_zip.map_or(location.address.city.as_str(), |(zips, row)| {
            zips.cities.at(row)
        })
    }

    fn in_counties(&self, counties: &[String]) -> Vec<Hit<'a>> {
        counties
            .iter()
            .flat_map(|county| self.all(|boundaries| boundaries.of_county(county).iter().copied()))
            .collect()
    }

    /// Finds a city without a ZIP code, either as a named place or by the areas of the city's ZIP
    /// codes.
    fn by_city(&self, location: &Location) -> Option<Matches<'a>> {
        self.by_place(location).or_else(|| {
            let sets = self
                .zips_of_city(location)
                .into_iter()
                .flat_map(|zip| self.sets_of_zip(zip));
            let sets = merged(sets.collect());
            (!sets.is_empty()).then(|| Matches::new(Level::Place, sets))
        })
    }

    /// Returns the city names of the place, normalised for comparison: the address's city if the
    /// ZIP code lists it, otherwise the cities of the ZIP code.
    fn places(&self, location: &Location) -> Vec<String> {
        if location.is_unincorporated {
            return Vec::new();
        }
        let of_zip = self
            .zips
            .zip(location.zip_row)
            .map(|(zips, row)| zips.city_names(row))
            .unwrap_or_default();
        let city = &city_key(&location.address.city);
        // Ignore a city that does not belong to the ZIP code.
        if city.is_empty() || (!of_zip.is_empty() && !of_zip.contains(city)) {
            of_zip
        } else {
            vec![city.clone()]
        }
    }

    /// Returns the FIPS codes of the counties that the place's ZIP code touches. If no ZIP code is
    /// given, returns the counties that the city's ZIP codes touch.
    fn counties(&self, location: &Location) -> Vec<String> {
        let Some(zips) = self.zips else {
            return Vec::new();
        };
        let rows: Vec<usize> = match location.zip_row {
            Some(row) => vec![row],
            None => zips
                .of_city(self.state_code, &location.address.city)
                .iter()
                .map(|row| *row as usize)
                .collect(),
        };
        let mut counties: Vec<String> = rows
            .into_iter()
            .flat_map(|row| counties_of(zips, row))
            .collect();
        counties.sort();
        counties.dedup();
        counties.retain(|county| {
            location
                .county_fips
                .as_ref()
                .is_none_or(|given| given == county)
        });
        counties
    }

    fn zips_of_city(&self, location: &Location) -> Vec<u32> {
        let Some(zips) = self.zips else {
            return Vec::new();
        };
        zips.of_city(self.state_code, &location.address.city)
            .iter()
            .filter_map(|row| zips.codes.at(*row as usize).parse().ok())
            .collect()
    }

    /// Returns true if the state's local rates are published individually.
    pub fn has_local_rates(&self) -> bool {
        matches!(self.method(), "boundaries" | "places" | "counties")
    }

    /// Returns the method by which a rate in the state is found.
    pub fn method(&self) -> &'a str {
        self.rules.columns.method.at(self.rule)
    }

    /// Returns true if local rates are known but not their boundaries.
    pub fn is_without_boundaries(&self) -> bool {
        self.state.boundaries.is_none() && self.has_local_rates()
    }

    /// Returns true if districts tax sales on the day but cannot be located.
    pub fn lacks_districts(&self) -> bool {
        let taxes = |rates: &Rates| {
            rates.of_class(TaxClass::Special).any(|row| {
                rates.is_on(row, self.day) && rates.general(row, self.is_interstate) > Some(0)
            })
        };
        self.is_without_boundaries() && self.state.rates.iter().any(taxes)
    }

    /// Ranks a set of jurisdictions by its distance from the named city. A set without the tax of a
    /// city with that name ranks lower. A set outside the county that lists most of the city's ZIP
    /// codes ranks lower still. All sets rank equally if a ZIP code is given, because it determines
    /// the place.
    pub fn rank(&self, location: &Location) -> impl Fn(&Jurisdictions) -> u8 + use<'a> {
        let is_named = location.address.zip.is_empty();
        let codes: Vec<&str> = self
            .state
            .rates
            .iter()
            .flat_map(|rates| rates.cities(&location.address.city))
            .collect();
        let county = self
            .listed_county(location)
            .filter(|code| self.taxes(TaxClass::County, code));
        move |set| {
            let has_city = set
                .place
                .as_deref()
                .is_some_and(|place| codes.contains(&place));
            if is_named {
                2 * u8::from(!has_city) + u8::from(set.county != county)
            } else {
                0
            }
        }
    }

    /// Returns the code of the county that lists most of the city's ZIP codes.
    fn listed_county(&self, location: &Location) -> Option<String> {
        let zips = self.zips?;
        let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
        for row in zips.of_city(self.state_code, &location.address.city) {
            if let Some(fips) = zips.county_fips.get(*row as usize) {
                *counted.entry(fips).or_default() += 1;
            }
        }
        let (fips, _) = counted.into_iter().rev().max_by_key(|(_, count)| *count)?;
        fips.get(2..).map(str::to_owned)
    }

    /// Returns true if any city of the state has a tax on the day.
    fn taxes_in_cities(&self) -> bool {
        let taxes = |rates: &Rates| {
            rates.of_class(TaxClass::City).any(|row| {
                rates.is_on(row, self.day) && rates.general(row, self.is_interstate) != Some(0)
            })
        };
        self.state.rates.iter().any(taxes)
    }

    fn taxes(&self, class: TaxClass, code: &str) -> bool {
        self.state
            .rates
            .iter()
            .any(|rates| rates.on(class, code, self.day).next().is_some())
    }

    /// Finds the county and city by name, for a state with rates but without boundaries.
    pub fn by_name(&self, location: &Location) -> Option<Matches<'a>> {
        // A ZIP code may belong to a different state than the requested one.
        let state_fips = state::fips(self.state_code)?;
        let counties: Vec<String> = self
            .counties(location)
            .iter()
            .filter_map(|fips| fips.strip_prefix(state_fips).map(str::to_owned))
            .collect();
        let names = self.places(location);
        let codes = |name: &String| {
            self.state
                .rates
                .iter()
                .flat_map(|rates| rates.cities(name))
                .find(|code| self.taxes(TaxClass::City, code))
        };
        let city = names.iter().find_map(codes);
        if counties.is_empty() {
            return None;
        }
        // If only counties have a local tax, a county whose rows are for other days is unknown on
        // this day.
        let is_listed = |code: &str| {
            self.method() == "counties"
                && self
                    .state
                    .rates
                    .iter()
                    .any(|rates| rates.has(TaxClass::County, code))
        };
        let set = |county: &String| {
            let county = Some(county.clone())
                .filter(|code| is_listed(code) || self.taxes(TaxClass::County, code));
            (
                Jurisdictions {
                    has_state_tax: true,
                    county,
                    place: city.map(str::to_owned),
                    special: Vec::new(),
                },
                None,
            )
        };
        let sets = merged(counties.iter().map(set).collect());
        let has_name = |name: &String| {
            self.state
                .rates
                .iter()
                .any(|rates| rates.cities(name).next().is_some())
        };
        let is_city_unlisted = self.method() != "counties"
            && !names.is_empty()
            && !names.iter().any(has_name)
            && self.taxes_in_cities();
        Some(Matches {
            is_city_unlisted,
            ..Matches::new(
                if city.is_some() {
                    Level::Place
                } else {
                    Level::County
                },
                sets,
            )
        })
    }
}

/// Returns the FIPS codes of a ZIP code's counties: all counties that its area touches, or the
/// county of its place.
fn counties_of(zips: &Zips, row: usize) -> Vec<String> {
    let touched: Vec<String> = zips.counties.as_ref().map_or_else(Vec::new, |counties| {
        counties
            .of_zip(zips.codes.at(row))
            .map(|row| counties.county_fips.at(row).to_owned())
            .collect()
    });
    if touched.is_empty() {
        zips.county_fips
            .get(row)
            .map(str::to_owned)
            .into_iter()
            .collect()
    } else {
        touched
    }
}

/// Keeps one record for each set of jurisdictions: the record that began last.
fn distinct<'a>(hits: impl IntoIterator<Item = Hit<'a>>) -> Vec<(Jurisdictions, Option<Hit<'a>>)> {
    let mut found: Vec<Hit<'a>> = Vec::new();
    for hit in hits {
        match found.iter_mut().find(|known| known.is_alike(&hit)) {
            Some(known) if known.days().0 < hit.days().0 => *known = hit,
            Some(_) => {}
            None => found.push(hit),
        }
    }
    found
        .into_iter()
        .map(|hit| (hit.jurisdictions().clone(), Some(hit)))
        .collect()
}

fn merged<'a>(
    mut sets: Vec<(Jurisdictions, Option<Hit<'a>>)>,
) -> Vec<(Jurisdictions, Option<Hit<'a>>)> {
    sets.sort_by(|a, b| a.0.cmp(&b.0));
    sets.dedup_by(|a, b| a.0 == b.0);
    sets
}
