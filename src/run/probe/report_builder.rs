//! Converts predictions into the report. Each URL is reported with the outcome that it causes
//! itself, not one that another source causes.

use std::collections::BTreeMap;

use super::address::PredictedTask;
use super::corrections::Tried;
use super::edit::{self, Edit, Edits};
use super::predict::{Prediction, unknown_values};
use super::report::{LastBuild, ProbedSource, ProbedTask, Sample, TaskOutcome, Verdict};
use super::trial_run::TrialRun;
use super::{ProbeContext, ProbedAddress, Role};
use crate::reporting::findings;
use crate::reporting::report::ExitCode;
use pubdata_core::error::Result;
use pubdata_core::issue::Severity;
use pubdata_core::provenance::SourceRows;
use pubdata_fetch::recorded_url;

/// Converts predictions into the report of each task and each URL.
pub(super) struct ReportBuilder<'t> {
    pub(super) context: &'t ProbeContext<'t>,
    pub(super) tasks: &'t [PredictedTask<'t>],
    pub(super) probed: &'t [ProbedAddress<'t>],
    pub(super) predictions: &'t [Prediction],
    pub(super) edits: &'t Edits,
    /// Results of tasks with the suggestions applied.
    pub(super) tried: &'t Tried,
}

/// A task that reads a source, with its prediction.
type Reader<'t> = (&'t PredictedTask<'t>, &'t Prediction);

