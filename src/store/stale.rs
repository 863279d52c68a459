//! Stores which tasks in a channel's release are stale. Releases never change, so this information
//! is kept in a separate file next to them. A run without new data therefore publishes nothing.

use std::collections::BTreeMap;

use object_store::path::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Releases;
use super::channels::check_channel_name;
use pubdata_core::error::{Error, Result};

/// Format of the file; readers reject newer formats.
pub const STALE_TASKS_FORMAT_VERSION: u32 = 1;

/// The stale tasks in a channel's current release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleTasks {
    pub format_version: u32,
    /// Stale tasks by task id.
    pub tasks: BTreeMap<String, StaleTask>,
}

/// Why a task is still published from an earlier build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotRenewed")]
pub struct StaleTask {
    /// The reason as text.
    pub reason: String,
    /// End time of the first run that could not rebuild the task, RFC 3339 UTC; null if the ledger
    /// does not contain that run.
    #[schemars(extend("format" = "date-time"))]
    pub since: Option<String>,
}

impl StaleTasks {
    pub fn new(tasks: BTreeMap<String, StaleTask>) -> Self {
        Self {
            format_version: STALE_TASKS_FORMAT_VERSION,
            tasks,
        }
    }
}

impl Releases {
    /// Reads the stale tasks from the last run on a channel. Returns `None` before the first run,
    /// and if the channel was last moved by a program version that does not write this file.
    ///
    /// # Errors
    /// `Config`, when the name is not a valid channel name; `Store`, when the file cannot be read,
    /// is damaged, or has a newer format.
    pub async fn stale_tasks(&self, channel: &str) -> Result<Option<StaleTasks>> {
        let key = key(channel)?;
        let Some(bytes) = self.store.read(&key).await? else {
            return Ok(None);
        };
        let stale_tasks: StaleTasks = serde_json::from_slice(&bytes).map_err(|error| {
            Error::store(format!("{key} is damaged: {error}"))
                .hint("the next `pubdata run` rewrites it")
        })?;
        if stale_tasks.format_version > STALE_TASKS_FORMAT_VERSION {
            let newer = format!(
                "{key} has format {}; this program reads up to {STALE_TASKS_FORMAT_VERSION}",
                stale_tasks.format_version
            );
            return Err(Error::store(newer)
                .hint("use the version of pubdata that wrote it, or a later one"));
        }
        Ok(Some(stale_tasks))
    }

    /// Reads the stale tasks as [`Releases::stale_tasks`] does, but logs any error and then returns
    /// `None`.
    pub async fn stale_tasks_if_readable(&self, channel: &str) -> Option<StaleTasks> {
        let read = self.stale_tasks(channel).await;
        read.inspect_err(|error| {
            tracing::warn!(
                "cannot read the stale tasks: {error} ({})",
                error.hint_text().unwrap_or_default()
            );
        })
        .ok()
        .flatten()
    }

    /// Replaces the stale tasks of a channel. Does not rewrite the file if its content is
    /// unchanged.
    ///
    /// # Errors
    /// `Config`, when the name is not a valid channel name; `Store`, when the file cannot be
    /// written.
    pub async fn put_stale_tasks(&self, channel: &str, stale_tasks: &StaleTasks) -> Result<()> {
        let key = key(channel)?;
        let mut bytes =
            serde_json::to_vec_pretty(stale_tasks).expect("what was not renewed is plain data");
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
