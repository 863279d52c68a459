//! Reads the metrics of one vintage into memory, one piece of a part at a time.

use std::collections::HashMap;

use arrow::array::{Array, BooleanArray, Decimal128Array, Int32Array};
use arrow::datatypes::ArrowNativeType;
use bytes::Bytes;

use crate::geo::estimates::{Descriptor, Estimates, NONE, Shared};
use crate::index::file::{Column, Small};
use crate::release::dictionary::{ABSENT, numbered};
use crate::release::key_columns::key_columns;
use crate::release::provenance::{FirstSource, first_sources};
use crate::release::table::{Table, TextLists, Texts};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_store::Part;

key_columns! {
    struct EstimateColumns {
        vintage_year: Int32Array,
        area_name: Texts,
        metric: Texts,
        unit: Texts,
        value: Decimal128Array,
        bound: Decimal128Array,
        bound_type: Texts,
        moe: Decimal128Array,
        moe_status: Texts,
        qualifier: Texts,
        null_reason: Texts,
        universe: Texts,
        table_id: Texts,
        variables: TextLists,
        moe_variable: Texts,
        is_derived: BooleanArray,
        validation_status: Texts,
        warnings: TextLists,
    }
}

/// Column that older releases lack.
const ADDED: &str = "moe_approximate?";

/// Reads one part. `area_column` holds the codes; `metric_keys` gives the order of the cells.
///
/// # Errors
/// `Store` if the part lacks a column or is not sorted; `Contract` if the part contains a metric
/// that the contract lacks.
pub fn read(
    area_column: &str,
    metric_keys: &[String],
    part: &Part,
    bytes: Bytes,
) -> Result<Estimates> {
    let columns = [EstimateColumns::COLUMNS, &[area_column, ADDED]].concat();
    let mut made = Builder::new(metric_keys);
    Table::each(bytes.clone(), &columns, &part.path, |piece| {
        made.add(piece, area_column, &part.path)
    })?;
    let sources = first_sources(part, bytes, &made.first_rows)?;
    let mut estimates = made.finish(sources);
    if estimates.vintage_year.is_none() {
        *estimates.vintage_year = part
            .partition
            .get("vintage_year")
            .and_then(|year| year.parse().ok());
    }
    Ok(estimates)
}

#[derive(Clone, Copy)]
struct Cell {
    value: i64,
    moe: i64,
    shared: u16,
    validation_status: u16,
}

const EMPTY: Cell = Cell {
    value: NONE,
    moe: NONE,
    shared: ABSENT,
    validation_status: 0,
};

/// State of a part that is being read.
struct Builder<'a> {
    metric_keys: &'a [String],
    positions: HashMap<&'a str, usize>,
    rows: usize,
    /// Estimates read so far, except the data in the fields below.
    estimates: Estimates,
    cells: Vec<Cell>,
    shared: Numbers,
    /// First row of each descriptor.
    first_rows: Vec<usize>,
}

impl<'a> Builder<'a> {
    fn new(metric_keys: &'a [String]) -> Self {
        Self {
            metric_keys,
            positions: metric_keys
                .iter()
                .enumerate()
                .map(|(index, key)| (key.as_str(), index))
                .collect(),
            rows: 0,
            estimates: Estimates {
                usual: Small(vec![None; metric_keys.len()]),
                ..Estimates::default()
            },
            cells: Vec::new(),
            shared: Numbers::default(),
            first_rows: Vec::new(),
        }
    }

