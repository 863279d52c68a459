//! Answers `GET locations/{zcta}`, and writes the profile format that counties share: geography,
//! all metrics and provenance.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Text;
use crate::geo::area::{Area, AreaKind};
use crate::geo::figures::Vintage;
use crate::geo::geography::Geography;
use crate::geo::metric::{METRIC_OF_AREA, Metrics, metrics_of_area};
use crate::geo::notices::add_not_fetched_notice;
use crate::geo::tables::Geo;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, RELEASE, VINTAGE};
use crate::http::problem::Result;
use crate::json::Json;
use crate::release::provenance::Provenance;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/locations/{zcta}",
    operation_id: "getLocation",
    summary: "ZCTA profile",
    access: Access::Scope(Scope::Geo),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Profile<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Memory(profile),
};

query! {
    pub struct Parameters<'a> {
        metric: Vec<&'a str> = METRIC_OF_AREA, vintage: Option<i64> = VINTAGE,
        ..RELEASE, ..AS_OF,
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Profile<'a> {
    /// Area that the profile describes.
    geography: Text<'a, Geography<'a>>,
    /// Provenance of the geography; null if the release has no record of the area.
    geography_provenance: Option<Provenance<'a>>,
    /// Survey vintage of all figures in the profile.
    vintage: &'a Vintage,
    /// Figures of the area by metric key: all metrics, or only the metrics named by `metric`.
    summary: Metrics<'a>,
    /// Provenance of the first figure, with the worst validation status of all figures. Each figure
    /// also has its own provenance.
    provenance: Provenance<'a>,
}

/// Answers `GET locations/{zcta}`: the area with its twelve metrics, or with the requested metrics.
pub fn profile(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    write_profile(call, json, AreaKind::Zcta, "zcta")
}

/// Writes the geography, vintage, summary and provenance of one area.
///
/// # Errors
/// `invalid_parameter` if the code has the wrong format; `not_found` if the area does not exist;
/// `coverage_unavailable` if the vintage or the entire dataset is missing.
pub fn write_profile(
    call: &Call<'_>,
    json: &mut Json,
    kind: AreaKind,
    placeholder: &str,
) -> Result<Meta> {
    let Parameters { metric, vintage } = Parameters::read(call)?;
    let geo = Geo::from_release(call.release);
    let area = Area::find(
        &geo,
        kind,
        call.path_value(placeholder),
        vintage,
        placeholder,
    )?;
    let metrics = metrics_of_area(&geo, &metric);
    json.value(&Profile {
        geography: area.geography(&geo),
        geography_provenance: area.geography_provenance(),
        vintage: &area.table.vintage,
        summary: area.metrics(call.release, &metrics, |_, _, _| {}),
        provenance: area.provenance(call.release, &metrics),
    });
    let mut meta = Meta::default();
    area.describe(&mut meta);
    add_not_fetched_notice(&mut meta, area.table, &metrics);
    Ok(meta)
}
