//! Audits an untrusted server from its responses alone. Compares its log with the last seen state,
//! and receipts of random records with the log. Then it compares the server's other answers with
//! the receipts, and the files that it names with the publishers' files. Needs no release and
//! accepts no number without proof.
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

pub use report::{AuditReport, FileOutcome, FileReport, KeyFrom, LogReport, Outcome, RecordReport};

/// Which server to audit, and how thoroughly.
pub struct AuditSettings {
    /// The home that stores the last seen state of the log.
    pub home: Home,
    /// Determine which addresses are the publishers'.
    pub declarations: Declarations,
    pub fetch: FetchSettings,
    pub url: String,
    pub api_key: Option<String>,
    /// The key that verifies the log's notes. Without it, the key that was seen before, or the one
    /// that the server presents.
    pub key: Option<VerifierKey>,
    /// Number of records to draw.
    pub records: usize,
    /// Random seed of the draw.
    pub seed: u32,
    /// Maximum total size of the publishers' files to compare.
    pub publisher_bytes: u64,
}

/// Audits a server. Violations are in the report.
///
/// # Errors
/// `Fetch`, when it does not respond or is not a server of this API; `Config`, when it requires an
/// API key; `Store`, when the last seen state cannot be read or stored.
pub async fn audit(settings: &AuditSettings) -> Result<AuditReport> {
    let server = server::Server::new(settings)?;
    let mut report = AuditReport::new(server.url(), settings.seed);
    let Some(mut log) = log::check(settings, &server, &mut report).await? else {
        return Ok(report);
    };
    if settings.records > 0 {
        let found = records::check(settings, &server, &mut log, &mut report).await?;
        files::check(settings, found, &mut report).await?;
    }
    Ok(report)
}
