//! Observes a run and reports it as lineage events, which are written to the run's file in the home
//! and sent to a URL if one is set.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::datasets::{Extent, Outputs, inputs};
use super::event::{Dataset, Event, EventType, Facets, JobRun, uuid};
use super::sender::Sender;
use crate::{Observer, Plan, RunReport, RunSettings, SharedObserver, TaskReport};
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::Snapshot;
use pubdata_fetch::FetchProgress;
use pubdata_store::{self as store, Manifest, redact_folders};

/// Name of the parent job of all tasks' jobs.
const RUN: &str = "run";

/// Reports a run while it is under way, and forwards all calls to another observer.
pub struct Emitter {
    shown: SharedObserver,
    settings: RunSettings,
    namespace: String,
    state: Mutex<EmitterState>,
}

/// Progress of the reports so far.
#[derive(Default)]
struct EmitterState {
    /// The started run; none before a run has started.
    run: Option<StartedRun>,
    sender: Option<Sender>,
    /// Files of the tasks that changed.
    files: BTreeMap<String, Vec<Snapshot>>,
    started_tasks: BTreeSet<String>,
    /// Time at which the build of each task ended, with or without success.
    built: BTreeMap<String, Timestamp>,
    ended: BTreeSet<String>,
    /// True if writing the file has failed. The failure is logged only once.
    is_unwritten: bool,
}

#[derive(Clone)]
struct StartedRun {
    run_id: String,
    at: Timestamp,
    job: JobRun,
}

