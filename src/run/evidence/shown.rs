//! Shows the publisher's bytes of a record. Of lists that may tell of persons it shows what is
//! published of the record, and nothing else: a cell only where its content is a value of the
//! record, in this form or another, no text around it, and no digest of bytes any of which is
//! withheld, because a telephone number is soon found by trying all.

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
use pubdata_store::{FoundRecord, Snapshots, without_folders};

/// The most bytes of one source cell that are read, and that are shown.
const MOST_READ: u64 = 8 << 20;
const MOST_SHOWN: u64 = 64 << 10;
/// Bytes before and behind a value in a document.
const AROUND: u64 = 1 << 10;
/// The most source cells of a record that are looked at.
const MOST_POINTERS: usize = 50;
/// Of a record with more cells those that were read are shown.
const MOST_CELLS: usize = 500;

/// Of a file that is not in the home.
pub(super) const NO_COPY: &str = "this server has no copy of the publisher's file";

/// Shows the bytes of a record, one after the other as it points to them.
///
/// # Errors
/// `Store`, when the manifest does not say of which build the record is.
pub async fn shown_bytes(
    settings: &RunSettings,
    found: &FoundRecord<'_>,
) -> Result<Vec<ShownBytes>> {
    let entry = entry_of(found)?;
    // A release that has lost what it was made with is still shown by what is declared today.
    let made = MadeWith::of(settings, found.manifest, entry).await.ok();
    let declared = made.as_ref().map_or(settings, |made| &made.settings);
    let snapshots = Snapshots::look(&settings.home);
    let published = Published::of(found.columns);
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
        let looked = Looked {
            snapshots: &snapshots,
            snapshot,
            source,
            settings: &declaration.settings,
            pointer,
            published: &published,
        };
        // What may be shown is decided today, whatever was declared when the release was made.
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
        .split_at(found.pointers.len().min(MOST_POINTERS));
    let beyond = || {
        ShownBytes::nothing(
            Shown::Unavailable,
            format!(
                "of one record {MOST_POINTERS} source cells are shown; `pubdata trace` shows all"
            ),
        )
    };
    Ok(first
        .iter()
        .map(show)
        .chain(rest.iter().map(|_| beyond()))
        .collect())
}

/// A text as strangers may read it.
pub(super) fn without_home(settings: &RunSettings, text: &str) -> String {
    let folders = [Some(settings.home.root()), settings.releases.folder()];
    without_folders(text, &folders.into_iter().flatten().collect::<Vec<_>>())
}

/// Whether a source's files may be shown as they are; not where nobody says so.
pub fn is_open(settings: &RunSettings, source_id: &str) -> bool {
    settings
        .declarations
        .source(source_id)
        .is_some_and(|(declaration, _)| declaration.open)
}

/// Bytes that are looked at, with all that decides what is shown of them.
struct Looked<'a> {
    snapshots: &'a Snapshots,
    snapshot: &'a Snapshot,
    source: &'a Source,
    /// What the declaration makes of texts.
    settings: &'a Table,
    pointer: &'a SourcePointer,
    published: &'a Published,
}

impl Looked<'_> {
    fn max_bytes(&self) -> u64 {
        if self.source.members.is_some() {
            self.source.max_member_bytes
        } else {
            self.source.max_bytes
        }
    }

    /// The bytes, or why they are not shown.
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
        if *length > MOST_READ {
            return Err(Box::new(ShownBytes::nothing(
                Shown::Withheld,
                format!("{length} bytes are more than are shown: {MOST_READ} at most are read"),
            )));
        }
        decode::read_range(&path, member.as_deref(), *offset, *length, self.max_bytes())
            .map_err(|error| Box::new(unreadable(&error)))
    }

    /// The record in cells; none where it has none.
    fn cells(&self, bytes: &[u8]) -> Result<Option<(RecordText, ColumnPlan)>> {
        let plan = ColumnPlan::of(self.source, &self.snapshot.keys)?;
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

    /// All of the bytes.
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
        let sha256 = Some(Digest::of(&bytes));
        if *length > MOST_SHOWN {
            let reason = format!("{length} bytes are more than are shown: {MOST_SHOWN} at most");
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

    /// The cells that are published.
    fn published(&self) -> ShownBytes {
        const MAY_TELL: &str =
            "the publisher's list may tell of persons what is not published here";
        let bytes = match self.bytes() {
            Ok(bytes) => bytes,
            Err(nothing) => return *nothing,
        };
        // What is wrong with the bytes could tell of them.
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
                format!("{MAY_TELL}, and these bytes have no cells that could be told apart"),
            );
        };
        let shown = |cell: &RecordCell| {
            let told = self.cell(plan.as_ref(), cell);
            // A cell that is not mapped says something else, even where it says the same.
            let name = told.read_as.as_deref().unwrap_or_default();
            let is_published = cell.text.as_deref().is_none_or(|text| {
                told.is_used && self.published.says_as(name, text, self.settings)
            });
            ShownCell {
                text: cell.text.clone().filter(|_| is_published),
                is_withheld: !is_published,
                ..told
            }
        };
        let cells: Vec<ShownCell> = record.cells.iter().map(shown).collect();
        let is_all = cells.iter().all(|cell| !cell.is_withheld);
        let sha256 = is_all.then(|| Digest::of(&bytes));
        let reason = (!is_all).then(|| {
            format!("{MAY_TELL}: cells are shown whose content is published in the record")
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

    /// A cell without its text. Of a document, which the code of its dataset reads, no names are
    /// mapped.
    fn cell(&self, plan: Option<&ColumnPlan>, cell: &RecordCell) -> ShownCell {
        let read_as = plan
            .and_then(|plan| plan.name_of(&cell.column))
            .map(str::to_owned);
        // Some builds read more columns than are mapped, and their records name them.
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

/// Of very many cells those that were read.
fn few(mut cells: Vec<ShownCell>) -> Vec<ShownCell> {
    if cells.len() > MOST_CELLS {
        cells.retain(|cell| cell.is_used);
        cells.truncate(MOST_CELLS);
    }
    cells
}

fn header(header: Option<decode::HeaderRow>) -> Option<ShownHeader> {
    let header = header.filter(|header| header.length <= MOST_SHOWN)?;
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
