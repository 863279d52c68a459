//! Where a name stands in a list of columns. Each member of an answer asks, so that going through
//! fifty names takes longer than writing the cell: the place is found by a hash of a few letters,
//! in a table that the compiler makes and all parts of a dataset share.

/// Far more than there are columns, so that few names share one.
const SLOTS: usize = 256;
const EMPTY: u8 = u8::MAX;

/// The places of the names of a list.
#[derive(Debug)]
pub struct Places {
    columns: &'static [&'static str],
    /// Where the name stands whose letters lead here, or behind where other names took its slot.
    slots: [u8; SLOTS],
}

impl Places {
    pub const fn of(columns: &'static [&'static str]) -> Self {
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

    /// The place of a name; none of one that is not in the list.
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

/// A column's name, without the mark of one that older releases do not have.
pub const fn plain(column: &str) -> &str {
    match column.as_bytes() {
        [.., b'?'] => column.split_at(column.len() - 1).0,
        _ => column,
    }
}

/// The column of a struct's field, which has another spelling where the column's name is a word of
/// Rust.
pub const fn of_field(field: &str) -> &str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// As `==`, which the compiler cannot evaluate.
pub const fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Length, first, middle and last letter, with factors that lead the columns of today to slots of
/// their own but for a handful.
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
        let places = Places::of(columns);
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
    fn names_that_share_a_slot_are_told_apart() {
        const ALIKE: &[&str] = &["abXcz", "aqXrz", "aXXXz", "a", "", "later?"];
        assert_eq!(slot_of("abXcz"), slot_of("aqXrz"));
        let places = Places::of(ALIKE);
        assert_eq!(
            ["abXcz", "aqXrz", "aXXXz", "a", "", "later"].map(|name| places.find(name)),
            [0, 1, 2, 3, 4, 5].map(Some)
        );
        assert_eq!((places.find("aYXYz"), places.find("later?")), (None, None));
    }
}
