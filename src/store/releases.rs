//! Reads, writes and deletes releases in a local folder or an S3-compatible store. One exists once its manifest is there, written last.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, ObjectStoreExt, PutMode};

use super::{Home, Manifest, Part};
use crate::error::{Error, IoExt, Result, ResultExt};
use crate::ids::ReleaseId;

const MANIFEST: &str = "manifest.json";

/// The published releases and the channels that point at them, in a local folder or in an S3-compatible store.
///
/// ```text
/// releases/<release_id>/manifest.json        written last: without it the release does not exist
/// releases/<release_id>/<part path>
/// releases/<release_id>/declarations/<sha256>.jsonl
/// channels/<channel>/<generation>.json       ten digits; the highest one is the channel's present
/// unrenewed/<channel>.json                   what its last run could not renew; replaced by each run that has other news
/// ```
#[derive(Debug, Clone)]
pub struct Releases {
    pub(super) store: Arc<dyn ObjectStore>,
    /// The folder, when the store is a local one.
    local_root: Option<PathBuf>,
}

/// A release that was begun and has no manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncompleteRelease {
    pub release_id: ReleaseId,
    /// When its newest file was written.
    pub modified: jiff::Timestamp,
}

impl Releases {
    /// Opens the store: the home itself without a URL, a folder for `file:///folder`, a bucket for `s3://bucket/prefix`, whose
    /// credentials, region and endpoint come from the usual `AWS_*` environment.
    ///
    /// # Errors
    /// `Config`, when the URL is not one of these forms or the S3 settings are not complete; `Store`, when the folder cannot be made.
    pub fn open(home: &Home, url: Option<&str>) -> Result<Self> {
        match url {
            None => Self::open_folder(home.root()),
            Some(url) => Self::open_url(url).context(|| format!("store `{url}`")),
        }
    }

    fn open_url(url: &str) -> Result<Self> {
        if let Some(rest) = url.strip_prefix("file:///") {
            let path = Path::from_url_path(rest).map_err(|error| Error::config(format!("not a folder: {error}")))?;
            return Self::open_folder(&FilePath::new("/").join(path.as_ref()));
        }
        let Some(rest) = url.strip_prefix("s3://") else {
            return Err(Error::config("not a store this program knows").hint("use `file:///folder` or `s3://bucket/prefix`"));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(Error::config("no bucket given").hint("use `s3://bucket/prefix`"));
        }
        let hint = "set AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_ENDPOINT for a store that is not Amazon's";
        let bucket = AmazonS3Builder::from_env().with_bucket_name(bucket).build().map_err(|error| Error::config(error.to_string()).hint(hint))?;
        let prefix = Path::parse(prefix).map_err(|error| Error::config(format!("not a prefix: {error}")))?;
        Ok(Self { store: Arc::new(PrefixStore::new(bucket, prefix)), local_root: None })
    }

    fn open_folder(root: &FilePath) -> Result<Self> {
        std::fs::create_dir_all(root).at("create folder", root)?;
        // `fsync` covers the file, its folder and every folder made on the way: a pointer never outlives what it points at.
        let store = LocalFileSystem::new_with_prefix(root)?.with_fsync(true);
        let local_root = root.canonicalize().at("find folder", root)?;
        Ok(Self { store: Arc::new(store), local_root: Some(local_root) })
    }

    /// The folder, when the store is one on this machine.
    pub fn folder(&self) -> Option<&FilePath> {
        self.local_root.as_deref()
    }

    /// Reads and checks a release's manifest.
    ///
    /// # Errors
    /// `Store`, when there is no such release, or its manifest was changed or is of a newer format.
    pub async fn manifest(&self, id: &ReleaseId) -> Result<Manifest> {
        let way_out = |error: Error| match error.way_out() {
            Some(_) => error,
            None => error.hint("`pubdata releases rollback` points a channel at an earlier release; or put its manifest.json back from a backup"),
        };
        let manifest = Manifest::from_json(&self.manifest_bytes(id).await?).map_err(way_out).context(|| format!("release {id}"))?;
        if manifest.release_id != *id {
            return Err(way_out(Error::store(format!("the folder of release {id} holds the manifest of {}", manifest.release_id))));
        }
        Ok(manifest)
    }

    /// The manifest of the release that a channel points at, marked with what could not be renewed since; none when nothing was published there.
    ///
    /// # Errors
    /// `Config`, when the name is not one a channel can have; `Store`, when pointer or manifest cannot be read.
    pub async fn present(&self, channel: &str) -> Result<Option<Manifest>> {
        let Some(entry) = self.channel(channel).await? else { return Ok(None) };
        let mut manifest = self.manifest(&entry.release_id).await?;
        manifest.mark(self.unrenewed_if_readable(channel).await.as_ref());
        Ok(Some(manifest))
    }

    /// Reads a manifest's bytes as they are.
    ///
    /// # Errors
    /// `Store`, when there is no such release.
    pub async fn manifest_bytes(&self, id: &ReleaseId) -> Result<Bytes> {
        match self.read(&manifest_key(id)).await? {
            Some(bytes) => Ok(bytes),
            None => Err(Error::store(format!("there is no release {id}")).hint("`pubdata releases list` shows those that are kept")),
        }
    }

