//! Declares rows as structs. A struct declared with [`row!`] lists the columns to read, reads them
//! from a record, and serializes the fields as the answer shows them. Its JSON schema contains the
//! descriptions and values from the contract.

use crate::answer::{Date, Decimal, Float};
use crate::release::places::{is_equal, plain};
use crate::release::row_cells::{Cell, Texts};
use crate::release::rows::{Dataset, Record};

/// Maximum number of columns that a struct names in one dataset.
const MOST: usize = 96;

/// Column names, collected at compile time.
#[derive(Debug, Clone, Copy)]
pub struct Columns {
    names: [&'static str; MOST],
    count: usize,
}

impl Columns {
    pub const NONE: Self = Self {
        names: [""; MOST],
        count: 0,
    };

    /// Adds the column of a field, or the columns of a nested struct, without duplicates.
    pub const fn with(mut self, name: &'static str, nested: Option<&Self>) -> Self {
        let Some(nested) = nested else {
            let mut place = 0;
            while place < self.count
                && !is_equal(plain(self.names[place]).as_bytes(), plain(name).as_bytes())
            {
                place += 1;
            }
            if place == self.count {
                self.names[place] = name;
                self.count += 1;
            }
            return self;
        };
        let mut next = 0;
        while next < nested.count {
            self = self.with(nested.names[next], None);
            next += 1;
        }
        self
    }

    /// Adds columns that no field shows.
    pub const fn and(mut self, names: &[&'static str]) -> Self {
        let mut next = 0;
        while next < names.len() {
            self = self.with(names[next], None);
            next += 1;
        }
        self
    }

    pub const fn names(&self) -> &[&'static str] {
        self.names.split_at(self.count).0
    }
}

/// Type of a field in a row's struct: a cell, or another struct of the same row.
pub trait Field<'a, D>: Sized {
    /// Columns of a nested struct; `None` for a cell.
    const NESTED: Option<&'static Columns> = None;

    /// Reads the field; `place` is the index of its column.
    fn read(record: &'a Record<'_, D>, place: usize) -> Self;

    /// Reports whether the row has no value for the field.
    fn is_null(record: &Record<'_, D>, place: usize) -> bool;
}

macro_rules! cells {
    ($($type:ty: $cell:pat => $value:expr, else $otherwise:expr;)*) => {
        $(impl<'a, D: Dataset> Field<'a, D> for $type {
            fn read(record: &'a Record<'_, D>, place: usize) -> Self {
                match record.cell_at(place) {
                    $cell => $value,
                    _ => $otherwise,
                }
            }

            fn is_null(record: &Record<'_, D>, place: usize) -> bool {
                record.cell_at(place).is_none()
            }
        })*
    };
}

cells! {
    &'a str: Some(Cell::Text(text)) => text, else "";
    Option<&'a str>: Some(Cell::Text(text)) => Some(text), else None;
    Texts<'a>: Some(Cell::Texts(texts)) => texts, else Texts::default();
    Option<Date>: Some(Cell::Day(day)) => Some(Date(day)), else None;
    Option<Decimal>: Some(Cell::Decimal(units, scale)) => Some(Decimal { units, scale }), else None;
    Option<Float>: Some(Cell::Float(float)) => Some(Float(float)), else None;
    Option<bool>: Some(Cell::Flag(flag)) => Some(flag), else None;
    bool: Some(Cell::Flag(flag)) => flag, else false;
    Option<i32>: Some(Cell::Integer(integer)) => Some(integer), else None;
    Option<i64>: Some(Cell::LongInteger(integer)) => Some(integer), else None;
}

/// Declares a struct with columns of a row: `struct License<'a> of Dataset { column: type, … }`. A
/// field is the column with the same name, another struct of the row, or the value after its `=`,
/// which does not come from the row. `column "?": type` denotes a column that older releases lack.
/// `serde` attributes set the name in answers. The description comes from the contract, unless the
/// field has its own.
macro_rules! row {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident<$life:lifetime> of $dataset:ty {
            $($(#[$attribute:meta])* $field:ident $($mark:literal)?: $type:ty $(= $value:expr)?,)*
        }
    ) => {
        #[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
        $(#[$meta])*
        $vis struct $name<$life> {
            $(
                $(#[$attribute])*
                #[schemars(extend("$field" = format!(
                    "{}/{}",
                    <$dataset as $crate::release::rows::Dataset>::ID,
                    $crate::release::places::of_field(stringify!($field))
                )))]
                pub $field: $type,
            )*
        }

        impl<$life> $name<$life> {
            /// Columns from which the struct is read.
            pub const COLUMNS: &'static $crate::release::row::Columns = &{
                let columns = $crate::release::row::Columns::NONE;
                $(let columns = $crate::release::row::row!(@with columns, $life, $dataset, concat!(stringify!($field) $(, $mark)?), $type $(, $value)?);)*
                columns
            };

            /// Reads the struct from a record.
            pub fn from_record(record: &$life $crate::release::rows::Record<'_, $dataset>) -> Self {
                Self { $($field: $crate::release::row::row!(@read record, $life, $dataset, $field, $type $(, $value)?),)* }
            }
        }

