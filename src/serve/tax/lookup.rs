//! Looks up the rates of a place on a day. The state's method decides where to search, and notices
//! report what could not be determined.

use crate::tax::table::TaxTables;
use jiff::civil::Date;

use crate::days;
use crate::http::endpoint::Call;
use crate::http::meta::Notice;
use crate::http::problem::not_published;
use crate::http::problem::{Code, Problem, Result};
use crate::tax::candidate::Candidate;
use crate::tax::goods::{Category, percent, unread_notice};
use crate::tax::location::Location;
use crate::tax::search::{Level, Matches, Search};
use crate::tax::table::boundaries::Jurisdictions;
use crate::tax::table::rates::{Class as TaxClass, Rates};
use crate::tax::table::taxability::Rule;
use pubdata_core::provenance::Snapshot;
use pubdata_store::Manifest;

/// Order in which an answer lists several rates for a place. Section 305 of the Streamlined
/// agreement prescribes the lowest rate for sellers who know only the ZIP code.
const CHOICE: Choice = Choice::Lowest;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Lowest,
    /// A later draft of the agreement prescribes this order for digital goods; a build may choose
    /// it.
    Highest,
}

/// Further conditions that decide the rate.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    pub date: Date,
    /// True if the caller gave the date.
    pub is_date_given: bool,
    /// Origin state of the sale.
    pub origin: Option<&'a str>,
    /// Category whose rates order the candidates.
    pub category: Category,
    /// True if the place that is looked up is the seller's place.
    pub is_at_origin: bool,
}

/// Rates of a place.
#[derive(Debug)]
pub struct Found<'a> {
    /// Search in the state's data, or `None` if nothing is known about the state.
    pub search: Option<Search<'a>>,
    pub location: Location,
    pub level: Level,
    /// Candidates in answer order; empty if nothing is known about the state.
    pub candidates: Vec<Candidate<'a>>,
    pub coverage: &'static str,
    /// Last day that the state's rate file covers, in days since 1970-01-01, or `None` if no file
    /// contains its rates.
    pub rates_until: Option<i32>,
    /// True if the place is the seller's place.
    pub is_at_origin: bool,
    /// Jurisdictions common to all areas of the place's counties, if no list contains the city's
    /// name.
    common: Option<Candidate<'a>>,
    pub notices: Vec<Notice>,
}

impl Found<'_> {
    /// Returns whether delivery charges are taxed, or `None` if this is not known.
    pub fn freight_taxable(&self) -> Option<bool> {
        self.search
            .and_then(|search| search.rules_of_goods().is_delivery_taxed())
    }
}

impl<'a> Found<'a> {
    /// Returns the rules that decide the place's rates.
    pub fn rules(&self, category: Category) -> Vec<Rule<'a>> {
        self.candidates
            .first()
            .into_iter()
            .flat_map(|first| &first.components)
            .filter_map(|component| component.rate(category.into()).rule)
            .collect()
    }

    /// Adds a notice that lists the deciding rules whose text was not read.
    pub fn add_unread_notice(&mut self, category: Category) {
        if let Some(message) = unread_notice(self.rules(category)) {
            self.notice(RULE_NOT_READ, message);
        }
    }
}

/// Code of the notice about rules of which only the citation is known.
pub const RULE_NOT_READ: &str = "RULE_NOT_READ";

