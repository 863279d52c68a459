//! What one search finds: results of all kinds in one form, in one order.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::http::meta::Notice;
use crate::json::Json;
use crate::search::rank::{BEST, MatchOfName};

/// What of an id is written as it is in a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// The most results of one kind of name.
pub const FEW: usize = 5;

/// A result.
#[derive(Debug, Clone)]
pub struct Hit {
    pub kind: &'static str,
    pub title: String,
    pub subtitle: String,
    pub id: String,
    /// The path of the API that answers about it.
    pub path: String,
    /// The page about it.
    pub page: String,
    /// Ten-thousandths.
    pub score: i32,
    pub label: &'static str,
    pub record_id: Option<String>,
}

impl Hit {
    pub fn write(&self, json: &mut Json) {
        json.object(|json| {
            json.key("kind").text(self.kind);
            json.key("title").text(&self.title);
            json.key("subtitle").text(&self.subtitle);
            json.key("id").text(&self.id);
            json.key("path").text(&self.path);
            json.key("page").text(&self.page);
            json.key("match").value(&MatchOfName::of(self.score, self.label));
            json.key("record_id").optional_text(self.record_id.as_deref());
        });
    }
}

/// All that was found.
#[derive(Debug, Default)]
pub struct Found {
    /// As what the text can be read: kind and value.
    pub interpretations: Vec<(&'static str, String)>,
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
        if !self.interpretations.iter().any(|(known, text)| *known == kind && text == value) {
            self.interpretations.push((kind, value.to_owned()));
        }
    }

    /// Adds a result, unless the same thing was found before.
    pub fn add(&mut self, hit: Hit) {
        if !self.hits.iter().any(|known| known.kind == hit.kind && known.id == hit.id) {
            self.hits.push(hit);
        }
    }

    /// Whether a dataset is there, which is noted either way.
    pub fn searches<'t, T>(&mut self, dataset_id: &'static str, table: Option<&'t T>) -> Option<&'t T> {
        if table.is_some() {
            self.datasets.push(dataset_id);
        } else {
            self.missing.push(dataset_id);
        }
        table
    }

    /// Puts what fits best first; of equal ones identifiers before names, then as they were found.
    pub fn put_in_order(&mut self, limit: usize) {
        self.hits.sort_by_key(|hit| -hit.score);
        self.hits.truncate(limit);
    }
}

/// An exact fit.
pub const EXACT: i32 = BEST;

/// A path with an id at its end.
pub fn path(prefix: &str, id: &str) -> String {
    format!("{prefix}{}", utf8_percent_encode(id, SEGMENT))
}

/// Texts in one line, those that are there.
pub fn joined<'t>(parts: impl IntoIterator<Item = Option<&'t str>>) -> String {
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}
