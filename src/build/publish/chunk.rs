//! Writes a column chunk of pages and its metadata exactly as the `parquet` crate does. The tests
//! in `coded` compare the bytes.

use pubdata_store::parquet_error;
use std::cmp::Ordering;

use bytes::Bytes;
use parquet::basic::{
    BoundaryOrder, Compression, Encoding, EncodingMask, PageType, Type, ZstdLevel,
};
use parquet::bloom_filter::Sbbf;
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnIndexBuilder, LevelHistogram, OffsetIndexBuilder, PageEncodingStats,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use zstd::bulk::Compressor;

use super::runs::write_levels;
use super::values::Values;
use pubdata_core::error::{Error, Result};

/// Maximum length, in bytes, of text that statistics and page indexes store without truncation. No
/// record id or digest is longer.
pub const LONGEST_BOUND: usize = 256;

/// An encoded chunk: its bytes and its file metadata.
pub type Encoded = (Bytes, ColumnCloseResult);

/// A compressor shared by many chunks, because creating a compressor takes time and a megabyte of
/// memory.
pub type SharedCompressor = Option<Compressor<'static>>;

/// Facts about a page's rows.
#[derive(Clone, Copy, Default)]
pub struct PageFacts {
    pub rows: usize,
    pub nulls: usize,
    /// Indexes of the page's minimum and maximum value.
    pub ends: Option<(u32, u32)>,
    /// Total length of all texts in bytes.
    pub text_bytes: i64,
}

/// An uncompressed dictionary page.
pub struct DictionaryPage<'a> {
    pub bytes: &'a [u8],
    pub count: u32,
}

/// A column chunk to write.
pub struct Paged<'a, V> {
    pub leaf: &'a ColumnDescPtr,
    pub properties: &'a WriterProperties,
    pub values: &'a V,
    pub dictionary: Option<DictionaryPage<'a>>,
    pub pages: usize,
    /// Encoding used for the data pages.
    pub encoding: Encoding,
}

impl<V: Values> Paged<'_, V> {
    /// Writes the chunk. `page` appends a page's body and returns facts about its rows. `in_filter`
    /// yields the indexes of the values to insert into a bloom filter.
    ///
    /// # Errors
    /// `Store` if a page cannot be compressed or described.
    pub fn write(
        &self,
        mut page: impl FnMut(usize, &mut Vec<u8>) -> PageFacts,
        in_filter: impl Iterator<Item = u32>,
        compressor: &mut SharedCompressor,
    ) -> Result<Encoded> {
        let Self {
            leaf,
            properties,
            values,
            ..
        } = *self;
        let compression = properties.compression(leaf.path());
        let mut written = |bytes: &[u8]| match compression {
            Compression::ZSTD(level) => compressed(bytes, level, compressor),
            Compression::UNCOMPRESSED => Ok(bytes.to_vec()),
            other => Err(Error::store(format!(
                "{}: compression {other} is not supported",
                leaf.path()
            ))),
        };
        let mut summary = ColumnSummary::new(leaf);
        let mut encodings = Vec::with_capacity(2);
        let mut sink = TrackedWrite::new(Vec::new());
        let mut writer = SerializedPageWriter::new(&mut sink);
        if let Some(DictionaryPage { bytes, count }) = self.dictionary {
            let encoding = properties.dictionary_page_encoding();
            let page = Page::DictionaryPage {
                buf: written(bytes)?.into(),
                num_values: count,
                encoding,
                is_sorted: false,
            };
            summary.add_spec(
                &writer
                    .write_page(CompressedPage::new(page, bytes.len()))
                    .map_err(parquet_error)?,
            );
            encodings.push(PageEncodingStats {
                page_type: PageType::DICTIONARY_PAGE,
                encoding,
                count: 1,
            });
        }
        let mut body = Vec::new();
        for number in 0..self.pages {
            body.clear();
            let facts = page(number, &mut body);
            let data = Page::DataPage {
                buf: written(&body)?.into(),
                num_values: facts.rows as u32,
                encoding: self.encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            summary.add_page(leaf, &facts, values);
            let spec = writer
                .write_page(CompressedPage::new(data, body.len()))
                .map_err(parquet_error)?;
            summary
                .offsets
                .append_offset_and_size(spec.offset as i64, spec.compressed_size as i32);
            summary.add_spec(&spec);
        }
        encodings.push(PageEncodingStats {
            page_type: PageType::DATA_PAGE,
            encoding: self.encoding,
            count: self.pages as i32,
        });
        writer.close().map_err(parquet_error)?;
        let bytes = Bytes::from(sink.into_inner().map_err(parquet_error)?);
        let bloom_filter = match properties.bloom_filter_properties(leaf.path()) {
            Some(bloom) => {
                let mut filter =
                    Sbbf::new_with_ndv_fpp(bloom.ndv(), bloom.fpp()).map_err(parquet_error)?;
                in_filter.for_each(|place| values.insert_into(&mut filter, place));
                filter.fold_to_target_fpp(bloom.fpp());
                Some(filter)
            }
            None => None,
        };
        let close = summary.close(leaf, compression, encodings, values, bloom_filter)?;
        Ok((bytes, close))
    }
}

