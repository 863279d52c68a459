//! Answers `/v1/admin/keys`: every key that was made, without its secret and the digest of it; makes a key, whose secret is told this once, and revokes one.

use futures_util::FutureExt;
use jiff::ToSpan;

use crate::http::body::Body;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::format;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use pubdata_core::error::{Error, ErrorKind, Result as ProgramResult};
use pubdata_store::{ApiKey, Keys, NewKey, Scope, change_keys};

/// The longest time after which a key expires.
const MAX_DAYS: i64 = 36_500;
/// What keys have of which no plan is said.
const USUAL_PLAN: &str = "standard";

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/admin/keys",
    operation_id: "listKeys",
    summary: "The API keys, without their secrets",
    access: Access::Scope(Scope::Admin),
    parameters: &[format("keys")],
    body: None,
    data: "KeyList",
    validity: Validity::Moment,
    handler: Handler::Files(|call, json| list(call, json).boxed()),
};

pub const CREATE: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/admin/keys",
    operation_id: "createKey",
    summary: "Make an API key",
    access: Access::Scope(Scope::Admin),
    parameters: &[],
    body: Some("NewKeyRequest"),
    data: "CreatedKey",
    validity: Validity::Moment,
    handler: Handler::Files(|call, json| create(call, json).boxed()),
};

pub const REVOKE: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/admin/keys/{key_id}/revoke",
    operation_id: "revokeKey",
    summary: "Revoke an API key",
    access: Access::Scope(Scope::Admin),
    parameters: &[],
    body: None,
    data: "Key",
    validity: Validity::Moment,
    handler: Handler::Files(|call, json| revoke(call, json).boxed()),
};

async fn create(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let body = Body::read(call.body, &["name", "scopes", "plan", "expires_in_days"])?;
    let missing = |field: &str| Problem::of_field(Code::MissingParameter, field, format!("the body needs `{field}`"));
    let name = body.text("name")?.ok_or_else(|| missing("name"))?;
    let scopes = body.texts("scopes")?.ok_or_else(|| missing("scopes"))?;
    let scopes = scopes.iter().map(|scope| scope.parse()).collect::<ProgramResult<Vec<Scope>>>().map_err(|error| refused("scopes", &error))?;
    let plan = body.text("plan")?.unwrap_or_else(|| USUAL_PLAN.to_owned());
    let now = call.service.now();
    let expires_at = match body.whole("expires_in_days", 1..=MAX_DAYS)? {
        Some(days) => Some(now.checked_add((days * 24).hours()).map_err(|error| Problem::internal(&error))?),
        None => None,
    };
    let new = NewKey { name, scopes, plan, expires_at };
    let plans = &call.service.settings.plans;
    let (home, store) = (&call.service.home, call.service.catalog.releases().store());
    let created = change_keys(home, store, |keys| keys.create(new.clone(), plans, now)).await.map_err(|error| refused("body", &error))?;
    tracing::info!(key.id = created.entry.id, by = call.client.id, "API key made");
    json.object(|json| {
        json.key("key").text(&created.key);
        write_fields(json, &created.entry, call);
    });
    Ok(Meta::default())
}

async fn revoke(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (id, now) = (call.path_value("key_id"), call.service.now());
    if !all(call).await?.iter().any(|key| key.id == id) {
        return Err(Problem::of_field(Code::NotFound, "key_id", format!("there is no key `{id}`; /v1/admin/keys lists them")));
    }
    let (home, store) = (&call.service.home, call.service.catalog.releases().store());
    let revoked = change_keys(home, store, |keys| keys.revoke(id, now)).await.map_err(|error| refused("key_id", &error))?;
    tracing::info!(key.id = revoked.id, by = call.client.id, "API key revoked");
    json.object(|json| write_fields(json, &revoked, call));
    Ok(Meta::default())
}

/// A wish that cannot be granted is the caller's to correct; anything else is a failure of ours.
pub fn refused(field: &str, error: &Error) -> Problem {
    match error.kind() {
        ErrorKind::Config => Problem::of_field(Code::InvalidParameter, field, error.to_string()),
        _ => Problem::internal(error),
    }
}

async fn list(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let keys = all(call).await?;
    json.object(|json| {
        json.key("keys").array(|json| {
            for key in &keys {
                json.object(|json| write_fields(json, key, call));
            }
        });
    });
    Ok(Meta::default())
}

pub fn write_fields(json: &mut Json, key: &ApiKey, call: &Call<'_>) {
    json.key("key_id").text(&key.id);
    json.key("name").text(&key.name);
    json.key("scopes").texts(key.scopes.iter().map(|scope| scope.name()));
    json.key("plan").text(&key.plan);
    json.key("is_valid").flag(key.is_valid_at(call.service.now()));
    json.key("created_at").text(&key.created_at);
    json.key("expires_at").optional_text(key.expires_at.as_deref());
    json.key("revoked_at").optional_text(key.revoked_at.as_deref());
    json.key("rotated_at").optional_text(key.rotated_at.as_deref());
    let previous = key.previous.as_ref().filter(|previous| key.accepts_at(&previous.sha256, call.service.now()));
    json.key("previous_secret_valid_until").optional_text(previous.map(|previous| previous.valid_until.as_str()));
}

/// The keys as the file has them now.
///
/// # Errors
/// `Store`, when the file cannot be read.
pub async fn all(call: &Call<'_>) -> ProgramResult<Vec<ApiKey>> {
    let keys = Keys::open(&call.service.shared);
    let reading = tokio::task::spawn_blocking(move || keys.list());
    reading.await.map_err(|error| Error::store(format!("reading the keys failed: {error}")))?
}
