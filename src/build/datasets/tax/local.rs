//! Turns the manually maintained table of local rates into jurisdictions, and into one place per
//! county in the table's states. A place lists the county tax and district taxes that apply there.
//! Grain: one rate per row, and one place per county in the Census Bureau's list. A row without a
//! rate means that the county levies a tax of unknown amount. Does not cover parts of counties.

use std::collections::BTreeMap;

use super::boundary::Boundary;
use super::names::Names;
use super::rate::Rate;
use super::{RATE, Refusal, StateRows, quarantined, rate, required, state_name};
use crate::datasets::{Context, Table};
use crate::normalise::{Day, pointers, text};
use pubdata_core::canonical::state;
use pubdata_core::error::{Error, Result};
use pubdata_core::provenance::POINTERS;

const SOURCE: &str = "tax.local_rate";

/// Row types in the table: a county, or a district that consists of entire counties.
const COUNTY: &str = "county";
const DISTRICT: &str = "district";

/// Numbers in one pointer.
const POINTER: usize = 4;

/// A state's own tax, from the table of states.
pub(super) struct StateOwn<'a> {
    pub(super) usps: &'a str,
    pub(super) source_id: &'static str,
    pub(super) rate: Option<i64>,
    /// First day on which the rate applies.
    pub(super) begin_date: Option<&'a str>,
    pub(super) pointers: &'a [u64],
}

/// A row in the table: the rate and, for a district, its counties.
struct Local {
    rate: Rate,
    counties: Vec<String>,
    /// Pointer to the row.
    row: Vec<u64>,
}

pub(super) fn tables(context: &Context<'_>, states: &[StateOwn<'_>]) -> Result<Vec<Table>> {
    let names = Names::of_counties(context)?;
    let (by_state, issues) = read(context, states, &names)?;
    let mut tables = Vec::new();
    for (usps, locals) in by_state {
        let own = states.iter().find(|own| own.usps == usps);
        let mut rows = StateRows {
            rate_issues: issues.get(&usps).cloned().unwrap_or_default(),
            ..StateRows::default()
        };
        if let Some((own, begin)) = own
            .and_then(|own| Some((own, own.begin_date?)))
            .filter(|(own, _)| own.rate.is_some())
        {
            // Each record points to one of the state's rows in this table, because these rows are
            // the reason why the state is divided into counties.
            let first: &[u64] = locals.first().map_or(&[], |local| &local.row);
            rows.rates.push(state_rate(own, begin, first));
            for (county, known) in names.counties_of(state::fips(&usps).unwrap_or_default()) {
                let mut place = place(own, begin, county, &locals, first);
                place.pointers.splice(0..0, known.pointers.iter().copied());
                rows.boundaries.push(place);
            }
            rows.rates
                .extend(locals.into_iter().map(|local| local.rate));
        }
        tables.extend(rows.tables(&usps, context)?);
    }
    Ok(tables)
}

type ByState<T> = BTreeMap<String, Vec<T>>;

