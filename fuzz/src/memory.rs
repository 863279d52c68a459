//! Counts the memory in use, so that an input that asks for much more than it is worth is a
//! finding.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// No input is worth more at once.
const MOST_AT_ONCE: usize = 1 << 30;

/// The system's allocator, with a count.
pub struct Counting;

// SAFETY: everything is done by the system's allocator; only numbers are kept beside it.
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
    if size > MOST_AT_ONCE {
        eprintln!("{size} bytes are asked for at once");
        std::process::abort();
    }
    let now = NOW.fetch_add(size, Relaxed) + size;
    MOST.fetch_max(now, Relaxed);
}

/// Begins to look at the most that is in use; gives what is now.
pub fn begin() -> usize {
    let now = NOW.load(Relaxed);
    MOST.store(now, Relaxed);
    now
}

/// Whether no more was taken than an input is worth.
pub fn end(before: usize, worth: usize) {
    let taken = MOST.load(Relaxed).saturating_sub(before);
    assert!(taken <= worth, "{taken} bytes were in use at the same time, and the input is worth {worth}");
}
