//! Answers `GET /v1/admin/status`: shows the program, the release, every task with its newest run,
//! and the newest runs. Reasons are complete and include paths on the server, which other answers
//! omit.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{self, Instant};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::format;
use crate::http::problem::Result;
use crate::json::Json;
use crate::release::freshness::{Freshness, freshness_of_task};
use pubdata_core::error::Error;
use pubdata_core::ids::ReleaseId;
use pubdata_store::{IMPORTED, LedgerEntry, LedgerTask, Scope, WITHDRAWN, read_ledger};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/admin/status",
    operation_id: "getStatus",
    summary: "Program, release, tasks and newest runs, in full",
    access: Access::Scope(Scope::Admin),
    parameters: &[format("tasks")],
    body: None,
    data: Data::for_type::<StatusReport<'static>>(),
    cache_policy: CachePolicy::NoStore,
    handler: Handler::Files(|call, json| status(call, json).boxed()),
};

#[derive(Serialize, JsonSchema)]
struct StatusReport<'a> {
    /// Version and build of the running program.
    program: Program,
    /// The release that is served.
    release: ServedRelease<'a>,
    /// Tasks in the release, and tasks that runs tried but never published.
    tasks: Vec<Task<'a>>,
    /// Runs of all channels in the home, newest first.
    runs: Vec<Run<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StatusReportProgram")]
struct Program {
    /// Version of the running program.
    pubdata_version: &'static str,
    /// Digest that changes with the program and its contracts.
    #[schemars(extend("pattern" = "^[0-9a-f]{16}$"))]
    build: String,
    /// Time at which the server started, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    started_at: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StatusReportRelease")]
struct ServedRelease<'a> {
    /// Identifier of the release.
    release_id: &'a str,
    /// Channel that the server follows.
    channel: &'a str,
    /// Time at which the release was published, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    published_at: Instant<'a>,
    /// Identifier of the run that made the release.
    run_id: &'a str,
    /// Version of the program that made the release.
    pubdata_version: &'a str,
    /// True if the release was built from sample files instead of the publishers' complete files.
    is_sample: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StatusReportTask")]
struct Task<'a> {
    /// Identifier of the task: a pipeline and its partition, such as `census.acs5/vintage=2023`.
    task_id: &'a str,
    /// False if the release has no build of the task.
    is_published: bool,
    /// Age of the task's newest source file compared with the publisher's cadence; null if the
    /// release has no build of the task.
    freshness: Option<Freshness>,
    /// True if the last attempt to build the task again failed; the release has its last good
    /// build.
    is_stale: bool,
    /// Day since which the publisher's next edition is late by its calendar; null if it is on time
    /// or no calendar is known.
    #[schemars(with = "Option<answer::Date>")]
    late_since: Option<Date>,
    /// Time of the build in the release, RFC 3339 UTC; null if the release has none.
    #[schemars(extend("format" = "date-time"))]
    built_at: Option<&'a str>,
    /// Outcome of the task in the newest run that included it; null if no run of this home did.
    outcome: Option<&'a str>,
    /// Complete reason for the task's outcome; null if no reason is recorded.
    reason: Option<&'a str>,
    /// Newest run that included the task; null if no run of this home did.
    run_id: Option<&'a str>,
    /// Number of records that the newest run built; null if no run of this home included the task.
    rows: Option<u64>,
    /// Number of records that the newest run quarantined; null if no run of this home included the
    /// task.
    quarantined_rows: Option<u64>,
    /// Issues in the task's sources, from the release and the newest run.
    findings: Vec<Finding<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StatusReportTaskFinding")]
struct Finding<'a> {
    /// Identifier of the source.
    source_id: &'a str,
    /// Stable code of the issue, such as `new_column`.
    code: &'a str,
    /// Description of the issue.
    detail: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StatusReportRun")]
struct Run<'a> {
    /// Identifier of the run.
    run_id: &'a str,
    /// Channel that the run published to.
    channel: &'a str,
    /// Time at which the run started, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    started_at: &'a str,
    /// Time at which the run ended, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    ended_at: &'a str,
    /// Outcome of the run: `published`, `unchanged` or `failed`.
    outcome: &'a str,
    /// Exit code of the run's process.
    exit_code: u32,
    /// Release that the channel pointed at after the run; null if it had none.
    release_id: Option<&'a str>,
    /// Reason why the run failed; null if it did not fail.
    error: Option<&'a str>,
}

