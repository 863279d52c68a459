//! Answers `GET /v1/admin/usage`: what the holder of each key asked of this server since it started.

use futures_util::FutureExt;

use super::keys;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::format;
use crate::http::problem::Result;
use crate::http::usage::Used;
use crate::json::Json;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/admin/usage",
    operation_id: "getUsage",
    summary: "What each key was used for since the server started",
    access: Access::Scope(Scope::Admin),
    parameters: &[format("keys")],
    body: None,
    data: "UsageReport",
    validity: Validity::Moment,
    handler: Handler::Files(|call, json| usage(call, json).boxed()),
};

async fn usage(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (keys, usage) = (keys::all(call).await?, &call.service.usage);
    json.object(|json| {
        json.key("since").instant(&usage.since().to_string());
        json.key("keys").array(|json| {
            for key in &keys {
                json.object(|json| {
                    json.key("key_id").text(&key.id);
                    json.key("name").text(&key.name);
                    json.key("plan").text(&key.plan);
                    write_counts(json, usage.of(&key.id).as_ref());
                });
            }
        });
    });
    Ok(Meta::default())
}

/// What a key asked for; nothing, where it never asked.
pub fn write_counts(json: &mut Json, used: Option<&Used>) {
    let count = |counter: fn(&Used) -> u64| used.map_or(0, counter);
    json.key("requests").count(count(|used| used.requests));
    json.key("rate_limited").count(count(|used| used.rate_limited));
    json.key("refused").count(count(|used| used.refused));
    json.key("failed").count(count(|used| used.failed));
    match used {
        Some(used) => json.key("last_request_at").instant(&used.last_request_at.to_string()),
        None => json.key("last_request_at").null(),
    }
}
