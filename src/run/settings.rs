//! What a run works with: where it keeps what, what is declared, what the operator has chosen and
//! what a person takes as it is; and the names by which tasks and releases are asked for.

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

/// The published table of records set aside.
pub(crate) const QUARANTINE: &str = "pubdata.quarantine";

/// What a run works with.
#[derive(Clone)]
pub struct RunSettings {
    pub home: Home,
    pub releases: Releases,
    pub declarations: Declarations,
    pub fetch: FetchSettings,
    /// The channel that is read and moved.
    pub channel: String,
    /// Pipelines, datasets, families or tasks to work on; everything when empty.
    pub selectors: Vec<String>,
    /// What runs when no selector is given, and what a night can do without.
    pub chosen: Chosen,
    /// Builds again even when nothing changed.
    pub is_forced: bool,
    /// Uses the snapshots that are there and asks no publisher.
    pub is_offline: bool,
    /// What a person has looked at and takes as it is: `TASK:RULE`, or a source or dataset, of
    /// which it is every loss.
    pub accepted: Vec<String>,
    /// Sources and pipelines whose layout, known from documentation, a person has confirmed.
    pub confirmed: Vec<String>,
    /// Shown the parts that are built.
    pub part_observer: Option<PartObserver>,
}

/// Accepted of a release that is made again: it was published.
const EVERYTHING: &str = "*";

impl RunSettings {
    /// Those by which something published is made again with the declarations it was made with: it
    /// had passed, or a person had taken it as it was. The declarations that these have are many,
    /// and are not copied.
    pub(crate) fn making_again(&self, declarations: Declarations) -> Self {
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

    /// The day of the run's clock, in UTC.
    pub(crate) fn today(&self) -> Date {
        self.fetch.clock.now().to_zoned(TimeZone::UTC).date()
    }

    /// Whether a person has taken as it is what a rule says of one of these: a task, its pipeline,
    /// a source or a dataset. A name without a rule is of a source or dataset, the last of the
    /// names, and stands for its losses and for members that cannot be read.
    pub(crate) fn waives(&self, names: &[&str], rule: &str) -> bool {
        let is_of_totals = [DRIFT, FLOOR, MEANING, QUARANTINED, WARNED].contains(&rule);
        self.accepted.iter().any(|accepted| {
            if accepted == EVERYTHING {
                return true;
            }
            let (id, of_rule) = accepted
                .split_once(':')
                .map_or((accepted.as_str(), None), |(id, rule)| (id, Some(rule)));
            match of_rule {
                Some(of_rule) => of_rule == rule && names.contains(&id),
                None => !is_of_totals && names.last() == Some(&id),
            }
        })
    }
}

/// By what a person may have named a task's dataset.
pub(crate) fn names<'n>(task_id: &'n str, dataset_id: &'n str) -> [&'n str; 3] {
    [
        task_id,
        task_id.split('/').next().unwrap_or(task_id),
        dataset_id,
    ]
}

/// What an operator has chosen. Each entry names a family, a pipeline, a dataset or a task, or
/// begins names with `permit.*`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Chosen {
    /// What runs when nothing is named; everything when empty.
    pub pipelines: Vec<String>,
    /// What does not, though it is among them.
    pub disabled: Vec<String>,
    /// What a night can do without: that its files are missing or late is told and decides no exit
    /// code.
    pub optional: Vec<String>,
}

impl Chosen {
    /// Whether a task runs when nothing is named.
    pub(crate) fn has(&self, declaration: &Declaration, task_id: &str) -> bool {
        let is_named = |names: &[String]| {
            names
                .iter()
                .any(|name| is_selected(name, declaration, task_id))
        };
        (self.pipelines.is_empty() || is_named(&self.pipelines)) && !is_named(&self.disabled)
    }

    /// Whether a night can do without a task's files.
    pub(crate) fn is_optional(&self, declaration: &Declaration, task_id: &str) -> bool {
        self.optional
            .iter()
            .any(|name| is_selected(name, declaration, task_id))
    }
}

/// A selector names a family, a pipeline, a dataset or a task, or is the beginning of such names
/// with a star behind it.
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

/// The release the channel points at.
///
/// # Errors
/// `Config`, when nothing was published to it yet; `Store`, when it cannot be read.
pub async fn current_manifest(settings: &RunSettings) -> Result<Manifest> {
    manifest_of(&settings.releases, &settings.channel, None).await
}

/// The manifest of a release; of the one that a channel points at, where none is named.
///
/// # Errors
/// `Config`, when nothing was published to the channel yet; `Store`, when it cannot be read.
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
