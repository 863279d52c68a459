//! Traces a published record back to the publisher's bytes and rebuilds the record from them. Also
//! lists the records derived from a filing.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::available_snapshots::{AvailableSnapshots, Need, blocking, needs};
use super::replay::{Difference, replay};
use crate::planning::made_with::{MadeWith, contracts_of};
use crate::settings::{RunSettings, manifest_of};
use pubdata_build::decode;
use pubdata_core::contract::Contract;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::{AccessionNumber, Digest, RecordId, ReleaseId};
use pubdata_core::provenance::{Obtained, Snapshot, SourcePointer};
use pubdata_store::evidence::Replay;
use pubdata_store::{self as store, FoundRecord, Manifest, Part, Releases, Snapshots, TaskEntry};

/// Maximum number of missing snapshots named in a message.
const MAX_MISSING: usize = 5;

/// The chain from a published record to the publisher's bytes, and the result of rebuilding the
/// record from them: `pubdata trace RECORD_ID`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceReport {
    /// The record.
    pub record_id: String,
    /// The record's dataset.
    pub dataset_id: String,
    /// The release.
    pub release_id: ReleaseId,
    /// When the release was published, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub published_at: String,
    /// The run that published it.
    pub run_id: String,
    /// The file that contains the record, as described in the manifest. The file is hashed;
    /// `differences` names it if its digest has changed.
    pub part: Part,
    /// The task whose build made the record.
    pub task_id: String,
    /// Columns of the published record.
    #[schemars(extend("additionalProperties" = {"type": ["string", "number", "boolean", "array", "null"], "items": {"type": "string"}}))]
    pub record: Map<String, Value>,
    /// The publisher's pages about the subject of the record, by link name.
    pub links: BTreeMap<String, String>,
    /// How columns that the source does not state are derived, by column name.
    pub derivations: BTreeMap<String, String>,
    /// The bytes from which the record was built.
    pub sources: Vec<TracedSource>,
    /// True if the part and every snapshot still have their digests and the rebuilt record is the
    /// same.
    pub is_match: bool,
    /// Result of the replay.
    pub replay: Replay,
    /// Why the record cannot be rebuilt, and which version can rebuild it or which snapshots are
    /// missing; null if it can be rebuilt.
    pub not_possible: Option<String>,
    /// Differences from the published data: a changed part, damaged snapshots, and columns with
    /// other values.
    pub differences: Vec<String>,
    /// Remarks about the replay, such as that declarations have changed since the release.
    pub notes: Vec<String>,
}

/// A byte range of a snapshot from which the record was built.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TracedSource {
    #[serde(flatten)]
    pub pointer: SourcePointer,
    /// The publisher's URL. For a table that pubdata compiled from the sources it cites and that is
    /// part of the program, `bundled:` and a path.
    pub url: String,
    /// The publisher's label for the file.
    pub source_version: String,
    /// The publisher's date for the file, `YYYY-MM-DD`.
    #[schemars(extend("format" = "date"))]
    pub source_date: String,
    /// How the file was obtained from the publisher.
    pub obtained: Obtained,
    /// Name of the mirror from which the file came; null if it came from the publisher or a manual
    /// import.
    pub mirror: Option<String>,
    /// Location of the snapshot on disk, or in the store if the home lacks the snapshot.
    pub path: String,
    /// The bytes, as text; null if the bytes cannot be read.
    pub text: Option<String>,
}

/// A record and its location in a release.
#[derive(Debug)]
pub struct LocatedRecord {
    manifest: Manifest,
    part: Part,
    record: Map<String, Value>,
    pointers: Vec<SourcePointer>,
}

/// Finds a record in a release, or in the channel's current release if none is given. Requires no
/// declarations.
///
/// # Errors
/// Returns `Config` if the record does not exist, and `Store` if the release cannot be read.
pub async fn locate(
    releases: Releases,
    channel: String,
    release: Option<ReleaseId>,
    record_id: RecordId,
) -> Result<LocatedRecord> {
    let manifest = manifest_of(&releases, &channel, release).await?;
    let (part, record, pointers) = find(&releases, &manifest, &record_id).await?;
    Ok(LocatedRecord {
        manifest,
        part,
        record,
        pointers,
    })
}

/// Traces a record back to its bytes and rebuilds it from them.
///
/// # Errors
/// Returns `Config` if the record does not exist, and `Store` if the release or a snapshot cannot
/// be read.
pub async fn trace(
    settings: &RunSettings,
    record_id: &RecordId,
    release: Option<&ReleaseId>,
) -> Result<TraceReport> {
    let located = locate(
        settings.releases.clone(),
        settings.channel.clone(),
        release.cloned(),
        record_id.clone(),
    )
    .await?;
    trace_located(settings, located, record_id).await
}

