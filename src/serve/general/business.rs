//! Answers `GET /v1/business/search`, businesses by name, number or agent, and `GET /v1/business/{entity_id}`, everything published of one.

use std::collections::{BTreeSet, HashSet};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::ranked::{Ranked, ranked};
use super::{CITY, ENTITIES, OFFICERS, Paging, STATE, ZIP, day_range, is_within, listed, meta_of, not_covered, states_of};
use crate::canonical::state::usps;
use crate::serve::call::{Call, Meta, not_published};
use crate::serve::index::{Businesses, Entity, Mode, NameKind, NameQuery, Officer, Record, RowHit, spaced};
use crate::serve::json::Json;
use crate::serve::parameters::{AS_OF, CURSOR, Kind, LIMIT, Parameter, RELEASE};
use crate::serve::problem::{Code, Problem, Result};

/// The search's parameters.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "name",
        kind: Kind::Text { min: 2, max: 120 },
        description: "Name or part of it. Legal form, punctuation, `&` for `and`, a leading `The` and a misspelled word do not keep it from being found. Needed unless `entity_number` or `agent` is given.",
    },
    STATE,
    Parameter { name: "status", kind: Kind::SomeOf(ENTITIES, "status"), description: "Comma list of statuses." },
    Parameter { name: "entity_type", kind: Kind::SomeOf(ENTITIES, "entity_type"), description: "Comma list of legal forms." },
    Parameter {
        name: "jurisdiction",
        kind: Kind::Text { min: 2, max: 60 },
        description: "Where it was formed: postal code or name of a state, or a country as published.",
    },
    Parameter { name: "agent", kind: Kind::Text { min: 2, max: 120 }, description: "Name of the registered agent." },
    Parameter { name: "entity_number", kind: Kind::Text { min: 1, max: 40 }, description: "The registry's number; leading zeros do not matter." },
    CITY,
    ZIP,
    Parameter { name: "formed_from", kind: Kind::Date, description: "First day of formation, inclusive." },
    Parameter { name: "formed_to", kind: Kind::Date, description: "Last day of formation, inclusive." },
    Parameter {
        name: "match",
        kind: Kind::Word(&["best", "exact", "prefix"]),
        description: "`best` (default); `exact`: whole names only; `prefix`: names that begin so, the last word may be unfinished.",
    },
    Parameter { name: "include_dba", kind: Kind::Flag, description: "`false`: do not look at names that a business goes by." },
    LIMIT,
    CURSOR,
    RELEASE,
    AS_OF,
];

/// The parameters of one business.
pub const ONE_PARAMETERS: &[Parameter] =
    &[Parameter { name: "include", kind: Kind::Word(&["raw"]), description: "`raw`: with `source_fields`, the registry's own cells." }, RELEASE, AS_OF];

/// The handler of the search.
pub fn search<'a>(call: &'a Call<'a>, json: &'a mut Json) -> BoxFuture<'a, Result<Meta>> {
    answer_search(call, json).boxed()
}

/// The handler of one business.
pub fn business<'a>(call: &'a Call<'a>, json: &'a mut Json) -> BoxFuture<'a, Result<Meta>> {
    answer_one(call, json).boxed()
}

/// What a search asks for beyond names.
struct Filter<'a> {
    businesses: &'a Businesses,
    /// By number of the part; none when all are wanted.
    parts: Option<Vec<bool>>,
    statuses: Option<Vec<&'a str>>,
    types: Option<Vec<&'a str>>,
    jurisdiction: Option<Option<u32>>,
    city: Option<Option<u32>>,
    zip: Option<Option<u32>>,
    formed: (Option<i32>, Option<i32>),
    /// Rows that a number or an agent leaves.
    only: Option<HashSet<u32>>,
}

impl Filter<'_> {
    fn takes(&self, row: u32) -> bool {
        let (businesses, index) = (self.businesses, row as usize);
        // Each column is looked at only where something is asked of it: a row's cells lie far apart.
        let is_among = |list: &Vec<&str>, value: Option<&str>| value.is_some_and(|value| list.contains(&value));
        self.only.as_ref().is_none_or(|only| only.contains(&row))
            && self.parts.as_ref().is_none_or(|parts| parts[businesses.rows.part_of(row)])
            && self.statuses.as_ref().is_none_or(|list| is_among(list, businesses.statuses.get(index)))
            && self.types.as_ref().is_none_or(|list| is_among(list, businesses.types.get(index)))
            && self.jurisdiction.is_none_or(|wanted| wanted == Some(businesses.jurisdictions.at(row)))
            && self.city.is_none_or(|wanted| wanted == Some(businesses.cities.at(row)))
            && self.zip.is_none_or(|wanted| wanted == Some(businesses.zips.at(row)))
            && (self.formed == (None, None) || is_within(businesses.formed[index], self.formed))
    }
}

fn businesses_of<'a>(call: &'a Call<'_>) -> Result<&'a Businesses> {
    call.release.general.businesses.as_ref().ok_or_else(|| not_published(ENTITIES))
}

