//! Decides whether and when to retry after a failure, and parses the dates in HTTP headers. A file
//! that the publisher is still generating is not a failure. Separate limits apply to waiting for
//! such a file.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::fmt::rfc2822::DateTimeParser;

use super::FetchSettings;
use pubdata_core::error::{Error, Result};
use pubdata_core::provenance::is_future_date;

/// Minimum interval between two requests for a file that is being generated.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// Result of a failed attempt.
pub(super) enum Failure {
    /// The failure is permanent; another attempt will not help.
    Final(Error),
    /// Another attempt may help, after the delay that the server asked for, if any.
    Again {
        error: Error,
        after: Option<Duration>,
    },
    /// The request did not fail. The publisher is generating the file, and may have specified when
    /// to retry.
    Making { after: Option<Duration> },
}

impl Failure {
    pub(super) fn again(error: Error) -> Self {
        Self::Again { error, after: None }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

/// Counts the attempts of one fetch.
pub(super) struct RetryPolicy<'a> {
    settings: &'a FetchSettings,
    failures: u32,
    /// Number of responses stating that the file is being generated, and the total time waited.
    wait_while_generating: (u32, Duration),
}

impl<'a> RetryPolicy<'a> {
    pub(super) fn new(settings: &'a FetchSettings) -> Self {
        Self {
            settings,
            failures: 0,
            wait_while_generating: (0, Duration::ZERO),
        }
    }

    /// Waits for the next attempt.
    ///
    /// # Errors
    /// The failure, when no further attempt is allowed.
    pub(super) async fn after(&mut self, failure: Failure, origin: &str) -> Result<()> {
        let (error, after) = match failure {
            Failure::Final(error) => return Err(error),
            Failure::Again { error, after } => (error, after),
            Failure::Making { after } => return self.wait_while_generating(after, origin).await,
        };
        self.failures += 1;
        let longest = self.settings.longest_retry_after;
        if let Some(after) = after.filter(|after| *after > longest) {
            let message = format!(
                "{error}, and asks to wait {} s, longer than the maximum of {} s",
                after.as_secs(),
                longest.as_secs()
            );
            return Err(
                Error::fetch(message).hint("run again later; the last good snapshot stays in use")
            );
        }
        if self.failures >= self.settings.tries {
            let hint = error
                .hint_text()
                .unwrap_or("check the network and run again; the last good snapshot stays in use")
                .to_owned();
            let tries = if self.failures == 1 { "try" } else { "tries" };
            return Err(
                Error::fetch(format!("{error} (gave up after {} {tries})", self.failures))
                    .hint(hint),
            );
        }
        let wait = after.unwrap_or_else(|| {
            backoff(
                self.settings.first_wait,
                self.settings.longest_wait,
                self.failures,
            )
        });
        tracing::warn!(url = origin, %error, failures = self.failures, wait_ms = wait.as_millis() as u64, "trying again");
        self.settings.clock.sleep(wait).await;
        Ok(())
    }
}

impl RetryPolicy<'_> {
    /// Waits before again requesting a file that is being generated.
    async fn wait_while_generating(&mut self, after: Option<Duration>, origin: &str) -> Result<()> {
        let patience = self.settings.patience;
        let (requests, waited) = (
            self.wait_while_generating.0 + 1,
            self.wait_while_generating.1,
        );
        let growing = patience
            .first_wait
            .saturating_mul(1_u32.checked_shl(requests - 1).unwrap_or(u32::MAX))
            .min(patience.longest_wait);
        // This limits the number of requests per second even if the server asks for no delay.
        let wait = after.unwrap_or(growing).max(SHORTEST_WAIT);
        // A server may ask for more seconds than the type can represent.
        if requests >= patience.requests || waited.saturating_add(wait) > patience.total {
            let message = format!(
                "the publisher is still making the file after {requests} requests in {} s (202 Accepted)",
                waited.as_secs()
            );
            return Err(
                Error::fetch(message).hint("run again later; the last good snapshot stays in use")
            );
        }
        self.wait_while_generating = (requests, waited + wait);
        tracing::info!(
            url = origin,
            requests,
            wait_ms = wait.as_millis() as u64,
            "the publisher is making the file"
        );
        self.settings.clock.sleep(wait).await;
        Ok(())
    }
}

/// Returns the delay before the next attempt: a random time between half and all of the exponential
/// backoff, so that clients do not all retry at the same moment. `failures` counts from 1.
pub(super) fn backoff(first_wait: Duration, longest_wait: Duration, failures: u32) -> Duration {
    let whole = first_wait
        .saturating_mul(
            1_u32
                .checked_shl(failures.saturating_sub(1))
                .unwrap_or(u32::MAX),
        )
        .min(longest_wait);
    // If no random number is available, the backoff still applies.
    let random = getrandom::u32().unwrap_or(u32::MAX / 2);
    whole / 2 + (whole / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
}

/// Parses a `Retry-After` header: seconds, or an HTTP date.
pub(super) fn retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = http_date(text)?;
    Some(Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO))
}

/// Parses an HTTP date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn http_date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text.trim()).ok()
}

/// Formats the UTC day of a time, `YYYY-MM-DD`.
pub(super) fn utc_date(at: Timestamp) -> String {
    utc_day(at).to_string()
}

fn utc_day(at: Timestamp) -> Date {
    at.to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// Returns whether a time that a publisher states for a file is in the future.
pub(super) fn is_in_the_future(stated: Timestamp, now: Timestamp) -> bool {
    is_future_date(utc_day(stated), utc_day(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_as_seconds_or_date() {
        let now: Timestamp = "1994-11-06T08:49:00Z".parse().unwrap();
        assert_eq!(retry_after(" 120 ", now), Some(Duration::from_secs(120)));
        assert_eq!(
            retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now),
            Some(Duration::from_secs(37))
        );
        assert_eq!(
            retry_after("Sun, 06 Nov 1994 08:48:00 GMT", now),
            Some(Duration::ZERO)
        );
        assert_eq!(retry_after("soon", now), None);
    }

    #[test]
    fn backoff_doubles_up_to_its_limit_and_keeps_half_of_it() {
        let (first, longest) = (Duration::from_secs(1), Duration::from_secs(10));
        for (failures, whole) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (60, 10)] {
            let wait = backoff(first, longest, failures);
            assert!(
                wait >= Duration::from_secs(whole) / 2 && wait <= Duration::from_secs(whole),
                "{failures} failures: {wait:?}"
            );
        }
    }
}
