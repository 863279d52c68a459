//! Abstracts the time for fetching, so that tests set the clock and do not wait.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// Clock for fetching; a test's clock does not wait.
pub trait Clock: Send + Sync {
    /// Returns the date and time.
    fn now(&self) -> Timestamp;

    /// Returns a monotonic time.
    fn instant(&self) -> Instant;

    /// Waits.
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
