//! `pubdata probe`: prints the state of the publishers' files and the predicted result of a run,
//! and writes suggested declarations to a new folder. Does not create a home.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::publishers::PublisherArgs;
use super::{Global, output, progress::Progress};
use pubdata_core::error::{Error, Result};
use pubdata_fetch::FetchSettings;
use pubdata_run::{
    self as run, PredictedOutcome, ProbeReport, ProbeSettings, ProbedSource, ProbedTask,
    SharedObserver, TaskOutcome,
};
use pubdata_store::{Home, Releases};

const AFTER_HELP: &str = "\
Use it before the first run, and when a publisher seems to have changed something:
  pubdata probe                              ask every address, and say what a run would do
  pubdata probe permit license.ca_cslb       ask only those of a family and of a pipeline
  pubdata probe --write declarations         write all declarations, with the suggestions applied
  pubdata run --declarations declarations    run with them, once you have looked at them

A probe fetches the first 256 KiB of each file, or the directory and the beginning of a member of an \
archive, and runs the dataset's own code on the first rows. It publishes nothing and does not change the \
home; it applies the imported files and approvals there as a run does.

RUN is what `pubdata run` would report for the source:
  built          with the new file, perhaps with findings (`fresh` if nothing has changed)
  missing        a source is unavailable: the last good build stays, if there is one
  blocked        the data differ from the declaration: the last good build stays, if there is one
  not_published  the publisher has not published this partition yet

Verdicts:
  ok           the file is available, with the declared columns
  changed      columns or format differ from the declaration
  absent       there is no such file
  refused      the server refuses programs, shows them a web page, or has an unknown SSH key
  moved        the server redirects to an address that is not followed
  unreachable  no response, or one that says to try later
  not_asked    the file is imported manually, or a secret or another setting is missing

Exit codes, the same as the run would have:
  0 all built    10 with findings    20 something blocked    30 something missing";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct ProbeArgs {
    /// Pipelines (census.acs5), families (census), datasets (geo.school) or tasks
    /// (census.acs5/vintage=2023); default: everything.
    selectors: Vec<String>,
    #[command(flatten)]
    publishers: PublisherArgs,
    /// The channel to compare with.
    #[arg(long, default_value = "nightly")]
    channel: String,
    /// Maximum number of rows from each file that the dataset's code processes.
    #[arg(long, value_name = "ROWS", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    sample: u32,
    /// Writes all declarations, with the suggestions applied, into a new folder for --declarations.
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
}

pub(super) async fn probe(global: &Global, arguments: &ProbeArgs) -> Result<ExitCode> {
    if let Some(folder) = arguments.write.as_deref().filter(|folder| folder.exists()) {
        return Err(
            Error::config(format!("{} is already there", folder.display()))
                .hint("name a folder that does not exist yet: nothing is overwritten"),
        );
    }
    let settings = settings(global, arguments).await?;
    let progress = Arc::new(Progress::new());
    let observer: SharedObserver = progress.clone();
    let report = run::probe(&settings, &observer).await;
    progress.finish();
    let report = report?;
    if let Some(folder) = &arguments.write {
        report.suggested.write_to(folder)?;
    }
    if global.json {
        output::document(&report);
    } else {
        print(&report, arguments);
    }
    Ok(ExitCode::from(u8::from(report.exit_code)))
}

/// Returns the settings of a probe. A missing home is not created, and an existing home is only
/// read.
async fn settings(global: &Global, arguments: &ProbeArgs) -> Result<ProbeSettings> {
    let declarations = global.declarations()?;
    let home = if global.home.is_dir() {
        Some(Home::open(&global.home)?)
    } else {
        None
    };
    let releases = match (&home, &global.store) {
        (Some(home), store) => Some(Releases::open(home, store.as_deref())?),
        (None, _) => None,
    };
    let published = match &releases {
        Some(releases) => match releases.channel(&arguments.channel).await? {
            Some(entry) => Some(releases.manifest(&entry.release_id).await?),
            None => None,
        },
        None => None,
    };
    // A probe has shorter timeouts than a run, and reports slow servers.
    let fetch = FetchSettings {
        tries: 2,
        longest_wait: Duration::from_secs(2),
        longest_retry_after: Duration::from_secs(5),
        connect_timeout: Duration::from_secs(10),
        read_timeout: Duration::from_secs(90),
        total_timeout: Duration::from_secs(120),
        ..arguments.publishers.fetch_settings()
    };
    run::check_selectors(&declarations, &arguments.selectors, fetch.clock.now())?;
    Ok(ProbeSettings {
        declarations,
        fetch,
        selectors: arguments.selectors.clone(),
        chosen: global.chosen.clone(),
        rows: arguments.sample as usize,
        published,
        home,
    })
}

