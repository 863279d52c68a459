//! Runs the operator's own program and passes it a message.

use std::io::Write;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::events::Message;
use pubdata_core::error::{Error, Result};

/// Time limit for the program.
pub const HOOK_TIMEOUT: Duration = Duration::from_secs(60);

/// Interval between two checks of whether the program has exited.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Runs a command, passing the message as JSON on standard input and a summary in environment
/// variables. Arguments are split at whitespace, without a shell. Blocks until the command has
/// exited.
///
/// # Errors
/// `Config`, when the command cannot be started, exits with a code other than 0, or exceeds the
/// time limit and is killed.
pub fn run_hook(command: &str, message: &Message, timeout: Duration) -> Result<()> {
    let mut words = command.split_whitespace();
    // The arguments may contain secrets, so error messages do not include them.
    let program = words
        .next()
        .ok_or_else(|| Error::config("the hook names no program"))?;
    let mut child = Command::new(program)
        .args(words)
        .env(
            "PUBDATA_EVENT",
            message.worst().map_or("", |worst| worst.name()),
        )
        .env("PUBDATA_EVENT_TEXT", &message.text)
        .env("PUBDATA_EVENT_COUNT", message.events.len().to_string())
        .env("PUBDATA_RUN_ID", &message.run_id)
        .env("PUBDATA_RUN_CHANNEL", &message.channel)
        .env("PUBDATA_RUN_EXIT_CODE", message.exit_code.to_string())
        .stdin(Stdio::piped())
        // The program's output must not mix with the run's report.
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| Error::config(format!("cannot start the hook `{program}`: {error}")))?;
    let (input, json) = (child.stdin.take(), message.to_json());
    // A program that never reads its input must not block the run. Exiting without reading it is
    // not a failure.
    std::thread::spawn(move || input.map(|mut input| input.write_all(&json)));
    match ended(&mut child, timeout) {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(Some(status)) => Err(Error::config(format!(
            "the hook `{program}` ended with {status}"
        ))),
        Ok(None) => Err(Error::config(format!(
            "the hook `{program}` exceeded {} s and was killed",
            timeout.as_secs_f64()
        ))),
        Err(error) => Err(Error::config(format!(
            "cannot wait for the hook `{program}`: {error}"
        ))),
    }
}

/// Waits for a program to exit; returns `None` if it was killed at the time limit.
fn ended(child: &mut Child, timeout: Duration) -> std::io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() >= timeout {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::park_timeout(BETWEEN_LOOKS);
    }
}
