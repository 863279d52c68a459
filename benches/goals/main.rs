//! Measures the goals stated in `docs/PERFORMANCE.md` and prints our figure, the figure of the peer
//! or limit, and the ratio. `cargo bench` measures all, `cargo bench -- acs trace` some. A goal
//! that cannot be measured here is skipped with a reason; unequal results of the two sides are a
//! failure. The benches do not judge: they print the figures next to the goal.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod acs;
mod answers;
mod corpus;
mod entities;
mod entities_corpus;
mod facts;
mod facts_corpus;
mod growth;
mod http;
mod lists_corpus;
mod load;
mod lookup;
mod measure;
mod memory;
mod nights;
mod pages;
mod profile;
mod ready;
mod receipts;
mod stream;
mod swaps;
mod tax;
mod tax_corpus;
mod trace;

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Reason why something cannot be measured here.
#[derive(Debug)]
struct Skipped(String);

impl fmt::Display for Skipped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for Skipped {}

type Bench = fn() -> Result<()>;

const BENCHES: [(&str, &str, Bench); 16] = [
    (
        "acs",
        "goal 6: one ACS vintage, ten tables with all summary levels -> release, against SHA-256 of the same bytes (pass <= 3, moonshot <= 1.3)",
        acs::bench,
    ),
    (
        "answers",
        "goal 8: profile endpoint, processor time of an answer against DuckDB in uvicorn, datasette and roapi (pass >= 20 times less, moonshot >= 70)",
        answers::bench,
    ),
    (
        "entities",
        "goal 10: registry of Florida, ten million records -> release, against SHA-256 of the content, peak memory; search p99 against the profile (pass <= 2, moonshot <= 1.2)",
        entities::bench,
    ),
    (
        "facts",
        "goals 1, 2, 3: companyfacts -> release, against inflating the archive (pass <= 4.0, moonshot <= 3.0), Python (pass >= 8, moonshot >= 20), DuckDB (pass >= 4, moonshot >= 10)",
        facts::bench,
    ),
    (
        "growth",
        "cost as work grows: facts, registry, boundaries and releases kept, by which power of the size (near 1 or below)",
        growth::bench,
    ),
    (
        "lookup",
        "goal 9: a registrant's annual figures, processor time against DataFusion on the same Parquet (pass >= 5 times less, moonshot >= 50)",
        lookup::bench,
    ),
    (
        "memory",
        "goal 4: peak memory of the build at 1x and 4x archive (pass <= 500 MB, ratio <= 1.2; moonshot <= 256 MB, ratio <= 1.05)",
        memory::bench,
    ),
    (
        "nights",
        "goal 5: unchanged run, run with 3 % changed members, against the first run (pass <= 0.2, <= 0.3; moonshot <= 0.02, <= 0.06)",
        nights::bench,
    ),
    (
        "pages",
        "pages of each kind on the mirror's release: time of the server (pass <= 20 ms)",
        pages::bench,
    ),
    (
        "profile",
        "goal 7: profile endpoint, requests/s against nginx serving the same bytes as files, one processor each (pass >= 0.7, moonshot >= 1.0)",
        profile::bench,
    ),
    (
        "ready",
        "goal 11: server ready after start; resident memory (pass <= 2 s, moonshot <= 0.3 s)",
        ready::bench,
    ),
    (
        "receipts",
        "a run of the mirror that seals what it publishes, against one that does not (limit <= 1.05)",
        receipts::bench,
    ),
    (
        "stream",
        "1,000 sockets with 10 subscriptions each, one of which does not read: the others unaffected, memory bounded",
        stream::bench,
    ),
    (
        "swaps",
        "goal 12: release swaps under load, failed or mixed answers (pass 0 of 100, moonshot 0 of 10,000)",
        swaps::bench,
    ),
    (
        "tax",
        "boundary file of two million records -> release, against SHA-256 of the same file, peak memory, and lookups (no goal is set)",
        tax::bench,
    ),
    (
        "trace",
        "goal 13: `trace RECORD_ID` with replay, process start to end (pass <= 200 ms, moonshot <= 50 ms)",
        trace::bench,
    ),
];

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let selected: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    if let Some(unknown) = selected
        .iter()
        .find(|selected| !BENCHES.iter().any(|(name, ..)| name == selected))
    {
        let names: Vec<&str> = BENCHES.iter().map(|(name, ..)| *name).collect();
        println!(
            "unknown bench `{unknown}`; the benches are {}",
            names.join(", ")
        );
        return ExitCode::FAILURE;
    }
    println!("{}", measure::machine());
    let mut is_failed = false;
    for (name, goal, bench) in BENCHES {
        if !selected.is_empty() && !selected.iter().any(|selected| selected == name) {
            continue;
        }
        println!("\n{name}: {goal}\n  load before: {}", measure::load());
        match bench() {
            Ok(()) => {}
            Err(error) if error.is::<Skipped>() => println!("  skipped: {error}"),
            Err(error) => {
                println!("  FAILED: {error}");
                is_failed = true;
            }
        }
    }
    if is_failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
