//! Sorts rows without polars' way of taking lists, which makes an array of each.

use polars::prelude::*;
use rayon::prelude::*;

use super::{ListRows, PointerRows};
use pubdata_core::error::Result;

/// A name that no column of a contract has.
const PLACE: &str = "place of a row";

/// Sorts rows by columns, ascending, nulls first.
///
/// # Errors
/// `Format`, when there are no such columns: a programming error.
pub fn sorted(frame: &DataFrame, order: &[&str]) -> Result<DataFrame> {
    let mut keys = frame.select(order.iter().copied())?;
    let places: Vec<IdxSize> = (0..frame.height() as IdxSize).collect();
    keys.with_column(Column::new(PLACE.into(), places))?;
    let keys = keys.sort(order.iter().copied(), SortMultipleOptions::default())?;
    let places = keys.column(PLACE)?.idx()?.rechunk();
    let rows = places.cont_slice()?;
    let taken = |column: &Column| {
        let series = column.as_materialized_series();
        Ok(match column.dtype() {
            DataType::List(items) if **items == DataType::String => {
                ListRows::of(series)?.take(rows)
            }
            DataType::List(items) if **items == DataType::UInt64 => {
                PointerRows::of(series)?.take(column.name(), rows)
            }
            _ => column.take(&places)?,
        })
    };
    let columns = frame.columns().par_iter().map(taken);
    let columns = columns.collect::<Result<Vec<_>>>()?;
    Ok(DataFrame::new(frame.height(), columns)?)
}
