//! Checks claims about parts in a unit result or a manifest against the parts' rows. A digest
//! proves only that the bytes are those that were described.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::file::statistics::Statistics;
use pubdata_store::parquet_error;

use super::columns::{BATCH_ROWS, column_of, record_ids, subject_of};
use super::{part, quarantined_issues};
use pubdata_core::contract::{Contract, UNKNOWN_VALUES};
use pubdata_core::error::{Error, Result};
use pubdata_core::provenance::POINTERS;
use pubdata_store::{
    BUCKET, Part, QUARANTINE_DATASET_COLUMN, TaskEntry, WordCounts, WordTally, part_path,
};

const WARNINGS: &str = "warnings";

/// Maximum number of bytes that deflate can produce from one byte. A row takes at least one byte,
/// so a source cannot contain more rows than this ratio times its size.
const MAX_INFLATE_RATIO: u64 = 1_032;

/// Facts read from the parts of one unit in a build. Each source row belongs to one unit.
#[derive(Default)]
pub struct UnitFacts {
    /// False for parts from earlier versions. Those versions do not count words, and the first
    /// version used `key=value` folders.
    is_of_this_version: bool,
    /// Number assigned to each file, by source, snapshot and member.
    files: HashMap<(String, String, Option<String>), u32>,
    /// Rows that are the first source row of a published record, by file and offset.
    first: HashSet<(u32, u64)>,
    /// All source rows of published records.
    used: HashSet<(u32, u64)>,
    datasets: BTreeSet<String>,
    parts: BTreeMap<DatasetPartition, Reported>,
    published_quarantine: BTreeMap<DatasetPartition, QuarantinedRecords>,
}

/// Facts read from the parts of one task.
#[derive(Default)]
pub struct TaskFacts {
    /// By source: the number of rows that are the first of a published record, and the number of
    /// further rows.
    rows: BTreeMap<String, (u64, u64)>,
    datasets: BTreeSet<String>,
    /// Source and digest of the files that records point to. Archive members are excluded, because
    /// they have separate digests.
    files: BTreeSet<(String, String)>,
}

/// A dataset, with each partition key's value by column.
type DatasetPartition = (String, BTreeMap<String, String>);

/// Counts reported for records that are missing from a part.
struct Reported {
    path: String,
    quarantined: BTreeMap<String, u64>,
}

/// Records from a part that were quarantined.
#[derive(Default)]
struct QuarantinedRecords {
    by_rule: BTreeMap<String, u64>,
    records: u64,
}

impl UnitFacts {
    /// Creates facts for parts built by this version.
    pub fn of_this_version() -> Self {
        Self {
            is_of_this_version: true,
            ..Self::default()
        }
    }

