//! Lists everything that needs the operator's attention, worst first. The list is the same after a
//! run and in `pubdata status`, which adds manual imports.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use super::tasks::ManualImports;
use crate::reporting::findings;
use crate::reporting::report::{ExitCode, TaskReport};
use pubdata_store::LedgerEntry;

/// One item that needs attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Attention {
    /// The task; null if the item concerns a run as a whole, or a file in the home.
    pub task_id: Option<String>,
    /// `failed`, `blocked`, `missing`, `late`, `set_aside`, `import_due` (a file needs a manual
    /// import), `unreadable` (a file of the home), or the code of a finding about a source.
    pub what: String,
    /// Time since which the problem exists, as an instant (RFC 3339 UTC), or as a day for an
    /// edition that is late; null if unknown.
    pub since: Option<String>,
    /// True if the release still contains a build of the task.
    pub is_in_release: bool,
    /// True if the operator's selection allows the task to fail without affecting the exit code.
    pub is_optional: bool,
    /// Reason, which can be understood alone.
    pub reason: String,
    /// Next step, with the command to type; null if only the publisher can act.
    pub next_step: Option<String>,
}

/// Lists the tasks that need attention, worst first. Tasks that were never published come before
/// tasks with an earlier build, and rejected files come before missing files.
pub fn attention(tasks: &[TaskReport]) -> Vec<Attention> {
    let mut found: Vec<(u8, Attention)> = tasks.iter().flat_map(of_task).collect();
    found.sort_by(|a, b| (a.0, &a.1.what, &a.1.task_id).cmp(&(b.0, &b.1.what, &b.1.task_id)));
    found.into_iter().map(|(_, attention)| attention).collect()
}

/// Returns the item for the last run if it did not complete.
pub fn of_failed_run(run: &LedgerEntry) -> Option<Attention> {
    (run.outcome == "failed").then(|| Attention {
        task_id: None,
        what: "failed".to_owned(),
        since: Some(run.ended_at.clone()),
        is_in_release: run.release_id.is_some(),
        is_optional: false,
        reason: format!(
            "the last run ended with {}: {}",
            run.exit_code,
            run.error.as_deref().unwrap_or_default()
        ),
        next_step: Some("fix the cause that the reason names, then `pubdata run`".to_owned()),
    })
}

/// Lists the imported files for which a newer version is due, unless their tasks already report
/// this. Also lists the files in the home that cannot be read. A file that was never imported
/// counts as missing once a run has tried its task.
pub fn of_manual_imports(
    manual: &ManualImports,
    today: Date,
    of_tasks: &[Attention],
) -> Vec<Attention> {
    let mut found = Vec::new();
    for file in manual
        .files
        .iter()
        .filter(|file| file.source_date.is_some() && file.is_due(today))
    {
        let is_reported = |need: &Attention| {
            need.task_id.as_ref() == Some(&file.pipeline_id)
                && ["missing", "late"].contains(&need.what.as_str())
        };
        if !of_tasks.iter().any(is_reported) {
            found.push(Attention {
                task_id: Some(file.pipeline_id.clone()),
                what: "import_due".to_owned(),
                since: file.due.map(|due| due.to_string()),
                is_in_release: true,
                is_optional: false,
                reason: format!(
                    "{}: this file needs a manual import, and a newer one is due",
                    file.source_id
                ),
                next_step: Some(format!(
                    "download {}, then `pubdata import {} FILE`",
                    file.url, file.source_id
                )),
            });
        }
    }
    found.extend(manual.unreadable.iter().map(|reason| Attention {
        task_id: None,
        what: "unreadable".to_owned(),
        since: None,
        is_in_release: true,
        is_optional: false,
        reason: format!("{reason}: the list of imported files may be incomplete"),
        next_step: Some("give the user the right to the file, or repair its disk; a run stops there until then".to_owned()),
    }));
    found
}

fn of_task(task: &TaskReport) -> Vec<(u8, Attention)> {
    let pipeline_id = task.task_id.split('/').next().unwrap_or(&task.task_id);
    let need =
        |what: &str, since: Option<String>, reason: String, next_step: Option<String>| Attention {
            task_id: Some(task.task_id.clone()),
            what: what.to_owned(),
            since,
            is_in_release: task.is_in_release,
            is_optional: task.is_optional,
            reason,
            next_step,
        };
    let later = if task.is_optional { 20 } else { 0 };
    let mut found = Vec::new();
    match task.outcome {
        "blocked" => {
            let probe = format!(
                "`pubdata probe {pipeline_id}` shows what the publisher has and suggests lines"
            );
            let next_step = match &task.next_step {
                Some(step) if step.contains("`pubdata ") => step.clone(),
                Some(step) => format!("{step}; {probe}"),
                None => probe,
            };
            found.push((
                u8::from(task.is_in_release) * 2,
                need(
                    "blocked",
                    task.since.clone(),
                    task.reasons.join("; "),
                    Some(next_step),
                ),
            ));
        }
        "missing" => {
            let next_step = format!(
                "the next run asks again; `pubdata probe {pipeline_id}` asks now and suggests what to do"
            );
            found.push((
                1 + u8::from(task.is_in_release) * 2 + later,
                need(
                    "missing",
                    task.since.clone(),
                    task.reasons.join("; "),
                    Some(next_step),
                ),
            ));
        }
        _ => {}
    }
    if let Some(day) = task.late_since {
        let next_step = format!(
            "look at the publisher's page; `pubdata probe {pipeline_id}` shows what it has"
        );
        found.push((
            6 + later,
            need(
                "late",
                Some(day.to_string()),
                "the publisher's next edition should be there by its calendar".to_owned(),
                Some(next_step),
            ),
        ));
    }
    if task.is_above_warning_level {
        let rules = task.quarantined.iter().flat_map(|(dataset_id, rules)| {
            rules
                .iter()
                .map(move |(rule, count)| format!("{dataset_id} {rule} {count}"))
        });
        let next_step = format!(
            "read `pubdata.quarantine`, or the run's issues.jsonl; a wrong declaration is corrected with `pubdata probe {pipeline_id}`"
        );
        let reason = format!(
            "more records were quarantined than the declared level: {}",
            rules.collect::<Vec<_>>().join(", ")
        );
        found.push((7, need("set_aside", None, reason, Some(next_step))));
    }
    for finding in &task.findings {
        let rank = match findings::exit_code(finding) {
            ExitCode::Ok => continue,
            ExitCode::Quarantined => 8,
            ExitCode::SourceMissing | ExitCode::Blocked => 5,
        };
        let later = if findings::is_about_fetch(finding) {
            later
        } else {
            0
        };
        let next_step = findings::next_step(finding, pipeline_id);
        found.push((
            rank + later,
            need(
                &finding.code,
                None,
                format!("{}: {}", finding.source_id, finding.detail),
                Some(next_step),
            ),
        ));
    }
    found
}
