//! Reads, writes and deletes releases in a folder or an object store. A release exists once its
//! manifest, which is written last, exists.

use crate::parquet_error;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt};
use object_store::path::Path;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::statistics::Statistics;

use super::files::open_file;
use super::record::{Record, find_record};
use super::{Home, Manifest, Part, PartFiles, SharedStore, Staging};
use pubdata_core::error::{Error, IoExt, Result, ResultExt};
use pubdata_core::ids::{Digest, RecordId, ReleaseId};

/// Number of parts to fetch concurrently before a release is served.
const FETCHED_AT_A_TIME: usize = 8;

/// Number of bytes to read from the end of a part, which suffices for the statistics of most parts.
const FIRST_READ_OF_METADATA: u64 = 64 << 10;

const MANIFEST: &str = "manifest.json";

/// The published releases, and the channels that point at them, in a folder or an object store.
///
/// ```text
/// releases/<release_id>/manifest.json        written last: without it the release does not exist
/// releases/<release_id>/<part path>
/// releases/<release_id>/declarations/<sha256>.jsonl
/// releases/<release_id>/datapackage.json
/// releases/<release_id>/<dataset_id>/_delta_log/00000000000000000000.json
/// channels/<channel>/<generation>.json       ten digits; the highest number is current
/// unrenewed/<channel>.json                   stale tasks of the channel's last run; replaced only when they change
/// ```
#[derive(Debug, Clone)]
pub struct Releases {
    pub(super) store: SharedStore,
    /// Local cache of parts, for processes that read the same parts repeatedly.
    part_files: Option<Arc<PartFiles>>,
}

/// An unfinished release without a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncompleteRelease {
    pub release_id: ReleaseId,
    /// When the newest file of the release was written.
    pub modified: jiff::Timestamp,
}

impl Releases {
    /// Opens the store as [`SharedStore::open`] does.
    pub fn open(home: &Home, url: Option<&str>) -> Result<Self> {
        Ok(Self {
            store: SharedStore::open(home, url)?,
            part_files: None,
        })
    }

    /// Enables caching of parts on the local disk. Has no effect if the store is a folder.
    #[must_use]
    pub fn keeping(mut self, files: PartFiles) -> Self {
        self.part_files = self.folder().is_none().then(|| Arc::new(files));
        self
    }

    /// Fetches as many parts of a release into the local cache as fit, skipping parts that are
    /// already cached.
    pub async fn prefetch(&self, manifest: &Manifest) -> Result<()> {
        let Some(files) = &self.part_files else {
            return Ok(());
        };
        let mut room = files.limit_bytes();
        let fits = |part: &&Part| {
            let left = room.checked_sub(part.size_bytes);
            room = left.unwrap_or(room);
            left.is_some()
        };
        let parts = manifest
            .datasets
            .values()
            .flat_map(|dataset| &dataset.parts)
            .filter(fits)
            .filter(|part| !files.has(&part.sha256));
        let parts: Vec<&Part> = parts.collect();
        for together in parts.chunks(FETCHED_AT_A_TIME) {
            try_join_all(
                together
                    .iter()
                    .map(|part| self.part_if_present(&manifest.release_id, part)),
            )
            .await?;
        }
        Ok(())
    }

    /// Returns the store that contains the releases.
    pub fn store(&self) -> &SharedStore {
        &self.store
    }

    /// Returns the store's folder if the store is a folder on this machine.
    pub fn folder(&self) -> Option<&FilePath> {
        self.store.folder()
    }

    /// Reads and checks a release's manifest.
    ///
    /// # Errors
    /// `Store`, when the release does not exist, or when its manifest was changed or has a newer
    /// format.
    pub async fn manifest(&self, id: &ReleaseId) -> Result<Manifest> {
        let with_hint = |error: Error| {
            match error.hint_text() {
            Some(_) => error,
            None => error.hint("`pubdata releases rollback` points a channel at an earlier release; or restore its manifest.json from a backup"),
        }
        };
        let manifest = Manifest::from_json(&self.manifest_bytes(id).await?)
            .map_err(with_hint)
            .context(|| format!("release {id}"))?;
        if manifest.release_id != *id {
            return Err(with_hint(Error::store(format!(
                "the folder of release {id} holds the manifest of {}",
                manifest.release_id
            ))));
        }
        Ok(manifest)
    }

