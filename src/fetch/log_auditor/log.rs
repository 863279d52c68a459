//! Checks a server's log, which must be signed, be consistent, and continue the log that was seen
//! before.

use super::AuditSettings;
use super::report::{AuditReport, KeyFrom, LogReport, shown};
use super::server::{NOT_OF_THIS_API, Server};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Digest;
use pubdata_store::receipts::{Checkpoint, TILE, VerifierKey, root, tile_name};
use pubdata_store::{
    LogEvidence, SEEN_LOG_FORMAT_VERSION, SeenLog, keep_log_evidence, remember_log, seen_log,
    seen_logs,
};

/// Maximum number of releases in a log: one per day for more than three centuries.
const MAX_LEAVES: u64 = 1 << 17;
const HASH_BYTES: usize = 32;

/// A signed log that was read completely.
pub(super) struct CheckedLog {
    pub(super) key: VerifierKey,
    leaves: Vec<Digest>,
    /// Number of times that the log may still grow during the check.
    may_grow: u32,
}

/// The server's response to a request for its log.
struct Shown {
    note: String,
    key: Option<String>,
}

/// Description of a violation in a log.
type Fault = String;

/// Formats `1 release` or `2 releases`.
fn releases(number: u64) -> String {
    format!("{number} release{}", if number == 1 { "" } else { "s" })
}

/// Checks the log. Returns `None` if receipts cannot be compared with the log.
pub(super) async fn check(
    settings: &AuditSettings,
    server: &Server,
    report: &mut AuditReport,
) -> Result<Option<CheckedLog>> {
    let seen = seen_log(&settings.home, server.url())?;
    let Some(note) = text(server, "checkpoint").await? else {
        let Some(seen) = seen else {
            let message = format!(
                "{} has no log: its publisher does not sign, or has not sealed a release yet",
                server.url()
            );
            return Err(Error::fetch(message).hint(
                "without a log nothing can be proven: ask the publisher to sign its releases",
            ));
        };
        let reason = format!(
            "the server has no log any more; on {} it had one of {}",
            seen.seen_at,
            releases(size_of(&seen))
        );
        against(settings, server, report, &reason, Some(seen), None)?;
        return Ok(None);
    };
    let given = Shown {
        note,
        key: text(server, "key").await?,
    };
    let (key, key_from) = match (&settings.key, &seen) {
        (Some(key), _) => (key.clone(), KeyFrom::Given),
        (None, Some(seen)) => (VerifierKey::parse(&seen.key)?, KeyFrom::Seen),
        (None, None) => (first_key(server, &given)?, KeyFrom::FirstUse),
    };
    let (checkpoint, leaves) = match read(server, &key, &given).await? {
        Ok(read) => read,
        Err(reason) => {
            against(settings, server, report, &reason, seen, Some(&given))?;
            return Ok(None);
        }
    };
    report.log = Some(LogReport {
        name: shown(&checkpoint.origin),
        size: checkpoint.size,
        root: checkpoint.root.to_string(),
        key: shown(&key.to_string()),
        key_from,
        seen_size: seen.as_ref().map(size_of),
        seen_at: seen.as_ref().map(|seen| seen.seen_at.clone()),
    });
    if let Some(reason) = given.key.as_ref().and_then(|shown| other_key(&key, shown)) {
        against(
            settings,
            server,
            report,
            &reason,
            seen.clone(),
            Some(&given),
        )?;
    }
    let log = CheckedLog {
        key,
        leaves,
        may_grow: 3,
    };
    // Two servers with the same key must show the same log. If a publisher shows different logs on
    // different servers, a client of both servers detects this.
    let same_log = seen_logs(&settings.home)?
        .into_iter()
        .filter(|other| other.url != server.url() && other.key == log.key.to_string());
    for earlier in seen.clone().into_iter().chain(same_log) {
        if let Some(reason) = log.contradiction_with(&earlier, server.url()) {
            against(
                settings,
                server,
                report,
                &reason,
                Some(earlier),
                Some(&given),
            )?;
        }
    }
    if report.problems.is_empty() {
        log.remember(settings, server, given.note, seen)?;
    }
    Ok(Some(log))
}

