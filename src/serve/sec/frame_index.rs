//! Indexes one metric of all registrants: the figure that counts for each period. A frame is built
//! from all buckets on first use, because a page shows registrants from as many buckets as it has
//! rows. The most recently used frames are kept.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{BooleanArray, Date32Array, Decimal128Array, Int32Array};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::release::bucketed::Buckets;
use crate::release::dictionary::{Dictionary, DictionaryColumn};
use crate::release::key_columns::{AddedFlags, cell, key_columns};
use crate::release::part_cache::PartCache;
use crate::release::part_reader::PartReader;
use crate::release::provenance::{Origin, PartOrigins};
use crate::release::table::Texts;
use crate::sec::lazy::Lazy;
use crate::sec::owners::{Owned, OwnedColumns, owned_columns};
use crate::sec::value_table::{ValueTable, runs};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::{AccessionNumber, Cik, ReleaseId};
use pubdata_store::Part;

const VALUES: &str = ValueTable::DATASET_ID;
/// Number of parts read in parallel.
const READING: usize = 4;
/// Number of frames to keep, counting annual and quarterly frames separately. Each frame takes at
/// most about 40 MB.
const MAX_KEPT: usize = 4;

/// One metric from annual or quarterly reports, by fiscal year, registrant and period.
#[derive(Debug, Default)]
pub struct Frame {
    rows: Vec<Row>,
    units: Dictionary,
    fiscal_periods: Dictionary,
    validation_statuses: Dictionary,
    /// Distinct publisher's files from which the rows come.
    origins: Vec<Origin>,
    /// Number of decimal places in the values.
    pub scale: u8,
}

/// The figure that counts for a period.
#[derive(Debug, Clone, Copy)]
struct Row {
    value: i128,
    cik: Cik,
    accession_number: AccessionNumber,
    fiscal_year: i32,
    /// First day of the period in days since 1970-01-01; `None` for a balance.
    period_start: Option<i32>,
    period_end: i32,
    fiscal_period: u16,
    unit: u16,
    validation_status: u16,
    /// Index of the row's file.
    origin: u16,
    is_ytd: bool,
}

/// A row of a frame, ready for output.
#[derive(Debug, Clone, Copy)]
pub struct FrameValue<'a> {
    pub cik: Cik,
    pub value: i128,
    pub unit: &'a str,
    pub fiscal_period: Option<&'a str>,
    pub period_start: Option<i32>,
    pub period_end: i32,
    pub is_ytd: bool,
    pub accession_number: AccessionNumber,
    pub validation_status: &'a str,
    pub origin: &'a Origin,
}

/// The most recently used frames of a release.
#[derive(Debug, Default)]
pub struct Frames(Mutex<Vec<(FrameKey, Lazy<Frame>)>>);

/// Metric and period type (`annual` or `quarterly`).
type FrameKey = (String, String);

impl Frames {
    /// Returns a metric's frame; concurrent callers wait for one build.
    ///
    /// # Errors
    /// `Store` if a part cannot be read; the next request tries again.
    pub async fn get(
        &self,
        reader: PartReader<'_>,
        values: &Buckets<Owned<ValueTable>>,
        metric: &str,
        series: &str,
    ) -> Result<Arc<Frame>> {
        let key = (metric.to_owned(), series.to_owned());
        let lazy = {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let known = kept
                .iter()
                .position(|(known, _)| *known == key)
                .map(|place| kept.remove(place).1);
            let lazy = known.unwrap_or_default();
            kept.push((key.clone(), lazy.clone()));
            let over = kept.len().saturating_sub(MAX_KEPT);
            kept.drain(..over);
            lazy
        };
        let make = || {
            let manifest = reader.manifest();
            let origins = |part: &Part| PartOrigins::for_part(manifest, VALUES, part);
            let selected: Vec<(Part, PartOrigins)> = values
                .parts()
                .map(|(_, part)| (part.clone(), origins(part)))
                .collect();
            let (parts, release_id) = (reader.cache().clone(), manifest.release_id.clone());
            async move { Frame::read(&parts, &release_id, &selected, &key).await }
        };
        lazy.get(make).await
    }
}

key_columns! {
    /// The columns from which a frame is built.
    struct Columns {
        metric: DictionaryColumn,
        series: DictionaryColumn,
        unit: DictionaryColumn,
        fiscal_year: Int32Array,
        fiscal_period: DictionaryColumn,
        period_start: Date32Array,
        period_end: Date32Array,
        is_ytd: BooleanArray,
        supersedes "?": AddedFlags,
        value: Decimal128Array,
        accession_number: Texts,
        validation_status: DictionaryColumn,
    }
}

