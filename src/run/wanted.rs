//! A file that a source wants, and what became of it.

use pubdata_core::pipeline::{DatedBy, Format, Pages};
use pubdata_core::provenance::Snapshot;
use pubdata_fetch::Request;

/// What became of a file.
#[derive(Debug, Clone)]
pub(super) enum Fetched {
    /// One snapshot, or one for each page.
    Snapshots(Vec<Snapshot>),
    Absent,
    NotConfigured(String),
    Failed(String),
}

/// A file to fetch, or the first page of a list.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) request: Request,
    pub(super) paging: Option<Paging>,
    /// What says when the file changed.
    pub(super) dated_by: Option<DatedBy>,
    /// The day that it says, where that lies in the future and does not count.
    pub(super) future_date: Option<String>,
}

/// How the pages after the first are found.
#[derive(Debug, Clone)]
pub(super) struct Paging {
    pub(super) pages: Pages,
    pub(super) url: String,
    pub(super) format: Format,
    /// What all pages together have at least.
    pub(super) min_bytes: u64,
}

impl Fetched {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Snapshots(_) => "unchanged",
            Self::Absent => "absent",
            Self::NotConfigured(_) => "not configured",
            Self::Failed(_) => "failed",
        }
    }
}
