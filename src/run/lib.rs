//! Determines which data is stale and why, and does only the required work: fetches, builds,
//! validates and stages, with one commit at the end. Each combination of a pipeline and a partition
//! is one task. A failed task never stops the others. The new release keeps the failed task's last
//! good build and marks it stale.

mod building;
mod distributed;
mod evidence;
mod execute;
mod fetching;
pub mod follow;
pub mod lineage;
mod new;
mod observer;
mod planning;
mod probe;
mod reporting;
mod settings;
mod task_status;
mod toml_text;

/// Entry points for `fuzz/` that are not part of the library's interface.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    pub use super::distributed::fuzzing::receipt_again;
    pub use super::toml_text::fuzzing::quoted;
}

pub use building::declaration_faults::declaration_faults;
pub use distributed::{
    PLAN_FORMAT_VERSION, PlanAddress, RECEIPT_FORMAT_VERSION, UnitReport, Wave, WorkOfTask,
    WorkerIndex, WrittenPlan, build_units, commit, settings_of_plan, split_inputs, work_of_share,
    write_plan,
};
pub use evidence::public_replay::public_replay;
pub use evidence::shown::{is_open, shown_bytes};
pub use evidence::trace::{
    AccessionReport, LocatedRecord, TraceReport, locate, trace, trace_accession, trace_located,
};
pub use evidence::verify::{RebuildReport, VerifyReport, rebuild, verify};
pub use evidence::why::{explained_diff, words_of_cause};
pub use execute::{run, unwritten_run};
pub use fetching::fetcher::fetcher;
pub use fetching::import::{
    Import, Imported, Withdrawal, Withdrawn, import, unknown_source, withdraw,
};
pub use new::{Decision, GuessedColumn, GuessedWord, NewReport, NewSettings, Trial, new_list};
pub use observer::{Observer, SharedObserver};
pub use planning::accepted::{
    AcceptedIds, Word, acceptance, accepted_ids, blocked_by, check_acceptance, check_accepted,
    counting,
};
pub use planning::plan::{fetch_on_demand, plan};
pub use planning::selection::{check_chosen, check_selectors};
pub use planning::upgrade::{KeptRelease, NextRun, UpgradeReport, upgrade};
pub use probe::{
    PredictedOutcome, ProbeReport, ProbeSettings, ProbedSource, ProbedTask, TaskOutcome, Verdict,
    probe,
};
pub use reporting::plan::{FetchedSource, Plan, PlannedTask, Problem, TaskState};
pub use reporting::report::{ExitCode, RunReport, SubjectCounts, TaskReport};
pub use settings::{Chosen, RunSettings, current_manifest, manifest_of};
pub use task_status::attention::{Attention, attention, of_failed_run, of_manual_imports};
pub use task_status::tasks::{
    ManualImport, ManualImports, blocked_before, manual_imports, stale_since, task_statuses,
};
