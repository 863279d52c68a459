//! Reads key columns of complete datasets while a release is loaded. Reads one part after another
//! in batches, so memory beyond the index stays bounded.

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

/// Sentinel for a missing day; sorts before every other day.
pub const NO_DAY: i32 = i32::MIN;

/// Returns the day, or `None` for [`NO_DAY`].
pub fn known_day(day: i32) -> Option<i32> {
    (day != NO_DAY).then_some(day)
}

/// Adds the rows of a part to `made`. `add` receives batches of the part, each with the number of
/// its first row within the part.
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

/// Number of batches read ahead while one batch is added.
const READ_AHEAD: usize = 2;

/// Adds the rows of all parts to `made`, and reads the next batch while one batch is added. `add`
/// receives the batches in order, each with its part's number and the number of its first row
/// within the part.
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
                        .map_err(|_| Error::store("adding rows stopped before all were read"))?;
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
    // A failure in `add` also stops the reader, so the original error is reported first.
    let made = adding
        .await
        .map_err(|error| Error::store(format!("reading parts failed: {error}")))??;
    read.map(|()| made)
}

/// A typed column of a table.
pub trait KeyColumn: Sized {
    /// Opens the column, which must exist with this type.
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

/// A Boolean column that older releases lack: all rows of those releases are true.
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

/// Returns the cell of a row, or `None` if it is null.
pub fn cell<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

/// A date column, as days since 1970-01-01.
#[derive(Debug)]
pub struct Days(Date32Array);

impl Days {
    /// Returns the day of a row, or [`NO_DAY`] if it is null.
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

/// Declares a struct with the columns of an index. Each field is the column with the same name;
/// `column "?": type` denotes a column that older releases lack.
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

/// Runs CPU-bound work on a blocking thread, so that requests are not delayed.
pub async fn indexed<T: Send + 'static>(
    make: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(make)
        .await
        .map_err(|error| Error::store(format!("indexing failed: {error}")))?
}
