//! `pubdata verify --url`: audits another operator's server and checks that its responses match
//! what the publisher signed.

use std::process::ExitCode;

use clap::Args;

use super::publishers::PublisherArgs;
use super::receipts::verifier_key;
use super::{Global, output};
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_fetch::log_auditor::{
    self, AuditReport, AuditSettings, FileOutcome, KeyFrom, LogReport, Outcome, RecordReport,
};
use pubdata_store::Home;

#[derive(Args)]
pub(super) struct AuditArgs {
    /// Audits a server that someone else runs. Compares its log with the log seen before, and
    /// checks receipts for random records and the publishers' files.
    #[arg(long, value_name = "URL", conflicts_with_all = ["release", "rebuild", "channel"])]
    url: Option<String>,
    /// With --url: verification key of the publisher's log, name+hash+base64, or a file that
    /// contains the key; default: the key seen before.
    #[arg(long, requires = "url", value_name = "VERIFIER_KEY|FILE")]
    key: Option<String>,
    /// With --url: number of random records, drawn evenly from the datasets; 0 checks only the log.
    #[arg(long, requires = "url", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    records: u32,
    /// With --url: random seed for the choice of records; printed if not given.
    #[arg(long, requires = "url", value_name = "NUMBER")]
    seed: Option<u32>,
    /// With --url: limit, in megabytes, for all publishers' files that are fetched for comparison;
    /// 0 fetches no files.
    #[arg(long, requires = "url", value_name = "MB", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    publisher_mb: u32,
    /// With --url: an API key for that server.
    #[arg(long, env = "PUBDATA_KEY", hide_env_values = true, value_name = "KEY")]
    api_key: Option<String>,
    #[command(flatten)]
    publishers: PublisherArgs,
}

impl AuditArgs {
    /// Returns true if a server is to be audited.
    ///
    /// # Errors
    /// Returns `Config` if no server is given, but an option that applies only to audits is.
    pub(super) fn is_meant(&self) -> Result<bool> {
        if self.url.is_none() && !self.publishers.mirror.is_empty() {
            return Err(Error::config(
                "--mirror is for verify with --url; without it no publisher is asked",
            ));
        }
        Ok(self.url.is_some())
    }
}

pub(super) async fn audit(global: &Global, arguments: &AuditArgs) -> Result<ExitCode> {
    let key = arguments.key.as_deref().map(verifier_key).transpose()?;
    let seed = match arguments.seed {
        Some(seed) => seed,
        None => getrandom::u32().map_err(|error| {
            Error::store(format!("the system gives no random numbers: {error}"))
                .hint("name one with --seed")
        })?,
    };
    let settings = AuditSettings {
        declarations: global.declarations()?,
        fetch: arguments.publishers.fetch_settings(),
        url: arguments.url.clone().unwrap_or_default(),
        api_key: arguments.api_key.clone().filter(|key| !key.is_empty()),
        key,
        records: usize::try_from(arguments.records).unwrap_or_default(),
        seed,
        publisher_bytes: u64::from(arguments.publisher_mb) * 1_000_000,
        // A missing home is created, because the observations of the audit must be kept.
        home: Home::open(&global.home)?,
    };
    let report = log_auditor::audit(&settings).await?;
    if global.json {
        output::document(&report);
    } else {
        print(&report);
    }
    Ok(match report.outcome {
        Outcome::Match => ExitCode::SUCCESS,
        Outcome::Mismatch => ExitCode::from(1),
        Outcome::NotPossible => ExitCode::from(ErrorKind::Fetch.exit_code()),
    })
}

fn print(report: &AuditReport) {
    report
        .problems
        .iter()
        .for_each(|problem| output::print_line!("{problem}"));
    if let Some(log) = &report.log {
        print_log(log);
    }
    if !report.records.is_empty() {
        let proven = report
            .records
            .iter()
            .filter(|record| record.outcome == Outcome::Match)
            .count();
        let drawn = output::counted(report.records.len(), "record");
        output::print_line!(
            "records   {proven} of {drawn} proven, and the same in the server's answers; {} proven to be absent (--seed {})",
            output::counted(report.absent, "id"),
            report.seed
        );
    }
    for RecordReport { record_id, outcome } in report
        .records
        .iter()
        .filter(|record| record.outcome != Outcome::Match)
    {
        output::print_line!("  {} {record_id}", output::coloured(word(*outcome)));
    }
    if !report.files.is_empty() {
        let count = |outcomes: &[FileOutcome]| {
            report
                .files
                .iter()
                .filter(|file| outcomes.contains(&file.outcome))
                .count()
        };
        let compared = count(&[
            FileOutcome::Match,
            FileOutcome::Replaced,
            FileOutcome::Mismatch,
        ]);
        let (files, same) = (
            output::counted(report.files.len(), "file"),
            count(&[FileOutcome::Match]),
        );
        output::print_line!(
            "files     {compared} of {files} compared with the publishers', {same} equal"
        );
    }
    for file in report
        .files
        .iter()
        .filter(|file| file.outcome != FileOutcome::Match)
    {
        let detail = file
            .detail
            .as_ref()
            .map(|detail| format!(": {detail}"))
            .unwrap_or_default();
        output::print_line!(
            "  {} {}{detail}",
            output::coloured(file_word(file.outcome)),
            file.url
        );
    }
    report
        .notes
        .iter()
        .for_each(|note| output::print_line!("note      {note}"));
    report
        .evidence
        .iter()
        .for_each(|evidence| output::print_line!("evidence  {}", evidence.display()));
    let release = report
        .release_id
        .as_ref()
        .map(|release| format!(", release {release}"))
        .unwrap_or_default();
    output::print_line!(
        "{} {}{release}",
        output::coloured(word(report.outcome)),
        report.server
    );
}

fn print_log(log: &LogReport) {
    output::print_line!(
        "log       {}, {}",
        log.name,
        output::counted(log.size, "entry")
    );
    output::print_line!("root      {}", log.root);
    output::print_line!("key       {}", log.key);
    match (log.key_from, &log.seen_at, log.seen_size) {
        (_, Some(at), Some(size)) => {
            output::print_line!(
                "seen      {} with {}",
                output::to_seconds(at),
                output::counted(size, "entry")
            );
        }
        (KeyFrom::FirstUse, ..) => {
            output::print_line!(
                "{}",
                output::warning(
                    "key trusted on first use: compare it with what the publisher says elsewhere, and give it with --key"
                )
            );
        }
        _ => output::print_line!(
            "seen      never before: this home keeps the checkpoint, and the next audit compares the log with it"
        ),
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Match => "match",
        Outcome::Mismatch => "mismatch",
        Outcome::NotPossible => "not possible",
    }
}

fn file_word(outcome: FileOutcome) -> &'static str {
    match outcome {
        FileOutcome::Match => "match",
        FileOutcome::Replaced => "replaced",
        FileOutcome::Mismatch => "mismatch",
        FileOutcome::Gone => "gone",
        FileOutcome::TooLarge => "too large",
        FileOutcome::NotRequested => "not asked",
        FileOutcome::Unreachable => "unreachable",
    }
}
