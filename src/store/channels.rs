//! Reads and moves channels. A channel is a name that points at a release, with one immutable file
//! per generation. If two publishers move a channel at the same time, only one succeeds.

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use serde::{Deserialize, Serialize};

use super::Releases;
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_core::ids::ReleaseId;

/// Number of generations to read concurrently.
const READING: usize = 16;

/// Format of the channel files; readers reject newer formats.
pub const CHANNEL_FORMAT_VERSION: u32 = 1;

/// One generation of a channel: the release that the channel points at, and why it was moved there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelEntry {
    pub format_version: u32,
    pub channel: String,
    /// Generation number, starting at 1. The highest generation is current.
    pub generation: u64,
    pub release_id: ReleaseId,
    pub action: ChannelAction,
    /// When the channel was moved, RFC 3339 UTC.
    pub moved_at: String,
    pub run_id: Option<String>,
}

/// Why a channel moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelAction {
    Publish,
    Promote,
    Rollback,
}

/// A request to point a channel at a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelMove {
    pub release_id: ReleaseId,
    pub action: ChannelAction,
    /// When the channel was moved, RFC 3339 UTC.
    pub moved_at: String,
    pub run_id: Option<String>,
}

impl Releases {
    /// Returns the names of the channels, sorted.
    pub async fn channels(&self) -> Result<Vec<String>> {
        let mut names = self.store.folders(&Path::from("channels")).await?;
        names.retain(|name| check_channel_name(name).is_ok());
        Ok(names)
    }

