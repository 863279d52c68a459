//! The lines about its subjects that the footer of a sharded build's part has: `KEY FINGERPRINT
//! ROWS`, with `-` for a subject that is to be built again whenever its shard is. The rows stand in
//! the order of the keys.

use std::collections::BTreeMap;
use std::ops::Range;

use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Digest;

/// Key of the lines among the footer's entries.
pub const SUBJECTS: &str = "subjects";
const NO_FINGERPRINT: &str = "-";

/// What a part of a sharded build was made from.
#[derive(Debug, Clone)]
pub struct Lineage {
    /// Of the subjects and their fingerprints: an equal one means an equal part.
    pub fingerprint: Digest,
    /// The subjects that the rows are of by their keys; those that are to be built again without a
    /// fingerprint. None, when rows are not told apart by them.
    pub subjects: Option<BTreeMap<String, Option<Digest>>>,
}

/// The footer's lines, with the number of rows that each subject has in the part; none means that
/// it has no rows.
///
/// # Errors
/// `Store`, when rows are of a subject that the part was not made from.
pub fn lines(
    subjects: &BTreeMap<String, Option<Digest>>,
    rows: &BTreeMap<&str, usize>,
) -> Result<String> {
    if let Some(subject) = rows
        .keys()
        .find(|subject| !subjects.contains_key(**subject))
    {
        return Err(Error::store(format!(
            "rows are of {subject}, which is no subject of the shard"
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

/// A subject of a published part.
#[derive(Debug, Clone)]
pub struct PartSubject {
    pub key: String,
    /// None, when it is to be built again.
    pub fingerprint: Option<Digest>,
    /// Its rows in the part.
    pub rows: Range<usize>,
}

impl PartSubject {
    /// Reads the footer's lines.
    ///
    /// # Errors
    /// `Store`, naming the first line that is none.
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
                    "`{line}` is no line about the next subject of a part"
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
