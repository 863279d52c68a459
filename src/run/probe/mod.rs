//! Says what a night would do without doing it: asks each declared address for its head, compares
//! it with the declaration, and runs the night on a mirror of the first records, in a home of its
//! own. Nothing is published and nothing of it stays. Where the publisher's file is another than
//! declared, suggests changes of the declaration, and tries them on the same samples.

mod address;
mod ask;
mod corrections;
mod edit;
mod examine;
mod examined;
mod excerpt;
mod foresee;
mod header;
mod listing;
mod night;
mod report;
mod stand_in;
mod suggest;
mod told;
mod values;
mod way_out;

pub use report::{End, ProbeReport, ProbedSource, ProbedTask, Verdict, Would};

use self::address::Address;
use self::ask::{ask, newest_partitions};
use self::examined::Examined;
use self::foresee::Nights;
use self::report::{LastBuild, TaskCounts, exit_code};
use self::stand_in::StandIn;
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

/// What a probe works with.
pub struct ProbeSettings {
    pub declarations: Declarations,
    pub fetch: FetchSettings,
    /// Pipelines, datasets, families or tasks to look at; everything when empty.
    pub selectors: Vec<String>,
    /// What a night looks at when nothing is named.
    pub chosen: Chosen,
    /// Most records of each file that the dataset's own code is run on.
    pub rows: usize,
    /// The release that a night would renew, when there is one.
    pub published: Option<Manifest>,
    /// Files of earlier nights and of persons, and what persons have accepted. It is only looked
    /// at.
    pub home: Option<Home>,
}

/// What a probe works with throughout.
struct ProbeContext<'p> {
    given: &'p ProbeSettings,
    /// A run in the temporary home.
    run: RunSettings,
    fetcher: Fetcher,
    /// The files that the real home has.
    snapshots: Option<Snapshots>,
    temporary: TemporaryHome,
    observer: &'p SharedObserver,
}

/// What an address is to a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    File,
    /// A page that should list files, and none of which could be read from it.
    Page {
        /// Whether the files are asked for at addresses that are known otherwise.
        is_replaced: bool,
    },
}

/// An address with what it has.
struct Asked<'a> {
    address: Address<'a>,
    role: Role,
    examined: Examined,
    /// The file of the home that a night would use in place of the publisher's.
    stand_in: Option<StandIn>,
}

impl Asked<'_> {
    /// Whether a night would have the file.
    fn is_had(&self) -> bool {
        match self.role {
            Role::Page { is_replaced } => is_replaced,
            Role::File => {
                self.stand_in.is_some()
                    || (matches!(self.examined.verdict(), Verdict::Ok | Verdict::Changed)
                        && !self.examined.is_refused_file)
            }
        }
    }

    /// Whether the publisher did not just say that there is no file.
    fn is_failed(&self) -> bool {
        matches!(
            self.examined.verdict(),
            Verdict::Refused | Verdict::Moved | Verdict::Unreachable
        ) || self.examined.is_refused_file
    }

    /// Whether its build cannot be made without it.
    fn is_missing(&self) -> bool {
        !self.is_had()
            && self.address.source.required
            && (!self.address.source.partial || matches!(self.role, Role::Page { .. }))
    }

    fn problem(&self) -> &str {
        self.examined
            .problem
            .as_deref()
            .unwrap_or_else(|| self.examined.verdict().word())
    }

    /// What a run says where it blocks or misses a source.
    fn reason(&self) -> String {
        let url = pubdata_fetch::recorded_url(&self.address.request.url).unwrap_or_default();
        format!(
            "{} ({url}): {}",
            self.address.source.source_id,
            self.problem()
        )
    }

    /// What a run would tell of it as a finding of its source.
    fn finding(&self) -> Option<SourceFinding> {
        let source = self.address.source;
        if self.role == (Role::Page { is_replaced: true }) {
            let detail = format!(
                "{}: {}; asked for the addresses that the declaration, the last release or a person who imported a file has named",
                source.url,
                self.problem()
            );
            return Some(SourceFinding::new(&source.source_id, PAGE_NOT_READ, detail));
        }
        if self.role != Role::File {
            return None;
        }
        let stays = match &self.stand_in {
            Some(stand_in) if !stand_in.is_earlier => return None,
            Some(stand_in) => format!("the file of {} stays in use", stand_in.snapshot.source_date),
            None if self.is_had() || self.is_missing() => return None,
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

/// Asks the publishers and says what a night would do.
///
/// # Errors
/// `Config`, when a selector matches nothing; `Store`, when the temporary files cannot be written;
/// `Fetch`, when a mirror does not answer.
pub async fn probe(settings: &ProbeSettings, observer: &SharedObserver) -> Result<ProbeReport> {
    let context = ProbeContext::new(settings, observer)?;
    context.fetcher.prepare().await?;
    let tasks = newest_partitions(&context).await?;
    let asked = ask(&context, &tasks).await?;
    let nights = Nights {
        context: &context,
        asked: &asked,
    };
    observer.fetching(tasks.len());
    let mut foresights = Vec::new();
    for task in &tasks {
        foresights.push(nights.foresee(&settings.declarations, task).await?);
        observer.fetched(&task.task_id, "foreseen");
    }
    let edits = corrections::edits(&context, &tasks, &asked, &foresights)?;
    let suggested = corrections::apply(&settings.declarations.files, &edits)?;
    let tried = corrections::try_out(&nights, &suggested, &tasks, &edits).await?;
    let teller = told::Teller {
        context: &context,
        tasks: &tasks,
        asked: &asked,
        foresights: &foresights,
        edits: &edits,
        tried: &tried,
    };
    let tasks = teller.tasks();
    Ok(ProbeReport {
        sources: teller.sources()?,
        counts: TaskCounts::of(&tasks),
        exit_code: exit_code(&tasks),
        tasks,
        suggested,
    })
}

impl<'p> ProbeContext<'p> {
    /// Whether a task's build of the last release can stay.
    fn last_build(&self, task_id: &str) -> LastBuild {
        match publish::refusal_to_carry(
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
