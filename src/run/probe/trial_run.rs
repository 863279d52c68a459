//! Runs one task on the samples in a temporary home, just as a real run would. Removes findings
//! that apply only to samples.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use super::ProbeContext;
use super::address::sample_url;
use crate::execute::run;
use crate::observer::{Observer, SharedObserver};
use crate::reporting::findings::issues_file;
use crate::reporting::report::{RunReport, TaskReport};
use crate::settings::{Chosen, RunSettings};
use pubdata_core::error::{IoExt, Result};
use pubdata_core::issue::Issue;
use pubdata_core::pipeline::{Declarations, Variable};
use pubdata_fetch::{FetchProgress, FetchSettings};
use pubdata_store::{Home, Releases};

/// Findings that are meaningless for a portion of a file.
const OF_WHOLE_FILES: [&str; 1] = ["empty_column"];

/// Result of a trial run on samples.
pub(super) struct TrialRun {
    pub(super) task: TaskReport,
    pub(super) issues: Vec<Issue>,
}

/// Runs a task on the mirror of samples in a temporary home, without keeping any results.
pub(super) async fn trial_run(
    context: &ProbeContext<'_>,
    declarations: &Declarations,
    task_id: &str,
) -> Result<Option<TrialRun>> {
    let home = context.temporary.home().scratch("night")?;
    let mirror = context.temporary.mirror().display().to_string();
    let settings = RunSettings {
        releases: Releases::open(&home, None)?,
        declarations: declarations.clone(),
        fetch: FetchSettings {
            mirrors: vec![mirror],
            clock: Arc::clone(&context.given.fetch.clock),
            ..FetchSettings::default()
        },
        channel: "nightly".to_owned(),
        selectors: vec![task_id.to_owned()],
        chosen: Chosen::default(),
        is_forced: false,
        is_offline: false,
        accepted: context.run.accepted.clone(),
        confirmed: context.run.confirmed.clone(),
        part_observer: None,
        home: home.clone(),
    };
    let observer: SharedObserver = Arc::new(NoopObserver);
    // The trial run's log is useless, because the paths in it no longer exist when it is read.
    let report = Box::pin(run(&settings, &observer))
        .with_subscriber(NoSubscriber::default())
        .await;
    let issues = report
        .as_ref()
        .map_or_else(|_| Ok(Vec::new()), |report| issues(&home, report));
    home.remove()?;
    let (report, issues) = (report?, issues?);
    Ok(report
        .tasks
        .into_iter()
        .find(|task| task.task_id == task_id)
        .map(|task| without_sampling(task, issues)))
}

fn issues(home: &Home, report: &RunReport) -> Result<Vec<Issue>> {
    let file = issues_file(home, &report.run_id);
    if !file.is_file() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&file).at("read", &file)?;
    Ok(text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}

/// Removes everything that applies only to samples.
fn without_sampling(mut task: TaskReport, issues: Vec<Issue>) -> TrialRun {
    // The file of all findings is deleted together with the home.
    task.reasons.iter_mut().for_each(|reason| {
        reason.truncate(
            reason
                .find(" (every finding is in ")
                .unwrap_or(reason.len()),
        );
    });
    task.findings
        .retain(|finding| !OF_WHOLE_FILES.contains(&finding.code.as_str()));
    TrialRun { task, issues }
}

/// Changes declarations so that a run reads samples. The run then reads only the requested files
/// and only the first page of paged lists, and uses no buckets. `parts` contains the sources with
/// incomplete rows.
pub(super) fn for_samples(
    declarations: &Declarations,
    requested: &BTreeMap<String, Vec<BTreeMap<String, String>>>,
    parts: &BTreeSet<String>,
) -> Declarations {
    let mut declarations = declarations.clone();
    for declaration in declarations.pipelines.values_mut() {
        if let Some(buckets) = &mut declaration.buckets {
            buckets.count = 1;
        }
        // The first rows of a list may contain no rows for secondary datasets, such as contractors.
        if declaration
            .sources
            .iter()
            .any(|source| parts.contains(&source.source_id))
        {
            for dataset_id in declaration.produces.iter().skip(1) {
                if let Some(expectations) = declaration.expect.get_mut(dataset_id) {
                    expectations.min_rows = 0;
                }
            }
        }
        for source in &mut declaration.sources {
            source.dated_by = None;
            source.url = sample_url(&source.url);
            if let Some(pages) = source.pages.take() {
                source
                    .variables
                    .insert(pages.variable, Variable::Values(vec!["0".to_owned()]));
            }
            let Some(keys) = requested
                .get(&source.source_id)
                .filter(|_| source.listing.is_none())
            else {
                continue;
            };
            for (name, variable) in &mut source.variables {
                let mut values: Vec<String> = keys
                    .iter()
                    .filter_map(|keys| keys.get(name).cloned())
                    .collect();
                values.sort();
                values.dedup();
                if !values.is_empty() {
                    *variable = Variable::Values(values);
                }
            }
        }
    }
    declarations
}

/// Observer that ignores all events, because a trial run does not display any progress.
struct NoopObserver;

impl FetchProgress for NoopObserver {
    fn started(&self, _url: &str, _total_bytes: Option<u64>) {}

    fn advanced(&self, _bytes: u64) {}

    fn finished(&self) {}
}

impl Observer for NoopObserver {
    fn on_fetch_started(&self, _files: usize) {}

    fn on_fetched(&self, _url: &str, _outcome: &str) {}

    fn on_task_started(&self, _task_id: &str) {}

    fn on_task_built(&self, _report: &TaskReport) {}
}
