//! Answers `GET locations/{zcta}`, and writes the profile that counties share: geography, all metrics, provenance.

use crate::geo::area::{Area, AreaKind, asked_vintage};
use crate::geo::metric::{METRIC_OF_AREA, metrics_of_area};
use crate::geo::notices::add_not_fetched_notice;
use crate::geo::tables::Geo;
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, Parameter, RELEASE, VINTAGE};
use crate::http::problem::Result;
use crate::json::Json;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/locations/{zcta}",
    operation_id: "getLocation",
    summary: "ZCTA profile",
    access: Access::Scope(Scope::Geo),
    parameters: PARAMETERS,
    body: None,
    data: Data::Written("Profile"),
    validity: Validity::Release,
    handler: Handler::Memory(profile),
};

/// The parameters of the profile of an area.
pub const PARAMETERS: &[Parameter] = &[METRIC_OF_AREA, VINTAGE, RELEASE, AS_OF];

/// Answers `GET locations/{zcta}`: the area and its twelve metrics, or those that are chosen.
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
    let metrics = metrics_of_area(&geo, call);
    json.object(|json| {
        area.write_geography(&geo, json.key("geography"));
        area.write_geography_provenance(json.key("geography_provenance"));
        area.write_vintage(json.key("vintage"));
        json.key("summary").object(|json| {
            for &metric in &metrics {
                let key = &geo.metric_keys[metric];
                json.key(key).object(|json| {
                    area.write_metric(json, key, metric);
                    area.write_provenance(call.release, json.key("provenance"), &[metric]);
                });
            }
        });
        area.write_provenance(call.release, json.key("provenance"), &metrics);
    });
    let mut meta = Meta::default();
    area.describe(&mut meta);
    add_not_fetched_notice(&mut meta, area.table, &metrics);
    Ok(meta)
}
