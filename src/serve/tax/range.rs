//! Finds the lowest and highest rate in a ZIP code, because a ZIP code alone does not determine a
//! single rate.

use crate::days;
use crate::place::zips::Zips;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::endpoint::Call;
use crate::release::provenance::Provenance;
use crate::tax::candidate::Candidate;
use crate::tax::goods::{Category, Goods};
use crate::tax::location::Location;
use crate::tax::lookup::{coverage, coverage_of_day, is_incomplete};
use crate::tax::search::{Matches, Search};
use crate::tax::table::boundaries::Jurisdictions;
use pubdata_core::canonical::address::Address;
use pubdata_core::canonical::state::usps;
use pubdata_store::Manifest;

const GENERAL: Goods = Goods {
    category: Category::General,
    price: None,
};

/// Lowest and highest rate of a ZIP code, in millionths.
#[derive(Debug)]
pub struct Range<'a> {
    pub min: i64,
    pub max: i64,
    pub as_of: Date,
    /// How completely the state's local rates are known.
    pub coverage: &'static str,
    search: Search<'a>,
    candidates: Vec<Candidate<'a>>,
}

/// Reason why the range of a ZIP code's rates is not known.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ZipSalesTaxNullReason")]
pub enum Unknown {
    // The release lacks the state's local rates for the current day.
    LocalRatesNotCovered,
    // The state's list has no rate for the ZIP code's city.
    CityNotListed,
    // The release lacks a rate for a place in the ZIP code.
    RateNotPublished,
}

/// Returns the current rates of a row's ZIP code.
///
/// # Errors
/// The reason why not all rates are known.
pub fn range_of_zip<'a>(call: &Call<'a>, row: usize) -> Result<Range<'a>, Unknown> {
    let zips = call
        .release
        .table::<Zips>()
        .ok_or(Unknown::LocalRatesNotCovered)?;
    let as_of = call.today();
    let state = usps(zips.states.at(row)).ok_or(Unknown::LocalRatesNotCovered)?;
    let is_interstate = false;
    let manifest = &call.release.manifest;
    let search = Search::new(call, state, days::since_epoch(as_of), is_interstate)
        .filter(|search| coverage(search) == "full" && !is_incomplete(search, manifest));
    let search = search.ok_or(Unknown::LocalRatesNotCovered)?;
    let whole = |matches: Option<Matches<'a>>| match matches {
        Some(matches) if matches.is_city_unlisted => Err(Unknown::CityNotListed),
        matches => matches.ok_or(Unknown::RateNotPublished),
    };
    let address = Address {
        zip: zips.codes.at(row).to_owned(),
        state: state.to_owned(),
        ..Address::default()
    };
    let location = Location {
        address,
        state,
        zip_row: Some(row),
        county_fips: None,
        is_unincorporated: false,
        notices: Vec::new(),
    };
    let sets = match search.method() {
        "no_tax" => vec![(
            Jurisdictions {
                has_state_tax: false,
                ..Jurisdictions::state_only()
            },
            None,
        )],
        _ if search.is_without_boundaries() => whole(search.by_name(&location))?.sets,
        _ if search.has_local_rates() => {
            match search.sets_of_zip(location.zip().ok_or(Unknown::RateNotPublished)?) {
                sets if sets.is_empty() => {
                    let matches = whole(search.by_boundaries(&location))?;
                    [matches.sets, matches.around].concat()
                }
                sets => sets,
            }
        }
        _ => vec![(Jurisdictions::state_only(), None)],
    };
    let candidates: Vec<Candidate<'a>> = sets
        .iter()
        .map(|(set, hit)| Candidate::new(&search, set, *hit))
        .collect();
    let is_whole = |candidate: &Candidate<'_>| {
        candidate.missing.is_empty() && candidate.combined(GENERAL).is_ok()
    };
    let rates = || candidates.iter().map(|candidate| candidate.known(GENERAL));
    let (min, max) = rates()
        .min()
        .zip(rates().max())
        .filter(|_| candidates.iter().all(is_whole))
        .ok_or(Unknown::RateNotPublished)?;
    let coverage = coverage_of_day(&search, manifest);
    Ok(Range {
        min,
        max,
        as_of,
        coverage,
        search,
        candidates,
    })
}

impl<'a> Range<'a> {
    /// Returns the records behind the range: the state's record, and the boundary and rate records
    /// for the lowest and the highest rate.
    pub fn provenance(&self, manifest: &'a Manifest) -> Vec<Provenance<'a>> {
        let mut records = vec![
            self.search
                .rules
                .provenance
                .for_row(manifest, self.search.rule),
        ];
        let [first, last] = [self.min, self.max].map(|rate| {
            self.candidates
                .iter()
                .find(|candidate| candidate.known(GENERAL) == rate)
        });
        let last = last.filter(|_| self.min != self.max);
        let mut known = Vec::new();
        for candidate in first.into_iter().chain(last) {
            records.extend(candidate.hit.map(|hit| hit.provenance(manifest)));
            for component in &candidate.components {
                let record_id = component
                    .row
                    .map(|(rates, row)| rates.provenance.record_id(row));
                if !known.contains(&record_id) {
                    known.push(record_id);
                    records.extend(component.provenance(manifest));
                }
            }
        }
        records
    }
}
