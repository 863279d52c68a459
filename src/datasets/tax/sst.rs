//! Rate and boundary files of the members of the Streamlined Sales Tax Agreement: one table of each kind per state. Layouts: Streamlined
//! Sales Tax Governing Board, "Rate and Boundary File Layouts". A record of another state than its file's is set aside.

use std::collections::BTreeMap;

use polars::prelude::{DataFrame, StringChunked};
use serde::Deserialize;

use super::boundary::{Boundary, Street, parity};
use super::names::Names;
use super::rate::Rate;
use super::{BOUNDARY, RATE, Refusal, StateRows, begin_date, end_date, quarantined, rate, required, state_name};
use crate::canonical::address::city;
use crate::canonical::state;
use crate::datasets::{Context, SourceFrame, Table, settings};
use crate::error::{Error, Result};
use crate::normalise::{pointers, text};
use crate::pipeline::Declaration;
use crate::provenance::POINTERS;

const RATES: &str = "tax.sst_rate";
const BOUNDARIES: &str = "tax.sst_boundary";

/// Triplets of source, code and type at the end of a boundary record.
const SPECIALS: usize = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Last days that mean that there is none.
    open_end: Vec<String>,
    /// Class of a jurisdiction by its type code; any other code is a special district.
    jurisdiction_type: BTreeMap<String, Class>,
    /// Type code of special districts that are not counted: totals of others.
    not_special: Vec<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Class {
    State,
    County,
    City,
}

pub(in crate::datasets) fn check(declaration: &Declaration) -> Result<()> {
    settings::<Settings>(declaration).map(drop)
}

pub(in crate::datasets) fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings: Settings = settings(context.declaration)?;
    let names = Names::read(context, true)?;
    let mut states: BTreeMap<String, StateRows> = BTreeMap::new();
    for file in context.read(RATES)? {
        let usps = state_of(&file)?;
        let rows = states.entry(usps.clone()).or_default();
        rows.rate_issues.extend(file.issues(RATE));
        read_rates(context, &file, &usps, &settings, &names, rows)?;
    }
    for file in context.read(BOUNDARIES)? {
        let usps = state_of(&file)?;
        let rows = states.entry(usps.clone()).or_default();
        rows.boundary_issues.extend(file.issues(BOUNDARY));
        read_boundaries(context, &file, &usps, &settings, rows)?;
    }
    let mut tables = Vec::new();
    for (usps, rows) in &states {
        tables.extend(rows.tables(usps)?);
    }
    Ok(tables)
}

fn state_of(file: &SourceFrame) -> Result<String> {
    let usps = file.keys.get("state").map(String::as_str).unwrap_or_default();
    state::usps(usps).map(str::to_owned).ok_or_else(|| Error::config(format!("`{usps}`, which a file's name begins with, is no state")))
}

/// The FIPS code of a record's state, which must be its file's.
fn own_state<'c>(cell: Option<&'c str>, usps: &str) -> std::result::Result<&'c str, Refusal> {
    let fips = required(cell, "state")?;
    match state::fips(usps) == Some(fips) {
        true => Ok(fips),
        false => Err(("foreign_state", format!("the state is `{fips}` in a file of {usps}"))),
    }
}

fn read_rates(context: &Context<'_>, file: &SourceFrame, usps: &str, settings: &Settings, names: &Names, rows: &mut StateRows) -> Result<()> {
    let column = |name: &str| text(&file.frame, name);
    let (fips, kind, code) = (column("state_fips")?, column("jurisdiction_type")?, column("code")?);
    let (general_intra, general_inter) = (column("general_intrastate")?, column("general_interstate")?);
    let (food_intra, food_inter) = (column("food_drug_intrastate")?, column("food_drug_interstate")?);
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
                food_drug_intrastate: rate(food_intra.get(row), "food and drug rate within the state")?,
                food_drug_interstate: rate(food_inter.get(row), "food and drug rate between states")?,
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
            Err(refusal) => rows.rate_issues.push(quarantined(context, RATE, refusal, &pointers)),
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

/// Digits with the zeros that spreadsheets take away; other codes as they are.
fn padded(code: &str, width: usize) -> String {
    if code.bytes().all(|byte| byte.is_ascii_digit()) { format!("{code:0>width$}") } else { code.to_owned() }
}

/// A boundary file's columns.
struct Cells<'f> {
    frame: &'f DataFrame,
    fixed: BTreeMap<&'static str, &'f StringChunked>,
    special: Vec<(&'f StringChunked, &'f StringChunked)>,
}

const FIXED: [&str; 24] = [
    "record_type",
    "begin_date",
    "end_date",
    "number_low",
    "number_high",
    "parity",
    "predirectional",
    "street",
    "street_suffix",
    "postdirectional",
    "secondary_kind",
    "secondary_low",
    "secondary_high",
    "secondary_parity",
    "city",
    "zip",
    "plus4",
    "zip_low",
    "plus4_low",
    "zip_high",
    "plus4_high",
    "state_fips",
    "state_code",
    "county_code",
];

impl<'f> Cells<'f> {
    fn new(frame: &'f DataFrame) -> Result<Self> {
        let mut fixed = BTreeMap::new();
        for name in FIXED.into_iter().chain(["place_code"]) {
            fixed.insert(name, text(frame, name)?);
        }
        let special = (1..=SPECIALS).map(|number| Ok((text(frame, &format!("special_type_{number}"))?, text(frame, &format!("special_code_{number}"))?)));
        Ok(Self { frame, fixed, special: special.collect::<Result<_>>()? })
    }

