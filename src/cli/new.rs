//! `pubdata new`: writes the declaration and fixture of a new list. Prints the guesses with their
//! reasons, and the decisions left to the operator.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::publishers::PublisherArgs;
use super::{Global, output, progress::Progress};
use pubdata_core::error::{Error, Result};
use pubdata_run::{self as run, GuessedWord, NewReport, NewSettings, SharedObserver};

const AFTER_HELP: &str = "\
Adding a city, from its file to an API response, without a compiler:
  pubdata new permit us-oh-springfield --url https://example.org/permits.csv --declarations lists
  pubdata check --declarations lists         validates what was written
  pubdata probe permit.springfield --declarations lists
  pubdata run permit.springfield --declarations lists
  pubdata serve --declarations lists         GET /v1/permits/search?jurisdiction=us-oh-springfield

The command examines the first 4 MiB of the file. It creates a missing folder and fills it with all \
built-in declarations. It writes pipelines/permit/NAME.toml and a fixture of a few rows with invented \
numbers, addresses and persons.

It guesses a mapping if at least two other lists map a column or code of that name the same way, or if \
the name is clear, and if the cells agree. Everything else is left to you: it is listed in the output, \
and as a comment that begins with `decide:` in the declaration. Dates such as 03/04/2025, with no day \
above 12 in the whole sample, are not read until you declare which number is the month.

Supported are CSV with any delimiter, in UTF-8 or windows-1252, and JSON records (Socrata, ArcGIS, CKAN). \
A URL may contain {offset} for the pages of a list: …&resultRecordCount=1000&resultOffset={offset}";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct NewArgs {
    /// Kind of list: permit.
    kind: String,
    /// Country, state and place, with words joined by `_`: us-co-denver, us-mo-kansas_city,
    /// us-md-baltimore_county.
    jurisdiction: String,
    /// The publisher's URL for the file.
    #[arg(long, value_name = "URL")]
    url: String,
    /// Local copy to examine instead of a download.
    #[arg(long, value_name = "FILE", conflicts_with = "mirror")]
    file: Option<PathBuf>,
    /// Name of the list, if the place has several lists: denver_roofs for permit.denver_roofs.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Known mapping of a published column to the file's column, as in permit_number="Case No"; can
    /// be repeated.
    #[arg(long, value_name = "OURS=THEIRS", value_parser = column)]
    column: Vec<(String, String)>,
    /// Reads 03/04/2025 as 4 March, if no day in the file is above 12.
    #[arg(long)]
    month_first: bool,
    /// Publisher of the list.
    #[arg(long, value_name = "TEXT")]
    publisher: Option<String>,
    /// The terms of use, in the publisher's wording.
    #[arg(long, value_name = "TEXT")]
    licence: Option<String>,
    /// The page that describes the list.
    #[arg(long, value_name = "URL")]
    homepage: Option<String>,
    #[command(flatten)]
    publishers: PublisherArgs,
    /// Overwrites an existing declaration and fixture of the same name.
    #[arg(long)]
    force: bool,
}

fn column(text: &str) -> std::result::Result<(String, String), String> {
    let (ours, theirs) = text
        .split_once('=')
        .filter(|(ours, theirs)| !ours.is_empty() && !theirs.is_empty())
        .ok_or("write OURS=THEIRS, such as permit_number=\"Case No\"")?;
    Ok((ours.to_owned(), theirs.to_owned()))
}

pub(super) async fn new(global: &Global, arguments: &NewArgs) -> Result<ExitCode> {
    let mut columns = BTreeMap::new();
    for (ours, theirs) in &arguments.column {
        if columns.insert(ours.clone(), theirs.clone()).is_some() {
            return Err(Error::config(format!("--column {ours} is given twice"))
                .hint("one column of the file is read as each of ours"));
        }
    }
    let settings = NewSettings {
        kind: arguments.kind.clone(),
        jurisdiction: arguments.jurisdiction.clone(),
        name: arguments.name.clone(),
        url: arguments.url.clone(),
        file: arguments.file.clone(),
        columns,
        is_month_first: arguments.month_first,
        publisher: arguments.publisher.clone(),
        licence: arguments.licence.clone(),
        homepage: arguments.homepage.clone(),
        folder: global
            .declarations
            .clone()
            .unwrap_or_else(|| PathBuf::from("declarations")),
        is_forced: arguments.force,
        fetch: arguments.publishers.fetch_settings(),
    };
    let progress = Arc::new(Progress::new());
    let observer: SharedObserver = progress.clone();
    let report = Box::pin(run::new_list(&settings, &observer)).await;
    progress.finish();
    let report = report?;
    if global.json {
        output::document(&report);
    } else {
        print(&report, arguments);
    }
    Ok(ExitCode::SUCCESS)
}

fn print(report: &NewReport, arguments: &NewArgs) {
    let seen = if report.is_whole { "all" } else { "the first" };
    output::print_line!(
        "{} from {seen} {}",
        output::bold(&report.pipeline_id),
        output::counted(report.records, "record")
    );
    output::print_line!();
    let mut rows = vec![
        ["OURS", "THE PUBLISHER'S", "WHY"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(report.columns.iter().map(|column| {
        vec![
            column.ours.clone(),
            column.published.clone(),
            output::dim(&column.reason),
        ]
    }));
    output::table(&rows);
    output::print_paragraph!("columns that are not read: {}", report.ignored);
    for table in ["type", "status", "work_class", "property_class"] {
        let words: Vec<&GuessedWord> = report
            .words
            .iter()
            .filter(|word| word.table == table)
            .collect();
        if !words.is_empty() {
            let known = words.iter().filter(|word| word.ours.is_some()).count();
            output::print_line!(
                "words of {table} that other lists know: {known} of {}",
                words.len()
            );
        }
    }
    output::print_paragraph!(
        "{}",
        output::bold(&format!("you must decide ({})", report.decisions.len()))
    );
    report.decisions.iter().for_each(|decision| {
        output::print_line!("  {}: {}", output::bold(&decision.key), decision.text);
    });
    output::print_paragraph!("{}", output::bold("on the sampled records"));
    let rows: Vec<String> = report
        .trial
        .rows
        .iter()
        .map(|(dataset_id, rows)| format!("{} {dataset_id}", output::grouped(*rows)))
        .collect();
    output::print_line!(
        "  a run would end as {}: {}",
        output::coloured(report.trial.outcome),
        rows.join(", ")
    );
    report
        .trial
        .reasons
        .iter()
        .for_each(|reason| output::print_line!("  {reason}"));
    let folder = report.folder.display();
    output::print_paragraph!("{}", output::bold("written"));
    if report.is_new_folder {
        output::print_line!("  {folder} with all declarations that are built in");
    }
    report
        .files
        .iter()
        .for_each(|file| output::print_line!("  {}", report.folder.join(file).display()));
    let mirrors: String = arguments
        .publishers
        .mirror
        .iter()
        .map(|mirror| format!(" --mirror {mirror}"))
        .collect();
    output::print_paragraph!("{}", output::bold("next"));
    output::print_line!(
        "  make the open decisions in {}",
        report.folder.join(&report.files[0]).display()
    );
    output::print_line!("  pubdata check --declarations {folder}");
    output::print_line!(
        "  pubdata probe {} --declarations {folder}{mirrors}",
        report.pipeline_id
    );
    output::print_line!(
        "  pubdata run {} --declarations {folder}{mirrors}",
        report.pipeline_id
    );
    output::print_line!(
        "  pubdata serve --declarations {folder}    /v1/permits/search?jurisdiction={}",
        arguments.jurisdiction
    );
}
