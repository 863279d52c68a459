use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::trace::release_id;
use super::{Global, output};
use crate::error::Result;
use crate::publish;
use crate::run::RunSettings;
use crate::store::ChannelEntry;

#[derive(Args)]
pub(super) struct ReleasesArgs {
    #[command(subcommand)]
    command: ReleasesCommand,
}

#[derive(Subcommand)]
enum ReleasesCommand {
    /// Lists the releases that are kept, newest first.
    List,
    /// Shows the manifest of a release.
    Show {
        /// The release; the channel's when none is given.
        release: Option<String>,
        #[arg(long, default_value = "nightly")]
        channel: String,
    },
    /// Points one channel at what another points at.
    Promote {
        #[arg(long, default_value = "nightly")]
        from: String,
        #[arg(long, default_value = "stable")]
        to: String,
    },
    /// Points a channel at an earlier release: the one before, or the one given.
    Rollback {
        #[arg(long, default_value = "nightly")]
        channel: String,
        #[arg(long)]
        to: Option<String>,
    },
    /// Deletes old releases; what a channel points at always stays.
    Prune {
        /// Releases to keep of each channel's history.
        #[arg(long, default_value_t = 7)]
        keep: usize,
    },
}

pub(super) async fn releases(global: &Global, arguments: &ReleasesArgs) -> Result<ExitCode> {
    let now = jiff::Timestamp::now();
    match &arguments.command {
        ReleasesCommand::List => list(global, &global.settings("nightly")?).await?,
        ReleasesCommand::Show { release, channel } => {
            let settings = global.settings(channel)?;
            let manifest = match release {
                Some(release) => settings.releases.manifest(&release_id(release)?).await?,
                None => crate::run::current_manifest(&settings).await?,
            };
            output::json(&manifest);
        }
        ReleasesCommand::Promote { from, to } => {
            let settings = global.settings(to)?;
            moved(global, to, publish::promote(&settings.releases, from, to, &now.to_string()).await?.as_ref());
        }
        ReleasesCommand::Rollback { channel, to } => {
            let settings = global.settings(channel)?;
            let to = to.as_deref().map(release_id).transpose()?;
            moved(global, channel, publish::rollback(&settings.releases, channel, to, &now.to_string()).await?.as_ref());
        }
        ReleasesCommand::Prune { keep } => {
            let settings = global.settings("nightly")?;
            let pruned = publish::prune(&settings.releases, *keep, now).await?;
            if global.json {
                output::json(&pruned);
            } else {
                anstream::println!("deleted {} releases and {} unfinished ones", pruned.releases.len(), pruned.incomplete.len());
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn moved(global: &Global, channel: &str, entry: Option<&ChannelEntry>) {
    match entry {
        Some(entry) if global.json => output::json(entry),
        Some(entry) => anstream::println!("channel {channel} → {} (generation {})", output::bold(entry.release_id.as_str()), entry.generation),
        None if global.json => output::json(&serde_json::Value::Null),
        None => anstream::println!("channel {channel} already points there"),
    }
}

async fn list(global: &Global, settings: &RunSettings) -> Result<()> {
    let releases = publish::list(&settings.releases).await?;
    if global.json {
        output::json(&releases);
        return Ok(());
    }
    let mut rows = vec![vec!["RELEASE".into(), "PUBLISHED".into(), "ROWS".into(), "SIZE".into(), "CHANNELS".into()]];
    for release in &releases {
        rows.push(vec![
            release.release_id.to_string(),
            release.published_at.clone(),
            output::grouped(release.rows.values().sum()),
            output::size(release.size_bytes),
            release.channels.join(", "),
        ]);
    }
    output::table(&rows);
    Ok(())
}
