//! Sends requests over many connections in parallel, with wrk.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::http::{REQUEST_ID, pinned};
use crate::measure::finish;
use crate::{Result, Skipped};

pub const CONNECTIONS: &str = "32";

/// Requests to send repeatedly in turn.
pub struct Load {
    script: PathBuf,
}

/// Result of a load run.
pub struct Answered {
    pub requests: f64,
    pub per_second: f64,
}

impl Load {
    /// Writes the requests to the file `script`. `headers` holds whole lines, each with its line
    /// end.
    pub fn new(
        script: PathBuf,
        paths: impl IntoIterator<Item = String>,
        headers: &str,
    ) -> Result<Self> {
        let mut text = format!("local headers = {{ ['X-Request-Id'] = '{REQUEST_ID}'");
        for (name, value) in headers.lines().filter_map(|line| line.split_once(": ")) {
            write!(text, ", ['{name}'] = '{value}'")?;
        }
        text.push_str(" }\nlocal requests = {\n");
        for path in paths {
            writeln!(text, "'{path}',")?;
        }
        text.push_str("}\nfunction init(args) for i, path in ipairs(requests) do requests[i] = wrk.format('GET', path, headers) end end\n");
        text.push_str("local next = 0\nfunction request() next = next % #requests + 1; return requests[next] end\n");
        fs::write(&script, text)?;
        Ok(Self { script })
    }

    /// Sends the requests for a number of seconds, from one processor if given. Fails if an answer
    /// is not a success.
    pub fn send(&self, address: &str, seconds: &str, processor: Option<usize>) -> Result<Answered> {
        let mut command = pinned(processor, "wrk");
        command
            .args(["-t", "1", "-c", CONNECTIONS, "-d", seconds, "-s"])
            .arg(&self.script)
            .arg(format!("http://{address}/"));
        let printed = String::from_utf8(finish(&mut command, &[0])?.stdout)?;
        if printed.contains("Non-2xx") || printed.contains("Socket errors") {
            return Err(format!("failed answers under load:\n{printed}").into());
        }
        let requests = printed
            .lines()
            .find_map(|line| line.trim().split_once(" requests in "))
            .ok_or("wrk prints no number of requests")?
            .0;
        let per_second = printed
            .lines()
            .find_map(|line| line.strip_prefix("Requests/sec:"))
            .ok_or("wrk prints no rate")?;
        Ok(Answered {
            requests: requests.parse()?,
            per_second: per_second.trim().parse()?,
        })
    }
}

/// Skips the bench if a program is missing.
pub fn require(programs: &[(&str, &str)]) -> Result<()> {
    for (program, option) in programs {
        if Command::new(program).arg(option).output().is_err() {
            return Err(Skipped(format!(
                "{program} is not installed (Debian's nginx, wrk; taskset is of util-linux)"
            ))
            .into());
        }
    }
    Ok(())
}
