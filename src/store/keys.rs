//! API keys: who holds them, what they permit and until when. The key itself is shown once; only its digest is kept.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind as IoErrorKind, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use base64::Engine as _;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Home, Plans, files};
use pubdata_core::error::{Error, IoExt, Result, ResultExt};
use pubdata_core::ids::Digest;
use pubdata_core::printable::{is_unprintable, printable};

/// Format of the keys file; readers refuse a newer one.
pub(super) const FORMAT_VERSION: u32 = 1;

/// What a key permits. One scope per product family, one for the stream, one for administration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    General,
    Geo,
    Sec,
    Stream,
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 5] = [Self::General, Self::Geo, Self::Sec, Self::Stream, Self::Admin];

    /// The scope's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Geo => "geo",
            Self::Sec => "sec",
            Self::Stream => "stream",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Scope {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::config(format!("there is no scope `{text}`")).hint(format!("scopes: {names}"))
        })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What is kept of an API key: everything but the key, of which only the SHA-256 digest is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// Names the key in lists and logs; not a secret.
    pub id: String,
    /// Who holds it.
    pub name: String,
    pub sha256: Digest,
    pub scopes: Vec<Scope>,
    pub plan: String,
    /// RFC 3339 UTC.
    pub created_at: String,
    /// RFC 3339 UTC; none for a key that does not expire.
    pub expires_at: Option<String>,
    /// RFC 3339 UTC; none while the key is valid.
    pub revoked_at: Option<String>,
}

impl ApiKey {
    /// Whether the key may be used at `now`.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        let is_unexpired = self.expires_at.as_deref().is_none_or(|text| text.parse::<Timestamp>().is_ok_and(|expiry| now < expiry));
        self.revoked_at.is_none() && is_unexpired
    }
}

/// A wish for a new key.
#[derive(Debug, Clone)]
pub struct NewKey {
    pub name: String,
    pub scopes: Vec<Scope>,
    pub plan: String,
    pub expires_at: Option<Timestamp>,
}

/// A new key together with its secret, which exists only here.
#[derive(Debug, Clone, Serialize)]
pub struct CreatedKey {
    /// The secret to hand out.
    pub key: String,
    #[serde(flatten)]
    pub entry: ApiKey,
}

/// The file `HOME/keys.json`.
#[derive(Debug, Clone)]
pub struct Keys {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct KeysFile {
    format_version: u32,
    keys: Vec<ApiKey>,
}

impl Keys {
    /// The keys of a home; the file need not exist yet.
    pub fn open(home: &Home) -> Self {
        Self { path: home.keys_file() }
    }

    /// The file itself, for watching.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a key and stores its digest.
    ///
    /// # Errors
    /// `Config`, when name, scopes or plan are not valid; `Store`, when the file cannot be read or written.
    pub fn create(&self, new: NewKey, plans: &Plans, now: Timestamp) -> Result<CreatedKey> {
        plans.get(&new.plan)?;
        if new.name.trim().is_empty() || new.name.len() > 200 {
            return Err(Error::config("a key needs a name of 1 to 200 characters"));
        }
        if new.name.contains(is_unprintable) {
            let message = format!("the name of a key has no control characters: `{}`", printable(&new.name));
            return Err(Error::config(message).hint("a list of keys is read on a terminal, which would obey them"));
        }
        if new.scopes.is_empty() {
            return Err(Error::config("a key without scopes opens nothing").hint(format!("scopes: {}", Scope::ALL.map(Scope::name).join(", "))));
        }
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| Error::store(format!("the system gives no random numbers: {error}")))?;
        let key = format!("pd_{}", base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(secret));
        let sha256 = Digest::of(key.as_bytes());
        let mut scopes = new.scopes;
        scopes.sort_unstable();
        scopes.dedup();
        let entry = ApiKey {
            id: format!("k{}", sha256.short(12)),
            name: new.name,
            sha256,
            scopes,
            plan: new.plan,
            created_at: now.to_string(),
            expires_at: new.expires_at.map(|expiry| expiry.to_string()),
            revoked_at: None,
        };
        self.change(|keys| {
            keys.push(entry.clone());
            Ok(())
        })?;
        Ok(CreatedKey { key, entry })
    }

    /// All keys, in the order they were made.
    ///
    /// # Errors
    /// `Store`, when the file is damaged or its format is newer than this program.
    pub fn list(&self) -> Result<Vec<ApiKey>> {
        let bytes = match files::read_file(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == IoErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).at("read", &self.path),
        };
        Self::parse(&bytes, &self.path.display().to_string())
    }

    /// The keys of a file's bytes; `place` says of which.
    pub(super) fn parse(bytes: &[u8], place: &str) -> Result<Vec<ApiKey>> {
        let file: KeysFile = serde_json::from_slice(bytes).map_err(|error| {
            Error::store(format!("{place} is not a keys file: {error}"))
                .hint("put it back from a backup; a server that runs goes on with the keys that it knows")
        })?;
        if file.format_version > FORMAT_VERSION {
            let message = format!("{place} has format {}, this program reads up to {FORMAT_VERSION}", file.format_version);
            return Err(Error::store(message).hint("use the version of pubdata that wrote it, or a later one"));
        }
        Ok(file.keys)
    }

    /// Makes a key invalid from now on. It stays in the list.
    ///
    /// # Errors
    /// `Config`, when there is no key of that id or it is already revoked.
    pub fn revoke(&self, id: &str, now: Timestamp) -> Result<ApiKey> {
        self.change(|keys| {
            let Some(key) = keys.iter_mut().find(|key| key.id == id) else {
                return Err(Error::config(format!("there is no key `{id}`")).hint("`pubdata keys list` shows the ids"));
            };
            if let Some(revoked_at) = &key.revoked_at {
                return Err(Error::config(format!("key `{id}` was already revoked at {revoked_at}")));
            }
            key.revoked_at = Some(now.to_string());
            Ok(key.clone())
        })
    }

    /// Reads, changes and replaces the file while no one else does.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<ApiKey>) -> Result<T>) -> Result<T> {
        let lock_path = self.path.with_extension("lock");
        let lock = files::open_with(OpenOptions::new().create(true).truncate(false).write(true), &lock_path).at("open", &lock_path)?;
        lock.lock().at("lock", &lock_path)?;
        let mut keys = self.list()?;
        let outcome = change(&mut keys)?;
        let mut text = serde_json::to_vec_pretty(&KeysFile { format_version: FORMAT_VERSION, keys }).expect("keys are plain data");
        text.push(b'\n');
        self.replace(&text).context(|| format!("cannot write {}", self.path.display()))?;
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
