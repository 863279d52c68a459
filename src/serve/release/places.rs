//! Finds the index of a column by name. Each field of an answer needs this lookup, and comparing
//! fifty names takes longer than writing the cell. A hash of a few letters finds the index in a
//! table that the compiler builds and that all parts of a dataset share.

/// Number of slots, much larger than the number of columns so that few names collide.
const SLOTS: usize = 256;
const EMPTY: u8 = u8::MAX;

/// Hash table from column names to their indices.
#[derive(Debug)]
pub struct Places {
    columns: &'static [&'static str],
    /// Index of the name that hashes to the slot, or of a name moved to it from an occupied slot.
    slots: [u8; SLOTS],
}

impl Places {
    pub const fn new(columns: &'static [&'static str]) -> Self {
        assert!(columns.len() <= SLOTS / 2, "a free slot ends every search");
        let mut slots = [EMPTY; SLOTS];
        let mut place = 0;
        while place < columns.len() {
            let mut slot = slot_of(plain(columns[place]));
            while slots[slot] != EMPTY {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = place as u8;
            place += 1;
        }
        Self { columns, slots }
    }

    /// Returns the index of a name, or `None` if the list lacks the name.
    pub const fn find(&self, name: &str) -> Option<usize> {
        let mut slot = slot_of(name);
        loop {
            let place = self.slots[slot] as usize;
            if place >= self.columns.len() {
                return None;
            }
            if is_equal(plain(self.columns[place]).as_bytes(), name.as_bytes()) {
                return Some(place);
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

/// Returns a column's name without the suffix for columns that older releases lack.
pub const fn plain(column: &str) -> &str {
    match column.as_bytes() {
        [.., b'?'] => column.split_at(column.len() - 1).0,
        _ => column,
    }
}

/// Returns the column of a struct's field. Removes the `r#` from names that are Rust keywords.
pub const fn of_field(field: &str) -> &str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// Compares slices like `==`, which is not available in const functions.
pub const fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Hashes the length and the first, middle and last letter. The factors were chosen so that only a
/// handful of today's columns collide.
const fn slot_of(name: &str) -> usize {
    match name.as_bytes() {
        [] => 0,
        letters @ [first, .., last] => {
            (letters.len() * 11
                + *first as usize
                + letters[letters.len() / 2] as usize * 31
                + *last as usize * 59)
                % SLOTS
        }
        [letter] => *letter as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_found_where_it_stands() {
        let named = |number: usize| -> &'static str {
            format!(
                "column_{number}{}",
                if number.is_multiple_of(3) { "?" } else { "" }
            )
            .leak()
        };
        let columns: &[&str] = (0..SLOTS / 2).map(named).collect::<Vec<_>>().leak();
        let places = Places::new(columns);
        for (place, column) in columns.iter().enumerate() {
            assert_eq!(places.find(plain(column)), Some(place), "{column}");
            assert_eq!(places.find(&format!("{column}_")), None);
        }
        assert_eq!(
            (places.find(""), places.find("c"), places.find("column_128")),
            (None, None, None)
        );
    }

    #[test]
    fn colliding_names_are_distinguished() {
        const ALIKE: &[&str] = &["abXcz", "aqXrz", "aXXXz", "a", "", "later?"];
        assert_eq!(slot_of("abXcz"), slot_of("aqXrz"));
        let places = Places::new(ALIKE);
        assert_eq!(
            ["abXcz", "aqXrz", "aXXXz", "a", "", "later"].map(|name| places.find(name)),
            [0, 1, 2, 3, 4, 5].map(Some)
        );
        assert_eq!((places.find("aYXYz"), places.find("later?")), (None, None));
    }
}
