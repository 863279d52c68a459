//! Stores API keys and invitations in one file. A lock serialises changes, and each change replaces
//! the entire file.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind as IoErrorKind, Write};
use std::path::{Path, PathBuf};

use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

use super::api_key::{
    ApiKey, CreatedKey, KEY_PREFIX, NewKey, PreviousSecret, new_secret, to_second,
};
use super::invitations::{CreatedInvitation, Invitation, MAX_OPEN, NewInvitation};
use super::{Home, Plans, files};
use pubdata_core::error::{Error, IoExt, Result, ResultExt};
use pubdata_core::ids::Digest;

/// Format of the keys file; readers reject newer formats.
pub(super) const FORMAT_VERSION: u32 = 1;

/// The file `HOME/keys.json`.
#[derive(Debug, Clone)]
pub struct Keys {
    path: PathBuf,
}

/// Content of the keys file.
#[derive(Serialize, Deserialize)]
pub(super) struct KeysFile {
    format_version: u32,
    pub(super) keys: Vec<ApiKey>,
    #[serde(default)]
    pub(super) invitations: Vec<Invitation>,
}

impl Keys {
    /// Opens the keys file of a home. The file need not exist.
    pub fn open(home: &Home) -> Self {
        Self {
            path: home.keys_file(),
        }
    }

    /// Returns the path of the file, so that callers can watch it for changes.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a key and stores its digest.
    ///
    /// # Errors
    /// `Config`, when the name, scopes or plan are not valid; `Store`, when the file cannot be read
    /// or written.
    pub fn create(&self, new: NewKey, plans: &Plans, now: Timestamp) -> Result<CreatedKey> {
        let created = new.make(plans, now)?;
        self.change(|file| {
            file.keys.push(created.entry.clone());
            Ok(())
        })?;
        Ok(created)
    }

    /// Gives a key a new secret. The previous secret is accepted for another `overlap_minutes`. Any
    /// older secret is no longer accepted.
    ///
    /// # Errors
    /// `Config`, when no valid key has that id, or when `secret` is not the key's current secret;
    /// `Store`, when the file cannot be read or written.
    pub fn rotate(
        &self,
        id: &str,
        secret: &Digest,
        overlap_minutes: i64,
        now: Timestamp,
    ) -> Result<CreatedKey> {
        let valid_until = now
            .checked_add(overlap_minutes.minutes())
            .map_err(|error| Error::config(format!("the overlap is out of range: {error}")))?;
        let (new, sha256) = new_secret(KEY_PREFIX)?;
        self.change(|file| {
            let key = file
                .keys
                .iter_mut()
                .find(|key| key.id == id && key.is_valid_at(now))
                .ok_or_else(|| unknown_key(id))?;
            if key.sha256 != *secret {
                return Err(Error::config(format!(
                    "the secret of key `{id}` was replaced already"
                )));
            }
            key.previous = (overlap_minutes > 0).then(|| PreviousSecret {
                sha256: key.sha256,
                valid_until: to_second(valid_until),
            });
            (key.sha256, key.rotated_at) = (sha256, Some(to_second(now)));
            Ok(CreatedKey {
                key: new,
                entry: key.clone(),
            })
        })
    }

    /// Returns all keys in order of creation.
    ///
    /// # Errors
    /// `Store`, when the file is damaged or has a format that is newer than this program.
    pub fn list(&self) -> Result<Vec<ApiKey>> {
        Ok(self.read()?.keys)
    }

    /// Reads the file; empty if it does not exist.
    pub(super) fn read(&self) -> Result<KeysFile> {
        match files::read_file(&self.path) {
            Ok(bytes) => Self::parse(&bytes, &self.path.display().to_string()),
            Err(error) if error.kind() == IoErrorKind::NotFound => Ok(KeysFile {
                format_version: FORMAT_VERSION,
                keys: Vec::new(),
                invitations: Vec::new(),
            }),
            Err(error) => Err(error).at("read", &self.path),
        }
    }

    /// Parses a file; `place` is its name in messages.
    pub(super) fn parse(bytes: &[u8], place: &str) -> Result<KeysFile> {
        let file: KeysFile = serde_json::from_slice(bytes).map_err(|error| {
            Error::store(format!("{place} is not a keys file: {error}"))
                .hint("restore it from a backup; a running server continues with the keys it has")
        })?;
        if file.format_version > FORMAT_VERSION {
            let message = format!(
                "{place} has format {}, this program reads up to {FORMAT_VERSION}",
                file.format_version
            );
            return Err(Error::store(message)
                .hint("use the version of pubdata that wrote it, or a later one"));
        }
        Ok(file)
    }

