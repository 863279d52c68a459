//! Issues and verifies receipts. A receipt contains everything needed to check a record in a
//! release, or the absence of a record, against the signed checkpoint of the channel's log. Anyone
//! with the release can issue a receipt, and anyone can verify it. Neither step needs the
//! publisher's secret.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::log::Log;
use super::note::{Checkpoint, VerifierKey};
use super::part::{Leaf, hashes, leaves_of_part};
use super::record::{CanonicalRecord, CanonicalRecords};
use super::seal::{Seal, SealedDataset, SealedPart, SealedRelease};
use super::tree::{inclusion_path, leaf_hash, root, root_of_path};
use super::unrepeated::UniqueMembersJson;
use crate::{Manifest, Part, Releases};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::{Digest, RecordId, ReleaseId};

const RECEIPT_FORMAT_VERSION: u32 = 1;

/// Pattern that matches a digest.
const SHA256: &str = "^[0-9a-f]{64}$";

/// Upper bound on the size of a receipt. Even a receipt that shows all parts of a dataset with ten
/// thousand parts is smaller.
pub const MAX_RECEIPT_BYTES: usize = 16 << 20;

/// Proof that a logged release contains, or does not contain, a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(description = "", transform = by_name)]
pub struct Receipt {
    /// Version of the receipt's format.
    #[schemars(extend("enum" = [RECEIPT_FORMAT_VERSION]))]
    format_version: u32,
    /// Identifier of the record whose presence or absence the receipt proves.
    pub record_id: String,
    /// The record in its canonical form: all columns, with numbers as strings. Null if the release
    /// has no such record.
    #[serde(deserialize_with = "stated")]
    #[schemars(with = "Option<CanonicalRecord>")]
    pub record: Option<Map<String, Value>>,
    /// The part that contains the record. For an absent record, the parts of each group that could
    /// contain it, and the neighbouring parts, which prove that no other candidate parts exist.
    pub parts: Vec<PartProof>,
    /// Description of the dataset as hashed in the release's tree.
    pub dataset: SealedDataset,
    /// Index of the dataset in the release.
    pub dataset_index: u64,
    /// Hashes from the dataset to the release's root.
    #[schemars(with = "Vec<String>", inner(regex(pattern = SHA256)))]
    pub dataset_inclusion_proof: Vec<Digest>,
    /// Description of the release as hashed in the log.
    pub release: SealedRelease,
    /// Position of the release in the channel's log, counted from 0.
    pub log_index: u64,
    /// Hashes from the release to the log's root in `checkpoint`.
    #[schemars(with = "Vec<String>", inner(regex(pattern = SHA256)))]
    pub log_inclusion_proof: Vec<Digest>,
    /// The signed note of the channel's log (C2SP).
    pub checkpoint: String,
}

/// A part, its index among the dataset's parts, and the leaves to show: either the record, or the
/// neighbours of the position where it would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, description = "", transform = by_name)]
pub struct PartProof {
    /// Description of the part as hashed in the dataset's tree.
    pub part: SealedPart,
    /// Index of the part in the dataset. Parts are ordered by group, `subjects_end` and path.
    pub index: u64,
    /// Hashes from the part to the dataset's root.
    #[schemars(with = "Vec<String>", inner(regex(pattern = SHA256)))]
    pub inclusion_proof: Vec<Digest>,
    /// The record, or its neighbours in this part; empty if the part has no records or could not
    /// contain the record.
    pub leaves: Vec<LeafProof>,
}

/// A leaf and its index in the part's tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, description = "", transform = by_name)]
pub struct LeafProof {
    /// Position of the record among the part's records, counted from 0.
    pub index: u64,
    /// Identifier of the leaf's record.
    pub record_id: String,
    /// SHA-256 digest of the record's canonical form, in hexadecimal.
    pub record_sha256: Digest,
    /// Hashes from the record to the part's root.
    #[schemars(with = "Vec<String>", inner(regex(pattern = SHA256)))]
    pub inclusion_proof: Vec<Digest>,
}

