//! What was seen at an address: whether the file is there, its header, and how much of it can be
//! tried.

use super::report::{Header, Verdict};

/// What an address has.
#[derive(Debug, Clone, Default)]
pub(super) struct Examined {
    pub(super) verdict: Option<Verdict>,
    pub(super) status: Option<u16>,
    pub(super) problem: Option<String>,
    /// What a person can do about it.
    pub(super) ways_out: Vec<String>,
    /// What a night would use in its place.
    pub(super) in_use: Option<String>,
    /// Where the server sends on to.
    pub(super) location: Option<String>,
    /// The date a night would give to the publisher's file, where there is one.
    pub(super) dated: Option<String>,
    pub(super) header: Header,
    /// Our names of the mapped columns that are missing.
    pub(super) missing: Vec<String>,
    /// The file's columns.
    pub(super) columns: Vec<String>,
    /// Whether the file's first records, or all of it, are on the mirror of samples, and the member
    /// they are in.
    pub(super) sample: Option<Option<String>>,
    pub(super) is_whole: bool,
    /// Records of the sample, where they were counted.
    pub(super) records: u64,
    /// Whether a night would not even take what came: a page, nothing, or too much.
    pub(super) is_refused_file: bool,
    pub(super) not_sampled: Option<String>,
}

impl Examined {
    pub(super) fn verdict(&self) -> Verdict {
        self.verdict.unwrap_or(Verdict::Ok)
    }

    pub(super) fn with(verdict: Verdict, status: Option<u16>, problem: impl Into<String>) -> Self {
        Self {
            verdict: Some(verdict),
            status,
            problem: Some(problem.into()),
            ..Self::default()
        }
    }
}
