//! What an answer needs of the publishers' files, which the server itself does not read: whoever
//! starts it gives what does.

use std::fmt::Debug;

use futures_util::future::BoxFuture;

use pubdata_core::error::Result;
use pubdata_store::FoundRecord;
use pubdata_store::evidence::{ShownBytes, ToldReplay};

/// Looks at the files that records were made from. What it tells may be told to anyone who may see
/// the record.
pub trait Tracer: Debug + Send + Sync {
    /// The bytes of a record, one for each of its pointers. May block.
    fn bytes<'a>(&'a self, found: FoundRecord<'a>) -> BoxFuture<'a, Result<Vec<ShownBytes>>>;

    /// Whether a source's files may be shown as they are, and do not tell of persons what is not
    /// published.
    fn is_open(&self, source_id: &str) -> bool;

    /// What comes of making a record again from its bytes. May block.
    fn replay<'a>(&'a self, found: FoundRecord<'a>) -> BoxFuture<'a, Result<ToldReplay>>;
}
