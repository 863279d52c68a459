//! Checks a release's seal and the channel's log against the release's parts and against what this
//! home has signed.

use schemars::JsonSchema;
use serde::Serialize;

use super::log::{Log, Logged, continues};
use super::note::{Checkpoint, VerifierKey};
use super::roots::Roots;
use super::seal::{Seal, seal};
use crate::{Home, Manifest, Releases, signed_note};
use pubdata_core::error::Result;

/// The entry of a release in the log of its channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogEntry {
    /// Name of the log.
    pub log: String,
    /// Index of the release's entry, counted from 0.
    pub log_index: u64,
    /// Number of entries in the log.
    #[schemars(range(min = 1))]
    pub log_size: u64,
}

/// Result of checking the seal of a release.
#[derive(Debug, Default)]
pub struct SealCheck {
    /// The entry of the release in the log; `None` if the release is not sealed, or if a check
    /// failed.
    pub entry: Option<LogEntry>,
    /// The problems found, each with the file concerned.
    pub problems: Vec<String>,
}

/// Checks a release's seal and the log of a channel. `are_parts_whole` means that the parts match
/// the manifest. In this case, the seal is computed again and compared.
///
/// # Errors
/// `Config`, when the name is not a valid channel name; `Store`, when a file cannot be read.
pub async fn examine_seal(
    releases: &Releases,
    home: &Home,
    channel: &str,
    manifest: &Manifest,
    are_parts_whole: bool,
) -> Result<SealCheck> {
    let file = format!("releases/{}/records.json", manifest.release_id);
    let known = releases
        .seal_file(&manifest.release_id)
        .await?
        .map(|bytes| Seal::from_json(&bytes));
    let (logged, mut problems) = examine_log(&Log::new(releases, channel), home).await?;
    // If neither a seal file nor a log entry exists, no seal was ever created.
    let made = match are_parts_whole && (known.is_some() || logged.is_some()) {
        true => Some(seal(releases, manifest, None, &Roots::default()).await),
        false => None,
    };
    let index_of = |seal: &Seal| {
        logged
            .as_ref()
            .and_then(|logged| logged.index_of(&seal.release.digest()))
    };
    let index = match (&known, &made) {
        (Some(Err(error)), _) | (Some(Ok(_)), Some(Err(error))) => {
            problems.push(format!("{file}: {error}; {RESEAL_HINT}"));
            None
        }
        (Some(Ok(known)), Some(Ok(made))) if known != made => {
            problems.push(format!(
                "{file}: it is not the seal of these parts; {RESEAL_HINT}"
            ));
            None
        }
        (Some(Ok(known)), _) => index_of(known),
        (None, Some(Ok(made))) => {
            let index = index_of(made);
            problems.extend(index.map(|index| format!("{file} is missing: the release is entry {index} of the log of channel `{channel}`; {RESEAL_HINT}")));
            index
        }
        (None, _) => None,
    };
    let checkpoint = logged
        .as_ref()
        .and_then(|logged| Checkpoint::parse(&logged.note));
    let entry = index.zip(checkpoint).filter(|_| problems.is_empty());
    Ok(SealCheck {
        entry: entry.map(|(index, checkpoint)| LogEntry {
            log: checkpoint.origin,
            log_index: index as u64,
            log_size: checkpoint.size,
        }),
        problems,
    })
}

const RESEAL_HINT: &str =
    "`pubdata seal` creates it again, and the signed log shows which seal was published";

/// Reads a log, and compares all its files with each other and with what this home signed last.
async fn examine_log(log: &Log<'_>, home: &Home) -> Result<(Option<Logged>, Vec<String>)> {
    let note = signed_note(home, log.channel())?;
    let signed = note
        .as_deref()
        .and_then(|note| Some((note, Checkpoint::parse(note)?)));
    let logged = match log.read().await {
        Ok(logged) => logged,
        Err(error) => return Ok((None, vec![error.to_string()])),
    };
    let size = logged.as_ref().map_or(0, |logged| logged.seals.len());
    let mut problems = Vec::new();
    if note.is_some() && signed.is_none() {
        problems.push(format!(
            "signed/{} is not a signed checkpoint",
            log.channel()
        ));
    }
    let by_home = |checkpoint: &Checkpoint| {
        format!(
            "this home has signed the log at size {} (signed/{})",
            checkpoint.size,
            log.channel()
        )
    };
    if let Some((_, checkpoint)) = signed
        .as_ref()
        .filter(|(_, checkpoint)| checkpoint.size > size as u64)
    {
        problems.push(format!(
            "{} is missing: {}",
            log.file_of_checkpoint(checkpoint.size),
            by_home(checkpoint)
        ));
    }
    let Some(logged) = logged else {
        return Ok((None, problems));
    };
    if let Some((_, checkpoint)) = signed
        .as_ref()
        .filter(|(_, checkpoint)| checkpoint.size <= size as u64)
        && !continues(&logged.seals, checkpoint)
    {
        problems.push(format!(
            "{} does not continue what was signed: {}",
            log.file_of_checkpoint(size as u64),
            by_home(checkpoint)
        ));
    }
    problems.extend(log.changed_tiles(&logged).await?);
    let key_file = log.path_of("key");
    match log.key().await? {
        None => problems.push(format!("{key_file} is missing")),
        Some(text) => match VerifierKey::parse(&text) {
            Err(error) => problems.push(format!("{key_file}: {error}")),
            Ok(key) => {
                if key.opened(&logged.note).is_none() {
                    problems.push(format!(
                        "{} is not signed by the key of {key_file}",
                        log.file_of_checkpoint(size as u64)
                    ));
                }
                if signed.is_some_and(|(note, _)| key.opened(note).is_none()) {
                    problems.push(format!(
                        "{key_file} is not the key that signed last from this home (signed/{})",
                        log.channel()
                    ));
                }
            }
        },
    }
    Ok((Some(logged), problems))
}
