//! Turns the hand-kept tables of states, and of the few local rates that no state publishes in bulk, into how each state taxes sales, and
//! into rates and places of the states whose counties are all that there is. What a row says stands there only with what states it.

use std::collections::BTreeMap;

use polars::prelude::*;

use super::boundary::Boundary;
use super::names::Names;
use super::rate::Rate;
use super::{Refusal, STATE, StateRows, quarantined, rate, required, state_name, taxability};
use crate::canonical::state;
use crate::datasets::Fault;
use crate::datasets::{Build, Builder, Context, Table};
use crate::error::{Error, Result};
use crate::normalise::{pointer_column, pointers, text, text_column};
use crate::pipeline::Declaration;
use crate::provenance::POINTERS;

const STATES: &str = "tax.state_rule";
const LOCAL: &str = "tax.local_rate";

/// A row of `tax.state`.
struct StateRule {
    usps: String,
    coverage: String,
    method: String,
    state_rate: Option<i64>,
    rate_citation: Option<String>,
    source_page: String,
    effective_date: Option<String>,
    sourcing: Option<String>,
    sourcing_rule: Option<String>,
    sourcing_citation: Option<String>,
    sourcing_page: Option<String>,
    local_note: Option<String>,
    pointers: Vec<u64>,
}

pub(in crate::datasets) const BUILDER: Builder = Builder { code_version: 4, build: Build::Whole(build), check, vocabulary: None };

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    match declaration.settings.is_empty() {
        true => Ok(()),
        false => Err(Fault::of_settings("", "there are none")),
    }
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let file = context.read_one(STATES)?;
    let column = |name: &str| text(&file.frame, name);
    let (usps, coverage, method, value, sourcing) = (column("state")?, column("coverage")?, column("method")?, column("state_rate")?, column("sourcing")?);
    let (page, note, effective) = (column("source_page")?, column("local_note")?, column("effective_date")?);
    let (rate_citation, sourcing_rule) = (column("rate_citation")?, column("sourcing_rule")?);
    let (sourcing_citation, sourcing_page) = (column("sourcing_citation")?, column("sourcing_page")?);
    let mut issues: Vec<_> = file.issues(STATE).collect();
    let mut rules = Vec::new();
    for (row, pointers) in pointers(&file.frame, POINTERS)?.into_iter().enumerate() {
        let pointers = pointers.unwrap_or_default();
        let owned = |cell: Option<&str>| cell.map(str::to_owned);
        let read = || {
            Ok(StateRule {
                usps: required(usps.get(row), "state")?.to_owned(),
                coverage: required(coverage.get(row), "coverage")?.to_owned(),
                method: required(method.get(row), "method")?.to_owned(),
                state_rate: stated(rate(value.get(row), "state rate")?, rate_citation.get(row), "state rate")?,
                rate_citation: owned(rate_citation.get(row)),
                source_page: required(page.get(row), "source page")?.to_owned(),
                effective_date: owned(effective.get(row)),
                sourcing: stated(sourcing.get(row), sourcing_citation.get(row), "sourcing")?.map(str::to_owned),
                sourcing_rule: owned(sourcing_rule.get(row)),
                sourcing_citation: owned(sourcing_citation.get(row)),
                sourcing_page: owned(sourcing_page.get(row)),
                local_note: owned(note.get(row)),
                pointers: pointers.clone(),
            })
        };
        match read() {
            Ok(rule) => rules.push(rule),
            Err(refusal) => issues.push(quarantined(context, STATE, refusal, &pointers)),
        }
    }
    let mut tables = local_tables(context, &rules)?;
    tables.insert(0, taxability::table(context)?);
    tables.insert(0, Table { dataset_id: STATE.to_owned(), partition: BTreeMap::new(), frame: frame(&rules)?, issues });
    Ok(tables)
}

/// A cell that stands there only with what states it.
fn stated<T>(cell: Option<T>, basis: Option<&str>, name: &str) -> std::result::Result<Option<T>, Refusal> {
    match (cell, basis) {
        (Some(_), None) => Err(("missing_value", format!("{name}: nothing is named that states it"))),
        (cell, _) => Ok(cell),
    }
}

fn frame(rules: &[StateRule]) -> Result<DataFrame> {
    let texts = |name: &str, cell: fn(&StateRule) -> Option<String>| text_column(name, rules.iter().map(cell));
    let columns = vec![
        texts("record_id", |rule| Some(format!("{STATE}:{}", rule.usps))),
        texts("state", |rule| Some(rule.usps.clone())),
        texts("state_name", |rule| Some(state_name(&rule.usps))),
        texts("coverage", |rule| Some(rule.coverage.clone())),
        texts("method", |rule| Some(rule.method.clone())),
        Column::new("state_rate".into(), rules.iter().map(|rule| rule.state_rate).collect::<Vec<_>>()),
        texts("rate_citation", |rule| rule.rate_citation.clone()),
        texts("source_page", |rule| Some(rule.source_page.clone())),
        texts("effective_date", |rule| rule.effective_date.clone()),
        texts("sourcing", |rule| rule.sourcing.clone()),
        texts("sourcing_rule", |rule| rule.sourcing_rule.clone()),
        texts("sourcing_citation", |rule| rule.sourcing_citation.clone()),
        texts("sourcing_page", |rule| rule.sourcing_page.clone()),
        texts("local_note", |rule| rule.local_note.clone()),
        pointer_column(rules.iter().map(|rule| rule.pointers.as_slice())),
    ];
    Ok(DataFrame::new(rules.len(), columns)?)
}

