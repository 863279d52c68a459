//! The trace: a record, the publisher's bytes with what was read of them, the file and how to fetch the same bytes oneself, what comes of making the record
//! again, and what earlier releases said.

use futures_util::{FutureExt, try_join};
use minijinja::Value;
use serde_json::Value as Json;

use super::templates::{context, segment};
use super::visit::{Visit, target};
use super::{Made, Page};
use crate::http::problem::Result;

pub const PAGES: &[Page] = &[Page { path: "/records/{record_id}", make: |visit| record(visit).boxed() }];

async fn record(visit: &Visit<'_>) -> Result<Made> {
    let id = segment(visit.value("record_id"));
    let release = visit.parameter("release");
    // To make a record again takes longer than a page should: who wants to see it asks for it.
    let is_replayed = visit.parameter("replay").is_some();
    let include = if is_replayed { "bytes,replay" } else { "bytes" };
    let chain = target(&format!("/v1/provenance/{id}"), &[("include", Some(include)), ("release", release)]);
    let history = format!("/v1/records/{id}/history");
    let (chain, history) = try_join!(visit.ask(chain), visit.ask_if_there(history))?;
    let data = &chain["data"];
    let sources: Vec<Value> = data["sources"].as_array().into_iter().flatten().map(source).collect();
    let columns = &data["record"]["columns"];
    let value = columns.get("value").filter(|value| value.is_number());
    let context = context! {
        id => visit.value("record_id"), record => data["record"], chain => data, sources, replay => data["replay"], is_replayed, history => history["data"],
        about => about(columns), value, unit => columns["unit"].as_str().unwrap_or_default(), asked_release => release,
    };
    Ok(Made::Page("record.html", context))
}

/// The page of what a record is about.
fn about(columns: &Json) -> Option<Value> {
    let pages = [
        ("zcta", "/zip/", "ZIP code area"),
        ("permit_id", "/permit/", "Permit"),
        ("license_id", "/license/", "License"),
        ("entity_id", "/business/", "Business"),
        ("cik", "/company/", "Company"),
        ("county_fips", "/county/", "County"),
        // Others have one in their address.
        ("zip", "/zip/", "ZIP code"),
    ];
    let found = pages.into_iter().find_map(|(column, page, words)| Some((columns[column].as_str()?, page, words)));
    found.map(|(code, page, words)| {
        let code = if page == "/company/" { code.trim_start_matches('0') } else { code };
        context! { page => format!("{page}{}", segment(code)), words, code }
    })
}

/// A stretch of the publisher's text, whether the record was made from it, and the name of its column.
struct Stretch {
    text: String,
    is_read: bool,
    column: Option<String>,
}

/// A source with its bytes in stretches, as a page shows them.
fn source(source: &Json) -> Value {
    let bytes = &source["bytes"];
    let stretches = stretches(&bytes["excerpt"], &bytes["cells"]);
    let stretches: Vec<Value> =
        stretches.into_iter().map(|stretch| context! { text => stretch.text, is_read => stretch.is_read, column => stretch.column }).collect();
    let read: Vec<&Json> = bytes["cells"].as_array().into_iter().flatten().filter(|cell| cell["is_used"] == true).collect();
    context! { source, bytes, stretches, read }
}

/// Cuts an excerpt where cells that were read begin and end; of a document, where the value does.
fn stretches(excerpt: &Json, cells: &Json) -> Vec<Stretch> {
    let Some(text) = excerpt["text"].as_str() else { return Vec::new() };
    let place = |of: &Json, name: &str| of[name].as_u64().and_then(|place| usize::try_from(place).ok());
    let used = cells.as_array().into_iter().flatten().filter(|cell| cell["is_used"] == true);
    let mut read: Vec<(usize, usize, Option<String>)> =
        used.filter_map(|cell| Some((place(cell, "start")?, place(cell, "end")?, cell["column"].as_str().map(str::to_owned)))).collect();
    if cells.as_array().is_none_or(Vec::is_empty)
        && let (Some(start), Some(end)) = (place(excerpt, "start"), place(excerpt, "end"))
    {
        read.push((start, end, None));
    }
    read.sort();
    let characters: Vec<char> = text.chars().collect();
    let part = |from: usize, to: usize| characters[from.min(characters.len())..to.min(characters.len())].iter().collect::<String>();
    let (mut stretches, mut at) = (Vec::new(), 0);
    for (start, end, column) in read {
        if start < at || end <= start {
            continue;
        }
        stretches.push(Stretch { text: part(at, start), is_read: false, column: None });
        stretches.push(Stretch { text: part(start, end), is_read: true, column });
        at = end;
    }
    stretches.push(Stretch { text: part(at, characters.len()), is_read: false, column: None });
    stretches.retain(|stretch| !stretch.text.is_empty());
    stretches
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::stretches;

    fn cut(excerpt: &serde_json::Value, cells: &serde_json::Value) -> Vec<(String, bool)> {
        stretches(excerpt, cells).into_iter().map(|stretch| (stretch.text, stretch.is_read)).collect()
    }

    #[test]
    fn what_was_read_is_told_from_what_stands_around_it() {
        let row = json!({"text": "É|19652|x", "start": 0, "end": 9});
        let cells = json!([
            {"column": "NAME", "is_used": false, "start": 0, "end": 1},
            {"column": "B01003_E001", "is_used": true, "start": 2, "end": 7},
            {"column": "twice", "is_used": true, "start": 3, "end": 5},
        ]);
        assert_eq!(cut(&row, &cells), [("É|".to_owned(), false), ("19652".to_owned(), true), ("|x".to_owned(), false)]);
        let document = json!({"text": "{\"val\": 12}", "start": 8, "end": 10});
        assert_eq!(cut(&document, &json!([])), [("{\"val\": ".to_owned(), false), ("12".to_owned(), true), ("}".to_owned(), false)]);
        assert_eq!(cut(&json!(null), &json!([])), []);
        assert_eq!(cut(&json!({"text": "ab", "start": 7, "end": 9}), &json!([])), [("ab".to_owned(), false)]);
    }
}
