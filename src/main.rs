//! The program `pubdata`; all of it is in the library, so that tests can reach it.

/// Many threads make answers of small pieces that come and go, and builds take and give back large ones: the C library's allocator
/// spends a fifth of a request's time on the former and keeps more of the latter (docs/decisions/0001-crates.md).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    pubdata::cli::main()
}
