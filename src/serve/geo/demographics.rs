//! Answers `GET locations/{zcta}/demographics`: selected metrics of a ZCTA and, on request, their
//! figures in every published vintage.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Text;
use crate::geo::area::{Area, AreaKind};
use crate::geo::estimates::MetricTable;
use crate::geo::figures::{PastFigures, Vintage};
use crate::geo::geography::Geography;
use crate::geo::metric::{METRIC_OF_AREA, Metrics, metrics_of_area};
use crate::geo::notices::add_not_fetched_notice;
use crate::geo::tables::Geo;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, Kind, RELEASE, VINTAGE};
use crate::http::problem::Result;
use crate::json::Json;
use crate::release::provenance::Provenance;
use pubdata_store::Scope;

query! {
    pub struct Parameters<'a> {
        metric: Vec<&'a str> = METRIC_OF_AREA,
        /// `true`: each metric also contains its figures for every published vintage.
        history: Option<bool> = Kind::Flag,
        vintage: Option<i64> = VINTAGE,
        ..RELEASE, ..AS_OF,
    }
}

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/locations/{zcta}/demographics",
    operation_id: "getDemographics",
    summary: "ZCTA demographics",
    access: Access::Scope(Scope::Geo),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Demographics<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Memory(demographics),
};

#[derive(Serialize, JsonSchema)]
struct Demographics<'a> {
    /// Area that the figures describe.
    geography: Text<'a, Geography<'a>>,
    /// Provenance of the geography; null if the release has no record of the area.
    geography_provenance: Option<Provenance<'a>>,
    /// Survey vintage of the figures; figures in `history` have their own vintage.
    vintage: &'a Vintage,
    /// Figures of the area by metric key: all metrics, or only the metrics named by `metric`.
    demographics: Metrics<'a>,
    /// Provenance of the first figure, with the worst validation status of all figures. Each figure
    /// also has its own provenance.
    provenance: Provenance<'a>,
}

/// Answers `GET locations/{zcta}/demographics`.
pub fn demographics(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let Parameters {
        metric,
        history,
        vintage,
    } = Parameters::read(call)?;
    let geo = Geo::from_release(call.release);
    let area = Area::find(
        &geo,
        AreaKind::Zcta,
        call.path_value("zcta"),
        vintage,
        "zcta",
    )?;
    let metrics = metrics_of_area(&geo, &metric);
    let with_history = history == Some(true);
    let history = |json: &mut Json, key: &str, metric: usize| {
        if with_history {
            json.key("history").value(
                &geo.zcta_metrics
                    .iter()
                    .map(|table| past(table, area.code, key, metric))
                    .collect::<Vec<_>>(),
            );
        }
    };
    json.value(&Demographics {
        geography: area.geography(&geo),
        geography_provenance: area.geography_provenance(),
        vintage: &area.table.vintage,
        demographics: area.metrics(call.release, &metrics, history),
        provenance: area.provenance(call.release, &metrics),
    });
    let mut meta = Meta::default();
    area.describe(&mut meta);
    add_not_fetched_notice(&mut meta, area.table, &metrics);
    if with_history {
        meta.notice(
            "OVERLAPPING_PERIODS",
            "Five-year periods of neighbouring vintages share years, so their estimates are not independent and must not be compared as a trend; dollar amounts are \
             in the money of each period's last year.",
        );
    }
    Ok(meta)
}

/// Returns a metric's figures in one vintage.
fn past<'a>(table: &'a MetricTable, code: &'a str, key: &str, metric: usize) -> PastFigures<'a> {
    let area = Area {
        kind: AreaKind::Zcta,
        code,
        table,
        area: table.find(code),
        place: None,
    };
    PastFigures {
        vintage: &table.vintage,
        figures: area.figures(key, metric),
        provenance: area.estimate(metric).map(|estimate| {
            estimate
                .origin
                .provenance(estimate.validation_status, area.record_id(key))
        }),
    }
}
