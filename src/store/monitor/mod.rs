//! Turns the ledger's runs into numbers for Prometheus and events for operators.
//!
//! | from | to |
//! |---|---|
//! | ledger, oldest run first | `history`: the last run of each channel, the status of each task, the growth of the home |
//! | history, release, disk, log of filings | `readings`: gauges, written as text by `text` |
//! | ledger before and after a run | `events`: what is blocked, missing, late, quarantined, recovered, failed since then; sent by `hook` |
//!
//! This module sends no requests, changes nothing, and does not affect exit codes.

mod events;
mod forecast;
mod history;
mod hook;
mod readings;
mod text;
mod watch;

pub use events::{Event, EventKind, MESSAGE_FORMAT, MESSAGE_VERSION, Message};
pub use history::{ChannelHistory, FAILED_FROM, History, RunSummary, TaskStatus};
pub use hook::{HOOK_TIMEOUT, run_hook};
pub use readings::{Reading, Readings, ReleaseFreshness, Sample, StreamTimes};
pub use watch::Watch;
