//! Fetches the publishers' files for the drawn records again, if the files still exist, and
//! compares their digests. Requests only URLs that this program's own declarations assign to the
//! publishers, because an untrusted server could name any URL.

use crate::{FetchSettings, Fetcher, NoProgress, Outcome, Request, http_date, is_within_reach};
use pubdata_core::error::{ErrorKind, Result};
use pubdata_core::pipeline::Source;
use pubdata_core::provenance::Snapshot;
use pubdata_store::Snapshots;

use super::AuditSettings;
use super::records::{File, Files};
use super::report::{AuditReport, FileOutcome, FileReport, shown};

/// Maximum time for one file.
const TIME: std::time::Duration = std::time::Duration::from_secs(1_800);

/// Compares the files one after another until the byte budget is used up.
pub(super) async fn check(
    settings: &AuditSettings,
    files: Files,
    report: &mut AuditReport,
) -> Result<()> {
    if files.is_empty() || settings.publisher_bytes == 0 {
        return Ok(());
    }
    let scratch = settings.home.scratch_of_process("witness")?;
    let compared = compare(settings, &Snapshots::open(&scratch)?, files, report).await;
    scratch.remove()?;
    compared?;
    let is_compared = |file: &FileReport| {
        matches!(
            file.outcome,
            FileOutcome::Match | FileOutcome::Replaced | FileOutcome::Mismatch
        )
    };
    if !report.files.is_empty() && !report.files.iter().any(is_compared) {
        report.not_proven("the publishers' files were not checked: none of those that the server names could be compared; --publisher-mb 0 leaves them out");
    }
    Ok(())
}

async fn compare(
    settings: &AuditSettings,
    snapshots: &Snapshots,
    files: Files,
    report: &mut AuditReport,
) -> Result<()> {
    let patient = FetchSettings {
        tries: settings.fetch.tries.min(3),
        total_timeout: settings.fetch.total_timeout.min(TIME),
        ..settings.fetch.clone()
    };
    let fetcher = Fetcher::new(patient, snapshots.clone())?;
    let mut left = settings.publisher_bytes;
    // Bundled files do not come from a publisher.
    for ((url, sha256), file) in files
        .into_iter()
        .filter(|((url, _), _)| !url.starts_with("bundled:"))
    {
        let file_report = |outcome, detail: Option<String>| FileReport {
            source_id: shown(&file.source_id),
            url: shown(&url),
            sha256: sha256.to_string(),
            outcome,
            detail: detail.map(|detail| shown(&detail)),
        };
        let source = settings
            .declarations
            .pipelines
            .values()
            .flat_map(|declaration| &declaration.sources)
            .find(|source| source.source_id == file.source_id);
        let Some(source) = source.filter(|source| {
            url.starts_with("https://") && is_within_reach(&source.url, &source.redirects, &url)
        }) else {
            let why = if url.starts_with("https://") {
                "not a known address of that publisher"
            } else {
                "not at an https:// address"
            };
            report
                .files
                .push(file_report(FileOutcome::NotRequested, Some(why.to_owned())));
            continue;
        };
        if !file.is_by_program {
            report.files.push(file_report(
                FileOutcome::NotRequested,
                Some("an operator downloaded it".to_owned()),
            ));
            continue;
        }
        let beyond = || format!("what is left of --publisher-mb is {left} bytes");
        if left == 0 || file.size_bytes.is_some_and(|size| size > left) {
            report
                .files
                .push(file_report(FileOutcome::TooLarge, Some(beyond())));
            continue;
        }
        let row = match fetcher
            .fetch(&request(source, &url, left), &NoProgress)
            .await
        {
            Ok(Outcome::New(now) | Outcome::Unchanged(now) | Outcome::Reused(now)) => {
                left = left.saturating_sub(now.size_bytes);
                let (outcome, detail) = judged(&now, now.sha256 == sha256, &file);
                file_report(outcome, detail)
            }
            Ok(Outcome::Absent) => file_report(FileOutcome::Gone, None),
            Ok(Outcome::NotConfigured { variable }) => file_report(
                FileOutcome::NotRequested,
                Some(format!("it needs {variable}")),
            ),
            Err(error) if error.kind() == ErrorKind::Fetch => {
                file_report(FileOutcome::Unreachable, Some(error.to_string()))
            }
            Err(error) => return Err(error),
        };
        if row.outcome == FileOutcome::Mismatch {
            report.problem(&format!(
                "{url}: {}",
                row.detail.as_deref().unwrap_or_default()
            ));
        }
        report.files.push(row);
    }
    Ok(())
}

/// Builds the request for a file. Only the permitted hosts come from the declaration: the file is
/// compared as it is, and no secret is sent.
fn request(source: &Source, url: &str, max_bytes: u64) -> Request {
    Request {
        source_id: source.source_id.clone(),
        keys: Default::default(),
        url: url.to_owned(),
        source_version: String::new(),
        source_date: None,
        is_archive: false,
        is_json: false,
        is_page: false,
        min_bytes: 0,
        max_bytes,
        bundled: None,
        redirects: source.redirects.clone(),
        app_token: None,
        stated: None,
    }
}

/// Classifies a comparison. Most files are replaced eventually. The publisher's date decides
/// whether the file can have been replaced after the server fetched it.
fn judged(now: &Snapshot, is_same: bool, file: &File) -> (FileOutcome, Option<String>) {
    if is_same {
        return (FileOutcome::Match, None);
    }
    let retrieved = file.fetched_at.as_deref().unwrap_or("an unknown day");
    let fetched_at = file
        .fetched_at
        .as_deref()
        .and_then(|at| at.parse::<jiff::Timestamp>().ok());
    let dated = now.last_modified.as_deref().and_then(http_date);
    match (dated, fetched_at) {
        (Some(dated), Some(fetched_at)) if dated < fetched_at => (
            FileOutcome::Mismatch,
            Some(format!(
                "the publisher has other bytes, dated {dated}: before the server says that it fetched its own ({retrieved})"
            )),
        ),
        _ => (
            FileOutcome::Replaced,
            Some(format!(
                "the publisher has replaced the file since (retrieved on {retrieved})"
            )),
        ),
    }
}
