//! Renders the pages of datasets and releases: contents, columns, licence, evidence, known issues,
//! code to read the data elsewhere, and changes between releases.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use minijinja::Value;
use minijinja::value::Serde;
use serde_json::{Value as Json, json};

use super::chart::{sparkline, states};
use super::status::states_by_dataset;
use super::templates::{context, segment};
use super::visit::{Visit, target};
use super::{Made, Page};
use crate::http::problem::{Code, Problem, Result};
use crate::http::response::{CSV, PARQUET};

pub const PAGES: &[Page] = &[
    Page {
        path: "/datasets",
        make: |visit| datasets(visit).boxed(),
    },
    Page {
        path: "/datasets/{dataset_id}",
        make: |visit| dataset(visit).boxed(),
    },
    Page {
        path: "/releases",
        make: |visit| releases(visit).boxed(),
    },
    Page {
        path: "/releases/{release_id}",
        make: |visit| release(visit).boxed(),
    },
];

async fn datasets(visit: &Visit<'_>) -> Result<Made> {
    let answer = visit.ask("/v1/datasets".to_owned()).await?;
    let coverage = visit.ask("/v1/coverage".to_owned()).await?;
    Ok(Made::Page(
        "datasets.html",
        context! { datasets => answer["data"]["datasets"], states => states_by_dataset(&coverage) },
    ))
}

async fn dataset(visit: &Visit<'_>) -> Result<Made> {
    let id = segment(visit.value("dataset_id"));
    let dataset = visit.ask(format!("/v1/datasets/{id}")).await?;
    let coverage = visit.ask("/v1/coverage".to_owned()).await?;
    let covered = coverage["data"]["datasets"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|known| known["dataset_id"] == visit.value("dataset_id"));
    let covered = covered.cloned().unwrap_or_default();
    if let Some(list) = visit.parameter("list") {
        return listed(list, visit.parameter("from"), &dataset["data"], &covered);
    }
    let counts: Vec<u64> = dataset["data"]["history"]
        .as_array()
        .into_iter()
        .flatten()
        .rev()
        .filter_map(|release| release["rows"].as_u64())
        .collect();
    // A line needs two releases.
    let chart = if counts.len() > 1 {
        sparkline("Records over the last releases", &counts)
    } else {
        String::new()
    };
    let in_states = states_of(&covered);
    let map = if in_states.is_empty() {
        String::new()
    } else {
        states("States that the dataset covers", &in_states)
    };
    let release_id = dataset["meta"]["release"]["release_id"]
        .as_str()
        .unwrap_or("current")
        .to_owned();
    let files = visit
        .ask_optional(format!("/v1/releases/{release_id}/datasets/{id}"))
        .await?;
    let linked = visit
        .ask(format!("/v1/datasets/{id}/croissant.json"))
        .await?;
    let linked = Value::from_safe_string(as_data(&for_search_engines(linked, &in_states)));
    let context = context! {
        dataset => dataset["data"], coverage => covered, chart, map, release => release_id,
        files => files["data"], inline => MAX_INLINE,
    };
    Ok(Made::Page(
        "dataset.html",
        minijinja::context! { linked, ..context },
    ))
}

/// Maximum length of a list on a dataset's page, and rows per page of a longer list.
const MAX_INLINE: usize = 12;
const ROWS_PER_PAGE: usize = 50;

/// Renders a list of a dataset that is too long for the dataset's page.
fn listed(list: &str, from: Option<&str>, dataset: &Json, covered: &Json) -> Result<Made> {
    let rows_of = |name: &str| covered[name].as_array().into_iter().flatten();
    let (title, rows): (&str, Vec<&Json>) = match list {
        "publishers" => ("Publishers", Vec::new()),
        "words" => (
            "Columns with unknown texts",
            rows_of("words")
                .filter(|column| column["unknown_rows"].as_u64() > Some(0))
                .collect(),
        ),
        "partitions" => ("Partitions and evidence", rows_of("partitions").collect()),
        _ => {
            return Err(Problem::of_field(
                Code::InvalidParameter,
                "list",
                format!("`{list}` is not a list of a dataset: use publishers, words or partitions"),
            ));
        }
    };
    let wrong = |text: &str| {
        Problem::of_field(
            Code::InvalidParameter,
            "from",
            format!("`{text}` is not a row number"),
        )
    };
    let from = from.map_or(Ok(0), |text| text.parse::<usize>().map_err(|_| wrong(text)))?;
    let end = from.saturating_add(ROWS_PER_PAGE);
    let next = (end < rows.len()).then_some(end);
    let rows: Vec<&Json> = rows.into_iter().skip(from).take(ROWS_PER_PAGE).collect();
    Ok(Made::Page(
        "dataset_list.html",
        context! { title, list, rows, next, dataset },
    ))
}

