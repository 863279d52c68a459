use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use pubdata_core::ids::Hasher;
use serde_json::Value;
use zip::ZipArchive;

use crate::Result;
use crate::corpus;
use crate::entities_corpus;
use crate::facts::release;
use crate::facts_corpus;
use crate::http::{Client, Server, key_header, serve};
use crate::measure::{Figures, finish, pubdata, seconds, threads};
use crate::memory;

const PIPELINE: &str = "business.fl_sunbiz";
const ROUNDS: usize = 5;
/// Requests of a kind in a round: the 99th percentile is the tenth slowest.
const REQUESTS: usize = 1_000;

/// Number of registrants, with over eight million figures and statement lines.
const REGISTRANTS: usize = 2_400;

/// Builds a release of a quarterly Sunbiz archive in an empty home, against SHA-256 of the
/// archive's content, and measures the peak memory of the build. Then measures searches by name,
/// against the profile of a ZCTA in the same release.
pub fn bench() -> Result<()> {
    let entities = entities_corpus::entities()?;
    let mirror = entities_corpus::mirror(entities)?;
    let archive = entities_corpus::archive(&mirror);
    let home = corpus::folder().join("entities-home");
    let (hashing, bytes) = seconds(|| hash(&archive))?;
    println!(
        "  {entities} synthetic records, {:.1} MB, {:.1} MB inflated; home and mirror on one file system, {} threads",
        fs::metadata(&archive)?.len() as f64 / 1e6,
        bytes as f64 / 1e6,
        threads()
    );
    corpus::remove(&home)?;
    let (building, peak) = seconds(|| memory::peak_in(&home, PIPELINE, &mirror))?;
    println!(
        "    to a release                {building:.1} s: {:.0} records/s; peak memory {peak:.0} MB",
        entities as f64 / building
    );
    println!(
        "    content through SHA-256     {hashing:.1} s, including inflation; ratio {:.2}",
        building / hashing
    );
    // Adds the data of profiles and schools, from the sample of real files, and the facts of many
    // registrants.
    let (profiles, facts) = (corpus::mirror()?, facts_corpus::mirror(REGISTRANTS)?);
    for (pipelines, mirror) in [
        (
            &["census.acs5", "census.gazetteer", "nces.ccd_directory"][..],
            &profiles,
        ),
        (&["sec.financials", "sec.submissions"], &facts),
    ] {
        finish(
            pubdata(&["run"])
                .args(pipelines)
                .arg("--mirror")
                .arg(mirror)
                .arg("--home")
                .arg(&home),
            &[0, 10, 30],
        )?;
    }
    println!(
        "    in addition                 the Census and school samples, and {} figures and statement lines of {REGISTRANTS} registrants",
        facts_in(&home)?
    );
    search(&home, &profiles, entities)?;
    corpus::remove(&home)
}

/// Counts published figures and statement lines.
fn facts_in(home: &Path) -> Result<u64> {
    let manifest: Value = serde_json::from_slice(&fs::read(release(home)?.join("manifest.json"))?)?;
    let rows = |dataset_id: &str| -> u64 {
        manifest["datasets"][dataset_id]["parts"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|part| part["rows"].as_u64())
            .sum()
    };
    Ok(rows("sec.financial_value") + rows("sec.statement_line"))
}

fn search(home: &Path, profiles: &Path, entities: u64) -> Result<()> {
    let begin = |what: &str| -> Result<Server> {
        let server = serve(home, None, &[])?;
        let (now, most) = server.memory()?;
        println!(
            "    {what:<27} {:.1} s; resident {:.0} MB, at most {:.0} MB",
            server.ready_seconds,
            now / 1e6,
            most / 1e6
        );
        Ok(server)
    };
    drop(begin("server ready, first start")?);
    let server = begin("server ready, started again")?;
    let key = key_header(home)?;
    let zctas: Vec<String> = corpus::zctas(profiles)?
        .into_iter()
        .map(|zcta| format!("/v1/geo-demographics/locations/{zcta}"))
        .collect();
    let profile: Vec<String> = (0..REQUESTS)
        .map(|number| zctas[number * 31 % zctas.len()].clone())
        .collect();
    let names = sample_names(entities)?;
    let mut kinds: Vec<(String, Vec<String>)> = KINDS
        .into_iter()
        .flat_map(|(kind, write)| {
            LIMITS.map(|limit| {
                (
                    format!("{kind}, {limit}"),
                    names
                        .iter()
                        .map(|name| search_path(&write(name), limit))
                        .collect(),
                )
            })
        })
        .collect();
    let schools = near_schools(&server, &key, &profile)?;
    println!(
        "    {} of {} areas have 25 schools within 50 miles",
        schools.len(),
        profile.len()
    );
    kinds.push(("schools nearby, 25".to_owned(), schools));
    let mut samples: Vec<Vec<f64>> = vec![Vec::new(); kinds.len() + 1];
    let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); kinds.len()];
    for round in 0..=ROUNDS {
        let of_profile = ask(&server, &key, &profile)?;
        let of_kinds = kinds
            .iter()
            .map(|(_, paths)| ask(&server, &key, paths))
            .collect::<Result<Vec<_>>>()?;
        // The first round is not counted.
        if round > 0 {
            of_kinds
                .iter()
                .zip(&mut ratios)
                .for_each(|(times, ratios)| ratios.push(p99(times) / p99(&of_profile)));
            of_kinds
                .into_iter()
                .chain([of_profile])
                .zip(&mut samples)
                .for_each(|(times, all)| all.extend(times));
        }
    }
    let line = |name: &str, times: &[f64], ratio: &str| {
        println!(
            "    {name:<27} median {:.0} µs, p99 {:.0} µs{ratio}",
            median(times),
            p99(times)
        );
    };
    line("profile", &samples[kinds.len()], "");
    for (number, (kind, _)) in kinds.iter().enumerate() {
        line(
            kind,
            &samples[number],
            &format!("; p99 ratio {}", Figures::new(ratios[number].clone(), "")),
        );
    }
    Ok(())
}

