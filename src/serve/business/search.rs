//! Answers `GET /v1/business/search`: finds businesses by name, number or agent.

use super::record::add_implied_notice;
use super::record::businesses_of;
use std::collections::{BTreeSet, HashSet};

use futures_util::FutureExt;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::business::datasets::{BusinessFields, ENTITIES};
use crate::business::table::Businesses;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::filter::{CITY, DayRange, STATES, ZIP, add_no_words_notice, check_states};
use crate::http::meta::Meta;
use crate::http::paging::{ListPaging, MAX_COUNTED};
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, RELEASE, format};
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::release::provenance::Provenance;
use crate::search::query::{MatchMode, Query as NameQuery};
use crate::search::rank::{MatchOfName, Ranked, day_of, ranked};
use crate::search::row_hit::NameKind;
use crate::search::row_names::Enough;
use crate::search::row_names::Found;
use pubdata_core::canonical::name::{Forms, comparable};
use pubdata_core::canonical::state::usps;
use pubdata_store::Scope;

query! {
    pub struct Parameters<'a> {
        /// Name of the business, or part of the name. Ignores the legal form, punctuation, a
        /// leading `The`, and whether `&` or `and` is written. If few names match, one word may
        /// contain a typing error.
        name: Option<&'a str> = Kind::Text { min: 2, max: 120 },
        state: Vec<&'a str> = STATES,
        /// Comma-separated list of statuses.
        status: Vec<&'a str> = Kind::OneOf(ENTITIES, "status"),
        /// Comma-separated list of legal forms.
        entity_type: Vec<&'a str> = Kind::OneOf(ENTITIES, "entity_type"),
        /// Place of formation: postal code or name of a state, or a country as published.
        jurisdiction: Option<&'a str> = Kind::Text { min: 2, max: 60 },
        /// Name of the registered agent.
        agent: Option<&'a str> = Kind::Text { min: 2, max: 120 },
        /// Number of the business in the registry; leading zeros are ignored.
        entity_number: Option<&'a str> = Kind::Text { min: 1, max: 40 },
        city: Option<&'a str> = CITY, zip: Option<&'a str> = ZIP,
        /// First day of formation, inclusive.
        formed_from: Option<Date> = Kind::Date,
        /// Last day of formation, inclusive.
        formed_to: Option<Date> = Kind::Date,
        /// `best` is the default. `exact` matches complete names only. `prefix` matches names that
        /// start with the text, whose last word may be incomplete.
        r#match: Option<&'a str> = Kind::Word(&["best", "exact", "prefix"]),
        /// `false` ignores the names under which a business trades.
        include_dba: Option<bool> = Kind::Flag,
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format(""), ..RELEASE, ..AS_OF,
    }
}

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/business/search",
    operation_id: "searchBusinesses",
    summary: "Businesses by name, number or agent",
    access: Access::Scope(Scope::General),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<BusinessMatches<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

/// Matching businesses, best first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Businesses")]
struct BusinessMatches<'a>(Vec<BusinessMatch<'a>>);

#[derive(Serialize, JsonSchema)]
struct BusinessMatch<'a> {
    #[serde(flatten)]
    business: BusinessFields<'a>,
    /// How the record matches the search.
    #[serde(rename = "match")]
    name_match: MatchOfName,
    /// Provenance of the business's record in `business.entity`.
    provenance: Provenance<'a>,
}

/// Search filters other than names.
struct Filter<'a> {
    businesses: &'a Businesses,
    /// Selected parts by number; `None` selects all parts.
    parts: Option<Vec<bool>>,
    statuses: &'a [&'a str],
    types: &'a [&'a str],
    jurisdiction: Option<Option<u32>>,
    city: Option<Option<u32>>,
    zip: Option<Option<u32>>,
    formed: DayRange,
    /// Rows that match a number or an agent.
    only: Option<HashSet<u32>>,
}

