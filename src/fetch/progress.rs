//! Reports the progress of fetches. Several fetches may report to one observer concurrently.

/// Observer of fetches. Fetches that share an observer call it concurrently.
pub trait FetchProgress: Send + Sync {
    /// Called when a transfer starts, and again for each new attempt. `url` contains no secrets.
    fn started(&self, url: &str, total_bytes: Option<u64>);

    /// Called when more bytes have arrived. A resumed transfer first reports the bytes received
    /// earlier.
    fn advanced(&self, bytes: u64);

    /// Called when the fetch has ended, whether or not it succeeded.
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
