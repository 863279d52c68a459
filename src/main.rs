//! The program `pubdata`; all of its code is in the library, where tests can reach it.

/// Allocator of the program. Many threads build answers from small, short-lived allocations, and
/// builds allocate and free large ones. The C library's allocator spends a fifth of a request's
/// time on the former and retains more of the latter (docs/decisions/0001-crates.md).
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Keeps allocations of up to sixteen megabytes, instead of eight, in the allocator for the next
/// bucket or column. Returning them to the system at once caused page faults that took a thirteenth
/// of a build's processor time. A higher limit makes nothing faster, and a server retains more
/// memory (docs/PERFORMANCE.md).
#[cfg(feature = "jemalloc")]
#[unsafe(export_name = "malloc_conf")]
#[expect(
    unsafe_code,
    reason = "jemalloc reads its options from a C string of this name"
)]
// SAFETY: the text is a constant that ends with a zero byte, and no other code defines the symbol.
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
