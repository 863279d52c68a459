//! Indexes all filings of a release by date, newest first. The index uses eight bytes for each row
//! of `sec.filing`, because there can be tens of millions of rows. It is built on first use.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::Date32Array;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::release::dictionary::{Dictionary, DictionaryColumn};
use crate::release::part_cache::{CachedPart, PartCache};
use crate::release::part_reader::PartReader;
use crate::release::table::Table;
use crate::sec::lazy::Lazy;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::{AccessionNumber, ReleaseId};
use pubdata_store::Part;

/// Number of parts read in parallel.
const READING: usize = 4;
/// Flag for a row that belongs to the same filing as the previous row, for another registrant.
const SAME_FILING: u16 = 1 << 15;

/// Filings by date.
#[derive(Debug, Default)]
pub struct FilingDates {
    /// Days that have filings, newest first, with the position of each day's first row.
    days: Vec<(i32, usize)>,
    /// Names of the buckets, by number.
    buckets: Vec<String>,
    forms: Dictionary,
    form_numbers: Vec<u16>,
    bucket_numbers: Vec<u16>,
    rows: Vec<u32>,
}

/// Days and forms that a search selects.
#[derive(Debug, Clone, Default)]
pub struct FilingFilter {
    /// First day of the search in days since 1970-01-01; both bounds are inclusive.
    pub from: Option<i32>,
    pub to: Option<i32>,
    /// Form types to select; empty selects all form types.
    pub forms: Vec<String>,
}

/// The index for one release, built once.
#[derive(Debug, Default)]
pub struct LazyFilingDates(Lazy<FilingDates>);

impl LazyFilingDates {
    /// Returns the index; concurrent callers wait for one build.
    ///
    /// # Errors
    /// `Store` if a part cannot be read; the next request tries again.
    pub async fn get(
        &self,
        reader: PartReader<'_>,
        of_buckets: impl Iterator<Item = (&str, &Part)>,
    ) -> Result<Arc<FilingDates>> {
        let make = || {
            let mut selected: Vec<(String, Part)> = of_buckets
                .map(|(bucket, part)| (bucket.to_owned(), part.clone()))
                .collect();
            selected.sort_by(|a, b| a.0.cmp(&b.0));
            let (parts, release_id) =
                (reader.cache().clone(), reader.manifest().release_id.clone());
            async move { FilingDates::read(&parts, &release_id, selected).await }
        };
        self.0.get(make).await
    }
}

/// The columns of a part from which the index is built.
struct FilingDateColumns {
    accession_numbers: Vec<u64>,
    forms: DictionaryColumn,
    filed_dates: Date32Array,
}

impl CachedPart for FilingDateColumns {
    const DATASET_ID: &'static str = "sec.filing";

    fn read(bytes: Bytes, path: &str) -> Result<Self> {
        let table = Table::read(bytes, &["accession_number", "form", "filed_date"], path)?;
        let texts = table.texts("accession_number")?;
        let number = |row: usize| {
            let number: std::result::Result<AccessionNumber, _> = texts.at(row).parse();
            number
                .map(AccessionNumber::number)
                .map_err(|error| Error::store(format!("{path}: row {row}: {error}")))
        };
        Ok(Self {
            accession_numbers: (0..texts.len()).map(number).collect::<Result<_>>()?,
            forms: table.words("form")?,
            filed_dates: table.dates("filed_date")?,
        })
    }

    fn size_bytes(&self) -> usize {
        0
    }
}

/// A row to be indexed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    accession_number: u64,
    bucket: u16,
    form: u16,
    row: u32,
}

impl FilingDates {
    async fn read(
        parts: &PartCache,
        release_id: &ReleaseId,
        selected: Vec<(String, Part)>,
    ) -> Result<Arc<Self>> {
        let (mut made, mut by_day) = (Self::default(), BTreeMap::new());
        // Futures do nothing until polled, so it is cheap to create all of them.
        let reads: Vec<_> = selected
            .iter()
            .map(|(_, part)| parts.read::<FilingDateColumns>(release_id, part))
            .collect();
        let mut reading = stream::iter(reads).buffered(READING);
        while let Some(part) = reading.try_next().await? {
            made.add(&part, &mut by_day)?;
        }
        drop(reading);
        made.buckets = selected.into_iter().map(|(bucket, _)| bucket).collect();
        let sorting = tokio::task::spawn_blocking(move || made.sorted(by_day));
        sorting
            .await
            .map(Arc::new)
            .map_err(|error| Error::store(format!("indexing filings by date failed: {error}")))
    }

