//! Turns the table-based ACS Summary File (and, with a key, tables of the Census Data API) into one row per vintage × area × metric.
//! Source: "American Community Survey Summary File Handbook", table-based format, 2021 on. Never computes a margin of error: a
//! percentage derived from counts has none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use polars::prelude::*;
use rayon::prelude::*;
use serde::Deserialize;

use super::estimate::{Cells, JamValues, OpenEnded, Reading, Unknown};
use crate::contract::LIST_SEPARATOR;
use crate::datasets::context::finding;
use crate::datasets::{Context, SourceFrame, Table, settings};
use crate::error::{Error, Result, ResultExt};
use crate::issue::{Issue, Severity};
use crate::normalise::{left_join, pointer_column, pointers, text, text_column};
use crate::pipeline::Declaration;
use crate::provenance::POINTERS;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    levels: Levels,
    jam_values: JamValues,
    #[serde(rename = "metric")]
    metrics: Vec<Metric>,
}

/// GEO_ID prefix of each level that is kept.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Levels {
    zcta: String,
    county: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metric {
    key: String,
    unit: String,
    table: String,
    /// Lines of the table: one for a published figure, those of the numerator for a share.
    estimate: Vec<u16>,
    denominator: Option<u16>,
    universe: Option<String>,
    open_ended: Option<OpenEnded>,
    published: Option<PublishedShare>,
}

/// Where the Bureau publishes a percentage with its margin of error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedShare {
    table: String,
    estimate: String,
    moe: String,
    universe: String,
}

impl Metric {
    fn line(&self, kind: char, line: u16) -> String {
        format!("{}_{kind}{line:03}", self.table)
    }

    fn estimates(&self) -> Vec<String> {
        self.estimate.iter().map(|line| self.line('E', *line)).collect()
    }

    fn denominator(&self) -> Option<String> {
        self.denominator.map(|line| self.line('E', line))
    }

    /// The margin column of a published figure; a share has none.
    fn moe(&self) -> Option<String> {
        self.denominator.is_none().then(|| self.line('M', self.estimate[0]))
    }

    fn columns(&self) -> Vec<String> {
        self.estimates().into_iter().chain(self.denominator()).chain(self.moe()).collect()
    }

    fn universe_variable(&self) -> String {
        format!("{}_001", self.table)
    }
}

/// One level of geography: a dataset.
struct Level<'s> {
    dataset_id: &'static str,
    area_column: &'static str,
    prefix: &'s str,
    /// Sources of published percentages for this level.
    published: [&'static str; 2],
}

pub(in crate::datasets) fn check(declaration: &Declaration) -> Result<()> {
    let settings: Settings = settings(declaration)?;
    for metric in &settings.metrics {
        let problem = match (metric.denominator, metric.estimate.as_slice()) {
            (_, []) => "needs at least one line in `estimate`",
            (None, [_, _, ..]) => "has several lines in `estimate` but no `denominator`",
            _ => match Cells::new(&settings.jam_values, metric.open_ended.as_ref()) {
                Ok(_) => continue,
                Err(_) => "has a special value that is not a number",
            },
        };
        return Err(Error::config(format!("pipelines/census/acs5.toml: settings.metric `{}` {problem}", metric.key)));
    }
    Ok(())
}

pub(in crate::datasets) fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings: Settings = settings(context.declaration)?;
    let levels = [
        Level {
            dataset_id: "geo.zcta_metric",
            area_column: "zcta",
            prefix: &settings.levels.zcta,
            published: ["census.acs5_subject_zcta", "census.acs5_profile_zcta"],
        },
        Level {
            dataset_id: "geo.county_metric",
            area_column: "county_fips",
            prefix: &settings.levels.county,
            published: ["census.acs5_subject_county", "census.acs5_profile_county"],
        },
    ];
    let prefixes: Vec<String> = levels.iter().map(|level| level.prefix.to_owned()).collect();
    let tables = read_tables(context, &settings, &prefixes)?;
    let names = read_names(context, &prefixes)?;
    let universes = read_universes(context)?;
    levels.iter().map(|level| build_level(context, &settings, level, &tables, &names, &universes)).collect()
}

