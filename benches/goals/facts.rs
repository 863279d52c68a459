use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use pubdata_build::decode::Archive;

use crate::corpus;
use crate::facts_corpus;
use crate::measure::{Pair, finish, in_turn, pubdata, seconds, threads};
use crate::{Result, Skipped};

const ROUNDS: usize = 5;
const ROUNDS_WITH_PEERS: usize = 3;

/// Builds a release from the archives in an empty home, inflates the same archive, and extracts the
/// same facts with Python and DuckDB.
pub fn bench() -> Result<()> {
    let members = facts_corpus::members()?;
    let mirror = facts_corpus::mirror(members)?;
    let archive = facts_corpus::archive(&mirror);
    let home = corpus::folder().join("facts-home");
    let inflated = inflate(&archive)?;
    println!(
        "  {members} members, {:.1} MB, {:.1} MB inflated; home and mirror on one file system, page cache warm, {} threads",
        fs::metadata(&archive)?.len() as f64 / 1e6,
        inflated as f64 / 1e6,
        threads()
    );
    let peers = match Peers::new(&mirror) {
        Ok(peers) => {
            build(&mirror, &home)?;
            println!("    {}", peers.check(&home)?);
            Some(peers)
        }
        Err(error) if error.is::<Skipped>() => {
            println!("  goals 2 and 3 skipped: {error}");
            None
        }
        Err(error) => return Err(error),
    };
    let floor = in_turn(
        ROUNDS,
        " s",
        || build(&mirror, &home),
        || Ok(seconds(|| inflate(&archive))?.0),
    )?;
    print("to a release", "inflate only, same threads", &floor);
    println!(
        "    inflate                 {:.2} GB/s",
        inflated as f64 / 1e9 / floor.peer.median()
    );
    if let Some(peers) = peers {
        let python = in_turn(
            ROUNDS_WITH_PEERS,
            " s",
            || build(&mirror, &home),
            || peers.polars(),
        )?;
        print("to a release", "zipfile, orjson, polars", &python);
        let duckdb = in_turn(
            ROUNDS_WITH_PEERS,
            " s",
            || build(&mirror, &home),
            || peers.duckdb(),
        )?;
        print("to a release", "DuckDB, extracted files", &duckdb);
    }
    corpus::remove(&home)
}

fn print(ours: &str, peer: &str, pair: &Pair) {
    println!("    {ours:<27} {}", pair.ours);
    println!("    {peer:<27} {}", pair.peer);
    println!(
        "    {:<27} {}; inverse {:.1}",
        "ratio",
        pair.ratio,
        1.0 / pair.ratio.median()
    );
}

/// Returns the seconds from an empty home to a release of the financials: fetched, decoded,
/// selected, validated, published.
pub fn build(mirror: &Path, home: &Path) -> Result<f64> {
    corpus::remove(home)?;
    run(mirror, home)
}

/// Returns the seconds of a run in an existing home.
pub fn run(mirror: &Path, home: &Path) -> Result<f64> {
    // 10: some records are in quarantine.
    Ok(seconds(|| {
        finish(
            pubdata(&["run", "sec.financials"])
                .arg("--mirror")
                .arg(mirror)
                .arg("--home")
                .arg(home),
            &[0, 10],
        )
    })?
    .0)
}

/// Returns the home's newest release.
pub fn release(home: &Path) -> Result<PathBuf> {
    let mut releases: Vec<PathBuf> = fs::read_dir(home.join("releases"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    releases.sort_by_key(|release| {
        fs::metadata(release)
            .and_then(|metadata| metadata.modified())
            .ok()
    });
    Ok(releases.pop().ok_or("no release")?)
}

/// Reads every member to its end and checks its CRC, one thread per member, with the program's
/// fastest reader; returns the number of bytes.
pub fn inflate(archive: &Path) -> Result<u64> {
    let archive = Archive::open(archive, "*", u64::MAX)?;
    let (next, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
    let work = || -> pubdata_core::error::Result<()> {
        let mut content = Vec::new();
        while let Some(member) = archive.members().get(next.fetch_add(1, Ordering::Relaxed)) {
            archive.read(member, &mut content)?;
            bytes.fetch_add(content.len() as u64, Ordering::Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads()).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;
    Ok(bytes.into_inner())
}

/// Other programs that extract the facts of the same concepts.
struct Peers {
    archive: PathBuf,
    extracted: PathBuf,
    concepts: PathBuf,
    polars_rows: PathBuf,
    duckdb_rows: PathBuf,
}

impl Peers {
    fn new(mirror: &Path) -> Result<Self> {
        facts_corpus::python("facts_polars.py", "orjson, polars")?;
        let file = |name: &str| corpus::folder().join(name);
        Ok(Self {
            archive: facts_corpus::archive(mirror),
            extracted: facts_corpus::extracted(mirror)?,
            concepts: facts_corpus::concepts()?,
            polars_rows: file("facts-polars"),
            duckdb_rows: file("facts-duckdb"),
        })
    }

    fn polars(&self) -> Result<f64> {
        Ok(self.run_polars()?.0)
    }

    fn run_polars(&self) -> Result<(f64, String)> {
        let mut command = facts_corpus::python("facts_polars.py", "orjson, polars")?;
        command
            .arg(&self.archive)
            .arg(&self.concepts)
            .arg(&self.polars_rows)
            .arg(threads().to_string())
            .env("POLARS_MAX_THREADS", "1");
        let (seconds, output) = seconds(|| finish(&mut command, &[0]))?;
        Ok((seconds, String::from_utf8(output.stdout)?))
    }

    fn duckdb(&self) -> Result<f64> {
        let mut command = facts_corpus::python("facts_duckdb.py", "duckdb")?;
        command
            .arg(&self.extracted)
            .arg(&self.concepts)
            .arg(&self.duckdb_rows)
            .arg(threads().to_string());
        Ok(seconds(|| finish(&mut command, &[0]))?.0)
    }

    /// Checks that the release and the peers have equal rows; returns a summary of them.
    fn check(&self, home: &Path) -> Result<String> {
        let counts = self.run_polars()?.1;
        self.duckdb()?;
        let mut command = facts_corpus::python("facts_compare.py", "duckdb")?;
        command
            .arg(release(home)?)
            .arg(&self.polars_rows)
            .arg(&self.duckdb_rows)
            .arg(counts.trim());
        Ok(String::from_utf8(finish(&mut command, &[0])?.stdout)?
            .trim()
            .to_owned())
    }
}
