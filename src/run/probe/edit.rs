//! Edits the TOML of a declaration while preserving comments, order and all other lines. A comment
//! marks each guessed change.

use std::collections::BTreeMap;

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use crate::building::word_guess::Likeness;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::error::{Error, Result};

/// Criterion by which a new column was matched with a missing column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// The new column has the same values as the missing column in the last file of the home.
    SameValues,
    WordsOfSettings,
    SimilarName,
    SamePlace,
}

/// A change to a declaration.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Edit {
    /// An alternative name that the publisher uses for a mapped column.
    Alternative {
        source_id: String,
        column: String,
        name: String,
        rule: Rule,
    },
    /// A column to ignore.
    Ignore {
        source_id: String,
        name: String,
    },
    Url {
        source_id: String,
        url: String,
    },
    /// A host to which the publisher's server may redirect.
    Redirect {
        source_id: String,
        host: String,
    },
    /// A publisher's term in a table of the settings.
    Word {
        table: String,
        word: String,
        value: toml::Value,
        /// The known term from which the mapping was guessed.
        like: String,
        likeness: Likeness,
    },
}

impl Edit {
    /// Returns true if a change belongs to a source. Changes to settings belong to the pipeline's
    /// first source.
    pub(super) fn is_of(&self, id: &str, is_first: bool) -> bool {
        match self {
            Self::Alternative { source_id, .. }
            | Self::Ignore { source_id, .. }
            | Self::Url { source_id, .. }
            | Self::Redirect { source_id, .. } => source_id == id,
            Self::Word { .. } => is_first,
        }
    }

    /// Describes how the change was guessed. Returns `None` if the change was not guessed.
    fn guess(&self) -> Option<String> {
        match self {
            Self::Alternative { name, rule, .. } => {
                let by = match rule {
                    Rule::SameValues => "the same values as in the last file",
                    Rule::WordsOfSettings => "the same values as in the settings",
                    Rule::SimilarName => "a similar name",
                    Rule::SamePlace => "the same position among the columns",
                };
                Some(format!("guessed: `{name}` has {by}"))
            }
            Self::Word {
                like,
                word,
                likeness,
                ..
            } => {
                let how = match likeness {
                    Likeness::Spelling => "is another spelling of",
                    Likeness::Part => "begins or ends with",
                };
                Some(format!(
                    "guessed: `{}` {how} `{}`",
                    one_line(word),
                    one_line(like)
                ))
            }
            Self::Ignore { .. } | Self::Url { .. } | Self::Redirect { .. } => None,
        }
    }
}

/// Applies changes to a declaration. All other lines, the comments and the order stay as they are.
///
/// # Errors
/// Returns `Config` if the file has no declaration with that source or table.
pub(super) fn apply(
    files: &DeclarationFiles,
    pipeline_id: &str,
    edits: &[Edit],
) -> Result<DeclarationFiles> {
    let file = file_of(pipeline_id);
    let mut document = document(files, &file)?;
    for edit in edits {
        put(&mut document, edit).ok_or_else(|| {
            Error::config(format!("{file}: a suggestion cannot be applied ({edit:?})"))
        })?;
    }
    Ok(files.with(&[(&file, &document.to_string())]))
}

/// Formats changes for readers, as the changed keys with their new values in the declaration.
///
/// # Errors
/// Returns the same errors as [`apply`].
pub(super) fn show(files: &DeclarationFiles, pipeline_id: &str, edits: &[Edit]) -> Result<String> {
    let file = file_of(pipeline_id);
    let document = document(&apply(files, pipeline_id, edits)?, &file)?;
    // Each heading is listed once, in the order of the changes.
    let mut places: Vec<(String, Vec<String>)> = Vec::new();
    for edit in edits {
        let (place, line) = shown(&document, edit).ok_or_else(|| {
            Error::config(format!("{file}: a suggestion cannot be shown ({edit:?})"))
        })?;
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, lines)) if lines.contains(&line) => {}
            Some((_, lines)) => lines.push(line),
            None => places.push((place, vec![line])),
        }
    }
    let texts: Vec<String> = places
        .into_iter()
        .map(|(place, lines)| format!("{place}\n{}", lines.join("\n")))
        .collect();
    Ok(format!("# {file}\n{}\n", texts.join("\n")))
}

/// Replaces characters in a term that a comment cannot contain.
fn one_line(word: &str) -> String {
    word.chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect()
}

fn file_of(pipeline_id: &str) -> String {
    format!("pipelines/{}.toml", pipeline_id.replace('.', "/"))
}

fn document(files: &DeclarationFiles, file: &str) -> Result<DocumentMut> {
    let text = files
        .read(file)
        .ok_or_else(|| Error::config(format!("there is no file {file}")))?;
    String::from_utf8_lossy(text)
        .parse()
        .map_err(|error| Error::config(format!("{file}: {error}")))
}