/// Decodes the tables side by side, with the columns that the metrics name.
fn read_tables(context: &Context<'_>, settings: &Settings, prefixes: &[String]) -> Result<BTreeMap<String, SourceFrame>> {
    let snapshots = context.snapshots("census.acs5_table");
    let read = |(number, snapshot): &(u64, crate::provenance::Snapshot)| {
        let table = snapshot.keys.get("table").map(|table| table.to_uppercase()).unwrap_or_default();
        let mut columns: Vec<String> = settings.metrics.iter().filter(|metric| metric.table == table).flat_map(Metric::columns).collect();
        columns.sort_unstable();
        columns.dedup();
        let adjust = |plan: crate::decode::ColumnPlan| {
            let plan = columns.iter().fold(plan, |plan, column| plan.want(column, &[column]));
            plan.keep_prefixes("geo_id", prefixes.to_vec())
        };
        Ok((table, context.read_snapshot(*number, snapshot, adjust)?))
    };
    let tables: BTreeMap<String, SourceFrame> = snapshots.par_iter().map(read).collect::<Result<_>>()?;
    match settings.metrics.iter().find(|metric| !tables.contains_key(&metric.table)) {
        Some(metric) => Err(Error::format(format!("table {} is missing: a vintage is built from all of its tables or not at all", metric.table))),
        None => Ok(tables),
    }
}

/// Names of the areas by GEO_ID.
fn read_names(context: &Context<'_>, prefixes: &[String]) -> Result<DataFrame> {
    let mut names = Vec::new();
    for (number, snapshot) in context.snapshots("census.acs5_geos") {
        names.push(context.read_snapshot(number, &snapshot, |plan| plan.keep_prefixes("geo_id", prefixes.to_vec()))?.frame);
    }
    let mut frame = names.pop().ok_or_else(|| Error::format("the geography file is missing"))?;
    frame = context.without_repeats(&frame)?;
    frame.rename(POINTERS, "name_pointers".into())?;
    Ok(frame)
}

/// The universe of each variable and the pointer to it, in the Bureau's words.
fn read_universes(context: &Context<'_>) -> Result<BTreeMap<String, (String, Vec<u64>)>> {
    let shells = context.read_one("census.acs5_shells")?.frame;
    let (variables, universes, pointers) = (text(&shells, "variable")?, text(&shells, "universe")?, pointers(&shells, POINTERS)?);
    let rows = variables.iter().zip(universes.iter()).zip(pointers);
    Ok(rows.filter_map(|((variable, universe), pointer)| Some((variable?.to_owned(), (universe?.to_owned(), pointer?)))).collect())
}

