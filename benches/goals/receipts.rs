//! Measures how much longer a run takes if it seals its release.

use std::cell::Cell;
use std::fs;

use crate::Result;
use crate::corpus::{folder, mirror, remove};
use crate::measure::{Figures, finish, in_turn, pubdata, seconds};

const ROUNDS: usize = 9;

/// Runs the mirror from an empty home, alternately with and without a key; then seals the releases
/// published without one.
pub fn bench() -> Result<()> {
    let (mirror, homes, key) = (
        mirror()?,
        folder().join("sealed"),
        folder().join("sealed.key"),
    );
    if key.is_file() {
        fs::remove_file(&key)?;
    }
    remove(&homes)?;
    finish(
        pubdata(&["keys", "signing", "--name", "bench.example/1", "--output"]).arg(&key),
        &[0],
    )?;
    // Homes are removed at the end: for minutes after thousands of files are removed, ext4 creates
    // files more slowly.
    let home = |kind: &str, number: usize| homes.join(format!("{kind}-{number}"));
    let run = |kind: &str, rounds: &Cell<usize>| {
        let mut command = pubdata(&["run", "--mirror"]);
        command
            .arg(&mirror)
            .arg("--home")
            .arg(home(kind, rounds.replace(rounds.get() + 1)));
        if kind == "sealed" {
            command.arg("--signing-key").arg(&key);
        }
        Ok(seconds(|| finish(&mut command, &[0, 10, 30]))?.0)
    };
    let rounds = [Cell::new(0), Cell::new(0)];
    let pair = in_turn(
        ROUNDS,
        " s",
        || run("sealed", &rounds[0]),
        || run("not", &rounds[1]),
    )?;
    // Derives the seal again from the parts and checks the release against it.
    finish(
        pubdata(&["verify", "--home"]).arg(home("sealed", ROUNDS)),
        &[0],
    )?;
    let seal = |number| {
        Ok(seconds(|| {
            finish(
                pubdata(&["seal", "--signing-key"])
                    .arg(&key)
                    .arg("--home")
                    .arg(home("not", number)),
                &[0],
            )
        })?
        .0)
    };
    let seals: Vec<f64> = (1..=ROUNDS).map(seal).collect::<Result<_>>()?;
    println!("    a run that seals            {}", pair.ours);
    println!("    a run that does not         {}", pair.peer);
    println!("    ratio                       {}", pair.ratio);
    println!(
        "    sealing it afterwards       {}",
        Figures::new(seals, " s")
    );
    remove(&homes)
}
