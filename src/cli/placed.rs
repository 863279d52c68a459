//! `pubdata task` and `pubdata commit`: the work of a plan that stands in the store, on whatever machine it is placed.

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::after_run::{self, AfterRunArgs};
use super::run::{ExtentArgs, print_report};
use super::{Global, output, progress::Progress};
use crate::error::{Error, ErrorKind, Result};
use crate::run::{self, PlanAddress, RunSettings, SharedObserver, UnitReport};

const TASK_HELP: &str = "\
Exit codes: 0 done, or done before; 20 done for good, and blocked (the commit says why); 40 the plan is of another program or has no such unit;
30 a file is not split yet; 60 disk or store failed. After 30 and 60 another try may end otherwise.";

#[derive(Args)]
pub(super) struct TaskArgs {
    #[command(subcommand)]
    what: TaskCommand,
}

#[derive(Subcommand)]
enum TaskCommand {
    /// Splits files of a list by the buckets that it is built in. Before any unit of that task is built.
    #[command(after_help = TASK_HELP)]
    Split {
        #[command(flatten)]
        of: OfPlan,
        /// The task, as in the plan.
        #[arg(long, value_name = "TASK")]
        task: String,
        /// Numbers of files, counted from 0, as under `inputs` of the plan.
        #[arg(long, value_name = "N,…", value_delimiter = ',', required = true)]
        input: Vec<usize>,
    },
    /// Builds units and puts parts and receipts into the store.
    #[command(after_help = TASK_HELP)]
    Build {
        #[command(flatten)]
        of: OfPlan,
        /// The task, as in the plan.
        #[arg(long, value_name = "TASK")]
        task: String,
        /// Keys of units, as under `units` of the plan.
        #[arg(long, value_name = "KEY,…", value_delimiter = ',', required = true)]
        unit: Vec<String>,
    },
}

#[derive(Args)]
struct OfPlan {
    /// What `pubdata plan --write --json` prints as `plan`: an address, or its hash where --store is given.
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
}

impl OfPlan {
    /// The plan, and what it is worked on with. An address names the store too.
    fn open(&self, global: &Global) -> Result<(PlanAddress, RunSettings)> {
        let address: PlanAddress = self.plan.parse()?;
        let global = Global { store: address.store.clone().or_else(|| global.store.clone()), ..global.clone() };
        let settings = global.settings(global.declarations()?, "nightly")?;
        Ok((address, settings))
    }
}

pub(super) async fn task(global: &Global, arguments: &TaskArgs) -> Result<ExitCode> {
    let (task_id, units) = match &arguments.what {
        TaskCommand::Split { of, task, input } => {
            let (address, settings) = of.open(global)?;
            (task, run::split_inputs(&settings, &address, task, input).await?)
        }
        TaskCommand::Build { of, task, unit } => {
            let (address, settings) = of.open(global)?;
            (task, run::build_units(&settings, &address, task, unit).await?)
        }
    };
    if global.json {
        output::document("units", &serde_json::json!({ "task_id": task_id, "units": units }));
    } else {
        let mut rows = vec![vec!["UNIT".into(), "OUTCOME".into(), "ROWS".into(), "WHY".into()]];
        for unit in &units {
            let outcome = format!("{}{}", output::coloured(unit.outcome), if unit.is_known { output::dim(" before") } else { String::new() });
            rows.push(vec![unit.unit.clone(), outcome, output::grouped(unit.rows), unit.reason.clone().unwrap_or_default()]);
        }
        output::table(&rows);
    }
    Ok(ExitCode::from(exit_code(&units)))
}

/// What is worth another try comes before what is not.
fn exit_code(units: &[UnitReport]) -> u8 {
    let of = |outcome: &str| units.iter().filter(move |unit| unit.outcome == outcome).filter_map(|unit| unit.failure).map(ErrorKind::exit_code).max();
    of("failed").or_else(|| of("blocked")).unwrap_or(0)
}

pub(super) async fn commit(global: &Global, arguments: &CommitArgs) -> Result<ExitCode> {
    let (address, settings) = arguments.of.open(global)?;
    let settings = run::settings_of_plan(&settings, &address).await?;
    if arguments.after.test_message {
        return after_run::test(global, &settings, &arguments.after).await;
    }
    let progress = Arc::new(Progress::new());
    let observer: SharedObserver = progress.clone();
    let run_before = after_run::last_run_id(&settings);
    let report = run::commit(&settings, &address, &observer).await;
    progress.finish();
    // Nothing has happened yet of which anybody would have to be told.
    if !report.as_ref().is_err_and(|error: &Error| error.kind() == ErrorKind::Unfinished) {
        after_run::tell(&settings, &arguments.after, run_before.as_deref(), report.as_ref().err()).await;
    }
    let report = report?;
    if global.json {
        output::document("run", &report);
    } else {
        print_report(global, &report, &arguments.extent);
    }
    Ok(ExitCode::from(u8::from(report.exit_code)))
}