fn build_level(
    context: &Context<'_>,
    settings: &Settings,
    level: &Level<'_>,
    tables: &BTreeMap<String, SourceFrame>,
    names: &DataFrame,
    universes: &BTreeMap<String, (String, Vec<u64>)>,
) -> Result<Table> {
    // A record that cannot be split still begins with its GEO_ID.
    let is_of_level = |issue: &Issue| issue.source_text.as_ref().is_some_and(|text| text.starts_with(level.prefix));
    let mut issues: Vec<Issue> = tables.values().flat_map(|table| table.issues(level.dataset_id)).filter(is_of_level).collect();
    let mut frames = BTreeMap::new();
    for (table, source) in tables {
        let is_of_level = text(&source.frame, "geo_id")?.iter().map(|geo_id| geo_id.map(|geo_id| geo_id.starts_with(level.prefix))).collect::<BooleanChunked>();
        frames.insert(table.as_str(), context.without_repeats(&source.frame.filter(&is_of_level)?)?);
    }
    let areas = areas_of(level, frames.values(), names, &mut issues)?;
    let published = read_published(context, level, &areas)?;
    let vintage: i32 = context.partition.as_deref().and_then(|vintage| vintage.parse().ok()).ok_or_else(|| Error::config("the pipeline needs a vintage"))?;
    let tables: BTreeMap<&str, AlignedTable> = frames
        .into_par_iter()
        .map(|(table, frame)| Ok((table, AlignedTable::new(&areas, frame).context(|| format!("table {table}"))?)))
        .collect::<Result<_>>()?;
    let mut metrics = Vec::new();
    for metric in &settings.metrics {
        let table = &tables[metric.table.as_str()];
        let universe = universes.get(&metric.universe_variable());
        if context.is_replay() && (table.is_empty || universe.is_none()) {
            continue;
        }
        let universe = universe.ok_or_else(|| Error::format(format!("the table shells have no universe for {}", metric.universe_variable())))?;
        metrics.push(MetricSource::new(settings, metric, table, &published, universe)?);
    }
    // Rows come out in the order of the contract, whatever the order of the declaration.
    metrics.sort_by(|a, b| a.metric.key.cmp(&b.metric.key));
    let (codes, names, name_pointers) = (text(&areas, "code")?, text(&areas, "name")?, pointers(&areas, "name_pointers")?);
    let build_areas = |first: usize| {
        let mut rows = MetricRows::new(level, vintage);
        for (area, name_pointer) in name_pointers.iter().enumerate().skip(first).take(AREAS_AT_A_TIME) {
            let code = codes.get(area).unwrap_or_default();
            let area_name = names.get(area);
            metrics.iter().for_each(|metric| rows.add(metric, area, code, area_name, name_pointer.as_deref()));
        }
        rows.finish()
    };
    let starts: Vec<usize> = (0..areas.height().max(1)).step_by(AREAS_AT_A_TIME).collect();
    let built: Vec<(DataFrame, Vec<Issue>)> = starts.into_par_iter().map(build_areas).collect::<Result<_>>()?;
    let mut frames = Vec::with_capacity(built.len());
    for (frame, found) in built {
        frames.push(frame);
        issues.extend(found);
    }
    let frame = frames.into_iter().try_fold(None, stack)?.expect("there is one frame at least");
    let partition = BTreeMap::from([("vintage_year".to_owned(), vintage.to_string())]);
    Ok(Table { dataset_id: level.dataset_id.to_owned(), partition, frame, issues })
}

/// Areas whose rows are built by one thread at a time; a fixed number, so that nothing depends on the number of threads.
const AREAS_AT_A_TIME: usize = 2048;

fn stack(above: Option<DataFrame>, below: DataFrame) -> Result<Option<DataFrame>> {
    let Some(mut above) = above else { return Ok(Some(below)) };
    above.vstack_mut_owned(below)?;
    Ok(Some(above))
}

/// A table with one row per area, in the order of the areas.
struct AlignedTable {
    frame: DataFrame,
    /// None for an area that the table has no row for.
    pointers: Vec<Option<Vec<u64>>>,
    is_empty: bool,
}

impl AlignedTable {
    fn new(areas: &DataFrame, frame: DataFrame) -> Result<Self> {
        let is_empty = frame.height() == 0;
        let frame = left_join(areas.select(["geo_id"])?, frame, "geo_id")?;
        Ok(Self { pointers: pointers(&frame, POINTERS)?, frame, is_empty })
    }
}

/// Where the rows of one metric come from, in the order of the areas.
struct MetricSource<'s> {
    metric: &'s Metric,
    cells: Cells,
    table: &'s AlignedTable,
    estimates: Vec<&'s StringChunked>,
    whole: Option<&'s StringChunked>,
    moe: Option<&'s StringChunked>,
    share: Option<PublishedColumns>,
    universe: &'s (String, Vec<u64>),
    /// What the record says where the value comes from, when it comes from the table.
    variables: String,
    moe_variable: Option<String>,
}

