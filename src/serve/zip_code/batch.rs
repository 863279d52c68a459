//! Answers `POST /v1/zip/batch`: what is known of many ZIP codes at once.

use schemars::JsonSchema;
use serde::Serialize;

use super::code::{describe, find, published};
use super::record::{Chosen, FIELDS, Record, Zip};
use crate::http::batch::BatchItem;
use crate::http::body::Body;
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::OF_RELEASE;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use pubdata_store::Scope;

/// The most items of a batch.
const MAX_ITEMS: usize = crate::http::body::MAX_BATCH_ITEMS;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/zip/batch",
    operation_id: "getZips",
    summary: "Up to 100 ZIP codes",
    access: Access::Scope(Scope::General),
    parameters: OF_RELEASE,
    body: Some("ZipBatchRequest"),
    data: Data::of::<ZipBatch<'static>>(),
    validity: Validity::Release,
    handler: Handler::Memory(batch),
};

#[derive(Serialize, JsonSchema)]
struct ZipBatch<'a>(Vec<BatchItem<'a, Asked<'a>, Zip<'a>>>);

/// ZIP code as the request has it.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Asked<'a>(&'a str);

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
    let outcomes: Vec<Result<Record<'_>>> = codes.iter().map(|code| find(call, zips, code)).collect();
    let items = codes.iter().zip(&outcomes).enumerate().map(|(index, (code, outcome))| {
        let mut of_item = Meta::default();
        outcome.iter().for_each(|record| record.note(&mut of_item, &chosen));
        BatchItem::of(call, (index, Asked(code)), outcome.as_ref().map(|record| record.shown(&chosen)), of_item.notices)
    });
    json.value(&ZipBatch(items.collect()));
    Ok(describe(zips, &chosen))
}
