//! Turns the table-based ACS Summary File (and, with a key, tables from the Census Data API) into
//! one row per vintage, area and metric. Source: "American Community Survey Summary File Handbook",
//! table-based format, 2021 and later. Never computes an exact margin of error. A percentage
//! derived from counts has no exact margin.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::*;
use rayon::prelude::*;

use super::estimate::Cells;
use super::metric_rows::{AlignedTable, MetricRows, MetricSource};
use super::metrics::{Level, Metric, Settings};
use crate::datasets::Fault;
use crate::datasets::context::finding;
use crate::datasets::{Build, Builder, Context, SourceFrame, Table, settings};
use crate::normalise::{filtered, left_join, pointers, text, text_column};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::POINTERS;

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 3,
    build: Build::Whole(build),
    check,
    vocabulary: None,
};

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    let settings: Settings = settings(declaration)?;
    for (number, metric) in settings.metrics.iter().enumerate() {
        let problem = match (metric.denominator, metric.estimate.as_slice()) {
            (_, []) => "needs at least one line in `estimate`",
            (None, [_, _, ..]) => "has several lines in `estimate` but no `denominator`",
            _ => match Cells::new(&settings.jam_values, metric.open_ended.as_ref()) {
                Ok(_) => continue,
                Err(_) => "has a special value that is not a number",
            },
        };
        return Err(Fault {
            number: Some(number),
            table: "settings.metric".to_owned(),
            ..Fault::in_settings("key", format!("`{}` {problem}", metric.key))
        });
    }
    Ok(())
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings: Settings = settings(context.declaration)?;
    let levels = [
        Level {
            dataset_id: "geo.zcta_metric",
            area_column: "zcta",
            prefix: &settings.levels.zcta,
            published: ["census.acs5_subject_zcta", "census.acs5_profile_zcta"],
        },
        Level {
            dataset_id: "geo.county_metric",
            area_column: "county_fips",
            prefix: &settings.levels.county,
            published: ["census.acs5_subject_county", "census.acs5_profile_county"],
        },
    ];
    let prefixes: Vec<String> = levels.iter().map(|level| level.prefix.to_owned()).collect();
    let tables = read_tables(context, &settings, &prefixes)?;
    let names = read_names(context, &prefixes)?;
    let universes = read_universes(context)?;
    levels
        .iter()
        .map(|level| build_level(context, &settings, level, &tables, &names, &universes))
        .collect()
}

/// Decodes the tables in parallel, with the columns that the metrics require.
fn read_tables(
    context: &Context<'_>,
    settings: &Settings,
    prefixes: &[String],
) -> Result<BTreeMap<String, SourceFrame>> {
    let snapshots = context.snapshots("census.acs5_table");
    let read = |(number, snapshot): &(u64, pubdata_core::provenance::Snapshot)| {
        let table = snapshot
            .keys
            .get("table")
            .map(|table| table.to_uppercase())
            .unwrap_or_default();
        let mut columns: Vec<String> = settings
            .metrics
            .iter()
            .filter(|metric| metric.table == table)
            .flat_map(Metric::columns)
            .collect();
        columns.sort_unstable();
        columns.dedup();
        let adjust = |plan: crate::decode::ColumnPlan| {
            let plan = columns
                .iter()
                .fold(plan, |plan, column| plan.want(column, &[column]));
            plan.keep_prefixes("geo_id", prefixes.to_vec())
        };
        Ok((table, context.read_snapshot(*number, snapshot, adjust)?))
    };
    // Start with the largest table, so that no thread finishes long after the others.
    let mut by_size: Vec<&(u64, pubdata_core::provenance::Snapshot)> = snapshots.iter().collect();
    by_size.sort_by_key(|(number, snapshot)| (std::cmp::Reverse(snapshot.size_bytes), *number));
    let tables: BTreeMap<String, SourceFrame> = by_size
        .into_iter()
        .par_bridge()
        .map(read)
        .collect::<Result<_>>()?;
    match settings
        .metrics
        .iter()
        .find(|metric| !tables.contains_key(&metric.table))
    {
        Some(metric) => Err(Error::format(format!(
            "table {} is missing: a vintage is built from all of its tables or not at all",
            metric.table
        ))),
        None => Ok(tables),
    }
}

/// Names of areas by GEO_ID.
struct Names {
    by_area: DataFrame,
    /// Contains the issues about unreadable records.
    source: SourceFrame,
}

