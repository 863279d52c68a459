//! Reads and writes the footer lines about a sharded part's subjects. A line is `KEY FINGERPRINT
//! ROWS`, with `-` as the fingerprint of a subject that is rebuilt whenever its shard is. The
//! part's rows are in key order.

use std::collections::BTreeMap;
use std::ops::Range;

use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Digest;

/// Footer key for the lines.
pub const SUBJECTS: &str = "subjects";
const NO_FINGERPRINT: &str = "-";

/// The inputs to a part in a sharded build.
#[derive(Debug, Clone)]
pub struct Lineage {
    /// Hash of the subjects and their fingerprints. Equal hashes mean equal parts.
    pub fingerprint: Digest,
    /// Fingerprints of the part's subjects by key; a subject to be rebuilt has none. The entire map
    /// is none if rows are not distinguished by subject.
    pub subjects: Option<BTreeMap<String, Option<Digest>>>,
}

/// Formats the footer lines, with each subject's row count in the part. Subjects absent from `rows`
/// have no rows.
///
/// # Errors
/// `Store` if rows belong to a subject that is not among `subjects`.
pub fn lines(
    subjects: &BTreeMap<String, Option<Digest>>,
    rows: &BTreeMap<&str, usize>,
) -> Result<String> {
    if let Some(subject) = rows
        .keys()
        .find(|subject| !subjects.contains_key(**subject))
    {
        return Err(Error::store(format!(
            "rows belong to {subject}, which is not a subject of the shard"
        )));
    }
    let line = |(key, fingerprint): (&String, &Option<Digest>)| {
        let fingerprint = fingerprint.map_or(NO_FINGERPRINT.to_owned(), |fingerprint| {
            fingerprint.to_string()
        });
        format!(
            "{key} {fingerprint} {}\n",
            rows.get(key.as_str()).unwrap_or(&0)
        )
    };
    Ok(subjects.iter().map(line).collect())
}

/// A subject in a published part.
#[derive(Debug, Clone)]
pub struct PartSubject {
    pub key: String,
    /// None if the subject is to be rebuilt.
    pub fingerprint: Option<Digest>,
    /// The subject's row range in the part.
    pub rows: Range<usize>,
}

impl PartSubject {
    /// Parses the footer lines.
    ///
    /// # Errors
    /// `Store`, quoting the first invalid line.
    pub fn all(lines: &str) -> Result<Vec<Self>> {
        let mut subjects: Vec<Self> = Vec::new();
        for line in lines.lines() {
            let subject = Self::read(line, subjects.last().map_or(0, |before| before.rows.end));
            let subject = subject.filter(|subject| {
                subjects
                    .last()
                    .is_none_or(|before| before.key < subject.key)
            });
            subjects.push(subject.ok_or_else(|| {
                Error::store(format!(
                    "`{line}` does not describe the next subject of a part"
                ))
            })?);
        }
        Ok(subjects)
    }

    fn read(line: &str, first: usize) -> Option<Self> {
        let [key, fingerprint, rows] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let fingerprint = if fingerprint == NO_FINGERPRINT {
            None
        } else {
            Some(fingerprint.parse().ok()?)
        };
        let end = first.checked_add(rows.parse().ok()?)?;
        Some(Self {
            key: key.to_owned(),
            fingerprint,
            rows: first..end,
        })
    }
}
