//! Encodes a part's Parquet file, checks its rows against the contract and checks its bytes against
//! the manifest. Equal rows from a task produce equal bytes, regardless of clock, host or thread
//! count.

use pubdata_store::parquet_error;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, DynComparator, ListArray, RecordBatch, StringArray, StructArray,
    make_comparator,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{SortOptions, cast};
use arrow::datatypes::{DataType, Field, Schema, UInt32Type};
use arrow::row::{RowConverter, Rows, SortField};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowLeafColumn, compute_leaves,
};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::{ColumnDescPtr, ColumnPath, SchemaDescriptor};
use polars::prelude::{InitHashMaps, PlHashSet};
use rayon::prelude::*;

use super::chunk::{Encoded, LONGEST_BOUND};
use super::coded::{self, CodedTexts};
use super::columns::{ROW_GROUP_ROWS, column_of, is_coded, record_ids};
use super::deltas::Deltas;
use super::row_groups::Group;
use super::subjects::SUBJECTS;
use super::values::CodedNumbers;
use pubdata_core::contract::{Contract, Physical, arrow_schema};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::Digest;
use pubdata_core::provenance::POINTERS;
use pubdata_store::Part;

/// Rows per page. A lookup by key has to decode one page.
const PAGE_ROWS: usize = 4_096;
/// Maximum number of rows to compare pairwise. Larger groups use a hash table.
const FEW: usize = 16;
/// Higher levels make parts only 2 % smaller, but builds 2 % longer.
const ZSTD_LEVEL: i32 = 1;
/// Size in bytes below which column chunks are not compressed. Compression would barely shrink them
/// or could even enlarge them, and creating a compressor takes longer than all other steps.
const SMALL_BYTES: usize = 512;
const CREATED_BY: &str = concat!("pubdata version ", env!("CARGO_PKG_VERSION"));

/// Checks the contract's requirements for a part: record ids belong to this dataset, rows are in
/// `sort_by` order, keys are distinct, and each partition column contains the partition's value.
///
/// # Errors
/// `Contract`, with the dataset and the first invalid record.
pub fn check_rows(
    contract: &Contract,
    partition: &BTreeMap<String, String>,
    batch: &RecordBatch,
) -> Result<()> {
    check(contract, partition, batch).context(|| contract.dataset_id.clone())
}

fn check(
    contract: &Contract,
    partition: &BTreeMap<String, String>,
    batch: &RecordBatch,
) -> Result<()> {
    let ids = record_ids(batch)?;
    let prefix = format!("{}:", contract.dataset_id);
    if let Some(id) = ids.iter().flatten().find(|id| !id.starts_with(&prefix)) {
        return Err(Error::contract(format!(
            "record id `{id}` does not begin with `{prefix}`"
        )));
    }
    // Strictly ascending ids cannot repeat. Most tables are sorted by id.
    let do_ids_rise = (1..ids.len()).all(|row| ids.value(row - 1) < ids.value(row));
    let mut seen_ids = PlHashSet::with_capacity(if do_ids_rise { 0 } else { ids.len() });
    if let Some(id) = ids
        .iter()
        .flatten()
        .find(|id| !do_ids_rise && !seen_ids.insert(*id))
    {
        return Err(Error::contract(format!("record id `{id}` occurs twice")));
    }
    let order = comparators(batch, &contract.sort_by)?;
    let compare = |a: usize, b: usize| {
        order.iter().fold(Ordering::Equal, |order, column| {
            order.then_with(|| column(a, b))
        })
    };
    if let Some(row) = (1..batch.num_rows()).find(|&row| compare(row - 1, row).is_gt()) {
        let sort_by = contract.sort_by.join(", ");
        return Err(Error::contract(format!(
            "record {} comes after {}, which is not the order of ({sort_by})",
            ids.value(row),
            ids.value(row - 1)
        )));
    }
    if let Some(row) = repeated_key(contract, batch)? {
        return Err(Error::contract(format!(
            "record {} has the primary key ({}) of an earlier one",
            ids.value(row),
            contract.primary_key.join(", ")
        )));
    }
    for (column, value) in partition
        .iter()
        .filter(|(column, _)| contract.partition_by.contains(column))
    {
        let cells = cast(column_of(batch, column)?, &DataType::Utf8)?;
        let cells = cells
            .as_any()
            .downcast_ref::<StringArray>()
            .expect("just cast to text");
        if let Some(row) = cells.iter().position(|cell| cell != Some(value)) {
            return Err(Error::contract(format!(
                "record {} is in the partition {column}={value}, but its {column} differs",
                ids.value(row)
            )));
        }
    }
    Ok(())
}

