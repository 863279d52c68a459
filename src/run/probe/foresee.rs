use std::collections::{BTreeMap, BTreeSet};

use super::address::Foreseen;
use super::edit::{self, Edit, Edits};
use super::night::{self, Night};
use super::report::{ProbeReport, ProbedSource, ProbedTask, Sample, TaskCounts, Verdict, Would, exit_code};
use super::suggest::{self, Last};
use super::{Asked, ProbeSettings, values};
use crate::datasets::{self, Build};
use crate::declared::DeclarationFiles;
use crate::error::{ErrorKind, Result};
use crate::fetch::{self, recorded_url};
use crate::issue::Severity;
use crate::pipeline::Declarations;
use crate::provenance::SourceRows;
use crate::run::SharedObserver;
use crate::run::report::ExitCode;
use crate::store::TemporaryHome;

/// What is foreseen of a task.
struct Foresight {
    would: Would,
    code: ExitCode,
    reasons: Vec<String>,
    night: Option<Night>,
    /// Why there was no night on samples.
    not_sampled: Option<String>,
}

/// Judges every task by what its addresses have, and by a night on the samples; puts the suggestions into the declarations, and tries them.
pub(super) async fn foresee(
    settings: &ProbeSettings,
    temporary: &TemporaryHome,
    tasks: &[Foreseen<'_>],
    asked: &[Asked<'_>],
    observer: &SharedObserver,
) -> Result<ProbeReport> {
    let night_of = Nights { settings, temporary, observer, asked };
    observer.fetching(tasks.len());
    let mut foresights = Vec::new();
    for task in tasks {
        foresights.push(night_of.foresee(&settings.declarations, task).await?);
        observer.fetched(&task.task_id, "foreseen");
    }
    let edits = suggestions(settings, temporary, tasks, asked, &foresights)?;
    let mut suggested = settings.declarations.files.clone();
    for (pipeline_id, edits) in &edits {
        suggested = edit::apply(&suggested, pipeline_id, edits)?;
    }
    let with_suggestions = night_of.try_out(&suggested, tasks, &edits).await?;
    let by_task: Vec<ProbedTask> = tasks.iter().zip(&foresights).map(|(task, foresight)| probed_task(task, foresight, &with_suggestions)).collect();
    let mut sources = Vec::new();
    for (number, asked_one) in asked.iter().enumerate() {
        let is_first = !asked[..number].iter().any(|other| other.address.source.source_id == asked_one.address.source.source_id);
        sources.push(probed_source(settings, tasks, &foresights, asked_one, is_first, &edits, &with_suggestions)?);
    }
    Ok(ProbeReport { sources, tasks: TaskCounts::of(&by_task), exit_code: exit_code(&by_task), by_task, suggested })
}

/// Runs nights on samples.
struct Nights<'n> {
    settings: &'n ProbeSettings,
    temporary: &'n TemporaryHome,
    observer: &'n SharedObserver,
    asked: &'n [Asked<'n>],
}

