//! Receives the body of a request. Limits the size of a body, the time for its arrival, and the
//! number of bodies per client. The connection may be evicted while it waits for the body.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use futures_util::StreamExt;

use super::auth::Client;
use super::connections::Connection;
use super::problem::{Code, Problem, Result};
use super::service::Service;

/// Time limit for a body to arrive.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Maximum number of bytes that are read and discarded from a body that is too large.
const MAX_DROPPED_BYTES: usize = 64 << 20;

/// Reads a body of at most `limit` bytes. The request counts for `client`.
///
/// # Errors
/// `rate_limited` if the client is sending too many bodies; `invalid_parameter` if the body is too
/// large or does not arrive.
pub async fn receive(
    service: &Service,
    client: &Client,
    parts: &Parts,
    body: Body,
    limit: usize,
) -> Result<Bytes> {
    let _share = service.await_body(client)?;
    let connection = parts.extensions.get::<Arc<Connection>>().cloned();
    let _waits = connection.map(|connection| connection.await_body(client.eviction_rank()));
    let wrong = |message: String| Err(Problem::of_field(Code::InvalidParameter, "body", message));
    match tokio::time::timeout(BODY_TIME, bytes_of(body, limit)).await {
        Ok(Ok(Some(bytes))) => Ok(bytes),
        Ok(Ok(None)) => wrong(format!(
            "the body is larger than the limit of {limit} bytes: split the request"
        )),
        Ok(Err(_)) => wrong("the body ended before it was complete".to_owned()),
        Err(_) => wrong(format!(
            "the body did not arrive within {} s",
            BODY_TIME.as_secs()
        )),
    }
}

/// Reads a body. Returns `None` if it is larger than the limit. The excess is read and discarded up
/// to [`MAX_DROPPED_BYTES`], because most clients read the answer only after they have sent
/// everything.
async fn bytes_of(body: Body, limit: usize) -> std::result::Result<Option<Bytes>, axum::Error> {
    let (mut stream, mut kept, mut length) = (body.into_data_stream(), Vec::new(), 0);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk?;
        length += chunk.len();
        if length <= limit {
            kept.extend_from_slice(&chunk);
        } else if length > MAX_DROPPED_BYTES {
            break;
        }
    }
    Ok((length <= limit).then(|| kept.into()))
}