/// Returns the record ids of the first and last row, or none if the batch is empty.
pub fn key_range(batch: &RecordBatch) -> Result<Option<(String, String)>> {
    let ids = record_ids(batch)?;
    Ok((!ids.is_empty()).then(|| (ids.value(0).to_owned(), ids.value(ids.len() - 1).to_owned())))
}

/// Encodes a part. Equal row groups, contracts and tasks produce equal bytes, regardless of clock,
/// host or thread count.
///
/// `subjects` contains the footer lines about the subjects in a part from a sharded build.
/// `program` is the program version of the build, which is an earlier version when that version's
/// release is rebuilt.
///
/// # Errors
/// `Store` if the rows cannot be written as Parquet, or a copied row group cannot be read.
pub fn encode(
    contract: &Contract,
    task_id: &str,
    program: &str,
    subjects: Option<&str>,
    groups: &[Group<'_>],
) -> Result<Vec<u8>> {
    let contract_json = serde_json::to_value(contract)
        .expect("a contract is plain data")
        .to_string();
    let mut footer = vec![
        ("dataset_id", contract.dataset_id.clone()),
        ("schema_version", contract.version.clone()),
        (
            "contract_sha256",
            Digest::sha256(contract_json.as_bytes()).to_string(),
        ),
        ("task_id", task_id.to_owned()),
        ("pubdata_version", program.to_owned()),
    ];
    footer.extend(subjects.map(|subjects| (SUBJECTS, subjects.to_owned())));
    let record_id = || ColumnPath::from("record_id");
    let mut properties = WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_compression(Compression::ZSTD(
            ZstdLevel::try_new(ZSTD_LEVEL).map_err(parquet_error)?,
        ))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_statistics_truncate_length(Some(LONGEST_BOUND))
        .set_column_index_truncate_length(Some(LONGEST_BOUND))
        .set_key_value_metadata(Some(
            footer
                .into_iter()
                .map(|(key, value)| KeyValue::new(key.to_owned(), value))
                .collect(),
        ))
        // Record ids are unique, so a dictionary would contain all of them and save no space.
        .set_column_dictionary_enabled(record_id(), false)
        .set_column_encoding(record_id(), Encoding::DELTA_BYTE_ARRAY);
    let leaf =
        |name: &str| ColumnPath::new([POINTERS, "list", "item", name].map(str::to_owned).to_vec());
    for name in ["offset", "length"] {
        properties = properties
            .set_column_dictionary_enabled(leaf(name), false)
            .set_column_encoding(leaf(name), Encoding::DELTA_BINARY_PACKED);
    }
    // A filter on a column with few allowed values is useless, because every page contains most of
    // them.
    let is_selective = |name: &&String| {
        contract.column(name).is_some_and(|column| {
            column.column_type.physical == Physical::String && column.column_type.values.is_empty()
        })
    };
    for name in std::iter::once(&"record_id".to_owned())
        .chain(contract.primary_key.iter().filter(is_selective))
    {
        let path = ColumnPath::from(name.as_str());
        properties = properties
            .set_column_bloom_filter_fpp(path.clone(), 0.01)
            .set_column_bloom_filter_max_ndv(path, ROW_GROUP_ROWS as u64);
    }
    let properties = properties.build();
    let schema = Arc::new(arrow_schema(contract));
    let (mut writer, _) = ArrowWriter::try_new(Vec::new(), schema, Some(properties.clone()))
        .map_err(parquet_error)?
        .into_serialized_writer()
        .map_err(parquet_error)?;
    let encode = |group: &Group<'_>| match group {
        Group::Encoded(rows) => {
            encode_group(rows, writer.schema_descr(), &properties, SMALL_BYTES).map(Some)
        }
        Group::Copied(..) => Ok(None),
    };
    let encoded: Vec<Option<Vec<Chunk>>> = groups.par_iter().map(encode).collect::<Result<_>>()?;
    for (group, chunks) in groups.iter().zip(encoded) {
        let mut row_group = writer.next_row_group().map_err(parquet_error)?;
        match group {
            Group::Copied(part, number) => part.copy_group(*number, &mut row_group)?,
            Group::Encoded(_) => chunks
                .into_iter()
                .flatten()
                .try_for_each(|chunk| chunk.append(&mut row_group))?,
        }
        row_group.close().map_err(parquet_error)?;
    }
    writer.into_inner().map_err(parquet_error)
}