        impl<$life> $crate::release::row::Field<$life, $dataset> for $name<$life> {
            const NESTED: Option<&'static $crate::release::row::Columns> = Some(Self::COLUMNS);

            fn read(record: &$life $crate::release::rows::Record<'_, $dataset>, _: usize) -> Self {
                Self::from_record(record)
            }

            fn is_null(record: &$crate::release::rows::Record<'_, $dataset>, _: usize) -> bool {
                true $(&& $crate::release::row::row!(@null record, $life, $dataset, $field, $type $(, $value)?))*
            }
        }

        impl<$life> $crate::release::row::Field<$life, $dataset> for Option<$name<$life>> {
            const NESTED: Option<&'static $crate::release::row::Columns> = Some($name::COLUMNS);

            fn read(record: &$life $crate::release::rows::Record<'_, $dataset>, place: usize) -> Self {
                (!<Self as $crate::release::row::Field<$life, $dataset>>::is_null(record, place)).then(|| $name::from_record(record))
            }

            fn is_null(record: &$crate::release::rows::Record<'_, $dataset>, place: usize) -> bool {
                <$name<$life> as $crate::release::row::Field<$life, $dataset>>::is_null(record, place)
            }
        }
    };
    (@with $columns:ident, $life:lifetime, $dataset:ty, $name:expr, $type:ty, $value:expr) => { $columns };
    (@with $columns:ident, $life:lifetime, $dataset:ty, $name:expr, $type:ty) => {
        $columns.with($crate::release::places::of_field($name), <$type as $crate::release::row::Field<$life, $dataset>>::NESTED)
    };
    (@read $record:ident, $life:lifetime, $dataset:ty, $field:ident, $type:ty, $value:expr) => { $value };
    (@read $record:ident, $life:lifetime, $dataset:ty, $field:ident, $type:ty) => {
        <$type as $crate::release::row::Field<$life, $dataset>>::read($record, $crate::release::row::row!(@place $life, $dataset, $field, $type))
    };
    (@null $record:ident, $life:lifetime, $dataset:ty, $field:ident, $type:ty, $value:expr) => { true };
    (@null $record:ident, $life:lifetime, $dataset:ty, $field:ident, $type:ty) => {
        <$type as $crate::release::row::Field<$life, $dataset>>::is_null($record, $crate::release::row::row!(@place $life, $dataset, $field, $type))
    };
    (@place $life:lifetime, $dataset:ty, $field:ident, $type:ty) => {
        const {
            match <$type as $crate::release::row::Field<$life, $dataset>>::NESTED {
                Some(_) => 0,
                None => $crate::release::rows::place::<$dataset>($crate::release::places::of_field(stringify!($field))),
            }
        }
    };
}
pub(crate) use row;
