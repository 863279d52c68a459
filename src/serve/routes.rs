//! The route table: every endpoint of the API on one screen. Paths, parameters and access are declared here once; the router, the
//! strict reading of parameters and the OpenAPI document follow from it.

use super::call::{Access, Endpoint, Handler};
use super::geo::{self, compare, coverage, schools};
use super::parameters::{AS_OF, Kind, Parameter, RELEASE, VINTAGE};
use super::provenance;
use crate::store::Scope;

const GEO: Access = Access::Scope(Scope::Geo);
const OF_RELEASE: &[Parameter] = &[RELEASE, AS_OF];
const OF_VINTAGE: &[Parameter] = &[VINTAGE, RELEASE, AS_OF];
const DEMOGRAPHICS: &[Parameter] = &[
    Parameter { name: "metrics", kind: Kind::SomeOf("geo.zcta_metric", "metric"), description: "Comma list of metric keys; all twelve when absent." },
    Parameter { name: "history", kind: Kind::Flag, description: "`true`: each metric also carries its figures of every published vintage." },
    VINTAGE,
    RELEASE,
    AS_OF,
];

/// Every endpoint.
#[rustfmt::skip]
pub static ENDPOINTS: [Endpoint; 8] = [
    Endpoint { method: "GET", path: "/v1/geo-demographics/locations/{zcta}", operation_id: "getLocation", summary: "ZCTA profile", access: GEO,
        parameters: OF_VINTAGE, body: None, data: "Profile", handler: Handler::Memory(geo::profile) },
    Endpoint { method: "GET", path: "/v1/geo-demographics/locations/{zcta}/demographics", operation_id: "getDemographics", summary: "ZCTA demographics", access: GEO,
        parameters: DEMOGRAPHICS, body: None, data: "Demographics", handler: Handler::Memory(geo::demographics) },
    Endpoint { method: "GET", path: "/v1/geo-demographics/locations/{zcta}/schools", operation_id: "getSchools", summary: "Public schools near a ZCTA", access: GEO,
        parameters: schools::PARAMETERS, body: None, data: "Schools", handler: Handler::Memory(schools::schools) },
    Endpoint { method: "POST", path: "/v1/geo-demographics/locations/compare", operation_id: "compareLocations", summary: "Comparison of two ZCTAs", access: GEO,
        parameters: OF_RELEASE, body: Some("CompareRequest"), data: "Comparison", handler: Handler::Memory(compare::compare) },
    Endpoint { method: "GET", path: "/v1/geo-demographics/counties/{fips}", operation_id: "getCounty", summary: "County profile", access: GEO,
        parameters: OF_VINTAGE, body: None, data: "Profile", handler: Handler::Memory(geo::county) },
    Endpoint { method: "GET", path: "/v1/geo-demographics/coverage", operation_id: "getGeographicCoverage", summary: "What the geographic datasets cover", access: GEO,
        parameters: OF_RELEASE, body: None, data: "CoverageReport", handler: Handler::Memory(coverage::geographic) },
    Endpoint { method: "GET", path: "/v1/coverage", operation_id: "getCoverage", summary: "What all datasets cover", access: Access::Everyone,
        parameters: OF_RELEASE, body: None, data: "CoverageReport", handler: Handler::Memory(coverage::all) },
    Endpoint { method: "GET", path: "/v1/provenance/{record_id}", operation_id: "getProvenance", summary: "From a record to the publisher's bytes", access: Access::Key,
        parameters: OF_RELEASE, body: None, data: "Chain", handler: Handler::Files(provenance::provenance) },
];

/// Placeholders of paths: name, pattern, example, meaning.
pub const PLACEHOLDERS: [(&str, &str, &str, &str); 3] = [
    ("zcta", "^[0-9]{5}$", "90210", "ZCTA code: five digits, leading zeros kept."),
    ("fips", "^[0-9]{5}$", "06037", "County FIPS code: five digits, leading zeros kept."),
    ("record_id", "^[^:]+:.+$", "geo.zcta_metric:2023:90210:population", "A `record_id` of any answer."),
];
