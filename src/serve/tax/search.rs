//! Finds the boundary records of a place, in the order in which they count: address, ZIP+4 code,
//! ZIP code, named place; and, for states whose boundaries are not published here, the county and
//! city by name.

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

    /// Whether two records of a state are of the same jurisdictions. A ZIP code may have thousands,
    /// of few sets.
    fn is_alike(&self, other: &Self) -> bool {
        self.boundaries.set(self.row) == other.boundaries.set(other.row)
            || self.jurisdictions() == other.jurisdictions()
    }

    /// The provenance of the record.
    pub fn provenance(&self, manifest: &'a Manifest) -> Provenance<'a> {
        self.boundaries.provenance(manifest, self.row)
    }
}

/// How near to the place the answer is.
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

/// Sets of jurisdictions that a place may lie in, each with the record that says so.
#[derive(Debug)]
pub struct Matches<'a> {
    pub level: Level,
    pub sets: Vec<(Jurisdictions, Option<Hit<'a>>)>,
    /// What lies around a city that a place is known by only as its mail is: outside of every city.
    pub around: Vec<(Jurisdictions, Option<Hit<'a>>)>,
    /// Whether no list of places has the city's name: the place may lie in any of the sets, or in
    /// an area that no list names.
    pub is_city_unlisted: bool,
}

impl<'a> Matches<'a> {
    fn of(level: Level, sets: Vec<(Jurisdictions, Option<Hit<'a>>)>) -> Self {
        Self {
            level,
            sets,
            around: Vec::new(),
            is_city_unlisted: false,
        }
    }
}

/// One question about a state on a day.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    pub zips: Option<&'a Zips>,
    pub rules: &'a Rules,
    taxability: Option<&'a Taxability>,
    /// The state's row of the rules.
    pub rule: usize,
    pub state: &'a StateTax,
    pub state_code: &'static str,
    /// Days since 1970-01-01.
    pub day: i32,
    pub is_interstate: bool,
    /// Whether the state's file lists addresses with a local tax and no others: elsewhere in their
    /// ZIP codes only the state taxes.
    lists_only_taxed_addresses: bool,
}

impl<'a> Search<'a> {
    /// A question; none when nothing is known of the state.
    pub fn new(
        call: &Call<'a>,
        state_code: &'static str,
        day: i32,
        is_interstate: bool,
    ) -> Option<Self> {
        let index = TaxTables::of(call.release);
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

    /// What the state taxes on the day.
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

    /// Looks the place up in the boundary records; none when no record of the day has it. A place
    /// outside of every city is in none that has a city's tax.
    pub fn by_boundaries(&self, location: &Location) -> Option<Matches<'a>> {
        let Some(mut matches) = self.in_boundaries(location) else {
            return self.outside(location);
        };
        if location.is_unincorporated {
            matches.sets.retain(|(set, _)| set.place.is_none());
        }
        if let Some(given) = &location.county_fips {
            // A state may have other codes of counties than FIPS.
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

    /// A place outside of every city, in a county that no list of cities and counties names: only
    /// the state taxes it, and districts that nothing here tells.
    fn outside(&self, location: &Location) -> Option<Matches<'a>> {
        let (counties, state_fips) = (self.counties(location), state::fips(self.state_code)?);
        let is_here = counties.iter().any(|county| county.starts_with(state_fips))
            && self.in_counties(&counties).is_empty();
        let is_listed = location.is_unincorporated && self.method() == "places";
        (is_listed && is_here)
            .then(|| Matches::of(Level::County, vec![(Jurisdictions::state_only(), None)]))
    }

    /// As [`Search::by_boundaries`], in cities or not.
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

    /// Every record of any day that has the place in it: what tells a place that is not there from
    /// a day that is not.
    pub fn of_any_day(&self, location: &Location) -> Vec<Hit<'a>> {
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

    /// All sets of jurisdictions in a ZIP code on the day.
    pub fn sets_of_zip(&self, zip: u32) -> Vec<(Jurisdictions, Option<Hit<'a>>)> {
        let of_code = self.holding(
            self.all(|boundaries| boundaries.of_zip5(zip).chain(boundaries.of_any_zip9(zip))),
        );
        self.with_addresses(zip, of_code)
    }

    /// Adds what address ranges say of a ZIP code. Where only taxed addresses are listed they do
    /// not speak for the rest of it.
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

    /// Records that hold an address: one of a part of the building before one of the whole, the
    /// narrower range first.
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
        Some(Matches::of(Level::Address, distinct(hits)))
    }

    /// Records of the narrowest range of ZIP+4 codes: a wide one is only the default of those
    /// inside it.
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
        Some(Matches::of(Level::Zip9, distinct(hits)))
    }

    fn by_zip5(&self, zip: u32) -> Option<Matches<'a>> {
        let sets = distinct(self.holding(self.all(|boundaries| boundaries.of_zip5(zip))));
        let level = if sets.len() > 1 {
            Level::Zip5Lowest
        } else {
            Level::Zip5
        };
        (!sets.is_empty()).then(|| Matches::of(level, sets))
    }

    /// What the parts of a ZIP code say of the whole.
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
        (!sets.is_empty()).then(|| Matches::of(level, sets))
    }

    /// A named place; where the name has no record, all areas of its county.
    fn by_place(&self, location: &Location) -> Option<Matches<'a>> {
        let (counties, names) = (self.counties(location), self.places(location));
        let of_name = |name: &String| {
            distinct(self.holding(self.all(|boundaries| boundaries.of_place(name, &counties))))
        };
        let rest = || self.holding(self.in_counties(&counties));
        if let Some(sets) = names.iter().map(of_name).find(|sets| !sets.is_empty()) {
            // A city of an address is that of its mail, which is brought outside of the city too.
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
                ..Matches::of(Level::Place, sets)
            });
        }
        if self.method() != "places" || names.is_empty() {
            let sets = distinct(rest());
            return (!sets.is_empty()).then(|| Matches::of(Level::County, sets));
        }
        let sets = distinct(
            rest()
                .into_iter()
                .chain(self.holding(self.places_of(&counties, |_| true))),
        );
        // A county that is listed as one area has one rate, whatever the place is called.
        let is_one_area = sets.len() == 1 && counties.iter().all(|county| self.has_rest(county));
        (!sets.is_empty()).then(|| Matches {
            is_city_unlisted: !is_one_area,
            ..Matches::of(Level::County, sets)
        })
    }

    fn places_of(&self, counties: &[String], is_wanted: impl Fn(&str) -> bool) -> Vec<Hit<'a>> {
        self.all(|boundaries| {
            boundaries
                .places_of(counties)
                .into_iter()
                .filter(|(_, name)| is_wanted(name))
                .map(|(row, _)| row)
                .collect::<Vec<u32>>()
        })
    }

    /// Whether a list says what taxes in a county outside of its named places.
    fn has_rest(&self, county: &String) -> bool {
        !self
            .holding(self.in_counties(std::slice::from_ref(county)))
            .is_empty()
    }

    /// What all of some sets have alike; only the state's tax where a part of their counties may be
    /// in none of them.
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

    /// The name of the city that a place is looked up by, as its address or ZIP code has it.
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

    /// A city without a ZIP code: a named place, or whatever its ZIP codes are.
    fn by_city(&self, location: &Location) -> Option<Matches<'a>> {
        self.by_place(location).or_else(|| {
            let sets = self
                .zips_of_city(location)
                .into_iter()
                .flat_map(|zip| self.sets_of_zip(zip));
            let sets = merged(sets.collect());
            (!sets.is_empty()).then(|| Matches::of(Level::Place, sets))
        })
    }

    /// The names of the place, as cities are compared: that of the address where its ZIP code has
    /// it, else those of the ZIP code.
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
        // A city that is not the ZIP code's does not count.
        if city.is_empty() || (!of_zip.is_empty() && !of_zip.contains(city)) {
            of_zip
        } else {
            vec![city.clone()]
        }
    }

    /// FIPS codes of the counties that the place's ZIP code touches, or any of the city's.
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

    /// Whether the state's local rates are published one by one.
    pub fn has_local_rates(&self) -> bool {
        matches!(self.method(), "boundaries" | "places" | "counties")
    }

    /// How a rate of the state is found.
    pub fn method(&self) -> &'a str {
        self.rules.columns.method.at(self.rule)
    }

    /// Whether local rates are known, and no boundaries of them.
    pub fn is_without_boundaries(&self) -> bool {
        self.state.boundaries.is_none() && self.has_local_rates()
    }

    /// Whether districts tax on the day, and nothing here says where.
    pub fn lacks_districts(&self) -> bool {
        let taxes = |rates: &Rates| {
            rates.of_class(TaxClass::Special).any(|row| {
                rates.is_on(row, self.day) && rates.general(row, self.is_interstate) > Some(0)
            })
        };
        self.is_without_boundaries() && self.state.rates.iter().any(taxes)
    }

    /// How far a set of jurisdictions is from the city that a place is named by: without the tax of
    /// the city of that name, outside of the county that most of the city's ZIP codes are listed
    /// in. Where a ZIP code is given it tells the place, and all are alike.
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

    /// Code of the county that most ZIP codes of the city are listed in.
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

    /// Whether any city of the state has a tax on the day.
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

    /// County and city by name: for a state with rates whose boundaries are not here.
    pub fn by_name(&self, location: &Location) -> Option<Matches<'a>> {
        // A ZIP code may be of another state than the one that is asked for.
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
        // Where whole counties tax, one that has rows of other days only is not known on this one.
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
            ..Matches::of(
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

/// Codes of a ZIP code's counties: all that its area touches, or that of its place.
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

/// One record for each set of jurisdictions: the one that began last.
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
