//! Writes a task's build to the staging folder, where the commit in this run or the next one finds
//! it. The description is written last, and a build without one is ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use arrow::array::RecordBatch;
use bytes::Bytes;
use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};

use super::replaced::{self, ReplacedPart, Replacement, rows_of_part};
use super::reused::{PreviousPart, ReusedRows};
use super::statistics::Statistics;
use super::subjects::Lineage;
use super::{batch, fault, part, row_groups, subjects};
use pubdata_core::contract::{Contract, Contracts, arrow_schema};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::Digest;
use pubdata_core::issue::SourceFinding;
use pubdata_core::provenance::{Inputs, SourceRows};
use pubdata_store::{Home, Part, PartReport, Staging, TaskEntry, part_path};

/// Format version of a staged build's description. A build in another format is built again.
pub const STAGED_FORMAT_VERSION: u32 = 2;

/// One dataset partition that passed validation, with every contract column and sorted rows.
#[derive(Debug, Clone)]
pub struct BuiltTable {
    pub dataset_id: String,
    /// Each partition key's value, by contract column.
    pub partition: BTreeMap<String, String>,
    pub frame: DataFrame,
    pub rows: RowValidation,
    pub report: PartReport,
}

/// Specifies whether validation has checked the rows' ids, order and keys. If not, the part is
/// checked for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowValidation {
    Validated,
    Unchecked,
}

/// The result of one task.
#[derive(Debug, Clone)]
pub struct Build {
    pub task_id: String,
    pub entry: TaskEntry,
    pub inputs: Inputs,
    /// The task's datasets, and `pubdata.quarantine` if any record was quarantined.
    pub tables: Vec<BuiltTable>,
}

/// A build on disk, ready to commit.
#[derive(Debug, Clone)]
pub struct StagedBuild {
    pub task_id: String,
    pub entry: TaskEntry,
    /// Parts, sorted by path.
    pub parts: Vec<StagedPart>,
    /// Notes to report on totals. No part contains these notes.
    pub notes: Vec<String>,
    pub(super) place: StagingLocation,
}

/// Location of a staged build's parts.
#[derive(Debug, Clone)]
pub(super) enum StagingLocation {
    Home(Staging),
    /// Parts that other machines left in the store: each part's key, by path.
    Store(BTreeMap<String, String>),
}

impl StagingLocation {
    fn bytes(&self, part: &Part) -> Result<Bytes> {
        let found = match self {
            Self::Home(staging) => staging.part(&part.path)?,
            Self::Store(_) => None,
        };
        found
            .map(Bytes::from)
            .ok_or_else(|| Error::store(format!("{}: the staged part is gone", part.path)))
    }
}

impl StagedBuild {
    /// Returns the bytes of a part that is on this machine and not reused from a release.
    pub fn bytes(&self, part: &Part) -> Result<Bytes> {
        self.place.bytes(part)
    }
}

/// One staged part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StagedPart {
    pub dataset_id: String,
    pub schema_version: String,
    /// True for a part reused from the last release. Its bytes are in that release and not in the
    /// staging folder.
    #[serde(default)]
    #[serde(rename = "is_carried")]
    pub is_reused: bool,
    pub part: Part,
}

#[derive(Serialize, Deserialize)]
struct Description {
    format_version: u32,
    task_id: String,
    /// Hash of everything the build was checked against besides its inputs; none if unknown.
    against: Option<Digest>,
    entry: TaskEntry,
    parts: Vec<StagedPart>,
    notes: Vec<String>,
}

/// Writes a build's parts where the commit in this run or the next one finds them.
///
/// # Errors
/// `Contract`, with dataset, column and record, if a frame violates its contract; `Store` if
/// writing fails.
pub fn stage(home: &Home, contracts: &Contracts, build: Build) -> Result<StagedBuild> {
    let Build {
        task_id,
        entry,
        inputs,
        tables,
    } = build;
    let stage = Stage::begin(home, contracts, task_id, entry)?;
    tables
        .into_iter()
        .try_for_each(|table| stage.add(table, &inputs, None, None))?;
    let source_rows = stage.entry.source_rows.clone();
    stage.finish(source_rows, BTreeSet::new(), Vec::new())
}