fn put(document: &mut DocumentMut, edit: &Edit) -> Option<()> {
    match edit {
        Edit::Alternative {
            source_id,
            column,
            name,
            ..
        } => {
            let columns = source(document, source_id)?.get_mut("columns")?;
            add(
                columns
                    .as_table_like_mut()?
                    .get_mut(column)?
                    .as_array_mut()?,
                name,
            );
            // If a table is written on one line, the comment can only follow the entire table.
            let commented = if columns.is_value() {
                columns
            } else {
                columns.get_mut(column)?
            };
            comment(commented.as_value_mut()?, edit);
        }
        Edit::Ignore { source_id, name } => {
            add(list(source(document, source_id)?, "ignore")?, name);
        }
        Edit::Redirect { source_id, host } => {
            add(list(source(document, source_id)?, "redirects")?, host);
        }
        Edit::Url { source_id, url } => {
            let entry = source(document, source_id)?
                .get_mut("url")?
                .as_value_mut()?;
            let decor = entry.decor().clone();
            *entry = Value::from(url.as_str());
            *entry.decor_mut() = decor;
        }
        Edit::Word {
            table, word, value, ..
        } => {
            let table = document
                .get_mut("settings")?
                .as_table_like_mut()?
                .entry(table)
                .or_insert_with(|| Item::Table(Table::new()));
            let is_inline = table.is_value();
            let mut value: Value = value.to_string().parse().ok()?;
            if !is_inline {
                comment(&mut value, edit);
            }
            table.as_table_like_mut()?.insert(word, Item::Value(value));
        }
    }
    Some(())
}

/// Adds a comment after a value to explain how the change was guessed.
fn comment(value: &mut Value, edit: &Edit) {
    let Some(guess) = edit.guess() else { return };
    let known = value
        .decor()
        .suffix()
        .and_then(|suffix| suffix.as_str())
        .unwrap_or_default()
        .trim_end();
    let joined = if known.is_empty() {
        format!(" # {guess}")
    } else {
        format!("{known}; {guess}")
    };
    value.decor_mut().set_suffix(joined);
}

fn source<'d>(document: &'d mut DocumentMut, source_id: &str) -> Option<&'d mut Table> {
    let sources = document.get_mut("source")?.as_array_of_tables_mut()?;
    sources
        .iter_mut()
        .find(|source| source.get("source_id").and_then(Item::as_str) == Some(source_id))
}

/// Returns the list under a key, and creates it if necessary.
fn list<'d>(source: &'d mut Table, key: &str) -> Option<&'d mut Array> {
    source
        .entry(key)
        .or_insert_with(|| Item::Value(Value::Array(Array::new())))
        .as_array_mut()
}

fn add(list: &mut Array, name: &str) {
    if !list.iter().any(|known| known.as_str() == Some(name)) {
        list.push(name);
    }
}

/// Returns the heading above a change, and the changed line.
fn shown(document: &DocumentMut, edit: &Edit) -> Option<(String, String)> {
    let of_source = |source_id: &str| format!("[[source]]  # {source_id}");
    let source = |source_id: &str| {
        let sources = document.get("source")?.as_array_of_tables()?;
        sources
            .iter()
            .find(|source| source.get("source_id").and_then(Item::as_str) == Some(source_id))
    };
    let guess = edit
        .guess()
        .map(|guess| format!("# {guess}\n"))
        .unwrap_or_default();
    let line = |name: &str, item: &Item| {
        let mut value = item.as_value()?.clone();
        value.decor_mut().clear();
        Some(format!("{guess}{name} = {value}"))
    };
    Some(match edit {
        Edit::Alternative {
            source_id, column, ..
        } => {
            let columns: &dyn TableLike = source(source_id)?.get("columns")?.as_table_like()?;
            (
                of_source(source_id),
                line(&format!("columns.{}", key(column)), columns.get(column)?)?,
            )
        }
        Edit::Ignore { source_id, .. } => (
            of_source(source_id),
            line("ignore", source(source_id)?.get("ignore")?)?,
        ),
        Edit::Redirect { source_id, .. } => (
            of_source(source_id),
            line("redirects", source(source_id)?.get("redirects")?)?,
        ),
        Edit::Url { source_id, .. } => (
            of_source(source_id),
            line("url", source(source_id)?.get("url")?)?,
        ),
        Edit::Word { table, word, .. } => {
            let words = document
                .get("settings")?
                .as_table_like()?
                .get(table)?
                .as_table_like()?;
            (
                format!("[settings.{}]", key(table)),
                line(&key(word), words.get(word)?)?,
            )
        }
    })
}