/// Rates and places of the states that have local rates in the table: one place per county, with the county's rate where it has one.
fn local_tables(context: &Context<'_>, rules: &[StateRule]) -> Result<Vec<Table>> {
    let names = Names::of_counties(context)?;
    let file = context.read_one(LOCAL)?;
    let column = |name: &str| text(&file.frame, name);
    let (usps, county, value, begin) = (column("state")?, column("county_code")?, column("rate")?, column("begin_date")?);
    let mut states: BTreeMap<String, StateRows> = BTreeMap::new();
    for (row, pointers) in pointers(&file.frame, POINTERS)?.into_iter().enumerate() {
        let own = pointers.unwrap_or_default();
        let usps = usps.get(row).and_then(state::usps).ok_or_else(|| Error::format("tax.local_rate: a row has no state"))?;
        let rows = states.entry(usps.to_owned()).or_default();
        let read = || {
            let code = required(county.get(row), "county code")?;
            let known = names.county(&format!("{}{code}", state::fips(usps).unwrap_or_default()));
            let value = rate(value.get(row), "rate")?;
            let mut pointers = own.clone();
            pointers.extend(known.iter().flat_map(|known| &known.pointers));
            pointers.extend(rules.iter().filter(|rule| rule.usps == usps).flat_map(|rule| &rule.pointers));
            Ok(Rate {
                state: usps.to_owned(),
                source_id: LOCAL.to_owned(),
                kind: "county",
                type_raw: "county".to_owned(),
                code: code.to_owned(),
                name: known.map(|known| known.text.clone()),
                general_intrastate: value,
                general_interstate: value,
                begin_date: required(begin.get(row), "begin date")?.to_owned(),
                pointers,
                ..Rate::default()
            })
        };
        match read() {
            Ok(rate) => rows.rates.push(rate),
            Err(refusal) => rows.rate_issues.push(quarantined(context, super::RATE, refusal, &own)),
        }
    }
    let mut tables = Vec::new();
    for (usps, mut rows) in states {
        let fips = state::fips(&usps).unwrap_or_default().to_owned();
        let rule = rules.iter().find(|rule| rule.usps == usps);
        let Some((rule, begin)) = rule.and_then(|rule| Some((rule, rule.effective_date.clone()?))).filter(|(rule, _)| rule.state_rate.is_some()) else {
            continue;
        };
        // That a state has rows here is why it is divided into counties: each record points to one.
        let local_row: Vec<u64> = rows.rates.iter().flat_map(|rate| rate.pointers.iter().take(4)).take(4).copied().collect();
        rows.rates.push(Rate {
            state: usps.clone(),
            source_id: STATES.to_owned(),
            kind: "state",
            type_raw: "state".to_owned(),
            code: fips.clone(),
            name: Some(state_name(&usps)),
            general_intrastate: rule.state_rate,
            general_interstate: rule.state_rate,
            begin_date: begin.clone(),
            pointers: rule.pointers.iter().chain(&local_row).copied().collect(),
            ..Rate::default()
        });
        for (county, known) in names.counties_of(&fips) {
            let code = &county[2..];
            let local = rows.rates.iter().find(|rate| rate.kind == "county" && rate.code == code);
            rows.boundaries.push(Boundary {
                state: usps.clone(),
                source_id: LOCAL.to_owned(),
                key: vec!["place".to_owned(), begin.clone(), county.clone()],
                record_type: "place",
                begin_date: begin.clone(),
                county_fips: Some(county.clone()),
                has_state_tax: true,
                county_code: local.map(|_| code.to_owned()),
                // A rate points to its row first, then to the county's name, which is known here.
                pointers: known.pointers.iter().chain(&rule.pointers).chain(local.map_or(&local_row[..], |rate| &rate.pointers[..4])).copied().collect(),
                ..Boundary::default()
            });
        }
        tables.extend(rows.tables(&usps, context)?);
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::stated;

    #[test]
    fn a_cell_without_what_states_it_is_quarantined() {
        assert_eq!(stated(Some("origin"), Some("https://publisher.example/"), "sourcing"), Ok(Some("origin")));
        assert_eq!(stated(None::<&str>, None, "sourcing"), Ok(None));
        assert_eq!(stated(Some("origin"), None, "sourcing").unwrap_err().0, "missing_value");
    }
}
