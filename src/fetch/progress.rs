//! How a fetch tells whoever watches what has come. Several fetches may tell the same one at once.

/// Told how a fetch goes on. Called from several fetches at once when one value is shared.
pub trait FetchProgress: Send + Sync {
    /// A transfer starts; again when it is tried again. `url` holds no secret.
    fn started(&self, url: &str, total_bytes: Option<u64>);

    /// So many bytes more are there; a resumed transfer first reports those of before.
    fn advanced(&self, bytes: u64);

    /// The fetch ended, well or not.
    fn finished(&self);
}

/// Tells nobody.
#[derive(Debug, Clone, Copy)]
pub struct NoProgress;

impl FetchProgress for NoProgress {
    fn started(&self, _url: &str, _total_bytes: Option<u64>) {}

    fn advanced(&self, _bytes: u64) {}

    fn finished(&self) {}
}
