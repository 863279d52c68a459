//! Turns the manually maintained tables of states, and of the few local rates that no state
//! publishes in bulk, into each state's sales taxation. Adds rates and places for the states that
//! are divided only into counties. A row contains a statement only together with its source.

use std::collections::BTreeMap;

use polars::prelude::*;

use super::local::{self, StateOwn};
use super::{Refusal, STATE, quarantined, rate, required, state_name, taxability};
use crate::datasets::Fault;
use crate::datasets::{Build, Builder, Context, Table};
use crate::normalise::{pointer_column, pointers, text, text_column};
use pubdata_core::error::Result;
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::POINTERS;

const STATES: &str = "tax.state_rule";

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

impl StateRule {
    /// Returns the state's own rate, for its counties' places.
    fn own(&self) -> StateOwn<'_> {
        StateOwn {
            usps: &self.usps,
            source_id: STATES,
            rate: self.state_rate,
            begin_date: self.effective_date.as_deref(),
            pointers: &self.pointers,
        }
    }
}

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 5,
    build: Build::Whole(build),
    check,
    vocabulary: None,
};

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    match declaration.settings.is_empty() {
        true => Ok(()),
        false => Err(Fault::in_settings("", "there are none")),
    }
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let file = context.read_one(STATES)?;
    let column = |name: &str| text(&file.frame, name);
    let (usps, coverage, method, value, sourcing) = (
        column("state")?,
        column("coverage")?,
        column("method")?,
        column("state_rate")?,
        column("sourcing")?,
    );
    let (page, note, effective) = (
        column("source_page")?,
        column("local_note")?,
        column("effective_date")?,
    );
    let (rate_citation, sourcing_rule) = (column("rate_citation")?, column("sourcing_rule")?);
    let (sourcing_citation, sourcing_page) =
        (column("sourcing_citation")?, column("sourcing_page")?);
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
                state_rate: stated(
                    rate(value.get(row), "state rate")?,
                    rate_citation.get(row),
                    "state rate",
                )?,
                rate_citation: owned(rate_citation.get(row)),
                source_page: required(page.get(row), "source page")?.to_owned(),
                effective_date: owned(effective.get(row)),
                sourcing: stated(sourcing.get(row), sourcing_citation.get(row), "sourcing")?
                    .map(str::to_owned),
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
    let mut tables = local::tables(
        context,
        &rules.iter().map(StateRule::own).collect::<Vec<_>>(),
    )?;
    tables.insert(0, taxability::table(context)?);
    tables.insert(
        0,
        Table {
            dataset_id: STATE.to_owned(),
            partition: BTreeMap::new(),
            frame: frame(&rules)?,
            issues,
        },
    );
    Ok(tables)
}

/// Returns a cell. A cell may have a value only if the row names the source that states it.
fn stated<T>(
    cell: Option<T>,
    basis: Option<&str>,
    name: &str,
) -> std::result::Result<Option<T>, Refusal> {
    match (cell, basis) {
        (Some(_), None) => Err((
            "missing_value",
            format!("{name}: nothing is named that states it"),
        )),
        (cell, _) => Ok(cell),
    }
}

fn frame(rules: &[StateRule]) -> Result<DataFrame> {
    let texts = |name: &str, cell: fn(&StateRule) -> Option<String>| {
        text_column(name, rules.iter().map(cell))
    };
    let columns = vec![
        texts("record_id", |rule| Some(format!("{STATE}:{}", rule.usps))),
        texts("state", |rule| Some(rule.usps.clone())),
        texts("state_name", |rule| Some(state_name(&rule.usps))),
        texts("coverage", |rule| Some(rule.coverage.clone())),
        texts("method", |rule| Some(rule.method.clone())),
        Column::new(
            "state_rate".into(),
            rules.iter().map(|rule| rule.state_rate).collect::<Vec<_>>(),
        ),
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

#[cfg(test)]
mod tests {
    use super::stated;

    #[test]
    fn cell_without_its_source_is_quarantined() {
        assert_eq!(
            stated(
                Some("origin"),
                Some("https://publisher.example/"),
                "sourcing"
            ),
            Ok(Some("origin"))
        );
        assert_eq!(stated(None::<&str>, None, "sourcing"), Ok(None));
        assert_eq!(
            stated(Some("origin"), None, "sourcing").unwrap_err().0,
            "missing_value"
        );
    }
}
