//! Searches records, releases and datasets by id, and datasets by words in their titles.

use super::hit::{EXACT, FEW, Found, Hit, Matched, joined, path};
use super::query::SearchQuery;
use crate::http::endpoint::Call;
use crate::http::problem::Result;
use crate::http::scope;
use pubdata_core::canonical::name::{comparable, words};
use pubdata_core::ids::{RecordId, ReleaseId};

/// Score of a dataset whose title contains all words.
const TITLE_SCORE: i32 = 8_000;

/// Finds records, datasets and releases.
pub async fn find(call: &Call<'_>, query: &SearchQuery<'_>, found: &mut Found) -> Result<()> {
    if let Ok(release_id) = query.text.parse::<ReleaseId>() {
        found.read_as("release", release_id.as_str());
        add_release(call, found, &release_id).await;
    }
    if let Ok(record_id) = query.text.parse::<RecordId>()
        && call
            .release
            .manifest
            .datasets
            .contains_key(record_id.dataset_id())
    {
        found.read_as("record", record_id.as_str());
        if scope::check_record(call, &record_id).is_ok() {
            add_record(call, found, &record_id).await?;
        }
    }
    add_datasets(call, query, found);
    Ok(())
}

async fn add_release(call: &Call<'_>, found: &mut Found, release_id: &ReleaseId) {
    // A release that was deleted or never existed has no manifest.
    let Ok(manifest) = call.service.catalog.releases().manifest(release_id).await else {
        return;
    };
    let subtitle = joined([
        Some("release"),
        Some(manifest.published_at.as_str()),
        Some(format!("{} datasets", manifest.datasets.len()).as_str()),
    ]);
    let id = release_id.as_str();
    found.add(Hit {
        kind: "release",
        title: id.to_owned(),
        subtitle,
        id: id.to_owned(),
        path: path("/v1/releases/", id),
        page: path("/releases/", id),
        matched: Matched::new(EXACT, "exact"),
        record_id: None,
    });
}

async fn add_record(call: &Call<'_>, found: &mut Found, record_id: &RecordId) -> Result<()> {
    let located = call.reader().find(call.contracts(), record_id).await?;
    if located.is_none() {
        return Ok(());
    }
    let id = record_id.as_str();
    found.add(Hit {
        kind: "record",
        title: id.to_owned(),
        subtitle: joined([
            Some("record"),
            call.contracts()
                .get(record_id.dataset_id())
                .map(|contract| contract.title.as_str()),
        ]),
        id: id.to_owned(),
        path: path("/v1/provenance/", id),
        page: path("/records/", id),
        matched: Matched::new(EXACT, "exact"),
        record_id: Some(id.to_owned()),
    });
    Ok(())
}

fn add_datasets(call: &Call<'_>, query: &SearchQuery<'_>, found: &mut Found) {
    let query_words = words(query.text);
    let (mut exact, mut titled) = (Vec::new(), Vec::new());
    for (dataset_id, dataset) in &call.release.manifest.datasets {
        let title = call
            .contracts()
            .get(dataset_id)
            .map_or(dataset_id.as_str(), |contract| contract.title.as_str());
        let is_id = dataset_id.eq_ignore_ascii_case(query.text);
        let is_title = comparable(title) == query.compared;
        let title_words = words(&format!("{title} {}", dataset_id.replace(['.', '_'], " ")));
        let is_titled = !query_words.is_empty()
            && query_words.iter().all(|word| {
                word.len() > 2
                    && title_words
                        .iter()
                        .any(|known| known.starts_with(word.as_str()))
            });
        if !is_id && !is_title && !is_titled {
            continue;
        }
        let rows: u64 = dataset.parts.iter().map(|part| part.rows).sum();
        let (score, label) = if is_id || is_title {
            (EXACT, "exact")
        } else {
            (TITLE_SCORE, "title")
        };
        let hit = Hit {
            kind: "dataset",
            title: title.to_owned(),
            subtitle: joined([
                Some("dataset"),
                Some(dataset_id.as_str()),
                Some(format!("{rows} rows").as_str()),
            ]),
            id: dataset_id.clone(),
            path: path("/v1/datasets/", dataset_id),
            page: path("/datasets/", dataset_id),
            matched: Matched::new(score, label),
            record_id: None,
        };
        if score == EXACT {
            exact.push(hit);
        } else {
            titled.push(hit);
        }
    }
    if !exact.is_empty() {
        found.read_as("dataset", query.text);
    }
    exact
        .into_iter()
        .chain(titled)
        .take(FEW)
        .for_each(|hit| found.add(hit));
}
