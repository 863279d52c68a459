//! Shares token buckets between servers through Redis or a compatible server such as Valkey. A
//! script reads, refills and charges a bucket atomically, by the clock of the Redis server.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use redis::aio::ConnectionManager;
use redis::{Client as Redis, Script};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::http::allowance::Allowance;
use crate::http::auth::Client;
use crate::settings::WhenUnavailable;
use pubdata_core::error::{Error, Result};

/// Time limit for one access to a bucket.
const PATIENCE: Duration = Duration::from_millis(250);
/// Pause after a failure, so that not every request waits for the time limit.
const REST: Duration = Duration::from_secs(1);
/// `Retry-After` value for a refused client while the Redis server is unavailable.
const UNAVAILABLE_RETRY_SECONDS: u64 = 2;

/// Script that takes `count` tokens if the bucket contains at least `cost` tokens. Returns whether
/// the tokens were taken, and how many are left.
const TAKE: &str = r"
local known = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local burst, per_second, count, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local at = math.min(tonumber(known[2]) or now, now)
local tokens = math.min(burst, (tonumber(known[1]) or burst) + (now - at) * per_second)
local is_taken = 0
if tokens >= wanted then
    tokens = tokens - count
    is_taken = 1
end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', tokens), 'at', string.format('%.6f', now))
redis.call('EXPIRE', KEYS[1], math.ceil((burst - tokens) / per_second) + 60)
return {is_taken, string.format('%.6f', tokens)}
";

/// Token buckets that several servers share.
pub struct SharedLimits {
    redis: Redis,
    connection: OnceCell<ConnectionManager>,
    take: Script,
    when_unavailable: WhenUnavailable,
    /// End of the pause after a failure. A value also means that the failure was already logged.
    paused_until: Mutex<Option<Instant>>,
}

impl SharedLimits {
    /// Prepares the buckets at an address such as `redis://:password@10.0.0.5:6379/0`, without
    /// connecting yet.
    ///
    /// # Errors
    /// `Config` if the address is invalid. The message does not repeat the address, because it may
    /// contain a password.
    pub fn new(url: &str, when_unavailable: WhenUnavailable) -> Result<Self> {
        let redis = Redis::open(url).map_err(|error| {
            Error::config(format!(
                "--limits: {}",
                error.detail().unwrap_or("not an address of a Redis server")
            ))
            .hint("as in redis://10.0.0.5:6379")
        })?;
        Ok(Self {
            redis,
            connection: OnceCell::new(),
            take: Script::new(TAKE),
            when_unavailable,
            paused_until: Mutex::new(None),
        })
    }

    /// Takes tokens from a client's bucket. Returns `None` if the server's own buckets decide
    /// instead.
    pub async fn take(&self, client: &Client, count: u64, cost: f64) -> Option<Allowance> {
        let is_allowed = self.when_unavailable == WhenUnavailable::Open;
        let away = || {
            (!is_allowed).then(|| Allowance {
                retry_after: UNAVAILABLE_RETRY_SECONDS,
                ..Allowance::new(client.plan, is_allowed, 0.0, cost)
            })
        };
        if !self.may_contact() {
            return away();
        }
        match timeout(PATIENCE, self.ask(client, count, cost)).await {
            Ok(Ok((is_taken, left))) => {
                if self.lock().take().is_some() {
                    tracing::info!("the shared rate limits are available again");
                }
                Some(Allowance::new(client.plan, is_taken, left, cost))
            }
            failed => {
                if self.lock().replace(Instant::now() + REST).is_none() {
                    let reason = failed.map_or_else(
                        |_| "no answer in time".to_owned(),
                        |answer| answer.map_or_else(|error| error.to_string(), |_| String::new()),
                    );
                    let word = if self.when_unavailable == WhenUnavailable::Open {
                        "each server counts by itself"
                    } else {
                        "requests are refused"
                    };
                    tracing::error!(
                        "the shared rate limits are unavailable; until they return, {word}: {reason}"
                    );
                }
                away()
            }
        }
    }

    /// Reports whether to contact the Redis server. While the server is unavailable, only one
    /// request per pause contacts it, so that the other requests do not wait.
    fn may_contact(&self) -> bool {
        let (mut paused_until, now) = (self.lock(), Instant::now());
        match &mut *paused_until {
            None => true,
            Some(until) if now < *until => false,
            Some(until) => {
                *until = now + REST;
                true
            }
        }
    }

    async fn ask(&self, client: &Client, count: u64, cost: f64) -> redis::RedisResult<(bool, f64)> {
        let connection = self
            .connection
            .get_or_try_init(|| ConnectionManager::new(self.redis.clone()))
            .await?;
        let per_second = client.plan.requests_per_minute as f64 / 60.0;
        let mut command = self.take.key(format!("pubdata:limit:{}", client.id));
        command
            .arg(client.plan.burst)
            .arg(per_second)
            .arg(count)
            .arg(cost);
        let (is_taken, left): (i64, String) = command.invoke_async(&mut connection.clone()).await?;
        Ok((is_taken == 1, left.parse().unwrap_or(0.0)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.paused_until
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pubdata_store::Plan;

    /// The test server accepts connections and never answers.
    #[tokio::test]
    async fn only_one_request_waits_for_an_unavailable_server() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let limits = SharedLimits::new(
            &format!("redis://{}", silent.local_addr().unwrap()),
            WhenUnavailable::Open,
        )
        .unwrap();
        let plan = Plan {
            requests_per_minute: 60,
            burst: 60,
            stream_sockets: 1,
        };
        let client = Client {
            id: "a".to_owned(),
            secret: None,
            scopes: Vec::new(),
            plan_name: "free".to_owned(),
            plan,
        };
        let ask = async || {
            let began = Instant::now();
            assert!(
                limits.take(&client, 1, 1.0).await.is_none(),
                "each server counts by itself"
            );
            began.elapsed()
        };
        assert!(ask().await >= PATIENCE);
        *limits.lock() = Some(Instant::now());
        let waited = futures_util::future::join_all((0..20).map(|_| ask())).await;
        assert_eq!(
            waited.iter().filter(|waited| **waited >= PATIENCE).count(),
            1,
            "{waited:?}"
        );
    }
}
