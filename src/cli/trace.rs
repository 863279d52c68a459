//! `pubdata trace`: shows the origin of a published record and rebuilds the record from the
//! original bytes, or lists the records derived from a filing.

use std::process::ExitCode;

use clap::Args;

use super::{Global, output};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::{RecordId, ReleaseId};
use pubdata_core::provenance::Obtained;
use pubdata_run::{self as run, AccessionReport, TraceReport};
use pubdata_store::Releases;
use pubdata_store::evidence::Replay;

#[derive(Args)]
pub(super) struct TraceArgs {
    /// A record such as geo.zcta_metric:2023:90210:population, or a filing's accession number such
    /// as 0000320193-20-000096.
    record: String,
    /// A release other than the channel's current release.
    #[arg(long)]
    release: Option<String>,
    /// Channel whose release is used.
    #[arg(long, default_value = "nightly")]
    channel: String,
}

/// Maximum number of characters shown from a source record; `--json` shows all.
const SHOWN: usize = 600;

pub(super) async fn trace(global: &Global, arguments: &TraceArgs) -> Result<ExitCode> {
    let release = arguments.release.as_deref().map(release_id).transpose()?;
    let channel = arguments.channel.clone();
    if let Ok(accession) = arguments.record.parse() {
        let find = |releases: Releases| async move {
            run::manifest_of(&releases, &channel, release).await
        };
        let (settings, manifest) = global.reading_beside(&arguments.channel, find).await?;
        let report = run::trace_accession(&settings, manifest, accession).await?;
        if global.json {
            output::document(&report);
        } else {
            print_records(&report);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let record_id: RecordId = match arguments.record.parse() {
        Ok(record_id) => record_id,
        // Errors in the declarations or the home take precedence.
        Err(error) => {
            return global
                .reading(&channel)
                .and_then(|_| Err(Error::config(format!("{error}, nor an accession number"))));
        }
    };
    let target = record_id.clone();
    let (settings, located) = global
        .reading_beside(&arguments.channel, |releases| {
            run::locate(releases, channel, release, target)
        })
        .await?;
    let report = run::trace_located(&settings, located, &record_id).await?;
    if global.json {
        output::document(&report);
    } else {
        print(&report);
    }
    Ok(ExitCode::from(exit_code(report.replay)))
}

pub(super) fn release_id(text: &str) -> Result<ReleaseId> {
    text.parse().map_err(|error| {
        Error::config(format!("{error}")).hint("`pubdata releases list` shows them")
    })
}

fn print_records(report: &AccessionReport) {
    output::print_line!(
        "filing    {}",
        output::bold(&report.accession_number.to_string())
    );
    output::print_line!("release   {}", report.release_id);
    for (dataset_id, columns) in &report.records {
        for (column, record_ids) in columns {
            output::print_line!(
                "{dataset_id} by {column}: {}",
                output::counted(record_ids.len(), "record")
            );
            record_ids
                .iter()
                .for_each(|record_id| output::print_line!("  {record_id}"));
        }
    }
}

fn print(report: &TraceReport) {
    output::print_line!("record    {}", output::bold(&report.record_id));
    for (name, value) in &report.record {
        output::print_line!("  {name}: {value}");
    }
    for (column, rule) in &report.derivations {
        output::print_line!("derived   {column}: {rule}");
    }
    for (name, url) in &report.links {
        output::print_line!(
            "{:<9} {url}",
            name.trim_end_matches("_url")
                .replace("primary_document", "document")
        );
    }
    output::print_line!(
        "part      {} ({}, sha256 {})",
        report.part.path,
        output::counted(report.part.rows, "row"),
        report.part.sha256
    );
    output::print_line!(
        "release   {} published {}",
        report.release_id,
        report.published_at
    );
    output::print_line!("run       {} task {}", report.run_id, report.task_id);
    for source in &report.sources {
        output::print_line!(
            "source    {} {} ({})",
            source.pointer.source_id,
            source.source_version,
            source.source_date
        );
        let origin = match source.obtained {
            _ if source.url.starts_with("bundled:") => {
                " (compiled by pubdata from the cited sources, part of the program)"
            }
            Obtained::Manual => " (downloaded manually)",
            Obtained::ByProgram => "",
        };
        output::print_line!("  url       {}{origin}", source.url);
        if let Some(mirror) = &source.mirror {
            output::print_line!(
                "  mirror    {mirror}: the bytes are its copy, not fetched from the publisher"
            );
        }
        output::print_line!("  snapshot  {}", source.path);
        let member = source
            .pointer
            .member
            .as_deref()
            .map(|member| format!(" of member {member}"))
            .unwrap_or_default();
        output::print_line!(
            "  bytes     {} to {}{member}",
            source.pointer.offset,
            (source.pointer.offset + source.pointer.length).saturating_sub(1)
        );
        match &source.text {
            Some(text) if text.chars().count() > SHOWN => {
                let cut: String = text.chars().take(SHOWN).collect();
                print_text(&cut, &output::dim(" … (--json shows all)"));
            }
            Some(text) => print_text(text, ""),
            None => output::print_line!("  {}", output::coloured("missing")),
        }
    }
    report
        .notes
        .iter()
        .for_each(|note| output::print_line!("note      {note}"));
    report
        .differences
        .iter()
        .for_each(|difference| output::print_line!("differs   {difference}"));
    output::print_line!(
        "replay    {}",
        verdict(report.replay, report.not_possible.as_deref())
    );
}

/// Prints a source record with its line breaks. Each line is indented, so that the record cannot
/// imitate our own output.
fn print_text(text: &str, ending: &str) {
    let lines: Vec<&str> = text.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        output::print_line!(
            "  {line}{}",
            if number + 1 == lines.len() {
                ending
            } else {
                ""
            }
        );
    }
}

/// Formats the result of a replay as one word. If the replay is not possible, adds the reason.
pub(super) fn verdict(replay: Replay, reason: Option<&str>) -> String {
    match replay {
        Replay::Match => output::coloured("match"),
        Replay::Mismatch => output::coloured("mismatch"),
        Replay::NotPossible => format!(
            "{}{}",
            output::coloured("not possible"),
            reason
                .map(|reason| format!(": {reason}"))
                .unwrap_or_default()
        ),
    }
}

/// Returns the exit code of a replay. An impossible replay counts neither as a match nor as a
/// mismatch.
pub(super) fn exit_code(replay: Replay) -> u8 {
    match replay {
        Replay::Match => 0,
        Replay::Mismatch => 1,
        Replay::NotPossible => 2,
    }
}
