//! Serves the `/v1` API over HTTP from one release in memory, read-only. Requests are answered from the release that was current
//! when they came; a new one is loaded beside it and swapped in. Knows releases, keys and contracts; never fetches, decodes or builds.

mod admin;
mod business;
mod coverage;
mod days;
mod geo;
mod http;
mod json;
mod license;
mod permit;
mod place;
mod provenance;
mod release;
mod router;
mod routes;
mod run;
mod search;
mod sec;
mod server;
mod settings;
mod stream;
mod tax;
mod zip_code;

pub use http::service::Clock;
pub use release::freshness::freshness_of_task;
pub use routes::openapi_document;
pub use run::serve;
pub use server::Server;
pub use settings::{Limits, ServeSettings, TlsFiles};
