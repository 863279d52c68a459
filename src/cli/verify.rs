//! `pubdata verify`: rehashes a release's parts, snapshots and declarations, and checks the
//! release's seal and the log. With `--rebuild`, rebuilds the release and compares the ids. With
//! `--url`, audits another operator's server (`log_auditor.rs`).

use std::process::ExitCode;

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::log_auditor::{AuditArgs, audit};
use super::trace::{exit_code, release_id, verdict};
use super::{Global, output};
use pubdata_core::error::Result;
use pubdata_run::{self as run, RebuildReport, VerifyReport};
use pubdata_store::evidence::Replay;
use pubdata_store::receipts::{LogEntry, SealCheck, examine_seal};

#[derive(Args)]
pub(super) struct VerifyArgs {
    /// The release; default: the channel's current release.
    release: Option<String>,
    /// Rebuilds the release from its snapshots and compares the IDs.
    #[arg(long)]
    rebuild: bool,
    /// Channel whose release is verified.
    #[arg(long, default_value = "nightly")]
    channel: String,
    #[command(flatten)]
    pub(super) audit: AuditArgs,
}

/// Integrity of a release: `pubdata verify`.
#[derive(Serialize, JsonSchema)]
pub(super) struct VerificationReport<'a> {
    /// Result of rehashing everything.
    verified: &'a VerifyReport,
    /// Result of `--rebuild`; null without that option.
    rebuilt: Option<&'a RebuildReport>,
    /// The release's entry in the channel's log; null if the release is not sealed, or if
    /// `problems` names a file of the seal or the log.
    sealed: Option<&'a LogEntry>,
}

pub(super) async fn verify(global: &Global, arguments: &VerifyArgs) -> Result<ExitCode> {
    if arguments.audit.is_meant()? {
        return audit(global, &arguments.audit).await;
    }
    let release = arguments.release.as_deref().map(release_id).transpose()?;
    let settings = global.reading(&arguments.channel)?;
    let mut report = run::verify(&settings, release.as_ref()).await?;
    let manifest = settings.releases.manifest(&report.release_id).await?;
    let are_parts_whole = report.problems.is_empty();
    let mut seal = examine_seal(
        &settings.releases,
        &settings.home,
        &settings.channel,
        &manifest,
        are_parts_whole,
    )
    .await?;
    let seal_text = seal_text(&seal, are_parts_whole);
    report.problems.append(&mut seal.problems);
    let rebuilt = if arguments.rebuild {
        Some(run::rebuild(&settings, release.as_ref()).await)
    } else {
        None
    };
    let rebuilt = match rebuilt {
        // A rebuild from damaged files is impossible; the report names these files.
        Some(Err(error)) if !report.problems.is_empty() => {
            report.problems.push(format!("it was not rebuilt: {error}"));
            None
        }
        rebuilt => rebuilt.transpose()?,
    };
    let verified = match (
        report.problems.is_empty(),
        report.missing.is_empty() && report.unreadable.is_empty(),
    ) {
        (true, true) => Replay::Match,
        (true, false) => Replay::NotPossible,
        (false, _) => Replay::Mismatch,
    };
    if global.json {
        output::sorted_document(&VerificationReport {
            verified: &report,
            rebuilt: rebuilt.as_ref(),
            sealed: seal.entry.as_ref(),
        });
    } else {
        report
            .problems
            .iter()
            .chain(&report.missing)
            .chain(&report.unreadable)
            .for_each(|problem| output::print_line!("{problem}"));
        let word = match verified {
            Replay::Match => "match",
            Replay::Mismatch => "mismatch",
            Replay::NotPossible => "not possible",
        };
        let (parts, snapshots) = (
            output::counted(report.parts, "part"),
            output::counted(report.snapshots, "snapshot"),
        );
        let hashed = match report.declarations {
            0 => format!("{parts} and {snapshots} hashed again; it carries no declarations"),
            _ => format!("{parts}, {snapshots} and its declarations hashed again"),
        };
        let others = [
            (report.missing.len(), "missing"),
            (report.unreadable.len(), "unreadable"),
        ];
        let others: String = others
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("; {count} {word}"))
            .collect();
        output::print_line!(
            "{} {}: {hashed}{others}; {seal_text}",
            output::coloured(word),
            report.release_id
        );
        rebuilt.iter().for_each(print_rebuilt);
    }
    let verdicts = [Some(verified), rebuilt.map(|rebuilt| rebuilt.replay)];
    let worst = [Replay::Mismatch, Replay::NotPossible]
        .into_iter()
        .find(|verdict| verdicts.contains(&Some(*verdict)));
    Ok(ExitCode::from(exit_code(worst.unwrap_or(Replay::Match))))
}

fn seal_text(seal: &SealCheck, are_parts_whole: bool) -> String {
    match &seal.entry {
        _ if !are_parts_whole && seal.problems.is_empty() => "its seal was not checked".to_owned(),
        Some(LogEntry { log, log_index, .. }) => {
            format!("sealed: entry {log_index} of the log {log}, counted from 0")
        }
        None if !seal.problems.is_empty() => "its seal or log does not verify".to_owned(),
        None => "not sealed".to_owned(),
    }
}

fn print_rebuilt(rebuilt: &RebuildReport) {
    for (task_id, notes) in rebuilt
        .notes
        .iter()
        .filter(|(task_id, _)| !rebuilt.not_possible.contains_key(*task_id))
    {
        notes
            .iter()
            .for_each(|note| output::print_line!("{task_id}: {note}"));
    }
    rebuilt
        .differences
        .iter()
        .for_each(|difference| output::print_line!("{difference}"));
    rebuilt.not_possible.iter().for_each(|(task_id, reason)| {
        output::print_line!("{task_id}: {}: {reason}", output::coloured("not possible"));
    });
    let reached = match (&rebuilt.rebuilt_id, rebuilt.replay) {
        (None, _) => "no task could be rebuilt".to_owned(),
        (Some(_), Replay::NotPossible) => {
            format!(
                "{} could not be rebuilt, the others are the same",
                output::counted(rebuilt.not_possible.len(), "task")
            )
        }
        (Some(id), Replay::Match) => format!("rebuilt as {id}"),
        (Some(id), Replay::Mismatch) => {
            format!("rebuilt as {id}, not as {}", rebuilt.release_id)
        }
    };
    output::print_line!("{} {reached}", verdict(rebuilt.replay, None));
}
