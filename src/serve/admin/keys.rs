//! Answers `/v1/admin/keys`: lists all keys without secrets and digests, creates a key and shows
//! its secret once, and revokes keys.

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::http::body::{Body, request, required};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::format;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use pubdata_core::error::{Error, ErrorKind, Result as ProgramResult};
use pubdata_store::{ApiKey, Keys, NewKey, Scope, change_keys, expires_after};

/// Maximum number of days until a key expires.
const MAX_DAYS: i64 = 36_500;
/// Plan for a key if the request names no plan.
const DEFAULT_PLAN: &str = "standard";

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/admin/keys",
    operation_id: "listKeys",
    summary: "The API keys, without their secrets",
    access: Access::Scope(Scope::Admin),
    parameters: &[format("keys")],
    body: None,
    data: Data::for_type::<KeyList<'static>>(),
    cache_policy: CachePolicy::NoStore,
    handler: Handler::WithoutRelease(|call, json| list(call, json).boxed()),
};

pub const CREATE: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/admin/keys",
    operation_id: "createKey",
    summary: "Create an API key",
    access: Access::Scope(Scope::Admin),
    parameters: &[],
    body: Some(Data::for_type::<NewKeyRequest>()),
    data: Data::for_type::<CreatedKey<'static>>(),
    cache_policy: CachePolicy::NoStore,
    handler: Handler::WithoutRelease(|call, json| create(call, json).boxed()),
};

pub const REVOKE: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/admin/keys/{key_id}/revoke",
    operation_id: "revokeKey",
    summary: "Revoke an API key",
    access: Access::Scope(Scope::Admin),
    parameters: &[],
    body: None,
    data: Data::for_type::<Key<'static>>(),
    cache_policy: CachePolicy::NoStore,
    handler: Handler::WithoutRelease(|call, json| revoke(call, json).boxed()),
};

request! {
    struct NewKeyRequest {
        /// Holder of the key; 1 to 200 characters, no control characters.
        name: String,
        /// Parts of the API that the key may use.
        #[schemars(with = "Vec<&str>", length(min = 1), extend("items" = scope_schema()))]
        scopes: Vec<Scope>,
        /// Plan that sets the key's rate limits; `standard` when null or absent.
        plan: Option<String>,
        /// Days until the key expires, counted from its creation; null or absent if it does not
        /// expire.
        #[schemars(range(min = 1, max = MAX_DAYS))]
        expires_in_days: Option<i64>,
    }
}

impl NewKeyRequest {
    fn read(body: &[u8]) -> Result<Self> {
        let body = Body::read(body, Self::FIELDS)?;
        let name = required(Self::name, body.text(Self::name)?)?;
        let scopes = required(Self::scopes, body.texts(Self::scopes)?)?;
        let scopes = scopes
            .iter()
            .map(|scope| scope.parse())
            .collect::<ProgramResult<_>>()
            .map_err(|error| refused(Self::scopes, &error))?;
        Ok(Self {
            name,
            scopes,
            plan: body.text(Self::plan)?,
            expires_in_days: body.whole(Self::expires_in_days, 1..=MAX_DAYS)?,
        })
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Key<'a> {
    /// Identifier of the key in lists and logs; not a secret.
    key_id: &'a str,
    /// Holder of the key, as stated when it was created.
    name: &'a str,
    /// Parts of the API that the key may use.
    #[schemars(with = "Vec<&str>", extend("items" = scope_schema()))]
    scopes: &'a [Scope],
    /// Plan that sets the key's rate limits, such as `standard`.
    plan: &'a str,
    /// True if the key has neither expired nor been revoked.
    is_valid: bool,
    /// Time at which the key was created, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    created_at: &'a str,
    /// Time at which the key expires, RFC 3339 UTC; null if it does not expire.
    expires_at: Option<&'a str>,
    /// Time at which the key was revoked, RFC 3339 UTC; null if it was not.
    revoked_at: Option<&'a str>,
    /// Time at which the holder last replaced the secret, RFC 3339 UTC; null if never.
    rotated_at: Option<&'a str>,
    /// Time until which the replaced secret is accepted as well, RFC 3339 UTC; null if only the
    /// current one is accepted.
    previous_secret_valid_until: Option<&'a str>,
}

impl<'a> Key<'a> {
    pub fn new(key: &'a ApiKey, call: &Call<'_>) -> Self {
        let now = call.service.now();
        let previous = key
            .previous
            .as_ref()
            .filter(|previous| key.accepts_at(&previous.sha256, now));
        Self {
            key_id: &key.id,
            name: &key.name,
            scopes: &key.scopes,
            plan: &key.plan,
            is_valid: key.is_valid_at(now),
            created_at: &key.created_at,
            expires_at: key.expires_at.as_deref(),
            revoked_at: key.revoked_at.as_deref(),
            rotated_at: key.rotated_at.as_deref(),
            previous_secret_valid_until: previous.map(|previous| previous.valid_until.as_str()),
        }
    }
}

/// Returns the schema for a scope.
pub fn scope_schema() -> Value {
    json!({"title": "Scope", "type": "string", "enum": Scope::ALL.map(Scope::name)})
}

#[derive(Serialize, JsonSchema)]
pub struct CreatedKey<'a> {
    /// The key itself, shown only once: the server stores only its digest.
    key: &'a str,
    #[serde(flatten)]
    entry: Key<'a>,
}