/// Specifies whether to keep a build's statistics for comparison with another build.
#[derive(Debug, Clone, Copy)]
pub struct KeepStatistics(pub bool);

/// Callback for each part that consists only of new rows, with the rows while they are in memory.
/// Columns with few distinct values are dictionary-encoded.
pub type PartObserver = Arc<dyn Fn(&Part, &RecordBatch) + Send + Sync>;

/// A build that is staged table by table, possibly by several threads.
pub struct Stage<'a> {
    contracts: &'a Contracts,
    task_id: String,
    entry: TaskEntry,
    place: Mutex<StagingLocation>,
    parts: Mutex<BTreeMap<String, StagedPart>>,
    /// Statistics by dataset; none if the build is not compared with another one.
    compared: Option<Mutex<BTreeMap<String, BuildComparison>>>,
    observer: Option<PartObserver>,
    against: Option<Digest>,
}

/// A dataset's statistics in the last release and in the build being staged.
#[derive(Debug, Clone, Default)]
pub struct BuildComparison {
    pub before: Statistics,
    pub now: Statistics,
    /// Number of reused rows. Neither of the statistics includes them.
    pub reused_rows: u64,
}

impl<'a> Stage<'a> {
    /// Empties the build's staging folder.
    pub fn begin(
        home: &Home,
        contracts: &'a Contracts,
        task_id: String,
        entry: TaskEntry,
    ) -> Result<Self> {
        let staging = Staging::for_task(home, &task_id, &entry.input_hash);
        staging.begin()?;
        fault::point("stage.begun");
        Ok(Self {
            contracts,
            task_id,
            entry,
            place: Mutex::new(StagingLocation::Home(staging)),
            parts: Mutex::default(),
            compared: None,
            observer: None,
            against: None,
        })
    }

    /// Creates a build from parts that other machines made and left in the store.
    pub fn gather(contracts: &'a Contracts, task_id: String, entry: TaskEntry) -> Self {
        Self {
            contracts,
            task_id,
            entry,
            place: Mutex::new(StagingLocation::Store(BTreeMap::new())),
            parts: Mutex::default(),
            compared: None,
            observer: None,
            against: None,
        }
    }

    /// Adds a part that is in the store under a key.
    ///
    /// # Errors
    /// `Contract` if the build already contains this part.
    pub fn take(&self, staged: StagedPart, key: String) -> Result<()> {
        let path = staged.part.path.clone();
        self.enter(staged)?;
        if let StagingLocation::Store(keys) = &mut *self.place() {
            keys.insert(path, key);
        }
        Ok(())
    }

    /// Adds the rows of a part from another machine to the compared statistics, except for subjects
    /// reused in the part.
    pub fn add_remote_part(
        &self,
        staged: &StagedPart,
        bytes: Bytes,
        reused: &BTreeSet<String>,
    ) -> Result<()> {
        let Some(contract) = self
            .contracts
            .get(&staged.dataset_id)
            .filter(|_| self.is_comparing())
        else {
            return Ok(());
        };
        let reach = self.reach(&staged.dataset_id, |builds| &builds.now);
        let statistics = match reused.is_empty() {
            true => Statistics::of_part(reach, contract, bytes)?,
            false => Statistics::of_others(
                reach,
                contract,
                &PreviousPart::open(bytes)?.keep(|subject| reused.contains(subject))?,
            )?,
        };
        self.compare(&staged.dataset_id, |builds| {
            builds.reused_rows += staged.part.rows.saturating_sub(statistics.rows);
            builds.now.merge(statistics);
        });
        Ok(())
    }