    /// Compares a part's entry with its bytes: digest, size, dataset, task, path, partition, row
    /// count, first and last record, and the counts in its report.
    ///
    /// # Errors
    /// `Store`, naming the part and the facts that contradict its bytes.
    pub fn add(&mut self, contract: &Contract, part: &Part, bytes: &Bytes) -> Result<()> {
        let refused = |what: String| Error::store(format!("part {}: {what}", part.path));
        let path = part_path(
            &contract.dataset_id,
            &contract.partition_by,
            &part.partition,
        )?;
        let is_earlier_layout = !self.is_of_this_version
            && part.path.starts_with(&format!("{}/", contract.dataset_id))
            && part.path.contains('=');
        if path != part.path && !is_earlier_layout {
            return Err(refused(format!(
                "its dataset and partition have the path {path}"
            )));
        }
        let metadata = part::checked(part, bytes)?;
        if part.size_bytes != bytes.len() as u64 {
            return Err(refused(format!(
                "it has {} bytes, but {} are recorded",
                bytes.len(),
                part.size_bytes
            )));
        }
        for (key, recorded) in [
            ("dataset_id", &contract.dataset_id),
            ("task_id", &part.task_id),
        ] {
            let found = footer(&metadata, key).unwrap_or_default();
            if found != recorded {
                return Err(refused(format!(
                    "its footer has the {key} `{found}`, but `{recorded}` is recorded"
                )));
            }
        }
        if self.is_of_this_version
            && part.fingerprint.is_none()
            && part.report.empty_columns.is_none()
        {
            return Err(refused(
                "its report does not list the columns without a value".to_owned(),
            ));
        }
        let empty_columns = part
            .report
            .empty_columns
            .as_ref()
            .map(|recorded| (empty_columns(&metadata), flat(&metadata, recorded)));
        let mut rows = PartRows::new(contract, part, self.is_of_this_version);
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes.clone(), metadata);
        let is_read = |name: &str| rows.reads(name);
        let roots: Vec<usize> = builder
            .schema()
            .fields()
            .iter()
            .enumerate()
            .filter(|(_, field)| is_read(field.name()))
            .map(|(place, _)| place)
            .collect();
        let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
        for batch in builder
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(parquet_error)?
        {
            let batch = batch?;
            rows.add(&batch)
                .map_err(|error| refused(error.to_string()))?;
            if part.quarantined_from().is_none() {
                self.add_pointers(&batch)?;
            }
        }
        rows.compare(empty_columns).map_err(refused)?;
        self.datasets.insert(contract.dataset_id.clone());
        let partition = part.partition.iter().filter(|(key, _)| {
            part.quarantined_from().is_none() || *key != QUARANTINE_DATASET_COLUMN
        });
        let partition = partition
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        match part.quarantined_from() {
            Some(dataset_id) => drop(self.published_quarantine.insert(
                (dataset_id.to_owned(), partition),
                QuarantinedRecords::from_bytes(bytes.clone())?,
            )),
            None => {
                let reported = Reported {
                    path: part.path.clone(),
                    quarantined: part.report.quarantined.clone(),
                };
                self.parts
                    .insert((contract.dataset_id.clone(), partition), reported);
            }
        }
        Ok(())
    }

    fn add_pointers(&mut self, batch: &RecordBatch) -> Result<()> {
        let not_pointers = || Error::store("the rows hold no pointers");
        let lists = column_of(batch, POINTERS)?
            .as_list_opt::<i32>()
            .ok_or_else(not_pointers)?;
        let fields = lists.values().as_struct_opt().ok_or_else(not_pointers)?;
        let column = |name: &str| fields.column_by_name(name).ok_or_else(not_pointers);
        let text = |name: &str| {
            column(name)?
                .as_string_opt::<i32>()
                .ok_or_else(not_pointers)
        };
        let (source_ids, snapshots, members) =
            (text("source_id")?, text("snapshot")?, text("member")?);
        let offsets = cast(column("offset")?, &DataType::UInt64)?;
        let offsets = offsets.as_primitive::<UInt64Type>();
        // Adjacent pointers usually refer to the same file.
        let mut last = None;
        for borders in lists.value_offsets().windows(2) {
            for index in borders[0]..borders[1] {
                let place = index as usize;
                let file = (
                    source_ids.value(place),
                    snapshots.value(place),
                    members.is_valid(place).then(|| members.value(place)),
                );
                let number = match last {
                    Some((known, number)) if known == file => number,
                    _ => {
                        let next = u32::try_from(self.files.len())
                            .map_err(|_| Error::store("too many files"))?;
                        *self
                            .files
                            .entry((
                                file.0.to_owned(),
                                file.1.to_owned(),
                                file.2.map(str::to_owned),
                            ))
                            .or_insert(next)
                    }
                };
                last = Some((file, number));
                let row = (number, offsets.value(place));
                self.used.insert(row);
                if index == borders[0] {
                    self.first.insert(row);
                }
            }
        }
        Ok(())
    }

    /// Returns the combined facts about the unit's parts, and contradictions between the reported
    /// and the published quarantined records.
    pub fn finish(self) -> (TaskFacts, Vec<String>) {
        let sources: HashMap<u32, &str> = self
            .files
            .iter()
            .map(|((source_id, ..), number)| (*number, source_id.as_str()))
            .collect();
        let mut rows: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for row @ (file, _) in &self.used {
            let (records, merged) = rows.entry(sources[file].to_owned()).or_default();
            *(if self.first.contains(row) {
                records
            } else {
                merged
            }) += 1;
        }
        let mut contradictions = Vec::new();
        let none = QuarantinedRecords::default();
        for (place, Reported { path, quarantined }) in &self.parts {
            let published_quarantine = self.published_quarantine.get(place).unwrap_or(&none);
            let is_more = |(rule, count): &(&String, &u64)| {
                **count
                    > published_quarantine
                        .by_rule
                        .get(*rule)
                        .copied()
                        .unwrap_or_default()
            };
            if let Some((rule, count)) = quarantined.iter().find(is_more) {
                let shown = published_quarantine
                    .by_rule
                    .get(rule)
                    .copied()
                    .unwrap_or_default();
                contradictions.push(format!("part {path}: its report counts {count} quarantined records of the rule {rule}, and {shown} are published"));
            } else if quarantined.values().sum::<u64>() < published_quarantine.records {
                contradictions.push(format!("part {path}: its report counts fewer quarantined records than the {} that are published", published_quarantine.records));
            }
        }
        let of_none = self
            .published_quarantine
            .keys()
            .filter(|place| !self.parts.contains_key(*place));
        contradictions
            .extend(of_none.map(|(dataset_id, _)| format!("the quarantine has records of {dataset_id}, but the unit has no part that they were quarantined from")));
        let files = self
            .files
            .into_keys()
            .filter(|(.., member)| member.is_none())
            .map(|(source_id, snapshot, _)| (source_id, snapshot))
            .collect();
        (
            TaskFacts {
                rows,
                datasets: self.datasets,
                files,
            },
            contradictions,
        )
    }
}