/// Writes a page's repetition and definition levels, if the leaf has them. `validity` holds true
/// for each row with a value; if absent, all rows have a value.
pub fn write_page_levels(
    leaf: &ColumnDescPtr,
    rows: usize,
    validity: Option<&[bool]>,
    body: &mut Vec<u8>,
) {
    if leaf.max_rep_level() > 0 {
        write_levels(leaf.max_rep_level(), body, |runs| runs.put_run(0, rows));
    }
    if leaf.max_def_level() > 0 {
        let whole = u32::from(leaf.max_def_level().unsigned_abs());
        write_levels(leaf.max_def_level(), body, |runs| match validity {
            None => runs.put_run(whole, rows),
            Some(validity) => validity
                .iter()
                .for_each(|is_there| runs.put(if *is_there { whole } else { whole - 1 })),
        });
    }
}

/// Compresses a page as the `parquet` crate does.
fn compressed(
    bytes: &[u8],
    level: ZstdLevel,
    compressor: &mut SharedCompressor,
) -> Result<Vec<u8>> {
    let failed = |error| Error::store(format!("zstd: {error}"));
    let compressor = match compressor {
        Some(compressor) => compressor,
        None => compressor.insert(Compressor::new(level.compression_level()).map_err(failed)?),
    };
    compressor.compress(bytes).map_err(failed)
}

/// Extends one range of values to cover another.
pub fn extended(values: &impl Values, ends: Option<(u32, u32)>, others: (u32, u32)) -> (u32, u32) {
    let Some((least, greatest)) = ends else {
        return others;
    };
    let is_less = values.compare(others.0, least).is_lt();
    let is_greater = values.compare(others.1, greatest).is_gt();
    (
        if is_less { others.0 } else { least },
        if is_greater { others.1 } else { greatest },
    )
}

/// Metadata for a chunk and its pages, collected while they are written.
struct ColumnSummary {
    index: ColumnIndexBuilder,
    offsets: OffsetIndexBuilder,
    rows: usize,
    nulls: usize,
    /// Total length of all texts in bytes; none if the values are not text.
    text_bytes: Option<i64>,
    ends: Option<(u32, u32)>,
    /// Minimum and maximum of the last page that contains a value.
    last: Option<(u32, u32)>,
    is_ascending: bool,
    is_descending: bool,
    uncompressed: usize,
    compressed: usize,
    /// Offset of the first data page, after the dictionary.
    data_start: usize,
    has_dictionary: bool,
}

impl ColumnSummary {
    fn new(leaf: &ColumnDescPtr) -> Self {
        Self {
            index: ColumnIndexBuilder::new(leaf.physical_type()),
            offsets: OffsetIndexBuilder::new(),
            rows: 0,
            nulls: 0,
            text_bytes: (leaf.physical_type() == Type::BYTE_ARRAY).then_some(0),
            ends: None,
            last: None,
            is_ascending: true,
            is_descending: true,
            uncompressed: 0,
            compressed: 0,
            data_start: 0,
            has_dictionary: false,
        }
    }

    fn add_spec(&mut self, spec: &PageWriteSpec) {
        self.uncompressed += spec.uncompressed_size;
        self.compressed += spec.compressed_size;
        if spec.page_type == PageType::DICTIONARY_PAGE {
            self.data_start = spec.compressed_size;
            self.has_dictionary = true;
        }
    }

