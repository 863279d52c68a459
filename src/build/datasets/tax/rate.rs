//! Builds the rows of `tax.rate`.

use polars::prelude::*;

use super::RATE;
use crate::normalise::{pointer_column, text_column};
use pubdata_core::canonical::state;
use pubdata_core::error::Result;

/// A jurisdiction's rates for a period, in millionths.
#[derive(Default)]
pub(super) struct Rate {
    pub(super) state: String,
    pub(super) source_id: String,
    pub(super) kind: &'static str,
    pub(super) type_raw: String,
    pub(super) code: String,
    pub(super) name: Option<String>,
    pub(super) general_intrastate: Option<i64>,
    pub(super) general_interstate: Option<i64>,
    pub(super) food_drug_intrastate: Option<i64>,
    pub(super) food_drug_interstate: Option<i64>,
    pub(super) begin_date: String,
    pub(super) end_date: Option<String>,
    pub(super) pointers: Vec<u64>,
}

pub(super) fn frame(rows: &[Rate]) -> Result<DataFrame> {
    let texts =
        |name: &str, cell: fn(&Rate) -> Option<String>| text_column(name, rows.iter().map(cell));
    let rates = |name: &str, cell: fn(&Rate) -> Option<i64>| {
        Column::new(name.into(), rows.iter().map(cell).collect::<Vec<_>>())
    };
    let columns = vec![
        texts("record_id", |row| {
            Some(format!(
                "{RATE}:{}:{}:{}:{}",
                row.state, row.type_raw, row.code, row.begin_date
            ))
        }),
        texts("state", |row| Some(row.state.clone())),
        texts("state_fips", |row| {
            state::fips(&row.state).map(str::to_owned)
        }),
        texts("source_id", |row| Some(row.source_id.clone())),
        texts("type", |row| Some(row.kind.to_owned())),
        texts("type_raw", |row| Some(row.type_raw.clone())),
        texts("code", |row| Some(row.code.clone())),
        texts("name", |row| row.name.clone()),
        rates("general_intrastate", |row| row.general_intrastate),
        rates("general_interstate", |row| row.general_interstate),
        rates("food_drug_intrastate", |row| row.food_drug_intrastate),
        rates("food_drug_interstate", |row| row.food_drug_interstate),
        texts("begin_date", |row| Some(row.begin_date.clone())),
        texts("end_date", |row| row.end_date.clone()),
        pointer_column(rows.iter().map(|row| row.pointers.as_slice())),
    ];
    Ok(DataFrame::new(rows.len(), columns)?)
}