impl CheckedLog {
    /// Returns how this log contradicts a log that was seen before.
    fn contradiction_with(&self, seen: &SeenLog, url: &str) -> Option<Fault> {
        let place = if seen.url == url {
            String::new()
        } else {
            format!(" at {}", seen.url)
        };
        let Some(earlier) = Checkpoint::parse(&seen.note) else {
            return Some("the last seen state of the log is not a checkpoint".to_owned());
        };
        match self.root_of_first(earlier.size) {
            // The log of another server may be ahead.
            None if seen.url != url => None,
            None => Some(format!(
                "the log is shorter: {}, and on {} it had {}",
                releases(self.leaves.len() as u64),
                seen.seen_at,
                earlier.size
            )),
            Some(root) if root != earlier.root => Some(format!(
                "the log was replaced: its first {} have the root {root}, and on {}{place} they had {}",
                releases(earlier.size),
                seen.seen_at,
                earlier.root
            )),
            Some(_) => None,
        }
    }

    /// Returns the root over the first `size` leaves; `None` if the log is shorter.
    fn root_of_first(&self, size: u64) -> Option<Digest> {
        Some(root(self.leaves.get(..usize::try_from(size).ok()?)?))
    }

    /// Checks whether a checkpoint belongs to this log. If the log has grown since, it is read
    /// again. `Err` contains the reason why the checkpoint does not belong.
    pub(super) async fn has(
        &mut self,
        checkpoint: &Checkpoint,
        settings: &AuditSettings,
        server: &Server,
        report: &mut AuditReport,
    ) -> Result<std::result::Result<(), Fault>> {
        if checkpoint.size > self.leaves.len() as u64 && self.may_grow > 0 {
            self.may_grow -= 1;
            self.grow(settings, server, report).await?;
        }
        Ok(match self.root_of_first(checkpoint.size) {
            None => Err(format!(
                "its checkpoint is of {}, and the log has {}",
                releases(checkpoint.size),
                self.leaves.len()
            )),
            Some(root) if root != checkpoint.root => Err(format!(
                "its checkpoint is of another log: {} with the root {}",
                releases(checkpoint.size),
                checkpoint.root
            )),
            Some(_) => Ok(()),
        })
    }

    async fn grow(
        &mut self,
        settings: &AuditSettings,
        server: &Server,
        report: &mut AuditReport,
    ) -> Result<()> {
        let Some(note) = text(server, "checkpoint").await? else {
            return Ok(());
        };
        let given = Shown { note, key: None };
        let seen = seen_log(&settings.home, server.url())?;
        let reason = match read(server, &self.key, &given).await? {
            Ok((_, leaves)) if leaves.starts_with(&self.leaves) => {
                self.leaves = leaves;
                if report.problems.is_empty() {
                    self.remember(settings, server, given.note, seen)?;
                }
                return Ok(());
            }
            Ok(_) => "the log changed during the check".to_owned(),
            Err(reason) => reason,
        };
        // Report this only once, because every further receipt would cause the same problem.
        self.may_grow = 0;
        against(settings, server, report, &reason, seen, Some(&given))
    }

    fn remember(
        &self,
        settings: &AuditSettings,
        server: &Server,
        note: String,
        seen: Option<SeenLog>,
    ) -> Result<()> {
        let now = settings.fetch.clock.now().to_string();
        let first_seen_at = seen.map_or_else(|| now.clone(), |seen| seen.first_seen_at);
        let key = self.key.to_string();
        remember_log(
            &settings.home,
            &SeenLog {
                format_version: SEEN_LOG_FORMAT_VERSION,
                url: server.url().to_owned(),
                key,
                note,
                first_seen_at,
                seen_at: now,
            },
        )
    }
}

fn size_of(seen: &SeenLog) -> u64 {
    Checkpoint::parse(&seen.note).map_or(0, |checkpoint| checkpoint.size)
}