    /// Whether the release is there and complete.
    ///
    /// # Errors
    /// `Store`, when the store cannot be asked.
    pub async fn exists(&self, id: &ReleaseId) -> Result<bool> {
        match self.store.head(&manifest_key(id)).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(Error::from(error).context(format!("release {id}"))),
        }
    }

    /// The complete releases, sorted by id.
    ///
    /// # Errors
    /// `Store`, when the releases cannot be listed.
    pub async fn list(&self) -> Result<Vec<ReleaseId>> {
        let mut ids = Vec::new();
        for id in self.folders().await? {
            if self.exists(&id).await? {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// The releases that were begun and never finished, sorted by id.
    ///
    /// # Errors
    /// `Store`, when the releases or their files cannot be listed.
    pub async fn list_incomplete(&self) -> Result<Vec<IncompleteRelease>> {
        let mut incomplete = Vec::new();
        for release_id in self.folders().await? {
            if self.exists(&release_id).await? {
                continue;
            }
            let mut modified = jiff::Timestamp::UNIX_EPOCH;
            let mut files = self.store.list(Some(&release_key(&release_id)));
            while let Some(file) = files.next().await {
                let second = file?.last_modified.timestamp();
                modified = modified.max(jiff::Timestamp::from_second(second).unwrap_or(jiff::Timestamp::MAX));
            }
            incomplete.push(IncompleteRelease { release_id, modified });
        }
        Ok(incomplete)
    }

    async fn folders(&self) -> Result<Vec<ReleaseId>> {
        let listing = self.store.list_with_delimiter(Some(&Path::from("releases"))).await?;
        let mut ids: Vec<ReleaseId> = listing.common_prefixes.iter().filter_map(|path| path.filename()?.parse().ok()).collect();
        ids.sort();
        Ok(ids)
    }

    /// Reads a whole part; its hash is not checked here.
    ///
    /// # Errors
    /// `Store`, when the part is missing.
    pub async fn part(&self, id: &ReleaseId, part: &Part) -> Result<Bytes> {
        let missing = || Error::store(format!("release {id}: part {} is missing", part.path)).hint("`pubdata verify` lists all that is damaged");
        self.part_if_present(id, part).await?.ok_or_else(missing)
    }

    /// Reads a whole part, if it is there.
    ///
    /// # Errors
    /// `Store`, when the part is there and cannot be read, or its path is not a part's.
    pub async fn part_if_present(&self, id: &ReleaseId, part: &Part) -> Result<Option<Bytes>> {
        self.read(&part_key(id, &part.path)?).await
    }

    /// Writes a part, durably, in place of what may be there from an interrupted try.
    ///
    /// # Errors
    /// `Store`, when the part cannot be written, or its path is not a part's.
    pub async fn put_part(&self, id: &ReleaseId, part_path: &str, bytes: Bytes) -> Result<()> {
        let key = part_key(id, part_path)?;
        self.store.put(&key, bytes.into()).await.map_err(|error| Error::from(error).context(key.to_string()))?;
        Ok(())
    }

    /// Takes over a part of another release without writing it again: a hard link in a folder, a copy within the bucket on S3.
    /// Returns false when that release does not have it.
    ///
    /// # Errors
    /// `Store`, when the part is there and cannot be taken over, or a path is not a part's.
    pub async fn link_part(&self, from: &ReleaseId, from_path: &str, to: &ReleaseId, to_path: &str) -> Result<bool> {
        match self.store.copy(&part_key(from, from_path)?, &part_key(to, to_path)?).await {
            Ok(()) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(Error::from(error).context(format!("release {to}: part {to_path} of release {from}"))),
        }
    }

    /// Writes the manifest, durably: from now on the release exists.
    ///
    /// # Errors
    /// `Store`, when it cannot be written.
    pub async fn put_manifest(&self, manifest: &Manifest) -> Result<()> {
        let id = &manifest.release_id;
        let put = self.store.put(&manifest_key(id), manifest.to_json().into()).await;
        put.map(|_| ()).map_err(|error| Error::from(error).context(manifest_key(id).to_string()))
    }

    /// Deletes a release, its manifest first, so that a half deleted one does not exist. The caller knows that no channel points at it.
    ///
    /// # Errors
    /// `Store`, when a file cannot be deleted, or, in a local folder, when there is no such release.
    pub async fn delete_release(&self, id: &ReleaseId) -> Result<()> {
        let at_release = |error: object_store::Error| Error::from(error).context(format!("delete release {id}"));
        match self.store.delete(&manifest_key(id)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(at_release(error)),
        }
        if let Some(root) = &self.local_root {
            let folder = root.join("releases").join(id.as_str());
            return std::fs::remove_dir_all(&folder).at("delete folder", &folder);
        }
        let mut files = self.store.list(Some(&release_key(id)));
        while let Some(file) = files.next().await {
            self.store.delete(&file.map_err(at_release)?.location).await.map_err(at_release)?;
        }
        Ok(())
    }

    pub(super) async fn read(&self, key: &Path) -> Result<Option<Bytes>> {
        let at_key = |error: object_store::Error| Error::from(error).context(key.to_string());
        match self.store.get(key).await {
            Ok(found) => Ok(Some(found.bytes().await.map_err(at_key)?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(at_key(error)),
        }
    }

    /// Creates a file that must not exist yet; returns whether it was this caller who made it.
    pub(super) async fn create(&self, key: &Path, bytes: Vec<u8>) -> Result<bool> {
        match self.store.put_opts(key, bytes.into(), PutMode::Create.into()).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => Ok(false),
            Err(error) => Err(Error::from(error).context(key.to_string())),
        }
    }
}

fn release_key(id: &ReleaseId) -> Path {
    Path::from_iter(["releases", id.as_str()])
}

fn manifest_key(id: &ReleaseId) -> Path {
    Path::from_iter(["releases", id.as_str(), MANIFEST])
}

pub(super) fn part_key(id: &ReleaseId, part_path: &str) -> Result<Path> {
    Path::parse(format!("releases/{id}/{part_path}")).map_err(|error| Error::store(format!("release {id}: `{part_path}` is not a part's path: {error}")))
}