    /// Returns the manifest of the channel's current release, with stale tasks flagged. Returns
    /// `None` if nothing was published on the channel.
    ///
    /// # Errors
    /// `Config`, when the name is not a valid channel name; `Store`, when the pointer or the
    /// manifest cannot be read.
    pub async fn present(&self, channel: &str) -> Result<Option<Manifest>> {
        let Some(entry) = self.channel(channel).await? else {
            return Ok(None);
        };
        let mut manifest = self.manifest(&entry.release_id).await?;
        manifest.mark(self.stale_tasks_if_readable(channel).await.as_ref());
        Ok(Some(manifest))
    }

    /// Reads the bytes of a manifest.
    ///
    /// # Errors
    /// `Store`, when the release does not exist.
    pub async fn manifest_bytes(&self, id: &ReleaseId) -> Result<Bytes> {
        match self.store.read(&manifest_key(id)).await? {
            Some(bytes) => Ok(bytes),
            None => Err(Error::store(format!("there is no release {id}"))
                .hint("`pubdata releases list` shows those that are kept")),
        }
    }

    /// Returns whether the release exists and is complete.
    pub async fn exists(&self, id: &ReleaseId) -> Result<bool> {
        Ok(self
            .store
            .size(&manifest_key(id))
            .await
            .context(|| format!("release {id}"))?
            .is_some())
    }

