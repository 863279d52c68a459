//! Answers `GET /v1/zip/{zip}`: the data of a ZIP code.

use super::code::{describe, find, published};
use super::record::{Chosen, FIELDS, Zip};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, Kind, RELEASE};
use crate::http::problem::Result;
use crate::json::Json;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/zip/{zip}",
    operation_id: "getZip",
    summary: "A ZIP code: places, counties, area, people, sales tax",
    access: Access::Scope(Scope::General),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Zip<'static>>(),
    cache_policy: CachePolicy::PerDay,
    handler: Handler::Memory(zip),
};

query! {
    pub struct Parameters<'a> {
        /// Comma-separated list of the fields to return; all fields when absent.
        fields: Vec<&'a str> = Kind::Word(&FIELDS),
        ..RELEASE, ..AS_OF,
    }
}

/// Answers `GET /v1/zip/{zip}`.
pub fn zip(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let zips = published(call)?;
    let Parameters { fields } = Parameters::read(call)?;
    let chosen = Chosen::new((!fields.is_empty()).then_some(&fields));
    let record = find(call, zips, call.path_value("zip"))?;
    json.value(&record.shown(&chosen));
    let mut meta = describe(zips, &chosen);
    record.note(&mut meta, &chosen);
    Ok(meta)
}
