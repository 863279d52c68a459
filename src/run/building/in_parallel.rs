//! Runs numbered pieces of work on all threads.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs work on numbered units, as many at a time as there are threads.
pub(crate) fn in_parallel(units: usize, work: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    // Uses separate threads: a pool's thread that waits inside one unit would start another on the
    // same stack.
    std::thread::scope(|scope| {
        for _ in 0..rayon::current_num_threads().min(units) {
            scope.spawn(|| {
                // Units already run in parallel. Inside a unit, distributing small columns over
                // more threads costs more than it gains.
                let _alone = rayon::ThreadPoolBuilder::new()
                    .num_threads(1)
                    .use_current_thread()
                    .build();
                while let Some(number) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < units)
                {
                    work(number);
                }
            });
        }
    });
}
