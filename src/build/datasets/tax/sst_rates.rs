//! Reads rate files from members of the Streamlined Sales Tax Agreement: one table per state, and
//! one row per jurisdiction and period.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::names::Names;
use super::rate::Rate;
use super::sst::{own_state, padded, state_of};
use super::{RATE, StateRows, begin_date, end_date, quarantined, rate, required, state_name};
use crate::datasets::Fault;
use crate::datasets::{Build, Builder, Context, SourceFrame, Table, settings};
use crate::normalise::{pointers, text};
use pubdata_core::error::Result;
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::POINTERS;

const RATES: &str = "tax.sst_rate";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// End dates that represent an open-ended period.
    open_end: Vec<String>,
    /// A jurisdiction's class by its type code. Any other code denotes a special district.
    jurisdiction_type: BTreeMap<String, Class>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Class {
    State,
    County,
    City,
}

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 1,
    build: Build::Whole(build),
    check,
    vocabulary: None,
};

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    settings::<Settings>(declaration).map(drop)
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings: Settings = settings(context.declaration)?;
    let names = Names::load_counties_and_places(context)?;
    let mut tables = Vec::new();
    for file in context.read(RATES)? {
        let usps = state_of(&file)?;
        let mut rows = StateRows {
            rate_issues: file.issues(RATE).collect(),
            ..StateRows::default()
        };
        read_rates(context, &file, &usps, &settings, &names, &mut rows)?;
        tables.extend(rows.tables(&usps, context)?);
    }
    Ok(tables)
}

fn read_rates(
    context: &Context<'_>,
    file: &SourceFrame,
    usps: &str,
    settings: &Settings,
    names: &Names,
    rows: &mut StateRows,
) -> Result<()> {
    let column = |name: &str| text(&file.frame, name);
    let (fips, kind, code) = (
        column("state_fips")?,
        column("jurisdiction_type")?,
        column("code")?,
    );
    let (general_intra, general_inter) =
        (column("general_intrastate")?, column("general_interstate")?);
    let (food_intra, food_inter) = (
        column("food_drug_intrastate")?,
        column("food_drug_interstate")?,
    );
    let (begin, end) = (column("begin_date")?, column("end_date")?);
    for (row, pointers) in pointers(&file.frame, POINTERS)?.into_iter().enumerate() {
        let mut pointers = pointers.unwrap_or_default();
        let read = || {
            let state_fips = own_state(fips.get(row), usps)?;
            let type_raw = padded(required(kind.get(row), "jurisdiction type")?, 2);
            let code = required(code.get(row), "jurisdiction code")?;
            let class = settings.jurisdiction_type.get(&type_raw).copied();
            let code = match class {
                Some(Class::State) => padded(code, 2),
                Some(Class::County) => padded(code, 3),
                Some(Class::City) => padded(code, 5),
                None => code.to_owned(),
            };
            let known = match class {
                Some(Class::County) => names.county(&format!("{state_fips}{code}")),
                Some(Class::City) => names.place(state_fips, &code),
                Some(Class::State) | None => None,
            };
            let name = match class {
                Some(Class::State) => Some(state_name(usps)),
                None => Some(format!("Special district {code}")),
                Some(Class::County | Class::City) => known.map(|known| known.text.clone()),
            };
            let rate = Rate {
                state: usps.to_owned(),
                source_id: RATES.to_owned(),
                kind: class_name(class),
                type_raw,
                code,
                name,
                general_intrastate: rate(general_intra.get(row), "general rate within the state")?,
                general_interstate: rate(general_inter.get(row), "general rate between states")?,
                food_drug_intrastate: rate(
                    food_intra.get(row),
                    "food and drug rate within the state",
                )?,
                food_drug_interstate: rate(
                    food_inter.get(row),
                    "food and drug rate between states",
                )?,
                begin_date: begin_date(begin.get(row))?,
                end_date: end_date(end.get(row), &settings.open_end)?,
                pointers: Vec::new(),
            };
            Ok((rate, known.map(|known| known.pointers.clone())))
        };
        match read() {
            Ok((rate, of_name)) => {
                pointers.extend(of_name.into_iter().flatten());
                rows.rates.push(Rate { pointers, ..rate });
            }
            Err(refusal) => rows
                .rate_issues
                .push(quarantined(context, RATE, refusal, &pointers)),
        }
    }
    Ok(())
}

fn class_name(class: Option<Class>) -> &'static str {
    match class {
        Some(Class::State) => "state",
        Some(Class::County) => "county",
        Some(Class::City) => "city",
        None => "special",
    }
}
