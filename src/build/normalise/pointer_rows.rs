//! Reads the source pointers of a frame's rows without copying each row's list.

use polars::prelude::*;

use pubdata_core::error::{Error, Result};

/// A column's pointer numbers, row by row.
pub struct PointerRows {
    /// Numbers of all rows, contiguous.
    numbers: UInt64Chunked,
    /// Start offset of each row's numbers, followed by the end of the last row's numbers.
    borders: Vec<usize>,
    /// True for each row without a list; absent if all rows have a list.
    nulls: Option<Vec<bool>>,
}

impl PointerRows {
    /// Reads a column of number lists.
    ///
    /// # Errors
    /// `Format` if the column contains anything else; `Contract` if a list contains a null, with
    /// the row number. Both are programming errors.
    pub fn from_series(column: &Series) -> Result<Self> {
        let lists = column.list()?.rechunk();
        let (mut numbers, mut borders) = (
            UInt64Chunked::from_vec(PlSmallStr::EMPTY, Vec::new()),
            vec![0],
        );
        // `rechunk` leaves a single array.
        if let Some(array) = lists.downcast_iter().next() {
            let (first, count) = (*array.offsets().first(), array.offsets().range());
            // A slice of a column keeps the numbers of the entire column.
            numbers = Series::try_from((PlSmallStr::EMPTY, array.values().clone()))?
                .u64()?
                .slice(first, usize::try_from(count).unwrap_or_default());
            borders = array
                .offsets()
                .as_slice()
                .iter()
                .map(|border| usize::try_from(border - first).unwrap_or_default())
                .collect();
        }
        if numbers.null_count() > 0
            && let Some(place) = numbers.iter().position(|number| number.is_none())
        {
            let row = borders.partition_point(|border| *border <= place) - 1;
            return Err(Error::contract(format!(
                "row {row} holds source pointers with a null number"
            )));
        }
        let nulls = (column.null_count() > 0).then(|| {
            column
                .is_null()
                .iter()
                .map(|is_null| is_null == Some(true))
                .collect()
        });
        Ok(Self {
            numbers,
            borders,
            nulls,
        })
    }

    /// Returns the numbers of each row, four per pointer, or none for a row without a list.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&[u64]>> {
        let numbers = self.numbers.cont_slice().unwrap_or_default();
        self.borders
            .windows(2)
            .enumerate()
            .map(move |(row, border)| {
                let is_null = self.nulls.as_ref().is_some_and(|nulls| nulls[row]);
                (!is_null).then(|| &numbers[border[0]..border[1]])
            })
    }

    /// Returns a column with the selected rows.
    pub fn take(&self, name: &str, rows: &[IdxSize]) -> Column {
        let all: Vec<Option<&[u64]>> = self.iter().collect();
        let numbers = rows
            .iter()
            .map(|at| all[*at as usize].map_or(0, <[u64]>::len))
            .sum();
        let mut lists = ListPrimitiveChunkedBuilder::<UInt64Type>::new(
            name.into(),
            rows.len(),
            numbers,
            DataType::UInt64,
        );
        rows.iter()
            .for_each(|at| lists.append_opt_slice(all[*at as usize]));
        lists.finish().into_column()
    }
}

#[cfg(test)]
mod tests {
    use polars::prelude::*;

    use super::PointerRows;

    #[test]
    fn rows_are_those_of_the_column_however_it_was_cut() {
        let mut lists = ListPrimitiveChunkedBuilder::<UInt64Type>::new(
            "pointers".into(),
            4,
            16,
            DataType::UInt64,
        );
        lists.append_slice(&[1, 2, 3, 4]);
        lists.append_slice(&[]);
        lists.append_null();
        lists.append_slice(&[5, 6, 7, 8, 9, 10, 11, 12]);
        let column = lists.finish().into_series();
        let rows = |column: &Series| {
            PointerRows::from_series(column)
                .unwrap()
                .iter()
                .map(|row| row.map(<[u64]>::to_vec))
                .collect::<Vec<_>>()
        };
        let all = vec![
            Some(vec![1, 2, 3, 4]),
            Some(Vec::new()),
            None,
            Some(vec![5, 6, 7, 8, 9, 10, 11, 12]),
        ];
        assert_eq!(rows(&column), all);
        assert_eq!(rows(&column.slice(1, 3)), all[1..]);
        let mut chunked = column.slice(2, 2);
        chunked.append(&column.slice(0, 1)).unwrap();
        assert_eq!(
            rows(&chunked),
            [all[2].clone(), all[3].clone(), all[0].clone()]
        );
        assert_eq!(rows(&column.slice(0, 0)), [] as [Option<Vec<u64>>; 0]);
    }

    #[test]
    fn null_number_is_told_with_its_row() {
        let mut lists = ListPrimitiveChunkedBuilder::<UInt64Type>::new(
            "pointers".into(),
            4,
            16,
            DataType::UInt64,
        );
        lists.append_slice(&[1, 2, 3, 4]);
        lists.append_slice(&[]);
        lists.append_iter(vec![Some(5), None, Some(7), Some(8)].into_iter());
        lists.append_slice(&[9, 10, 11, 12]);
        let column = lists.finish().into_series();
        let error = |column: &Series| {
            PointerRows::from_series(column)
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        assert!(
            error(&column).contains("row 2 holds source pointers with a null number"),
            "{}",
            error(&column)
        );
        assert!(
            error(&column.slice(2, 2)).contains("row 0 holds"),
            "{}",
            error(&column.slice(2, 2))
        );
        assert_eq!(
            [error(&column.slice(0, 2)), error(&column.slice(3, 1))],
            ["", ""]
        );
    }
}
