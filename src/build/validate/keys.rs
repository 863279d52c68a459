//! Drops rows that repeat another row, and finds rows that contradict each other under the same
//! key. If most rows with a key agree on one version, that version is kept. Without a majority, no
//! version is published.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::BuildHasher;

use polars::prelude::*;

use super::{Breach, Contract, POINTERS, Result, show_key};
use pubdata_core::contract::Severity;

/// Maximum number of rows to compare pairwise. Larger groups use a hash table.
const FEW: usize = 16;

/// A table without repeated rows.
pub struct Distinct {
    pub frame: DataFrame,
    /// Pointers of the rows that were dropped.
    pub dropped: Vec<u64>,
    /// True if all keys were distinct before any row was dropped.
    are_keys_distinct: bool,
    /// True if the rows are strictly ascending in the contract's order. In that case no two rows
    /// are equal in that order, and no sort is needed.
    pub is_rising: bool,
    /// Number of equal rows that each kept row represents, by row index. A row that is not listed
    /// represents only itself.
    said: HashMap<usize, usize>,
}

/// Keeps the first row of each group of rows that differ only in their source pointers.
///
/// Publishers repeat entire lines, which is not a contradiction. For example, data.census.gov does
/// this when several parts of a table are selected.
pub fn drop_repeated(contract: &Contract, frame: DataFrame) -> Result<Distinct> {
    let (keys, order) = neighbours_of_both(&frame, &contract.primary_key, &contract.sort_by)?;
    let is_rising = order.is_rising(contract.sort_by.len());
    let suspects = repeated_rows(&frame, &contract.primary_key, &keys)?;
    if suspects.is_empty() {
        return Ok(Distinct {
            frame,
            dropped: Vec::new(),
            are_keys_distinct: true,
            is_rising,
            said: HashMap::new(),
        });
    }
    let content: Vec<PlSmallStr> = frame
        .get_column_names_owned()
        .into_iter()
        .filter(|name| *name != POINTERS)
        .collect();
    let suspect_rows = IdxCa::from_vec(
        "row".into(),
        suspects
            .iter()
            .flatten()
            .map(|row| *row as IdxSize)
            .collect(),
    );
    let excerpt = frame.take(&suspect_rows)?;
    let pointers = excerpt.column(POINTERS)?.list()?;
    let mut is_kept = vec![true; frame.height()];
    let mut dropped = Vec::new();
    let mut said = Vec::new();
    for equal_rows in groups(&excerpt, &content)?
        .into_iter()
        .filter(|rows| rows.len() > 1)
    {
        let mut by_place: Vec<(Vec<Option<u64>>, usize)> = Vec::new();
        for row in equal_rows {
            let numbers = pointers
                .get_as_series(row)
                .map(|numbers| numbers.u64().map(ChunkedArray::to_vec))
                .transpose()?;
            by_place.push((numbers.unwrap_or_default(), row));
        }
        by_place.sort();
        let place = |row: usize| suspect_rows.get(row).expect("an index of the excerpt") as usize;
        said.push((place(by_place[0].1), by_place.len()));
        for (numbers, row) in by_place.into_iter().skip(1) {
            is_kept[place(row)] = false;
            dropped.extend(numbers.into_iter().flatten());
        }
    }
    let before: Vec<usize> = is_kept
        .iter()
        .scan(0, |kept, is_kept| {
            Some(std::mem::replace(kept, *kept + usize::from(*is_kept)))
        })
        .collect();
    let said = said
        .into_iter()
        .map(|(row, count)| (before[row], count))
        .collect();
    let frame = frame.filter(&BooleanChunked::from_slice("is_kept".into(), &is_kept))?;
    Ok(Distinct {
        frame,
        dropped,
        are_keys_distinct: false,
        is_rising,
        said,
    })
}