/// Traces a record that was already located, just as [`trace`] does.
///
/// # Errors
/// Returns the same errors as [`trace`].
pub async fn trace_located(
    settings: &RunSettings,
    located: LocatedRecord,
    record_id: &RecordId,
) -> Result<TraceReport> {
    let LocatedRecord {
        manifest,
        part,
        record,
        pointers,
    } = located;
    let found = FoundRecord {
        manifest: &manifest,
        part: &part,
        record_id,
        columns: &record,
        pointers: &pointers,
    };
    let entry = entry_of(&found)?;
    let contract = settings.declarations.contracts.get(record_id.dataset_id());
    let links = contract
        .map(|contract| links(contract, &record))
        .unwrap_or_default();
    let derivations = contract
        .iter()
        .flat_map(|contract| contract.derivations(&record));
    let derivations = derivations
        .map(|(column, rule)| (column.to_owned(), rule.to_owned()))
        .collect();
    let made = MadeWith::load(settings, &manifest, entry).await;
    let mut available_snapshots = AvailableSnapshots::new(settings, None);
    let (
        made,
        ReplayResult {
            mut replay,
            mut not_possible,
            missing,
            mut differences,
            mut notes,
        },
    ) = remade_by(settings, made, &found, &mut available_snapshots).await?;
    if let Some(changed) = changed_part(&settings.releases, &manifest, &part).await? {
        differences.push(Difference::of_bytes(changed));
        (replay, not_possible) = (Replay::Mismatch, None);
    }
    notes.extend(open_interval(&record));
    let declared = made.as_ref().map_or(settings, |made| &made.settings);
    let sources = blocking(|| {
        pointers
            .iter()
            .map(|pointer| traced_source(declared, &available_snapshots, entry, pointer))
            .collect()
    });
    let not_possible =
        not_possible.or_else(|| reason_of(&missing).filter(|_| replay == Replay::NotPossible));
    let differences: Vec<String> = differences
        .into_iter()
        .map(|difference| difference.text)
        .collect();
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
        derivations,
        sources,
        is_match: replay == Replay::Match,
        replay,
        not_possible,
        differences,
        notes,
    })
}

/// Explains why the bytes of a median in an open-ended interval contain a code that differs from
/// the bound.
fn open_interval(record: &Map<String, Value>) -> Option<String> {
    let bound = record.get("bound").filter(|bound| !bound.is_null())?;
    let side = record
        .get("bound_type")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .replace('_', " ");
    Some(format!(
        "the number in the bytes is the publisher's code for an open-ended interval, not a figure: the median is {side} {bound}"
    ))
}

/// Result of rebuilding a record.
#[derive(Debug)]
pub(super) struct ReplayResult {
    pub(crate) replay: Replay,
    /// Reason why differences are not held against the release.
    pub(super) not_possible: Option<String>,
    /// Required snapshots that are missing.
    pub(crate) missing: Vec<String>,
    pub(super) differences: Vec<Difference>,
    pub(crate) notes: Vec<String>,
}

/// Rebuilds a located record from its bytes, using the available snapshots.
///
/// # Errors
/// Returns `Store` if a snapshot cannot be read, or if the manifest does not name the build of the
/// record.
pub(super) async fn remade(
    settings: &RunSettings,
    found: &FoundRecord<'_>,
    available_snapshots: &mut AvailableSnapshots,
) -> Result<ReplayResult> {
    let made = MadeWith::load(settings, found.manifest, entry_of(found)?).await;
    Ok(remade_by(settings, made, found, available_snapshots)
        .await?
        .1)
}

/// Rebuilds a record. `made` contains what is needed to repeat its build, or the reason why that is
/// lost. Returns `made` together with the home of the snapshots.
async fn remade_by(
    settings: &RunSettings,
    made: Result<MadeWith>,
    found: &FoundRecord<'_>,
    available_snapshots: &mut AvailableSnapshots,
) -> Result<(Result<MadeWith>, ReplayResult)> {
    let entry = entry_of(found)?;
    let mut made = made;
    // First uses only the inputs to which the record points. Uses the other inputs of the build
    // only if these are not enough.
    let remade = remade_with(
        settings,
        &mut made,
        found,
        available_snapshots,
        Inputs::PointedAt,
    )
    .await?;
    if remade.replay == Replay::Match
        || !remade.missing.is_empty()
        || entry
            .inputs
            .iter()
            .all(|input| available_snapshots.has(input))
    {
        return Ok((made, remade));
    }
    let remade = remade_with(settings, &mut made, found, available_snapshots, Inputs::All).await?;
    Ok((made, remade))
}