/// An encoded column chunk.
pub enum Chunk {
    Ours(Encoded),
    Other(ArrowColumnChunk),
}

impl Chunk {
    /// Appends the chunk to the row group. The chunk must belong to the row group's next column.
    pub fn append(self, row_group: &mut SerializedRowGroupWriter<'_, Vec<u8>>) -> Result<()> {
        match self {
            Self::Ours((bytes, close)) => row_group
                .append_column(&bytes, close)
                .map_err(parquet_error)?,
            Self::Other(chunk) => chunk
                .append_to_row_group(row_group)
                .map_err(parquet_error)?,
        }
        Ok(())
    }
}

/// A leaf in a row group before encoding.
enum Leaf {
    /// A leaf encoded by this module, with its index in the file.
    Ours(usize, ArrayRef),
    Other(Box<(ArrowColumnWriter, ArrowLeafColumn)>),
}

/// Encodes the columns of a row group in parallel. Each chunk's bytes depend only on its column.
/// Chunks whose values take fewer than `small_bytes` are not compressed, regardless of the
/// properties.
pub fn encode_group(
    rows: &RecordBatch,
    file: &SchemaDescriptor,
    properties: &WriterProperties,
    small_bytes: usize,
) -> Result<Vec<Chunk>> {
    let mut leaves: Vec<Option<ArrayRef>> = Vec::with_capacity(file.num_columns());
    let (mut other_fields, mut others, mut are_small) = (Vec::new(), Vec::new(), Vec::new());
    for (field, column) in rows.schema().fields().iter().zip(rows.columns()) {
        let (ours, other) = split(column, &file.columns()[leaves.len()..], properties)?;
        if let Some(other) = other {
            let field = field
                .as_ref()
                .clone()
                .with_data_type(other.data_type().clone());
            others.extend(compute_leaves(&field, &other).map_err(parquet_error)?);
            collect_small_leaves(&other, small_bytes, &mut are_small);
            other_fields.push(field);
        }
        leaves.extend(ours);
    }
    // The crate creates a writer for each leaf in a file, so this schema contains only the leaves
    // left to the crate.
    let schema = Arc::new(Schema::new(other_fields));
    let mut are_small = are_small.into_iter();
    let is_small = |leaf: &Option<ArrayRef>| match leaf {
        Some(column) => match CodedTexts::new(column) {
            Some(texts) => is_sum_below(texts.lengths().map(of_text), small_bytes),
            None => is_plain_size_below(column, small_bytes),
        },
        None => are_small.next().unwrap_or_default(),
    };
    let is_small: Vec<bool> = leaves.iter().map(is_small).collect();
    let small = is_small
        .into_iter()
        .zip(file.columns())
        .filter(|(is_small, _)| *is_small)
        .map(|(_, leaf)| leaf.path().clone());
    let of_group = small.fold(properties.clone().into_builder(), |of_group, path| {
        of_group.set_column_compression(path, Compression::UNCOMPRESSED)
    });
    // The footer belongs to the file, not to the row group.
    let of_group = of_group.set_key_value_metadata(None).build();
    let (_, writers) = ArrowWriter::try_new(Vec::new(), schema, Some(of_group.clone()))
        .map_err(parquet_error)?
        .into_serialized_writer()
        .map_err(parquet_error)?;
    let mut writers = writers
        .create_column_writers(0)
        .map_err(parquet_error)?
        .into_iter()
        .zip(others);
    let leaves = leaves
        .into_iter()
        .enumerate()
        .map(|(place, ours)| match ours {
            Some(ours) => Ok(Leaf::Ours(place, ours)),
            None => writers
                .next()
                .map(|other| Leaf::Other(Box::new(other)))
                .ok_or_else(|| Error::store("a leaf of the file has no column")),
        });
    let leaves = leaves.collect::<Result<Vec<_>>>()?;
    let encode = |compressor: &mut _, leaf: Leaf| match leaf {
        Leaf::Ours(place, column) => {
            let leaf = file.column(place);
            let encoded = match Deltas::new(&leaf, &of_group, &column) {
                Some(deltas) => deltas.encode(&leaf, &of_group, compressor),
                None => coded::encode(&leaf, &of_group, &column, compressor),
            };
            Ok(Chunk::Ours(encoded?))
        }
        Leaf::Other(other) => {
            let (mut writer, leaf) = *other;
            writer.write(&leaf).map_err(parquet_error)?;
            Ok(Chunk::Other(writer.close().map_err(parquet_error)?))
        }
    };
    leaves.into_par_iter().map_init(|| None, encode).collect()
}