    /// Returns the complete releases, sorted by id.
    pub async fn list(&self) -> Result<Vec<ReleaseId>> {
        let mut ids = Vec::new();
        for id in self.folders().await? {
            if self.exists(&id).await? {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// Returns the unfinished releases, sorted by id.
    pub async fn list_incomplete(&self) -> Result<Vec<IncompleteRelease>> {
        let mut incomplete = Vec::new();
        for release_id in self.folders().await? {
            if self.exists(&release_id).await? {
                continue;
            }
            let files = self.store.list(&release_key(&release_id)).await?;
            let modified = files
                .iter()
                .map(|file| file.modified)
                .max()
                .unwrap_or(jiff::Timestamp::UNIX_EPOCH);
            incomplete.push(IncompleteRelease {
                release_id,
                modified,
            });
        }
        Ok(incomplete)
    }

    async fn folders(&self) -> Result<Vec<ReleaseId>> {
        Ok(self
            .store
            .folders(&Path::from("releases"))
            .await?
            .iter()
            .filter_map(|name| name.parse().ok())
            .collect())
    }

    /// Reads an entire part without verifying its hash.
    ///
    /// # Errors
    /// `Store`, when the part is missing.
    pub async fn part(&self, id: &ReleaseId, part: &Part) -> Result<Bytes> {
        self.part_if_present(id, part)
            .await?
            .ok_or_else(|| missing(id, part))
    }

    /// Finds a record in a part without verifying its hash. If the store is a folder, reads only
    /// the required bytes.
    ///
    /// # Errors
    /// `Store`, when the part is missing or malformed.
    pub async fn find_record(
        &self,
        id: &ReleaseId,
        part: &Part,
        record_id: &RecordId,
    ) -> Result<Option<Record>> {
        let found = match self.folder() {
            Some(folder) => {
                let path = folder.join(part_key(id, &part.path)?.as_ref());
                match open_file(&path) {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                        return Err(missing(id, part));
                    }
                    opened => find_record(opened.at("open", &path)?, record_id),
                }
            }
            None => find_record(self.part(id, part).await?, record_id),
        };
        found.context(|| format!("part {} of release {id}", part.path))
    }

    /// Reads an entire part; `None` if the part does not exist.
    ///
    /// # Errors
    /// `Store`, when the part exists but cannot be read, or when its path is not valid.
    pub async fn part_if_present(&self, id: &ReleaseId, part: &Part) -> Result<Option<Bytes>> {
        let key = part_key(id, &part.path)?;
        let Some(files) = self.part_files.clone() else {
            return self.store.read(&key).await;
        };
        let (sha256, reading) = (part.sha256, files.clone());
        let read = tokio::task::spawn_blocking(move || reading.read(&sha256)).await;
        if let Some(bytes) =
            read.map_err(|error| Error::store(format!("reading a part failed: {error}")))?
        {
            return Ok(Some(bytes));
        }
        let found = self.store.read(&key).await?;
        if let Some(bytes) = found.clone() {
            let keep = move || {
                if Digest::sha256(&bytes) == sha256 {
                    files.write(&sha256, &bytes)
                } else {
                    Ok(())
                }
            };
            let kept = tokio::task::spawn_blocking(keep).await;
            // If disk space is insufficient, the part is fetched again the next time.
            if let Err(error) = kept.unwrap_or_else(|error| Err(Error::store(error.to_string()))) {
                tracing::warn!("a part is not kept on disk: {error}");
            }
        }
        Ok(found)
    }

    /// Returns the number of nulls in each flat column of the given parts, taken from the parts'
    /// statistics. Omits columns for which one of the parts has no count. Reads only the ends of
    /// the files.
    ///
    /// # Errors
    /// `Store`, when the end of a part cannot be read, or when a part's path is not valid.
    pub async fn null_counts(
        &self,
        id: &ReleaseId,
        parts: &[&Part],
    ) -> Result<BTreeMap<String, u64>> {
        let reading = stream::iter(parts.iter().map(|part| async move {
            self.metadata(&part_key(id, &part.path)?, part.size_bytes)
                .await
        }));
        let mut counts: BTreeMap<String, Option<u64>> = BTreeMap::new();
        let mut read = reading.buffer_unordered(FETCHED_AT_A_TIME);
        while let Some(metadata) = read.next().await {
            for column in metadata?
                .row_groups()
                .iter()
                .flat_map(RowGroupMetaData::columns)
            {
                if let [name] = column.column_path().parts() {
                    let nulls = column.statistics().and_then(Statistics::null_count_opt);
                    let total = counts.entry(name.clone()).or_insert(Some(0));
                    *total = total.zip(nulls).map(|(total, nulls)| total + nulls);
                }
            }
        }
        Ok(counts
            .into_iter()
            .filter_map(|(name, count)| Some((name, count?)))
            .collect())
    }

    async fn metadata(&self, key: &Path, size_bytes: u64) -> Result<ParquetMetaData> {
        let mut length = FIRST_READ_OF_METADATA.min(size_bytes);
        loop {
            let bytes = self
                .store
                .read_range(key, size_bytes - length..size_bytes)
                .await?;
            let mut reader = ParquetMetaDataReader::new();
            match reader.try_parse_sized(&bytes, size_bytes) {
                Ok(()) => return reader.finish().map_err(parquet_error),
                Err(ParquetError::NeedMoreData(needed))
                    if needed as u64 > length && needed as u64 <= size_bytes =>
                {
                    length = needed as u64;
                }
                Err(error) => return Err(parquet_error(error).context(key.to_string())),
            }
        }
    }

    /// Returns the URL of a dataset's folder in a release.
    pub fn dataset_url(&self, id: &ReleaseId, dataset_id: &str) -> String {
        format!("{}/{}/{dataset_id}", self.store.url(), release_key(id))
    }

    /// Writes a part durably, replacing any file left by an interrupted attempt.
    ///
    /// # Errors
    /// `Store`, when the part cannot be written, or when its path is not valid.
    pub async fn put_part(&self, id: &ReleaseId, part_path: &str, bytes: Bytes) -> Result<()> {
        self.store.put(&part_key(id, part_path)?, bytes).await
    }

    /// Adds a staged part to a release as a hard link, without writing the bytes again. Returns
    /// false if the build and the release are not in the same folder, if the file system does not
    /// support hard links, or if the part does not exist.
    ///
    /// # Errors
    /// `Store`, when the part exists but cannot be made durable, or when its path is not valid.
    pub async fn link_staged(
        &self,
        staging: &Staging,
        id: &ReleaseId,
        part_path: &str,
    ) -> Result<bool> {
        let path = staging.path(part_path);
        let Some(from) = self
            .folder()
            .and_then(|folder| path.strip_prefix(folder).ok()?.to_str())
        else {
            return Ok(false);
        };
        let Ok(from) = Path::parse(from) else {
            return Ok(false);
        };
        let to = part_key(id, part_path)?;
        // The age of a release without a manifest is that of its newest file. The file must
        // therefore have the time of the release, not of the build.
        let renew = |file: File| {
            file.set_modified(SystemTime::now())
                .and_then(|()| file.sync_all())
        };
        let make_durable = move || match open_file(&path).and_then(renew) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            synced => synced.map(|()| true).at("make durable", &path),
        };
        let is_there = tokio::task::spawn_blocking(make_durable)
            .await
            .map_err(|error| {
                Error::store(format!("making a part durable was stopped: {error}"))
            })??;
        Ok(is_there && self.store.copy(&from, &to).await.unwrap_or(false))
    }

    /// Adds a part of another release without uploading the bytes again: as a hard link in a
    /// folder, or as a copy within a bucket. Returns false if the other release does not contain
    /// the part.
    ///
    /// # Errors
    /// `Store`, when the part exists but cannot be linked or copied, or when a path is not valid.
    pub async fn link_part(
        &self,
        from: &ReleaseId,
        from_path: &str,
        to: &ReleaseId,
        to_path: &str,
    ) -> Result<bool> {
        let copied = self
            .store
            .copy(&part_key(from, from_path)?, &part_key(to, to_path)?)
            .await;
        copied.context(|| format!("release {to}: part {to_path} of release {from}"))
    }

    /// Copies a part from another location in the same store, without transferring the bytes
    /// through this machine. Returns false if the part does not exist.
    ///
    /// # Errors
    /// Same as for [`Releases::link_part`].
    pub async fn take_part(&self, key: &str, to: &ReleaseId, to_path: &str) -> Result<bool> {
        self.store
            .copy(&Path::from(key), &part_key(to, to_path)?)
            .await
            .context(|| format!("release {to}: part {to_path}"))
    }

    /// Writes the manifest durably. From this point on, the release exists.
    pub async fn put_manifest(&self, manifest: &Manifest) -> Result<()> {
        let id = &manifest.release_id;
        self.store
            .put(&manifest_key(id), manifest.to_json().into())
            .await
    }

    /// Returns the location of a release's files, for use by other programs: a folder path, or a
    /// URL in a bucket.
    pub fn location(&self, id: &ReleaseId) -> String {
        let key = release_key(id);
        match self.folder() {
            Some(folder) => folder.join(key.as_ref()).display().to_string(),
            None => format!("{}/{key}", self.store.url()),
        }
    }

    /// Deletes a release. The manifest is deleted first, so that a partially deleted release counts
    /// as nonexistent. The caller must ensure that no channel points at the release.
    pub async fn delete_release(&self, id: &ReleaseId) -> Result<()> {
        let at_release = || format!("delete release {id}");
        self.store
            .delete(&manifest_key(id))
            .await
            .context(at_release)?;
        self.store
            .delete_folder(&release_key(id))
            .await
            .context(at_release)
    }
}

fn missing(id: &ReleaseId, part: &Part) -> Error {
    Error::store(format!("release {id}: part {} is missing", part.path))
        .hint("`pubdata verify` lists all that is damaged")
}

fn release_key(id: &ReleaseId) -> Path {
    Path::from_iter(["releases", id.as_str()])
}

fn manifest_key(id: &ReleaseId) -> Path {
    Path::from_iter(["releases", id.as_str(), MANIFEST])
}

pub(super) fn part_key(id: &ReleaseId, part_path: &str) -> Result<Path> {
    Path::parse(format!("releases/{id}/{part_path}")).map_err(|error| {
        Error::store(format!(
            "release {id}: `{part_path}` is not a part's path: {error}"
        ))
    })
}
