//! The file of API keys and invitations: one lock, one change at a time, replaced whole.

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

/// Format of the keys file; readers refuse a newer one.
pub(super) const FORMAT_VERSION: u32 = 1;

/// The file `HOME/keys.json`.
#[derive(Debug, Clone)]
pub struct Keys {
    path: PathBuf,
}

/// What the file holds.
#[derive(Serialize, Deserialize)]
pub(super) struct KeysFile {
    format_version: u32,
    pub(super) keys: Vec<ApiKey>,
    #[serde(default)]
    pub(super) invitations: Vec<Invitation>,
}

impl Keys {
    /// The keys of a home; the file need not exist yet.
    pub fn open(home: &Home) -> Self {
        Self {
            path: home.keys_file(),
        }
    }

    /// The file itself, for watching.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a key and stores its digest.
    ///
    /// # Errors
    /// `Config`, when name, scopes or plan are not valid; `Store`, when the file cannot be read or
    /// written.
    pub fn create(&self, new: NewKey, plans: &Plans, now: Timestamp) -> Result<CreatedKey> {
        let created = new.make(plans, now)?;
        self.change(|file| {
            file.keys.push(created.entry.clone());
            Ok(())
        })?;
        Ok(created)
    }

    /// Gives a key a new secret. The one before is accepted for so many minutes more, and the one
    /// before that no longer.
    ///
    /// # Errors
    /// `Config`, when there is no valid key of that id, or `secret` is not its present one;
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

    /// All keys, in the order they were made.
    ///
    /// # Errors
    /// `Store`, when the file is damaged or its format is newer than this program.
    pub fn list(&self) -> Result<Vec<ApiKey>> {
        Ok(self.read()?.keys)
    }

    /// What the file holds; nothing when it is not there.
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

    /// What a file's bytes hold; `place` says of which.
    pub(super) fn parse(bytes: &[u8], place: &str) -> Result<KeysFile> {
        let file: KeysFile = serde_json::from_slice(bytes).map_err(|error| {
            Error::store(format!("{place} is not a keys file: {error}")).hint(
                "put it back from a backup; a server that runs goes on with the keys that it knows",
            )
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

    /// Makes a key invalid from now on. It stays in the list.
    ///
    /// # Errors
    /// `Config`, when there is no key of that id or it is already revoked.
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

    /// Makes an invitation and stores the digest of its token.
    ///
    /// # Errors
    /// `Config`, when no key could be made with it, it grants the scope `admin`, or too many are
    /// open; `Store`, when the file cannot be read or written.
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
                let hint =
                    "`pubdata keys list` shows them, `pubdata keys revoke ID` takes one back";
                return Err(Error::config(format!(
                    "{MAX_OPEN} invitations are open, which is the most there may be"
                ))
                .hint(hint));
            }
            file.invitations.push(created.entry.clone());
            Ok(())
        })?;
        Ok(created)
    }

    /// All invitations that are not forgotten, in the order they were made.
    ///
    /// # Errors
    /// As [`Keys::list`].
    pub fn invitations(&self) -> Result<Vec<Invitation>> {
        Ok(self.read()?.invitations)
    }

    /// Makes the key of an invitation and uses the invitation up.
    ///
    /// # Errors
    /// `Config`, when the token is of no invitation that can be used, or a key of its plan can no
    /// longer be made; `Store`, when the file cannot be read or written.
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

    /// Takes an invitation back that was not used.
    ///
    /// # Errors
    /// `Config`, when there is none of that id, or it cannot be used any more.
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

    /// Reads, changes and replaces the file while no one else does.
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
