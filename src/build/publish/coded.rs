//! Encodes column chunks of dictionary-encoded text and of numbers. The output is byte-identical to
//! that of the `parquet` crate, which looks up each row's value again (apache/arrow-rs#10862).
//! Here, the only cost per row is its dictionary index. Columns that do not have this simple form
//! are left to the crate.

use std::iter::repeat_n;

use arrow::array::{Array, ArrayRef, AsArray, StringArray, UInt32Array};
use arrow::datatypes::UInt32Type;
use parquet::basic::Encoding;
use parquet::file::properties::{DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT, WriterProperties};
use parquet::schema::types::ColumnDescPtr;

use super::chunk::{
    DictionaryPage, Encoded, LONGEST_BOUND, PageFacts, Paged, SharedCompressor, extended,
    write_page_levels,
};
use super::runs::{Runs, bits};
use super::values::{CodedNumbers, Values};
use pubdata_core::error::{Error, Result};

/// Marks a value that does not have an index in the chunk's dictionary yet.
const NEW: u32 = u32::MAX;

/// Rows of a column chunk, stored as dictionary indexes.
pub struct CodedTexts<'a> {
    keys: &'a UInt32Array,
    values: &'a StringArray,
}

impl<'a> CodedTexts<'a> {
    /// Wraps a column whose dictionary contains each text once. Returns none if a text is too long
    /// for statistics, or if the texts do not fit into one dictionary page.
    pub fn new(column: &'a ArrayRef) -> Option<Self> {
        let dictionary = column.as_dictionary_opt::<UInt32Type>()?;
        let values = dictionary.values().as_string_opt::<i32>()?;
        let is_short = values.null_count() == 0
            && values
                .iter()
                .flatten()
                .all(|text| text.len() <= LONGEST_BOUND);
        let is_small = values.value_data().len() + values.len() * size_of::<u32>()
            < DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT;
        (is_short && is_small && !column.is_empty()).then_some(Self {
            keys: dictionary.keys(),
            values,
        })
    }

    /// Returns the length of each row's text, skipping null rows.
    pub fn lengths(&self) -> impl Iterator<Item = usize> {
        self.keys
            .iter()
            .flatten()
            .map(|key| self.values.value_length(key as usize) as usize)
    }
}

/// Encodes the chunk for a leaf with at most one value per row. The values are coded texts or
/// numbers.
///
/// # Errors
/// `Store` if the column holds neither coded texts nor numbers, or if it cannot be compressed or
/// described.
pub fn encode(
    leaf: &ColumnDescPtr,
    properties: &WriterProperties,
    column: &ArrayRef,
    compressor: &mut SharedCompressor,
) -> Result<Encoded> {
    if let Some(CodedTexts { keys, values }) = CodedTexts::new(column) {
        return encode_values(leaf, properties, keys, values, compressor);
    }
    match CodedNumbers::new(column, usize::try_from(leaf.type_length()).unwrap_or(0)) {
        Some(CodedNumbers::Whole(keys, values)) => {
            encode_values(leaf, properties, &keys, &values, compressor)
        }
        Some(CodedNumbers::Decimals(keys, values)) => {
            encode_values(leaf, properties, &keys, &values, compressor)
        }
        None => Err(Error::store(format!(
            "{}: the column is neither numbers nor a simple dictionary of texts",
            leaf.path()
        ))),
    }
}

