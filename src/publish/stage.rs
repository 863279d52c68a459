use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};

use super::{batch, fault, part};
use crate::contract::Contracts;
use crate::error::{Error, Result, ResultExt};
use crate::ids::Digest;
use crate::provenance::Inputs;
use crate::store::{Home, Part, PartReport, Staging, TaskEntry, part_path};

/// Format of a staged build's description; another one is built again.
pub const STAGED_FORMAT_VERSION: u32 = 1;

/// One dataset partition as validation passed it: every contract column, sorted.
#[derive(Debug, Clone)]
pub struct BuiltTable {
    pub dataset_id: String,
    /// Contract column and value of each partition folder.
    pub partition: BTreeMap<String, String>,
    pub frame: DataFrame,
    pub report: PartReport,
}

/// What one task made.
#[derive(Debug, Clone)]
pub struct Build {
    pub task_id: String,
    pub entry: TaskEntry,
    pub inputs: Inputs,
    /// Its datasets, and `pubdata.quarantine` when something was set aside.
    pub tables: Vec<BuiltTable>,
}

/// A build on disk, ready to be committed.
#[derive(Debug, Clone)]
pub struct StagedBuild {
    pub task_id: String,
    pub entry: TaskEntry,
    /// Sorted by path.
    pub parts: Vec<StagedPart>,
    pub(super) staging: Staging,
}

/// One staged part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StagedPart {
    pub dataset_id: String,
    pub schema_version: String,
    pub part: Part,
}

#[derive(Serialize, Deserialize)]
struct Description {
    format_version: u32,
    task_id: String,
    entry: TaskEntry,
    parts: Vec<StagedPart>,
}

/// Writes a build's parts where a commit, of this run or of the next, finds them. Durable when it returns.
///
/// # Errors
/// `Contract`, naming dataset, column and record, when a frame is not as its contract says; `Store`, when writing fails.
pub fn stage(home: &Home, contracts: &Contracts, build: Build) -> Result<StagedBuild> {
    let Build { task_id, entry, inputs, tables } = build;
    let staging = Staging::of(home, &task_id, &entry.input_hash);
    staging.begin()?;
    fault::point("stage.begun");
    let mut parts: Vec<StagedPart> = Vec::with_capacity(tables.len());
    let mut paths = BTreeSet::new();
    for table in tables {
        let contract = contracts.get(&table.dataset_id);
        let contract = contract.ok_or_else(|| Error::contract(format!("`{}` has no contract", table.dataset_id)).context(task_id.clone()))?;
        let path = part_path(&table.dataset_id, &contract.partition_by, &table.partition)?;
        if !paths.insert(path.clone()) {
            return Err(Error::contract(format!("two tables of the build would be the part {path}")).context(task_id));
        }
        let batch = batch::record_batch(contract, &table.frame, &inputs)?;
        drop(table.frame);
        let (checked, bytes) = rayon::join(|| part::check_rows(contract, &table.partition, &batch), || part::encode(contract, &task_id, &entry, &batch));
        checked?;
        let bytes = bytes.context(|| path.clone())?;
        staging.put(&path, &bytes)?;
        fault::point("stage.part_written");
        let part = Part {
            path,
            task_id: task_id.clone(),
            partition: table.partition,
            rows: batch.num_rows() as u64,
            size_bytes: bytes.len() as u64,
            sha256: Digest::of(&bytes),
            key_range: part::key_range(&batch)?,
            report: table.report,
        };
        parts.push(StagedPart { dataset_id: table.dataset_id, schema_version: contract.version.clone(), part });
    }
    parts.sort_by(|a, b| a.part.path.cmp(&b.part.path));
    fault::point("stage.parts_written");
    let description = Description { format_version: STAGED_FORMAT_VERSION, task_id, entry, parts };
    staging.finish(&serde_json::to_vec_pretty(&description).expect("a staged build is plain data"))?;
    fault::point("stage.finished");
    let Description { task_id, entry, parts, .. } = description;
    Ok(StagedBuild { task_id, entry, parts, staging })
}

/// Finds the build that an interrupted run left for these inputs. Anything less than a whole one, each file as it was written, is none.
///
/// # Errors
/// `Store`, when the folder cannot be read.
pub fn staged(home: &Home, task_id: &str, input_hash: &Digest) -> Result<Option<StagedBuild>> {
    let staging = Staging::of(home, task_id, input_hash);
    let Some(description) = staging.description()? else { return Ok(None) };
    let description: Description = match serde_json::from_slice(&description) {
        Ok(description) => description,
        Err(error) => {
            tracing::warn!(task.id = task_id, "staged build is not readable and is made again: {error}");
            return Ok(None);
        }
    };
    let is_this = description.format_version == STAGED_FORMAT_VERSION && description.task_id == task_id && description.entry.input_hash == *input_hash;
    if !is_this {
        return Ok(None);
    }
    for StagedPart { part, .. } in &description.parts {
        let is_intact = staging.part(&part.path).is_ok_and(|bytes| Digest::of(&bytes) == part.sha256);
        if !is_intact {
            tracing::warn!(task.id = task_id, "staged part {} is damaged and the build is made again", part.path);
            return Ok(None);
        }
    }
    let Description { task_id, entry, parts, .. } = description;
    Ok(Some(StagedBuild { task_id, entry, parts, staging }))
}
