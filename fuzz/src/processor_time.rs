//! Ends the process when it has used the processor time that it was given: on a busy machine the
//! time of day says nothing.

use std::ffi::{c_int, c_long};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What libFuzzer takes for a wish to end: it writes its figures first.
const INTERRUPT: c_int = 2;

unsafe extern "C" {
    fn clock() -> c_long;
    fn raise(signal: c_int) -> c_int;
}

/// Looks now and then whether the time is over. Without `PUBDATA_FUZZ_SECONDS` it never is.
pub fn look() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    static SECONDS: OnceLock<Option<i64>> = OnceLock::new();
    if RUNS.fetch_add(1, Relaxed) % 16 != 0 {
        return;
    }
    let seconds = SECONDS.get_or_init(|| std::env::var("PUBDATA_FUZZ_SECONDS").ok()?.parse().ok());
    // SAFETY: both functions take and give plain numbers.
    let used = unsafe { clock() } / 1_000_000;
    if seconds.is_some_and(|seconds| used >= seconds) {
        unsafe { raise(INTERRUPT) };
    }
}
