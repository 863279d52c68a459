//! Foresees how a task would end: by a night on the samples where its code can run on them, by the
//! answers of the addresses where not.

use std::collections::{BTreeMap, BTreeSet};

use super::address::Foreseen;
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

/// What is foreseen of a task.
pub(super) struct Foresight {
    pub(super) end: End,
    /// Why it is not renewed.
    pub(super) reasons: Vec<String>,
    /// What a run would tell of its sources.
    pub(super) findings: Vec<SourceFinding>,
    pub(super) night: Option<Night>,
    /// Why there was no night on samples.
    pub(super) not_sampled: Option<String>,
}

/// Runs nights on samples.
pub(super) struct Nights<'n, 'p> {
    pub(super) context: &'n ProbeContext<'p>,
    pub(super) asked: &'n [Asked<'n>],
}

impl Nights<'_, '_> {
    /// Judges a task by what its addresses have, and by a night on the samples.
    pub(super) async fn foresee(
        &self,
        declarations: &Declarations,
        task: &Foreseen<'_>,
    ) -> Result<Foresight> {
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
            asked.examined.verdict() == Verdict::Absent && asked.stand_in.is_none()
        };
        // What is not published yet is no gap for the samples.
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
            .filter(|asked| asked.is_had() && !asked.examined.is_whole)
            .map(|asked| asked.address.source.source_id.clone())
            .collect();
        let declarations = night::for_samples(declarations, &keys, &parts);
        self.context.observer.building(&task.task_id);
        match night::night(self.context, &declarations, &task.task_id).await {
            Ok(Some(night)) => Ok(self.by_night(task, &of_task, own, night)),
            Ok(None) => Ok(by_verdicts(
                &of_task,
                own,
                "the night on samples says nothing of it".to_owned(),
            )),
            Err(error) if error.kind() == ErrorKind::Store => Err(error),
            Err(error) => Ok(Foresight {
                end: End::Blocked,
                reasons: vec![error.to_string()],
                findings: own,
                night: None,
                not_sampled: None,
            }),
        }
    }

    /// What a run would tell of the sources that the samples do not show.
    fn own_findings(&self, task: &Foreseen<'_>, asked: &[&Asked<'_>]) -> Vec<SourceFinding> {
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

    fn by_night(
        &self,
        task: &Foreseen<'_>,
        asked: &[&Asked<'_>],
        own: Vec<SourceFinding>,
        night: Night,
    ) -> Foresight {
        let is_by_sampling = is_by_sampling(asked, &night);
        if night.task.outcome == "blocked" && is_by_sampling {
            return by_verdicts(asked, own, "its files are joined: whether their rows belong together, a sample of each cannot show".to_owned());
        }
        // On the mirror of samples a file is there or not; why it is not stands in what the
        // publisher said.
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
            // What came is no file of the declared kind: a night would find that out when it
            // builds.
            "missing" | "not_published" if !broken.is_empty() => (End::Blocked, broken),
            "missing" | "not_published" => (End::Missing, night.task.reasons.clone()),
            _ => {
                let is_odd = (night.task.is_above_warning_level && !is_by_sampling)
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
        Foresight {
            end,
            reasons,
            findings: found,
            night: Some(night),
            not_sampled: None,
        }
    }
}

/// What the addresses alone say.
fn by_verdicts(asked: &[&Asked<'_>], findings: Vec<SourceFinding>, reason: String) -> Foresight {
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
                && asked.is_had()
        }) {
            missing.push(format!("{source_id}: none of its files came"));
        }
    }
    let changed = || {
        asked.iter().filter(|asked| {
            asked.is_had()
                && asked.stand_in.is_none()
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
    Foresight {
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

/// Whether a file differs from its declaration by columns that a run would pass over.
fn has_new_columns_only(asked: &Asked<'_>) -> bool {
    let Examined { header, .. } = &asked.examined;
    asked.examined.verdict() == Verdict::Changed
        && header.missing.is_empty()
        && !header.new.is_empty()
        && !asked.address.source.closed
}

/// Whether a required file is there of which not even a sample could be made.
fn is_broken(asked: &Asked<'_>) -> bool {
    asked.address.source.required
        && asked.examined.verdict() == Verdict::Changed
        && asked.is_had()
        && asked.examined.sample.is_none()
}

/// Whether a finding is about the night's answers, which on the mirror of samples are not the
/// publishers'.
fn is_of_answers(finding: &SourceFinding) -> bool {
    [FILE_MISSING, OPTIONAL_FILE_MISSING, PAGE_NOT_READ].contains(&finding.code.as_str())
}

/// Why the dataset's code cannot be run on what came.
fn not_sampled(task: &Foreseen<'_>, asked: &[&Asked<'_>]) -> Option<String> {
    if let Ok(builder) = datasets::builder(task.declaration)
        && matches!(builder.build, Build::Sharded(_))
    {
        return Some(super::excerpt::documents());
    }
    asked
        .iter()
        .find_map(|asked| asked.examined.not_sampled.clone())
}

/// Whether findings of a night may come from parts of files that are joined: every file can be read
/// as declared, several are there, and of one only a part.
fn is_by_sampling(asked: &[&Asked<'_>], night: &Night) -> bool {
    let there: Vec<&&Asked<'_>> = asked
        .iter()
        .filter(|asked| asked.role == Role::File && asked.is_had())
        .collect();
    let is_readable = |asked: &Asked<'_>| {
        asked.examined.verdict() == Verdict::Ok
            || has_new_columns_only(asked)
            || asked.stand_in.is_some()
    };
    let is_as_declared = there.iter().all(|asked| is_readable(asked));
    let is_part = there.iter().any(|asked| !asked.examined.is_whole);
    let sources: BTreeSet<&String> = there
        .iter()
        .map(|asked| &asked.address.source.source_id)
        .collect();
    // What is wrong in a record by itself is wrong in the whole file too.
    let is_of_records = night.issues.iter().any(|issue| {
        issue.code == "malformed_record"
            || (issue.severity == Severity::Block && issue.code.starts_with("unknown_"))
    });
    is_as_declared && is_part && sources.len() > 1 && !is_of_records
}

/// Words that no table of the settings has, by what they are.
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
        // A contract's finding quotes the column, then the word, then all that are allowed.
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
