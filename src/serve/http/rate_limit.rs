//! Token buckets, one per client: a plan's burst is the size, its rate refills it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderValue};
use jiff::Timestamp;

use crate::serve::http::auth::Client;
use crate::serve::http::problem::{Code, Problem};
use crate::store::Plan;

/// Buckets kept before those that are full again are forgotten.
const MANY: usize = 10_000;

/// The buckets of all clients.
#[derive(Default)]
pub struct RateLimiter {
    buckets: Mutex<Buckets>,
}

#[derive(Default)]
struct Buckets {
    of_clients: HashMap<String, TokenBucket>,
    /// How many were left when the full ones were last forgotten.
    left: usize,
}

#[derive(Clone, Copy)]
struct TokenBucket {
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
        self.take_many(client, 1, now)
    }

    /// What is left now, in place of what was left when the request came.
    pub fn look(&self, client: &Client, now: Timestamp, before: Allowance) -> Allowance {
        let per_second = client.plan.requests_per_minute as f64 / 60.0;
        let buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let left = buckets.of_clients.get(&client.id).map_or(before.remaining as f64, |bucket| filled(bucket, now));
        Allowance { remaining: left.max(0.0) as u64, reset: ((client.plan.burst as f64 - left) / per_second).ceil() as u64, ..before }
    }

    /// Takes tokens from the client's bucket. A bucket that is smaller than what is taken must be full, and is in debt afterwards: a plan's rate holds for batches of any size.
    pub fn take_many(&self, client: &Client, count: u64, now: Timestamp) -> Allowance {
        let plan = client.plan;
        let (burst, per_second) = (plan.burst as f64, plan.requests_per_minute as f64 / 60.0);
        let mut kept = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let Buckets { of_clients: buckets, left } = &mut *kept;
        // Looking through all of them is worth it only when there are twice as many: else every new address would cost that.
        if buckets.len() >= MANY.max(2 * *left) && !buckets.contains_key(&client.id) {
            buckets.retain(|_, bucket| filled(bucket, now) < bucket.plan.burst as f64);
            *left = buckets.len();
        }
        let bucket = match buckets.get_mut(&client.id) {
            Some(bucket) => bucket,
            None => buckets.entry(client.id.clone()).or_insert(TokenBucket { tokens: burst, at: now, plan }),
        };
        bucket.plan = plan;
        let tokens = filled(bucket, now);
        // The request itself has taken one already when its batch is counted.
        let wanted = (count as f64).min((burst - 1.0).max(1.0));
        let is_allowed = tokens >= wanted;
        let left = if is_allowed { tokens - count as f64 } else { tokens };
        let next = if is_allowed { 1.0 } else { wanted };
        (bucket.tokens, bucket.at) = (left, now.max(bucket.at));
        Allowance {
            is_allowed,
            burst: plan.burst,
            remaining: left as u64,
            window: (burst / per_second).ceil().max(1.0) as u64,
            reset: ((burst - left) / per_second).ceil() as u64,
            retry_after: ((next - left) / per_second).ceil().max(1.0) as u64,
        }
    }
}

/// Tokens of a bucket at a later time; a clock that goes back adds none.
fn filled(bucket: &TokenBucket, now: Timestamp) -> f64 {
    let seconds = now.duration_since(bucket.at).as_secs_f64().max(0.0);
    (bucket.tokens + seconds * bucket.plan.requests_per_minute as f64 / 60.0).min(bucket.plan.burst as f64)
}

impl Allowance {
    /// The problem of a request that may not pass.
    pub fn refusal(&self) -> Problem {
        let detail = format!("the plan's limit is reached; the next request may pass in {} s", self.retry_after);
        Problem { retry_after: Some(self.retry_after), ..Problem::new(Code::RateLimited, detail) }
    }

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
    use crate::serve::http::auth::Client;
    use crate::serve::http::rate_limit::{MANY, RateLimiter};
    use crate::store::Plan;
    use jiff::{SignedDuration, Timestamp};

    #[test]
    fn a_batch_takes_one_for_each_item_and_may_leave_a_debt() {
        let limiter = RateLimiter::default();
        let client = Client {
            id: "k1".to_owned(),
            scopes: Vec::new(),
            plan_name: "free".to_owned(),
            plan: Plan { requests_per_minute: 60, burst: 20, stream_sockets: 1 },
        };
        let start = Timestamp::from_second(1_000_000).unwrap();
        let at = |count, seconds| limiter.take_many(&client, count, start + SignedDuration::from_secs(seconds));
        assert_eq!((at(1, 0).remaining, at(9, 0).remaining), (19, 10));
        let refused = at(12, 0);
        assert_eq!((refused.is_allowed, refused.remaining, refused.retry_after), (false, 10, 2));
        // A hundred items are more than the bucket holds: after a pause they pass, and are paid for afterwards.
        assert_eq!((at(1, 60).remaining, at(99, 60).is_allowed), (19, true));
        assert_eq!(at(1, 60).retry_after, 81);
        assert!(!at(1, 140).is_allowed && at(1, 141).is_allowed);
    }

    #[test]
    fn buckets_of_many_addresses_are_forgotten_when_they_are_full() {
        let limiter = RateLimiter::default();
        let plan = Plan { requests_per_minute: 60, burst: 1, stream_sockets: 1 };
        let start = Timestamp::from_second(1_000_000).unwrap();
        let client = |number: usize| Client { id: number.to_string(), scopes: Vec::new(), plan_name: "free".to_owned(), plan };
        let count = || limiter.buckets.lock().unwrap().of_clients.len();
        (0..MANY).for_each(|number| assert!(limiter.take(&client(number), start).is_allowed));
        limiter.take(&client(MANY), start);
        assert_eq!(count(), MANY + 1, "none is full");
        limiter.take(&client(MANY + 1), start + SignedDuration::from_secs(1));
        assert_eq!(count(), MANY + 2, "and they are not looked through again for each new one");
        for number in MANY + 2..=2 * MANY {
            limiter.take(&client(number), start + SignedDuration::from_secs(1));
        }
        assert!(count() <= MANY, "{}", count());
    }

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