impl<'t> ReportBuilder<'t> {
    pub(super) fn tasks(&self) -> Vec<ProbedTask> {
        let to_report = |(task, prediction): Reader<'_>| {
            let last = self.context.last_build(&task.task_id);
            ProbedTask {
                task_id: task.task_id.clone(),
                predicted: prediction.end.predicted_outcome(last),
                outcome: prediction.end,
                is_in_release: last == LastBuild::Stays
                    || matches!(prediction.end, TaskOutcome::Built(_)),
                reasons: self.reasons(prediction),
                rows: prediction
                    .trial_run
                    .as_ref()
                    .map(|trial_run| trial_run.task.rows.clone())
                    .unwrap_or_default(),
                not_sampled: prediction.not_sampled.clone(),
                with_suggestions: self
                    .tried
                    .get(&task.task_id)
                    .map(|(predicted, _)| *predicted),
            }
        };
        self.tasks
            .iter()
            .zip(self.predictions)
            .map(to_report)
            .collect()
    }

    pub(super) fn sources(&self) -> Result<Vec<ProbedSource>> {
        self.probed
            .iter()
            .map(|probed| self.source(probed))
            .collect()
    }

    /// Returns the reasons why a task would be stale. If the task would not be stale, returns what
    /// needs attention. The format is the same as in a run.
    fn reasons(&self, prediction: &Prediction) -> Vec<String> {
        if !matches!(prediction.end, TaskOutcome::Built(_)) {
            return prediction.reasons.clone();
        }
        prediction
            .findings
            .iter()
            .map(|finding| format!("{} {}: {}", finding.code, finding.source_id, finding.detail))
            .collect()
    }

    fn source(&self, probed: &ProbedAddress<'_>) -> Result<ProbedSource> {
        let source_id = &probed.address.source.source_id;
        let declarations = &self.context.given.declarations;
        let owner = declarations.source(source_id).map(|(owner, _)| owner);
        let is_main = owner.is_some_and(|owner| {
            owner
                .sources
                .first()
                .is_some_and(|first| first.source_id == *source_id)
        });
        let readers: Vec<Reader<'_>> = self
            .tasks
            .iter()
            .zip(self.predictions)
            .filter(|(task, _)| {
                task.sources
                    .iter()
                    .any(|(_, source)| source.source_id == *source_id)
            })
            .collect();
        let is_reported_with = self.is_reported_with(probed);
        let of_own = owner
            .and_then(|owner| self.edits.get(&owner.pipeline_id))
            .into_iter()
            .flatten();
        let own: Vec<Edit> = of_own
            .filter(|edit| is_reported_with && edit.is_of(source_id, is_main))
            .cloned()
            .collect();
        let suggestion = match owner {
            Some(owner) if !own.is_empty() => {
                Some(edit::show(&declarations.files, &owner.pipeline_id, &own)?)
            }
            _ => None,
        };
        let with_suggestions = suggestion.as_ref().and_then(|_| {
            readers
                .iter()
                .filter_map(|(task, _)| self.tried.get(&task.task_id))
                .max_by_key(|(predicted, _)| *predicted)
        });
        let records = probed.examined.records;
        let sampled = readers.iter().find_map(|(_, prediction)| {
            Some(sample(
                prediction.trial_run.as_ref()?,
                source_id,
                is_main,
                records,
            ))
        });
        let outcomes = readers.iter().map(|reader| {
            (
                self.because_of(probed, *reader),
                self.context.last_build(&reader.0.task_id),
            )
        });
        let (outcome, last) = outcomes
            .max()
            .unwrap_or((TaskOutcome::Built(ExitCode::Ok), LastBuild::None));
        let not_sampled = readers
            .iter()
            .find_map(|(_, prediction)| prediction.not_sampled.clone())
            .filter(|_| probed.is_available() && probed.role == Role::File);
        let is_without = !probed.address.source.required && !probed.is_available();
        let problem = probed.examined.problem.clone().map(|problem| {
            if is_without {
                format!("{problem}; the build can do without it")
            } else {
                problem
            }
        });
        Ok(ProbedSource {
            source_id: source_id.clone(),
            url: recorded_url(&probed.address.request.url)?,
            verdict: probed.examined.verdict(),
            status: probed.examined.status,
            predicted: outcome.predicted_outcome(last),
            outcome,
            problem,
            hints: probed.examined.hints.clone(),
            in_use: probed.examined.in_use.clone(),
            header: probed.examined.header.clone(),
            sample: sampled.filter(|_| is_reported_with && probed.is_available()),
            not_sampled: probed.examined.not_sampled.clone().or(not_sampled),
            suggestion,
            with_suggestions: with_suggestions.map(|(predicted, _)| *predicted),
            remaining: with_suggestions
                .map(|(_, reasons)| reasons.clone())
                .unwrap_or_default(),
        })
    }

    /// Returns true if a source's rows and suggestions are reported with this URL, which is the
    /// first available one.
    fn is_reported_with(&self, probed: &ProbedAddress<'_>) -> bool {
        let of_source = || {
            self.probed.iter().filter(|other| {
                other.role == Role::File
                    && other.address.source.source_id == probed.address.source.source_id
            })
        };
        let first = of_source()
            .find(|other| other.is_available())
            .or_else(|| of_source().next());
        first.is_some_and(|first| std::ptr::eq(first, probed))
    }

    /// Returns the outcome of a task that this URL causes, ignoring problems of other sources.
    fn because_of(
        &self,
        probed: &ProbedAddress<'_>,
        (task, prediction): Reader<'_>,
    ) -> TaskOutcome {
        let own_finding = probed
            .finding()
            .map_or(ExitCode::Ok, |finding| findings::exit_code(&finding));
        if probed.is_missing() {
            return prediction.end;
        }
        if !probed.is_available() || probed.role != Role::File {
            return TaskOutcome::Built(own_finding);
        }
        let is_of_task = |other: &ProbedAddress<'_>| {
            task.sources
                .iter()
                .any(|(_, source)| source.source_id == other.address.source.source_id)
        };
        let is_ok = |other: &ProbedAddress<'_>| {
            other.examined.verdict() == Verdict::Ok || other.fallback_file.is_some()
        };
        let has_other = self.probed.iter().any(|other| {
            is_of_task(other) && other.role == Role::File && !is_ok(other) && other.is_available()
        });
        match prediction.end {
            TaskOutcome::Blocked if is_ok(probed) && (has_other || probed.address.is_lookup) => {
                TaskOutcome::Built(own_finding)
            }
            end @ TaskOutcome::Blocked => end,
            TaskOutcome::Built(code) => {
                let own = prediction
                    .findings
                    .iter()
                    .filter(|finding| finding.source_id == probed.address.source.source_id)
                    .map(findings::exit_code);
                let of_findings = prediction
                    .findings
                    .iter()
                    .map(findings::exit_code)
                    .max()
                    .unwrap_or(ExitCode::Ok);
                // Problems in rows are reported with the pipeline's first source.
                let is_first = task
                    .declaration
                    .sources
                    .first()
                    .is_some_and(|first| first.source_id == probed.address.source.source_id);
                let of_rows = if is_first && code > of_findings {
                    code
                } else {
                    ExitCode::Ok
                };
                let of_columns = if is_ok(probed) { ExitCode::Ok } else { code };
                TaskOutcome::Built(
                    own.fold(own_finding.max(of_rows).max(of_columns), ExitCode::max),
                )
            }
            _ => TaskOutcome::Built(own_finding),
        }
    }
}

/// Counts how the rows of one source were used. Issues without a source are assigned to the
/// pipeline's first source.
fn sample(trial_run: &TrialRun, source_id: &str, is_main: bool, records: u64) -> Sample {
    // A blocked trial run does not account for its rows.
    let counts = trial_run
        .task
        .source_rows
        .get(source_id)
        .cloned()
        .unwrap_or_else(|| SourceRows {
            read: records,
            ..SourceRows::default()
        });
    let mut quarantined: BTreeMap<String, u64> = BTreeMap::new();
    for issue in trial_run
        .issues
        .iter()
        .filter(|issue| issue.severity == Severity::Quarantine)
    {
        let is_own = issue
            .pointer
            .as_ref()
            .map_or(is_main, |pointer| pointer.source_id == source_id);
        if is_own {
            *quarantined.entry(issue.code.clone()).or_default() += 1;
        }
    }
    let unknown_values = if is_main {
        unknown_values(trial_run)
    } else {
        BTreeMap::new()
    };
    Sample {
        rows: counts.read,
        accepted: counts.records + counts.merged,
        quarantined,
        unknown_values,
    }
}
