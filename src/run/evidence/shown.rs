//! Shows the publisher's bytes for a record. For lists that may concern persons, shows only cells
//! whose entire content is published in the record, in the same or another format. If some bytes
//! are withheld, their digest is withheld too: a telephone number is easily found by trying all
//! numbers.

use toml::Table;

use super::published::Published;
use super::trace::{entry_of, snapshot_of};
use crate::planning::made_with::MadeWith;
use crate::settings::RunSettings;
use pubdata_build::decode::{self, ColumnPlan, RecordCell, RecordText};
use pubdata_core::error::Result;
use pubdata_core::ids::Digest;
use pubdata_core::pipeline::{Format, Source, Syntax};
use pubdata_core::provenance::{Snapshot, SourcePointer};
use pubdata_store::evidence::{Excerpt, Shown, ShownBytes, ShownCell, ShownHeader};
use pubdata_store::{FoundRecord, Snapshots, redact_folders};

/// Maximum number of bytes of one source cell that are read and shown.
const MAX_READ: u64 = 8 << 20;
const MAX_SHOWN: u64 = 64 << 10;
/// Number of bytes shown before and after a value in a document.
const AROUND: u64 = 1 << 10;
/// Maximum number of a record's source cells that are shown.
const MAX_POINTERS: usize = 50;
/// If a record has more cells than this, only those that the build read are shown.
const MAX_CELLS: usize = 500;

/// Reason given for a file that is not in the home.
pub(super) const NO_COPY: &str = "this server has no copy of the publisher's file";

/// Shows the bytes from which a record was built, in the order of its pointers.
///
/// # Errors
/// Returns `Store` if the manifest does not name the build of the record.
pub async fn shown_bytes(
    settings: &RunSettings,
    found: &FoundRecord<'_>,
) -> Result<Vec<ShownBytes>> {
    let entry = entry_of(found)?;
    // If the release's declarations are lost, the current declarations are used.
    let made = MadeWith::load(settings, found.manifest, entry).await.ok();
    let declared = made.as_ref().map_or(settings, |made| &made.settings);
    let snapshots = Snapshots::look(&settings.home);
    let published = Published::from_columns(found.columns);
    let show = |pointer: &SourcePointer| {
        let Some(snapshot) = snapshot_of(entry, pointer) else {
            return ShownBytes::nothing(
                Shown::Unavailable,
                "the release names no file of this source",
            );
        };
        let Some((declaration, source)) = declared.declarations.source(&pointer.source_id) else {
            return ShownBytes::nothing(
                Shown::Unavailable,
                "the source is no longer declared, and the release does not carry its declaration",
            );
        };
        let looked = BytesToShow {
            snapshots: &snapshots,
            snapshot,
            source,
            settings: &declaration.settings,
            pointer,
            published: &published,
        };
        // The current declaration determines what may be shown, even if a different one was in
        // force for the release.
        let shown = match is_open(settings, &pointer.source_id) {
            true => looked.whole(),
            false => looked.published(),
        };
        ShownBytes {
            reason: shown.reason.map(|reason| without_home(settings, &reason)),
            ..shown
        }
    };
    let (first, rest) = found
        .pointers
        .split_at(found.pointers.len().min(MAX_POINTERS));
    let beyond = || {
        ShownBytes::nothing(
            Shown::Unavailable,
            format!(
                "only {MAX_POINTERS} source cells of a record are shown; `pubdata trace` shows all"
            ),
        )
    };
    Ok(first
        .iter()
        .map(show)
        .chain(rest.iter().map(|_| beyond()))
        .collect())
}

/// Removes the paths of local folders from a text for untrusted clients.
pub(super) fn without_home(settings: &RunSettings, text: &str) -> String {
    let folders = [Some(settings.home.root()), settings.releases.folder()];
    redact_folders(text, &folders.into_iter().flatten().collect::<Vec<_>>())
}

/// Returns true if a source's files are declared open, so that they may be shown unchanged.
pub fn is_open(settings: &RunSettings, source_id: &str) -> bool {
    settings
        .declarations
        .source(source_id)
        .is_some_and(|(declaration, _)| declaration.open)
}

