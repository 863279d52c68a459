//! Answers `GET /v1/license/verify`: whether a number is a license of a state, and whose. A question about a covered list always has an answer.

use super::number::{PREFIXES, add_no_match_notice, check_profession, exact_spelling, lists_of, rows_of_number, state_of};
use super::record::published;

use futures_util::FutureExt;

use crate::canonical::license_number::{display, normalized};
use crate::canonical::name::searched;
use crate::serve::days;
use crate::serve::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::serve::http::meta::Meta;
use crate::serve::http::parameters::{AS_OF, Kind, Parameter, RELEASE};
use crate::serve::http::problem::{Code, Problem, Result};
use crate::serve::json::Json;
use crate::serve::license::datasets::ACTIONS;
use crate::serve::license::datasets::LICENSES;
use crate::serve::license::datasets::License;
use crate::serve::license::record::{WithActions, add_statuses_notice, as_of, licenses_of, person_of};
use crate::serve::license::table::{LicenseList, Licenses, persons_name};
use crate::serve::release::freshness::source_date;
use crate::serve::release::rows::Record;
use crate::serve::search::query::person_words;
use crate::store::Scope;

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
        description: "Number of the license; blanks, dots, leading zeros and a board's prefix do not matter.",
    },
    Parameter { name: "license_number", kind: Kind::Text { min: 1, max: 40 }, description: "The same as `number`." },
    Parameter { name: "state", kind: Kind::State, description: "State whose board issued it, as a postal code." },
    Parameter { name: "profession", kind: Kind::OneOf(LICENSES, "profession"), description: "Only licenses of this profession." },
    Parameter { name: "name", kind: Kind::Text { min: 2, max: 120 }, description: "Compared with the holder's names; it does not narrow the search." },
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
    let found = exact_spelling(licenses_of(call, licenses, &rows).await?, number);
    let result = match found.len() {
        0 => "no_match",
        1 => "match",
        _ => "multiple_matches",
    };
    let verified = matches!(found.as_slice(), [only] if only.status == "active" && !only.is_past(call));
    let checked = checked(call, licenses, state, profession);
    let verified_as_of = match found.is_empty() {
        true => checked.iter().filter_map(|checked| checked.source_date).min(),
        false => found.iter().filter_map(|found| as_of(call, &found.license)).min(),
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
        json.key("licenses").array(|json| {
            for found in &found {
                json.object(|json| {
                    found.write(json);
                    found.license.provenance(json, &call.release.manifest);
                });
            }
        });
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
    add_statuses_notice(call, &mut meta, &found);
    Ok(meta)
}

/// Says what the lists that were looked at may lack: records that were set aside, and what happened since their newest license.
fn add_lists_notice(meta: &mut Meta, licenses: &Licenses, checked: &[Checked<'_>], (state, number): (&str, &str), found: &[WithActions<'_>]) {
    let forms = |source: &str| {
        let prefixes: Vec<String> = std::iter::once(source).chain(PREFIXES).map(str::to_owned).collect();
        [display(number), normalized(number, &[]), normalized(number, &prefixes)]
    };
    if let Some(list) = checked.iter().find(|list| licenses.is_quarantined((state, list.source), &forms(list.source))) {
        let message = format!(
            "{} has a record of this number that contradicts itself or another, and that was set aside: it is not among the licenses here. Ask the board.",
            list.list.source_id
        );
        meta.notice("RECORD_SET_ASIDE", message);
    } else if found.is_empty()
        && let lacking = checked
            .iter()
            .filter(|list| list.list.quarantined > 0)
            .map(|list| format!("{} of {}", list.list.quarantined, list.list.source_id))
            .collect::<Vec<_>>()
        && !lacking.is_empty()
    {
        meta.notice(
            "RECORDS_SET_ASIDE",
            format!("Records that could not be read or contradict one another were set aside, and may be of this number: {}.", lacking.join(", ")),
        );
    }
    let counts = |list: &&Checked<'_>| found.is_empty() || found.iter().any(|found| found.license.text("source") == Some(list.source));
    for list in checked.iter().filter(counts) {
        if let (Some(newest), Some(as_of)) = (list.newest(), list.source_date)
            && as_of.since(newest).is_ok_and(|span| i64::from(span.get_days()) > (3 * list.list.cadence_days).max(QUIET_DAYS))
        {
            let message = format!(
                "The newest license of {} was issued or renewed on {newest}, though the list is dated {as_of}: it seems to be older than its date, and later changes are not in it.",
                list.list.source_id
            );
            meta.notice("LIST_SEEMS_OLD", message);
        }
    }
}