/// Result of verifying a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verified {
    /// Id of the record.
    pub record_id: String,
    /// True if the release contains the record.
    pub is_present: bool,
    /// Id of the release.
    pub release_id: ReleaseId,
    /// Digest of the manifest without times and run ids.
    pub manifest_sha256: Digest,
    /// Name of the log.
    pub log: String,
    /// Number of entries in the log when it was signed.
    #[schemars(range(min = 1))]
    pub log_size: u64,
    /// Index of the release in the log, counted from 0.
    pub log_index: u64,
}

/// Issues a receipt for a record. `part` is the part that contains the record. If no part is given,
/// the receipt proves that the record is absent. Returns `None` if the release is not sealed or not
/// logged.
///
/// # Errors
/// `Config`, when the release has no such dataset; `Store`, when a part cannot be read or does not
/// match its seal.
pub async fn issue(
    releases: &Releases,
    log: &Log<'_>,
    manifest: &Manifest,
    record_id: &RecordId,
    part: Option<&Part>,
) -> Result<Option<Receipt>> {
    let id = &manifest.release_id;
    let dataset_id = record_id.dataset_id();
    if !manifest.datasets.contains_key(dataset_id) {
        return Err(
            Error::config(format!("release {id} has no dataset `{dataset_id}`"))
                .hint("`pubdata releases show` lists those it has"),
        );
    }
    let Some(seal) = releases.seal_file(id).await? else {
        return Ok(None);
    };
    let seal = Seal::from_json(&seal).context(|| format!("release {id}"))?;
    let sealed = seal.datasets.get(dataset_id).ok_or_else(|| {
        Error::store(format!(
            "release {id}: its seal has no dataset `{dataset_id}`"
        ))
    })?;
    let Some(logged) = log.read().await? else {
        return Ok(None);
    };
    let Some(log_index) = logged.index_of(&seal.release.digest()) else {
        return Ok(None);
    };
    let not_as_sealed = || {
        Error::store(format!("release {id} does not match its seal"))
            .hint("`pubdata verify` shows whether the release or its seal was changed")
    };
    if seal.release.release_id != *id {
        return Err(not_as_sealed());
    }
    let part_leaves: Vec<Digest> = sealed.iter().map(SealedPart::leaf).collect();
    let dataset_leaves: Vec<Digest> = seal
        .datasets
        .iter()
        .map(|(id, parts)| SealedDataset::new(id, parts).leaf())
        .collect();
    let dataset_index = seal
        .datasets
        .keys()
        .position(|id| id == dataset_id)
        .expect("found above");
    let mut receipt = Receipt {
        format_version: RECEIPT_FORMAT_VERSION,
        record_id: record_id.as_str().to_owned(),
        record: None,
        parts: Vec::new(),
        dataset: SealedDataset::new(dataset_id, sealed),
        dataset_index: dataset_index as u64,
        dataset_inclusion_proof: inclusion_path(&dataset_leaves, dataset_index),
        release: seal.release.clone(),
        log_index: log_index as u64,
        log_inclusion_proof: inclusion_path(&logged.leaves(), log_index),
        checkpoint: logged.note,
    };
    let subject = record_id.subject();
    let shown: Vec<usize> = match part {
        Some(part) => vec![
            sealed
                .iter()
                .position(|sealed| sealed.path == part.path)
                .ok_or_else(not_as_sealed)?,
        ],
        None => around(&receipt.dataset, sealed, subject),
    };
    for index in shown {
        let sealed = &sealed[index];
        let leaves = if part.is_some() {
            let (leaves, record) =
                read(releases, manifest, sealed, record_id, Selection::Record).await?;
            receipt.record = record;
            leaves
        } else if sealed.records > 0 && sealed.may_hold(subject) {
            read(releases, manifest, sealed, record_id, Selection::Neighbours)
                .await?
                .0
        } else {
            Vec::new()
        };
        receipt.parts.push(PartProof {
            part: sealed.clone(),
            index: index as u64,
            inclusion_proof: inclusion_path(&part_leaves, index),
            leaves,
        });
    }
    Ok(Some(receipt))
}

