//! Writes the declaration of a new list. Reads the first records of its file, and guesses columns,
//! dates and terms from other lists of the same kind and from the cells. Tries the declaration on
//! these records just as a probe does, and lists the decisions left to the operator. Uncertain
//! values are not guessed.

mod address;
mod dates;
mod declaration;
mod draft;
mod files;
mod fit;
mod fixture;
mod guess;
mod known;
mod layout;
mod names;
mod place;
mod sample;
#[cfg(test)]
mod tests;
mod trial;
mod vocabulary;

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

pub use draft::Decision;
pub use trial::Trial;
pub use vocabulary::GuessedWord;

use self::address::{address, request};
use self::dates::Form;
use self::declaration::has_whole_addresses;
use self::draft::Draft;
use self::files::NewFiles;
use self::fit::is_checked;
use self::guess::Guesses;
use self::known::Known;
use self::place::Place;
use self::sample::Sample;
use self::trial::try_out;
use crate::observer::SharedObserver;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::{Declaration, Declarations, EvidenceKind, normalized_name};
use pubdata_fetch::{FetchSettings, Fetcher, mirror_path};
use pubdata_store::{Snapshots, TemporaryHome};

/// Supported kinds of lists, by the name of their builder.
const KINDS: [&str; 1] = ["permit"];

/// Options for a new list.
pub struct NewSettings {
    /// Kind of list: `permit`.
    pub kind: String,
    /// Jurisdiction, such as `us-co-denver`.
    pub jurisdiction: String,
    /// Name of the list, if it differs from the jurisdiction's name.
    pub name: Option<String>,
    /// URL of the publisher's file.
    pub url: String,
    /// A local file to use instead of the publisher's file.
    pub file: Option<PathBuf>,
    /// The publisher's column names given by the operator, by our column name.
    pub columns: BTreeMap<String, String>,
    /// True if the month comes first in dates with slashes, unless the file proves otherwise.
    pub is_month_first: bool,
    pub publisher: Option<String>,
    pub licence: Option<String>,
    pub homepage: Option<String>,
    /// The declaration folder. If the folder does not exist, it is created with all built-in
    /// declarations.
    pub folder: PathBuf,
    /// True if existing files are overwritten.
    pub is_forced: bool,
    pub fetch: FetchSettings,
}

/// A guessed column.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GuessedColumn {
    /// Name of our column.
    pub ours: String,
    /// Name of the column as the publisher writes it.
    pub published: String,
    /// Reason for the guess.
    pub reason: String,
}

/// Findings about a list's file, and the files written for the list: `pubdata new`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NewReport {
    /// Id of the declared pipeline.
    pub pipeline_id: String,
    /// Folder to pass to `--declarations`.
    pub folder: PathBuf,
    /// Written files, relative to the folder; the declaration comes first.
    pub files: Vec<String>,
    /// True if the folder was created, with all built-in declarations.
    pub is_new_folder: bool,
    /// A mirror of the fixture's rows.
    pub fixture: PathBuf,
    /// Number of records examined.
    pub records: u64,
    /// True if the file contains no other records.
    pub is_whole: bool,
    /// Evidence of the layout.
    pub evidence: EvidenceKind,
    /// Columns that were guessed or given.
    pub columns: Vec<GuessedColumn>,
    /// Number of columns that are not read.
    pub ignored: usize,
    /// The publisher's terms in coded columns.
    pub words: Vec<GuessedWord>,
    /// Open decisions for the operator.
    pub decisions: Vec<Decision>,
    /// Predicted result of a run on the examined records.
    pub trial: Trial,
}

