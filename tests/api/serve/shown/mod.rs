//! Runs the code in the documents as printed: samples of each endpoint, and requests of the guides.

mod code_samples;
mod guides;

use std::io::Write;
use std::process::{Command, Stdio};

use crate::serve::Listening;

/// Returns true if a program is installed; otherwise prints a notice.
fn has(program: &str) -> bool {
    let is_there = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !is_there {
        eprintln!("skipped: {program} is not installed");
    }
    is_there
}

/// Runs a program as a caller would, with address and key in the environment, and returns its
/// output.
fn run(listening: &Listening, mut program: Command, input: &str) -> Result<String, String> {
    program
        .env("PUBDATA_KEY", &listening.served.key)
        .env("PUBDATA_URL", &listening.url);
    let mut process = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    process
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = process.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(printed)
    } else {
        Err(format!(
            "{}: {}\n{printed}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}
