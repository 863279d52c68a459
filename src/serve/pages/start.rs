//! The first page: what this is, one search box over everything, and what is published; and what a search found.

use futures_util::FutureExt;
use serde_json::Value as Json;

use super::status::states_by_dataset;
use super::templates::context;
use super::visit::{Visit, target};
use super::{Made, Page};
use crate::http::problem::Result;

pub const PAGES: &[Page] = &[Page { path: "/", make: |visit| start(visit).boxed() }, Page { path: "/search", make: |visit| search(visit).boxed() }];

/// Families in the order in which people look for them.
const FAMILIES: &[&str] = &["geo", "sec", "business", "license", "permit", "tax", "zip", "pubdata"];

async fn start(visit: &Visit<'_>) -> Result<Made> {
    let answer = visit.ask("/v1/datasets".to_owned()).await?;
    let datasets = answer["data"]["datasets"].as_array().cloned().unwrap_or_default();
    let mut families: Vec<(String, Vec<Json>)> = Vec::new();
    for dataset in datasets {
        let family = dataset["dataset_id"].as_str().and_then(|id| id.split('.').next()).unwrap_or_default().to_owned();
        match families.iter_mut().find(|(known, _)| *known == family) {
            Some((_, datasets)) => datasets.push(dataset),
            None => families.push((family, vec![dataset])),
        }
    }
    families.sort_by_key(|(family, _)| FAMILIES.iter().position(|known| known == family).unwrap_or(FAMILIES.len()));
    let families = families.into_iter().map(|(family, datasets)| {
        let rows: u64 = datasets.iter().filter_map(|dataset| dataset["rows"].as_u64()).sum();
        context! { family, datasets, rows }
    });
    Ok(Made::Page("start.html", context! { families => families.collect::<Vec<_>>(), states => states_by_dataset(visit).await? }))
}

async fn search(visit: &Visit<'_>) -> Result<Made> {
    let Some(asked) = visit.parameter("q") else { return Ok(Made::Redirect("/".to_owned(), None)) };
    let answer = visit.ask(target("/v1/search", &[("q", Some(asked))])).await?;
    let results = answer["data"]["results"].as_array().cloned().unwrap_or_default();
    // What has one meaning needs no list to choose from.
    if let [only] = results.as_slice()
        && only["match"]["type"] == "exact"
        && let Some(page) = only["page"].as_str()
    {
        return Ok(Made::Redirect(page.to_owned(), None));
    }
    let results: Vec<_> = results.iter().map(|result| context! { result, subtitle => subtitle(result) }).collect();
    Ok(Made::Page("search.html", context! { results, asked, interpretations => answer["data"]["interpretations"] }))
}

/// Kinds as subtitles begin with them.
const KINDS: &[&str] = &["business", "county", "dataset", "filing", "license", "permit", "property", "record", "registrant", "release", "state", "ZIP code"];

/// The details of a result without its kind, which stands beside it, and with codes as words.
fn subtitle(result: &Json) -> String {
    let parts = result["subtitle"].as_str().unwrap_or_default().split(" · ").filter(|part| !KINDS.contains(part));
    let is_code = |part: &str| part.contains('_') && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    parts.map(|part| if is_code(part) { part.replace('_', " ") } else { part.to_owned() }).collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::subtitle;

    #[test]
    fn subtitles_have_words_and_do_not_repeat_the_kind() {
        let result = json!({"kind": "license", "subtitle": "license · NY 0123456-DCA · municipal_business · active"});
        assert_eq!(subtitle(&result), "NY 0123456-DCA · municipal business · active");
        assert_eq!(subtitle(&json!({"subtitle": "registrant · AAPL · Electronic Computers"})), "AAPL · Electronic Computers");
    }
}
