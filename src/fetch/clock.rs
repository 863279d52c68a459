//! Time, as far as fetching depends on it, so that a test sets the hour and does not wait.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// Time, as far as fetching depends on it; a test's clock does not wait.
pub trait Clock: Send + Sync {
    /// The date and time.
    fn now(&self) -> Timestamp;

    /// A time that never goes backwards.
    fn instant(&self) -> Instant;

    /// Waits.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The machine's clock.
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
