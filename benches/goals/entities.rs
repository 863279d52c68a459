use std::fs;

use crate::Result;
use crate::corpus;
use crate::entities_corpus;
use crate::facts::inflate;
use crate::measure::{finish, pubdata, seconds, threads};
use crate::memory;

const PIPELINE: &str = "business.fl_sunbiz";

/// Builds a release of a quarterly archive of Sunbiz in an empty home, once, and reads the same archive to its end; then the most memory of a build.
pub fn bench() -> Result<()> {
    let entities = entities_corpus::entities()?;
    let mirror = entities_corpus::mirror(entities)?;
    let archive = entities_corpus::archive(&mirror);
    let home = corpus::folder().join("entities-home");
    let (inflating, inflated) = seconds(|| inflate(&archive))?;
    println!(
        "  {entities} synthetic records, {:.1} MB, {:.1} MB inflated; home and mirror on one file system, {} threads",
        fs::metadata(&archive)?.len() as f64 / 1e6,
        inflated as f64 / 1e6,
        threads()
    );
    corpus::remove(&home)?;
    let (building, _) = seconds(|| finish(pubdata(&["run", PIPELINE]).arg("--mirror").arg(&mirror).arg("--home").arg(&home), &[0, 10]))?;
    corpus::remove(&home)?;
    println!("    to a release                {building:.1} s: {:.0} records/s", entities as f64 / building);
    println!("    inflate only, same threads  {inflating:.1} s; ratio {:.2}", building / inflating);
    println!("    peak memory of a build      {:.0} MB", memory::peak(PIPELINE, &mirror)?);
    Ok(())
}
