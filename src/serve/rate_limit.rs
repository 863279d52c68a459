//! Token buckets, one per client: a plan's burst is the size, its rate refills it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderValue};
use jiff::Timestamp;

use super::auth::Client;
use crate::store::Plan;

/// Buckets kept before those that are full again are forgotten.
const MANY: usize = 10_000;

/// The buckets of all clients.
#[derive(Default)]
pub struct RateLimiter {
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Timestamp,
    plan: Plan,
}

/// What a request found: whether it may pass, and what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    pub is_allowed: bool,
    pub burst: u64,
    pub remaining: u64,
    /// Seconds in which an empty bucket fills.
    pub window: u64,
    /// Seconds until the bucket is full.
    pub reset: u64,
    /// Seconds until the next request may pass.
    pub retry_after: u64,
}

impl RateLimiter {
    /// Takes one token from the client's bucket.
    pub fn take(&self, client: &Client, now: Timestamp) -> Allowance {
        let plan = client.plan;
        let (burst, per_second) = (plan.burst as f64, plan.requests_per_minute as f64 / 60.0);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MANY && !buckets.contains_key(&client.id) {
            buckets.retain(|_, bucket| filled(bucket, now) < bucket.plan.burst as f64);
        }
        let bucket = match buckets.get_mut(&client.id) {
            Some(bucket) => bucket,
            None => buckets.entry(client.id.clone()).or_insert(Bucket { tokens: burst, at: now, plan }),
        };
        bucket.plan = plan;
        let tokens = filled(bucket, now);
        let is_allowed = tokens >= 1.0;
        let left = if is_allowed { tokens - 1.0 } else { tokens };
        (bucket.tokens, bucket.at) = (left, now.max(bucket.at));
        Allowance {
            is_allowed,
            burst: plan.burst,
            remaining: left as u64,
            window: (burst / per_second).ceil().max(1.0) as u64,
            reset: ((burst - left) / per_second).ceil() as u64,
            retry_after: ((1.0 - left) / per_second).ceil().max(1.0) as u64,
        }
    }
}

/// Tokens of a bucket at a later time; a clock that goes back adds none.
fn filled(bucket: &Bucket, now: Timestamp) -> f64 {
    let seconds = now.duration_since(bucket.at).as_secs_f64().max(0.0);
    (bucket.tokens + seconds * bucket.plan.requests_per_minute as f64 / 60.0).min(bucket.plan.burst as f64)
}

impl Allowance {
    /// Adds the limit headers: those of the IETF draft and the widely read older ones.
    pub fn add_headers(&self, plan_name: &str, headers: &mut HeaderMap) {
        let Self { burst, remaining, window, reset, .. } = *self;
        let texts = [("ratelimit-policy", format!("\"{plan_name}\";q={burst};w={window}")), ("ratelimit", format!("\"{plan_name}\";r={remaining};t={reset}"))];
        for (name, text) in texts {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(name, value);
            }
        }
        for (name, number) in [("x-ratelimit-limit", burst), ("x-ratelimit-remaining", remaining), ("x-ratelimit-reset", reset)] {
            headers.insert(name, HeaderValue::from(number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Client, Plan, RateLimiter};
    use jiff::{SignedDuration, Timestamp};

    #[test]
    fn bucket_empties_at_once_and_fills_with_time() {
        let limiter = RateLimiter::default();
        let plan = Plan { requests_per_minute: 60, burst: 3, stream_sockets: 1 };
        let client = Client { id: "k1".to_owned(), scopes: Vec::new(), plan_name: "free".to_owned(), plan };
        let start = Timestamp::from_second(1_000_000).unwrap();
        let at = |milliseconds| limiter.take(&client, start + SignedDuration::from_millis(milliseconds));
        assert_eq!([at(0), at(0), at(0)].map(|allowance| (allowance.is_allowed, allowance.remaining)), [(true, 2), (true, 1), (true, 0)]);
        let refused = at(500);
        assert_eq!((refused.is_allowed, refused.retry_after, refused.reset, refused.window), (false, 1, 3, 3));
        assert!(at(1_000).is_allowed);
        assert!(!at(1_500).is_allowed);
        assert!(!at(0).is_allowed, "a clock that goes back gives nothing");
        assert_eq!(at(60_000).remaining, 2);
    }
}