/// Returns the indices of the parts that could contain a subject's records, and the indices of the
/// neighbouring parts in each group.
fn around(dataset: &SealedDataset, sealed: &[SealedPart], subject: &str) -> Vec<usize> {
    let mut shown = Vec::new();
    let groups = dataset
        .groups
        .iter()
        .zip(sealed.chunk_by(|a, b| a.end().len() == b.end().len()));
    groups.fold(0, |first, (group, parts)| {
        let end = group.end_of(subject);
        let from = parts
            .partition_point(|part| part.end() < end)
            .saturating_sub(1);
        let to = parts
            .len()
            .min(parts.partition_point(|part| part.end() <= end) + 1);
        shown.extend(first + from..first + to);
        first + parts.len()
    });
    shown
}

/// Selects the leaves to read from a part.
#[derive(Clone, Copy, PartialEq)]
enum Selection {
    Record,
    Neighbours,
}

type FoundLeaves = (Vec<LeafProof>, Option<Map<String, Value>>);

async fn read(
    releases: &Releases,
    manifest: &Manifest,
    sealed: &SealedPart,
    record_id: &RecordId,
    selection: Selection,
) -> Result<FoundLeaves> {
    let id = &manifest.release_id;
    let not_as_sealed = || {
        Error::store(format!(
            "release {id}: part {} does not match its seal",
            sealed.path
        ))
        .hint("`pubdata verify` shows whether the part or its seal was changed")
    };
    let part = manifest
        .datasets
        .get(record_id.dataset_id())
        .and_then(|dataset| dataset.parts.iter().find(|part| part.path == sealed.path));
    let bytes = releases.part(id, part.ok_or_else(not_as_sealed)?).await?;
    let (sealed, record_id, error) = (sealed.clone(), record_id.clone(), not_as_sealed());
    let work = move || {
        let leaves = leaves_of_part(bytes.clone())?;
        let hashes = hashes(&leaves);
        if root(&hashes) != sealed.root {
            return Err(error);
        }
        let found = leaves.binary_search_by(|leaf| leaf.record_id.as_str().cmp(record_id.as_str()));
        let shown = match (found, selection) {
            (Ok(index), Selection::Record) => index..index + 1,
            (Err(index), Selection::Neighbours) => {
                index.saturating_sub(1)..leaves.len().min(index + 1)
            }
            _ => return Err(error),
        };
        let proof = |index: usize| {
            let Leaf {
                record_id,
                record_sha256,
            } = leaves[index].clone();
            LeafProof {
                index: index as u64,
                record_id,
                record_sha256,
                inclusion_proof: inclusion_path(&hashes, index),
            }
        };
        let record = if selection == Selection::Record {
            Some(canonical_of(bytes, &record_id)?.ok_or(error)?)
        } else {
            None
        };
        Ok((shown.map(proof).collect(), record))
    };
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::store(format!("reading a part failed: {error}")))?
}

/// Returns the canonical form of one record in a part.
fn canonical_of(part: bytes::Bytes, record_id: &RecordId) -> Result<Option<Map<String, Value>>> {
    let Some(batch) = crate::row_of_record(part, record_id)? else {
        return Ok(None);
    };
    let mut canonical = Vec::new();
    CanonicalRecords::new(&batch)?.write(0, &mut canonical)?;
    Ok(Some(
        serde_json::from_slice(&canonical).expect("it is JSON"),
    ))
}

/// Sorts the required fields by name, in the order that the API uses.
fn by_name(schema: &mut Schema) {
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.sort_by_cached_key(Value::to_string);
    }
}

/// Deserialises a field that may be null but must be present.
fn stated<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<Map<String, Value>>, D::Error> {
    Option::deserialize(deserializer)
}

/// Returns the RFC 8785 JSON of a value without numbers; `None` if the value contains a number.
fn canonical(value: &Value) -> Option<String> {
    Some(match value {
        Value::Number(_) => return None,
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => format!(
            "[{}]",
            items
                .iter()
                .map(canonical)
                .collect::<Option<Vec<_>>>()?
                .join(",")
        ),
        Value::Object(members) => {
            let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
            // Sort by UTF-16 code units, as §3.2.3 requires.
            sorted.sort_by_cached_key(|(name, _)| name.encode_utf16().collect::<Vec<_>>());
            let written = sorted.into_iter().map(|(name, value)| {
                Some(format!(
                    "{}:{}",
                    Value::from(name.as_str()),
                    canonical(value)?
                ))
            });
            format!("{{{}}}", written.collect::<Option<Vec<_>>>()?.join(","))
        }
    })
}