/// Finds different rows with the same primary key, and different keys with the same record id. If
/// more than half of a key's rows are equal, that version is kept and the other rows are
/// quarantined. Otherwise all of the key's rows are quarantined.
pub fn check(contract: &Contract, distinct: &Distinct) -> Result<Vec<Breach>> {
    let Distinct {
        frame,
        said,
        are_keys_distinct,
        ..
    } = distinct;
    let mut breaches = Vec::new();
    let mut add = |code: &str, row: usize, detail: String| {
        breaches.push(Breach {
            code: code.to_owned(),
            severity: Severity::Quarantine,
            row,
            detail,
        });
    };
    let mut is_judged = vec![false; frame.height()];
    let repeated = if *are_keys_distinct {
        Vec::new()
    } else {
        repeated_rows(
            frame,
            &contract.primary_key,
            &neighbours(frame, &contract.primary_key)?,
        )?
    };
    for rows in repeated {
        let key = show_key(contract, frame, &contract.primary_key, rows[0])?;
        let count = |row: usize| said.get(&row).copied().unwrap_or(1);
        let all: usize = rows.iter().map(|row| count(*row)).sum();
        let most = rows.iter().copied().find(|row| 2 * count(*row) > all);
        for row in &rows {
            is_judged[*row] = true;
            match most {
                Some(most) if most == *row => {}
                Some(most) => add(
                    "duplicate_key",
                    *row,
                    format!(
                        "{} of {all} records with the key {key} say the same, and this one does not",
                        count(most)
                    ),
                ),
                None => add(
                    "duplicate_key",
                    *row,
                    format!(
                        "{} different records have the key {key}, expected one",
                        rows.len()
                    ),
                ),
            }
        }
    }
    let record_id = ["record_id".to_owned()];
    for rows in repeated_rows(frame, &record_id, &neighbours(frame, &record_id)?)? {
        let count = rows.len();
        for row in rows.into_iter().filter(|row| !is_judged[*row]) {
            add(
                "duplicate_record_id",
                row,
                format!(
                    "{count} records have the {}, expected one",
                    show_key(contract, frame, &record_id, row)?
                ),
            );
        }
    }
    Ok(breaches)
}

/// Returns groups of two or more rows with equal values in the columns. Ignores rows with a null in
/// these columns, because another rule reports missing keys.
fn repeated_rows(
    frame: &DataFrame,
    names: &[String],
    neighbours: &Neighbours,
) -> Result<Vec<Vec<usize>>> {
    let keys = frame.select(names.iter().map(String::as_str))?;
    if are_distinct(&keys, neighbours)?
        || is_single_text_key_distinct(&keys)
        || !keys.is_duplicated()?.any()
    {
        return Ok(Vec::new());
    }
    let names: Vec<PlSmallStr> = keys.get_column_names_owned();
    let is_whole = |row: usize| {
        keys.columns()
            .iter()
            .all(|column| !column.get(row).is_ok_and(|value| value.is_null()))
    };
    Ok(groups(&keys, &names)?
        .into_iter()
        .filter(|rows| rows.len() > 1 && is_whole(rows[0]))
        .collect())
}

