//! Receives the body of a request, whoever reads it: bounded in bytes, in time, and in number for
//! each client. Meanwhile its connection may have to give way to another.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use futures_util::StreamExt;

use super::auth::Client;
use super::connections::Connection;
use super::problem::{Code, Problem, Result};
use super::service::Service;

/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(10);

/// The most that is read of a body that is too large.
const MAX_DROPPED_BYTES: usize = 64 << 20;

/// Reads a body of so many bytes at most. `client` is who the request counts for.
///
/// # Errors
/// `rate_limited`, when too many bodies of the client are under way; `invalid_parameter`, when it
/// is too large, or does not arrive.
pub async fn receive(
    service: &Service,
    client: &Client,
    parts: &Parts,
    body: Body,
    limit: usize,
) -> Result<Bytes> {
    let _share = service.await_body(client)?;
    let connection = parts.extensions.get::<Arc<Connection>>().cloned();
    let _waits = connection.map(|connection| connection.await_body(client.gives_way()));
    let wrong = |message: String| Err(Problem::of_field(Code::InvalidParameter, "body", message));
    match tokio::time::timeout(BODY_TIME, bytes_of(body, limit)).await {
        Ok(Ok(Some(bytes))) => Ok(bytes),
        Ok(Ok(None)) => wrong(format!(
            "the body is larger than {limit} bytes, the most that is taken: send less at once"
        )),
        Ok(Err(_)) => wrong("the body broke off before its end".to_owned()),
        Err(_) => wrong(format!(
            "the body did not arrive within {} s",
            BODY_TIME.as_secs()
        )),
    }
}

/// Reads a body; none when it is larger than the limit. What is beyond is read and dropped, within
/// bounds: most clients look at the answer only when they have sent everything.
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
