//! `pubdata releases`: lists, shows and compares releases, moves channels between them, and deletes
//! old releases to which no channel points.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;

use super::trace::release_id;
use super::{Global, output, release_page};
use pubdata_build::publish::{self, PlannedMove, Pruned, ReleaseSummary, UnneededSnapshots};
use pubdata_core::error::{IoExt, Result};
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_run::{self as run, RunSettings};
use pubdata_store::{
    self as store, Cause, Causes, ChannelEntry, Manifest, RecordWhy, ReleaseDiff, StaleTask,
};

#[derive(Args)]
pub(super) struct ReleasesArgs {
    #[command(subcommand)]
    command: ReleasesCommand,
}

#[derive(Subcommand)]
enum ReleasesCommand {
    /// Lists the retained releases, newest first.
    List,
    /// Shows a release on one page; with --json, prints its entire manifest.
    Show {
        /// The release; default: the channel's current release.
        release: Option<String>,
        #[arg(long, default_value = "nightly")]
        channel: String,
    },
    /// Prints SQL for DuckDB: a view for each dataset of a release, with its descriptions.
    Duckdb {
        /// The release; default: the channel's current release.
        release: Option<String>,
        #[arg(long, default_value = "nightly")]
        channel: String,
        /// The file to write; `-` for standard output.
        #[arg(long, default_value = "-", value_name = "FILE.sql")]
        output: PathBuf,
        /// Path of the release's folder as seen by DuckDB, if different: another mount, a copy,
        /// `.`, or a URL.
        #[arg(long, value_name = "PLACE")]
        location: Option<String>,
    },
    /// Shows which records changed between two releases, and whether the source, the declaration or
    /// the code caused the change.
    Diff {
        /// The earlier release.
        from: String,
        /// The later release; default: the channel's current release.
        to: Option<String>,
        #[arg(long, default_value = "nightly")]
        channel: String,
        /// Number of records to show for each dataset and kind of change.
        #[arg(long, default_value_t = 5)]
        examples: usize,
        /// Compares only this dataset; can be repeated.
        #[arg(long = "dataset", value_name = "DATASET")]
        datasets: Vec<String>,
        /// Attributes each change to source bytes, declaration, contract or code. If several of
        /// these changed, rebuilds with one input changed at a time (one rebuild fewer than
        /// inputs).
        #[arg(long)]
        why: bool,
    },
    /// Points one channel at the release of another channel.
    Promote {
        #[arg(long, default_value = "nightly")]
        from: String,
        #[arg(long, default_value = "stable")]
        to: String,
        /// Shows what would change, and changes nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Points a channel at an earlier release; default: the previous release.
    Rollback {
        #[arg(long, default_value = "nightly")]
        channel: String,
        #[arg(long)]
        to: Option<String>,
        /// Shows what would change, and changes nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Deletes old releases, but never a release that a channel points at.
    Prune {
        /// Number of releases to keep from each channel's history.
        #[arg(long, default_value_t = 7)]
        keep: usize,
        /// Also deletes snapshots from which no retained release was built, except the newest
        /// snapshot of each URL. In a --store, also deletes copies that no plan names.
        #[arg(long)]
        snapshots: bool,
        /// Shows what would be deleted, and changes nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

/// The releases that are kept: `pubdata releases list`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReleasesReport<'a> {
    /// The releases, newest first. Releases whose manifest cannot be read come last.
    releases: &'a [ReleaseSummary],
}

/// A release: `pubdata releases show`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReleaseReport<'a> {
    /// Channels that point at the release now.
    channels: &'a [String],
    /// Tasks that have become stale since the release was made, by task id. Empty if none have, or
    /// if a specific release was requested.
    #[serde(rename = "unrenewed")]
    stale_tasks: BTreeMap<String, StaleTask>,
    /// The release's `manifest.json`, as it is on disk.
    manifest: &'a Manifest,
}

/// Result of moving a channel: `pubdata releases promote` and `rollback`, also with `--dry-run`.
#[derive(Serialize, JsonSchema)]
pub(super) struct MoveReport<'a> {
    /// The channel.
    channel: &'a str,
    /// The release that the channel pointed at before; null for a new channel.
    from: Option<&'a ReleaseId>,
    /// Number of the move; null if the channel was not moved.
    #[schemars(range(min = 1))]
    generation: Option<u64>,
    /// When the channel was moved, RFC 3339 UTC; null if it was not moved.
    #[schemars(extend("format" = "date-time"))]
    moved_at: Option<&'a str>,
    /// Outcome of the command. `would_move`: with `--dry-run`; `unchanged`: the channel already
    /// points at the release.
    #[schemars(extend("enum" = ["moved", "would_move", "unchanged"]))]
    outcome: &'static str,
    /// The release that the channel points at now, or would point at.
    #[schemars(with = "ReleaseId")]
    release_id: Option<&'a ReleaseId>,
}

/// Deleted releases and files: `pubdata releases prune`, also with `--dry-run`.
#[derive(Serialize, JsonSchema)]
pub(super) struct PruneReport<'a> {
    /// Releases that were started but never finished.
    incomplete: &'a [ReleaseId],
    /// True with `--dry-run`: nothing was deleted.
    is_dry_run: bool,
    /// Plans, and staged work of plans, that have not been modified for a day.
    #[serde(rename = "placed")]
    plans: &'a [String],
    /// Complete releases.
    releases: &'a [ReleaseId],
    /// Paths of snapshots in the home, and URLs of copies in a separate store; empty without
    /// `--snapshots`.
    snapshots: Vec<&'a String>,
}

