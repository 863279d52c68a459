//! Rebuilds a published record from its own bytes, with the code, declarations and contracts of its
//! build, and compares it with the published one.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::building::buckets::build_bucket;
use crate::building::build::{BuildOutput, build, check, prepare_elsewhere};
use crate::building::shards::build_subjects;
use crate::planning::entry::task_id_of;
use crate::planning::made_with::MadeWith;
use crate::settings::{QUARANTINE, RunSettings};
use pubdata_build::datasets::Elsewhere;
use pubdata_build::publish;
use pubdata_build::validate::{Candidate, validate};
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::SourcePointer;
use pubdata_store::{self as store, BUCKET, FoundRecord, TaskEntry};

/// A difference from the published record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The column that differs. `None` if the record is not produced at all, or if its bytes are
    /// damaged.
    pub(crate) column: Option<String>,
    pub(crate) text: String,
}

impl Difference {
    pub(super) fn of_bytes(text: String) -> Self {
        Self { column: None, text }
    }
}

/// Rebuilds the record from only the bytes to which its pointers refer, and compares every column.
pub(crate) fn replay(
    made: &MadeWith,
    entry: &TaskEntry,
    found: &FoundRecord<'_>,
    elsewhere: &Elsewhere,
    notes: &mut Vec<String>,
) -> Vec<Difference> {
    match remake(made, entry, found, elsewhere) {
        Ok(Some(remade)) => compare(found.columns, &remade, notes),
        Ok(None) => vec![Difference::of_bytes(
            "the bytes no longer make this record".to_owned(),
        )],
        Err(error) => vec![Difference::of_bytes(format!(
            "the bytes no longer make this record: {error}"
        ))],
    }
}

fn remake(
    made: &MadeWith,
    entry: &TaskEntry,
    found: &FoundRecord<'_>,
    elsewhere: &Elsewhere,
) -> Result<Option<Map<String, Value>>> {
    let FoundRecord {
        part,
        record_id,
        pointers,
        ..
    } = *found;
    let settings = &made.settings;
    let declaration = made.declaration(entry).ok_or_else(|| {
        Error::config(format!(
            "pipeline {} is no longer declared",
            entry.pipeline_id
        ))
    })?;
    // Floors do not apply to a single record.
    let is_sample = true;
    let bucket = part.partition.get(BUCKET).map(String::as_str);
    if record_id.dataset_id() == QUARANTINE {
        // The reason for a quarantine may lie outside the record's own bytes, such as an area that
        // is missing from another file. The entire part is therefore rebuilt.
        let (tables, inputs) = match build_output(settings, declaration, entry, None, elsewhere)? {
            BuildOutput::Tables(tables, inputs, _) => (tables, inputs),
            BuildOutput::Sharded(prepared) => build_subjects(
                &*prepared.sharded,
                |subject| subject.key.ends_with(bucket.unwrap_or_default()),
                entry,
            )?,
            BuildOutput::Buckets(buckets, build) => build_bucket(
                settings,
                declaration,
                entry,
                buckets,
                build,
                bucket.unwrap_or_default(),
            )?,
        };
        let checked = check(
            settings,
            &task_id_of(entry),
            tables,
            &inputs,
            None,
            is_sample,
        )?;
        let table = checked
            .tables
            .iter()
            .find(|table| table.dataset_id == QUARANTINE && table.partition == part.partition);
        let batch = table
            .map(|table| {
                publish::record_batch(
                    &settings.declarations.contracts[QUARANTINE],
                    &table.frame,
                    &inputs,
                )
            })
            .transpose()?;
        return Ok(batch
            .map(|batch| store::find_in_batch(&batch, record_id))
            .transpose()?
            .flatten()
            .map(|(record, _)| record));
    }
    let (tables, inputs) = match build_output(
        settings,
        declaration,
        entry,
        Some((pointers, bucket)),
        elsewhere,
    )? {
        BuildOutput::Tables(tables, inputs, _) => (tables, inputs),
        BuildOutput::Sharded(prepared) => build_subjects(
            &*prepared.sharded,
            |subject| subject.key == record_id.subject(),
            entry,
        )?,
        BuildOutput::Buckets(..) => {
            return Err(Error::contract(
                "a record is made again from its pointers, not from a bucket",
            ));
        }
    };
    let is_part = |table: &pubdata_build::datasets::Table| {
        table.dataset_id == record_id.dataset_id() && table.partition == part.partition
    };
    let Some(table) = tables.into_iter().find(is_part) else {
        return Ok(None);
    };
    let blocking = table
        .issues
        .iter()
        .find(|issue| issue.severity == pubdata_core::issue::Severity::Block)
        .map(|issue| issue.detail.clone());
    if let Some(detail) = blocking {
        return Err(Error::format(detail));
    }
    let contract = &settings.declarations.contracts[&table.dataset_id];
    let warnings = table
        .issues
        .into_iter()
        .filter(|issue| issue.severity == pubdata_core::issue::Severity::Warning)
        .collect();
    let candidate = Candidate {
        dataset_id: table.dataset_id,
        partition: part.partition.clone(),
        frame: table.frame,
        issues: warnings,
    };
    let verdict = validate(contract, None, candidate, &inputs, None, is_sample)?;
    let batch = publish::record_batch(contract, &verdict.frame, &inputs)?;
    Ok(store::find_in_batch(&batch, record_id)?.map(|(record, _)| record))
}

/// Runs the pipeline's code. Only pipelines that are built shard by shard can have archives
/// elsewhere.
fn build_output<'a>(
    settings: &RunSettings,
    declaration: &'a Declaration,
    entry: &TaskEntry,
    only: Option<(&[SourcePointer], Option<&str>)>,
    elsewhere: &Elsewhere,
) -> Result<BuildOutput<'a>> {
    if elsewhere.is_empty() {
        return build(
            settings,
            declaration,
            entry.partition.values().next().cloned(),
            entry,
            only,
        );
    }
    prepare_elsewhere(settings, declaration, entry, elsewhere).map(BuildOutput::Sharded)
}

/// Returns the columns that differ. A column that was added to the contract after the release was
/// never published; such columns are listed in a note.
fn compare(
    published: &Map<String, Value>,
    remade: &Map<String, Value>,
    notes: &mut Vec<String>,
) -> Vec<Difference> {
    let (known, added): (BTreeSet<&String>, BTreeSet<&String>) = published
        .keys()
        .chain(remade.keys())
        .partition(|name| published.contains_key(*name));
    if !added.is_empty() {
        let names: Vec<&str> = added.into_iter().map(String::as_str).collect();
        notes.push(format!(
            "the contract has columns that the release has not: {}",
            names.join(", ")
        ));
    }
    let differing = known
        .into_iter()
        .filter(|name| published.get(*name) != remade.get(*name));
    let show = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let text = |name: &String| {
        format!(
            "{name}: published {}, the bytes say {}",
            show(published.get(name)),
            show(remade.get(name))
        )
    };
    differing
        .map(|name| Difference {
            column: Some(name.clone()),
            text: text(name),
        })
        .collect()
}
