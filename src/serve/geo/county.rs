//! Answers `GET counties/{fips}`, in the form of the answer about a ZCTA.

use crate::serve::geo::area::AreaKind;
use crate::serve::geo::profile::write_profile;
use crate::serve::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::serve::http::meta::Meta;
use crate::serve::http::parameters::OF_VINTAGE;
use crate::serve::http::problem::Result;
use crate::serve::json::Json;
use crate::store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/counties/{fips}",
    operation_id: "getCounty",
    summary: "County profile",
    access: Access::Scope(Scope::Geo),
    parameters: OF_VINTAGE,
    body: None,
    data: "Profile",
    validity: Validity::Release,
    handler: Handler::Memory(county),
};

/// Answers `GET counties/{fips}`: the county and its twelve metrics.
///
/// # Errors
/// `invalid_parameter`, when the code has the wrong form; `not_found`, when there is no such county; `coverage_unavailable`, when the
/// vintage or the whole dataset is missing.
pub fn county(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    write_profile(call, json, AreaKind::County, "fips")
}
