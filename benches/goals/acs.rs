use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use pubdata_core::ids::{Digest, Hasher};

use crate::Result;
use crate::corpus::{self, VINTAGE};
use crate::measure::{finish, in_turn, pubdata, seconds, threads};

const ROUNDS: usize = 5;

/// Builds a release of one vintage in an empty home, and hashes the same files.
pub fn bench() -> Result<()> {
    let sample = corpus::mirror()?;
    measure("the sample as it is (few block groups)", &sample)?;
    let large = corpus::published_size_mirror()?;
    measure("with synthetic block groups up to published size", &large)
}

fn measure(what: &str, mirror: &Path) -> Result<()> {
    let files = vintage_files(mirror)?;
    let bytes = files
        .iter()
        .map(|file| Ok(fs::metadata(file)?.len()))
        .sum::<Result<u64>>()?;
    println!(
        "  {what}: {} files, {:.1} MB; home and mirror on one file system, page cache warm, {} threads",
        files.len(),
        bytes as f64 / 1e6,
        threads()
    );
    let home = corpus::folder().join("acs-home");
    let build = || {
        corpus::remove(&home)?;
        let mut command = pubdata(&["run", "census.acs5/vintage=2023"]);
        command.arg("--mirror").arg(mirror).arg("--home").arg(&home);
        Ok(seconds(|| finish(&mut command, &[0, 10]))?.0)
    };
    build()?;
    let (snapshots, digests) = (snapshots(&home)?, hash_all(&files)?);
    if snapshots != digests {
        return Err("the snapshots of the run are not the files that were hashed".into());
    }
    let pair = in_turn(ROUNDS, " s", build, || Ok(seconds(|| hash_all(&files))?.0))?;
    println!("    to a release            {}", pair.ours);
    println!(
        "    SHA-256 of the files    {}: {:.2} GB/s",
        pair.peer,
        bytes as f64 / 1e9 / pair.peer.median()
    );
    println!("    ratio                   {}", pair.ratio);
    corpus::remove(&home)
}

/// Returns the files of the vintage that a run reads.
fn vintage_files(mirror: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for part in ["data/5YRData", "documentation"] {
        for entry in fs::read_dir(mirror.join(VINTAGE).join(part))? {
            files.push(entry?.path());
        }
    }
    Ok(files)
}

/// Reads and hashes files in parallel, one thread per file, largest first.
fn hash_all(files: &[PathBuf]) -> Result<BTreeSet<Digest>> {
    let mut by_size = files
        .iter()
        .map(|file| Ok((fs::metadata(file)?.len(), file)))
        .collect::<Result<Vec<_>>>()?;
    by_size.sort();
    let (queue, digests) = (Mutex::new(by_size), Mutex::new(BTreeSet::new()));
    let work = || -> std::io::Result<()> {
        let mut buffer = vec![0; 1 << 18];
        loop {
            let next = queue.lock().expect("no thread panics").pop();
            let Some((_, path)) = next else { return Ok(()) };
            let (mut file, mut hasher) = (File::open(path)?, Hasher::default());
            loop {
                match file.read(&mut buffer)? {
                    0 => break,
                    length => hasher.update(&buffer[..length]),
                }
            }
            digests
                .lock()
                .expect("no thread panics")
                .insert(hasher.finish());
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads()).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;
    Ok(digests.into_inner()?)
}

/// Returns the digests in the names of a home's snapshots.
fn snapshots(home: &Path) -> Result<BTreeSet<Digest>> {
    let mut digests = BTreeSet::new();
    for source in fs::read_dir(home.join("snapshots"))? {
        for snapshot in fs::read_dir(source?.path())? {
            let name = snapshot?
                .file_name()
                .into_string()
                .map_err(|_| "a snapshot has an odd name")?;
            digests.insert(name.split('-').next().unwrap_or_default().parse()?);
        }
    }
    Ok(digests)
}
