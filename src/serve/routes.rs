//! Declares the route table. Only this module and the router name families. Each endpoint declares
//! its paths, parameters and access; the router, strict parameter parsing and the OpenAPI document
//! are derived from these declarations.

use serde_json::Value;

use super::http::endpoint::{Endpoint, Family, Placeholder, Tag};
use super::http::openapi;
use super::release::loaded::Load;
use super::settings::Limits;
use super::stream::asyncapi;
use super::{
    admin, bulk, business, coverage, geo, global_search, license, permit, place, provenance,
    receipts, sec, snapshot, tax, zip_code,
};
use pubdata_core::contract::Contracts;

/// Endpoints that concern all datasets.
static OF_ALL: Family = Family {
    tag: Tag {
        name: "Coverage and provenance",
        description: "Contents, freshness and completeness of the published data, and the chain from a record to the publisher's bytes.",
    },
    load: place::LOAD,
    endpoints: &[
        global_search::ENDPOINT,
        coverage::GEOGRAPHIC,
        coverage::ALL,
        provenance::ENDPOINT,
        receipts::ENDPOINT,
        snapshot::ENDPOINT,
    ],
    placeholders: &[
        Placeholder {
            name: "record_id",
            pattern: "^[^:]+:.+$",
            example: "geo.zcta_metric:2023:90210:population",
            description: "A `record_id` of any answer.",
        },
        Placeholder {
            name: "sha256",
            pattern: "^[0-9a-f]{64}$",
            example: "0381b58a12973c3dcc89fcda9710038c4dc22f7cf7757eb9bffd4e3cbbc33569",
            description: "Digest of a publisher's file, as `/v1/provenance` has it.",
        },
    ],
};

/// All families. The first family is loaded before the others, which receive the tables that it
/// keeps for a release. The other families load in parallel.
pub static FAMILIES: [&Family; 11] = [
    &OF_ALL,
    &bulk::FAMILY,
    &geo::FAMILY,
    &sec::FAMILY,
    &business::FAMILY,
    &license::FAMILY,
    &permit::FAMILY,
    &zip_code::FAMILY,
    &tax::FAMILY,
    &admin::HOLDER_FAMILY,
    &admin::FAMILY,
];

/// Returns every endpoint.
pub fn endpoints() -> impl Iterator<Item = &'static Endpoint> {
    FAMILIES.iter().flat_map(|family| family.endpoints)
}

/// Returns the loaders that read a release.
pub fn loads() -> Vec<Load> {
    FAMILIES.iter().map(|family| family.load).collect()
}

/// Server URL in code examples if no public URL is set.
pub const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// Builds the OpenAPI document.
pub fn openapi_document(contracts: &Contracts, public_url: Option<&str>) -> Value {
    openapi::document(
        &FAMILIES,
        contracts,
        public_url,
        public_url.unwrap_or(DEFAULT_URL),
    )
}

/// Builds the AsyncAPI document of the stream.
pub fn asyncapi_document(contracts: &Contracts, public_url: Option<&str>) -> Value {
    asyncapi::document(
        contracts,
        &Limits::default(),
        public_url.unwrap_or(DEFAULT_URL),
    )
}