/// Inputs of the build from which a record is rebuilt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inputs {
    PointedAt,
    All,
}

async fn remade_with(
    settings: &RunSettings,
    made: &mut Result<MadeWith>,
    found: &FoundRecord<'_>,
    available_snapshots: &mut AvailableSnapshots,
    inputs: Inputs,
) -> Result<ReplayResult> {
    let entry = entry_of(found)?;
    // Only archives whose members have their own digests are included.
    let mut members: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for pointer in found
        .pointers
        .iter()
        .filter(|pointer| is_of_member(entry, pointer))
    {
        members
            .entry(pointer.source_id.clone())
            .or_default()
            .extend(pointer.member.clone());
    }
    let is_needed = |input: &Snapshot| {
        let is_pointed_at = members.contains_key(&input.source_id)
            || found
                .pointers
                .iter()
                .any(|pointer| pointer.snapshot == input.sha256);
        inputs == Inputs::All || is_pointed_at
    };
    let declarations = &made
        .as_ref()
        .map_or(settings, |made| &made.settings)
        .declarations;
    let needed: Vec<(&Snapshot, Need)> = needs(declarations, entry, &members)
        .filter(|(input, _)| is_needed(input))
        .collect();
    available_snapshots.take(entry, needed.into_iter()).await?;
    if let Ok(made) = made {
        made.settings.home = available_snapshots.home().clone();
    }
    blocking(|| remade_once(settings, made, found, available_snapshots))
}

fn remade_once(
    settings: &RunSettings,
    made: &Result<MadeWith>,
    found: &FoundRecord<'_>,
    available_snapshots: &AvailableSnapshots,
) -> Result<ReplayResult> {
    let entry = entry_of(found)?;
    let declared = made.as_ref().map_or(settings, |made| &made.settings);
    let is_all_there =
        available_snapshots.missing().is_empty() && available_snapshots.damaged().is_empty();
    let remake = |made: &MadeWith| {
        let mut notes = made.notes.clone();
        let remade = if is_all_there {
            replay(
                made,
                entry,
                found,
                available_snapshots.elsewhere(),
                &mut notes,
            )
        } else {
            Vec::new()
        };
        (remade, notes)
    };
    // Hashing complete snapshots takes as long as rebuilding a record from them, so both run in
    // parallel.
    let (remade, damaged) = rayon::join(
        || made.as_ref().map(remake),
        || damaged(declared, available_snapshots, entry, found.pointers),
    );
    let mut differences = damaged?;
    differences.extend(
        available_snapshots
            .damaged()
            .iter()
            .cloned()
            .map(Difference::of_bytes),
    );
    let is_damaged = !differences.is_empty() || made.is_err();
    let (mut notes, mut not_possible) = (Vec::new(), None);
    match (made, remade) {
        (Err(error), _) | (_, Err(error)) => {
            differences.push(Difference::of_bytes(error.to_string()));
        }
        (Ok(made), Ok((remade, noted))) => {
            notes = noted;
            // Damage counts as a difference, regardless of the code that built the record.
            not_possible = made
                .not_held
                .clone()
                .filter(|_| !remade.is_empty() && !is_damaged);
            differences.extend(remade);
        }
    }
    let missing = available_snapshots.missing().to_vec();
    let replay = if missing.is_empty() || !differences.is_empty() {
        Replay::new(differences.is_empty(), not_possible.as_ref())
    } else {
        Replay::NotPossible
    };
    Ok(ReplayResult {
        replay,
        not_possible,
        missing,
        differences,
        notes,
    })
}

/// Returns the reason why the replay is inconclusive if snapshots are missing.
pub(super) fn reason_of(missing: &[String]) -> Option<String> {
    let shown = missing
        .iter()
        .take(MAX_MISSING)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    let others = missing.len().saturating_sub(MAX_MISSING);
    (!missing.is_empty()).then(|| {
        if others > 0 {
            format!("{shown}; and {others} more snapshots")
        } else {
            shown
        }
    })
}

/// Returns the build that made a record.
pub(super) fn entry_of<'a>(found: &FoundRecord<'a>) -> Result<&'a TaskEntry> {
    found
        .manifest
        .tasks
        .get(&found.part.task_id)
        .ok_or_else(|| Error::store(format!("the manifest has no task {}", found.part.task_id)))
}

