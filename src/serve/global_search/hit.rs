//! Collects the results of a global search: all kinds of result in one format and one order.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Decimal;
use crate::http::meta::Notice;
use crate::search::rank::BEST;

/// Characters of an id that are escaped in a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':');

/// Maximum number of results for one kind of name.
pub const FEW: usize = 5;

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "FoundResult")]
pub struct Hit {
    /// Kind of record or page.
    #[schemars(extend("enum" = [
        "record", "release", "dataset", "zip", "zcta", "metric", "county", "state", "company", "filing", "business", "license", "property", "permit", "jurisdiction"
    ]))]
    pub kind: &'static str,
    /// Name or title of the result.
    pub title: String,
    /// Further details in one line, such as place, number or status.
    pub subtitle: String,
    /// Identifier of the result in the API.
    pub id: String,
    /// Path of the API endpoint for the result.
    pub path: String,
    /// Path of the HTML page for the result.
    pub page: String,
    /// How the result matches the text.
    #[serde(rename = "match")]
    pub matched: Matched,
    /// Id of the result's record, for `/v1/provenance/{record_id}`; null if the result is not a
    /// single record.
    pub record_id: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "FoundResultMatch")]
pub struct Matched {
    /// How well the result matches, from 0 to 1; 1 is best.
    #[schemars(range(min = 0, max = 1))]
    score: Decimal,
    /// Kind of match: the kind of identifier, or how a name matches.
    #[serde(rename = "type")]
    label: &'static str,
}

impl Matched {
    /// Creates a match; the score is in ten-thousandths.
    pub fn new(score: i32, label: &'static str) -> Self {
        Self {
            score: Decimal {
                units: i128::from(score),
                scale: 4,
            },
            label,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FoundInterpretation")]
pub struct Interpretation {
    /// Kind of identifier or name as which the text was interpreted, such as `zip`, `cik`, `ticker`
    /// or `address`.
    kind: &'static str,
    /// The text in the canonical format of that kind.
    value: String,
}

/// Results of a global search.
#[derive(Debug, Default)]
pub struct Found {
    pub interpretations: Vec<Interpretation>,
    pub hits: Vec<Hit>,
    /// Datasets that were searched.
    pub datasets: Vec<&'static str>,
    /// Datasets that the release lacks.
    pub missing: Vec<&'static str>,
    pub notices: Vec<Notice>,
}

impl Found {
    /// Records an interpretation of the text, even if it leads to no result.
    pub fn read_as(&mut self, kind: &'static str, value: &str) {
        if !self
            .interpretations
            .iter()
            .any(|known| known.kind == kind && known.value == value)
        {
            self.interpretations.push(Interpretation {
                kind,
                value: value.to_owned(),
            });
        }
    }

    /// Adds a result, unless it was found before.
    pub fn add(&mut self, hit: Hit) {
        if !self
            .hits
            .iter()
            .any(|known| known.kind == hit.kind && known.id == hit.id)
        {
            self.hits.push(hit);
        }
    }

    /// Records whether the release has a dataset, and returns its table.
    pub fn searches<'t, T>(
        &mut self,
        dataset_id: &'static str,
        table: Option<&'t T>,
    ) -> Option<&'t T> {
        if table.is_some() {
            self.datasets.push(dataset_id);
        } else {
            self.missing.push(dataset_id);
        }
        table
    }

    /// Sorts results by score. The sort is stable, so identifiers stay before names with the same
    /// score.
    pub fn sort_and_truncate(&mut self, limit: usize) {
        self.hits.sort_by_key(|hit| -hit.matched.score.units);
        self.hits.truncate(limit);
    }
}

/// Score of an exact match.
pub const EXACT: i32 = BEST;

/// Returns a path that ends with an escaped id.
pub fn path(prefix: &str, id: &str) -> String {
    format!("{prefix}{}", utf8_percent_encode(id, SEGMENT))
}

/// Returns a count with its noun: `1 permit`, `20 permits`.
pub fn counted(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Joins the texts that are present into one line.
pub fn joined<'t>(parts: impl IntoIterator<Item = Option<&'t str>>) -> String {
    parts
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" · ")
}
