//! Builds a release's indexes on first use.

use std::sync::Arc;

use tokio::sync::OnceCell;

use pubdata_core::error::{Error, Result};

/// A value that is built once; concurrent callers wait for the same build.
#[derive(Debug)]
pub struct Lazy<T>(Arc<OnceCell<Arc<T>>>);

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for Lazy<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Send + Sync + 'static> Lazy<T> {
    /// Returns the value, and builds it if necessary. The build completes even if the request that
    /// started it is cancelled. If the build fails, the next request tries again.
    pub async fn get<F: Future<Output = Result<Arc<T>>> + Send + 'static>(
        &self,
        make: impl FnOnce() -> F,
    ) -> Result<Arc<T>> {
        if let Some(made) = self.0.get() {
            return Ok(made.clone());
        }
        let (cell, made) = (self.0.clone(), make());
        let making = tokio::spawn(async move { cell.get_or_try_init(|| made).await.cloned() });
        making
            .await
            .map_err(|error| Error::store(format!("building an index failed: {error}")))?
    }
}
