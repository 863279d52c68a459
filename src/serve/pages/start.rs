//! Renders the start page, with the global search and the published datasets, and the search
//! results.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use serde_json::Value as Json;

use super::registry::permit_lists;
use super::status::states_by_dataset;
use super::templates::context;
use super::visit::{Visit, target};
use super::{Made, Page};
use crate::http::problem::Result;

pub const PAGES: &[Page] = &[
    Page {
        path: "/",
        make: |visit| start(visit).boxed(),
    },
    Page {
        path: "/search",
        make: |visit| search(visit).boxed(),
    },
];

/// Families in the order of expected interest.
const FAMILIES: &[&str] = &[
    "geo", "sec", "business", "license", "permit", "tax", "zip", "pubdata",
];

async fn start(visit: &Visit<'_>) -> Result<Made> {
    let answer = visit.ask("/v1/datasets".to_owned()).await?;
    let datasets = answer["data"]["datasets"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut families: Vec<(String, Vec<Json>)> = Vec::new();
    for dataset in datasets {
        let family = dataset["dataset_id"]
            .as_str()
            .and_then(|id| id.split('.').next())
            .unwrap_or_default()
            .to_owned();
        match families.iter_mut().find(|(known, _)| *known == family) {
            Some((_, datasets)) => datasets.push(dataset),
            None => families.push((family, vec![dataset])),
        }
    }
    families.sort_by_key(|(family, _)| {
        FAMILIES
            .iter()
            .position(|known| known == family)
            .unwrap_or(FAMILIES.len())
    });
    let families = families.into_iter().map(|(family, datasets)| {
        let rows: u64 = datasets
            .iter()
            .filter_map(|dataset| dataset["rows"].as_u64())
            .sum();
        context! { family, datasets, rows }
    });
    let coverage = visit.ask("/v1/coverage".to_owned()).await?;
    let states = states_by_dataset(&coverage);
    Ok(Made::Page(
        "start.html",
        context! { families => families.collect::<Vec<_>>(), examples => examples(&coverage, &states), states },
    ))
}

/// Returns links to example pages for the release's datasets, each with its link text.
fn examples(coverage: &Json, states: &BTreeMap<String, String>) -> Vec<(String, String)> {
    const PAGES_BY_DATASET: [(&str, &str, &str); 4] = [
        ("geo.zcta_metric", "/zip/90210", "ZIP 90210"),
        (
            "geo.zcta_metric",
            "/compare?areas=90210,95120",
            "a comparison of two areas",
        ),
        ("sec.registrant", "/search?q=Apple", "Apple"),
        (
            "tax.rate",
            "/tax?zip=55401&date=2019-01-02",
            "the sales tax of 55401 in January 2019",
        ),
    ];
    let published = PAGES_BY_DATASET
        .into_iter()
        .filter(|(dataset, ..)| states.contains_key(*dataset));
    let mut examples: Vec<(String, String)> = published
        .map(|(_, link, text)| (link.to_owned(), text.to_owned()))
        .collect();
    let mut lists = permit_lists(coverage).as_array().into_iter().flatten();
    let example = lists
        .clone()
        .find(|list| list["list"] == "us-tx-austin")
        .or_else(|| lists.next());
    if let Some((id, name)) =
        example.and_then(|list| Some((list["list"].as_str()?, list["name"].as_str()?)))
    {
        examples.push((
            target("/permits", &[("jurisdiction", Some(id))]),
            format!("permits of {name}"),
        ));
    }
    examples
}

async fn search(visit: &Visit<'_>) -> Result<Made> {
    let Some(asked) = visit.parameter("q") else {
        return Ok(Made::Redirect("/".to_owned(), None));
    };
    let answer = visit
        .ask(target("/v1/search", &[("q", Some(asked))]))
        .await?;
    let results = answer["data"]["results"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    // A single exact result needs no list to choose from.
    if let [only] = results.as_slice()
        && only["match"]["type"] == "exact"
        && let Some(page) = only["page"].as_str()
    {
        return Ok(Made::Redirect(page.to_owned(), None));
    }
    let results: Vec<_> = results
        .iter()
        .map(|result| context! { result, subtitle => subtitle(result) })
        .collect();
    Ok(Made::Page(
        "search.html",
        context! { results, asked, interpretations => answer["data"]["interpretations"] },
    ))
}

/// Kinds with which subtitles start.
const KINDS: &[&str] = &[
    "business",
    "county",
    "dataset",
    "filing",
    "license",
    "permit",
    "property",
    "record",
    "registrant",
    "release",
    "state",
    "ZIP code",
];

/// Returns the details of a result without its kind, which is shown separately, and with codes as
/// words.
fn subtitle(result: &Json) -> String {
    let parts = result["subtitle"]
        .as_str()
        .unwrap_or_default()
        .split(" · ")
        .filter(|part| !KINDS.contains(part));
    let is_code = |part: &str| {
        part.contains('_')
            && part
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    parts
        .map(|part| {
            if is_code(part) {
                part.replace('_', " ")
            } else {
                part.to_owned()
            }
        })
        .collect::<Vec<_>>()
        .join(" · ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::subtitle;

    #[test]
    fn subtitles_have_words_and_do_not_repeat_the_kind() {
        let result = json!({"kind": "license", "subtitle": "license · NY 0123456-DCA · municipal_business · active"});
        assert_eq!(
            subtitle(&result),
            "NY 0123456-DCA · municipal business · active"
        );
        assert_eq!(
            subtitle(&json!({"subtitle": "registrant · AAPL · Electronic Computers"})),
            "AAPL · Electronic Computers"
        );
    }
}
