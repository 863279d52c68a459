//! Renders the pages of businesses, licenses, and properties with their permits: the record, the
//! certainty of each link, and the source list. Also renders the permit search.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use serde_json::Value as Json;

use super::templates::{context, segment};
use super::visit::{Visit, target};
use super::{Made, Page};
use crate::http::parameters::allowed;
use crate::http::problem::{Code, Problem, Result};

/// Dataset of permits in `/v1/coverage`.
const PERMITS: &str = "permit.permit";

pub const PAGES: &[Page] = &[
    Page {
        path: "/business/{entity_id}",
        make: |visit| business(visit).boxed(),
    },
    Page {
        path: "/license/{license_id}",
        make: |visit| license(visit).boxed(),
    },
    Page {
        path: "/property/{property_id}",
        make: |visit| property(visit).boxed(),
    },
    Page {
        path: "/permit/{permit_id}",
        make: |visit| permit(visit).boxed(),
    },
    Page {
        path: "/permits",
        make: |visit| permits(visit).boxed(),
    },
];

/// Filters of the permit search: parameters of the API and of the page.
const PERMIT_FILTERS: [&str; 9] = [
    "jurisdiction",
    "address",
    "permit_number",
    "contractor",
    "type",
    "status",
    "date_field",
    "date_from",
    "date_to",
];

async fn business(visit: &Visit<'_>) -> Result<Made> {
    let answer = visit
        .ask(format!(
            "/v1/business/{}",
            segment(visit.value("entity_id"))
        ))
        .await?;
    Ok(Made::Page(
        "business.html",
        context! { business => answer["data"], dataset => answer["meta"]["datasets"] },
    ))
}

async fn license(visit: &Visit<'_>) -> Result<Made> {
    let path = format!("/v1/contractors/{}", segment(visit.value("license_id")));
    let answer = visit
        .ask(target(&path, &[("state", visit.parameter("state"))]))
        .await?;
    Ok(Made::Page(
        "license.html",
        context! { license => answer["data"] },
    ))
}

async fn property(visit: &Visit<'_>) -> Result<Made> {
    let answer = visit
        .ask(target(
            "/v1/properties",
            &[("address", Some(visit.value("property_id")))],
        ))
        .await?;
    Ok(Made::Page(
        "property.html",
        context! { property => answer["data"], page => answer["meta"]["page"] },
    ))
}

/// Renders a permit by its id. The record contains the jurisdiction and the number, and the search
/// returns the permit in the format used for all permits. A permit without a number may be beyond
/// the first page of the search; the page then shows its record.
async fn permit(visit: &Visit<'_>) -> Result<Made> {
    let permit_id = visit.value("permit_id");
    let record_id = segment(&format!("{PERMITS}:{permit_id}"));
    let record = visit.ask(format!("/v1/provenance/{record_id}")).await?;
    let column = |name: &str| {
        record["data"]["record"]["columns"][name]
            .as_str()
            .map(str::to_owned)
    };
    let (jurisdiction, number) = (column("jurisdiction"), column("permit_number"));
    let query = [
        ("jurisdiction", jurisdiction.as_deref()),
        ("permit_number", number.as_deref()),
        ("limit", Some("100")),
    ];
    let answer = visit.ask(target("/v1/permits/search", &query)).await?;
    let permit = answer["data"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|permit| permit["permit_id"] == permit_id);
    Ok(match permit {
        Some(permit) => Made::Page("permit.html", context! { permit }),
        None => Made::Redirect(format!("/records/{record_id}"), None),
    })
}

/// Filters that locate permits: the search requires one of them.
const PLACES: [&str; 3] = ["jurisdiction", "address", "permit_number"];

