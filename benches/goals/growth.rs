use std::fs;
use std::path::Path;

use crate::Result;
use crate::corpus;
use crate::entities;
use crate::entities_corpus;
use crate::facts;
use crate::facts_corpus;
use crate::http::serve;
use crate::lists_corpus;
use crate::measure::{Figures, finish, pubdata, seconds};
use crate::tax_corpus;

/// Sizes of the work, in sixteenths of the largest: each is four times the one before.
const SIXTEENTHS: [u64; 3] = [1, 4, 16];
const ROUNDS: usize = 3;
/// Number of members in the archive of facts for the bench of kept releases.
const KEPT_MEMBERS: usize = 60;
/// Approximate record counts of the two measured lists.
const PERMITS: u64 = 800_000;
const CREDENTIALS: u64 = 1_600_000;

/// Measures how time grows with the size of the work: builds of a sixteenth, a quarter and the
/// whole of each kind, and commands in a home with 1, 4 and 16 releases. Prints the exponent from
/// each size to the next.
pub fn bench() -> Result<()> {
    let members = 4 * facts_corpus::members()? as u64;
    grow("facts, members", members, |members| {
        let mirror = facts_corpus::mirror(usize::try_from(members)?)?;
        build(&["sec.financials"], &mirror)
    })?;
    registry(entities_corpus::entities()?)?;
    grow(
        "tax boundaries, records",
        tax_corpus::records()?,
        |records| build(&["tax.sst_boundaries"], &tax_corpus::mirror(records)?),
    )?;
    grow("permits, records", PERMITS, |records| {
        build(&["permit.philadelphia"], &lists_corpus::permits(records)?)
    })?;
    grow("licences, records", CREDENTIALS, |records| {
        build(&["license.wa_doh"], &lists_corpus::credentials(records)?)
    })?;
    releases_kept()
}

/// Measures work of three sizes; prints each time and the exponents between them.
fn grow(what: &str, largest: u64, mut measure: impl FnMut(u64) -> Result<f64>) -> Result<()> {
    let mut measured: Vec<(u64, Figures)> = Vec::new();
    for size in SIXTEENTHS.map(|sixteenths| largest * sixteenths / 16) {
        measured.push((
            size,
            Figures::new(
                (0..ROUNDS).map(|_| measure(size)).collect::<Result<_>>()?,
                " s",
            ),
        ));
    }
    println!("    {what}");
    for (size, figures) in &measured {
        println!("      {size:>10}            {figures}");
    }
    println!(
        "      exponents             {}",
        exponents(
            &measured
                .iter()
                .map(|(_, figures)| figures.median())
                .collect::<Vec<_>>()
        )
    );
    Ok(())
}

/// Returns the exponents by which a time grows from each size to the next, which is four times as
/// large.
fn exponents(times: &[f64]) -> String {
    let exponents: Vec<String> = times
        .windows(2)
        .map(|pair| format!("{:.2}", (pair[1] / pair[0]).log(4.0)))
        .collect();
    exponents.join(", ")
}

/// Returns the seconds of a build in an empty home.
fn build(pipelines: &[&str], mirror: &Path) -> Result<f64> {
    let home = corpus::folder().join("growth-home");
    let taken = build_in(&home, pipelines, mirror)?;
    corpus::remove(&home)?;
    Ok(taken)
}

/// Like [`build`], but keeps the home.
fn build_in(home: &Path, pipelines: &[&str], mirror: &Path) -> Result<f64> {
    corpus::remove(home)?;
    Ok(seconds(|| {
        finish(
            pubdata(&["run"])
                .args(pipelines)
                .arg("--mirror")
                .arg(mirror)
                .arg("--home")
                .arg(home),
            &[0, 10],
        )
    })?
    .0)
}

/// Measures builds of the registry, the first start of a server, and searches.
fn registry(largest: u64) -> Result<()> {
    let home = corpus::folder().join("growth-home");
    let mut searches: Vec<(f64, Vec<(&str, f64)>)> = Vec::new();
    grow("registry of Florida, records", largest, |records| {
        let taken = build_in(
            &home,
            &["business.fl_sunbiz"],
            &entities_corpus::mirror(records)?,
        )?;
        if searches.len()
            < SIXTEENTHS
                .iter()
                .filter(|sixteenths| largest * **sixteenths / 16 <= records)
                .count()
        {
            searches.push(entities::medians(&home, records)?);
        }
        Ok(taken)
    })?;
    println!("    a server with the registry");
    line(
        "first start",
        &searches
            .iter()
            .map(|(ready, _)| ready * 1e3)
            .collect::<Vec<_>>(),
    );
    for (number, (kind, _)) in searches[0].1.iter().enumerate() {
        line(
            kind,
            &searches
                .iter()
                .map(|(_, medians)| medians[number].1 / 1e3)
                .collect::<Vec<_>>(),
        );
    }
    corpus::remove(&home)
}

/// Prints milliseconds of three sizes and the exponents between them.
fn line(what: &str, times: &[f64]) {
    let shown: Vec<String> = times
        .iter()
        .map(|time| {
            if *time < 10.0 {
                format!("{time:.2} ms")
            } else {
                format!("{time:.0} ms")
            }
        })
        .collect();
    println!(
        "      {what:<24}  {}; exponents {}",
        shown.join(", "),
        exponents(times)
    );
}

/// Measures commands in a home with one, four and sixteen releases of the same tables.
fn releases_kept() -> Result<()> {
    let home = corpus::folder().join("growth-releases");
    corpus::remove(&home)?;
    let first = facts_corpus::mirror(KEPT_MEMBERS)?;
    let mut measured: Vec<[f64; 4]> = Vec::new();
    for night in 1..=16 {
        let mirror = facts_corpus::next_run_mirror(&first, "facts-growth", night * 6)?;
        facts::run(&mirror, &home)?;
        if ![1, 4, 16].contains(&night) {
            continue;
        }
        let kept = fs::read_dir(home.join("releases"))?
            .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_dir()))
            .count();
        if kept != night {
            return Err(format!("{kept} releases after {night} runs").into());
        }
        let median = |work: &mut dyn FnMut() -> Result<f64>| -> Result<f64> {
            Ok(Figures::new(
                (0..4 * ROUNDS).map(|_| work()).collect::<Result<_>>()?,
                " s",
            )
            .median()
                * 1e3)
        };
        let command = |arguments: &[&str]| {
            Ok(seconds(|| finish(pubdata(arguments).arg("--home").arg(&home), &[0, 1]))?.0)
        };
        measured.push([
            median(&mut || facts::run(&mirror, &home))?,
            median(&mut || command(&["releases", "list"]))?,
            median(&mut || command(&["status"]))?,
            median(&mut || Ok(serve(&home, None, &[])?.ready_seconds))?,
        ]);
    }
    println!("    releases kept: 1, 4, 16");
    for (number, what) in ["unchanged run", "releases list", "status", "server ready"]
        .into_iter()
        .enumerate()
    {
        line(
            what,
            &measured
                .iter()
                .map(|times| times[number])
                .collect::<Vec<_>>(),
        );
    }
    corpus::remove(&home)
}
