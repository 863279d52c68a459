//! Measures the processor time of an answer with the metrics of an area, against common servers
//! over the same rows.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::facts::release;
use crate::facts_corpus::python;
use crate::http::{Client, Server, free_address, key_header, serve};
use crate::load::{CONNECTIONS, Load, require};
use crate::measure::{finish, in_turn};
use crate::{Result, Skipped, corpus};

const ROUNDS: usize = 5;
/// Number of areas requested from each server in a round.
const AREAS: usize = 500;
/// Number of requests to our server per area and round: the system counts processor time in
/// hundredths of a second.
const REPEATS: usize = 20;
/// Clock ticks per second, the same on every Linux.
const TICKS: f64 = 100.0;
/// Duration of the load on a server in a round, in seconds.
const SECONDS: &str = "4";

pub fn bench() -> Result<()> {
    let home = corpus::home()?;
    let (tables, release) = (corpus::folder().join("answers"), release(&home)?);
    corpus::remove(&tables)?;
    finish(
        python("answers_tables.py", "duckdb")?
            .arg(&release)
            .arg(&tables),
        &[0],
    )?;
    let zctas = corpus::zctas(&corpus::mirror()?)?;
    let areas: Vec<String> = (0..AREAS)
        .map(|number| zctas[number * 7_919 % zctas.len()].clone())
        .collect();
    let (server, key) = (serve(&home, None, &[])?, key_header(&home)?);
    let ours = Peer {
        server,
        headers: key,
        path: |zcta| format!("/v1/geo-demographics/locations/{zcta}"),
    };
    let expected = areas
        .iter()
        .map(|zcta| ours.figures(zcta))
        .collect::<Result<Vec<_>>>()?;
    println!(
        "  {AREAS} profiles; of each every server has the same metrics, values, margins and record ids"
    );
    for (name, start) in PEERS {
        let peer = match start(&tables, &areas[0]) {
            Err(error) if error.is::<Skipped>() => {
                println!("    {name}: skipped: {error}");
                continue;
            }
            started => started?,
        };
        for (zcta, expected) in areas.iter().zip(&expected) {
            if peer.figures(zcta)? != *expected {
                return Err(format!("{name} has other figures for {zcta}").into());
            }
        }
        let pair = in_turn(
            ROUNDS,
            " µs",
            || peer.cost(&areas, 1),
            || ours.cost(&areas, REPEATS),
        )?;
        println!(
            "    {name:<22}  {}; pubdata serve {}; ratio {}",
            pair.ours, pair.peer, pair.ratio
        );
        if let Err(missing) = require(&[("wrk", "-v")]) {
            println!("    over {CONNECTIONS} connections: skipped: {missing}");
            continue;
        }
        let (of_peer, of_ours) = (
            peer.load(&areas, &tables.join("peer.lua"))?,
            ours.load(&areas, &tables.join("ours.lua"))?,
        );
        let pair = in_turn(
            ROUNDS,
            " µs",
            || peer.cost_under(&of_peer),
            || ours.cost_under(&of_ours),
        )?;
        println!(
            "      over {CONNECTIONS} connections  {}; pubdata serve {}; ratio {}",
            pair.ours, pair.peer, pair.ratio
        );
    }
    corpus::remove(&tables)
}

type Start = fn(&Path, &str) -> Result<Peer>;

const PEERS: [(&str, Start); 3] = [
    ("DuckDB in uvicorn", duckdb),
    ("datasette", datasette),
    ("roapi", roapi),
];

fn duckdb(tables: &Path, zcta: &str) -> Result<Peer> {
    let address = free_address()?;
    let mut command = python(
        "answers_duckdb.py",
        "duckdb, httptools, orjson, uvicorn, uvloop",
    )?;
    command.arg(tables.join("profile.parquet")).arg(&address);
    Peer::start(&mut command, &address, |zcta| format!("/{zcta}"), zcta)
}

