//! Numbers the rows of large datasets over all parts while a release is loaded, and reads rows part
//! by part when an answer needs them.

use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, UInt32Type};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::try_join_all;

use crate::release::loaded::Opening;
use crate::release::part_cache::CachedPart;
use crate::release::part_reader::PartReader;
use crate::release::places::Places;
use crate::release::provenance::{Provenance, ProvenanceWriter};
use crate::release::row_cells::{Cell, RowCells};
use crate::release::row_sources::RowSources;
use crate::release::table::Table;
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_store::{Copy, Manifest, MappedFile, Part};

/// Dataset whose answers are written from decoded parts.
pub trait Dataset: Send + Sync + 'static {
    const ID: &'static str;
    /// First sort column of a part.
    const KEY: &'static str;
    /// All columns that an answer needs.
    const COLUMNS: &'static [&'static str];
}

/// Rows of one part.
#[derive(Debug)]
pub struct Rows<D> {
    /// Cells in the order of [`Dataset::COLUMNS`].
    cells: RowCells,
    row_sources: RowSources,
    /// File from which the rows are mapped; `None` if the rows are in owned memory.
    mapped: Option<MappedFile>,
    dataset: PhantomData<fn() -> D>,
}

/// Column of a copy with the rows; also the metadata key of their cell types.
const CELLS: &str = "cells";
/// Column of a copy with the file number of each row; also the metadata key of the files.
const HEAD: &str = "head";

impl<D: Dataset> CachedPart for Rows<D> {
    const DATASET_ID: &'static str = D::ID;
    const COPIED: Option<&'static [&'static str]> = Some(D::COLUMNS);

    fn read(bytes: Bytes, path: &str) -> Result<Self> {
        let row_sources = RowSources::read(bytes.clone(), path)?;
        let cells = RowCells::from_batch(Table::read(bytes, D::COLUMNS, path)?.batch(), D::COLUMNS)
            .context(|| path.to_owned())?;
        Ok(Self {
            cells,
            row_sources,
            mapped: None,
            dataset: PhantomData,
        })
    }

    fn size_bytes(&self) -> usize {
        if self.mapped.is_some() {
            self.row_sources.size_bytes()
        } else {
            self.cells.size_bytes() + self.row_sources.size_bytes()
        }
    }

    fn to_copy(&self) -> Result<Option<RecordBatch>> {
        let (rows, cells) = self.cells.to_copy(D::COLUMNS);
        let (of_rows, row_sources) = self.row_sources.to_copy();
        let fields = vec![
            Field::new(CELLS, DataType::LargeBinary, false),
            Field::new(HEAD, DataType::UInt32, false),
        ];
        let schema = Schema::new_with_metadata(
            fields,
            HashMap::from([(CELLS.to_owned(), cells), (HEAD.to_owned(), row_sources)]),
        );
        Ok(Some(RecordBatch::try_new(
            Arc::new(schema),
            vec![rows, Arc::new(of_rows)],
        )?))
    }

    fn from_copy(Copy { mut batches, file }: Copy, path: &str) -> Result<Self> {
        let lacks = |what: &str| Error::store(format!("{path}: its copy lacks {what}"));
        let (no_rows, no_sources) = (
            || lacks("its rows or their cell types"),
            || lacks("the source files of its rows"),
        );
        let copy = batches.pop().ok_or_else(no_rows)?;
        let schema = copy.schema();
        let (rows, kinds) = copy
            .column_by_name(CELLS)
            .zip(schema.metadata().get(CELLS))
            .ok_or_else(no_rows)?;
        let cells =
            RowCells::from_copy(rows, kinds, D::COLUMNS).context(|| format!("{path}: its copy"))?;
        let of_rows = copy
            .column_by_name(HEAD)
            .and_then(|column| column.as_primitive_opt::<UInt32Type>())
            .ok_or_else(no_sources)?;
        let row_sources =
            RowSources::from_copy(of_rows, schema.metadata().get(HEAD).ok_or_else(no_sources)?)?;
        Ok(Self {
            cells,
            row_sources,
            mapped: Some(file),
            dataset: PhantomData,
        })
    }

    fn is_intact(&self) -> bool {
        self.mapped.as_ref().is_none_or(MappedFile::is_as_mapped)
    }
}

impl<D: Dataset> Rows<D> {
    const PLACES: &'static Places = &Places::new(D::COLUMNS);

    fn place(name: &str) -> usize {
        Self::PLACES
            .find(name)
            .unwrap_or_else(|| panic!("`{name}` is one of the columns that are read"))
    }

    fn key(&self, row: usize) -> &str {
        match self.cells.cell(row, Self::place(D::KEY)) {
            Some(Cell::Text(key)) => key,
            _ => "",
        }
    }

