//! Answers `POST /v1/zip/batch`: what is known of many ZIP codes at once.

use super::code::{describe, find, published};
use super::record::{Chosen, FIELDS};
use crate::http::batch::write_item;
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
    data: Data::Written("ZipBatch"),
    validity: Validity::Release,
    handler: Handler::Memory(batch),
};

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
    json.array(|json| {
        for item in codes.iter().enumerate() {
            let outcome = find(call, zips, item.1);
            let mut of_item = Meta::default();
            outcome.iter().for_each(|record| record.note(&mut of_item, &chosen));
            write_item(json, call, item, &outcome, &of_item.notices, |json, record| record.write(json, &chosen));
        }
    });
    Ok(describe(zips, &chosen))
}
