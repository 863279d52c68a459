//! Builds metric rows, one per area and metric, from the cells of a table or from a percentage that
//! the Bureau publishes.

use std::fmt::Write;

use polars::prelude::*;

use super::estimate::{Cells, Reading, Unknown};
use super::metrics::{Level, Metric, Settings};
use crate::datasets::context::finding;
use crate::normalise::{DictionaryColumnBuilder, left_join, pointer_column, pointers, text};
use pubdata_core::error::{Error, Result};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::provenance::POINTERS;

/// A table with one row per area, in area order.
pub(super) struct AlignedTable {
    frame: DataFrame,
    /// `None` for an area that has no row in the table.
    pointers: Vec<Option<Vec<u64>>>,
}

impl AlignedTable {
    /// Sorts a table's rows into area order.
    pub(super) fn new(areas: &DataFrame, frame: DataFrame) -> Result<Self> {
        let frame = left_join(areas.select(["geo_id"])?, frame, "geo_id")?;
        Ok(Self {
            pointers: pointers(&frame, POINTERS)?,
            frame,
        })
    }
}

/// Columns from which one metric's rows are built, in area order.
pub(super) struct MetricSource<'s> {
    pub(super) metric: &'s Metric,
    cells: Cells,
    table: &'s AlignedTable,
    estimates: Vec<&'s StringChunked>,
    whole: Option<&'s StringChunked>,
    moe: Option<&'s StringChunked>,
    /// Margins for a share's parts, followed by the margin for its total.
    share_margins: Vec<&'s StringChunked>,
    share: Option<PublishedColumns>,
    universe: &'s (String, Vec<u64>),
    /// Variables that a record names as the source of its value, if the value comes from the table.
    variables: Vec<String>,
    moe_variable: Option<String>,
}

impl<'s> MetricSource<'s> {
    pub(super) fn new(
        settings: &Settings,
        metric: &'s Metric,
        table: &'s AlignedTable,
        published: &[DataFrame],
        universe: &'s (String, Vec<u64>),
    ) -> Result<Self> {
        let column = |name: &str| text(&table.frame, name);
        Ok(Self {
            metric,
            cells: Cells::new(&settings.jam_values, metric.open_ended.as_ref())
                .map_err(|unknown| Error::config(unknown.0))?,
            table,
            estimates: metric
                .estimates()
                .iter()
                .map(|name| column(name))
                .collect::<Result<_>>()?,
            whole: metric.denominator().map(|name| column(&name)).transpose()?,
            moe: metric.moe().map(|name| column(&name)).transpose()?,
            share_margins: metric
                .share_margins()
                .iter()
                .map(|name| column(name))
                .collect::<Result<_>>()?,
            share: PublishedColumns::find(metric, published)?,
            universe,
            variables: metric
                .estimates()
                .into_iter()
                .chain(metric.denominator())
                .collect(),
            moe_variable: metric.moe_variable(),
        })
    }

    /// Interprets an area's cells. Prefers the published percentage if there is one.
    ///
    /// # Errors
    /// Fails like [`Cells::read`].
    fn read(
        &self,
        area: usize,
        published: Option<PublishedCells<'_>>,
    ) -> std::result::Result<Reading, Unknown> {
        let from_table = match self.whole {
            Some(whole) => self
                .cells
                .share(
                    self.estimates.iter().map(|column| column.get(area)),
                    whole.get(area),
                )
                .map(|share| self.with_margin(share, area)),
            None => self.cells.read(
                self.estimates[0].get(area),
                self.moe.and_then(|moe| moe.get(area)),
            ),
        };
        let Some((estimate, moe, _)) = published else {
            return from_table;
        };
        let mut reading = self.cells.read(estimate, moe)?;
        // Counts that cannot be interpreted neither confirm nor invalidate a published percentage.
        let Ok(derived) = from_table else {
            return Ok(reading);
        };
        if matches!((derived.value, reading.value), (Some(a), Some(b)) if a.abs_diff(b) > 1) {
            reading.warning = Some("published_differs_from_counts");
        }
        // The published table marks every null identically. The counts show whether the universe
        // contains no people.
        if reading.null_reason.is_some() && derived.null_reason == Some("zero_universe") {
            reading.null_reason = derived.null_reason;
        }
        Ok(reading)
    }

    /// Adds the approximate margin to a share that has a value.
    fn with_margin(&self, share: Reading, area: usize) -> Reading {
        let (Some(_), Some(whole), Some((of_whole, of_parts))) =
            (share.value, self.whole, self.share_margins.split_last())
        else {
            return share;
        };
        let parts = self
            .estimates
            .iter()
            .zip(of_parts)
            .map(|(estimate, margin)| (estimate.get(area), margin.get(area)));
        Reading {
            moe_approximate: self
                .cells
                .share_margin(parts, (whole.get(area), of_whole.get(area))),
            ..share
        }
    }