impl Nights<'_> {
    async fn foresee(&self, declarations: &Declarations, task: &Foreseen<'_>) -> Result<Foresight> {
        let of_task = || self.asked.iter().filter(|asked| task.sources.iter().any(|(_, source)| source.source_id == asked.address.source.source_id));
        if let Some(reason) = not_sampled(task, of_task()) {
            return Ok(self.by_verdicts(task, of_task(), reason));
        }
        let mut keys: BTreeMap<String, Vec<BTreeMap<String, String>>> = BTreeMap::new();
        // What is not published yet is no gap for the samples.
        let is_none = |id: &str| !self.asked.iter().any(|asked| asked.address.source.source_id == id && asked.examined.verdict() != Verdict::Absent);
        for asked in self.asked.iter().filter(|asked| asked.examined.verdict() != Verdict::Absent || is_none(&asked.address.source.source_id)) {
            keys.entry(asked.address.source.source_id.clone()).or_default().push(asked.address.request.keys.clone());
        }
        let parts: BTreeSet<String> =
            of_task().filter(|asked| asked.is_had() && !asked.examined.is_whole).map(|asked| asked.address.source.source_id.clone()).collect();
        let declarations = night::for_samples(declarations, &keys, &parts);
        self.observer.building(&task.task_id);
        let night = match night::night(self.temporary, &declarations, &task.task_id, &self.settings.fetch.clock).await {
            Ok(Some(night)) => night,
            Ok(None) => return Ok(self.by_verdicts(task, of_task(), "the night on samples says nothing of it".to_owned())),
            Err(error) if error.kind() == ErrorKind::Store => return Err(error),
            Err(error) => {
                return Ok(Foresight { would: Would::Block, code: ExitCode::Blocked, reasons: vec![error.to_string()], night: None, not_sampled: None });
            }
        };
        Ok(self.by_night(task, of_task(), night))
    }

    fn has_build(&self, task: &Foreseen<'_>) -> bool {
        self.settings.published.as_ref().is_some_and(|manifest| manifest.tasks.contains_key(&task.task_id))
    }

    fn not_renewed(&self, task: &Foreseen<'_>) -> Would {
        if self.has_build(task) { Would::KeepLast } else { Would::Block }
    }

    /// What the addresses alone say.
    fn by_verdicts<'a>(&self, task: &Foreseen<'_>, asked: impl Iterator<Item = &'a Asked<'a>>, reason: String) -> Foresight {
        let mut foresight = Foresight { would: Would::Publish, code: ExitCode::Ok, reasons: Vec::new(), night: None, not_sampled: Some(reason) };
        // Of what a probe has no way to ask for it says nothing.
        let says_nothing = |asked: &Asked<'_>| {
            asked.examined.verdict() == Verdict::Ok || (asked.examined.verdict() == Verdict::NotAsked && asked.examined.not_sampled.is_some())
        };
        for asked in asked.filter(|asked| !says_nothing(asked)) {
            let (source, verdict) = (asked.address.source, asked.examined.verdict());
            let is_required = source.required && verdict != Verdict::Ok;
            let (would, code) = match verdict {
                Verdict::Changed if is_required && asked.is_had() => (Would::Block, ExitCode::Blocked),
                _ if is_required && source.partial => (Would::PublishWithFindings, ExitCode::SourceMissing),
                _ if is_required => (self.not_renewed(task), ExitCode::SourceMissing),
                Verdict::Absent | Verdict::NotAsked => continue,
                _ => (Would::PublishWithFindings, ExitCode::Quarantined),
            };
            foresight.reasons.push(reason_of(asked));
            foresight.would = foresight.would.max(would);
            foresight.code = foresight.code.max(code);
        }
        foresight
    }

    fn by_night<'a>(&self, task: &Foreseen<'_>, asked: impl Iterator<Item = &'a Asked<'a>> + Clone, night: Night) -> Foresight {
        if night.task.outcome == "blocked" && is_by_sampling(asked.clone(), &night) {
            let reason = "its files are joined, and the first rows of each do not belong together".to_owned();
            return self.by_verdicts(task, asked, reason);
        }
        let unavailable: Vec<&Asked<'_>> = asked.clone().filter(|asked| !asked.is_had()).collect();
        let mut reasons = night.task.reasons.clone();
        let (mut would, mut code) = match night.task.outcome {
            "blocked" => (Would::Block, ExitCode::Blocked),
            // What came is no file of the declared kind: a night would find that out when it builds.
            "missing" if task_is_broken(asked.clone()) => {
                reasons = asked.clone().filter(|asked| asked.examined.verdict() == Verdict::Changed).map(reason_of).collect();
                (Would::Block, ExitCode::Blocked)
            }
            "missing" | "not_published" => {
                // On the mirror of samples a file is there or not; why it is not stands in what the publisher said.
                reasons = unavailable.iter().filter(|asked| asked.address.source.required).map(|asked| reason_of(asked)).collect();
                (self.not_renewed(task), ExitCode::SourceMissing)
            }
            _ => {
                reasons = night.task.findings.iter().map(|finding| format!("{} {}: {}", finding.code, finding.source_id, finding.detail)).collect();
                let would = if night.exit_code == ExitCode::Ok { Would::Publish } else { Would::PublishWithFindings };
                (would, night.exit_code)
            }
        };
        if would == Would::Publish && (!unknown_values(&night).is_empty() || unavailable.iter().any(|asked| is_finding(asked))) {
            (would, code) = (Would::PublishWithFindings, code.max(ExitCode::Quarantined));
        }
        Foresight { would, code, reasons, night: Some(night), not_sampled: None }
    }

    /// Runs the nights of changed declarations, and says what became of each of their tasks.
    async fn try_out(&self, suggested: &DeclarationFiles, tasks: &[Foreseen<'_>], edits: &Edits) -> Result<BTreeMap<String, Would>> {
        let mut tried = BTreeMap::new();
        if edits.is_empty() {
            return Ok(tried);
        }
        let declarations = Declarations::load(suggested.clone())?;
        let is_moved = |pipeline_id: &String| edits[pipeline_id].iter().any(|edit| matches!(edit, Edit::Url { .. } | Edit::Redirect { .. }));
        for task in tasks {
            let owners: BTreeSet<&String> = task.sources.iter().map(|(owner, _)| &owner.pipeline_id).chain([&task.declaration.pipeline_id]).collect();
            let changed: Vec<&String> = owners.into_iter().filter(|owner| edits.contains_key(*owner)).collect();
            // Of a file that has moved there is no sample: the new address is for the next probe.
            if changed.is_empty() || changed.into_iter().any(is_moved) {
                continue;
            }
            let foresight = self.foresee(&declarations, task).await?;
            if foresight.not_sampled.is_none() {
                tried.insert(task.task_id.clone(), foresight.would);
            }
        }
        Ok(tried)
    }
}

