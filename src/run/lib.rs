//! Decides what is stale and why, and does just that: fetch, build, validate, stage, and one commit at the end. One task per pipeline
//! and partition; a task that fails never stops the others, its last good build is carried into the new release and marked stale.

mod accepted;
mod arrivals;
mod at_hand;
mod attention;
mod buckets;
mod build;
mod by_hand;
mod chosen;
mod code_version;
mod dates;
mod declaration_faults;
mod drift;
mod due;
mod editions;
mod entry;
mod evidence;
mod execute;
mod exit_code;
mod fetching;
mod findings;
pub mod follow;
mod import;
pub mod lineage;
mod listing;
mod made_with;
mod mirrors;
mod new;
mod pages;
mod part_claims;
mod partitions;
mod placed;
mod plan;
mod planned;
mod probe;
mod published;
mod replay;
mod report;
mod requests;
mod selection;
mod shards;
mod side_by_side;
mod source_fetcher;
mod source_rows;
mod stage;
mod standing;
mod told_replay;
mod toml_text;
mod trace;
mod upgrade;
mod upstream;
mod verify;
mod wanted;
mod why;
mod word_guess;
mod words;
mod work_units;

use std::path::PathBuf;
use std::sync::Arc;

/// What `fuzz/` reaches that is no part of the library.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    pub use super::placed::fuzzing::receipt_again;
    pub use super::toml_text::fuzzing::quoted;
}

pub use accepted::{AcceptedIds, Word, acceptance, accepted_ids, blocked_by, check_acceptance, check_accepted, counting, fetcher};
pub use arrivals::Problem;
pub use attention::{Attention, attention, of_failed_run, of_files_by_hand};
pub use chosen::Chosen;
pub use declaration_faults::declaration_faults;
pub use evidence::{Excerpt, Shown, ShownBytes, ShownCell, ShownHeader, is_open, shown_bytes};
pub use execute::{run, unwritten_run};
pub use exit_code::ExitCode;
pub use import::{Import, Imported, Withdrawal, Withdrawn, import, unknown_source, withdraw};
pub use new::{Decision, GuessedColumn, GuessedWord, NewReport, NewSettings, Trial, new_list};
pub use placed::{
    PLAN_FORMAT_VERSION, PlanAddress, RECEIPT_FORMAT_VERSION, Share, UnitReport, Wave, WrittenPlan, build_units, commit, settings_of_plan, split_inputs,
    work_of_share, write_plan,
};
pub use plan::{fetch_on_demand, plan};
pub use planned::{Plan, PlannedTask, TaskState};
pub use probe::{End, ProbeReport, ProbeSettings, ProbedSource, ProbedTask, Verdict, Would, probe};
pub use replay::Replay;
pub use report::{FetchedSource, RunReport, SubjectCounts, TaskReport};
pub use selection::{check_chosen, check_selectors};
pub use standing::{FileByHand, FilesByHand, blocked_before, files_by_hand, not_renewed_since, standing};
pub use told_replay::{ToldDifference, ToldReplay, told_replay};
pub use trace::{AccessionReport, LocatedRecord, TraceReport, locate, trace, trace_accession, trace_located};
pub use upgrade::{KeptRelease, NextRun, UpgradeReport, upgrade};
pub use verify::{RebuildReport, VerifyReport, rebuild, verify};
pub use why::{explained_diff, words_of_cause};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use pubdata_build::publish::PartObserver;
use pubdata_build::validate::{DRIFT, FLOOR, MEANING, QUARANTINED, WARNED};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::ReleaseId;
use pubdata_core::pipeline::Declarations;
use pubdata_fetch::{FetchProgress, FetchSettings};
use pubdata_store::{Home, Manifest, Releases};

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
    /// What a person has looked at and takes as it is: `TASK:RULE`, or a source or dataset, of which it is every loss.
    pub accepted: Vec<String>,
    /// Sources and pipelines whose layout, known from documentation, a person has confirmed.
    pub confirmed: Vec<String>,
    /// Shown the parts that are built.
    pub part_observer: Option<PartObserver>,
}

/// Accepted of a release that is made again: it was published.
const EVERYTHING: &str = "*";

impl RunSettings {
    /// Those by which something published is made again with the declarations it was made with: it had passed, or a person had taken it as it was. The
    /// declarations that these have are many, and are not copied.
    fn making_again(&self, declarations: Declarations) -> Self {
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
    fn today(&self) -> Date {
        self.fetch.clock.now().to_zoned(TimeZone::UTC).date()
    }

    /// Whether a person has taken as it is what a rule says of one of these: a task, its pipeline, a source or a dataset. A name without a rule
    /// is of a source or dataset, the last of the names, and stands for its losses and for members that cannot be read.
    fn waives(&self, names: &[&str], rule: &str) -> bool {
        let is_of_totals = [DRIFT, FLOOR, MEANING, QUARANTINED, WARNED].contains(&rule);
        self.accepted.iter().any(|accepted| {
            if accepted == EVERYTHING {
                return true;
            }
            let (id, of_rule) = accepted.split_once(':').map_or((accepted.as_str(), None), |(id, rule)| (id, Some(rule)));
            match of_rule {
                Some(of_rule) => of_rule == rule && names.contains(&id),
                None => !is_of_totals && names.last() == Some(&id),
            }
        })
    }
}

/// Told how a run goes on.
pub trait Observer: FetchProgress {
    /// A run has begun, under its id.
    fn begun(&self, run_id: &str, at: Timestamp) {
        let _ = (run_id, at);
    }

    /// What is to be done is known.
    fn planned(&self, plan: &Plan) {
        let _ = plan;
    }

    /// So many files are going to be asked for.
    fn fetching(&self, files: usize);

    /// A file is done, with a word on the outcome.
    fn fetched(&self, url: &str, outcome: &str);

    /// A task is being built.
    fn building(&self, task_id: &str);

    /// So many of a task's shards or buckets are built.
    fn shard_built(&self, task_id: &str, done: usize, shards: usize) {
        let _ = (task_id, done, shards);
    }

    /// A task is built, or why not.
    fn built(&self, report: &TaskReport);
}

/// Shared by the tasks that report to it.
pub type SharedObserver = Arc<dyn Observer>;

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
pub async fn manifest_of(releases: &Releases, channel: &str, release: Option<ReleaseId>) -> Result<Manifest> {
    let release = match release {
        Some(release) => release,
        None => {
            let entry = releases.channel(channel).await?;
            let entry = entry.ok_or_else(|| Error::config(format!("channel `{channel}` has no release yet")).hint("`pubdata run` makes one"))?;
            entry.release_id
        }
    };
    releases.manifest(&release).await
}

/// Where the details of one run's findings are written.
fn issues_file(home: &Home, run_id: &str) -> PathBuf {
    home.run_dir(run_id).join("issues.jsonl")
}