    fn get(&self, row: usize, name: &'static str) -> Option<&'f str> {
        self.fixed[name].get(row)
    }

    /// A ZIP code with the zeros that spreadsheets take away.
    fn zip(&self, row: usize, name: &'static str) -> std::result::Result<Option<String>, Refusal> {
        self.digits(row, name, 5)
    }

    fn digits(&self, row: usize, name: &'static str, width: usize) -> std::result::Result<Option<String>, Refusal> {
        let Some(cell) = self.get(row, name) else { return Ok(None) };
        let is_code = cell.len() <= width && cell.bytes().all(|byte| byte.is_ascii_digit());
        is_code.then(|| Some(format!("{cell:0>width$}"))).ok_or_else(|| ("bad_value", format!("{name} is `{cell}`, not {width} digits")))
    }
}

fn read_boundaries(context: &Context<'_>, file: &SourceFrame, usps: &str, settings: &Settings, rows: &mut StateRows) -> Result<()> {
    let cells = Cells::new(&file.frame)?;
    rows.boundaries.reserve(cells.frame.height());
    for (row, pointers) in pointers(cells.frame, POINTERS)?.into_iter().enumerate() {
        let pointers = pointers.unwrap_or_default();
        match boundary(&cells, row, usps, settings) {
            Ok(boundary) => rows.boundaries.push(Boundary { pointers, ..boundary }),
            Err(refusal) => rows.boundary_issues.push(quarantined(context, BOUNDARY, refusal, &pointers)),
        }
    }
    Ok(())
}

fn boundary(cells: &Cells<'_>, row: usize, usps: &str, settings: &Settings) -> std::result::Result<Boundary, Refusal> {
    let get = |name| cells.get(row, name);
    let owned = |name| get(name).map(str::to_owned);
    own_state(get("state_fips"), usps)?;
    let letter = required(get("record_type"), "record type")?.to_ascii_uppercase();
    let (record_type, zips, plus4s) = match letter.as_str() {
        "A" => ("address", ["zip", "zip"], ["plus4", "plus4"]),
        "4" => ("zip9", ["zip_low", "zip_high"], ["plus4_low", "plus4_high"]),
        "Z" => ("zip5", ["zip_low", "zip_high"], ["plus4_low", "plus4_high"]),
        other => return Err(("unknown_type", format!("the record type is `{other}`, which is none of A, 4 and Z"))),
    };
    let zip_low = cells.zip(row, zips[0])?;
    // A record of one ZIP code may leave out the end of its range.
    let zip_high = cells.zip(row, zips[1])?.or_else(|| zip_low.clone());
    let (plus4_low, plus4_high) = (cells.digits(row, plus4s[0], 4)?, cells.digits(row, plus4s[1], 4)?);
    let plus4_high = plus4_high.or_else(|| plus4_low.clone());
    if zip_low.is_none() || (record_type == "zip9" && plus4_low.is_none()) {
        return Err(("missing_value", "the record names no ZIP code".to_owned()));
    }
    if (&zip_low, &plus4_low) > (&zip_high, &plus4_high) {
        return Err(("bad_value", "the range of ZIP codes ends before it begins".to_owned()));
    }
    let begin_date = begin_date(get("begin_date"))?;
    let mut key = vec![letter.clone(), begin_date.clone()];
    let texts = [&zip_low, &plus4_low, &zip_high, &plus4_high].map(|code| code.clone().unwrap_or_default());
    key.extend(texts);
    if record_type == "address" {
        key.extend(FIXED[3..15].iter().map(|name| owned(name).unwrap_or_default()));
    }
    key.push(owned("state_code").unwrap_or_default());
    let mut special_codes = Vec::new();
    for (kind, code) in &cells.special {
        // Rows of zeros are empty in some states' files.
        if let Some(code) = code.get(row).filter(|code| code.bytes().any(|byte| byte != b'0')) {
            let kind = padded(kind.get(row).unwrap_or_default(), 2);
            if !settings.not_special.contains(&kind) {
                special_codes.push((kind, code.to_owned()));
            }
        }
    }
    Ok(Boundary {
        state: usps.to_owned(),
        source_id: BOUNDARIES.to_owned(),
        key,
        record_type,
        begin_date,
        end_date: end_date(get("end_date"), &settings.open_end)?,
        zip_low,
        zip_high,
        plus4_low,
        plus4_high,
        number_low: owned("number_low"),
        number_high: owned("number_high"),
        parity: parity(get("parity")),
        street: Street::of(&["predirectional", "street", "street_suffix", "postdirectional"].map(get)),
        secondary_kind: get("secondary_kind").map(str::to_uppercase),
        secondary_low: owned("secondary_low"),
        secondary_high: owned("secondary_high"),
        secondary_parity: parity(get("secondary_parity")),
        city: get("city").map(city),
        county_fips: get("county_code").zip(state::fips(usps)).map(|(county, state)| format!("{state}{}", padded(county, 3))),
        has_state_tax: get("state_code").is_some(),
        county_code: get("county_code").map(|code| padded(code, 3)),
        place_code: get("place_code").map(|code| padded(code, 5)),
        special_codes,
        pointers: Vec::new(),
    })
}
