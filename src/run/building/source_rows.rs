//! Accounts for every row that a build read: published, quarantined, or left out for a reason.
//! Counts come from the pointers of the published rows, not from what the pipelines report.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::build::ValidatedTables;
use crate::settings::QUARANTINE;
use pubdata_build::normalise::PointerRows;
use pubdata_core::error::Result;
use pubdata_core::issue::Severity;
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::{Inputs, POINTERS, SourceRows, UNUSED};
use pubdata_store::TaskEntry;

/// Number of recent rows that are remembered in order to skip repetitions.
const RECENT: usize = 256;

/// How a row was used. The best use comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use<'a> {
    /// A published record starts with this row.
    Record,
    Merged,
    Quarantined,
    LeftOut(&'a str),
    /// Left out; the only trace is a warning about the row.
    Warned(&'a str),
}

/// Row counts by use. The counts of several buckets can be added, because each row is in only one
/// bucket.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct RowUses(BTreeMap<String, SourceRows>);

impl RowUses {
    /// Counts the rows to which the tables of a build point. Each row is counted once, under its
    /// best use.
    pub(crate) fn count<'a>(
        checked: &'a ValidatedTables,
        left_out: &'a [(&'static str, Vec<u64>)],
        inputs: &Inputs,
    ) -> Result<Self> {
        let mut uses: Vec<([u64; 3], Use<'a>)> = Vec::new();
        // Neighbouring records often come from the same few rows.
        let mut recent = [None; RECENT];
        let mut add = |numbers: &[u64], first: Use<'a>, others: Use<'a>| {
            for (place, quad) in numbers.chunks_exact(4).enumerate() {
                let used = (
                    [quad[0], quad[1], quad[2]],
                    if place == 0 { first } else { others },
                );
                let known =
                    &mut recent[quad[0].wrapping_mul(7).wrapping_add(quad[2]) as usize % RECENT];
                if known.replace(used) != Some(used) {
                    uses.push(used);
                }
            }
        };
        for table in &checked.tables {
            let (first, others) = if table.dataset_id == QUARANTINE {
                (Use::Quarantined, Use::Quarantined)
            } else {
                (Use::Record, Use::Merged)
            };
            let pointers =
                PointerRows::from_series(table.frame.column(POINTERS)?.as_materialized_series())?;
            pointers
                .iter()
                .flatten()
                .for_each(|numbers| add(numbers, first, others));
        }
        add(
            &checked.quarantined_pointers,
            Use::Quarantined,
            Use::Quarantined,
        );
        add(
            &checked.repeated,
            Use::LeftOut("repeated"),
            Use::LeftOut("repeated"),
        );
        left_out
            .iter()
            .for_each(|(reason, numbers)| add(numbers, Use::LeftOut(reason), Use::LeftOut(reason)));
        // If a row produced no record, the warning about the row states the reason.
        for (issue, pointer) in checked
            .issues
            .iter()
            .filter(|issue| issue.severity == Severity::Warning)
            .filter_map(|issue| Some((issue, issue.pointer.as_ref()?)))
        {
            let numbers = inputs.numbers_of(pointer).unwrap_or_default();
            add(&numbers, Use::Warned(&issue.code), Use::Warned(&issue.code));
        }
        uses.par_sort_unstable();
        uses.dedup_by_key(|(place, _)| *place);
        let mut counts: BTreeMap<(u64, Use<'_>), u64> = BTreeMap::new();
        uses.iter()
            .for_each(|(place, used)| *counts.entry((place[0], *used)).or_default() += 1);
        let mut by_source = Self::default();
        for ((input, used), count) in counts {
            let rows = by_source
                .0
                .entry(inputs.snapshots()[input as usize].source_id.clone())
                .or_default();
            match used {
                Use::Record => rows.records += count,
                Use::Merged => rows.merged += count,
                Use::Quarantined => rows.quarantined += count,
                Use::LeftOut(reason) | Use::Warned(reason) => {
                    *rows.left_out.entry(reason.to_owned()).or_default() += count;
                }
            }
        }
        Ok(by_source)
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (source_id, more) in other.0 {
            self.0.entry(source_id).or_default().add(&more);
        }
    }

    /// Returns the row uses of a published build.
    pub(crate) fn of_entry(entry: &TaskEntry) -> Self {
        let mut uses = Self(entry.source_rows.clone());
        for rows in uses.0.values_mut() {
            rows.read = 0;
            rows.left_out.remove(UNUSED);
        }
        uses
    }

    /// Subtracts other uses. Returns `None` if those uses are not included in these.
    pub(crate) fn minus(mut self, others: &Self) -> Option<Self> {
        for (source_id, less) in &others.0 {
            let rows = self.0.entry(source_id.clone()).or_default();
            rows.records = rows.records.checked_sub(less.records)?;
            rows.merged = rows.merged.checked_sub(less.merged)?;
            rows.quarantined = rows.quarantined.checked_sub(less.quarantined)?;
            for (reason, count) in &less.left_out {
                let left = rows.left_out.get(reason)?.checked_sub(*count)?;
                match left {
                    0 => drop(rows.left_out.remove(reason)),
                    left => drop(rows.left_out.insert(reason.clone(), left)),
                }
            }
        }
        Some(self)
    }

    /// Returns the account of the pipeline's own sources. `read` contains the number of rows read
    /// from each source; rows without a known use count as unused.
    pub(crate) fn account(
        mut self,
        declaration: &Declaration,
        read: &BTreeMap<String, u64>,
    ) -> BTreeMap<String, SourceRows> {
        let own = declaration
            .sources
            .iter()
            .filter_map(|source| read.get_key_value(&source.source_id));
        let complete = |(source_id, read): (&String, &u64)| {
            let mut rows = self.0.remove(source_id).unwrap_or_default();
            rows.read = *read;
            let known = rows.accounted();
            if known < *read {
                rows.left_out.insert(UNUSED.to_owned(), *read - known);
            }
            (source_id.clone(), rows)
        };
        own.map(complete).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polars::prelude::DataFrame;
    use pubdata_build::normalise::pointer_column;
    use pubdata_build::publish::{BuiltTable, RowValidation};
    use pubdata_core::ids::Digest;
    use pubdata_core::issue::Issue;
    use pubdata_core::provenance::{Snapshot, SourcePointer};
    use pubdata_store::PartReport;

    /// Returns the pointer to the row at an offset in the first source.
    const fn at(offset: u64) -> [u64; 4] {
        [0, 0, offset, 10]
    }

    fn table(dataset_id: &str, rows: &[Vec<u64>]) -> BuiltTable {
        let frame = DataFrame::new(
            rows.len(),
            vec![pointer_column(rows.iter().map(Vec::as_slice))],
        )
        .unwrap();
        BuiltTable {
            dataset_id: dataset_id.to_owned(),
            partition: BTreeMap::new(),
            frame,
            rows: RowValidation::Unchecked,
            report: PartReport::default(),
        }
    }

    fn inputs() -> Inputs {
        let snapshot = |source_id: &str| Snapshot {
            source_id: source_id.to_owned(),
            keys: BTreeMap::new(),
            url: String::new(),
            sha256: Digest::sha256(source_id.as_bytes()),
            size_bytes: 0,
            source_version: String::new(),
            source_date: String::new(),
            etag: None,
            last_modified: None,
            fetched_at: String::new(),
            redirected_through: Vec::new(),
            obtained: Default::default(),
            mirror: None,
        };
        Inputs::new(vec![snapshot("a"), snapshot("b")])
    }

    fn warning(offset: u64) -> Issue {
        let pointer = SourcePointer {
            source_id: "a".to_owned(),
            snapshot: Digest::sha256(b"a"),
            member: None,
            offset,
            length: 10,
        };
        Issue {
            code: "not_a_license".to_owned(),
            severity: Severity::Warning,
            dataset_id: String::new(),
            record: None,
            detail: String::new(),
            source_text: None,
            pointer: Some(pointer),
        }
    }

    /// Each row is counted once, under its best use, no matter how many tables refer to the row.
    #[test]
    fn row_counts_once_by_its_best_use() {
        let checked = ValidatedTables {
            tables: vec![
                table(
                    "one",
                    &[[at(0), at(10)].concat(), at(20).to_vec(), vec![1, 0, 0, 10]],
                ),
                table(
                    "two",
                    &[[at(20), at(0)].concat(), [at(20), at(10)].concat()],
                ),
                table(
                    QUARANTINE,
                    &[at(10).to_vec(), at(30).to_vec(), at(30).to_vec()],
                ),
            ],
            issues: vec![warning(20), warning(60), warning(70)],
            quarantined_pointers: [at(30), at(40)].concat(),
            repeated: at(50).to_vec(),
            blocked: Vec::new(),
            notes: Vec::new(),
        };
        let left_out = [("replaced", [at(70), at(0)].concat())];
        let uses = RowUses::count(&checked, &left_out, &inputs()).unwrap();
        let counts = |reasons: &[(&str, u64)]| {
            reasons
                .iter()
                .map(|(reason, count)| ((*reason).to_owned(), *count))
                .collect::<BTreeMap<_, _>>()
        };
        let left_out = counts(&[("not_a_license", 1), ("repeated", 1), ("replaced", 1)]);
        assert_eq!(
            uses.0["a"],
            SourceRows {
                read: 0,
                records: 2,
                merged: 1,
                quarantined: 2,
                left_out
            }
        );
        assert_eq!(
            uses.0["b"],
            SourceRows {
                records: 1,
                ..SourceRows::default()
            }
        );
    }
}