async fn answer_search(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let businesses = businesses_of(call)?;
    let paging = Paging::of(call)?;
    let covered = businesses.rows.values("state");
    let states = states_of(call, &covered, "businesses")?;
    let searched: Vec<String> =
        covered.iter().filter(|state| states.as_ref().is_none_or(|states| states.contains(**state))).map(|state| (*state).to_owned()).collect();
    let (found, is_cut) = find(call, businesses, &searched, paging.end())?;
    let page = paging.slice(&found);
    let rows: Vec<u32> = page.iter().map(|found| found.row).collect();
    let records = businesses.rows.fetch(call, &rows).await?;
    json.array(|json| {
        for (found, record) in page.iter().zip(&records) {
            json.object(|json| {
                write_item(json, record);
                found.write(json);
                record.provenance(json, &call.release.manifest);
            });
        }
    });
    let mut meta = meta_of(&[ENTITIES], format!("{} businesses in the registries of {}", businesses.rows.len(), covered.join(", ")));
    if let Some(coverage) = &mut meta.coverage {
        coverage.states_searched = searched;
    }
    note_implied(&mut meta, &records);
    meta.page = Some(paging.page(found.len(), is_cut));
    Ok(meta)
}

/// Finds what the request asks for, the best `end` first and in order.
fn find(call: &Call<'_>, businesses: &Businesses, states: &[String], end: usize) -> Result<(Vec<Ranked>, bool)> {
    let query = call.query;
    let (name, number, agent) = (query.get("name"), query.get("entity_number"), query.get("agent"));
    if name.is_none() && number.is_none() && agent.is_none() {
        return Err(Problem::of_field(Code::MissingParameter, "name", "give at least one of `name`, `entity_number` and `agent`"));
    }
    let parts: Vec<bool> =
        (0..businesses.rows.parts().len()).map(|part| states.iter().any(|state| state == businesses.rows.partition_of(part, "state"))).collect();
    let place = |name: &str| query.get(name).map(spaced);
    let mut filter = Filter {
        businesses,
        parts: parts.contains(&false).then_some(parts),
        statuses: listed(call, "status"),
        types: listed(call, "entity_type"),
        jurisdiction: query.get("jurisdiction").map(|text| businesses.jurisdictions.find(&usps(text).map_or_else(|| spaced(text), str::to_owned))),
        city: place("city").map(|city| businesses.cities.find(&city)),
        zip: query.get("zip").map(|zip| businesses.zips.find(zip)),
        formed: day_range(call, "formed_from", "formed_to")?,
        only: number.map(|number| states.iter().flat_map(|state| businesses.with_number(state, number)).copied().collect()),
    };
    let mode = match query.get("match") {
        Some("exact") => Mode::Exact,
        Some("prefix") => Mode::Prefix,
        _ => Mode::Best,
    };
    let mut hits: Option<(Vec<RowHit>, bool)> = None;
    if let Some(agent) = agent {
        let found = NameQuery::new(agent).map_or_else(Default::default, |query| businesses.agents.search(&query, mode, &|row| filter.takes(row)));
        filter.only = Some(found.0.iter().map(|hit| hit.row).collect());
        hits = Some(found);
    }
    if let Some(name) = name {
        let has_assumed = query.get("include_dba") != Some("false");
        let takes = |row: u32, kind: NameKind| (has_assumed || kind != NameKind::Assumed) && filter.takes(row);
        hits = Some(NameQuery::new(name).map_or_else(Default::default, |query| businesses.names.search(&query, mode, &takes)));
    }
    match hits {
        Some((hits, is_cut)) => Ok((ranked(&hits, end, |row| businesses.is_active(row), |row| businesses.formed[row as usize]), is_cut)),
        None => {
            let rows: BTreeSet<u32> = filter.only.iter().flatten().copied().filter(|row| filter.takes(*row)).collect();
            Ok((rows.into_iter().map(Ranked::exact).collect(), false))
        }
    }
}

