//! The geography objects of areas as JSON text, made once when a release is loaded: each stands in many answers, and is made of cells of a dozen columns.

use crate::geo::metric_text::json_text;
use crate::json::Json;

/// The objects of all areas of a table, by row.
#[derive(Debug)]
pub struct GeographyTexts {
    /// Where each begins, and where the last one ends.
    borders: Vec<usize>,
    text: String,
    /// The vintage whose counties they name.
    pub vintage_year: i32,
}

impl GeographyTexts {
    /// Of so many rows, each as `write` writes it.
    pub fn new(rows: usize, vintage_year: i32, write: impl Fn(usize, &mut Json)) -> Self {
        let (mut borders, mut text) = (vec![0], String::new());
        for row in 0..rows {
            text.push_str(&json_text(|json| write(row, json)));
            borders.push(text.len());
        }
        text.shrink_to_fit();
        Self { borders, text, vintage_year }
    }

    pub fn of(&self, row: usize) -> &str {
        &self.text[self.borders[row]..self.borders[row + 1]]
    }
}
