//! Defines a file to fetch and the result of fetching it.

use crate::reporting::plan::FetchedSource;
use pubdata_core::pipeline::{DatedBy, Format, Pages};
use pubdata_core::provenance::Snapshot;
use pubdata_fetch::Request;

/// Outcome of fetching a file whose bytes were not known before.
pub(crate) const NEW: &str = "new";
/// Outcome of fetching a file whose bytes were already known.
pub(crate) const UNCHANGED: &str = "unchanged";
/// Outcome for a file that was not fetched because its publisher's document states no change.
pub(crate) const REUSED: &str = "reused";

/// Result of fetching a file.
#[derive(Debug, Clone)]
pub(crate) enum Fetched {
    /// One snapshot, or one snapshot per page.
    Snapshots(Vec<Snapshot>),
    Absent,
    NotConfigured(String),
    Failed(String),
}

/// A file to fetch, or the first page of a list.
#[derive(Debug, Clone)]
pub(crate) struct FetchTarget {
    pub(crate) request: Request,
    pub(super) paging: Option<Paging>,
    /// Document that states when the file changed.
    pub(crate) dated_by: Option<DatedBy>,
    /// The date in that document, if it is in the future and therefore not used.
    pub(crate) future_date: Option<String>,
}

/// How to find the pages after the first.
#[derive(Debug, Clone)]
pub(super) struct Paging {
    pub(crate) pages: Pages,
    pub(crate) url: String,
    pub(crate) format: Format,
    /// Minimum total size of all pages.
    pub(crate) min_bytes: u64,
}

impl Fetched {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Snapshots(_) => UNCHANGED,
            Self::Absent => "absent",
            Self::NotConfigured(_) => "not configured",
            Self::Failed(_) => "failed",
        }
    }

    /// Reports this result for a URL.
    pub(crate) fn report(&self, url: &str, outcome: &'static str) -> FetchedSource {
        let (size_bytes, detail) = match self {
            Self::Snapshots(snapshots) => (
                Some(snapshots.iter().map(|snapshot| snapshot.size_bytes).sum()),
                None,
            ),
            Self::Absent => (None, None),
            Self::NotConfigured(variable) => (None, Some(format!("{variable} is not set"))),
            Self::Failed(message) => (None, Some(message.clone())),
        };
        FetchedSource {
            url: pubdata_fetch::recorded_url(url).unwrap_or_default(),
            outcome: outcome.into(),
            size_bytes,
            detail,
        }
    }
}
