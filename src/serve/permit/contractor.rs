//! Answers `GET /v1/contractors/{license}`: a license, and the permits that state the license
//! number or the name of its holder.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::filter::DayRange;
use crate::http::meta::Meta;
use crate::http::paging::ListPaging;
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, RELEASE, format};
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::license::datasets::ACTIONS;
use crate::license::datasets::{LICENSES, LicenseFields};
use crate::license::number::{check_profession, covered_state, disambiguate, rows_of_number};
use crate::license::record::published;
use crate::license::record::{LicenseWithActions, add_statuses_notice, licenses_of};
use crate::license::table::Licenses;
use crate::permit::datasets::CONTACTS;
use crate::permit::datasets::LINKS;
use crate::permit::datasets::PERMITS;
use crate::permit::links::permits_of;
use crate::permit::record::PermitOfContractor;
use crate::permit::summary::{PermitSummary, day_of, newest_first};
use crate::permit::table::Permits;
use crate::release::key_columns::known_day;
use crate::release::provenance::Provenance;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/contractors/{license}",
    operation_id: "getContractor",
    summary: "A license and the permits linked to it",
    access: Access::Scope(Scope::General),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Contractor<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

query! {
    pub struct Parameters<'a> {
        /// State, by postal code or name; required with a license number. Other values are
        /// rejected.
        state: Option<&'a str> = Kind::State,
        /// Limits the search to licenses of this profession; applies only to license numbers.
        profession: Option<&'a str> = Kind::OneOf(LICENSES, "profession"),
        /// First day of the permits, inclusive.
        permits_from: Option<Date> = Kind::Date,
        /// Last day of the permits, inclusive.
        permits_to: Option<Date> = Kind::Date,
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format("permits"), ..RELEASE, ..AS_OF,
    }
}

#[derive(Serialize, JsonSchema)]
struct Contractor<'a> {
    #[serde(flatten)]
    license: LicenseFields<'a>,
    /// Provenance of the license's record in `license.license`.
    provenance: Provenance<'a>,
    /// Totals over all permits linked to the license.
    permit_summary: PermitSummary<'a>,
    /// Permits linked to the license, newest first.
    permits: Vec<PermitOfContractor<'a>>,
    /// How permits were linked to the license.
    linking: Linking<'a>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ContractorLinking")]
struct Linking<'a> {
    /// Number of permits by link method.
    methods: LinkingMethods,
    /// Jurisdictions whose permits state license numbers; elsewhere links rely on names.
    #[schemars(with = "Vec<&str>")]
    jurisdictions_with_license_numbers: &'a BTreeSet<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ContractorLinkingMethods")]
struct LinkingMethods {
    /// Permits that state the license number.
    exact_number: usize,
    /// Permits that name a business whose name appears on only one contractor's license in the
    /// state.
    name_and_state: usize,
}

/// Returns true if a string has the format of an id: state and source, then the number, which may
/// contain hyphens.
fn is_id(licenses: &Licenses, text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    licenses.lists.keys().any(|(state, source)| {
        text.starts_with(&format!("{}-{source}-", state.to_ascii_lowercase()))
    })
}

/// Finds the license in the request path.
///
/// # Errors
/// `not_found` if the license does not exist; `ambiguous_identifier` if several licenses have the
/// number; the errors for an invalid state or profession.
async fn license_of_path<'a>(
    call: &Call<'_>,
    query: &Parameters<'_>,
    licenses: &'a Licenses,
) -> Result<LicenseWithActions<'a>> {
    let text = call.path_value("license");
    let rows = match licenses.find(text) {
        Some(row) => vec![row],
        None => {
            let Some(state) = query.state else {
                return Err(match is_id(licenses, text) {
                    true => Problem::of_field(
                        Code::NotFound,
                        "license",
                        format!("no license has the id `{text}`"),
                    ),
                    false => Problem::of_field(
                        Code::MissingParameter,
                        "state",
                        format!(
                            "`{text}` is not a license ID such as WA-lni-SERVPG*892PL; to look up a license number, add `state`"
                        ),
                    ),
                });
            };
            let state = covered_state(licenses, state)?;
            check_profession(licenses, state, query.profession)?;
            rows_of_number(licenses, state, text, query.profession)
        }
    };
    let found = licenses_of(call, licenses, &rows).await?;
    let found: Vec<LicenseWithActions<'_>> = disambiguate(found, text)
        .licenses
        .into_iter()
        .map(|stated| stated.license)
        .collect();
    match found.len() {
        0 => Err(Problem::of_field(
            Code::NotFound,
            "license",
            format!(
                "no published license of that state has the number `{text}`; an unpublished license may have it"
            ),
        )),
        1 => found
            .into_iter()
            .next()
            .ok_or_else(|| Problem::internal(&"a row was not read")),
        _ => {
            let candidates: Vec<String> = found
                .iter()
                .map(|found| found.license.at("license_id").to_owned())
                .collect();
            let message = format!(
                "`{text}` is the number of {} licenses: {}",
                candidates.len(),
                candidates.join(", ")
            );
            Err(Problem {
                candidates,
                ..Problem::of_field(Code::AmbiguousIdentifier, "license", message)
            })
        }
    }
}

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let licenses = published(call)?;
    let query = Parameters::read(call)?;
    let paging = ListPaging::new(call, query.limit, query.cursor)?;
    let days = DayRange::from_bounds(
        ("permits_from", query.permits_from),
        ("permits_to", query.permits_to),
    )?;
    let found = license_of_path(call, &query, licenses).await?;
    let mut meta = Meta::for_datasets(
        &[LICENSES, ACTIONS, PERMITS, CONTACTS, LINKS],
        format!(
            "{} licenses and {} permits",
            licenses.rows.len(),
            call.release.manifest.rows(PERMITS)
        ),
    );
    let none = Permits::default();
    let permits = call.release.table::<Permits>().unwrap_or(&none);
    let mut linked = permits_of(permits, found.license.at("license_id"));
    let is_selected = |row: &u32| days.has(known_day(day_of(permits, *row)));
    linked.by_number.retain(is_selected);
    linked.by_name.retain(is_selected);
    let mut rows: Vec<u32> = linked.by_number.union(&linked.by_name).copied().collect();
    newest_first(permits, &mut rows);
    let page = permits
        .rows
        .fetch(call.reader(), paging.slice(&rows))
        .await?;
    json.value(&Contractor {
        license: found.shown(),
        provenance: found.license.origin(&call.release.manifest),
        permit_summary: PermitSummary::new(&mut meta, permits, &rows),
        permits: page
            .iter()
            .map(|permit| PermitOfContractor::new(call, permit))
            .collect(),
        linking: Linking {
            methods: LinkingMethods {
                exact_number: linked.by_number.len(),
                name_and_state: linked.by_name.len(),
            },
            jurisdictions_with_license_numbers: &permits.with_license_numbers,
        },
    });
    if rows.is_empty() {
        meta.notice(
            "PERMIT_LINK_LIMITED",
            "No permit is linked to this license. A link needs a contractor's license from a board's own list. The permit must state its number, or a business name that no other contractor's license of the state has; most cities publish no numbers.",
        );
    }
    if !linked.by_name.is_empty() {
        meta.notice("LINKED_BY_NAME", "Permits linked by name_and_state state only the business name; it is likely, but not stated, that the business is the same.");
    }
    add_statuses_notice(&mut meta, &[&found]);
    meta.page = Some(paging.page_of_all(rows.len()));
    Ok(meta)
}
