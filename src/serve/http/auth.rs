//! Turns a request's API key into a client. Both header forms are accepted everywhere. Keys are
//! looked up by the first bytes of their digest and compared in constant time. The server reads the
//! keys file again when the file changes. For an unknown key, it checks the file on each request;
//! for a known key, it checks the file a few times a second.

use std::collections::HashMap;
use std::fs::Metadata;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use axum::http::{HeaderMap, header};
use jiff::Timestamp;
use subtle::ConstantTimeEq;

use crate::http::connections::EvictionRank;
use crate::http::problem::{Code, Problem, Result as ApiResult};
use pubdata_core::error::Result;
use pubdata_core::ids::Digest;
use pubdata_store::{ANONYMOUS_PLAN, ApiKey, Keys, Plan, Plans, Scope};

/// Milliseconds for which a known key is accepted without checking the keys file again. The check
/// takes a tenth of the time that a small answer takes.
const KEY_RECHECK_MS: i64 = 250;

/// Sender of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Id of the key, or the address of a client without a key.
    pub id: String,
    /// Digest of the secret that was sent, or `None` if the request has no key.
    pub secret: Option<Digest>,
    pub scopes: Vec<Scope>,
    pub plan_name: String,
    pub plan: Plan,
}

impl Client {
    /// Returns the eviction rank of the client's connections.
    pub fn eviction_rank(&self) -> EvictionRank {
        if self.scopes.is_empty() {
            EvictionRank::First
        } else {
            EvictionRank::Last
        }
    }
}

/// Set of valid API keys, reloaded when the keys file changes.
pub struct KeyRing {
    keys: Keys,
    plans: Plans,
    anonymous: Plan,
    ring: ArcSwap<Ring>,
    /// Time of the last check of the keys file, in milliseconds of the request clock.
    looked_at: AtomicI64,
    reading: Mutex<()>,
}

/// Secrets and their keys, indexed by the first bytes of the secret's digest.
type ByPrefix = HashMap<[u8; 8], Vec<Secret>>;

/// One secret of a key.
struct Secret {
    sha256: Digest,
    key: Arc<ApiKey>,
    client: Arc<Client>,
}

#[derive(Default)]
struct Ring {
    /// File metadata at the last check, recorded even if the file could not be read.
    stamp: Option<Stamp>,
    by_prefix: Arc<ByPrefix>,
}

/// File metadata that changes when the file is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    len: u64,
    inode: u64,
}

impl Ring {
    /// Returns the holder of a key, or the reason why the key is not valid. Returns `None` if the
    /// key is unknown.
    fn holder(&self, digest: &Digest, now: Timestamp) -> Option<ApiResult<Arc<Client>>> {
        let Secret { key, client, .. } = self.secret(digest)?;
        let why = match key.revoked_at {
            _ if key.accepts_at(digest, now) => return Some(Ok(client.clone())),
            Some(_) => "the API key was revoked",
            None if key.is_valid_at(now) => "the secret of this API key was replaced by a new one",
            None => "the API key has expired",
        };
        Some(Err(Problem::new(Code::InvalidApiKey, why)))
    }

    fn secret(&self, digest: &Digest) -> Option<&Secret> {
        self.by_prefix
            .get(&prefix(digest))?
            .iter()
            .find(|secret| bool::from(secret.sha256.as_bytes().ct_eq(digest.as_bytes())))
    }
}

impl KeyRing {
    /// Creates the key ring and reads the keys file.
    pub fn new(keys: Keys, plans: Plans) -> Result<Self> {
        let anonymous = plans.anonymous();
        let ring = Self {
            keys,
            plans,
            anonymous,
            ring: ArcSwap::default(),
            looked_at: AtomicI64::new(i64::MIN),
            reading: Mutex::new(()),
        };
        ring.read(ring.stamp())?;
        Ok(ring)
    }

    /// Returns the client that sent a request: the holder of its key, or the address if the request
    /// has no key.
    ///
    /// # Errors
    /// `invalid_parameter` if the headers carry two different keys; `invalid_api_key` if the key is
    /// not valid.
    pub fn client(
        &self,
        headers: &HeaderMap,
        address: impl FnOnce() -> String,
        now: Timestamp,
    ) -> ApiResult<Arc<Client>> {
        match sent_key(headers)? {
            Some(key) => self.holder(key, now),
            None => Ok(Arc::new(self.anonymous(&address()))),
        }
    }

