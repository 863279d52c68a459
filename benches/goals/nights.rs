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

/// A first night in an empty home, then a night on it: the same files, the archive compiled anew
/// from the same members, some members changed.
pub fn bench() -> Result<()> {
    let members = facts_corpus::members()?;
    let first = facts_corpus::mirror(members)?;
    let nights = [
        ("the same files", first.clone()),
        (
            "archive compiled anew",
            facts_corpus::next_night(&first, "facts-anew", 0)?,
        ),
        (
            "3 % of members changed",
            facts_corpus::next_night(&first, "facts-changed", CHANGED_PERCENT)?,
        ),
    ];
    println!("  {members} members, about 19 to a shard, as in a published archive");
    for (_, night) in &nights {
        is_as_from_nothing(&first, night)?;
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
            "    first night                 {}",
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

/// A release that carries over what did not change has the parts, byte by byte, of one that was
/// built from nothing.
fn is_as_from_nothing(first: &Path, night: &Path) -> Result<()> {
    let home = corpus::folder().join("nights-home");
    build(first, &home)?;
    run(night, &home)?;
    let carried = parts(&release(&home)?)?;
    build(night, &home)?;
    if carried.is_empty() || carried != parts(&release(&home)?)? {
        return Err(format!(
            "{}: the parts of the second night are not those of a build from nothing",
            night.display()
        )
        .into());
    }
    Ok(())
}

/// Digests of a release's parts by their place in it.
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