impl<'s> MetricSource<'s> {
    fn new(settings: &Settings, metric: &'s Metric, table: &'s AlignedTable, published: &[DataFrame], universe: &'s (String, Vec<u64>)) -> Result<Self> {
        let column = |name: &str| text(&table.frame, name);
        Ok(Self {
            metric,
            cells: Cells::new(&settings.jam_values, metric.open_ended.as_ref()).map_err(|unknown| Error::config(unknown.0))?,
            table,
            estimates: metric.estimates().iter().map(|name| column(name)).collect::<Result<_>>()?,
            whole: metric.denominator().map(|name| column(&name)).transpose()?,
            moe: metric.moe().map(|name| column(&name)).transpose()?,
            share: PublishedColumns::find(metric, published)?,
            universe,
            variables: metric.estimates().into_iter().chain(metric.denominator()).collect::<Vec<_>>().join(LIST_SEPARATOR),
            moe_variable: metric.moe(),
        })
    }

    /// What an area's cells mean: those of the published percentage where there is one.
    ///
    /// # Errors
    /// As [`Cells::read`].
    fn read(&self, area: usize, published: Option<PublishedCells<'_>>) -> std::result::Result<Reading, Unknown> {
        let from_table = match self.whole {
            Some(whole) => self.cells.share(self.estimates.iter().map(|column| column.get(area)), whole.get(area)),
            None => self.cells.read(self.estimates[0].get(area), self.moe.and_then(|moe| moe.get(area))),
        };
        let Some((estimate, moe, _)) = published else { return from_table };
        let mut reading = self.cells.read(estimate, moe)?;
        // Counts that cannot be understood can neither confirm a published percentage nor take it away.
        let Ok(derived) = from_table else { return Ok(reading) };
        if matches!((derived.value, reading.value), (Some(a), Some(b)) if a.abs_diff(b) > 1) {
            reading.warning = Some("published_differs_from_counts");
        }
        // The published table marks every null alike; the counts say when there is nobody to take a percentage of.
        if reading.null_reason.is_some() && derived.null_reason == Some("zero_universe") {
            reading.null_reason = derived.null_reason;
        }
        Ok(reading)
    }

    /// The cells that a value would come from, with their variables: `B19013_E001=-777777777`.
    fn cells_as_published(&self, area: usize, published: Option<PublishedCells<'_>>) -> String {
        let cells: Vec<(String, Option<&str>)> = match (&self.metric.published, published) {
            (Some(share), Some((estimate, moe, _))) => vec![(share.estimate.clone(), estimate), (share.moe.clone(), moe)],
            _ => {
                let estimates = self.metric.estimates().into_iter().zip(self.estimates.iter().map(|column| column.get(area)));
                let whole = self.metric.denominator().zip(self.whole.map(|column| column.get(area)));
                let moe = self.metric.moe().zip(self.moe.map(|column| column.get(area)));
                estimates.chain(whole).chain(moe).collect()
            }
        };
        let cells = cells.into_iter().map(|(variable, cell)| format!("{variable}={}", cell.unwrap_or_default().replace(LIST_SEPARATOR, " ")));
        cells.collect::<Vec<_>>().join(LIST_SEPARATOR)
    }
}

/// Every area that any table has, with its code and name, in order.
fn areas_of<'f>(level: &Level<'_>, frames: impl Iterator<Item = &'f DataFrame>, names: &DataFrame, issues: &mut Vec<Issue>) -> Result<DataFrame> {
    let mut geo_ids = BTreeSet::new();
    for frame in frames {
        geo_ids.extend(text(frame, "geo_id")?.iter().flatten());
    }
    let mut codes = Vec::with_capacity(geo_ids.len());
    for geo_id in &geo_ids {
        let code = geo_id.strip_prefix(level.prefix).filter(|code| code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_digit()));
        if code.is_none() {
            let detail = format!("`{geo_id}` is not {} and five digits", level.prefix);
            issues.push(finding("bad_area_code", Severity::Quarantine, level.dataset_id, geo_id, detail));
        }
        codes.push(code);
    }
    let codes = StringChunked::from_iter_options("code".into(), codes.into_iter());
    let is_area = codes.is_not_null();
    let areas = DataFrame::new(geo_ids.len(), vec![text_column("geo_id", geo_ids.into_iter().map(Some)), codes.into_column()])?;
    left_join(areas.filter(&is_area)?, names.clone(), "geo_id")
}

