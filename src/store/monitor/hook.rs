//! Starts the operator's own program with a message.

use std::io::Write;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::events::Message;
use pubdata_core::error::{Error, Result};

/// How long the program may take.
pub const HOOK_TIMEOUT: Duration = Duration::from_secs(60);

/// Between two looks at whether it has ended.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Starts a command with a message as JSON on its standard input, and in short in its environment.
/// Its words are separated by blanks; no shell reads them. Blocks until it has ended.
///
/// # Errors
/// `Config`, when it cannot be started, ends with another code than 0, or has not ended in time: it
/// is ended then.
pub fn run_hook(command: &str, message: &Message, timeout: Duration) -> Result<()> {
    let mut words = command.split_whitespace();
    // Its arguments may be secrets: they are not repeated.
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
        // What the program prints must not stand in the run's own report.
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| {
            Error::config(format!("the hook `{program}` cannot be started: {error}"))
        })?;
    let (input, json) = (child.stdin.take(), message.to_json());
    // A program that never reads must not hold up the run. One that ends without reading is no
    // failure.
    std::thread::spawn(move || input.map(|mut input| input.write_all(&json)));
    match ended(&mut child, timeout) {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(Some(status)) => Err(Error::config(format!(
            "the hook `{program}` ended with {status}"
        ))),
        Ok(None) => Err(Error::config(format!(
            "the hook `{program}` had not ended after {} s, and was ended",
            timeout.as_secs_f64()
        ))),
        Err(error) => Err(Error::config(format!(
            "the hook `{program}` cannot be waited for: {error}"
        ))),
    }
}

/// How a program ended; none where it had to be ended.
fn ended(child: &mut Child, timeout: Duration) -> std::io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() >= timeout {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::park_timeout(BETWEEN_LOOKS);
    }
}
