//! Replaces `sftp.rs` in builds without the `sftp` feature. Rejects every `sftp://` URL.

use jiff::Timestamp;

use super::http::{Answer, Target};
use super::piece::{Head, Piece};
use super::retry::Failure;
use super::{FetchProgress, FetchSettings};
use pubdata_core::error::Error;
use pubdata_store::{FileStamp, Partial, PartialOrigin};

pub(super) struct Sftp;

impl Sftp {
    pub(super) fn new(_settings: FetchSettings) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the interface of `sftp.rs`")]
    pub(super) fn missing_variable(&self, _source_id: &str) -> Option<&str> {
        None
    }

    #[expect(clippy::unused_async, reason = "the interface of `sftp.rs`")]
    pub(super) async fn attempt<'a>(
        &self,
        _source_id: &str,
        target: &Target<'a>,
        _partial: &mut Partial,
        _progress: &dyn FetchProgress,
    ) -> Result<Answer<'a>, Failure> {
        Err(refusal(target).into())
    }

    #[expect(clippy::unused_async, reason = "the interface of `sftp.rs`")]
    pub(super) async fn piece(
        &self,
        _source_id: &str,
        target: &Target<'_>,
        _piece: Piece,
    ) -> Result<Head, Failure> {
        Err(refusal(target).into())
    }
}

fn refusal(target: &Target<'_>) -> Error {
    Error::config(format!(
        "{}: this program was built without SFTP",
        target.origin
    ))
    .hint("build it with the feature `sftp`, or give the file to it with `pubdata import`")
}

pub(super) fn stamp(_of: &PartialOrigin, _now: Timestamp) -> Option<FileStamp> {
    None
}
