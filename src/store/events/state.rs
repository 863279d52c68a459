//! What the follower remembers between runs beside the log: days reconciled, and how each feed
//! answered last.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Feed;
use crate::{Home, durable, files};
use pubdata_core::error::{Error, IoExt, Result};

pub(crate) const STATE_FORMAT_VERSION: u32 = 1;

/// Days that are remembered as reconciled.
const DAYS: usize = 100;

/// What the follower knows beside its log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FollowState {
    format_version: u32,
    /// The publisher's day on which the log began, `YYYY-MM-DD`.
    pub begun_on: String,
    /// Days whose index was read, `YYYY-MM-DD`.
    pub reconciled: BTreeMap<String, Reconciled>,
    pub feeds: BTreeMap<Feed, FeedState>,
}

/// What the index of a day said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconciled {
    /// RFC 3339 UTC.
    pub at: String,
    pub filings: usize,
    /// Filings of the index that no feed had shown.
    pub missed: usize,
}

/// How a feed answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedState {
    /// RFC 3339 UTC.
    pub asked_at: Option<String>,
    /// When it was last read, RFC 3339 UTC.
    pub read_at: Option<String>,
    /// Why it was not read the last time.
    pub failure: Option<String>,
}

impl FollowState {
    /// Reads the state of a home; a new one when there is none.
    ///
    /// # Errors
    /// `Store`, when it cannot be read or is of a newer format.
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
                .hint("put it back from a backup, or delete it: indexes of days that were not read by then are read with `pubdata follow --day`")
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

    /// Writes the state, whole or not at all.
    ///
    /// # Errors
    /// `Store`, when it cannot be written.
    pub fn write(&mut self, home: &Home) -> Result<()> {
        while self.reconciled.len() > DAYS {
            self.reconciled.pop_first();
        }
        let mut bytes = serde_json::to_vec_pretty(self).expect("the state is plain data");
        bytes.push(b'\n');
        durable::write_file(&home.stream_dir().join("state.json"), &bytes)
    }
}
