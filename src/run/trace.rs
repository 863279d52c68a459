//! Follows a published record back to the publisher's bytes and makes it again from them; lists the records that a filing fed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use super::buckets::build_bucket;
use super::build::{BuildOutput, QUARANTINE, build, check};
use super::entry::{fingerprint, task_id_of};
use super::shards::build_subjects;
use super::{RunSettings, current_manifest};
use crate::contract::Contract;
use crate::decode;
use crate::error::{Error, Result};
use crate::ids::{AccessionNumber, RecordId, ReleaseId};
use crate::provenance::{Obtained, Snapshot, SourcePointer};
use crate::publish;
use crate::store::{self, BUCKET, Manifest, Part, Snapshots, TaskEntry};
use crate::validate::{Candidate, validate};

/// The chain from a published record to the publisher's bytes, and what comes of making the record again from them.
#[derive(Debug, Serialize)]
pub struct TraceReport {
    pub record_id: String,
    pub dataset_id: String,
    pub release_id: ReleaseId,
    pub published_at: String,
    pub run_id: String,
    pub part: Part,
    pub task_id: String,
    /// Columns of the published record.
    pub record: Map<String, Value>,
    /// Where the publisher shows what the record is about, by name of the link.
    pub links: BTreeMap<String, String>,
    pub sources: Vec<TracedSource>,
    /// Whether every snapshot still has its digest and the record comes out the same.
    pub is_match: bool,
    /// What is not as published: damaged snapshots, and columns that come out otherwise.
    pub differences: Vec<String>,
    /// What the reader should know about the replay, such as declarations changed since.
    pub notes: Vec<String>,
}

/// A range of a snapshot that the record was made from.
#[derive(Debug, Serialize)]
pub struct TracedSource {
    #[serde(flatten)]
    pub pointer: SourcePointer,
    pub url: String,
    pub source_version: String,
    pub source_date: String,
    pub obtained: Obtained,
    /// Where the snapshot is on disk.
    pub path: String,
    /// The bytes, as text; none when they cannot be read.
    pub text: Option<String>,
}

/// Follows a record back to its bytes and makes it again from them.
///
/// # Errors
/// `Config`, when there is no such record; `Store`, when the release cannot be read.
pub async fn trace(settings: &RunSettings, record_id: &RecordId, release: Option<&ReleaseId>) -> Result<TraceReport> {
    let manifest = match release {
        Some(release) => settings.releases.manifest(release).await?,
        None => current_manifest(settings).await?,
    };
    let (part, record, pointers) = find(settings, &manifest, record_id).await?;
    let entry = manifest.tasks.get(&part.task_id).ok_or_else(|| Error::store(format!("the manifest has no task {}", part.task_id)))?;
    let snapshots = Snapshots::open(&settings.home)?;
    let mut differences = damaged(settings, &snapshots, entry, &pointers)?;
    let sources = pointers.iter().map(|pointer| traced_source(settings, &snapshots, entry, pointer)).collect();
    let links = settings.declarations.contracts.get(record_id.dataset_id()).map(|contract| links(contract, &record)).unwrap_or_default();
    let mut notes = Vec::new();
    differences.extend(replay(settings, entry, &part, record_id, &record, &pointers, &mut notes));
    Ok(TraceReport {
        record_id: record_id.to_string(),
        dataset_id: record_id.dataset_id().to_owned(),
        release_id: manifest.release_id,
        published_at: manifest.published_at,
        run_id: manifest.run_id,
        task_id: part.task_id.clone(),
        part,
        record,
        links,
        sources,
        is_match: differences.is_empty(),
        differences,
        notes,
    })
}