    /// Returns the holder of a key.
    ///
    /// # Errors
    /// `invalid_api_key` if the key is unknown, expired or revoked.
    pub fn holder(&self, key: &str, now: Timestamp) -> ApiResult<Arc<Client>> {
        let digest = Digest::sha256(key.as_bytes());
        let now_ms = now.as_millisecond();
        let is_verified = (0..KEY_RECHECK_MS)
            .contains(&now_ms.saturating_sub(self.looked_at.load(Ordering::Relaxed)));
        if is_verified && let Some(known) = self.ring.load().holder(&digest, now) {
            return known;
        }
        self.follow_file();
        self.looked_at.store(now_ms, Ordering::Relaxed);
        let found = self.ring.load().holder(&digest, now);
        found.unwrap_or_else(|| {
            Err(Problem::new(
                Code::InvalidApiKey,
                "the API key is not known",
            ))
        })
    }

    /// Reports whether the secret that a client sent is still accepted.
    pub fn is_valid(&self, client: &Client, now: Timestamp) -> bool {
        self.follow_file();
        let ring = self.ring.load();
        client.secret.is_some_and(|sent| {
            ring.secret(&sent)
                .is_some_and(|secret| secret.key.accepts_at(&sent, now))
        })
    }

    /// Builds the client for requests from an address without a valid key.
    pub fn anonymous(&self, address: &str) -> Client {
        Client {
            id: format!("address {address}"),
            secret: None,
            scopes: Vec::new(),
            plan_name: ANONYMOUS_PLAN.to_owned(),
            plan: self.anonymous,
        }
    }

    fn stamp(&self) -> Option<Stamp> {
        std::fs::metadata(self.keys.path())
            .ok()
            .map(|metadata| Stamp {
                modified: metadata.modified().ok(),
                len: metadata.len(),
                inode: inode(&metadata),
            })
    }

    fn follow_file(&self) {
        let stamp = self.stamp();
        if self.ring.load().stamp == stamp {
            return;
        }
        let _one_reader = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.ring.load_full();
        if known.stamp == stamp {
            return;
        }
        let path = self.keys.path().display();
        if stamp.is_none() {
            tracing::error!(
                "{path} is missing: every API key is refused until the file exists again; restore it from a backup, or create new keys"
            );
        }
        match self.read(stamp) {
            Ok(()) if known.stamp.is_none() => tracing::info!("API keys are read from {path}"),
            Ok(()) => {}
            Err(error) => {
                tracing::error!(
                    "cannot read the API keys; the keys read last stay valid until the file changes: {error}"
                );
                self.ring.store(Arc::new(Ring {
                    stamp,
                    by_prefix: known.by_prefix.clone(),
                }));
            }
        }
    }

    fn read(&self, stamp: Option<Stamp>) -> Result<()> {
        let mut by_prefix = ByPrefix::new();
        for key in self.keys.list()? {
            let plan = self.plans.of_key(&key.plan).unwrap_or_else(|error| {
                tracing::warn!(
                    "key {} has the limits of requests without a key: {error}",
                    key.id
                );
                self.anonymous
            });
            let key = Arc::new(key);
            for sha256 in std::iter::once(key.sha256)
                .chain(key.previous.as_ref().map(|previous| previous.sha256))
            {
                let client = Client {
                    id: key.id.clone(),
                    secret: Some(sha256),
                    scopes: key.scopes.clone(),
                    plan_name: key.plan.clone(),
                    plan,
                };
                by_prefix.entry(prefix(&sha256)).or_default().push(Secret {
                    sha256,
                    key: key.clone(),
                    client: Arc::new(client),
                });
            }
        }
        self.ring.store(Arc::new(Ring {
            stamp,
            by_prefix: Arc::new(by_prefix),
        }));
        Ok(())
    }
}

/// Returns the API key from either header form.
fn sent_key(headers: &HeaderMap) -> ApiResult<Option<&str>> {
    let bearer = headers.get_all(header::AUTHORIZATION).iter().map(|value| {
        let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    let plain = headers
        .get_all("x-api-key")
        .iter()
        .map(|value| value.to_str().ok().map(str::trim));
    let mut sent = None;
    for key in bearer.chain(plain) {
        let Some(key) = key.filter(|key| !key.is_empty()) else {
            return Err(Problem::new(
                Code::InvalidApiKey,
                "send the key as `Authorization: Bearer KEY` or `X-API-Key: KEY`",
            ));
        };
        if sent.is_some_and(|other| other != key) {
            return Err(Problem::of_field(
                Code::InvalidParameter,
                "X-API-Key",
                "the request carries two different API keys; send one",
            ));
        }
        sent = Some(key);
    }
    Ok(sent)
}

fn prefix(digest: &Digest) -> [u8; 8] {
    let bytes = digest.as_bytes();
    [
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
    ]
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}
