//! Handles builds that read the files of other tasks, such as links between permits and licenses.
//! Such builds read the files that the other tasks' own builds accepted. If one of those builds was
//! refused, they read the files of the last good build instead.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::{entry, reasons};
use super::made_with::fingerprint;
use super::selection::{Selected, sources_of};
use crate::reporting::plan::{PlannedTask, Problem, TaskState};
use crate::settings::RunSettings;
use pubdata_core::error::Result;
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::Snapshot;
use pubdata_store::{Manifest, TaskEntry};

/// Tasks whose files a build reads, by pipeline, each with the ids of the sources that the build
/// reads.
pub(super) type Upstream<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// Returns the tasks whose files a build reads. Pipelines without tables have no task.
pub(crate) fn upstream_of<'a>(
    settings: &'a RunSettings,
    declaration: &'a Declaration,
) -> Result<Upstream<'a>> {
    let mut upstream = Upstream::new();
    for (owner, source) in sources_of(settings, declaration)? {
        if !std::ptr::eq(owner, declaration) && !owner.produces.is_empty() {
            upstream
                .entry(&owner.pipeline_id)
                .or_default()
                .push(&source.source_id);
        }
    }
    Ok(upstream)
}

/// Files of upstream tasks that a build reads.
#[derive(Default)]
pub(super) struct AcceptedFiles {
    pub(crate) snapshots: Vec<Snapshot>,
    /// Upstream tasks without an accepted build. Each has the problem that results for a build that
    /// requires the task.
    pub(crate) lacking: BTreeMap<String, Problem>,
}

/// The other tasks of a run, and the last release.
pub(crate) struct OtherTasks<'a> {
    pub(crate) settings: &'a RunSettings,
    pub(crate) current: Option<&'a Manifest>,
    pub(crate) is_sample: bool,
    /// The planned tasks, by task id.
    pub(crate) planned: BTreeMap<&'a str, &'a PlannedTask>,
    /// Tasks whose build was refused in this run.
    pub(crate) refused: &'a BTreeSet<String>,
}

