//! Sorts the results of a task's fetches into snapshots for its build, missing files, and findings.
//! A missing file blocks its task only if the build requires it.

use std::collections::{BTreeMap, BTreeSet};

use super::fetch_target::{FetchTarget, Fetched};
use crate::reporting::findings::{
    CHANGED_UNSTATED, FILE_MISSING, FUTURE_DATE, LENGTH_UNKNOWN, OPTIONAL_FILE_MISSING,
};
use crate::reporting::plan::Problem;
use crate::settings::RunSettings;
use pubdata_core::error::Result;
use pubdata_core::issue::SourceFinding;
use pubdata_core::pipeline::Source;
use pubdata_core::provenance::Snapshot;
use pubdata_fetch::{Request, absence, recorded_url};
use pubdata_store::Snapshots;

#[derive(Default)]
pub(crate) struct Arrivals {
    pub(crate) snapshots: Vec<Snapshot>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) findings: Vec<SourceFinding>,
    /// True if a required file could not be fetched, rather than being absent.
    pub(crate) is_failed: bool,
}

impl Arrivals {
    /// Sorts the results of the files. Each file has a flag that says whether the build requires
    /// it.
    pub(crate) fn new(
        settings: &RunSettings,
        files: &[(FetchTarget, bool)],
        fetched: &BTreeMap<String, Fetched>,
        previous: &[Snapshot],
    ) -> Result<Self> {
        let mut arrivals = Self::default();
        let mut incomplete: BTreeSet<&str> = BTreeSet::new();
        for (
            FetchTarget {
                request,
                future_date,
                ..
            },
            is_required,
        ) in files
        {
            let source = settings
                .declarations
                .source(&request.source_id)
                .map(|(_, source)| source);
            let is_partial = source.is_some_and(|source| source.partial);
            let what = match &fetched[&request.url] {
                Fetched::Snapshots(found) => {
                    let labelled = |snapshot: &Snapshot| Snapshot {
                        source_version: request.source_version.clone(),
                        ..snapshot.clone()
                    };
                    arrivals.snapshots.extend(found.iter().map(labelled));
                    arrivals
                        .findings
                        .extend(of_unknown_length(settings, found)?);
                    arrivals
                        .findings
                        .extend(of_unstated_changes(settings, found)?);
                    arrivals.findings.extend(of_future_dates(
                        settings,
                        request,
                        future_date.as_deref(),
                        found,
                    )?);
                    continue;
                }
                Fetched::Absent if !is_required => {
                    let was_there = |known: &Snapshot| {
                        known.source_id == request.source_id && known.keys == request.keys
                    };
                    if previous.iter().any(was_there) {
                        let absence = absence(&settings.fetch.mirrors, &request.url, "file");
                        let detail = format!(
                            "{}: {absence} any more, and the last build was made from it; published without it",
                            request.url
                        );
                        arrivals.findings.push(SourceFinding::new(
                            &request.source_id,
                            OPTIONAL_FILE_MISSING,
                            detail,
                        ));
                    }
                    continue;
                }
                Fetched::NotConfigured(_) if !is_required => continue,
                Fetched::Failed(message) => message.clone(),
                Fetched::Absent => absence(&settings.fetch.mirrors, &request.url, "file"),
                Fetched::NotConfigured(variable) => format!("needs {variable}"),
            };
            let is_failed = matches!(fetched[&request.url], Fetched::Failed(_));
            if *is_required && !is_partial {
                arrivals.is_failed |= is_failed;
                arrivals.missing(request, &what);
                continue;
            }
            if *is_required {
                incomplete.insert(&request.source_id);
            }
            let stays = arrivals.take_earlier(settings, source, request)?;
            let code = if *is_required {
                FILE_MISSING
            } else {
                OPTIONAL_FILE_MISSING
            };
            arrivals.findings.push(SourceFinding::new(
                &request.source_id,
                code,
                format!("{}: {what}; {stays}", request.url),
            ));
        }
        for source_id in incomplete {
            if !arrivals
                .snapshots
                .iter()
                .any(|snapshot| snapshot.source_id == source_id)
            {
                let message = format!("{source_id}: none of its files arrived");
                arrivals.problems.push(Problem::missing(message));
            }
        }
        Ok(arrivals)
    }

    fn missing(&mut self, request: &Request, what: &str) {
        let message = format!("{} ({}): {what}", request.source_id, request.url);
        self.problems.push(Problem::missing(message));
    }