    fn place(&self) -> MutexGuard<'_, StagingLocation> {
        self.place.lock().expect("nothing panics while holding it")
    }

    /// Keeps statistics on everything added from here on.
    #[must_use]
    pub fn comparing(mut self, is_compared: KeepStatistics) -> Self {
        self.compared = is_compared.0.then(Mutex::default);
        self
    }

    /// Records what else, besides its inputs, the build is checked against and may reuse.
    pub fn checked_against(mut self, against: Option<Digest>) -> Self {
        self.against = against;
        self
    }

    /// Passes parts added from here on to an observer.
    #[must_use]
    pub fn observed_by(mut self, observer: Option<&PartObserver>) -> Self {
        self.observer = observer.cloned();
        self
    }

    pub fn is_comparing(&self) -> bool {
        self.compared.is_some()
    }

    /// Adds the rows of a part from the last release to the statistics that the build is compared
    /// with.
    pub fn add_before(&self, dataset_id: &str, bytes: Bytes) -> Result<()> {
        self.add_statistics_before(dataset_id, |reach, contract| {
            Statistics::of_part(reach, contract, bytes)
        })
    }

    /// Adds the rows that are not reused from a part of the last release to the statistics that the
    /// build is compared with.
    pub fn add_others_before(&self, dataset_id: &str, reused: &ReusedRows) -> Result<()> {
        self.add_statistics_before(dataset_id, |reach, contract| {
            Statistics::of_others(reach, contract, reused)
        })
    }

    fn add_statistics_before(
        &self,
        dataset_id: &str,
        of: impl FnOnce(u64, &Contract) -> Result<Statistics>,
    ) -> Result<()> {
        let Some(contract) = self.contracts.get(dataset_id) else {
            return Ok(());
        };
        let statistics = of(self.reach(dataset_id, |builds| &builds.before), contract)?;
        self.compare(dataset_id, |builds| builds.before.merge(statistics));
        Ok(())
    }

    /// Takes the compared statistics by dataset, leaving none behind.
    pub fn take_compared(&self) -> BTreeMap<String, BuildComparison> {
        self.compared
            .as_ref()
            .map(|compared| {
                std::mem::take(&mut *compared.lock().expect("nothing panics while holding it"))
            })
            .unwrap_or_default()
    }

    /// Returns the largest hash that the current sample still accepts.
    fn reach(&self, dataset_id: &str, of: impl FnOnce(&BuildComparison) -> &Statistics) -> u64 {
        let reach = |compared: &Mutex<BTreeMap<String, BuildComparison>>| {
            compared
                .lock()
                .expect("nothing panics while holding it")
                .get(dataset_id)
                .map_or(u64::MAX, |builds| of(builds).reach())
        };
        self.compared.as_ref().map_or(u64::MAX, reach)
    }

    fn compare(&self, dataset_id: &str, add: impl FnOnce(&mut BuildComparison)) {
        if let Some(compared) = &self.compared {
            add(compared
                .lock()
                .expect("nothing panics while holding it")
                .entry(dataset_id.to_owned())
                .or_default());
        }
    }

    /// Writes one table as a part. `reused` contains the rows that the part reuses from the last
    /// release.
    ///
    /// # Errors
    /// As [`stage`]; `Store` if reused rows do not belong to this build.
    pub fn add(
        &self,
        table: BuiltTable,
        inputs: &Inputs,
        lineage: Option<&Lineage>,
        reused: Option<&ReusedRows>,
    ) -> Result<()> {
        let contract = self.contract(&table.dataset_id)?;
        fault::defect(&self.task_id);
        let path = part_path(&table.dataset_id, &contract.partition_by, &table.partition)?;
        let mut batch = batch::coded_batch(contract, &table.frame, inputs)?;
        drop(table.frame);
        if table.rows == RowValidation::Unchecked {
            part::check_rows(contract, &table.partition, &batch)?;
        }
        // Rows from the last release are not dictionary-encoded.
        let plain = (self.is_comparing() || reused.is_some())
            .then(|| batch::plain(contract, &batch))
            .transpose()?;
        if let Some(plain) = plain.as_ref().filter(|_| self.is_comparing()) {
            let statistics = Statistics::from_batch(
                self.reach(&table.dataset_id, |builds| &builds.now),
                contract,
                plain,
            )?;
            let reused_rows = reused.map_or(0, |reused| reused.rows() as u64);
            self.compare(&table.dataset_id, |builds| {
                builds.now.merge(statistics);
                builds.reused_rows += reused_rows;
            });
        }
        let mut report = table.report;
        if lineage.is_some() {
            // The cells of reused rows have not been examined.
            report.empty_columns = None;
        }
        let (mut rows, mut key_range) = (batch.num_rows(), part::key_range(&batch)?);
        // Dropped if not needed, because it is larger than the dictionary-encoded batch.
        if let Some(plain) = plain.filter(|_| reused.is_some()) {
            batch = plain;
        }
        if let Some(reused) = reused {
            reused.warnings().iter().for_each(|(code, count)| {
                *report.warnings.entry(code.clone()).or_insert(0) += count;
            });
            rows += reused.rows();
            key_range = reused.key_range(key_range);
        }
        let program = self.entry.program();
        let bytes = match lineage.and_then(|lineage| lineage.subjects.as_ref()) {
            Some(subjects) => {
                row_groups::groups_by_subject(&batch, reused, inputs).and_then(|grouped| {
                    let lines = subjects::lines(subjects, &grouped.rows)?;
                    part::encode(
                        contract,
                        &self.task_id,
                        program,
                        Some(&lines),
                        &grouped.groups,
                    )
                })
            }
            None => part::encode(
                contract,
                &self.task_id,
                program,
                None,
                &row_groups::slices(&batch, 0..batch.num_rows()).collect::<Vec<_>>(),
            ),
        };
        let bytes = bytes.context(|| path.clone())?;
        let part = Part {
            path: path.clone(),
            task_id: self.task_id.clone(),
            partition: table.partition,
            rows: rows as u64,
            size_bytes: bytes.len() as u64,
            sha256: Digest::sha256(&bytes),
            key_range,
            fingerprint: lineage.map(|lineage| lineage.fingerprint),
            report,
        };
        if let Some(see) = self.observer.as_ref().filter(|_| reused.is_none()) {
            see(&part, &batch);
        }
        self.write(table.dataset_id, contract, part, &bytes)
    }

    /// Writes a part of the last release in which the records `before` are replaced by `now`.
    /// Either of the two may be missing, and so may the part. Returns the number of records kept,
    /// or the reason why the part does not fit ([`replaced::replace`]). In the latter case, nothing
    /// is written.
    ///
    /// # Errors
    /// As [`stage`]; `Store` if the part cannot be read.
    ///
    /// # Panics
    /// If both tables are missing.
    pub fn replace(
        &self,
        part: Option<(&Part, Bytes)>,
        before: Option<(BuiltTable, &Inputs)>,
        now: Option<(BuiltTable, &Inputs)>,
    ) -> Result<std::result::Result<usize, String>> {
        let (present, _) = now.as_ref().or(before.as_ref()).expect("one of the tables");
        let (dataset_id, partition) = (present.dataset_id.clone(), present.partition.clone());
        let contract = self.contract(&dataset_id)?;
        let schema = Arc::new(arrow_schema(contract));
        let rows_and_report = |table: Option<(BuiltTable, &Inputs)>| match table {
            Some((table, inputs)) => {
                let coded = batch::coded_batch(contract, &table.frame, inputs)?;
                if table.rows == RowValidation::Unchecked {
                    part::check_rows(contract, &table.partition, &coded)?;
                }
                Ok::<_, Error>((batch::plain(contract, &coded)?, Some(table.report)))
            }
            None => Ok((RecordBatch::new_empty(schema.clone()), None)),
        };
        let (before, before_report) = rows_and_report(before)?;
        let (now, now_report) = rows_and_report(now)?;
        let rows = part
            .as_ref()
            .map(|(part, bytes)| rows_of_part(bytes.clone(), &schema).context(|| part.path.clone()))
            .transpose()?;
        let other = |known: &Option<PartReport>| PartReport {
            empty_columns: known
                .as_ref()
                .and_then(|report| report.empty_columns.clone()),
            ..PartReport::default()
        };
        let replacement = Replacement {
            before_report: before_report.clone().unwrap_or_else(|| other(&now_report)),
            now_report: now_report.unwrap_or_else(|| other(&before_report)),
            before,
            now,
        };
        let known = part.as_ref().map(|(part, _)| *part).zip(rows.as_ref());
        let ReplacedPart { rows, report, kept } =
            match replaced::replace(contract, known, &replacement)? {
                Ok(replaced) => replaced,
                Err(reason) => return Ok(Err(reason)),
            };
        if rows.num_rows() == 0 {
            // A bucket without records has a part only if it has findings, and findings for
            // unchanged subjects are not known.
            return Ok(match known {
                Some((part, _)) if part.quarantined_from().is_none() => {
                    Err(format!("no record of {} is left", part.path))
                }
                _ => Ok(0),
            });
        }
        if self.is_comparing() {
            self.add_statistics_before(&dataset_id, |reach, contract| {
                Statistics::from_batch(reach, contract, &replacement.before)
            })?;
            let reach = self.reach(&dataset_id, |builds| &builds.now);
            let statistics = Statistics::from_batch(reach, contract, &replacement.now)?;
            self.compare(&dataset_id, |builds| {
                builds.now.merge(statistics);
                builds.reused_rows += kept as u64;
            });
        }
        let groups: Vec<_> = row_groups::slices(&rows, 0..rows.num_rows()).collect();
        let path = part_path(&dataset_id, &contract.partition_by, &partition)?;
        let bytes = part::encode(contract, &self.task_id, self.entry.program(), None, &groups)
            .context(|| path.clone())?;
        let part = Part {
            path,
            task_id: self.task_id.clone(),
            partition,
            rows: rows.num_rows() as u64,
            size_bytes: bytes.len() as u64,
            sha256: Digest::sha256(&bytes),
            key_range: part::key_range(&rows)?,
            fingerprint: None,
            report,
        };
        if let Some(see) = &self.observer {
            see(&part, &rows);
        }
        self.write(dataset_id, contract, part, &bytes)?;
        Ok(Ok(kept))
    }

    fn contract(&self, dataset_id: &str) -> Result<&'a Contract> {
        self.contracts.get(dataset_id).ok_or_else(|| {
            Error::contract(format!("`{dataset_id}` has no contract")).context(self.task_id.clone())
        })
    }

    fn write(
        &self,
        dataset_id: String,
        contract: &Contract,
        part: Part,
        bytes: &[u8],
    ) -> Result<()> {
        let path = part.path.clone();
        self.enter(StagedPart {
            dataset_id,
            schema_version: contract.version.clone(),
            is_reused: false,
            part,
        })?;
        let StagingLocation::Home(staging) = self.place().clone() else {
            return Err(Error::store(format!(
                "{path}: other machines make the parts of this build"
            )));
        };
        staging.put(&path, bytes)?;
        fault::point("stage.part_written");
        Ok(())
    }

    /// Reuses a part of the last release unchanged, without writing anything.
    ///
    /// # Errors
    /// `Contract` if the build already contains this part.
    pub fn reuse(&self, dataset_id: &str, schema_version: &str, part: &Part) -> Result<()> {
        self.compare(dataset_id, |builds| builds.reused_rows += part.rows);
        self.enter(StagedPart {
            dataset_id: dataset_id.to_owned(),
            schema_version: schema_version.to_owned(),
            is_reused: true,
            part: part.clone(),
        })
    }

    fn enter(&self, staged: StagedPart) -> Result<()> {
        let path = staged.part.path.clone();
        let mut parts = self.parts.lock().expect("nothing panics while holding it");
        match parts.insert(path.clone(), staged) {
            None => Ok(()),
            Some(_) => Err(Error::contract(format!(
                "two tables of the build have the part path {path}"
            ))
            .context(self.task_id.clone())),
        }
    }

    /// Returns the bytes of a part that this stage wrote.
    pub fn bytes(&self, part: &Part) -> Result<Bytes> {
        self.place().bytes(part)
    }

    /// Returns the parts added so far, sorted by path.
    ///
    /// # Panics
    /// If a thread panicked while adding a part.
    pub fn parts(&self) -> Vec<StagedPart> {
        self.parts
            .lock()
            .expect("nothing panics while holding it")
            .values()
            .cloned()
            .collect()
    }

    /// Writes the build's description, which completes the build. `source_rows` counts the uses of
    /// the source rows, `findings` lists problems in the sources that need attention, and `notes`
    /// contains reports about totals.
    pub fn finish(
        mut self,
        source_rows: BTreeMap<String, SourceRows>,
        findings: BTreeSet<SourceFinding>,
        notes: Vec<String>,
    ) -> Result<StagedBuild> {
        self.entry.source_rows = source_rows;
        self.entry.findings.extend(findings);
        fault::point("stage.parts_written");
        let parts = self
            .parts
            .into_inner()
            .expect("nothing panics while holding it")
            .into_values()
            .collect();
        let place = self
            .place
            .into_inner()
            .expect("nothing panics while holding it");
        let description = Description {
            format_version: STAGED_FORMAT_VERSION,
            task_id: self.task_id,
            against: self.against,
            entry: self.entry,
            parts,
            notes,
        };
        if let StagingLocation::Home(staging) = &place {
            staging.finish(
                &serde_json::to_vec_pretty(&description).expect("a staged build is plain data"),
            )?;
        }
        fault::point("stage.finished");
        let Description {
            task_id,
            entry,
            parts,
            notes,
            ..
        } = description;
        Ok(StagedBuild {
            task_id,
            entry,
            parts,
            notes,
            place,
        })
    }
}

