//! Reads and writes the shared store: a folder, or a bucket in an object store. Files are created
//! once or replaced as a whole. Conflicts between machines are decided by which machine creates a
//! file first.

use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use object_store::buffered::BufWriter;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode};

use tokio::io::AsyncWriteExt;

use super::cloud::{SCHEMES, open_bucket};
use super::foreign_errors::object_store_error;
use super::{Home, files, folder_files};
use pubdata_core::error::{Error, IoExt, Result, ResultExt};

/// Maximum number of attempts to create a file if it is unclear whether the store created or
/// refused it.
const TRIES: u32 = 6;
/// Delay before the second attempt. The delay doubles with each further attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Files are uploaded in pieces of this size. A file that is not larger is sent in one request.
const PIECE_BYTES: usize = 8 << 20;
/// Number of rounds in the race that checks a store.
const RACES: u32 = 4;
/// Number of concurrent attempts to create the same file in one round.
const RACERS: usize = 4;

const FORMS: &str =
    "use `file:///folder`, `s3://bucket/prefix`, `az://container/prefix` or `gs://bucket/prefix`";

/// A folder on this machine, or a bucket of Amazon S3, Azure Blob Storage, Google Cloud Storage or
/// a compatible service.
#[derive(Debug, Clone)]
pub struct SharedStore {
    store: Arc<dyn ObjectStore>,
    /// The store's folder, if the store is a folder on this machine.
    folder: Option<PathBuf>,
    url: String,
}

/// A file of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFile {
    /// Path below the root of the store, with slashes.
    pub key: String,
    pub size_bytes: u64,
    /// When the file was written, to the second.
    pub modified: jiff::Timestamp,
}

impl SharedStore {
    /// Opens a store: the home itself if no URL is given, a folder for `file:///folder`, or a
    /// bucket for `s3://`, `az://` and `gs://`. The credentials and endpoint of a bucket come from
    /// the usual environment variables (`AWS_*`, `AZURE_*`, `GOOGLE_*`).
    ///
    /// # Errors
    /// `Config`, when the URL has none of these forms or the bucket's settings are incomplete;
    /// `Store`, when the folder cannot be created.
    pub fn open(home: &Home, url: Option<&str>) -> Result<Self> {
        match url {
            None => Self::open_folder(home.root()),
            Some(url) => Self::at(url),
        }
    }

    /// Opens the store at a URL.
    ///
    /// # Errors
    /// Same as for [`SharedStore::open`].
    pub fn at(url: &str) -> Result<Self> {
        Self::open_url(url).context(|| format!("store `{url}`"))
    }

    /// Returns the folder that a `file:` URL names if the folder does not exist. Opening the store
    /// would create it.
    pub fn missing_folder(url: &str) -> Option<PathBuf> {
        let path = Path::from_url_path(url.strip_prefix("file:///")?).ok()?;
        Some(FilePath::new("/").join(path.as_ref())).filter(|folder| !folder.is_dir())
    }

    fn open_url(url: &str) -> Result<Self> {
        if let Some(rest) = url.strip_prefix("file:///") {
            let path = Path::from_url_path(rest)
                .map_err(|error| Error::config(format!("not a folder: {error}")))?;
            return Self::open_folder(&FilePath::new("/").join(path.as_ref()));
        }
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(Error::config("not a store this program knows").hint(FORMS));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if !SCHEMES.contains(&scheme) {
            return Err(Error::config("not a store this program knows").hint(FORMS));
        }
        if bucket.is_empty() {
            return Err(Error::config("no bucket given").hint(FORMS));
        }
        let prefix =
            Path::parse(prefix).map_err(|error| Error::config(format!("not a prefix: {error}")))?;
        let store = open_bucket(scheme, bucket, prefix)?;
        Ok(Self {
            store,
            folder: None,
            url: url.trim_end_matches('/').to_owned(),
        })
    }

