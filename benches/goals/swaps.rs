use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::Result;
use crate::corpus::{self, VINTAGE};
use crate::http::{Client, Server, key_header, serve};
use crate::measure::{finish, pubdata};

const CLIENTS: usize = 4;

/// How often the server polls the channel: often, so that swaps follow each other quickly.
const POLL: &[&str] = &["--poll-seconds", "0.02"];

/// Number of swaps; `PUBDATA_BENCH_SWAPS` sets another number.
const SWAPS: u64 = 100;

/// Moves the channel back and forth between two releases in which every ZCTA differs. Meanwhile
/// clients check that every answer equals, byte for byte, that of one of the releases.
pub fn bench() -> Result<()> {
    let swaps = std::env::var("PUBDATA_BENCH_SWAPS")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(SWAPS);
    let (home, releases) = two_releases()?;
    let key = key_header(&home)?;
    let server = serve(&home, None, POLL)?;
    let paths = paths()?;
    let mut expected = BTreeMap::new();
    for release in &releases {
        point_at(&home, &server, release)?;
        let answers = paths
            .iter()
            .map(|path| answer(&mut Client::connect(&server.address)?, path, &key))
            .collect::<Result<Vec<_>>>()?;
        for (path, answer) in paths.iter().zip(answers) {
            if !String::from_utf8_lossy(&answer).contains(release.as_str()) {
                return Err(format!("{path} does not name the release {release}").into());
            }
            let both: &mut Vec<Vec<u8>> = expected.entry(path.clone()).or_default();
            both.push(answer);
        }
    }
    let tally = Tally::default();
    let started = Instant::now();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (tally, expected, server, key) = (&tally, &expected, &server, &key);
            scope.spawn(move || tally.ask_until_stopped(&server.address, key, expected, client));
        }
        let swapped = (0..swaps)
            .try_for_each(|swap| point_at(&home, &server, &releases[usize::from(swap % 2 == 1)]));
        tally.is_stopped.store(true, Ordering::Relaxed);
        swapped
    })?;
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    println!(
        "    swaps                   {swaps} in {:.0} s, each seen by the server before the next; {CLIENTS} clients, {} answers",
        started.elapsed().as_secs_f64(),
        of(&tally.answers)
    );
    println!("    failed                  {}", of(&tally.failed));
    println!("    mixed                   {}", of(&tally.mixed));
    if of(&tally.failed) + of(&tally.mixed) > 0 {
        Err("there are failed or mixed answers".into())
    } else {
        Ok(())
    }
}

#[derive(Default)]
struct Tally {
    answers: AtomicU64,
    failed: AtomicU64,
    mixed: AtomicU64,
    is_stopped: AtomicBool,
}

impl Tally {
    fn ask_until_stopped(
        &self,
        address: &str,
        key: &str,
        expected: &BTreeMap<String, Vec<Vec<u8>>>,
        offset: usize,
    ) {
        let mut client = Client::connect(address);
        for (path, answers) in expected
            .iter()
            .cycle()
            .skip(offset * expected.len() / CLIENTS)
        {
            if self.is_stopped.load(Ordering::Relaxed) {
                return;
            }
            let found = client
                .as_mut()
                .map_err(|error| error.to_string())
                .and_then(|client| client.get(path, key).map_err(|error| error.to_string()));
            self.answers.fetch_add(1, Ordering::Relaxed);
            match found {
                Ok(answer) if answer.status == 200 && answers.contains(&answer.body) => {}
                Ok(answer) if answer.status == 200 => {
                    _ = self.mixed.fetch_add(1, Ordering::Relaxed);
                }
                Ok(_) => _ = self.failed.fetch_add(1, Ordering::Relaxed),
                Err(_) => {
                    self.failed.fetch_add(1, Ordering::Relaxed);
                    client = Client::connect(address);
                }
            }
        }
    }
}

/// Returns paths of profiles and of areas with history, all over the country.
fn paths() -> Result<Vec<String>> {
    let zctas = corpus::zctas(&corpus::mirror()?)?;
    let mut paths: Vec<String> = Vec::new();
    for zcta in zctas.iter().step_by(211) {
        paths.push(format!("/v1/geo-demographics/locations/{zcta}"));
        paths.push(format!(
            "/v1/geo-demographics/locations/{zcta}/demographics?history=true"
        ));
    }
    Ok(paths)
}

fn answer(client: &mut Client, path: &str, key: &str) -> Result<Vec<u8>> {
    let answer = client.get(path, key)?;
    if answer.status == 200 {
        Ok(answer.body)
    } else {
        Err(format!(
            "{path}: status {}: {}",
            answer.status,
            String::from_utf8_lossy(&answer.body)
        )
        .into())
    }
}

/// Moves the channel and waits until the server answers from the new release.
fn point_at(home: &Path, server: &Server, release: &str) -> Result<()> {
    let mut client = Client::connect(&server.address)?;
    let is_served = |client: &mut Client| {
        Ok::<_, Box<dyn std::error::Error>>(
            String::from_utf8_lossy(&client.get("/readyz", "")?.body).contains(release),
        )
    };
    if is_served(&mut client)? {
        return Ok(());
    }
    finish(
        pubdata(&["releases", "rollback", "--to", release])
            .arg("--home")
            .arg(home),
        &[0],
    )?;
    // The server closes a connection that is idle for ten seconds, and a busy disk can take longer.
    let mut client = Client::connect(&server.address)?;
    let started = Instant::now();
    while !is_served(&mut client)? {
        if started.elapsed() > Duration::from_secs(30) {
            return Err(format!(
                "the server does not serve {release} 30 s after the channel points at it"
            )
            .into());
        }
        super::http::pause(Duration::from_millis(5));
    }
    Ok(())
}

/// Makes a home with the mirror's release and one of a mirror in which every ZCTA and county of
/// 2023 has one more inhabitant.
fn two_releases() -> Result<(PathBuf, [String; 2])> {
    let (mirror, changed, home) = (
        corpus::mirror()?,
        corpus::folder().join("changed-mirror"),
        corpus::folder().join("swaps-home"),
    );
    corpus::remove(&changed)?;
    corpus::remove(&home)?;
    link_all(&mirror, &changed)?;
    let table = changed
        .join(VINTAGE)
        .join("data/5YRData/acsdt5y2023-b01003.dat");
    let content: String = fs::read_to_string(&table)?
        .lines()
        .map(with_one_more)
        .collect();
    fs::remove_file(&table)?;
    fs::write(&table, content)?;
    Ok((
        home.clone(),
        [publish(&mirror, &home)?, publish(&changed, &home)?],
    ))
}

fn with_one_more(line: &str) -> String {
    let mut cells: Vec<String> = line.split('|').map(str::to_owned).collect();
    if let Some(population) = cells.get(1).and_then(|cell| cell.parse::<u64>().ok()) {
        cells[1] = (population + 1).to_string();
    }
    cells.join("|") + "\n"
}

fn publish(mirror: &Path, home: &Path) -> Result<String> {
    let output = finish(
        pubdata(&["run", "--json"])
            .arg("--mirror")
            .arg(mirror)
            .arg("--home")
            .arg(home),
        &[0, 10, 30],
    )?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    Ok(report["release_id"]
        .as_str()
        .ok_or("the run published nothing")?
        .to_owned())
}

/// Copies a folder by hard links.
fn link_all(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            link_all(&entry.path(), &target)?;
        } else {
            fs::hard_link(entry.path(), target)?;
        }
    }
    Ok(())
}
