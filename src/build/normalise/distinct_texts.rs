//! Finds the distinct texts in columns that have few, so that callers evaluate each text once
//! instead of once per row.

use polars::prelude::*;

/// Number of slots in a direct-mapped cache of string views. Most rows contain one of the last few
/// texts.
const RECENT: usize = 256;
/// Number of distinct texts that any column may have. With more distinct texts, each must occur
/// four times on average.
const MIN_DISTINCT_LIMIT: usize = 2_048;
/// Maximum number of distinct texts.
const MOST: usize = 65_536;

/// A column's distinct texts, with an index per row.
pub struct DistinctTexts<'t> {
    /// Distinct texts in order of first appearance.
    pub values: Vec<&'t str>,
    /// For each row, the index of its text in `values`, or [`DistinctTexts::NONE`] for a row
    /// without text.
    pub places: Vec<u32>,
}

impl<'t> DistinctTexts<'t> {
    /// Index of a row without text.
    pub const NONE: u32 = u32::MAX;

    /// Indexes a column. Returns none if the column has too many distinct texts to make this
    /// worthwhile.
    pub fn new(cells: &'t StringChunked) -> Option<Self> {
        let mut places = Vec::with_capacity(cells.len());
        let values = walk(cells, |place| places.push(place))?;
        Some(Self { values, places })
    }
}

/// Returns a column's distinct texts in order of first appearance. Returns none if there are too
/// many to make this worthwhile.
pub fn distinct_texts(cells: &StringChunked) -> Option<Vec<&str>> {
    walk(cells, |_| ())
}

/// Calls `take` with the index of each row's text and returns the distinct texts.
fn walk(cells: &StringChunked, mut take: impl FnMut(u32)) -> Option<Vec<&str>> {
    let mut values: Vec<&str> = Vec::new();
    let mut of_text: PlHashMap<&str, u32> = PlHashMap::new();
    let mut rows_before = 0;
    for chunk in cells.downcast_iter() {
        // Within a chunk, equal views are equal texts, and different views usually are different
        // texts.
        let mut of_view: PlHashMap<u128, u32> = PlHashMap::new();
        let mut recent = [(0_u128, DistinctTexts::NONE); RECENT];
        let mut look_up = |row: usize| {
            let view = chunk.views()[row].as_u128();
            let slot = &mut recent[slot_of(view)];
            if slot.0 == view && slot.1 != DistinctTexts::NONE {
                return Some(slot.1);
            }
            let place = match of_view.get(&view) {
                Some(place) => *place,
                None => {
                    let text = chunk.value(row);
                    let place = *of_text.entry(text).or_insert_with(|| {
                        values.push(text);
                        (values.len() - 1) as u32
                    });
                    of_view.insert(view, place);
                    let known = of_view.len();
                    if known > MOST || (known > MIN_DISTINCT_LIMIT && known * 4 > rows_before + row)
                    {
                        return None;
                    }
                    place
                }
            };
            *slot = (view, place);
            Some(place)
        };
        if cells.null_count() == 0 {
            (0..chunk.len()).try_for_each(|row| look_up(row).map(&mut take))?;
        } else {
            (0..chunk.len()).try_for_each(|row| {
                chunk
                    .get(row)
                    .map_or(Some(DistinctTexts::NONE), |_| look_up(row))
                    .map(&mut take)
            })?;
        }
        rows_before += chunk.len();
    }
    Some(values)
}

fn slot_of(view: u128) -> usize {
    let mixed = ((view >> 64) as u64 ^ view as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as usize
}

#[cfg(test)]
mod tests {
    use polars::prelude::*;

    use super::{DistinctTexts, distinct_texts};

    #[test]
    fn each_text_is_known_once_and_rows_name_it() {
        let long = "a text that is longer than what a view holds";
        let cells: StringChunked = [
            Some("b"),
            None,
            Some(long),
            Some("b"),
            Some(""),
            Some(long),
            None,
        ]
        .into_iter()
        .collect();
        let few = DistinctTexts::new(&cells).unwrap();
        assert_eq!(few.values, ["b", long, ""]);
        assert_eq!(
            few.places,
            [0, DistinctTexts::NONE, 1, 0, 2, 1, DistinctTexts::NONE]
        );
        // Two chunks, whose views point to separate buffers.
        let mut twice = cells.clone();
        twice.append(&cells).unwrap();
        let few = DistinctTexts::new(&twice).unwrap();
        assert_eq!(
            (few.values.as_slice(), few.places.len()),
            (["b", long, ""].as_slice(), 14)
        );
        assert_eq!(few.places[..7], few.places[7..]);
        assert_eq!(distinct_texts(&twice).unwrap(), few.values);
        assert!(
            DistinctTexts::new(&StringChunked::full_null("none".into(), 3))
                .unwrap()
                .values
                .is_empty()
        );
    }

    #[test]
    fn column_with_too_many_distinct_texts_is_not_indexed() {
        let cells = StringChunked::from_iter_values(
            "many".into(),
            (0..10_000).map(|number| format!("{number} and more than twelve bytes")),
        );
        assert!(DistinctTexts::new(&cells).is_none() && distinct_texts(&cells).is_none());
        let cells = StringChunked::from_iter_values(
            "few".into(),
            (0..100_000).map(|number| format!("{} and more than twelve bytes", number % 7)),
        );
        // Each row has separate bytes, so the views differ although the texts are equal.
        assert!(distinct_texts(&cells).is_none());
        let values = StringChunked::from_iter_values(
            "few".into(),
            (0..7).map(|number| format!("{number} and more than twelve bytes")),
        );
        let shared = values
            .take(&IdxCa::from_vec(
                "places".into(),
                (0..100_000).map(|number| number % 7).collect(),
            ))
            .unwrap();
        assert_eq!(distinct_texts(&shared).unwrap().len(), 7);
    }
}