/// Finds the build that an interrupted run left for these inputs, checked against the same release
/// and acceptances. Returns none unless the build is complete and all of its files are intact.
pub fn staged(
    home: &Home,
    task_id: &str,
    input_hash: &Digest,
    against: Option<&Digest>,
) -> Result<Option<StagedBuild>> {
    let staging = Staging::for_task(home, task_id, input_hash);
    let Some(description) = staging.description()? else {
        return Ok(None);
    };
    let description: Description = match serde_json::from_slice(&description) {
        Ok(description) => description,
        Err(error) => {
            tracing::warn!(
                task.id = task_id,
                "the staged build cannot be read and is built again: {error}"
            );
            return Ok(None);
        }
    };
    let is_this = description.format_version == STAGED_FORMAT_VERSION
        && description.task_id == task_id
        && description.entry.input_hash == *input_hash;
    if !is_this {
        return Ok(None);
    }
    if description.against.as_ref() != against {
        tracing::info!(
            task.id = task_id,
            "the staged build was checked against another release or other acceptances and is built again"
        );
        return Ok(None);
    }
    for StagedPart { part, .. } in description.parts.iter().filter(|staged| !staged.is_reused) {
        let is_intact = staging
            .part(&part.path)?
            .is_some_and(|bytes| Digest::sha256(&bytes) == part.sha256);
        if !is_intact {
            tracing::warn!(
                task.id = task_id,
                "the staged part {} is damaged and the task is built again",
                part.path
            );
            return Ok(None);
        }
    }
    let Description {
        task_id,
        entry,
        parts,
        notes,
        ..
    } = description;
    Ok(Some(StagedBuild {
        task_id,
        entry,
        parts,
        notes,
        place: StagingLocation::Home(staging),
    }))
}
