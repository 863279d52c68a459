//! Lets the server replay records from the home's snapshots, using the same code as `pubdata
//! trace`.

use std::fmt::{self, Debug, Formatter};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use pubdata_core::error::Result;
use pubdata_run::{self as run, RunSettings};
use pubdata_serve::Tracer;
use pubdata_store::FoundRecord;
use pubdata_store::evidence::{ReplayView, ShownBytes};

/// Replays records from the snapshots of a home.
pub struct HomeTracer(pub RunSettings);

impl Debug for HomeTracer {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("HomeTracer")
            .field(&self.0.home)
            .finish()
    }
}

impl Tracer for HomeTracer {
    fn bytes<'a>(&'a self, found: FoundRecord<'a>) -> BoxFuture<'a, Result<Vec<ShownBytes>>> {
        async move { run::shown_bytes(&self.0, &found).await }.boxed()
    }

    fn is_open(&self, source_id: &str) -> bool {
        run::is_open(&self.0, source_id)
    }

    fn replay<'a>(&'a self, found: FoundRecord<'a>) -> BoxFuture<'a, Result<ReplayView>> {
        async move { run::public_replay(&self.0, &found).await }.boxed()
    }
}