impl Filter<'_> {
    /// Reports whether the filter matches every row.
    fn matches_all(&self) -> bool {
        let Self {
            businesses: _,
            parts,
            statuses,
            types,
            jurisdiction,
            city,
            zip,
            formed,
            only,
        } = self;
        let is_open = parts.is_none()
            && statuses.is_empty()
            && types.is_empty()
            && jurisdiction.is_none()
            && city.is_none()
            && zip.is_none();
        is_open && formed.is_open() && only.is_none()
    }

    fn matches(&self, row: u32) -> bool {
        let (businesses, index) = (self.businesses, row as usize);
        // Only filtered columns are read: the cells of a row are far apart in memory.
        let is_among =
            |list: &[&str], value: Option<&str>| value.is_some_and(|value| list.contains(&value));
        self.only.as_ref().is_none_or(|only| only.contains(&row))
            && self
                .parts
                .as_ref()
                .is_none_or(|parts| parts[businesses.rows.part_of(row)])
            && (self.statuses.is_empty()
                || is_among(self.statuses, businesses.index.statuses.get(index)))
            && (self.types.is_empty() || is_among(self.types, businesses.index.types.get(index)))
            && self
                .jurisdiction
                .is_none_or(|required| required == Some(businesses.index.jurisdictions.at(row)))
            && self
                .city
                .is_none_or(|required| required == Some(businesses.index.cities.at(row)))
            && self
                .zip
                .is_none_or(|required| required == Some(businesses.index.zips.at(row)))
            && (self.formed.is_open()
                || self.formed.has(day_of(businesses.index.precedence[index])))
    }
}

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let businesses = businesses_of(call)?;
    let query = Parameters::read(call)?;
    let paging = ListPaging::new(call, query.limit, query.cursor)?;
    let covered = businesses.rows.values("state");
    check_states(&query.state, &covered, "businesses")?;
    let searched: Vec<String> = covered
        .iter()
        .filter(|state| query.state.is_empty() || query.state.contains(state))
        .map(|state| (*state).to_owned())
        .collect();
    let found = find(&query, businesses, &searched, paging.end())?;
    let page = paging.slice(&found.first);
    let rows: Vec<u32> = page.iter().map(|found| found.row).collect();
    let records = businesses.rows.fetch(call.reader(), &rows).await?;
    let matches = page
        .iter()
        .zip(&records)
        .map(|(found, record)| BusinessMatch {
            business: BusinessFields::from_record(record),
            name_match: found.shown(),
            provenance: record.origin(&call.release.manifest),
        });
    json.value(&BusinessMatches(matches.collect()));
    let mut meta = Meta::for_datasets(
        &[ENTITIES],
        format!(
            "{} businesses in the registries of {}",
            businesses.rows.len(),
            covered.join(", ")
        ),
    );
    if let Some(coverage) = &mut meta.coverage {
        coverage.states_searched = searched;
    }
    add_implied_notice(&mut meta, &records);
    if let Some(name) = query.name.filter(|_| found.total == 0) {
        add_no_words_notice(&mut meta, name);
    }
    meta.page = Some(paging.page(found.total, found.is_cut));
    Ok(meta)
}

/// Finds the businesses that match the request, and returns the best `end` matches in order.
fn find(
    query: &Parameters<'_>,
    businesses: &Businesses,
    states: &[String],
    end: usize,
) -> Result<Found> {
    if query.name.is_none() && query.entity_number.is_none() && query.agent.is_none() {
        return Err(Problem::of_field(
            Code::MissingParameter,
            "name",
            "give at least one of `name`, `entity_number` and `agent`",
        ));
    }
    let parts: Vec<bool> = (0..businesses.rows.parts().len())
        .map(|part| {
            states
                .iter()
                .any(|state| state == businesses.rows.partition_of(part, "state"))
        })
        .collect();
    let mut filter = Filter {
        businesses,
        parts: parts.contains(&false).then_some(parts),
        statuses: &query.status,
        types: &query.entity_type,
        jurisdiction: query.jurisdiction.map(|text| {
            businesses
                .index
                .jurisdictions
                .find(&usps(text).map_or_else(|| comparable(text), str::to_owned))
        }),
        city: query
            .city
            .map(|city| businesses.index.cities.find(&comparable(city))),
        zip: query.zip.map(|zip| businesses.index.zips.find(zip)),
        formed: DayRange::from_bounds(
            ("formed_from", query.formed_from),
            ("formed_to", query.formed_to),
        )?,
        only: query.entity_number.map(|number| {
            states
                .iter()
                .flat_map(|state| businesses.with_number(state, number))
                .copied()
                .collect()
        }),
    };
    let mode = match query.r#match {
        Some("exact") => MatchMode::Exact,
        Some("prefix") => MatchMode::Prefix,
        _ => MatchMode::Best,
    };
    let mut of_agents = None;
    if let Some(agent) = query.agent {
        let found = NameQuery::new(agent, Forms::OfStates).map_or_else(Default::default, |query| {
            businesses
                .index
                .agents
                .search(&query, mode, &|row| filter.matches(row))
        });
        filter.only = Some(found.0.iter().map(|hit| hit.row).collect());
        of_agents = Some(found);
    }
    if let Some(name) = query.name {
        let has_assumed = query.include_dba != Some(false);
        let matches = |row: u32, kind: NameKind| {
            (has_assumed || kind != NameKind::Assumed) && filter.matches(row)
        };
        let accepts = (!has_assumed || !filter.matches_all())
            .then_some(&matches as &dyn Fn(u32, NameKind) -> bool);
        let first = |query: NameQuery| {
            businesses.index.names.first(
                &query,
                mode,
                accepts,
                Enough {
                    first: end,
                    counted: MAX_COUNTED,
                },
            )
        };
        return Ok(NameQuery::new(name, Forms::OfStates).map_or_else(Found::default, first));
    }
    let (first, is_cut) = match of_agents {
        Some((hits, is_cut)) => (ranked(&hits, end, &businesses.index.precedence), is_cut),
        None => {
            let rows: BTreeSet<u32> = filter
                .only
                .iter()
                .flatten()
                .copied()
                .filter(|row| filter.matches(*row))
                .collect();
            (rows.into_iter().map(Ranked::exact).collect(), false)
        }
    };
    Ok(Found {
        total: first.len(),
        first,
        is_cut,
    })
}
