//! Saves indexes over the parts of a dataset in files next to the copies of parts. A server maps
//! these files at startup instead of building the indexes, and only pages that are read take
//! memory. The parts and all other inputs of an index determine its file name.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, LargeBinaryArray, RecordBatch};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType, Field, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::index::key_hash::hash;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Digest;
use pubdata_store::{Copy, MappedFile};

/// Cells of an index, one for each row or name. They are in owned memory while the index is built,
/// and later in a buffer of its file.
#[derive(Clone)]
pub enum Column<T: ArrowNativeType> {
    Made(Vec<T>),
    Mapped(ScalarBuffer<T>),
}

impl<T: ArrowNativeType> Column<T> {
    /// Appends a cell while the index is built.
    pub fn push(&mut self, cell: T) {
        self.extend(&[cell]);
    }

    /// Appends cells while the index is built.
    pub fn extend(&mut self, added: &[T]) {
        match self {
            Self::Made(cells) => cells.extend_from_slice(added),
            Self::Mapped(cells) => *self = Self::Made([&**cells, added].concat()),
        }
    }

    /// Returns the size of the owned memory in bytes; zero for a mapped column.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Made(cells) => size_of::<T>() * cells.capacity(),
            Self::Mapped(_) => 0,
        }
    }
}

impl<T: ArrowNativeType> Deref for Column<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Made(cells) => cells,
            Self::Mapped(cells) => cells,
        }
    }
}

impl<T: ArrowNativeType> Default for Column<T> {
    fn default() -> Self {
        Self::Made(Vec::new())
    }
}

impl<T: ArrowNativeType> From<Vec<T>> for Column<T> {
    fn from(mut cells: Vec<T>) -> Self {
        cells.shrink_to_fit();
        Self::Made(cells)
    }
}

impl<T: ArrowNativeType> fmt::Debug for Column<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} cells", self.len())
    }
}

/// Arrays of an index in the order in which they are saved.
#[derive(Default, Clone)]
pub struct Saved(Vec<Buffer>);

impl Saved {
    pub fn new(index: impl Stored) -> Self {
        let mut saved = Self::default();
        index.save(&mut saved);
        saved
    }

    /// Returns the schema of an index file.
    pub fn schema() -> Schema {
        Schema::new(vec![Field::new("array", DataType::LargeBinary, false)])
    }

    /// Returns one batch for each array, with the array as its only cell.
    pub fn batches(&self) -> impl Iterator<Item = Result<RecordBatch>> {
        let schema = Arc::new(Self::schema());
        self.0.iter().map(move |array| {
            let cell = LargeBinaryArray::try_new(
                OffsetBuffer::from_lengths([array.len()]),
                array.clone(),
                None,
            )?;
            Ok(RecordBatch::try_new(
                schema.clone(),
                vec![Arc::new(cell) as ArrayRef],
            )?)
        })
    }

    /// Reads the arrays of an index file.
    pub fn of_batches(batches: &[RecordBatch]) -> Result<Self> {
        let array = |batch: &RecordBatch| {
            let array = batch
                .column(0)
                .as_any()
                .downcast_ref::<LargeBinaryArray>()
                .filter(|array| array.len() == 1);
            let array = array.ok_or_else(|| Error::store("the index file has another layout"))?;
            let (start, end) = (
                array.value_offsets()[0] as usize,
                array.value_offsets()[1] as usize,
            );
            Ok(array.values().slice_with_length(start, end - start))
        };
        batches.iter().map(array).collect::<Result<_>>().map(Self)
    }

    /// Restores an index without copying its arrays.
    pub fn restored<T: Stored>(self) -> Result<T> {
        let mut arrays = Restored(self.0.into_iter());
        let index = T::restore(&mut arrays)?;
        match arrays.0.next() {
            None => Ok(index),
            Some(_) => Err(Error::store("the index file has too many arrays")),
        }
    }
}

/// Arrays of a file in the order in which they were saved.
pub struct Restored(std::vec::IntoIter<Buffer>);

impl Restored {
    fn next(&mut self) -> Result<Buffer> {
        self.0
            .next()
            .ok_or_else(|| Error::store("the index file has too few arrays"))
    }
}

/// A structure that can be saved in a file. Arrays are restored in the order in which they are
/// saved.
pub trait Stored: Sized {
    fn save(self, to: &mut Saved);

    /// Restores the structure from the next arrays.
    fn restore(from: &mut Restored) -> Result<Self>;
}

/// Implements [`Stored`] field by field.
macro_rules! stored {
    ($index:ty { $($field:ident),* $(,)? }) => {
        impl $crate::index::file::Stored for $index {
            fn save(self, to: &mut $crate::index::file::Saved) {
                $($crate::index::file::Stored::save(self.$field, to);)*
            }

            fn restore(from: &mut $crate::index::file::Restored) -> pubdata_core::error::Result<Self> {
                Ok(Self { $($field: $crate::index::file::Stored::restore(from)?),* })
            }
        }
    };
}
pub(crate) use stored;

impl<T: ArrowNativeType> Stored for Column<T> {
    fn save(self, to: &mut Saved) {
        to.0.push(match self {
            Self::Made(cells) => Buffer::from_vec(cells),
            Self::Mapped(cells) => cells.into_inner(),
        });
    }

    fn restore(from: &mut Restored) -> Result<Self> {
        let buffer = from.next()?;
        let is_whole = buffer.len().is_multiple_of(size_of::<T>())
            && buffer.as_ptr().align_offset(align_of::<T>()) == 0;
        if !is_whole {
            return Err(Error::store("the index file has cells of another size"));
        }
        Ok(Self::Mapped(ScalarBuffer::from(buffer)))
    }
}

/// A value that is small compared to the columns, stored as JSON and restored into memory.
#[derive(Debug, Default)]
pub struct Small<T>(pub T);

impl<T> Deref for Small<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Small<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Serialize + DeserializeOwned> Stored for Small<T> {
    fn save(self, to: &mut Saved) {
        to.0.push(Buffer::from_vec(
            serde_json::to_vec(&self.0).expect("plain data has a JSON form"),
        ));
    }

    fn restore(from: &mut Restored) -> Result<Self> {
        let small = serde_json::from_slice(&from.next()?);
        small
            .map(Self)
            .map_err(|error| Error::store(format!("the index file cannot be read: {error}")))
    }
}

/// An index, and the file from which it is mapped; the file is `None` if the index is in owned
/// memory.
#[derive(Debug)]
pub struct Index<T> {
    index: T,
    mapped: Option<Arc<MappedFile>>,
}

impl<T> Index<T> {
    /// Returns the inputs of an index other than its parts: the index type, the program,
    /// `decided_by`, and a sample hash. The sample hash is included because the hash function can
    /// change with the standard library.
    pub fn form(program: &Digest, decided_by: &str) -> String {
        format!(
            "{} {program} {decided_by} {:016x}",
            std::any::type_name::<T>(),
            hash(&["pubdata"])
        )
    }

    pub fn made(index: T) -> Self {
        Self {
            index,
            mapped: None,
        }
    }

    /// Returns the file that the index is mapped from, which another process can change.
    pub fn mapped(&self) -> Option<&Arc<MappedFile>> {
        self.mapped.as_ref()
    }
}

impl<T> Deref for Index<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.index
    }
}

impl<T: Stored> Index<T> {
    /// Opens a mapped file.
    pub fn of_copy(Copy { batches, file }: Copy) -> Result<Self> {
        Ok(Self {
            index: Saved::of_batches(&batches)?.restored()?,
            mapped: Some(Arc::new(file)),
        })
    }
}
