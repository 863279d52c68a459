//! Counts the rows that a build reads or leaves out, and reports columns that need attention.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::decode::ColumnReport;
use pubdata_core::issue::SourceFinding;
use pubdata_core::pipeline::Declarations;

/// Rows that a build has read and must account for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RowsRead {
    /// Row count by source, and by file or archive member.
    #[serde(with = "as_list")]
    by_part: BTreeMap<String, BTreeMap<(u64, u64), u64>>,
    /// Rows that the build left out, given as a reason and four pointer numbers per row. Empty for
    /// rows that are only split.
    #[serde(skip)]
    pub left_out: Vec<(&'static str, Vec<u64>)>,
    columns: BTreeMap<String, SourceColumns>,
}

/// A source's columns, across all of its files.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct SourceColumns {
    new: BTreeSet<String>,
    has_value: BTreeMap<String, bool>,
}

/// Minimum number of rows in a source before a column without any value is reported.
const MIN_ROWS_FOR_EMPTY_COLUMN: u64 = 1_000;

impl RowsRead {
    /// Counts the rows in a file or member, which `place` identifies by number. Reading the same
    /// file or member again does not count twice.
    pub(super) fn add(&mut self, source_id: &str, place: (u64, u64), rows: u64) {
        self.by_part
            .entry(source_id.to_owned())
            .or_default()
            .insert(place, rows);
    }

    pub(super) fn add_columns(&mut self, source_id: &str, findings: ColumnReport) {
        let columns = self.columns.entry(source_id.to_owned()).or_default();
        columns.new.extend(findings.new);
        for (name, has_value) in findings.has_value {
            *columns.has_value.entry(name).or_default() |= has_value;
        }
    }

    /// Adds the rows from other files or members.
    pub fn merge(&mut self, other: Self) {
        for (source_id, parts) in other.by_part {
            self.by_part.entry(source_id).or_default().extend(parts);
        }
        for (source_id, columns) in other.columns {
            self.add_columns(
                &source_id,
                ColumnReport {
                    new: columns.new.into_iter().collect(),
                    has_value: columns.has_value.into_iter().collect(),
                },
            );
        }
        self.left_out.extend(other.left_out);
    }

    /// Reports columns that are neither mapped nor ignored, and mapped columns without any value.
    pub fn findings(&self, declarations: &Declarations) -> Vec<SourceFinding> {
        let mut findings = Vec::new();
        let rows = self.by_source();
        for (source_id, columns) in &self.columns {
            let optional = declarations
                .source(source_id)
                .map_or(&[][..], |(_, source)| source.optional_columns.as_slice());
            if !columns.new.is_empty() {
                let shown = |name: &String| {
                    if name.is_empty() {
                        "a column without a name".to_owned()
                    } else {
                        format!("`{name}`")
                    }
                };
                let names = columns.new.iter().map(shown).collect::<Vec<_>>().join(", ");
                let detail = format!(
                    "the file has {names}, neither mapped nor ignored: nothing of it is published until the declaration maps it; list what is not wanted under `ignore`"
                );
                findings.push(SourceFinding::new(source_id, "new_column", detail));
            }
            let is_empty =
                |(name, has_value): &(&String, &bool)| !**has_value && !optional.contains(name);
            let empty: Vec<String> = columns
                .has_value
                .iter()
                .filter(is_empty)
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            let rows = rows.get(source_id).copied().unwrap_or(0);
            if !empty.is_empty() && rows >= MIN_ROWS_FOR_EMPTY_COLUMN {
                let detail = format!(
                    "none of {rows} rows has a value for {}: the publisher emptied or moved it; where that is known, list it under `optional_columns`",
                    empty.join(", ")
                );
                findings.push(SourceFinding::new(source_id, "empty_column", detail));
            }
        }
        findings
    }

    /// Returns the row count by source.
    pub fn by_source(&self) -> BTreeMap<String, u64> {
        self.by_part
            .iter()
            .map(|(source_id, parts)| (source_id.clone(), parts.values().sum()))
            .collect()
    }
}

/// Serialises a map as a list, because JSON keys cannot be pairs of numbers.
mod as_list {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type ByPart = BTreeMap<String, BTreeMap<(u64, u64), u64>>;

    pub(super) fn serialize<S: Serializer>(
        by_part: &ByPart,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let listed = |parts: &BTreeMap<(u64, u64), u64>| {
            parts
                .iter()
                .map(|(place, rows)| (place.0, place.1, *rows))
                .collect::<Vec<_>>()
        };
        by_part
            .iter()
            .map(|(source_id, parts)| (source_id, listed(parts)))
            .collect::<BTreeMap<_, _>>()
            .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<ByPart, D::Error> {
        let listed = BTreeMap::<String, Vec<(u64, u64, u64)>>::deserialize(deserializer)?;
        let parts = |parts: Vec<(u64, u64, u64)>| {
            parts
                .into_iter()
                .map(|(input, member, rows)| ((input, member), rows))
                .collect()
        };
        Ok(listed
            .into_iter()
            .map(|(source_id, listed)| (source_id, parts(listed)))
            .collect())
    }
}
