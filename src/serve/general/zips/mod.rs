//! ZIP codes: what is known of one, of many at once, and which lie around one.

pub mod nearby;
mod record;

use super::tax::{wrong_zip, zip_of};
use crate::serve::body::Body;
use crate::serve::call::{Call, Coverage, Meta, not_published};
use crate::serve::index::Zips;
use crate::serve::json::Json;
use crate::serve::parameters::{AS_OF, Kind, Parameter, RELEASE};
use crate::serve::problem::{Code, Problem, Result};
use record::{Chosen, FIELDS, Record};

const ZIPS: &str = "zip.zip";
const COUNTIES: &str = "zip.county";

/// The most items of a batch.
const MAX_ITEMS: usize = 100;

/// The endpoint's parameters.
pub const PARAMETERS: &[Parameter] =
    &[Parameter { name: "fields", kind: Kind::Words(&FIELDS), description: "Comma list of the fields to answer; all when absent." }, RELEASE, AS_OF];

/// Answers `GET /v1/zip/{zip}`.
pub fn zip(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let zips = published(call)?;
    let chosen = Chosen::of(super::listed(call, "fields").as_deref());
    let record = find(call, zips, call.path_value("zip"))?;
    record.write(json, &chosen);
    let mut meta = describe(zips, &chosen);
    record.note(&mut meta, &chosen);
    Ok(meta)
}

/// Answers `POST /v1/zip/batch`: each code in the order asked, and of one that is not known the problem.
pub fn batch(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let zips = published(call)?;
    let body = Body::read(call.body, &["zips", "fields"])?;
    let codes = body.texts("zips")?.ok_or_else(|| Problem::of_field(Code::MissingParameter, "zips", "the body needs `zips`"))?;
    let fields = body.texts("fields")?;
    if let Some(fields) = &fields {
        body.positions("fields", fields, &FIELDS)?;
    }
    match codes.len() {
        0 => return Err(Problem::of_field(Code::InvalidParameter, "zips", "`zips` is empty")),
        1..=MAX_ITEMS => {}
        count => return Err(Problem::of_field(Code::BatchTooLarge, "zips", format!("`zips` has {count} items, at most {MAX_ITEMS} are answered at once"))),
    }
    call.charge(codes.len())?;
    let chosen = Chosen::of(fields.as_ref().map(|fields| fields.iter().map(String::as_str).collect::<Vec<_>>()).as_deref());
    let mut meta = describe(zips, &chosen);
    json.array(|json| {
        for code in &codes {
            let outcome = find(call, zips, code);
            json.object(|json| {
                json.key("input").text(code);
                json.key("found").flag(outcome.is_ok());
                match &outcome {
                    Ok(record) => record.write(json.key("result"), &chosen),
                    Err(_) => json.key("result").null(),
                }
                match &outcome {
                    Ok(_) => json.key("error").null(),
                    Err(problem) => problem.write_item(json.key("error"), call.service.public_url()),
                }
            });
            if let Ok(record) = outcome {
                record.note(&mut meta, &chosen);
            }
        }
    });
    let mut seen = Vec::new();
    meta.notices.retain(|notice| {
        let is_new = !seen.contains(notice);
        seen.push(notice.clone());
        is_new
    });
    Ok(meta)
}

fn published<'a>(call: &Call<'a>) -> Result<&'a Zips> {
    call.release.general.zips.as_ref().ok_or_else(|| not_published(ZIPS))
}

/// Finds a ZIP code as asked.
///
/// # Errors
/// `invalid_parameter`, when it is not five digits, or nine; `not_found`, when there is no such code.
fn find<'a>(call: &'a Call<'a>, zips: &'a Zips, input: &'a str) -> Result<Record<'a>> {
    let (code, _) = zip_of(input).filter(|_| input.len() != 9).ok_or_else(|| Problem::of_field(Code::InvalidParameter, "zip", wrong_zip(input)))?;
    match zips.find(&code) {
        Some(row) => Ok(Record { call, zips, row, input }),
        None => Err(Problem::of_field(Code::NotFound, "zip", format!("no ZIP code {code} is known"))),
    }
}

fn describe(zips: &Zips, chosen: &Chosen) -> Meta {
    let mut datasets = vec![ZIPS, COUNTIES];
    if chosen.has("demographics") || chosen.has("land_area_sqmi") || chosen.has("water_area_sqmi") {
        datasets.extend(["geo.zcta_metric", "geo.geography"]);
    }
    if chosen.has("sales_tax") {
        datasets.extend(["tax.state", "tax.rate", "tax.boundary"]);
    }
    Meta {
        datasets: datasets.into_iter().map(str::to_owned).collect(),
        coverage: Some(Coverage { scope: scope(zips), ..Coverage::default() }),
        ..Meta::default()
    }
}

fn scope(zips: &Zips) -> String {
    format!("{} ZIP codes", zips.codes.len())
}
