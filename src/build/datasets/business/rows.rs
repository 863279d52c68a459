//! Reads a registry's files and groups each entity's rows. If several files contain an entity, the
//! newest file counts. Removes e-mail addresses and quarantines rows that contradict each other.

use std::collections::{HashMap, HashSet};

use polars::prelude::*;

use super::ids::{entity_id, record_id};
use super::settings::Settings;
use super::{ENTITY, OFFICER};
use crate::datasets::context::finding;
use crate::datasets::{Context, SourceFrame};
use crate::normalise::{pointer_column, pointers};
use pubdata_core::canonical::email;
use pubdata_core::error::{Error, Result};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::provenance::POINTERS;

/// Rows from a registry's files, in entity order.
pub(super) struct Rows {
    /// One row per entity, with the entity's columns and pointers to all its source rows.
    pub entities: DataFrame,
    /// Rows that name a party, if the registry has separate rows for parties. Each row has a
    /// pointer to itself.
    pub parties: DataFrame,
    /// Row indices in `parties`, by row of `entities`.
    pub parties_of: Vec<Vec<usize>>,
    pub issues: Vec<Issue>,
}

/// Reads a registry's files and groups each entity's rows.
pub(super) fn read(context: &Context<'_>, settings: &Settings) -> Result<Rows> {
    let mut issues = Vec::new();
    let mut files = Vec::new();
    for source_id in &settings.entities {
        let mut of_source = decode_source(context, source_id, ENTITY, &mut issues)?;
        for file in &mut of_source {
            withhold_emails(context, settings, &mut file.frame, &mut issues)?;
        }
        files.push(of_source);
    }
    let frame = newest(context, settings, files)?;
    let (entities, parties, parties_of) = match &settings.officers {
        _ if settings.is_row_per_party => grouped(context, &frame, &mut issues)?,
        Some(source_id) => {
            let mut files = decode_source(context, source_id, OFFICER, &mut issues)?;
            for file in &mut files {
                withhold_emails(context, settings, &mut file.frame, &mut Vec::new())?;
            }
            let parties = stacked(files.into_iter().map(|file| file.frame).collect())?;
            joined(context, frame, parties)?
        }
        None => (frame, DataFrame::empty(), Vec::new()),
    };
    Ok(Rows {
        entities,
        parties,
        parties_of,
        issues,
    })
}

/// Decodes a source.
fn decode_source(
    context: &Context<'_>,
    source_id: &str,
    dataset_id: &str,
    issues: &mut Vec<Issue>,
) -> Result<Vec<SourceFrame>> {
    let frames = context.read(source_id)?;
    issues.extend(
        frames
            .iter()
            .flat_map(|frame| frame.issues_without_text(dataset_id)),
    );
    Ok(frames)
}

/// Sets address lines that contain an e-mail address to null.
fn withhold_emails(
    context: &Context<'_>,
    settings: &Settings,
    frame: &mut DataFrame,
    issues: &mut Vec<Issue>,
) -> Result<()> {
    let names: Vec<String> = frame
        .get_column_names()
        .iter()
        .filter(|name| name.contains("_line"))
        .map(ToString::to_string)
        .collect();
    for name in names {
        let cells = frame.column(&name)?.str()?;
        let found: Vec<usize> = cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| cell.is_some_and(email::is_in))
            .map(|(row, _)| row)
            .collect();
        if found.is_empty() {
            continue;
        }
        let kept: StringChunked = cells
            .iter()
            .map(|cell| cell.filter(|cell| !email::is_in(cell)))
            .collect();
        let numbers = frame
            .column("entity_number")
            .ok()
            .and_then(|numbers| numbers.str().ok());
        for row in found {
            let entity_id = numbers
                .and_then(|numbers| numbers.get(row))
                .map(|number| entity_id(&settings.state, number));
            let detail = format!("{name} holds an e-mail address, which is not published");
            let mut issue = finding(
                "email_withheld",
                Severity::Warning,
                ENTITY,
                &record_id(entity_id.as_deref()),
                detail,
            );
            issue.pointer = pointers(&frame.slice(row as i64, 1), POINTERS)?[0]
                .as_deref()
                .and_then(|numbers| context.resolve(numbers).into_iter().next());
            issues.push(issue);
        }
        frame.with_column(kept.with_name(name.as_str().into()).into_column())?;
    }
    Ok(())
}

