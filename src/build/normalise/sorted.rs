//! Sorts rows without gathering lists through polars, which creates an array for each list.

use polars::prelude::*;
use rayon::prelude::*;

use super::{ListRows, PointerRows};
use pubdata_core::error::Result;

/// A column name that no contract uses.
const PLACE: &str = "place of a row";

/// Sorts rows by columns, ascending, nulls first.
///
/// # Errors
/// `Format` if there are no such columns, which is a programming error.
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
                PointerRows::from_series(series)?.take(column.name(), rows)
            }
            _ => column.take(&places)?,
        })
    };
    let columns = frame.columns().par_iter().map(taken);
    let columns = columns.collect::<Result<Vec<_>>>()?;
    Ok(DataFrame::new(frame.height(), columns)?)
}

#[cfg(test)]
mod tests {
    use polars::prelude::*;

    use super::super::{list_column, pointer_column};
    use super::sorted;

    #[test]
    fn rows_are_those_that_polars_sorts() {
        let height = 1_000_usize;
        let mixed = |row: usize| row * 7_919 % height;
        let mut lists = list_column(
            "lists",
            (0..height).map(|row| (0..row % 4).map(move |item| format!("{row} and {item}"))),
        );
        let null = Column::full_null("lists".into(), 1, lists.dtype());
        lists = lists.slice(0, height - 1);
        lists.append(&null).unwrap();
        let pointers: Vec<Vec<u64>> = (0..height as u64)
            .map(|row| [0, 0, row, 1].repeat(row as usize % 3))
            .collect();
        let frame = DataFrame::new(
            height,
            vec![
                Column::new(
                    "group".into(),
                    (0..height)
                        .map(|row| ["b", "a"][mixed(row) % 2])
                        .collect::<Vec<_>>(),
                ),
                Column::new(
                    "id".into(),
                    (0..height)
                        .map(|row| (row % 5 > 0).then_some(mixed(row) as i64))
                        .collect::<Vec<_>>(),
                ),
                Column::new(
                    "record_id".into(),
                    (0..height)
                        .map(|row| format!("{:04}", mixed(row)))
                        .collect::<Vec<_>>(),
                ),
                lists,
                pointer_column(pointers.iter().map(Vec::as_slice)),
            ],
        )
        .unwrap();
        let order = ["group", "id", "record_id"];
        let expected = frame.sort(order, SortMultipleOptions::default()).unwrap();
        assert!(sorted(&frame, &order).unwrap().equals_missing(&expected));
        let nothing = frame.slice(0, 0);
        assert!(sorted(&nothing, &order).unwrap().equals_missing(&nothing));
    }
}
