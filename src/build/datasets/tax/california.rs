//! Splits the Department's list of combined rates into the state's and the counties' parts, which
//! are the same everywhere, and the sum of the districts' rates. Grain: one place per city, and one
//! per county for the land outside its cities. Source: California Department of Tax and Fee
//! Administration, "CDTFA Tax Rates"; Revenue and Taxation Code 6051 ff. and 7200 ff. for the
//! parts.

use serde::Deserialize;

use super::boundary::Boundary;
use super::names::Names;
use super::rate::Rate;
use super::{BOUNDARY, RATE_SCALE, Refusal, StateRows, quarantined, rate, required, state_name};
use crate::datasets::Fault;
use crate::datasets::{Build, Builder, Context, Table, settings};
use crate::normalise::{day_from_epoch, pointers, text, unscaled, us_date};
use pubdata_core::canonical::address::city;
use pubdata_core::canonical::state;
use pubdata_core::error::Result;
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::POINTERS;

const SOURCE: &str = "tax.california_rate";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    state: String,
    /// Parts of every combined rate, with the date on which they took effect.
    state_rate: String,
    county_rate: String,
    begin_date: String,
    /// Prefix in the name for land outside the cities.
    unincorporated: String,
}

impl Settings {
    fn parts(&self) -> std::result::Result<(i64, i64), Fault> {
        let read = |key: &str, text: &str| {
            unscaled(text, RATE_SCALE)
                .ok_or_else(|| Fault::in_settings(key, format!("`{text}` is no rate")))
        };
        Ok((
            read("state_rate", &self.state_rate)?,
            read("county_rate", &self.county_rate)?,
        ))
    }
}

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 3,
    build: Build::Whole(build),
    check,
    vocabulary: None,
};

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    let settings: Settings = settings(declaration)?;
    settings.parts()?;
    state::fips(&settings.state)
        .map(drop)
        .ok_or_else(|| Fault::in_settings("state", format!("`{}` is no state", settings.state)))
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings: Settings = settings(context.declaration)?;
    let (state_rate, county_rate) = settings.parts()?;
    let usps = settings.state.as_str();
    let state_fips = state::fips(usps).unwrap_or_default();
    let names = Names::of_counties(context)?;
    let file = context.read_one(SOURCE)?;
    let column = |name: &str| text(&file.frame, name);
    let (place, county, combined, start) = (
        column("name")?,
        column("county")?,
        column("rate")?,
        column("start_date")?,
    );
    let mut rows = StateRows {
        boundary_issues: file.issues(BOUNDARY).collect(),
        ..StateRows::default()
    };
    let part =
        |kind: &'static str, code: &str, name: Option<String>, value: i64, pointers: &[u64]| Rate {
            state: usps.to_owned(),
            source_id: SOURCE.to_owned(),
            kind,
            type_raw: kind.to_owned(),
            code: code.to_owned(),
            name,
            general_intrastate: Some(value),
            general_interstate: Some(value),
            begin_date: settings.begin_date.clone(),
            pointers: pointers.to_vec(),
            ..Rate::default()
        };
    let mut counties: Vec<String> = Vec::new();
    for (row, pointers) in pointers(&file.frame, POINTERS)?.into_iter().enumerate() {
        let own = pointers.unwrap_or_default();
        let read = || -> std::result::Result<(Boundary, Option<Rate>), Refusal> {
            let name = required(place.get(row), "name")?;
            let county = required(county.get(row), "county")?;
            let known = names.county_code(state_fips, county).ok_or_else(|| {
                (
                    "unknown_county",
                    format!("`{county}` is no county of {usps}"),
                )
            })?;
            let value = rate(combined.get(row), "rate")?
                .ok_or_else(|| ("missing_value", "rate is empty".to_owned()))?;
            let district = value - state_rate - county_rate;
            if district < 0 {
                return Err((
                    "bad_value",
                    format!(
                        "the rate {} is less than the state's and the county's parts",
                        combined.get(row).unwrap_or_default()
                    ),
                ));
            }
            // Midnight in California, expressed in UTC. The service writes milliseconds; its
            // exports contain a date and a time.
            let text = required(start.get(row), "start date")?;
            let begin_date = day_from_epoch(text, 86_400_000)
                .map(|day| day.to_string())
                .or_else(|| us_date(text.split(' ').next()?))
                .ok_or_else(|| ("bad_value", format!("start date is `{text}`")))?;
            let own_city = (!name.starts_with(&settings.unincorporated)).then(|| city(name));
            let code = code_of(name);
            let mut pointers = own.clone();
            pointers.extend(&known.pointers);
            let rate = (district > 0).then(|| Rate {
                begin_date: begin_date.clone(),
                ..part(
                    "special",
                    &code,
                    Some(format!("Districts of {name}")),
                    district,
                    &pointers,
                )
            });
            let rate = rate.map(|rate| Rate {
                type_raw: "district".to_owned(),
                ..rate
            });
            let boundary = Boundary {
                state: usps.to_owned(),
                source_id: SOURCE.to_owned(),
                key: vec!["place".to_owned(), begin_date.clone(), code.clone()],
                record_type: "place",
                begin_date,
                city: own_city,
                county_fips: Some(known.text.clone()),
                has_state_tax: true,
                county_code: known.text.get(2..).map(str::to_owned),
                special_codes: if district > 0 {
                    vec![("district".to_owned(), code)]
                } else {
                    Vec::new()
                },
                pointers,
                ..Boundary::default()
            };
            Ok((boundary, rate))
        };
        match read() {
            Ok((boundary, rate)) => {
                // Parts that are the same everywhere point to the first record that shows them.
                if counties.is_empty() {
                    rows.rates.push(part(
                        "state",
                        state_fips,
                        Some(state_name(usps)),
                        state_rate,
                        &boundary.pointers,
                    ));
                }
                let code = boundary.county_code.clone().unwrap_or_default();
                if !counties.contains(&code) {
                    let known = boundary
                        .county_fips
                        .as_ref()
                        .and_then(|fips| names.county(fips));
                    rows.rates.push(part(
                        "county",
                        &code,
                        known.map(|known| known.text.clone()),
                        county_rate,
                        &boundary.pointers,
                    ));
                    counties.push(code);
                }
                rows.rates.extend(rate);
                rows.boundaries.push(boundary);
            }
            Err(refusal) => rows
                .boundary_issues
                .push(quarantined(context, BOUNDARY, refusal, &own)),
        }
    }
    rows.tables(usps, context)
}

/// Converts a name to a code: `LOS-ANGELES`.
fn code_of(name: &str) -> String {
    city(name)
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}