    /// Returns the cells from which a value would come, with their variables:
    /// `B19013_E001=-777777777`.
    fn cells_as_published(
        &self,
        area: usize,
        published: Option<PublishedCells<'_>>,
    ) -> Vec<String> {
        let cells: Vec<(String, Option<&str>)> = match (&self.metric.published, published) {
            (Some(share), Some((estimate, moe, _))) => {
                vec![(share.estimate.clone(), estimate), (share.moe.clone(), moe)]
            }
            _ => {
                let estimates = self
                    .metric
                    .estimates()
                    .into_iter()
                    .zip(self.estimates.iter().map(|column| column.get(area)));
                let whole = self
                    .metric
                    .denominator()
                    .zip(self.whole.map(|column| column.get(area)));
                let moe = self
                    .metric
                    .moe()
                    .zip(self.moe.map(|column| column.get(area)));
                estimates.chain(whole).chain(moe).collect()
            }
        };
        cells
            .into_iter()
            .map(|(variable, cell)| format!("{variable}={}", cell.unwrap_or_default()))
            .collect()
    }
}

/// Collects rows, column by column.
pub(super) struct MetricRows<'l> {
    level: &'l Level<'l>,
    vintage: i32,
    record_ids: StringChunkedBuilder,
    area: DictionaryColumnBuilder,
    area_name: DictionaryColumnBuilder,
    /// Dictionary-encoded columns, in name order.
    few: [DictionaryColumnBuilder; DICTIONARY_COLUMNS.len()],
    /// List columns, in name order.
    lists: [ListStringChunkedBuilder; LIST_COLUMNS.len()],
    value: Vec<Option<i64>>,
    bound: Vec<Option<i64>>,
    moe: Vec<Option<i64>>,
    moe_approximate: Vec<Option<i64>>,
    is_derived: Vec<bool>,
    /// Pointers for all rows. The next field contains the end of each row's pointers.
    pointers: Vec<u64>,
    pointer_ends: Vec<usize>,
    issues: Vec<Issue>,
    /// Buffer that all rows reuse.
    record_id: String,
}

/// Most rows point to a row in their table, to their area's name and to their universe.
const POINTER_NUMBERS_PER_ROW: usize = 12;

const DICTIONARY_COLUMNS: [&str; 9] = [
    "metric",
    "unit",
    "bound_type",
    "moe_status",
    "qualifier",
    "null_reason",
    "universe",
    "table_id",
    "moe_variable",
];

const LIST_COLUMNS: [&str; 3] = ["variables", "warnings", "unknown_values"];

impl<'l> MetricRows<'l> {
    /// Creates a collector with capacity for `rows` rows.
    pub(super) fn new(level: &'l Level<'l>, vintage: i32, rows: usize) -> Self {
        let texts = || DictionaryColumnBuilder::with_capacity(rows);
        Self {
            level,
            vintage,
            record_ids: StringChunkedBuilder::new("record_id".into(), rows),
            area: texts(),
            area_name: texts(),
            few: DICTIONARY_COLUMNS.map(|_| texts()),
            lists: LIST_COLUMNS.map(|name| ListStringChunkedBuilder::new(name.into(), rows, 0)),
            value: Vec::with_capacity(rows),
            bound: Vec::with_capacity(rows),
            moe: Vec::with_capacity(rows),
            moe_approximate: Vec::with_capacity(rows),
            is_derived: Vec::with_capacity(rows),
            pointers: Vec::with_capacity(rows * POINTER_NUMBERS_PER_ROW),
            pointer_ends: Vec::with_capacity(rows),
            issues: Vec::new(),
            record_id: String::new(),
        }
    }

