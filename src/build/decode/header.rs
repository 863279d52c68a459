//! Plans which columns of a file are read, and under which pubdata names. A file without a wanted
//! column is rejected. Undeclared columns are reported, or rejected if the plan is closed.

use std::collections::{BTreeMap, HashSet};

use super::archive::is_text;
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::{Source, expand, nearest};

/// Columns to read, columns to ignore, and rows to keep.
#[derive(Debug, Clone, Default)]
pub struct ColumnPlan {
    selectors: Vec<ColumnSelector>,
    ignore: Vec<String>,
    keep: Option<(String, Vec<String>)>,
    is_closed: bool,
}

/// Facts about a file's columns, apart from the plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnReport {
    /// Columns that are neither mapped nor ignored, written as the plan compares names.
    pub new: Vec<String>,
    /// The pubdata names of the file's columns, each with true if any record has a value in the
    /// column.
    pub has_value: Vec<(String, bool)>,
}

#[derive(Debug, Clone)]
struct ColumnSelector {
    name: String,
    source_names: Vec<String>,
    is_optional: bool,
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

impl ColumnPlan {
    /// Creates a plan that does not read any columns yet. `ignore` contains patterns for unused
    /// columns: `#` stands for one digit, and `""` is a column without a name.
    pub fn new(ignore: Vec<String>) -> Self {
        Self {
            ignore,
            ..Self::default()
        }
    }

    /// Creates the plan that a source declares. `keys` contains the values of the file's variables.
    ///
    /// # Errors
    /// `Config` if a pattern names a variable that the file does not have.
    pub fn for_source(source: &Source, keys: &BTreeMap<String, String>) -> Result<Self> {
        let ignore = source
            .ignore
            .iter()
            .map(|pattern| expand(pattern, keys))
            .collect::<Result<Vec<_>>>()?;
        let mut plan = if source.closed {
            Self::new(ignore).closed()
        } else {
            Self::new(ignore)
        };
        for (name, source_names) in &source.columns {
            let source_names: Vec<&str> = source_names.iter().map(String::as_str).collect();
            plan = if source.optional_columns.contains(name) {
                plan.want_optional(name, &source_names)
            } else {
                plan.want(name, &source_names)
            };
        }
        Ok(plan)
    }

    /// Reads a column under a pubdata name. Uses the first of the publisher's names that exists in
    /// the file.
    #[must_use]
    pub fn want(self, name: &str, source_names: &[&str]) -> Self {
        self.also(ColumnSelector {
            name: name.to_owned(),
            source_names: owned(source_names),
            is_optional: false,
        })
    }

    /// Like [`ColumnPlan::want`], but for a column that is missing in some files.
    #[must_use]
    pub fn want_optional(self, name: &str, source_names: &[&str]) -> Self {
        self.also(ColumnSelector {
            name: name.to_owned(),
            source_names: owned(source_names),
            is_optional: true,
        })
    }

    fn also(mut self, selector: ColumnSelector) -> Self {
        self.selectors.push(selector);
        self
    }

    /// Rejects files with a column that is neither mapped nor ignored.
    #[must_use]
    pub fn closed(self) -> Self {
        Self {
            is_closed: true,
            ..self
        }
    }

    /// Keeps only rows whose text in a wanted column starts with one of the prefixes.
    #[must_use]
    pub fn keep_prefixes(mut self, name: &str, prefixes: Vec<String>) -> Self {
        self.keep = Some((name.to_owned(), prefixes));
        self
    }

    /// Returns the pubdata name for a publisher's column, or none if the column is not read.
    pub fn name_of(&self, column: &str) -> Option<&str> {
        self.selectors
            .iter()
            .find(|selector| selector.source_names.iter().any(|name| name == column))
            .map(|selector| selector.name.as_str())
    }

    /// Reports whether a column is mapped or ignored.
    pub(super) fn knows(&self, column: &str) -> bool {
        self.selectors
            .iter()
            .any(|selector| selector.source_names.iter().any(|name| name == column))
            || self.ignore.iter().any(|pattern| is_text(pattern, column))
    }

    /// Reports whether a column nested in this column is mapped or ignored.
    pub(super) fn knows_nested(&self, column: &str) -> bool {
        let mut names = self
            .selectors
            .iter()
            .flat_map(|selector| &selector.source_names)
            .chain(&self.ignore);
        names.any(|name| {
            name.strip_prefix(column)
                .is_some_and(|rest| rest.starts_with(['.', '_']))
        })
    }

