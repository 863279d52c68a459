//! Processes every request and answer: id, limits, key, rate limit, parameters, release, ETag,
//! envelope, problems and metrics. Families declare the endpoints; this module does not know any
//! family.

pub mod allowance;
pub mod auth;
pub mod batch;
pub mod body;
pub mod code_samples;
pub mod columns;
pub mod components;
pub mod connections;
pub mod cors;
pub mod cursor;
pub mod delimited;
pub mod dispatch;
pub mod documents;
pub mod endpoint;
mod envelope;
pub mod etag;
pub mod examples;
pub mod fields;
pub mod filter;
pub mod format;
pub mod free_requests;
pub mod host;
pub mod listen;
pub mod meta;
pub mod metrics;
pub mod middleware;
pub mod nearest;
pub mod object;
pub mod openapi;
pub mod paging;
pub mod parameters;
pub mod paths;
mod pattern;
pub mod peer;
pub mod pieces;
pub mod problem;
pub mod query;
pub mod quota;
pub mod range;
pub mod rate_limit;
pub mod receive;
mod refusal;
pub mod request_id;
pub mod response;
pub mod scope;
pub mod service;
#[cfg(feature = "redis")]
pub mod shared_limits;
#[cfg(not(feature = "redis"))]
#[path = "without_shared_limits.rs"]
pub mod shared_limits;
pub mod shared_work;
mod table;
pub mod usage;
