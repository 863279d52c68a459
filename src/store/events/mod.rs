//! Stores filings as they appear in the publisher's feeds. One follower appends to the log, and any
//! number of servers read it.
//!
//! ```text
//! HOME/stream/log/<first seq>.jsonl   segments; the first line states format and first number; events and commits follow in order
//! HOME/stream/accessions.txt          accession numbers of filings whose events were deleted
//! HOME/stream/findings.jsonl          feed entries that could not be read
//! HOME/stream/state.json              reconciled days, and the last response of each feed
//! HOME/stream/lock                    held by the follower
//!
//! append: write the batch ─▶ sync ─▶ commit line          readers take only committed events
//! open:   truncate incomplete lines after the last commit ─▶ sync ─▶ commit line
//! ```
//!
//! Sequence numbers only increase. A number that a reader may have seen is never reused, because
//! readers see only committed events and commits are durable.

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

/// Format of the log; readers reject newer formats.
pub const EVENT_FORMAT_VERSION: u32 = 1;

/// How far back a reader may request events.
pub const REPLAY: SignedDuration = SignedDuration::from_hours(72);

/// A new filing, or new information about a known filing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Sequence number in this log, from 1.
    pub seq: u64,
    pub event: EventKind,
    pub accession_number: String,
    /// When this event was seen, RFC 3339 UTC; never earlier than the previous event.
    pub seen_at: String,
    pub source: Feed,
    /// URL of the request.
    pub source_url: String,
    /// Everything known about the filing at the time of the event.
    pub filing: StreamFiling,
}

/// Kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A filing that was not known before. Occurs once for each accession number.
    Filing,
    /// New information about a known filing: a party, a form, or a field.
    Update,
}

/// Feed or index in which a filing was seen.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Feed {
    /// The feed of current filings.
    Getcurrent,
    /// The feed of filings with financial data.
    Rss,
    /// The index of an entire day, published the following morning.
    DailyIndex,
}

impl Feed {
    /// Returns the feed's name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Getcurrent => "getcurrent",
            Self::Rss => "rss",
            Self::DailyIndex => "daily_index",
        }
    }
}

/// A filing as the feeds describe it. Fields that no feed has supplied yet are null or empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamFiling {
    /// When the filing was first seen, RFC 3339 UTC.
    pub first_seen_at: String,
    /// Form types in the order in which they were seen. An index may list a filing under two form
    /// types.
    pub forms: Vec<String>,
    /// Filing date, `YYYY-MM-DD`.
    pub filed_date: Option<String>,
    /// When the filing was accepted, RFC 3339 UTC.
    pub accepted_at: Option<String>,
    /// Period of report, `YYYY-MM-DD`.
    pub period_of_report: Option<String>,
    pub entities: Vec<StreamEntity>,
    /// Item numbers of a current report.
    pub items: Vec<String>,
    pub file_number: Option<String>,
    pub primary_document: Option<String>,
    pub has_xbrl: Option<bool>,
    pub has_inline_xbrl: Option<bool>,
}

/// A party of a filing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamEntity {
    /// CIK with ten digits.
    pub cik: String,
    pub name: Option<String>,
    /// `filer`, `subject`, `filed_by`, `reporting`, `issuer`, `depositor`.
    pub role: Option<String>,
    pub sic: Option<String>,
}

/// A line in a segment.
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

/// Parses the first number of a segment from its file name.
fn first_seq_of(path: &std::path::Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    (name.len() == 20).then(|| name.parse().ok()).flatten()
}

/// Returns the segments of a log in order; empty if the log does not exist.
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
