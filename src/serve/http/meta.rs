//! Defines the `meta` object of an answer: datasets, notices, coverage and paging.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use pubdata_store::Manifest;

/// Notice for answers from a release that was built from samples.
pub const SAMPLE_RELEASE: &str = "This release was built from samples: most records are missing, some may be invented, and counts are not national counts.";

/// Content of `meta` except the request id and the release.
#[derive(Debug, Default)]
pub struct Meta {
    /// Datasets that the answer is based on.
    pub datasets: Vec<Cow<'static, str>>,
    pub notices: Vec<Notice>,
    pub coverage: Option<Coverage>,
    pub page: Option<Page>,
    /// Earlier release that the answer comes from, if only its manifest was read.
    pub release: Option<Arc<Manifest>>,
    /// True if the answer reports something that this server cannot determine now. Such an answer
    /// is never cached, whatever its endpoint declares.
    pub is_uncacheable: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Notice {
    /// Stable code of the notice, such as `SAMPLE_RELEASE`.
    pub code: &'static str,
    /// Text of the notice; it may change.
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
    /// Description of the covered records, with their number.
    pub scope: String,
    /// States whose registries or boards were searched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states_searched: Vec<String>,
    /// Cities and counties with covered permits in which the requested locations may lie.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jurisdictions_searched: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Page {
    /// Largest number of items on a page.
    pub limit: usize,
    /// Number of items on this page.
    pub count: usize,
    /// Value to send as `cursor` for the next page; null on the last page.
    pub next_cursor: Option<String>,
    /// Number of items on all pages; exact or a lower bound, see `total_relation`.
    pub total: usize,
    /// `eq`: `total` is exact. `gte`: `total` is a lower bound.
    #[serde(rename = "total_relation", serialize_with = "relation")]
    #[schemars(with = "&str", extend("enum" = ["eq", "gte"]))]
    pub is_total_exact: bool,
    /// True if the last page may lack matching records.
    #[serde(skip)]
    pub is_cut: bool,
}

fn relation<S: Serializer>(is_total_exact: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if *is_total_exact { "eq" } else { "gte" })
}

impl Meta {
    /// Builds `meta` for an answer from the given datasets. `scope` describes their coverage.
    pub fn for_datasets(datasets: &[&'static str], scope: String) -> Self {
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
