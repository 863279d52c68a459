//! Converts rows to the contracts' columns.

use polars::prelude::*;

use super::{COUNTY, TimeZone, ZIP, Zip, ZipCounty};
use crate::normalise::{list_column, pointer_column, text_column};
use pubdata_core::canonical::state;
use pubdata_core::error::Result;

pub(super) fn zips(rows: &[Zip]) -> Result<DataFrame> {
    let texts =
        |name: &str, cell: fn(&Zip) -> Option<String>| text_column(name, rows.iter().map(cell));
    let columns = vec![
        texts("record_id", |row| Some(format!("{ZIP}:{}", row.code))),
        texts("zip", |row| Some(row.code.clone())),
        texts("type", |row| Some(row.zip_type.clone())),
        texts("type_raw", |row| row.type_raw.clone()),
        texts("city", |row| Some(row.city.clone())),
        list_column("other_cities", rows.iter().map(|row| &row.other_cities)),
        texts("state", |row| Some(row.state.clone())),
        texts("military_region", |row| row.military_region.clone()),
        texts("state_name", |row| state::name(&row.state).map(title_case)),
        texts("state_fips", |row| {
            state::fips(&row.state).map(str::to_owned)
        }),
        texts("county_fips", |row| {
            row.county.as_ref().map(|(fips, _)| fips.clone())
        }),
        texts("county_name", |row| {
            row.county.as_ref().and_then(|(_, name)| name.clone())
        }),
        texts("timezone", |row| match &row.time_zone {
            TimeZone::Known(name, _) => Some(name.clone()),
            TimeZone::Unknown(_) => None,
        }),
        texts("timezone_basis", |row| match row.time_zone {
            TimeZone::Known(_, basis) => Some(basis.to_owned()),
            TimeZone::Unknown(_) => None,
        }),
        texts("timezone_null_reason", |row| match row.time_zone {
            TimeZone::Known(..) => None,
            TimeZone::Unknown(reason) => Some(reason.to_owned()),
        }),
        Column::new(
            "lat".into(),
            rows.iter().map(|row| row.lat).collect::<Vec<_>>(),
        ),
        Column::new(
            "lon".into(),
            rows.iter().map(|row| row.lon).collect::<Vec<_>>(),
        ),
        texts("coordinate_accuracy", |row| row.coordinate_accuracy.clone()),
        texts("zcta", |row| row.zcta.clone()),
        texts("zcta_match", |row| Some(row.zcta_match.clone())),
        pointer_column(rows.iter().map(|row| row.pointers.as_slice())),
    ];
    Ok(DataFrame::new(rows.len(), columns)?)
}

pub(super) fn counties(rows: &[ZipCounty]) -> Result<DataFrame> {
    let texts = |name: &str, cell: fn(&ZipCounty) -> Option<String>| {
        text_column(name, rows.iter().map(cell))
    };
    let columns = vec![
        texts("record_id", |row| {
            Some(format!("{COUNTY}:{}:{}", row.zip, row.county_fips))
        }),
        texts("zip", |row| Some(row.zip.clone())),
        texts("county_fips", |row| Some(row.county_fips.clone())),
        texts("county_name", |row| row.county_name.clone()),
        Column::new(
            "share".into(),
            rows.iter().map(|row| row.share).collect::<Vec<_>>(),
        ),
        texts("basis", |row| Some(row.basis.to_owned())),
        pointer_column(rows.iter().map(|row| row.pointers.as_slice())),
    ];
    Ok(DataFrame::new(rows.len(), columns)?)
}

/// Writes `DISTRICT OF COLUMBIA` as `District of Columbia`.
fn title_case(name: &str) -> String {
    let word = |word: &str| match word {
        "OF" => "of".to_owned(),
        _ => word
            .chars()
            .take(1)
            .chain(word.chars().skip(1).flat_map(char::to_lowercase))
            .collect(),
    };
    name.split(' ').map(word).collect::<Vec<String>>().join(" ")
}
