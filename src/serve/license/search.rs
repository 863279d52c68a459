//! Answers `GET /v1/license/search`: licenses by the name of a person or business.

use super::number::add_no_match_notice;
use super::record::published;
use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::filter::CITY;
use crate::http::filter::STATE;
use crate::http::filter::ZIP;
use crate::http::filter::{add_no_words_notice, states_of};
use crate::http::meta::Meta;
use crate::http::paging::{ListPaging, MAX_COUNTED};
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, Parameter, RELEASE, format};
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::license::datasets::ACTIONS;
use crate::license::datasets::LICENSES;
use crate::license::record::{LicenseMatch, add_statuses_notice, licenses_of};
use crate::search::query::{MatchMode, Query as NameQuery};
use crate::search::row_hit::NameKind;
use crate::search::row_names::{Enough, Found};
use pubdata_core::canonical::name::{Forms, comparable};
use pubdata_store::Scope;

/// The endpoint's parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "name",
        kind: Kind::Text { min: 2, max: 120 },
        description: "Name of a person, in either order and with the whole last name, or of a business.",
    },
    STATE,
    Parameter { name: "profession", kind: Kind::SomeOf(LICENSES, "profession"), description: "Comma list of professions." },
    Parameter { name: "status", kind: Kind::SomeOf(LICENSES, "status"), description: "Comma list of statuses." },
    CITY,
    ZIP,
    Parameter { name: "holder_type", kind: Kind::OneOf(LICENSES, "holder_type"), description: "Only persons, or only organizations." },
    LIMIT,
    CURSOR,
    format(""),
    RELEASE,
    AS_OF,
];

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/license/search",
    operation_id: "searchLicenses",
    summary: "Licenses by name of a person or business",
    access: Access::Scope(Scope::General),
    parameters: PARAMETERS,
    body: None,
    data: Data::of::<Licenses<'static>>(),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

/// Best first.
#[derive(Serialize, JsonSchema)]
pub struct Licenses<'a>(Vec<LicenseMatch<'a>>);

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let licenses = published(call)?;
    let paging = ListPaging::of(call)?;
    let query = call.query;
    let name = query.get("name").ok_or_else(|| Problem::of_field(Code::MissingParameter, "name", "`name` is needed; /v1/license/verify takes a number"))?;
    let covered = licenses.rows.values("state");
    let states = states_of(call, &covered, "licenses")?;
    let is_searched = |state: &str| states.as_ref().is_none_or(|states| states.contains(state));
    let parts: Vec<bool> = (0..licenses.rows.parts().len()).map(|part| is_searched(licenses.rows.partition_of(part, "state"))).collect();
    // Where all are searched, no row is looked at for it.
    let parts = parts.contains(&false).then_some(parts);
    let (professions, statuses, holder_type) = (call.listed("profession"), call.listed("status"), query.get("holder_type"));
    let city = query.get("city").map(|city| licenses.index.cities.find(&comparable(city)));
    let zip = query.get("zip").map(|zip| licenses.index.zips.find(zip));
    let takes = |row: u32| {
        let index = row as usize;
        parts.as_ref().is_none_or(|parts| parts[licenses.rows.part_of(row)])
            && professions.as_ref().is_none_or(|list| list.contains(&licenses.index.professions.at(index)))
            && statuses.as_ref().is_none_or(|list| list.contains(&licenses.index.statuses.at(index)))
            && holder_type.is_none_or(|wanted| licenses.index.holder_types.get(index) == Some(wanted))
            && city.is_none_or(|wanted| wanted == Some(licenses.index.cities.at(row)))
            && zip.is_none_or(|wanted| wanted == Some(licenses.index.zips.at(row)))
    };
    let is_filtered = parts.is_some() || professions.is_some() || statuses.is_some() || holder_type.is_some() || city.is_some() || zip.is_some();
    let found = {
        let takes_name = |row: u32, _: NameKind| takes(row);
        let accepts = is_filtered.then_some(&takes_name as &dyn Fn(u32, NameKind) -> bool);
        let first = |query: NameQuery| licenses.index.names.first(&query, MatchMode::Best, accepts, Enough { first: paging.end(), counted: MAX_COUNTED });
        NameQuery::new(name, Forms::OfStates).map_or_else(Found::default, first)
    };
    let page = paging.slice(&found.first);
    let rows: Vec<u32> = page.iter().map(|found| found.row).collect();
    let records = licenses_of(call, licenses, &rows).await?;
    let found_licenses = page.iter().zip(&records).map(|(found, record)| LicenseMatch {
        license: record.shown(),
        name_match: found.shown(),
        provenance: record.license.origin(&call.release.manifest),
    });
    json.value(&Licenses(found_licenses.collect()));
    let mut meta = Meta::of(&[LICENSES, ACTIONS], format!("{} licenses of boards in {}", licenses.rows.len(), covered.join(", ")));
    if let Some(coverage) = &mut meta.coverage {
        coverage.states_searched = covered.iter().filter(|state| is_searched(state)).map(|state| (*state).to_owned()).collect();
    }
    if found.total == 0 {
        add_no_words_notice(&mut meta, name);
        add_no_match_notice(&mut meta);
    }
    add_statuses_notice(&mut meta, &records.iter().collect::<Vec<_>>());
    meta.page = Some(paging.page(found.total, found.is_cut));
    Ok(meta)
}