impl<'a> CreatedKey<'a> {
    pub fn new(created: &'a pubdata_store::CreatedKey, call: &Call<'_>) -> Self {
        Self {
            key: &created.key,
            entry: Key::new(&created.entry, call),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct KeyList<'a> {
    /// All keys of the server.
    keys: Vec<Key<'a>>,
}

async fn create(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let NewKeyRequest {
        name,
        scopes,
        plan,
        expires_in_days,
    } = NewKeyRequest::read(call.body)?;
    let now = call.service.now();
    let expires_at = expires_after(
        expires_in_days.and_then(|days| u16::try_from(days).ok()),
        now,
    )?;
    let new = NewKey {
        name,
        scopes,
        plan: plan.unwrap_or_else(|| DEFAULT_PLAN.to_owned()),
        expires_at,
    };
    let plans = &call.service.settings.plans;
    let (home, store) = (&call.service.home, call.service.catalog.releases().store());
    let created = change_keys(home, store, |keys| keys.create(new.clone(), plans, now))
        .await
        .map_err(|error| refused("body", &error))?;
    tracing::info!(
        key.id = created.entry.id,
        by = call.client.id,
        "API key created"
    );
    json.value(&CreatedKey::new(&created, call));
    Ok(Meta::default())
}

async fn revoke(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (id, now) = (call.path_value("key_id"), call.service.now());
    if !all(call).await?.iter().any(|key| key.id == id) {
        return Err(Problem::of_field(
            Code::NotFound,
            "key_id",
            format!("there is no key `{id}`; /v1/admin/keys lists them"),
        ));
    }
    let (home, store) = (&call.service.home, call.service.catalog.releases().store());
    let revoked = change_keys(home, store, |keys| keys.revoke(id, now))
        .await
        .map_err(|error| refused("key_id", &error))?;
    tracing::info!(key.id = revoked.id, by = call.client.id, "API key revoked");
    json.value(&Key::new(&revoked, call));
    Ok(Meta::default())
}

/// Converts an error to a problem. The caller can correct an invalid request; any other error is a
/// server failure.
pub fn refused(field: &str, error: &Error) -> Problem {
    match error.kind() {
        ErrorKind::Config => Problem::of_field(Code::InvalidParameter, field, error.to_string()),
        _ => Problem::internal(error),
    }
}

async fn list(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let keys = all(call).await?;
    json.value(&KeyList {
        keys: keys.iter().map(|key| Key::new(key, call)).collect(),
    });
    Ok(Meta::default())
}

/// Returns the current keys from the file.
pub async fn all(call: &Call<'_>) -> ProgramResult<Vec<ApiKey>> {
    let keys = Keys::open(&call.service.shared);
    let reading = tokio::task::spawn_blocking(move || keys.list());
    reading
        .await
        .map_err(|error| Error::store(format!("reading the keys failed: {error}")))?
}