/// Reduces a Croissant document to the schema.org terms that search engines read. Replaces record
/// sets with columns. Replaces the files, of which a dataset may have a thousand, with a table
/// download, a single file, and a reference to the full document. Adds the states that the dataset
/// covers.
fn for_search_engines(mut document: Json, in_states: &BTreeSet<String>) -> Json {
    let Some(members) = document.as_object_mut() else {
        return document;
    };
    let columns: Vec<Json> = members["recordSet"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|set| set["field"].as_array().into_iter().flatten())
        .map(measured)
        .collect();
    let downloads = downloads(&members["distribution"], !columns.is_empty());
    let at = members["includedInDataCatalog"]["url"]
        .as_str()
        .unwrap_or_default()
        .trim_end_matches("/v1/catalog.json");
    let whole = format!(
        "{at}/v1/datasets/{}/croissant.json",
        members["identifier"].as_str().unwrap_or_default()
    );
    let vocabulary = members["@context"]["@vocab"].clone();
    members.retain(|name, _| {
        ![
            "@context",
            "conformsTo",
            "recordSet",
            "distribution",
            "citeAs",
        ]
        .contains(&name.as_str())
    });
    if members["creator"]
        .as_array()
        .is_some_and(|creators| creators.len() > 1)
    {
        // Search engines read the creators; these fields repeat the names and add as many URLs.
        members.retain(|name, _| !["creditText", "isBasedOn"].contains(&name.as_str()));
    }
    members.insert("@context".to_owned(), vocabulary);
    members.insert("variableMeasured".to_owned(), Json::Array(columns));
    members.insert("distribution".to_owned(), Json::Array(downloads));
    if !in_states.is_empty() {
        let place = |state| json!({"@type": "Place", "address": {"@type": "PostalAddress", "addressCountry": "US", "addressRegion": state}});
        members.insert(
            "spatialCoverage".to_owned(),
            in_states.iter().map(place).collect(),
        );
    }
    members.insert("subjectOf".to_owned(), json!({"@type": "CreativeWork", "name": "Croissant 1.1", "url": whole, "encodingFormat": "application/ld+json"}));
    without_prefix(&mut document);
    document
}

/// Returns downloads with a single URL: the CSV table if the dataset's columns are known, and the
/// part if the dataset has only one part.
fn downloads(files: &Json, is_table: bool) -> Vec<Json> {
    let download = |address: &str, kind: &str| json!({"@type": "DataDownload", "contentUrl": address, "encodingFormat": kind});
    let mut addresses = files
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|file| file["contentUrl"].as_str());
    let Some(first) = addresses.next() else {
        return Vec::new();
    };
    let table = first
        .split('?')
        .next()
        .filter(|_| is_table)
        .map(|address| download(&format!("{address}?format=csv"), CSV));
    let part = addresses.next().is_none().then(|| download(first, PARQUET));
    table.into_iter().chain(part).collect()
}

/// Returns a column as a schema.org property.
fn measured(field: &Json) -> Json {
    json!({"@type": "PropertyValue", "name": field["name"], "description": field["description"]})
}

/// Removes the prefix from types, because schema.org is the default vocabulary.
fn without_prefix(value: &mut Json) {
    match value {
        Json::Object(members) => {
            if let Some(Json::String(kind)) = members.get_mut("@type") {
                *kind = kind.trim_start_matches("sc:").to_owned();
            }
            members.values_mut().for_each(without_prefix);
        }
        Json::Array(items) => items.iter_mut().for_each(without_prefix),
        _ => {}
    }
}

