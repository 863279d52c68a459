use crate::Result;
use crate::corpus;
use crate::measure::{Figures, finish, pubdata, seconds};

const ROUNDS: usize = 11;

/// A record of each kind: a published figure, a share of several cells, a county, an area, and a
/// school inside an archive.
const RECORDS: [(&str, &str); 5] = [
    ("metric", "geo.zcta_metric:2023:90210:population"),
    (
        "share of ten cells",
        "geo.zcta_metric:2023:90210:high_school_attainment",
    ),
    (
        "county metric",
        "geo.county_metric:2023:06037:median_household_income",
    ),
    ("geography", "geo.geography:90210"),
    ("school", "geo.school:010000500870"),
];

/// Measures traces of records as from a terminal.
pub fn bench() -> Result<()> {
    let home = corpus::home()?;
    let start = samples(|| finish(&mut pubdata(&["--version"]), &[0]).map(|_| ()))?;
    println!("  starting the process alone: {start}");
    for (kind, record_id) in RECORDS {
        let figures = samples(|| {
            let output = finish(
                pubdata(&["trace", record_id]).arg("--home").arg(&home),
                &[0],
            )?;
            if String::from_utf8_lossy(&output.stdout)
                .lines()
                .any(|line| line.trim().ends_with("match") && !line.contains("mismatch"))
            {
                Ok(())
            } else {
                Err(format!("trace {record_id} does not report a match").into())
            }
        })?;
        println!("  {kind:<20} {figures}");
    }
    Ok(())
}

fn samples(mut work: impl FnMut() -> Result<()>) -> Result<Figures> {
    let mut samples = Vec::new();
    for _ in 0..=ROUNDS {
        samples.push(seconds(&mut work)?.0 * 1e3);
    }
    // The first round is not counted.
    samples.remove(0);
    Ok(Figures::new(samples, " ms"))
}
