//! The metrics of one vintage in memory: twelve cells for each area, found by the area's code. What cells have in common (unit,
//! universe, variables, file) is kept once.

use std::collections::HashMap;

use arrow::array::Array;
use bytes::Bytes;

use crate::error::{Error, Result, ResultExt};
use crate::serve::geo::metric_text::{MetricSays, MetricText, json_text};
use crate::serve::json::Json;
use crate::serve::place::area_codes::AreaCodes;
use crate::serve::release::dictionary::{ABSENT, Dictionary, numbered};
use crate::serve::release::provenance::{Origin, PartOrigins};
use crate::serve::release::table::{Table, Texts};
use crate::store::Part;

const COLUMNS: [&str; 15] = [
    "vintage_year",
    "area_name",
    "metric",
    "unit",
    "value",
    "moe",
    "moe_status",
    "qualifier",
    "null_reason",
    "universe",
    "table_id",
    "variables",
    "moe_variable",
    "is_derived",
    "moe_approximate?",
];

/// Estimates of one vintage for one kind of area.
#[derive(Debug)]
pub struct MetricTable {
    pub vintage_year: i32,
    /// The same as text, for record ids.
    pub vintage_text: String,
    /// The vintage object of answers, as JSON text.
    pub vintage: Box<str>,
    codes: AreaCodes,
    names: Vec<Option<Box<str>>>,
    /// One row of cells per area, in the order of the metric keys.
    cells: Vec<Cell>,
    shared: Vec<Shared>,
    texts: Vec<MetricText>,
    /// What each metric's cells usually are, for areas that have none.
    usual: Vec<Option<u16>>,
    descriptors: Vec<Descriptor>,
    /// Qualifiers, reasons, statuses and warning lists; 0 is none.
    words: Dictionary,
    metric_count: usize,
}

/// One estimate. Values are in tenths.
#[derive(Debug, Clone, Copy)]
struct Cell {
    value: i64,
    /// The published margin; of what was computed from counts the approximate one.
    moe: i64,
    shared: u16,
    validation_status: u16,
}

const NONE: i64 = i64::MIN;
const EMPTY: Cell = Cell { value: NONE, moe: NONE, shared: ABSENT, validation_status: 0 };

/// What many cells of a metric share beside their figures, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Shared {
    metric: u16,
    descriptor: u16,
    qualifier: u16,
    null_reason: u16,
    moe_status: u16,
    warnings: u16,
}

/// What many cells share of where they come from.
#[derive(Debug, PartialEq, Eq)]
pub struct Descriptor {
    pub unit: String,
    pub universe: String,
    table_id: String,
    variables: Vec<String>,
    moe_variable: Option<String>,
    is_derived: bool,
    /// The members `universe` and `source` of the metric's object, as JSON text.
    pub universe_and_source: Box<str>,
    pub origin: Option<Origin>,
}

/// One estimate, ready to be written. Values are in tenths.
#[derive(Debug, Clone, Copy)]
pub struct Estimate<'a> {
    pub value: Option<i64>,
    pub moe: Option<i64>,
    pub moe_approximate: Option<i64>,
    pub moe_status: &'a str,
    pub qualifier: Option<&'a str>,
    pub null_reason: Option<&'a str>,
    pub validation_status: &'a str,
    pub descriptor: &'a Descriptor,
}

impl MetricTable {
    /// Reads one part. `area_column` holds the codes; `metric_keys` give the order of the cells.
    ///
    /// # Errors
    /// `Store`, when the part lacks a column or is out of order; `Contract`, when it holds a metric that the contract does not.
    pub fn read(origins: &PartOrigins, area_column: &str, metric_keys: &[String], part: &Part, bytes: Bytes) -> Result<Self> {
        let columns: Vec<&str> = COLUMNS.into_iter().chain([area_column, "validation_status", "warnings"]).collect();
        let mut made = Builder::new(metric_keys);
        Table::each(bytes.clone(), &columns, &part.path, |table| made.add(table, area_column, &part.path))?;
        let origins = origins.of_rows(part, bytes, &made.first_rows)?;
        for (descriptor, origin) in made.descriptors.iter_mut().zip(origins) {
            descriptor.origin = Some(origin);
        }
        let vintage_year = made.vintage_year.or_else(|| part.partition.get("vintage_year")?.parse().ok()).unwrap_or(0);
        Ok(made.finish(vintage_year))
    }

    /// Number of areas.
    pub fn areas(&self) -> usize {
        self.codes.len()
    }

    /// The code of an area.
    pub fn code(&self, area: usize) -> String {
        self.codes.at(area)
    }

    /// Finds an area.
    pub fn find(&self, code: &str) -> Option<usize> {
        self.codes.find(code)
    }

    /// The area's name in the survey.
    pub fn area_name(&self, area: usize) -> Option<&str> {
        self.names[area].as_deref()
    }