impl Emitter {
    /// Creates an emitter for runs with these settings, with the installation's name and optionally
    /// a URL. Requires the runtime.
    pub fn new(
        shown: SharedObserver,
        settings: RunSettings,
        namespace: &str,
        address: Option<&str>,
    ) -> Arc<Self> {
        let sender =
            address.map(|address| Sender::start(settings.fetch.clone(), address.to_owned()));
        let namespace = namespace_of(namespace, &settings.channel);
        Arc::new(Self {
            shown,
            settings,
            namespace,
            state: Mutex::new(EmitterState {
                sender,
                ..EmitterState::default()
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, EmitterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports the end of a run and waits for delivery to the URL. Does nothing if no run has
    /// started.
    ///
    /// # Errors
    /// Returns an error if events were not delivered: the same errors as for
    /// [`pubdata_fetch::Address`], and `Fetch` if delivery took longer than a minute.
    pub async fn ended(&self, result: std::result::Result<&RunReport, &Error>) -> Result<()> {
        let Some(run) = self.state().run.clone() else {
            return Ok(());
        };
        let failure = match result {
            Ok(report) => {
                self.tell_tasks(&run, report).await;
                report.release_id.is_none().then(|| {
                    "nothing could be published: no task has a build, new or from an earlier run".to_owned()
                })
            }
            Err(error) => {
                let text = self.redact_folders(&error.to_string());
                let open: Vec<String> = {
                    let state = self.state();
                    state
                        .started_tasks
                        .difference(&state.ended)
                        .cloned()
                        .collect()
                };
                for task_id in open {
                    self.fail(
                        &run,
                        &task_id,
                        &format!("the run failed: {text}"),
                        Vec::new(),
                    );
                }
                Some(text)
            }
        };
        let mut facets = run_facets();
        let tags = match result {
            Ok(report) => vec![
                ("outcome", report.outcome.to_owned()),
                ("exit_code", u8::from(report.exit_code).to_string()),
            ],
            Err(error) => vec![
                ("outcome", "failed".to_owned()),
                ("exit_code", error.kind().exit_code().to_string()),
            ],
        };
        let release = result
            .ok()
            .and_then(|report| report.release_id.as_ref())
            .map(|release_id| ("release_id", release_id.to_string()));
        facets.add("tags", self.tags(&run, tags.into_iter().chain(release)));
        let event_type = if failure.is_some() {
            EventType::Fail
        } else {
            EventType::Complete
        };
        if let Some(text) = failure {
            facets.add("errorMessage", error_message(&text));
        }
        self.emit(&Event {
            event_type,
            at: Timestamp::now(),
            of: run.job.clone(),
            run_facets: facets,
            job_facets: job_facets("RUN"),
            inputs: Vec::new(),
            outputs: Vec::new(),
        });
        let sender = self.state().sender.take();
        match sender {
            Some(sender) => sender.finish().await,
            None => Ok(()),
        }
    }

    /// Reports the tasks of a completed run that have not been reported yet.
    async fn tell_tasks(&self, run: &StartedRun, report: &RunReport) {
        let manifest = match &report.release_id {
            Some(release_id) => self.settings.releases.manifest(release_id).await.inspect_err(|error| {
                tracing::warn!(%error, "lineage is reported without the datasets of the release");
            }),
            None => Err(Error::store("there is no release")),
        };
        for task in &report.tasks {
            if self.state().ended.contains(&task.task_id)
                || (task.outcome == "not_published" && task.late_since.is_none())
            {
                continue;
            }
            self.tell_task(run, task, manifest.as_ref().ok()).await;
        }
    }

    /// Reports a task whose build is valid, whether new or reused. The task still counts as failed
    /// if an edition is late.
    async fn tell_task(&self, run: &StartedRun, task: &TaskReport, manifest: Option<&Manifest>) {
        let is_built = matches!(task.outcome, "built" | "resumed");
        let extent = if is_built {
            Extent::Full
        } else {
            Extent::Named
        };
        let declaration = self.declaration_of(&task.task_id);
        let (mut read, mut made) = (Vec::new(), Vec::new());
        if let Some(manifest) = manifest {
            let outputs = Outputs {
                releases: &self.settings.releases,
                manifest,
                contracts: &self.settings.declarations.contracts,
                namespace: &self.namespace,
            };
            made = outputs.of_task(&task.task_id, declaration, extent).await;
            read = manifest
                .tasks
                .get(&task.task_id)
                .map(|entry| inputs(&entry.inputs, &entry.source_rows, extent))
                .unwrap_or_default();
        }
        self.begin(run, &task.task_id);
        let mut facets = facets_of_task(run);
        facets.add(
            "tags",
            self.tags(run, [("outcome", task.outcome.to_owned())]),
        );
        if let Some(late_since) = task.late_since {
            facets.add(
                "errorMessage",
                error_message(&format!(
                    "late since {late_since}: no newer edition of its sources has arrived"
                )),
            );
        }
        let mut of_job = job_facets("TASK");
        if let Some(declaration) = declaration.filter(|_| is_built) {
            of_job.add("documentation", json!({ "description": declaration.title }));
            if let Some(text) = self.declared_text(declaration) {
                of_job.add(
                    "sourceCode",
                    json!({ "language": "TOML", "sourceCode": text }),
                );
            }
        }
        let at = self
            .state()
            .built
            .get(&task.task_id)
            .copied()
            .unwrap_or_else(Timestamp::now);
        self.emit(&Event {
            event_type: if task.late_since.is_some() {
                EventType::Fail
            } else {
                EventType::Complete
            },
            at,
            of: self.job_of(run, &task.task_id),
            run_facets: facets,
            job_facets: of_job,
            inputs: read,
            outputs: made,
        });
        self.state().ended.insert(task.task_id.clone());
    }

    /// Reports, only once, that a task has started.
    fn begin(&self, run: &StartedRun, task_id: &str) {
        if !self.state().started_tasks.insert(task_id.to_owned()) {
            return;
        }
        let at = self
            .state()
            .built
            .get(task_id)
            .copied()
            .unwrap_or_else(Timestamp::now);
        self.emit(&Event {
            event_type: EventType::Start,
            at,
            of: self.job_of(run, task_id),
            run_facets: facets_of_task(run),
            job_facets: Facets::default(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        });
    }

    /// Reports that a task failed and contributes nothing new to the release.
    fn fail(&self, run: &StartedRun, task_id: &str, text: &str, read: Vec<Dataset>) {
        self.begin(run, task_id);
        self.emit(&Event {
            event_type: EventType::Fail,
            at: Timestamp::now(),
            of: self.job_of(run, task_id),
            run_facets: facets_of_task(run).with("errorMessage", error_message(text)),
            job_facets: job_facets("TASK"),
            inputs: read,
            outputs: Vec::new(),
        });
        self.state().ended.insert(task_id.to_owned());
    }

    /// Writes an event to the file and sends it to the URL.
    fn emit(&self, event: &Event) {
        let event = event.to_json();
        let mut state = self.state();
        let Some(run) = &state.run else { return };
        if !state.is_unwritten {
            let path = self.settings.home.lineage_file(&run.run_id);
            if let Err(error) = store::append_lines(&path, &[&event]) {
                tracing::warn!(%error, "lineage events are not written");
                state.is_unwritten = true;
            }
        }
        if let Some(sender) = &state.sender {
            sender.send(event.to_string().into_bytes());
        }
    }

    fn job_of(&self, run: &StartedRun, task_id: &str) -> JobRun {
        JobRun {
            namespace: self.namespace.clone(),
            name: task_id.to_owned(),
            run_id: uuid(run.at, &[&run.run_id, task_id]),
        }
    }

    fn tags(
        &self,
        run: &StartedRun,
        more: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Value {
        let all = [
            ("run_id", run.run_id.clone()),
            ("channel", self.settings.channel.clone()),
        ]
        .into_iter()
        .chain(more);
        json!({ "tags": all.map(|(key, value)| json!({ "key": key, "value": value, "source": "pubdata" })).collect::<Vec<_>>() })
    }

    fn declaration_of(&self, task_id: &str) -> Option<&Declaration> {
        self.settings
            .declarations
            .pipelines
            .get(task_id.split('/').next().unwrap_or(task_id))
    }

    /// Returns the text of a declaration file.
    fn declared_text(&self, declaration: &Declaration) -> Option<String> {
        let path = format!(
            "pipelines/{}.toml",
            declaration.pipeline_id.replacen('.', "/", 1)
        );
        self.settings
            .declarations
            .files
            .read(&path)
            .map(|text| String::from_utf8_lossy(text).into_owned())
    }

    fn redact_folders(&self, text: &str) -> String {
        redact_folders(text, &[self.settings.home.root()])
    }
}

impl FetchProgress for Emitter {
    fn started(&self, url: &str, total_bytes: Option<u64>) {
        self.shown.started(url, total_bytes);
    }

    fn advanced(&self, bytes: u64) {
        self.shown.advanced(bytes);
    }

    fn finished(&self) {
        self.shown.finished();
    }
}

impl Observer for Emitter {
    fn on_run_started(&self, run_id: &str, at: Timestamp) {
        self.shown.on_run_started(run_id, at);
        let job = JobRun {
            namespace: self.namespace.clone(),
            name: RUN.to_owned(),
            run_id: uuid(at, &[run_id]),
        };
        let run = StartedRun {
            run_id: run_id.to_owned(),
            at,
            job: job.clone(),
        };
        self.state().run = Some(run.clone());
        // Events of an earlier commit of the same plan are kept, because that commit was a
        // different run of the job.
        self.emit(&Event {
            event_type: EventType::Start,
            at,
            of: job,
            run_facets: run_facets().with("tags", self.tags(&run, [])),
            job_facets: job_facets("RUN"),
            inputs: Vec::new(),
            outputs: Vec::new(),
        });
    }

    fn on_planned(&self, plan: &Plan) {
        self.shown.on_planned(plan);
        let files = plan
            .tasks
            .iter()
            .filter_map(|task| Some((task.task_id.clone(), task.entry.as_ref()?.inputs.clone())));
        self.state().files = files.collect();
    }

    fn on_fetch_started(&self, files: usize) {
        self.shown.on_fetch_started(files);
    }

    fn on_fetched(&self, url: &str, outcome: &str) {
        self.shown.on_fetched(url, outcome);
    }

    fn on_task_started(&self, task_id: &str) {
        self.shown.on_task_started(task_id);
        let run = self.state().run.clone();
        if let Some(run) = run {
            self.begin(&run, task_id);
        }
    }

    fn on_shard_built(&self, task_id: &str, done: usize, shards: usize) {
        self.shown.on_shard_built(task_id, done, shards);
    }

    fn on_task_built(&self, report: &TaskReport) {
        self.shown.on_task_built(report);
        let run = self.state().run.clone();
        let Some(run) = run else { return };
        self.state()
            .built
            .insert(report.task_id.clone(), Timestamp::now());
        if matches!(report.outcome, "blocked" | "missing") {
            let files = self
                .state()
                .files
                .remove(&report.task_id)
                .unwrap_or_default();
            let text = report
                .reasons
                .iter()
                .chain(&report.next_step)
                .cloned()
                .collect::<Vec<_>>()
                .join("; ");
            self.fail(
                &run,
                &report.task_id,
                &self.redact_folders(&text),
                inputs(&files, &report.source_rows, Extent::Full),
            );
        }
    }
}

/// Returns a test event, which an operator can use to check delivery.
pub fn test_event(namespace: &str, channel: &str) -> Vec<u8> {
    let at = Timestamp::now();
    let of = JobRun {
        namespace: namespace_of(namespace, channel),
        name: "test_message".to_owned(),
        run_id: uuid(at, &["test_message"]),
    };
    let (run_facets, job_facets) = (run_facets(), job_facets("TEST"));
    Event {
        event_type: EventType::Other,
        at,
        of,
        run_facets,
        job_facets,
        inputs: Vec::new(),
        outputs: Vec::new(),
    }
    .to_json()
    .to_string()
    .into_bytes()
}

/// Returns the namespace of jobs, which consists of the installation and the channel.
fn namespace_of(namespace: &str, channel: &str) -> String {
    format!("{namespace}/{channel}")
}

fn run_facets() -> Facets {
    Facets::default().with(
        "processing_engine",
        json!({ "name": "pubdata", "version": env!("CARGO_PKG_VERSION") }),
    )
}

/// Returns the facets of a task's run. Only the parent names the processing engine.
fn facets_of_task(run: &StartedRun) -> Facets {
    Facets::default().with("parent", run.job.as_parent())
}

fn job_facets(job_type: &str) -> Facets {
    Facets::default().with(
        "jobType",
        json!({ "processingType": "BATCH", "integration": "PUBDATA", "jobType": job_type }),
    )
}

fn error_message(text: &str) -> Value {
    json!({ "message": text, "programmingLanguage": "Rust" })
}
