//! Reads key columns of whole datasets while a release is loaded: part after part and in pieces of
//! each, so that memory beyond the index stays bounded.

use arrow::array::{
    Array, ArrowPrimitiveType, BooleanArray, Date32Array, Decimal128Array, Float64Array,
    Int32Array, Int64Array, PrimitiveArray,
};
use tokio::sync::mpsc;

use crate::release::dictionary::DictionaryColumn;
use crate::release::part_reader::PartReader;
use crate::release::table::{Table, TextLists, Texts};
use pubdata_core::error::{Error, Result};
use pubdata_store::Part;

/// No day; before every other.
pub const NO_DAY: i32 = i32::MIN;

/// A day, unless it is none.
pub fn known_day(day: i32) -> Option<i32> {
    (day != NO_DAY).then_some(day)
}

/// Adds the rows of a part to what is being made. `add` gets pieces of the part, with the number of
/// the first row within the part.
///
/// # Errors
/// `Store`, when the part is missing, damaged, or not as its contract says.
pub async fn read_part<B: Send + 'static>(
    reader: PartReader<'_>,
    part: &Part,
    columns: &'static [&'static str],
    mut made: B,
    mut add: impl FnMut(&mut B, u32, &Table) -> Result<()> + Send + 'static,
) -> Result<B> {
    let bytes = reader.bytes(part).await?;
    let place = part.path.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let mut first = 0;
        Table::each(bytes, columns, &place, |piece| {
            add(&mut made, first, piece)?;
            first += piece.rows() as u32;
            Ok(())
        })?;
        Ok(made)
    });
    reading
        .await
        .map_err(|error| Error::store(format!("reading a part failed: {error}")))?
}

/// Pieces that are read while one is added.
const READ_AHEAD: usize = 2;

/// Adds the rows of all parts to what is being made, each piece while the next is read. `add` gets
/// pieces with the number of their part and of the first row within the part, in order.
///
/// # Errors
/// `Store`, when a part is missing, damaged, or not as its contract says.
pub async fn read_parts<B: Send + 'static>(
    reader: PartReader<'_>,
    parts: &[Part],
    columns: &'static [&'static str],
    mut made: B,
    mut add: impl FnMut(&mut B, usize, u32, &Table) -> Result<()> + Send + 'static,
) -> Result<B> {
    let (sender, mut pieces) = mpsc::channel::<(usize, u32, Table)>(READ_AHEAD);
    let adding = tokio::task::spawn_blocking(move || {
        while let Some((part, first, piece)) = pieces.blocking_recv() {
            add(&mut made, part, first, &piece)?;
        }
        Ok::<_, Error>(made)
    });
    let read = async {
        for (number, part) in parts.iter().enumerate() {
            let bytes = reader.bytes(part).await?;
            let (sender, place) = (sender.clone(), part.path.clone());
            let reading = tokio::task::spawn_blocking(move || {
                let mut first = 0;
                Table::each(bytes, columns, &place, |piece| {
                    sender
                        .blocking_send((number, first, piece.clone()))
                        .map_err(|_| Error::store("what was read is not wanted any more"))?;
                    first += piece.rows() as u32;
                    Ok(())
                })
            });
            reading
                .await
                .map_err(|error| Error::store(format!("reading a part failed: {error}")))??;
        }
        Ok::<_, Error>(())
    };
    let read = read.await;
    drop(sender);
    // Who adds and fails stops who reads: its reason comes first.
    let made = adding
        .await
        .map_err(|error| Error::store(format!("reading parts failed: {error}")))??;
    read.map(|()| made)
}

/// A column of a table, by its type.
pub trait KeyColumn: Sized {
    /// # Errors
    /// `Store`, when there is no such column, or it has another type.
    fn open(table: &Table, name: &str) -> Result<Self>;
}

macro_rules! key_column_types {
    ($($type:ty: $open:ident,)*) => {
        $(impl KeyColumn for $type {
            fn open(table: &Table, name: &str) -> Result<Self> {
                table.$open(name)
            }
        })*
    };
}

key_column_types! {
    Texts: texts,
    TextLists: text_lists,
    DictionaryColumn: words,
    BooleanArray: flags,
    Date32Array: dates,
    Decimal128Array: decimals,
    Float64Array: floats,
    Int32Array: int32s,
    Int64Array: int64s,
}

/// Flags that older releases do not have: true in all of their rows.
#[derive(Debug)]
pub struct AddedFlags(BooleanArray);

impl AddedFlags {
    pub fn value(&self, row: usize) -> bool {
        self.0.value(row)
    }
}

impl KeyColumn for AddedFlags {
    fn open(table: &Table, name: &str) -> Result<Self> {
        table.added_flags(name).map(Self)
    }
}

/// The cell of a row; none of one that is null.
pub fn cell<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

/// A date column, as days since 1970-01-01.
#[derive(Debug)]
pub struct Days(Date32Array);

impl Days {
    /// The day of a row, [`NO_DAY`] where there is none.
    pub fn at(&self, row: usize) -> i32 {
        if self.0.is_null(row) {
            NO_DAY
        } else {
            self.0.value(row)
        }
    }
}

impl KeyColumn for Days {
    fn open(table: &Table, name: &str) -> Result<Self> {
        table.dates(name).map(Self)
    }
}

/// Declares a struct of the columns that an index is made of: each field is the column of its name;
/// `column "?": type` is one that older releases do not have.
macro_rules! key_columns {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$of_column:meta])* $column_vis:vis $column:ident $($mark:literal)?: $type:ty,)* }) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$of_column])* $column_vis $column: $type,)*
        }

        impl $name {
            const COLUMNS: &'static [&'static str] = &[$($crate::release::places::of_field(concat!(stringify!($column) $(, $mark)?))),*];

            fn open(table: &$crate::release::table::Table) -> pubdata_core::error::Result<Self> {
                Ok(Self { $($column: $crate::release::key_columns::KeyColumn::open(table, $crate::release::places::of_field(stringify!($column)))?,)* })
            }
        }
    };
}
pub(crate) use key_columns;

/// Does what takes the processor for long without stopping those who are answered.
///
/// # Errors
/// That of `make`.
pub async fn indexed<T: Send + 'static>(
    make: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(make)
        .await
        .map_err(|error| Error::store(format!("indexing failed: {error}")))?
}
