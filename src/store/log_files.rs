//! Where the seals of releases and the logs of channels are kept: a seal beside the manifest, a log
//! beside the releases, which it outlives.

use bytes::Bytes;
use object_store::path::Path;

use super::channels::check_channel_name;
use super::{Home, Releases, durable, files};
use pubdata_core::error::{Error, IoExt, Result};
use pubdata_core::ids::ReleaseId;

const SEAL: &str = "records.json";

impl Releases {
    /// The file of a release's seal; none while it is not sealed.
    ///
    /// # Errors
    /// `Store`, when it cannot be read.
    pub async fn seal_file(&self, id: &ReleaseId) -> Result<Option<Bytes>> {
        self.store.read(&seal_key(id)).await
    }

    /// Writes the file of a release's seal, in place of what may be there: it depends on the
    /// release alone.
    ///
    /// # Errors
    /// `Store`, when it cannot be written.
    pub async fn put_seal_file(&self, id: &ReleaseId, bytes: Bytes) -> Result<()> {
        self.store.put(&seal_key(id), bytes).await
    }

    /// How many leaves a channel's log had at each checkpoint, from the first to the last.
    ///
    /// # Errors
    /// `Config`, when the name is not one a channel can have; `Store`, when the log cannot be
    /// listed.
    pub async fn log_sizes(&self, channel: &str) -> Result<Vec<u64>> {
        let files = self.store.list(&log_key(channel, "checkpoint")?).await?;
        let mut sizes: Vec<u64> = files
            .iter()
            .filter_map(|file| file.key.rsplit('/').next()?.parse().ok())
            .collect();
        sizes.sort_unstable();
        Ok(sizes)
    }

    /// A file of a channel's log, by its name below `log/<channel>/`.
    ///
    /// # Errors
    /// `Config`, when the name is not one a log can have; `Store`, when it cannot be read.
    pub async fn log_file(&self, channel: &str, name: &str) -> Result<Option<Bytes>> {
        self.store.read(&log_key(channel, name)?).await
    }

    /// Writes a file of a channel's log, in place of what may be there.
    ///
    /// # Errors
    /// `Store`, when it cannot be written.
    pub async fn put_log_file(&self, channel: &str, name: &str, bytes: Bytes) -> Result<()> {
        self.store.put(&log_key(channel, name)?, bytes).await
    }

    /// Creates a file of a channel's log: what stands there instead, if something does.
    ///
    /// # Errors
    /// `Store`, when it cannot be written.
    pub async fn create_log_file(
        &self,
        channel: &str,
        name: &str,
        bytes: Bytes,
    ) -> Result<Option<Bytes>> {
        self.store.create(&log_key(channel, name)?, bytes).await
    }
}

/// The note that was signed last from this home, of a channel's log; none when none was.
///
/// # Errors
/// `Store`, when it cannot be read.
pub fn signed_note(home: &Home, channel: &str) -> Result<Option<String>> {
    let path = home.root().join("signed").join(channel);
    match files::open_file(&path).and_then(std::io::read_to_string) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).at("read", &path),
    }
}

/// Remembers the note that was signed last from this home.
///
/// # Errors
/// `Config`, when the name is not one a channel can have; `Store`, when it cannot be written.
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