fn read_names(context: &Context<'_>, prefixes: &[String]) -> Result<Names> {
    let mut names = Vec::new();
    for (number, snapshot) in context.snapshots("census.acs5_geos") {
        names.push(context.read_snapshot(number, &snapshot, |plan| {
            plan.keep_prefixes("geo_id", prefixes.to_vec())
        })?);
    }
    let source = names
        .pop()
        .ok_or_else(|| Error::format("the geography file is missing"))?;
    let mut by_area = context.without_repeats(&source.frame)?;
    by_area.rename(POINTERS, "name_pointers".into())?;
    Ok(Names { by_area, source })
}

/// Returns each variable's universe in the Bureau's wording, with a pointer to it.
fn read_universes(context: &Context<'_>) -> Result<BTreeMap<String, (String, Vec<u64>)>> {
    let shells = context.read_one("census.acs5_shells")?.frame;
    let (variables, universes, pointers) = (
        text(&shells, "variable")?,
        text(&shells, "universe")?,
        pointers(&shells, POINTERS)?,
    );
    let rows = variables.iter().zip(universes.iter()).zip(pointers);
    Ok(rows
        .filter_map(|((variable, universe), pointer)| {
            Some((variable?.to_owned(), (universe?.to_owned(), pointer?)))
        })
        .collect())
}

fn build_level<'t>(
    context: &Context<'_>,
    settings: &Settings,
    level: &Level<'_>,
    tables: &'t BTreeMap<String, SourceFrame>,
    names: &Names,
    universes: &BTreeMap<String, (String, Vec<u64>)>,
) -> Result<Table> {
    // A record that cannot be split still begins with its GEO_ID.
    let is_of_level = |issue: &Issue| {
        issue
            .source_text
            .as_ref()
            .is_some_and(|text| text.starts_with(level.prefix))
    };
    let mut issues: Vec<Issue> = tables
        .values()
        .flat_map(|table| table.issues(level.dataset_id))
        .filter(is_of_level)
        .collect();
    // In the geography file, the GEO_ID is one of the last cells.
    let names_of_level = |issue: &Issue| {
        issue
            .source_text
            .as_ref()
            .is_some_and(|text| text.contains(level.prefix))
    };
    issues.extend(names.source.issues(level.dataset_id).filter(names_of_level));
    let of_level = |(table, source): (&'t String, &SourceFrame)| {
        let is_of_level = text(&source.frame, "geo_id")?
            .iter()
            .map(|geo_id| geo_id.map(|geo_id| geo_id.starts_with(level.prefix)))
            .collect::<BooleanChunked>();
        Ok((
            table.as_str(),
            context.without_repeats(&filtered(&source.frame, &is_of_level)?)?,
        ))
    };
    let frames: BTreeMap<&str, DataFrame> =
        tables.par_iter().map(of_level).collect::<Result<_>>()?;
    let areas = areas_of(level, frames.values(), &names.by_area, &mut issues)?;
    let published = read_published(context, level, &areas)?;
    let vintage: i32 = context
        .partition
        .as_deref()
        .and_then(|vintage| vintage.parse().ok())
        .ok_or_else(|| Error::config("the pipeline needs a vintage"))?;
    let tables: BTreeMap<&str, AlignedTable> = frames
        .into_par_iter()
        .filter(|(_, frame)| !context.is_replay() || frame.height() > 0)
        .map(|(table, frame)| {
            Ok((
                table,
                AlignedTable::new(&areas, frame).context(|| format!("table {table}"))?,
            ))
        })
        .collect::<Result<_>>()?;
    let mut metrics = Vec::new();
    for metric in &settings.metrics {
        // In the replay of a single record, most tables are empty.
        let Some(table) = tables.get(metric.table.as_str()) else {
            continue;
        };
        let universe = universes.get(&metric.universe_variable());
        if context.is_replay() && universe.is_none() {
            continue;
        }
        let universe = universe.ok_or_else(|| {
            Error::format(format!(
                "the table shells have no universe for {}",
                metric.universe_variable()
            ))
        })?;
        metrics.push(MetricSource::new(
            settings, metric, table, &published, universe,
        )?);
    }
    // Rows follow the contract's order, not the declaration's.
    metrics.sort_by(|a, b| a.metric.key.cmp(&b.metric.key));
    let (codes, names, name_pointers) = (
        text(&areas, "code")?,
        text(&areas, "name")?,
        pointers(&areas, "name_pointers")?,
    );
    let build_areas = |first: usize| {
        let mut rows = MetricRows::new(
            level,
            vintage,
            AREAS_PER_CHUNK.min(areas.height() - first) * metrics.len(),
        );
        for (area, name_pointer) in name_pointers
            .iter()
            .enumerate()
            .skip(first)
            .take(AREAS_PER_CHUNK)
        {
            let code = codes.get(area).unwrap_or_default();
            let area_name = names.get(area);
            metrics.iter().for_each(|metric| {
                rows.add(metric, area, code, area_name, name_pointer.as_deref());
            });
        }
        rows.finish()
    };
    let starts: Vec<usize> = (0..areas.height().max(1))
        .step_by(AREAS_PER_CHUNK)
        .collect();
    let built: Vec<(DataFrame, Vec<Issue>)> = starts
        .into_par_iter()
        .map(build_areas)
        .collect::<Result<_>>()?;
    let mut frames = Vec::with_capacity(built.len());
    for (frame, found) in built {
        frames.push(frame);
        issues.extend(found);
    }
    let frame = frames
        .into_iter()
        .try_fold(None, stack)?
        .expect("there is one frame at least");
    let partition = BTreeMap::from([("vintage_year".to_owned(), vintage.to_string())]);
    Ok(Table {
        dataset_id: level.dataset_id.to_owned(),
        partition,
        frame,
        issues,
    })
}