/// Maximum number of runs in the answer.
const RUNS: usize = 10;

/// Newest run that included a task, and the task's outcome in it.
type NewestOutcome<'a> = (&'a LedgerEntry, &'a LedgerTask);

async fn status(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let home = call.service.home.clone();
    let reading = tokio::task::spawn_blocking(move || read_ledger(&home));
    let ledger = reading
        .await
        .map_err(|error| Error::store(format!("reading the ledger failed: {error}")))??;
    let mut last: BTreeMap<&str, NewestOutcome<'_>> = BTreeMap::new();
    for run in ledger
        .iter()
        .filter(|run| run.channel == call.service.catalog.channel())
    {
        last.extend(
            run.tasks
                .iter()
                .map(|(task_id, task)| (task_id.as_str(), (run, task))),
        );
    }
    let manifest = &call.release.manifest;
    let known: BTreeSet<&str> = manifest
        .tasks
        .keys()
        .map(String::as_str)
        .chain(last.keys().copied())
        .collect();
    let is_run = |run: &&LedgerEntry| run.outcome != IMPORTED && run.outcome != WITHDRAWN;
    json.value(&StatusReport {
        program: Program {
            pubdata_version: env!("CARGO_PKG_VERSION"),
            build: call.service.program.short(16),
            started_at: call.service.usage.since().to_string(),
        },
        release: ServedRelease {
            release_id: manifest.release_id.as_str(),
            channel: call.service.catalog.channel(),
            published_at: Instant(&manifest.published_at),
            run_id: &manifest.run_id,
            pubdata_version: &manifest.pubdata_version,
            is_sample: manifest.is_sample,
        },
        tasks: known
            .into_iter()
            .map(|task_id| Task::new(call, task_id, last.get(task_id).copied()))
            .collect(),
        runs: ledger
            .iter()
            .rev()
            .filter(is_run)
            .take(RUNS)
            .map(Run::from_entry)
            .collect(),
    });
    Ok(Meta::default())
}

impl<'a> Task<'a> {
    fn new(call: &'a Call<'_>, task_id: &'a str, last: Option<NewestOutcome<'a>>) -> Self {
        let manifest = &call.release.manifest;
        let entry = manifest.tasks.get(task_id);
        let findings: BTreeSet<_> = entry
            .iter()
            .flat_map(|entry| &entry.findings)
            .chain(last.iter().flat_map(|(_, task)| &task.findings))
            .collect();
        Self {
            task_id,
            is_published: entry.is_some(),
            freshness: entry.map(|_| freshness_of_task(manifest, task_id, call.today())),
            is_stale: entry.is_some_and(|entry| entry.is_stale),
            late_since: manifest.late_since(task_id, call.today()),
            built_at: entry.map(|entry| entry.built_at.as_str()),
            outcome: last.map(|(_, task)| task.outcome.as_str()),
            reason: last
                .and_then(|(_, task)| task.reason.as_deref())
                .or_else(|| entry?.stale_reason.as_deref()),
            run_id: last.map(|(run, _)| run.run_id.as_str()),
            rows: last.map(|(_, task)| task.rows),
            quarantined_rows: last.map(|(_, task)| task.quarantined_rows),
            findings: findings
                .into_iter()
                .map(|finding| Finding {
                    source_id: &finding.source_id,
                    code: &finding.code,
                    detail: &finding.detail,
                })
                .collect(),
        }
    }
}

impl<'a> Run<'a> {
    fn from_entry(run: &'a LedgerEntry) -> Self {
        Self {
            run_id: &run.run_id,
            channel: &run.channel,
            started_at: &run.started_at,
            ended_at: &run.ended_at,
            outcome: &run.outcome,
            exit_code: u32::from(run.exit_code),
            release_id: run.release_id.as_ref().map(ReleaseId::as_str),
            error: run.error.as_deref(),
        }
    }
}
