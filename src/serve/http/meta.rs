//! What the `meta` of an answer says: datasets, notices, coverage, and where a list stands.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use pubdata_store::Manifest;

/// What to know of a release of samples.
pub const SAMPLE_RELEASE: &str = "This release was built from samples: most records are missing, some may be invented, and counts are not national counts.";

/// What the `meta` of an answer says beyond request id and release.
#[derive(Debug, Default)]
pub struct Meta {
    /// Datasets the answer was made from.
    pub datasets: Vec<Cow<'static, str>>,
    pub notices: Vec<Notice>,
    pub coverage: Option<Coverage>,
    pub page: Option<Page>,
    /// The release that the answer is from, where it is an earlier one of which nothing but the
    /// manifest was read.
    pub release: Option<Arc<Manifest>>,
    /// Whether the answer says what this server cannot tell now: it is not kept, whatever its
    /// endpoint declares.
    pub is_momentary: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Notice {
    /// Stable code of the notice, such as `SAMPLE_RELEASE`.
    pub code: &'static str,
    /// The notice in words; the text may change.
    pub message: Cow<'static, str>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "MetaCoverage")]
pub struct Coverage {
    /// Kind of area that the answer is about: `zcta` or `county`; absent from answers that are not
    /// about areas.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "&str")]
    pub geography_type: Option<&'static str>,
    /// The covered records in words, with their number.
    pub scope: String,
    /// States whose registries or boards were searched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states_searched: Vec<String>,
    /// Cities and counties that the places of the request may lie in and whose permits are covered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jurisdictions_searched: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Page {
    /// Largest number of items on a page.
    pub limit: usize,
    /// Number of items on this page.
    pub count: usize,
    /// Send it as `cursor` for the next page; null on the last.
    pub next_cursor: Option<String>,
    /// Number of items on all pages; the exact number or a lower bound, as `total_relation` says.
    pub total: usize,
    /// `eq`: `total` is the exact number. `gte`: there are at least that many.
    #[serde(rename = "total_relation", serialize_with = "relation")]
    #[schemars(with = "&str", extend("enum" = ["eq", "gte"]))]
    pub is_total_exact: bool,
    /// Whether the last page may lack some that fit.
    #[serde(skip)]
    pub is_cut: bool,
}

fn relation<S: Serializer>(is_total_exact: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if *is_total_exact { "eq" } else { "gte" })
}

impl Meta {
    /// What is said of an answer from datasets that cover what `scope` says.
    pub fn of(datasets: &[&'static str], scope: String) -> Self {
        Self {
            datasets: datasets
                .iter()
                .map(|dataset_id| Cow::Borrowed(*dataset_id))
                .collect(),
            coverage: Some(Coverage {
                scope,
                ..Coverage::default()
            }),
            ..Self::default()
        }
    }

    /// Adds a notice.
    pub fn notice(&mut self, code: &'static str, message: impl Into<Cow<'static, str>>) {
        self.notices.push(Notice {
            code,
            message: message.into(),
        });
    }
}
