//! Defines the settings of a run: its folders, the declarations, and the operator's selection and
//! acceptances. Also resolves the names that select tasks and releases.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;

use pubdata_build::publish::PartObserver;
use pubdata_build::validate::{DRIFT, FLOOR, MEANING, QUARANTINED, WARNED};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::ReleaseId;
use pubdata_core::pipeline::{Declaration, Declarations};
use pubdata_fetch::FetchSettings;
use pubdata_store::{Home, Manifest, Releases};

/// The published table of quarantined records.
pub(crate) const QUARANTINE: &str = "pubdata.quarantine";

/// Settings of a run.
#[derive(Clone)]
pub struct RunSettings {
    pub home: Home,
    pub releases: Releases,
    pub declarations: Declarations,
    pub fetch: FetchSettings,
    /// The channel that the run reads and updates.
    pub channel: String,
    /// Pipelines, datasets, families or tasks to work on. If empty, everything is selected.
    pub selectors: Vec<String>,
    /// The tasks that run if no selector is given, and the tasks that may fail.
    pub chosen: Chosen,
    /// True if unchanged tasks are rebuilt too.
    pub is_forced: bool,
    /// True if only local snapshots are used and no requests are sent to publishers.
    pub is_offline: bool,
    /// Acceptances. Each is `TASK:RULE`, or the id of a source or dataset for which every loss is
    /// accepted.
    pub accepted: Vec<String>,
    /// Sources and pipelines whose documented layout an operator has confirmed.
    pub confirmed: Vec<String>,
    /// Receives the parts that are built.
    pub part_observer: Option<PartObserver>,
}

/// Acceptance of everything. Used when a release is rebuilt, because it was already published.
const EVERYTHING: &str = "*";

impl RunSettings {
    /// Returns the settings for rebuilding a published build with its own declarations. Accepts
    /// everything, because the data passed its rules or was accepted when it was published. Takes
    /// the declarations by value, because copying them is expensive.
    pub(crate) fn for_rebuild(&self, declarations: Declarations) -> Self {
        Self {
            home: self.home.clone(),
            releases: self.releases.clone(),
            declarations,
            fetch: self.fetch.clone(),
            channel: self.channel.clone(),
            selectors: self.selectors.clone(),
            chosen: self.chosen.clone(),
            is_forced: self.is_forced,
            is_offline: self.is_offline,
            accepted: vec![EVERYTHING.to_owned()],
            confirmed: self.confirmed.clone(),
            part_observer: self.part_observer.clone(),
        }
    }

    /// Returns the current date of the run's clock, in UTC.
    pub(crate) fn today(&self) -> Date {
        self.fetch.clock.now().to_zoned(TimeZone::UTC).date()
    }

    /// Returns true if an operator has overridden a rule for one of the names, which are those of a
    /// task, its pipeline, a source or a dataset. An acceptance without a rule must match the last
    /// name, which is a source or dataset. It covers that name's losses and unreadable members.
    pub(crate) fn has_override(&self, names: &[&str], rule: &str) -> bool {
        let is_of_totals = [DRIFT, FLOOR, MEANING, QUARANTINED, WARNED].contains(&rule);
        self.accepted.iter().any(|accepted| {
            if accepted == EVERYTHING {
                return true;
            }
            let (id, from_posix_rule) = accepted
                .split_once(':')
                .map_or((accepted.as_str(), None), |(id, rule)| (id, Some(rule)));
            match from_posix_rule {
                Some(from_posix_rule) => from_posix_rule == rule && names.contains(&id),
                None => !is_of_totals && names.last() == Some(&id),
            }
        })
    }
}

/// Returns the names under which a task's dataset may be accepted.
pub(crate) fn names<'n>(task_id: &'n str, dataset_id: &'n str) -> [&'n str; 3] {
    [
        task_id,
        task_id.split('/').next().unwrap_or(task_id),
        dataset_id,
    ]
}

/// The operator's selection. Each entry is a family, pipeline, dataset or task, or a prefix such as
/// `permit.*`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Chosen {
    /// Names of tasks to run if no selector is given. If empty, all tasks run.
    pub pipelines: Vec<String>,
    /// Names excluded from `pipelines`.
    pub disabled: Vec<String>,
    /// Tasks that may fail. Their missing or late files are reported but do not affect the exit
    /// code.
    pub optional: Vec<String>,
}

impl Chosen {
    /// Returns true if a task runs when no selector is given.
    pub(crate) fn has(&self, declaration: &Declaration, task_id: &str) -> bool {
        let is_named = |names: &[String]| {
            names
                .iter()
                .any(|name| is_selected(name, declaration, task_id))
        };
        (self.pipelines.is_empty() || is_named(&self.pipelines)) && !is_named(&self.disabled)
    }

    /// Returns true if a task's files may be missing.
    pub(crate) fn is_optional(&self, declaration: &Declaration, task_id: &str) -> bool {
        self.optional
            .iter()
            .any(|name| is_selected(name, declaration, task_id))
    }
}

/// Returns true if a selector matches a task. A selector is a family, pipeline, dataset or task, or
/// a prefix of such names followed by a star.
pub(crate) fn is_selected(selector: &str, declaration: &Declaration, task_id: &str) -> bool {
    let family = declaration
        .pipeline_id
        .split('.')
        .next()
        .unwrap_or_default();
    let names = [family, &declaration.pipeline_id, task_id]
        .into_iter()
        .chain(declaration.produces.iter().map(String::as_str));
    match selector.strip_suffix('*') {
        Some(beginning) => names.into_iter().any(|name| name.starts_with(beginning)),
        None => names.into_iter().any(|name| name == selector),
    }
}

/// Returns the manifest of the release that the channel points at.
///
/// # Errors
/// Returns `Config` if the channel has no release yet, and `Store` if the manifest cannot be read.
pub async fn current_manifest(settings: &RunSettings) -> Result<Manifest> {
    manifest_of(&settings.releases, &settings.channel, None).await
}

/// Returns the manifest of a release, or of the channel's current release if none is given.
///
/// # Errors
/// Returns `Config` if the channel has no release yet, and `Store` if the manifest cannot be read.
pub async fn manifest_of(
    releases: &Releases,
    channel: &str,
    release: Option<ReleaseId>,
) -> Result<Manifest> {
    let release = match release {
        Some(release) => release,
        None => {
            let entry = releases.channel(channel).await?;
            let entry = entry.ok_or_else(|| {
                Error::config(format!("channel `{channel}` has no release yet"))
                    .hint("`pubdata run` makes one")
            })?;
            entry.release_id
        }
    };
    releases.manifest(&release).await
}