    fn add_page(&mut self, leaf: &ColumnDescPtr, page: &PageFacts, values: &impl Values) {
        let is_null = page.nulls == page.rows;
        let (least, greatest) = page
            .ends
            .map_or_else(Default::default, |(least, greatest)| {
                (values.index_bytes(least), values.index_bytes(greatest))
            });
        self.index
            .append(is_null, least, greatest, page.nulls as i64, None);
        self.index.append_histograms(
            &repetitions(leaf, page.rows),
            &definitions(leaf, page.rows, page.nulls),
        );
        self.offsets.append_row_count(page.rows as i64);
        self.offsets
            .append_unencoded_byte_array_data_bytes(self.text_bytes.map(|_| page.text_bytes));
        if let Some((least, greatest)) = page.ends {
            if let Some((last_least, last_greatest)) = self.last {
                let orders = [
                    values.compare(last_least, least),
                    values.compare(last_greatest, greatest),
                ];
                self.is_ascending &= !orders.contains(&Ordering::Greater);
                self.is_descending &= !orders.contains(&Ordering::Less);
            }
            self.last = page.ends;
            self.ends = Some(extended(values, self.ends, (least, greatest)));
        }
        self.rows += page.rows;
        self.nulls += page.nulls;
        self.text_bytes = self.text_bytes.map(|before| before + page.text_bytes);
    }

    fn close(
        mut self,
        leaf: &ColumnDescPtr,
        compression: Compression,
        encodings: Vec<PageEncodingStats>,
        values: &impl Values,
        bloom_filter: Option<Sbbf>,
    ) -> Result<ColumnCloseResult> {
        let mask = EncodingMask::new_from_encodings(
            encodings
                .iter()
                .map(|stats| &stats.encoding)
                .chain([&Encoding::RLE]),
        );
        let metadata = ColumnChunkMetaData::builder(leaf.clone())
            .set_compression(compression)
            .set_encodings_mask(mask)
            .set_page_encoding_stats(encodings)
            .set_total_compressed_size(self.compressed as i64)
            .set_total_uncompressed_size(self.uncompressed as i64)
            .set_num_values(self.rows as i64)
            .set_data_page_offset(self.data_start as i64)
            .set_dictionary_page_offset(self.has_dictionary.then_some(0))
            .set_statistics(values.statistics(
                self.ends,
                self.nulls as u64,
                leaf.sort_order().is_signed(),
            ))
            .set_unencoded_byte_array_data_bytes(self.text_bytes)
            .set_repetition_level_histogram(repetitions(leaf, self.rows))
            .set_definition_level_histogram(definitions(leaf, self.rows, self.nulls))
            .build()
            .map_err(parquet_error)?;
        self.index
            .set_boundary_order(match (self.is_ascending, self.is_descending) {
                (true, _) => BoundaryOrder::ASCENDING,
                (false, true) => BoundaryOrder::DESCENDING,
                (false, false) => BoundaryOrder::UNORDERED,
            });
        Ok(ColumnCloseResult {
            bytes_written: self.compressed as u64,
            rows_written: self.rows as u64,
            bloom_filter,
            metadata,
            column_index: Some(self.index.build().map_err(parquet_error)?),
            offset_index: Some(self.offsets.build()),
        })
    }
}

/// Counts values by repetition level. Each value begins a row.
fn repetitions(leaf: &ColumnDescPtr, rows: usize) -> Option<LevelHistogram> {
    let mut histogram = LevelHistogram::try_new(leaf.max_rep_level())?;
    histogram.increment_by(0, rows as i64);
    Some(histogram)
}

/// Counts values by definition level. A null does not reach the last level.
fn definitions(leaf: &ColumnDescPtr, rows: usize, nulls: usize) -> Option<LevelHistogram> {
    let mut histogram = LevelHistogram::try_new(leaf.max_def_level())?;
    histogram.increment_by(leaf.max_def_level(), (rows - nulls) as i64);
    if nulls > 0 {
        histogram.increment_by(leaf.max_def_level() - 1, nulls as i64);
    }
    Some(histogram)
}
