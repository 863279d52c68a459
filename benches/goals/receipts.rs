//! What it costs to seal a release, beside the run that made it.

use std::fs;

use crate::Result;
use crate::corpus::{folder, mirror, remove};
use crate::measure::{Figures, finish, pubdata, seconds};

const ROUNDS: usize = 3;

/// Runs of the mirror from nothing, each sealed: the time of both, and by how much the first is longer with the second.
pub fn bench() -> Result<()> {
    let (mirror, home, key) = (mirror()?, folder().join("sealed"), folder().join("sealed.key"));
    let at_home = |arguments: &[&str]| {
        let mut command = pubdata(&["--home"]);
        command.arg(&home).args(arguments);
        command
    };
    if key.is_file() {
        fs::remove_file(&key)?;
    }
    finish(pubdata(&["keys", "signing", "--name", "bench.example/1", "--output"]).arg(&key), &[0])?;
    let (mut runs, mut seals, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        remove(&home)?;
        let (run, _) = seconds(|| finish(at_home(&["run", "--mirror"]).arg(&mirror), &[0, 10, 30]))?;
        let (seal, _) = seconds(|| finish(at_home(&["seal", "--signing-key"]).arg(&key), &[0]))?;
        // The first brings files into memory.
        if round > 0 {
            runs.push(run);
            seals.push(seal);
            ratios.push(100.0 * seal / run);
        }
    }
    // It makes the seal again, and holds the release against it.
    finish(&mut at_home(&["verify"]), &[0])?;
    println!("    run from nothing {}, seal {}, longer by {}", Figures::new(runs, " s"), Figures::new(seals, " s"), Figures::new(ratios, " %"));
    remove(&home)
}
