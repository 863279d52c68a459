//! Lists, promotes, rolls back and prunes releases. Pruning keeps anything that another publisher
//! may be about to point at.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::ReleaseId;
use pubdata_store::{
    ChannelAction, ChannelEntry, ChannelMove, DistributedRunStore, Manifest, Releases,
};

/// Minimum age at which a release that no channel ever pointed at can be pruned. Another machine
/// may be about to point at a younger one.
const GRACE: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);

/// Minimum age at which a plan can be pruned. A distributed run may take many hours, and a late
/// worker still needs the plan's files.
pub(super) const PLAN_GRACE: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);

/// One entry in a list of releases.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReleaseSummary {
    /// The release.
    pub release_id: ReleaseId,
    /// When the release was published, RFC 3339 UTC. If `damage` is not null, this field and all
    /// others that come from the manifest are null.
    #[schemars(extend("format" = "date-time"))]
    pub published_at: Option<String>,
    /// The run that published the release; null if `damage` is not null.
    pub run_id: Option<String>,
    /// True if a build was made from samples; null if `damage` is not null.
    pub is_sample: Option<bool>,
    /// Channels that currently point at the release.
    pub channels: Vec<String>,
    /// Row count by dataset; empty if `damage` is not null.
    pub rows: BTreeMap<String, u64>,
    /// Total size of the release's parts in bytes; null if `damage` is not null.
    pub size_bytes: Option<u64>,
    /// Tasks that could not be rebuilt in the last run for a channel that points at this release.
    pub stale_tasks: BTreeSet<String>,
    /// Why the manifest cannot be read; null if it is readable.
    pub damage: Option<String>,
}

/// Result of pruning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    pub releases: Vec<ReleaseId>,
    /// Releases that were started but never finished.
    pub incomplete: Vec<ReleaseId>,
    /// Plans, and staged plan units, that have not changed for a day.
    pub plans: Vec<String>,
}

/// Lists the complete releases, newest first. Releases with a damaged manifest come last.
pub async fn list(releases: &Releases) -> Result<Vec<ReleaseSummary>> {
    let mut pointing: BTreeMap<ReleaseId, Vec<String>> = BTreeMap::new();
    for name in releases.channels().await? {
        if let Some(entry) = releases.channel(&name).await? {
            pointing.entry(entry.release_id).or_default().push(name);
        }
    }
    let mut summaries = Vec::new();
    for release_id in releases.list().await? {
        let channels = pointing.remove(&release_id).unwrap_or_default();
        summaries.push(match releases.manifest(&release_id).await {
            Ok(manifest) => ReleaseSummary {
                stale_tasks: stale_tasks(releases, &manifest, &channels).await,
                channels,
                rows: manifest
                    .datasets
                    .keys()
                    .map(|dataset_id| (dataset_id.clone(), manifest.rows(dataset_id)))
                    .collect(),
                size_bytes: Some(
                    manifest
                        .datasets
                        .values()
                        .flat_map(|dataset| &dataset.parts)
                        .map(|part| part.size_bytes)
                        .sum(),
                ),
                release_id,
                published_at: Some(manifest.published_at),
                run_id: Some(manifest.run_id),
                is_sample: Some(manifest.is_sample),
                damage: None,
            },
            Err(error) => ReleaseSummary {
                release_id,
                published_at: None,
                run_id: None,
                is_sample: None,
                channels,
                rows: BTreeMap::new(),
                size_bytes: None,
                stale_tasks: BTreeSet::new(),
                damage: Some(error.to_string()),
            },
        });
    }
    summaries
        .sort_by(|a, b| (&b.published_at, &b.release_id).cmp(&(&a.published_at, &a.release_id)));
    Ok(summaries)
}

async fn stale_tasks(
    releases: &Releases,
    manifest: &Manifest,
    channels: &[String],
) -> BTreeSet<String> {
    let mut stale = BTreeSet::new();
    for channel in channels {
        let mut manifest = manifest.clone();
        manifest.mark(releases.stale_tasks_if_readable(channel).await.as_ref());
        stale.extend(
            manifest
                .tasks
                .into_iter()
                .filter(|(_, task)| task.is_stale)
                .map(|(task_id, _)| task_id),
        );
    }
    stale
}

