//! Answers `GET /v1/license/verify`: whether a number is a license of a state, and whose. A question about a covered list always has an answer.

use super::checked_lists::{add_lists_notice, checked};
use super::holder_match::{HolderMatch, name_match};
use super::number::{Found, Stated, add_no_match_notice, check_profession, rows_of_number, state_of, told_apart};
use super::record::published;

use futures_util::FutureExt;

use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, Kind, Parameter, RELEASE, format};
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::license::datasets::ACTIONS;
use crate::license::datasets::LICENSES;
use crate::license::record::{WithActions, add_statuses_notice, licenses_of};
use pubdata_core::canonical::license_number::normalized;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/license/verify",
    operation_id: "verifyLicense",
    summary: "Whether a number is a license of a state, and whose",
    access: Access::Scope(Scope::General),
    parameters: PARAMETERS,
    body: None,
    data: "Verification",
    validity: Validity::Release,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

/// The endpoint's parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "number",
        kind: Kind::Text { min: 1, max: 40 },
        description: "Number of the license; needed unless `license_number` gives it. Blanks, dots, leading zeros and a board's prefix do not matter.",
    },
    Parameter { name: "license_number", kind: Kind::Text { min: 1, max: 40 }, description: "The same as `number`; cannot be combined with it." },
    Parameter { name: "state", kind: Kind::State, description: "State whose board issued it, by postal code or name; needed. Another text is refused." },
    Parameter { name: "profession", kind: Kind::OneOf(LICENSES, "profession"), description: "Only licenses of this profession." },
    Parameter { name: "name", kind: Kind::Text { min: 2, max: 120 }, description: "Compared with the holder's names; it does not narrow the search." },
    format("licenses"),
    RELEASE,
    AS_OF,
];

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let licenses = published(call)?;
    let query = call.query;
    let number = match (query.get("number"), query.get("license_number")) {
        (Some(_), Some(_)) => {
            return Err(Problem::of_field(Code::InvalidParameter, "license_number", "`license_number` is the same as `number`: give one of them"));
        }
        (number, alias) => {
            number.or(alias).ok_or_else(|| Problem::of_field(Code::MissingParameter, "number", "`number` is needed; /v1/license/search takes a name"))?
        }
    };
    let state = state_of(call, licenses)?;
    let profession = query.get("profession");
    check_profession(licenses, state, profession)?;
    let rows = rows_of_number(licenses, state, number, profession);
    let Found { licenses: matches, self_reported } = told_apart(licenses_of(call, licenses, &rows).await?, number);
    let result = match matches.len() {
        0 => "no_match",
        1 => "match",
        _ => "multiple_matches",
    };
    let verified = matches!(matches.as_slice(), [only] if only.license.status == "active" && !only.license.is_past());
    let found: Vec<&WithActions<'_>> = matches.iter().map(|stated| &stated.license).collect();
    let checked = checked(call, licenses, state, profession);
    let verified_as_of = match found.is_empty() {
        true => checked.iter().filter_map(|checked| checked.source_date).min(),
        false => found.iter().filter_map(|found| found.as_of).min(),
    };
    let name_match = query
        .get("name")
        .filter(|_| !found.is_empty())
        .map(|name| found.iter().map(|found| name_match(name, &found.license)).min().unwrap_or(HolderMatch::None));
    json.object(|json| {
        json.key("query").object(|json| {
            json.key("number_normalized").text(found.first().map_or(normalized(number, &[]).as_str(), |found| found.license.at("number_normalized")));
            json.key("state").text(state);
            json.key("profession").optional_text(profession);
        });
        json.key("result").text(result);
        json.key("verified").flag(verified);
        json.key("verified_as_of").optional_text(verified_as_of.map(|date| date.to_string()).as_deref());
        json.key("licenses").array(|json| matches.iter().for_each(|stated| write(json, call, &stated.license)));
        json.key("self_reported").array(|json| self_reported.iter().for_each(|stated| write(json, call, &stated.license)));
        json.key("also_stated").array(|json| matches.iter().chain(&self_reported).for_each(|stated| write_also(json, stated)));
        json.key("name_match").optional_text(name_match.map(HolderMatch::name));
        json.key("checked_sources").array(|json| checked.iter().for_each(|checked| checked.write(json)));
    });
    let covered = licenses.rows.values("state");
    let mut meta = Meta::of(&[LICENSES, ACTIONS], format!("{} licenses of boards in {}", licenses.rows.len(), covered.join(", ")));
    if found.is_empty() {
        add_no_match_notice(&mut meta);
    }
    add_lists_notice(&mut meta, licenses, &checked, (state, number), &found);
    if found.len() > 1 {
        meta.notice(
            "SEVERAL_LICENSES",
            "Several licenses have this number, in different trades or lists; they are not the same license. `profession` narrows.",
        );
    }
    let told: Vec<&WithActions<'_>> = found.iter().copied().chain(self_reported.iter().map(|stated| &stated.license)).collect();
    add_statuses_notice(&mut meta, &told);
    Ok(meta)
}

fn write(json: &mut Json, call: &Call<'_>, found: &WithActions<'_>) {
    json.object(|json| {
        found.write(json);
        found.license.provenance(json, &call.release.manifest);
    });
}

/// Writes the other records of a license that its holder states several times.
fn write_also(json: &mut Json, stated: &Stated<'_>) {
    for other in &stated.also {
        json.object(|json| {
            other.license.member(json, "license_id");
            json.key("same_as").text(stated.license.license.at("license_id"));
            other.license.members(json, &["profession", "profession_raw"]);
        });
    }
}
