//! Limits how many requests that cost no token appear in the access log: a few per client and
//! minute. The other requests are only counted, and the counts are logged after the minute. No
//! client can therefore fill the log faster than a plan allows requests.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

const INTERVAL: SignedDuration = SignedDuration::from_mins(1);
/// Maximum number of log lines per interval, for one client and in total.
const LINES_OF_CLIENT: u64 = 20;
const LINES: u64 = 1_000;
/// Maximum number of clients that are counted separately.
const CLIENTS: usize = 1_000;
/// Name under which all other clients are counted.
const OTHERS: &str = "others";

/// Counts the requests that cost no token.
#[derive(Debug, Default)]
pub struct FreeRequestLog(Mutex<Minute>);

#[derive(Debug, Default)]
struct Minute {
    began: Option<Timestamp>,
    lines: u64,
    of_clients: HashMap<String, Counts>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    lines: u64,
    left_out: u64,
}

/// Log decision for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDecision {
    pub has_line: bool,
    /// Clients, each with the number of its requests that were omitted from the past minute's log.
    pub left_out: Vec<(String, u64)>,
}

impl FreeRequestLog {
    /// Counts a client's request.
    pub fn note(&self, client: &str, now: Timestamp) -> LogDecision {
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that was set back also starts a new minute.
        let is_over = minute.began.is_none_or(|began| {
            !(SignedDuration::ZERO..INTERVAL).contains(&now.duration_since(began))
        });
        let over = if is_over {
            std::mem::replace(
                &mut *minute,
                Minute {
                    began: Some(now),
                    ..Minute::default()
                },
            )
            .of_clients
        } else {
            HashMap::new()
        };
        let mut left_out: Vec<(String, u64)> = over
            .into_iter()
            .map(|(client, counts)| (client, counts.left_out))
            .filter(|(_, count)| *count > 0)
            .collect();
        left_out.sort();
        let is_known = minute.of_clients.len() < CLIENTS || minute.of_clients.contains_key(client);
        let has_room = minute.lines < LINES;
        let counts = minute
            .of_clients
            .entry(if is_known { client } else { OTHERS }.to_owned())
            .or_default();
        let has_line = has_room && counts.lines < LINES_OF_CLIENT;
        *(if has_line {
            &mut counts.lines
        } else {
            &mut counts.left_out
        }) += 1;
        minute.lines += u64::from(has_line);
        LogDecision { has_line, left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).unwrap()
    }

    #[test]
    fn each_client_has_a_few_lines_in_a_minute_and_the_others_are_counted() {
        let free_requests = FreeRequestLog::default();
        let lines = |client: &str, second: i64| {
            (0..50)
                .filter(|_| free_requests.note(client, at(second)).has_line)
                .count()
        };
        assert_eq!((lines("a", 0), lines("b", 30), lines("a", 59)), (20, 20, 0));
        let next = free_requests.note("a", at(60));
        assert_eq!(
            next,
            LogDecision {
                has_line: true,
                left_out: vec![("a".to_owned(), 80), ("b".to_owned(), 30)]
            }
        );
        assert_eq!(free_requests.note("a", at(61)).left_out, []);
        assert_eq!(
            (lines("a", 61), lines("a", -86_400)),
            (18, 20),
            "a clock that was set back begins a new minute"
        );
    }

    #[test]
    fn many_clients_together_have_a_bound_too() {
        let free_requests = FreeRequestLog::default();
        let lines = (0..5_000)
            .filter(|number| free_requests.note(&number.to_string(), at(0)).has_line)
            .count();
        assert_eq!(lines, 1_000);
        let left_out = free_requests.note("0", at(60)).left_out;
        assert_eq!(left_out, [("others".to_owned(), 4_000)]);
    }
}