/// A possible move of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedMove {
    pub channel: String,
    /// Release that the channel currently points at, with the channel's generation.
    pub from: Option<ReleaseId>,
    pub generation: Option<u64>,
    pub release_id: ReleaseId,
    pub action: ChannelAction,
}

impl PlannedMove {
    async fn make(self, releases: &Releases, now: &str) -> Result<ChannelEntry> {
        let to = ChannelMove {
            release_id: self.release_id,
            action: self.action,
            moved_at: now.to_owned(),
            run_id: None,
        };
        releases
            .advance_channel(&self.channel, self.generation, to)
            .await
    }
}

/// Points one channel at another channel's release, and copies the list of stale tasks. Returns
/// none if the channel already points at that release.
///
/// # Errors
/// `Config` if nothing was published to `from`; `Busy` if another publisher moved the channel in
/// the meantime.
pub async fn promote(
    releases: &Releases,
    from: &str,
    to: &str,
    now: &str,
) -> Result<Option<ChannelEntry>> {
    let moved = match planned_promotion(releases, from, to).await? {
        Some(planned) => Some(planned.make(releases, now).await?),
        None => None,
    };
    if let Some(stale_tasks) = releases.stale_tasks_if_readable(from).await {
        releases.put_stale_tasks(to, &stale_tasks).await?;
    }
    Ok(moved)
}

/// Returns what [`promote`] would do, without moving the channel.
pub async fn planned_promotion(
    releases: &Releases,
    from: &str,
    to: &str,
) -> Result<Option<PlannedMove>> {
    let Some(source) = releases.channel(from).await? else {
        let known = releases.channels().await?.join(", ");
        return Err(
            Error::config(format!("nothing was ever published to channel `{from}`"))
                .hint(format!("known channels: {known}")),
        );
    };
    let target = releases.channel(to).await?;
    planned_move(
        releases,
        to,
        target.as_ref(),
        source.release_id,
        ChannelAction::Promote,
    )
    .await
}

/// Points a channel at an earlier release: either the given one, or the one published to the
/// channel before the current release. Two rollbacks go back two releases. Returns none if the
/// channel already points at the release.
///
/// # Errors
/// `Config` if the channel has no earlier release; `Busy` if another publisher moved the channel in
/// the meantime.
pub async fn rollback(
    releases: &Releases,
    channel: &str,
    to: Option<ReleaseId>,
    now: &str,
) -> Result<Option<ChannelEntry>> {
    match planned_rollback(releases, channel, to).await? {
        Some(planned) => planned.make(releases, now).await.map(Some),
        None => Ok(None),
    }
}

/// Returns what [`rollback`] would do, without moving the channel.
pub async fn planned_rollback(
    releases: &Releases,
    channel: &str,
    to: Option<ReleaseId>,
) -> Result<Option<PlannedMove>> {
    let (present, release_id) = match to {
        Some(release_id) => (releases.channel(channel).await?, release_id),
        None => {
            let mut history = releases.channel_history(channel).await?;
            let previous = previous_release(releases, &history).await?.ok_or_else(|| {
                Error::config(format!(
                    "channel `{channel}` has no earlier release to go back to"
                ))
                .hint("`pubdata releases list` lists the releases that are kept")
            })?;
            (history.pop(), previous)
        }
    };
    let planned = planned_move(
        releases,
        channel,
        present.as_ref(),
        release_id,
        ChannelAction::Rollback,
    )
    .await;
    planned.map_err(|error| {
        error.hint(
            "choose another release with `--to`; `pubdata releases list` lists the intact ones",
        )
    })
}

