//! Reads and writes the follower's state: the days that were reconciled, and the last response of
//! each feed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Feed;
use crate::{Home, durable, files};
use pubdata_core::error::{Error, IoExt, Result};

pub(crate) const STATE_FORMAT_VERSION: u32 = 1;

/// Maximum number of reconciled days to keep.
const DAYS: usize = 100;

/// State of the follower that is not contained in the log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FollowState {
    format_version: u32,
    /// The day on which the log began, in the publisher's time zone, `YYYY-MM-DD`.
    #[serde(rename = "begun_on")]
    pub started_on: String,
    /// Results for days whose index was read, by day in the format `YYYY-MM-DD`.
    pub reconciled: BTreeMap<String, Reconciled>,
    pub feeds: BTreeMap<Feed, FeedState>,
}

/// Result of reconciling a day with its index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconciled {
    /// When the day was reconciled, RFC 3339 UTC.
    pub at: String,
    pub filings: usize,
    /// Number of filings in the index that no feed had shown.
    pub missed: usize,
}

/// State of a feed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedState {
    /// Time of the last request, RFC 3339 UTC.
    #[serde(rename = "asked_at")]
    pub requested_at: Option<String>,
    /// Time of the last successful read, RFC 3339 UTC.
    pub read_at: Option<String>,
    /// Why the last read failed; `None` if it succeeded.
    pub failure: Option<String>,
}

impl FollowState {
    /// Reads the state of a home, or creates a new one.
    ///
    /// # Errors
    /// `Store`, when the state cannot be read or has a newer format.
    pub fn read(home: &Home) -> Result<Self> {
        let path = home.stream_dir().join("state.json");
        let bytes = match files::read_file(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self {
                    format_version: STATE_FORMAT_VERSION,
                    ..Self::default()
                });
            }
            bytes => bytes.at("read", &path)?,
        };
        let state: Self = serde_json::from_slice(&bytes).map_err(|error| {
            Error::store(format!("{} is damaged: {error}", path.display()))
                .hint("restore it from a backup, or delete it and read the missing days with `pubdata follow --day`")
        })?;
        if state.format_version > STATE_FORMAT_VERSION {
            let message = format!(
                "{}: format {} is not one this program reads",
                path.display(),
                state.format_version
            );
            return Err(Error::store(message)
                .hint("use the version of pubdata that wrote it, or a later one"));
        }
        Ok(state)
    }

    /// Writes the state atomically.
    pub fn write(&mut self, home: &Home) -> Result<()> {
        while self.reconciled.len() > DAYS {
            self.reconciled.pop_first();
        }
        let mut bytes = serde_json::to_vec_pretty(self).expect("the state is plain data");
        bytes.push(b'\n');
        durable::write_file(&home.stream_dir().join("state.json"), &bytes)
    }
}
