//! Builds columns of text lists, and reads such columns without copying each row's list.

use polars::prelude::*;

use pubdata_core::error::Result;

/// Builds a column of text lists from each row's items. No list is null.
pub fn list_column<R>(name: &str, rows: impl Iterator<Item = R>) -> Column
where
    R: IntoIterator<Item: AsRef<str>>,
{
    column_of(name, rows.map(Some))
}

fn column_of<R>(name: &str, rows: impl Iterator<Item = Option<R>>) -> Column
where
    R: IntoIterator<Item: AsRef<str>>,
{
    let mut lists = ListStringChunkedBuilder::new(name.into(), rows.size_hint().0, 0);
    let mut items = Vec::new();
    for row in rows {
        let Some(row) = row else {
            lists.append_null();
            continue;
        };
        items.clear();
        items.extend(row);
        lists.append_values_iter(items.iter().map(AsRef::as_ref));
    }
    lists.finish().into_column()
}

/// The items in a column of text lists, row by row.
pub struct ListRows {
    lists: ListChunked,
    items: StringChunked,
}

impl ListRows {
    /// Opens a column of text lists.
    ///
    /// # Errors
    /// `Format` if the column contains anything else, which is a programming error.
    pub fn of(column: &Series) -> Result<Self> {
        let lists = column.list()?.rechunk().into_owned();
        let offsets = lists.downcast_as_array().offsets();
        // A slice of a column keeps the items of the entire column.
        let (first, count) = (*offsets.first(), offsets.range() as usize);
        let items = lists.get_inner().str()?.slice(first, count);
        Ok(Self { lists, items })
    }

    /// Returns the items of all rows, in order.
    pub fn items(&self) -> &StringChunked {
        &self.items
    }

    /// Returns the items of each row, or none for a null list. A null item is read as an empty
    /// text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<impl Iterator<Item = &str>>> {
        self.at(0..self.lists.len())
    }

    /// Returns a column with the selected rows.
    pub fn take(&self, rows: &[IdxSize]) -> Column {
        let rows = rows.iter().map(|row| *row as usize);
        column_of(self.lists.name(), self.at(rows))
    }

    fn at(
        &self,
        rows: impl ExactSizeIterator<Item = usize>,
    ) -> impl ExactSizeIterator<Item = Option<impl Iterator<Item = &str>>> {
        let (lists, items) = (
            self.lists.downcast_as_array(),
            self.items.downcast_as_array(),
        );
        let (offsets, nulls) = (lists.offsets().as_slice(), lists.validity());
        rows.map(move |row| {
            let [start, end] = [row, row + 1].map(|row| (offsets[row] - offsets[0]) as usize);
            let is_there = nulls.is_none_or(|nulls| nulls.get_bit(row));
            is_there.then(|| (start..end).map(|item| items.get(item).unwrap_or_default()))
        })
    }
}

#[cfg(test)]
mod tests {
    use polars::prelude::*;

    use super::{ListRows, list_column};

    fn rows(column: &Series) -> Vec<Option<Vec<String>>> {
        let lists = ListRows::of(column).unwrap();
        let rows = lists.iter().map(|row| {
            let items = row?.map(str::to_owned);
            Some(items.collect())
        });
        rows.collect()
    }

    #[test]
    fn rows_are_those_of_the_column_however_it_was_cut() {
        let long = "a text that is longer than what a view holds";
        let lists: [&[&str]; 4] = [&["a", long], &[], &[""], &[long, "b", "a"]];
        let made = list_column("lists", lists.iter().copied());
        assert_eq!(made.dtype(), &DataType::List(Box::new(DataType::String)));
        let mut column = made.as_materialized_series().clone();
        let all: Vec<Option<Vec<String>>> = lists
            .iter()
            .map(|items| Some(items.iter().map(|item| (*item).to_owned()).collect()))
            .collect();
        assert_eq!(rows(&column), all);
        assert_eq!(rows(&column.slice(1, 3)), all[1..]);
        let items = ListRows::of(&column.slice(2, 2)).unwrap().items().clone();
        assert!(items.iter().flatten().eq(["", long, "b", "a"]));
        assert_eq!(rows(&column.slice(0, 0)), []);

        column.append(&column.slice(2, 2)).unwrap();
        column
            .append(&Series::full_null("lists".into(), 1, column.dtype()))
            .unwrap();
        let mut longer = [&all[..], &all[2..]].concat();
        longer.push(None);
        assert_eq!(rows(&column), longer, "of several chunks");
        let taken = ListRows::of(&column).unwrap().take(&[6, 3, 1, 0]);
        let expected = [6, 3, 1, 0].map(|row| longer[row].clone());
        assert_eq!(rows(taken.as_materialized_series()), expected);
    }
}
