//! Tests what an operator's monitoring receives: metrics after real nightly runs, rules and a
//! dashboard that use them, and messages about new events.

mod after_run;
mod messages;
mod rules;
mod server;
mod week;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Value of the only series whose line begins so.
#[track_caller]
fn number(text: &str, series: &str) -> f64 {
    let found = numbers(text, series);
    assert_eq!(found.len(), 1, "{series} in {text}");
    *found.values().next().unwrap()
}

/// Values by series, for series that begin so.
fn numbers(text: &str, series: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| line.starts_with(series));
    let parsed = lines.map(|line| line.rsplit_once(' ').unwrap());
    parsed
        .map(|(series, value)| (series.to_owned(), value.parse().unwrap()))
        .collect()
}

/// Output of promtool, run in the folder of the rules. Returns none and prints a notice if it is
/// not installed.
fn promtool(arguments: &[&str], input: &str) -> Option<Output> {
    let mut command = Command::new("promtool");
    command
        .args(arguments)
        .current_dir(pubdata_testing::project("integrations/prometheus"));
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            assert!(
                std::env::var_os("PUBDATA_TEST_PROMTOOL").is_none(),
                "promtool was installed for this test: {error}"
            );
            eprintln!(
                "skipped: promtool cannot be started ({error}); the Debian package `prometheus` has it"
            );
            return None;
        }
    };
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    Some(child.wait_with_output().unwrap())
}