    /// Adds the rows of a piece.
    fn add(&mut self, table: &Table, area_column: &str, place: &str) -> Result<()> {
        let (areas, approximate, columns) = (
            table.texts(area_column)?,
            table.decimals("moe_approximate").ok(),
            EstimateColumns::open(table)?,
        );
        if [&columns.value, &columns.bound, &columns.moe]
            .iter()
            .any(|figures| figures.scale() != 1)
        {
            return Err(Error::store(format!(
                "{place}: expected estimates in tenths"
            )));
        }
        let Self {
            metric_keys,
            positions,
            estimates,
            cells,
            shared: all_shared,
            first_rows,
            ..
        } = self;
        if estimates.vintage_year.is_none() && table.rows() > 0 {
            *estimates.vintage_year = Some(columns.vintage_year.value(0));
        }
        let metric_count = metric_keys.len();
        for row in 0..table.rows() {
            if estimates
                .codes
                .push(areas.at(row))
                .context(|| place.to_owned())?
            {
                // Every name in the survey contains `ZCTA5`, the Bureau's name for this kind of
                // area.
                estimates.names.push(
                    &columns
                        .area_name
                        .get(row)
                        .unwrap_or_default()
                        .replacen("ZCTA5 ", "ZCTA ", 1),
                )?;
                cells.resize(estimates.codes.len() * metric_count, EMPTY);
            }
            let unknown = || {
                Error::contract(format!(
                    "{place}: metric `{}` is not in the contract",
                    columns.metric.at(row)
                ))
            };
            let position = *positions.get(columns.metric.at(row)).ok_or_else(unknown)?;
            let descriptor = match estimates.usual[position] {
                Some(number)
                    if columns.is_like(row, &estimates.descriptors[usize::from(number)]) =>
                {
                    number
                }
                _ => {
                    let known = estimates
                        .descriptors
                        .iter()
                        .position(|descriptor| columns.is_like(row, descriptor));
                    numbered(known.unwrap_or_else(|| {
                        estimates.descriptors.push(columns.descriptor(row));
                        first_rows.push(self.rows + row);
                        estimates.descriptors.len() - 1
                    }))?
                }
            };
            estimates.usual[position].get_or_insert(descriptor);
            let decimal = |array: &Decimal128Array| {
                if array.is_null(row) {
                    NONE
                } else {
                    array.value(row) as i64
                }
            };
            let warning_list = if columns.warnings.at(row).len() == 0 {
                None
            } else {
                Some(columns.warnings.at(row).collect::<Vec<_>>().join(","))
            };
            let words = &mut estimates.words;
            let shared = all_shared.number(Shared {
                metric: numbered(position)?,
                descriptor,
                bound_type: words.number(columns.bound_type.get(row))?,
                qualifier: words.number(columns.qualifier.get(row))?,
                null_reason: words.number(columns.null_reason.get(row))?,
                moe_status: words.number(columns.moe_status.get(row))?,
                warnings: words.number(warning_list.as_deref())?,
            })?;
            cells[(estimates.codes.len() - 1) * metric_count + position] = Cell {
                value: decimal(if columns.bound_type.get(row).is_some() {
                    &columns.bound
                } else {
                    &columns.value
                }),
                moe: approximate
                    .as_ref()
                    .filter(|_| columns.is_derived.value(row))
                    .map_or_else(|| decimal(&columns.moe), decimal),
                shared,
                validation_status: words.number(columns.validation_status.get(row))?,
            };
        }
        self.rows += table.rows();
        Ok(())
    }

    fn finish(self, sources: Vec<Option<FirstSource>>) -> Estimates {
        let Self {
            estimates,
            cells,
            shared,
            ..
        } = self;
        Estimates {
            values: column(&cells, |cell| cell.value),
            moes: column(&cells, |cell| cell.moe),
            shared_of: column(&cells, |cell| cell.shared),
            validation_statuses: column(&cells, |cell| cell.validation_status),
            shared: Small(shared.all),
            sources: Small(sources),
            ..estimates
        }
    }
}

fn column<T: ArrowNativeType>(cells: &[Cell], of: impl Fn(&Cell) -> T) -> Column<T> {
    cells.iter().map(of).collect::<Vec<_>>().into()
}

/// Numbers the distinct [`Shared`] values.
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

impl EstimateColumns {
    /// Returns true if an estimate has this descriptor.
    fn is_like(&self, row: usize, descriptor: &Descriptor) -> bool {
        self.table_id.at(row) == descriptor.table_id
            && self.moe_variable.get(row) == descriptor.moe_variable.as_deref()
            && self.is_derived.value(row) == descriptor.is_derived
            && self.variables.is_equal(row, &descriptor.variables)
            && self.unit.at(row) == descriptor.unit
            && self.universe.at(row) == descriptor.universe
    }

