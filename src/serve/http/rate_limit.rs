//! Limits requests with one token bucket per client. The plan's burst is the bucket size, and the
//! plan's rate refills the bucket.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

use crate::http::allowance::Allowance;
use crate::http::auth::Client;
use crate::http::shared_limits::SharedLimits;
use pubdata_store::Plan;

/// Number of buckets at which full buckets begin to be removed.
const MANY: usize = 10_000;

/// Token buckets of all clients, local or shared by several servers.
#[derive(Default)]
pub struct RateLimiter {
    buckets: Mutex<Buckets>,
    shared: Option<SharedLimits>,
}

#[derive(Default)]
struct Buckets {
    of_clients: HashMap<String, TokenBucket>,
    /// Number of buckets that remained when full buckets were last removed.
    left: usize,
}

#[derive(Clone, Copy)]
struct TokenBucket {
    tokens: f64,
    at: Timestamp,
    plan: Plan,
}

impl RateLimiter {
    pub fn new(shared: Option<SharedLimits>) -> Self {
        Self {
            shared,
            ..Self::default()
        }
    }

    /// Takes one token from the client's bucket.
    pub async fn take(&self, client: &Client, now: Timestamp) -> Allowance {
        let shared = match &self.shared {
            Some(shared) => shared.take(client, 1, 1.0).await,
            None => None,
        };
        shared.unwrap_or_else(|| self.take_locally(client, 1, now))
    }

    /// Takes tokens for a batch while its answer is being written. If the batch is larger than the
    /// bucket, the bucket must be full and goes into debt. The plan's rate therefore applies to
    /// batches of any size.
    pub fn take_many(&self, client: &Client, count: u64, now: Timestamp) -> Allowance {
        let cost = cost(client.plan, count);
        let shared = self.shared.as_ref().and_then(|shared| {
            // This thread computes the answer, so it may block.
            tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(shared.take(client, count, cost))
            })
        });
        shared.unwrap_or_else(|| self.take_locally(client, count, now))
    }

    /// Returns the allowance with the current number of tokens instead of the number at the start
    /// of the request.
    pub async fn look(&self, client: &Client, now: Timestamp, before: Allowance) -> Allowance {
        if let Some(shared) = &self.shared
            && let Some(found) = shared.take(client, 0, 0.0).await
        {
            return Allowance {
                remaining: found.remaining,
                reset: found.reset,
                ..before
            };
        }
        let per_second = client.plan.requests_per_minute as f64 / 60.0;
        let buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let left = buckets
            .of_clients
            .get(&client.id)
            .map_or(before.remaining as f64, |bucket| filled(bucket, now));
        Allowance {
            remaining: left.max(0.0) as u64,
            reset: ((client.plan.burst as f64 - left) / per_second).ceil() as u64,
            ..before
        }
    }

    fn take_locally(&self, client: &Client, count: u64, now: Timestamp) -> Allowance {
        let plan = client.plan;
        let burst = plan.burst as f64;
        let mut kept = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let Buckets {
            of_clients: buckets,
            left,
        } = &mut *kept;
        // A scan is worthwhile only after the number of buckets has doubled; otherwise every new
        // address would trigger a scan.
        if buckets.len() >= MANY.max(2 * *left) && !buckets.contains_key(&client.id) {
            buckets.retain(|_, bucket| filled(bucket, now) < bucket.plan.burst as f64);
            *left = buckets.len();
        }
        let bucket = match buckets.get_mut(&client.id) {
            Some(bucket) => bucket,
            None => buckets.entry(client.id.clone()).or_insert(TokenBucket {
                tokens: burst,
                at: now,
                plan,
            }),
        };
        bucket.plan = plan;
        let tokens = filled(bucket, now);
        let cost = cost(plan, count);
        let is_allowed = tokens >= cost;
        let left = if is_allowed {
            tokens - count as f64
        } else {
            tokens
        };
        // If the clock was set back, the bucket refills from the new time. Otherwise it would stay
        // empty until the clock has caught up.
        (bucket.tokens, bucket.at) = (left, now);
        Allowance::new(plan, is_allowed, left, cost)
    }
}

/// Returns the number of tokens that the bucket must hold. A batch's request has already taken one
/// token before the items are counted.
fn cost(plan: Plan, count: u64) -> f64 {
    (count as f64).min((plan.burst as f64 - 1.0).max(1.0))
}