impl TaskFacts {
    /// Adds the facts about another unit of the task.
    pub fn merge(&mut self, other: Self) {
        for (source_id, (records, merged)) in other.rows {
            let own = self.rows.entry(source_id).or_default();
            *own = (own.0 + records, own.1 + merged);
        }
        self.datasets.extend(other.datasets);
        self.files.extend(other.files);
    }

    /// Notes that a dataset's part was reused from the last release.
    pub fn add_reused(&mut self, dataset_id: &str) {
        self.datasets.insert(dataset_id.to_owned());
    }

    /// Returns contradictions about the task: a dataset in `produces` without a part, records that
    /// point to files other than the inputs, and row counts that do not add up.
    pub fn contradictions(&self, produces: &[String], entry: &TaskEntry) -> Vec<String> {
        let mut found: Vec<String> = produces
            .iter()
            .filter(|id| !self.datasets.contains(*id))
            .map(|id| format!("it has no part of {id}"))
            .collect();
        let inputs: BTreeSet<(&str, String)> = entry
            .inputs
            .iter()
            .map(|snapshot| (snapshot.source_id.as_str(), snapshot.sha256.to_string()))
            .collect();
        let is_other = |(source_id, snapshot): &&(String, String)| {
            !inputs.contains(&(source_id.as_str(), snapshot.clone()))
        };
        found.extend(
            self.files
                .iter()
                .find(is_other)
                .map(|(source_id, snapshot)| {
                    format!("records point to {source_id} {snapshot}, which is not an input")
                }),
        );
        found.extend(
            entry
                .source_rows
                .keys()
                .filter_map(|source_id| self.contradiction_of_account(entry, source_id)),
        );
        found
    }

    fn contradiction_of_account(&self, entry: &TaskEntry, source_id: &str) -> Option<String> {
        let counts = &entry.source_rows[source_id];
        let sum = counts.accounted();
        if sum != counts.read {
            return Some(format!(
                "{} rows of {source_id} are recorded as read, but their uses add up to {sum}",
                counts.read
            ));
        }
        let (records, merged) = self.rows.get(source_id).copied().unwrap_or_default();
        if (records, merged) != (counts.records, counts.merged) {
            let recorded = format!(
                "{} rows of {source_id} are recorded as the first of a record and {} as further rows",
                counts.records, counts.merged
            );
            return Some(format!(
                "{recorded}; the records point to {records} and {merged}"
            ));
        }
        let of_source = entry
            .inputs
            .iter()
            .filter(|snapshot| snapshot.source_id == source_id);
        let most = of_source.fold(0, |sum: u64, snapshot| {
            sum.saturating_add(snapshot.size_bytes.saturating_mul(MAX_INFLATE_RATIO))
        });
        (counts.read > most).then(|| {
            format!(
                "{} rows of {source_id} are recorded as read, more than its files have room for",
                counts.read
            )
        })
    }
}