impl Receipt {
    /// Parses a receipt, either alone or within an API response.
    ///
    /// # Errors
    /// `Config`, when the text is not a receipt.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let not_one = |error: &dyn std::fmt::Display| {
            Error::config(format!("not a receipt: {error}"))
                .hint("`GET /v1/receipts/RECORD_ID` and `pubdata receipt` issue them")
        };
        if text.len() > MAX_RECEIPT_BYTES {
            return Err(not_one(&format!(
                "it has more than {MAX_RECEIPT_BYTES} bytes"
            )));
        }
        let UniqueMembersJson(mut value) =
            serde_json::from_slice(text).map_err(|error| not_one(&error))?;
        // An API response. Fields next to the receipt could look like parts of a receipt, so only
        // the receipt is used.
        if let Some(answer) = value
            .as_object_mut()
            .filter(|answer| answer.contains_key("data"))
        {
            if let Some(other) = answer
                .keys()
                .find(|name| *name != "data" && *name != "meta")
            {
                return Err(not_one(&format!("`{other}` is next to `data`")));
            }
            value = answer["data"].take();
        }
        let receipt = Self::deserialize(&value).map_err(|error| not_one(&error))?;
        if receipt.format_version != RECEIPT_FORMAT_VERSION {
            return Err(not_one(&format!(
                "format {} is not {RECEIPT_FORMAT_VERSION}",
                receipt.format_version
            )));
        }
        // Only one spelling is accepted. A different text that parses to the same value would
        // otherwise be shown unchecked.
        if serde_json::to_value(&receipt).ok() != Some(value) {
            return Err(not_one(&"it is not in the canonical form of receipts"));
        }
        Ok(receipt)
    }

    /// Verifies the entire receipt using only the key.
    ///
    /// # Errors
    /// A message that names the failed check.
    pub fn verify(&self, key: &VerifierKey) -> std::result::Result<Verified, String> {
        let record_id: RecordId = self.record_id.parse().map_err(|error| format!("{error}"))?;
        let text = key
            .opened(&self.checkpoint)
            .ok_or_else(|| format!("the checkpoint is not signed by {}", key.name()))?;
        let checkpoint = Checkpoint::parse(text).ok_or("the checkpoint is malformed")?;
        if checkpoint.origin != key.name() {
            return Err(format!(
                "the checkpoint belongs to the log {}, and the key to {}",
                checkpoint.origin,
                key.name()
            ));
        }
        let seal = leaf_hash(self.release.digest().as_bytes());
        if root_of_path(
            seal,
            self.log_index,
            checkpoint.size,
            &self.log_inclusion_proof,
        ) != Some(checkpoint.root)
        {
            return Err("the log does not have this release at that index".to_owned());
        }
        if ReleaseId::from_digest(&self.release.manifest_sha256) != self.release.release_id {
            return Err("the release's id is not that of its manifest".to_owned());
        }
        if self.dataset.dataset_id != record_id.dataset_id() {
            return Err("the record belongs to another dataset".to_owned());
        }
        if root_of_path(
            self.dataset.leaf(),
            self.dataset_index,
            self.release.datasets,
            &self.dataset_inclusion_proof,
        ) != Some(self.release.records_root)
        {
            return Err("the release does not have this dataset at that index".to_owned());
        }
        match &self.record {
            Some(record) => self.verify_presence(&record_id, record)?,
            None => self.verify_absence(&record_id)?,
        }
        Ok(Verified {
            record_id: self.record_id.clone(),
            is_present: self.record.is_some(),
            release_id: self.release.release_id.clone(),
            manifest_sha256: self.release.manifest_sha256,
            log: checkpoint.origin,
            log_size: checkpoint.size,
            log_index: self.log_index,
        })
    }

    fn verify_presence(
        &self,
        record_id: &RecordId,
        record: &Map<String, Value>,
    ) -> std::result::Result<(), String> {
        let [
            PartProof {
                part,
                index,
                inclusion_proof,
                leaves,
            },
        ] = self.parts.as_slice()
        else {
            return Err("a record is in one part".to_owned());
        };
        let [leaf] = leaves.as_slice() else {
            return Err("a record has one leaf".to_owned());
        };
        if record.get("record_id").and_then(Value::as_str) != Some(record_id.as_str())
            || leaf.record_id != record_id.as_str()
        {
            return Err("the record has another record_id than the receipt".to_owned());
        }
        let canonical = canonical(&Value::Object(record.clone()))
            .ok_or("the record is not in its canonical form: it has a number")?;
        if Digest::sha256(canonical.as_bytes()) != leaf.record_sha256 {
            return Err("the record is not the one that was sealed".to_owned());
        }
        if !part.may_hold(record_id.subject()) {
            return Err("the record is in a part for other subjects".to_owned());
        }
        leaf.verify(part)?;
        self.verify_part(part, *index, inclusion_proof)
    }

    fn verify_part(
        &self,
        part: &SealedPart,
        index: u64,
        inclusion_proof: &[Digest],
    ) -> std::result::Result<(), String> {
        let root = self
            .dataset
            .parts()
            .and_then(|parts| root_of_path(part.leaf(), index, parts, inclusion_proof));
        if root == Some(self.dataset.root) {
            Ok(())
        } else {
            Err(format!(
                "the dataset does not have part {} at that index",
                part.path
            ))
        }
    }

    fn verify_absence(&self, record_id: &RecordId) -> std::result::Result<(), String> {
        let subject = record_id.subject();
        // This check ensures that the additions below cannot overflow.
        self.dataset
            .parts()
            .ok_or("the dataset has no number of parts")?;
        let mut unseen = self.parts.as_slice();
        let mut first = 0;
        for group in &self.dataset.groups {
            let behind = first + group.parts;
            let (shown, others) = unseen.split_at(
                unseen
                    .iter()
                    .take_while(|proof| proof.index < behind)
                    .count(),
            );
            let end = group.end_of(subject);
            let is_run = shown
                .windows(2)
                .all(|pair| pair[0].index + 1 == pair[1].index)
                && shown
                    .iter()
                    .all(|proof| proof.part.end().len() as u64 == group.subjects_end_bytes);
            let is_enclosed = is_run
                && shown.first().is_some_and(|proof| {
                    proof.index == first || (proof.index > first && proof.part.end() < end)
                })
                && shown
                    .last()
                    .is_some_and(|proof| proof.index + 1 == behind || proof.part.end() > end);
            if !is_enclosed {
                return Err("the parts are not all that could have the record".to_owned());
            }
            (unseen, first) = (others, behind);
        }
        if !unseen.is_empty() {
            return Err("the parts are not all of the dataset's".to_owned());
        }
        self.parts.iter().try_for_each(|proof| {
            self.verify_part(&proof.part, proof.index, &proof.inclusion_proof)
        })?;
        for PartProof { part, leaves, .. } in &self.parts {
            leaves.iter().try_for_each(|leaf| leaf.verify(part))?;
            let is_before = |leaf: &LeafProof| leaf.record_id.as_str() < record_id.as_str();
            let is_behind = |leaf: &LeafProof| leaf.record_id.as_str() > record_id.as_str();
            let encloses = match leaves.as_slice() {
                [] => part.records == 0 || !part.may_hold(subject),
                [only] => {
                    (only.index == 0 && is_behind(only))
                        || (only.index + 1 == part.records && is_before(only))
                }
                [before, behind] => {
                    before.index + 1 == behind.index && is_before(before) && is_behind(behind)
                }
                _ => false,
            };
            if !encloses {
                return Err(format!(
                    "part {} is not shown to lack the record",
                    part.path
                ));
            }
        }
        Ok(())
    }
}

impl LeafProof {
    fn verify(&self, part: &SealedPart) -> std::result::Result<(), String> {
        let leaf = Leaf {
            record_id: &self.record_id,
            record_sha256: self.record_sha256,
        };
        let is_in = root_of_path(leaf.hash(), self.index, part.records, &self.inclusion_proof)
            == Some(part.root);
        if is_in {
            Ok(())
        } else {
            Err(format!(
                "part {} does not have {} at that index",
                part.path, self.record_id
            ))
        }
    }
}