    /// Falls back to the file of an earlier run. Returns a description of the file that is used
    /// instead.
    fn take_earlier(
        &mut self,
        settings: &RunSettings,
        source: Option<&Source>,
        request: &Request,
    ) -> Result<String> {
        let snapshots = Snapshots::open(&settings.home)?;
        // Pages that were fetched in different runs do not fit together.
        let is_list = source.is_some_and(|source| source.pages.is_some());
        let earlier = if is_list {
            None
        } else {
            snapshots.known(&request.source_id, &recorded_url(&request.url)?)
        };
        Ok(
            match earlier.filter(|earlier| earlier.keys == request.keys) {
                Some(earlier) => {
                    let stays = format!("the file of {} stays in use", earlier.source_date);
                    self.snapshots.push(Snapshot {
                        source_version: request.source_version.clone(),
                        ..earlier
                    });
                    stays
                }
                None => "published without it".to_owned(),
            },
        )
    }
}

/// Reports files that their publisher dates in the future. The date is either the file's own or
/// `stated`, which is the date in the document that describes the file.
fn of_future_dates(
    settings: &RunSettings,
    request: &Request,
    stated: Option<&str>,
    found: &[Snapshot],
) -> Result<Vec<SourceFinding>> {
    let snapshots = Snapshots::open(&settings.home)?;
    let future_date = |snapshot: &Snapshot| {
        let known = snapshots
            .known_url(&snapshot.source_id, &snapshot.url)
            .filter(|known| known.snapshot.sha256 == snapshot.sha256);
        known
            .and_then(|known| known.future_date)
            .map(|date| (snapshot.url.clone(), date, snapshot.source_date.clone()))
    };
    let used = || {
        found
            .first()
            .map_or_else(String::new, |snapshot| snapshot.source_date.clone())
    };
    let mut dates: Vec<(String, String, String)> = stated
        .map(|date| (request.url.clone(), date.to_owned(), used()))
        .into_iter()
        .collect();
    dates.extend(found.iter().filter_map(future_date));
    let finding = |(url, date, used): (String, String, String)| {
        let detail = format!(
            "{url}: the publisher dates it {date}, which is in the future and does not count; {used} is used instead"
        );
        SourceFinding::new(&request.source_id, FUTURE_DATE, detail)
    };
    Ok(dates.into_iter().map(finding).collect())
}

/// Reports files whose bytes changed even though the publisher's document states no change.
fn of_unstated_changes(settings: &RunSettings, found: &[Snapshot]) -> Result<Vec<SourceFinding>> {
    let snapshots = Snapshots::open(&settings.home)?;
    let is_contradicted = |snapshot: &&Snapshot| {
        let known = snapshots
            .known_url(&snapshot.source_id, &snapshot.url)
            .filter(|known| known.snapshot.sha256 == snapshot.sha256);
        known
            .and_then(|known| known.stated)
            .is_some_and(|stated| stated.is_contradicted)
    };
    let finding = |snapshot: &Snapshot| {
        let detail = format!(
            "{}: the file changed although the publisher's document states no change; every run fetches the file until the document states a change",
            snapshot.url
        );
        SourceFinding::new(&snapshot.source_id, CHANGED_UNSTATED, detail)
    };
    Ok(found.iter().filter(is_contradicted).map(finding).collect())
}

/// Reports files whose completeness cannot be verified: the server states neither the length nor
/// the end of the file, and the end of the file itself proves nothing.
fn of_unknown_length(settings: &RunSettings, found: &[Snapshot]) -> Result<Vec<SourceFinding>> {
    let snapshots = Snapshots::open(&settings.home)?;
    let is_unknown = |snapshot: &&Snapshot| {
        snapshots
            .known_url(&snapshot.source_id, &snapshot.url)
            .is_some_and(|known| {
                known.is_length_unknown && known.snapshot.sha256 == snapshot.sha256
            })
    };
    let to_finding = |snapshot: &Snapshot| {
        let detail = format!(
            "{}: the server states no length, and the file's last line has no end: {} bytes arrived; compare the size with the publisher's",
            snapshot.url, snapshot.size_bytes
        );
        SourceFinding::new(&snapshot.source_id, LENGTH_UNKNOWN, detail)
    };
    Ok(found.iter().filter(is_unknown).map(to_finding).collect())
}
