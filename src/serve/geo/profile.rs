use super::area::{Area, AreaKind, asked_vintage};
use super::metric::chosen;
use crate::serve::call::{Call, Meta};
use crate::serve::json::Json;
use crate::serve::problem::Result;

/// Answers `GET locations/{zcta}`: the area and its twelve metrics.
pub fn profile(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    write_profile(call, json, AreaKind::Zcta, "zcta")
}

/// Writes geography, vintage, summary and provenance of one area.
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
