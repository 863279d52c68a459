//! `pubdata upgrade`: reports how this version of the program treats a home left by another
//! version. Changes nothing, because no format requires changes.

use std::process::ExitCode;

use super::{Global, output};
use pubdata_build::publish::STAGED_FORMAT_VERSION;
use pubdata_core::error::{ErrorKind, Result};
use pubdata_run::{self as run, KeptRelease, NextRun, UpgradeReport};
use pubdata_store::{self as store, FormatReport, StagedFormats, Treatment};

pub(super) async fn upgrade(global: &Global) -> Result<ExitCode> {
    // Files from a newer version are reported before anything is read.
    let (home, releases) = global.looking()?;
    let staged = StagedFormats {
        build: STAGED_FORMAT_VERSION,
        plan: run::PLAN_FORMAT_VERSION,
        receipt: run::RECEIPT_FORMAT_VERSION,
    };
    let mut report =
        UpgradeReport::of_formats(&home, store::formats(&home, &releases, staged).await?);
    if !report.is_refused() {
        report = run::upgrade(&global.reading("nightly")?, report.formats).await?;
    }
    if global.json {
        output::document(&report);
    } else {
        print(&report);
    }
    Ok(if report.is_refused() {
        ExitCode::from(ErrorKind::Store.exit_code())
    } else {
        ExitCode::SUCCESS
    })
}

fn print(report: &UpgradeReport) {
    output::print_line!("pubdata {} and the home {}", report.program, report.home);
    output::print_line!();
    let mut rows = vec![
        ["FORMAT OF", "WHERE", "FOUND", "READS", "THIS PROGRAM"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(report.formats.iter().map(row));
    output::table(&rows);
    output::print_line!();
    if report.is_refused() {
        let refused = || {
            report
                .formats
                .iter()
                .filter(|format| format.treatment == Treatment::Refused)
                .flat_map(|format| format.found.keys().map(move |version| (format, *version)))
        };
        if refused().any(|(_, version)| version == 0) {
            output::print_line!(
                "{}: unreadable files are damaged; restore them from a backup",
                output::coloured("refused")
            );
        }
        if refused().any(|(format, version)| version > format.newest) {
            output::print_line!(
                "{}: a newer version of pubdata wrote it; use that one, or a later one",
                output::coloured("refused")
            );
        }
        return;
    }
    output::print_line!("nothing needs to be rewritten: all files can be read as they are");
    for (channel, next) in &report.next_runs {
        print_next(channel, next);
    }
    report.releases.iter().for_each(print_release);
}

fn row(format: &FormatReport) -> Vec<String> {
    let found = format.found.iter().map(|(version, count)| match version {
        0 => format!("unreadable ({})", output::grouped(*count)),
        version => format!("{version} ({})", output::grouped(*count)),
    });
    let reads = if format.newest == 1 {
        "1".to_owned()
    } else {
        format!("1 to {}", format.newest)
    };
    let does = match format.treatment {
        Treatment::Absent => output::dim("none"),
        Treatment::Read => "reads it as it is".to_owned(),
        Treatment::MadeAgain => "rebuilds it when needed".to_owned(),
        Treatment::Refused => output::coloured("refused"),
    };
    vec![
        format.name.to_owned(),
        format.place.to_owned(),
        found.collect::<Vec<_>>().join(", "),
        reads,
        does,
    ]
}

fn print_next(channel: &str, next: &NextRun) {
    let again = next.built_again.len();
    output::print_paragraph!(
        "channel {channel} → {}: the next run builds {again} of {} again",
        output::bold(next.release_id.as_str()),
        output::counted(next.builds, "build")
    );
    for (task_id, reasons) in &next.built_again {
        output::print_line!("  {task_id}: {}", reasons.join("; "));
    }
    next.left_out
        .iter()
        .for_each(|task_id| output::print_line!("  {task_id}: no longer declared, and left out"));
}

fn print_release(release: &KeptRelease) {
    let KeptRelease {
        release_id,
        published_at,
        program,
        builds,
        can_be_made_again,
        without_declarations,
    } = release;
    let without = if *without_declarations > 0 {
        format!("; carries no declarations of {without_declarations}")
    } else {
        String::new()
    };
    output::print_paragraph!(
        "release {} of {}, made by pubdata {program}: this program can make {can_be_made_again} of {} again{without}",
        output::bold(release_id.as_str()),
        output::to_seconds(published_at),
        output::counted(*builds, "build")
    );
}
