//! Predicts the outcome of a task. If the task's code can run on the samples, uses a trial run;
//! otherwise, uses the responses from its URLs.

use std::collections::{BTreeMap, BTreeSet};

use super::address::PredictedTask;
use super::examined::Examined;
use super::report::{TaskOutcome, Verdict};
use super::trial_run::{self, TrialRun};
use super::{ProbeContext, ProbedAddress, Role, values};
use crate::reporting::findings;
use crate::reporting::findings::{FILE_MISSING, OPTIONAL_FILE_MISSING, PAGE_NOT_READ};
use crate::reporting::report::ExitCode;
use pubdata_build::datasets::{self, Build};
use pubdata_core::error::{ErrorKind, Result};
use pubdata_core::issue::{Severity, SourceFinding};
use pubdata_core::pipeline::Declarations;

/// Predicted outcome of a task.
pub(super) struct Prediction {
    pub(super) end: TaskOutcome,
    /// Reasons why the task would not be rebuilt.
    pub(super) reasons: Vec<String>,
    /// Findings that a run would report about its sources.
    pub(super) findings: Vec<SourceFinding>,
    pub(super) trial_run: Option<TrialRun>,
    /// Why no trial run took place.
    pub(super) not_sampled: Option<String>,
}

/// Runs trial runs on samples.
pub(super) struct TrialRuns<'n, 'p> {
    pub(super) context: &'n ProbeContext<'p>,
    pub(super) probed: &'n [ProbedAddress<'n>],
}

