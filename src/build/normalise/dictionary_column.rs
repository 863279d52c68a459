//! Builds a text column with few distinct values. Stores each value once, and an index per row.

use polars::prelude::*;

use pubdata_core::error::Result;

/// Number of newest values that a lookup searches. The limit keeps rows cheap even if every row
/// adds a new text.
const NEWEST: usize = 256;
/// Index of a row without a value.
const NONE: IdxSize = IdxSize::MAX;

/// Builder for a text column whose equal cells share their bytes.
#[derive(Default)]
pub struct DictionaryColumnBuilder {
    values: Vec<String>,
    /// For each value, the index of the value that most recently followed it.
    followers: Vec<usize>,
    /// Index of the most recently looked-up value.
    last: usize,
    /// Index of each row's value, or [`NONE`] for a row without a value.
    rows: Vec<IdxSize>,
    nulls: usize,
}

impl DictionaryColumnBuilder {
    /// Creates a builder without values, with capacity for `rows` rows.
    pub fn with_capacity(rows: usize) -> Self {
        Self {
            rows: Vec::with_capacity(rows),
            ..Self::default()
        }
    }

    /// Adds a value that rows can refer to and returns the value's index.
    pub fn add_value(&mut self, value: impl Into<String>) -> usize {
        self.values.push(value.into());
        self.followers.push(0);
        self.values.len() - 1
    }

    /// Adds a row with the value at an index.
    ///
    /// # Panics
    /// If the number of values exceeds the number of rows that polars supports, which is a
    /// programming error.
    pub fn push_index(&mut self, place: usize) {
        self.push_indices(place, 1);
    }

    /// Adds `rows` rows with the value at an index.
    ///
    /// # Panics
    /// As [`DictionaryColumnBuilder::push_index`].
    pub fn push_indices(&mut self, place: usize, rows: usize) {
        let place = IdxSize::try_from(place)
            .ok()
            .filter(|place| *place != NONE)
            .expect("few values");
        self.rows.extend(std::iter::repeat_n(place, rows));
    }

    /// Adds a row. The lookup first tries the value that followed the last value earlier, which
    /// suits rows that repeat a sequence. Then it searches the newest values. A value not found
    /// there is stored again, which costs only its bytes. Intended for columns with about a dozen
    /// values.
    pub fn push(&mut self, value: &str) {
        self.push_times(value, 1);
    }

    /// Adds `rows` rows with a value. Looks the value up as [`DictionaryColumnBuilder::push`] does.
    pub fn push_times(&mut self, value: &str, rows: usize) {
        let place = self.place_of(value);
        self.push_indices(place, rows);
    }

    /// Returns a value's index. Looks the value up as [`DictionaryColumnBuilder::push`] does, and
    /// adds it if needed.
    pub fn place_of(&mut self, value: &str) -> usize {
        let expected = self
            .followers
            .get(self.last)
            .copied()
            .filter(|place| self.values[*place] == value);
        let oldest = self.values.len().saturating_sub(NEWEST);
        let known = || {
            Some(
                oldest
                    + self.values[oldest..]
                        .iter()
                        .rposition(|known| known == value)?,
            )
        };
        let place = expected
            .or_else(known)
            .unwrap_or_else(|| self.add_value(value));
        self.followers[self.last] = place;
        self.last = place;
        place
    }

    /// Adds a row with an optional value.
    pub fn push_option(&mut self, value: Option<&str>) {
        match value {
            Some(value) => self.push(value),
            None => self.push_null(),
        }
    }

    /// Adds a row to a column whose equal values are adjacent. Compares the value with the newest
    /// value only.
    pub fn push_next(&mut self, value: Option<&str>) {
        match value {
            Some(value) if self.values.last().is_some_and(|last| last == value) => {
                self.push_index(self.values.len() - 1);
            }
            Some(value) => {
                let place = self.add_value(value);
                self.push_index(place);
            }
            None => self.push_null(),
        }
    }

    /// Adds a row without a value.
    pub fn push_null(&mut self) {
        self.push_nulls(1);
    }

    /// Adds `rows` rows without a value.
    pub fn push_nulls(&mut self, rows: usize) {
        self.nulls += rows;
        self.rows.extend(std::iter::repeat_n(NONE, rows));
    }

    /// Returns the column.
    ///
    /// # Errors
    /// If a row refers to an index that has no value, which is a programming error.
    pub fn finish(self, name: &str) -> Result<Column> {
        let values =
            StringChunked::from_iter_values(name.into(), self.values.iter().map(String::as_str));
        let places = match self.nulls {
            0 => IdxCa::from_vec(PlSmallStr::EMPTY, self.rows),
            _ => self
                .rows
                .into_iter()
                .map(|place| (place != NONE).then_some(place))
                .collect(),
        };
        Ok(values.take(&places)?.into_column())
    }
}

#[cfg(test)]
mod tests {
    use super::{DictionaryColumnBuilder, NEWEST};

    #[test]
    fn rows_have_the_texts_that_were_pushed() {
        let long = "a long text that is not kept in the row";
        let mut texts = DictionaryColumnBuilder::with_capacity(4);
        let first = texts.add_value(long);
        texts.push("b");
        texts.push_index(first);
        texts.push_null();
        texts.push("b");
        texts.push_next(Some("b"));
        texts.push_next(Some("c"));
        texts.push_next(Some("c"));
        texts.push_option(None);
        ["d", "b", "d", "b", "c"]
            .into_iter()
            .for_each(|text| texts.push(text));
        texts.push_indices(first, 2);
        assert_eq!(texts.values.len(), 4);
        let column = texts.finish("name").unwrap();
        let cells: Vec<Option<&str>> = column.str().unwrap().iter().collect();
        let pushed = [
            "b", long, "-", "b", "b", "c", "c", "-", "d", "b", "d", "b", "c", long, long,
        ];
        assert_eq!(
            (column.name().as_str(), cells),
            (
                "name",
                pushed.map(|text| (text != "-").then_some(text)).to_vec()
            )
        );
        assert_eq!(
            DictionaryColumnBuilder::default()
                .finish("name")
                .unwrap()
                .len(),
            0
        );
    }

    #[test]
    fn text_beyond_the_lookup_limit_is_stored_again() {
        let pushed: Vec<String> = (0..=NEWEST)
            .chain([0, 0, NEWEST])
            .map(|number| format!("text {number}"))
            .collect();
        let mut texts = DictionaryColumnBuilder::default();
        pushed.iter().for_each(|text| texts.push(text));
        assert_eq!(texts.values.len(), NEWEST + 2, "the first one twice");
        let column = texts.finish("name").unwrap();
        assert!(
            column
                .str()
                .unwrap()
                .iter()
                .flatten()
                .eq(pushed.iter().map(String::as_str))
        );
    }
}
