//! Computes the seal of a release: the roots of the trees over the release's records, and the
//! digest of its manifest. The seal is derived from the release alone and stored next to the
//! manifest. The digest of the seal is a leaf in the channel's log.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::part::{root_of_part, subjects_end};
use super::record::DIGITS;
use super::roots::Roots;
use super::tree::{leaf_hash, root};
use crate::{Manifest, Part, Releases};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::{Digest, ReleaseId};

/// Format of the seal file; readers reject newer formats.
const SEAL_FORMAT_VERSION: u32 = 1;

/// A part as hashed in the tree of its dataset. Fields are in alphabetical order, so that serde's
/// output is canonical. Numbers are written as strings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct SealedPart {
    /// Path of the part below the release.
    pub path: String,
    /// Number of records in the part, as a decimal string.
    #[serde(with = "as_text")]
    #[schemars(with = "String", regex(pattern = DIGITS))]
    pub records: u64,
    /// Root hash of the tree over the part's records, SHA-256 in hexadecimal.
    pub root: Digest,
    /// SHA-256 digest of the part's file, in hexadecimal.
    pub sha256: Digest,
    /// Suffix of the second segment of the part's record ids. Within the group, records with this
    /// suffix are only in parts with this suffix. Absent if parts are not divided by subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub subjects_end: Option<String>,
}

/// Parts of a dataset whose `subjects_end` have the same length. The parts are sorted by
/// `subjects_end`, so that neighbouring parts prove which parts exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, description = "")]
pub struct PartGroup {
    /// Number of parts in the group, as a decimal string.
    #[serde(with = "as_text")]
    #[schemars(with = "String", regex(pattern = DIGITS))]
    pub parts: u64,
    /// Length in bytes of `subjects_end` in the group's parts, as a decimal string.
    // 0 if parts are not divided by subject, in which case any part may contain any record.
    #[serde(with = "as_text")]
    #[schemars(with = "String", regex(pattern = DIGITS))]
    pub subjects_end_bytes: u64,
}

/// A dataset as hashed in the tree of its release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct SealedDataset {
    /// Identifier of the dataset.
    pub dataset_id: String,
    /// Number of parts by length of `subjects_end`, which is 0 bytes if parts are not divided by
    /// subject.
    pub groups: Vec<PartGroup>,
    /// Root hash of the tree over the dataset's parts, SHA-256 in hexadecimal.
    // Ordered by group, `subjects_end` and path.
    pub root: Digest,
}

/// The hashed description of a release in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct SealedRelease {
    /// Number of datasets in the release, as a decimal string.
    #[serde(with = "as_text")]
    #[schemars(with = "String", regex(pattern = DIGITS))]
    pub datasets: u64,
    /// Digest of the manifest without times and run ids. The release id is the beginning of this
    /// digest.
    pub manifest_sha256: Digest,
    /// Root hash of the tree over the release's datasets, SHA-256 in hexadecimal.
    // Ordered by dataset id.
    pub records_root: Digest,
    /// Identifier of the release.
    pub release_id: ReleaseId,
}

/// A sealed release with all its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    format_version: u32,
    pub release: SealedRelease,
    pub datasets: BTreeMap<String, Vec<SealedPart>>,
}

/// Returns the canonical JSON to hash. This works because fields are declared in alphabetical
/// order.
fn canonical(hashed: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(hashed).expect("texts have a JSON form")
}

impl SealedPart {
    pub fn leaf(&self) -> Digest {
        leaf_hash(&canonical(self))
    }

    /// Returns the suffix of the records' subjects; empty if parts are not divided by subject.
    pub fn end(&self) -> &[u8] {
        self.subjects_end.as_ref().map_or(&[], |end| end.as_bytes())
    }

    /// Returns whether the part may contain records of a subject.
    pub fn may_hold(&self, subject: &str) -> bool {
        subject.as_bytes().ends_with(self.end())
    }

    fn order(&self) -> (usize, &[u8], &str) {
        (self.end().len(), self.end(), &self.path)
    }
}

impl PartGroup {
    /// Returns the suffix of a subject by which the parts of this group are ordered, or the entire
    /// subject if it is shorter.
    pub fn end_of<'s>(&self, subject: &'s str) -> &'s [u8] {
        let bytes = usize::try_from(self.subjects_end_bytes).unwrap_or(usize::MAX);
        &subject.as_bytes()[subject.len().saturating_sub(bytes)..]
    }
}

impl SealedDataset {
    /// Builds the description of a dataset from its parts, in the order of the tree.
    pub fn new(dataset_id: &str, parts: &[SealedPart]) -> Self {
        let leaves: Vec<Digest> = parts.iter().map(SealedPart::leaf).collect();
        let groups = parts.chunk_by(|a, b| a.end().len() == b.end().len());
        let groups = groups.map(|group| PartGroup {
            parts: group.len() as u64,
            subjects_end_bytes: group[0].end().len() as u64,
        });
        Self {
            dataset_id: dataset_id.to_owned(),
            groups: groups.collect(),
            root: root(&leaves),
        }
    }

    /// Returns the total number of parts; `None` if the sum overflows.
    pub fn parts(&self) -> Option<u64> {
        self.groups
            .iter()
            .try_fold(0, |sum: u64, group| sum.checked_add(group.parts))
    }

