//! The program `pubdata`; all of it is in the library, so that tests can reach it.

/// Many threads make answers of small pieces that come and go, and builds take and give back large
/// ones: the C library's allocator spends a fifth of a request's time on the former and keeps more
/// of the latter (docs/decisions/0001-crates.md).
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Pieces of less than sixteen megabytes, in place of eight, stay with the allocator for the next
/// bucket or column and do not go back to the system at once: page faults were a thirteenth of a
/// build's processor time. Where larger ones stay too, nothing is faster and a server keeps more
/// (docs/PERFORMANCE.md).
#[cfg(feature = "jemalloc")]
#[unsafe(export_name = "malloc_conf")]
#[expect(
    unsafe_code,
    reason = "jemalloc reads its options from a C string of this name"
)]
// SAFETY: the text is a constant that ends with a zero byte, and nobody else defines the symbol.
static ALLOCATOR_OPTIONS: &std::ffi::c_char = unsafe { &*c"oversize_threshold:16777216".as_ptr() };

#[cfg(all(
    not(debug_assertions),
    not(any(feature = "jemalloc", feature = "system-allocator"))
))]
compile_error!(
    "an optimised program needs `--features jemalloc`, as `make build PROFILE=release` gives; `--features system-allocator` builds it without"
);

fn main() -> std::process::ExitCode {
    pubdata::cli::main()
}
