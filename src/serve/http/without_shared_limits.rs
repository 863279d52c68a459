//! Replaces `shared_limits.rs` in a build without the feature `redis`, and rejects `--limits`.

use pubdata_core::error::{Error, Result};

use crate::http::allowance::Allowance;
use crate::http::auth::Client;
use crate::settings::WhenUnavailable;

/// Uninhabited, because shared limits are not available.
pub enum SharedLimits {}

impl SharedLimits {
    /// Rejects every address with a `Config` error.
    pub fn new(_url: &str, _when_away: WhenUnavailable) -> Result<Self> {
        Err(
            Error::config("--limits: this program was built without shared rate limits")
                .hint("build it with the feature `redis`"),
        )
    }

    #[expect(clippy::unused_async, reason = "the interface of `shared_limits.rs`")]
    pub async fn take(&self, _client: &Client, _count: u64, _cost: f64) -> Option<Allowance> {
        match *self {}
    }
}
