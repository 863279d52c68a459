//! Where the row groups of a part begin, and what each is made of: rows just built, rows of the
//! last release, or one of its row groups as it is.

use std::collections::BTreeMap;
use std::ops::Range;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;

use super::carried::CarriedRows;
use super::columns::{ROW_GROUP_ROWS, runs_by_subject};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Digest;
use pubdata_core::provenance::Inputs;

/// Rows that a row group of a sharded part has at least, its part's last excepted.
const GROUP_ROWS: usize = 4_096;

/// A row group on its way into a part.
pub enum Group<'c> {
    Encoded(RecordBatch),
    /// One of the last release's part, by its number.
    Copied(&'c CarriedRows, usize),
}

/// Rows of one subject, of those just built or of those taken over.
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

/// A part of a sharded build on its way.
pub struct Grouped<'c> {
    pub groups: Vec<Group<'c>>,
    /// The number of rows of each subject that has any.
    pub rows: BTreeMap<&'c str, usize>,
}

/// The row groups of a part of a sharded build, from the rows just built and those taken over. Both
/// are in the contract's order, which begins with the subject.
///
/// A group has whole subjects and [`GROUP_ROWS`] rows at least; of the subjects that could begin
/// the next one, half do, by the digest of their key. So the borders depend on the rows alone, and
/// behind a subject that has changed they are soon where they were: groups in which nothing has
/// changed are copied.
///
/// # Errors
/// `Store`, when a subject is on both sides, or carried rows do not have the columns of the new
/// ones or point to what is not among `inputs`.
pub fn groups_by_subject<'c>(
    new: &'c RecordBatch,
    carried: Option<&'c CarriedRows>,
    inputs: &Inputs,
) -> Result<Grouped<'c>> {
    let mut runs: Vec<(&'c str, Run)> = runs_by_subject(new)?
        .into_iter()
        .map(|(subject, rows)| (subject, Run::New(rows)))
        .collect();
    if let Some(carried) = carried {
        carried.check_pointers(inputs)?;
        runs.extend(
            carried
                .runs
                .iter()
                .map(|(subject, rows)| (subject.as_str(), Run::Kept(rows.clone()))),
        );
    }
    runs.sort_by_key(|(subject, _)| *subject);
    if let Some(twice) = runs.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(Error::store(format!(
            "subject {} is there twice",
            twice[0].0
        )));
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
    let groups = match carried {
        Some(carried) => carried.arrange(new, &groups)?,
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

/// Whether a subject may begin a row group. Other bits than those that buckets are made by.
fn begins_group(subject: &str) -> bool {
    Digest::of(subject.as_bytes()).as_bytes()[31].is_multiple_of(2)
}

/// Rows of a batch as row groups of no more than [`ROW_GROUP_ROWS`].
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

/// From the first row of the first to the last of the last.
fn span(runs: &[Run]) -> Range<usize> {
    let rows = |run: &Run| match run {
        Run::New(rows) | Run::Kept(rows) => rows.clone(),
    };
    runs.first().map_or(0, |run| rows(run).start)..runs.last().map_or(0, |run| rows(run).end)
}

impl CarriedRows {
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

    /// The row groups that hold these rows and no other, cut as they would be cut now.
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
