//! Predicts the result of a run. Requests the first bytes from each declared URL and compares them
//! with the declaration. Then performs a trial run in a temporary home, on a mirror of the first
//! records. Publishes and keeps nothing. If the publisher's file differs from its declaration,
//! suggests changes to the declaration and tries them on the same samples.

mod address;
mod ask;
mod corrections;
mod edit;
mod examine;
mod examined;
mod excerpt;
mod fallback_file;
mod header;
mod hints;
mod listing;
mod predict;
mod report;
mod report_builder;
mod suggest;
mod trial_run;
mod values;

pub use report::{PredictedOutcome, ProbeReport, ProbedSource, ProbedTask, TaskOutcome, Verdict};

use self::address::Address;
use self::ask::{ask, newest_partitions};
use self::examined::Examined;
use self::fallback_file::FallbackFile;
use self::predict::TrialRuns;
use self::report::{LastBuild, TaskCounts, exit_code};
use crate::fetching::fetcher::{check_mirrors, with_logins};
use crate::observer::SharedObserver;
use crate::planning::accepted::{AcceptedIds, accepted_ids};
use crate::reporting::findings::{FILE_MISSING, OPTIONAL_FILE_MISSING, PAGE_NOT_READ};
use crate::settings::{Chosen, RunSettings};
use pubdata_build::publish;
use pubdata_core::error::Result;
use pubdata_core::issue::SourceFinding;
use pubdata_core::pipeline::Declarations;
use pubdata_fetch::{FetchSettings, Fetcher};
use pubdata_store::{Home, Manifest, Releases, Snapshots, TemporaryHome};

/// Settings of a probe.
pub struct ProbeSettings {
    pub declarations: Declarations,
    pub fetch: FetchSettings,
    /// Pipelines, datasets, families or tasks to examine. If empty, everything is examined.
    pub selectors: Vec<String>,
    /// The tasks that a run performs if no selector is given.
    pub chosen: Chosen,
    /// Maximum number of records from each file that the dataset's code processes.
    pub rows: usize,
    /// The release that a run would replace, if any.
    pub published: Option<Manifest>,
    /// The home with files of earlier runs, manual imports, and acceptances. A probe only reads it.
    pub home: Option<Home>,
}

/// Shared context of a probe.
struct ProbeContext<'p> {
    given: &'p ProbeSettings,
    /// Settings for a run in the temporary home.
    run: RunSettings,
    fetcher: Fetcher,
    /// The snapshots of the real home.
    snapshots: Option<Snapshots>,
    temporary: TemporaryHome,
    observer: &'p SharedObserver,
}

/// Role of a URL in a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    File,
    /// A page that should list files, but from which none could be read.
    Page {
        /// True if the files are requested at URLs known from elsewhere.
        is_replaced: bool,
    },
}

/// A URL with the result of examining it.
struct ProbedAddress<'a> {
    address: Address<'a>,
    role: Role,
    examined: Examined,
    /// The file in the home that a run would use instead of the publisher's file.
    fallback_file: Option<FallbackFile>,
}

impl ProbedAddress<'_> {
    /// Returns true if the file would be available to a run.
    fn is_available(&self) -> bool {
        match self.role {
            Role::Page { is_replaced } => is_replaced,
            Role::File => {
                self.fallback_file.is_some()
                    || (matches!(self.examined.verdict(), Verdict::Ok | Verdict::Changed)
                        && !self.examined.is_refused_file)
            }
        }
    }

    /// Returns true if the request itself failed, rather than the server answering that the file
    /// does not exist.
    fn is_failed(&self) -> bool {
        matches!(
            self.examined.verdict(),
            Verdict::Refused | Verdict::Moved | Verdict::Unreachable
        ) || self.examined.is_refused_file
    }

    /// Returns true if the file is missing and its build requires it.
    fn is_missing(&self) -> bool {
        !self.is_available()
            && self.address.source.required
            && (!self.address.source.partial || matches!(self.role, Role::Page { .. }))
    }

    fn problem(&self) -> &str {
        self.examined
            .problem
            .as_deref()
            .unwrap_or_else(|| self.examined.verdict().word())
    }

    /// Returns the message that a run would report about a blocked or missing source.
    fn reason(&self) -> String {
        let url = pubdata_fetch::recorded_url(&self.address.request.url).unwrap_or_default();
        format!(
            "{} ({url}): {}",
            self.address.source.source_id,
            self.problem()
        )
    }

    /// Returns the source finding that a run would report.
    fn finding(&self) -> Option<SourceFinding> {
        let source = self.address.source;
        if self.role == (Role::Page { is_replaced: true }) {
            let detail = format!(
                "{}: {}; used the addresses from the declaration, the last release or imported files instead",
                source.url,
                self.problem()
            );
            return Some(SourceFinding::new(&source.source_id, PAGE_NOT_READ, detail));
        }
        if self.role != Role::File {
            return None;
        }
        let stays = match &self.fallback_file {
            Some(fallback_file) if !fallback_file.is_earlier => return None,
            Some(fallback_file) => format!(
                "the file of {} stays in use",
                fallback_file.snapshot.source_date
            ),
            None if self.is_available() || self.is_missing() => return None,
            None => "published without it".to_owned(),
        };
        let code = if source.required {
            FILE_MISSING
        } else {
            OPTIONAL_FILE_MISSING
        };
        let url = pubdata_fetch::recorded_url(&self.address.request.url).unwrap_or_default();
        (source.required || self.is_failed()).then(|| {
            SourceFinding::new(
                &source.source_id,
                code,
                format!("{url}: {}; {stays}", self.problem()),
            )
        })
    }
}