/// Returns true if no two rows are equal. Works for rows that are almost in order, so that rows
/// with equal first columns are adjacent and few, and can be compared pairwise. False means
/// unknown.
fn are_distinct(frame: &DataFrame, neighbours: &Neighbours) -> Result<bool> {
    let others = frame.columns()[neighbours.in_order..]
        .iter()
        .map(equality)
        .collect::<Result<Vec<_>>>()?;
    let mut start = 0;
    for (row, order) in (1..).zip(&neighbours.order) {
        if order.is_lt() {
            start = row;
        } else if row - start >= FEW
            || (start..row).any(|earlier| others.iter().all(|is_equal| is_equal(earlier, row)))
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns true if the only column is a text column without repeated values.
fn is_single_text_key_distinct(keys: &DataFrame) -> bool {
    let [column] = keys.columns() else {
        return false;
    };
    let Some(texts) = column.str().ok().filter(|texts| texts.null_count() == 0) else {
        return false;
    };
    // If hashes collide, the caller's hash table of all keys decides.
    let (hashing, mut seen) = (
        PlRandomState::default(),
        PlHashSet::with_capacity(texts.len()),
    );
    texts
        .downcast_iter()
        .flat_map(|chunk| chunk.values_iter())
        .all(|text| seen.insert(hashing.hash_one(text)))
}

/// Order of each row relative to the previous row, by the leading columns in which rows never
/// descend, and the number of these columns. Nulls come first, as in all sorting in this crate. A
/// column whose type has no obvious order ends the list.
#[derive(Clone)]
struct Neighbours {
    order: Vec<Ordering>,
    in_order: usize,
}

impl Neighbours {
    /// Adds columns until a column descends.
    fn refine(&mut self, frame: &DataFrame, names: &[String]) -> Result<()> {
        for name in names {
            let series = frame.column(name)?.as_materialized_series();
            let mut order = self.order.clone();
            let do_rise = match series.dtype() {
                DataType::String => refine(&mut order, series.str()?.iter(), compare_texts),
                DataType::Int32 => refine(&mut order, series.i32()?.iter(), Ord::cmp),
                DataType::Int64 => refine(&mut order, series.i64()?.iter(), Ord::cmp),
                DataType::Date => refine(
                    &mut order,
                    series.to_physical_repr().i32()?.iter(),
                    Ord::cmp,
                ),
                _ => false,
            };
            if !do_rise {
                break;
            }
            self.order = order;
            self.in_order += 1;
        }
        Ok(())
    }

    /// Returns true if all `columns` columns are in order and every row comes strictly after the
    /// previous row.
    fn is_rising(&self, columns: usize) -> bool {
        self.in_order == columns && self.order.iter().all(|order| order.is_lt())
    }
}

fn neighbours(frame: &DataFrame, names: &[String]) -> Result<Neighbours> {
    let mut neighbours = Neighbours {
        order: vec![Ordering::Equal; frame.height().saturating_sub(1)],
        in_order: 0,
    };
    neighbours.refine(frame, names)?;
    Ok(neighbours)
}

/// Compares neighbours by the columns of a key and by the columns of an order. The two usually
/// share a prefix.
fn neighbours_of_both(
    frame: &DataFrame,
    key: &[String],
    order: &[String],
) -> Result<(Neighbours, Neighbours)> {
    let shared = key
        .iter()
        .zip(order)
        .take_while(|(key, order)| key == order)
        .count();
    let by_shared = neighbours(frame, &key[..shared])?;
    let go_on = |names: &[String]| {
        let mut neighbours = by_shared.clone();
        if neighbours.in_order == shared {
            neighbours.refine(frame, &names[shared..])?;
        }
        Ok::<_, pubdata_core::error::Error>(neighbours)
    };
    Ok((go_on(key)?, go_on(order)?))
}

type IsEqual<'f> = Box<dyn Fn(usize, usize) -> bool + 'f>;

/// Returns a function that reports whether two cells of a column are equal.
fn equality(column: &Column) -> Result<IsEqual<'_>> {
    let series = column.as_materialized_series();
    Ok(match series.dtype() {
        DataType::String => {
            let texts = series.str()?;
            Box::new(|a, b| texts.get(a) == texts.get(b))
        }
        // Float equality is left to the hash table of all keys.
        DataType::Float32 | DataType::Float64 => Box::new(|_, _| true),
        _ => Box::new(|a, b| series.get(a).ok() == series.get(b).ok()),
    })
}

/// Breaks ties between neighbours with another column. Returns false as soon as a pair descends.
fn refine<T: Copy>(
    order: &mut [Ordering],
    mut cells: impl Iterator<Item = T>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> bool {
    let Some(mut above) = cells.next() else {
        return true;
    };
    for (order, below) in order.iter_mut().zip(cells) {
        *order = order.then_with(|| compare(&above, &below));
        if order.is_gt() {
            return false;
        }
        above = below;
    }
    true
}

/// Compares texts. Cells with equal texts often share their bytes, so pointers are compared first.
fn compare_texts(above: &Option<&str>, below: &Option<&str>) -> Ordering {
    match (above, below) {
        (Some(above), Some(below)) if std::ptr::eq(*above, *below) => Ordering::Equal,
        _ => above.cmp(below),
    }
}

fn groups(frame: &DataFrame, names: &[PlSmallStr]) -> Result<Vec<Vec<usize>>> {
    let grouped = frame.group_by_stable(names.iter().cloned())?;
    let rows_of = |group: GroupsIndicator<'_>| match group {
        GroupsIndicator::Idx((_, rows)) => rows.iter().map(|row| *row as usize).collect(),
        GroupsIndicator::Slice([first, length]) => {
            (first as usize..(first + length) as usize).collect()
        }
    };
    Ok(grouped.get_groups().iter().map(rows_of).collect())
}