    /// Revokes a key with immediate effect. The key stays in the list.
    ///
    /// # Errors
    /// `Config`, when no key has that id, or when the key is already revoked.
    pub fn revoke(&self, id: &str, now: Timestamp) -> Result<ApiKey> {
        self.change(|file| {
            let key = file
                .keys
                .iter_mut()
                .find(|key| key.id == id)
                .ok_or_else(|| unknown_key(id))?;
            if let Some(revoked_at) = &key.revoked_at {
                return Err(Error::config(format!(
                    "key `{id}` was already revoked at {revoked_at}"
                )));
            }
            key.revoked_at = Some(to_second(now));
            Ok(key.clone())
        })
    }

    /// Creates an invitation and stores the digest of its token.
    ///
    /// # Errors
    /// `Config`, when no key could be created from the invitation, when it grants the scope
    /// `admin`, or when too many invitations are open; `Store`, when the file cannot be read or
    /// written.
    pub fn invite(
        &self,
        new: NewInvitation,
        plans: &Plans,
        now: Timestamp,
    ) -> Result<CreatedInvitation> {
        let created = new.make(plans, now)?;
        self.change(|file| {
            file.invitations
                .retain(|invitation| !invitation.is_forgotten(now));
            if file
                .invitations
                .iter()
                .filter(|invitation| invitation.refusal(now).is_none())
                .count()
                >= MAX_OPEN
            {
                let hint = "`pubdata keys list` shows them, `pubdata keys revoke ID` revokes one";
                return Err(Error::config(format!(
                    "{MAX_OPEN} invitations are open, which is the maximum"
                ))
                .hint(hint));
            }
            file.invitations.push(created.entry.clone());
            Ok(())
        })?;
        Ok(created)
    }

    /// Returns all retained invitations in order of creation.
    ///
    /// # Errors
    /// Same as for [`Keys::list`].
    pub fn invitations(&self) -> Result<Vec<Invitation>> {
        Ok(self.read()?.invitations)
    }

    /// Creates the key of an invitation and marks the invitation as used.
    ///
    /// # Errors
    /// `Config`, when no usable invitation has the token, or when a key with its plan can no longer
    /// be created; `Store`, when the file cannot be read or written.
    pub fn redeem(&self, token: &Digest, plans: &Plans, now: Timestamp) -> Result<CreatedKey> {
        self.change(|file| {
            let unknown = || Error::config("there is no such invitation");
            let invitation = file
                .invitations
                .iter_mut()
                .find(|invitation| invitation.sha256 == *token)
                .ok_or_else(unknown)?;
            if let Some(refusal) = invitation.refusal(now) {
                return Err(Error::config(refusal));
            }
            let created = invitation.key(now)?.make(plans, now)?;
            (invitation.used_at, invitation.key_id) =
                (Some(to_second(now)), Some(created.entry.id.clone()));
            file.keys.push(created.entry.clone());
            Ok(created)
        })
    }

    /// Revokes an unused invitation.
    ///
    /// # Errors
    /// `Config`, when no invitation has that id, or when the invitation can no longer be used.
    pub fn revoke_invitation(&self, id: &str, now: Timestamp) -> Result<Invitation> {
        self.change(|file| {
            let unknown = || {
                Error::config(format!("there is no invitation `{id}`"))
                    .hint("`pubdata keys list` shows the ids")
            };
            let invitation = file
                .invitations
                .iter_mut()
                .find(|invitation| invitation.id == id)
                .ok_or_else(unknown)?;
            if let Some(refusal) = invitation.refusal(now) {
                return Err(Error::config(format!("{refusal}: `{id}`")));
            }
            invitation.revoked_at = Some(to_second(now));
            Ok(invitation.clone())
        })
    }

    /// Reads, changes and replaces the file under an exclusive lock.
    fn change<T>(&self, change: impl FnOnce(&mut KeysFile) -> Result<T>) -> Result<T> {
        let lock_path = self.path.with_extension("lock");
        let lock = files::open_with(
            OpenOptions::new().create(true).truncate(false).write(true),
            &lock_path,
        )
        .at("open", &lock_path)?;
        lock.lock().at("lock", &lock_path)?;
        let mut file = self.read()?;
        let outcome = change(&mut file)?;
        file.format_version = FORMAT_VERSION;
        let mut text = serde_json::to_vec_pretty(&file).expect("keys are plain data");
        text.push(b'\n');
        self.replace(&text)
            .context(|| format!("cannot write {}", self.path.display()))?;
        Ok(outcome)
    }

    fn replace(&self, text: &[u8]) -> Result<()> {
        let temporary = self.path.with_extension("json.new");
        let mut options = OpenOptions::new();
        options.create(true).truncate(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file: File = files::open_with(&mut options, &temporary).at("create", &temporary)?;
        file.write_all(text).at("write", &temporary)?;
        file.sync_all().at("write", &temporary)?;
        std::fs::rename(&temporary, &self.path).at("replace", &self.path)
    }
}

fn unknown_key(id: &str) -> Error {
    Error::config(format!("there is no key `{id}`")).hint("`pubdata keys list` shows the ids")
}
