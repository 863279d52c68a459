//! Compares the guesses with reviewed declarations. The rows of each city are guessed from the
//! declarations of all other cities.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::guess::Guesses;
use super::known::{self, Known};
use super::place::Place;
use super::{dates, guess, sample};
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::{Declaration, Declarations, Format, normalized_name};
use pubdata_store::TemporaryHome;

/// Agreement between a list's guesses and its declaration, as counts of the file's columns.
#[derive(Debug, Default, Clone, Copy)]
struct Agreement {
    /// Columns that are read or ignored as declared.
    same: usize,
    /// Columns that are declared but left to the operator.
    left_open: usize,
    /// Columns that are read differently than declared, or read although they are not declared.
    other: usize,
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .into_iter()
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .filter(|path| !path.ends_with(".pubdata-mirror"))
        .collect()
}

fn jurisdiction(declaration: &Declaration) -> Option<&str> {
    declaration
        .settings
        .get("jurisdiction")?
        .get("id")?
        .as_str()
}

fn guessed(
    all: &Declarations,
    declaration: &Declaration,
    file: &Path,
) -> (sample::Sample, Guesses) {
    let temporary = TemporaryHome::make("guess").unwrap();
    let sample = sample::split_into_records(
        sample::of_file(file).unwrap(),
        &temporary,
        "example.org/list",
    )
    .unwrap();
    let others = all
        .pipelines
        .values()
        .filter(|other| jurisdiction(other) != jurisdiction(declaration));
    let forms = dates::forms(&sample.columns);
    // The list of a state does not have a single city.
    let place = Place::parse(jurisdiction(declaration).unwrap_or_default(), None)
        .or_else(|_| Place::parse("us-nj-every_county", None))
        .unwrap();
    let guesses = guess::guess(
        &sample,
        &forms,
        &Known::from_declarations(others, "permit"),
        &BTreeMap::new(),
        &place,
    );
    (sample, guesses)
}

/// Compares column by column. A line for each difference is added to `messages`.
fn compared(
    declaration: &Declaration,
    sample: &sample::Sample,
    guesses: &Guesses,
    messages: &mut Vec<String>,
) -> Agreement {
    let source = &declaration.sources[0];
    let mut agreement = Agreement::default();
    for (number, column) in sample.columns.iter().enumerate() {
        let is_it = |name: &String| {
            *name == column.published || normalized_name(name) == normalized_name(&column.published)
        };
        let declared: Vec<String> = source
            .columns
            .iter()
            .filter(|(_, names)| names.iter().any(is_it))
            .filter_map(|(ours, _)| known::role(declaration, ours))
            .collect();
        let is_mapped = source.columns.values().flatten().any(is_it);
        let guessed = guesses.mapped.iter().find(|mapped| mapped.column == number);
        match guessed {
            Some(mapped) if declared.contains(&mapped.ours) => agreement.same += 1,
            Some(mapped) => {
                agreement.other += 1;
                messages.push(format!(
                    "{}: `{}` is {declared:?}, guessed {} ({})",
                    declaration.pipeline_id, column.name, mapped.ours, mapped.reason
                ));
            }
            None if is_mapped => agreement.left_open += 1,
            None => agreement.same += 1,
        }
    }
    agreement
}

#[test]
fn guesses_agree_with_what_persons_have_declared() {
    let all = Declarations::load(DeclarationFiles::built_in()).unwrap();
    let mut messages = Vec::new();
    let mut sum = Agreement::default();
    let mut lists = 0;
    for declaration in all
        .pipelines
        .values()
        .filter(|declaration| declaration.builder.as_deref() == Some("permit"))
    {
        let format = &declaration.sources[0].format;
        let is_plain = matches!(
            format,
            Format::Delimited { .. } | Format::JsonRecords { .. }
        ) && declaration.sources[0].member.is_none();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures")
            .join(declaration.pipeline_id.replace('.', "/"))
            .join("basic/source");
        let Some(file) = files_below(&folder).into_iter().next().filter(|_| is_plain) else {
            continue;
        };
        let (sample, guesses) = guessed(&all, declaration, &file);
        let agreement = compared(declaration, &sample, &guesses, &mut messages);
        lists += 1;
        sum = Agreement {
            same: sum.same + agreement.same,
            left_open: sum.left_open + agreement.left_open,
            other: sum.other + agreement.other,
        };
    }
    assert!(lists > 50, "{lists}");
    let columns = sum.same + sum.left_open + sum.other;
    assert!(
        sum.other * 100 <= columns * 3,
        "a column in {columns} that is guessed wrong is a wrong figure: {sum:?}\n{}",
        messages.join("\n")
    );
    assert!(
        sum.same * 100 >= columns * 68,
        "{sum:?}\n{}",
        messages.join("\n")
    );
}

#[test]
fn column_with_one_of_our_names_is_always_mapped_or_listed_as_open() {
    let all = Declarations::load(DeclarationFiles::built_in()).unwrap();
    // A part of an address has no meaning without the other parts.
    let ours: Vec<_> = super::names::self_named_columns()
        .into_iter()
        .filter(|ours| !known::PIECES.contains(ours))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("list.csv");
    std::fs::write(
        &file,
        format!("{}\n{}\n", ours.join(","), vec!["?"; ours.len()].join(",")),
    )
    .unwrap();
    let temporary = TemporaryHome::make("guess").unwrap();
    let sample = sample::split_into_records(
        sample::of_file(&file).unwrap(),
        &temporary,
        "example.org/list",
    )
    .unwrap();
    let forms = dates::forms(&sample.columns);
    let place = Place::parse("us-nj-every_county", None).unwrap();
    let guesses = guess::guess(
        &sample,
        &forms,
        &Known::from_declarations(all.pipelines.values(), "permit"),
        &BTreeMap::new(),
        &place,
    );
    let is_told = |number: usize| {
        guesses.mapped.iter().any(|mapped| mapped.column == number)
            || guesses.open.iter().any(|open| open.column == number)
    };
    let silent: Vec<&str> = (0..ours.len())
        .filter(|number| !is_told(*number))
        .map(|number| ours[number])
        .collect();
    assert!(
        ours.len() > 15 && silent.is_empty(),
        "{silent:?} of {ours:?}"
    );
}
