//! `pubdata task` and `pubdata commit`: perform and commit the work of a plan in the store, on any
//! machine.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;

use super::after_run::{self, AfterRunArgs};
use super::receipts::{self, SigningKeyArgs};
use super::run::{ExtentArgs, report_outcome};
use super::{Global, output, progress::Progress};
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_run::{
    self as run, PlanAddress, RunSettings, SharedObserver, UnitReport, Wave, WorkerIndex,
};
use pubdata_store::receipts::Roots;

const TASK_HELP: &str = "\
Exit codes: 0 done, now or before; 20 blocked, and a retry will not help (commit reports the reason); 40 the plan is of another version of the
program or has no such unit; 30 a file is not split yet; 60 disk or store failed. Retry after 30 and 60.";

#[derive(Args)]
pub(super) struct TaskArgs {
    #[command(subcommand)]
    what: TaskCommand,
}

#[derive(Subcommand)]
enum TaskCommand {
    /// Splits large files by bucket. This is required before any unit of such a task is built.
    #[command(after_help = TASK_HELP)]
    Split {
        #[command(flatten)]
        of: OfPlan,
        #[command(flatten)]
        whose: WorkSelection,
        /// With --task: numbers of files, counted from 0, as listed under `inputs` in the plan.
        #[arg(long, value_name = "N,…", value_delimiter = ',', requires = "task")]
        input: Vec<usize>,
    },
    /// Builds units and writes their parts and results to the store.
    #[command(after_help = TASK_HELP)]
    Build {
        #[command(flatten)]
        of: OfPlan,
        #[command(flatten)]
        whose: WorkSelection,
        /// With --task: keys of units, as listed under `units` in the plan.
        #[arg(long, value_name = "KEY,…", value_delimiter = ',', requires = "task")]
        unit: Vec<String>,
    },
}

/// Selects work: named pieces of one task, or a share of all work.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct WorkSelection {
    /// A task, as named in the plan.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Share of all tasks, for numbered jobs. Shares are counted from 0, so 3/10 is the fourth of
    /// ten.
    #[arg(long, value_name = "I/N")]
    share: Option<WorkerIndex>,
}

#[derive(Args)]
struct OfPlan {
    /// The value of `plan` printed by `pubdata plan --write --json`: a URL, or only its hash if
    /// --store is given.
    #[arg(long, value_name = "PLAN")]
    plan: String,
}

#[derive(Args)]
pub(super) struct CommitArgs {
    #[command(flatten)]
    of: OfPlan,
    #[command(flatten)]
    extent: ExtentArgs,
    #[command(flatten)]
    after: AfterRunArgs,
    #[command(flatten)]
    signing: SigningKeyArgs,
}

impl OfPlan {
    /// Opens the plan and returns the settings for its work. The plan's URL may also identify the
    /// store.
    fn open(&self, global: &Global) -> Result<(PlanAddress, RunSettings)> {
        let address: PlanAddress = self.plan.parse()?;
        let global = Global {
            store: address.store.clone().or_else(|| global.store.clone()),
            ..global.clone()
        };
        global.needs_store()?;
        let settings = global.settings(global.declarations()?, "nightly")?;
        Ok((address, settings))
    }
}

/// Results of a plan's units: `pubdata task split`, `pubdata task build`.
#[derive(Serialize, JsonSchema)]
pub(super) struct UnitsReport<'a> {
    /// Every requested unit, by task and name.
    units: &'a [UnitReport],
}

