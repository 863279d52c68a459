//! The log of filings as they appear in the publisher's feeds: appended to by one follower, read by
//! any number of servers.
//!
//! ```text
//! HOME/stream/log/<first seq>.jsonl   segments; the first line says format and first number, then events and commits, in order
//! HOME/stream/accessions.txt          accession numbers of filings whose events are no longer kept
//! HOME/stream/findings.jsonl          feed entries that could not be read
//! HOME/stream/state.json              what was reconciled, and when each feed answered last
//! HOME/stream/lock                    held by the follower
//!
//! append: write the batch ─▶ sync ─▶ commit line          readers take events that a commit line follows
//! open:   cut what is torn behind the last commit ─▶ sync ─▶ commit line
//! ```
//!
//! Numbers only grow and are never used twice for what a reader may have seen: what was not durable
//! was not committed.

mod findings;
mod last;
mod log;
mod state;
mod tail;

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use findings::Findings;
pub use last::last_event_at;
pub(super) use log::KEPT;
pub use log::{EventLog, NewEvent};
pub(super) use state::STATE_FORMAT_VERSION;
pub use state::{FeedState, FollowState, Reconciled};
pub use tail::EventTail;

/// Format of the log; readers refuse a newer one.
pub const EVENT_FORMAT_VERSION: u32 = 1;

/// How far back a reader may ask for events again.
pub const REPLAY: SignedDuration = SignedDuration::from_hours(72);

/// Something that was seen for the first time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Counts the events of this log from 1.
    pub seq: u64,
    pub event: EventKind,
    pub accession_number: String,
    /// When this event was noticed, RFC 3339 UTC; never before that of an earlier event.
    pub seen_at: String,
    pub source: Feed,
    /// The address that was asked.
    pub source_url: String,
    /// All that is known of the filing by now.
    pub filing: StreamFiling,
}

/// What an event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A filing that was not known. Once for each accession number.
    Filing,
    /// More is known of a filing: a party, a form, a field.
    Update,
}

/// Where something was seen.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Feed {
    /// The feed of current filings.
    Getcurrent,
    /// The feed of filings with financial data.
    Rss,
    /// The index of a whole day, published the morning after.
    DailyIndex,
}

impl Feed {
    /// The feed's word in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Getcurrent => "getcurrent",
            Self::Rss => "rss",
            Self::DailyIndex => "daily_index",
        }
    }
}

/// A filing as the feeds describe it. What no feed has said so far is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamFiling {
    /// RFC 3339 UTC.
    pub first_seen_at: String,
    /// Form types in the order they were seen: a filing may stand in an index under two.
    pub forms: Vec<String>,
    /// `YYYY-MM-DD`.
    pub filed_date: Option<String>,
    /// RFC 3339 UTC.
    pub accepted_at: Option<String>,
    /// `YYYY-MM-DD`.
    pub period_of_report: Option<String>,
    pub entities: Vec<StreamEntity>,
    /// Items of a current report.
    pub items: Vec<String>,
    pub file_number: Option<String>,
    pub primary_document: Option<String>,
    pub has_xbrl: Option<bool>,
    pub has_inline_xbrl: Option<bool>,
}

/// A party of a filing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamEntity {
    /// Ten digits.
    pub cik: String,
    pub name: Option<String>,
    /// `filer`, `subject`, `filed_by`, `reporting`, `issuer`, `depositor`.
    pub role: Option<String>,
    pub sic: Option<String>,
}

/// A line of a segment.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Line {
    Event(Box<Event>),
    Committed { committed: u64 },
    Segment { format_version: u32, first_seq: u64 },
}

impl Line {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("a line is plain data");
        bytes.push(b'\n');
        bytes
    }
}

/// The first number of a segment, by its file name.
fn first_seq_of(path: &std::path::Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    (name.len() == 20).then(|| name.parse().ok()).flatten()
}

/// The segments of a log in order; none when there is no log.
fn segments(
    folder: &std::path::Path,
) -> pubdata_core::error::Result<Vec<(u64, std::path::PathBuf)>> {
    use pubdata_core::error::IoExt;
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.at("read folder", folder)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.at("read folder", folder)?.path();
        found.extend(first_seq_of(&path).map(|first_seq| (first_seq, path)));
    }
    found.sort_unstable();
    Ok(found)
}