    /// Adds the next bucket.
    fn add(
        &mut self,
        part: &FilingDateColumns,
        by_day: &mut BTreeMap<i32, Vec<Entry>>,
    ) -> Result<()> {
        let too_many = || Error::store("more buckets or rows of filings than the index can number");
        let bucket = u16::try_from(self.buckets.len())
            .ok()
            .filter(|bucket| *bucket < SAME_FILING)
            .ok_or_else(too_many)?;
        // The caller sets the names later; until then only the number of buckets matters.
        self.buckets.push(String::new());
        for (row, &accession_number) in part.accession_numbers.iter().enumerate() {
            let form = self.forms.number(part.forms.get(row))?;
            let entry = Entry {
                accession_number,
                bucket,
                form,
                row: u32::try_from(row).map_err(|_| too_many())?,
            };
            by_day
                .entry(part.filed_dates.value(row))
                .or_default()
                .push(entry);
        }
        Ok(())
    }

    fn sorted(mut self, by_day: BTreeMap<i32, Vec<Entry>>) -> Self {
        for (day, mut entries) in by_day.into_iter().rev() {
            self.days.push((day, self.rows.len()));
            entries.sort_unstable_by(|a, b| {
                b.accession_number
                    .cmp(&a.accession_number)
                    .then_with(|| a.cmp(b))
            });
            let mut last = None;
            for entry in entries {
                let flag = if last == Some(entry.accession_number) {
                    SAME_FILING
                } else {
                    0
                };
                last = Some(entry.accession_number);
                self.form_numbers.push(entry.form);
                self.bucket_numbers.push(entry.bucket | flag);
                self.rows.push(entry.row);
            }
        }
        self
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Finds filings, newest first; yields the positions of each filing's rows.
    pub fn find<'a>(
        &'a self,
        filter: &FilingFilter,
    ) -> impl Iterator<Item = Range<usize>> + use<'a> {
        let start = filter
            .to
            .map_or(0, |to| self.position_of_day(|day| day > to));
        let end = filter
            .from
            .map_or(self.len(), |from| self.position_of_day(|day| day >= from));
        let numbers: Option<Vec<bool>> = (!filter.forms.is_empty()).then(|| {
            let is_selected = |number: u16| {
                self.forms
                    .text(number)
                    .is_some_and(|form| filter.forms.iter().any(|selected| selected == form))
            };
            (0..=self.forms.len())
                .map(|number| u16::try_from(number).is_ok_and(is_selected))
                .collect()
        });
        let is_selected = move |place: usize| {
            numbers
                .as_ref()
                .is_none_or(|numbers| numbers[usize::from(self.form_numbers[place])])
        };
        let mut next = start;
        std::iter::from_fn(move || {
            while next < end {
                let first = next;
                next += 1;
                while next < end && self.bucket_numbers[next] & SAME_FILING != 0 {
                    next += 1;
                }
                if (first..next).any(&is_selected) {
                    return Some(first..next);
                }
            }
            None
        })
    }

    /// Returns the bucket and the row at a position.
    pub fn row(&self, place: usize) -> (&str, usize) {
        (
            &self.buckets[usize::from(self.bucket_numbers[place] & !SAME_FILING)],
            self.rows[place] as usize,
        )
    }

    /// Returns true if any filing has the form type.
    pub fn has_form(&self, form: &str) -> bool {
        self.forms.has(form)
    }

    /// Returns the position after all days for which `is_before` holds; days run from newest to
    /// oldest.
    fn position_of_day(&self, is_before: impl Fn(i32) -> bool) -> usize {
        let index = self.days.partition_point(|(day, _)| is_before(*day));
        self.days.get(index).map_or(self.len(), |(_, place)| *place)
    }
}

#[cfg(test)]
mod tests;
