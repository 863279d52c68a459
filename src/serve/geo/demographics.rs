//! Answers `GET locations/{zcta}/demographics`: chosen metrics of a ZCTA, with those of every published vintage where that is asked for.

use crate::geo::area::{Area, AreaKind, asked_vintage};
use crate::geo::estimates::MetricTable;
use crate::geo::metric::{METRIC_OF_AREA, NOT_IN_SURVEY, QUARANTINED, metrics_of_area, unit_and_universe, write_figures, write_record_id};
use crate::geo::notices::add_not_fetched_notice;
use crate::geo::tables::Geo;
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, Kind, Parameter, RELEASE, VINTAGE};
use crate::http::problem::Result;
use crate::json::Json;
use pubdata_store::Scope;

/// The endpoint's parameters.
const PARAMETERS: &[Parameter] = &[
    METRIC_OF_AREA,
    Parameter { name: "history", kind: Kind::Flag, description: "`true`: each metric also carries its figures of every published vintage." },
    VINTAGE,
    RELEASE,
    AS_OF,
];

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/locations/{zcta}/demographics",
    operation_id: "getDemographics",
    summary: "ZCTA demographics",
    access: Access::Scope(Scope::Geo),
    parameters: PARAMETERS,
    body: None,
    data: Data::Written("Demographics"),
    validity: Validity::Release,
    handler: Handler::Memory(demographics),
};

/// Answers `GET locations/{zcta}/demographics`: chosen metrics, on request with their figures of every published vintage.
///
/// # Errors
/// `invalid_parameter`, when the code has the wrong form; `not_found`, when there is no such ZCTA; `coverage_unavailable`, when the
/// vintage or the whole dataset is missing.
pub fn demographics(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let geo = Geo::of(call.release);
    let area = Area::find(&geo, AreaKind::Zcta, call.path_value("zcta"), asked_vintage(call), "zcta")?;
    let metrics = metrics_of_area(&geo, call);
    let with_history = call.query.get("history") == Some("true");
    json.object(|json| {
        area.write_geography(&geo, json.key("geography"));
        area.write_geography_provenance(json.key("geography_provenance"));
        area.write_vintage(json.key("vintage"));
        json.key("demographics").object(|json| {
            for &metric in &metrics {
                let key = &geo.metric_keys[metric];
                json.key(key).object(|json| {
                    area.write_metric(json, key, metric);
                    area.write_provenance(call.release, json.key("provenance"), &[metric]);
                    if with_history {
                        json.key("history").array(|json| geo.zcta_metrics.iter().for_each(|table| write_past(json, table, area.code, key, metric)));
                    }
                });
            }
        });
        area.write_provenance(call.release, json.key("provenance"), &metrics);
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

/// Writes a metric's figures in one vintage.
fn write_past(json: &mut Json, table: &MetricTable, code: &str, key: &str, metric: usize) {
    let area = table.find(code);
    let estimate = area.and_then(|area| table.estimate(area, metric));
    let (unit, _) = unit_and_universe(table, key, metric);
    json.object(|json| {
        json.key("vintage").raw(&table.vintage);
        write_figures(json, estimate.as_ref(), unit, if area.is_some() { QUARANTINED } else { NOT_IN_SURVEY });
        write_record_id(json.key("record_id"), estimate.is_some(), AreaKind::Zcta, table, code, key);
        match &estimate {
            Some(estimate) => {
                let record_id = [AreaKind::Zcta.metric_dataset(), &table.vintage_text, code, key].join(":");
                estimate.origin.write(json.key("provenance"), estimate.validation_status, &record_id);
            }
            None => json.key("provenance").null(),
        }
    });
}
