//! Defines the access to the publishers' files that answers need. The server does not read these
//! files; the program that starts it provides an implementation.

use std::fmt::Debug;

use futures_util::future::BoxFuture;

use pubdata_core::error::Result;
use pubdata_store::FoundRecord;
use pubdata_store::evidence::{ReplayView, ShownBytes};

/// Reader of the files that records were made from. Its results may be shown to every client with
/// access to the record.
pub trait Tracer: Debug + Send + Sync {
    /// Returns the bytes of a record, one entry for each of its pointers. May block.
    fn bytes<'a>(&'a self, found: FoundRecord<'a>) -> BoxFuture<'a, Result<Vec<ShownBytes>>>;

    /// Reports whether a source's files may be shown as they are, because they contain no
    /// unpublished personal data.
    fn is_open(&self, source_id: &str) -> bool;

    /// Returns the result of building a record again from its bytes. May block.
    fn replay<'a>(&'a self, found: FoundRecord<'a>) -> BoxFuture<'a, Result<ReplayView>>;
}
