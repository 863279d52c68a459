//! Times whole processes and closures in turn, and formats the samples.

use std::fmt;
use std::fs;
use std::process::{Command, Output};
use std::time::Instant;

use crate::Result;

/// Samples of one figure.
pub struct Figures {
    sorted: Vec<f64>,
    unit: &'static str,
}

impl Figures {
    pub fn new(mut samples: Vec<f64>, unit: &'static str) -> Self {
        samples.sort_by(f64::total_cmp);
        Self {
            sorted: samples,
            unit,
        }
    }

    pub fn median(&self) -> f64 {
        let middle = self.sorted.len() / 2;
        if self.sorted.len().is_multiple_of(2) {
            f64::midpoint(self.sorted[middle - 1], self.sorted[middle])
        } else {
            self.sorted[middle]
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.median() < 10.0 { 3 } else { 1 };
        let (first, last) = (
            self.sorted.first().copied().unwrap_or_default(),
            self.sorted.last().copied().unwrap_or_default(),
        );
        write!(
            formatter,
            "{:.digits$}{} ({first:.digits$} to {last:.digits$}, n = {})",
            self.median(),
            self.unit,
            self.sorted.len()
        )
    }
}

/// Our figures, the peer's, and the ratio of each pair.
pub struct Pair {
    pub ours: Figures,
    pub peer: Figures,
    pub ratio: Figures,
}

/// Measures two sides alternately, A B A B, after one round that is not counted, so that drift of
/// the machine affects both.
pub fn in_turn(
    rounds: usize,
    unit: &'static str,
    mut ours: impl FnMut() -> Result<f64>,
    mut peer: impl FnMut() -> Result<f64>,
) -> Result<Pair> {
    let (mut our_samples, mut peer_samples, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let (a, b) = (ours()?, peer()?);
        if round > 0 {
            our_samples.push(a);
            peer_samples.push(b);
            ratios.push(a / b);
        }
    }
    Ok(Pair {
        ours: Figures::new(our_samples, unit),
        peer: Figures::new(peer_samples, unit),
        ratio: Figures::new(ratios, ""),
    })
}

/// Returns the seconds that some work takes, and its result.
pub fn seconds<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let started = Instant::now();
    let done = work()?;
    Ok((started.elapsed().as_secs_f64(), done))
}

/// Returns a command for the program under measurement, with quiet logs.
pub fn pubdata(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pubdata"));
    command
        .args(arguments)
        .env("PUBDATA_LOG", "error")
        .env_remove("CENSUS_API_KEY");
    command
}

/// Runs a command to its end.
///
/// # Errors
/// If it cannot be started, or ends with an unexpected exit code; the message includes its output.
pub fn finish(command: &mut Command, expected: &[i32]) -> Result<Output> {
    let output = command
        .output()
        .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if output
        .status
        .code()
        .is_some_and(|code| expected.contains(&code))
    {
        return Ok(output);
    }
    let (printed, complaint) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    Err(format!(
        "{command:?} ended with {}: {printed}{complaint}",
        output.status
    )
    .into())
}

/// Describes processor, cores and memory, as far as the system reports them.
pub fn machine() -> String {
    let field = |file: &str, name: &str| {
        let content = fs::read_to_string(file).unwrap_or_default();
        let line = content
            .lines()
            .find(|line| line.starts_with(name))
            .map(str::to_owned);
        line.and_then(|line| Some(line.split_once(':')?.1.trim().to_owned()))
            .unwrap_or_else(|| "unknown".to_owned())
    };
    format!(
        "{}, {} threads, memory {}",
        field("/proc/cpuinfo", "model name"),
        threads(),
        field("/proc/meminfo", "MemTotal")
    )
}

/// Returns the number of threads that this process may use.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Returns the load averages, which show what else the machine does.
pub fn load() -> String {
    fs::read_to_string("/proc/loadavg").map_or_else(
        |_| "unknown".to_owned(),
        |load| load.split(' ').take(3).collect::<Vec<_>>().join(" "),
    )
}