/// Returns the number of tokens in a bucket at a later time. A clock that was set back adds no
/// tokens.
fn filled(bucket: &TokenBucket, now: Timestamp) -> f64 {
    let seconds = now.duration_since(bucket.at).as_secs_f64().max(0.0);
    (bucket.tokens + seconds * bucket.plan.requests_per_minute as f64 / 60.0)
        .min(bucket.plan.burst as f64)
}

#[cfg(test)]
mod tests {
    use crate::http::auth::Client;
    use crate::http::rate_limit::{MANY, RateLimiter};
    use jiff::{SignedDuration, Timestamp};
    use pubdata_store::Plan;

    #[test]
    fn batch_costs_one_per_item_and_may_leave_a_debt() {
        let limiter = RateLimiter::default();
        let client = Client {
            id: "k1".to_owned(),
            secret: None,
            scopes: Vec::new(),
            plan_name: "free".to_owned(),
            plan: Plan {
                requests_per_minute: 60,
                burst: 20,
                stream_sockets: 1,
            },
        };
        let start = Timestamp::from_second(1_000_000).unwrap();
        let at = |count, seconds| {
            limiter.take_locally(&client, count, start + SignedDuration::from_secs(seconds))
        };
        assert_eq!((at(1, 0).remaining, at(9, 0).remaining), (19, 10));
        let refused = at(12, 0);
        assert_eq!(
            (refused.is_allowed, refused.remaining, refused.retry_after),
            (false, 10, 2)
        );
        // A batch of 100 items is larger than the bucket. It passes once the bucket is full, and
        // leaves a debt.
        assert_eq!((at(1, 60).remaining, at(99, 60).is_allowed), (19, true));
        assert_eq!(at(1, 60).retry_after, 81);
        assert!(!at(1, 140).is_allowed && at(1, 141).is_allowed);
    }

    #[test]
    fn full_buckets_are_removed() {
        let limiter = RateLimiter::default();
        let plan = Plan {
            requests_per_minute: 60,
            burst: 1,
            stream_sockets: 1,
        };
        let start = Timestamp::from_second(1_000_000).unwrap();
        let client = |number: usize| Client {
            id: number.to_string(),
            secret: None,
            scopes: Vec::new(),
            plan_name: "free".to_owned(),
            plan,
        };
        let count = || limiter.buckets.lock().unwrap().of_clients.len();
        (0..MANY)
            .for_each(|number| assert!(limiter.take_locally(&client(number), 1, start).is_allowed));
        limiter.take_locally(&client(MANY), 1, start);
        assert_eq!(count(), MANY + 1, "no bucket is full");
        limiter.take_locally(&client(MANY + 1), 1, start + SignedDuration::from_secs(1));
        assert_eq!(
            count(),
            MANY + 2,
            "a new client does not trigger another scan"
        );
        for number in MANY + 2..=2 * MANY {
            limiter.take_locally(&client(number), 1, start + SignedDuration::from_secs(1));
        }
        assert!(count() <= MANY, "{}", count());
    }

    #[test]
    fn bucket_empties_at_once_and_fills_with_time() {
        let limiter = RateLimiter::default();
        let plan = Plan {
            requests_per_minute: 60,
            burst: 3,
            stream_sockets: 1,
        };
        let client = Client {
            id: "k1".to_owned(),
            secret: None,
            scopes: Vec::new(),
            plan_name: "free".to_owned(),
            plan,
        };
        let start = Timestamp::from_second(1_000_000).unwrap();
        let at = |milliseconds| {
            limiter.take_locally(
                &client,
                1,
                start + SignedDuration::from_millis(milliseconds),
            )
        };
        assert_eq!(
            [at(0), at(0), at(0)].map(|allowance| (allowance.is_allowed, allowance.remaining)),
            [(true, 2), (true, 1), (true, 0)]
        );
        let refused = at(500);
        assert_eq!(
            (
                refused.is_allowed,
                refused.retry_after,
                refused.reset,
                refused.window
            ),
            (false, 1, 3, 3)
        );
        assert!(at(1_000).is_allowed);
        assert!(!at(1_500).is_allowed);
        assert!(!at(0).is_allowed, "a clock set back adds no tokens");
        assert_eq!(at(60_000).remaining, 2);
        let a_day_before = -86_400_000;
        assert_eq!(
            [at(a_day_before), at(a_day_before), at(a_day_before)]
                .map(|allowance| allowance.is_allowed),
            [true, true, false]
        );
        assert!(
            at(a_day_before + 1_000).is_allowed,
            "the bucket refills from the earlier time"
        );
    }
}