/// Records for each leaf of a column whether its values take fewer than `limit` bytes. The result
/// depends only on the values, not on their encoding, because no list or list item in a part is
/// null.
fn collect_small_leaves(column: &ArrayRef, limit: usize, are_small: &mut Vec<bool>) {
    if let Some(lists) = column.as_list_opt::<i32>() {
        let (first, end) = (
            lists.value_offsets()[0] as usize,
            lists.value_offsets()[lists.len()] as usize,
        );
        return collect_small_leaves(&lists.values().slice(first, end - first), limit, are_small);
    }
    if let Some(structs) = column.as_struct_opt() {
        return structs
            .columns()
            .iter()
            .for_each(|inner| collect_small_leaves(inner, limit, are_small));
    }
    are_small.push(is_plain_size_below(column, limit));
}

/// Reports whether a column's texts, numbers or booleans take fewer bytes than a limit.
fn is_plain_size_below(column: &ArrayRef, limit: usize) -> bool {
    if let Some(texts) = column.as_string_opt::<i32>() {
        return is_sum_below(
            texts.iter().flatten().map(|text| of_text(text.len())),
            limit,
        );
    }
    let values = column.len() - column.null_count();
    match column.data_type().primitive_width() {
        Some(width) => values * width < limit,
        None => *column.data_type() == DataType::Boolean && values < limit * 8,
    }
}

/// Returns the number of bytes that text of this length takes.
fn of_text(length: usize) -> usize {
    size_of::<u32>() + length
}

/// Reports whether sizes add up to less than a limit. Stops as soon as the sum reaches the limit.
fn is_sum_below(mut sizes: impl Iterator<Item = usize>, limit: usize) -> bool {
    limit > 0
        && sizes
            .try_fold(0, |sum: usize, size| {
                sum.checked_add(size).filter(|sum| *sum < limit)
            })
            .is_some()
}

