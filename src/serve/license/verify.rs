//! Answers `GET /v1/license/verify`: checks a license number in a state. A request about a covered
//! list always gets an answer.

use super::holder_match::{HolderMatch, name_match};
use super::number::{
    Found, Stated, add_no_match_notice, check_profession, covered_state, disambiguate,
    rows_of_number,
};
use super::record::published;
use super::searched_lists::{Checked, add_lists_notice, checked};

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, Kind, RELEASE, format};
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::license::datasets::ACTIONS;
use crate::license::datasets::LICENSES;
use crate::license::record::{License, LicenseWithActions, add_statuses_notice, licenses_of};
use pubdata_core::canonical::license_number::normalized;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/license/verify",
    operation_id: "verifyLicense",
    summary: "Verification of a license number in a state",
    access: Access::Scope(Scope::General),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Verification<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

/// Message for a request without a state.
const NO_STATE: &str = "`state` is needed: the same number is issued in many states";

query! {
    pub struct Parameters<'a> {
        /// Number of the license. Blanks, dots, leading zeros and the board's abbreviation, such as
        /// CSLB, are ignored; letters of a class and hyphens are not.
        number: Option<&'a str> = Kind::Text { min: 1, max: 40 },
        /// The same as `number`; cannot be combined with it.
        license_number: Option<&'a str> = Kind::Text { min: 1, max: 40 },
        /// State whose board issued the license, by postal code or name. Other values are rejected.
        state: Option<&'a str> = Kind::State.required(NO_STATE),
        /// Limits the search to licenses of this profession.
        profession: Option<&'a str> = Kind::OneOf(LICENSES, "profession"),
        /// Name to compare with the holder's names; it does not narrow the search.
        name: Option<&'a str> = Kind::Text { min: 2, max: 120 },
        ..format("licenses"), ..RELEASE, ..AS_OF,
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Verification<'a> {
    /// The request as the server interpreted it.
    query: Question<'a>,
    /// Number of licenses found: one (`match`), several (`multiple_matches`) or none (`no_match`).
    #[schemars(extend("enum" = ["match", "multiple_matches", "no_match"]))]
    result: &'static str,
    /// True if exactly one license was found, its status is `active`, and its expiration date had
    /// not passed on `verified_as_of`.
    verified: bool,
    /// Date of the list, or the oldest date of several searched lists; null if no list has a date.
    #[schemars(with = "Option<&str>")]
    verified_as_of: Option<jiff::civil::Date>,
    /// Licenses from boards' own lists, or self-reported licenses if no board's list has the
    /// number.
    licenses: Vec<License<'a>>,
    /// Self-reported licenses with a number that a board's list also contains. They may be
    /// different licenses, and do not affect `result` or `verified`.
    self_reported: Vec<License<'a>>,
    /// Further records, one for each taxonomy, in which a provider states a number that the answer
    /// lists only once.
    also_stated: Vec<AlsoStated<'a>>,
    /// Result of comparing `name` with the holder's names; null if no name was given or no license
    /// was found.
    name_match: Option<HolderMatch>,
    /// Lists that were searched, with their dates.
    checked_sources: &'a [Checked<'a>],
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "VerificationQuery")]
struct Question<'a> {
    /// The number in the format used for comparison.
    number_normalized: &'a str,
    /// Two-letter postal code of the state.
    state: &'a str,
    /// Profession from the request; null if the request has none.
    profession: Option<&'a str>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "VerificationAlsoStated")]
struct AlsoStated<'a> {
    /// Identifier of the further record.
    license_id: &'a str,
    /// Id of the license above that this record also states.
    same_as: &'a str,
    #[schemars(extend("$field" = "license.license/profession"))]
    profession: &'a str,
    #[schemars(extend("$field" = "license.license/profession_raw"))]
    profession_raw: &'a str,
}

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let licenses = published(call)?;
    let Parameters {
        number,
        license_number,
        state,
        profession,
        name,
    } = Parameters::read(call)?;
    let number = match (number, license_number) {
        (Some(_), Some(_)) => {
            return Err(Problem::of_field(
                Code::InvalidParameter,
                "license_number",
                "`license_number` is the same as `number`: give one of them",
            ));
        }
        (number, alias) => number.or(alias).ok_or_else(|| {
            Problem::of_field(
                Code::MissingParameter,
                "number",
                "`number` is needed; /v1/license/search takes a name",
            )
        })?,
    };
    let state = covered_state(
        licenses,
        state.ok_or_else(|| Problem::of_field(Code::MissingParameter, "state", NO_STATE))?,
    )?;
    check_profession(licenses, state, profession)?;
    let rows = rows_of_number(licenses, state, number, profession);
    let Found {
        licenses: matches,
        self_reported,
    } = disambiguate(licenses_of(call, licenses, &rows).await?, number);
    let result = match matches.len() {
        0 => "no_match",
        1 => "match",
        _ => "multiple_matches",
    };
    let verified = matches!(matches.as_slice(), [only] if only.license.status == "active" && !only.license.is_past());
    let found: Vec<&LicenseWithActions<'_>> =
        matches.iter().map(|stated| &stated.license).collect();
    let checked = checked(call, licenses, state, profession);
    let verified_as_of = match found.is_empty() {
        true => checked
            .iter()
            .filter_map(|checked| checked.source_date)
            .min(),
        false => found.iter().filter_map(|found| found.as_of).min(),
    };
    let name_match = name.filter(|_| !found.is_empty()).map(|name| {
        found
            .iter()
            .map(|found| name_match(name, &found.license))
            .min()
            .unwrap_or(HolderMatch::None)
    });
    let normalized = normalized(number, &[]);
    json.value(&Verification {
        query: Question {
            number_normalized: found.first().map_or(normalized.as_str(), |found| {
                found.license.at("number_normalized")
            }),
            state,
            profession,
        },
        result,
        verified,
        verified_as_of,
        licenses: matches
            .iter()
            .map(|stated| stated.license.with_provenance(call))
            .collect(),
        self_reported: self_reported
            .iter()
            .map(|stated| stated.license.with_provenance(call))
            .collect(),
        also_stated: matches
            .iter()
            .chain(&self_reported)
            .flat_map(also_stated)
            .collect(),
        name_match,
        checked_sources: &checked,
    });
    let covered = licenses.rows.values("state");
    let mut meta = Meta::for_datasets(
        &[LICENSES, ACTIONS],
        format!(
            "{} licenses of boards in {}",
            licenses.rows.len(),
            covered.join(", ")
        ),
    );
    if found.is_empty() {
        add_no_match_notice(&mut meta);
    }
    add_lists_notice(&mut meta, licenses, &checked, (state, number), &found);
    if found.len() > 1 {
        meta.notice(
            "SEVERAL_LICENSES",
            "Several licenses have this number, in different trades or lists; they are not the same license. Use `profession` to narrow the search.",
        );
    }
    let reported: Vec<&LicenseWithActions<'_>> = found
        .iter()
        .copied()
        .chain(self_reported.iter().map(|stated| &stated.license))
        .collect();
    add_statuses_notice(&mut meta, &reported);
    Ok(meta)
}

/// Returns the other records of a license that its holder states several times.
fn also_stated<'a>(stated: &'a Stated<'_>) -> impl Iterator<Item = AlsoStated<'a>> {
    let same_as = stated.license.license.at("license_id");
    let of = move |other: &'a LicenseWithActions<'_>| {
        let license = &other.license;
        AlsoStated {
            license_id: license.at("license_id"),
            same_as,
            profession: license.at("profession"),
            profession_raw: license.at("profession_raw"),
        }
    };
    stated.also.iter().map(of)
}