fn reason_of(asked: &Asked<'_>) -> String {
    let problem = asked.examined.problem.as_deref().unwrap_or(asked.examined.verdict().word());
    format!("{}: {problem}", asked.address.source.source_id)
}

/// Whether a required file is there of which not even a sample could be made.
fn task_is_broken<'a>(mut asked: impl Iterator<Item = &'a Asked<'a>>) -> bool {
    asked.any(|asked| asked.address.source.required && asked.examined.verdict() == Verdict::Changed && asked.is_had() && asked.examined.sample.is_none())
}

/// Whether a file that the build can do without is one that a person should hear of.
fn is_finding(asked: &Asked<'_>) -> bool {
    matches!(asked.examined.verdict(), Verdict::Refused | Verdict::Moved | Verdict::Unreachable)
}

/// Why the dataset's code cannot be run on what came.
fn not_sampled<'a>(task: &Foreseen<'_>, asked: impl Iterator<Item = &'a Asked<'a>>) -> Option<String> {
    if let Ok(pipeline) = datasets::pipeline(&task.declaration.pipeline_id)
        && matches!(pipeline.build, Build::Sharded(_))
    {
        return Some("documents are not sampled".to_owned());
    }
    let mut reasons = asked.filter_map(|asked| asked.examined.not_sampled.clone());
    reasons.next()
}

/// Whether a night was blocked because it had parts of files that are joined: every file is as declared, several are there, and of one only a part.
fn is_by_sampling<'a>(asked: impl Iterator<Item = &'a Asked<'a>>, night: &Night) -> bool {
    let there: Vec<&Asked<'_>> = asked.filter(|asked| asked.is_had()).collect();
    let is_as_declared = there.iter().all(|asked| asked.examined.verdict() == Verdict::Ok);
    let is_part = there.iter().any(|asked| !asked.examined.is_whole);
    let sources: BTreeSet<&String> = there.iter().map(|asked| &asked.address.source.source_id).collect();
    // What is wrong in a record by itself is wrong in the whole file too.
    let is_of_records =
        night.issues.iter().any(|issue| issue.code == "malformed_record" || (issue.severity == Severity::Block && issue.code.starts_with("unknown_")));
    is_as_declared && is_part && sources.len() > 1 && !is_of_records
}

