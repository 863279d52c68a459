//! Defines the result of examining a URL: the verdict, the file's header, and how much of the file
//! can be tried.

use super::report::{Header, Verdict};

/// Result of examining a URL.
#[derive(Debug, Clone, Default)]
pub(super) struct Examined {
    pub(super) verdict: Option<Verdict>,
    pub(super) status: Option<u16>,
    pub(super) problem: Option<String>,
    /// Hints for the operator.
    pub(super) hints: Vec<String>,
    /// The file that a run would use instead of the publisher's file.
    pub(super) in_use: Option<String>,
    /// The target of the server's redirect.
    pub(super) location: Option<String>,
    /// The date that a run would assign to the publisher's file, if the file exists.
    pub(super) dated: Option<String>,
    pub(super) header: Header,
    /// Our names of the missing mapped columns.
    pub(super) missing: Vec<String>,
    /// The file's columns.
    pub(super) columns: Vec<String>,
    /// Set if the file, or its first records, are on the mirror of samples. Contains the archive
    /// member with the records, if any.
    pub(super) sample: Option<Option<String>>,
    pub(super) is_whole: bool,
    /// Number of records in the sample, if they were counted.
    pub(super) records: u64,
    /// True if a run would reject the response: a web page, an empty file, or too many bytes.
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
