//! The file of feed entries that could not be read, each written once however often a feed shows
//! it. It cannot grow without bound.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::{Home, append_lines, files};
use pubdata_core::error::{IoExt, Result};
use pubdata_core::ids::Digest;
use pubdata_core::issue::Issue;

/// Findings beyond this size go to a second file, which is replaced.
const FILE_BYTES: u64 = 8 << 20;

/// Entries of feeds that could not be read, each once: a feed shows the same entry again and again.
pub struct Findings {
    path: PathBuf,
    known: HashSet<Digest>,
}

impl Findings {
    /// Opens the file of a home.
    ///
    /// # Errors
    /// `Store`, when it cannot be read.
    pub fn open(home: &Home) -> Result<Self> {
        let path = home.stream_dir().join("findings.jsonl");
        let mut known = HashSet::new();
        for path in [path.clone(), path.with_extension("1.jsonl")] {
            match files::read_file(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                text => known.extend(
                    text.at("read", &path)?
                        .split(|byte| *byte == b'\n')
                        .filter_map(|line| serde_json::from_slice(line).ok())
                        .map(|issue| fingerprint(&issue)),
                ),
            }
        }
        Ok(Self { path, known })
    }

    /// Writes the findings that are new and returns how many those are.
    ///
    /// # Errors
    /// `Store`, when the file cannot be written.
    pub fn add(&mut self, mut issues: Vec<Issue>) -> Result<usize> {
        issues.retain(|issue| self.known.insert(fingerprint(issue)));
        if issues.is_empty() {
            return Ok(0);
        }
        if std::fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() > FILE_BYTES) {
            let second = self.path.with_extension("1.jsonl");
            std::fs::rename(&self.path, &second).at("rename to", &second)?;
        }
        append_lines(&self.path, &issues)?;
        Ok(issues.len())
    }
}

/// What makes a finding the same, wherever in the feed it stands.
fn fingerprint(issue: &Issue) -> Digest {
    let text = issue.source_text.as_deref().unwrap_or(&issue.detail);
    Digest::of(
        format!(
            "{}\n{}\n{text}",
            issue.code,
            issue.record.as_deref().unwrap_or_default()
        )
        .as_bytes(),
    )
}
