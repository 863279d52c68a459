use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::corpus;
use crate::facts_corpus;
use crate::measure::{Figures, finish};

const ROUNDS: usize = 3;

/// Runs a command and prints its peak memory in kilobytes. The system reports it only to the parent
/// of an ended process.
const WATCH: &str = "import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)";

/// Measures the peak memory of a build in an empty home, for an archive and for one four times as
/// large.
pub fn bench() -> Result<()> {
    let members = facts_corpus::members()?;
    let (once, four_times) = (
        facts_corpus::mirror(members)?,
        facts_corpus::mirror(4 * members)?,
    );
    let measure = |mirror: &Path| -> Result<Figures> {
        Ok(Figures::new(
            (0..ROUNDS)
                .map(|_| peak("sec.financials", mirror))
                .collect::<Result<_>>()?,
            " MB",
        ))
    };
    let (small, large) = (measure(&once)?, measure(&four_times)?);
    println!("    {members} members                 {small}");
    println!("    {} members                {large}", 4 * members);
    println!(
        "    ratio                       {:.3}",
        large.median() / small.median()
    );
    Ok(())
}

/// Returns the peak memory of a pipeline's build in an empty home, in megabytes.
pub fn peak(pipeline: &str, mirror: &Path) -> Result<f64> {
    let home = corpus::folder().join("memory-home");
    corpus::remove(&home)?;
    let peak = peak_in(&home, pipeline, mirror)?;
    corpus::remove(&home)?;
    Ok(peak)
}

/// Like [`peak`], but keeps the home.
pub fn peak_in(home: &Path, pipeline: &str, mirror: &Path) -> Result<f64> {
    let mut command = Command::new("python3");
    command
        .args(["-c", WATCH, env!("CARGO_BIN_EXE_pubdata"), "run", pipeline])
        .env("PUBDATA_LOG", "error");
    let printed = String::from_utf8(
        finish(
            command.arg("--mirror").arg(mirror).arg("--home").arg(home),
            &[0, 10],
        )?
        .stdout,
    )?;
    Ok(printed.trim().parse::<f64>()? * 1024.0 / 1e6)
}
