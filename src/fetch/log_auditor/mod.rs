//! Audits an untrusted server from its responses alone. The audit compares the server's log with
//! the last seen state, and receipts of random records with the log. It then compares the server's
//! other responses with the receipts, and the files named by the server with the publishers' files.
//! It needs no release and accepts no number without proof.
//!
//! ```text
//! checkpoint, tiles ─▶ one signed tree that continues the tree seen before ─▶ receipts of drawn records ─▶ provenance, list of parts ─▶ publishers' files
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
    /// Home in which the last seen state of the log is stored.
    pub home: Home,
    /// Declarations that determine which URLs belong to the publishers.
    pub declarations: Declarations,
    pub fetch: FetchSettings,
    pub url: String,
    pub api_key: Option<String>,
    /// The key that verifies the log's notes. If absent, the previously seen key is used, or the
    /// key that the server presents.
    pub key: Option<VerifierKey>,
    /// Number of records to draw.
    pub records: usize,
    /// Random seed for the draw.
    pub seed: u32,
    /// Maximum total size of the publishers' files to compare.
    pub publisher_bytes: u64,
}

/// Audits a server. Violations are listed in the report.
///
/// # Errors
/// `Fetch`, when the server does not respond or does not serve this API; `Config`, when the server
/// requires an API key; `Store`, when the last seen state cannot be read or stored.
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