/// Requests the publishers' files and predicts the result of a run.
///
/// # Errors
/// Returns `Config` if a selector matches nothing, `Store` if temporary files cannot be written,
/// and `Fetch` if a mirror does not respond.
pub async fn probe(settings: &ProbeSettings, observer: &SharedObserver) -> Result<ProbeReport> {
    let context = ProbeContext::new(settings, observer)?;
    context.fetcher.prepare().await?;
    let tasks = newest_partitions(&context).await?;
    let probed = ask(&context, &tasks).await?;
    let trial_runs = TrialRuns {
        context: &context,
        probed: &probed,
    };
    observer.on_fetch_started(tasks.len());
    let mut predictions = Vec::new();
    for task in &tasks {
        predictions.push(trial_runs.predict(&settings.declarations, task).await?);
        observer.on_fetched(&task.task_id, "foreseen");
    }
    let edits = corrections::edits(&context, &tasks, &probed, &predictions)?;
    let suggested = corrections::apply(&settings.declarations.files, &edits)?;
    let tried = corrections::try_out(&trial_runs, &suggested, &tasks, &edits).await?;
    let report_builder = report_builder::ReportBuilder {
        context: &context,
        tasks: &tasks,
        probed: &probed,
        predictions: &predictions,
        edits: &edits,
        tried: &tried,
    };
    let tasks = report_builder.tasks();
    Ok(ProbeReport {
        sources: report_builder.sources()?,
        counts: TaskCounts::from_tasks(&tasks),
        exit_code: exit_code(&tasks),
        tasks,
        suggested,
    })
}

impl<'p> ProbeContext<'p> {
    /// Returns whether the next release can keep a task's last build.
    fn last_build(&self, task_id: &str) -> LastBuild {
        match publish::reason_not_reusable(
            self.given.published.as_ref(),
            &self.given.declarations.contracts,
            task_id,
        ) {
            None => LastBuild::Stays,
            Some(_) => LastBuild::None,
        }
    }

    fn new(given: &'p ProbeSettings, observer: &'p SharedObserver) -> Result<Self> {
        check_mirrors(&given.fetch, &given.declarations)?;
        let temporary = TemporaryHome::make("probe")?;
        temporary.put(".pubdata-mirror", b"sample = true\n")?;
        let accepted = match &given.home {
            Some(home) => accepted_ids(home, given.fetch.clock.now())?,
            None => AcceptedIds::default(),
        };
        let fetch = with_logins(&given.fetch, &given.declarations, given.home.as_ref())?;
        let fetcher = Fetcher::new(fetch.clone(), Snapshots::open(temporary.home())?)?;
        let run = RunSettings {
            home: temporary.home().clone(),
            releases: Releases::open(temporary.home(), None)?,
            declarations: given.declarations.clone(),
            fetch,
            channel: String::new(),
            selectors: given.selectors.clone(),
            chosen: given.chosen.clone(),
            is_forced: false,
            is_offline: false,
            accepted: accepted.losses,
            confirmed: accepted.layouts,
            part_observer: None,
        };
        Ok(Self {
            given,
            run,
            fetcher,
            snapshots: given.home.as_ref().map(Snapshots::look),
            temporary,
            observer,
        })
    }
}