    /// Adds an area's row for one metric, or an issue with the reason why the row is missing.
    pub(super) fn add(
        &mut self,
        source: &MetricSource<'_>,
        area: usize,
        code: &str,
        area_name: Option<&str>,
        name_pointer: Option<&[u64]>,
    ) {
        let (metric, dataset_id) = (source.metric, self.level.dataset_id);
        self.record_id.clear();
        write!(
            self.record_id,
            "{dataset_id}:{}:{code}:{}",
            self.vintage, metric.key
        )
        .expect("text can be written");
        let Some(table_pointer) = &source.table.pointers[area] else {
            let detail = format!(
                "{} has no row for {code}, other tables of the vintage have",
                metric.table
            );
            return self.issues.push(finding(
                "missing_area",
                Severity::Quarantine,
                dataset_id,
                &self.record_id,
                detail,
            ));
        };
        let published = source.share.as_ref().and_then(|share| share.row(area));
        let share_pointer = published.map(|(_, _, pointer)| pointer);
        let share = metric
            .published
            .as_ref()
            .filter(|_| share_pointer.is_some());
        let is_derived = metric.denominator.is_some() && share.is_none();
        let mut unknown_values = Vec::new();
        let reading = source.read(area, published).unwrap_or_else(|unknown| {
            let place = share.map_or(&metric.table, |share| &share.table);
            let detail = format!("{place}: {}; declare what it means under settings.jam_values in pipelines/census/acs5.toml", unknown.0);
            self.issues.push(finding("unknown_special_value", Severity::Warning, dataset_id, &self.record_id, detail));
            unknown_values = source.cells_as_published(area, published);
            let moe_status = if is_derived { "not_fetched" } else { "not_published" };
            Reading { moe_status, ..Reading::null("unknown_special_value") }
        });
        let table_universe = metric.universe.as_ref().unwrap_or(&source.universe.0);
        let cells = [
            Some(metric.key.as_str()),
            Some(&metric.unit),
            reading.bound_type,
            Some(reading.moe_status),
            reading.qualifier.as_deref(),
            reading.null_reason,
            Some(share.map_or(table_universe, |share| &share.universe)),
            Some(share.map_or(&metric.table, |share| &share.table)),
            share.map_or(source.moe_variable.as_deref(), |share| Some(&share.moe)),
        ];
        let variables = share.map_or(source.variables.as_slice(), |share| {
            std::slice::from_ref(&share.estimate)
        });
        let [of_variables, of_warnings, of_unknown] = &mut self.lists;
        of_variables.append_values_iter(variables.iter().map(String::as_str));
        of_warnings.append_values_iter(reading.warning.into_iter());
        of_unknown.append_values_iter(unknown_values.iter().map(String::as_str));
        self.record_ids.append_value(&self.record_id);
        for (column, text) in [
            (&mut self.area, Some(code)),
            (&mut self.area_name, area_name),
        ] {
            column.push_next(text);
        }
        for (column, cell) in self.few.iter_mut().zip(cells) {
            column.push_option(cell);
        }
        self.value.push(reading.value);
        self.bound.push(reading.bound);
        self.moe.push(reading.moe);
        self.moe_approximate.push(reading.moe_approximate);
        self.is_derived.push(is_derived);
        for pointer in [
            table_pointer.as_slice(),
            name_pointer.unwrap_or_default(),
            &source.universe.1,
            share_pointer.unwrap_or_default(),
        ] {
            self.pointers.extend_from_slice(pointer);
        }
        self.pointer_ends.push(self.pointers.len());
    }

    pub(super) fn finish(mut self) -> Result<(DataFrame, Vec<Issue>)> {
        let height = self.value.len();
        let mut columns = vec![
            self.record_ids.finish().into_column(),
            self.area.finish(self.level.area_column)?,
            self.area_name.finish("area_name")?,
        ];
        for (column, name) in self.few.into_iter().zip(DICTIONARY_COLUMNS) {
            columns.push(column.finish(name)?);
        }
        columns.extend(
            self.lists
                .iter_mut()
                .map(|list| list.finish().into_column()),
        );
        columns.push(Column::new_scalar(
            "vintage_year".into(),
            Scalar::from(self.vintage),
            height,
        ));
        columns.push(Column::new("value".into(), self.value));
        columns.push(Column::new("bound".into(), self.bound));
        columns.push(Column::new("moe".into(), self.moe));
        columns.push(Column::new("moe_approximate".into(), self.moe_approximate));
        columns.push(Column::new("is_derived".into(), self.is_derived));
        let start = |row: usize| {
            if row == 0 {
                0
            } else {
                self.pointer_ends[row - 1]
            }
        };
        columns.push(pointer_column(
            (0..height).map(|row| &self.pointers[start(row)..self.pointer_ends[row]]),
        ));
        Ok((DataFrame::new(height, columns)?, self.issues))
    }
}

/// Estimate, margin and pointer for an area's published percentage.
type PublishedCells<'c> = (Option<&'c str>, Option<&'c str>, &'c [u64]);

/// Columns for one published percentage, aligned with the areas.
struct PublishedColumns {
    estimate: StringChunked,
    moe: StringChunked,
    pointers: Vec<Option<Vec<u64>>>,
}

impl PublishedColumns {
    fn find(metric: &Metric, published: &[DataFrame]) -> Result<Option<Self>> {
        let Some(share) = &metric.published else {
            return Ok(None);
        };
        let Some(frame) = published
            .iter()
            .find(|frame| frame.column(&share.estimate).is_ok())
        else {
            return Ok(None);
        };
        Ok(Some(Self {
            estimate: text(frame, &share.estimate)?.clone(),
            moe: text(frame, &share.moe)?.clone(),
            pointers: pointers(frame, POINTERS)?,
        }))
    }

    /// Returns a row's cells, if the area occurs in the file.
    fn row(&self, row: usize) -> Option<PublishedCells<'_>> {
        self.pointers[row]
            .as_deref()
            .map(|pointer| (self.estimate.get(row), self.moe.get(row), pointer))
    }
}
