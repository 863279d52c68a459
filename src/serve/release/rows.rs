//! Rows of large datasets: numbered over all parts while a release is loaded, read part by part
//! when an answer needs them.

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

/// A dataset whose rows are written from decoded parts.
pub trait Dataset: Send + Sync + 'static {
    const ID: &'static str;
    /// The column that a part is sorted by first.
    const KEY: &'static str;
    /// Every column an answer needs.
    const COLUMNS: &'static [&'static str];
}

/// The rows of one part.
#[derive(Debug)]
pub struct Rows<D> {
    /// In the order of [`Dataset::COLUMNS`].
    cells: RowCells,
    row_sources: RowSources,
    /// The file that the rows are mapped from; none of those in memory of ours.
    mapped: Option<MappedFile>,
    dataset: PhantomData<fn() -> D>,
}

/// Column of a copy with the rows, and key of its metadata with what their cells are.
const CELLS: &str = "cells";
/// Column of a copy with the number of the file that each row comes from, and key of its metadata
/// with the files.
const HEAD: &str = "head";

impl<D: Dataset> CachedPart for Rows<D> {
    const DATASET_ID: &'static str = D::ID;
    const COPIED: Option<&'static [&'static str]> = Some(D::COLUMNS);

    fn read(bytes: Bytes, path: &str) -> Result<Self> {
        let row_sources = RowSources::read(bytes.clone(), path)?;
        let cells = RowCells::of(Table::read(bytes, D::COLUMNS, path)?.batch(), D::COLUMNS)
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
        let lacks = |what: &str| Error::store(format!("{path}: its copy does not say {what}"));
        let (no_rows, no_sources) = (
            || lacks("what its rows hold"),
            || lacks("which file a row comes from"),
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
    const PLACES: &'static Places = &Places::of(D::COLUMNS);

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

    /// The row of a key in the sorted column.
    fn first(&self, key: &str) -> usize {
        let (mut low, mut high) = (0, self.cells.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle) < key {
                low = middle + 1
            } else {
                high = middle
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

/// The place of a column that is read; where the compiler asks, a name that is not one of them does
/// not compile.
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
    /// The row of a key that no other row of the part has.
    pub fn find(rows: &Arc<Rows<D>>, part: &'a Part, key: &str) -> Option<Self> {
        rows.rows_of(key).next().map(|row| Self {
            rows: rows.clone(),
            part,
            row,
        })
    }
}

impl<D: Dataset> Record<'_, D> {
    /// The part that holds the row.
    pub fn part(&self) -> &Part {
        self.part
    }

    /// Place of the row in its part.
    pub fn place(&self) -> usize {
        self.row
    }

    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        self.cell_at(Rows::<D>::place(name))
    }

    /// The cell at the place of a column.
    pub fn cell_at(&self, place: usize) -> Option<Cell<'_>> {
        self.rows.cells.cell(self.row, place)
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        match self.cell(name)? {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a column that has one in every row.
    pub fn at(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    /// The texts of a list; none of a missing one, and of a column that holds no lists.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        match self.cell(name) {
            Some(Cell::Texts(texts)) => texts.collect(),
            _ => Vec::new(),
        }
    }

    /// Days since 1970-01-01.
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

    /// The provenance of the row.
    pub fn origin<'r>(&'r self, manifest: &'r Manifest) -> Provenance<'r> {
        let provenance = ProvenanceWriter::new(manifest, D::ID, self.part);
        provenance.of(
            &self.rows.row_sources,
            self.row,
            self.at("validation_status"),
            self.at("record_id"),
        )
    }
}

/// The parts of a dataset of a release with their rows numbered through.
#[derive(Debug)]
pub struct Numbered<D> {
    parts: Vec<Part>,
    /// Number of each part's first row, and of the row after the last.
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
    /// Takes the dataset's parts; none when the release has no such dataset.
    ///
    /// # Errors
    /// `Store`, when there are more rows than can be numbered.
    pub fn of(manifest: &Manifest) -> Result<Option<Self>> {
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

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or(0) as usize
    }

    /// The numbers of a part's rows.
    pub fn rows_of_part(&self, part: usize) -> Range<u32> {
        self.starts[part]..self.starts[part + 1]
    }

    /// The part of a row.
    pub fn part_of(&self, row: u32) -> usize {
        self.starts.partition_point(|&start| start <= row) - 1
    }

    /// The value of the partition column of a row.
    pub fn partition(&self, row: u32, column: &str) -> &str {
        self.partition_of(self.part_of(row), column)
    }

    /// The value of a part's partition column.
    pub fn partition_of(&self, part: usize, column: &str) -> &str {
        self.parts[part]
            .partition
            .get(column)
            .map(String::as_str)
            .unwrap_or_default()
    }

    /// The different values of a partition column, in order.
    pub fn values(&self, column: &str) -> Vec<&str> {
        let of_parts = self
            .parts
            .iter()
            .filter(|part| part.rows > 0)
            .filter_map(|part| part.partition.get(column));
        let mut values: Vec<&str> = of_parts.map(String::as_str).collect();
        // Neighbours mostly have the same.
        values.dedup();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Makes the copies that are not there yet of parts that are large, so that none has to be
    /// decoded when an answer needs it. Returns those that are there, to be opened by and by.
    ///
    /// # Errors
    /// `Store`, when a part is missing, damaged, or not as its contract says.
    pub async fn prepare(&self, reader: PartReader<'_>) -> Result<Vec<Opening>> {
        prepare::<D>(reader, self.parts.iter()).await
    }

    /// Rows by number, from their parts.
    ///
    /// # Errors
    /// `Store`, when a part is missing, damaged, or not as its contract says.
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

/// Compressed size from which a part is opened in advance.
const LARGE_PART_BYTES: u64 = 1 << 20;
/// Parts opened in advance at the same time.
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
        let _turn = reader.cache().turn_to_make().await?;
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

/// The parts of a dataset whose rows belong to those of another one that is spread over folders in
/// the same way.
#[derive(Debug)]
pub struct Children<D> {
    by_partition: HashMap<BTreeMap<String, String>, Part>,
    dataset: PhantomData<fn() -> D>,
}

impl<D> Default for Children<D> {
    fn default() -> Self {
        Self {
            by_partition: HashMap::new(),
            dataset: PhantomData,
        }
    }
}

impl<D: Dataset> Children<D> {
    /// Takes the dataset's parts.
    pub fn of(manifest: &Manifest) -> Self {
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

    /// As [`Numbered::prepare`].
    ///
    /// # Errors
    /// As for [`Numbered::prepare`].
    pub async fn prepare(&self, reader: PartReader<'_>) -> Result<Vec<Opening>> {
        prepare::<D>(reader, self.by_partition.values()).await
    }

    /// The part beside a part of the dataset that the rows belong to.
    pub fn beside(&self, part: &Part) -> Option<&Part> {
        self.by_partition.get(&part.partition)
    }

    /// The rows that belong to a record, in their order.
    ///
    /// # Errors
    /// `Store`, when a part is missing, damaged, or not as its contract says.
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
