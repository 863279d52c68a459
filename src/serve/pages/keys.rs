//! The dashboard of keys: a visitor enters a key, which a cookie keeps; whoever holds one with the scope `admin` sees all keys and their use, makes keys and
//! revokes them.

use axum::http::Method;
use futures_util::{FutureExt, try_join};
use minijinja::Value;
use serde_json::{Value as Json, json};

use super::templates::{context, segment};
use super::visit::{Visit, location};
use super::{Made, Page, cookie, is_secure};
use crate::http::problem::{Code, Problem, Result};
use pubdata_store::Scope;

pub const PATH: &str = "/keys";

pub const PAGES: &[Page] = &[Page { path: PATH, make: |visit| keys(visit).boxed() }];

async fn keys(visit: &Visit<'_>) -> Result<Made> {
    if visit.method != Method::POST {
        return shown(visit, Json::Null).await;
    }
    match visit.field("action") {
        Some("enter") => enter(visit),
        Some("leave") => Ok(Made::Redirect(PATH.to_owned(), Some(cookie::forgotten()))),
        Some("create") => {
            let days = visit.field("expires_in_days").map(|days| days.parse::<i64>().map_or_else(|_| json!(days), |days| json!(days)));
            let scopes: Vec<&str> = visit.form.iter().filter(|(name, _)| name == "scope").map(|(_, scope)| scope.as_str()).collect();
            let body = json!({
                "name": visit.field("name"), "scopes": scopes, "plan": visit.field("plan"), "expires_in_days": days
            });
            let created = visit.send("/v1/admin/keys", &body).await?;
            shown(visit, created).await
        }
        Some("revoke") => {
            let id = visit.field("key_id").unwrap_or_default();
            visit.send(&format!("/v1/admin/keys/{}/revoke", segment(id)), &json!({})).await?;
            Ok(Made::Redirect(PATH.to_owned(), None))
        }
        _ => Err(Problem::of_field(Code::InvalidParameter, "action", "the form says nothing that can be done here")),
    }
}

/// Keeps a key that is valid in a cookie, and goes back to the page it was asked for on.
fn enter(visit: &Visit<'_>) -> Result<Made> {
    let service = &visit.pages.service;
    let key = visit.field("key").ok_or_else(|| Problem::of_field(Code::MissingParameter, "key", "enter a key"))?;
    if !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')) {
        return Err(Problem::of_field(Code::InvalidApiKey, "key", "the API key is not known"));
    }
    service.keys.holder(key, service.now())?;
    let then = visit.field("then").filter(|then| location(then).is_some()).unwrap_or(PATH);
    Ok(Made::Redirect(then.to_owned(), Some(cookie::kept(key, is_secure(service)))))
}

async fn shown(visit: &Visit<'_>, created: Json) -> Result<Made> {
    let client = &visit.visitor.client;
    let is_admin = visit.visitor.is_keyed && client.scopes.contains(&Scope::Admin);
    let (keys, usage) =
        if is_admin { try_join!(visit.ask("/v1/admin/keys".to_owned()), visit.ask("/v1/admin/usage".to_owned()))? } else { (Json::Null, Json::Null) };
    let used = |id: &Json| usage["data"]["keys"].as_array().into_iter().flatten().find(|used| used["key_id"] == *id).cloned().unwrap_or_default();
    let rows: Vec<Value> = keys["data"]["keys"].as_array().into_iter().flatten().map(|key| context! { key, used => used(&key["key_id"]) }).collect();
    let plans: Vec<&str> = visit.pages.service.settings.plans.names().collect();
    let holder = context! { id => client.id, plan => client.plan_name, scopes => client.scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>() };
    let context = context! {
        is_admin, rows, plans, holder, since => usage["data"]["since"], created => created["data"], scopes => Scope::ALL.map(Scope::name),
    };
    Ok(Made::Page("keys.html", context))
}