owned_columns! { Columns of VALUES; }

impl Frame {
    async fn read(
        parts: &PartCache,
        release_id: &ReleaseId,
        selected: &[(Part, PartOrigins)],
        key: &FrameKey,
    ) -> Result<Arc<Self>> {
        let mut made = Self::default();
        let reads: Vec<_> = selected
            .iter()
            .map(|(part, origins)| async move {
                Ok::<_, Error>((
                    parts.read::<Owned<Columns>>(release_id, part).await?,
                    origins,
                ))
            })
            .collect();
        let mut reading = stream::iter(reads).buffer_unordered(READING);
        while let Some((part, origins)) = reading.try_next().await? {
            made.add(&part, origins, key)?;
        }
        drop(reading);
        made.rows.sort_unstable_by_key(|row| {
            (
                row.fiscal_year,
                row.cik.number(),
                row.period_end,
                row.period_start,
                row.accession_number.number(),
            )
        });
        made.rows.shrink_to_fit();
        Ok(Arc::new(made))
    }

    /// Adds the metric's rows from a bucket. The reports of a period are contiguous, in filing
    /// order.
    fn add(
        &mut self,
        part: &Owned<Columns>,
        origins: &PartOrigins,
        (metric, series): &FrameKey,
    ) -> Result<()> {
        self.scale = u8::try_from(part.value.scale())
            .map_err(|_| Error::store(format!("{VALUES}: values with a negative scale")))?;
        let is_like = |row: usize, other: usize| {
            let period = |row: usize| (cell(&part.period_end, row), cell(&part.period_start, row));
            part.metric.is_same(row, other)
                && part.series.is_same(row, other)
                && period(row) == period(other)
        };
        // Neighbouring rows usually come from the same file.
        let mut last = None;
        for reports in part.owners.iter().flat_map(|(_, rows)| runs(rows, is_like)) {
            let Some(row) = reports.rev().find(|row| part.supersedes.value(*row)) else {
                continue;
            };
            if part.metric.at(row) != metric || part.series.at(row) != series {
                continue;
            }
            let whole = (
                cell(&part.value, row),
                part.owners.owner(row),
                cell(&part.fiscal_year, row),
                cell(&part.period_end, row),
            );
            let (Some(value), Some(cik), Some(fiscal_year), Some(period_end)) = whole else {
                continue;
            };
            let source = part.row_sources.get(row);
            let origin = match last {
                Some((known, origin)) if known == source => origin,
                _ => self.origin(origins.of_row_source(source))?,
            };
            last = Some((source, origin));
            let accession_number = part.accession_number.at(row).parse();
            self.rows.push(Row {
                value,
                cik,
                accession_number: accession_number.map_err(|error| {
                    Error::store(format!("{VALUES}: row {row} of registrant {cik}: {error}"))
                })?,
                fiscal_year,
                period_start: cell(&part.period_start, row),
                period_end,
                fiscal_period: self.fiscal_periods.number(part.fiscal_period.get(row))?,
                unit: self.units.number(part.unit.get(row))?,
                is_ytd: part.is_ytd.value(row),
                validation_status: self
                    .validation_statuses
                    .number(part.validation_status.get(row))?,
                origin,
            });
        }
        Ok(())
    }

    /// Returns the index of a file; adds the file if it is new.
    fn origin(&mut self, origin: Origin) -> Result<u16> {
        let index = self
            .origins
            .iter()
            .position(|known| *known == origin)
            .unwrap_or_else(|| {
                self.origins.push(origin);
                self.origins.len() - 1
            });
        u16::try_from(index).map_err(|_| Error::store("more files than a frame can number"))
    }

    /// Returns the rows of a fiscal year, by registrant.
    pub fn of_year(&self, fiscal_year: i32) -> Vec<FrameValue<'_>> {
        let start = self
            .rows
            .partition_point(|row| row.fiscal_year < fiscal_year);
        let end = self
            .rows
            .partition_point(|row| row.fiscal_year <= fiscal_year);
        let value = |row: &Row| FrameValue {
            cik: row.cik,
            value: row.value,
            unit: self.units.text(row.unit).unwrap_or_default(),
            fiscal_period: self.fiscal_periods.text(row.fiscal_period),
            period_start: row.period_start,
            period_end: row.period_end,
            is_ytd: row.is_ytd,
            accession_number: row.accession_number,
            validation_status: self
                .validation_statuses
                .text(row.validation_status)
                .unwrap_or_default(),
            origin: &self.origins[usize::from(row.origin)],
        };
        self.rows[start..end].iter().map(value).collect()
    }
}
