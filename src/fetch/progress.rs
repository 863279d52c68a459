//! Reports the progress of fetches. Several fetches may report to one observer at once.

/// Observer of fetches. Several fetches call it concurrently if they share one value.
pub trait FetchProgress: Send + Sync {
    /// A transfer starts; called again for each attempt. `url` contains no secret.
    fn started(&self, url: &str, total_bytes: Option<u64>);

    /// This many bytes more have arrived; a resumed transfer first reports those from before.
    fn advanced(&self, bytes: u64);

    /// The fetch ended, with or without success.
    fn finished(&self);
}

/// Ignores all progress.
#[derive(Debug, Clone, Copy)]
pub struct NoProgress;

impl FetchProgress for NoProgress {
    fn started(&self, _url: &str, _total_bytes: Option<u64>) {}

    fn advanced(&self, _bytes: u64) {}

    fn finished(&self) {}
}
