//! Turns the Bureau's population estimates file into one row per state, county and incorporated
//! place.

use std::collections::BTreeMap;

use polars::prelude::*;

use crate::datasets::Fault;
use crate::datasets::context::finding;
use crate::datasets::{Build, Builder, Context, Table};
use crate::normalise::{
    Rejects, convert, pointer_column, pointers, require, text, text_column, whole,
};
use pubdata_core::error::{Error, Result};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::POINTERS;

const POPULATION: &str = "geo.population";
const SOURCE: &str = "census.population_estimate";

/// Place code for the remainder of a county outside incorporated places.
const REMAINDER: &str = "99990";

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 1,
    build: Build::Whole(build),
    check,
    vocabulary: None,
};

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    match declaration.settings.keys().next() {
        Some(key) => Err(Fault::in_settings(
            "",
            format!("`{key}` is not a setting of this builder"),
        )),
        None => Ok(()),
    }
}

/// Returns the kind and FIPS code of a row's area. Returns `None` for levels that count the same
/// people again: minor civil divisions, parts of places, consolidated cities.
fn area([level, state, county, place]: [&str; 4]) -> Option<(&'static str, String)> {
    match level {
        "040" => Some(("state", state.to_owned())),
        "050" => Some(("county", format!("{state}{county}"))),
        "162" => Some(("place", format!("{state}{place}"))),
        "157" if place == REMAINDER => {
            Some(("county_remainder", format!("{state}{county}{place}")))
        }
        _ => None,
    }
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let source = context
        .read(SOURCE)?
        .pop()
        .ok_or_else(|| Error::format(format!("source `{SOURCE}` has no file")))?;
    let year: i32 = source.source_version.parse().map_err(|_| {
        Error::config(format!(
            "source version `{}` is not a year",
            source.source_version
        ))
    })?;
    let mut issues: Vec<Issue> = source.issues(POPULATION).collect();
    let frame = &source.frame;
    let height = frame.height();
    let mut rejects = Rejects::new(height);
    for column in ["level", "state", "name", "population"] {
        require(frame, column, &mut rejects)?;
    }
    let population = convert(
        frame,
        "population",
        "a number of people",
        &mut rejects,
        whole,
    )?;
    let codes = ["level", "state", "county", "place"]
        .map(|name| text(frame, name))
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    let areas: Vec<Option<(&str, String)>> = (0..height)
        .map(|row| area([0, 1, 2, 3].map(|code: usize| codes[code].get(row).unwrap_or_default())))
        .collect();
    let own = pointers(frame, POINTERS)?;
    let others = own
        .iter()
        .zip(&areas)
        .filter(|(_, area)| area.is_none())
        .flat_map(|(pointers, _)| pointers.clone().unwrap_or_default());
    context.exclude_rows("other_level", others.collect());
    let geoid = |row: usize| areas[row].as_ref().map(|(_, geoid)| geoid.as_str());
    for (row, code, detail) in rejects.iter().filter(|(row, ..)| geoid(*row).is_some()) {
        let record = format!("{POPULATION}:{}", geoid(row).unwrap_or_default());
        let pointer = own[row]
            .as_deref()
            .and_then(|numbers| context.resolve(numbers).into_iter().next());
        issues.push(Issue {
            pointer,
            ..finding(
                code,
                Severity::Quarantine,
                POPULATION,
                &record,
                detail.to_owned(),
            )
        });
    }
    let is_kept: BooleanChunked = rejects
        .kept()
        .iter()
        .zip(&areas)
        .map(|(is_kept, area)| is_kept == Some(true) && area.is_some())
        .collect();
    let columns = vec![
        text_column(
            "record_id",
            (0..height).map(|row| geoid(row).map(|geoid| format!("{POPULATION}:{geoid}"))),
        ),
        text_column("geoid", (0..height).map(geoid)),
        text_column(
            "level",
            areas
                .iter()
                .map(|area| area.as_ref().map(|(level, _)| *level)),
        ),
        text_column("name", text(frame, "name")?.iter()),
        text_column("state_fips", text(frame, "state")?.iter()),
        text_column("state_name", text(frame, "state_name")?.iter()),
        Column::new_scalar("estimate_year".into(), Scalar::from(year), height),
        Column::new("population".into(), population),
        pointer_column(
            own.iter()
                .map(|pointers| pointers.as_deref().unwrap_or_default()),
        ),
    ];
    let frame = DataFrame::new(height, columns)?.filter(&is_kept)?;
    Ok(vec![Table {
        dataset_id: POPULATION.to_owned(),
        partition: BTreeMap::new(),
        frame,
        issues,
    }])
}

#[cfg(test)]
mod tests {
    use super::area;

    #[test]
    fn people_are_counted_at_one_level_each() {
        assert_eq!(
            area(["162", "06", "000", "44000"]),
            Some(("place", "0644000".to_owned()))
        );
        assert_eq!(
            area(["157", "12", "086", "99990"]),
            Some(("county_remainder", "1208699990".to_owned()))
        );
        assert_eq!(
            area(["157", "12", "086", "45000"]),
            None,
            "Miami's part in its county is Miami"
        );
        assert_eq!(area(["061", "26", "091", "00000"]), None);
    }
}