fn print(report: &ProbeReport, arguments: &ProbeArgs) {
    print_sources(&report.sources);
    report.tasks.iter().for_each(print_task);
    print_hints(&report.sources);
    print_suggestions(&report.sources, arguments);
    let count = |is_counted: fn(&ProbedTask) -> bool| {
        report.tasks.iter().filter(|task| is_counted(task)).count()
    };
    let counts = [
        (
            "built",
            count(|task| matches!(task.outcome, TaskOutcome::Built(_))),
        ),
        (
            "missing",
            count(|task| task.outcome == TaskOutcome::Missing),
        ),
        (
            "blocked",
            count(|task| task.outcome == TaskOutcome::Blocked),
        ),
        (
            "not_published",
            count(|task| task.outcome == TaskOutcome::NotPublished),
        ),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    let findings = report.counts.would_publish_with_findings;
    let with_findings = if findings > 0 {
        format!("; {findings} of those built need attention")
    } else {
        String::new()
    };
    let code = u8::from(report.exit_code);
    output::print_paragraph!(
        "a run would end so: {}{with_findings}; this probe ends with {code}",
        counts.join(", ")
    );
}

fn print_sources(sources: &[ProbedSource]) {
    let mut rows = vec![
        ["SOURCE", "VERDICT", "RUN", "SAMPLE", "WHAT"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let is_alike = |one: &ProbedSource, other: &ProbedSource| {
        one.source_id == other.source_id
            && one.verdict == other.verdict
            && one.problem == other.problem
            && other.sample.is_none()
            && one.in_use == other.in_use
    };
    for alike in sources.chunk_by(is_alike) {
        let source = &alike[0];
        let files = if alike.len() == 2 { "file" } else { "files" };
        let others = if alike.len() > 1 {
            output::dim(&format!(" (and {} more {files})", alike.len() - 1))
        } else {
            String::new()
        };
        let cells = [
            source.source_id.clone(),
            output::coloured(source.verdict.word()),
            ending(source.outcome, source.predicted),
            sample(source),
        ];
        rows.push(
            cells
                .into_iter()
                .chain([format!("{}{others}", what(source))])
                .collect(),
        );
    }
    output::table(&rows);
}

/// Formats the predicted outcome just as a run would report it.
fn ending(outcome: TaskOutcome, predicted: PredictedOutcome) -> String {
    match predicted {
        PredictedOutcome::PublishWithFindings => output::warning("built, findings"),
        _ => output::coloured(outcome.word()),
    }
}

/// Prints the details of a task just as a run would.
fn print_task(task: &ProbedTask) {
    let is_stale_outcome = matches!(task.outcome, TaskOutcome::Missing | TaskOutcome::Blocked);
    if !is_stale_outcome && task.reasons.is_empty() {
        return;
    }
    let what_stays = match (is_stale_outcome, task.is_in_release) {
        (true, true) => ": the last good build stays",
        (true, false) => ": not in the release",
        (false, _) => "",
    };
    output::print_paragraph!(
        "{} {}{what_stays}",
        output::coloured(task.outcome.word()),
        output::bold(&task.task_id)
    );
    task.reasons
        .iter()
        .for_each(|reason| output::print_line!("  {reason}"));
}

fn print_hints(sources: &[ProbedSource]) {
    let with_ways = sources.iter().filter(|source| !source.hints.is_empty());
    let mut reported: Vec<(&str, &Option<String>)> = Vec::new();
    for source in with_ways {
        // One hint covers all files on a server with an unknown key.
        let server = if source.url.starts_with("sftp://") {
            source.url.split('/').nth(2).unwrap_or_default()
        } else {
            &source.url
        };
        if reported.contains(&(server, &source.problem)) {
            continue;
        }
        if reported.is_empty() {
            output::print_paragraph!("{}", output::bold("what you can do"));
        }
        reported.push((server, &source.problem));
        output::print_paragraph!(
            "{} {}",
            output::coloured(source.verdict.word()),
            source.source_id
        );
        source
            .hints
            .iter()
            .for_each(|way| output::print_line!("  - {way}"));
    }
}

fn print_suggestions(sources: &[ProbedSource], arguments: &ProbeArgs) {
    let suggestions: Vec<_> = sources
        .iter()
        .filter_map(|source| Some((source, source.suggestion.as_ref()?)))
        .collect();
    if !suggestions.is_empty() {
        output::print_paragraph!("{}", output::bold("suggestions"));
    }
    for (source, suggestion) in &suggestions {
        output::print_line!();
        output::text(&format!("{}\n", suggestion.trim_end()));
        if let Some(predicted) = source.with_suggestions {
            output::print_line!(
                "{}",
                output::dim(&format!("# tried on the samples: {}", with_it(predicted)))
            );
        }
        source
            .remaining
            .iter()
            .for_each(|reason| output::print_line!("{}", output::dim(&format!("# {reason}"))));
    }
    match &arguments.write {
        Some(folder) if suggestions.is_empty() => output::print_paragraph!(
            "nothing to correct: {} has the declarations as they are",
            folder.display()
        ),
        Some(folder) => output::print_paragraph!(
            "written to {0}: look at the changes, then use `--declarations {0}`",
            folder.display()
        ),
        None if suggestions.is_empty() => {}
        None => {
            output::print_paragraph!("`--write DIR` writes the declarations with these changes");
        }
    }
}

fn with_it(predicted: PredictedOutcome) -> &'static str {
    match predicted {
        PredictedOutcome::Publish => "with it the task would be built",
        PredictedOutcome::PublishWithFindings => "with it the task would be built, with findings",
        PredictedOutcome::KeepLast | PredictedOutcome::Block => "it is not enough",
    }
}

fn sample(source: &ProbedSource) -> String {
    match (&source.sample, &source.not_sampled) {
        // Rows of lookup sources do not become records.
        (Some(sample), None) if sample.rows == 0 => String::new(),
        (Some(sample), None)
            if sample.accepted == 0
                && sample.quarantined.is_empty()
                && !matches!(source.outcome, TaskOutcome::Blocked) =>
        {
            output::dim(&format!("{} read", output::grouped(sample.rows)))
        }
        (Some(sample), None) => format!(
            "{} of {}",
            output::grouped(sample.accepted),
            output::grouped(sample.rows)
        ),
        (_, Some(_)) => output::dim("not sampled"),
        (None, None) => String::new(),
    }
}

/// Describes a source, with the most important facts first.
fn what(source: &ProbedSource) -> String {
    let mut parts: Vec<String> = source.problem.iter().cloned().collect();
    parts.extend(source.in_use.clone());
    if let Some(sample) = &source.sample {
        let quarantined: Vec<String> = sample
            .quarantined
            .iter()
            .map(|(code, count)| format!("{code} {}", output::grouped(*count)))
            .collect();
        if !quarantined.is_empty() {
            parts.push(format!("quarantined: {}", quarantined.join(", ")));
        }
        for (kind, words) in &sample.unknown_values {
            let shown: Vec<&str> = words.iter().take(5).map(String::as_str).collect();
            let others = if words.len() > shown.len() {
                format!(" and {} more", words.len() - shown.len())
            } else {
                String::new()
            };
            let is_quarantined = sample.quarantined.contains_key(&format!("unknown_{kind}"));
            let what_becomes = if is_quarantined {
                "quarantined"
            } else {
                "published with a warning"
            };
            parts.push(format!(
                "unknown {kind}, {what_becomes}: `{}`{others}",
                shown.join("`, `")
            ));
        }
    }
    parts.extend(source.not_sampled.iter().map(|reason| output::dim(reason)));
    // If a problem occurred, the user needs the URL to investigate.
    if source.problem.is_some() {
        parts.push(output::dim(&source.url));
    }
    parts.join("; ")
}
