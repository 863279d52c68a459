//! Reports how this version of the program treats a home that was last used by another version. The
//! report covers the formats that this version reads, the builds that its next run repeats, and the
//! releases that it can still reproduce. Changes nothing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::made_with::{MadeWith, fingerprint};
use crate::settings::RunSettings;
use pubdata_core::error::Result;
use pubdata_core::ids::ReleaseId;
use pubdata_store::{FormatReport, Home, Manifest, Treatment};

/// Effects of this version of the program on a home: `pubdata upgrade`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UpgradeReport {
    /// Version of this program.
    pub program: &'static str,
    /// The folder.
    pub home: String,
    /// Every kind of file that has a format.
    pub formats: Vec<FormatReport>,
    /// Work of the next run, by channel.
    pub next_runs: BTreeMap<String, NextRun>,
    /// The retained releases, newest first; empty if the home has a format that this version
    /// refuses.
    pub releases: Vec<KeptRelease>,
}

/// Effects of the next run on the builds of a channel's release because the program has changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NextRun {
    /// The release that the channel points at.
    pub release_id: ReleaseId,
    /// Number of builds in that release.
    pub builds: usize,
    /// Reasons why a task is rebuilt even if the publishers have nothing new, by task.
    pub built_again: BTreeMap<String, Vec<String>>,
    /// Tasks that are no longer declared and will be missing from the next release.
    pub left_out: Vec<String>,
}

/// A release, and how much of it this program can reproduce.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeptRelease {
    /// The release.
    pub release_id: ReleaseId,
    /// When it was published, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub published_at: String,
    /// Version of the program that made it.
    pub program: String,
    /// Number of builds.
    pub builds: usize,
    /// Number of builds that this program must reproduce byte for byte.
    pub can_be_made_again: usize,
    /// Number of builds whose declarations the release does not contain, because it was made by an
    /// earlier version.
    pub without_declarations: usize,
}

impl UpgradeReport {
    /// Creates a report with formats only.
    pub fn of_formats(home: &Home, formats: Vec<FormatReport>) -> Self {
        let home = home.root().display().to_string();
        Self {
            program: env!("CARGO_PKG_VERSION"),
            home,
            formats,
            next_runs: BTreeMap::new(),
            releases: Vec::new(),
        }
    }

    /// Returns true if the home has a file format of a newer version, which this program cannot
    /// read.
    pub fn is_refused(&self) -> bool {
        self.formats
            .iter()
            .any(|format| format.treatment == Treatment::Refused)
    }
}

/// Examines a home whose formats this program can read, and the home's releases.
///
/// # Errors
/// Returns `Store` if the home or its releases cannot be read.
pub async fn upgrade(settings: &RunSettings, formats: Vec<FormatReport>) -> Result<UpgradeReport> {
    let mut report = UpgradeReport::of_formats(&settings.home, formats);
    for channel in settings.releases.channels().await? {
        if let Some(entry) = settings.releases.channel(&channel).await? {
            let manifest = settings.releases.manifest(&entry.release_id).await?;
            report
                .next_runs
                .insert(channel, next_run(settings, &manifest)?);
        }
    }
    for id in settings.releases.list().await? {
        // `pubdata releases list` names the damaged releases.
        if let Ok(manifest) = settings.releases.manifest(&id).await {
            report.releases.push(kept(settings, manifest).await);
        }
    }
    report
        .releases
        .sort_by(|a, b| (&b.published_at, &b.release_id).cmp(&(&a.published_at, &a.release_id)));
    Ok(report)
}

fn next_run(settings: &RunSettings, manifest: &Manifest) -> Result<NextRun> {
    let mut next = NextRun {
        release_id: manifest.release_id.clone(),
        builds: manifest.tasks.len(),
        built_again: BTreeMap::new(),
        left_out: Vec::new(),
    };
    for (task_id, entry) in &manifest.tasks {
        let Some(declaration) = settings
            .declarations
            .pipelines
            .get(&entry.pipeline_id)
            .filter(|declaration| !declaration.produces.is_empty())
        else {
            next.left_out.push(task_id.clone());
            continue;
        };
        let (declaration_hash, contracts_hash, code_version) = fingerprint(settings, declaration)?;
        let mut reasons = Vec::new();
        if code_version != entry.code_version {
            reasons.push(format!(
                "code changed from {} to {code_version}",
                entry.code_version
            ));
        }
        if declaration_hash != entry.declaration_hash {
            reasons.push("declaration changed".to_owned());
        }
        if contracts_hash != entry.contracts_hash {
            reasons.push("contract changed".to_owned());
        }
        if !reasons.is_empty() {
            next.built_again.insert(task_id.clone(), reasons);
        }
    }
    Ok(next)
}

async fn kept(settings: &RunSettings, manifest: Manifest) -> KeptRelease {
    let (mut can_be_made_again, mut without_declarations) = (0, 0);
    for entry in manifest.tasks.values() {
        let made = MadeWith::load(settings, &manifest, entry).await;
        can_be_made_again += usize::from(made.is_ok_and(|made| made.not_held.is_none()));
        without_declarations += usize::from(!manifest.has_declarations_of(entry));
    }
    let Manifest {
        release_id,
        published_at,
        pubdata_version,
        tasks,
        ..
    } = manifest;
    KeptRelease {
        release_id,
        published_at,
        program: pubdata_version,
        builds: tasks.len(),
        can_be_made_again,
        without_declarations,
    }
}
