//! Provides a temporary home and mirror for work that must not change the real home. Both are
//! removed when dropped.

use std::path::{Path, PathBuf};

use super::Home;
use pubdata_core::error::{Error, IoExt, Result};

/// A home in the system's folder for temporary files, with a mirror folder next to it. Both are
/// removed when dropped.
pub struct TemporaryHome {
    root: PathBuf,
    home: Home,
}

impl TemporaryHome {
    /// Creates an empty home and mirror.
    pub fn make(purpose: &str) -> Result<Self> {
        let mut bytes = [0; 6];
        getrandom::fill(&mut bytes).map_err(|error| {
            Error::store(format!("the system gives no random numbers: {error}"))
        })?;
        let suffix: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let root =
            std::env::temp_dir().join(format!("pubdata-{purpose}-{}-{suffix}", std::process::id()));
        std::fs::create_dir(&root).at("create folder", &root)?;
        let made = Home::open(&root.join("home")).and_then(|home| {
            let mirror = root.join("mirror");
            std::fs::create_dir(&mirror).at("create folder", &mirror)?;
            Ok(home)
        });
        match made {
            Ok(home) => Ok(Self { root, home }),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&root);
                Err(error)
            }
        }
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Returns the mirror folder.
    pub fn mirror(&self) -> PathBuf {
        self.root.join("mirror")
    }

    /// Writes a file to the mirror.
    pub fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let path = self.mirror().join(path);
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).at("create folder", folder)?;
        std::fs::write(&path, bytes).at("write", &path)
    }

    /// Returns the path for another temporary file, outside the home and the mirror.
    pub fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

impl Drop for TemporaryHome {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.root) {
            tracing::warn!(%error, folder = %self.root.display(), "cannot remove a temporary folder");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_a_temporary_home() {
        let temporary = TemporaryHome::make("test").unwrap();
        let root = temporary.root.clone();
        temporary.put("host/folder/file.csv", b"a").unwrap();
        assert_eq!(
            std::fs::read(root.join("mirror/host/folder/file.csv")).unwrap(),
            b"a"
        );
        drop(temporary);
        assert!(!root.exists());
    }
}
