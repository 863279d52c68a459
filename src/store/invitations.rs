//! Manages invitations. An operator decides what a key permits, and the holder of the link creates
//! the key, once. Invitations are stored with the keys, by the digest of their token, so that one
//! change to the file uses up an invitation and adds the key.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Plans;
use super::api_key::{NewKey, Scope, expires_after, in_order, is_before, new_secret, to_second};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Digest;

/// Maximum number of open invitations.
pub(super) const MAX_OPEN: usize = 100;
/// How long an unusable invitation stays in the file.
const RETAINED: SignedDuration = SignedDuration::from_hours(30 * 24);
const TOKEN_PREFIX: &str = "pi_";

/// The stored fields of an invitation. The token is stored only as its SHA-256 digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Invitation {
    /// Identifies the invitation in lists and logs; not a secret.
    pub id: String,
    /// Name of the key's future holder.
    pub name: String,
    /// Digest of the token in the link.
    pub sha256: Digest,
    /// Scopes that the key will grant.
    pub scopes: Vec<Scope>,
    /// Name of the plan that will limit the key's requests, as defined in `schemas/_plans.toml`.
    pub plan: String,
    /// When the invitation was created, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// When the invitation expires, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub expires_at: String,
    /// Number of days from the key's creation until it expires; null if the key does not expire.
    pub key_expires_in_days: Option<u16>,
    /// When the key was created, RFC 3339 UTC; null if the invitation has not been used.
    #[schemars(extend("format" = "date-time"))]
    pub used_at: Option<String>,
    /// Id of the created key; null if the invitation has not been used.
    pub key_id: Option<String>,
    /// When the invitation was revoked, RFC 3339 UTC; null if it was not revoked.
    #[schemars(extend("format" = "date-time"))]
    pub revoked_at: Option<String>,
}

/// A new invitation together with its token, which is not stored anywhere.
#[derive(Debug, Clone)]
pub struct CreatedInvitation {
    pub token: String,
    pub entry: Invitation,
}

/// A request for a new invitation.
#[derive(Debug, Clone)]
pub struct NewInvitation {
    pub name: String,
    pub scopes: Vec<Scope>,
    pub plan: String,
    pub expires_at: Timestamp,
    pub key_expires_in_days: Option<u16>,
}

impl Invitation {
    /// Returns why the invitation cannot be used at `now`; `None` if it can.
    pub fn refusal(&self, now: Timestamp) -> Option<&'static str> {
        match self {
            Self {
                revoked_at: Some(_),
                ..
            } => Some("the invitation was revoked"),
            Self {
                used_at: Some(_), ..
            } => Some("the invitation was used already"),
            _ if !is_before(now, &self.expires_at) => Some("the invitation has expired"),
            _ => None,
        }
    }

    /// Returns whether the invitation became unusable so long ago that it is to be deleted.
    pub(super) fn is_forgotten(&self, now: Timestamp) -> bool {
        let ended = self
            .revoked_at
            .as_ref()
            .or(self.used_at.as_ref())
            .unwrap_or(&self.expires_at);
        ended
            .parse::<Timestamp>()
            .is_ok_and(|ended| now.duration_since(ended) > RETAINED)
    }

    /// Returns the key that the invitation offers.
    pub(super) fn key(&self, now: Timestamp) -> Result<NewKey> {
        let expires_at = expires_after(self.key_expires_in_days, now)?;
        Ok(NewKey {
            name: self.name.clone(),
            scopes: self.scopes.clone(),
            plan: self.plan.clone(),
            expires_at,
        })
    }
}

impl NewInvitation {
    /// Generates the invitation without storing it.
    ///
    /// # Errors
    /// `Config`, when no key could be created from the invitation, or when it grants the scope
    /// `admin`.
    pub(super) fn make(self, plans: &Plans, now: Timestamp) -> Result<CreatedInvitation> {
        if self.scopes.contains(&Scope::Admin) {
            let hint = "create such a key with `pubdata keys create` and give it to its holder";
            return Err(Error::config(
                "an invitation must not grant the scope `admin`: anyone with the link can create the key",
            )
            .hint(hint));
        }
        let (token, sha256) = new_secret(TOKEN_PREFIX)?;
        let entry = Invitation {
            id: format!("i{}", sha256.short(12)),
            name: self.name,
            sha256,
            scopes: in_order(self.scopes),
            plan: self.plan,
            created_at: to_second(now),
            expires_at: to_second(self.expires_at),
            key_expires_in_days: self.key_expires_in_days,
            used_at: None,
            key_id: None,
            revoked_at: None,
        };
        entry.key(now)?.check(plans)?;
        Ok(CreatedInvitation { token, entry })
    }
}