/// Splits a column into leaves, in order. A leaf encoded by this module is present; a leaf left to
/// the crate is none. Also returns a column with only the leaves left to the crate. `file` begins
/// with the column's leaves.
fn split(
    column: &ArrayRef,
    file: &[ColumnDescPtr],
    properties: &WriterProperties,
) -> Result<(Vec<Option<ArrayRef>>, Option<ArrayRef>)> {
    if is_coded(column) {
        return Ok(match CodedTexts::new(column) {
            Some(_) => (vec![Some(column.clone())], None),
            None => (vec![None], Some(cast(column, &DataType::Utf8)?)),
        });
    }
    if CodedNumbers::are_in(column) || Deltas::new(&file[0], properties, column).is_some() {
        return Ok((vec![Some(column.clone())], None));
    }
    let Some(lists) = column.as_list_opt::<i32>() else {
        return Ok((vec![None], Some(column.clone())));
    };
    let Some(items) = lists.values().as_struct_opt() else {
        return Ok((vec![None], Some(column.clone())));
    };
    let first = lists
        .value_offsets()
        .first()
        .map_or(0, |first| *first as usize);
    let is_one_each = lists.null_count() == 0
        && lists
            .value_offsets()
            .windows(2)
            .all(|border| border[1] - border[0] == 1);
    let (mut leaves, mut fields, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for ((field, item), leaf) in items.fields().iter().zip(items.columns()).zip(file) {
        let item = item.slice(first, lists.value_offsets()[lists.len()] as usize - first);
        if is_one_each
            && (CodedTexts::new(&item).is_some() || Deltas::new(leaf, properties, &item).is_some())
        {
            leaves.push(Some(item));
            continue;
        }
        let item = if is_coded(&item) {
            cast(&item, &DataType::Utf8)?
        } else {
            item
        };
        leaves.push(None);
        fields.push(
            field
                .as_ref()
                .clone()
                .with_data_type(item.data_type().clone()),
        );
        others.push(item);
    }
    if others.is_empty() {
        return Ok((leaves, None));
    }
    let items = StructArray::try_new(fields.into(), others, None)?;
    let field = Field::new_list_field(items.data_type().clone(), false);
    let borders = OffsetBuffer::from_lengths(
        lists
            .value_offsets()
            .windows(2)
            .map(|border| (border[1] - border[0]) as usize),
    );
    let lists = ListArray::try_new(
        Arc::new(field),
        borders,
        Arc::new(items),
        lists.nulls().cloned(),
    )?;
    Ok((leaves, Some(Arc::new(lists))))
}

/// Checks a part's bytes against the manifest: the digest must match, and the Parquet footer must
/// have the right number of rows.
pub fn verify(part: &Part, bytes: &Bytes) -> Result<()> {
    checked(part, bytes).map(drop)
}

/// Checks a part's bytes as [`verify`] does, and returns the footer.
pub fn checked(part: &Part, bytes: &Bytes) -> Result<ArrowReaderMetadata> {
    let found = Digest::sha256(bytes);
    if found != part.sha256 {
        return Err(Error::store(format!(
            "part {} has the digest {found}, but {} is recorded",
            part.path, part.sha256
        )));
    }
    let metadata =
        ArrowReaderMetadata::load(bytes, ArrowReaderOptions::new()).map_err(parquet_error)?;
    let rows = metadata.metadata().file_metadata().num_rows();
    if u64::try_from(rows).ok() != Some(part.rows) {
        return Err(Error::store(format!(
            "part {} has {rows} rows, but {} are recorded",
            part.path, part.rows
        )));
    }
    Ok(metadata)
}

/// Returns the first row whose primary key occurs in an earlier row. The rows are in the contract's
/// order.
fn repeated_key(contract: &Contract, batch: &RecordBatch) -> Result<Option<usize>> {
    // Rows with the same key are contiguous if the order and the key share a prefix. Only rows that
    // are equal in that prefix have to be compared.
    let together = contract
        .primary_key
        .iter()
        .zip(&contract.sort_by)
        .take_while(|(key, order)| key == order)
        .count();
    let (ordered, others) = contract.primary_key.split_at(together);
    let (ordered, others) = (comparators(batch, ordered)?, comparators(batch, others)?);
    let is_equal = |columns: &[DynComparator], a: usize, b: usize| {
        columns.iter().all(|column| column(a, b).is_eq())
    };
    let mut start = 0;
    for row in 1..batch.num_rows() {
        if !is_equal(&ordered, row - 1, row) {
            start = row;
        } else if row - start >= FEW {
            return repeated_row(batch, &contract.primary_key);
        } else if (start..row).any(|earlier| is_equal(&others, earlier, row)) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Returns the first row whose columns equal those of an earlier row, using a hash table of all
/// rows.
fn repeated_row(batch: &RecordBatch, names: &[String]) -> Result<Option<usize>> {
    let rows = rows_of(batch, names)?;
    let mut seen = PlHashSet::with_capacity(batch.num_rows());
    Ok((0..batch.num_rows()).find(|&row| !seen.insert(rows.row(row))))
}

/// Returns a comparator for each column, with nulls first.
fn comparators(batch: &RecordBatch, names: &[String]) -> Result<Vec<DynComparator>> {
    let compare = |name: &String| {
        let column = column_of(batch, name)?;
        match ranks(column) {
            Some(ranks) => {
                Ok(Box::new(move |a: usize, b: usize| ranks[a].cmp(&ranks[b])) as DynComparator)
            }
            None => Ok(make_comparator(column, column, SortOptions::default())?),
        }
    };
    names.iter().map(compare).collect()
}

/// Returns the rank of each row's text in a dictionary-encoded column, starting from one. A row
/// without text has rank zero.
fn ranks(column: &ArrayRef) -> Option<Vec<u32>> {
    let dictionary = column.as_dictionary_opt::<UInt32Type>()?;
    let values = dictionary.values().as_string_opt::<i32>()?;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by_key(|place| values.value(*place));
    let mut of_place = vec![0; values.len()];
    let (mut rank, mut last) = (0, None);
    for place in order {
        let text = values.value(place);
        rank += u32::from(last.replace(text) != Some(text));
        of_place[place] = rank;
    }
    Some(
        dictionary
            .keys()
            .iter()
            .map(|place| place.map_or(0, |place| of_place[place as usize]))
            .collect(),
    )
}

/// Converts the columns to bytes that sort in the same order as the values.
fn rows_of(batch: &RecordBatch, names: &[String]) -> Result<Rows> {
    let columns = names
        .iter()
        .map(|name| column_of(batch, name).cloned())
        .collect::<Result<Vec<_>>>()?;
    let converter = RowConverter::new(
        columns
            .iter()
            .map(|column| SortField::new(column.data_type().clone()))
            .collect(),
    )?;
    Ok(converter.convert_columns(&columns)?)
}
