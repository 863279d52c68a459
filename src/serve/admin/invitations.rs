//! Answers `/v1/invitations`: shows an invitation, and creates its key once. Tokens are sent in
//! request bodies, because URLs are logged.

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use super::keys::{CreatedKey, refused, scope_schema};
use super::plans::PlanLimits;
use crate::http::body::{Body, request, required};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use pubdata_core::error::{Error, ErrorKind, Result as ProgramResult};
use pubdata_core::ids::Digest;
use pubdata_store::{Invitation, Keys, Scope, change_keys};

pub const SHOW: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/invitations/show",
    operation_id: "showInvitation",
    summary: "Contents of an invitation",
    access: Access::Everyone,
    parameters: &[],
    body: Some(Data::for_type::<InvitationRequest>()),
    data: Data::for_type::<Offer<'static>>(),
    cache_policy: CachePolicy::NoStore,
    handler: Handler::WithoutRelease(|call, json| show(call, json).boxed()),
};

pub const REDEEM: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/invitations/redeem",
    operation_id: "redeemInvitation",
    summary: "Create the key of an invitation",
    access: Access::Everyone,
    parameters: &[],
    body: Some(Data::for_type::<InvitationRequest>()),
    data: Data::for_type::<CreatedKey<'static>>(),
    cache_policy: CachePolicy::NoStore,
    handler: Handler::WithoutRelease(|call, json| redeem(call, json).boxed()),
};

request! {
    struct InvitationRequest {
        /// Token of the invitation: the text after `invite=` in its link.
        token: String,
    }
}

impl InvitationRequest {
    fn read(body: &[u8]) -> Result<Self> {
        let body = Body::read(body, Self::FIELDS)?;
        Ok(Self {
            token: required(Self::token, body.text(Self::token)?)?,
        })
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Invitation")]
struct Offer<'a> {
    /// Holder of the key.
    name: &'a str,
    /// Parts of the API that the key will be able to use.
    #[schemars(with = "Vec<&str>", extend("items" = scope_schema()))]
    scopes: &'a [Scope],
    /// Plan that will set the key's rate limits, such as `standard`.
    plan: &'a str,
    /// Limits of the plan.
    limits: PlanLimits,
    /// Time at which the invitation expires, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    expires_at: &'a str,
    /// Days until the key expires, counted from its creation; null if it does not expire.
    #[schemars(with = "Option<u64>")]
    key_expires_in_days: Option<u16>,
}

async fn show(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let invitation = usable(call, &token(call)?).await?;
    let plan = call
        .service
        .settings
        .plans
        .of_key(&invitation.plan)
        .map_err(|error| refused("token", &error))?;
    json.value(&Offer {
        name: &invitation.name,
        scopes: &invitation.scopes,
        plan: &invitation.plan,
        limits: PlanLimits::from_plan(plan),
        expires_at: &invitation.expires_at,
        key_expires_in_days: invitation.key_expires_in_days,
    });
    Ok(Meta::default())
}

async fn redeem(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let token = token(call)?;
    // Guessed tokens are rejected before the shared store is contacted.
    let invitation = usable(call, &token).await?;
    let (plans, now) = (&call.service.settings.plans, call.service.now());
    let (home, store) = (&call.service.home, call.service.catalog.releases().store());
    let created = change_keys(home, store, |keys| keys.redeem(&token, plans, now))
        .await
        .map_err(|error| match error.kind() {
            ErrorKind::Config => unusable(error.to_string()),
            _ => Problem::internal(&error),
        })?;
    tracing::info!(
        key.id = created.entry.id,
        invitation.id = invitation.id,
        "API key created from an invitation"
    );
    json.value(&CreatedKey::new(&created, call));
    Ok(Meta::default())
}

/// Returns the digest of the token from the body.
fn token(call: &Call<'_>) -> Result<Digest> {
    Ok(Digest::sha256(
        InvitationRequest::read(call.body)?.token.as_bytes(),
    ))
}

/// Returns the invitation for a token if the invitation can still be used.
async fn usable(call: &Call<'_>, token: &Digest) -> Result<Invitation> {
    let (keys, token) = (Keys::open(&call.service.shared), *token);
    let reading = tokio::task::spawn_blocking(move || -> ProgramResult<_> {
        Ok(keys
            .invitations()?
            .into_iter()
            .find(|invitation| invitation.sha256 == token))
    });
    let found = reading
        .await
        .map_err(|error| Error::store(format!("reading the invitations failed: {error}")))??;
    let invitation = found.ok_or_else(|| {
        unusable("there is no such invitation; check that the link is complete".to_owned())
    })?;
    match invitation.refusal(call.service.now()) {
        Some(refusal) => Err(unusable(format!("{refusal}; ask the sender for a new one"))),
        None => Ok(invitation),
    }
}

fn unusable(detail: String) -> Problem {
    Problem::of_field(Code::NotFound, "token", detail)
}
