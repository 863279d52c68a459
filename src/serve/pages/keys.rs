//! Renders the key dashboard. A visitor enters a key, which a cookie stores. The key's holder sees
//! its permissions and use, and can rotate or revoke it. A holder of the scope `admin` sees all
//! keys and their use, and creates and revokes keys. An invitation link leads to a first key.

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

pub const PAGES: &[Page] = &[
    Page {
        path: PATH,
        make: |visit| keys(visit).boxed(),
    },
    Page {
        path: "/docs/limits",
        make: |visit| limits(visit).boxed(),
    },
];

async fn keys(visit: &Visit<'_>) -> Result<Made> {
    if visit.method != Method::POST {
        return match visit.parameter("invite") {
            Some(token) => invitation(visit, token).await,
            None => shown(visit, Json::Null)
                .await
                .map(|context| Made::Page("keys.html", context)),
        };
    }
    match visit.field("action") {
        Some("enter") => enter(visit),
        Some("leave") => Ok(Made::Redirect(PATH.to_owned(), Some(cookie::forgotten()))),
        Some("create") => {
            let days = visit.field("expires_in_days").map(|days| {
                days.parse::<i64>()
                    .map_or_else(|_| json!(days), |days| json!(days))
            });
            let scopes: Vec<&str> = visit
                .form
                .iter()
                .filter(|(name, _)| name == "scope")
                .map(|(_, scope)| scope.as_str())
                .collect();
            let body = json!({
                "name": visit.field("name"), "scopes": scopes, "plan": visit.field("plan"), "expires_in_days": days
            });
            let created = visit.send("/v1/admin/keys", &body).await?;
            shown(visit, created)
                .await
                .map(|context| Made::Page("keys.html", context))
        }
        Some("revoke") => {
            let id = visit.field("key_id").unwrap_or_default();
            visit
                .send(
                    &format!("/v1/admin/keys/{}/revoke", segment(id)),
                    &json!({}),
                )
                .await?;
            Ok(Made::Redirect(PATH.to_owned(), None))
        }
        Some("rotate_mine") => {
            let overlap = visit.field("at_once").map(|_| 0);
            let rotated = visit
                .send("/v1/me/rotate", &json!({ "overlap_minutes": overlap }))
                .await?;
            // The browser stays signed in with the new secret.
            let kept = kept(visit, &rotated);
            shown(visit, rotated)
                .await
                .map(|context| Made::PageWithCookie("keys.html", context, kept))
        }
        Some("revoke_mine") => {
            visit.send("/v1/me/revoke", &json!({})).await?;
            Ok(Made::Redirect(PATH.to_owned(), Some(cookie::forgotten())))
        }
        Some("redeem") => {
            let created = visit
                .send(
                    "/v1/invitations/redeem",
                    &json!({ "token": visit.field("invite") }),
                )
                .await?;
            let context = context! { created => created["data"] };
            // A visitor who already has a key stays signed in with that key.
            let kept = (!visit.visitor.is_keyed).then(|| kept(visit, &created));
            Ok(match kept {
                Some(kept) => Made::PageWithCookie("keys_invitation.html", context, kept),
                None => Made::Page("keys_invitation.html", context),
            })
        }
        _ => Err(Problem::of_field(
            Code::InvalidParameter,
            "action",
            "the form has no known action",
        )),
    }
}

/// Renders an invitation, with the button that creates the key.
async fn invitation(visit: &Visit<'_>, token: &str) -> Result<Made> {
    let offered = visit
        .send("/v1/invitations/show", &json!({ "token": token }))
        .await?;
    Ok(Made::Page(
        "keys_invitation.html",
        context! { offered => offered["data"], invite => token },
    ))
}

/// Renders the plans that this server offers.
async fn limits(visit: &Visit<'_>) -> Result<Made> {
    let plans = visit.ask("/v1/plans".to_owned()).await?;
    Ok(Made::Page(
        "keys_limits.html",
        context! { plans => plans["data"]["plans"] },
    ))
}

/// Stores a valid key in a cookie, and returns to the page that requested the key.
fn enter(visit: &Visit<'_>) -> Result<Made> {
    let service = &visit.pages.service;
    let key = visit
        .field("key")
        .ok_or_else(|| Problem::of_field(Code::MissingParameter, "key", "enter a key"))?;
    if !key
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    {
        return Err(Problem::of_field(
            Code::InvalidApiKey,
            "key",
            "the API key is not known",
        ));
    }
    service.keys.holder(key, service.now())?;
    let then = visit
        .field("then")
        .filter(|then| location(then).is_some())
        .unwrap_or(PATH);
    Ok(Made::Redirect(
        then.to_owned(),
        Some(cookie::kept(key, is_secure(service))),
    ))
}

/// Returns the cookie for a newly created key.
fn kept(visit: &Visit<'_>, created: &Json) -> String {
    cookie::kept(
        created["data"]["key"].as_str().unwrap_or_default(),
        is_secure(&visit.pages.service),
    )
}

async fn shown(visit: &Visit<'_>, created: Json) -> Result<Value> {
    let client = &visit.visitor.client;
    let is_admin = visit.visitor.is_keyed && client.scopes.contains(&Scope::Admin);
    let me = if visit.visitor.is_keyed {
        visit.ask("/v1/me".to_owned()).await?
    } else {
        Json::Null
    };
    let (keys, usage) = if is_admin {
        try_join!(
            visit.ask("/v1/admin/keys".to_owned()),
            visit.ask("/v1/admin/usage".to_owned())
        )?
    } else {
        (Json::Null, Json::Null)
    };
    let used = |id: &Json| {
        usage["data"]["keys"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|used| used["key_id"] == *id)
            .cloned()
            .unwrap_or_default()
    };
    let rows: Vec<Value> = keys["data"]["keys"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|key| context! { key, used => used(&key["key_id"]) })
        .collect();
    let plans: Vec<&str> = visit.pages.service.settings.plans.names_of_keys().collect();
    let (me, created) = (&me["data"], &created["data"]);
    let is_rotated = created["key_id"].is_string() && created["key_id"] == me["key"]["key_id"];
    let is_replaced = !is_rotated
        && me["secret_valid_until"].is_string()
        && me["secret_valid_until"] != me["key"]["expires_at"];
    Ok(
        context! { is_admin, rows, plans, me, is_rotated, is_replaced, since => usage["data"]["since"], created, scopes => Scope::ALL.map(Scope::name) },
    )
}
