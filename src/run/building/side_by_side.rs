//! Numbered pieces of work on all threads.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Does work on numbered units, as many at a time as there are threads.
pub(crate) fn side_by_side(units: usize, work: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    // Threads of their own: a pool's thread that waits inside one unit would begin another on the
    // same stack.
    std::thread::scope(|scope| {
        for _ in 0..rayon::current_num_threads().min(units) {
            scope.spawn(|| {
                // Units are what runs side by side: inside one, handing small columns to other
                // threads costs more than it gains.
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