/// Words that no table of the settings has, by what they are.
fn unknown_values(night: &Night) -> BTreeMap<String, BTreeSet<String>> {
    let mut unknown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for issue in &night.issues {
        let Some(kind) = issue.code.strip_prefix("unmapped_").or_else(|| issue.code.strip_prefix("unknown_")) else { continue };
        let words = values::quoted(&issue.detail).map(str::to_owned);
        unknown.entry(kind.to_owned()).or_default().extend(words);
    }
    unknown.retain(|_, words| !words.is_empty());
    unknown
}

fn suggestions(settings: &ProbeSettings, temporary: &TemporaryHome, tasks: &[Foreseen<'_>], asked: &[Asked<'_>], foresights: &[Foresight]) -> Result<Edits> {
    let mut edits = Edits::new();
    let mut add = |pipeline_id: &str, new: Vec<Edit>| {
        for edit in new {
            let known: &mut Vec<Edit> = edits.entry(pipeline_id.to_owned()).or_default();
            if !known.contains(&edit) {
                known.push(edit);
            }
        }
    };
    for asked in asked {
        let Some((owner, _)) = settings.declarations.source(&asked.address.source.source_id) else { continue };
        if let Some(location) = &asked.examined.location {
            add(&owner.pipeline_id, suggest::moved(&asked.address, location).into_iter().collect());
        }
        if !asked.examined.header.missing.is_empty() || !asked.examined.header.new.is_empty() {
            let (now, last) = cells(settings, temporary, asked)?;
            add(&owner.pipeline_id, suggest::columns(owner, &asked.address, &asked.examined, &now, &last));
        }
    }
    for (task, foresight) in tasks.iter().zip(foresights) {
        if let Some(night) = &foresight.night {
            add(&task.declaration.pipeline_id, suggest::words(task.declaration, &unknown_values(night)));
        }
    }
    edits.retain(|_, edits| !edits.is_empty());
    Ok(edits)
}

/// The values of the new columns of a file, and columns and values of the file that the home has.
fn cells(settings: &ProbeSettings, temporary: &TemporaryHome, asked: &Asked<'_>) -> Result<(values::Cells, Last)> {
    let (address, examined) = (&asked.address, &asked.examined);
    let recorded = recorded_url(&address.request.url)?;
    let path = temporary.mirror().join(fetch::mirror_path(&recorded)?);
    let new: Vec<(String, Vec<String>)> = examined.header.new.iter().map(|name| (name.clone(), vec![name.clone()])).collect();
    // Values only help to choose: where they cannot be read, names do.
    let now = values::of_file(address, &path, examined.sample.clone().flatten().as_deref(), &new, &examined.columns).unwrap_or_default();
    let known = settings.snapshots.as_ref().and_then(|snapshots| Some((snapshots, snapshots.known(&address.source.source_id, &recorded)?)));
    let last = known.and_then(|(snapshots, snapshot)| last(asked, &snapshots.path(&snapshot)).ok()).unwrap_or_default();
    Ok((now, last))
}

fn last(asked: &Asked<'_>, path: &std::path::Path) -> Result<Last> {
    let (address, examined) = (&asked.address, &asked.examined);
    let pattern = address.source.member.as_deref().map(|pattern| crate::pipeline::expand(pattern, &address.request.keys)).transpose()?;
    let member = pattern.map(|pattern| crate::decode::member_name(path, &pattern)).transpose()?;
    let columns = super::examine::columns_of(address, path, member.as_deref())?;
    let missing: Vec<(String, Vec<String>)> = examined.missing.iter().map(|column| (column.clone(), address.source.columns[column].clone())).collect();
    let cells = if missing.is_empty() { values::Cells::new() } else { values::of_file(address, path, member.as_deref(), &missing, &columns)? };
    Ok(Last { columns, cells })
}

fn probed_task(task: &Foreseen<'_>, foresight: &Foresight, tried: &BTreeMap<String, Would>) -> ProbedTask {
    ProbedTask {
        task_id: task.task_id.clone(),
        would: foresight.would,
        code: foresight.code,
        reasons: foresight.reasons.clone(),
        rows: foresight.night.as_ref().map(|night| night.task.rows.clone()).unwrap_or_default(),
        not_sampled: foresight.not_sampled.clone(),
        with_suggestions: tried.get(&task.task_id).copied(),
    }
}