fn datasette(tables: &Path, zcta: &str) -> Result<Peer> {
    let address = free_address()?;
    let mut command = python(
        "answers_datasette.py",
        "datasette, httptools, uvicorn, uvloop",
    )?;
    command.arg(tables.join("profile.db")).arg(&address);
    // Skips the count of all rows, which only a page needs.
    Peer::start(
        &mut command,
        &address,
        |zcta| format!("/profile/profile.json?_shape=array&_size=50&_nocount=1&zcta__exact={zcta}"),
        zcta,
    )
}

fn roapi(tables: &Path, zcta: &str) -> Result<Peer> {
    let address = free_address()?;
    let python = python("answers_tables.py", "duckdb")?;
    let program = Path::new(python.get_program()).with_file_name("roapi");
    if !program.is_file() {
        return Err(Skipped(format!("{} is missing", program.display())).into());
    }
    let mut table = OsString::from("profile=");
    table.push(tables.join("profile.parquet"));
    let mut command = Command::new(program);
    command
        .args([
            "--addr-http",
            &address,
            "--addr-postgres",
            &free_address()?,
            "--table",
        ])
        .arg(table)
        .env("RUST_LOG", "error");
    Peer::start(
        &mut command,
        &address,
        |zcta| format!("/api/tables/profile?filter[zcta]=%27{zcta}%27"),
        zcta,
    )
}

/// Metric, value, margin of error and record id.
type Figure = (String, Option<f64>, Option<f64>, String);

/// A server, and how to request an area from it.
struct Peer {
    server: Server,
    headers: String,
    path: fn(&str) -> String,
}

impl Peer {
    fn start(
        command: &mut Command,
        address: &str,
        path: fn(&str) -> String,
        zcta: &str,
    ) -> Result<Self> {
        // The servers log requests that come before they are ready.
        command.stderr(std::process::Stdio::null());
        Ok(Self {
            server: Server::start(command, address, &path(zcta))?,
            headers: String::new(),
            path,
        })
    }

    /// Returns the figures of an area, sorted by metric.
    fn figures(&self, zcta: &str) -> Result<Vec<Figure>> {
        let path = (self.path)(zcta);
        let answer = Client::connect(&self.server.address)?.get(&path, &self.headers)?;
        if answer.status != 200 {
            return Err(format!(
                "{path}: status {}: {}",
                answer.status,
                String::from_utf8_lossy(&answer.body)
            )
            .into());
        }
        let body: Value = serde_json::from_slice(&answer.body)?;
        let rows: Vec<&Value> = match &body {
            Value::Array(rows) => rows.iter().collect(),
            _ => body["data"]["summary"]
                .as_object()
                .into_iter()
                .flat_map(|summary| summary.values())
                .collect(),
        };
        let figure = |row: &Value| {
            let metric = row["metric"]
                .as_str()
                .or_else(|| row["key"].as_str())?
                .to_owned();
            Some((
                metric,
                row["value"].as_f64(),
                row["moe"].as_f64(),
                row["record_id"].as_str()?.to_owned(),
            ))
        };
        let mut figures = rows
            .into_iter()
            .map(figure)
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| format!("{path}: a row without metric or record id"))?;
        if figures.is_empty() {
            return Err(format!("{path}: no rows").into());
        }
        figures.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(figures)
    }

    /// Prepares the same requests for many connections.
    fn load(&self, areas: &[String], script: &Path) -> Result<Load> {
        Load::new(
            script.to_owned(),
            areas.iter().map(|zcta| (self.path)(zcta)),
            &self.headers,
        )
    }

    /// Returns the server's processor time per answer over many connections, in microseconds.
    fn cost_under(&self, load: &Load) -> Result<f64> {
        let before = self.server.ticks()?;
        let answered = load.send(&self.server.address, SECONDS, None)?;
        Ok((self.server.ticks()? - before) / TICKS * 1e6 / answered.requests)
    }

    /// Returns the server's processor time per answer over one connection, in microseconds.
    fn cost(&self, areas: &[String], repeats: usize) -> Result<f64> {
        let mut client = Client::connect(&self.server.address)?;
        let count = repeats * areas.len();
        let before = self.server.ticks()?;
        for zcta in areas.iter().cycle().take(count) {
            client.get(&(self.path)(zcta), &self.headers)?;
        }
        Ok((self.server.ticks()? - before) / TICKS * 1e6 / count as f64)
    }
}
