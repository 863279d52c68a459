//! Runs numbered units of work on all threads.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs work on numbered units, with one unit per thread at a time.
pub(crate) fn in_parallel(units: usize, work: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    // Uses separate threads: a pool thread that waits inside one unit would start another unit on
    // the same stack.
    std::thread::scope(|scope| {
        for _ in 0..rayon::current_num_threads().min(units) {
            scope.spawn(|| {
                // Units already run in parallel. Distributing small columns inside a unit over more
                // threads costs more than it saves.
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