fn encode_values<V: Values>(
    leaf: &ColumnDescPtr,
    properties: &WriterProperties,
    keys: &UInt32Array,
    values: &V,
    compressor: &mut SharedCompressor,
) -> Result<Encoded> {
    let page_rows = properties.column_data_page_row_count_limit(leaf.path());
    let rows = keys.len();
    let mut dictionary = Dictionary::new(values);
    let mut pages = Vec::with_capacity(rows.div_ceil(page_rows));
    for start in (0..rows).step_by(page_rows) {
        pages.push(dictionary.page(&keys.slice(start, page_rows.min(rows - start))));
    }
    let page = DictionaryPage {
        bytes: &dictionary.bytes,
        count: dictionary.used.len() as u32,
    };
    let chunk = Paged {
        leaf,
        properties,
        values,
        dictionary: Some(page),
        pages: pages.len(),
        encoding: Encoding::RLE_DICTIONARY,
    };
    let write = |number: usize, body: &mut Vec<u8>| {
        pages[number].write(leaf, body);
        pages[number].facts
    };
    chunk.write(write, dictionary.used.iter().copied(), compressor)
}

/// A chunk's dictionary, with values in order of first appearance.
struct Dictionary<'a, V> {
    values: &'a V,
    /// For each value in the column's dictionary, its index in the chunk's dictionary.
    codes: Vec<u32>,
    used: Vec<u32>,
    bytes: Vec<u8>,
    /// For each value, the last page that contains it.
    last_pages: Vec<usize>,
    pages: usize,
}

/// A page being encoded.
struct Coded {
    codes: Vec<u32>,
    /// True for each row with a value; absent if all rows have a value.
    validity: Option<Vec<bool>>,
    /// Number of bits per code.
    width: u8,
    facts: PageFacts,
}

impl<'a, V: Values> Dictionary<'a, V> {
    fn new(values: &'a V) -> Self {
        Self {
            values,
            codes: vec![NEW; values.count()],
            used: Vec::new(),
            bytes: Vec::new(),
            last_pages: vec![0; values.count()],
            pages: 0,
        }
    }

    fn page(&mut self, keys: &UInt32Array) -> Coded {
        self.pages += 1;
        let nulls = keys.null_count();
        let mut page = Coded {
            codes: Vec::with_capacity(keys.len() - nulls),
            validity: None,
            width: 0,
            facts: PageFacts {
                rows: keys.len(),
                nulls,
                ..PageFacts::default()
            },
        };
        if nulls == 0 {
            keys.values()
                .chunk_by(u32::eq)
                .for_each(|run| self.add(run[0], run.len(), &mut page));
        } else {
            page.validity = Some((0..keys.len()).map(|row| keys.is_valid(row)).collect());
            keys.iter()
                .flatten()
                .for_each(|key| self.add(key, 1, &mut page));
        }
        page.width = bits(self.used.len().saturating_sub(1) as u32);
        page
    }

    /// Adds `rows` consecutive rows with the same value.
    fn add(&mut self, key: u32, rows: usize, page: &mut Coded) {
        let place = key as usize;
        if self.last_pages[place] != self.pages {
            self.last_pages[place] = self.pages;
            if self.codes[place] == NEW {
                self.codes[place] = self.used.len() as u32;
                self.used.push(key);
                self.values.write(key, &mut self.bytes);
            }
            page.facts.ends = Some(extended(self.values, page.facts.ends, (key, key)));
        }
        page.codes.extend(repeat_n(self.codes[place], rows));
        page.facts.text_bytes += (self.values.text_bytes(key) * rows) as i64;
    }
}

impl Coded {
    /// Writes the repetition and definition levels, if the leaf has them, and the codes.
    fn write(&self, leaf: &ColumnDescPtr, body: &mut Vec<u8>) {
        write_page_levels(leaf, self.facts.rows, self.validity.as_deref(), body);
        body.push(self.width);
        let mut runs = Runs::new(self.width, body);
        runs.put_all(&self.codes);
        runs.finish();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        Array, ArrayRef, AsArray, Date32Array, Decimal128Array, DictionaryArray, Int32Array,
        Int64Array, ListArray, RecordBatch, StringArray, StructArray, UInt32Array,
    };
    use arrow::buffer::{NullBuffer, OffsetBuffer};
    use arrow::compute::{cast, concat_batches};
    use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
    use bytes::Bytes;
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::basic::{Compression, Encoding, ZstdLevel};
    use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
    use parquet::schema::types::ColumnPath;
    use proptest::prelude::*;

