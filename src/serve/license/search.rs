//! Answers `GET /v1/license/search`: finds licenses by the name of a person or business.

use super::number::add_no_match_notice;
use super::record::published;
use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::filter::{CITY, STATES, ZIP, add_no_words_notice, check_states};
use crate::http::meta::Meta;
use crate::http::paging::{ListPaging, MAX_COUNTED};
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, RELEASE, format};
use crate::http::problem::Result;
use crate::json::Json;
use crate::license::datasets::ACTIONS;
use crate::license::datasets::LICENSES;
use crate::license::record::{LicenseMatch, add_statuses_notice, licenses_of};
use crate::search::query::{MatchMode, Query as NameQuery};
use crate::search::row_hit::NameKind;
use crate::search::row_names::{Enough, Found};
use pubdata_core::canonical::name::{Forms, comparable};
use pubdata_store::Scope;

query! {
    pub struct Parameters<'a> {
        /// Name of a business, or of a person in either order and with the complete last name.
        name: &'a str = Kind::Text { min: 2, max: 120 }.required("`name` is needed; /v1/license/verify takes a number"),
        state: Vec<&'a str> = STATES,
        /// Comma-separated list of professions.
        profession: Vec<&'a str> = Kind::OneOf(LICENSES, "profession"),
        /// Comma-separated list of statuses.
        status: Vec<&'a str> = Kind::OneOf(LICENSES, "status"),
        city: Option<&'a str> = CITY, zip: Option<&'a str> = ZIP,
        /// Limits the search to persons or to organizations.
        holder_type: Option<&'a str> = Kind::OneOf(LICENSES, "holder_type"),
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format(""), ..RELEASE, ..AS_OF,
    }
}

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/license/search",
    operation_id: "searchLicenses",
    summary: "Licenses by name of a person or business",
    access: Access::Scope(Scope::General),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Licenses<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

/// Matching licenses, best first.
#[derive(Serialize, JsonSchema)]
pub struct Licenses<'a>(Vec<LicenseMatch<'a>>);

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let licenses = published(call)?;
    let Parameters {
        name,
        state: states,
        profession: professions,
        status: statuses,
        city,
        zip,
        holder_type,
        limit,
        cursor,
    } = Parameters::read(call)?;
    let paging = ListPaging::new(call, limit, cursor)?;
    let covered = licenses.rows.values("state");
    check_states(&states, &covered, "licenses")?;
    let is_searched = |state: &str| states.is_empty() || states.contains(&state);
    let parts: Vec<bool> = (0..licenses.rows.parts().len())
        .map(|part| is_searched(licenses.rows.partition_of(part, "state")))
        .collect();
    // A search over all parts needs no check per row.
    let parts = parts.contains(&false).then_some(parts);
    let city = city.map(|city| licenses.index.cities.find(&comparable(city)));
    let zip = zip.map(|zip| licenses.index.zips.find(zip));
    let matches = |row: u32| {
        let index = row as usize;
        parts
            .as_ref()
            .is_none_or(|parts| parts[licenses.rows.part_of(row)])
            && (professions.is_empty()
                || professions.contains(&licenses.index.professions.at(index)))
            && (statuses.is_empty() || statuses.contains(&licenses.index.statuses.at(index)))
            && holder_type
                .is_none_or(|required| licenses.index.holder_types.get(index) == Some(required))
            && city.is_none_or(|required| required == Some(licenses.index.cities.at(row)))
            && zip.is_none_or(|required| required == Some(licenses.index.zips.at(row)))
    };
    let is_filtered = parts.is_some()
        || !professions.is_empty()
        || !statuses.is_empty()
        || holder_type.is_some()
        || city.is_some()
        || zip.is_some();
    let found = {
        let matches_name = |row: u32, _: NameKind| matches(row);
        let accepts = is_filtered.then_some(&matches_name as &dyn Fn(u32, NameKind) -> bool);
        let first = |query: NameQuery| {
            licenses.index.names.first(
                &query,
                MatchMode::Best,
                accepts,
                Enough {
                    first: paging.end(),
                    counted: MAX_COUNTED,
                },
            )
        };
        NameQuery::new(name, Forms::OfStates).map_or_else(Found::default, first)
    };
    let page = paging.slice(&found.first);
    let rows: Vec<u32> = page.iter().map(|found| found.row).collect();
    let records = licenses_of(call, licenses, &rows).await?;
    let found_licenses = page
        .iter()
        .zip(&records)
        .map(|(found, record)| LicenseMatch {
            license: record.shown(),
            name_match: found.shown(),
            provenance: record.license.origin(&call.release.manifest),
        });
    json.value(&Licenses(found_licenses.collect()));
    let mut meta = Meta::for_datasets(
        &[LICENSES, ACTIONS],
        format!(
            "{} licenses of boards in {}",
            licenses.rows.len(),
            covered.join(", ")
        ),
    );
    if let Some(coverage) = &mut meta.coverage {
        coverage.states_searched = covered
            .iter()
            .filter(|state| is_searched(state))
            .map(|state| (*state).to_owned())
            .collect();
    }
    if found.total == 0 {
        add_no_words_notice(&mut meta, name);
        add_no_match_notice(&mut meta);
    }
    add_statuses_notice(&mut meta, &records.iter().collect::<Vec<_>>());
    meta.page = Some(paging.page(found.total, found.is_cut));
    Ok(meta)
}