/// Bytes to show, with all information that determines how much of them is shown.
struct BytesToShow<'a> {
    snapshots: &'a Snapshots,
    snapshot: &'a Snapshot,
    source: &'a Source,
    /// Mappings of the declaration.
    settings: &'a Table,
    pointer: &'a SourcePointer,
    published: &'a Published,
}

impl BytesToShow<'_> {
    fn max_bytes(&self) -> u64 {
        if self.source.members.is_some() {
            self.source.max_member_bytes
        } else {
            self.source.max_bytes
        }
    }

    /// Returns the bytes, or the reason why the bytes are not shown.
    fn bytes(&self) -> std::result::Result<Vec<u8>, Box<ShownBytes>> {
        let SourcePointer {
            member,
            offset,
            length,
            ..
        } = self.pointer;
        let path = self.snapshots.path(self.snapshot);
        if !path.is_file() {
            return Err(Box::new(ShownBytes::nothing(Shown::Unavailable, NO_COPY)));
        }
        if *length > MAX_READ {
            return Err(Box::new(ShownBytes::nothing(
                Shown::Withheld,
                format!("{length} bytes are more than are shown: {MAX_READ} at most are read"),
            )));
        }
        decode::read_range(&path, member.as_deref(), *offset, *length, self.max_bytes())
            .map_err(|error| Box::new(unreadable(&error)))
    }

    /// Splits the record into cells. Returns `None` if the record has no cells.
    fn cells(&self, bytes: &[u8]) -> Result<Option<(RecordText, ColumnPlan)>> {
        let plan = ColumnPlan::for_source(self.source, &self.snapshot.keys)?;
        let path = self.snapshots.path(self.snapshot);
        let SourcePointer { member, offset, .. } = self.pointer;
        let task = decode::Task {
            path: &path,
            format: &self.source.format,
            member: member.as_deref(),
            plan: &plan,
            input: 0,
            member_number: 0,
            max_bytes: self.max_bytes(),
            only: None,
        };
        Ok(decode::record_cells(&task, bytes, *offset)?.map(|record| (record, plan)))
    }

    /// Shows all of the bytes.
    fn whole(&self) -> ShownBytes {
        let bytes = match self.bytes() {
            Ok(bytes) => bytes,
            Err(nothing) => return *nothing,
        };
        let SourcePointer {
            member,
            offset,
            length,
            ..
        } = self.pointer;
        let sha256 = Some(Digest::sha256(&bytes));
        if *length > MAX_SHOWN {
            let reason = format!("{length} bytes are more than are shown: {MAX_SHOWN} at most");
            return ShownBytes {
                sha256,
                ..ShownBytes::nothing(Shown::Withheld, reason)
            };
        }
        let (record, plan) = match self.cells(&bytes) {
            Ok(Some(found)) => found,
            Ok(None) => {
                let path = self.snapshots.path(self.snapshot);
                return match decode::surroundings(
                    &path,
                    member.as_deref(),
                    (*offset, *length),
                    AROUND,
                    self.max_bytes(),
                ) {
                    Ok(around) => {
                        let (start, end) = (around.characters.start, around.characters.end);
                        let excerpt = Excerpt {
                            text: around.text,
                            offset: around.offset,
                            length: around.length,
                            start,
                            end,
                        };
                        ShownBytes {
                            shown: Shown::Whole,
                            reason: None,
                            sha256,
                            header: None,
                            excerpt: Some(excerpt),
                            cells: Vec::new(),
                        }
                    }
                    Err(error) => unreadable(&error),
                };
            }
            Err(error) => return unreadable(&error),
        };
        let end = record.text.chars().count();
        let shown = |cell: &RecordCell| {
            let (start, end) = (Some(cell.characters.start), Some(cell.characters.end));
            ShownCell {
                text: cell.text.clone(),
                start,
                end,
                ..self.cell(Some(&plan), cell)
            }
        };
        let cells = few(record.cells.iter().map(shown).collect());
        let excerpt = Excerpt {
            text: record.text,
            offset: *offset,
            length: *length,
            start: 0,
            end,
        };
        ShownBytes {
            shown: Shown::Whole,
            reason: None,
            sha256,
            header: header(record.header),
            excerpt: Some(excerpt),
            cells,
        }
    }

    /// Shows the published cells.
    fn published(&self) -> ShownBytes {
        const PERSONAL_DATA_NOTE: &str =
            "the publisher's list may contain personal data that is not published here";
        let bytes = match self.bytes() {
            Ok(bytes) => bytes,
            Err(nothing) => return *nothing,
        };
        // An error message about the bytes could reveal their content.
        let found = if matches!(
            self.source.format,
            Format::Document {
                syntax: Syntax::Json
            }
        ) {
            decode::json_cells(&bytes).map(|record| (record, None))
        } else {
            self.cells(&bytes)
                .ok()
                .flatten()
                .map(|(record, plan)| (record, Some(plan)))
        };
        let Some((record, plan)) = found else {
            return ShownBytes::nothing(
                Shown::Withheld,
                format!("{PERSONAL_DATA_NOTE}, and these bytes cannot be split into cells"),
            );
        };
        let shown = |cell: &RecordCell| {
            let shown_cell = self.cell(plan.as_ref(), cell);
            // A cell that is not mapped has a different meaning, even if its text is the same.
            let name = shown_cell.read_as.as_deref().unwrap_or_default();
            let is_published = cell.text.as_deref().is_none_or(|text| {
                shown_cell.is_used && self.published.says_as(name, text, self.settings)
            });
            ShownCell {
                text: cell.text.clone().filter(|_| is_published),
                is_withheld: !is_published,
                ..shown_cell
            }
        };
        let cells: Vec<ShownCell> = record.cells.iter().map(shown).collect();
        let is_all = cells.iter().all(|cell| !cell.is_withheld);
        let sha256 = is_all.then(|| Digest::sha256(&bytes));
        let reason = (!is_all).then(|| {
            format!(
                "{PERSONAL_DATA_NOTE}: cells are shown whose content is published in the record"
            )
        });
        ShownBytes {
            shown: Shown::Published,
            reason,
            sha256,
            header: header(record.header),
            excerpt: None,
            cells: few(cells),
        }
    }

    /// Describes a cell without its text. Cells of a document have no mapped names, because the
    /// dataset's code reads the document.
    fn cell(&self, plan: Option<&ColumnPlan>, cell: &RecordCell) -> ShownCell {
        let read_as = plan
            .and_then(|plan| plan.name_of(&cell.column))
            .map(str::to_owned);
        // Some builds read more columns than are mapped. Their records name these additional
        // columns.
        let is_used = plan.is_none() || read_as.is_some() || self.published.names(&cell.column);
        let (offset, length) = (
            self.pointer.offset + cell.bytes.start as u64,
            cell.bytes.len() as u64,
        );
        let column = Some(cell.column.clone()).filter(|column| !column.is_empty());
        ShownCell {
            column,
            read_as,
            is_used,
            is_withheld: false,
            text: None,
            offset,
            length,
            start: None,
            end: None,
        }
    }
}

/// Reduces a very long list of cells to the cells that the build read.
fn few(mut cells: Vec<ShownCell>) -> Vec<ShownCell> {
    if cells.len() > MAX_CELLS {
        cells.retain(|cell| cell.is_used);
        cells.truncate(MAX_CELLS);
    }
    cells
}

fn header(header: Option<decode::HeaderRow>) -> Option<ShownHeader> {
    let header = header.filter(|header| header.length <= MAX_SHOWN)?;
    Some(ShownHeader {
        text: header.text,
        offset: header.offset,
        length: header.length,
    })
}

fn unreadable(error: &pubdata_core::error::Error) -> ShownBytes {
    ShownBytes::nothing(
        Shown::Unavailable,
        format!("the publisher's file cannot be read: {error}"),
    )
}
