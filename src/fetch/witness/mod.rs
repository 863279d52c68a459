//! Checks a server that nobody trusts, with nothing but what it answers: its log against what was
//! seen of it before, receipts of random records against the log, what it says of those records
//! elsewhere against the receipts, and the files that it names against the publishers'. Needs no
//! release and believes no number it is sent.
//!
//! ```text
//! checkpoint, tiles ─▶ one signed tree that continues the one seen ─▶ receipts of drawn records ─▶ provenance, list of parts ─▶ publishers' files
//! ```

mod absent;
mod compare;
mod files;
mod log;
mod random;
mod records;
mod report;
mod server;
mod table;

use crate::FetchSettings;
use pubdata_core::error::Result;
use pubdata_core::pipeline::Declarations;
use pubdata_store::Home;
use pubdata_store::receipts::VerifierKey;

pub use report::{
    FileOutcome, FileReport, KeyFrom, LogReport, Outcome, RecordReport, WitnessReport,
};

/// Whom to look at, and how far.
pub struct WitnessSettings {
    /// Where it is kept what the log was.
    pub home: Home,
    /// Say which addresses are the publishers'.
    pub declarations: Declarations,
    pub fetch: FetchSettings,
    pub url: String,
    pub api_key: Option<String>,
    /// What the log's notes are verified with; without it the key that was seen before, else the
    /// one that the server shows.
    pub key: Option<VerifierKey>,
    /// Records to draw.
    pub records: usize,
    /// Decides which are drawn.
    pub seed: u32,
    /// Bytes of the publishers' files, all together.
    pub publisher_bytes: u64,
}

/// Looks at a server. What does not hold is in the report.
///
/// # Errors
/// `Fetch`, when it does not answer or is no server of this API; `Config`, when it wants an API
/// key; `Store`, when what was seen cannot be read or kept.
pub async fn witness(settings: &WitnessSettings) -> Result<WitnessReport> {
    let server = server::Server::new(settings)?;
    let mut report = WitnessReport::new(server.url(), settings.seed);
    let Some(mut log) = log::check(settings, &server, &mut report).await? else {
        return Ok(report);
    };
    if settings.records > 0 {
        let found = records::check(settings, &server, &mut log, &mut report).await?;
        files::check(settings, found, &mut report).await?;
    }
    Ok(report)
}