    /// Returns the current entry of a channel; `None` if nothing was ever published on the channel.
    ///
    /// # Errors
    /// `Config`, when the name is not a valid channel name; `Store`, when the pointer cannot be
    /// read.
    pub async fn channel(&self, name: &str) -> Result<Option<ChannelEntry>> {
        match self.generations(name).await?.last() {
            Some(generation) => self.generation(name, *generation).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns all generations of a channel, oldest first.
    ///
    /// # Errors
    /// Same as for [`Releases::channel`].
    pub async fn channel_history(&self, name: &str) -> Result<Vec<ChannelEntry>> {
        let generations = self.generations(name).await?;
        stream::iter(generations)
            .map(|generation| self.generation(name, generation))
            .buffered(READING)
            .try_collect()
            .await
    }

    /// Points a channel at a release if its generation is still `after` (`None`: the channel does
    /// not exist yet). Only `publish` calls this.
    ///
    /// # Errors
    /// `Busy`, when another publisher has moved the channel since; `Store`, when the pointer cannot
    /// be written.
    pub async fn advance_channel(
        &self,
        name: &str,
        after: Option<u64>,
        to: ChannelMove,
    ) -> Result<ChannelEntry> {
        let generation = after.unwrap_or(0) + 1;
        let ChannelMove {
            release_id,
            action,
            moved_at,
            run_id,
        } = to;
        let entry = ChannelEntry {
            format_version: CHANNEL_FORMAT_VERSION,
            channel: name.to_owned(),
            generation,
            release_id,
            action,
            moved_at,
            run_id,
        };
        let mut bytes = serde_json::to_vec(&entry).expect("a channel entry is plain data");
        bytes.push(b'\n');
        let key = key(name, generation)?;
        let Some(other) = self.store.create(&key, bytes.into()).await? else {
            return Ok(entry);
        };
        let winner = parsed(name, generation, &key, &other)?;
        let run = winner
            .run_id
            .as_deref()
            .map(|run| format!(" by run {run}"))
            .unwrap_or_default();
        Err(Error::new(
            ErrorKind::Busy,
            format!(
                "channel `{name}` was moved to {}{run} at {}, while {} was being published",
                winner.release_id, winner.moved_at, entry.release_id
            ),
        )
        .hint("run again: the run then starts from the other publisher's release"))
    }

    /// Fails if a channel has moved since the given generation (`None`: the channel did not exist).
    ///
    /// # Errors
    /// `Busy`, naming the publisher that moved the channel; `Store`, when the channel cannot be
    /// read.
    pub async fn refuse_moved(&self, name: &str, since: Option<u64>) -> Result<()> {
        let now = self.channel(name).await?;
        if now.as_ref().map(|entry| entry.generation) == since {
            return Ok(());
        }
        let became = now.map_or_else(
            || "is gone".to_owned(),
            |entry| {
                let run = entry
                    .run_id
                    .as_deref()
                    .map(|run| format!(" by run {run}"))
                    .unwrap_or_default();
                format!(
                    "was moved to {}{run} at {}",
                    entry.release_id, entry.moved_at
                )
            },
        );
        Err(Error::new(
            ErrorKind::Busy,
            format!("channel `{name}` {became}, after this run was planned"),
        )
        .hint("run again: the run then starts from the channel's current release"))
    }

    async fn generations(&self, name: &str) -> Result<Vec<u64>> {
        let names = self.store.file_names(&folder(name)?).await?;
        let mut generations: Vec<u64> = names
            .iter()
            .filter_map(|name| name.strip_suffix(".json")?.parse().ok())
            .collect();
        generations.sort_unstable();
        Ok(generations)
    }

    async fn generation(&self, name: &str, generation: u64) -> Result<ChannelEntry> {
        let key = key(name, generation)?;
        let bytes = self
            .store
            .read(&key)
            .await?
            .ok_or_else(|| damaged(&key, "it is missing"))?;
        parsed(name, generation, &key, &bytes)
    }

    /// Returns the newest entry after a generation; `None` if the channel did not move. Sends a
    /// single request, whereas [`Releases::channel`] lists the folder.
    ///
    /// # Errors
    /// Same as for [`Releases::channel`].
    pub async fn channel_after(&self, name: &str, generation: u64) -> Result<Option<ChannelEntry>> {
        let (mut newest, mut generation) = (None, generation + 1);
        while let Some(bytes) = self.store.read(&key(name, generation)?).await? {
            newest = Some(parsed(name, generation, &key(name, generation)?, &bytes)?);
            generation += 1;
        }
        Ok(newest)
    }
}

fn damaged(key: &Path, reason: &str) -> Error {
    Error::store(format!("{key} is damaged: {reason}"))
        .hint("restore the file from a backup; if you delete it, the channel points at its previous release")
}

fn parsed(name: &str, generation: u64, key: &Path, bytes: &[u8]) -> Result<ChannelEntry> {
    let entry: ChannelEntry =
        serde_json::from_slice(bytes).map_err(|error| damaged(key, &error.to_string()))?;
    if entry.format_version > CHANNEL_FORMAT_VERSION {
        let newer = format!(
            "{key} has format {}; this program reads up to {CHANNEL_FORMAT_VERSION}",
            entry.format_version
        );
        return Err(
            Error::store(newer).hint("use the version of pubdata that wrote it, or a later one")
        );
    }
    if entry.generation != generation || entry.channel != name {
        return Err(damaged(
            key,
            &format!(
                "it describes generation {} of channel `{}`",
                entry.generation, entry.channel
            ),
        ));
    }
    Ok(entry)
}

/// Rejects invalid channel names.
pub(super) fn check_channel_name(name: &str) -> Result<()> {
    let is_plain = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_'
    };
    if name.is_empty() || name.len() > 64 || !name.bytes().all(is_plain) {
        return Err(Error::config(format!("`{name}` is not a channel's name"))
            .hint("use lower-case letters, digits, `-` and `_`, such as `nightly`"));
    }
    Ok(())
}

fn folder(name: &str) -> Result<Path> {
    check_channel_name(name)?;
    Ok(Path::from_iter(["channels", name]))
}

fn key(name: &str, generation: u64) -> Result<Path> {
    Ok(folder(name)?.join(format!("{generation:010}.json")))
}
