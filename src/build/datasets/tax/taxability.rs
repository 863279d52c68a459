//! Turns the manually maintained table of rules into what each state taxes, by class of goods and
//! level of government.

use polars::prelude::*;

use super::{Refusal, TAXABILITY, quarantined, rate, required};
use crate::datasets::{Context, Table};
use crate::normalise::{Day, pointer_column, pointers, text, text_column, unscaled};
use pubdata_core::error::Result;
use pubdata_core::provenance::POINTERS;

const SOURCE: &str = "tax.taxability_rule";

/// Number of decimal places in an amount of money.
const MONEY_SCALE: usize = 2;

/// A row of `tax.taxability`.
struct Rule {
    state: String,
    class: String,
    level: String,
    taxable: Option<String>,
    rate: Option<i64>,
    null_reason: Option<String>,
    threshold: Option<i64>,
    threshold_kind: Option<String>,
    citation: String,
    url: Option<String>,
    valid_from: Option<String>,
    valid_to: Option<String>,
    evidence: String,
    note: Option<String>,
    pointers: Vec<u64>,
}

impl Rule {
    /// Returns the rule's key. The first day distinguishes successive rules for the same class.
    fn key(&self) -> String {
        format!(
            "{}:{}:{}:{}",
            self.state,
            self.class,
            self.level,
            self.valid_from.as_deref().unwrap_or("undated")
        )
    }
}

pub(super) fn table(context: &Context<'_>) -> Result<Table> {
    let file = context.read_one(SOURCE)?;
    let column = |name: &str| text(&file.frame, name);
    let (state, class, level, taxable) = (
        column("state")?,
        column("class")?,
        column("level")?,
        column("taxable")?,
    );
    let (value, reason, threshold, kind) = (
        column("rate")?,
        column("null_reason")?,
        column("threshold")?,
        column("threshold_kind")?,
    );
    let (citation, url, evidence, note) = (
        column("citation")?,
        column("url")?,
        column("evidence")?,
        column("note")?,
    );
    let days = [column("valid_from")?, column("valid_to")?];
    let mut issues: Vec<_> = file.issues(TAXABILITY).collect();
    let mut rules = Vec::new();
    for (row, pointers) in pointers(&file.frame, POINTERS)?.into_iter().enumerate() {
        let pointers = pointers.unwrap_or_default();
        let owned = |cell: Option<&str>| cell.map(str::to_owned);
        let read = || {
            Ok(Rule {
                state: required(state.get(row), "state")?.to_owned(),
                class: required(class.get(row), "class")?.to_owned(),
                level: required(level.get(row), "level")?.to_owned(),
                taxable: owned(taxable.get(row)),
                rate: rate(value.get(row), "rate")?,
                null_reason: owned(reason.get(row)),
                threshold: money(threshold.get(row))?,
                threshold_kind: owned(kind.get(row)),
                citation: required(citation.get(row), "citation")?.to_owned(),
                url: owned(url.get(row)),
                valid_from: day(days[0].get(row))?,
                valid_to: day(days[1].get(row))?,
                evidence: required(evidence.get(row), "evidence")?.to_owned(),
                note: owned(note.get(row)),
                pointers: pointers.clone(),
            })
        };
        match read() {
            Ok(rule) => rules.push(rule),
            Err(refusal) => issues.push(quarantined(context, TAXABILITY, refusal, &pointers)),
        }
    }
    Ok(Table {
        dataset_id: TAXABILITY.to_owned(),
        partition: Default::default(),
        frame: frame(&rules)?,
        issues,
    })
}

fn money(cell: Option<&str>) -> std::result::Result<Option<i64>, Refusal> {
    let Some(text) = cell else { return Ok(None) };
    let value = unscaled(text, MONEY_SCALE).filter(|value| *value > 0);
    value.map(Some).ok_or_else(|| {
        (
            "bad_value",
            format!("threshold is `{text}`, not an amount of dollars and cents"),
        )
    })
}

fn day(cell: Option<&str>) -> std::result::Result<Option<String>, Refusal> {
    let Some(text) = cell else { return Ok(None) };
    let day = Day::from_iso(text.as_bytes()).map(|day| day.to_string());
    day.map(Some).ok_or_else(|| {
        (
            "bad_value",
            format!("a day of the rule is `{text}`, not YYYY-MM-DD"),
        )
    })
}

fn frame(rules: &[Rule]) -> Result<DataFrame> {
    let texts =
        |name: &str, cell: fn(&Rule) -> Option<String>| text_column(name, rules.iter().map(cell));
    let numbers = |name: &str, cell: fn(&Rule) -> Option<i64>| {
        Column::new(name.into(), rules.iter().map(cell).collect::<Vec<_>>())
    };
    let columns = vec![
        texts("record_id", |rule| {
            Some(format!("{TAXABILITY}:{}", rule.key()))
        }),
        texts("rule_key", |rule| Some(rule.key())),
        texts("state", |rule| Some(rule.state.clone())),
        texts("class", |rule| Some(rule.class.clone())),
        texts("level", |rule| Some(rule.level.clone())),
        texts("taxable", |rule| rule.taxable.clone()),
        numbers("rate", |rule| rule.rate),
        texts("null_reason", |rule| rule.null_reason.clone()),
        numbers("threshold", |rule| rule.threshold),
        texts("threshold_kind", |rule| rule.threshold_kind.clone()),
        texts("citation", |rule| Some(rule.citation.clone())),
        texts("url", |rule| rule.url.clone()),
        texts("valid_from", |rule| rule.valid_from.clone()),
        texts("valid_to", |rule| rule.valid_to.clone()),
        texts("evidence", |rule| Some(rule.evidence.clone())),
        texts("note", |rule| rule.note.clone()),
        pointer_column(rules.iter().map(|rule| rule.pointers.as_slice())),
    ];
    Ok(DataFrame::new(rules.len(), columns)?)
}

#[cfg(test)]
mod tests {
    use super::{day, money};

    #[test]
    fn days_and_thresholds_are_read_or_refused() {
        assert_eq!(money(Some("110.00")), Ok(Some(11_000)));
        assert_eq!(money(None), Ok(None));
        assert!(money(Some("110 dollars")).is_err() && money(Some("0")).is_err());
        assert_eq!(day(Some("2026-01-01")), Ok(Some("2026-01-01".to_owned())));
        assert!(day(Some("2026-02-30")).is_err() && day(Some("1/1/2026")).is_err());
    }
}
