//! Serves the `/v1` API over HTTP from one release in memory, read-only. A request is answered from
//! the release that was current when it arrived; a new release is loaded next to it and then
//! swapped in. This crate handles releases, keys and contracts. It never fetches, decodes or
//! builds.

mod admin;
mod answer;
mod bulk;
mod business;
mod contact;
mod coverage;
mod dataset_summary;
mod days;
mod geo;
mod global_search;
mod http;
mod index;
mod json;
mod license;
mod meaning;
mod pages;
mod permit;
mod place;
mod provenance;
mod receipts;
mod release;
mod router;
mod routes;
mod run;
mod search;
mod sec;
mod server;
mod settings;
mod snapshot;
mod stream;
mod tax;
mod tracer;
mod zip_code;

pub use http::service::Clock;
pub use release::freshness::{
    DatasetState, Freshness, freshness_of, freshness_of_task, summary_of_states,
};
pub use router::Api;
pub use routes::{DEFAULT_URL, asyncapi_document, openapi_document};
pub use run::serve;
pub use server::Server;
pub use settings::{
    Limits, Pages, ServeSettings, SharedLimitsSettings, SnapshotAccess, TlsFiles, WhenUnavailable,
};
pub use tracer::Tracer;

/// Entry points for `fuzz/` that are not part of the public API.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    use super::http::cursor;
    use super::http::problem::{Code, Problem};
    use super::stream::frames::{self, ClientFrame, RejectedMessage};
    use pubdata_core::ids::ReleaseId;

    const CONNECTION: &str = "c0";

    /// Returns the stream's replies to a message, except replies that depend on a release.
    pub fn answer_to_message(text: &str) -> Vec<String> {
        match ClientFrame::read(text) {
            Ok(ClientFrame::Auth(auth)) => vec![frames::error(
                &Problem::new(Code::InvalidParameter, auth.token),
                CONNECTION,
                None,
            )],
            Ok(ClientFrame::Unsubscribe(request)) => {
                vec![frames::ServerFrame::Unsubscribed { id: &request.id }.text()]
            }
            Ok(ClientFrame::Ping(ping)) => vec![frames::pong(&ping.t.unwrap_or_default())],
            Ok(ClientFrame::Subscribe(request)) => {
                match super::stream::filter::Filter::read(request.filters) {
                    Ok(mut filter) => vec![frames::subscribed(
                        &request.id,
                        request.since_seq.unwrap_or_default(),
                        &filter.resolve(None),
                    )],
                    Err((field, message)) => vec![frames::error(
                        &Problem::of_field(Code::InvalidParameter, field, message),
                        CONNECTION,
                        Some(&request.id),
                    )],
                }
            }
            Err(RejectedMessage::MalformedMessage(message)) => vec![frames::fatal_error(
                &Problem::new(Code::InvalidJson, message),
                CONNECTION,
            )],
            Err(RejectedMessage::InvalidMember { problem, id }) => {
                vec![frames::error(&problem, CONNECTION, id.as_deref())]
            }
        }
    }

    /// Returns the client address in lines of `X-Forwarded-For` behind `trusted_hops` proxies.
    pub fn client_address(lines: &[&[u8]], trusted_hops: usize) -> Option<String> {
        let mut headers = axum::http::HeaderMap::new();
        for value in lines
            .iter()
            .filter_map(|line| axum::http::HeaderValue::from_bytes(line).ok())
        {
            headers.append("x-forwarded-for", value);
        }
        super::http::peer::forwarded(&headers, trusted_hops).map(super::http::peer::name)
    }

    /// Writes a cursor, and reads its sort key back.
    pub fn cursor_round_trip(
        release: &ReleaseId,
        filters: &str,
        sort_key: &str,
    ) -> (String, Option<String>) {
        let written = cursor::write(release, filters, sort_key);
        let read = cursor::sort_key(&written, release, filters).ok();
        (written, read)
    }

    /// Reads the release and the sort key from any text.
    pub fn read_cursor(text: &str, release: &ReleaseId, filters: &str) -> (bool, Option<String>) {
        (
            cursor::release_of(text).is_ok(),
            cursor::sort_key(text, release, filters).ok(),
        )
    }
}
