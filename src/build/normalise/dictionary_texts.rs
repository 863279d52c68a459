//! Builds a text column of few different values: each is kept once, and rows name its place.

use polars::prelude::*;

use pubdata_core::error::Result;

/// Values among which one is looked for. Where a file brings another text in each row, a row costs
/// no more for it.
const NEWEST: usize = 256;
/// The place of a row without a value.
const NONE: IdxSize = IdxSize::MAX;

/// A text column on its way. Its cells share the bytes of equal texts.
#[derive(Default)]
pub struct DictionaryTexts {
    values: Vec<String>,
    /// For each value the one that came behind it last.
    followers: Vec<usize>,
    /// The place of the value that was looked for last.
    last: usize,
    /// The place of each row's value; [`NONE`] of a row without one.
    rows: Vec<IdxSize>,
    nulls: usize,
}

impl DictionaryTexts {
    /// Without a value yet, and room for so many rows.
    pub fn with_capacity(rows: usize) -> Self {
        Self {
            rows: Vec::with_capacity(rows),
            ..Self::default()
        }
    }

    /// Adds a value that rows may name, in the place that is returned.
    pub fn add_value(&mut self, value: impl Into<String>) -> usize {
        self.values.push(value.into());
        self.followers.push(0);
        self.values.len() - 1
    }

    /// Adds a row with the value of a place.
    ///
    /// # Panics
    /// When there are more values than polars counts rows: a programming error.
    pub fn push_place(&mut self, place: usize) {
        self.push_places(place, 1);
    }

    /// Adds so many rows with the value of a place.
    ///
    /// # Panics
    /// As [`DictionaryTexts::push_place`].
    pub fn push_places(&mut self, place: usize, rows: usize) {
        let place = IdxSize::try_from(place)
            .ok()
            .filter(|place| *place != NONE)
            .expect("few values");
        self.rows.extend(std::iter::repeat_n(place, rows));
    }

    /// Adds a row. The value is looked for where it is expected, as in rows that come in turn, and
    /// then among the newest; what is not among them is there twice, which costs its bytes and
    /// changes nothing. For columns of a dozen values.
    pub fn push(&mut self, value: &str) {
        self.push_times(value, 1);
    }

    /// Adds so many rows with a value, which is looked for as by [`DictionaryTexts::push`].
    pub fn push_times(&mut self, value: &str, rows: usize) {
        let place = self.place_of(value);
        self.push_places(place, rows);
    }

    /// The place of a value that rows may name, looked for as by [`DictionaryTexts::push`].
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

    /// Adds a row, with or without a value.
    pub fn push_option(&mut self, value: Option<&str>) {
        match value {
            Some(value) => self.push(value),
            None => self.push_null(),
        }
    }

    /// Adds a row of a column in which equal values are together. The value is the newest, or a new
    /// one.
    pub fn push_next(&mut self, value: Option<&str>) {
        match value {
            Some(value) if self.values.last().is_some_and(|last| last == value) => {
                self.push_place(self.values.len() - 1)
            }
            Some(value) => {
                let place = self.add_value(value);
                self.push_place(place);
            }
            None => self.push_null(),
        }
    }

    /// Adds a row without a value.
    pub fn push_null(&mut self) {
        self.push_nulls(1);
    }

    /// Adds so many rows without a value.
    pub fn push_nulls(&mut self, rows: usize) {
        self.nulls += rows;
        self.rows.extend(std::iter::repeat_n(NONE, rows));
    }

    /// The column.
    ///
    /// # Errors
    /// When a row names a place that has no value: a programming error.
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
    use super::{DictionaryTexts, NEWEST};

    #[test]
    fn rows_have_the_texts_that_were_pushed() {
        let long = "a long text that is not kept in the row";
        let mut texts = DictionaryTexts::with_capacity(4);
        let first = texts.add_value(long);
        texts.push("b");
        texts.push_place(first);
        texts.push_null();
        texts.push("b");
        texts.push_next(Some("b"));
        texts.push_next(Some("c"));
        texts.push_next(Some("c"));
        texts.push_option(None);
        ["d", "b", "d", "b", "c"]
            .into_iter()
            .for_each(|text| texts.push(text));
        texts.push_places(first, 2);
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
        assert_eq!(DictionaryTexts::default().finish("name").unwrap().len(), 0);
    }

    #[test]
    fn a_text_that_is_no_longer_looked_for_is_there_again() {
        let pushed: Vec<String> = (0..=NEWEST)
            .chain([0, 0, NEWEST])
            .map(|number| format!("text {number}"))
            .collect();
        let mut texts = DictionaryTexts::default();
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
