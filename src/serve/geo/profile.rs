//! Answers `GET locations/{zcta}`, and writes the profile that counties share: geography, all metrics, provenance.

use crate::geo::area::{Area, AreaKind, asked_vintage};
use crate::geo::metric::chosen;
use crate::geo::tables::Geo;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::OF_VINTAGE;
use crate::http::problem::Result;
use crate::json::Json;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/locations/{zcta}",
    operation_id: "getLocation",
    summary: "ZCTA profile",
    access: Access::Scope(Scope::Geo),
    parameters: OF_VINTAGE,
    body: None,
    data: "Profile",
    validity: Validity::Release,
    handler: Handler::Memory(profile),
};

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
    let geo = Geo::of(call.release);
    let area = Area::find(&geo, kind, call.path_value(placeholder), asked_vintage(call), placeholder)?;
    let metrics = chosen(&geo, None);
    json.object(|json| {
        area.write_geography(&geo, json.key("geography"));
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