/// Creates a list by examining its file and writing a declaration and a fixture.
///
/// # Errors
/// Returns `Config` for an unknown kind, an invalid jurisdiction or existing files, and if no
/// column contains the number or the address of a permit. Returns `Fetch` if the file is
/// unavailable, `Format` if the file is not a table, and `Store` if files cannot be written.
pub async fn new_list(settings: &NewSettings, observer: &SharedObserver) -> Result<NewReport> {
    check_kind(&settings.kind)?;
    let place = Place::parse(&settings.jurisdiction, settings.name.as_deref())?;
    let (template, page) = address(&settings.url)?;
    let first = template.replace("{offset}", "0");
    let on_mirror = mirror_path(&first)?;
    let new_files = NewFiles::prepare(&settings.folder, &place, settings.is_forced)?;
    let temporary = TemporaryHome::make("new")?;
    temporary.put(".pubdata-mirror", b"sample = true\n")?;
    let fetcher = Fetcher::new(settings.fetch.clone(), Snapshots::open(temporary.home())?)?;
    let (beginning, is_of_publisher) = match &settings.file {
        Some(path) => (sample::of_file(path)?, true),
        None => (
            sample::of_publisher(&fetcher, &request(&first, &place)).await?,
            !fetcher.is_sample(),
        ),
    };
    let sample = sample::split_into_records(beginning, &temporary, &on_mirror)?;
    let declarations = Declarations::load(new_files.declared.clone())?;
    let built_in = Declarations::load(DeclarationFiles::built_in())?;
    let known = Known::from_declarations(
        reference_declarations(&declarations, &built_in, &place),
        &settings.kind,
    );
    let forms = forms(&sample, settings.is_month_first);
    let guesses = guess::guess(
        &sample,
        &forms,
        &known,
        &given(&sample, &settings.columns)?,
        &place,
    );
    require_number_and_address(&sample, &guesses)?;
    let words = vocabulary::look_up(&sample, &guesses, &known);
    let evidence = match (is_of_publisher, sample.is_whole) {
        (true, true) => EvidenceKind::File,
        (true, false) => EvidenceKind::Excerpt,
        (false, _) => EvidenceKind::Documented,
    };
    let month = settings.fetch.clock.now().strftime("%Y-%m").to_string();
    let draft = Draft {
        place: &place,
        sample: &sample,
        guesses: &guesses,
        words: &words,
        dates: &guess::forms_read(&guesses, &forms),
        evidence,
        month: &month,
        url: &template,
        page,
        publisher: settings.publisher.as_deref(),
        licence: settings.licence.as_deref(),
        homepage: settings.homepage.as_deref(),
        others: &others(&declarations, &place),
    };
    let (text, mut decisions) = declaration::write(&draft);
    let declared = new_files
        .declared
        .with(&[(&place.declaration_file(), &text)]);
    let trial = try_out(&declared, &place, &temporary, &settings.fetch, observer).await?;
    if trial.outcome != "built" {
        let text = format!(
            "on the first records a run would end as {}: {}",
            trial.outcome,
            trial.reasons.join("; ")
        );
        decisions.push(Decision {
            key: "source".to_owned(),
            text,
        });
    }
    let fixture = fixture::rows(&sample, &guesses, has_whole_addresses(&sample, &guesses));
    let files = new_files.write(&text, &on_mirror, &fixture)?;
    let column = |mapped: &guess::Mapped| GuessedColumn {
        ours: mapped.ours.clone(),
        published: sample.columns[mapped.column].published.clone(),
        reason: mapped.reason.clone(),
    };
    Ok(NewReport {
        pipeline_id: place.pipeline_id(),
        folder: settings.folder.clone(),
        files,
        is_new_folder: new_files.is_new,
        fixture: settings.folder.join(place.case()).join("source"),
        records: sample.records,
        is_whole: sample.is_whole,
        evidence,
        columns: guesses.mapped.iter().map(column).collect(),
        ignored: sample.columns.len() - guesses.mapped.len(),
        words,
        decisions,
        trial,
    })
}

/// Returns the declarations from which guesses are derived: the declarations in the folder and the
/// built-in ones, except the list's own declaration.
fn reference_declarations<'d>(
    folder: &'d Declarations,
    built_in: &'d Declarations,
    place: &Place,
) -> impl Iterator<Item = &'d Declaration> {
    let own = place.pipeline_id();
    let others = built_in
        .pipelines
        .values()
        .filter(|declaration| !folder.pipelines.contains_key(&declaration.pipeline_id));
    folder
        .pipelines
        .values()
        .chain(others)
        .filter(move |declaration| declaration.pipeline_id != own)
}

