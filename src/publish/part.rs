//! Encodes the Parquet file of a part, and checks its rows against the contract and its bytes against the manifest. Equal rows of a task
//! make equal bytes: no clock, host or thread count reaches them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use arrow::array::{Array, DynComparator, RecordBatch, StringArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, Rows, SortField};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowLeafColumn, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use polars::prelude::{InitHashMaps, PlHashSet};
use rayon::prelude::*;

use super::columns::{ROW_GROUP_ROWS, SUBJECTS, column_of, record_ids};
use super::row_groups::Group;
use crate::contract::{Contract, Physical};
use crate::error::{Error, Result, ResultExt};
use crate::ids::Digest;
use crate::provenance::POINTERS;
use crate::store::Part;

/// Rows of a page: what a look-up by key has to decode.
const PAGE_ROWS: usize = 4_096;
/// Rows of which each is compared with each other; more are put into a table.
const FEW: usize = 16;
const CREATED_BY: &str = concat!("pubdata version ", env!("CARGO_PKG_VERSION"));

/// Checks what the contract says about a part as a whole: record ids of this dataset, rows in the order of `sort_by`, no key twice, and
/// the partition's own value in each partition column.
///
/// # Errors
/// `Contract`, naming the dataset and the first record that is wrong.
pub fn check_rows(contract: &Contract, partition: &BTreeMap<String, String>, batch: &RecordBatch) -> Result<()> {
    check(contract, partition, batch).context(|| contract.dataset_id.clone())
}

fn check(contract: &Contract, partition: &BTreeMap<String, String>, batch: &RecordBatch) -> Result<()> {
    let ids = record_ids(batch)?;
    let prefix = format!("{}:", contract.dataset_id);
    if let Some(id) = ids.iter().flatten().find(|id| !id.starts_with(&prefix)) {
        return Err(Error::contract(format!("record id `{id}` does not begin with `{prefix}`")));
    }
    // Ids that only rise cannot repeat; most tables are sorted that way.
    let do_ids_rise = (1..ids.len()).all(|row| ids.value(row - 1) < ids.value(row));
    let mut seen_ids = PlHashSet::with_capacity(if do_ids_rise { 0 } else { ids.len() });
    if let Some(id) = ids.iter().flatten().find(|id| !do_ids_rise && !seen_ids.insert(*id)) {
        return Err(Error::contract(format!("record id `{id}` is there twice")));
    }
    let order = comparators(batch, &contract.sort_by)?;
    let compare = |a: usize, b: usize| order.iter().fold(Ordering::Equal, |order, column| order.then_with(|| column(a, b)));
    if let Some(row) = (1..batch.num_rows()).find(|&row| compare(row - 1, row).is_gt()) {
        let sort_by = contract.sort_by.join(", ");
        return Err(Error::contract(format!("record {} comes after {}, which is not the order of ({sort_by})", ids.value(row), ids.value(row - 1))));
    }
    if let Some(row) = repeated_key(contract, batch)? {
        return Err(Error::contract(format!("record {} has the primary key ({}) of an earlier one", ids.value(row), contract.primary_key.join(", "))));
    }
    for (column, value) in partition.iter().filter(|(column, _)| contract.partition_by.contains(column)) {
        let cells = arrow::compute::cast(column_of(batch, column)?, &arrow::datatypes::DataType::Utf8)?;
        let cells = cells.as_any().downcast_ref::<StringArray>().expect("just cast to text");
        if let Some(row) = cells.iter().position(|cell| cell != Some(value)) {
            return Err(Error::contract(format!("record {} is in the partition {column}={value}, and its own value is another", ids.value(row))));
        }
    }
    Ok(())
}

/// Record ids of the first and last row; none without rows.
///
/// # Errors
/// `Contract`, when there is no column `record_id`, or it is not text.
pub fn key_range(batch: &RecordBatch) -> Result<Option<(String, String)>> {
    let ids = record_ids(batch)?;
    Ok((!ids.is_empty()).then(|| (ids.value(0).to_owned(), ids.value(ids.len() - 1).to_owned())))
}

