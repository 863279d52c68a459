//! Writes unreadable feed entries to a file of bounded size, each entry once.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::{Home, append_lines, files};
use pubdata_core::error::{IoExt, Result};
use pubdata_core::ids::Digest;
use pubdata_core::issue::Issue;

/// Maximum size of the file. A full file is renamed and replaces the previously renamed file.
const FILE_BYTES: u64 = 8 << 20;

/// The file of unreadable feed entries. A feed shows the same entry repeatedly, so each entry is
/// written only once.
pub struct Findings {
    path: PathBuf,
    known: HashSet<Digest>,
}

impl Findings {
    /// Opens the findings file in a home.
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

    /// Writes the new issues and returns how many were new.
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

/// Returns a digest that identifies an issue, independent of its position in the feed.
fn fingerprint(issue: &Issue) -> Digest {
    let text = issue.source_text.as_deref().unwrap_or(&issue.detail);
    Digest::sha256(
        format!(
            "{}\n{}\n{text}",
            issue.code,
            issue.record.as_deref().unwrap_or_default()
        )
        .as_bytes(),
    )
}
