//! Reads and writes release seals and channel logs. A seal is stored next to the manifest. A log is
//! stored next to the releases and outlives them.

use bytes::Bytes;
use object_store::path::Path;

use super::channels::check_channel_name;
use super::{Home, Releases, durable, files};
use pubdata_core::error::{Error, IoExt, Result};
use pubdata_core::ids::ReleaseId;

const SEAL: &str = "records.json";

impl Releases {
    /// Reads the seal file of a release; `None` if the release is not sealed.
    pub async fn seal_file(&self, id: &ReleaseId) -> Result<Option<Bytes>> {
        self.store.read(&seal_key(id)).await
    }

    /// Writes the seal file of a release, replacing any existing file. This is safe because the
    /// seal depends only on the release.
    pub async fn put_seal_file(&self, id: &ReleaseId, bytes: Bytes) -> Result<()> {
        self.store.put(&seal_key(id), bytes).await
    }

    /// Returns the number of leaves in a channel's log at each checkpoint, in ascending order.
    ///
    /// # Errors
    /// `Config`, when the name is not a valid channel name; `Store`, when the log cannot be listed.
    pub async fn log_sizes(&self, channel: &str) -> Result<Vec<u64>> {
        let files = self.store.list(&log_key(channel, "checkpoint")?).await?;
        let mut sizes: Vec<u64> = files
            .iter()
            .filter_map(|file| file.key.rsplit('/').next()?.parse().ok())
            .collect();
        sizes.sort_unstable();
        Ok(sizes)
    }

    /// Reads a file of a channel's log. `name` is relative to `log/<channel>/`.
    ///
    /// # Errors
    /// `Config`, when the name is not valid in a log; `Store`, when the file cannot be read.
    pub async fn log_file(&self, channel: &str, name: &str) -> Result<Option<Bytes>> {
        self.store.read(&log_key(channel, name)?).await
    }

    /// Writes a file of a channel's log, replacing any existing file.
    pub async fn put_log_file(&self, channel: &str, name: &str, bytes: Bytes) -> Result<()> {
        self.store.put(&log_key(channel, name)?, bytes).await
    }

    /// Creates a file of a channel's log. If the file already exists, returns its content instead.
    pub async fn create_log_file(
        &self,
        channel: &str,
        name: &str,
        bytes: Bytes,
    ) -> Result<Option<Bytes>> {
        self.store.create(&log_key(channel, name)?, bytes).await
    }
}

/// Reads the last note that this home signed for a channel's log; `None` if it has not signed any.
pub fn signed_note(home: &Home, channel: &str) -> Result<Option<String>> {
    let path = home.root().join("signed").join(channel);
    match files::open_file(&path).and_then(std::io::read_to_string) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).at("read", &path),
    }
}

/// Stores the last note that this home signed for a channel's log.
///
/// # Errors
/// `Config`, when the name is not a valid channel name; `Store`, when the note cannot be written.
pub fn remember_signed_note(home: &Home, channel: &str, note: &str) -> Result<()> {
    check_channel_name(channel)?;
    let folder = home.root().join("signed");
    durable::create_folder(&folder)?;
    durable::write_file(&folder.join(channel), note.as_bytes())
}

fn seal_key(id: &ReleaseId) -> Path {
    Path::from_iter(["releases", id.as_str(), SEAL])
}

fn log_key(channel: &str, name: &str) -> Result<Path> {
    check_channel_name(channel)?;
    Path::parse(format!("log/{channel}/{name}"))
        .map_err(|error| Error::config(format!("`{name}` is no file of a log: {error}")))
}
