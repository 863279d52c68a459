//! Predicts the outcome of a task: by a trial run if its code can run on the samples, otherwise by
//! the responses of its addresses.

use std::collections::{BTreeMap, BTreeSet};

use super::address::PredictedTask;
use super::examined::Examined;
use super::night::{self, Night};
use super::report::{End, Verdict};
use super::{Asked, ProbeContext, Role, values};
use crate::reporting::findings;
use crate::reporting::findings::{FILE_MISSING, OPTIONAL_FILE_MISSING, PAGE_NOT_READ};
use crate::reporting::report::ExitCode;
use pubdata_build::datasets::{self, Build};
use pubdata_core::error::{ErrorKind, Result};
use pubdata_core::issue::{Severity, SourceFinding};
use pubdata_core::pipeline::Declarations;

/// Predicted outcome of a task.
pub(super) struct Prediction {
    pub(super) end: End,
    /// Why it would not be rebuilt.
    pub(super) reasons: Vec<String>,
    /// Findings that a run would report about its sources.
    pub(super) findings: Vec<SourceFinding>,
    pub(super) night: Option<Night>,
    /// Why no trial run took place.
    pub(super) not_sampled: Option<String>,
}

/// Runs trial runs on samples.
pub(super) struct Nights<'n, 'p> {
    pub(super) context: &'n ProbeContext<'p>,
    pub(super) asked: &'n [Asked<'n>],
}

