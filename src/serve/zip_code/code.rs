//! Finds the ZIP code of a request.

use super::record::{Chosen, Record};
use crate::http::endpoint::Call;
use crate::http::meta::{Coverage, Meta};
use crate::http::problem::{Code, Problem, Result, not_published};
use crate::place::zips::Zips;
use crate::tax::location::{wrong_zip, zip_of};

pub const ZIPS: &str = "zip.zip";
pub const COUNTIES: &str = "zip.county";

/// Returns the ZIP codes of the release.
pub fn published<'a>(call: &Call<'a>) -> Result<&'a Zips> {
    call.release
        .table::<Zips>()
        .ok_or_else(|| not_published(ZIPS))
}

/// Finds a ZIP code.
///
/// # Errors
/// `invalid_parameter` if the text is not five digits, or nine digits with a hyphen; `not_found` if
/// the code does not exist.
pub fn find<'a>(call: &'a Call<'a>, zips: &'a Zips, input: &'a str) -> Result<Record<'a>> {
    let (code, _) = zip_of(input)
        .filter(|_| input.len() != 9)
        .ok_or_else(|| Problem::of_field(Code::InvalidParameter, "zip", wrong_zip(input)))?;
    match zips.find(&code) {
        Some(row) => Ok(Record {
            call,
            zips,
            row,
            input,
        }),
        None => Err(Problem::of_field(
            Code::NotFound,
            "zip",
            format!("ZIP Code {code} was not found"),
        )),
    }
}

pub fn describe(zips: &Zips, chosen: &Chosen) -> Meta {
    let mut datasets = vec![ZIPS, COUNTIES];
    if chosen.has("demographics") || chosen.has("land_area_sqmi") || chosen.has("water_area_sqmi") {
        datasets.extend(["geo.zcta_metric", "geo.geography"]);
    }
    if chosen.has("sales_tax") {
        datasets.extend(["tax.state", "tax.rate", "tax.boundary"]);
    }
    Meta {
        datasets: datasets.into_iter().map(Into::into).collect(),
        coverage: Some(Coverage {
            scope: scope(zips),
            ..Coverage::default()
        }),
        ..Meta::default()
    }
}

pub fn scope(zips: &Zips) -> String {
    format!("{} ZIP codes", zips.codes.len())
}