impl QuarantinedRecords {
    fn from_bytes(bytes: Bytes) -> Result<Self> {
        let (mut by_rule, mut records) = (BTreeMap::new(), BTreeSet::new());
        for finding in quarantined_issues(bytes, |_| true)? {
            *by_rule.entry(finding.code).or_default() += 1;
            records.insert(finding.record);
        }
        Ok(Self {
            by_rule,
            records: records.len() as u64,
        })
    }
}

/// Facts collected from a part's rows.
struct PartRows<'c> {
    contract: &'c Contract,
    part: &'c Part,
    key_range: Option<(String, String)>,
    warnings: BTreeMap<String, u64>,
    /// None if the report does not count words.
    words: Option<WordTally<'c>>,
}

impl<'c> PartRows<'c> {
    fn new(contract: &'c Contract, part: &'c Part, counts_words: bool) -> Self {
        let has_words = contract
            .columns
            .iter()
            .any(|column| column.coded_from.is_some());
        let words = (has_words && (counts_words || !part.report.words.is_empty()))
            .then(|| WordTally::new(contract));
        Self {
            contract,
            part,
            key_range: None,
            warnings: BTreeMap::new(),
            words,
        }
    }

    /// Reports whether a column is needed to check the part's entry.
    fn reads(&self, name: &str) -> bool {
        let is_of_words = || {
            self.words
                .as_ref()
                .is_some_and(|words| name == UNKNOWN_VALUES || words.reads(name))
        };
        ["record_id", WARNINGS, POINTERS].contains(&name)
            || self.part.partition.contains_key(name)
            || is_of_words()
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let ids = record_ids(batch)?;
        if ids.is_empty() {
            return Ok(());
        }
        let last = ids.value(ids.len() - 1).to_owned();
        match &mut self.key_range {
            Some((_, known)) => *known = last,
            none => *none = Some((ids.value(0).to_owned(), last)),
        }
        for (key, value) in self
            .part
            .partition
            .iter()
            .filter(|(key, _)| self.contract.column(key).is_some())
        {
            let cells = cast(column_of(batch, key)?, &DataType::Utf8)?;
            let cells = cells.as_string::<i32>();
            if let Some(row) = cells.iter().position(|cell| cell != Some(value)) {
                return Err(Error::store(format!(
                    "record {} has the {key} `{}`, but `{value}` is recorded",
                    ids.value(row),
                    shown(cells, row)
                )));
            }
        }
        // The subject keys in a shard end in the name of the shard's bucket.
        let is_of_shard = self.part.fingerprint.is_some() && self.part.quarantined_from().is_none();
        if let Some(bucket) = self.part.partition.get(BUCKET).filter(|_| is_of_shard)
            && let Some(id) = ids
                .iter()
                .flatten()
                .find(|id| !subject_of(id).ends_with(bucket.as_str()))
        {
            return Err(Error::store(format!(
                "record {id} is not of the bucket {bucket}"
            )));
        }
        if self.contract.column(WARNINGS).is_some() {
            add_warnings(&mut self.warnings, batch)?;
        }
        match &mut self.words {
            Some(words) => add_words(words, batch),
            None => Ok(()),
        }
    }

    /// Reports the first difference between the recorded counts and the rows.
    fn compare(
        self,
        empty_columns: Option<(Vec<String>, Vec<String>)>,
    ) -> std::result::Result<(), String> {
        let report = &self.part.report;
        let other = |what: &str, shown: String, recorded: String| {
            Err(format!(
                "its rows have the {what} {shown}, but {recorded} is recorded"
            ))
        };
        if self.key_range != self.part.key_range {
            return other(
                "first and last records",
                range_text(self.key_range.as_ref()),
                range_text(self.part.key_range.as_ref()),
            );
        }
        if self.contract.column(WARNINGS).is_some()
            && self.part.quarantined_from().is_none()
            && self.warnings != report.warnings
        {
            return other(
                "warnings",
                format!("{:?}", self.warnings),
                format!("{:?}", report.warnings),
            );
        }
        if let Some(words) = self
            .words
            .map(WordTally::finish)
            .filter(|words| *words != report.words)
        {
            return other("words", format!("{words:?}"), format!("{:?}", report.words));
        }
        match empty_columns {
            Some((shown, recorded)) if shown != recorded => other(
                "columns without a value",
                format!("{shown:?}"),
                format!("{recorded:?}"),
            ),
            _ => Ok(()),
        }
    }
}

