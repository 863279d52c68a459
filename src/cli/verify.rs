//! `pubdata verify`: hashes a release's parts, snapshots and declarations again, and on request builds it again and compares the ids.
//! With `--url` it looks at a server of others (`witness.rs`).

use std::process::ExitCode;

use clap::Args;

use super::trace::{exit_code, release_id, verdict};
use super::witness::{WitnessArgs, witness};
use super::{Global, output};
use pubdata_core::error::Result;
use pubdata_run::{self as run, RebuildReport};
use pubdata_store::receipts::seal_problem;

#[derive(Args)]
pub(super) struct VerifyArgs {
    /// The release; the channel's when none is given.
    release: Option<String>,
    /// Builds the release again from its snapshots and compares the ids.
    #[arg(long)]
    rebuild: bool,
    /// The channel whose release is looked at.
    #[arg(long, default_value = "nightly")]
    channel: String,
    #[command(flatten)]
    pub(super) witness: WitnessArgs,
}

pub(super) async fn verify(global: &Global, arguments: &VerifyArgs) -> Result<ExitCode> {
    if arguments.witness.is_meant()? {
        return witness(global, &arguments.witness).await;
    }
    let release = arguments.release.as_deref().map(release_id).transpose()?;
    let settings = global.reading(&arguments.channel)?;
    let mut report = run::verify(&settings, release.as_ref()).await?;
    if report.problems.is_empty() {
        let manifest = settings.releases.manifest(&report.release_id).await?;
        report.problems.extend(seal_problem(&settings.releases, &manifest).await?);
    }
    let rebuilt = if arguments.rebuild { Some(run::rebuild(&settings, release.as_ref()).await) } else { None };
    let rebuilt = match rebuilt {
        // From damaged files nothing can be built: which those are is the answer.
        Some(Err(error)) if !report.problems.is_empty() => {
            report.problems.push(format!("it was not built again: {error}"));
            None
        }
        rebuilt => rebuilt.transpose()?,
    };
    if global.json {
        output::document("verify", &serde_json::json!({ "verified": report, "rebuilt": rebuilt }));
    } else {
        report.problems.iter().for_each(|problem| anstream::println!("{problem}"));
        let word = if report.problems.is_empty() { "match" } else { "mismatch" };
        let hashed = match report.declarations {
            0 => format!("{} parts and {} snapshots hashed again; it carries no declarations", report.parts, report.snapshots),
            _ => format!("{} parts, {} snapshots and its declarations hashed again", report.parts, report.snapshots),
        };
        anstream::println!("{} {}: {hashed}", output::coloured(word), report.release_id);
        rebuilt.iter().for_each(print_rebuilt);
    }
    let of_rebuild = rebuilt.map_or(0, |rebuilt| exit_code(rebuilt.replay));
    Ok(ExitCode::from(if report.problems.is_empty() { of_rebuild } else { 1 }))
}

fn print_rebuilt(rebuilt: &RebuildReport) {
    for (task_id, notes) in rebuilt.notes.iter().filter(|(task_id, _)| !rebuilt.not_possible.contains_key(*task_id)) {
        notes.iter().for_each(|note| anstream::println!("{task_id}: {note}"));
    }
    rebuilt.differences.iter().for_each(|difference| anstream::println!("{difference}"));
    rebuilt.not_possible.iter().for_each(|(task_id, reason)| anstream::println!("{task_id}: {}: {reason}", output::coloured("not possible")));
    let reached = rebuilt.rebuilt_id.as_ref().map_or_else(|| "nothing could be built".to_owned(), |id| format!("built again as {id}"));
    anstream::println!("{} {reached}", verdict(rebuilt.replay, None));
}