/// Formats a key as TOML.
fn key(name: &str) -> String {
    let is_bare = !name.is_empty()
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "_-".contains(character));
    if is_bare {
        name.to_owned()
    } else {
        Value::from(name).to_string()
    }
}

/// Changes by pipeline.
pub(super) type Edits = BTreeMap<String, Vec<Edit>>;

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# A list.
pipeline_id = "a.b"

[[source]]
source_id = "a.other"
url = "https://example.org/other"

[[source]]
source_id = "a.b"
url = "https://example.org/{year}.csv" # since 2020
columns = { number = ["num"], status = [
    "state",  # until 2019
] }
# Not used.
ignore = [
    "x",
    "y",
]

[settings.status]
"Issued" = "active"   # as printed
"#;

    fn edits() -> Vec<Edit> {
        let source_id = || "a.b".to_owned();
        vec![
            Edit::Alternative {
                source_id: source_id(),
                column: "number".to_owned(),
                name: "permit no".to_owned(),
                rule: Rule::SimilarName,
            },
            Edit::Ignore {
                source_id: source_id(),
                name: "z".to_owned(),
            },
            Edit::Ignore {
                source_id: source_id(),
                name: "x".to_owned(),
            },
            Edit::Ignore {
                source_id: "a.other".to_owned(),
                name: "w".to_owned(),
            },
            Edit::Url {
                source_id: source_id(),
                url: "https://example.com/{year}.csv".to_owned(),
            },
            Edit::Redirect {
                source_id: source_id(),
                host: "files.example.com".to_owned(),
            },
            Edit::Word {
                table: "status".to_owned(),
                word: "ISSUED.".to_owned(),
                value: toml::Value::String("active".to_owned()),
                like: "Issued".to_owned(),
                likeness: Likeness::Spelling,
            },
            Edit::Word {
                table: "work_class".to_owned(),
                word: "New Building".to_owned(),
                value: toml::Value::String("new".to_owned()),
                like: "new".to_owned(),
                likeness: Likeness::Part,
            },
        ]
    }

    fn files() -> DeclarationFiles {
        DeclarationFiles::built_in().with(&[("pipelines/a/b.toml", TEXT)])
    }

    #[test]
    fn changes_leave_the_rest_of_a_declaration_as_it_is() {
        let changed = apply(&files(), "a.b", &edits()).unwrap();
        let text = String::from_utf8(changed.read("pipelines/a/b.toml").unwrap().to_vec()).unwrap();
        let guesses = [
            "] } # guessed: `permit no` has a similar name\n",
            "\"active\" # guessed: `ISSUED.` is another spelling of `Issued`\n",
        ];
        for kept in [
            "# A list.",
            "# since 2020",
            "# until 2019",
            "# Not used.",
            "# as printed",
        ]
        .into_iter()
        .chain(guesses)
        {
            assert!(text.contains(kept), "{kept}: {text}");
        }
        let table: toml::Table = text.parse().unwrap();
        let source = &table["source"][1];
        assert_eq!(
            source["columns"]["number"].to_string(),
            r#"["num", "permit no"]"#
        );
        assert_eq!(source["ignore"].to_string(), r#"["x", "y", "z"]"#);
        assert_eq!(
            source["url"].as_str(),
            Some("https://example.com/{year}.csv")
        );
        assert_eq!(source["redirects"].to_string(), r#"["files.example.com"]"#);
        assert_eq!(table["source"][0]["ignore"].to_string(), r#"["w"]"#);
        assert_eq!(
            table["settings"]["status"]["ISSUED."].as_str(),
            Some("active")
        );
        assert_eq!(
            table["settings"]["work_class"]["New Building"].as_str(),
            Some("new"),
            "a table that the list did not have"
        );
    }

    #[test]
    fn changes_are_shown_as_toml_that_can_be_read() {
        let shown = show(&files(), "a.b", &edits()).unwrap();
        assert!(
            shown.starts_with("# pipelines/a/b.toml\n[[source]]  # a.b\n"),
            "{shown}"
        );
        assert!(shown.contains("\n# guessed: `permit no` has a similar name\ncolumns.number = [\"num\", \"permit no\"]\n"), "{shown}");
        let word = "[settings.status]\n# guessed: `ISSUED.` is another spelling of `Issued`\n\"ISSUED.\" = \"active\"\n";
        assert!(shown.contains(word), "{shown}");
        assert!(shown.parse::<toml::Table>().is_ok(), "{shown}");
    }

    #[test]
    fn edit_of_an_undeclared_source_is_rejected() {
        let edit = Edit::Url {
            source_id: "a.none".to_owned(),
            url: "https://example.org/".to_owned(),
        };
        assert!(apply(&files(), "a.b", &[edit]).is_err());
        assert!(apply(&files(), "a.none", &[]).is_err());
    }
}