fn check_kind(kind: &str) -> Result<()> {
    if KINDS.contains(&kind) {
        return Ok(());
    }
    let message = format!(
        "lists of the kind `{kind}` are not begun by this command; it knows `{}`",
        KINDS.join("`, `")
    );
    let hint = match kind {
        "license" | "business" => format!(
            "take the declaration of a neighbour below pipelines/{kind}/ and change it: docs/ADDING-A-DATASET.md"
        ),
        _ => "write `pubdata new permit us-co-denver --url https://…`".to_owned(),
    };
    Err(Error::config(message).hint(hint))
}

/// Returns the date formats of all columns. The operator's choice decides ambiguous formats.
fn forms(sample: &Sample, is_month_first: bool) -> Vec<(Form, Option<String>)> {
    let describe = |(form, proof): (Form, Option<String>)| match form {
        Form::Ambiguous(_) if is_month_first => (Form::Days("month_day_year"), None),
        form => (form, proof),
    };
    dates::forms(&sample.columns)
        .into_iter()
        .map(describe)
        .collect()
}

/// Returns the columns named by the operator.
fn given(sample: &Sample, columns: &BTreeMap<String, String>) -> Result<BTreeMap<String, usize>> {
    let mut given = BTreeMap::new();
    for (ours, theirs) in columns {
        if !is_checked(ours) {
            return Err(Error::config(format!(
                "--column {ours}={theirs}: `{ours}` is no column of pubdata that can be mapped here"
            ))
            .hint("the names are listed under \"Our columns\" in docs/ADDING-A-DATASET.md"));
        }
        let is_it = |column: &sample::Column| {
            column.published == *theirs
                || column.name == *theirs
                || column.name == normalized_name(theirs)
        };
        let found = sample.columns.iter().position(is_it).ok_or_else(|| {
            let names: Vec<&str> = sample
                .columns
                .iter()
                .map(|column| column.name.as_str())
                .collect();
            Error::config(format!(
                "--column {ours}={theirs}: the file has no column `{theirs}`"
            ))
            .hint(format!("it has `{}`", names.join("`, `")))
        })?;
        given.insert(ours.clone(), found);
    }
    Ok(given)
}

/// Refuses a file without a permit number or an address, because a declaration requires both.
fn require_number_and_address(sample: &Sample, guesses: &Guesses) -> Result<()> {
    let names: Vec<&str> = sample
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    for (ours, what, is_there) in [
        (
            "permit_number",
            "the number of the permit",
            guesses.position("permit_number").is_some(),
        ),
        (
            "line1",
            "the street address",
            guesses.position("line1").is_some() || guesses.position("street_name").is_some(),
        ),
    ] {
        if !is_there {
            let likely = guesses
                .open
                .iter()
                .filter(|open| open.ours.as_deref() == Some(ours));
            let reasons: Vec<String> = likely
                .map(|open| format!("`{}`: {}", sample.columns[open.column].name, open.reason))
                .collect();
            let why = if reasons.is_empty() {
                String::new()
            } else {
                format!(" ({})", reasons.join("; "))
            };
            return Err(
                Error::config(format!("no column of the file is surely {what}{why}")).hint(
                    format!(
                        "name it with --column {ours}=NAME; the file has `{}`",
                        names.join("`, `")
                    ),
                ),
            );
        }
    }
    Ok(())
}

/// Returns other lists of the same jurisdiction.
fn others(declarations: &Declarations, place: &Place) -> Vec<String> {
    let is_of_it = |settings: &toml::Table| {
        let id = settings
            .get("jurisdiction")
            .and_then(|jurisdiction| jurisdiction.get("id"))
            .and_then(toml::Value::as_str);
        id == Some(place.jurisdiction.as_str())
    };
    let others = declarations.pipelines.values().filter(|declaration| {
        declaration.pipeline_id != place.pipeline_id() && is_of_it(&declaration.settings)
    });
    others
        .map(|declaration| declaration.pipeline_id.clone())
        .collect()
}