/// The counts in a part's report, computed from its rows.
pub(super) struct RowCounts {
    /// Records by warning code.
    pub warnings: BTreeMap<String, u64>,
    /// Word counts by coded column.
    pub words: BTreeMap<String, WordCounts>,
}

impl RowCounts {
    /// Counts a part's rows.
    ///
    /// # Errors
    /// `Store` if a column is missing.
    pub fn from_batch(contract: &Contract, batch: &RecordBatch) -> Result<Self> {
        let (mut warnings, mut words) = (BTreeMap::new(), WordTally::new(contract));
        if contract.column(WARNINGS).is_some() {
            add_warnings(&mut warnings, batch)?;
        }
        if contract
            .columns
            .iter()
            .any(|column| column.coded_from.is_some())
        {
            add_words(&mut words, batch)?;
        }
        Ok(Self {
            warnings,
            words: words.finish(),
        })
    }
}

fn add_warnings(warnings: &mut BTreeMap<String, u64>, batch: &RecordBatch) -> Result<()> {
    each_item(column_of(batch, WARNINGS)?, |code| {
        *warnings.entry(code.to_owned()).or_default() += 1;
    })
}

fn add_words(words: &mut WordTally<'_>, batch: &RecordBatch) -> Result<()> {
    each_item(column_of(batch, UNKNOWN_VALUES)?, |item| {
        words.add_unknown(item);
    })?;
    for (field, texts) in batch.schema().fields().iter().zip(batch.columns()) {
        words.add_texts(field.name(), (texts.len() - texts.null_count()) as u64);
    }
    Ok(())
}

/// Formats the first and last record for a message.
fn range_text(range: Option<&(String, String)>) -> String {
    range.map_or_else(
        || "none".to_owned(),
        |(first, last)| format!("{first} to {last}"),
    )
}

fn shown(cells: &StringArray, row: usize) -> &str {
    if cells.is_valid(row) {
        cells.value(row)
    } else {
        ""
    }
}

/// Passes each item in a column of text lists to `see`.
fn each_item(column: &ArrayRef, mut see: impl FnMut(&str)) -> Result<()> {
    let lists = column
        .as_list_opt::<i32>()
        .ok_or_else(|| Error::store("a list column does not hold lists"))?;
    let items = cast(lists.values(), &DataType::Utf8)?;
    let items = items.as_string::<i32>();
    let (first, end) = (
        lists.value_offsets()[0] as usize,
        lists.value_offsets()[lists.len()] as usize,
    );
    (first..end)
        .filter(|place| items.is_valid(*place))
        .for_each(|place| see(items.value(place)));
    Ok(())
}

/// Returns a value from the footer.
fn footer<'m>(metadata: &'m ArrowReaderMetadata, key: &str) -> Option<&'m str> {
    let pairs = metadata.metadata().file_metadata().key_value_metadata()?;
    pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
}

/// Returns the columns that are not lists. An empty list is a value in the file, but not in a
/// report.
fn flat(metadata: &ArrowReaderMetadata, names: &[String]) -> Vec<String> {
    let is_flat = |name: &&String| {
        metadata
            .schema()
            .field_with_name(name)
            .is_ok_and(|field| !field.data_type().is_nested())
    };
    names.iter().filter(is_flat).cloned().collect()
}

/// Returns the columns without a value in any row, except lists. The result is empty if the part
/// has no rows.
fn empty_columns(metadata: &ArrowReaderMetadata) -> Vec<String> {
    let rows = metadata.metadata().file_metadata().num_rows();
    let mut nulls: BTreeMap<&str, i64> = BTreeMap::new();
    for (group, place) in metadata
        .metadata()
        .row_groups()
        .iter()
        .flat_map(|group| (0..group.num_columns()).map(move |place| (group, place)))
    {
        let chunk = group.column(place);
        let count = chunk
            .statistics()
            .and_then(Statistics::null_count_opt)
            .unwrap_or_default();
        if let [name] = chunk.column_path().parts() {
            *nulls.entry(name).or_default() += count as i64;
        }
    }
    let fields = metadata.schema().fields().iter().map(|field| field.name());
    fields
        .filter(|name| rows > 0 && nulls.get(name.as_str()) == Some(&rows))
        .cloned()
        .collect()
}
