//! Counts the memory in use, so that an input that allocates too much for its size is reported.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Maximum size of a single allocation.
const MAX_ALLOCATION: usize = 1 << 30;

/// The system's allocator with a counter.
pub struct Counting;

// SAFETY: all calls go to the system's allocator; this type only counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size);
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn add(size: usize) {
    if size > MAX_ALLOCATION {
        eprintln!("one allocation of {size} bytes");
        std::process::abort();
    }
    let now = NOW.fetch_add(size, Relaxed) + size;
    MOST.fetch_max(now, Relaxed);
}

/// Resets the peak and returns the memory in use.
pub fn begin() -> usize {
    let now = NOW.load(Relaxed);
    MOST.store(now, Relaxed);
    now
}

/// Checks that the peak did not exceed the limit of an input.
pub fn end(before: usize, worth: usize) {
    let taken = MOST.load(Relaxed).saturating_sub(before);
    assert!(taken <= worth, "{taken} bytes were in use at the same time, but the input's limit is {worth}");
}
