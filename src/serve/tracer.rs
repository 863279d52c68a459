//! Defines how answers access the publishers' files. The server does not read these files itself;
//! the program that starts the server provides an implementation.

use std::fmt::Debug;

use futures_util::future::BoxFuture;

use pubdata_core::error::Result;
use pubdata_store::FoundRecord;
use pubdata_store::evidence::{ReplayView, ShownBytes};

/// Reader of the files from which records were built. Its results may be shown to every client with
/// access to the record.
pub trait Tracer: Debug + Send + Sync {
    /// Returns the bytes of a record, one entry for each of the record's pointers. May block.
    fn bytes<'a>(&'a self, found: FoundRecord<'a>) -> BoxFuture<'a, Result<Vec<ShownBytes>>>;

    /// Reports whether a source's files may be shown unchanged, because they contain no unpublished
    /// personal data.
    fn is_open(&self, source_id: &str) -> bool;

    /// Returns the result of building a record again from its bytes. May block.
    fn replay<'a>(&'a self, found: FoundRecord<'a>) -> BoxFuture<'a, Result<ReplayView>>;
}