/// Looks up the rates of a place. `field` names the date in messages.
///
/// # Errors
/// `not_found` if no record covers the place; `coverage_unavailable` if the release has no tax data
/// or no record is valid on the date.
pub fn look_up<'a>(
    call: &Call<'a>,
    location: Location,
    terms: &Terms<'_>,
    field: &str,
) -> Result<Found<'a>> {
    if TaxTables::from_release(call.release).rules.is_none() {
        return Err(not_published("tax.state"));
    }
    let is_interstate = terms.origin.is_some_and(|origin| origin != location.state);
    let search = Search::new(
        call,
        location.state,
        days::since_epoch(terms.date),
        is_interstate,
    );
    let is_at_origin = terms.is_at_origin;
    let mut found = Found {
        search,
        location,
        level: Level::State,
        candidates: Vec::new(),
        coverage: "none",
        rates_until: None,
        is_at_origin,
        common: None,
        notices: Vec::new(),
    };
    found.notices.append(&mut found.location.notices);
    let Some(search) = search else {
        found.notice(
            "STATE_NOT_COVERED",
            format!(
                "This release has no sales tax data for {}. A missing rate is not a rate of zero.",
                found.location.state
            ),
        );
        return Ok(found);
    };
    let declared = coverage(&search);
    match (declared, search.method()) {
        ("none", _) => {
            let note = search
                .rules
                .columns
                .local_note
                .get(search.rule)
                .map(|note| format!(" {note}."))
                .unwrap_or_default();
            let message = format!(
                "This release has no sales tax rate for {}. A missing rate is not a rate of zero.{note}",
                search.state_name()
            );
            found.notice("STATE_NOT_COVERED", message);
        }
        (_, "no_tax") => {
            check_rule_day(&search, terms, field)?;
            found.candidates.push(Candidate::default());
        }
        ("full", _) if search.has_local_rates() => found.find_local(&search, terms, field)?,
        (coverage, _) => {
            let mut candidate = Candidate::new(&search, &Jurisdictions::state_only(), None);
            if coverage == "state_only" {
                candidate.add_unknown(&search, TaxClass::Local, "local", "local_rates_not_covered");
                let note = search
                    .rules
                    .columns
                    .local_note
                    .get(search.rule)
                    .map(|note| format!(" {note}"))
                    .unwrap_or_default();
                let message = format!(
                    "Local taxes of {} are not covered: the rate is the state's alone, and the total may be higher.{note}",
                    search.state_name()
                );
                found.notice("LOCAL_RATES_NOT_COVERED", message);
            }
            found.candidates.push(candidate);
        }
    }
    found.finish(&search, terms, field)?;
    found.rates_until = rates_until(&search, &call.release.manifest);
    found.coverage = match coverage_of_day(&search, &call.release.manifest) {
        "full" if found.lacks_county(&search) => "partial",
        level => level,
    };
    found.add_age_notice(&search, terms);
    Ok(found)
}