    /// Returns the first row whose key is not below `key` in the sorted column.
    fn first(&self, key: &str) -> usize {
        let (mut low, mut high) = (0, self.cells.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn rows_of(&self, key: &str) -> Range<usize> {
        let start = self.first(key);
        let count = (start..self.cells.len())
            .take_while(|row| self.key(*row) == key)
            .count();
        start..start + count
    }
}

/// Returns the index of a column that is read. In const contexts, an unknown name is a compile
/// error.
pub const fn place<D: Dataset>(name: &str) -> usize {
    Rows::<D>::PLACES
        .find(name)
        .expect("the column is one of those that are read")
}

/// One row of a part.
pub struct Record<'a, D> {
    rows: Arc<Rows<D>>,
    part: &'a Part,
    row: usize,
}

impl<'a, D: Dataset> Record<'a, D> {
    /// Returns the row with a key that is unique in the part.
    pub fn find(rows: &Arc<Rows<D>>, part: &'a Part, key: &str) -> Option<Self> {
        rows.rows_of(key).next().map(|row| Self {
            rows: rows.clone(),
            part,
            row,
        })
    }
}

impl<D: Dataset> Record<'_, D> {
    /// Returns the part that contains the row.
    pub fn part(&self) -> &Part {
        self.part
    }

    /// Returns the index of the row in its part.
    pub fn place(&self) -> usize {
        self.row
    }

    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        self.cell_at(Rows::<D>::place(name))
    }

    /// Returns the cell of a column by index.
    pub fn cell_at(&self, place: usize) -> Option<Cell<'_>> {
        self.rows.cells.cell(self.row, place)
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        match self.cell(name)? {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the text of a column; the column must not contain nulls.
    pub fn at(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    /// Returns the texts of a list; empty if the list is null or the column has another type.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        match self.cell(name) {
            Some(Cell::Texts(texts)) => texts.collect(),
            _ => Vec::new(),
        }
    }

    /// Returns a date as days since 1970-01-01.
    pub fn day(&self, name: &str) -> Option<i32> {
        match self.cell(name)? {
            Cell::Day(day) => Some(day),
            _ => None,
        }
    }

    pub fn integer(&self, name: &str) -> Option<i32> {
        match self.cell(name)? {
            Cell::Integer(integer) => Some(integer),
            _ => None,
        }
    }

    pub fn long_integer(&self, name: &str) -> Option<i64> {
        match self.cell(name)? {
            Cell::LongInteger(integer) => Some(integer),
            _ => None,
        }
    }

    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.cell(name)? {
            Cell::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    pub fn float(&self, name: &str) -> Option<f64> {
        match self.cell(name)? {
            Cell::Float(float) => Some(float),
            _ => None,
        }
    }

    /// Returns the provenance of the row.
    pub fn origin<'r>(&'r self, manifest: &'r Manifest) -> Provenance<'r> {
        let provenance = ProvenanceWriter::new(manifest, D::ID, self.part);
        provenance.for_row(
            &self.rows.row_sources,
            self.row,
            self.at("validation_status"),
            self.at("record_id"),
        )
    }
}

/// Parts of a dataset in a release, with their rows numbered consecutively.
#[derive(Debug)]
pub struct Numbered<D> {
    parts: Vec<Part>,
    /// Number of each part's first row, followed by the number after the last row.
    starts: Vec<u32>,
    dataset: PhantomData<fn() -> D>,
}

impl<D> Default for Numbered<D> {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            starts: vec![0],
            dataset: PhantomData,
        }
    }
}

impl<D: Dataset> Numbered<D> {
    /// Collects the dataset's parts, or returns `None` if the release lacks the dataset.
    pub fn from_manifest(manifest: &Manifest) -> Result<Option<Self>> {
        let Some(dataset) = manifest.datasets.get(D::ID) else {
            return Ok(None);
        };
        let mut numbered = Self {
            parts: dataset.parts.clone(),
            ..Self::default()
        };
        let mut end: u64 = 0;
        for part in &numbered.parts {
            end += part.rows;
            numbered.starts.push(u32::try_from(end).map_err(|_| {
                Error::store(format!("{}: more rows than an index can number", D::ID))
            })?);
        }
        Ok(Some(numbered))
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or(0) as usize
    }

    /// Returns the row numbers of a part.
    pub fn rows_of_part(&self, part: usize) -> Range<u32> {
        self.starts[part]..self.starts[part + 1]
    }

    /// Returns the part of a row.
    pub fn part_of(&self, row: u32) -> usize {
        self.starts.partition_point(|&start| start <= row) - 1
    }

    /// Returns the value of a row's partition column.
    pub fn partition(&self, row: u32, column: &str) -> &str {
        self.partition_of(self.part_of(row), column)
    }

