//! What every request meets and every answer goes through: id, bounds, key, limit, parameters, release, ETag, envelope, problems, metrics.
//! Endpoints are declared by families; nothing here knows one.

pub mod allowance;
pub mod auth;
pub mod body;
pub mod code_samples;
pub mod connections;
pub mod cors;
pub mod cursor;
pub mod dispatch;
pub mod documents;
pub mod endpoint;
mod envelope;
pub mod etag;
pub mod examples;
pub mod filter;
pub mod listen;
pub mod meta;
pub mod metrics;
pub mod middleware;
pub mod nearest;
pub mod object;
pub mod openapi;
pub mod paging;
pub mod parameters;
mod pattern;
pub mod peer;
pub mod problem;
pub mod rate_limit;
pub mod request_id;
pub mod response;
pub mod service;
pub mod shared_limits;
pub mod shares;
pub mod usage;
