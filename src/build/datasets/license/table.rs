//! Collects rows into frames with a contract's columns, one frame per state.

use std::collections::BTreeMap;

use polars::prelude::*;

use crate::datasets::Table;
use crate::normalise::pointer_column;
use pubdata_core::error::Result;
use pubdata_core::issue::Issue;

/// A cell in a published row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Text(Option<String>),
    List(Vec<String>),
    Cents(Option<i64>),
    Ordinal(i32),
}

/// An amount of money in cents, as a separate column type.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Cents(pub(super) Option<i64>);

impl From<Option<String>> for Cell {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<String>> for Cell {
    fn from(items: Vec<String>) -> Self {
        Self::List(items)
    }
}

impl From<Cents> for Cell {
    fn from(cents: Cents) -> Self {
        Self::Cents(cents.0)
    }
}

impl From<i32> for Cell {
    fn from(number: i32) -> Self {
        Self::Ordinal(number)
    }
}

/// Defines a row as a struct whose fields are the columns, so that no cell depends on its position.
macro_rules! published_row {
    ($(#[$doc:meta])* $visibility:vis struct $row:ident { $($column:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Default)]
        $visibility struct $row {
            $($column: $kind,)*
        }

        impl $row {
            /// Column names, in cell order.
            $visibility const COLUMNS: &[&str] = &[$(stringify!($column)),*];

            $visibility fn into_cells(self) -> Vec<crate::datasets::license::table::Cell> {
                vec![$(self.$column.into()),*]
            }
        }
    };
}
pub(super) use published_row;

/// A published row: its cells in column-name order, and the pointers to all its source rows.
pub(super) struct PublishedRow {
    pub(super) cells: Vec<Cell>,
    pub(super) pointers: Vec<u64>,
}

enum Builder {
    Text(StringChunkedBuilder),
    List(ListStringChunkedBuilder),
    Cents(PrimitiveChunkedBuilder<Int64Type>),
    Ordinal(PrimitiveChunkedBuilder<Int32Type>),
}

/// A dataset's rows by state.
pub(super) struct Tables {
    dataset_id: &'static str,
    source: String,
    bucket: String,
    names: Vec<&'static str>,
    by_state: BTreeMap<String, Rows>,
}

#[derive(Default)]
struct Rows {
    builders: Vec<Builder>,
    pointers: Vec<Vec<u64>>,
    issues: Vec<Issue>,
}

impl Tables {
    pub(super) fn new(
        dataset_id: &'static str,
        source: &str,
        bucket: &str,
        names: Vec<&'static str>,
    ) -> Self {
        Self {
            dataset_id,
            source: source.to_owned(),
            bucket: bucket.to_owned(),
            names,
            by_state: BTreeMap::new(),
        }
    }

    /// Adds a row to a state's table.
    pub(super) fn push(&mut self, state: &str, row: PublishedRow) {
        let rows = self.by_state.entry(state.to_owned()).or_default();
        if rows.builders.is_empty() {
            rows.builders = self
                .names
                .iter()
                .zip(&row.cells)
                .map(|(name, cell)| Builder::new(name, cell))
                .collect();
        }
        rows.builders
            .iter_mut()
            .zip(row.cells)
            .for_each(|(builder, cell)| builder.append(cell));
        rows.pointers.push(row.pointers);
    }

    /// Returns the first state that has rows.
    pub(super) fn first_state(&self) -> Option<String> {
        self.by_state.keys().next().cloned()
    }

    /// Adds issues to a state's table.
    pub(super) fn report(&mut self, state: &str, issues: impl IntoIterator<Item = Issue>) {
        self.by_state
            .entry(state.to_owned())
            .or_default()
            .issues
            .extend(issues);
    }

    /// Builds a table for each state. A state that has only issues gets an empty table. `kinds`
    /// contains cells with the columns' types.
    pub(super) fn finish(self, kinds: &[Cell]) -> Result<Vec<Table>> {
        let Self {
            dataset_id,
            source,
            bucket,
            names,
            by_state,
        } = self;
        let table = |(state, mut rows): (String, Rows)| {
            if rows.builders.is_empty() {
                rows.builders = names
                    .iter()
                    .zip(kinds)
                    .map(|(name, cell)| Builder::new(name, cell))
                    .collect();
            }
            let height = rows.pointers.len();
            let mut columns: Vec<Column> = rows.builders.into_iter().map(Builder::finish).collect();
            let partition: BTreeMap<String, String> = [
                ("state", state.as_str()),
                ("source", source.as_str()),
                ("bucket", bucket.as_str()),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
            columns.extend(partition.iter().map(|(name, value)| {
                StringChunked::full(name.as_str().into(), value, height).into_column()
            }));
            columns.push(pointer_column(rows.pointers.iter().map(Vec::as_slice)));
            Ok(Table {
                dataset_id: dataset_id.to_owned(),
                partition,
                frame: DataFrame::new(height, columns)?,
                issues: rows.issues,
            })
        };
        by_state.into_iter().map(table).collect()
    }
}

impl Builder {
    fn new(name: &str, cell: &Cell) -> Self {
        match cell {
            Cell::Text(_) => Self::Text(StringChunkedBuilder::new(name.into(), 1024)),
            Cell::List(_) => Self::List(ListStringChunkedBuilder::new(name.into(), 1024, 0)),
            Cell::Cents(_) => Self::Cents(PrimitiveChunkedBuilder::new(name.into(), 1024)),
            Cell::Ordinal(_) => Self::Ordinal(PrimitiveChunkedBuilder::new(name.into(), 1024)),
        }
    }

    fn append(&mut self, cell: Cell) {
        match (self, cell) {
            (Self::Text(builder), Cell::Text(text)) => builder.append_option(text),
            (Self::List(builder), Cell::List(items)) => {
                builder.append_values_iter(items.iter().map(String::as_str));
            }
            (Self::Cents(builder), Cell::Cents(cents)) => builder.append_option(cents),
            (Self::Ordinal(builder), Cell::Ordinal(number)) => builder.append_value(number),
            _ => unreachable!("a column's cells are of one kind"),
        }
    }

    fn finish(self) -> Column {
        match self {
            Self::Text(builder) => builder.finish().into_column(),
            Self::List(mut builder) => builder.finish().into_column(),
            Self::Cents(builder) => builder.finish().into_column(),
            Self::Ordinal(builder) => builder.finish().into_column(),
        }
    }
}
