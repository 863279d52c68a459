//! Answers `GET /v1/admin/usage`: shows how many requests each key has sent to this server since it
//! started.

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use super::keys;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
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
    summary: "Use of each key since the server started",
    access: Access::Scope(Scope::Admin),
    parameters: &[format("keys")],
    body: None,
    data: Data::for_type::<UsageReport<'static>>(),
    cache_policy: CachePolicy::NoStore,
    handler: Handler::WithoutRelease(|call, json| usage(call, json).boxed()),
};

#[derive(Serialize, JsonSchema)]
struct UsageReport<'a> {
    /// Time at which this server started to count, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    since: String,
    /// Requests of each key since the server started.
    keys: Vec<UsedKey<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UsageReportKey")]
struct UsedKey<'a> {
    /// Identifier of the key in lists and logs.
    key_id: &'a str,
    /// Holder of the key, as stated when it was created.
    name: &'a str,
    /// Plan that sets the key's rate limits, such as `standard`.
    plan: &'a str,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Serialize, JsonSchema)]
pub struct KeyUsage {
    /// Time at which this server started to count, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    since: String,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Serialize, JsonSchema)]
struct Counts {
    /// Number of answered requests to endpoints. A batch counts as one request; sockets are not
    /// counted.
    requests: u64,
    /// Number of these requests that got status 429.
    rate_limited: u64,
    /// Number of these requests that got another 4xx status.
    refused: u64,
    /// Number of these requests that got a 5xx status.
    failed: u64,
    /// Time of the last of these requests, RFC 3339 UTC; null if no request was counted since
    /// `since`.
    last_request_at: Option<String>,
}

impl Counts {
    /// Returns the counts of a key. The counts are zero if the key has sent no request.
    fn for_key(call: &Call<'_>, key_id: &str) -> Self {
        let Some(used) = call.service.usage.get(key_id) else {
            return Self {
                requests: 0,
                rate_limited: 0,
                refused: 0,
                failed: 0,
                last_request_at: None,
            };
        };
        let Used {
            requests,
            rate_limited,
            refused,
            failed,
            last_request_at,
        } = used;
        Self {
            requests,
            rate_limited,
            refused,
            failed,
            last_request_at: Some(format!("{last_request_at:.0}")),
        }
    }
}

impl KeyUsage {
    pub fn for_key(call: &Call<'_>, key_id: &str) -> Self {
        Self {
            since: since(call),
            counts: Counts::for_key(call, key_id),
        }
    }
}

fn since(call: &Call<'_>) -> String {
    format!("{:.0}", call.service.usage.since())
}

async fn usage(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let keys = keys::all(call).await?;
    let keys = keys.iter().map(|key| UsedKey {
        key_id: &key.id,
        name: &key.name,
        plan: &key.plan,
        counts: Counts::for_key(call, &key.id),
    });
    json.value(&UsageReport {
        since: since(call),
        keys: keys.collect(),
    });
    Ok(Meta::default())
}