/// Says that some registries list active entities only, which is no verdict on their standing.
fn note_implied(meta: &mut Meta, records: &[Record<'_, Entity>]) {
    if records.iter().any(|record| record.text("status_basis") == Some("implied_by_dataset")) {
        meta.notice(
            "STATUS_IMPLIED",
            "Where status_basis is implied_by_dataset, the registry publishes active entities only: `active` says that the entity is on its list, not that it is in good standing.",
        );
    }
}

/// Writes the members that items of a search and a business have in common.
fn write_item(json: &mut Json, record: &Record<'_, Entity>) {
    #[rustfmt::skip]
    record.members(json, &[
        "entity_id", "name", "name_normalized", "entity_number", "state", "jurisdiction_of_formation", "is_foreign", "entity_type", "entity_type_raw", "status", "status_raw",
        "status_basis", "formation_date", "principal_city", "principal_state", "principal_zip",
    ]);
    record.member_as(json, "registered_agent_name", "agent_name");
}

async fn answer_one(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let businesses = businesses_of(call)?;
    let entity_id = call.path_value("entity_id");
    let covered = businesses.rows.values("state");
    let Some(row) = businesses.find(entity_id) else {
        let state = entity_id.split_once('-').map(|(state, _)| state.to_ascii_uppercase()).filter(|state| usps(state) == Some(state));
        if let Some(state) = state.filter(|state| !covered.contains(&state.as_str())) {
            return Err(not_covered("entity_id", format!("businesses of {state} are not covered"), &covered));
        }
        return Err(Problem::of_field(
            Code::NotFound,
            "entity_id",
            format!("no business has the id `{entity_id}`; an id is the state and the registry's number, such as FL-L23000448570"),
        ));
    };
    let records = businesses.rows.fetch(call, &[row]).await?;
    let Some(record) = records.first() else { return Err(Problem::internal(&"a row was not read")) };
    let officers = businesses.officers.about(call, record).await?;
    let source_fields = if call.query.get("include").is_some() { Some(Businesses::source_fields(call, record).await?) } else { None };
    json.object(|json| {
        write_item(json, record);
        json.key("addresses").array(|json| ["principal", "mailing", "agent"].iter().for_each(|role| write_address(json, record, role)));
        write_agent(json, record);
        json.key("officers").array(|json| officers.iter().for_each(|officer| write_officer(json, officer)));
        record.member(json, "officers_complete");
        write_names(json, record);
        json.key("identifiers").array(|json| {
            for (scheme, value) in record.texts("identifiers").iter().filter_map(|text| text.split_once('=')) {
                json.object(|json| {
                    json.key("scheme").text(scheme);
                    json.key("value").text(value);
                });
            }
        });
        record.object_or_null(json, "last_report", &[("year", "last_report_year"), ("filed_date", "last_report_date")]);
        record.members(json, &["last_transaction_date", "registry_url", "county", "warnings"]);
        if let Some(fields) = &source_fields {
            json.key("source_fields").raw(fields);
        }
        record.provenance(json, &call.release.manifest);
    });
    let mut meta = meta_of(&[ENTITIES, OFFICERS], format!("{} businesses in the registries of {}", businesses.rows.len(), covered.join(", ")));
    note_implied(&mut meta, &records);
    if record.texts("identifiers").iter().any(|text| text.starts_with("tx_comptroller_number=")) {
        meta.notice(
            "NOT_A_TAX_ID",
            "tx_comptroller_number is the Texas Comptroller's number of a franchise tax account, not an employer identification number.",
        );
    }
    if record.text("officers_complete").is_none() && officers.is_empty() {
        meta.notice("OFFICERS_NOT_LISTED", "The registry publishes no officers of this entity.");
    }
    Ok(meta)
}

/// Writes an address of a role, unless nothing of it is published.
fn write_address(json: &mut Json, record: &Record<'_, Entity>, role: &str) {
    let parts = address_parts(record, role);
    if parts.iter().all(|(_, value)| value.is_none()) {
        return;
    }
    let role = if role == "mailing" { record.text("mailing_role").unwrap_or(role) } else { role };
    json.object(|json| {
        json.key("role").text(role);
        write_parts(json, &parts);
        let raw: Vec<&str> = parts.iter().filter_map(|(_, value)| *value).collect();
        json.key("raw").text(&raw.join(", "));
    });
}

type AddressParts<'a> = Vec<(&'static str, Option<&'a str>)>;

fn address_parts<'a>(record: &'a Record<'_, Entity>, role: &str) -> AddressParts<'a> {
    // Agents have no country in any registry.
    let has = |part: &str| role != "agent" || part != "country";
    let part = |part: &'static str| (part, has(part).then(|| record.text(&format!("{role}_{part}"))).flatten());
    ["line1", "line2", "city", "state", "zip", "zip4", "country"].map(part).into()
}

fn write_parts(json: &mut Json, parts: &AddressParts<'_>) {
    parts.iter().for_each(|(name, value)| json.key(name).optional_text(*value));
}

fn write_agent(json: &mut Json, record: &Record<'_, Entity>) {
    json.key("registered_agent");
    let Some(name) = record.text("agent_name") else { return json.null() };
    let parts = address_parts(record, "agent");
    json.object(|json| {
        json.key("name").text(name);
        record.member_as(json, "type", "agent_type");
        json.key("address");
        if parts.iter().all(|(_, value)| value.is_none()) {
            return json.null();
        }
        json.object(|json| write_parts(json, &parts));
    });
}

fn write_officer(json: &mut Json, officer: &Record<'_, Officer>) {
    json.object(|json| {
        officer.members(json, &["name", "title", "title_raw", "type"]);
        officer.object_or_null(json, "address", &[("line1", "line1"), ("city", "city"), ("state", "officer_state"), ("zip", "zip")]);
        officer.member(json, "record_id");
    });
}

/// Writes all names; no registry here says from when to when.
fn write_names(json: &mut Json, record: &Record<'_, Entity>) {
    let kinds = [("legal", vec![record.at("name")]), ("former", record.texts("former_names")), ("assumed", record.texts("assumed_names"))];
    json.key("names").array(|json| {
        for (kind, name) in kinds.iter().flat_map(|(kind, names)| names.iter().map(move |name| (kind, name))) {
            json.object(|json| {
                json.key("name").text(name);
                json.key("type").text(kind);
                json.key("from").null();
                json.key("to").null();
            });
        }
    });
}
