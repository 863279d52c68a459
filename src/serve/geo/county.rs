use super::area::AreaKind;
use super::profile::write_profile;
use crate::serve::call::{Call, Meta};
use crate::serve::json::Json;
use crate::serve::problem::Result;

/// Answers `GET counties/{fips}`: the county and its twelve metrics.
pub fn county(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    write_profile(call, json, AreaKind::County, "fips")
}
