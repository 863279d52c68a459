//! What one search finds: results of all kinds in one form, in one order.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Decimal;
use crate::http::meta::Notice;
use crate::search::rank::BEST;

/// What of an id is written as it is in a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':');

/// The most results of one kind of name.
pub const FEW: usize = 5;

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "FoundResult")]
pub struct Hit {
    /// What was found: the kind of record or page.
    #[schemars(extend("enum" = [
        "record", "release", "dataset", "zip", "zcta", "metric", "county", "state", "company", "filing", "business", "license", "property", "permit", "jurisdiction"
    ]))]
    pub kind: &'static str,
    /// Name or title of the result.
    pub title: String,
    /// Further details in one line, such as place, number or status.
    pub subtitle: String,
    /// The identifier by which the API knows it.
    pub id: String,
    /// The path of this API that answers about it.
    pub path: String,
    /// The path of the page about it.
    pub page: String,
    /// How the result fits the text.
    #[serde(rename = "match")]
    pub matched: Matched,
    /// Record behind the result, for `/v1/provenance/{record_id}`; null if it is not a single
    /// record.
    pub record_id: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "FoundResultMatch")]
pub struct Matched {
    /// How well the result fits, from 0 to 1; 1 is best.
    #[schemars(range(min = 0, max = 1))]
    score: Decimal,
    /// What fits: an identifier's kind, or how a name fits.
    #[serde(rename = "type")]
    label: &'static str,
}

impl Matched {
    /// The score is in ten-thousandths.
    pub fn of(score: i32, label: &'static str) -> Self {
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
    /// Kind of identifier or name that the text was read as, such as `zip`, `cik`, `ticker` or
    /// `address`.
    kind: &'static str,
    /// The text as that kind is written.
    value: String,
}

/// All that was found.
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
    /// Notes that the text can be something, whether or not there is one.
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

    /// Adds a result, unless the same thing was found before.
    pub fn add(&mut self, hit: Hit) {
        if !self
            .hits
            .iter()
            .any(|known| known.kind == hit.kind && known.id == hit.id)
        {
            self.hits.push(hit);
        }
    }

    /// Whether a dataset is there, which is noted either way.
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

    /// Puts what fits best first; of equal ones identifiers before names, then as they were found.
    pub fn put_in_order(&mut self, limit: usize) {
        self.hits.sort_by_key(|hit| -hit.matched.score.units);
        self.hits.truncate(limit);
    }
}

/// An exact fit.
pub const EXACT: i32 = BEST;

/// A path with an id at its end.
pub fn path(prefix: &str, id: &str) -> String {
    format!("{prefix}{}", utf8_percent_encode(id, SEGMENT))
}

/// A number of things, with the word for one of them: `1 permit`, `20 permits`.
pub fn counted(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Texts in one line, those that are there.
pub fn joined<'t>(parts: impl IntoIterator<Item = Option<&'t str>>) -> String {
    parts
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" · ")
}
