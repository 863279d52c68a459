//! Reads boundary files from members of the Streamlined Sales Tax Agreement: one table per state,
//! and one row per range of addresses, ZIP+4 codes or ZIP Codes. Rows are independent, so a file
//! with two million rows is built in chunks.

use std::collections::BTreeMap;

use polars::prelude::{DataFrame, StringChunked};
use serde::Deserialize;

use super::boundary::{self, Boundary, Street, parity};
use super::sst::{own_state, padded, state_of};
use super::{BOUNDARY, Refusal, begin_date, boundary_table, end_date, quarantined, required};
use crate::datasets::Fault;
use crate::datasets::{Build, Builder, Context, Table, settings};
use crate::normalise::{pointers, text};
use pubdata_core::canonical::address::city;
use pubdata_core::canonical::state;
use pubdata_core::error::Result;
use pubdata_core::issue::Issue;
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::POINTERS;

const BOUNDARIES: &str = "tax.sst_boundary";

/// Number of source, code and type triplets at the end of a boundary record.
const SPECIALS: usize = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// End dates that represent an open-ended period.
    open_end: Vec<String>,
    /// Type codes of special districts to skip, because they are totals of other districts.
    not_special: Vec<String>,
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

/// Number of rows parsed at a time. Records take many times the memory of the columns.
const CHUNK_ROWS: usize = 4_096;

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings: Settings = settings(context.declaration)?;
    let mut tables = Vec::new();
    for file in context.read(BOUNDARIES)? {
        let usps = state_of(&file)?;
        let mut issues: Vec<Issue> = file.issues(BOUNDARY).collect();
        let mut frame = boundary::frame(&[], context.bucket())?;
        for first in (0..file.frame.height()).step_by(CHUNK_ROWS) {
            let rows = read_boundaries(
                context,
                &file.frame.slice(first as i64, CHUNK_ROWS),
                &usps,
                &settings,
                &mut issues,
            )?;
            frame.vstack_mut(&boundary::frame(&rows, context.bucket())?)?;
        }
        frame.rechunk_mut();
        tables.extend(boundary_table(&usps, context, frame, issues));
    }
    Ok(tables)
}

/// Columns in a boundary file.
struct Cells<'f> {
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
        let special = (1..=SPECIALS).map(|number| {
            Ok((
                text(frame, &format!("special_type_{number}"))?,
                text(frame, &format!("special_code_{number}"))?,
            ))
        });
        Ok(Self {
            fixed,
            special: special.collect::<Result<_>>()?,
        })
    }

    fn get(&self, row: usize, name: &'static str) -> Option<&'f str> {
        self.fixed[name].get(row)
    }

    /// Reads a ZIP Code and restores leading zeros that spreadsheets remove.
    fn zip(&self, row: usize, name: &'static str) -> std::result::Result<Option<String>, Refusal> {
        self.digits(row, name, 5)
    }

    fn digits(
        &self,
        row: usize,
        name: &'static str,
        width: usize,
    ) -> std::result::Result<Option<String>, Refusal> {
        let Some(cell) = self.get(row, name) else {
            return Ok(None);
        };
        let is_code = cell.len() <= width && cell.bytes().all(|byte| byte.is_ascii_digit());
        is_code
            .then(|| Some(format!("{cell:0>width$}")))
            .ok_or_else(|| {
                (
                    "bad_value",
                    format!("{name} is `{cell}`, not {width} digits"),
                )
            })
    }
}

fn read_boundaries(
    context: &Context<'_>,
    frame: &DataFrame,
    usps: &str,
    settings: &Settings,
    issues: &mut Vec<Issue>,
) -> Result<Vec<Boundary>> {
    let cells = Cells::new(frame)?;
    let mut rows = Vec::with_capacity(frame.height());
    for (row, pointers) in pointers(frame, POINTERS)?.into_iter().enumerate() {
        let pointers = pointers.unwrap_or_default();
        match boundary(&cells, row, usps, settings) {
            Ok(boundary) => rows.push(Boundary {
                pointers,
                ..boundary
            }),
            Err(refusal) => issues.push(quarantined(context, BOUNDARY, refusal, &pointers)),
        }
    }
    Ok(rows)
}

fn boundary(
    cells: &Cells<'_>,
    row: usize,
    usps: &str,
    settings: &Settings,
) -> std::result::Result<Boundary, Refusal> {
    let get = |name| cells.get(row, name);
    let owned = |name| get(name).map(str::to_owned);
    own_state(get("state_fips"), usps)?;
    let letter = required(get("record_type"), "record type")?.to_ascii_uppercase();
    let (record_type, zips, plus4s) = match letter.as_str() {
        "A" => ("address", ["zip", "zip"], ["plus4", "plus4"]),
        "4" => ("zip9", ["zip_low", "zip_high"], ["plus4_low", "plus4_high"]),
        "Z" => ("zip5", ["zip_low", "zip_high"], ["plus4_low", "plus4_high"]),
        other => {
            return Err((
                "unknown_type",
                format!("the record type is `{other}`, which is none of A, 4 and Z"),
            ));
        }
    };
    let zip_low = cells.zip(row, zips[0])?;
    // A record for a single ZIP Code may omit the end of its range.
    let zip_high = cells.zip(row, zips[1])?.or_else(|| zip_low.clone());
    let (plus4_low, plus4_high) = (
        cells.digits(row, plus4s[0], 4)?,
        cells.digits(row, plus4s[1], 4)?,
    );
    let plus4_high = plus4_high.or_else(|| plus4_low.clone());
    if zip_low.is_none() || (record_type == "zip9" && plus4_low.is_none()) {
        return Err(("missing_value", "the record names no ZIP code".to_owned()));
    }
    if (&zip_low, &plus4_low) > (&zip_high, &plus4_high) {
        return Err((
            "bad_value",
            "the range of ZIP codes ends before it begins".to_owned(),
        ));
    }
    let begin_date = begin_date(get("begin_date"))?;
    let mut key = vec![letter.clone(), begin_date.clone()];
    let texts =
        [&zip_low, &plus4_low, &zip_high, &plus4_high].map(|code| code.clone().unwrap_or_default());
    key.extend(texts);
    if record_type == "address" {
        key.extend(
            FIXED[3..15]
                .iter()
                .map(|name| owned(name).unwrap_or_default()),
        );
    }
    key.push(owned("state_code").unwrap_or_default());
    let mut special_codes = Vec::new();
    for (kind, code) in &cells.special {
        // Some states' files write empty codes as zeros.
        if let Some(code) = code
            .get(row)
            .filter(|code| code.bytes().any(|byte| byte != b'0'))
        {
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
        street: Street::from_parts(
            &[
                "predirectional",
                "street",
                "street_suffix",
                "postdirectional",
            ]
            .map(get),
        ),
        secondary_kind: get("secondary_kind").map(str::to_uppercase),
        secondary_low: owned("secondary_low"),
        secondary_high: owned("secondary_high"),
        secondary_parity: parity(get("secondary_parity")),
        city: get("city").map(city),
        county_fips: get("county_code")
            .zip(state::fips(usps))
            .map(|(county, state)| format!("{state}{}", padded(county, 3))),
        has_state_tax: get("state_code").is_some(),
        county_code: get("county_code").map(|code| padded(code, 3)),
        place_code: get("place_code").map(|code| padded(code, 5)),
        special_codes,
        pointers: Vec::new(),
    })
}