/// The published percentages of a level, one column per variable and one of pointers per file, aligned with the areas.
fn read_published(context: &Context<'_>, level: &Level<'_>, areas: &DataFrame) -> Result<Vec<DataFrame>> {
    let mut aligned = Vec::new();
    for source_id in level.published {
        for (number, snapshot) in context.snapshots(source_id) {
            let fields: Vec<&str> = snapshot.keys.get("fields").map(|fields| fields.split(',').collect()).unwrap_or_default();
            let adjust = |plan: crate::decode::ColumnPlan| fields.iter().fold(plan, |plan, field| plan.want(field, &[field]));
            let frame = context.read_snapshot(number, &snapshot, adjust)?.frame;
            let code = if level.area_column == "zcta" {
                text(&frame, "zcta")?.clone().with_name("code".into()).into_column()
            } else {
                let (states, counties) = (text(&frame, "state")?, text(&frame, "county")?);
                text_column("code", states.iter().zip(counties.iter()).map(|(state, county)| Some([state?, county?].concat())))
            };
            let mut coded = frame;
            coded.with_column(code)?;
            let coded = context.without_repeats(&coded)?;
            aligned.push(left_join(areas.select(["code"])?, coded, "code")?);
        }
    }
    Ok(aligned)
}

/// Collects rows, column by column.
struct MetricRows<'l> {
    level: &'l Level<'l>,
    vintage: i32,
    text: [StringChunkedBuilder; TEXT_COLUMNS.len()],
    value: Vec<Option<i64>>,
    moe: Vec<Option<i64>>,
    is_derived: Vec<bool>,
    /// The pointers of all rows, and where those of each end.
    pointers: Vec<u64>,
    pointer_ends: Vec<usize>,
    issues: Vec<Issue>,
    /// Reused from row to row.
    record_id: String,
}

const TEXT_COLUMNS: [&str; 14] = [
    "record_id",
    "area",
    "area_name",
    "metric",
    "unit",
    "moe_status",
    "qualifier",
    "null_reason",
    "universe",
    "table_id",
    "variables",
    "moe_variable",
    "warnings",
    "unknown_values",
];

impl<'l> MetricRows<'l> {
    fn new(level: &'l Level<'l>, vintage: i32) -> Self {
        Self {
            level,
            vintage,
            text: TEXT_COLUMNS.map(|name| StringChunkedBuilder::new(if name == "area" { level.area_column } else { name }.into(), 0)),
            value: Vec::new(),
            moe: Vec::new(),
            is_derived: Vec::new(),
            pointers: Vec::new(),
            pointer_ends: Vec::new(),
            issues: Vec::new(),
            record_id: String::new(),
        }
    }

