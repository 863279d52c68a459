//! Answers `GET counties/{fips}`, in the form of the answer about a ZCTA.

use super::area::AreaKind;
use super::profile::write_profile;
use crate::serve::call::{Call, Meta};
use crate::serve::json::Json;
use crate::serve::problem::Result;

/// Answers `GET counties/{fips}`: the county and its twelve metrics.
///
/// # Errors
/// `invalid_parameter`, when the code has the wrong form; `not_found`, when there is no such county; `coverage_unavailable`, when the
/// vintage or the whole dataset is missing.
pub fn county(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    write_profile(call, json, AreaKind::County, "fips")
}
