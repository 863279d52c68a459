//! Answers `/v1/me`: shows the scopes and the usage of the key that was sent, rotates its secret,
//! and revokes the key.

use futures_util::FutureExt;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::keys::{CreatedKey, Key, all, refused};
use super::plans::PlanLimits;
use super::usage::KeyUsage;
use crate::http::body::{Body, request};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use pubdata_core::ids::Digest;
use pubdata_store::{ApiKey, change_keys};

/// How long a replaced secret is accepted, by default and at most.
const DEFAULT_OVERLAP_MINUTES: i64 = 60;
const MAX_OVERLAP_MINUTES: i64 = 24 * 60;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/me",
    operation_id: "getMe",
    summary: "Scopes, plan, limits and use of your key",
    access: Access::Optional,
    parameters: &[],
    body: None,
    data: Data::for_type::<Me<'static>>(),
    cache_policy: CachePolicy::NoStore,
    handler: Handler::WithoutRelease(|call, json| me(call, json).boxed()),
};

pub const ROTATE: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/me/rotate",
    operation_id: "rotateMyKey",
    summary: "Give your key a new secret",
    access: Access::Key,
    parameters: &[],
    body: Some(Data::for_type::<RotationRequest>()),
    data: Data::for_type::<CreatedKey<'static>>(),
    cache_policy: CachePolicy::NoStore,
    handler: Handler::WithoutRelease(|call, json| rotate(call, json).boxed()),
};

pub const REVOKE: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/me/revoke",
    operation_id: "revokeMyKey",
    summary: "Revoke your key",
    access: Access::Key,
    parameters: &[],
    body: None,
    data: Data::for_type::<Key<'static>>(),
    cache_policy: CachePolicy::NoStore,
    handler: Handler::WithoutRelease(|call, json| revoke(call, json).boxed()),
};

request! {
    struct RotationRequest {
        /// Minutes for which the current secret is accepted together with the new one; 60 when null
        /// or absent. With 0, the current secret is refused at once.
        #[schemars(range(min = 0, max = MAX_OVERLAP_MINUTES))]
        overlap_minutes: Option<i64>,
    }
}

impl RotationRequest {
    fn read(body: &[u8]) -> Result<Self> {
        let body = Body::read(body, Self::FIELDS)?;
        Ok(Self {
            overlap_minutes: body.whole(Self::overlap_minutes, 0..=MAX_OVERLAP_MINUTES)?,
        })
    }
}

#[derive(Serialize, JsonSchema)]
struct Me<'a> {
    /// The key that was sent; null for a request without a key.
    key: Option<Key<'a>>,
    /// Time from which the secret that was sent is refused, RFC 3339 UTC, because the key expires
    /// or a new secret has replaced this one; null if the secret does not expire.
    secret_valid_until: Option<&'a str>,
    /// Plan of the key; `anonymous` for a request without a key, whose limits apply to its address.
    plan: &'a str,
    /// Limits of the plan.
    limits: PlanLimits,
    /// Requests with the key; null for a request without a key.
    usage: Option<KeyUsage>,
}

async fn me(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let key = match call.client.secret {
        Some(secret) => Some((own_key(call).await?, secret)),
        None => None,
    };
    json.value(&Me {
        key: key.as_ref().map(|(key, _)| Key::new(key, call)),
        secret_valid_until: key
            .as_ref()
            .and_then(|(key, secret)| valid_until(key, secret)),
        plan: &call.client.plan_name,
        limits: PlanLimits::from_plan(call.client.plan),
        usage: key
            .as_ref()
            .map(|(key, _)| KeyUsage::for_key(call, &key.id)),
    });
    Ok(Meta::default())
}

async fn rotate(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let overlap = RotationRequest::read(call.body)?
        .overlap_minutes
        .unwrap_or(DEFAULT_OVERLAP_MINUTES);
    let (key, now) = (current_key(call).await?, call.service.now());
    let (home, store) = (&call.service.home, call.service.catalog.releases().store());
    let rotated = change_keys(home, store, |keys| {
        keys.rotate(&key.id, &key.sha256, overlap, now)
    })
    .await
    .map_err(|error| refused("body", &error))?;
    tracing::info!(
        key.id = rotated.entry.id,
        overlap_minutes = overlap,
        "API key has a new secret"
    );
    json.value(&CreatedKey::new(&rotated, call));
    Ok(Meta::default())
}

async fn revoke(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (key, now) = (current_key(call).await?, call.service.now());
    let (home, store) = (&call.service.home, call.service.catalog.releases().store());
    let revoked = change_keys(home, store, |keys| keys.revoke(&key.id, now))
        .await
        .map_err(|error| refused("key", &error))?;
    tracing::info!(key.id = revoked.id, by = call.client.id, "API key revoked");
    json.value(&Key::new(&revoked, call));
    Ok(Meta::default())
}

/// Returns when the secret that was sent expires, or `None` if it does not.
fn valid_until<'k>(key: &'k ApiKey, secret: &Digest) -> Option<&'k str> {
    let replaced = key
        .previous
        .as_ref()
        .filter(|previous| previous.sha256 == *secret)
        .map(|previous| previous.valid_until.as_str());
    [replaced, key.expires_at.as_deref()]
        .into_iter()
        .flatten()
        .min_by_key(|instant| instant.parse::<Timestamp>().ok())
}

/// Returns the current state of the key whose secret was sent.
async fn own_key(call: &Call<'_>) -> Result<ApiKey> {
    let keys = all(call).await?;
    keys.into_iter()
        .find(|key| key.id == call.client.id)
        .ok_or_else(|| Problem::new(Code::InvalidApiKey, "the API key is not known"))
}

/// Returns the key whose secret was sent, but only if the secret is the current one. A replaced
/// secret may be known to others and must not change the key.
async fn current_key(call: &Call<'_>) -> Result<ApiKey> {
    let key = own_key(call).await?;
    if call.client.secret == Some(key.sha256) {
        return Ok(key);
    }
    let detail = "the secret of this key was replaced by a new one; only the new one can rotate or revoke the key";
    Err(Problem::new(Code::InsufficientPermission, detail))
}
