use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use zip::ZipArchive;

use crate::Result;
use crate::corpus;
use crate::facts::release;
use crate::facts_corpus;
use crate::http::{Client, Server, key_header, serve};
use crate::measure::{Figures, finish, pubdata};

const ROUNDS: usize = 5;
/// Number of requests per registrant in a round: the system counts processor time in hundredths of
/// a second.
const REPEATS: usize = 20;
/// Clock ticks per second, the same on every Linux.
const TICKS: f64 = 100.0;

/// Measures the processor time of the whole HTTP server per answer with a registrant's annual
/// figures, against DataFusion reading the same rows from the same Parquet files.
pub fn bench() -> Result<()> {
    let mirror = facts_corpus::mirror(facts_corpus::members()?)?;
    let (home, figures) = (
        corpus::folder().join("lookup-home"),
        corpus::folder().join("figures.jsonl"),
    );
    corpus::remove(&home)?;
    finish(
        pubdata(&["run", "sec.financials", "sec.submissions"])
            .arg("--mirror")
            .arg(&mirror)
            .arg("--home")
            .arg(&home),
        &[0, 10],
    )?;
    let (server, key) = (serve(&home, None, &[])?, key_header(&home)?);
    let paths = write_figures(&server, &key, &mirror, &figures)?;
    let mut peer = facts_corpus::python("lookup_datafusion.py", "datafusion")?;
    peer.arg(release(&home)?)
        .arg(&figures)
        .arg(ROUNDS.to_string());
    let ours = (0..ROUNDS)
        .map(|_| ask(&server, &key, &paths))
        .collect::<Result<Vec<_>>>()?;
    let peers: Vec<f64> = serde_json::from_slice(&finish(&mut peer, &[0])?.stdout)?;
    let (ours, peers) = (Figures::new(ours, " µs"), Figures::new(peers, " µs"));
    println!("    answer over HTTP        {ours}");
    println!("    DataFusion, in process  {peers}");
    println!(
        "    ratio                   {:.1}",
        peers.median() / ours.median()
    );
    drop(server);
    corpus::remove(&home)
}

/// Requests every registrant and writes the figures of each answer; returns the paths of
/// registrants with figures.
fn write_figures(server: &Server, key: &str, mirror: &Path, figures: &Path) -> Result<Vec<String>> {
    let (mut file, mut paths, mut rows, mut bytes) = (fs::File::create(figures)?, Vec::new(), 0, 0);
    let mut client = Client::connect(&server.address)?;
    for name in ZipArchive::new(fs::File::open(facts_corpus::archive(mirror))?)?.file_names() {
        let name = name?.into_owned();
        let cik = name.trim_start_matches("CIK").trim_end_matches(".json");
        let path = format!("/v1/sec/companies/{cik}/financials");
        let answer = client.get(&path, key)?;
        if answer.status != 200 {
            return Err(format!(
                "{path}: status {}: {}",
                answer.status,
                String::from_utf8_lossy(&answer.body)
            )
            .into());
        }
        let body: Value = serde_json::from_slice(&answer.body)?;
        let of_series = |series: &Value| series["values"].as_array().cloned().unwrap_or_default();
        let all = body["data"]["series"]
            .as_array()
            .ok_or("an answer without series")?
            .iter()
            .flat_map(of_series);
        let day = |figure: &Value| {
            if figure["as_of_date"].is_null() {
                figure["period_end"].clone()
            } else {
                figure["as_of_date"].clone()
            }
        };
        let found: Vec<Value> = all
            .filter(|figure| !figure["value"].is_null())
            .map(|figure| json!([figure["metric"], day(&figure), figure["value"]]))
            .collect();
        if !found.is_empty() {
            (rows, bytes) = (rows + found.len(), bytes + answer.body.len());
            writeln!(file, "{}", json!([cik, found]))?;
            paths.push(path);
        }
    }
    let count = paths.len() as f64;
    println!(
        "  {} registrants, {:.0} figures and {:.1} KB an answer on average; the figures of every answer are those of the Parquet",
        paths.len(),
        rows as f64 / count,
        bytes as f64 / count / 1e3
    );
    Ok(paths)
}

/// Returns the server's processor time per answer over one connection, in microseconds.
fn ask(server: &Server, key: &str, paths: &[String]) -> Result<f64> {
    let mut client = Client::connect(&server.address)?;
    let before = server.ticks()?;
    for _ in 0..REPEATS {
        for path in paths {
            client.get(path, key)?;
        }
    }
    Ok((server.ticks()? - before) / TICKS * 1e6 / (REPEATS * paths.len()) as f64)
}