    use super::super::chunk::LONGEST_BOUND;
    use super::super::part::{Chunk, encode_group};

    fn properties() -> WriterProperties {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).unwrap()))
            .set_data_page_row_count_limit(4_096);
        let properties = properties
            .set_statistics_truncate_length(Some(LONGEST_BOUND))
            .set_column_index_truncate_length(Some(LONGEST_BOUND));
        let with_filter = |properties: WriterPropertiesBuilder, name| {
            let path = ColumnPath::from(name);
            properties
                .set_column_bloom_filter_fpp(path.clone(), 0.01)
                .set_column_bloom_filter_max_ndv(path, 65_536)
        };
        let number = || {
            ColumnPath::new(
                ["list", "list", "item", "number"]
                    .map(str::to_owned)
                    .to_vec(),
            )
        };
        let properties = properties
            .set_column_dictionary_enabled("id".into(), false)
            .set_column_encoding("id".into(), Encoding::DELTA_BYTE_ARRAY);
        let properties = properties
            .set_column_dictionary_enabled(number(), false)
            .set_column_encoding(number(), Encoding::DELTA_BINARY_PACKED);
        ["id", "must", "may be whole", "may be decimal", "narrow"]
            .into_iter()
            .fold(properties, with_filter)
            .build()
    }

    /// Wraps numbers in lists of one item each.
    fn in_lists(numbers: &[i64]) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
        let structs = StructArray::from(vec![(
            Arc::new(Field::new("number", DataType::Int64, false)),
            numbers,
        )]);
        let item = Arc::new(Field::new_list_field(structs.data_type().clone(), false));
        let list: ArrayRef = Arc::new(ListArray::new(
            item,
            OffsetBuffer::from_lengths(vec![1; structs.len()]),
            Arc::new(structs),
            None,
        ));
        let schema = Schema::new(vec![Field::new("list", list.data_type().clone(), false)]);
        RecordBatch::try_new(Arc::new(schema), vec![list]).unwrap()
    }

    fn coded(rows: &[Option<u32>], values: &[String]) -> ArrayRef {
        Arc::new(DictionaryArray::new(
            UInt32Array::from(rows.to_vec()),
            Arc::new(StringArray::from_iter_values(values)),
        ))
    }

    /// Builds a batch with a required column, a nullable column, and a list column. The list has
    /// `lengths` items per row, and each item contains both kinds of value.
    fn batch(rows: &[Option<u32>], values: &[String], lengths: &[usize]) -> RecordBatch {
        let must: Vec<Option<u32>> = rows
            .iter()
            .map(|place| Some(place.unwrap_or_default()))
            .collect();
        let items = lengths.iter().sum();
        let of_items = |rows: &[Option<u32>]| {
            coded(
                &rows.iter().copied().cycle().take(items).collect::<Vec<_>>(),
                values,
            )
        };
        let number: ArrayRef = Arc::new(Int64Array::from_iter_values(
            (0..items as i64).map(|number| number * 7),
        ));
        let columns = [
            ("must", of_items(&must), false),
            ("may", of_items(rows), true),
            ("number", number, false),
        ];
        let structs = StructArray::from(
            columns
                .map(|(name, array, is_null)| {
                    (
                        Arc::new(Field::new(name, array.data_type().clone(), is_null)),
                        array,
                    )
                })
                .to_vec(),
        );
        let item = Arc::new(Field::new_list_field(structs.data_type().clone(), false));
        let list: ArrayRef = Arc::new(ListArray::new(
            item,
            OffsetBuffer::from_lengths(lengths.iter().copied()),
            Arc::new(structs),
            None,
        ));
        let id: ArrayRef = Arc::new(StringArray::from_iter_values(
            (0..rows.len()).map(|row| row.to_string()),
        ));
        let columns = [
            ("id", id, false),
            ("must", coded(&must, values), false),
            ("may", coded(rows, values), true),
            ("list", list, false),
        ];
        let schema = Schema::new(
            columns
                .iter()
                .map(|(name, array, is_null)| {
                    Field::new(*name, array.data_type().clone(), *is_null)
                })
                .collect::<Vec<_>>(),
        );
        RecordBatch::try_new(
            Arc::new(schema),
            columns.into_iter().map(|(_, array, _)| array).collect(),
        )
        .unwrap()
    }

    fn without_dictionaries(data_type: &DataType) -> DataType {
        let field = |field: &Field| {
            field
                .clone()
                .with_data_type(without_dictionaries(field.data_type()))
        };
        match data_type {
            DataType::Dictionary(_, value) => value.as_ref().clone(),
            DataType::List(item) => DataType::List(Arc::new(field(item))),
            DataType::Struct(fields) => {
                DataType::Struct(fields.iter().map(|inner| field(inner)).collect())
            }
            other => other.clone(),
        }
    }

    fn plain_schema(batch: &RecordBatch) -> SchemaRef {
        let field = |field: &Arc<Field>| {
            field
                .as_ref()
                .clone()
                .with_data_type(without_dictionaries(field.data_type()))
        };
        Arc::new(Schema::new(
            batch
                .schema()
                .fields()
                .iter()
                .map(field)
                .collect::<Vec<_>>(),
        ))
    }

    /// Returns the file that the `parquet` crate writes for the rows.
    fn of_the_crate(groups: &[RecordBatch]) -> Vec<u8> {
        let schema = plain_schema(&groups[0]);
        let mut writer =
            ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties())).unwrap();
        for rows in groups {
            let columns = rows
                .columns()
                .iter()
                .zip(schema.fields())
                .map(|(column, field)| cast(column, field.data_type()).unwrap())
                .collect();
            writer
                .write(&RecordBatch::try_new(schema.clone(), columns).unwrap())
                .unwrap();
            writer.flush().unwrap();
        }
        writer.into_inner().unwrap()
    }

    fn ours(groups: &[RecordBatch]) -> Vec<u8> {
        let (mut writer, _) =
            ArrowWriter::try_new(Vec::new(), plain_schema(&groups[0]), Some(properties()))
                .unwrap()
                .into_serialized_writer()
                .unwrap();
        for rows in groups {
            let chunks = encode_group(rows, writer.schema_descr(), &properties(), 0).unwrap();
            let mut group = writer.next_row_group().unwrap();
            chunks
                .into_iter()
                .for_each(|chunk| chunk.append(&mut group).unwrap());
            group.close().unwrap();
        }
        writer.into_inner().unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn files_are_byte_for_byte_those_of_the_crate(
            values in proptest::collection::hash_set("[a-zé:.]{0,32}", 1..300),
            runs in proptest::collection::vec((any::<Option<u32>>(), prop_oneof![Just(1_usize), Just(1), 2_usize..12, 500_usize..5_000]), 1..400),
            border in any::<proptest::sample::Index>(),
        ) {
            let values: Vec<String> = values.into_iter().collect();
            let of_run = |(place, length): &(Option<u32>, usize)| std::iter::repeat_n(place.map(|place| place % values.len() as u32), *length);
            let rows: Vec<Option<u32>> = runs.iter().flat_map(of_run).take(30_000).collect();
            let batch = batch(&rows, &values, &vec![1; rows.len()]);
            // Row groups are slices of a part's rows and share the part's dictionaries.
            let border = 1 + border.index(rows.len());
            let groups = [batch.slice(0, border), batch.slice(border, rows.len() - border)];
            let groups = &groups[..if border < rows.len() { 2 } else { 1 }];
            prop_assert!(of_the_crate(groups) == ours(groups));
        }
    }

    /// Integers, days and decimals of two widths, each as a required and as a nullable column.
    fn numbers(rows: &[Option<i64>]) -> RecordBatch {
        let must = || rows.iter().map(|number| number.unwrap_or(-1));
        let small = |number: i64| (number % 100_000) as i32;
        let decimal = |number: i64| i128::from(number) * 1_000_003;
        let decimals = |cells: Decimal128Array, precision| -> ArrayRef {
            Arc::new(cells.with_precision_and_scale(precision, 4).unwrap())
        };
        let columns: [(&str, ArrayRef, bool); 9] = [
            (
                "id",
                Arc::new(StringArray::from_iter_values(
                    (0..rows.len()).map(|row| row.to_string()),
                )),
                false,
            ),
            (
                "whole",
                Arc::new(Int32Array::from_iter_values(must().map(small))),
                false,
            ),
            (
                "may be whole",
                Arc::new(
                    rows.iter()
                        .map(|number| number.map(small))
                        .collect::<Int32Array>(),
                ),
                true,
            ),
            (
                "day",
                Arc::new(Date32Array::from_iter_values(must().map(small))),
                false,
            ),
            (
                "may be day",
                Arc::new(
                    rows.iter()
                        .map(|number| number.map(small))
                        .collect::<Date32Array>(),
                ),
                true,
            ),
            (
                "decimal",
                decimals(Decimal128Array::from_iter_values(must().map(decimal)), 38),
                false,
            ),
            (
                "may be decimal",
                decimals(rows.iter().map(|number| number.map(decimal)).collect(), 38),
                true,
            ),
            (
                "narrow",
                decimals(
                    rows.iter().map(|number| number.map(i128::from)).collect(),
                    20,
                ),
                true,
            ),
            (
                "in a word",
                decimals(
                    rows.iter()
                        .map(|number| number.map(|number| i128::from(number % 1_000)))
                        .collect(),
                    18,
                ),
                true,
            ),
        ];
        let schema = Schema::new(
            columns
                .iter()
                .map(|(name, array, is_null)| {
                    Field::new(*name, array.data_type().clone(), *is_null)
                })
                .collect::<Vec<_>>(),
        );
        RecordBatch::try_new(
            Arc::new(schema),
            columns.into_iter().map(|(_, array, _)| array).collect(),
        )
        .unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn files_of_numbers_are_byte_for_byte_those_of_the_crate(
            runs in proptest::collection::vec(
                (prop_oneof![Just(None), any::<i64>().prop_map(Some), (-3_i64..400).prop_map(Some)], prop_oneof![Just(1_usize), Just(1), 2_usize..12, 500_usize..5_000]),
                1..2_000,
            ),
            border in any::<proptest::sample::Index>(),
        ) {
            let rows: Vec<Option<i64>> = runs.iter().flat_map(|(number, length)| std::iter::repeat_n(*number, *length)).take(30_000).collect();
            let batch = numbers(&rows);
            let border = 1 + border.index(rows.len());
            let groups = [batch.slice(0, border), batch.slice(border, rows.len() - border)];
            let groups = &groups[..if border < rows.len() { 2 } else { 1 }];
            prop_assert!(of_the_crate(groups) == ours(groups));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn what_is_written_by_differences_is_that_of_the_crate(
            rows in proptest::collection::vec(
                (prop_oneof![any::<i64>(), -3_i64..400, Just(i64::MAX), Just(7)], prop_oneof![Just(1_usize), Just(1), 1_usize..900]),
                1..300,
            ),
            border in any::<proptest::sample::Index>(),
        ) {
            let run = |(number, times): &(i64, usize)| (0..*times as i64).map(|row| number.wrapping_add(row * (row % 5))).collect::<Vec<_>>();
            let numbers: Vec<i64> = rows.iter().flat_map(run).collect();
            let rows = in_lists(&numbers);
            let border = 1 + border.index(numbers.len());
            let groups = [rows.slice(0, border), rows.slice(border, numbers.len() - border)];
            let groups = &groups[..if border < numbers.len() { 2 } else { 1 }];
            prop_assert!(of_the_crate(groups) == ours(groups));
        }
    }

    #[test]
    fn numbers_at_the_borders_of_blocks_are_written_here_as_the_crate_does() {
        for rows in [
            1_i64, 2, 64, 65, 128, 129, 130, 256, 257, 4_096, 4_097, 9_000,
        ] {
            let numbers: Vec<i64> = (0..rows)
                .map(|row| {
                    if row % 3 == 0 {
                        i64::MIN + row
                    } else {
                        i64::MAX - row * row
                    }
                })
                .collect();
            let groups = [in_lists(&numbers)];
            assert!(of_the_crate(&groups) == ours(&groups), "{rows} rows");
            let (writer, _) =
                ArrowWriter::try_new(Vec::new(), plain_schema(&groups[0]), Some(properties()))
                    .unwrap()
                    .into_serialized_writer()
                    .unwrap();
            let chunks = encode_group(&groups[0], writer.schema_descr(), &properties(), 0).unwrap();
            assert!(matches!(chunks[..], [Chunk::Ours(_)]), "{rows} rows");
        }
    }

    #[test]
    fn numbers_that_all_differ_or_are_all_null_are_those_of_the_crate() {
        let differing: Vec<Option<i64>> = (0..65_536)
            .map(|number| Some((number - 30_000) * 1_299_709))
            .collect();
        for rows in [
            &differing[..],
            &differing[..65_535],
            &differing[..5_000],
            &[None; 5_000],
            &[None],
            &[Some(i64::MIN), Some(i64::MAX)],
        ] {
            let groups = [numbers(rows)];
            assert!(
                of_the_crate(&groups) == ours(&groups),
                "{} rows",
                rows.len()
            );
        }
    }

    #[test]
    fn what_is_not_of_the_simple_form_is_left_to_the_crate() {
        let short = ["a".to_owned(), "b".to_owned()];
        let rows = |count: usize| {
            (0..count)
                .map(|row| (row % 5 > 0).then_some(row as u32 % 2))
                .collect::<Vec<_>>()
        };
        let long = ["a".repeat(LONGEST_BOUND + 1), "é".repeat(LONGEST_BOUND)];
        let many: Vec<String> = (0..20_000).map(|number| format!("{number:060}")).collect();
        let of_many: Vec<Option<u32>> = (0..20_000).map(Some).collect();
        let nulls = vec![None; 5_000];
        let lengths = [0, 1, 2, 1].repeat(25);
        let cases = [
            batch(&rows(100), &short, &lengths),
            batch(&rows(100), &long, &[1; 100]),
            batch(&of_many, &many, &[1; 20_000]),
            batch(&nulls, &short, &[1; 5_000]),
            batch(&rows(65_536), &short, &[1; 65_536]),
        ];
        for (number, case) in cases.into_iter().enumerate() {
            let groups = [case];
            assert!(of_the_crate(&groups) == ours(&groups), "case {number}");
        }
    }

    fn file_of(rows: &RecordBatch, small_bytes: usize) -> Bytes {
        let (mut writer, _) =
            ArrowWriter::try_new(Vec::new(), plain_schema(rows), Some(properties()))
                .unwrap()
                .into_serialized_writer()
                .unwrap();
        let chunks = encode_group(rows, writer.schema_descr(), &properties(), small_bytes).unwrap();
        let mut group = writer.next_row_group().unwrap();
        chunks
            .into_iter()
            .for_each(|chunk| chunk.append(&mut group).unwrap());
        group.close().unwrap();
        writer.into_inner().unwrap().into()
    }

    fn are_small(file: &Bytes) -> Vec<bool> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap();
        reader
            .metadata()
            .row_group(0)
            .columns()
            .iter()
            .map(|chunk| chunk.compression() == Compression::UNCOMPRESSED)
            .collect()
    }

    #[test]
    fn small_chunks_are_not_compressed_and_read_as_written() {
        // A text takes four bytes more than its length. The nullable column has a six-byte text in
        // 48 of the 60 rows.
        let values = ["text 0", "text 1"].map(str::to_owned);
        for (rows, expected) in [
            (11, [true; 6]),
            (60, [true, false, true, false, true, true]),
            (200, [false; 6]),
        ] {
            let places: Vec<Option<u32>> = (0..rows)
                .map(|row| (row % 5 > 0).then_some(row as u32 % values.len() as u32))
                .collect();
            let rows = batch(&places, &values, &vec![1; rows]);
            let file = file_of(&rows, 512);
            assert_eq!(are_small(&file), expected, "{} rows", rows.num_rows());
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
            let read = reader
                .with_batch_size(1_000)
                .build()
                .unwrap()
                .next()
                .unwrap()
                .unwrap();
            let plain = rows
                .columns()
                .iter()
                .zip(read.schema().fields())
                .map(|(column, field)| cast(column, field.data_type()).unwrap())
                .collect();
            assert_eq!(read, RecordBatch::try_new(read.schema(), plain).unwrap());
        }
    }

    #[test]
    fn however_rows_are_held_the_same_chunks_are_small() {
        // 64 texts of four bytes each take 512 bytes. Making one text a byte shorter or longer
        // changes the total by one byte.
        for (last, is_less) in [("xyz", true), ("wxyz", false), ("vwxyz", false)] {
            let values = ["abcd", last, "a text of other rows"].map(str::to_owned);
            let places: Vec<Option<u32>> = (0..64).map(|row| Some(u32::from(row == 63))).collect();
            let rows = batch(&places, &values, &vec![1; 64]);
            let with = |rows: &RecordBatch, column: &dyn Fn(&ArrayRef) -> ArrayRef| {
                let columns: Vec<ArrayRef> = rows.columns().iter().map(column).collect();
                let field = |(field, column): (&Arc<Field>, &ArrayRef)| {
                    field
                        .as_ref()
                        .clone()
                        .with_data_type(column.data_type().clone())
                };
                let schema = Schema::new(
                    rows.schema()
                        .fields()
                        .iter()
                        .zip(&columns)
                        .map(field)
                        .collect::<Vec<_>>(),
                );
                RecordBatch::try_new(Arc::new(schema), columns).unwrap()
            };
            let plain = |rows: &RecordBatch| {
                with(rows, &|column| {
                    cast(column, &without_dictionaries(column.data_type())).unwrap()
                })
            };
            let with_bitmap = with(
                &plain(&rows),
                &|column| match column.as_string_opt::<i32>() {
                    Some(texts) => {
                        let nulls = NullBuffer::new_valid(texts.len());
                        Arc::new(StringArray::new(
                            texts.offsets().clone(),
                            texts.values().clone(),
                            Some(nulls),
                        ))
                    }
                    None => column.clone(),
                },
            );
            let twice = |rows: &RecordBatch| {
                concat_batches(&rows.schema(), [rows, rows])
                    .unwrap()
                    .slice(64, 64)
            };
            let file = file_of(&rows, 512);
            assert_eq!(are_small(&file)[1..5], [is_less; 4], "{last}");
            let others = [
                plain(&rows),
                with_bitmap,
                twice(&rows),
                twice(&plain(&rows)),
            ];
            for (number, other) in others.iter().enumerate() {
                assert!(file_of(other, 512) == file, "{last}, {number}");
            }
        }
        // For lists with zero, one and two items, the crate encodes all leaves.
        let values = ["abcd".to_owned()];
        let lengths = [0, 1, 2, 1].repeat(25);
        let rows = batch(&vec![Some(0); 100], &values, &lengths);
        assert_eq!(are_small(&file_of(&rows, 801))[3..], [true, true, true]);
        assert_eq!(are_small(&file_of(&rows, 800))[3..], [false, false, false]);
    }
}
