//! Token buckets that several servers share, in Redis or what speaks as it does (Valkey). A bucket
//! is read, filled and taken from in one step there, by the clock of that server.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use redis::aio::ConnectionManager;
use redis::{Client as Redis, Script};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::http::allowance::Allowance;
use crate::http::auth::Client;
use crate::settings::WhenAway;
use pubdata_core::error::{Error, Result};

/// How long a request waits for its bucket.
const PATIENCE: Duration = Duration::from_millis(250);
/// After a failure, how long nobody asks: else each request would wait.
const REST: Duration = Duration::from_secs(1);
/// What a refused client is told to wait while its bucket cannot be asked for.
const AWAY_SECONDS: u64 = 2;

/// Takes tokens; says whether it did, and what is left. `wanted` must be there, `count` is taken.
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

/// The buckets of all servers.
pub struct SharedLimits {
    redis: Redis,
    connection: OnceCell<ConnectionManager>,
    take: Script,
    when_away: WhenAway,
    /// Until when nobody asks, and whether that was said.
    away_until: Mutex<Option<Instant>>,
}

impl SharedLimits {
    /// Buckets at an address such as `redis://:password@10.0.0.5:6379/0`; nothing is asked yet.
    ///
    /// # Errors
    /// `Config`, when it is not such an address. It may hold a password and is not repeated.
    pub fn new(url: &str, when_away: WhenAway) -> Result<Self> {
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
            when_away,
            away_until: Mutex::new(None),
        })
    }

    /// Takes tokens from a client's bucket; none where the server's own buckets are to decide.
    pub async fn take(&self, client: &Client, count: u64, wanted: f64) -> Option<Allowance> {
        let is_allowed = self.when_away == WhenAway::Open;
        let away = || {
            (!is_allowed).then(|| Allowance {
                retry_after: AWAY_SECONDS,
                ..Allowance::of(client.plan, is_allowed, 0.0, wanted)
            })
        };
        if !self.may_ask() {
            return away();
        }
        match timeout(PATIENCE, self.ask(client, count, wanted)).await {
            Ok(Ok((is_taken, left))) => {
                if self.lock().take().is_some() {
                    tracing::info!("the limits that servers share are counted again");
                }
                Some(Allowance::of(client.plan, is_taken, left, wanted))
            }
            failed => {
                if self.lock().replace(Instant::now() + REST).is_none() {
                    let reason = failed.map_or_else(
                        |_| "no answer in time".to_owned(),
                        |answer| answer.map_or_else(|error| error.to_string(), |_| String::new()),
                    );
                    let word = if self.when_away == WhenAway::Open {
                        "each server counts by itself"
                    } else {
                        "requests are refused"
                    };
                    tracing::error!(
                        "the limits that servers share cannot be counted, {word} until they can: {reason}"
                    );
                }
                away()
            }
        }
    }

    /// Whether to ask: while the server is away only one request in a while, else all would wait
    /// for it.
    fn may_ask(&self) -> bool {
        let (mut away_until, now) = (self.lock(), Instant::now());
        match &mut *away_until {
            None => true,
            Some(until) if now < *until => false,
            Some(until) => {
                *until = now + REST;
                true
            }
        }
    }

    async fn ask(
        &self,
        client: &Client,
        count: u64,
        wanted: f64,
    ) -> redis::RedisResult<(bool, f64)> {
        let connection = self
            .connection
            .get_or_try_init(|| ConnectionManager::new(self.redis.clone()))
            .await?;
        let per_second = client.plan.requests_per_minute as f64 / 60.0;
        let mut asked = self.take.key(format!("pubdata:limit:{}", client.id));
        asked
            .arg(client.plan.burst)
            .arg(per_second)
            .arg(count)
            .arg(wanted);
        let (is_taken, left): (i64, String) = asked.invoke_async(&mut connection.clone()).await?;
        Ok((is_taken == 1, left.parse().unwrap_or(0.0)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.away_until
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pubdata_store::Plan;

    /// The server takes connections and never answers.
    #[tokio::test]
    async fn one_request_waits_for_a_server_that_is_away_and_the_others_do_not() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let limits = SharedLimits::new(
            &format!("redis://{}", silent.local_addr().unwrap()),
            WhenAway::Open,
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
