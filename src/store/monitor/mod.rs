//! What an operator's programs ask of an installation: the ledger's runs become numbers for
//! Prometheus and events for whom they concern.
//!
//! | from | comes |
//! |---|---|
//! | ledger, oldest run first | `history`: the last run of each channel, how each task stands, how the home grows |
//! | history, release, disk, log of filings | `readings`: gauges, written as text by `text` |
//! | ledger before and after a run | `events`: what is blocked, missing, late, set aside, recovered, failed since then; told by `hook` |
//!
//! Asks nobody, changes nothing, and decides no exit code.

mod events;
mod forecast;
mod history;
mod hook;
mod readings;
mod text;
mod watch;

pub use events::{Event, EventKind, MESSAGE_FORMAT, MESSAGE_VERSION, Message};
pub use history::{ChannelHistory, FAILED_FROM, History, RunSummary, Standing};
pub use hook::{HOOK_TIMEOUT, run_hook};
pub use readings::{OfRelease, Reading, Readings, Sample, StreamTimes};
pub use watch::Watch;