    pub fn leaf(&self) -> Digest {
        leaf_hash(&canonical(self))
    }
}

impl SealedRelease {
    /// Returns the data of the release's leaf in the log: the digest of its canonical JSON.
    pub fn digest(&self) -> Digest {
        Digest::sha256(&canonical(self))
    }
}

impl Seal {
    /// Parses a seal file and checks that it is consistent.
    ///
    /// # Errors
    /// `Store`, when the file is not a seal, or when its roots do not match its parts.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        let not_one = |error: &dyn std::fmt::Display| {
            Error::store(format!("not the seal of a release: {error}"))
        };
        let seal: Self = serde_json::from_slice(bytes).map_err(|error| not_one(&error))?;
        if seal.format_version != SEAL_FORMAT_VERSION {
            return Err(not_one(&format!(
                "format {} is not {SEAL_FORMAT_VERSION}",
                seal.format_version
            )));
        }
        if seal != Self::new(seal.release.manifest_sha256, seal.datasets.clone()) {
            return Err(not_one(
                &"its roots are not those of its parts in their order",
            ));
        }
        Ok(seal)
    }

    pub fn to_json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("a seal is plain data");
        bytes.push(b'\n');
        bytes
    }

    fn new(manifest_sha256: Digest, mut datasets: BTreeMap<String, Vec<SealedPart>>) -> Self {
        datasets
            .values_mut()
            .for_each(|parts| parts.sort_by(|a, b| a.order().cmp(&b.order())));
        let leaves: Vec<Digest> = datasets
            .iter()
            .map(|(id, parts)| SealedDataset::new(id, parts).leaf())
            .collect();
        let release = SealedRelease {
            datasets: datasets.len() as u64,
            manifest_sha256,
            records_root: root(&leaves),
            release_id: ReleaseId::from_digest(&manifest_sha256),
        };
        Self {
            format_version: SEAL_FORMAT_VERSION,
            release,
            datasets,
        }
    }
}

/// Computes the seal of a release. Takes existing roots from `known`, by digest and rule, or from
/// `made`, by digest. Reads the parts without an existing root, a few at a time.
///
/// # Errors
/// `Store`, when a part is missing or damaged, or when its number of records differs from the
/// manifest.
pub async fn seal(
    releases: &Releases,
    manifest: &Manifest,
    known: Option<&Seal>,
    made: &Roots,
) -> Result<Seal> {
    let known: BTreeMap<(Digest, Option<&str>), Digest> = known
        .iter()
        .flat_map(|seal| seal.datasets.values().flatten())
        .map(|part| ((part.sha256, part.subjects_end.as_deref()), part.root))
        .collect();
    // Two parts are read while other parts are hashed.
    let at_a_time = 2 + std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut parts: Vec<(&String, &Part)> = manifest
        .datasets
        .iter()
        .flat_map(|(id, dataset)| dataset.parts.iter().map(move |part| (id, part)))
        .collect();
    // Process the largest parts first, so that no large part is left when all others are done.
    parts.sort_by_key(|(_, part)| std::cmp::Reverse(part.rows));
    let root = |part: &Part| {
        known
            .get(&(part.sha256, subjects_end(part)))
            .copied()
            .or_else(|| made.get(part))
    };
    let to_read = parts
        .iter()
        .filter(|(_, part)| root(part).is_none())
        .count();
    tracing::debug!(release.id = %manifest.release_id, parts = parts.len(), to_read, "sealing");
    let sealed = stream::iter(parts.into_iter().map(|(id, part)| {
        let subjects_end = subjects_end(part);
        let root = root(part);
        async move {
            let root = match root {
                Some(root) => root,
                None => root_of(releases, manifest, part)
                    .await
                    .context(|| format!("part {}", part.path))?,
            };
            let sealed = SealedPart {
                path: part.path.clone(),
                records: part.rows,
                root,
                sha256: part.sha256,
                subjects_end: subjects_end.map(str::to_owned),
            };
            Ok::<_, Error>((id.clone(), sealed))
        }
    }));
    let sealed: Vec<(String, SealedPart)> =
        sealed.buffer_unordered(at_a_time).try_collect().await?;
    let mut datasets: BTreeMap<String, Vec<SealedPart>> = manifest
        .datasets
        .keys()
        .map(|id| (id.clone(), Vec::new()))
        .collect();
    for (id, part) in sealed {
        datasets.entry(id).or_default().push(part);
    }
    Ok(Seal::new(manifest.derive_digest(), datasets))
}

async fn root_of(releases: &Releases, manifest: &Manifest, part: &Part) -> Result<Digest> {
    let bytes = releases.part(&manifest.release_id, part).await?;
    let part = part.clone();
    let root = tokio::task::spawn_blocking(move || root_of_part(&part, bytes)).await;
    root.map_err(|error| Error::store(format!("reading a part failed: {error}")))?
}

/// Serialises a number as a string of digits.
mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    /// Parses a number from a string of digits.
    ///
    /// # Errors
    /// When the text is not a number in its canonical spelling.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number: u64 = text.parse().map_err(D::Error::custom)?;
        // Only one spelling is valid, because a different spelling would have a different hash.
        if number.to_string() == text {
            Ok(number)
        } else {
            Err(D::Error::custom(format!(
                "`{text}` is not how {number} is written"
            )))
        }
    }
}
