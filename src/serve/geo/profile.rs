//! Answers `GET locations/{zcta}`, and writes the profile that counties share: geography, all metrics, provenance.

use super::area::{Area, AreaKind, asked_vintage};
use super::metric::chosen;
use crate::serve::call::{Call, Meta};
use crate::serve::json::Json;
use crate::serve::problem::Result;

/// Answers `GET locations/{zcta}`: the area and its twelve metrics.
///
/// # Errors
/// `invalid_parameter`, when the code has the wrong form; `not_found`, when there is no such ZCTA; `coverage_unavailable`, when the
/// vintage or the whole dataset is missing.
pub fn profile(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    write_profile(call, json, AreaKind::Zcta, "zcta")
}

/// Writes geography, vintage, summary and provenance of one area.
///
/// # Errors
/// `invalid_parameter`, when the code has the wrong form; `not_found`, when there is no such area; `coverage_unavailable`, when the
/// vintage or the whole dataset is missing.
pub fn write_profile(call: &Call<'_>, json: &mut Json, kind: AreaKind, placeholder: &str) -> Result<Meta> {
    let geo = &call.release.geo;
    let area = Area::find(geo, kind, call.path_value(placeholder), asked_vintage(call), placeholder)?;
    let metrics = chosen(geo, None);
    json.object(|json| {
        area.write_geography(geo, json.key("geography"));
        area.write_vintage(json.key("vintage"));
        json.key("summary").object(|json| {
            for &metric in &metrics {
                let key = &geo.metric_keys[metric];
                json.key(key).object(|json| area.write_metric(json, key, metric));
            }
        });
        area.write_provenance(call.release, json.key("provenance"), &metrics);
    });
    let mut meta = Meta::default();
    area.describe(&mut meta);
    Ok(meta)
}
