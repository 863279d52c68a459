//! `pubdata verify`: hashes a release's parts and snapshots again, and on request builds it again and compares the ids.

use std::process::ExitCode;

use clap::Args;

use super::trace::release_id;
use super::{Global, output};
use crate::error::Result;
use crate::run;

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
}

pub(super) async fn verify(global: &Global, arguments: &VerifyArgs) -> Result<ExitCode> {
    let release = arguments.release.as_deref().map(release_id).transpose()?;
    let settings = global.reading(&arguments.channel)?;
    let report = run::verify(&settings, release.as_ref()).await?;
    let rebuilt = if arguments.rebuild { Some(run::rebuild(&settings, release.as_ref()).await?) } else { None };
    let is_same = rebuilt.as_ref().is_none_or(|rebuilt| rebuilt.release_id == rebuilt.rebuilt_id);
    if global.json {
        output::json(&serde_json::json!({ "verified": report, "rebuilt": rebuilt }));
    } else {
        report.problems.iter().for_each(|problem| anstream::println!("{problem}"));
        let verdict = if report.problems.is_empty() { "match" } else { "mismatch" };
        anstream::println!("{} {}: {} parts and {} snapshots hashed again", output::coloured(verdict), report.release_id, report.parts, report.snapshots);
        if let Some(rebuilt) = &rebuilt {
            rebuilt.differences.iter().for_each(|difference| anstream::println!("{difference}"));
            let verdict = if is_same { "match" } else { "mismatch" };
            anstream::println!("{} built again as {}", output::coloured(verdict), rebuilt.rebuilt_id);
        }
    }
    Ok(ExitCode::from(u8::from(!report.problems.is_empty() || !is_same)))
}
