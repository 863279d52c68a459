use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pubdata_core::ids::{Digest, Hasher};

use crate::Result;
use crate::corpus;
use crate::facts::{build, release, run};
use crate::facts_corpus;
use crate::measure::Figures;

const ROUNDS: usize = 5;
const CHANGED_PERCENT: usize = 3;

/// Measures a first run in an empty home and then a second run: with the same files, with the
/// archive compiled again from the same members, and with some changed members.
pub fn bench() -> Result<()> {
    let members = facts_corpus::members()?;
    let first = facts_corpus::mirror(members)?;
    let nights = [
        ("the same files", first.clone()),
        (
            "archive compiled again",
            facts_corpus::next_run_mirror(&first, "facts-anew", 0)?,
        ),
        (
            "3 % of members changed",
            facts_corpus::next_run_mirror(&first, "facts-changed", CHANGED_PERCENT)?,
        ),
    ];
    println!("  {members} members, about 19 to a shard, as in a published archive");
    for (_, night) in &nights {
        check_equals_fresh_build(&first, night)?;
    }
    let home = corpus::folder().join("nights-home");
    for (name, night) in &nights {
        let (mut firsts, mut seconds, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let (a, b) = (build(&first, &home)?, run(night, &home)?);
            if round > 0 {
                firsts.push(a);
                seconds.push(b);
                ratios.push(b / a);
            }
        }
        println!(
            "    first run                   {}",
            Figures::new(firsts, " s")
        );
        println!("    {name:<27} {}", Figures::new(seconds, " s"));
        println!(
            "    ratio                       {}",
            Figures::new(ratios, "")
        );
    }
    corpus::remove(&home)
}

/// Checks that a release that reuses unchanged parts equals, byte for byte, one built from an empty
/// home.
fn check_equals_fresh_build(first: &Path, night: &Path) -> Result<()> {
    let home = corpus::folder().join("nights-home");
    build(first, &home)?;
    run(night, &home)?;
    let reused = parts(&release(&home)?)?;
    build(night, &home)?;
    if reused.is_empty() || reused != parts(&release(&home)?)? {
        return Err(format!(
            "{}: the parts of the second run differ from those of a build in an empty home",
            night.display()
        )
        .into());
    }
    Ok(())
}

/// Returns the digests of a release's parts by their paths.
fn parts(release: &Path) -> Result<BTreeMap<PathBuf, Digest>> {
    let (mut parts, mut folders) = (BTreeMap::new(), vec![release.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "parquet")
            {
                let mut hasher = Hasher::default();
                hasher.update(&fs::read(&path)?);
                parts.insert(path.strip_prefix(release)?.to_owned(), hasher.finish());
            }
        }
    }
    Ok(parts)
}
