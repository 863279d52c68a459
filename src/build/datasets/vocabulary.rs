//! Checks declarations for builders that read many sources. Covers the columns that the builder
//! reads, and the settings whose words are published. Without this check, a misspelt column name
//! would be silently ignored, and a word that its column does not allow would cost every record
//! that contains it.

use std::collections::BTreeSet;

use super::Fault;
use pubdata_core::contract::Contracts;
use pubdata_core::error::Result;
use pubdata_core::pipeline::{Declaration, nearest};

/// The source's own table maps the word.
pub const DECLARED: &str = "declared";

/// The shared vocabulary maps the word.
pub const SHARED_VOCABULARY: &str = "shared_vocabulary";

/// Value of a coded column if the word is unknown.
pub const UNKNOWN: &str = "unknown";

/// Formats an unknown word as stored in records: `status=Hold`.
pub fn unknown_value(column: &str, word: &str) -> String {
    format!("{column}={word}")
}

/// Reads from a declaration which columns keep the publisher's value under the same name.
pub type NamesOf = fn(&Declaration) -> std::result::Result<SameNames, Fault>;

/// Names and words that a builder understands.
pub struct Vocabulary {
    /// The pubdata column names that the builder reads, including those named in the declaration's
    /// settings.
    pub columns: fn(&Declaration) -> Result<BTreeSet<String>>,
    pub words: &'static [Words],
    /// Published columns that are read from the column mapped under the same name. `None` if the
    /// builder does not declare any.
    pub same_names: Option<NamesOf>,
}

/// A table's columns that are read cell by cell from the column that a source maps under the same
/// name. The value may be copied, reformatted or looked up in a table of words. Columns that are
/// joined, derived or composed of several columns are not included.
pub struct SameNames {
    pub dataset_id: &'static str,
    /// Sources with one or more rows per record.
    pub sources: Vec<String>,
    pub columns: Vec<&'static str>,
}

/// Setting whose words are values of a published column. The setting is a word, a table of words,
/// or a key (`contact.role`) in every table in a list.
pub struct Words {
    pub setting: &'static str,
    pub dataset_id: &'static str,
    pub column: &'static str,
}

impl Vocabulary {
    /// Reports the columns and words in a declaration that no code understands. Skips settings that
    /// cannot be read at all, because the builder reports them.
    pub fn faults(&self, declaration: &Declaration, contracts: &Contracts) -> Vec<Fault> {
        let columns = (self.columns)(declaration)
            .map(|known| unread_columns(declaration, known))
            .unwrap_or_default();
        let words = self
            .words
            .iter()
            .flat_map(|words| words.faults(declaration, contracts));
        columns.into_iter().chain(words).collect()
    }
}

fn unread_columns(declaration: &Declaration, mut known: BTreeSet<String>) -> Vec<Fault> {
    known.extend(
        declaration
            .buckets
            .iter()
            .flat_map(|buckets| std::iter::once(&buckets.key).chain(&buckets.fallback_key))
            .cloned(),
    );
    let candidates: Vec<&str> = known.iter().map(String::as_str).collect();
    let of_source = |(number, source): (usize, &pubdata_core::pipeline::Source)| {
        let unread = source.columns.keys().filter(|name| !known.contains(*name));
        let fault = |name: &String| {
            let hint = nearest(name, &candidates).map_or_else(
                || {
                    "list the publisher's column under `ignore`, or name ours in a setting"
                        .to_owned()
                },
                |candidate| format!("did you mean `{candidate}`?"),
            );
            let message = format!(
                "source `{}`: neither the code nor a setting reads a column `{name}`; {hint}",
                source.source_id
            );
            Fault {
                table: "source".to_owned(),
                number: Some(number),
                key: format!("columns.{name}"),
                message,
            }
        };
        unread.map(fault).collect::<Vec<_>>()
    };
    declaration
        .sources
        .iter()
        .enumerate()
        .flat_map(of_source)
        .collect()
}

impl Words {
    fn faults(&self, declaration: &Declaration, contracts: &Contracts) -> Vec<Fault> {
        let column = contracts
            .get(self.dataset_id)
            .and_then(|contract| contract.column(self.column));
        let Some(column) = column.filter(|column| !column.column_type.values.is_empty()) else {
            return Vec::new();
        };
        let known: Vec<&str> = column
            .column_type
            .values
            .iter()
            .map(String::as_str)
            .collect();
        let is_known = |word: &str| word.is_empty() || known.contains(&word);
        let fault = |(table, number, key, word): Word<'_>| {
            let hint = nearest(word, &known).map_or_else(
                || format!("expected one of `{}`", known.join("`, `")),
                |candidate| format!("did you mean `{candidate}`?"),
            );
            let message = format!(
                "`{word}` is no value of `{}` in `{}`; {hint}",
                self.column, self.dataset_id
            );
            Fault {
                table,
                number,
                key,
                message,
            }
        };
        self.in_settings(&declaration.settings)
            .into_iter()
            .filter(|(.., word)| !is_known(word))
            .map(fault)
            .collect()
    }

    /// Returns the words in the setting, each with its position.
    fn in_settings<'d>(&self, settings: &'d toml::Table) -> Vec<Word<'d>> {
        if let Some((list, key)) = self.setting.split_once('.') {
            let tables = settings
                .get(list)
                .and_then(toml::Value::as_array)
                .into_iter()
                .flatten()
                .enumerate();
            let place = format!("settings.{list}");
            return tables
                .filter_map(|(number, table)| {
                    Some((
                        place.clone(),
                        Some(number),
                        key.to_owned(),
                        table.get(key)?.as_str()?,
                    ))
                })
                .collect();
        }
        match settings.get(self.setting) {
            Some(toml::Value::String(word)) => {
                vec![("settings".to_owned(), None, self.setting.to_owned(), word)]
            }
            // A word may have additional keys: `{ value = "llc", is_foreign = true }`.
            Some(toml::Value::Table(table)) => table
                .iter()
                .filter_map(|(text, word)| {
                    Some((
                        "settings".to_owned(),
                        None,
                        format!("{}.{text}", self.setting),
                        word.get("value").unwrap_or(word).as_str()?,
                    ))
                })
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// Table, index, key and word.
type Word<'d> = (String, Option<usize>, String, &'d str);
