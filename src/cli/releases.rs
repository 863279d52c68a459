//! `pubdata releases`: lists, shows and compares releases, moves channels between them, and deletes old ones that no channel points at.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::trace::release_id;
use super::{Global, output, release_page};
use crate::error::Result;
use crate::ids::ReleaseId;
use crate::publish::{self, PlannedMove, Pruned};
use crate::run::RunSettings;
use crate::store::{self, Cause, ChannelEntry, ReleaseDiff, Snapshots, StoredSnapshot};

#[derive(Args)]
pub(super) struct ReleasesArgs {
    #[command(subcommand)]
    command: ReleasesCommand,
}

#[derive(Subcommand)]
enum ReleasesCommand {
    /// Lists the releases that are kept, newest first.
    List,
    /// Shows a release on one page; with --json its whole manifest.
    Show {
        /// The release; the channel's when none is given.
        release: Option<String>,
        #[arg(long, default_value = "nightly")]
        channel: String,
    },
    /// Says which records changed between two releases, and whether source, declaration or code caused it.
    Diff {
        /// The earlier release.
        from: String,
        /// The later release; the channel's when none is given.
        to: Option<String>,
        #[arg(long, default_value = "nightly")]
        channel: String,
        /// Records to show of each dataset and kind of change.
        #[arg(long, default_value_t = 5)]
        examples: usize,
    },
    /// Points one channel at what another points at.
    Promote {
        #[arg(long, default_value = "nightly")]
        from: String,
        #[arg(long, default_value = "stable")]
        to: String,
        /// Says what would be done, and changes nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Points a channel at an earlier release: the one before, or the one given.
    Rollback {
        #[arg(long, default_value = "nightly")]
        channel: String,
        #[arg(long)]
        to: Option<String>,
        /// Says what would be done, and changes nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Deletes old releases; what a channel points at always stays.
    Prune {
        /// Releases to keep of each channel's history.
        #[arg(long, default_value_t = 7)]
        keep: usize,
        /// Also deletes snapshots that no kept release was made from, except the newest of each URL.
        #[arg(long)]
        snapshots: bool,
        /// Says what would be deleted, and changes nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

pub(super) async fn releases(global: &Global, arguments: &ReleasesArgs) -> Result<ExitCode> {
    let now = jiff::Timestamp::now();
    match &arguments.command {
        ReleasesCommand::List => list(global, &global.reading("nightly")?).await?,
        ReleasesCommand::Show { release, channel } => {
            let settings = global.reading(channel)?;
            let mut manifest = match release {
                Some(release) => settings.releases.manifest(&release_id(release)?).await?,
                None => crate::run::current_manifest(&settings).await?,
            };
            if release.is_none() && !global.json {
                manifest.mark(settings.releases.unrenewed_if_readable(channel).await.as_ref());
            }
            if global.json {
                output::json(&manifest);
            } else {
                release_page::print(&manifest, &pointing_at(&settings, &manifest.release_id).await?);
            }
        }
        ReleasesCommand::Diff { from, to, channel, examples } => {
            let settings = global.reading(channel)?;
            let to = match to {
                Some(to) => release_id(to)?,
                None => crate::run::current_manifest(&settings).await?.release_id,
            };
            let diff = store::diff(&settings.releases, &release_id(from)?, &to, *examples).await?;
            if global.json {
                output::json(&diff);
            } else {
                print_diff(&diff);
            }
        }
        ReleasesCommand::Promote { from, to, dry_run: true } => {
            let settings = global.reading(to)?;
            would_move(global, to, publish::planned_promotion(&settings.releases, from, to).await?.as_ref());
        }
        ReleasesCommand::Promote { from, to, .. } => {
            let settings = global.reading(to)?;
            moved(global, to, publish::promote(&settings.releases, from, to, &now.to_string()).await?.as_ref());
        }
        ReleasesCommand::Rollback { channel, to, dry_run } => {
            let settings = global.reading(channel)?;
            let to = to.as_deref().map(release_id).transpose()?;
            match dry_run {
                true => would_move(global, channel, publish::planned_rollback(&settings.releases, channel, to).await?.as_ref()),
                false => moved(global, channel, publish::rollback(&settings.releases, channel, to, &now.to_string()).await?.as_ref()),
            }
        }
        ReleasesCommand::Prune { keep, snapshots, dry_run: true } => {
            let settings = global.reading("nightly")?;
            let pruned = publish::prunable(&settings.releases, *keep, now).await?;
            let dropped = if *snapshots { droppable_snapshots(&settings, &pruned.releases).await? } else { Vec::new() };
            would_prune(global, &pruned, &dropped);
        }
        ReleasesCommand::Prune { keep, snapshots, .. } => {
            let settings = global.reading("nightly")?;
            let _lock = settings.home.lock()?;
            let pruned = publish::prune(&settings.releases, *keep, now).await?;
            let dropped = if *snapshots { drop_snapshots(&settings).await? } else { Vec::new() };
            if global.json {
                output::json(&serde_json::json!({ "releases": pruned.releases, "incomplete": pruned.incomplete, "snapshots": dropped }));
            } else {
                let (releases, incomplete) = (pruned.releases.len(), pruned.incomplete.len());
                anstream::println!("deleted {releases} releases, {incomplete} unfinished ones, {} snapshots", dropped.len());
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

/// Last line of what only says what would be done.
const NOTHING_CHANGED: &str = "nothing was changed: without --dry-run it is done";

fn would_move(global: &Global, channel: &str, planned: Option<&PlannedMove>) {
    match planned {
        Some(planned) if global.json => output::json(planned),
        Some(planned) => {
            let now = planned.from.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string);
            anstream::println!("channel {channel} would point at {}; it points at {now}", output::bold(planned.release_id.as_str()));
            anstream::println!("{NOTHING_CHANGED}");
        }
        None => moved(global, channel, None),
    }
}

fn would_prune(global: &Global, pruned: &Pruned, dropped: &[StoredSnapshot]) {
    let paths: Vec<String> = dropped.iter().map(|snapshot| snapshot.path.display().to_string()).collect();
    if global.json {
        output::json(&serde_json::json!({ "releases": pruned.releases, "incomplete": pruned.incomplete, "snapshots": paths }));
        return;
    }
    pruned.releases.iter().for_each(|release_id| anstream::println!("would delete release {release_id}"));
    pruned.incomplete.iter().for_each(|release_id| anstream::println!("would delete {release_id}, which was never finished"));
    paths.iter().for_each(|path| anstream::println!("would delete snapshot {path}"));
    let (releases, incomplete) = (pruned.releases.len(), pruned.incomplete.len());
    anstream::println!("would delete {releases} releases, {incomplete} unfinished ones, {} snapshots", dropped.len());
    anstream::println!("{NOTHING_CHANGED}");
}

/// The channels that point at a release.
async fn pointing_at(settings: &RunSettings, release_id: &ReleaseId) -> Result<Vec<String>> {
    let mut channels = Vec::new();
    for name in settings.releases.channels().await? {
        if settings.releases.channel(&name).await?.is_some_and(|entry| entry.release_id == *release_id) {
            channels.push(name);
        }
    }
    Ok(channels)
}

/// The snapshots that no kept release was made from and that no URL has as its newest. `without` are releases that do not count as kept.
async fn droppable_snapshots(settings: &RunSettings, without: &[ReleaseId]) -> Result<Vec<StoredSnapshot>> {
    let referenced = publish::referenced_snapshots(&settings.releases, without).await?;
    let snapshots = Snapshots::look(&settings.home);
    let newest = snapshots.newest()?;
    let is_needed = |snapshot: &StoredSnapshot| referenced.contains(&snapshot.sha256) || newest.contains(&snapshot.sha256);
    Ok(snapshots.all()?.into_iter().filter(|snapshot| !is_needed(snapshot)).collect())
}

/// Deletes them and returns their paths.
async fn drop_snapshots(settings: &RunSettings) -> Result<Vec<String>> {
    let snapshots = Snapshots::open(&settings.home)?;
    let mut dropped = Vec::new();
    for snapshot in droppable_snapshots(settings, &[]).await? {
        snapshots.remove(&snapshot)?;
        dropped.push(snapshot.path.display().to_string());
    }
    Ok(dropped)
}

fn print_diff(diff: &ReleaseDiff) {
    anstream::println!("{} → {}\n", diff.from, output::bold(diff.to.as_str()));
    for (task_id, causes) in &diff.causes {
        anstream::println!("{}", output::bold(task_id));
        causes.iter().for_each(|cause| anstream::println!("  {}", words_of(cause)));
    }
    anstream::println!();
    let mut rows = vec![["DATASET", "ADDED", "REMOVED", "CHANGED", "ONLY PROVENANCE", "UNCHANGED"].map(str::to_owned).to_vec()];
    for (dataset_id, dataset) in &diff.datasets {
        let counts = [dataset.added, dataset.removed, dataset.changed, dataset.provenance_only, dataset.unchanged];
        rows.push(std::iter::once(dataset_id.clone()).chain(counts.map(output::grouped)).collect());
    }
    output::table(&rows);
    for example in diff.datasets.values().flat_map(|dataset| &dataset.examples) {
        anstream::println!("\n{:?} {}", example.change, output::bold(&example.record_id));
        for column in &example.columns {
            let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "null".to_owned());
            anstream::println!("  {}: {} → {}", column.column, show(&column.from), show(&column.to));
        }
    }
}

fn words_of(cause: &Cause) -> String {
    match cause {
        Cause::TaskAdded => "built for the first time".to_owned(),
        Cause::TaskRemoved => "no longer built".to_owned(),
        Cause::SourceChanged { url, from, to, .. } => {
            let short = |digest: &Option<crate::ids::Digest>| digest.map_or_else(|| "none".to_owned(), |digest| digest.short(12));
            format!("source changed: {url} ({} → {})", short(from), short(to))
        }
        Cause::DeclarationChanged => "declaration changed".to_owned(),
        Cause::ContractsChanged => "contract changed".to_owned(),
        Cause::CodeChanged { from, to } => format!("code changed: {from} → {to}"),
        Cause::SampleChanged => "samples gave way to the publishers' own files, or the other way round".to_owned(),
        Cause::LayoutEvidenceChanged => "a person confirmed the layout, or took that back".to_owned(),
        Cause::DateChanged { url, from, to } => format!("the date of a file by hand was {from} and is {to}: {url}"),
        Cause::InputsChanged => "what decides the build changed: the files are the same".to_owned(),
        Cause::BecameStale { reason } => format!("could not be renewed: {}", reason.as_deref().unwrap_or("no reason was kept")),
        Cause::BecameFresh => "could be renewed again".to_owned(),
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
        let damage = release.damage.as_deref().map(|damage| format!(" {}: {damage}", output::coloured("mismatch"))).unwrap_or_default();
        rows.push(vec![
            release.release_id.to_string(),
            release.published_at.clone(),
            output::grouped(release.rows.values().sum()),
            output::size(release.size_bytes),
            format!("{}{damage}", release.channels.join(", ")),
        ]);
    }
    output::table(&rows);
    Ok(())
}
