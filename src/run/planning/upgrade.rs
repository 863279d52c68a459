//! What this version of the program does with a home that another one left: which formats it reads,
//! what its next run builds again, and which releases it can still make again. Nothing is changed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::made_with::{MadeWith, fingerprint};
use crate::settings::RunSettings;
use pubdata_core::error::Result;
use pubdata_core::ids::ReleaseId;
use pubdata_store::{FormatReport, Home, Manifest, Treatment};

/// What this version of the program does with a home: `pubdata upgrade`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UpgradeReport {
    /// Version of this program.
    pub program: &'static str,
    /// The folder.
    pub home: String,
    /// Every kind of file that has a format.
    pub formats: Vec<FormatReport>,
    /// What the next run does, by channel.
    pub next_runs: BTreeMap<String, NextRun>,
    /// The releases that are kept, newest first; empty if something is refused.
    pub releases: Vec<KeptRelease>,
}

/// What the next run does to the builds of a channel's release because the program is another.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NextRun {
    /// What the channel points at.
    pub release_id: ReleaseId,
    /// Builds of that release.
    pub builds: usize,
    /// By task, why it is built again whatever the publishers have.
    pub built_again: BTreeMap<String, Vec<String>>,
    /// Tasks that are declared no more and leave the next release.
    pub left_out: Vec<String>,
}

/// A release, and what of it this program can make again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeptRelease {
    /// The release.
    pub release_id: ReleaseId,
    /// When it was published, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub published_at: String,
    /// Version of the program that made it.
    pub program: String,
    /// Its builds.
    pub builds: usize,
    /// Builds that it is held to make again byte for byte.
    pub can_be_made_again: usize,
    /// Builds whose declarations the release does not carry, because it is of an earlier version.
    pub without_declarations: usize,
}

impl UpgradeReport {
    /// A home of these formats.
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

    /// Whether something there is of a newer program, and this one does not read it.
    pub fn is_refused(&self) -> bool {
        self.formats
            .iter()
            .any(|format| format.treatment == Treatment::Refused)
    }
}

/// Looks at a home, all of whose formats this program reads, and at its releases.
///
/// # Errors
/// `Store`, when they cannot be read.
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
        // `pubdata releases list` names those that are damaged.
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
        let made = MadeWith::of(settings, &manifest, entry).await;
        can_be_made_again += usize::from(made.is_ok_and(|made| made.not_held.is_none()));
        without_declarations += usize::from(!manifest.carries_declarations_of(entry));
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