    fn descriptor(&self, row: usize) -> Descriptor {
        Descriptor {
            unit: self.unit.at(row).to_owned(),
            universe: self.universe.at(row).to_owned(),
            table_id: self.table_id.at(row).to_owned(),
            variables: self.variables.at(row).map(str::to_owned).collect(),
            moe_variable: self.moe_variable.get(row).map(str::to_owned),
            is_derived: self.is_derived.value(row),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, BooleanArray, Decimal128Array, Int32Array, ListArray, RecordBatch, StringArray,
    };
    use arrow::datatypes::Int32Type;
    use bytes::Bytes;
    use parquet::arrow::ArrowWriter;

    use super::{ADDED, Builder, EstimateColumns};
    use crate::geo::estimates::Estimates;
    use crate::release::table::Table;

    /// Enough rows for more than two pieces. Pieces end within an area.
    const ROWS: usize = 40_000;
    /// Row with its own descriptor, which first occurs in the second piece.
    const LATE: usize = 20_000;
    const KEYS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

    fn part() -> Bytes {
        let rows = 0..ROWS;
        let texts = |text: &dyn Fn(usize) -> Option<String>| {
            Arc::new(rows.clone().map(text).collect::<StringArray>()) as ArrayRef
        };
        let decimals = |number: &dyn Fn(usize) -> Option<i128>| {
            let cells = rows.clone().map(number).collect::<Decimal128Array>();
            Arc::new(cells.with_precision_and_scale(12, 1).unwrap()) as ArrayRef
        };
        let lists = |texts: &dyn Fn(usize) -> Vec<&'static str>| {
            let values: StringArray = rows.clone().flat_map(texts).map(Some).collect();
            let lengths = ListArray::from_iter_primitive::<Int32Type, _, _>(
                rows.clone()
                    .map(|row| Some(texts(row).iter().map(|_| None::<i32>).collect::<Vec<_>>())),
            );
            let field = Arc::new(arrow::datatypes::Field::new_list_field(
                arrow::datatypes::DataType::Utf8,
                true,
            ));
            Arc::new(ListArray::new(
                field,
                lengths.offsets().clone(),
                Arc::new(values),
                None,
            )) as ArrayRef
        };
        let area = |row: usize| row / KEYS.len();
        let columns = [
            (
                "vintage_year",
                Arc::new(Int32Array::from(vec![2023; ROWS])) as ArrayRef,
            ),
            (
                "area_name",
                texts(&|row| (area(row) % 3 > 0).then(|| format!("Area {}", area(row)))),
            ),
            (
                "metric",
                texts(&|row| Some(KEYS[row % KEYS.len()].to_owned())),
            ),
            (
                "unit",
                texts(&|row| Some(if row % 2 == 0 { "persons" } else { "years" }.to_owned())),
            ),
            (
                "value",
                decimals(&|row| (row % 11 > 0).then_some(row as i128)),
            ),
            (
                "bound",
                decimals(&|row| (row % 1_000 == 7).then_some(row as i128 + 3)),
            ),
            (
                "bound_type",
                texts(&|row| (row % 1_000 == 7).then(|| "at_least".to_owned())),
            ),
            (
                "moe",
                decimals(&|row| (row % 5 > 0).then_some(row as i128 + 1)),
            ),
            (
                "moe_status",
                texts(&|row| Some(format!("status {}", row / 9_000))),
            ),
            (
                "qualifier",
                texts(&|row| (row % 1_000 == 7).then(|| "controlled".to_owned())),
            ),
            (
                "null_reason",
                texts(&|row| (row % 11 == 0).then(|| "suppressed".to_owned())),
            ),
            ("universe", texts(&|_| Some("Total population".to_owned()))),
            (
                "table_id",
                texts(&|row| {
                    Some(if row == LATE {
                        "B99".to_owned()
                    } else {
                        format!("B0{}", row % KEYS.len())
                    })
                }),
            ),
            (
                "variables",
                lists(&|row| {
                    if row % KEYS.len() == 3 {
                        vec!["x", "y"]
                    } else {
                        vec!["x"]
                    }
                }),
            ),
            (
                "moe_variable",
                texts(&|row| (row % KEYS.len() > 1).then(|| "m".to_owned())),
            ),
            (
                "is_derived",
                Arc::new(
                    rows.clone()
                        .map(|row| Some(row % KEYS.len() == 3))
                        .collect::<BooleanArray>(),
                ) as ArrayRef,
            ),
            ("moe_approximate", decimals(&|row| Some(row as i128 + 2))),
            ("zcta", texts(&|row| Some(format!("{:05}", area(row))))),
            (
                "validation_status",
                texts(&|row| Some(if row > 30_000 { "warned" } else { "passed" }.to_owned())),
            ),
            (
                "warnings",
                lists(&|row| {
                    if row > 30_000 {
                        vec!["late"]
                    } else {
                        Vec::new()
                    }
                }),
            ),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, cells)| (name, cells, true)),
        )
        .unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap().into()
    }

    /// Reads the part; returns all data, the first row of each descriptor, and the number of
    /// pieces.
    fn read(in_pieces: bool) -> (String, Vec<usize>, usize) {
        let keys = KEYS.map(str::to_owned);
        let columns = [EstimateColumns::COLUMNS, &["zcta", ADDED]].concat();
        let (mut made, mut pieces) = (Builder::new(&keys), 0);
        let mut add = |piece: &Table| {
            pieces += 1;
            made.add(piece, "zcta", "part")
        };
        match in_pieces {
            true => Table::each(part(), &columns, "part", &mut add).unwrap(),
            false => add(&Table::read(part(), &columns, "part").unwrap()).unwrap(),
        }
        let first_rows = made.first_rows.clone();
        let estimates = made.finish(Vec::new());
        assert_eq!(*estimates.vintage_year, Some(2023));
        let Estimates {
            codes,
            names,
            values,
            moes,
            shared_of,
            validation_statuses,
            shared,
            usual,
            descriptors,
            words,
            ..
        } = &estimates;
        let areas: Vec<(String, &str)> = (0..codes.len())
            .map(|area| (codes.at(area), names.get(area)))
            .collect();
        let cells = (&**values, &**moes, &**shared_of, &**validation_statuses);
        let words: Vec<Option<&str>> = (0..=words.len() as u16)
            .map(|number| words.text(number))
            .collect();
        (
            format!(
                "{:?}",
                (areas, cells, &**shared, &**usual, &**descriptors, words)
            ),
            first_rows,
            pieces,
        )
    }

    #[test]
    fn part_read_in_pieces_equals_the_whole() {
        let (whole, first_rows, one) = read(false);
        // One descriptor for each metric and unit: every second row of a metric is in persons.
        assert_eq!(
            (
                first_rows.len(),
                first_rows.iter().position(|row| *row == LATE),
                one
            ),
            (2 * KEYS.len() + 1, Some(2 * KEYS.len()), 1)
        );
        let (in_pieces, first_in_pieces, pieces) = read(true);
        assert!(pieces > 2, "{pieces}");
        assert_eq!(first_in_pieces, first_rows);
        assert!(in_pieces == whole, "the tables differ");
    }
}
