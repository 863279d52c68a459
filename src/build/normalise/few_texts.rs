//! Reads a text column of which few texts differ: each of them is looked at once, in place of once
//! a row.

use polars::prelude::*;

/// Views of texts that are known by their low bits: most rows are of one of the last few.
const RECENT: usize = 256;
/// Different texts that any column may have; longer ones must repeat each four times.
const ALWAYS: usize = 2_048;
/// No column of more different texts is one of few.
const MOST: usize = 65_536;

/// The texts of a column, each once, and for each row which of them it has.
pub struct FewTexts<'t> {
    /// In the order of their first rows.
    pub values: Vec<&'t str>,
    /// For each row the place of its text in `values`; [`FewTexts::NONE`] of a row without a text.
    pub places: Vec<u32>,
}

impl<'t> FewTexts<'t> {
    /// The place of a row without a text.
    pub const NONE: u32 = u32::MAX;

    /// Those of a column; none when too many differ for it to pay.
    pub fn of(cells: &'t StringChunked) -> Option<Self> {
        let mut places = Vec::with_capacity(cells.len());
        let values = walk(cells, |place| places.push(place))?;
        Some(Self { values, places })
    }
}

/// The different texts of a column, in the order of their first rows; none when there are too many
/// for it to pay.
pub fn few_texts(cells: &StringChunked) -> Option<Vec<&str>> {
    walk(cells, |_| ())
}

/// Gives the place of each row's text among the different ones, which it returns.
fn walk(cells: &StringChunked, mut take: impl FnMut(u32)) -> Option<Vec<&str>> {
    let mut values: Vec<&str> = Vec::new();
    let mut of_text: PlHashMap<&str, u32> = PlHashMap::new();
    let mut rows_before = 0;
    for chunk in cells.downcast_iter() {
        // Of one chunk: equal views are equal texts, and different ones mostly are not.
        let mut of_view: PlHashMap<u128, u32> = PlHashMap::new();
        let mut recent = [(0_u128, FewTexts::NONE); RECENT];
        let mut look_up = |row: usize| {
            let view = chunk.views()[row].as_u128();
            let slot = &mut recent[slot_of(view)];
            if slot.0 == view && slot.1 != FewTexts::NONE {
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
                    if known > MOST || (known > ALWAYS && known * 4 > rows_before + row) {
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
                    .map_or(Some(FewTexts::NONE), |_| look_up(row))
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

    use super::{FewTexts, few_texts};

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
        let few = FewTexts::of(&cells).unwrap();
        assert_eq!(few.values, ["b", long, ""]);
        assert_eq!(few.places, [0, FewTexts::NONE, 1, 0, 2, 1, FewTexts::NONE]);
        // Of two chunks, whose views name bytes of their own.
        let mut twice = cells.clone();
        twice.append(&cells).unwrap();
        let few = FewTexts::of(&twice).unwrap();
        assert_eq!(
            (few.values.as_slice(), few.places.len()),
            (["b", long, ""].as_slice(), 14)
        );
        assert_eq!(few.places[..7], few.places[7..]);
        assert_eq!(few_texts(&twice).unwrap(), few.values);
        assert!(
            FewTexts::of(&StringChunked::full_null("none".into(), 3))
                .unwrap()
                .values
                .is_empty()
        );
    }

    #[test]
    fn a_column_of_many_texts_is_none_of_few() {
        let cells = StringChunked::from_iter_values(
            "many".into(),
            (0..10_000).map(|number| format!("{number} and more than twelve bytes")),
        );
        assert!(FewTexts::of(&cells).is_none() && few_texts(&cells).is_none());
        let cells = StringChunked::from_iter_values(
            "few".into(),
            (0..100_000).map(|number| format!("{} and more than twelve bytes", number % 7)),
        );
        // Each row has bytes of its own: what differs are the views, not the texts.
        assert!(few_texts(&cells).is_none());
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
        assert_eq!(few_texts(&shared).unwrap().len(), 7);
    }
}
