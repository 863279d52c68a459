//! Provides a server under measurement and a plain HTTP/1.1 client that reads whole answers over
//! one connection.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;
use crate::measure::{finish, pubdata};

/// Maximum time for a server to become ready; one that reads ten million names needs long.
const PATIENCE: Duration = Duration::from_secs(600);

/// Request id of every request: it is part of the answer, which must be equal byte for byte.
pub const REQUEST_ID: &str = "bench";

/// A process that is killed when dropped.
pub struct Server {
    child: Child,
    pub address: String,
    /// Seconds from the start of the process to the first answer that reports readiness.
    pub ready_seconds: f64,
}

impl Server {
    /// Starts a command that listens on `address`, and waits until `path` answers 200.
    pub fn start(command: &mut Command, address: &str, path: &str) -> Result<Self> {
        let started = Instant::now();
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        let mut server = Self {
            child,
            address: address.to_owned(),
            ready_seconds: 0.0,
        };
        loop {
            let answer = Client::connect(address).and_then(|mut client| client.get(path, ""));
            if answer.is_ok_and(|answer| answer.status == 200) {
                server.ready_seconds = started.elapsed().as_secs_f64();
                return Ok(server);
            }
            if let Some(status) = server.child.try_wait()? {
                return Err(format!("{command:?} ended with {status} before it was ready").into());
            }
            if started.elapsed() > PATIENCE {
                return Err(
                    format!("{command:?} is not ready after {} s", PATIENCE.as_secs()).into(),
                );
            }
            pause(Duration::from_millis(1));
        }
    }

    /// Returns the processor time of all its threads so far, in clock ticks.
    pub fn ticks(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name, in parentheses, may contain spaces; user and system time are the 12th and 13th
        // fields after it.
        let fields: Vec<&str> = stat
            .rsplit_once(')')
            .ok_or("the system does not report processor time")?
            .1
            .split_whitespace()
            .collect();
        Ok(fields[11].parse::<f64>()? + fields[12].parse::<f64>()?)
    }

    /// Returns the current and the peak resident memory, in bytes.
    pub fn memory(&self) -> Result<(f64, f64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let field = |name: &str| -> Result<f64> {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .ok_or("the system does not report memory")?;
            Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1024.0)
        };
        Ok((field("VmRSS:")?, field("VmHWM:")?))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts `pubdata serve` over a home, optionally pinned to one processor.
pub fn serve(home: &Path, processor: Option<usize>, arguments: &[&str]) -> Result<Server> {
    let address = free_address()?;
    let mut command = pinned(processor, env!("CARGO_BIN_EXE_pubdata"));
    command
        .args(["serve", "--bind", &address])
        .args(arguments)
        .arg("--home")
        .arg(home)
        .env("PUBDATA_LOG", "error");
    Server::start(&mut command, &address, "/readyz")
}

/// Returns a command, pinned to one processor if given.
pub fn pinned(processor: Option<usize>, program: &str) -> Command {
    let Some(processor) = processor else {
        return Command::new(program);
    };
    let mut command = Command::new("taskset");
    command.args(["-c", &processor.to_string(), program]);
    command
}

pub fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// Creates a key without limits; returns the header line that carries it.
pub fn key_header(home: &Path) -> Result<String> {
    let mut command = pubdata(&[
        "keys",
        "create",
        "--name",
        "bench",
        "--scopes",
        "general,geo,sec",
        "--plan",
        "unlimited",
        "--json",
    ]);
    let output = finish(command.arg("--home").arg(home), &[0])?;
    let created: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let key = created["key"]
        .as_str()
        .ok_or("`keys create` prints no key")?;
    Ok(format!("X-API-Key: {key}\r\n"))
}

/// One kept-alive connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    host: String,
}

pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Client {
    pub fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Self {
            stream: BufReader::with_capacity(1 << 16, stream),
            host: address.to_owned(),
        })
    }

    /// Sends a request and reads the whole answer. `headers` holds whole lines, each with its line
    /// end.
    pub fn get(&mut self, path: &str, headers: &str) -> Result<Answer> {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nX-Request-Id: {REQUEST_ID}\r\n{headers}\r\n",
            self.host
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line
            .split(' ')
            .nth(1)
            .ok_or("the connection was closed")?
            .parse()?;
        let (mut length, mut is_chunked) = (None, false);
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            match line.trim_end().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = Some(value.trim().parse()?);
                }
                Some((name, value)) if name.eq_ignore_ascii_case("transfer-encoding") => {
                    is_chunked = value.trim() == "chunked";
                }
                Some(_) => {}
                None => break,
            }
        }
        let body = if is_chunked {
            self.chunks()?
        } else {
            self.read(length.ok_or("the answer does not state its length")?)?
        };
        Ok(Answer { status, body })
    }

    fn read(&mut self, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads a chunked body, whose last chunk is empty.
    fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let chunk = self.read(usize::from_str_radix(line.trim(), 16)? + 2)?;
            if chunk.len() == 2 {
                return Ok(body);
            }
            body.extend_from_slice(&chunk[..chunk.len() - 2]);
        }
    }
}

/// Waits before the next check of a process that cannot signal when it is ready.
#[expect(
    clippy::disallowed_methods,
    reason = "another process is waited for, and it has no event to give"
)]
pub fn pause(duration: Duration) {
    std::thread::sleep(duration);
}