/// Renders the permits that match the given filters; without filters, the jurisdictions that have
/// permits.
async fn permits(visit: &Visit<'_>) -> Result<Made> {
    let typed = PERMIT_FILTERS.map(|name| (name, visit.parameter(name)));
    let fields: BTreeMap<&str, &str> = typed
        .iter()
        .map(|(name, value)| (*name, value.unwrap_or_default()))
        .collect();
    let coverage = visit.ask("/v1/coverage".to_owned()).await?;
    let lists = permit_lists(&coverage);
    let filters = typed.map(|(name, value)| {
        (
            name,
            if name == "jurisdiction" {
                value.map(|text| jurisdiction_id(text, lists))
            } else {
                value
            },
        )
    });
    let at = |path: &str, cursor| target(path, &[&filters[..], &[("cursor", cursor)]].concat());
    let given: Vec<&str> = filters
        .iter()
        .filter(|(_, value)| value.is_some())
        .map(|(name, _)| *name)
        .collect();
    let found = if given.iter().any(|name| PLACES.contains(name)) {
        visit
            .ask(at("/v1/permits/search", visit.parameter("cursor")))
            .await
    } else if !given.is_empty() {
        let detail = "enter a city or county, an address or a permit number as well: permits are searched within a place";
        Err(Problem::of_field(
            Code::MissingParameter,
            "jurisdiction",
            detail,
        ))
    } else {
        Ok(Json::Null)
    };
    // A rejected search is explained next to the form, which keeps its input.
    let (found, refusal) = match found {
        Ok(found) => (found, None),
        Err(problem)
            if problem.code.status().is_client_error() && problem.code != Code::RateLimited =>
        {
            (Json::Null, Some(problem.detail))
        }
        Err(problem) => return Err(problem),
    };
    let page = &found["meta"]["page"];
    let values = |column| allowed(&visit.pages.service.contracts, PERMITS, column);
    Ok(Made::Page(
        "permits_search.html",
        context! {
            fields, refusal, page, permits => found["data"], lists, types => values("type"),
            statuses => values("status"), next => at("/permits", page["next_cursor"].as_str()),
        },
    ))
}

/// Returns the jurisdictions with permits from the response of `/v1/coverage`; null if the response
/// has none.
pub fn permit_lists(coverage: &Json) -> &Json {
    let permits = coverage["data"]["datasets"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|dataset| dataset["dataset_id"] == PERMITS);
    permits.map_or(&Json::Null, |dataset| &dataset["lists"])
}

/// Returns the id of the only covered jurisdiction with this name, such as `Austin` or `Austin,
/// TX`. Returns any other text unchanged.
fn jurisdiction_id<'t>(text: &'t str, lists: &'t Json) -> &'t str {
    let is_named = |list: &&Json| {
        let (name, state) = (
            list["name"].as_str().unwrap_or_default(),
            list["state"].as_str().unwrap_or_default(),
        );
        text.eq_ignore_ascii_case(name) || text.eq_ignore_ascii_case(&format!("{name}, {state}"))
    };
    let mut named = lists.as_array().into_iter().flatten().filter(is_named);
    match (named.next(), named.next()) {
        (Some(list), None) => list["list"].as_str().unwrap_or(text),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::jurisdiction_id;

    #[test]
    fn name_of_one_jurisdiction_stands_for_its_id() {
        let list =
            |id: &str, name: &str, state: &str| json!({"list": id, "name": name, "state": state});
        let lists = json!([
            list("us-tx-austin", "Austin", "TX"),
            list("us-or-portland", "Portland", "OR"),
            list("us-me-portland", "Portland", "ME")
        ]);
        let ids = [
            "austin",
            "Austin, TX",
            "Austin, OR",
            "us-tx-austin",
            "Portland",
            "portland, me",
        ]
        .map(|text| jurisdiction_id(text, &lists));
        assert_eq!(
            ids,
            [
                "us-tx-austin",
                "us-tx-austin",
                "Austin, OR",
                "us-tx-austin",
                "Portland",
                "us-me-portland"
            ]
        );
        assert_eq!(jurisdiction_id("Austin", &json!(null)), "Austin");
    }
}
