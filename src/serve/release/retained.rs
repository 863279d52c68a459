//! Keeps earlier releases in memory within a limit, and tracks the release that is being loaded.
//! Estimates the size of a release from its row count, using the memory per row of the first
//! release that this server loaded.

use std::sync::Arc;

use tokio::sync::watch;

use super::loaded::Release;
use super::release_unavailable::ReleaseUnavailable;
use pubdata_core::ids::ReleaseId;
use pubdata_store::Manifest;

/// Outcome of a release load; `None` until the outcome is known.
pub type Loading = Option<Result<Arc<Release>, ReleaseUnavailable>>;

/// Memory per row if it cannot be measured.
const BYTES_PER_ROW: f64 = 64.0;

/// Earlier releases that are kept.
pub struct Retained {
    /// Kept releases, least recently used first.
    kept: Vec<Arc<Release>>,
    /// Previous release of the channel, kept for a rollback. It answers no requests.
    previous: Option<Arc<Release>>,
    loading: Option<(ReleaseId, watch::Receiver<Loading>)>,
    limit_bytes: usize,
    bytes_per_row: f64,
}

impl Retained {
    pub fn new(limit_bytes: usize) -> Self {
        Self {
            kept: Vec::new(),
            previous: None,
            loading: None,
            limit_bytes,
            bytes_per_row: BYTES_PER_ROW,
        }
    }

    /// Sets the memory per row from the memory that the first release took.
    pub fn measure(&mut self, manifest: &Manifest, taken_bytes: Option<u64>) {
        let rows = rows(manifest);
        if let Some(taken) = taken_bytes.filter(|_| rows > 0) {
            self.bytes_per_row = taken as f64 / rows as f64;
        }
    }

    /// Returns a kept release, and makes it the most recently used one.
    pub fn get(&mut self, id: &ReleaseId) -> Option<Arc<Release>> {
        let index = self
            .kept
            .iter()
            .position(|release| release.manifest.release_id == *id)?;
        let release = Some(self.kept.remove(index)).filter(|release| release.is_intact())?;
        self.kept.push(release.clone());
        Some(release)
    }

    /// Keeps the release that the channel no longer points to, if it fits next to the other
    /// releases.
    pub fn keep_previous(&mut self, release: Arc<Release>) {
        self.previous = None;
        if self.taken_bytes() + self.bytes(&release.manifest) <= self.limit_bytes as f64 {
            self.previous = Some(release);
        }
    }

    /// Returns the previous release of the channel, if its id is `id`.
    pub fn previous(&self, id: &ReleaseId) -> Option<Arc<Release>> {
        self.previous
            .clone()
            .filter(|release| release.manifest.release_id == *id && release.is_intact())
    }

    /// Returns the receiver of a release that is being loaded.
    pub fn loading(&self, id: &ReleaseId) -> Option<watch::Receiver<Loading>> {
        // A load that finished without an outcome has to start again.
        self.loading
            .as_ref()
            .filter(|(loading, waiting)| loading == id && waiting.has_changed().is_ok())
            .map(|(_, waiting)| waiting.clone())
    }

    pub fn begin(&mut self, id: &ReleaseId, waiting: watch::Receiver<Loading>) {
        self.loading = Some((id.clone(), waiting));
    }

    /// Drops releases until another release fits. Drops all releases if the new release alone
    /// exceeds the limit.
    pub fn make_room(&mut self, manifest: &Manifest) {
        let needed = self.bytes(manifest);
        let is_full = |this: &Self| this.taken_bytes() + needed > this.limit_bytes as f64;
        // The other releases answer requests, so the previous release is dropped first.
        if is_full(self) {
            self.previous = None;
        }
        while !self.kept.is_empty() && is_full(self) {
            self.kept.remove(0);
        }
    }

    fn taken_bytes(&self) -> f64 {
        self.kept
            .iter()
            .chain(&self.previous)
            .map(|release| self.bytes(&release.manifest))
            .sum()
    }

    /// Retains a loaded release, and removes its loading state.
    pub fn end(&mut self, id: &ReleaseId, release: Option<&Arc<Release>>) {
        self.loading = self.loading.take().filter(|(loading, _)| loading != id);
        self.kept.extend(release.cloned());
        // The previous release may be this release, or may have been set during the load.
        let is_kept = self
            .previous
            .as_ref()
            .is_some_and(|previous| release.is_some() && previous.manifest.release_id == *id);
        if is_kept || self.taken_bytes() > self.limit_bytes as f64 {
            self.previous = None;
        }
    }

    fn bytes(&self, manifest: &Manifest) -> f64 {
        rows(manifest) as f64 * self.bytes_per_row
    }
}

fn rows(manifest: &Manifest) -> u64 {
    manifest
        .datasets
        .values()
        .flat_map(|dataset| &dataset.parts)
        .map(|part| part.rows)
        .sum()
}

/// Returns this process's resident memory in bytes, if the system reports it.
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?
        .trim()
        .strip_suffix(" kB")?
        .parse::<u64>()
        .ok()?;
    Some(kilobytes * 1_024)
}
