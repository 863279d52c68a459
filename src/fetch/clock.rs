//! Abstracts the clock used for fetching, so that tests can set the time and need not wait.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// Clock used for fetching. Test clocks do not wait.
pub trait Clock: Send + Sync {
    /// Returns the current date and time.
    fn now(&self) -> Timestamp;

    /// Returns the current monotonic time.
    fn instant(&self) -> Instant;

    /// Waits for the given duration.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The system's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn instant(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(duration))
    }
}