pub(super) async fn releases(global: &Global, arguments: &ReleasesArgs) -> Result<ExitCode> {
    let now = jiff::Timestamp::now();
    match &arguments.command {
        ReleasesCommand::List => list(global, &global.reading("nightly")?).await?,
        ReleasesCommand::Show { release, channel } => {
            let settings = global.reading(channel)?;
            let (mut manifest, stale_tasks) = match release {
                Some(release) => (
                    settings.releases.manifest(&release_id(release)?).await?,
                    None,
                ),
                None => (
                    run::current_manifest(&settings).await?,
                    settings.releases.stale_tasks_if_readable(channel).await,
                ),
            };
            let channels = pointing_at(&settings, &manifest.release_id).await?;
            if global.json {
                let stale_tasks = stale_tasks
                    .map(|stale_tasks| stale_tasks.tasks)
                    .unwrap_or_default();
                output::sorted_document(&ReleaseReport {
                    channels: &channels,
                    stale_tasks,
                    manifest: &manifest,
                });
            } else {
                manifest.mark(stale_tasks.as_ref());
                release_page::print(&manifest, &channels);
            }
        }
        ReleasesCommand::Duckdb {
            release,
            channel,
            output,
            location,
        } => {
            let settings = global.reading(channel)?;
            let manifest = match release {
                Some(release) => settings.releases.manifest(&release_id(release)?).await?,
                None => run::current_manifest(&settings).await?,
            };
            let location = location
                .clone()
                .unwrap_or_else(|| settings.releases.location(&manifest.release_id));
            let script =
                publish::duckdb_views(&manifest, &settings.declarations.contracts, &location)?;
            if output.as_os_str() == "-" {
                output::text(&script);
            } else {
                store::write_file(
                    &std::path::absolute(output).at("find", output)?,
                    script.as_bytes(),
                )?;
            }
        }
        ReleasesCommand::Diff {
            from,
            to,
            channel,
            examples,
            datasets,
            why,
        } => {
            let settings = global.reading(channel)?;
            let to = match to {
                Some(to) => release_id(to)?,
                None => run::current_manifest(&settings).await?.release_id,
            };
            let (old, new) = (
                settings.releases.manifest(&release_id(from)?).await?,
                settings.releases.manifest(&to).await?,
            );
            let diff = match why {
                true => run::explained_diff(&settings, (&old, &new), *examples, datasets).await?,
                false => store::diff(&settings.releases, (&old, &new), *examples, datasets).await?,
            };
            if global.json {
                output::document(&diff);
            } else {
                print_diff(&diff);
            }
        }
        ReleasesCommand::Promote { from, to, dry_run } => {
            let releases = global.reading(to)?.releases;
            let before = releases.channel(to).await?;
            let outcome = match dry_run {
                true => Move::planned(publish::planned_promotion(&releases, from, to).await?),
                false => Move::made(publish::promote(&releases, from, to, &now.to_string()).await?),
            };
            print_move(global, to, before.as_ref(), &outcome);
        }
        ReleasesCommand::Rollback {
            channel,
            to,
            dry_run,
        } => {
            let releases = global.reading(channel)?.releases;
            let to = to.as_deref().map(release_id).transpose()?;
            let before = releases.channel(channel).await?;
            let outcome = match dry_run {
                true => Move::planned(publish::planned_rollback(&releases, channel, to).await?),
                false => {
                    Move::made(publish::rollback(&releases, channel, to, &now.to_string()).await?)
                }
            };
            print_move(global, channel, before.as_ref(), &outcome);
        }
        ReleasesCommand::Prune {
            keep,
            snapshots,
            dry_run,
        } => {
            let settings = global.reading("nightly")?;
            if *snapshots {
                UnneededSnapshots::require_releases(&settings.home, &settings.releases).await?;
            }
            let _lock = if *dry_run {
                None
            } else {
                Some(settings.home.lock()?)
            };
            let pruned = match dry_run {
                true => publish::prunable(&settings.releases, *keep, now).await?,
                false => publish::prune(&settings.releases, *keep, now).await?,
            };
            let unneeded = if *snapshots {
                UnneededSnapshots::find(&settings.home, &settings.releases, &pruned, now).await?
            } else {
                UnneededSnapshots::default()
            };
            if !dry_run {
                unneeded.remove(&settings.home, &settings.releases).await?;
            }
            print_pruned(
                global,
                *dry_run,
                &pruned,
                &unneeded.places(&settings.releases),
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Result of a request to move a channel.
enum Move {
    /// The channel already points there.
    Unchanged,
    Planned(PlannedMove),
    Made(ChannelEntry),
}

impl Move {
    fn planned(planned: Option<PlannedMove>) -> Self {
        planned.map_or(Self::Unchanged, Self::Planned)
    }

    fn made(entry: Option<ChannelEntry>) -> Self {
        entry.map_or(Self::Unchanged, Self::Made)
    }
}

/// Last line of the output with `--dry-run`.
const NOTHING_CHANGED: &str = "nothing was changed: without --dry-run it is done";

fn print_move(global: &Global, channel: &str, before: Option<&ChannelEntry>, outcome: &Move) {
    let from = before.map(|before| &before.release_id);
    if global.json {
        let (word, release_id, made) = match outcome {
            Move::Unchanged => ("unchanged", from, None),
            Move::Planned(planned) => ("would_move", Some(&planned.release_id), None),
            Move::Made(entry) => ("moved", Some(&entry.release_id), Some(entry)),
        };
        let (generation, moved_at) = (
            made.map(|entry| entry.generation),
            made.map(|entry| entry.moved_at.as_str()),
        );
        return output::document(&MoveReport {
            channel,
            from,
            generation,
            moved_at,
            outcome: word,
            release_id,
        });
    }
    match outcome {
        Move::Unchanged => {
            let release = from.map_or("it", ReleaseId::as_str);
            output::print_line!(
                "nothing was changed: channel {channel} points at {release} already"
            );
        }
        Move::Planned(planned) => {
            let now = from.map_or_else(|| "nothing".to_owned(), ToString::to_string);
            output::print_line!(
                "channel {channel} would point at {}; it points at {now}",
                output::bold(planned.release_id.as_str())
            );
            output::print_line!("{NOTHING_CHANGED}");
        }
        Move::Made(entry) => output::print_line!(
            "channel {channel} → {} (generation {})",
            output::bold(entry.release_id.as_str()),
            entry.generation
        ),
    }
}

/// Prints what was deleted, or would be.
fn print_pruned(global: &Global, is_dry_run: bool, pruned: &Pruned, snapshots: &[(String, u64)]) {
    let paths: Vec<&String> = snapshots.iter().map(|(path, _)| path).collect();
    let Pruned {
        releases,
        incomplete,
        plans,
    } = pruned;
    if global.json {
        return output::document(&PruneReport {
            incomplete,
            is_dry_run,
            plans,
            releases,
            snapshots: paths,
        });
    }
    let bytes = snapshots.iter().map(|(_, bytes)| bytes).sum();
    let removed_plans = if plans.is_empty() {
        String::new()
    } else {
        format!(
            "{} and staged work of plans, ",
            output::counted(plans.len(), "plan")
        )
    };
    let counts = format!(
        "{}, {} unfinished, {removed_plans}{} ({})",
        output::counted(releases.len(), "release"),
        incomplete.len(),
        output::counted(paths.len(), "snapshot"),
        output::size(bytes)
    );
    if !is_dry_run {
        return output::print_line!("deleted {counts}");
    }
    releases
        .iter()
        .for_each(|release_id| output::print_line!("would delete release {release_id}"));
    incomplete.iter().for_each(|release_id| {
        output::print_line!("would delete {release_id}, which was never finished");
    });
    plans
        .iter()
        .for_each(|name| output::print_line!("would delete {name}"));
    paths
        .iter()
        .for_each(|path| output::print_line!("would delete snapshot {path}"));
    output::print_line!("would delete {counts}");
    output::print_line!("{NOTHING_CHANGED}");
}

/// Returns the channels that point at a release.
async fn pointing_at(settings: &RunSettings, release_id: &ReleaseId) -> Result<Vec<String>> {
    let mut channels = Vec::new();
    for name in settings.releases.channels().await? {
        if settings
            .releases
            .channel(&name)
            .await?
            .is_some_and(|entry| entry.release_id == *release_id)
        {
            channels.push(name);
        }
    }
    Ok(channels)
}

fn print_diff(diff: &ReleaseDiff) {
    output::print_line!("{} → {}", diff.from, output::bold(diff.to.as_str()));
    output::print_line!();
    for (task_id, causes) in &diff.causes {
        output::print_line!("{}", output::bold(task_id));
        causes
            .iter()
            .for_each(|cause| output::print_line!("  {}", words_of(cause)));
    }
    output::print_line!();
    let mut rows = vec![
        [
            "DATASET",
            "ADDED",
            "REMOVED",
            "CHANGED",
            "ONLY PROVENANCE",
            "UNCHANGED",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for (dataset_id, dataset) in &diff.datasets {
        let counts = [
            dataset.added,
            dataset.removed,
            dataset.changed,
            dataset.provenance_only,
            dataset.unchanged,
        ];
        rows.push(
            std::iter::once(dataset_id.clone())
                .chain(counts.map(output::grouped))
                .collect(),
        );
    }
    output::table(&rows);
    print_why(diff);
    for example in diff.datasets.values().flat_map(|dataset| &dataset.examples) {
        output::print_paragraph!("{:?} {}", example.change, output::bold(&example.record_id));
        if let Some(RecordWhy { causes, urls }) = &example.why {
            let urls: String = urls.iter().map(|url| format!(" {url}")).collect();
            output::print_line!("  why: {}{urls}", words_of_causes(causes));
        }
        for column in &example.columns {
            let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "null".to_owned());
            output::print_line!(
                "  {}: {} → {}",
                column.column,
                show(&column.from),
                show(&column.to)
            );
        }
    }
}

/// Prints how many records changed for each cause, if causes were determined.
fn print_why(diff: &ReleaseDiff) {
    let mut rows = vec![
        [
            "DATASET",
            "WHY",
            "ADDED",
            "REMOVED",
            "CHANGED",
            "ONLY PROVENANCE",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for (dataset_id, dataset) in &diff.datasets {
        for why in dataset.why.iter().flatten() {
            let counts = [why.added, why.removed, why.changed, why.provenance_only];
            rows.push(
                [dataset_id.clone(), words_of_causes(&why.causes)]
                    .into_iter()
                    .chain(counts.map(output::grouped))
                    .collect(),
            );
        }
    }
    if rows.len() > 1 {
        output::print_line!();
        output::table(&rows);
    }
    diff.not_distinguished
        .iter()
        .flatten()
        .for_each(|(task_id, reason)| {
            output::print_paragraph!("{}: causes not separated: {reason}", output::bold(task_id));
        });
}

/// Formats causes: `source bytes and declaration` if each of them changed the record, `code or
/// source bytes` if one or both did.
fn words_of_causes(causes: &Causes) -> String {
    let words: Vec<&str> = causes
        .causes
        .iter()
        .copied()
        .map(run::words_of_cause)
        .collect();
    match (words.is_empty(), causes.is_distinguished) {
        (true, _) => "not known".to_owned(),
        (_, true) => words.join(" and "),
        (_, false) => words.join(" or "),
    }
}

fn words_of(cause: &Cause) -> String {
    match cause {
        Cause::TaskAdded => "built for the first time".to_owned(),
        Cause::TaskRemoved => "no longer built".to_owned(),
        Cause::SourceChanged { url, from, to, .. } => {
            let short = |digest: &Option<Digest>| {
                digest.map_or_else(|| "none".to_owned(), |digest| digest.short(12))
            };
            format!("source changed: {url} ({} → {})", short(from), short(to))
        }
        Cause::DeclarationChanged => "declaration changed".to_owned(),
        Cause::ContractsChanged => "contract changed".to_owned(),
        Cause::CodeChanged { from, to } => format!("code changed: {from} → {to}"),
        Cause::SampleChanged => {
            "samples were replaced by the publishers' own files, or vice versa".to_owned()
        }
        Cause::LayoutEvidenceChanged => {
            "an operator confirmed the layout or withdrew the confirmation".to_owned()
        }
        Cause::DateChanged { url, from, to } => {
            format!("the date of an imported file was {from} and is {to}: {url}")
        }
        Cause::InputsChanged => {
            "other inputs of the build changed: the files are the same".to_owned()
        }
        Cause::BecameStale { reason } => format!(
            "could not be rebuilt: {}",
            reason.as_deref().unwrap_or("no reason was kept")
        ),
        Cause::BecameFresh => "was rebuilt again".to_owned(),
    }
}

async fn list(global: &Global, settings: &RunSettings) -> Result<()> {
    let releases = publish::list(&settings.releases).await?;
    if global.json {
        output::sorted_document(&ReleasesReport {
            releases: &releases,
        });
        return Ok(());
    }
    let mut rows = vec![vec![
        "RELEASE".into(),
        "PUBLISHED".into(),
        "ROWS".into(),
        "SIZE".into(),
        "CHANNELS".into(),
    ]];
    for release in &releases {
        let damage = release
            .damage
            .as_deref()
            .map(|damage| format!(" {}: {damage}", output::coloured("mismatch")))
            .unwrap_or_default();
        rows.push(vec![
            release.release_id.to_string(),
            release.published_at.clone().unwrap_or_default(),
            output::grouped(release.rows.values().sum()),
            release.size_bytes.map(output::size).unwrap_or_default(),
            format!("{}{damage}", release.channels.join(", ")),
        ]);
    }
    output::table(&rows);
    Ok(())
}