/// Fills the contract's links with a record's values. A link that needs a value the record lacks is left out.
fn links(contract: &Contract, record: &Map<String, Value>) -> BTreeMap<String, String> {
    let text = |column: &str| record.get(column)?.as_str();
    let value = |word: &str| match word {
        "cik_number" => text("cik").map(|cik| cik.trim_start_matches('0').to_owned()),
        "accession_compact" => text("accession_number").map(|number| number.replace('-', "")),
        column => text(column).map(str::to_owned),
    };
    let fill = |template: &String| {
        let mut url = String::new();
        for (number, part) in template.split('{').enumerate() {
            match part.split_once('}').filter(|_| number > 0) {
                Some((word, rest)) => url.extend([value(word)?.as_str(), rest]),
                None => url.push_str(part),
            }
        }
        Some(url)
    };
    contract.links.iter().filter_map(|(name, template)| Some((name.clone(), fill(template)?))).collect()
}

/// The records that one filing fed.
#[derive(Debug, Serialize)]
pub struct AccessionReport {
    pub accession_number: AccessionNumber,
    pub release_id: ReleaseId,
    /// Record ids by dataset and by the column that names the filing, in the order of the parts.
    pub records: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

/// Lists every record of a release that was made from a filing, in all datasets that name filings.
///
/// # Errors
/// `Config`, when no record names it; `Store`, when the release cannot be read.
pub async fn trace_accession(settings: &RunSettings, accession: AccessionNumber, release: Option<&ReleaseId>) -> Result<AccessionReport> {
    let manifest = match release {
        Some(release) => settings.releases.manifest(release).await?,
        None => current_manifest(settings).await?,
    };
    let text = accession.to_string();
    let mut records: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for (dataset_id, dataset) in &manifest.datasets {
        let Some(contract) = settings.declarations.contracts.get(dataset_id) else { continue };
        let columns: Vec<&str> = contract.columns.iter().filter(|column| column.type_name == "accession_number").map(|column| column.name.as_str()).collect();
        for part in dataset.parts.iter().filter(|_| !columns.is_empty()) {
            let bytes = settings.releases.part(&manifest.release_id, part).await?;
            for column in &columns {
                let found = store::record_ids_where(bytes.clone(), column, &text)?;
                if !found.is_empty() {
                    records.entry(dataset_id.clone()).or_default().entry((*column).to_owned()).or_default().extend(found);
                }
            }
        }
    }
    if records.is_empty() {
        return Err(Error::config(format!("no record of release {} is of filing {accession}", manifest.release_id))
            .hint("only periodic reports feed figures; `--release` looks at another release"));
    }
    Ok(AccessionReport { accession_number: accession, release_id: manifest.release_id, records })
}

/// The part, the columns and the pointers of a record.
async fn find(settings: &RunSettings, manifest: &Manifest, record_id: &RecordId) -> Result<(Part, Map<String, Value>, Vec<SourcePointer>)> {
    let dataset = manifest.datasets.get(record_id.dataset_id()).ok_or_else(|| {
        let known: Vec<&str> = manifest.datasets.keys().map(String::as_str).collect();
        Error::config(format!("release {} has no dataset `{}`; it has {}", manifest.release_id, record_id.dataset_id(), known.join(", ")))
            .hint("`--release` looks at another release, `pubdata releases list` shows which there are")
    })?;
    for part in dataset.parts.iter().filter(|part| part.may_hold(record_id)) {
        let bytes = settings.releases.part(&manifest.release_id, part).await?;
        if let Some((record, pointers)) = store::find_record(bytes, record_id)? {
            return Ok((part.clone(), record, pointers));
        }
    }
    let hint = "ids stand in the column record_id of each part and in the provenance of each answer; a record set aside has one of dataset pubdata.quarantine";
    Err(Error::config(format!("release {} has no record `{record_id}`", manifest.release_id)).hint(hint))
}

/// Snapshots of the record whose bytes are not those that were fetched.
fn damaged(settings: &RunSettings, snapshots: &Snapshots, entry: &TaskEntry, pointers: &[SourcePointer]) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    let mut members: Vec<&SourcePointer> = pointers.iter().filter(|pointer| is_of_member(entry, pointer)).collect();
    members.dedup_by_key(|pointer| (pointer.snapshot, &pointer.member));
    for pointer in members {
        differences.extend(damage_of_member(settings, snapshots, entry, pointer));
    }
    for snapshot in entry.inputs.iter().filter(|input| pointers.iter().any(|pointer| pointer.snapshot == input.sha256)) {
        differences.extend(snapshots.damage(snapshot)?);
    }
    Ok(differences)
}

