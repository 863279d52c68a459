//! The place that machines share: a folder, or a bucket of an object store. All of it is files that
//! are made once or replaced whole; what has to be decided between machines is decided by who
//! creates a file first.

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

/// How often a file is tried to be created whose creation is neither done nor refused.
const TRIES: u32 = 6;
/// Before the second try; it doubles from there.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// A file is sent in pieces of so many bytes; one that is not larger is sent at once.
const PIECE_BYTES: usize = 8 << 20;
/// Rounds of the race by which a store is checked.
const RACES: u32 = 4;
/// Who creates the same file at once in a race.
const RACERS: usize = 4;

const FORMS: &str =
    "use `file:///folder`, `s3://bucket/prefix`, `az://container/prefix` or `gs://bucket/prefix`";

/// A folder on this machine, or a bucket of Amazon S3, Azure Blob Storage, Google Cloud Storage or
/// what speaks as they do.
#[derive(Debug, Clone)]
pub struct SharedStore {
    store: Arc<dyn ObjectStore>,
    /// The folder, where it is one on this machine.
    folder: Option<PathBuf>,
    url: String,
}

/// A file of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFile {
    /// Its name below the store, with slashes.
    pub key: String,
    pub size_bytes: u64,
    /// When it was written, to the second.
    pub modified: jiff::Timestamp,
}

impl SharedStore {
    /// Opens a store: the home itself without a URL, a folder for `file:///folder`, a bucket for
    /// `s3://`, `az://` and `gs://`, whose credentials and endpoint come from the usual environment
    /// (`AWS_*`, `AZURE_*`, `GOOGLE_*`).
    ///
    /// # Errors
    /// `Config`, when the URL is not one of these forms or the settings of the bucket are not
    /// complete; `Store`, when the folder cannot be made.
    pub fn open(home: &Home, url: Option<&str>) -> Result<Self> {
        match url {
            None => Self::open_folder(home.root()),
            Some(url) => Self::at(url),
        }
    }

    /// Opens the store of a URL.
    ///
    /// # Errors
    /// As for [`SharedStore::open`].
    pub fn at(url: &str) -> Result<Self> {
        Self::open_url(url).context(|| format!("store `{url}`"))
    }

    /// The folder that the URL of a store names and that is not there: opening it makes it.
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
        // `fsync` covers the file, its folder and every folder made on the way: a pointer never
        // outlives what it points at.
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

    /// The folder, when the store is one on this machine.
    pub fn folder(&self) -> Option<&FilePath> {
        self.folder.as_deref()
    }

    /// Whether it is a home itself: then nothing of it is on two machines.
    pub fn is_home(&self, home: &Home) -> bool {
        self.folder() == Some(home.root())
    }

    /// The address that names the store to another process.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where a file is, when the store is a folder on this machine.
    fn path(&self, key: &Path) -> Option<PathBuf> {
        self.folder.as_ref().map(|root| root.join(key.as_ref()))
    }

    /// Reads a file; none when there is none.
    ///
    /// # Errors
    /// `Store`, when it is there and cannot be read.
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

    /// Reads bytes of a file.
    ///
    /// # Errors
    /// `Store`, when it is not there or cannot be read.
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

    /// Reads several ranges of a file, several at a time; ranges near each other come in one
    /// answer.
    ///
    /// # Errors
    /// `Store`, when it is not there or cannot be read.
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

    /// Gives the bytes of a file piece by piece; false when there is none.
    ///
    /// # Errors
    /// `Store`, when it cannot be read; those of `take`.
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

    /// Writes a file of this machine, in pieces of bounded size, in place of what may be there.
    ///
    /// # Errors
    /// `Store`, when it cannot be read or written.
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

    /// The size of a file; none when there is none.
    ///
    /// # Errors
    /// `Store`, when the store cannot be asked.
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

    /// Writes a file, durably, in place of what may be there.
    ///
    /// # Errors
    /// `Store`, when it cannot be written.
    pub async fn put(&self, key: &Path, bytes: Bytes) -> Result<()> {
        self.store
            .put(key, bytes.into())
            .await
            .map(drop)
            .map_err(|error| object_store_error(error).context(key.to_string()))
    }

    /// Creates a file that must not exist yet. None when it is there now with these bytes, else
    /// what stands there instead.
    ///
    /// A store can refuse because another creation is under way of which nothing comes (S3's 409
    /// `ConditionalRequestConflict`), and can take the file and lose the answer. Either way what is
    /// there decides, and where nothing is, it is tried again.
    ///
    /// # Errors
    /// `Store`, when the store cannot be asked, or keeps refusing what is not there.
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
            // Nothing gets lost on the way to a folder.
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
                        "{key}: the store says that it exists, and has no such file"
                    ))
                };
                return Err(failure.unwrap_or_else(refused).hint(
                    "run again; `pubdata check --store` tries whether the store can be relied on",
                ));
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    /// Makes a file of another's bytes without moving them through this machine: a hard link in a
    /// folder, a copy within a bucket. False when there is no such other file.
    ///
    /// # Errors
    /// `Store`, when it is there and cannot be copied.
    pub async fn copy(&self, from: &Path, to: &Path) -> Result<bool> {
        match self.store.copy(from, to).await {
            Ok(()) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(object_store_error(error).context(format!("{from} to {to}"))),
        }
    }

    /// Deletes a file; one that is not there is as good as deleted.
    ///
    /// # Errors
    /// `Store`, when it is there and stays.
    pub async fn delete(&self, key: &Path) -> Result<()> {
        match self.store.delete(key).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(object_store_error(error).context(key.to_string())),
        }
    }

    /// Deletes all files of a folder.
    ///
    /// # Errors
    /// `Store`, when one cannot be deleted.
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

    /// The files of a folder and of those in it, sorted by name.
    ///
    /// # Errors
    /// `Store`, when they cannot be listed.
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

    /// The names of the files of a folder, in no order. Where the store is a folder none of them is
    /// looked at, as [`SharedStore::list`] has to.
    ///
    /// # Errors
    /// `Store`, when they cannot be listed.
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

    /// The names of the folders in a folder, sorted.
    ///
    /// # Errors
    /// `Store`, when they cannot be listed.
    pub async fn folders(&self, folder: &Path) -> Result<Vec<String>> {
        let mut names: Vec<String> = match &self.folder {
            // A name that no file of a store can have, such as one with a line break, is somebody
            // else's, and keeps nobody from reading the others.
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

    /// Tries whether the store keeps what publishing relies on: of several who create the same file
    /// at once one wins, and what is there is never created again. Some servers take the condition
    /// and ignore it.
    ///
    /// # Errors
    /// `Config`, when it does not; `Store`, when it cannot be asked.
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
                    "of {RACERS} who created one file at once, {winners} were told that it is theirs"
                )));
            }
            let won = answers
                .iter()
                .position(Option::is_none)
                .map(|winner| &contents[winner]);
            if late.is_none() || kept.as_ref() != won {
                return Err(ignored("a file that was there was created again"));
            }
        }
        Ok(())
    }
}

/// The names in a folder, each with whether it is a folder's; none when there is no such folder.
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
