//! Answers `POST /v1/zip/batch`: the data of many ZIP codes.

use schemars::JsonSchema;
use serde::Serialize;

use super::code::{describe, find, published};
use super::record::{Chosen, FIELDS, Record, Zip};
use crate::http::batch::BatchItem;
use crate::http::body::{Body, request, required};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::RELEASE_PARAMETERS;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use pubdata_store::Scope;

/// Maximum number of items in a batch.
const MAX_ITEMS: usize = crate::http::body::MAX_BATCH_ITEMS;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/zip/batch",
    operation_id: "getZips",
    summary: "Up to 100 ZIP codes",
    access: Access::Scope(Scope::General),
    parameters: RELEASE_PARAMETERS,
    body: Some(Data::for_type::<ZipBatchRequest>()),
    data: Data::for_type::<ZipBatch<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Memory(batch),
};

request! {
    struct ZipBatchRequest {
        /// ZIP codes; duplicates are allowed. Each ZIP code counts as one request.
        #[schemars(length(min = 1, max = MAX_ITEMS))]
        zips: Vec<String>,
        /// Fields of each result other than `input`, `zip` and `provenance`; all fields if absent.
        #[schemars(length(min = 1), extend("type" = "array", "uniqueItems" = true, "items" = {"title": "ZipField", "type": "string", "enum": FIELDS}))]
        fields: Option<Vec<String>>,
    }
}

impl ZipBatchRequest {
    fn read(body: &[u8]) -> Result<Self> {
        let body = Body::read(body, Self::FIELDS)?;
        let request = Self {
            zips: required(Self::zips, body.texts(Self::zips)?)?,
            fields: body.texts(Self::fields)?,
        };
        if let Some(fields) = &request.fields {
            body.positions(Self::fields, fields, &FIELDS)?;
        }
        match request.zips.len() {
            0 => Err(Problem::of_field(
                Code::InvalidParameter,
                Self::zips,
                "`zips` is empty",
            )),
            1..=MAX_ITEMS => Ok(request),
            count => Err(Problem::of_field(
                Code::BatchTooLarge,
                Self::zips,
                format!("`zips` has {count} items; a request may have at most {MAX_ITEMS}"),
            )),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct ZipBatch<'a>(Vec<BatchItem<'a, RequestedZip<'a>, Zip<'a>>>);

/// ZIP code as sent in the request.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct RequestedZip<'a>(&'a str);

/// Answers `POST /v1/zip/batch`: the data for each code in request order, or the problem with the
/// code.
pub fn batch(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let zips = published(call)?;
    let ZipBatchRequest {
        zips: codes,
        fields,
    } = ZipBatchRequest::read(call.body)?;
    call.charge(codes.len())?;
    let chosen = Chosen::new(
        fields
            .as_ref()
            .map(|fields| fields.iter().map(String::as_str).collect::<Vec<_>>())
            .as_deref(),
    );
    let outcomes: Vec<Result<Record<'_>>> =
        codes.iter().map(|code| find(call, zips, code)).collect();
    let items = codes
        .iter()
        .zip(&outcomes)
        .enumerate()
        .map(|(index, (code, outcome))| {
            let mut of_item = Meta::default();
            outcome
                .iter()
                .for_each(|record| record.note(&mut of_item, &chosen));
            BatchItem::new(
                call,
                (index, RequestedZip(code)),
                outcome.as_ref().map(|record| record.shown(&chosen)),
                of_item.notices,
            )
        });
    json.value(&ZipBatch(items.collect()));
    Ok(describe(zips, &chosen))
}