/// Whether a pointer carries the digest of its member, not of the archive.
fn is_of_member(entry: &TaskEntry, pointer: &SourcePointer) -> bool {
    pointer.member.is_some() && !entry.inputs.iter().any(|input| input.sha256 == pointer.snapshot)
}

/// The snapshot a pointer points into.
fn snapshot_of<'a>(entry: &'a TaskEntry, pointer: &SourcePointer) -> Option<&'a Snapshot> {
    let is_its_source = |input: &&Snapshot| input.source_id == pointer.source_id;
    let exact = entry.inputs.iter().filter(is_its_source).find(|input| input.sha256 == pointer.snapshot);
    exact.or_else(|| entry.inputs.iter().filter(is_its_source).find(|_| pointer.member.is_some()))
}

/// Says how a member's bytes differ from those the record was made from; nothing when they do not.
fn damage_of_member(settings: &RunSettings, snapshots: &Snapshots, entry: &TaskEntry, pointer: &SourcePointer) -> Option<String> {
    let (member, snapshot) = (pointer.member.as_deref()?, snapshot_of(entry, pointer)?);
    let (_, source) = settings.declarations.source(&pointer.source_id)?;
    let read = || {
        let archive = decode::Archive::open(&snapshots.path(snapshot), member, source.max_member_bytes)?;
        let found = archive.member(member).ok_or_else(|| Error::format(format!("{} has no member `{member}`", snapshot.url)))?;
        let mut content = Vec::new();
        archive.read(found, &mut content).map(|()| crate::ids::Digest::of(&content))
    };
    match read() {
        Ok(digest) if digest == pointer.snapshot => None,
        Ok(digest) => Some(format!("member `{member}` has the digest {digest}, and the record was made from {}", pointer.snapshot)),
        Err(error) => Some(error.to_string()),
    }
}