/// Escapes JSON for a script element, so that no text in it can end the script or start another.
fn as_data(value: &Json) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// Returns the states named by a dataset's partitions.
fn states_of(coverage: &Json) -> BTreeSet<String> {
    let partitions = coverage["partitions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|partition| &partition["partition"]);
    let named = partitions.filter_map(|partition| {
        let of_jurisdiction = || {
            partition["jurisdiction"]
                .as_str()?
                .split('-')
                .nth(1)
                .map(str::to_uppercase)
        };
        partition["state"]
            .as_str()
            .map(str::to_owned)
            .or_else(of_jurisdiction)
    });
    named.collect()
}

async fn releases(visit: &Visit<'_>) -> Result<Made> {
    let answer = visit
        .ask(target(
            "/v1/releases",
            &[("cursor", visit.parameter("cursor"))],
        ))
        .await?;
    Ok(Made::Page(
        "releases.html",
        context! { releases => answer["data"]["releases"], page => answer["meta"]["page"], is_first => visit.parameter("cursor").is_none() },
    ))
}

/// Renders a release by its id, or the changes between two releases given as `A..B`.
async fn release(visit: &Visit<'_>) -> Result<Made> {
    let selector = visit.value("release_id");
    let (since, id) = match selector.split_once("..") {
        Some((since, id)) => (Some(since), id),
        None => (None, selector),
    };
    let release = visit.ask(format!("/v1/releases/{}", segment(id))).await?;
    let changes = visit
        .ask_optional(target(
            &format!("/v1/releases/{}/changes", segment(id)),
            &[("since", since)],
        ))
        .await?;
    let changed: Vec<Value> = changes["data"]["datasets"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|dataset| Value::from(Serde(dataset)))
        .collect();
    Ok(Made::Page(
        "release.html",
        context! { release => release["data"], changes => changes["data"], changed, id },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_engine_document_has_columns_and_downloads() {
        let croissant = json!({
            "@context": {"@vocab": "https://schema.org/"}, "@type": "sc:Dataset", "conformsTo": "x", "citeAs": "y", "name": "A", "identifier": "test.thing",
            "creator": [{"@type": "sc:Organization", "name": "B"}],
            "distribution": [{"@type": "cr:FileObject", "contentUrl": "https://data.example.org/v1/releases/r1/datasets/test.thing?format=parquet&part=ab"}],
            "includedInDataCatalog": {"@type": "sc:DataCatalog", "url": "https://data.example.org/v1/catalog.json"},
            "recordSet": [{"field": [{"@type": "cr:Field", "name": "zcta", "description": "ZCTA.", "dataType": "sc:Text"}]}]
        });
        let download = |query: &str, kind: &str| {
            let address =
                format!("https://data.example.org/v1/releases/r1/datasets/test.thing?{query}");
            json!({"@type": "DataDownload", "contentUrl": address, "encodingFormat": kind})
        };
        let expected = json!({
            "@context": "https://schema.org/", "@type": "Dataset", "name": "A", "identifier": "test.thing", "creator": [{"@type": "Organization", "name": "B"}],
            "includedInDataCatalog": {"@type": "DataCatalog", "url": "https://data.example.org/v1/catalog.json"},
            "variableMeasured": [{"@type": "PropertyValue", "name": "zcta", "description": "ZCTA."}],
            "distribution": [download("format=csv", "text/csv"), download("format=parquet&part=ab", "application/vnd.apache.parquet")],
            "spatialCoverage": [{"@type": "Place", "address": {"@type": "PostalAddress", "addressCountry": "US", "addressRegion": "ZZ"}}],
            "subjectOf": {
                "@type": "CreativeWork", "name": "Croissant 1.1", "url": "https://data.example.org/v1/datasets/test.thing/croissant.json",
                "encodingFormat": "application/ld+json"
            }
        });
        assert_eq!(
            for_search_engines(croissant, &BTreeSet::from(["ZZ".to_owned()])),
            expected
        );
    }

    #[test]
    fn several_parts_have_a_table_download_only() {
        let parts = json!([{"contentUrl": "https://example.org/a?part=1"}, {"contentUrl": "https://example.org/a?part=2"}, {"@type": "cr:FileSet"}]);
        let table = json!({"@type": "DataDownload", "contentUrl": "https://example.org/a?format=csv", "encodingFormat": "text/csv"});
        assert_eq!(downloads(&parts, true), [table]);
        assert_eq!(
            (downloads(&parts, false), downloads(&json!([]), true)),
            (vec![], vec![])
        );
    }

    #[test]
    fn embedded_data_cannot_end_its_script() {
        let strange = json!({"name": "</script><script>alert(1)</script><!-- & \u{2028}"});
        let written = as_data(&strange);
        assert!(!written.contains(['<', '>', '&']), "{written}");
        assert_eq!(serde_json::from_str::<Json>(&written).unwrap(), strange);
    }
}