/// Age of a file: its date, then the index of its source in the declaration.
type Age = (String, usize);

/// For each entity number, returns the rows from the newest file that contains it. A file's date is
/// in its URL, or comes from the member if the file is an archive. A quarterly file includes all
/// daily files that are older.
fn newest(
    context: &Context<'_>,
    settings: &Settings,
    sources: Vec<Vec<SourceFrame>>,
) -> Result<DataFrame> {
    let mut files: Vec<(Age, DataFrame)> = Vec::new();
    for (place, source) in sources.into_iter().enumerate() {
        let day = |file: &SourceFrame| {
            settings
                .day_variable
                .as_ref()
                .and_then(|name| file.keys.get(name))
                .cloned()
                .or_else(|| file.member_date.clone())
        };
        files.extend(
            source
                .into_iter()
                .map(|file| ((day(&file).unwrap_or_default(), place), file.frame)),
        );
    }
    if files.iter().all(|(age, _)| *age == files[0].0) {
        return stacked(files.into_iter().map(|(_, frame)| frame).collect());
    }
    let mut last: HashMap<&str, &Age> = HashMap::new();
    for (age, frame) in &files {
        for number in frame.column("entity_number")?.str()?.iter().flatten() {
            let newest = last.entry(number).or_insert(age);
            *newest = (*newest).max(age);
        }
    }
    let mut kept = Vec::with_capacity(files.len());
    for (age, frame) in &files {
        let numbers = frame.column("entity_number")?.str()?;
        let is_newest: BooleanChunked = numbers
            .iter()
            .map(|number| number.is_none_or(|number| last[number] == age))
            .collect();
        context.exclude_rows("replaced", all_pointers(&frame.filter(&!&is_newest)?)?);
        kept.push(frame.filter(&is_newest)?);
    }
    stacked(kept)
}

fn stacked(frames: Vec<DataFrame>) -> Result<DataFrame> {
    let mut frames = frames.into_iter();
    let mut all = frames
        .next()
        .ok_or_else(|| Error::format("no file of the source was read"))?;
    frames.try_for_each(|frame| all.vstack_mut_owned(frame).map(drop))?;
    all.rechunk_mut();
    Ok(all)
}