/// Returns a state's coverage on the day of the query. It is partial if places are known only by
/// name, tax districts cannot be located, or the rate file is long past its quarter.
pub fn coverage_of_day(search: &Search<'_>, manifest: &Manifest) -> &'static str {
    let is_by_name = search.method() == "places" || search.is_without_boundaries();
    match coverage(search) {
        "full" if is_by_name || is_incomplete(search, manifest) => "partial",
        level => level,
    }
}

/// Returns true if rates for the day may be missing or outdated.
pub fn is_incomplete(search: &Search<'_>, manifest: &Manifest) -> bool {
    search.lacks_districts()
        || rates_until(search, manifest).is_some_and(|until| search.day - until > 3 * QUARTER_DAYS)
}

/// Returns the last day of the quarter that a state's newest rate file covers.
fn rates_until(search: &Search<'_>, manifest: &Manifest) -> Option<i32> {
    let (year, quarter) = search
        .state
        .rates
        .iter()
        .filter_map(|rates| newest_quarter(rates, manifest))
        .max()?;
    Some(days::since_epoch(
        Date::new(year, 3 * quarter, 1).ok()?.last_of_month(),
    ))
}

/// Version label of a file that the publisher replaces every quarter under one name. The label does
/// not identify the quarter.
const CURRENT_QUARTER: &str = "current quarter";

/// Returns the year and quarter that the state's newest rate file covers. They are derived from the
/// versions of the state's files. For a file that is replaced every quarter, they are derived from
/// the common first day of all rows, otherwise from the publication day.
fn newest_quarter(rates: &Rates, manifest: &Manifest) -> Option<(i16, i8)> {
    let first = rates.provenance.source(manifest, 0)?;
    let of_day = |date: Date| (date.year(), (date.month() + 2) / 3);
    let of_version = |file: &Snapshot| {
        let (year, quarter) = file.source_version.split_once('Q')?;
        Some((year.parse().ok()?, quarter.parse().ok()?))
            .filter(|(_, quarter): &(i16, i8)| (1..=4).contains(quarter))
    };
    let is_of_state = |file: &&Snapshot| {
        file.source_id == first.source_id && file.keys.get("state") == first.keys.get("state")
    };
    let of_versions = rates
        .provenance
        .files(manifest)
        .iter()
        .filter(is_of_state)
        .filter_map(of_version)
        .max();
    let of_rows = || {
        let begin = rates
            .common_begin()
            .filter(|_| first.source_version == CURRENT_QUARTER)
            .map(days::date)?;
        (begin.day() == 1 && begin.month() % 3 == 1).then(|| of_day(begin))
    };
    of_versions
        .or_else(of_rows)
        .or_else(|| first.day().map(of_day))
}

/// Returns a state's coverage. Local rates must be in the release; being obtainable is not enough.
pub fn coverage(search: &Search<'_>) -> &'static str {
    let declared = search.rules.columns.coverage.at(search.rule);
    match declared {
        "full" if !search.has_local_rates() || !search.state.rates.is_empty() => "full",
        "full" | "state_only" if search.rule_rate().is_some() || !search.state.rates.is_empty() => {
            "state_only"
        }
        _ => "none",
    }
}

/// Rank of the area around a city, after all areas in the city.
const AROUND: u8 = 8;

/// Number of days in a quarter, the interval between rate files.
const QUARTER_DAYS: i32 = 92;

impl Found<'_> {
    /// Adds a notice if the day is after the period that the state's rate file covers.
    fn add_age_notice(&mut self, search: &Search<'_>, terms: &Terms<'_>) {
        let is_of_file = self
            .candidates
            .iter()
            .flat_map(|candidate| &candidate.components)
            .any(|component| component.row.is_some());
        let Some(until) = self
            .rates_until
            .filter(|until| is_of_file && *until < search.day)
        else {
            return;
        };
        let age = if search.day - until > 3 * QUARTER_DAYS {
            ". The file has expired, and the rates may have changed"
        } else {
            ""
        };
        let message = format!(
            "The newest rate file of {} covers the quarter to {}: the rates for {} do not include later changes{age}.",
            search.state_name(),
            days::date(until),
            terms.date
        );
        self.notice("RATES_OUT_OF_DATE", message);
    }

    fn notice(&mut self, code: &'static str, message: String) {
        self.notices.push(Notice {
            code,
            message: message.into(),
        });
    }
}

impl<'a> Found<'a> {
    fn find_local(&mut self, search: &Search<'a>, terms: &Terms<'_>, field: &str) -> Result<()> {
        let matches = if search.state.boundaries.is_none() {
            self.by_name(search)?
        } else {
            self.by_boundaries(search, terms, field)?
        };
        self.level = matches.level;
        let is_named_only =
            matches!(self.level, Level::Place | Level::County) && search.method() == "places";
        if is_named_only && search.state.boundaries.is_some() {
            let message = format!(
                "{} publishes its rates by the names of cities and counties, without boundaries: the rates are those of the ZIP code or address, parts of which may lie in other jurisdictions.",
                search.state_name()
            );
            self.notice("BOUNDARIES_NOT_PUBLISHED", message);
        }
        let rank = search.rank(&self.location);
        let near = matches.sets.iter().map(|(set, hit)| Candidate {
            rank: rank(set),
            ..Candidate::new(search, set, *hit)
        });
        let around = matches.around.iter().map(|(set, hit)| Candidate {
            rank: AROUND,
            ..Candidate::new(search, set, *hit)
        });
        self.candidates = near.chain(around).collect();
        // A place that no list names may lie in districts.
        let is_unlisted = self.location.is_unincorporated
            && search.state.boundaries.is_some()
            && matches.sets.iter().all(|(_, hit)| hit.is_none());
        if search.lacks_districts() || is_unlisted {
            self.candidates.iter_mut().for_each(|candidate| {
                candidate.add_unknown(
                    search,
                    TaxClass::Special,
                    "special",
                    "district_boundaries_not_published",
                );
            });
        }
        if matches.is_city_unlisted {
            let mut common =
                Candidate::new(search, &search.common(&self.location, &matches.sets), None);
            common.add_unknown(search, TaxClass::Local, "local", "city_not_listed");
            self.common = Some(common);
            let message = format!(
                "The rate list of {} in this release has no city named {}: the local rate is not known. `match.alternatives` lists the areas in which the place may lie; set `unincorporated` if it is outside every city.",
                search.state_name(),
                search.city_name(&self.location)
            );
            self.notice("CITY_NOT_LISTED", message);
        }
        Ok(())
    }

    fn by_name(&mut self, search: &Search<'a>) -> Result<Matches<'a>> {
        let districts = if search.lacks_districts() {
            "; taxes of districts are not included, although some apply on this day"
        } else {
            ""
        };
        let message = format!(
            "This release has no boundaries for {}: county and city are those of the ZIP code or of the name{districts}.",
            search.state_name()
        );
        self.notice("BOUNDARIES_NOT_PUBLISHED", message);
        search
            .by_name(&self.location)
            .ok_or_else(|| not_found(search, &self.location))
    }

    fn by_boundaries(
        &self,
        search: &Search<'a>,
        terms: &Terms<'_>,
        field: &str,
    ) -> Result<Matches<'a>> {
        if let Some(matches) = search.by_boundaries(&self.location) {
            return Ok(matches);
        }
        if self.location.is_unincorporated && search.in_boundaries(&self.location).is_some() {
            return Err(Problem::new(
                Code::NotFound,
                format!(
                    "every record of {} for the place belongs to a city: no part of the place is unincorporated",
                    search.state_name()
                ),
            ));
        }
        let any = search.hits_of_any_day(&self.location);
        if any.is_empty() {
            return Err(not_found(search, &self.location));
        }
        let first = any.iter().map(|hit| hit.days().0).min().unwrap_or(0);
        let last = any
            .iter()
            .map(|hit| hit.days().1.unwrap_or(i32::MAX))
            .max()
            .unwrap_or(i32::MAX);
        let until = if last == i32::MAX {
            "on".to_owned()
        } else {
            format!("to {}", days::date(last))
        };
        let message = format!(
            "no boundary record of {} holds on {}; those of this place hold from {} {until}",
            search.state_name(),
            terms.date,
            days::date(first)
        );
        Err(uncovered_day(terms, field, message))
    }

    /// Returns true if only counties have a local tax, and the rate is not known or the place lies
    /// in several counties.
    fn lacks_county(&self, search: &Search<'_>) -> bool {
        let is_unknown =
            |candidate: &Candidate<'_>| candidate.combined(Category::General.into()).is_err();
        self.is_of_several_counties(search)
            || (search.method() == "counties" && self.candidates.iter().any(is_unknown))
    }

    /// Returns true if only counties have a local tax, and the place may lie in counties with
    /// different rates.
    fn is_of_several_counties(&self, search: &Search<'_>) -> bool {
        let rates = || {
            self.candidates
                .iter()
                .map(|candidate| candidate.combined(Category::General.into()))
        };
        search.method() == "counties" && rates().any(|rate| Some(rate) != rates().next())
    }

    /// Puts the jurisdictions common to all counties of a ZIP code first, because the county of the
    /// place is not known.
    fn insert_common_rates(&mut self, search: &Search<'a>) {
        let rates = || {
            self.candidates
                .iter()
                .map(|candidate| candidate.known(Category::General.into()))
        };
        let (low, high) = (rates().min().unwrap_or(0), rates().max().unwrap_or(0));
        let message = format!(
            "{} counties contain a part of the ZIP code, at rates from {} to {} percent: the local rate is not known, and `match.alternatives` lists the rate of each. Set `county_fips` to select one.",
            self.candidates.len(),
            percent(low),
            percent(high)
        );
        self.notice("SEVERAL_RATES", message);
        let mut common = Candidate::new(search, &Jurisdictions::state_only(), None);
        common.add_unknown(search, TaxClass::Local, "local", "depends_on_county");
        self.candidates.insert(0, common);
    }

    /// Orders the candidates and adds notices about missing data.
    fn finish(&mut self, search: &Search<'a>, terms: &Terms<'_>, field: &str) -> Result<()> {
        let is_without_state = |candidate: &Candidate<'_>| {
            candidate
                .missing
                .iter()
                .any(|code| code == search.state_code)
        };
        if self.candidates.iter().any(is_without_state) {
            return Err(uncovered_day(
                terms,
                field,
                format!(
                    "no rate of {} is published for {}",
                    search.state_name(),
                    terms.date
                ),
            ));
        }
        let sign = if CHOICE == Choice::Highest { -1 } else { 1 };
        self.candidates.sort_by_key(|candidate| {
            (
                candidate.rank,
                sign * candidate.known(terms.category.into()),
            )
        });
        if let Some(common) = self.common.take() {
            self.candidates.insert(0, common);
        } else if self.is_of_several_counties(search) && self.location.zip().is_some() {
            self.insert_common_rates(search);
        } else if let [first, .., last] = self.candidates.as_slice() {
            let (which, narrows) = match (first.rank < last.rank, first.rank) {
                _ if last.rank == AROUND => (
                    "that of the postal city, which also delivers outside its limits",
                    " Set `unincorporated` if the place is outside every city.",
                ),
                (true, 0) => (
                    "that of the city itself, in the county that lists most of its ZIP codes",
                    " Add a ZIP code or street address for a more exact rate.",
                ),
                (true, 1) => (
                    "that of the city itself",
                    " Add a ZIP code or street address for a more exact rate.",
                ),
                (true, _) => (
                    "that of the county that lists most of the city's ZIP codes",
                    " Add a ZIP code or street address for a more exact rate.",
                ),
                (false, _) => ("the lowest", ""),
            };
            let message = format!(
                "{} sets of jurisdictions contain a part of the place; the rate is {which}, and `match.alternatives` lists the others.{narrows}",
                self.candidates.len()
            );
            self.notice("SEVERAL_RATES", message);
        }
        let Some(first) = self.candidates.first() else {
            return Ok(());
        };
        let missing = first.missing.join(", ");
        let of_food = search
            .rules_of_goods()
            .food_drug_notice()
            .filter(|_| terms.category == Category::FoodDrug);
        let unknown = first.combined(terms.category.into()).err();
        if !missing.is_empty() {
            self.notice(
                "JURISDICTION_WITHOUT_RATE",
                format!("The boundary record names {missing} without a published rate on {}: the rate does not include them.", terms.date),
            );
        }
        if let Some(message) = of_food {
            self.notice("FOOD_DRUG_DIFFER", message);
        }
        if let Some(reason) = unknown {
            self.notice(
                "RATE_PARTLY_UNKNOWN",
                format!(
                    "A part of the rate on {} is not known ({reason}): `combined_rate` is null, and `known_rate` is the sum of the known parts.",
                    terms.category.name()
                ),
            );
        }
        let is_origin_sourced = matches!(
            search.rules.columns.sourcing.get(search.rule),
            Some("origin" | "mixed")
        );
        if is_origin_sourced && !search.is_interstate && !terms.is_at_origin {
            let message = format!(
                "{} taxes sales within the state, in whole or part, at the seller's place: this rate is for the buyer's place. A calculation uses the place in `from` if the seller's place decides the whole tax.",
                search.state_name()
            );
            self.notice("ORIGIN_SOURCED_STATE", message);
        }
        Ok(())
    }
}

