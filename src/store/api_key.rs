//! Defines API keys and their scopes, and generates their secrets.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use jiff::{Timestamp, ToSpan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Plans;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Digest;
use pubdata_core::printable::{is_unprintable, printable};

/// Prefix of API keys, by which secret scanners recognise leaked keys.
pub(super) const KEY_PREFIX: &str = "pd_";

/// Permission that a key grants: one scope per product family, one for the stream, and one for
/// administration.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    General,
    Geo,
    Sec,
    Stream,
    Admin,
}

impl Scope {
    /// All scopes, in their canonical order.
    pub const ALL: [Self; 5] = [
        Self::General,
        Self::Geo,
        Self::Sec,
        Self::Stream,
        Self::Admin,
    ];

    /// Returns the scope's name.
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
        Self::ALL
            .into_iter()
            .find(|scope| scope.name() == text)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                Error::config(format!("there is no scope `{text}`"))
                    .hint(format!("scopes: {names}"))
            })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The stored fields of an API key. The secret is stored only as its SHA-256 digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApiKey {
    /// Identifies the key in lists and logs; not a secret.
    pub id: String,
    /// Name of the key's holder.
    pub name: String,
    /// Digest of the key's secret.
    pub sha256: Digest,
    /// The scopes that the key grants.
    pub scopes: Vec<Scope>,
    /// Name of the plan that limits the key's requests, as defined in `schemas/_plans.toml`.
    pub plan: String,
    /// When the key was created, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// When the key expires, RFC 3339 UTC; null if it does not expire.
    #[schemars(extend("format" = "date-time"))]
    pub expires_at: Option<String>,
    /// When the key was revoked, RFC 3339 UTC; null if it was not revoked.
    #[schemars(extend("format" = "date-time"))]
    pub revoked_at: Option<String>,
    /// When the holder last replaced the secret, RFC 3339 UTC; null if never.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub rotated_at: Option<String>,
    /// The replaced secret; null if no secret was replaced, or if the old secret was invalidated
    /// immediately.
    #[serde(default)]
    pub previous: Option<PreviousSecret>,
}

/// A replaced secret that is accepted for a limited time in addition to the new secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreviousSecret {
    /// Digest of the replaced secret.
    pub sha256: Digest,
    /// Time until which the secret is accepted, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub valid_until: String,
}

impl ApiKey {
    /// Returns whether the key is valid at `now`.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none()
            && self
                .expires_at
                .as_deref()
                .is_none_or(|expiry| is_before(now, expiry))
    }

    /// Returns whether the key accepts the secret with this digest at `now`.
    pub fn accepts_at(&self, secret: &Digest, now: Timestamp) -> bool {
        let is_accepted = self.sha256 == *secret
            || self.previous.as_ref().is_some_and(|previous| {
                previous.sha256 == *secret && is_before(now, &previous.valid_until)
            });
        is_accepted && self.is_valid_at(now)
    }
}

/// Returns whether an RFC 3339 timestamp is in the future. Text that cannot be parsed counts as
/// being in the past.
pub(super) fn is_before(now: Timestamp, instant: &str) -> bool {
    instant
        .parse::<Timestamp>()
        .is_ok_and(|instant| now < instant)
}

/// A request for a new key.
#[derive(Debug, Clone)]
pub struct NewKey {
    pub name: String,
    pub scopes: Vec<Scope>,
    pub plan: String,
    pub expires_at: Option<Timestamp>,
}

/// Returns when a key that is valid for `days` from `now` expires; `None` if it never expires.
///
/// # Errors
/// `Config`, when the expiry time is out of range.
pub fn expires_after(days: Option<u16>, now: Timestamp) -> Result<Option<Timestamp>> {
    let expires_at = days
        .map(|days| now.checked_add((i64::from(days) * 24).hours()))
        .transpose();
    expires_at.map_err(|error| Error::config(format!("the expiry is out of range: {error}")))
}

impl NewKey {
    /// Rejects an invalid name, scopes or plan.
    pub(super) fn check(&self, plans: &Plans) -> Result<()> {
        plans.of_key(&self.plan)?;
        if self.name.trim().is_empty() || self.name.len() > 200 {
            return Err(Error::config("a key needs a name of 1 to 200 characters"));
        }
        if self.name.contains(is_unprintable) {
            let message = format!(
                "the name of a key must not have control characters: `{}`",
                printable(&self.name)
            );
            return Err(
                Error::config(message).hint("a terminal that lists the keys would interpret them")
            );
        }
        if self.scopes.is_empty() {
            return Err(
                Error::config("a key without scopes opens nothing").hint(format!(
                    "scopes: {}",
                    Scope::ALL.map(Scope::name).join(", ")
                )),
            );
        }
        Ok(())
    }

    /// Generates the key without storing it.
    pub(super) fn make(self, plans: &Plans, now: Timestamp) -> Result<CreatedKey> {
        self.check(plans)?;
        let (key, sha256) = new_secret(KEY_PREFIX)?;
        let entry = ApiKey {
            id: format!("k{}", sha256.short(12)),
            name: self.name,
            sha256,
            scopes: in_order(self.scopes),
            plan: self.plan,
            created_at: to_second(now),
            expires_at: self.expires_at.map(to_second),
            revoked_at: None,
            rotated_at: None,
            previous: None,
        };
        Ok(CreatedKey { key, entry })
    }
}

/// Formats a timestamp for storage: RFC 3339 UTC, to the second.
pub(super) fn to_second(instant: Timestamp) -> String {
    instant.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Sorts scopes in the order of [`Scope::ALL`] and removes duplicates.
pub(super) fn in_order(mut scopes: Vec<Scope>) -> Vec<Scope> {
    scopes.sort_unstable();
    scopes.dedup();
    scopes
}

/// Generates a random 256-bit secret and returns it with its digest.
pub(super) fn new_secret(prefix: &str) -> Result<(String, Digest)> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)
        .map_err(|error| Error::store(format!("the system gives no random numbers: {error}")))?;
    let secret = format!(
        "{prefix}{}",
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(secret)
    );
    let sha256 = Digest::sha256(secret.as_bytes());
    Ok((secret, sha256))
}

/// A new key together with its secret, which is not stored anywhere.
#[derive(Debug, Clone)]
pub struct CreatedKey {
    /// The secret, to be given to the holder.
    pub key: String,
    pub entry: ApiKey,
}
