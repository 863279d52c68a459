//! Ends the process when its processor time is used up: on a busy machine, elapsed time means
//! nothing.

use std::ffi::{c_int, c_long};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Signal that asks libFuzzer to stop; it prints its figures first.
const INTERRUPT: c_int = 2;

unsafe extern "C" {
    fn clock() -> c_long;
    fn raise(signal: c_int) -> c_int;
}

/// Checks the time on every sixteenth call. Without `PUBDATA_FUZZ_SECONDS` it is unlimited.
pub fn look() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    static SECONDS: OnceLock<Option<i64>> = OnceLock::new();
    if RUNS.fetch_add(1, Relaxed) % 16 != 0 {
        return;
    }
    let seconds = SECONDS.get_or_init(|| std::env::var("PUBDATA_FUZZ_SECONDS").ok()?.parse().ok());
    // SAFETY: both functions only take and return plain numbers.
    let used = unsafe { clock() } / 1_000_000;
    if seconds.is_some_and(|seconds| used >= seconds) {
        unsafe { raise(INTERRUPT) };
    }
}