    /// Adds the row of one metric for an area, or the finding why there is none.
    fn add(&mut self, source: &MetricSource<'_>, area: usize, code: &str, area_name: Option<&str>, name_pointer: Option<&[u64]>) {
        let (metric, dataset_id) = (source.metric, self.level.dataset_id);
        self.record_id.clear();
        write!(self.record_id, "{dataset_id}:{}:{code}:{}", self.vintage, metric.key).expect("text can be written");
        let Some(table_pointer) = &source.table.pointers[area] else {
            let detail = format!("{} has no row for {code}, other tables of the vintage have", metric.table);
            return self.issues.push(finding("missing_area", Severity::Quarantine, dataset_id, &self.record_id, detail));
        };
        let published = source.share.as_ref().and_then(|share| share.row(area));
        let share_pointer = published.map(|(_, _, pointer)| pointer);
        let share = metric.published.as_ref().filter(|_| share_pointer.is_some());
        let mut unknown_values = String::new();
        let reading = source.read(area, published).unwrap_or_else(|unknown| {
            let place = share.map_or(&metric.table, |share| &share.table);
            let detail = format!("{place}: {}; declare what it means under settings.jam_values in pipelines/census/acs5.toml", unknown.0);
            self.issues.push(finding("unknown_special_value", Severity::Warning, dataset_id, &self.record_id, detail));
            unknown_values = source.cells_as_published(area, published);
            Reading::null("unknown_special_value")
        });
        let table_universe = metric.universe.as_ref().unwrap_or(&source.universe.0);
        let cells = [
            Some(self.record_id.as_str()),
            Some(code),
            area_name,
            Some(&metric.key),
            Some(&metric.unit),
            Some(reading.moe_status),
            reading.qualifier.as_deref(),
            reading.null_reason,
            Some(share.map_or(table_universe, |share| &share.universe)),
            Some(share.map_or(&metric.table, |share| &share.table)),
            Some(share.map_or(&source.variables, |share| &share.estimate)),
            share.map_or(source.moe_variable.as_deref(), |share| Some(&share.moe)),
            Some(reading.warning.unwrap_or_default()),
            Some(&unknown_values),
        ];
        for (column, cell) in self.text.iter_mut().zip(cells) {
            column.append_option(cell);
        }
        self.value.push(reading.value);
        self.moe.push(reading.moe);
        self.is_derived.push(metric.denominator.is_some() && share.is_none());
        for pointer in [table_pointer.as_slice(), name_pointer.unwrap_or_default(), &source.universe.1, share_pointer.unwrap_or_default()] {
            self.pointers.extend_from_slice(pointer);
        }
        self.pointer_ends.push(self.pointers.len());
    }

    fn finish(self) -> Result<(DataFrame, Vec<Issue>)> {
        let height = self.value.len();
        let mut columns: Vec<Column> = self.text.into_iter().map(|builder| builder.finish().into_column()).collect();
        columns.push(Column::new_scalar("vintage_year".into(), Scalar::from(self.vintage), height));
        columns.push(Column::new("value".into(), self.value));
        columns.push(Column::new("moe".into(), self.moe));
        columns.push(Column::new("is_derived".into(), self.is_derived));
        let start = |row: usize| if row == 0 { 0 } else { self.pointer_ends[row - 1] };
        columns.push(pointer_column((0..height).map(|row| &self.pointers[start(row)..self.pointer_ends[row]])));
        Ok((DataFrame::new(height, columns)?, self.issues))
    }
}

/// Estimate, margin and pointer of an area's published percentage.
type PublishedCells<'c> = (Option<&'c str>, Option<&'c str>, &'c [u64]);

/// The columns of one published percentage, aligned with the areas.
struct PublishedColumns {
    estimate: StringChunked,
    moe: StringChunked,
    pointers: Vec<Option<Vec<u64>>>,
}

impl PublishedColumns {
    fn find(metric: &Metric, published: &[DataFrame]) -> Result<Option<Self>> {
        let Some(share) = &metric.published else { return Ok(None) };
        let Some(frame) = published.iter().find(|frame| frame.column(&share.estimate).is_ok()) else { return Ok(None) };
        Ok(Some(Self { estimate: text(frame, &share.estimate)?.clone(), moe: text(frame, &share.moe)?.clone(), pointers: pointers(frame, POINTERS)? }))
    }

    /// Those of a row, when the file has the area.
    fn row(&self, row: usize) -> Option<PublishedCells<'_>> {
        self.pointers[row].as_deref().map(|pointer| (self.estimate.get(row), self.moe.get(row), pointer))
    }
}