    /// The estimate of an area; none when its record was set aside.
    pub fn estimate(&self, area: usize, metric: usize) -> Option<Estimate<'_>> {
        let cell = &self.cells[area * self.metric_count + metric];
        let shared = self.shared.get(usize::from(cell.shared))?;
        let descriptor = &self.descriptors[usize::from(shared.descriptor)];
        let margin = figure(cell.moe);
        Some(Estimate {
            value: figure(cell.value),
            moe: margin.filter(|_| !descriptor.is_derived),
            moe_approximate: margin.filter(|_| descriptor.is_derived),
            moe_status: self.words.text(shared.moe_status).unwrap_or_default(),
            qualifier: self.words.text(shared.qualifier),
            null_reason: self.words.text(shared.null_reason),
            validation_status: self.words.text(cell.validation_status).unwrap_or_default(),
            descriptor,
        })
    }

    /// Writes the members of the metric's object of an area, with the pieces of its record's id; whether there is an estimate.
    pub fn write(&self, json: &mut Json, area: usize, metric: usize, record_id: &[&str]) -> bool {
        let cell = &self.cells[area * self.metric_count + metric];
        let Some(text) = self.texts.get(usize::from(cell.shared)) else { return false };
        text.write(json, figure(cell.value), figure(cell.moe), Some(record_id));
        true
    }

    /// What the metric's cells usually are.
    pub fn usual(&self, metric: usize) -> Option<&Descriptor> {
        self.usual[metric].map(|number| &self.descriptors[usize::from(number)])
    }
}

fn figure(tenths: i64) -> Option<i64> {
    (tenths != NONE).then_some(tenths)
}

/// What was read of a part so far.
struct Builder<'a> {
    metric_keys: &'a [String],
    positions: HashMap<&'a str, usize>,
    rows: usize,
    vintage_year: Option<i32>,
    codes: AreaCodes,
    names: Vec<Option<Box<str>>>,
    cells: Vec<Cell>,
    shared: Numbers,
    usual: Vec<Option<u16>>,
    descriptors: Vec<Descriptor>,
    /// The first row of each descriptor.
    first_rows: Vec<usize>,
    words: Dictionary,
}

impl<'a> Builder<'a> {
    fn new(metric_keys: &'a [String]) -> Self {
        Self {
            metric_keys,
            positions: metric_keys.iter().enumerate().map(|(index, key)| (key.as_str(), index)).collect(),
            rows: 0,
            vintage_year: None,
            codes: AreaCodes::default(),
            names: Vec::new(),
            cells: Vec::new(),
            shared: Numbers::default(),
            usual: vec![None; metric_keys.len()],
            descriptors: Vec::new(),
            first_rows: Vec::new(),
            words: Dictionary::default(),
        }
    }

    /// Adds the rows of a piece.
    fn add(&mut self, table: &Table, area_column: &str, place: &str) -> Result<()> {
        // Releases of before have none.
        let approximate = table.decimals("moe_approximate").ok();
        let (areas, names, metrics) = (table.texts(area_column)?, table.texts("area_name")?, table.texts("metric")?);
        let (values, moes) = (table.decimals("value")?, table.decimals("moe")?);
        if (values.scale(), moes.scale()) != (1, 1) {
            return Err(Error::store(format!("{place}: estimates are expected in tenths")));
        }
        let (statuses, qualifiers, reasons) = (table.texts("moe_status")?, table.texts("qualifier")?, table.texts("null_reason")?);
        let (verdicts, warnings) = (table.texts("validation_status")?, table.text_lists("warnings")?);
        let sources = SourceColumns::of(table)?;
        if self.vintage_year.is_none() && table.rows() > 0 {
            self.vintage_year = Some(table.int32s("vintage_year")?.value(0));
        }
        let metric_count = self.metric_keys.len();
        for row in 0..table.rows() {
            if self.codes.push(areas.at(row)).context(|| place.to_owned())? {
                self.names.push(names.get(row).map(Box::from));
                self.cells.resize(self.codes.len() * metric_count, EMPTY);
            }
            let unknown = || Error::contract(format!("{place}: metric `{}` is not in the contract", metrics.at(row)));
            let position = *self.positions.get(metrics.at(row)).ok_or_else(unknown)?;
            let descriptor = match self.usual[position] {
                Some(number) if sources.is_like(row, &self.descriptors[usize::from(number)]) => number,
                _ => {
                    let known = self.descriptors.iter().position(|descriptor| sources.is_like(row, descriptor));
                    numbered(known.unwrap_or_else(|| {
                        self.descriptors.push(sources.descriptor(row));
                        self.first_rows.push(self.rows + row);
                        self.descriptors.len() - 1
                    }))?
                }
            };
            self.usual[position].get_or_insert(descriptor);
            let decimal = |array: &arrow::array::Decimal128Array| if array.is_null(row) { NONE } else { array.value(row) as i64 };
            let warning_list = if warnings.at(row).len() == 0 { None } else { Some(warnings.at(row).collect::<Vec<_>>().join(",")) };
            let words = &mut self.words;
            let shared = self.shared.number(Shared {
                metric: numbered(position)?,
                descriptor,
                qualifier: words.number(qualifiers.get(row))?,
                null_reason: words.number(reasons.get(row))?,
                moe_status: words.number(statuses.get(row))?,
                warnings: words.number(warning_list.as_deref())?,
            })?;
            self.cells[(self.codes.len() - 1) * metric_count + position] = Cell {
                value: decimal(&values),
                moe: approximate.as_ref().filter(|_| sources.derived.value(row)).map_or_else(|| decimal(&moes), decimal),
                shared,
                validation_status: words.number(verdicts.get(row))?,
            };
        }
        self.rows += table.rows();
        Ok(())
    }

