//! Answers `GET /v1/plans`: the plans of `schemas/_plans.toml` with what each allows.

use crate::http::body::MAX_BATCH_ITEMS;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
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
    data: "PlanList",
    validity: Validity::Moment,
    handler: Handler::Memory(list),
};

fn list(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let mut plans: Vec<(&str, Plan)> = call.service.settings.plans.all().collect();
    plans.sort_by_key(|(name, plan)| (*name != ANONYMOUS_PLAN, plan.requests_per_minute));
    json.object(|json| {
        json.key("plans").array(|json| {
            for (name, plan) in plans {
                json.object(|json| {
                    json.key("plan").text(name);
                    json.key("is_for_keys").flag(name != ANONYMOUS_PLAN);
                    json.key("limits").object(|json| write_limits(json, plan));
                });
            }
        });
    });
    Ok(Meta::default())
}

/// What a plan allows; the sizes of batches and pages are those of all plans.
pub fn write_limits(json: &mut Json, plan: Plan) {
    json.key("requests_per_minute").count(plan.requests_per_minute);
    json.key("burst").count(plan.burst);
    json.key("stream_sockets").count(plan.stream_sockets);
    json.key("batch_items").count(MAX_BATCH_ITEMS as u64);
    json.key("page_records").optional_integer(LIMIT.most_count().map(|most| most as i64));
}