    fn open_folder(root: &FilePath) -> Result<Self> {
        std::fs::create_dir_all(root).at("create folder", root)?;
        // `fsync` covers the file, its folder and every parent folder that was created, so that a
        // pointer is never durable before its target.
        let store = LocalFileSystem::new_with_prefix(root)
            .map_err(object_store_error)?
            .with_fsync(true);
        let folder = root.canonicalize().at("find folder", root)?;
        let url = format!("file://{}", folder.display());
        Ok(Self {
            store: Arc::new(store),
            folder: Some(folder),
            url,
        })
    }

    /// Returns the store's folder if the store is a folder on this machine.
    pub fn folder(&self) -> Option<&FilePath> {
        self.folder.as_deref()
    }

    /// Returns whether the store is the home itself, in which case nothing is shared.
    pub fn is_home(&self, home: &Home) -> bool {
        self.folder() == Some(home.root())
    }

    /// Returns the URL under which another process can open the store.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the path of a file if the store is a folder on this machine.
    fn path(&self, key: &Path) -> Option<PathBuf> {
        self.folder.as_ref().map(|root| root.join(key.as_ref()))
    }

    /// Reads a file; `None` if it does not exist.
    pub async fn read(&self, key: &Path) -> Result<Option<Bytes>> {
        if let Some(path) = self.path(key) {
            return folder_files::read(path).await;
        }
        let at_key =
            |error: object_store::Error| object_store_error(error).context(key.to_string());
        match self.store.get(key).await {
            Ok(found) => Ok(Some(found.bytes().await.map_err(at_key)?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(at_key(error)),
        }
    }

    /// Reads one byte range of a file.
    ///
    /// # Errors
    /// `Store`, when the file does not exist or cannot be read.
    pub async fn read_range(&self, key: &Path, range: Range<u64>) -> Result<Bytes> {
        match self.path(key) {
            Some(path) => folder_files::read_range(path, range).await,
            None => self
                .store
                .get_range(key, range)
                .await
                .map_err(|error| object_store_error(error).context(key.to_string())),
        }
    }

    /// Reads several byte ranges of a file concurrently. Nearby ranges are merged into one request.
    ///
    /// # Errors
    /// `Store`, when the file does not exist or cannot be read.
    pub async fn read_ranges(&self, key: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        match self.path(key) {
            Some(path) => folder_files::read_ranges(path, ranges).await,
            None => self
                .store
                .get_ranges(key, ranges)
                .await
                .map_err(|error| object_store_error(error).context(key.to_string())),
        }
    }

    /// Passes the bytes of a file to `take` piece by piece; returns false if the file does not
    /// exist.
    ///
    /// # Errors
    /// `Store`, when the file cannot be read; any error from `take`.
    pub async fn read_pieces(
        &self,
        key: &Path,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<bool> {
        if let Some(path) = self.path(key) {
            return folder_files::read_pieces(path, take).await;
        }
        let at_key =
            |error: object_store::Error| object_store_error(error).context(key.to_string());
        let mut pieces = match self.store.get(key).await {
            Ok(found) => found.into_stream(),
            Err(object_store::Error::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(at_key(error)),
        };
        while let Some(piece) = pieces.next().await {
            take(&piece.map_err(at_key)?)?;
        }
        Ok(true)
    }

    /// Uploads a local file in pieces of bounded size, replacing any existing file.
    pub async fn put_file(&self, key: &Path, path: &FilePath) -> Result<()> {
        let mut file = tokio::fs::File::from_std(files::open_file(path).at("open", path)?);
        let mut writer = BufWriter::with_capacity(self.store.clone(), key.clone(), PIECE_BYTES);
        let sent = async {
            tokio::io::copy(&mut file, &mut writer).await?;
            writer.shutdown().await
        };
        sent.await
            .map_err(|error| Error::store(format!("{key}: {error}")))
    }

    /// Returns the size of a file; `None` if it does not exist.
    pub async fn size(&self, key: &Path) -> Result<Option<u64>> {
        if let Some(path) = self.path(key) {
            return folder_files::size(path).await;
        }
        match self.store.head(key).await {
            Ok(found) => Ok(Some(found.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(object_store_error(error).context(key.to_string())),
        }
    }

    /// Writes a file durably, replacing any existing file.
    pub async fn put(&self, key: &Path, bytes: Bytes) -> Result<()> {
        self.store
            .put(key, bytes.into())
            .await
            .map(drop)
            .map_err(|error| object_store_error(error).context(key.to_string()))
    }

    /// Creates a file that must not exist yet. Returns `None` if the file now exists with these
    /// bytes, and otherwise the bytes of the existing file.
    ///
    /// A store can refuse a request because of a concurrent creation that then fails (409
    /// `ConditionalRequestConflict` in S3). It can also create the file although its response is
    /// lost. In both cases, the file in the store decides. If no file exists, the creation is
    /// repeated.
    ///
    /// # Errors
    /// `Store`, when a request fails, or when the store keeps refusing to create a file that does
    /// not exist.
    pub async fn create(&self, key: &Path, bytes: Bytes) -> Result<Option<Bytes>> {
        let mut pause = FIRST_PAUSE;
        let mut tries = 0;
        loop {
            let failure = match self
                .store
                .put_opts(key, bytes.clone().into(), PutMode::Create.into())
                .await
            {
                Ok(_) => return Ok(None),
                Err(
                    object_store::Error::AlreadyExists { .. }
                    | object_store::Error::Precondition { .. },
                ) => None,
                Err(error) => Some(object_store_error(error).context(key.to_string())),
            };
            // Responses cannot be lost with a folder, so a failure is final.
            if let (Some(failure), true) = (&failure, self.folder.is_some()) {
                return Err(failure.clone());
            }
            if let Some(found) = self.read(key).await? {
                return Ok((found != bytes).then_some(found));
            }
            tries += 1;
            if tries == TRIES {
                let refused = || {
                    Error::store(format!(
                        "{key}: the store reports that the file exists, but does not return it"
                    ))
                };
                return Err(failure.unwrap_or_else(refused).hint(
                    "run again; `pubdata check --store` tests whether the store is reliable",
                ));
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    /// Copies a file without transferring the bytes through this machine: as a hard link in a
    /// folder, or as a copy within a bucket. Returns false if the source does not exist.
    pub async fn copy(&self, from: &Path, to: &Path) -> Result<bool> {
        match self.store.copy(from, to).await {
            Ok(()) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(object_store_error(error).context(format!("{from} to {to}"))),
        }
    }

    /// Deletes a file, which need not exist.
    pub async fn delete(&self, key: &Path) -> Result<()> {
        match self.store.delete(key).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(object_store_error(error).context(key.to_string())),
        }
    }

    /// Deletes all files in a folder.
    pub async fn delete_folder(&self, folder: &Path) -> Result<()> {
        if let Some(root) = &self.folder {
            let path = root.join(folder.as_ref());
            return match std::fs::remove_dir_all(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(error).at("delete folder", &path)
                }
                _ => Ok(()),
            };
        }
        for file in self.list(folder).await? {
            self.delete(&Path::from(file.key)).await?;
        }
        Ok(())
    }

    /// Returns the files below a folder, recursively, sorted by name.
    pub async fn list(&self, folder: &Path) -> Result<Vec<SharedFile>> {
        let mut files = self.store.list(Some(folder));
        let mut found = Vec::new();
        while let Some(file) = files.next().await {
            let file =
                file.map_err(|error| object_store_error(error).context(folder.to_string()))?;
            let modified = jiff::Timestamp::from_second(file.last_modified.timestamp())
                .unwrap_or(jiff::Timestamp::MAX);
            found.push(SharedFile {
                key: file.location.to_string(),
                size_bytes: file.size,
                modified,
            });
        }
        found.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(found)
    }

    /// Returns the names of the files in a folder, in no particular order. If the store is a
    /// folder, this does not query each file's metadata, which [`SharedStore::list`] must do.
    pub async fn file_names(&self, folder: &Path) -> Result<Vec<String>> {
        let Some(root) = &self.folder else {
            let files = self.list(folder).await?;
            return Ok(files
                .into_iter()
                .filter_map(|file| {
                    Some(
                        file.key
                            .strip_prefix(folder.as_ref())?
                            .strip_prefix('/')?
                            .to_owned(),
                    )
                })
                .collect());
        };
        let names = entries(&root.join(folder.as_ref()))?;
        Ok(names
            .into_iter()
            .filter(|(_, is_folder)| !is_folder)
            .map(|(name, _)| name)
            .collect())
    }

    /// Returns the names of the folders in a folder, sorted.
    pub async fn folders(&self, folder: &Path) -> Result<Vec<String>> {
        let mut names: Vec<String> = match &self.folder {
            // Files with invalid names, such as names that contain a line break, belong to other
            // programs. They must not prevent other files from being read.
            Some(root) => entries(&root.join(folder.as_ref()))?
                .into_iter()
                .filter(|(_, is_folder)| *is_folder)
                .map(|(name, _)| name)
                .collect(),
            None => {
                let listing = self
                    .store
                    .list_with_delimiter(Some(folder))
                    .await
                    .map_err(object_store_error)?;
                listing
                    .common_prefixes
                    .iter()
                    .filter_map(|path| path.filename().map(str::to_owned))
                    .collect()
            }
        };
        names.sort();
        Ok(names)
    }

    /// Checks that the store provides the guarantees that publishing relies on. If several clients
    /// create a file concurrently, only one succeeds, and an existing file is never created again.
    /// Some servers accept the condition but ignore it.
    ///
    /// # Errors
    /// `Config`, when the store does not provide these guarantees; `Store`, when a request fails.
    pub async fn check(&self) -> Result<()> {
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(|error| {
            Error::store(format!("the system gives no random numbers: {error}"))
        })?;
        let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        let ignored = |what: &str| {
            Error::config(format!("the store `{}` ignores conditions: {what}", self.url))
                .hint("two publishers would overwrite each other there: use a store that knows `If-None-Match` (Amazon S3, MinIO, Azure, Google Cloud), or one publisher and a folder")
        };
        for round in 0..RACES {
            let key = Path::from_iter(["check".to_owned(), format!("{name}-{round}")]);
            let contents: Vec<Bytes> = (0..RACERS)
                .map(|racer| Bytes::from(format!("{name} {racer}")))
                .collect();
            let racers = contents
                .iter()
                .map(|content| self.create(&key, content.clone()));
            let answers = futures_util::future::join_all(racers)
                .await
                .into_iter()
                .collect::<Result<Vec<_>>>()?;
            let winners = answers.iter().filter(|answer| answer.is_none()).count();
            let late = self.create(&key, Bytes::from_static(b"late")).await?;
            let kept = self.read(&key).await?;
            self.delete(&key).await?;
            if winners != 1 {
                return Err(ignored(&format!(
                    "{winners} of {RACERS} concurrent creations of one file succeeded"
                )));
            }
            let won = answers
                .iter()
                .position(Option::is_none)
                .map(|winner| &contents[winner]);
            if late.is_none() || kept.as_ref() != won {
                return Err(ignored("an existing file was created again"));
            }
        }
        Ok(())
    }
}

/// Returns the names of a folder's entries, each with a flag that is true for folders. Returns an
/// empty list if the folder does not exist.
fn entries(path: &FilePath) -> Result<Vec<(String, bool)>> {
    let entries = match std::fs::read_dir(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.at("list folder", path)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.at("list folder", path)?;
        let kind = entry.file_type().at("list folder", path)?;
        let is_folder = kind.is_dir() || (kind.is_symlink() && entry.path().is_dir());
        names.push((entry.file_name().to_string_lossy().into_owned(), is_folder));
    }
    Ok(names)
}