fn read(
    context: &Context<'_>,
    states: &[StateOwn<'_>],
    names: &Names,
) -> Result<(ByState<Local>, ByState<pubdata_core::issue::Issue>)> {
    let file = context.read_one(SOURCE)?;
    let column = |name: &str| text(&file.frame, name);
    let (usps, kind, code, name, counties) = (
        column("state")?,
        column("type")?,
        column("code")?,
        column("name")?,
        column("counties")?,
    );
    let (value, food, begin, end) = (
        column("rate")?,
        column("food_rate")?,
        column("begin_date")?,
        column("end_date")?,
    );
    let (mut locals, mut issues) = (ByState::new(), ByState::new());
    for (row, pointers) in pointers(&file.frame, POINTERS)?.into_iter().enumerate() {
        let own = pointers.unwrap_or_default();
        let usps = usps
            .get(row)
            .and_then(state::usps)
            .ok_or_else(|| Error::format("tax.local_rate: a row has no state"))?;
        let rule = states.iter().find(|own| own.usps == usps);
        let read = || {
            let code = required(code.get(row), "code")?;
            let (class, counties) = match required(kind.get(row), "type")? {
                COUNTY => (COUNTY, vec![code.to_owned()]),
                DISTRICT => (
                    "special",
                    required(counties.get(row), "counties")?
                        .split(' ')
                        .map(str::to_owned)
                        .collect(),
                ),
                other => {
                    return Err((
                        "unknown_type",
                        format!("the type is `{other}`, which is neither {COUNTY} nor {DISTRICT}"),
                    ));
                }
            };
            let known = (class == COUNTY)
                .then(|| names.county(&format!("{}{code}", state::fips(usps).unwrap_or_default())))
                .flatten();
            let (general, food_drug) = (
                rate(value.get(row), "rate")?,
                rate(food.get(row), "food rate")?,
            );
            let rate = Rate {
                state: usps.to_owned(),
                source_id: SOURCE.to_owned(),
                kind: class,
                type_raw: if class == COUNTY { COUNTY } else { DISTRICT }.to_owned(),
                code: code.to_owned(),
                name: known
                    .map(|known| known.text.clone())
                    .or_else(|| name.get(row).map(str::to_owned)),
                general_intrastate: general,
                general_interstate: general,
                food_drug_intrastate: food_drug,
                food_drug_interstate: food_drug,
                begin_date: required(begin.get(row), "begin date")?.to_owned(),
                end_date: last_day(end.get(row))?,
                pointers: [
                    own.as_slice(),
                    known.map_or(&[], |known| &known.pointers),
                    rule.map_or(&[], |rule| rule.pointers),
                ]
                .concat(),
            };
            Ok(Local {
                rate,
                counties,
                row: own.clone(),
            })
        };
        match read() {
            Ok(local) => locals.entry(usps.to_owned()).or_default().push(local),
            Err(refusal) => {
                locals.entry(usps.to_owned()).or_default();
                issues
                    .entry(usps.to_owned())
                    .or_default()
                    .push(quarantined(context, RATE, refusal, &own));
            }
        }
    }
    Ok((locals, issues))
}

fn last_day(cell: Option<&str>) -> std::result::Result<Option<String>, Refusal> {
    let Some(text) = cell else { return Ok(None) };
    let day = Day::from_iso(text.as_bytes()).map(|day| day.to_string());
    day.map(Some)
        .ok_or_else(|| ("bad_value", format!("end date is `{text}`, not YYYY-MM-DD")))
}

fn state_rate(own: &StateOwn<'_>, begin: &str, first: &[u64]) -> Rate {
    Rate {
        state: own.usps.to_owned(),
        source_id: own.source_id.to_owned(),
        kind: "state",
        type_raw: "state".to_owned(),
        code: state::fips(own.usps).unwrap_or_default().to_owned(),
        name: Some(state_name(own.usps)),
        general_intrastate: own.rate,
        general_interstate: own.rate,
        begin_date: begin.to_owned(),
        pointers: [own.pointers, &first[..first.len().min(POINTER)]].concat(),
        ..Rate::default()
    }
}

/// Builds a county's place, with the county's own tax and those of its districts. The place points
/// to the state's row and to one row for each tax.
fn place(
    own: &StateOwn<'_>,
    begin: &str,
    county: &str,
    locals: &[Local],
    first: &[u64],
) -> Boundary {
    let code = &county[2..];
    let applying: Vec<&Local> = locals
        .iter()
        .filter(|local| local.counties.iter().any(|known| known == code))
        .collect();
    let is_county = |local: &&&Local| local.rate.kind == COUNTY;
    let mut special: Vec<(String, String)> = applying
        .iter()
        .filter(|local| !is_county(local))
        .map(|local| (DISTRICT.to_owned(), local.rate.code.clone()))
        .collect();
    special.dedup();
    let rows: Vec<u64> = applying
        .iter()
        .flat_map(|local| local.row.iter().take(POINTER))
        .copied()
        .collect();
    Boundary {
        state: own.usps.to_owned(),
        source_id: SOURCE.to_owned(),
        key: vec!["place".to_owned(), begin.to_owned(), county.to_owned()],
        record_type: "place",
        begin_date: begin.to_owned(),
        county_fips: Some(county.to_owned()),
        has_state_tax: true,
        county_code: applying.iter().find(is_county).map(|_| code.to_owned()),
        special_codes: special,
        pointers: [
            own.pointers,
            if rows.is_empty() {
                &first[..first.len().min(POINTER)]
            } else {
                &rows
            },
        ]
        .concat(),
        ..Boundary::default()
    }
}
