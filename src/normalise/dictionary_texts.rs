//! Builds a text column of few different values: each is kept once, and rows name its place.

use polars::prelude::*;

use crate::error::Result;

/// A text column on its way. Its cells share the bytes of equal texts.
#[derive(Default)]
pub struct DictionaryTexts {
    values: Vec<String>,
    rows: Vec<Option<IdxSize>>,
}

impl DictionaryTexts {
    /// Without a value yet, and room for so many rows.
    pub fn with_capacity(rows: usize) -> Self {
        Self { values: Vec::new(), rows: Vec::with_capacity(rows) }
    }

    /// Adds a value that rows may name, in the place that is returned.
    pub fn add_value(&mut self, value: impl Into<String>) -> usize {
        self.values.push(value.into());
        self.values.len() - 1
    }

    /// Adds a row with the value of a place.
    ///
    /// # Panics
    /// When there are more values than polars counts rows: a programming error.
    pub fn push_place(&mut self, place: usize) {
        self.rows.push(Some(IdxSize::try_from(place).expect("few values")));
    }

    /// Adds a row. The value is looked for among those that are there, from the newest on: for columns of a dozen values.
    pub fn push(&mut self, value: &str) {
        let place = self.values.iter().rposition(|known| known == value);
        let place = place.unwrap_or_else(|| self.add_value(value));
        self.push_place(place);
    }

    /// Adds a row without a value.
    pub fn push_null(&mut self) {
        self.rows.push(None);
    }

    /// The column.
    ///
    /// # Errors
    /// When a row names a place that has no value: a programming error.
    pub fn finish(self, name: &str) -> Result<Column> {
        let values = StringChunked::from_iter_values(name.into(), self.values.iter().map(String::as_str));
        Ok(values.take(&self.rows.into_iter().collect::<IdxCa>())?.into_column())
    }
}

#[cfg(test)]
mod tests {
    use super::DictionaryTexts;

    #[test]
    fn rows_have_the_texts_that_were_pushed() {
        let mut texts = DictionaryTexts::with_capacity(4);
        let first = texts.add_value("a long text that is not kept in the row");
        texts.push("b");
        texts.push_place(first);
        texts.push_null();
        texts.push("b");
        let column = texts.finish("name").unwrap();
        let cells: Vec<Option<&str>> = column.str().unwrap().iter().collect();
        assert_eq!((column.name().as_str(), cells), ("name", vec![Some("b"), Some("a long text that is not kept in the row"), None, Some("b")]));
        assert_eq!(DictionaryTexts::default().finish("name").unwrap().len(), 0);
    }
}
