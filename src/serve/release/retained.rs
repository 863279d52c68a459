//! Earlier releases in memory: which are kept, which one is being loaded, and how much room they
//! may take together. What a release takes is estimated from its rows, by what the first one took
//! that this server loaded.

use std::sync::Arc;

use tokio::sync::watch;

use super::loaded::Release;
use super::not_served::NotServed;
use pubdata_core::ids::ReleaseId;
use pubdata_store::Manifest;

/// What comes of a release that is being loaded; none while it is.
pub type Loading = Option<Result<Arc<Release>, NotServed>>;

/// Memory of a row where it cannot be measured.
const BYTES_PER_ROW: f64 = 64.0;

/// The earlier releases that are kept.
pub struct Retained {
    /// The least recently used first.
    kept: Vec<Arc<Release>>,
    /// The one that the channel pointed at before, for a rollback. Requests are not answered from
    /// it.
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

    /// Takes what the first release took as the measure for all.
    pub fn measure(&mut self, manifest: &Manifest, taken_bytes: Option<u64>) {
        let rows = rows(manifest);
        if let Some(taken) = taken_bytes.filter(|_| rows > 0) {
            self.bytes_per_row = taken as f64 / rows as f64;
        }
    }

    /// A release that is kept, and is now the last to go.
    pub fn get(&mut self, id: &ReleaseId) -> Option<Arc<Release>> {
        let index = self
            .kept
            .iter()
            .position(|release| release.manifest.release_id == *id)?;
        let release = Some(self.kept.remove(index)).filter(|release| release.is_intact())?;
        self.kept.push(release.clone());
        Some(release)
    }

    /// Keeps the release that the channel no longer points at, where there is room beside the
    /// others.
    pub fn keep_previous(&mut self, release: Arc<Release>) {
        self.previous = None;
        if self.taken_bytes() + self.bytes(&release.manifest) <= self.limit_bytes as f64 {
            self.previous = Some(release);
        }
    }

    /// The release that the channel pointed at before, if it is that one.
    pub fn previous(&self, id: &ReleaseId) -> Option<Arc<Release>> {
        self.previous
            .clone()
            .filter(|release| release.manifest.release_id == *id && release.is_intact())
    }

    /// Where to wait for a release that is being loaded.
    pub fn loading(&self, id: &ReleaseId) -> Option<watch::Receiver<Loading>> {
        // One that broke off without a word is to begin again.
        self.loading
            .as_ref()
            .filter(|(loading, waiting)| loading == id && waiting.has_changed().is_ok())
            .map(|(_, waiting)| waiting.clone())
    }

    pub fn begin(&mut self, id: &ReleaseId, waiting: watch::Receiver<Loading>) {
        self.loading = Some((id.clone(), waiting));
    }

    /// Lets go of so many releases that another one has room; of the last one too, where it alone
    /// is larger than all may be together.
    pub fn make_room(&mut self, manifest: &Manifest) {
        let wanted = self.bytes(manifest);
        let is_full = |this: &Self| this.taken_bytes() + wanted > this.limit_bytes as f64;
        // Somebody asks for the others now.
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

    /// Keeps what was loaded; nothing is being loaded any more.
    pub fn end(&mut self, id: &ReleaseId, release: Option<&Arc<Release>>) {
        self.loading = self.loading.take().filter(|(loading, _)| loading != id);
        self.kept.extend(release.cloned());
        // The one before may be this one, or have come while this one was loaded.
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

/// Memory that this program has now, where the system says it.
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