/// Rejects a day before the first day for which the state's rule is known.
fn check_rule_day(search: &Search<'_>, terms: &Terms<'_>, field: &str) -> Result<()> {
    match search.rule_day() {
        Some(first) if days::since_epoch(terms.date) < first => Err(uncovered_day(
            terms,
            field,
            format!(
                "the sales tax rules of {} are known from {} on, not for {}",
                search.state_name(),
                days::date(first),
                terms.date
            ),
        )),
        _ => Ok(()),
    }
}

/// Returns the problem for a day without published data.
fn uncovered_day(terms: &Terms<'_>, field: &str, message: String) -> Problem {
    let hint = if terms.is_date_given {
        ""
    } else {
        "; another day may have data"
    };
    Problem::of_field(Code::CoverageUnavailable, field, format!("{message}{hint}"))
}

fn not_found(search: &Search<'_>, location: &Location) -> Problem {
    let place = if location.address.zip.is_empty() {
        location.address.city.clone()
    } else {
        format!("ZIP code {}", location.address.zip)
    };
    let county = location
        .county_fips
        .as_ref()
        .map(|county| format!(" in county {county}"))
        .unwrap_or_default();
    let of_zip = search
        .zips
        .zip(location.zip_row)
        .map(|(zips, row)| zips.states.at(row))
        .filter(|of_zip| *of_zip != location.state);
    let mismatch = of_zip
        .map(|of_zip| format!(", which is in {of_zip}: leave out the state, or correct it"))
        .unwrap_or_default();
    Problem::new(
        Code::NotFound,
        format!(
            "no tax jurisdiction of {} is published for {place}{county}{mismatch}",
            location.state
        ),
    )
}