fn traced_source(settings: &RunSettings, snapshots: &Snapshots, entry: &TaskEntry, pointer: &SourcePointer) -> TracedSource {
    let snapshot = snapshot_of(entry, pointer);
    let path = snapshot.map(|snapshot| snapshots.path(snapshot)).unwrap_or_default();
    let max_bytes = settings.declarations.source(&pointer.source_id).map_or(u64::MAX, |(_, source)| source.max_bytes);
    let bytes = decode::read_range(&path, pointer.member.as_deref(), pointer.offset, pointer.length, max_bytes);
    TracedSource {
        pointer: pointer.clone(),
        url: snapshot.map(|snapshot| snapshot.url.clone()).unwrap_or_default(),
        source_version: snapshot.map(|snapshot| snapshot.source_version.clone()).unwrap_or_default(),
        source_date: snapshot.map(|snapshot| snapshot.source_date.clone()).unwrap_or_default(),
        obtained: snapshot.map(|snapshot| snapshot.obtained).unwrap_or_default(),
        path: path.display().to_string(),
        text: bytes.ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Makes the record again from its pointers alone and compares every column.
fn replay(
    settings: &RunSettings,
    entry: &TaskEntry,
    part: &Part,
    record_id: &RecordId,
    published: &Map<String, Value>,
    pointers: &[SourcePointer],
    notes: &mut Vec<String>,
) -> Vec<String> {
    match remake(settings, entry, part, record_id, pointers, notes) {
        Ok(Some(remade)) => compare(published, &remade, notes),
        Ok(None) => vec!["the bytes no longer make this record".to_owned()],
        Err(error) => vec![format!("the bytes no longer make this record: {error}")],
    }
}

fn remake(
    settings: &RunSettings,
    entry: &TaskEntry,
    part: &Part,
    record_id: &RecordId,
    pointers: &[SourcePointer],
    notes: &mut Vec<String>,
) -> Result<Option<Map<String, Value>>> {
    let declaration = settings.declarations.pipelines.get(&entry.pipeline_id);
    let declaration = declaration.ok_or_else(|| Error::config(format!("pipeline {} is no longer declared", entry.pipeline_id)))?;
    let (declaration_hash, contracts_hash, code_version) = fingerprint(settings, declaration)?;
    for (is_changed, what) in [
        (declaration_hash != entry.declaration_hash, "the declaration has changed since the release; made again with today's"),
        (contracts_hash != entry.contracts_hash, "a contract has changed since the release; made again with today's"),
        (code_version != entry.code_version, "the code has changed since the release; made again with today's"),
    ] {
        if is_changed {
            notes.push(what.to_owned());
        }
    }
    // Floors say nothing of a record.
    let is_sample = true;
    let partition = entry.partition.values().next().cloned();
    let bucket = part.partition.get(BUCKET).map(String::as_str);
    if record_id.dataset_id() == QUARANTINE {
        // What set a record aside need not stand in its own bytes (another file may lack the area): the whole part is made again.
        let (tables, inputs) = match build(settings, declaration, partition, entry, None)? {
            BuildOutput::Tables(tables, inputs, _) => (tables, inputs),
            BuildOutput::Sharded(prepared) => build_subjects(&*prepared.sharded, |subject| subject.key.ends_with(bucket.unwrap_or_default()), entry)?,
            BuildOutput::Buckets(buckets, build) => build_bucket(settings, declaration, entry, buckets, build, bucket.unwrap_or_default())?,
        };
        let checked = check(settings, &task_id_of(entry), tables, &inputs, None, is_sample)?;
        let table = checked.tables.iter().find(|table| table.dataset_id == QUARANTINE && table.partition == part.partition);
        let batch = table.map(|table| publish::record_batch(&settings.declarations.contracts[QUARANTINE], &table.frame, &inputs)).transpose()?;
        return Ok(batch.map(|batch| store::find_in_batch(&batch, record_id)).transpose()?.flatten().map(|(record, _)| record));
    }
    let (tables, inputs) = match build(settings, declaration, partition, entry, Some((pointers, bucket)))? {
        BuildOutput::Tables(tables, inputs, _) => (tables, inputs),
        BuildOutput::Sharded(prepared) => build_subjects(&*prepared.sharded, |subject| subject.key == record_id.subject(), entry)?,
        BuildOutput::Buckets(..) => return Err(Error::contract("a record is made again from its pointers, not from a bucket")),
    };
    let is_part = |table: &crate::datasets::Table| table.dataset_id == record_id.dataset_id() && table.partition == part.partition;
    let Some(table) = tables.into_iter().find(is_part) else { return Ok(None) };
    let blocking = table.issues.iter().find(|issue| issue.severity == crate::issue::Severity::Block).map(|issue| issue.detail.clone());
    if let Some(detail) = blocking {
        return Err(Error::format(detail));
    }
    let contract = &settings.declarations.contracts[&table.dataset_id];
    let warnings = table.issues.into_iter().filter(|issue| issue.severity == crate::issue::Severity::Warning).collect();
    let candidate = Candidate { dataset_id: table.dataset_id, partition: part.partition.clone(), frame: table.frame, issues: warnings };
    let verdict = validate(contract, None, candidate, &inputs, None, is_sample)?;
    let batch = publish::record_batch(contract, &verdict.frame, &inputs)?;
    Ok(store::find_in_batch(&batch, record_id)?.map(|(record, _)| record))
}

/// The columns that come out otherwise. What the contract added since the release was never published: a note says so.
fn compare(published: &Map<String, Value>, remade: &Map<String, Value>, notes: &mut Vec<String>) -> Vec<String> {
    let (known, added): (BTreeSet<&String>, BTreeSet<&String>) = published.keys().chain(remade.keys()).partition(|name| published.contains_key(*name));
    if !added.is_empty() {
        let names: Vec<&str> = added.into_iter().map(String::as_str).collect();
        notes.push(format!("the contract has columns that the release has not: {}", names.join(", ")));
    }
    let differing = known.into_iter().filter(|name| published.get(*name) != remade.get(*name));
    let show = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    differing.map(|name| format!("{name}: published {}, the bytes say {}", show(published.get(name)), show(remade.get(name)))).collect()
}