/// For so long a list may have no new license without a question.
const QUIET_DAYS: i64 = 180;

/// A list that was looked at.
struct Checked<'a> {
    source: &'a str,
    list: &'a LicenseList,
    source_date: Option<jiff::civil::Date>,
    scope: String,
}

impl Checked<'_> {
    /// The day of the list's newest license.
    fn newest(&self) -> Option<jiff::civil::Date> {
        self.list.newest.map(days::date)
    }

    fn write(&self, json: &mut Json) {
        json.object(|json| {
            json.key("source_id").text(&self.list.source_id);
            json.key("source_date").optional_text(self.source_date.map(|date| date.to_string()).as_deref());
            json.key("newest_license_date").optional_day(self.list.newest);
            json.key("records_set_aside").count(self.list.quarantined);
            json.key("scope").text(&self.scope);
        });
    }
}

fn checked<'a>(call: &Call<'_>, licenses: &'a Licenses, state: &'a str, profession: Option<&str>) -> Vec<Checked<'a>> {
    let date = |source: &str| {
        let is_of = |part: &&crate::store::Part| {
            part.partition.get("state").is_some_and(|known| known == state) && part.partition.get("source").is_some_and(|known| known == source)
        };
        licenses.rows.parts().iter().filter(is_of).filter_map(|part| source_date(&call.release.manifest, part)).max()
    };
    let lists = lists_of(licenses, state).filter(|(_, list)| profession.is_none_or(|profession| list.professions.contains(profession)));
    let scope = |list: &LicenseList| format!("{} licenses: {}", list.licenses, list.professions.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
    lists.map(|(source, list)| Checked { source, list, source_date: date(source), scope: scope(list) }).collect()
}

/// How a given name compares with a holder's, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum HolderMatch {
    Exact,
    Partial,
    None,
}

impl HolderMatch {
    fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Partial => "partial",
            Self::None => "none",
        }
    }
}

fn name_match(asked: &str, license: &Record<'_, License>) -> HolderMatch {
    let names = ["holder_name", "business_name", "dba"].into_iter().filter_map(|column| license.text(column)).chain(license.texts("principals"));
    let person = persons_name(person_of(license));
    names.chain(person.as_deref()).map(|name| compare(asked, name)).min().unwrap_or(HolderMatch::None)
}

/// Compares two names: equal but for legal form and order; or all words of one in the other, an initial standing for a name.
fn compare(asked: &str, name: &str) -> HolderMatch {
    let sorted = |text: &str| {
        let mut words = person_words(text);
        words.sort_unstable();
        words
    };
    let (asked_core, core) = (searched(asked).core, searched(name).core);
    let (a, b) = (sorted(asked), sorted(name));
    if (!core.is_empty() && asked_core == core) || a == b {
        return HolderMatch::Exact;
    }
    let is_same = |a: &str, b: &str| a == b || a.len() == 1 && b.starts_with(a) || b.len() == 1 && a.starts_with(b);
    let is_part = |short: &[String], long: &[String]| {
        let all = short.iter().all(|word| long.iter().any(|known| is_same(word, known)));
        // Initials alone would fit half of all names.
        !short.is_empty() && all && short.iter().any(|word| word.len() > 1 && long.contains(word))
    };
    let (a, b) = (sorted(&asked_core), sorted(&core));
    if is_part(&a, &b) || is_part(&b, &a) { HolderMatch::Partial } else { HolderMatch::None }
}

#[cfg(test)]
mod tests {
    use super::{HolderMatch, compare};

    #[test]
    fn names_compare_by_words_in_any_order() {
        let cases = [
            ("John Smith", "SMITH, JOHN", HolderMatch::Exact),
            ("Acme Widgets", "ACME WIDGETS, LLC", HolderMatch::Exact),
            ("smith", "SMITH, JOHN", HolderMatch::Partial),
            ("J. Smith", "SMITH, JOHN", HolderMatch::Partial),
            ("John A Smith", "SMITH, JOHN", HolderMatch::Partial),
            ("Acme", "ACME WIDGETS LLC", HolderMatch::Partial),
            ("J", "SMITH, JOHN", HolderMatch::None),
            ("Jane Smith", "SMITH, JOHN", HolderMatch::None),
        ];
        for (asked, name, expected) in cases {
            assert_eq!(compare(asked, name), expected, "{asked} / {name}");
        }
    }
}
