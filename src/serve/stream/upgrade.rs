//! Upgrades an HTTP request to a socket after checking the key, the limits and the scope.
//! Rejections are problem documents.

use std::sync::Arc;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::Response;

use crate::http::problem::{Code, Problem, Result};
use crate::http::query::Query;
use crate::http::request_id::RequestId;
use crate::http::response::problem_response;
use crate::http::service::Metered;
use crate::stream::Stream;
use crate::stream::session;
use crate::stream::session::AdmittedSocket;
use pubdata_store::Scope;

/// Maximum size of a message that is read. The session accepts only smaller messages, but a message
/// that is read completely can be answered with an error.
const READ_LIMIT: usize = 256 << 10;
/// Read buffer size, which is small because clients send small messages.
const READ_BYTES: usize = 4 << 10;
/// Size of the write buffer, and the maximum that may wait for a client that does not read.
const WRITE_BYTES: usize = 16 << 10;
const MAX_WRITE_BYTES: usize = 1 << 20;

/// Upgrades a request to a socket, or answers with a problem.
pub async fn upgrade(stream: Arc<Stream>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    let request_id = parts
        .extensions
        .get::<RequestId>()
        .cloned()
        .unwrap_or_default();
    let path = parts.uri.path().to_owned();
    match admit(&stream, &mut parts, &request_id).await {
        Ok((upgrade, entrance)) => {
            let upgrade = upgrade
                .max_message_size(READ_LIMIT)
                .max_frame_size(READ_LIMIT)
                .read_buffer_size(READ_BYTES);
            let upgrade = upgrade
                .write_buffer_size(WRITE_BYTES)
                .max_write_buffer_size(MAX_WRITE_BYTES);
            upgrade.on_upgrade(move |socket| session::run(stream, socket, entrance))
        }
        Err(problem) => problem_response(&stream.service, &problem, &path, &request_id),
    }
}

async fn admit(
    stream: &Arc<Stream>,
    parts: &mut Parts,
    request_id: &RequestId,
) -> Result<(WebSocketUpgrade, AdmittedSocket)> {
    let client = parts
        .extensions
        .remove::<Metered>()
        .expect("a request is metered before anything else")
        .known?;
    if !client.scopes.is_empty() && !client.scopes.contains(&Scope::Stream) {
        return Err(Problem::new(
            Code::InsufficientPermission,
            "this endpoint needs a key with the scope `stream`",
        ));
    }
    Query::read(
        parts.uri.query().unwrap_or_default(),
        &[],
        &stream.service.contracts,
    )?;
    let upgrade = WebSocketUpgrade::from_request_parts(parts, &()).await;
    let upgrade = upgrade.map_err(|rejection| {
        let message = format!(
            "this endpoint speaks WebSocket (RFC 6455) over HTTP/1.1: {}",
            rejection.body_text()
        );
        Problem::of_field(Code::InvalidParameter, "Upgrade", message)
    })?;
    if !stream.ring().is_open() {
        return Err(Problem::new(
            Code::CoverageUnavailable,
            "this server has no log of new filings; `pubdata follow` writes one",
        ));
    }
    let slot = stream.sockets.admit(&client)?;
    Ok((
        upgrade,
        AdmittedSocket {
            client,
            slot,
            connection_id: request_id.0.to_string(),
        },
    ))
}