/// Builds one row per entity from rows that each name one of the entity's parties. If an entity's
/// rows contradict each other, quarantines the minority, or all rows if there is no majority.
fn grouped(
    context: &Context<'_>,
    frame: &DataFrame,
    issues: &mut Vec<Issue>,
) -> Result<(DataFrame, DataFrame, Vec<Vec<usize>>)> {
    let numbers = frame.column("entity_number")?.str()?;
    let own: Vec<&StringChunked> = frame
        .columns()
        .iter()
        .filter(|column| !column.name().starts_with("party_"))
        .filter_map(|column| column.str().ok())
        .collect();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut group_of: HashMap<&str, usize> = HashMap::new();
    for (row, number) in numbers.iter().enumerate() {
        match number {
            Some(number) => {
                let group = *group_of.entry(number).or_insert_with(|| {
                    groups.push(Vec::new());
                    groups.len() - 1
                });
                groups[group].push(row);
            }
            None => groups.push(vec![row]),
        }
    }
    let numbers_of_row = pointers(frame, POINTERS)?;
    groups.retain_mut(|rows| {
        let Some(column) = own.iter().find(|column| {
            rows.iter()
                .any(|row| column.get(*row) != column.get(rows[0]))
        }) else {
            return true;
        };
        let same = |one: usize, other: usize| {
            own.iter()
                .all(|column| column.get(one) == column.get(other))
        };
        // The majority of rows determines the entity's values.
        let most = rows
            .iter()
            .copied()
            .find(|row| 2 * rows.iter().filter(|other| same(*row, **other)).count() > rows.len());
        let (kept, odd): (Vec<usize>, Vec<usize>) = rows
            .iter()
            .copied()
            .partition(|row| most.is_some_and(|most| same(most, *row)));
        for row in odd {
            let detail = format!(
                "the rows of {} differ in `{}`, which is the entity's own",
                numbers.get(row).unwrap_or_default(),
                column.name()
            );
            let mut issue = finding(
                "contradicting_rows",
                Severity::Quarantine,
                ENTITY,
                &format!("{ENTITY}:{}", numbers.get(row).unwrap_or_default()),
                detail,
            );
            issue.pointer = numbers_of_row[row]
                .as_deref()
                .and_then(|numbers| context.resolve(numbers).into_iter().next());
            issues.push(issue);
        }
        *rows = kept;
        !rows.is_empty()
    });
    let firsts = IdxCa::from_vec(
        "row".into(),
        groups.iter().map(|rows| rows[0] as IdxSize).collect(),
    );
    let mut entities = frame.take(&firsts)?;
    entities.with_column(joined_pointers(groups.iter().map(|rows| {
        rows.iter()
            .filter_map(|row| numbers_of_row[*row].as_deref())
            .flatten()
            .copied()
            .collect()
    })))?;
    Ok((entities, frame.clone(), groups))
}

/// Joins officers to the entities they refer to. Leaves out officers of entities that are not in
/// the file.
fn joined(
    context: &Context<'_>,
    mut entities: DataFrame,
    parties: DataFrame,
) -> Result<(DataFrame, DataFrame, Vec<Vec<usize>>)> {
    let mut rows_of: HashMap<&str, Vec<usize>> = HashMap::new();
    for (row, link) in parties.column("link_number")?.str()?.iter().enumerate() {
        rows_of
            .entry(link.unwrap_or_default())
            .or_default()
            .push(row);
    }
    let links = entities.column("link_number")?.str()?;
    let parties_of: Vec<Vec<usize>> = links
        .iter()
        .map(|link| {
            link.and_then(|link| rows_of.get(link))
                .cloned()
                .unwrap_or_default()
        })
        .collect();
    let known: HashSet<&str> = links.iter().flatten().collect();
    let (of_entities, of_parties) = (
        pointers(&entities, POINTERS)?,
        pointers(&parties, POINTERS)?,
    );
    let orphans = rows_of
        .iter()
        .filter(|(link, _)| !known.contains(*link))
        .flat_map(|(_, rows)| rows);
    context.exclude_rows(
        "no_entity",
        orphans
            .filter_map(|row| of_parties[*row].as_deref())
            .flatten()
            .copied()
            .collect(),
    );
    let all = |(own, rows): (&Option<Vec<u64>>, &Vec<usize>)| {
        let others = rows
            .iter()
            .filter_map(|row| of_parties[*row].as_deref())
            .flatten();
        own.iter().flatten().chain(others).copied().collect()
    };
    entities.with_column(joined_pointers(
        of_entities.iter().zip(&parties_of).map(all),
    ))?;
    Ok((entities, parties, parties_of))
}

fn all_pointers(frame: &DataFrame) -> Result<Vec<u64>> {
    Ok(pointers(frame, POINTERS)?
        .into_iter()
        .flatten()
        .flatten()
        .collect())
}

fn joined_pointers(rows: impl Iterator<Item = Vec<u64>>) -> Column {
    let rows: Vec<Vec<u64>> = rows.collect();
    pointer_column(rows.iter().map(Vec::as_slice))
}
