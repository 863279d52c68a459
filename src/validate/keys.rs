use std::cmp::Ordering;

use polars::prelude::*;

use super::{Breach, Contract, POINTERS, Result, show_key};
use crate::contract::Severity;

/// Keeps one of the rows that are equal in everything but the place they were read from, namely the one read first; of the others, gives the
/// places.
///
/// Publishers repeat whole lines (data.census.gov does when several parts of a table are selected); that is no contradiction.
pub fn drop_repeated(contract: &Contract, frame: DataFrame) -> Result<(DataFrame, Vec<u64>)> {
    let suspects = repeated_rows(&frame, &contract.primary_key)?;
    if suspects.is_empty() {
        return Ok((frame, Vec::new()));
    }
    let content: Vec<PlSmallStr> = frame.get_column_names_owned().into_iter().filter(|name| *name != POINTERS).collect();
    let suspect_rows = IdxCa::from_vec("row".into(), suspects.iter().flatten().map(|row| *row as IdxSize).collect());
    let excerpt = frame.take(&suspect_rows)?;
    let pointers = excerpt.column(POINTERS)?.list()?;
    let mut is_kept = vec![true; frame.height()];
    let mut dropped = Vec::new();
    for equal_rows in groups(&excerpt, &content)?.into_iter().filter(|rows| rows.len() > 1) {
        let mut by_place: Vec<(Vec<Option<u64>>, usize)> = Vec::new();
        for row in equal_rows {
            let numbers = pointers.get_as_series(row).map(|numbers| numbers.u64().map(ChunkedArray::to_vec)).transpose()?;
            by_place.push((numbers.unwrap_or_default(), row));
        }
        by_place.sort();
        for (numbers, row) in by_place.into_iter().skip(1) {
            is_kept[suspect_rows.get(row).expect("an index of the excerpt") as usize] = false;
            dropped.extend(numbers.into_iter().flatten());
        }
    }
    Ok((frame.filter(&BooleanChunked::from_slice("is_kept".into(), &is_kept))?, dropped))
}

/// Finds different rows under one primary key, and different keys under one record id: none of them can be trusted.
pub fn check(contract: &Contract, frame: &DataFrame) -> Result<Vec<Breach>> {
    let mut breaches = Vec::new();
    let mut add = |code: &str, row: usize, detail: String| breaches.push(Breach { code: code.to_owned(), severity: Severity::Quarantine, row, detail });
    let mut has_duplicate_key = vec![false; frame.height()];
    for rows in repeated_rows(frame, &contract.primary_key)? {
        let key = show_key(contract, frame, &contract.primary_key, rows[0])?;
        for row in &rows {
            has_duplicate_key[*row] = true;
            add("duplicate_key", *row, format!("{} different records have the key {key}, expected one", rows.len()));
        }
    }
    let record_id = ["record_id".to_owned()];
    for rows in repeated_rows(frame, &record_id)? {
        let count = rows.len();
        for row in rows.into_iter().filter(|row| !has_duplicate_key[*row]) {
            add("duplicate_record_id", row, format!("{count} records have the {}, expected one", show_key(contract, frame, &record_id, row)?));
        }
    }
    Ok(breaches)
}

/// Groups of two and more rows that are equal in the columns, all of them there; a missing key is another rule's finding.
fn repeated_rows(frame: &DataFrame, names: &[String]) -> Result<Vec<Vec<usize>>> {
    let keys = frame.select(names.iter().map(String::as_str))?;
    if is_rising(&keys)? || !keys.is_duplicated()?.any() {
        return Ok(Vec::new());
    }
    let names: Vec<PlSmallStr> = keys.get_column_names_owned();
    let is_whole = |row: usize| keys.columns().iter().all(|column| !column.get(row).is_ok_and(|value| value.is_null()));
    Ok(groups(&keys, &names)?.into_iter().filter(|rows| rows.len() > 1 && is_whole(rows[0])).collect())
}

/// Whether every row comes after the one before it by its columns, from left to right: then no two rows are equal and there is nothing to
/// sort. Nulls come first, as in every sort here; a type without an obvious order makes the answer no.
pub fn is_rising(frame: &DataFrame) -> Result<bool> {
    let mut order = vec![Ordering::Equal; frame.height().saturating_sub(1)];
    for column in frame.columns() {
        let series = column.as_materialized_series();
        let is_possible = match series.dtype() {
            DataType::String => refine(&mut order, series.str()?.iter()),
            DataType::Int32 => refine(&mut order, series.i32()?.iter()),
            DataType::Int64 => refine(&mut order, series.i64()?.iter()),
            DataType::Date => refine(&mut order, series.to_physical_repr().i32()?.iter()),
            _ => false,
        };
        if !is_possible {
            return Ok(false);
        }
    }
    Ok(order.iter().all(|order| order.is_lt()))
}

/// Settles the order of neighbours that are equal so far; false as soon as one falls.
fn refine<T: Ord + Copy>(order: &mut [Ordering], mut cells: impl Iterator<Item = T>) -> bool {
    let Some(mut above) = cells.next() else { return true };
    for (order, below) in order.iter_mut().zip(cells) {
        *order = order.then_with(|| above.cmp(&below));
        if order.is_gt() {
            return false;
        }
        above = below;
    }
    true
}

fn groups(frame: &DataFrame, names: &[PlSmallStr]) -> Result<Vec<Vec<usize>>> {
    let grouped = frame.group_by_stable(names.iter().cloned())?;
    let rows_of = |group: GroupsIndicator<'_>| match group {
        GroupsIndicator::Idx((_, rows)) => rows.iter().map(|row| *row as usize).collect(),
        GroupsIndicator::Slice([first, length]) => (first as usize..(first + length) as usize).collect(),
    };
    Ok(grouped.get_groups().iter().map(rows_of).collect())
}