    fn finish(self, vintage_year: i32) -> MetricTable {
        let Self { metric_keys, descriptors, words, .. } = self;
        let text = |shared: &Shared| {
            let descriptor: &Descriptor = &descriptors[usize::from(shared.descriptor)];
            MetricText::new(&MetricSays {
                key: &metric_keys[usize::from(shared.metric)],
                unit: &descriptor.unit,
                is_derived: descriptor.is_derived,
                moe_status: words.text(shared.moe_status).unwrap_or_default(),
                qualifier: words.text(shared.qualifier),
                null_reason: words.text(shared.null_reason),
                universe_and_source: Some(&descriptor.universe_and_source),
                warnings: words.text(shared.warnings),
            })
        };
        let shared = self.shared.all;
        let texts = shared.iter().map(text).collect();
        MetricTable {
            vintage_year,
            vintage_text: vintage_year.to_string(),
            vintage: json_text(|json| write_vintage(json, vintage_year)),
            codes: self.codes,
            names: self.names,
            cells: self.cells,
            shared,
            texts,
            usual: self.usual,
            descriptors,
            words,
            metric_count: metric_keys.len(),
        }
    }
}

/// Numbers for what cells share, each different one once.
#[derive(Default)]
struct Numbers {
    all: Vec<Shared>,
    numbers: HashMap<Shared, u16>,
}

impl Numbers {
    fn number(&mut self, shared: Shared) -> Result<u16> {
        if let Some(number) = self.numbers.get(&shared) {
            return Ok(*number);
        }
        let number = numbered(self.all.len())?;
        self.all.push(shared);
        self.numbers.insert(shared, number);
        Ok(number)
    }
}

/// Writes a vintage object: a five-year survey is named by its last year.
pub fn write_vintage(json: &mut Json, year: i32) {
    json.object(|json| {
        json.key("survey").text("ACS 5-year estimates");
        json.key("period").text(&format!("{}-{year}", year - 4));
        json.key("year").integer(i64::from(year));
    });
}

/// The columns that describe where an estimate comes from.
struct SourceColumns {
    units: Texts,
    universes: Texts,
    table_ids: Texts,
    variables: crate::serve::release::table::TextLists,
    moe_variables: Texts,
    derived: arrow::array::BooleanArray,
}

impl SourceColumns {
    fn of(table: &Table) -> Result<Self> {
        Ok(Self {
            units: table.texts("unit")?,
            universes: table.texts("universe")?,
            table_ids: table.texts("table_id")?,
            variables: table.text_lists("variables")?,
            moe_variables: table.texts("moe_variable")?,
            derived: table.flags("is_derived")?,
        })
    }

    fn is_like(&self, row: usize, descriptor: &Descriptor) -> bool {
        self.table_ids.at(row) == descriptor.table_id
            && self.moe_variables.get(row) == descriptor.moe_variable.as_deref()
            && self.derived.value(row) == descriptor.is_derived
            && self.variables.is_equal(row, &descriptor.variables)
            && self.units.at(row) == descriptor.unit
            && self.universes.at(row) == descriptor.universe
    }

    fn descriptor(&self, row: usize) -> Descriptor {
        let (table_id, moe_variable, is_derived) = (self.table_ids.at(row), self.moe_variables.get(row), self.derived.value(row));
        let universe_and_source = json_text(|json| {
            json.key("universe").text(self.universes.at(row));
            json.key("source").object(|json| {
                json.key("table_id").text(table_id);
                json.key("variables").texts(self.variables.at(row));
                json.key("moe_variable").optional_text(moe_variable);
                json.key("derived").flag(is_derived);
            });
        });
        Descriptor {
            unit: self.units.at(row).to_owned(),
            universe: self.universes.at(row).to_owned(),
            table_id: table_id.to_owned(),
            variables: self.variables.at(row).map(str::to_owned).collect(),
            moe_variable: moe_variable.map(str::to_owned),
            is_derived,
            universe_and_source,
            origin: None,
        }
    }
}