/// Returns names from all over the archive, by a prime step. A search needs two characters.
fn sample_names(entities: u64) -> Result<Vec<String>> {
    let names = entities_corpus::names(
        (0..2 * REQUESTS as u64).map(|number| number * 7_919_003 % entities),
    )?;
    Ok(names
        .into_iter()
        .filter(|name| words(name, 1).len() > 1)
        .take(REQUESTS)
        .collect())
}

/// Returns the seconds until a server with this many entities is ready for the first time. Also
/// returns the median time of each kind of search for 25 names, in microseconds.
pub fn medians(home: &Path, entities: u64) -> Result<(f64, Vec<(&'static str, f64)>)> {
    let server = serve(home, None, &[])?;
    let (key, names) = (key_header(home)?, sample_names(entities)?);
    let mut medians = Vec::new();
    for (kind, write) in KINDS {
        let paths: Vec<String> = names
            .iter()
            .map(|name| search_path(&write(name), LIMITS[0]))
            .collect();
        ask(&server, &key, &paths)?;
        medians.push((kind, median(&ask(&server, &key, &paths)?)));
    }
    Ok((server.ready_seconds, medians))
}

/// Writes a query as users type it, from a record's name.
type Write = fn(&str) -> String;

/// Numbers of results to request: the default, and the number shown below a search field.
const LIMITS: [usize; 2] = [25, 5];

const KINDS: [(&str, Write); 5] = [
    ("the whole name", str::to_owned),
    ("its first two words", |name| words(name, 2)),
    ("its first word", |name| words(name, 1)),
    ("words in another order", |name| {
        name.split(' ').rev().collect::<Vec<_>>().join(" ")
    }),
    ("a letter missing", misspelt),
];

fn words(name: &str, count: usize) -> String {
    name.split(' ').take(count).collect::<Vec<_>>().join(" ")
}

/// Removes the third letter of the longest word.
fn misspelt(name: &str) -> String {
    let longest = name
        .split(' ')
        .max_by_key(|word| word.len())
        .unwrap_or_default();
    let cut: String = longest
        .chars()
        .enumerate()
        .filter(|(place, _)| *place != 2)
        .map(|(_, letter)| letter)
        .collect();
    name.replacen(longest, &cut, 1)
}

fn search_path(name: &str, limit: usize) -> String {
    let encoded: String = name
        .bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect();
    format!("/v1/business/search?state=FL&limit={limit}&name={encoded}")
}

/// Returns the paths of schools near areas that fill one answer: the sample has few schools.
fn near_schools(server: &Server, key: &str, profiles: &[String]) -> Result<Vec<String>> {
    let mut client = Client::connect(&server.address)?;
    let mut found = Vec::new();
    for path in profiles
        .iter()
        .map(|profile| format!("{profile}/schools?radius_mi=50"))
    {
        let answer = client.get(&path, key)?;
        let body: Value = serde_json::from_slice(&answer.body)?;
        match answer.status {
            200 if body["meta"]["page"]["count"] == 25 => found.push(path),
            200 | 404 => {}
            status => return Err(format!("{path}: status {status}: {body}").into()),
        }
    }
    if found.is_empty() {
        return Err("no area has 25 schools nearby".into());
    }
    Ok(found)
}

/// Returns the time of each answer over one connection, in microseconds.
fn ask(server: &Server, key: &str, paths: &[String]) -> Result<Vec<f64>> {
    let mut client = Client::connect(&server.address)?;
    let one = |path: &String| -> Result<f64> {
        let started = Instant::now();
        let answer = client.get(path, key)?;
        if answer.status != 200 {
            return Err(format!(
                "{path}: status {}: {}",
                answer.status,
                String::from_utf8_lossy(&answer.body)
            )
            .into());
        }
        Ok(started.elapsed().as_secs_f64() * 1e6)
    };
    paths.iter().map(one).collect()
}

fn at(times: &[f64], part: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() as f64 * part).ceil() as usize).clamp(1, sorted.len()) - 1]
}

fn median(times: &[f64]) -> f64 {
    at(times, 0.5)
}

fn p99(times: &[f64]) -> f64 {
    at(times, 0.99)
}

/// Hashes every member with SHA-256, one thread per member; returns the number of bytes.
fn hash(archive: &Path) -> Result<u64> {
    let (next, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
    let work = || -> std::result::Result<(), String> {
        let mut archive = ZipArchive::new(File::open(archive).map_err(|error| error.to_string())?)
            .map_err(|error| error.to_string())?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= archive.len() {
                return Ok(());
            }
            let mut member = archive.by_index(index).map_err(|error| error.to_string())?;
            let mut hasher = Hasher::default();
            loop {
                let read = member
                    .read(&mut buffer)
                    .map_err(|error| error.to_string())?;
                if read == 0 {
                    break;
                }
                hasher.update(&buffer[..read]);
                bytes.fetch_add(read as u64, Ordering::Relaxed);
            }
            std::hint::black_box(hasher.finish());
        }
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads()).map(|_| scope.spawn(work)).collect();
        running
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;
    Ok(bytes.into_inner())
}
