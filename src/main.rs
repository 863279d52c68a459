//! The program `pubdata`; all of it is in the library, so that tests can reach it.

fn main() -> std::process::ExitCode {
    pubdata::cli::main()
}
