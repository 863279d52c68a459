//! `pubdata metrics`: prints the same metrics of an installation that a run writes for a collector.

use std::process::ExitCode;

use clap::Args;

use super::{Global, after_run, output};
use pubdata_core::error::Result;

#[derive(Args)]
pub(super) struct MetricsArgs {
    /// Channel to report on. Runs are reported for all channels.
    #[arg(long, default_value = "nightly")]
    channel: String,
}

pub(super) async fn metrics(global: &Global, arguments: &MetricsArgs) -> Result<ExitCode> {
    let settings = global.reading(&arguments.channel)?;
    output::text(&after_run::readings(&settings).await?.prometheus_text());
    Ok(ExitCode::SUCCESS)
}
