//! Answers `GET states/{state}/counties`: the counties of a state in a survey vintage.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Text;
use crate::geo::area::{Area, AreaKind, vintage};
use crate::geo::figures::Vintage;
use crate::geo::geography::Geography;
use crate::geo::metric::{ChosenFigures, METRIC_OF_LIST, requested_metrics};
use crate::geo::notices::add_not_fetched_notice;
use crate::geo::source_table::{INCLUDE, RecordReferences, SourceTable};
use crate::geo::tables::Geo;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::{Coverage, Meta};
use crate::http::paging::ListPaging;
use crate::http::parameters::{AS_OF, CURSOR, LIMIT, RELEASE, VINTAGE, format, not_a_state};
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
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<StateCounties<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Memory(counties),
};

query! {
    pub struct Parameters<'a> {
        metric: Vec<&'a str> = METRIC_OF_LIST, vintage: Option<i64> = VINTAGE, include: Option<&'a str> = INCLUDE,
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format("counties"), ..RELEASE, ..AS_OF,
    }
}

#[derive(Serialize, JsonSchema)]
struct StateCounties<'a> {
    /// Two-letter postal code of the state.
    #[schemars(extend("pattern" = "^[A-Z]{2}$"))]
    state_code: &'a str,
    /// Survey vintage of the figures.
    vintage: &'a Vintage,
    /// Counties of the vintage, by code.
    counties: Vec<County<'a>>,
    /// Sources of the rows; present only with `include=provenance`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SourceTable<'a>")]
    provenance: Option<SourceTable<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StateCountiesCounty")]
struct County<'a> {
    /// A county of the state.
    geography: Text<'a, Geography<'a>>,
    /// Figures of the county by metric key.
    metrics: ChosenFigures<'a>,
    /// Records of the geography and the figures; present only with `include=provenance`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RecordReferences<'a>")]
    provenance: Option<RecordReferences<'a>>,
}

/// Returns the postal code of the requested state.
pub fn state_of(text: &str) -> Result<&'static str> {
    usps(text).ok_or_else(|| {
        Problem::of_field(
            Code::InvalidParameter,
            "state",
            format!("`state`: {}", not_a_state(text)),
        )
    })
}

/// Answers `GET states/{state}/counties`.
pub fn counties(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let query = Parameters::read(call)?;
    let geo = Geo::from_release(call.release);
    let state = state_of(call.path_value("state"))?;
    let table = vintage(geo.county_metrics, query.vintage, AreaKind::County)?;
    let places = AreaKind::County.places(&geo);
    let prefix = fips(state).unwrap_or_default();
    // Codes from the survey vintage, or from the Gazetteer for a state outside the survey.
    let mut codes: Vec<String> = (0..table.areas())
        .map(|area| table.code(area))
        .filter(|code| code.starts_with(prefix))
        .collect();
    if codes.is_empty() {
        let known = places
            .into_iter()
            .flat_map(|places| (0..places.codes.len()).map(move |row| places.codes.at(row)));
        codes.extend(
            known
                .filter(|code| code.starts_with(prefix))
                .map(str::to_owned),
        );
    }
    if codes.is_empty() {
        return Err(Problem::of_field(
            Code::NotFound,
            "state",
            format!(
                "no county of {state} is published in vintage {}",
                table.vintage_year
            ),
        ));
    }
    let metrics = requested_metrics(&geo, &query.metric);
    let paging = ListPaging::new(call, query.limit, query.cursor)?;
    let mut sources = query.include.map(|_| SourceTable::default());
    let mut county = |code| {
        let place = places.and_then(|places| Some((places, places.find(code)?)));
        let area = Area {
            kind: AreaKind::County,
            code,
            table,
            area: table.find(code),
            place,
        };
        let provenance = sources
            .as_mut()
            .map(|sources| sources.area(&geo, &area, &metrics));
        County {
            geography: area.geography(&geo),
            metrics: area.chosen(&geo, &metrics),
            provenance,
        }
    };
    let counties = paging
        .slice(&codes)
        .iter()
        .map(|code| county(code))
        .collect();
    json.value(&StateCounties {
        state_code: state,
        vintage: &table.vintage,
        counties,
        provenance: sources,
    });
    let mut meta = Meta {
        page: Some(paging.page_of_all(codes.len())),
        ..Meta::default()
    };
    meta.datasets.extend([
        AreaKind::County.place_dataset().into(),
        AreaKind::County.metric_dataset().into(),
    ]);
    let scope = format!(
        "{} counties with estimates in vintage {}",
        table.areas(),
        table.vintage_year
    );
    meta.coverage = Some(Coverage {
        geography_type: Some(AreaKind::County.name()),
        scope,
        ..Coverage::default()
    });
    add_not_fetched_notice(&mut meta, table, &metrics);
    Ok(meta)
}