/// Areas in each chunk of rows that one thread builds. A fixed number keeps the output independent
/// of the number of threads.
const AREAS_PER_CHUNK: usize = 2048;

fn stack(above: Option<DataFrame>, below: DataFrame) -> Result<Option<DataFrame>> {
    let Some(mut above) = above else {
        return Ok(Some(below));
    };
    above.vstack_mut_owned(below)?;
    Ok(Some(above))
}

/// Returns every area that occurs in any table, with its code and name, in order.
fn areas_of<'f>(
    level: &Level<'_>,
    frames: impl Iterator<Item = &'f DataFrame>,
    names: &DataFrame,
    issues: &mut Vec<Issue>,
) -> Result<DataFrame> {
    let mut geo_ids = BTreeSet::new();
    let mut known: Option<&StringChunked> = None;
    for frame in frames {
        let of_table = text(frame, "geo_id")?;
        // Most tables list the same areas in the same order.
        if !known
            .is_some_and(|known| known.len() == of_table.len() && known.iter().eq(of_table.iter()))
        {
            geo_ids.extend(of_table.iter().flatten());
            known = Some(of_table);
        }
    }
    let mut codes = Vec::with_capacity(geo_ids.len());
    for geo_id in &geo_ids {
        let code = geo_id
            .strip_prefix(level.prefix)
            .filter(|code| code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_digit()));
        if code.is_none() {
            let detail = format!("`{geo_id}` is not {} and five digits", level.prefix);
            issues.push(finding(
                "bad_area_code",
                Severity::Quarantine,
                level.dataset_id,
                geo_id,
                detail,
            ));
        }
        codes.push(code);
    }
    let codes = StringChunked::from_iter_options("code".into(), codes.into_iter());
    let is_area = codes.is_not_null();
    let areas = DataFrame::new(
        geo_ids.len(),
        vec![
            text_column("geo_id", geo_ids.into_iter().map(Some)),
            codes.into_column(),
        ],
    )?;
    left_join(filtered(&areas, &is_area)?, names.clone(), "geo_id")
}

/// Reads a level's published percentages, aligned with the areas: one column per variable and one
/// pointer column per file.
fn read_published(
    context: &Context<'_>,
    level: &Level<'_>,
    areas: &DataFrame,
) -> Result<Vec<DataFrame>> {
    let mut aligned = Vec::new();
    for source_id in level.published {
        for (number, snapshot) in context.snapshots(source_id) {
            let fields: Vec<&str> = snapshot
                .keys
                .get("fields")
                .map(|fields| fields.split(',').collect())
                .unwrap_or_default();
            let adjust = |plan: crate::decode::ColumnPlan| {
                fields
                    .iter()
                    .fold(plan, |plan, field| plan.want(field, &[field]))
            };
            let frame = context.read_snapshot(number, &snapshot, adjust)?.frame;
            let code = if level.area_column == "zcta" {
                text(&frame, "zcta")?
                    .clone()
                    .with_name("code".into())
                    .into_column()
            } else {
                let (states, counties) = (text(&frame, "state")?, text(&frame, "county")?);
                text_column(
                    "code",
                    states
                        .iter()
                        .zip(counties.iter())
                        .map(|(state, county)| Some([state?, county?].concat())),
                )
            };
            let mut coded = frame;
            coded.with_column(code)?;
            let coded = context.without_repeats(&coded)?;
            aligned.push(left_join(areas.select(["code"])?, coded, "code")?);
        }
    }
    Ok(aligned)
}
