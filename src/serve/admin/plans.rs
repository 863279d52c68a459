//! Answers `GET /v1/plans`: lists the plans of `schemas/_plans.toml` with their limits.

use std::future::ready;

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::body::MAX_BATCH_ITEMS;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::{LIMIT, format};
use crate::http::problem::Result;
use crate::json::Json;
use pubdata_store::{ANONYMOUS_PLAN, Plan};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/plans",
    operation_id: "listPlans",
    summary: "The plans and their limits",
    access: Access::Everyone,
    parameters: &[format("plans")],
    body: None,
    data: Data::for_type::<PlanList<'static>>(),
    cache_policy: CachePolicy::NoStore,
    handler: Handler::WithoutRelease(|call, json| ready(list(call, json)).boxed()),
};

#[derive(Serialize, JsonSchema)]
struct PlanList<'a> {
    /// All plans of the server: first the plan for requests without a key, then the others by rate.
    plans: Vec<NamedPlan<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PlanListPlan")]
struct NamedPlan<'a> {
    /// Name of the plan, as keys refer to it.
    plan: &'a str,
    /// False for the plan for requests without a key, whose limits apply to each address.
    is_for_keys: bool,
    /// Limits of the plan.
    limits: PlanLimits,
}

#[derive(Serialize, JsonSchema)]
pub struct PlanLimits {
    /// Average rate at which the bucket of requests refills.
    requests_per_minute: u64,
    /// Size of the request bucket: number of requests that may arrive at once.
    burst: u64,
    /// Maximum number of open stream sockets.
    stream_sockets: u64,
    /// Maximum number of items in a batch, the same for all plans. Each item costs one request.
    batch_items: usize,
    /// Maximum number of records on a page of a list, the same for all plans. A few lists allow
    /// fewer records; see their `limit`.
    #[schemars(with = "usize")]
    page_records: Option<usize>,
}

impl PlanLimits {
    pub fn from_plan(
        Plan {
            requests_per_minute,
            burst,
            stream_sockets,
        }: Plan,
    ) -> Self {
        Self {
            requests_per_minute,
            burst,
            stream_sockets,
            batch_items: MAX_BATCH_ITEMS,
            page_records: LIMIT.max_integer(),
        }
    }
}

fn list(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let mut plans: Vec<(&str, Plan)> = call.service.settings.plans.all().collect();
    plans.sort_by_key(|(name, plan)| (*name != ANONYMOUS_PLAN, plan.requests_per_minute));
    let plans = plans.into_iter().map(|(plan, limits)| NamedPlan {
        plan,
        is_for_keys: plan != ANONYMOUS_PLAN,
        limits: PlanLimits::from_plan(limits),
    });
    json.value(&PlanList {
        plans: plans.collect(),
    });
    Ok(Meta::default())
}
