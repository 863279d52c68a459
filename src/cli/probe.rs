use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::{Global, output, progress::Progress};
use crate::error::{Error, Result};
use crate::fetch::FetchSettings;
use crate::run::{self, ProbeReport, ProbeSettings, ProbedSource, SharedObserver};
use crate::store::{Home, Releases, Snapshots};

const AFTER_HELP: &str = "\
Before the first night, and whenever a publisher seems to have changed something:
  pubdata probe                                  asks every address, and says what a run would do
  pubdata probe permit license.ca_cslb           asks those of a family and of a pipeline
  pubdata probe --write declarations             writes all declarations with the suggestions put in; look at them, then
  pubdata run --declarations declarations        runs with them

Of each file the first 256 KiB are asked for, of an archive its directory and the beginning of a member. The dataset's own code is run on the
first rows. Nothing is published, and the home stays as it is.

Verdicts:
  ok           the file is there, with the columns that are declared
  changed      columns or format are others than declared
  absent       there is no such file
  refused      the server does not serve this program, or shows it a page that keeps programs out
  moved        the server sends on to an address that is not followed
  unreachable  no answer, or one that says to come back later
  not_asked    a person fetches the file, or its secret is not configured

Exit codes, which are those that the run would have:
  0 all would publish    10 with findings    20 something would block    30 something could not be had";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct ProbeArgs {
    /// Pipelines (census.acs5), families (census), datasets (geo.school) or tasks (census.acs5/vintage=2023); everything when none is given.
    selectors: Vec<String>,
    /// A folder or URL that stands in for all publishers; may be given several times, the first that has a file wins.
    #[arg(long, value_name = "DIR|URL")]
    mirror: Vec<String>,
    /// Who publishers can write to, sent in the User-Agent as they ask.
    #[arg(long, env = "PUBDATA_CONTACT", value_name = "ADDRESS")]
    contact: Option<String>,
    /// The channel to compare with.
    #[arg(long, default_value = "nightly")]
    channel: String,
    /// Most rows of each file that the dataset's own code is run on.
    #[arg(long, value_name = "ROWS", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    sample: u32,
    /// Writes all declarations, with the suggestions put in, into a new folder for --declarations.
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
}

pub(super) async fn probe(global: &Global, arguments: &ProbeArgs) -> Result<ExitCode> {
    if let Some(folder) = arguments.write.as_deref().filter(|folder| folder.exists()) {
        return Err(Error::config(format!("{} is already there", folder.display())).hint("name a folder that is not there yet: nothing is written over"));
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
        output::json(&report);
    } else {
        print(&report, arguments);
    }
    Ok(ExitCode::from(u8::from(report.exit_code)))
}

/// A home that is not there is not made, and one that is there is only looked at.
async fn settings(global: &Global, arguments: &ProbeArgs) -> Result<ProbeSettings> {
    let declarations = global.declarations()?;
    let home = if global.home.is_dir() { Some(Home::open(&global.home)?) } else { None };
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
    // A probe waits less than a night does: who does not answer now is told of.
    let fetch = FetchSettings {
        mirrors: arguments.mirror.clone(),
        contact: arguments.contact.clone(),
        tries: 2,
        longest_wait: Duration::from_secs(2),
        longest_retry_after: Duration::from_secs(5),
        connect_timeout: Duration::from_secs(10),
        read_timeout: Duration::from_secs(15),
        total_timeout: Duration::from_secs(40),
        ..FetchSettings::default()
    };
    run::check_selectors(&declarations, &arguments.selectors, fetch.clock.now())?;
    let snapshots = home.as_ref().map(Snapshots::look);
    Ok(ProbeSettings { declarations, fetch, selectors: arguments.selectors.clone(), rows: arguments.sample as usize, published, snapshots })
}

fn print(report: &ProbeReport, arguments: &ProbeArgs) {
    let mut rows = vec![["SOURCE", "VERDICT", "WOULD", "SAMPLE", "WHAT"].map(str::to_owned).to_vec()];
    for alike in report.sources.chunk_by(|one, other| one.source_id == other.source_id && one.verdict == other.verdict && other.sample.is_none()) {
        let source = &alike[0];
        let others = if alike.len() > 1 { output::dim(&format!(" (and {} more files)", alike.len() - 1)) } else { String::new() };
        let cells = [source.source_id.clone(), output::coloured(source.verdict.word()), output::coloured(source.would.word()), sample(source)];
        rows.push(cells.into_iter().chain([format!("{}{others}", what(source))]).collect());
    }
    output::table(&rows);
    let blocked: Vec<_> = report.by_task.iter().filter(|task| !task.reasons.is_empty()).collect();
    if !blocked.is_empty() {
        anstream::println!();
        for task in blocked {
            anstream::println!("{} {}", output::coloured(task.would.word()), output::bold(&task.task_id));
            task.reasons.iter().for_each(|reason| anstream::println!("  {reason}"));
        }
    }
    let suggestions: Vec<_> = report.sources.iter().filter_map(|source| Some((source, source.suggestion.as_ref()?))).collect();
    if !suggestions.is_empty() {
        anstream::println!("\n{}", output::bold("suggestions"));
        for (source, suggestion) in suggestions {
            let tried = source.with_suggestions.map(|would| format!("# with it the night would: {}\n", would.word())).unwrap_or_default();
            anstream::println!("\n{suggestion}{}", output::dim(&tried).trim_end());
        }
        match &arguments.write {
            Some(folder) => anstream::println!("\nwritten to {}: look at the changes, then use `--declarations {}`", folder.display(), folder.display()),
            None => anstream::println!("\n`--write DIR` writes the declarations with these changes"),
        }
    }
    let counts = &report.tasks;
    anstream::println!(
        "\n{} tasks: {} would publish, {} with findings, {} would keep the last build, {} would block",
        report.by_task.len(),
        counts.would_publish,
        counts.would_publish_with_findings,
        counts.would_keep_last,
        counts.would_block
    );
}

fn sample(source: &ProbedSource) -> String {
    match (&source.sample, &source.not_sampled) {
        (Some(sample), None) => format!("{} of {}", output::grouped(sample.accepted), output::grouped(sample.rows)),
        (_, Some(_)) => output::dim("not sampled"),
        (None, None) => String::new(),
    }
}

/// What is to be said of a source, the most important first.
fn what(source: &ProbedSource) -> String {
    let mut parts: Vec<String> = source.problem.iter().cloned().collect();
    if let Some(sample) = &source.sample {
        let quarantined: Vec<String> = sample.quarantined.iter().map(|(code, count)| format!("{code} {}", output::grouped(*count))).collect();
        if !quarantined.is_empty() {
            parts.push(format!("set aside: {}", quarantined.join(", ")));
        }
        for (kind, words) in &sample.unknown_values {
            let shown: Vec<&str> = words.iter().take(5).map(String::as_str).collect();
            let others = if words.len() > shown.len() { format!(" and {} more", words.len() - shown.len()) } else { String::new() };
            parts.push(format!("unknown {kind}: `{}`{others}", shown.join("`, `")));
        }
    }
    parts.extend(source.not_sampled.iter().map(|reason| output::dim(reason)));
    // Where something is wrong, a person wants to open the address.
    if source.problem.is_some() {
        parts.push(output::dim(&source.url));
    }
    parts.join("; ")
}
