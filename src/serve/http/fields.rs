//! Defines the field types of a parameter struct (`query!` in `endpoint.rs`), and how field values
//! are parsed from parameter strings.

use jiff::civil::Date;

/// Value that is parsed from a checked string.
pub trait Value<'a>: Sized {
    const TYPE: ValueType;

    fn read(text: &'a str) -> Option<Self>;
}

/// Kinds of strings from which a value can be parsed.
#[derive(Debug, Clone, Copy)]
pub enum ValueType {
    Flag,
    Date,
    Number,
    Integer { min: i64, max: i64 },
    Text,
}

impl<'a> Value<'a> for &'a str {
    const TYPE: ValueType = ValueType::Text;

    fn read(text: &'a str) -> Option<Self> {
        Some(text)
    }
}

macro_rules! values {
    ($($type:ty: $value_type:expr,)*) => {
        $(impl Value<'_> for $type {
            const TYPE: ValueType = $value_type;

            fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        })*
    };
}

values! {
    bool: ValueType::Flag,
    Date: ValueType::Date,
    f64: ValueType::Number,
    i32: ValueType::Integer { min: i32::MIN as i64, max: i32::MAX as i64 },
    i64: ValueType::Integer { min: i64::MIN, max: i64::MAX },
    usize: ValueType::Integer { min: 0, max: i64::MAX },
}

/// Number of values in a field: exactly one, at most one, or a list. The list is empty if the
/// parameter is absent.
#[derive(Debug, Clone, Copy)]
pub enum Count {
    One,
    Option,
    List,
}

/// Field type of a parameter struct.
pub trait Field<'a>: Sized {
    const FORM: (Count, ValueType);

    /// Parses the field. Returns `None` if a required value is absent.
    fn read(text: Option<&'a str>) -> Option<Self>;
}

impl<'a, T: Value<'a>> Field<'a> for T {
    const FORM: (Count, ValueType) = (Count::One, T::TYPE);

    fn read(text: Option<&'a str>) -> Option<Self> {
        text.and_then(T::read)
    }
}

impl<'a, T: Value<'a>> Field<'a> for Option<T> {
    const FORM: (Count, ValueType) = (Count::Option, T::TYPE);

    fn read(text: Option<&'a str>) -> Option<Self> {
        Some(text.and_then(T::read))
    }
}

impl<'a, T: Value<'a>> Field<'a> for Vec<T> {
    const FORM: (Count, ValueType) = (Count::List, T::TYPE);

    fn read(text: Option<&'a str>) -> Option<Self> {
        Some(
            text.into_iter()
                .flat_map(|list| list.split(','))
                .filter_map(T::read)
                .collect(),
        )
    }
}
