//! Indexes of a release that are made when they are first asked for.

use std::sync::Arc;

use tokio::sync::OnceCell;

use pubdata_core::error::{Error, Result};

/// What is made once; all who ask at the same time wait for one making.
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
    /// Returns it; the first who asks waits until it is made. It is made to the end even when that
    /// request is given up.
    ///
    /// # Errors
    /// Those of making it; the next request tries again.
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
            .map_err(|error| Error::store(format!("making an index failed: {error}")))?
    }
}
