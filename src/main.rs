fn main() -> std::process::ExitCode {
    pubdata::cli::main()
}