impl TrialRuns<'_, '_> {
    /// Predicts the outcome of a task from its URLs and a trial run on the samples.
    pub(super) async fn predict(
        &self,
        declarations: &Declarations,
        task: &PredictedTask<'_>,
    ) -> Result<Prediction> {
        let of_task: Vec<&ProbedAddress<'_>> = self
            .probed
            .iter()
            .filter(|probed| {
                task.sources
                    .iter()
                    .any(|(_, source)| source.source_id == probed.address.source.source_id)
            })
            .collect();
        let own = self.own_findings(task, &of_task);
        if let Some(reason) = not_sampled(task, &of_task) {
            return Ok(by_verdicts(&of_task, own, reason));
        }
        let mut keys: BTreeMap<String, Vec<BTreeMap<String, String>>> = BTreeMap::new();
        let files = || {
            self.probed
                .iter()
                .filter(|probed| probed.role == Role::File)
        };
        let is_absent = |probed: &ProbedAddress<'_>| {
            probed.examined.verdict() == Verdict::Absent && probed.fallback_file.is_none()
        };
        // A file that is not published yet does not need a sample.
        let is_none = |id: &str| {
            !files().any(|probed| probed.address.source.source_id == id && !is_absent(probed))
        };
        for probed in
            files().filter(|probed| !is_absent(probed) || is_none(&probed.address.source.source_id))
        {
            keys.entry(probed.address.source.source_id.clone())
                .or_default()
                .push(probed.address.request.keys.clone());
        }
        let parts: BTreeSet<String> = of_task
            .iter()
            .filter(|probed| probed.is_available() && !probed.examined.is_whole)
            .map(|probed| probed.address.source.source_id.clone())
            .collect();
        let declarations = trial_run::for_samples(declarations, &keys, &parts);
        self.context.observer.on_task_started(&task.task_id);
        match trial_run::trial_run(self.context, &declarations, &task.task_id).await {
            Ok(Some(trial_run)) => Ok(self.by_trial_run(task, &of_task, own, trial_run)),
            Ok(None) => Ok(by_verdicts(
                &of_task,
                own,
                "the trial run has no result for it".to_owned(),
            )),
            Err(error) if error.kind() == ErrorKind::Store => Err(error),
            Err(error) => Ok(Prediction {
                end: TaskOutcome::Blocked,
                reasons: vec![error.to_string()],
                findings: own,
                trial_run: None,
                not_sampled: None,
            }),
        }
    }

    /// Returns findings about the sources that cannot be detected in a trial run.
    fn own_findings(
        &self,
        task: &PredictedTask<'_>,
        probed: &[&ProbedAddress<'_>],
    ) -> Vec<SourceFinding> {
        let mut own: Vec<SourceFinding> = probed
            .iter()
            .filter_map(|probed| probed.finding())
            .collect();
        let mut names = task
            .declaration
            .sources
            .iter()
            .map(|source| &source.source_id)
            .chain([&task.declaration.pipeline_id]);
        if !self.context.fetcher.is_sample()
            && !names.any(|name| self.context.run.confirmed.contains(name))
        {
            own.extend(findings::unconfirmed_layout(
                task.declaration,
                task.declaration.layout_evidence(),
            ));
        }
        own
    }

    fn by_trial_run(
        &self,
        task: &PredictedTask<'_>,
        probed: &[&ProbedAddress<'_>],
        own: Vec<SourceFinding>,
        trial_run: TrialRun,
    ) -> Prediction {
        let is_caused_by_sampling = is_caused_by_sampling(probed, &trial_run);
        if trial_run.task.outcome == "blocked" && is_caused_by_sampling {
            return by_verdicts(
                probed,
                own,
                "its files are joined, and samples cannot show which of their rows match"
                    .to_owned(),
            );
        }
        // The mirror of samples only shows that a file is missing. The reason is in the publisher's
        // response.
        let missing: Vec<String> = probed
            .iter()
            .filter(|probed| probed.is_missing())
            .map(|probed| probed.reason())
            .collect();
        let broken: Vec<String> = probed
            .iter()
            .filter(|probed| is_broken(probed))
            .map(|probed| probed.reason())
            .collect();
        let was_built = self
            .context
            .given
            .published
            .as_ref()
            .is_some_and(|manifest| manifest.tasks.contains_key(&task.task_id));
        let is_not_yet = trial_run.task.outcome == "not_published"
            && !was_built
            && !probed
                .iter()
                .any(|probed| probed.address.source.required && probed.is_failed());
        let mut found: Vec<SourceFinding> = trial_run
            .task
            .findings
            .iter()
            .filter(|finding| !is_of_answers(finding))
            .cloned()
            .collect();
        found.extend(own);
        let (end, reasons) = match trial_run.task.outcome {
            "blocked" => (TaskOutcome::Blocked, trial_run.task.reasons.clone()),
            _ if is_not_yet => (TaskOutcome::NotPublished, trial_run.task.reasons.clone()),
            "missing" | "not_published" if !missing.is_empty() => (TaskOutcome::Missing, missing),
            // The file is not of the declared kind. A run would detect this during the build.
            "missing" | "not_published" if !broken.is_empty() => (TaskOutcome::Blocked, broken),
            "missing" | "not_published" => (TaskOutcome::Missing, trial_run.task.reasons.clone()),
            _ => {
                let is_odd = (trial_run.task.is_above_warning_level && !is_caused_by_sampling)
                    || trial_run.task.late_since.is_some()
                    || !unknown_values(&trial_run).is_empty();
                let of_rows = if is_odd {
                    ExitCode::Quarantined
                } else {
                    ExitCode::Ok
                };
                (
                    TaskOutcome::Built(
                        found
                            .iter()
                            .map(findings::exit_code)
                            .fold(of_rows, ExitCode::max),
                    ),
                    Vec::new(),
                )
            }
        };
        Prediction {
            end,
            reasons,
            findings: found,
            trial_run: Some(trial_run),
            not_sampled: None,
        }
    }
}

/// Predicts the outcome from the verdicts on the URLs alone.
fn by_verdicts(
    probed: &[&ProbedAddress<'_>],
    findings: Vec<SourceFinding>,
    reason: String,
) -> Prediction {
    let mut missing: Vec<String> = probed
        .iter()
        .filter(|probed| probed.is_missing())
        .map(|probed| probed.reason())
        .collect();
    let partial: BTreeSet<&str> = of_required(probed)
        .filter(|probed| probed.address.source.partial)
        .map(|probed| probed.address.source.source_id.as_str())
        .collect();
    for source_id in partial {
        if !probed.iter().any(|probed| {
            probed.role == Role::File
                && probed.address.source.source_id == source_id
                && probed.is_available()
        }) {
            missing.push(format!("{source_id}: none of its files arrived"));
        }
    }
    let changed = || {
        probed.iter().filter(|probed| {
            probed.is_available()
                && probed.fallback_file.is_none()
                && probed.examined.verdict() == Verdict::Changed
                && probed.role == Role::File
        })
    };
    let blocked: Vec<String> = changed()
        .filter(|probed| !has_new_columns_only(probed))
        .map(|probed| probed.reason())
        .collect();
    let (end, reasons) = if !missing.is_empty() {
        (TaskOutcome::Missing, missing)
    } else if !blocked.is_empty() {
        (TaskOutcome::Blocked, blocked)
    } else {
        let of_columns = if changed().next().is_some() {
            ExitCode::Quarantined
        } else {
            ExitCode::Ok
        };
        (
            TaskOutcome::Built(
                findings
                    .iter()
                    .map(findings::exit_code)
                    .fold(of_columns, ExitCode::max),
            ),
            Vec::new(),
        )
    };
    Prediction {
        end,
        reasons,
        findings,
        trial_run: None,
        not_sampled: Some(reason),
    }
}

fn of_required<'s, 'a>(
    probed: &'s [&'s ProbedAddress<'a>],
) -> impl Iterator<Item = &'s &'s ProbedAddress<'a>> {
    probed
        .iter()
        .filter(|probed| probed.role == Role::File && probed.address.source.required)
}

/// Returns true if a file differs from its declaration only by new columns, which runs accept.
fn has_new_columns_only(probed: &ProbedAddress<'_>) -> bool {
    let Examined { header, .. } = &probed.examined;
    probed.examined.verdict() == Verdict::Changed
        && header.missing.is_empty()
        && !header.new.is_empty()
        && !probed.address.source.closed
}

/// Returns true if a required file exists but not even a sample of it could be read.
fn is_broken(probed: &ProbedAddress<'_>) -> bool {
    probed.address.source.required
        && probed.examined.verdict() == Verdict::Changed
        && probed.is_available()
        && probed.examined.sample.is_none()
}

/// Returns true if a finding is about the fetch of a file. In a run on the mirror of samples, such
/// findings do not apply to the publishers.
fn is_of_answers(finding: &SourceFinding) -> bool {
    [FILE_MISSING, OPTIONAL_FILE_MISSING, PAGE_NOT_READ].contains(&finding.code.as_str())
}

/// Returns the reason why the dataset's code cannot run on the received files.
fn not_sampled(task: &PredictedTask<'_>, probed: &[&ProbedAddress<'_>]) -> Option<String> {
    if let Ok(builder) = datasets::builder(task.declaration)
        && matches!(builder.build, Build::Sharded(_))
    {
        return Some(super::excerpt::documents());
    }
    probed
        .iter()
        .find_map(|probed| probed.examined.not_sampled.clone())
}

