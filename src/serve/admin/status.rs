//! Answers `GET /v1/admin/status`: program, release, each task with the last word of the runs on it, and the newest runs. Reasons are told in
//! full, with the places on the server that other answers leave out.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt;

use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::format;
use crate::http::problem::Result;
use crate::json::Json;
use crate::release::freshness::freshness_of_task;
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
    data: Data::Written("StatusReport"),
    validity: Validity::Moment,
    handler: Handler::Files(|call, json| status(call, json).boxed()),
};

/// Runs that are told.
const RUNS: usize = 10;

/// The newest run that had a task, and what became of it there.
type LastWord<'a> = (&'a LedgerEntry, &'a LedgerTask);

async fn status(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let home = call.service.home.clone();
    let reading = tokio::task::spawn_blocking(move || read_ledger(&home));
    let ledger = reading.await.map_err(|error| Error::store(format!("reading the ledger failed: {error}")))??;
    let mut last: BTreeMap<&str, LastWord<'_>> = BTreeMap::new();
    for run in ledger.iter().filter(|run| run.channel == call.service.catalog.channel()) {
        last.extend(run.tasks.iter().map(|(task_id, task)| (task_id.as_str(), (run, task))));
    }
    let manifest = &call.release.manifest;
    json.object(|json| {
        json.key("program").object(|json| {
            json.key("pubdata_version").text(env!("CARGO_PKG_VERSION"));
            json.key("build").text(&call.service.program.short(16));
            json.key("started_at").text(&call.service.usage.since().to_string());
        });
        json.key("release").object(|json| {
            json.key("release_id").text(manifest.release_id.as_str());
            json.key("channel").text(call.service.catalog.channel());
            json.key("published_at").instant(&manifest.published_at);
            json.key("run_id").text(&manifest.run_id);
            json.key("pubdata_version").text(&manifest.pubdata_version);
            json.key("is_sample").flag(manifest.is_sample);
        });
        let known: BTreeSet<&str> = manifest.tasks.keys().map(String::as_str).chain(last.keys().copied()).collect();
        json.key("tasks").array(|json| known.into_iter().for_each(|task_id| write_task(json, call, task_id, last.get(task_id).copied())));
        let is_run = |run: &&LedgerEntry| run.outcome != IMPORTED && run.outcome != WITHDRAWN;
        json.key("runs").array(|json| ledger.iter().rev().filter(is_run).take(RUNS).for_each(|run| write_run(json, run)));
    });
    Ok(Meta::default())
}

fn write_task(json: &mut Json, call: &Call<'_>, task_id: &str, last: Option<LastWord<'_>>) {
    let manifest = &call.release.manifest;
    let entry = manifest.tasks.get(task_id);
    let reason = last.and_then(|(_, task)| task.reason.as_deref()).or_else(|| entry?.stale_reason.as_deref());
    let rows = |of: fn(&LedgerTask) -> u64| last.map(|(_, task)| of(task));
    json.object(|json| {
        json.key("task_id").text(task_id);
        json.key("is_published").flag(entry.is_some());
        json.key("freshness").optional_text(entry.map(|_| freshness_of_task(manifest, task_id, call.today()).name()));
        json.key("is_stale").flag(entry.is_some_and(|entry| entry.is_stale));
        json.key("late_since").optional_text(manifest.late_since(task_id, call.today()).map(|day| day.to_string()).as_deref());
        json.key("built_at").optional_text(entry.map(|entry| entry.built_at.as_str()));
        json.key("outcome").optional_text(last.map(|(_, task)| task.outcome.as_str()));
        json.key("reason").optional_text(reason);
        json.key("run_id").optional_text(last.map(|(run, _)| run.run_id.as_str()));
        json.key("rows").optional_integer(rows(|task| task.rows).map(u64::cast_signed));
        json.key("quarantined_rows").optional_integer(rows(|task| task.quarantined_rows).map(u64::cast_signed));
        let findings: BTreeSet<_> = entry.iter().flat_map(|entry| &entry.findings).chain(last.iter().flat_map(|(_, task)| &task.findings)).collect();
        json.key("findings").array(|json| findings.into_iter().for_each(|finding| json.value(finding)));
    });
}

fn write_run(json: &mut Json, run: &LedgerEntry) {
    json.object(|json| {
        json.key("run_id").text(&run.run_id);
        json.key("channel").text(&run.channel);
        json.key("started_at").text(&run.started_at);
        json.key("ended_at").text(&run.ended_at);
        json.key("outcome").text(&run.outcome);
        json.key("exit_code").count(u64::from(run.exit_code));
        json.key("release_id").optional_text(run.release_id.as_ref().map(ReleaseId::as_str));
        json.key("error").optional_text(run.error.as_deref());
    });
}
