//! What the `meta` of an answer says: datasets, notices, coverage, and where a list stands.

use std::borrow::Cow;
use std::sync::Arc;

use crate::json::Json;
use pubdata_store::Manifest;

/// What to know of a release of samples.
pub const SAMPLE_RELEASE: &str =
    "This release was built from samples of the publishers' files: most records are missing, and counts are not those of the nation.";

/// What the `meta` of an answer says beyond request id and release.
#[derive(Debug, Default)]
pub struct Meta {
    /// Datasets the answer was made from.
    pub datasets: Vec<Cow<'static, str>>,
    pub notices: Vec<Notice>,
    pub coverage: Option<Coverage>,
    pub page: Option<Page>,
    /// The release that the answer is from, where it is an earlier one of which nothing but the manifest was read.
    pub release: Option<Arc<Manifest>>,
    /// Whether the answer says what this server cannot tell now: it is not kept, whatever its endpoint declares.
    pub is_momentary: bool,
}

/// Something a reader should know about an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub code: &'static str,
    pub message: Cow<'static, str>,
}

impl Notice {
    pub fn write(&self, json: &mut Json) {
        json.object(|json| {
            json.key("code").text(self.code);
            json.key("message").text(&self.message);
        });
    }
}

/// What an answer of this kind covers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Kind of area, for answers about areas.
    pub geography_type: Option<&'static str>,
    pub scope: String,
    /// States whose registries or boards were searched, for answers from them.
    pub states_searched: Vec<String>,
    /// Cities and counties whose permits were searched, for answers about permits.
    pub jurisdictions_searched: Vec<String>,
}

/// Where a list stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub limit: usize,
    pub count: usize,
    pub next_cursor: Option<String>,
    pub total: usize,
    /// Whether there are just so many, or at least so many.
    pub is_total_exact: bool,
    /// Whether the last page may lack some that fit.
    pub is_cut: bool,
}

impl Meta {
    /// What is said of an answer from datasets that cover what `scope` says.
    pub fn of(datasets: &[&'static str], scope: String) -> Self {
        Self {
            datasets: datasets.iter().map(|dataset_id| Cow::Borrowed(*dataset_id)).collect(),
            coverage: Some(Coverage { scope, ..Coverage::default() }),
            ..Self::default()
        }
    }

    /// Adds a notice.
    pub fn notice(&mut self, code: &'static str, message: impl Into<Cow<'static, str>>) {
        self.notices.push(Notice { code, message: message.into() });
    }
}
