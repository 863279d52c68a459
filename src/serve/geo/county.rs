//! Answers `GET counties/{fips}` in the same format as for a ZCTA.

use crate::geo::area::AreaKind;
use crate::geo::profile::{Parameters, Profile, write_profile};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::problem::Result;
use crate::json::Json;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/counties/{fips}",
    operation_id: "getCounty",
    summary: "County profile",
    access: Access::Scope(Scope::Geo),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Profile<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Memory(county),
};

/// Answers `GET counties/{fips}`: the county with its twelve metrics, or with the requested
/// metrics.
pub fn county(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    write_profile(call, json, AreaKind::County, "fips")
}
