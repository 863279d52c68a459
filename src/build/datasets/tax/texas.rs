//! Turns the Comptroller's list of local rates into jurisdictions, and into one place per city and
//! county, or per county alone. Layout: Comptroller of Public Accounts, "Sales Tax Rate File"
//! (EDI): cities, their counties and up to two special districts. The first line contains the
//! quarter and the state's rate, and is followed by lines with due dates for returns. Rates do not
//! have dates; their period is the quarter.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::boundary::Boundary;
use super::names::Names;
use super::rate::Rate;
use super::{
    BOUNDARY, RATE, RATE_SCALE, Refusal, StateRows, quarantined, quarter_days, rate, required,
    state_name,
};
use crate::datasets::Fault;
use crate::datasets::{Build, Builder, Context, Table, settings};
use crate::normalise::{pointers, text, unscaled};
use pubdata_core::canonical::address::city;
use pubdata_core::canonical::state;
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::POINTERS;

const SOURCE: &str = "tax.texas_rate";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    state: String,
    /// Text that represents an empty cell.
    none: String,
}

/// Content of the first line.
struct Notice {
    begin_date: String,
    state_rate: i64,
    pointers: Vec<u64>,
}

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 2,
    build: Build::Whole(build),
    check,
    vocabulary: None,
};

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    let settings: Settings = settings(declaration)?;
    state::fips(&settings.state)
        .map(drop)
        .ok_or_else(|| Fault::in_settings("state", format!("`{}` is no state", settings.state)))
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings: Settings = settings(context.declaration)?;
    let usps = settings.state.as_str();
    let state_fips = state::fips(usps).unwrap_or_default();
    let names = Names::of_counties(context)?;
    let file = context.read_one(SOURCE)?;
    let frame = &file.frame;
    let column = |name: &str| text(frame, name);
    let (city_name, county_name) = (column("city")?, column("county")?);
    // Class and type, followed by the columns with the name, the code and the rate.
    let levels = [
        (
            "city",
            "city",
            column("city")?,
            column("city_code")?,
            column("city_rate")?,
        ),
        (
            "county",
            "county",
            column("county")?,
            column("county_code")?,
            column("county_rate")?,
        ),
        (
            "special",
            "spd",
            column("district_1")?,
            column("district_1_code")?,
            column("district_1_rate")?,
        ),
        (
            "special",
            "spd",
            column("district_2")?,
            column("district_2_code")?,
            column("district_2_rate")?,
        ),
    ];
    let all_pointers: Vec<Vec<u64>> = pointers(frame, POINTERS)?
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect();
    let is_notice = |row: usize| {
        city_name
            .get(row)
            .is_some_and(|cell| cell.starts_with(|c: char| c.is_ascii_digit()))
    };
    let notice = (0..frame.height()).find(|row| is_notice(*row)).map(|row| {
        // The first line has different columns than the rates: its second cell is the quarter, and
        // its fifth is the state's rate.
        let (quarter, state_rate) = (
            levels[0].3.get(row).unwrap_or_default(),
            levels[1].3.get(row).unwrap_or_default(),
        );
        read_notice(quarter, state_rate, all_pointers[row].clone())
    });
    let notice =
        notice.ok_or_else(|| Error::format("no line says for which quarter the rates are"))??;

    let due_days =
        (0..frame.height()).filter(|row| is_notice(*row) && all_pointers[*row] != notice.pointers);
    context.exclude_rows(
        "filing_dates",
        due_days
            .flat_map(|row| all_pointers[row].iter().copied())
            .collect(),
    );

    let mut rows = StateRows {
        boundary_issues: file.issues(BOUNDARY).collect(),
        ..StateRows::default()
    };
    let mut rates: BTreeMap<(&str, String), Rate> = BTreeMap::new();
    for row in (0..frame.height()).filter(|row| !is_notice(*row)) {
        let own = [all_pointers[row].as_slice(), notice.pointers.as_slice()].concat();
        let some = |cell: Option<&'_ str>| {
            cell.filter(|cell| *cell != settings.none)
                .map(str::to_owned)
        };
        let mut codes: Vec<(&str, &str, String, Rate)> = Vec::new();
        let mut read = || -> std::result::Result<Boundary, Refusal> {
            let county = required(county_name.get(row), "county")?.trim().to_owned();
            // The file contains `n/a` for a missing district.
            if levels[2..].iter().all(|(_, _, name, code, value)| {
                name.get(row).or(code.get(row)).or(value.get(row)).is_none()
            }) {
                return Err((
                    "missing_value",
                    "the line ends before its districts".to_owned(),
                ));
            }
            let fips = names.county_code(state_fips, &county);
            for (class, kind, name, code, value) in &levels {
                let Some(code) = some(code.get(row)) else {
                    continue;
                };
                let value = rate(value.get(row), kind)?.unwrap_or_default();
                let made = Rate {
                    state: usps.to_owned(),
                    source_id: SOURCE.to_owned(),
                    kind: class,
                    type_raw: (*kind).to_owned(),
                    code: code.clone(),
                    name: some(name.get(row)).map(|name| name.trim().to_owned()),
                    general_intrastate: Some(value),
                    general_interstate: Some(value),
                    begin_date: notice.begin_date.clone(),
                    pointers: own.clone(),
                    ..Rate::default()
                };
                codes.push((class, kind, code, made));
            }
            let code_of = |class: &str| {
                codes
                    .iter()
                    .find(|(known, ..)| *known == class)
                    .map(|(.., code, _)| code.clone())
            };
            let place = required(city_name.get(row), "city")?;
            let mut pointers = own.clone();
            pointers.extend(fips.iter().flat_map(|known| &known.pointers));
            Ok(Boundary {
                state: usps.to_owned(),
                source_id: SOURCE.to_owned(),
                key: vec![
                    "place".to_owned(),
                    notice.begin_date.clone(),
                    city(place),
                    county.to_uppercase(),
                ],
                record_type: "place",
                begin_date: notice.begin_date.clone(),
                city: Some(city(place)),
                county_fips: fips.map(|known| known.text.clone()),
                has_state_tax: true,
                county_code: code_of("county"),
                place_code: code_of("city"),
                special_codes: codes
                    .iter()
                    .filter(|(class, ..)| *class == "special")
                    .map(|(_, kind, code, _)| ((*kind).to_owned(), code.clone()))
                    .collect(),
                pointers,
                ..Boundary::default()
            })
        };
        match read() {
            Ok(boundary) => {
                rows.boundaries.push(boundary);
                for (_, kind, code, made) in codes {
                    // A jurisdiction occurs on the line of every place it taxes. Its record points
                    // to the first of these lines.
                    let value = made.general_intrastate;
                    let known = rates.entry((kind, code)).or_insert(made);
                    if known.general_intrastate != value {
                        let detail =
                            format!("{kind} {} has another rate on a line before", known.code);
                        rows.rate_issues.push(quarantined(
                            context,
                            RATE,
                            ("conflicting_rate", detail),
                            &all_pointers[row],
                        ));
                    }
                }
            }
            Err(refusal) => rows.boundary_issues.push(quarantined(
                context,
                BOUNDARY,
                refusal,
                &all_pointers[row],
            )),
        }
    }
    rows.rates.push(Rate {
        state: usps.to_owned(),
        source_id: SOURCE.to_owned(),
        kind: "state",
        type_raw: "state".to_owned(),
        code: state_fips.to_owned(),
        name: Some(state_name(usps)),
        general_intrastate: Some(notice.state_rate),
        general_interstate: Some(notice.state_rate),
        begin_date: notice.begin_date.clone(),
        pointers: notice.pointers.clone(),
        ..Rate::default()
    });
    rows.rates.extend(rates.into_values());
    rows.tables(usps, context)
}

/// Reads `20263` and `0.0625`.
fn read_notice(quarter: &str, state_rate: &str, pointers: Vec<u64>) -> Result<Notice> {
    let days = quarter
        .split_at_checked(4)
        .and_then(|(year, quarter)| quarter_days(year.parse().ok()?, quarter.parse().ok()?));
    let (begin_date, _) = days.ok_or_else(|| {
        Error::format(format!(
            "the first line names the quarter `{quarter}`, not a year and a quarter"
        ))
    })?;
    let state_rate = unscaled(state_rate, RATE_SCALE).ok_or_else(|| {
        Error::format(format!(
            "the first line names the state's rate `{state_rate}`"
        ))
    })?;
    Ok(Notice {
        begin_date,
        state_rate,
        pointers,
    })
}