impl Nights<'_, '_> {
    /// Predicts the outcome of a task from its addresses and a trial run on the samples.
    pub(super) async fn predict(
        &self,
        declarations: &Declarations,
        task: &PredictedTask<'_>,
    ) -> Result<Prediction> {
        let of_task: Vec<&Asked<'_>> = self
            .asked
            .iter()
            .filter(|asked| {
                task.sources
                    .iter()
                    .any(|(_, source)| source.source_id == asked.address.source.source_id)
            })
            .collect();
        let own = self.own_findings(task, &of_task);
        if let Some(reason) = not_sampled(task, &of_task) {
            return Ok(by_verdicts(&of_task, own, reason));
        }
        let mut keys: BTreeMap<String, Vec<BTreeMap<String, String>>> = BTreeMap::new();
        let files = || self.asked.iter().filter(|asked| asked.role == Role::File);
        let is_absent = |asked: &Asked<'_>| {
            asked.examined.verdict() == Verdict::Absent && asked.fallback_file.is_none()
        };
        // An unpublished file does not need a sample.
        let is_none = |id: &str| {
            !files().any(|asked| asked.address.source.source_id == id && !is_absent(asked))
        };
        for asked in
            files().filter(|asked| !is_absent(asked) || is_none(&asked.address.source.source_id))
        {
            keys.entry(asked.address.source.source_id.clone())
                .or_default()
                .push(asked.address.request.keys.clone());
        }
        let parts: BTreeSet<String> = of_task
            .iter()
            .filter(|asked| asked.is_available() && !asked.examined.is_whole)
            .map(|asked| asked.address.source.source_id.clone())
            .collect();
        let declarations = night::for_samples(declarations, &keys, &parts);
        self.context.observer.building(&task.task_id);
        match night::night(self.context, &declarations, &task.task_id).await {
            Ok(Some(night)) => Ok(self.by_trial_run(task, &of_task, own, night)),
            Ok(None) => Ok(by_verdicts(
                &of_task,
                own,
                "the trial run has no result for it".to_owned(),
            )),
            Err(error) if error.kind() == ErrorKind::Store => Err(error),
            Err(error) => Ok(Prediction {
                end: End::Blocked,
                reasons: vec![error.to_string()],
                findings: own,
                night: None,
                not_sampled: None,
            }),
        }
    }

    /// Returns findings about the sources that a trial run cannot reveal.
    fn own_findings(&self, task: &PredictedTask<'_>, asked: &[&Asked<'_>]) -> Vec<SourceFinding> {
        let mut own: Vec<SourceFinding> =
            asked.iter().filter_map(|asked| asked.finding()).collect();
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
        asked: &[&Asked<'_>],
        own: Vec<SourceFinding>,
        night: Night,
    ) -> Prediction {
        let is_caused_by_sampling = is_caused_by_sampling(asked, &night);
        if night.task.outcome == "blocked" && is_caused_by_sampling {
            return by_verdicts(
                asked,
                own,
                "its files are joined, and samples cannot show which of their rows match"
                    .to_owned(),
            );
        }
        // The mirror of samples only shows that a file is missing; the publisher's response gives
        // the reason.
        let missing: Vec<String> = asked
            .iter()
            .filter(|asked| asked.is_missing())
            .map(|asked| asked.reason())
            .collect();
        let broken: Vec<String> = asked
            .iter()
            .filter(|asked| is_broken(asked))
            .map(|asked| asked.reason())
            .collect();
        let was_built = self
            .context
            .given
            .published
            .as_ref()
            .is_some_and(|manifest| manifest.tasks.contains_key(&task.task_id));
        let is_not_yet = night.task.outcome == "not_published"
            && !was_built
            && !asked
                .iter()
                .any(|asked| asked.address.source.required && asked.is_failed());
        let mut found: Vec<SourceFinding> = night
            .task
            .findings
            .iter()
            .filter(|finding| !is_of_answers(finding))
            .cloned()
            .collect();
        found.extend(own);
        let (end, reasons) = match night.task.outcome {
            "blocked" => (End::Blocked, night.task.reasons.clone()),
            _ if is_not_yet => (End::NotPublished, night.task.reasons.clone()),
            "missing" | "not_published" if !missing.is_empty() => (End::Missing, missing),
            // The file is not of the declared kind, which a run would detect during the build.
            "missing" | "not_published" if !broken.is_empty() => (End::Blocked, broken),
            "missing" | "not_published" => (End::Missing, night.task.reasons.clone()),
            _ => {
                let is_odd = (night.task.is_above_warning_level && !is_caused_by_sampling)
                    || night.task.late_since.is_some()
                    || !unknown_values(&night).is_empty();
                let of_rows = if is_odd {
                    ExitCode::Quarantined
                } else {
                    ExitCode::Ok
                };
                (
                    End::Built(
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
            night: Some(night),
            not_sampled: None,
        }
    }
}

/// Predicts the outcome from the verdicts on the addresses alone.
fn by_verdicts(asked: &[&Asked<'_>], findings: Vec<SourceFinding>, reason: String) -> Prediction {
    let mut missing: Vec<String> = asked
        .iter()
        .filter(|asked| asked.is_missing())
        .map(|asked| asked.reason())
        .collect();
    let partial: BTreeSet<&str> = of_required(asked)
        .filter(|asked| asked.address.source.partial)
        .map(|asked| asked.address.source.source_id.as_str())
        .collect();
    for source_id in partial {
        if !asked.iter().any(|asked| {
            asked.role == Role::File
                && asked.address.source.source_id == source_id
                && asked.is_available()
        }) {
            missing.push(format!("{source_id}: none of its files arrived"));
        }
    }
    let changed = || {
        asked.iter().filter(|asked| {
            asked.is_available()
                && asked.fallback_file.is_none()
                && asked.examined.verdict() == Verdict::Changed
                && asked.role == Role::File
        })
    };
    let blocked: Vec<String> = changed()
        .filter(|asked| !has_new_columns_only(asked))
        .map(|asked| asked.reason())
        .collect();
    let (end, reasons) = if !missing.is_empty() {
        (End::Missing, missing)
    } else if !blocked.is_empty() {
        (End::Blocked, blocked)
    } else {
        let of_columns = if changed().next().is_some() {
            ExitCode::Quarantined
        } else {
            ExitCode::Ok
        };
        (
            End::Built(
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
        night: None,
        not_sampled: Some(reason),
    }
}

fn of_required<'s, 'a>(asked: &'s [&'s Asked<'a>]) -> impl Iterator<Item = &'s &'s Asked<'a>> {
    asked
        .iter()
        .filter(|asked| asked.role == Role::File && asked.address.source.required)
}

/// Returns true if a file differs from its declaration only by new columns, which a run accepts.
fn has_new_columns_only(asked: &Asked<'_>) -> bool {
    let Examined { header, .. } = &asked.examined;
    asked.examined.verdict() == Verdict::Changed
        && header.missing.is_empty()
        && !header.new.is_empty()
        && !asked.address.source.closed
}

/// Returns true if a required file exists but could not even be sampled.
fn is_broken(asked: &Asked<'_>) -> bool {
    asked.address.source.required
        && asked.examined.verdict() == Verdict::Changed
        && asked.is_available()
        && asked.examined.sample.is_none()
}

/// Returns true if a finding is about the fetch of a file. On the mirror of samples, such findings
/// do not describe the publishers.
fn is_of_answers(finding: &SourceFinding) -> bool {
    [FILE_MISSING, OPTIONAL_FILE_MISSING, PAGE_NOT_READ].contains(&finding.code.as_str())
}

/// Returns the reason why the dataset's code cannot run on the received files.
fn not_sampled(task: &PredictedTask<'_>, asked: &[&Asked<'_>]) -> Option<String> {
    if let Ok(builder) = datasets::builder(task.declaration)
        && matches!(builder.build, Build::Sharded(_))
    {
        return Some(super::excerpt::documents());
    }
    asked
        .iter()
        .find_map(|asked| asked.examined.not_sampled.clone())
}

/// Returns true if joining excerpts may be the cause of a trial run's issues. This requires that
/// all files are as declared, several sources are joined, and at least one file is incomplete.
fn is_caused_by_sampling(asked: &[&Asked<'_>], night: &Night) -> bool {
    let there: Vec<&&Asked<'_>> = asked
        .iter()
        .filter(|asked| asked.role == Role::File && asked.is_available())
        .collect();
    let is_readable = |asked: &Asked<'_>| {
        asked.examined.verdict() == Verdict::Ok
            || has_new_columns_only(asked)
            || asked.fallback_file.is_some()
    };
    let is_as_declared = there.iter().all(|asked| is_readable(asked));
    let is_part = there.iter().any(|asked| !asked.examined.is_whole);
    let sources: BTreeSet<&String> = there
        .iter()
        .map(|asked| &asked.address.source.source_id)
        .collect();
    // An error within a single record is an error of the whole file too.
    let is_of_records = night.issues.iter().any(|issue| {
        issue.code == "malformed_record"
            || (issue.severity == Severity::Block && issue.code.starts_with("unknown_"))
    });
    is_as_declared && is_part && sources.len() > 1 && !is_of_records
}

/// Returns words that no table of the settings has, by kind.
pub(super) fn unknown_values(night: &Night) -> BTreeMap<String, BTreeSet<String>> {
    let mut unknown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for issue in &night.issues {
        let Some(kind) = issue
            .code
            .strip_prefix("unmapped_")
            .or_else(|| issue.code.strip_prefix("unknown_"))
        else {
            continue;
        };
        // An issue of a contract quotes the column, then the word, then all allowed values.
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