/// Returns true if a trial run's issues may be caused by joining excerpts. This requires that all
/// files are as declared, several sources are joined, and at least one file is incomplete.
fn is_caused_by_sampling(probed: &[&ProbedAddress<'_>], trial_run: &TrialRun) -> bool {
    let there: Vec<&&ProbedAddress<'_>> = probed
        .iter()
        .filter(|probed| probed.role == Role::File && probed.is_available())
        .collect();
    let is_readable = |probed: &ProbedAddress<'_>| {
        probed.examined.verdict() == Verdict::Ok
            || has_new_columns_only(probed)
            || probed.fallback_file.is_some()
    };
    let is_as_declared = there.iter().all(|probed| is_readable(probed));
    let is_part = there.iter().any(|probed| !probed.examined.is_whole);
    let sources: BTreeSet<&String> = there
        .iter()
        .map(|probed| &probed.address.source.source_id)
        .collect();
    // An error within a single record also occurs in the complete file.
    let is_of_records = trial_run.issues.iter().any(|issue| {
        issue.code == "malformed_record"
            || (issue.severity == Severity::Block && issue.code.starts_with("unknown_"))
    });
    is_as_declared && is_part && sources.len() > 1 && !is_of_records
}

/// Returns terms that no table of the settings has, by kind.
pub(super) fn unknown_values(trial_run: &TrialRun) -> BTreeMap<String, BTreeSet<String>> {
    let mut unknown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for issue in &trial_run.issues {
        let Some(kind) = issue
            .code
            .strip_prefix("unmapped_")
            .or_else(|| issue.code.strip_prefix("unknown_"))
        else {
            continue;
        };
        // An issue of a contract quotes first the column, then the unknown value, and then all
        // allowed values.
        let (said, column) = issue
            .detail
            .split_once(", expected one of ")
            .map_or((issue.detail.as_str(), 0), |(said, _)| (said, 1));
        let words = values::quoted(said).skip(column).map(str::to_owned);
        unknown.entry(kind.to_owned()).or_default().extend(words);
    }
    unknown.retain(|_, words| !words.is_empty());
    unknown
}
