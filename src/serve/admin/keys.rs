//! Answers `GET /v1/admin/keys`: every key that was made, without its secret and the digest of it.

use futures_util::FutureExt;

use crate::error::{Error, Result as ProgramResult};
use crate::serve::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::serve::http::meta::Meta;
use crate::serve::http::parameters::format;
use crate::serve::http::problem::Result;
use crate::serve::json::Json;
use crate::store::{ApiKey, Keys, Scope};

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

async fn list(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (keys, now) = (all(call).await?, call.service.now());
    json.object(|json| {
        json.key("keys").array(|json| {
            for key in &keys {
                json.object(|json| {
                    json.key("key_id").text(&key.id);
                    json.key("name").text(&key.name);
                    json.key("scopes").texts(key.scopes.iter().map(|scope| scope.name()));
                    json.key("plan").text(&key.plan);
                    json.key("is_valid").flag(key.is_valid_at(now));
                    json.key("created_at").text(&key.created_at);
                    json.key("expires_at").optional_text(key.expires_at.as_deref());
                    json.key("revoked_at").optional_text(key.revoked_at.as_deref());
                });
            }
        });
    });
    Ok(Meta::default())
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
