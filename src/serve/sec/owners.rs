//! Maps the rows of a part to registrants. Relies on the part being sorted by CIK, and rejects a
//! part that is not sorted.

use std::ops::{Deref, Range};

use bytes::Bytes;

use crate::release::part_cache::CachedPart;
use crate::release::row_sources::RowSources;
use crate::release::table::{Table, Texts};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Cik;

/// The rows of each registrant in a part sorted by CIK.
#[derive(Debug, Default)]
pub struct Owners {
    /// Each registrant's CIK in ascending order, and the registrant's first row.
    starts: Vec<(u64, u32)>,
    rows: u32,
}

impl Owners {
    /// Reads the column `cik`.
    ///
    /// # Errors
    /// `Store` if a value is not a CIK or the column is not sorted.
    pub fn from_texts(ciks: &Texts, path: &str) -> Result<Self> {
        let mut starts: Vec<(u64, u32)> = Vec::new();
        let mut last = "";
        for row in 0..ciks.len() {
            let text = ciks.at(row);
            if text == last {
                continue;
            }
            let cik: Cik = text
                .parse()
                .map_err(|error| Error::store(format!("{path}: row {row}: {error}")))?;
            if starts
                .last()
                .is_some_and(|(number, _)| *number >= cik.number())
            {
                return Err(Error::store(format!(
                    "{path}: registrant {text} in row {row} is out of order"
                )));
            }
            starts.push((cik.number(), rows_of(row)?));
            last = text;
        }
        Ok(Self {
            starts,
            rows: rows_of(ciks.len())?,
        })
    }

    /// Returns the rows of a registrant; empty if the registrant has no rows.
    pub fn rows(&self, cik: Cik) -> Range<usize> {
        let Ok(index) = self
            .starts
            .binary_search_by_key(&cik.number(), |(number, _)| *number)
        else {
            return 0..0;
        };
        let end = self
            .starts
            .get(index + 1)
            .map_or(self.rows, |(_, start)| *start);
        self.starts[index].1 as usize..end as usize
    }

    /// Returns the registrant of a row.
    pub fn owner(&self, row: usize) -> Option<Cik> {
        let after = self
            .starts
            .partition_point(|(_, start)| *start as usize <= row);
        after
            .checked_sub(1)
            .and_then(|index| Cik::from_number(self.starts[index].0))
    }

    /// Returns the registrants and their rows.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Range<usize>)> {
        let ends = self
            .starts
            .iter()
            .skip(1)
            .map(|(_, start)| *start)
            .chain([self.rows]);
        self.starts
            .iter()
            .zip(ends)
            .map(|((number, start), end)| (*number, *start as usize..end as usize))
    }

    pub fn size_bytes(&self) -> usize {
        16 * self.starts.capacity()
    }
}

fn rows_of(row: usize) -> Result<u32> {
    u32::try_from(row).map_err(|_| Error::store("a part has more than four billion rows"))
}

/// Columns of a dataset sorted by registrant.
pub trait OwnedColumns: Send + Sync + Sized + 'static {
    const DATASET_ID: &'static str;
    const COLUMNS: &'static [&'static str];

    /// Opens the columns of a table.
    ///
    /// # Errors
    /// `Store` if a column is missing or has another type.
    fn open(table: &Table) -> Result<Self>;

    /// Checks an order on which readers rely.
    ///
    /// # Errors
    /// `Store`, naming the registrant that is out of order.
    fn check_order(&self, _owners: &Owners, _path: &str) -> Result<()> {
        Ok(())
    }
}

/// The columns of one bucket that answers show, with the registrants and source files of its rows.
#[derive(Debug)]
pub struct Owned<C> {
    columns: C,
    pub owners: Owners,
    pub row_sources: RowSources,
    size_bytes: usize,
}

impl<C> Deref for Owned<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.columns
    }
}

impl<C> Owned<C> {
    /// Returns a registrant's rows.
    pub fn rows(&self, cik: Cik) -> Range<usize> {
        self.owners.rows(cik)
    }
}

impl<C: OwnedColumns> CachedPart for Owned<C> {
    const DATASET_ID: &'static str = C::DATASET_ID;

    fn read(bytes: Bytes, path: &str) -> Result<Self> {
        let row_sources = RowSources::read(bytes.clone(), path)?;
        let table = Table::read(bytes, &[&["cik"], C::COLUMNS].concat(), path)?;
        let owners = Owners::from_texts(&table.texts("cik")?, path)?;
        let columns = C::open(&table)?;
        columns.check_order(&owners, path)?;
        Ok(Self {
            size_bytes: table.size_bytes() + owners.size_bytes() + row_sources.size_bytes(),
            columns,
            owners,
            row_sources,
        })
    }

    fn size_bytes(&self) -> usize {
        self.size_bytes
    }
}

/// Implements [`OwnedColumns`] for columns of `key_columns!`.
macro_rules! owned_columns {
    ($name:ident of $dataset:expr; $($others:tt)*) => {
        impl $crate::sec::owners::OwnedColumns for $name {
            const DATASET_ID: &'static str = $dataset;
            const COLUMNS: &'static [&'static str] = Self::COLUMNS;

            fn open(table: &$crate::release::table::Table) -> pubdata_core::error::Result<Self> {
                Self::open(table)
            }

            $($others)*
        }
    };
}
pub(crate) use owned_columns;
