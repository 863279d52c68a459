//! Answers `GET states/{state}/counties`: the counties of a state as a vintage of the survey has them.

use crate::geo::area::{Area, AreaKind, asked_vintage, vintage};
use crate::geo::metric::{METRIC_OF_LIST, asked_metrics};
use crate::geo::notices::add_not_fetched_notice;
use crate::geo::source_table::{INCLUDE, SourceTable};
use crate::geo::tables::Geo;
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::{Coverage, Meta};
use crate::http::paging::ListPaging;
use crate::http::parameters::{AS_OF, CURSOR, LIMIT, Parameter, RELEASE, VINTAGE, format, not_a_state};
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use pubdata_core::canonical::state::{fips, usps};
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/states/{state}/counties",
    operation_id: "listStateCounties",
    summary: "Counties of a state",
    access: Access::Scope(Scope::Geo),
    parameters: PARAMETERS,
    body: None,
    data: Data::Written("StateCounties"),
    validity: Validity::Release,
    handler: Handler::Memory(counties),
};

/// The endpoint's parameters.
const PARAMETERS: &[Parameter] = &[METRIC_OF_LIST, VINTAGE, INCLUDE, LIMIT, CURSOR, format("counties"), RELEASE, AS_OF];

/// The postal code of a state that a request names.
///
/// # Errors
/// `invalid_parameter`, when it is none.
pub fn state_of(text: &str) -> Result<&'static str> {
    usps(text).ok_or_else(|| Problem::of_field(Code::InvalidParameter, "state", format!("`state`: {}", not_a_state(text))))
}

/// Answers `GET states/{state}/counties`.
///
/// # Errors
/// `invalid_parameter`, when the state is none; `not_found`, when none of its counties is published; `coverage_unavailable`, when the vintage or the
/// whole dataset is missing; `invalid_cursor`.
pub fn counties(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let geo = Geo::of(call.release);
    let state = state_of(call.path_value("state"))?;
    let table = vintage(geo.county_metrics, asked_vintage(call), AreaKind::County)?;
    let places = AreaKind::County.places(&geo);
    let prefix = fips(state).unwrap_or_default();
    // Codes are those of the vintage; of a state outside the survey those of the Gazetteer.
    let mut codes: Vec<String> = (0..table.areas()).map(|area| table.code(area)).filter(|code| code.starts_with(prefix)).collect();
    if codes.is_empty() {
        let known = places.into_iter().flat_map(|places| (0..places.codes.len()).map(move |row| places.codes.at(row)));
        codes.extend(known.filter(|code| code.starts_with(prefix)).map(str::to_owned));
    }
    if codes.is_empty() {
        return Err(Problem::of_field(Code::NotFound, "state", format!("no county of {state} is published in vintage {}", table.vintage_year)));
    }
    let metrics = asked_metrics(&geo, call).unwrap_or_default();
    let paging = ListPaging::of(call)?;
    let mut sources = SourceTable::asked(call);
    json.object(|json| {
        json.key("state_code").text(state);
        json.key("vintage").raw(&table.vintage);
        json.key("counties").array(|json| {
            for code in paging.slice(&codes) {
                let place = places.and_then(|places| Some((places, places.find(code)?)));
                let area = Area { kind: AreaKind::County, code, table, area: table.find(code), place };
                json.object(|json| {
                    area.write_geography(&geo, json.key("geography"));
                    area.write_chosen(&geo, json.key("metrics"), &metrics);
                    if let Some(sources) = &mut sources {
                        json.key("provenance").array(|json| sources.write_area(json, &geo, &area, &metrics));
                    }
                });
            }
        });
        if let Some(sources) = &sources {
            sources.write(json.key("provenance"));
        }
    });
    let mut meta = Meta { page: Some(paging.page_of_all(codes.len())), ..Meta::default() };
    meta.datasets.extend([AreaKind::County.place_dataset().into(), AreaKind::County.metric_dataset().into()]);
    let scope = format!("{} counties with estimates in vintage {}", table.areas(), table.vintage_year);
    meta.coverage = Some(Coverage { geography_type: Some(AreaKind::County.name()), scope, ..Coverage::default() });
    add_not_fetched_notice(&mut meta, table, &metrics);
    Ok(meta)
}
