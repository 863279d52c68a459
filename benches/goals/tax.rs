use std::fs::File;
use std::io::Read;
use std::path::Path;

use pubdata_core::ids::Hasher;
use serde_json::Value;

use crate::Result;
use crate::corpus;
use crate::http::{Client, Server, key_header, serve};
use crate::measure::{Figures, finish, in_turn, pubdata, seconds, threads};
use crate::memory;
use crate::tax_corpus;

const BOUNDARIES: &str = "tax.sst_boundaries";
const ROUNDS: usize = 3;
/// Requests of a round: the system counts processor time in hundredths of a second.
const REQUESTS: u64 = 4_000;
/// Clock ticks per second, the same on every Linux.
const TICKS: f64 = 100.0;

/// Builds a release of the largest boundary file in an empty home, against SHA-256 of the file.
/// Measures the peak memory of a build, and then the answers of a server with rates.
pub fn bench() -> Result<()> {
    let records = tax_corpus::records()?;
    let mirror = tax_corpus::mirror(records)?;
    let file = tax_corpus::boundaries(&mirror);
    println!(
        "  {records} synthetic records, {:.1} MB, half of each kind; home and mirror on one file system, page cache warm, {} threads",
        file.metadata()?.len() as f64 / 1e6,
        threads()
    );
    let home = corpus::folder().join("tax-home");
    let build = || {
        corpus::remove(&home)?;
        Ok(seconds(|| {
            finish(
                pubdata(&["run", BOUNDARIES])
                    .arg("--mirror")
                    .arg(&mirror)
                    .arg("--home")
                    .arg(&home),
                &[0],
            )
        })?
        .0)
    };
    let pair = in_turn(ROUNDS, " s", build, || Ok(seconds(|| hash(&file))?.0))?;
    println!(
        "    to a release            {}: {:.0} records/s",
        pair.ours,
        records as f64 / pair.ours.median()
    );
    println!("    SHA-256 of the file     {}", pair.peer);
    println!("    ratio                   {}", pair.ratio);
    println!(
        "    peak memory of a build  {:.0} MB",
        memory::peak(BOUNDARIES, &mirror)?
    );
    let others = ["run", "tax.sst_rates", "tax.states"];
    finish(
        pubdata(&others)
            .arg("--mirror")
            .arg(&mirror)
            .arg("--home")
            .arg(&home),
        &[0],
    )?;
    ask(&home, records)?;
    corpus::remove(&home)
}

fn hash(path: &Path) -> Result<pubdata_core::ids::Digest> {
    let (mut file, mut hasher, mut buffer) =
        (File::open(path)?, Hasher::default(), vec![0; 1 << 18]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            length => hasher.update(&buffer[..length]),
        }
    }
}

/// Prints the server's processor time per answer, by kind of query. A state without a sales tax has
/// an answer of the same form without a lookup.
fn ask(home: &Path, records: u64) -> Result<()> {
    let server = serve(home, None, &[])?;
    let (now, most) = server.memory()?;
    println!(
        "    server ready after {:.1} s, resident {:.0} MB, at most {:.0} MB while loading",
        server.ready_seconds,
        now / 1e6,
        most / 1e6
    );
    let key = key_header(home)?;
    let steps = records / tax_corpus::ZIPS / 2;
    let place = |number: u64| {
        let zip = 1 + number * 7 % tax_corpus::ZIPS;
        (zip, tax_corpus::query_address(zip, number * 13 % steps))
    };
    let address = |number| place(number).1.0;
    let plus4 = |number| place(number).1.1;
    let zip = |number| format!("{:05}", place(number).0);
    type Query<'q> = &'q dyn Fn(u64) -> String;
    let kinds: [(&str, &str, Query<'_>); 4] = [
        ("address", "address", &|number| {
            format!("street={}&zip={}&state=GA", address(number), zip(number))
        }),
        ("ZIP+4 code", "zip9", &|number| {
            format!("zip={}&state=GA", plus4(number))
        }),
        ("ZIP code of parts", "zip5_lowest", &|number| {
            format!("zip={}&state=GA", zip(number))
        }),
        ("no lookup (Oregon)", "state", &|number| {
            format!("zip={}&state=OR", zip(number))
        }),
    ];
    for (what, level, query) in kinds {
        let paths: Vec<String> = (0..REQUESTS)
            .map(|number| format!("/v1/tax/rate?{}", query(number)))
            .collect();
        let bytes = check(&server, &key, &paths[..200], level)?;
        let samples = (0..ROUNDS)
            .map(|_| time(&server, &key, &paths))
            .collect::<Result<Vec<_>>>()?;
        println!(
            "    {what:<22}  {}, {bytes} bytes an answer",
            Figures::new(samples, " µs")
        );
    }
    Ok(())
}

/// Requests each path once and checks the answers; returns their average size.
fn check(server: &Server, key: &str, paths: &[String], level: &str) -> Result<usize> {
    let (mut client, mut bytes) = (Client::connect(&server.address)?, 0);
    for path in paths {
        let answer = client.get(path, key)?;
        let body: Value = serde_json::from_slice(&answer.body)?;
        if answer.status != 200 || body["data"]["match"]["level"] != level {
            return Err(format!(
                "{path}: status {}, {}",
                answer.status,
                String::from_utf8_lossy(&answer.body)
            )
            .into());
        }
        bytes += answer.body.len();
    }
    Ok(bytes / paths.len())
}

/// Returns the server's processor time per answer over one connection, in microseconds.
fn time(server: &Server, key: &str, paths: &[String]) -> Result<f64> {
    let mut client = Client::connect(&server.address)?;
    let before = server.ticks()?;
    for path in paths {
        client.get(path, key)?;
    }
    Ok((server.ticks()? - before) / TICKS * 1e6 / paths.len() as f64)
}