/// Fills in the contract's links with a record's values. Omits links that require a value the
/// record lacks.
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
    contract
        .links
        .iter()
        .filter_map(|(name, template)| Some((name.clone(), fill(template)?)))
        .collect()
}

/// The records derived from one filing: `pubdata trace ACCESSION_NUMBER`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AccessionReport {
    /// The filing.
    pub accession_number: AccessionNumber,
    /// The release.
    pub release_id: ReleaseId,
    /// Record ids by dataset and by the column that names the filing, in the order of the parts.
    pub records: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

/// Lists every record of a release that was derived from a filing, in all datasets that name
/// filings.
///
/// # Errors
/// Returns `Config` if no record names the filing, and `Store` if the release cannot be read.
pub async fn trace_accession(
    settings: &RunSettings,
    manifest: Manifest,
    accession: AccessionNumber,
) -> Result<AccessionReport> {
    let text = accession.to_string();
    let mut records: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    let contracts = contracts_of(settings, &manifest).await;
    for (dataset_id, dataset) in &manifest.datasets {
        let Some(contract) = contracts.get(dataset_id) else {
            continue;
        };
        let columns: Vec<&str> = contract
            .columns
            .iter()
            .filter(|column| column.type_name == "accession_number")
            .map(|column| column.name.as_str())
            .collect();
        for part in dataset.parts.iter().filter(|_| !columns.is_empty()) {
            let bytes = settings.releases.part(&manifest.release_id, part).await?;
            for column in &columns {
                let found = store::record_ids_where(bytes.clone(), column, &text)?;
                if !found.is_empty() {
                    records
                        .entry(dataset_id.clone())
                        .or_default()
                        .entry((*column).to_owned())
                        .or_default()
                        .extend(found);
                }
            }
        }
    }
    if records.is_empty() {
        return Err(Error::config(format!(
            "no record of release {} is of filing {accession}",
            manifest.release_id
        ))
        .hint("only periodic reports feed figures; `--release` looks at another release"));
    }
    Ok(AccessionReport {
        accession_number: accession,
        release_id: manifest.release_id,
        records,
    })
}

/// Finds a record's part, columns and pointers.
async fn find(
    releases: &Releases,
    manifest: &Manifest,
    record_id: &RecordId,
) -> Result<(Part, Map<String, Value>, Vec<SourcePointer>)> {
    let dataset = manifest
        .datasets
        .get(record_id.dataset_id())
        .ok_or_else(|| {
            let known: Vec<&str> = manifest.datasets.keys().map(String::as_str).collect();
            Error::config(format!(
                "release {} has no dataset `{}`; it has {}",
                manifest.release_id,
                record_id.dataset_id(),
                known.join(", ")
            ))
            .hint("`--release` looks at another release, `pubdata releases list` shows all")
        })?;
    let mut parts: Vec<&Part> = dataset
        .parts
        .iter()
        .filter(|part| part.may_hold(record_id))
        .collect();
    // Not every dataset is sorted by the prefix of its ids. A part whose key range includes the
    // record is most likely to contain it, so this part is read first.
    parts.sort_by_key(|part| !part.spans(record_id));
    for part in parts {
        if let Some((record, pointers)) = releases
            .find_record(&manifest.release_id, part, record_id)
            .await?
        {
            return Ok((part.clone(), record, pointers));
        }
    }
    let hint = "record ids are in the column record_id of each part and in the provenance of each answer; those of quarantined records begin with pubdata.quarantine";
    Err(Error::config(format!(
        "release {} has no record `{record_id}`",
        manifest.release_id
    ))
    .hint(hint))
}

/// Returns the record's snapshots whose bytes differ from the fetched bytes.
fn damaged(
    settings: &RunSettings,
    available_snapshots: &AvailableSnapshots,
    entry: &TaskEntry,
    pointers: &[SourcePointer],
) -> Result<Vec<Difference>> {
    let mut differences = Vec::new();
    let mut members: Vec<&SourcePointer> = pointers
        .iter()
        .filter(|pointer| is_of_member(entry, pointer))
        .collect();
    members.dedup_by_key(|pointer| (pointer.snapshot, &pointer.member));
    for pointer in members.into_iter().filter(|pointer| {
        snapshot_of(entry, pointer).is_some_and(|snapshot| available_snapshots.has(snapshot))
    }) {
        differences.extend(damage_of_member(
            settings,
            &Snapshots::look(available_snapshots.home()),
            entry,
            pointer,
        ));
    }
    // Bytes from the store were checked when they were copied.
    for snapshot in entry.inputs.iter().filter(|input| {
        available_snapshots.is_own(input)
            && pointers
                .iter()
                .any(|pointer| pointer.snapshot == input.sha256)
    }) {
        differences.extend(available_snapshots.own().damage(snapshot)?);
    }
    Ok(differences.into_iter().map(Difference::of_bytes).collect())
}