impl OtherTasks<'_> {
    /// Returns the upstream tasks' files that a build reads.
    pub(super) fn accepted_files(
        &self,
        reader: &Declaration,
        upstream: &Upstream<'_>,
    ) -> Result<AcceptedFiles> {
        let mut files = AcceptedFiles::default();
        for (pipeline_id, source_ids) in upstream {
            match self.accepted_build(reader, pipeline_id)? {
                Some(build) => {
                    let is_read =
                        |input: &&Snapshot| source_ids.contains(&input.source_id.as_str());
                    files
                        .snapshots
                        .extend(build.inputs.iter().filter(is_read).cloned());
                }
                None => drop(
                    files
                        .lacking
                        .insert((*pipeline_id).to_owned(), self.problem(pipeline_id)),
                ),
            }
        }
        Ok(files)
    }

    /// Returns the build made in this run, or the last good build.
    fn accepted_build(
        &self,
        reader: &Declaration,
        pipeline_id: &str,
    ) -> Result<Option<&TaskEntry>> {
        let is_buildable = |task: &&&PlannedTask| {
            matches!(task.state, TaskState::Fresh | TaskState::Stale(_))
                && !self.refused.contains(pipeline_id)
        };
        if let Some(entry) = self
            .planned
            .get(pipeline_id)
            .filter(is_buildable)
            .and_then(|task| task.entry.as_ref())
        {
            return Ok(Some(entry));
        }
        let last = self.current.and_then(|current| {
            current
                .tasks
                .get(pipeline_id)
                .filter(|last| current.is_sample_build(last) == self.is_sample)
        });
        let Some(last) = last else { return Ok(None) };
        // Tables are rebuilt from the files. With a different declaration or different code, the
        // result would not be the tables that were accepted.
        let todays = fingerprint(
            self.settings,
            &self.settings.declarations.pipelines[pipeline_id],
        )?;
        let is_same = todays
            == (
                last.declaration_hash,
                last.contracts_hash,
                last.code_version.clone(),
            );
        let is_built_on = reader.builds_on.iter().any(|id| id == pipeline_id);
        Ok((is_same || !is_built_on).then_some(last))
    }

    fn problem(&self, pipeline_id: &str) -> Problem {
        let state = self.planned.get(pipeline_id).map(|task| &task.state);
        let is_source_missing = matches!(state, Some(TaskState::Blocked(problems)) if problems.iter().all(|problem| problem.is_source_missing));
        let message = match state {
            Some(_) => format!(
                "{pipeline_id}, whose files it reads, could not be built, and no earlier build of it can be used"
            ),
            None => format!(
                "{pipeline_id}, whose files it reads, was last built from samples, or with another declaration or program"
            ),
        };
        Problem {
            is_source_missing,
            message,
            next_step: Some(format!(
                "see to {pipeline_id} first: `pubdata run {pipeline_id}`"
            )),
        }
    }

    /// Returns a planned task. If upstream tasks have been refused since the task was planned,
    /// their files are replaced.
    pub(crate) fn settled(&self, task: &PlannedTask) -> Result<PlannedTask> {
        let declaration = &self.settings.declarations.pipelines[&task.pipeline_id];
        let mut refused = upstream_of(self.settings, declaration)?;
        refused.retain(|pipeline_id, _| self.refused.contains(*pipeline_id));
        let Some(planned) = task.entry.as_ref().filter(|_| !refused.is_empty()) else {
            return Ok(task.clone());
        };
        let files = self.accepted_files(declaration, &refused)?;
        let is_refused = |input: &&Snapshot| {
            refused
                .values()
                .flatten()
                .any(|source_id| *source_id == input.source_id)
        };
        let snapshots: Vec<Snapshot> = planned
            .inputs
            .iter()
            .filter(|input| !is_refused(input))
            .cloned()
            .chain(files.snapshots)
            .collect();
        let previous = self
            .current
            .and_then(|current| current.tasks.get(&task.task_id));
        let read = pipelines_of(self.settings, &snapshots);
        let lacking: BTreeSet<&str> = declaration
            .builds_on
            .iter()
            .map(String::as_str)
            .filter(|pipeline_id| !read.contains(pipeline_id))
            .collect();
        let spared = spared(
            self.settings,
            declaration,
            &lacking,
            previous.map_or(&[], |previous| &previous.inputs),
        );
        let problems: Vec<Problem> = files
            .lacking
            .iter()
            .filter(|(id, _)| !spared.contains(id.as_str()))
            .map(|(_, problem)| problem.clone())
            .collect();
        if !problems.is_empty() {
            return Ok(PlannedTask {
                state: TaskState::Blocked(problems),
                entry: None,
                ..task.clone()
            });
        }
        let selected = Selected {
            task_id: task.task_id.clone(),
            declaration,
            partition: task.partition.clone(),
        };
        let entry = TaskEntry {
            findings: planned.findings.clone(),
            ..entry(
                self.settings,
                &selected,
                snapshots,
                Vec::new(),
                self.is_sample,
            )?
        };
        let reasons = reasons(
            &entry,
            previous,
            self.settings.is_forced,
            self.current,
            &self.settings.declarations.contracts,
        );
        let state = if reasons.is_empty() {
            TaskState::Fresh
        } else {
            TaskState::Stale(reasons)
        };
        Ok(PlannedTask {
            state,
            entry: Some(entry),
            ..task.clone()
        })
    }
}

/// Returns the missing pipelines that a build can omit. A build can omit any pipeline it builds on
/// except the first, if at least one other pipeline is available. A pipeline that the last build
/// used is required. Without it, published records would disappear and ambiguous matches would look
/// unique.
pub(super) fn spared<'d>(
    settings: &RunSettings,
    declaration: &'d Declaration,
    lacking: &BTreeSet<&str>,
    previous: &[Snapshot],
) -> BTreeSet<&'d str> {
    let mut others: BTreeSet<&str> = declaration
        .builds_on
        .iter()
        .skip(1)
        .map(String::as_str)
        .collect();
    if others
        .iter()
        .all(|pipeline_id| lacking.contains(pipeline_id))
    {
        return BTreeSet::new();
    }
    let before = pipelines_of(settings, previous);
    others.retain(|pipeline_id| lacking.contains(pipeline_id) && !before.contains(pipeline_id));
    others
}

/// Returns the pipelines that declare the sources of snapshots.
fn pipelines_of<'a>(settings: &'a RunSettings, snapshots: &[Snapshot]) -> BTreeSet<&'a str> {
    snapshots
        .iter()
        .filter_map(|snapshot| settings.declarations.source(&snapshot.source_id))
        .map(|(owner, _)| owner.pipeline_id.as_str())
        .collect()
}
