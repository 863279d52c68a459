//! Invitations: an operator decides what a key will permit, and whoever has the link makes it,
//! once. They are kept beside the keys, by the digest of their token, so that one change of the
//! file uses up an invitation and adds its key.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Plans;
use super::api_key::{NewKey, Scope, expires_after, in_order, is_before, new_secret, to_second};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Digest;

/// Invitations that may be open at the same time.
pub(super) const MAX_OPEN: usize = 100;
/// For how long an invitation that can no longer be used stays in the file.
const RETAINED: SignedDuration = SignedDuration::from_hours(30 * 24);
const TOKEN_PREFIX: &str = "pi_";

/// What is kept of an invitation: everything but its token, of which only the SHA-256 digest is
/// stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Invitation {
    /// Names the invitation in lists and logs; not a secret.
    pub id: String,
    /// Who will hold the key.
    pub name: String,
    /// Digest of the token in the link.
    pub sha256: Digest,
    /// What the key will open.
    pub scopes: Vec<Scope>,
    /// How many requests the key may send: `schemas/_plans.toml`.
    pub plan: String,
    /// When it was made, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// Until when it can be used, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub expires_at: String,
    /// Days until the key expires, from when it is made; null if it does not.
    pub key_expires_in_days: Option<u16>,
    /// When the key was made, RFC 3339 UTC; null while it was not.
    #[schemars(extend("format" = "date-time"))]
    pub used_at: Option<String>,
    /// The key that was made; null while there is none.
    pub key_id: Option<String>,
    /// When it was revoked, RFC 3339 UTC; null if it was not.
    #[schemars(extend("format" = "date-time"))]
    pub revoked_at: Option<String>,
}

/// A new invitation together with its token, which exists only here.
#[derive(Debug, Clone)]
pub struct CreatedInvitation {
    pub token: String,
    pub entry: Invitation,
}

/// A wish for a new invitation.
#[derive(Debug, Clone)]
pub struct NewInvitation {
    pub name: String,
    pub scopes: Vec<Scope>,
    pub plan: String,
    pub expires_at: Timestamp,
    pub key_expires_in_days: Option<u16>,
}

impl Invitation {
    /// Why it cannot be used at `now`; none while it can.
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

    /// Whether it ended so long ago that nobody asks for it.
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

    /// The key that it offers.
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
    /// Makes the invitation; nothing is stored.
    ///
    /// # Errors
    /// `Config`, when no key could be made with it, or it grants the scope `admin`; `Store`, when
    /// the system gives no random numbers.
    pub(super) fn make(self, plans: &Plans, now: Timestamp) -> Result<CreatedInvitation> {
        if self.scopes.contains(&Scope::Admin) {
            let hint = "make such a key with `pubdata keys create` and hand it over yourself";
            return Err(Error::config(
                "an invitation grants no scope `admin`: whoever has the link makes the key",
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
