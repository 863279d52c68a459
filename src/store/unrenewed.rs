//! Which builds of a channel's release the last try could not renew: beside the releases, which
//! never change, so that a night on which nothing came publishes nothing.

use std::collections::BTreeMap;

use object_store::path::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Releases;
use super::channels::check_channel_name;
use pubdata_core::error::{Error, Result};

/// Format of the file; readers refuse a newer one.
pub const UNRENEWED_FORMAT_VERSION: u32 = 1;

/// What could not be renewed of a channel's present release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unrenewed {
    pub format_version: u32,
    /// By task.
    pub tasks: BTreeMap<String, NotRenewed>,
}

/// Why a build is still the last good one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotRenewed {
    /// Why, for people.
    pub reason: String,
    /// End of the first run that could not renew it, RFC 3339 UTC; null if the ledger does not say.
    #[schemars(extend("format" = "date-time"))]
    pub since: Option<String>,
}

impl Unrenewed {
    pub fn new(tasks: BTreeMap<String, NotRenewed>) -> Self {
        Self {
            format_version: UNRENEWED_FORMAT_VERSION,
            tasks,
        }
    }
}

impl Releases {
    /// What the last run on a channel could not renew; none before the first, and of channels that
    /// programs of before moved last.
    ///
    /// # Errors
    /// `Config`, when the name is not one a channel can have; `Store`, when the file cannot be
    /// read, is damaged or of a newer format.
    pub async fn unrenewed(&self, channel: &str) -> Result<Option<Unrenewed>> {
        let key = key(channel)?;
        let Some(bytes) = self.store.read(&key).await? else {
            return Ok(None);
        };
        let unrenewed: Unrenewed = serde_json::from_slice(&bytes).map_err(|error| {
            Error::store(format!("{key} is damaged: {error}"))
                .hint("the next `pubdata run` writes it anew")
        })?;
        if unrenewed.format_version > UNRENEWED_FORMAT_VERSION {
            let newer = format!(
                "{key} has format {}; this program reads up to {UNRENEWED_FORMAT_VERSION}",
                unrenewed.format_version
            );
            return Err(Error::store(newer)
                .hint("use the version of pubdata that wrote it, or a later one"));
        }
        Ok(Some(unrenewed))
    }

    /// As [`Releases::unrenewed`], for those who can do without: what cannot be read is told, and
    /// counts as nothing.
    pub async fn unrenewed_if_readable(&self, channel: &str) -> Option<Unrenewed> {
        let read = self.unrenewed(channel).await;
        read.inspect_err(|error| {
            tracing::warn!(
                "what could not be renewed is not known: {error} ({})",
                error.way_out().unwrap_or_default()
            )
        })
        .ok()
        .flatten()
    }

    /// Puts what could not be renewed in the place of what stood there; the same again is not
    /// written.
    ///
    /// # Errors
    /// `Config`, when the name is not one a channel can have; `Store`, when the file cannot be
    /// written.
    pub async fn put_unrenewed(&self, channel: &str, unrenewed: &Unrenewed) -> Result<()> {
        let key = key(channel)?;
        let mut bytes =
            serde_json::to_vec_pretty(unrenewed).expect("what was not renewed is plain data");
        bytes.push(b'\n');
        if self
            .store
            .read(&key)
            .await?
            .is_some_and(|known| known == bytes)
        {
            return Ok(());
        }
        self.store.put(&key, bytes.into()).await
    }
}

fn key(channel: &str) -> Result<Path> {
    check_channel_name(channel)?;
    Ok(Path::from_iter([
        "unrenewed".to_owned(),
        format!("{channel}.json"),
    ]))
}
