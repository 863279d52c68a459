//! Holds the token-bucket state for one request and writes the rate-limit headers that report it.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::http::problem::{Code, Problem};
use pubdata_store::Plan;

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATE: HeaderName = HeaderName::from_static("ratelimit");
const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Result of a rate-limit check: whether the request may pass, and how many tokens remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    pub is_allowed: bool,
    pub burst: u64,
    pub remaining: u64,
    /// Seconds that an empty bucket takes to fill.
    pub window: u64,
    /// Seconds until the bucket is full.
    pub reset: u64,
    /// Seconds until the next request may pass.
    pub retry_after: u64,
}

impl Allowance {
    /// Builds the allowance for a bucket that holds `left` tokens. `cost` is the number of tokens
    /// that a refused request needs.
    pub fn new(plan: Plan, is_allowed: bool, left: f64, cost: f64) -> Self {
        let (burst, per_second) = (plan.burst as f64, plan.requests_per_minute as f64 / 60.0);
        let next = if is_allowed { 1.0 } else { cost };
        Self {
            is_allowed,
            burst: plan.burst,
            remaining: left as u64,
            window: (burst / per_second).ceil().max(1.0) as u64,
            reset: ((burst - left) / per_second).ceil() as u64,
            retry_after: ((next - left) / per_second).ceil().max(1.0) as u64,
        }
    }

    /// Builds the allowance for a request that takes no tokens.
    pub fn free(plan: Plan) -> Self {
        let is_allowed = true;
        Self::new(plan, is_allowed, plan.burst as f64, 0.0)
    }

    /// Builds the `rate_limited` problem for a refused request.
    pub fn refusal(&self) -> Problem {
        let detail = format!(
            "the plan's limit is reached; the next request may pass in {} s",
            self.retry_after
        );
        Problem {
            retry_after: Some(self.retry_after),
            ..Problem::new(Code::RateLimited, detail)
        }
    }

    /// Adds the rate-limit headers: those from the IETF draft and the widely supported
    /// `X-RateLimit-*` headers.
    pub fn add_headers(&self, plan_name: &str, headers: &mut HeaderMap) {
        let Self {
            burst,
            remaining,
            window,
            reset,
            ..
        } = *self;
        let mut numbers = [
            itoa::Buffer::new(),
            itoa::Buffer::new(),
            itoa::Buffer::new(),
            itoa::Buffer::new(),
        ];
        let [first, second, third, fourth] = &mut numbers;
        let policy = [
            "\"",
            plan_name,
            "\";q=",
            first.format(burst),
            ";w=",
            second.format(window),
        ];
        let state = [
            "\"",
            plan_name,
            "\";r=",
            third.format(remaining),
            ";t=",
            fourth.format(reset),
        ];
        for (name, text) in [(POLICY, policy), (STATE, state)] {
            if let Ok(value) = HeaderValue::try_from(text.concat()) {
                headers.insert(name, value);
            }
        }
        for (name, number) in [(LIMIT, burst), (REMAINING, remaining), (RESET, reset)] {
            headers.insert(name, HeaderValue::from(number));
        }
    }
}