fn probed_source(
    settings: &ProbeSettings,
    tasks: &[Foreseen<'_>],
    foresights: &[Foresight],
    asked: &Asked<'_>,
    is_first: bool,
    edits: &Edits,
    tried: &BTreeMap<String, Would>,
) -> Result<ProbedSource> {
    let source_id = &asked.address.source.source_id;
    let readers: Vec<(&Foreseen<'_>, &Foresight)> =
        tasks.iter().zip(foresights).filter(|(task, _)| task.sources.iter().any(|(_, source)| source.source_id == *source_id)).collect();
    let verdict = asked.examined.verdict();
    let (would, not_sampled) = of_source(&readers, asked);
    let of_own: Vec<&Edit> = settings.declarations.source(source_id).and_then(|(owner, _)| edits.get(&owner.pipeline_id)).into_iter().flatten().collect();
    let owner = settings.declarations.source(source_id).map(|(owner, _)| owner);
    let is_main = owner.is_some_and(|owner| owner.sources.first().is_some_and(|first| first.source_id == *source_id));
    let own: Vec<Edit> = of_own.into_iter().filter(|edit| is_first && edit.is_of(source_id, is_main)).cloned().collect();
    let suggestion = match owner {
        Some(owner) if !own.is_empty() => Some(edit::show(&settings.declarations.files, &owner.pipeline_id, &own)?),
        _ => None,
    };
    let with_suggestions = suggestion.as_ref().and_then(|_| readers.iter().filter_map(|(task, _)| tried.get(&task.task_id)).max().copied());
    let sample = readers
        .iter()
        .find_map(|(_, foresight)| Some(sample(foresight.night.as_ref()?, source_id, is_main, asked.examined.records)))
        .filter(|_| is_first && asked.is_had());
    Ok(ProbedSource {
        source_id: source_id.clone(),
        url: recorded_url(&asked.address.request.url)?,
        verdict,
        status: asked.examined.status,
        would,
        problem: asked
            .examined
            .problem
            .clone()
            .map(|problem| if asked.address.source.required || asked.is_had() { problem } else { format!("{problem}; the build can do without it") }),
        header: asked.examined.header.clone(),
        sample,
        not_sampled,
        suggestion,
        with_suggestions,
    })
}

/// What a night would do because of one source: what becomes of its tasks, as far as another source is not the reason.
fn of_source(readers: &[(&Foreseen<'_>, &Foresight)], asked: &Asked<'_>) -> (Would, Option<String>) {
    let is_there = asked.is_had();
    let of_reader = |(_, foresight): &(&Foreseen<'_>, &Foresight)| match foresight.would {
        // Another source is not to be had.
        Would::KeepLast | Would::Block if is_there && foresight.code == ExitCode::SourceMissing => Would::Publish,
        would if !is_there && !asked.address.source.required => would.min(Would::PublishWithFindings),
        would => would,
    };
    let would = readers.iter().map(of_reader).max().unwrap_or(Would::Publish);
    let not_sampled = readers.iter().find_map(|(_, foresight)| foresight.not_sampled.clone()).filter(|_| is_there);
    (would, asked.examined.not_sampled.clone().or(not_sampled))
}

/// What became of the rows of one source; of a pipeline's first source also what is not told of any.
fn sample(night: &Night, source_id: &str, is_main: bool, records: u64) -> Sample {
    // A night that was blocked has no account of its rows.
    let counts = night.task.source_rows.get(source_id).cloned().unwrap_or_else(|| SourceRows { read: records, ..SourceRows::default() });
    let mut quarantined: BTreeMap<String, u64> = BTreeMap::new();
    for issue in night.issues.iter().filter(|issue| issue.severity == Severity::Quarantine) {
        let is_own = issue.pointer.as_ref().map_or(is_main, |pointer| pointer.source_id == source_id);
        if is_own {
            *quarantined.entry(issue.code.clone()).or_default() += 1;
        }
    }
    let unknown_values = if is_main { unknown_values(night) } else { BTreeMap::new() };
    Sample { rows: counts.read, accepted: counts.records + counts.merged, quarantined, unknown_values }
}
