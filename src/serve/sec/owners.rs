//! Which rows of a part belong to which registrant. Relies on the part's order by CIK, and refuses a part that is not in it.

use std::ops::Range;

use crate::release::table::Texts;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Cik;

/// Which rows of a part are whose: parts are sorted by CIK.
#[derive(Debug, Default)]
pub struct Owners {
    /// Number of each registrant, ascending, and its first row.
    starts: Vec<(u64, u32)>,
    rows: u32,
}

impl Owners {
    /// Reads the column `cik`.
    ///
    /// # Errors
    /// `Store`, when it holds something else, or is not sorted.
    pub fn of(ciks: &Texts, path: &str) -> Result<Self> {
        let mut starts: Vec<(u64, u32)> = Vec::new();
        let mut last = "";
        for row in 0..ciks.len() {
            let text = ciks.at(row);
            if text == last {
                continue;
            }
            let cik: Cik = text.parse().map_err(|error| Error::store(format!("{path}: row {row}: {error}")))?;
            if starts.last().is_some_and(|(number, _)| *number >= cik.number()) {
                return Err(Error::store(format!("{path}: registrant {text} in row {row} is out of order")));
            }
            starts.push((cik.number(), rows_of(row)?));
            last = text;
        }
        Ok(Self { starts, rows: rows_of(ciks.len())? })
    }

    /// The rows of a registrant; none when it has none.
    pub fn rows(&self, cik: Cik) -> Range<usize> {
        let Ok(index) = self.starts.binary_search_by_key(&cik.number(), |(number, _)| *number) else { return 0..0 };
        let end = self.starts.get(index + 1).map_or(self.rows, |(_, start)| *start);
        self.starts[index].1 as usize..end as usize
    }

    /// The registrant whose row it is.
    pub fn owner(&self, row: usize) -> Option<Cik> {
        let after = self.starts.partition_point(|(_, start)| *start as usize <= row);
        after.checked_sub(1).and_then(|index| Cik::from_number(self.starts[index].0))
    }

    /// The registrants and their rows.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Range<usize>)> {
        let ends = self.starts.iter().skip(1).map(|(_, start)| *start).chain([self.rows]);
        self.starts.iter().zip(ends).map(|((number, start), end)| (*number, *start as usize..end as usize))
    }

    pub fn size_bytes(&self) -> usize {
        16 * self.starts.capacity()
    }
}

fn rows_of(row: usize) -> Result<u32> {
    u32::try_from(row).map_err(|_| Error::store("a part has more than four thousand million rows"))
}