    /// Finds each wanted column among the records' attributes. Accepts a file without records,
    /// which has no attributes to search.
    pub(super) fn resolve_attributes(&self, names: &[String]) -> Result<Resolved> {
        if names.is_empty() {
            return Ok(Resolved {
                names: self
                    .selectors
                    .iter()
                    .map(|selector| selector.name.clone())
                    .collect(),
                positions: vec![None; self.selectors.len()],
                keep: None,
                width: 0,
                new: Vec::new(),
            });
        }
        self.resolve(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Finds each wanted column in a header.
    ///
    /// # Errors
    /// `Format`, naming the columns at fault: missing columns, each with the most similar new
    /// column; mapped columns that occur twice; or, in a closed plan, columns that are neither
    /// mapped nor ignored.
    pub(super) fn resolve(&self, header: &[&str]) -> Result<Resolved> {
        // A trailing delimiter produces a last column without a name (data.census.gov).
        let has_unnamed = self.ignore.iter().any(String::is_empty);
        let header = header
            .strip_suffix(&[""])
            .filter(|_| !has_unnamed)
            .unwrap_or(header);
        let is_mapped = |name: &str| {
            self.selectors
                .iter()
                .any(|selector| selector.source_names.iter().any(|known| known == name))
        };
        let mut seen: HashSet<&str> = HashSet::with_capacity(header.len());
        let mut repeated = header.iter().copied().filter(|name| !seen.insert(name));
        if let Some(twice) = repeated
            .find(|name| (self.is_closed || is_mapped(name)) && !(has_unnamed && name.is_empty()))
        {
            return Err(Error::format(format!(
                "column `{twice}` occurs twice in the header"
            )));
        }
        let mut new: Vec<String> = header
            .iter()
            .filter(|column| !self.knows(column))
            .map(|column| (*column).to_owned())
            .collect();
        new.sort_unstable();
        new.dedup();
        let mut names = Vec::new();
        let mut positions = Vec::new();
        let mut missing = Vec::new();
        for selector in &self.selectors {
            let position = selector
                .source_names
                .iter()
                .find_map(|name| header.iter().position(|column| column == name));
            if position.is_none() && !selector.is_optional {
                missing.push(selector);
            }
            names.push(selector.name.clone());
            positions.push(position);
        }
        if !missing.is_empty() || (self.is_closed && !new.is_empty()) {
            return Err(refusal(&missing, &new));
        }
        let keep = self.keep.as_ref().map(|(name, prefixes)| {
            let column = names
                .iter()
                .position(|selector| selector == name)
                .expect("a kept column is a wanted column");
            (
                column,
                prefixes
                    .iter()
                    .map(|prefix| prefix.as_bytes().to_vec())
                    .collect(),
            )
        });
        Ok(Resolved {
            names,
            positions,
            keep,
            width: header.len(),
            new,
        })
    }
}

/// Maximum number of new columns to compare with a missing column, and to list in a message. The
/// number of columns in a header is not limited.
const MAX_COMPARED: usize = 1_000;
const MAX_SHOWN: usize = 40;

/// Describes which columns differ from the declaration. For each missing column, names the new
/// column that may replace it.
fn refusal(missing: &[&ColumnSelector], new: &[String]) -> Error {
    let quoted = |names: &[String]| {
        names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let candidates: Vec<&str> = new.iter().take(MAX_COMPARED).map(String::as_str).collect();
    let mut parts = Vec::new();
    for selector in missing {
        let names = selector
            .source_names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(" or ");
        let alike = selector
            .source_names
            .iter()
            .find_map(|name| nearest(name, &candidates));
        parts.push(match alike {
            Some(alike) => format!(
                "{names} is missing, and `{alike}` is new: the publisher may have renamed it"
            ),
            None => format!("{names} is missing"),
        });
    }
    if !new.is_empty() {
        let (shown, rest) = new.split_at(new.len().min(MAX_SHOWN));
        let more = if rest.is_empty() {
            String::new()
        } else {
            format!(" and {} more", rest.len())
        };
        parts.push(format!(
            "neither mapped nor ignored: {}{more}",
            quoted(shown)
        ));
    }
    Error::format(format!("the columns differ from the declaration ({})", parts.join("; ")))
        .hint("compare the file with the declaration: add the new name of a renamed column to its mapping, and list unused columns under `ignore`")
}

/// A plan applied to a header.
#[derive(Debug)]
pub(super) struct Resolved {
    /// The pubdata names, in plan order.
    pub(super) names: Vec<String>,
    /// Index of each column in the file; none for a missing optional column.
    pub(super) positions: Vec<Option<usize>>,
    /// Index into `names`, and the prefixes that a row must match to be kept.
    keep: Option<(usize, Vec<Vec<u8>>)>,
    /// Number of columns in the header.
    pub(super) width: usize,
    /// Columns that are neither mapped nor ignored.
    pub(super) new: Vec<String>,
}

impl Resolved {
    /// Reports whether to keep a row. `cell_at` returns the cell at an index in the file.
    pub(super) fn is_kept<'c>(&self, cell_at: impl FnOnce(usize) -> &'c [u8]) -> bool {
        let Some((column, prefixes)) = &self.keep else {
            return true;
        };
        self.positions[*column].is_none_or(|position| {
            let cell = cell_at(position);
            prefixes.iter().any(|prefix| cell.starts_with(prefix))
        })
    }

    /// Returns the file index of the column that determines whether a row is kept.
    pub(super) fn keep_position(&self) -> Option<usize> {
        self.keep
            .as_ref()
            .and_then(|(column, _)| self.positions[*column])
    }
}