    /// Returns the value of a part's partition column.
    pub fn partition_of(&self, part: usize, column: &str) -> &str {
        self.parts[part]
            .partition
            .get(column)
            .map(String::as_str)
            .unwrap_or_default()
    }

    /// Returns the distinct values of a partition column, sorted.
    pub fn values(&self, column: &str) -> Vec<&str> {
        let of_parts = self
            .parts
            .iter()
            .filter(|part| part.rows > 0)
            .filter_map(|part| part.partition.get(column));
        let mut values: Vec<&str> = of_parts.map(String::as_str).collect();
        // Neighbouring parts mostly have the same value.
        values.dedup();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Writes missing copies of large parts, so that no answer has to decode a large part. Returns
    /// the existing copies, which are opened later.
    pub async fn prepare(&self, reader: PartReader<'_>) -> Result<Vec<Opening>> {
        prepare::<D>(reader, self.parts.iter()).await
    }

    /// Reads rows by number from their parts.
    pub async fn fetch(&self, reader: PartReader<'_>, rows: &[u32]) -> Result<Vec<Record<'_, D>>> {
        let mut parts: Vec<usize> = rows.iter().map(|row| self.part_of(*row)).collect();
        parts.sort_unstable();
        parts.dedup();
        let tables = try_join_all(
            parts
                .iter()
                .map(|part| reader.get::<Rows<D>>(&self.parts[*part])),
        )
        .await?;
        let tables: HashMap<usize, Arc<Rows<D>>> = parts.into_iter().zip(tables).collect();
        let record = |row: &u32| {
            let part = self.part_of(*row);
            Record {
                rows: tables[&part].clone(),
                part: &self.parts[part],
                row: (row - self.starts[part]) as usize,
            }
        };
        Ok(rows.iter().map(record).collect())
    }
}

/// Compressed size in bytes from which a part is opened in advance.
const LARGE_PART_BYTES: u64 = 1 << 20;
/// Number of parts opened in advance at the same time.
const PREPARING: usize = 2;

async fn prepare<D: Dataset>(
    reader: PartReader<'_>,
    parts: impl Iterator<Item = &Part>,
) -> Result<Vec<Opening>> {
    let large: Vec<&Part> = parts
        .filter(|part| part.size_bytes >= LARGE_PART_BYTES)
        .collect();
    let (copied, others): (Vec<&Part>, Vec<&Part>) = large
        .into_iter()
        .partition(|part| reader.cache().has_copy::<Rows<D>>(part));
    for some in others.chunks(PREPARING) {
        let _turn = reader.cache().build_permit().await?;
        try_join_all(some.iter().map(|part| reader.get::<Rows<D>>(part))).await?;
    }
    let open = |part: &Part| Opening {
        part: part.clone(),
        open: |cache, release_id, part| {
            async { cache.get::<Rows<D>>(release_id, part).await.map(drop) }.boxed()
        },
    };
    Ok(copied.into_iter().map(open).collect())
}

/// Parts of a dataset whose rows belong to rows of another dataset with the same partitions.
#[derive(Debug)]
pub struct ChildParts<D> {
    by_partition: HashMap<BTreeMap<String, String>, Part>,
    dataset: PhantomData<fn() -> D>,
}

impl<D> Default for ChildParts<D> {
    fn default() -> Self {
        Self {
            by_partition: HashMap::new(),
            dataset: PhantomData,
        }
    }
}

impl<D: Dataset> ChildParts<D> {
    /// Collects the dataset's parts.
    pub fn from_manifest(manifest: &Manifest) -> Self {
        let parts = manifest
            .datasets
            .get(D::ID)
            .into_iter()
            .flat_map(|dataset| &dataset.parts);
        Self {
            by_partition: parts
                .map(|part| (part.partition.clone(), part.clone()))
                .collect(),
            dataset: PhantomData,
        }
    }

    /// Prepares copies in the same way as [`Numbered::prepare`].
    pub async fn prepare(&self, reader: PartReader<'_>) -> Result<Vec<Opening>> {
        prepare::<D>(reader, self.by_partition.values()).await
    }

    /// Returns the part with the same partition as a part of the parent dataset.
    pub fn beside(&self, part: &Part) -> Option<&Part> {
        self.by_partition.get(&part.partition)
    }

    /// Returns the rows that belong to a record, in order.
    pub async fn about<P: Dataset>(
        &self,
        reader: PartReader<'_>,
        parent: &Record<'_, P>,
    ) -> Result<Vec<Record<'_, D>>> {
        let Some(part) = self.beside(parent.part) else {
            return Ok(Vec::new());
        };
        let rows = reader.get::<Rows<D>>(part).await?;
        Ok(rows
            .rows_of(parent.at(P::KEY))
            .map(|row| Record {
                rows: rows.clone(),
                part,
                row,
            })
            .collect())
    }
}

#[cfg(test)]
mod tests;