pub(super) async fn task(global: &Global, arguments: &TaskArgs) -> Result<ExitCode> {
    let mut units = Vec::new();
    match &arguments.what {
        TaskCommand::Split { of, whose, input } => {
            let (address, settings) = of.open(global)?;
            let named = input.iter().map(ToString::to_string).collect();
            for (task_id, inputs) in whose
                .work(&settings, &address, Wave::Split, named, "--input")
                .await?
            {
                let inputs: Vec<usize> = inputs
                    .iter()
                    .filter_map(|input| input.parse().ok())
                    .collect();
                units.extend(run::split_inputs(&settings, &address, &task_id, &inputs).await?);
            }
        }
        TaskCommand::Build { of, whose, unit } => {
            let (address, settings) = of.open(global)?;
            for (task_id, keys) in whose
                .work(&settings, &address, Wave::Build, unit.clone(), "--unit")
                .await?
            {
                units.extend(run::build_units(&settings, &address, &task_id, &keys).await?);
            }
        }
    }
    if global.json {
        output::sorted_document(&UnitsReport { units: &units });
    } else {
        let mut rows = vec![vec![
            "TASK".into(),
            "UNIT".into(),
            "OUTCOME".into(),
            "ROWS".into(),
            "WHY".into(),
        ]];
        for unit in &units {
            let outcome = format!(
                "{}{}",
                output::coloured(unit.outcome),
                if unit.is_known {
                    output::dim(" before")
                } else {
                    String::new()
                }
            );
            rows.push(vec![
                unit.task_id.clone(),
                unit.unit.clone(),
                outcome,
                output::grouped(unit.rows),
                unit.reason.clone().unwrap_or_default(),
            ]);
        }
        output::table(&rows);
    }
    Ok(ExitCode::from(exit_code(&units)))
}

impl WorkSelection {
    /// Returns the selected work, by task.
    async fn work(
        &self,
        settings: &RunSettings,
        address: &PlanAddress,
        wave: Wave,
        named: Vec<String>,
        flag: &str,
    ) -> Result<BTreeMap<String, Vec<String>>> {
        match (&self.task, self.share) {
            (Some(_), _) if named.is_empty() => Err(Error::config(format!("--task needs {flag}"))
                .hint("`pubdata plan --write --json` lists them; `--share 0/1` without --task selects all of the plan")),
            (Some(task), _) => Ok(BTreeMap::from([(task.clone(), named)])),
            (None, Some(share)) => run::work_of_share(settings, address, wave, share).await,
            (None, None) => Ok(BTreeMap::new()),
        }
    }
}

/// Returns the exit code. Failures that are worth a retry take precedence over other failures.
fn exit_code(units: &[UnitReport]) -> u8 {
    let of = |outcome: &str| {
        units
            .iter()
            .filter(move |unit| unit.outcome == outcome)
            .filter_map(|unit| unit.failure)
            .map(ErrorKind::exit_code)
            .max()
    };
    of("failed").or_else(|| of("blocked")).unwrap_or(0)
}

pub(super) async fn commit(global: &Global, arguments: &CommitArgs) -> Result<ExitCode> {
    let (address, settings) = arguments.of.open(global)?;
    let settings = run::settings_of_plan(&settings, &address).await?;
    if arguments.after.test_message {
        return after_run::test(global, &settings, &arguments.after).await;
    }
    let signing_key = arguments.signing.read()?;
    let progress = Arc::new(Progress::new());
    let emitter = arguments.after.emitter(&settings, progress.clone());
    let observer: SharedObserver = emitter.clone();
    let run_before = after_run::last_run_id(&settings);
    let report = run::commit(&settings, &address, &observer).await;
    progress.finish();
    if let (Some(key), Ok(_)) = (&signing_key, &report) {
        receipts::seal_after_run(&settings, key, &Roots::default()).await;
    }
    after_run::report_lineage(&emitter, &report).await;
    // No notification is sent, because nothing has been committed yet.
    if !report
        .as_ref()
        .is_err_and(|error: &Error| error.kind() == ErrorKind::Unfinished)
    {
        after_run::tell(
            &settings,
            &arguments.after,
            run_before.as_deref(),
            report.as_ref().err(),
        )
        .await;
    }
    Ok(report_outcome(global, &report?, &arguments.extent))
}
