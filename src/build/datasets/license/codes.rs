//! Reads a publisher's table of its license codes. The table has a description of each code and the
//! kind of holder, which is a person or an organisation.

use std::collections::HashMap;

use super::cells::{Cells, Row};
use super::settings::{self, HolderKind, Settings};

/// The table's rows by code.
pub(super) struct CodeTable<'f> {
    cells: Cells<'f>,
    settings: &'f settings::Codes,
    by_code: HashMap<String, Vec<usize>>,
}

/// The table's rows for one code. Empty if the source has no code table, or the code is missing
/// from it.
#[derive(Default)]
pub(super) struct Code<'c> {
    rows: Vec<Row<'c>>,
    texts: Vec<&'c str>,
    kind: Option<HolderKind>,
}

impl<'f> CodeTable<'f> {
    pub(super) fn new(cells: Cells<'f>, settings: &'f settings::Codes) -> Self {
        let mut by_code: HashMap<String, Vec<usize>> = HashMap::new();
        for row in 0..cells.height() {
            if let Some(code) = cells.row(row, None).text(&settings.code) {
                by_code.entry(code.to_uppercase()).or_default().push(row);
            }
        }
        Self {
            cells,
            settings,
            by_code,
        }
    }

    /// Looks up a row's code. If the table's rows for a code disagree on the kind of holder, omits
    /// the kind.
    pub(super) fn code(&self, row: Row<'_>, settings: &Settings) -> Code<'_> {
        let found = row
            .text(&self.settings.of)
            .and_then(|code| self.by_code.get(&code.to_uppercase()));
        let rows: Vec<Row<'_>> = found
            .into_iter()
            .flatten()
            .map(|row| self.cells.row(*row, None))
            .collect();
        let texts = rows
            .iter()
            .filter_map(|row| row.text(&self.settings.text))
            .collect();
        let kind = |row: &Row<'_>| {
            settings
                .holder_kind
                .get(row.text(self.settings.kind.as_deref()?)?)
                .copied()
        };
        let first = rows.first().and_then(kind);
        let kind = first.filter(|first| rows.iter().all(|row| kind(row) == Some(*first)));
        Code { rows, texts, kind }
    }
}

impl<'c> Code<'c> {
    /// Returns the publisher's descriptions of the code.
    pub(super) fn texts(&self) -> &[&'c str] {
        &self.texts
    }

    /// Returns the kind of holder for licenses with this code.
    pub(super) fn kind(&self) -> Option<HolderKind> {
        self.kind
    }

    /// Returns the pointers to the table's rows.
    pub(super) fn pointers(&self) -> impl Iterator<Item = u64> {
        self.rows
            .iter()
            .flat_map(|row| row.pointers().iter().copied())
    }
}