/// Encodes a part. Equal row groups, contracts and tasks make equal bytes: no clock, no host and no thread count reaches them.
///
/// `subjects` are the lines about what a part of a sharded build was made from, `program` is the version of the program that the build is of: that of an
/// earlier one where a release of its is made again.
///
/// # Errors
/// `Store`, when the rows cannot be put into Parquet, or a copied row group cannot be read.
pub fn encode(contract: &Contract, task_id: &str, program: &str, subjects: Option<&str>, schema: &SchemaRef, groups: &[Group<'_>]) -> Result<Vec<u8>> {
    let contract_json = serde_json::to_value(contract).expect("a contract is plain data").to_string();
    let mut footer = vec![
        ("dataset_id", contract.dataset_id.clone()),
        ("schema_version", contract.version.clone()),
        ("contract_sha256", Digest::of(contract_json.as_bytes()).to_string()),
        ("task_id", task_id.to_owned()),
        ("pubdata_version", program.to_owned()),
    ];
    footer.extend(subjects.map(|subjects| (SUBJECTS, subjects.to_owned())));
    let record_id = || ColumnPath::from("record_id");
    let mut properties = WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_key_value_metadata(Some(footer.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect()))
        // Each record id occurs once: a dictionary would hold them all and save nothing.
        .set_column_dictionary_enabled(record_id(), false)
        .set_column_encoding(record_id(), Encoding::DELTA_BYTE_ARRAY);
    let leaf = |name: &str| ColumnPath::new([POINTERS, "list", "item", name].map(str::to_owned).to_vec());
    for name in ["offset", "length"] {
        properties = properties.set_column_dictionary_enabled(leaf(name), false).set_column_encoding(leaf(name), Encoding::DELTA_BINARY_PACKED);
    }
    // Of a few values that a type allows, every page holds most.
    let is_selective =
        |name: &&String| contract.column(name).is_some_and(|column| column.column_type.physical == Physical::String && column.column_type.values.is_empty());
    for name in std::iter::once(&"record_id".to_owned()).chain(contract.primary_key.iter().filter(is_selective)) {
        let path = ColumnPath::from(name.as_str());
        properties = properties.set_column_bloom_filter_fpp(path.clone(), 0.01).set_column_bloom_filter_max_ndv(path, ROW_GROUP_ROWS as u64);
    }
    let (mut writer, columns) = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties.build()))?.into_serialized_writer()?;
    let encode = |(number, group): (usize, &Group<'_>)| match group {
        Group::Encoded(rows) => encode_group(rows, columns.create_column_writers(number)?).map(Some),
        Group::Copied(..) => Ok(None),
    };
    let encoded: Vec<Option<Vec<ArrowColumnChunk>>> = groups.par_iter().enumerate().map(encode).collect::<Result<_>>()?;
    for (group, chunks) in groups.iter().zip(encoded) {
        let mut row_group = writer.next_row_group()?;
        match group {
            Group::Copied(part, number) => part.copy_group(*number, &mut row_group)?,
            Group::Encoded(_) => chunks.into_iter().flatten().try_for_each(|chunk| chunk.append_to_row_group(&mut row_group))?,
        }
        row_group.close()?;
    }
    Ok(writer.into_inner()?)
}

/// Encodes the columns of a row group side by side; each chunk's bytes depend on its column alone.
fn encode_group(rows: &RecordBatch, writers: Vec<ArrowColumnWriter>) -> Result<Vec<ArrowColumnChunk>> {
    let mut leaves = Vec::with_capacity(writers.len());
    for (field, column) in rows.schema().fields().iter().zip(rows.columns()) {
        leaves.extend(compute_leaves(field, column)?);
    }
    let encode = |(mut writer, leaf): (ArrowColumnWriter, ArrowLeafColumn)| {
        writer.write(&leaf)?;
        Ok(writer.close()?)
    };
    writers.into_par_iter().zip(leaves).map(encode).collect()
}

/// Checks a part's bytes against the manifest: hash, and a Parquet footer with the right number of rows.
///
/// # Errors
/// `Store`, saying what is not as recorded.
pub fn verify(part: &Part, bytes: &Bytes) -> Result<()> {
    checked(part, bytes).map(drop)
}

/// Checks a part's bytes as [`verify`] does, and returns the footer.
///
/// # Errors
/// As there.
pub fn checked(part: &Part, bytes: &Bytes) -> Result<ArrowReaderMetadata> {
    let found = Digest::of(bytes);
    if found != part.sha256 {
        return Err(Error::store(format!("part {} has the digest {found}, and {} is recorded", part.path, part.sha256)));
    }
    let metadata = ArrowReaderMetadata::load(bytes, ArrowReaderOptions::new())?;
    let rows = metadata.metadata().file_metadata().num_rows();
    if u64::try_from(rows).ok() != Some(part.rows) {
        return Err(Error::store(format!("part {} has {rows} rows, and {} are recorded", part.path, part.rows)));
    }
    Ok(metadata)
}

/// The first row, of rows in the contract's order, whose primary key an earlier one has.
fn repeated_key(contract: &Contract, batch: &RecordBatch) -> Result<Option<usize>> {
    // Rows of one key are together as far as the order begins as the key does: only those have to be compared.
    let together = contract.primary_key.iter().zip(&contract.sort_by).take_while(|(key, order)| key == order).count();
    let (ordered, others) = contract.primary_key.split_at(together);
    let (ordered, others) = (comparators(batch, ordered)?, comparators(batch, others)?);
    let is_equal = |columns: &[DynComparator], a: usize, b: usize| columns.iter().all(|column| column(a, b).is_eq());
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

/// The first row whose columns an earlier one has, by a table of all of them.
fn repeated_row(batch: &RecordBatch, names: &[String]) -> Result<Option<usize>> {
    let rows = rows_of(batch, names)?;
    let mut seen = PlHashSet::with_capacity(batch.num_rows());
    Ok((0..batch.num_rows()).find(|&row| !seen.insert(rows.row(row))))
}

/// How the values of each column compare, those that are missing first.
fn comparators(batch: &RecordBatch, names: &[String]) -> Result<Vec<DynComparator>> {
    let compare = |name: &String| {
        let column = column_of(batch, name)?;
        Ok(make_comparator(column, column, SortOptions::default())?)
    };
    names.iter().map(compare).collect()
}

/// The columns as bytes that compare as the values do.
fn rows_of(batch: &RecordBatch, names: &[String]) -> Result<Rows> {
    let columns = names.iter().map(|name| column_of(batch, name).cloned()).collect::<Result<Vec<_>>>()?;
    let converter = RowConverter::new(columns.iter().map(|column| SortField::new(column.data_type().clone())).collect())?;
    Ok(converter.convert_columns(&columns)?)
}
