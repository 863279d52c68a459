//! Determines the borders of a part's row groups and the content of each group: new rows, rows from
//! the last release, or an unchanged row group from the last release.

use std::collections::BTreeMap;
use std::ops::Range;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;

use super::columns::{ROW_GROUP_ROWS, runs_by_subject};
use super::reused::ReusedRows;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Digest;
use pubdata_core::provenance::Inputs;

/// Minimum number of rows in each row group of a sharded part, except the last group.
const GROUP_ROWS: usize = 4_096;

/// A row group to write into a part.
pub enum Group<'c> {
    Encoded(RecordBatch),
    /// A row group from the last release's part, by index.
    Copied(&'c ReusedRows, usize),
}

/// Rows of one subject, either new or reused.
#[derive(Debug, Clone)]
enum Run {
    New(Range<usize>),
    Kept(Range<usize>),
}

impl Run {
    fn len(&self) -> usize {
        match self {
            Self::New(rows) | Self::Kept(rows) => rows.len(),
        }
    }
}

/// The row groups of a sharded part.
pub struct Grouped<'c> {
    pub groups: Vec<Group<'c>>,
    /// Row count of each subject that has rows.
    pub rows: BTreeMap<&'c str, usize>,
}

/// Composes the row groups of a sharded part from new and reused rows. Both kinds of row are in the
/// contract's order, which begins with the subject.
///
/// A row group contains complete subjects and at least [`GROUP_ROWS`] rows. Beyond that number,
/// half of all subjects may begin the next group, selected by the digest of their key. Therefore
/// the borders depend only on the rows. A few subjects after a changed subject, the borders are the
/// same as before, and unchanged groups are copied.
///
/// # Errors
/// `Store` if a subject has both new and reused rows, or if reused rows lack columns of the new
/// rows. The same if reused rows point to a file that is not among `inputs`.
pub fn groups_by_subject<'c>(
    new: &'c RecordBatch,
    reused: Option<&'c ReusedRows>,
    inputs: &Inputs,
) -> Result<Grouped<'c>> {
    let mut runs: Vec<(&'c str, Run)> = runs_by_subject(new)?
        .into_iter()
        .map(|(subject, rows)| (subject, Run::New(rows)))
        .collect();
    if let Some(reused) = reused {
        reused.check_pointers(inputs)?;
        runs.extend(
            reused
                .runs
                .iter()
                .map(|(subject, rows)| (subject.as_str(), Run::Kept(rows.clone()))),
        );
    }
    runs.sort_by_key(|(subject, _)| *subject);
    if let Some(twice) = runs.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(Error::store(format!("subject {} occurs twice", twice[0].0)));
    }
    let rows_of_subjects = runs
        .iter()
        .map(|(subject, run)| (*subject, run.len()))
        .collect();
    let mut groups: Vec<Vec<Run>> = Vec::new();
    let mut rows = 0;
    for (subject, run) in runs {
        if groups.is_empty() || (rows >= GROUP_ROWS && begins_group(subject)) {
            groups.push(Vec::new());
            rows = 0;
        }
        rows += run.len();
        groups.last_mut().expect("just pushed").push(run);
    }
    let groups = match reused {
        Some(reused) => reused.arrange(new, &groups)?,
        None => groups
            .iter()
            .flat_map(|group| slices(new, span(group)))
            .collect(),
    };
    Ok(Grouped {
        groups,
        rows: rows_of_subjects,
    })
}

/// Reports whether a subject may begin a row group. Uses different bits of the digest than
/// bucketing does.
fn begins_group(subject: &str) -> bool {
    Digest::sha256(subject.as_bytes()).as_bytes()[31].is_multiple_of(2)
}

/// Divides a batch's rows into row groups of at most [`ROW_GROUP_ROWS`].
pub fn slices<'c>(batch: &RecordBatch, rows: Range<usize>) -> impl Iterator<Item = Group<'c>> {
    chunks(&rows)
        .map(|chunk| Group::Encoded(batch.slice(chunk.start, chunk.len())))
        .collect::<Vec<_>>()
        .into_iter()
}

fn chunks(rows: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.clone()
        .step_by(ROW_GROUP_ROWS)
        .map(move |start| start..end.min(start + ROW_GROUP_ROWS))
}

/// Returns the range from the first run's first row to the last run's last row.
fn span(runs: &[Run]) -> Range<usize> {
    let rows = |run: &Run| match run {
        Run::New(rows) | Run::Kept(rows) => rows.clone(),
    };
    runs.first().map_or(0, |run| rows(run).start)..runs.last().map_or(0, |run| rows(run).end)
}

impl ReusedRows {
    fn arrange(&self, new: &RecordBatch, groups: &[Vec<Run>]) -> Result<Vec<Group<'_>>> {
        let copied: Vec<Option<Range<usize>>> =
            groups.iter().map(|runs| self.whole_groups(runs)).collect();
        let kept = groups
            .iter()
            .zip(&copied)
            .filter(|(_, copied)| copied.is_none())
            .flat_map(|(runs, _)| runs);
        let read = self.read_groups(kept.flat_map(|run| {
            if let Run::Kept(rows) = run {
                self.groups_with(rows)
            } else {
                0..0
            }
        }))?;
        let mut arranged = Vec::with_capacity(groups.len());
        for (runs, copied) in groups.iter().zip(copied) {
            if let Some(copied) = copied {
                arranged.extend(copied.map(|group| Group::Copied(self, group)));
                continue;
            }
            let mut batches = Vec::new();
            for run in runs {
                match run {
                    Run::New(rows) => batches.push(new.slice(rows.start, rows.len())),
                    Run::Kept(rows) => batches.extend(self.rows_of(rows, &read, &new.schema())?),
                }
            }
            let batch = concat_batches(&new.schema(), &batches)?;
            arranged.extend(slices(&batch, 0..batch.num_rows()));
        }
        Ok(arranged)
    }

    /// Returns the row groups that contain exactly these rows, if the rows would be divided the
    /// same way now.
    fn whole_groups(&self, runs: &[Run]) -> Option<Range<usize>> {
        let is_kept = runs.iter().all(|run| matches!(run, Run::Kept(_)));
        let rows = span(runs);
        if !is_kept || rows.len() != runs.iter().map(Run::len).sum::<usize>() {
            return None;
        }
        let groups = self.groups_of(&rows)?;
        let is_cut_alike = self
            .borders(groups.clone())
            .windows(2)
            .map(|border| border[0]..border[1])
            .eq(chunks(&rows));
        is_cut_alike.then_some(groups)
    }
}