/// Reports a violation of the log and stores the evidence.
fn against(
    settings: &AuditSettings,
    server: &Server,
    report: &mut AuditReport,
    reason: &str,
    seen: Option<SeenLog>,
    given: Option<&Shown>,
) -> Result<()> {
    report.problem(reason);
    if let Some(seen) = &seen {
        report.note(&format!(
            "seen on {}: {}",
            seen.seen_at,
            on_one_line(&seen.note)
        ));
    }
    if let Some(given) = given {
        report.note(&format!("shown now: {}", on_one_line(&given.note)));
    }
    let evidence = LogEvidence {
        format_version: SEEN_LOG_FORMAT_VERSION,
        url: server.url().to_owned(),
        reason: shown(reason),
        seen,
        shown_key: given.and_then(|given| given.key.clone()),
        note: given.map(|given| given.note.clone()),
    };
    report
        .evidence
        .push(keep_log_evidence(&settings.home, &evidence)?);
    Ok(())
}

/// Returns a note with its lines joined.
fn on_one_line(note: &str) -> String {
    note.lines()
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" | ")
}

async fn text(server: &Server, name: &str) -> Result<Option<String>> {
    let Some(bytes) = server.log_file(name, None).await? else {
        return Ok(None);
    };
    let not_text = |_| {
        Error::fetch(format!("{}/v1/log/{name} is not text", server.url())).hint(NOT_OF_THIS_API)
    };
    String::from_utf8(bytes).map(Some).map_err(not_text)
}

/// Returns the key that a server presents, for use when no key is known.
fn first_key(server: &Server, given: &Shown) -> Result<VerifierKey> {
    let not_one = || {
        Error::fetch(format!(
            "{} presents no verification key for its log",
            server.url()
        ))
        .hint("name the publisher's key with --key")
    };
    VerifierKey::parse(given.key.as_ref().ok_or_else(not_one)?).map_err(|_| not_one())
}

fn other_key(key: &VerifierKey, shown: &str) -> Option<Fault> {
    (shown.trim() != key.to_string()).then(|| {
        format!(
            "the server presents another key than {key}: {}",
            shown.trim()
        )
    })
}

/// Reads the log that a note describes. The inner `Err` describes a violation.
async fn read(
    server: &Server,
    key: &VerifierKey,
    given: &Shown,
) -> Result<std::result::Result<(Checkpoint, Vec<Digest>), Fault>> {
    let Some(text) = key.opened(&given.note) else {
        let other = given
            .key
            .as_ref()
            .and_then(|shown| other_key(key, shown))
            .map(|other| format!("; {other}"))
            .unwrap_or_default();
        return Ok(Err(format!("the checkpoint is not signed by {key}{other}")));
    };
    let Some(checkpoint) = Checkpoint::parse(text) else {
        return Ok(Err("the signed text is not a checkpoint".to_owned()));
    };
    if checkpoint.origin != key.name() {
        return Ok(Err(format!(
            "the checkpoint belongs to the log {}, and the key to {}",
            checkpoint.origin,
            key.name()
        )));
    }
    if checkpoint.size > MAX_LEAVES {
        return Err(Error::fetch(format!(
            "the log has {} releases; no more than {MAX_LEAVES} are read",
            checkpoint.size
        ))
        .hint(NOT_OF_THIS_API));
    }
    let size = usize::try_from(checkpoint.size).unwrap_or(usize::MAX);
    let mut leaves: Vec<Digest> = Vec::new();
    for number in 0..size.div_ceil(TILE) {
        let width = TILE.min(size - number * TILE);
        let name = tile_name("0", number, width);
        let most = (width * HASH_BYTES) as u64;
        let Some(tile) = server.log_file(&name, Some(most)).await? else {
            return Ok(Err(format!("the log lacks {name}")));
        };
        leaves.extend(
            tile.as_chunks::<HASH_BYTES>()
                .0
                .iter()
                .map(|hash| Digest::from_bytes(*hash)),
        );
    }
    if leaves.len() != size || root(&leaves) != checkpoint.root {
        return Ok(Err(
            "the tiles of the log are not those of its checkpoint".to_owned()
        ));
    }
    Ok(Ok((checkpoint, leaves)))
}