/// Returns true if a pointer has the digest of an archive member instead of the archive's digest.
fn is_of_member(entry: &TaskEntry, pointer: &SourcePointer) -> bool {
    pointer.member.is_some()
        && !entry
            .inputs
            .iter()
            .any(|input| input.sha256 == pointer.snapshot)
}

/// Returns the snapshot to which a pointer refers.
pub(super) fn snapshot_of<'a>(
    entry: &'a TaskEntry,
    pointer: &SourcePointer,
) -> Option<&'a Snapshot> {
    let is_its_source = |input: &&Snapshot| input.source_id == pointer.source_id;
    let exact = entry
        .inputs
        .iter()
        .filter(is_its_source)
        .find(|input| input.sha256 == pointer.snapshot);
    exact.or_else(|| {
        entry
            .inputs
            .iter()
            .filter(is_its_source)
            .find(|_| pointer.member.is_some())
    })
}

/// Describes how a member's bytes differ from the bytes that the record was built from. Returns
/// `None` if they are the same.
fn damage_of_member(
    settings: &RunSettings,
    snapshots: &Snapshots,
    entry: &TaskEntry,
    pointer: &SourcePointer,
) -> Option<String> {
    let (member, snapshot) = (pointer.member.as_deref()?, snapshot_of(entry, pointer)?);
    let (_, source) = settings.declarations.source(&pointer.source_id)?;
    let read = || {
        let archive =
            decode::Archive::open(&snapshots.path(snapshot), member, source.max_member_bytes)?;
        let found = archive
            .member(member)
            .ok_or_else(|| Error::format(format!("{} has no member `{member}`", snapshot.url)))?;
        let mut content = Vec::new();
        archive
            .read(found, &mut content)
            .map(|()| pointer.snapshot.same_of(&content))
    };
    match read() {
        Ok(digest) if digest == pointer.snapshot => None,
        Ok(digest) => Some(format!(
            "member `{member}` has the digest {digest}, and the record was made from {}",
            pointer.snapshot
        )),
        Err(error) => Some(error.to_string()),
    }
}

fn traced_source(
    settings: &RunSettings,
    available_snapshots: &AvailableSnapshots,
    entry: &TaskEntry,
    pointer: &SourcePointer,
) -> TracedSource {
    let snapshot = snapshot_of(entry, pointer);
    let path = snapshot
        .filter(|snapshot| available_snapshots.has(snapshot))
        .map(|snapshot| Snapshots::look(available_snapshots.home()).path(snapshot));
    let max_bytes = settings
        .declarations
        .source(&pointer.source_id)
        .map_or(u64::MAX, |(_, source)| source.max_bytes);
    let bytes = path.and_then(|path| {
        decode::read_range(
            &path,
            pointer.member.as_deref(),
            pointer.offset,
            pointer.length,
            max_bytes,
        )
        .ok()
    });
    TracedSource {
        pointer: pointer.clone(),
        url: snapshot
            .map(|snapshot| snapshot.url.clone())
            .unwrap_or_default(),
        source_version: snapshot
            .map(|snapshot| snapshot.source_version.clone())
            .unwrap_or_default(),
        source_date: snapshot
            .map(|snapshot| snapshot.source_date.clone())
            .unwrap_or_default(),
        obtained: snapshot
            .map(|snapshot| snapshot.obtained)
            .unwrap_or_default(),
        mirror: snapshot.and_then(|snapshot| snapshot.mirror.clone()),
        path: snapshot
            .map(|snapshot| available_snapshots.place(snapshot))
            .unwrap_or_default(),
        text: bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Hashes a part and describes how the part differs from the manifest. Returns `None` if it does
/// not differ.
async fn changed_part(
    releases: &Releases,
    manifest: &Manifest,
    part: &Part,
) -> Result<Option<String>> {
    let bytes = releases.part(&manifest.release_id, part).await?;
    let digest = blocking(|| Digest::sha256(&bytes));
    Ok((digest != part.sha256).then(|| {
        format!(
            "part {} has the SHA-256 {digest}, and the manifest says {}",
            part.path, part.sha256
        )
    }))
}