async fn planned_move(
    releases: &Releases,
    channel: &str,
    present: Option<&ChannelEntry>,
    release_id: ReleaseId,
    action: ChannelAction,
) -> Result<Option<PlannedMove>> {
    if present.is_some_and(|entry| entry.release_id == release_id) {
        return Ok(None);
    }
    releases
        .manifest(&release_id)
        .await
        .context(|| format!("channel `{channel}`"))?;
    let (from, generation) = (
        present.map(|entry| entry.release_id.clone()),
        present.map(|entry| entry.generation),
    );
    Ok(Some(PlannedMove {
        channel: channel.to_owned(),
        from,
        generation,
        release_id,
        action,
    }))
}

/// Returns the newest existing release before the current one. A rollback discards all releases
/// after its target.
async fn previous_release(
    releases: &Releases,
    history: &[ChannelEntry],
) -> Result<Option<ReleaseId>> {
    let mut line: Vec<&ReleaseId> = Vec::new();
    for entry in history {
        match line.iter().rposition(|id| **id == entry.release_id) {
            Some(position) if entry.action == ChannelAction::Rollback => {
                line.truncate(position + 1);
            }
            _ => line.push(&entry.release_id),
        }
    }
    let present = line.pop();
    for release_id in line.into_iter().rev().filter(|id| Some(*id) != present) {
        if releases.exists(release_id).await? {
            return Ok(Some(release_id.clone()));
        }
    }
    Ok(None)
}

/// Deletes releases that are not among the newest `keep` in any channel's history, and the remains
/// of unfinished releases. A release that a channel points at is always kept. A release that no
/// channel ever pointed at is kept for an hour, because another publisher may be about to point at
/// it. The caller holds the run lock.
///
/// # Errors
/// `Config` if `keep` is 0; `Store` if an object cannot be read or deleted.
pub async fn prune(releases: &Releases, keep: usize, now: jiff::Timestamp) -> Result<Pruned> {
    let pruned = prunable(releases, keep, now).await?;
    for release_id in pruned.releases.iter().chain(&pruned.incomplete) {
        releases.delete_release(release_id).await?;
    }
    for name in &pruned.plans {
        DistributedRunStore::new(releases.store())
            .remove(name)
            .await?;
    }
    Ok(pruned)
}

/// Returns what [`prune`] would delete, without deleting anything.
pub async fn prunable(releases: &Releases, keep: usize, now: jiff::Timestamp) -> Result<Pruned> {
    if keep == 0 {
        return Err(
            Error::config("at least one release of each channel must be kept")
                .hint("write --keep 1 or more"),
        );
    }
    let (mut retained, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for name in releases.channels().await? {
        let mut newest: Vec<ReleaseId> = Vec::new();
        for entry in releases.channel_history(&name).await?.into_iter().rev() {
            if newest.len() < keep
                && !newest.contains(&entry.release_id)
                && releases.exists(&entry.release_id).await?
            {
                newest.push(entry.release_id.clone());
            }
            seen.insert(entry.release_id);
        }
        retained.extend(newest);
    }
    let is_old = |written: jiff::Timestamp| now.duration_since(written) > GRACE;
    let mut pruned = Pruned::default();
    for release_id in releases.list().await? {
        let may_go = !retained.contains(&release_id)
            && (seen.contains(&release_id) || is_old(published_at(releases, &release_id).await?));
        if may_go {
            pruned.releases.push(release_id);
        }
    }
    for incomplete in releases
        .list_incomplete()
        .await?
        .into_iter()
        .filter(|incomplete| is_old(incomplete.modified))
    {
        pruned.incomplete.push(incomplete.release_id);
    }
    pruned.plans = DistributedRunStore::new(releases.store())
        .untouched_since(now - PLAN_GRACE)
        .await?;
    Ok(pruned)
}

async fn published_at(releases: &Releases, release_id: &ReleaseId) -> Result<jiff::Timestamp> {
    let published_at = releases.manifest(release_id).await?.published_at;
    published_at.parse().map_err(|_| {
        Error::store(format!(
            "release {release_id}: `{published_at}` is not a time"
        ))
    })
}
