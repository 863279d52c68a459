use std::fs;
use std::path::Path;

use crate::Result;
use crate::corpus;
use crate::http::serve;
use crate::measure::Figures;

const ROUNDS: usize = 7;

/// Starts the server and waits for `/readyz`.
pub fn bench() -> Result<()> {
    let home = corpus::home()?;
    println!(
        "  the mirror's release: two vintages of 33.8 k ZCTAs and 3.2 k counties, geography, schools; the facts of the goal are in `entities`"
    );
    let (mut ready, mut resident, mut highest) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..=ROUNDS {
        let server = serve(&home, None, &[])?;
        let (now, most) = server.memory()?;
        ready.push(server.ready_seconds * 1e3);
        resident.push(now / 1e6);
        highest.push(most / 1e6);
    }
    // The first round is not counted.
    for samples in [&mut ready, &mut resident, &mut highest] {
        samples.remove(0);
    }
    let resident = Figures::new(resident, " MB");
    let parts = part_bytes(&home.join("releases"))? as f64 / 1e6;
    println!("    ready after             {}", Figures::new(ready, " ms"));
    println!(
        "    resident when ready     {resident}, at most {}",
        Figures::new(highest, " MB")
    );
    println!(
        "    Parquet of the release  {parts:.1} MB: {:.2} resident bytes for each",
        resident.median() / parts
    );
    Ok(())
}

/// Returns the size of all Parquet files below a folder.
fn part_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if path.is_dir() {
            bytes += part_bytes(&path)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "parquet")
        {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}
