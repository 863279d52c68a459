use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::facts::release;
use crate::facts_corpus::python;
use crate::http::{Client, Server, free_address, key_header, serve};
use crate::measure::{Figures, finish};
use crate::{Result, corpus};

const ROUNDS: usize = 5;
/// Areas that each server is asked for in a round.
const AREAS: usize = 500;
/// How often we are asked for each in a round: the system counts a process's time in hundredths of a second.
const REPEATS: usize = 20;
/// Clock ticks in a second, the same on every Linux.
const TICKS: f64 = 100.0;

/// Processor time of an answer with the metrics of an area, against servers that people put before the same rows.
pub fn bench() -> Result<()> {
    let home = corpus::home()?;
    let (tables, release) = (corpus::folder().join("answers"), release(&home)?);
    corpus::remove(&tables)?;
    finish(python("answers_tables.py")?.arg(&release).arg(&tables), &[0])?;
    let zctas = corpus::zctas(&corpus::mirror()?)?;
    let areas: Vec<String> = (0..AREAS).map(|number| zctas[number * 7_919 % zctas.len()].clone()).collect();
    let (server, key) = (serve(&home, None, &[])?, key_header(&home)?);
    let ours = Asked { server, headers: key, path: |zcta| format!("/v1/geo-demographics/locations/{zcta}") };
    let expected = areas.iter().map(|zcta| ours.figures(zcta)).collect::<Result<Vec<_>>>()?;
    let (of_ours, bytes) = ours.cost(&areas, REPEATS)?;
    println!("  {AREAS} profiles over one connection; every answer has the same metrics, figures, margins and record ids");
    println!("    pubdata serve           {of_ours}; {bytes:.1} KB an answer");
    for (name, start) in PEERS {
        let peer = start(&tables, &areas[0])?;
        for (zcta, expected) in areas.iter().zip(&expected) {
            if peer.figures(zcta)? != *expected {
                return Err(format!("{name} has other figures for {zcta}").into());
            }
        }
        let (of_peer, bytes) = peer.cost(&areas, 1)?;
        println!("    {name:<22}  {of_peer}; {bytes:.1} KB an answer; {:.0} times ours", of_peer.median() / of_ours.median());
    }
    corpus::remove(&tables)
}

type Start = fn(&Path, &str) -> Result<Asked>;

const PEERS: [(&str, Start); 3] = [("DuckDB in uvicorn", duckdb), ("datasette", datasette), ("roapi", roapi)];

fn duckdb(tables: &Path, zcta: &str) -> Result<Asked> {
    let address = free_address()?;
    let mut command = python("answers_duckdb.py")?;
    command.arg(tables.join("profile.parquet")).arg(&address);
    Asked::start(&mut command, &address, |zcta| format!("/{zcta}"), zcta)
}

fn datasette(tables: &Path, zcta: &str) -> Result<Asked> {
    let address = free_address()?;
    let (host, port) = address.rsplit_once(':').ok_or("an address without a port")?;
    // Without what a page needs: the number of all rows and suggestions of facets.
    let mut command = installed("datasette")?;
    command.args(["serve", "--host", host, "--port", port, "--setting", "suggest_facets", "off", "--immutable"]).arg(tables.join("profile.db"));
    Asked::start(&mut command, &address, |zcta| format!("/profile/profile.json?_shape=array&_size=50&_nocount=1&zcta__exact={zcta}"), zcta)
}

fn roapi(tables: &Path, zcta: &str) -> Result<Asked> {
    let address = free_address()?;
    let mut table = OsString::from("profile=");
    table.push(tables.join("profile.parquet"));
    let mut command = installed("roapi")?;
    command.args(["--addr-http", &address, "--addr-postgres", &free_address()?, "--table"]).arg(table).env("RUST_LOG", "error");
    Asked::start(&mut command, &address, |zcta| format!("/api/tables/profile?filter[zcta]=%27{zcta}%27"), zcta)
}

/// A program that was installed beside the Python of the peers.
fn installed(program: &str) -> Result<Command> {
    let python = python("answers_tables.py")?;
    Ok(Command::new(Path::new(python.get_program()).with_file_name(program)))
}

/// Metric, value, margin of error and record id.
type Figure = (String, Option<f64>, Option<f64>, String);

/// A server, and how it is asked for an area.
struct Asked {
    server: Server,
    headers: String,
    path: fn(&str) -> String,
}

impl Asked {
    fn start(command: &mut Command, address: &str, path: fn(&str) -> String, zcta: &str) -> Result<Self> {
        // They print that they started, and requests that came too early.
        command.stderr(std::process::Stdio::null());
        Ok(Self { server: Server::start(command, address, &path(zcta))?, headers: String::new(), path })
    }

    /// What the rows of an area say, sorted by metric.
    fn figures(&self, zcta: &str) -> Result<Vec<Figure>> {
        let path = (self.path)(zcta);
        let answer = Client::connect(&self.server.address)?.get(&path, &self.headers)?;
        if answer.status != 200 {
            return Err(format!("{path}: status {}: {}", answer.status, String::from_utf8_lossy(&answer.body)).into());
        }
        let body: Value = serde_json::from_slice(&answer.body)?;
        let rows: Vec<&Value> = match &body {
            Value::Array(rows) => rows.iter().collect(),
            _ => body["data"]["summary"].as_object().into_iter().flat_map(|summary| summary.values()).collect(),
        };
        let figure = |row: &Value| {
            let metric = row["metric"].as_str().or_else(|| row["key"].as_str())?.to_owned();
            Some((metric, row["value"].as_f64(), row["moe"].as_f64(), row["record_id"].as_str()?.to_owned()))
        };
        let mut figures = rows.into_iter().map(figure).collect::<Option<Vec<_>>>().ok_or_else(|| format!("{path}: a row without metric or record id"))?;
        figures.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(figures)
    }

    /// Processor time of the server for each answer, round by round after one that is not counted, and kilobytes of an answer.
    fn cost(&self, areas: &[String], repeats: usize) -> Result<(Figures, f64)> {
        let (mut samples, mut bytes) = (Vec::new(), 0);
        let count = repeats * areas.len();
        for _ in 0..=ROUNDS {
            let mut client = Client::connect(&self.server.address)?;
            let before = self.server.ticks()?;
            bytes = 0;
            for zcta in areas.iter().cycle().take(count) {
                bytes += client.get(&(self.path)(zcta), &self.headers)?.body.len();
            }
            samples.push((self.server.ticks()? - before) / TICKS * 1e6 / count as f64);
        }
        Ok((Figures::new(samples.split_off(1), " µs"), bytes as f64 / 1e3 / count as f64))
    }
}
