//! Stands in for `shared_limits.rs` in a program that is built without the feature `redis`:
//! `--limits` is refused.

use pubdata_core::error::{Error, Result};

use crate::http::allowance::Allowance;
use crate::http::auth::Client;
use crate::settings::WhenAway;

/// Cannot be made.
pub enum SharedLimits {}

impl SharedLimits {
    /// Refuses every address.
    ///
    /// # Errors
    /// `Config`, always.
    pub fn new(_url: &str, _when_away: WhenAway) -> Result<Self> {
        Err(
            Error::config("--limits: this program was built without limits that servers share")
                .hint("build it with the feature `redis`"),
        )
    }

    #[expect(clippy::unused_async, reason = "the interface of `shared_limits.rs`")]
    pub async fn take(&self, _client: &Client, _count: u64, _wanted: f64) -> Option<Allowance> {
        match *self {}
    }
}
