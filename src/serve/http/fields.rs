//! Structs of parameters: what a field can be, how its value is read from a checked query, and which texts it can be read from.

use jiff::civil::Date;

/// A value that a checked text is read as.
pub trait Value<'a>: Sized {
    const TYPE: ValueType;

    fn read(text: &'a str) -> Option<Self>;
}

/// Which texts a value can be read from.
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

/// How many values a field has: always one, one or none, or a list, which is empty when the parameter is absent.
#[derive(Debug, Clone, Copy)]
pub enum Count {
    One,
    Option,
    List,
}

/// What a field of a struct of parameters can be.
pub trait Field<'a>: Sized {
    const FORM: (Count, ValueType);

    /// Reads the field; none of a value that is absent.
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
        Some(text.into_iter().flat_map(|list| list.split(',')).filter_map(T::read).collect())
    }
}

/// Declares the parameters of an endpoint as a struct: `struct Parameters<'a> { name: type = kind, …, ..parameter, }`. A field is the parameter of its name, described
/// by its comment or, without one, as what is behind `=`. `..` adds a parameter that handlers do not read.
macro_rules! query {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident<$life:lifetime> {
            $($(#[doc = $doc:literal])* $(.. $other:ident $(($rows:literal))?)? $($field:ident: $type:ty = $declared:expr)?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug)]
        $vis struct $name<$life> {
            $($(pub $field: $type,)?)*
        }

        impl<$life> $name<$life> {
            pub const DECLARED: &'static [$crate::http::parameters::Parameter] =
                &[$($crate::http::fields::query!(@parameter $life, [$($doc),*] $(.. $other $(($rows))?)? $($field: $type = $declared)?)),*];

            /// Reads the checked query of a request to an endpoint that declares these parameters.
            ///
            /// # Errors
            /// `missing_parameter`, when one is required and absent.
            pub fn of(call: &$crate::http::endpoint::Call<$life>) -> $crate::http::problem::Result<Self> {
                let names = |parameters: &'static [$crate::http::parameters::Parameter]| parameters.iter().map(|parameter| parameter.name);
                debug_assert!(names(call.endpoint.parameters).eq(names(Self::DECLARED)), "the endpoint declares other parameters");
                Ok(Self { $($($field: call.query.field(Self::DECLARED, $crate::release::places::of_field(stringify!($field)))?,)?)* })
            }
        }
    };
    (@parameter $life:lifetime, [$($doc:literal),*] $field:ident: $type:ty = $declared:expr) => {
        $declared.parameter().of_field(stringify!($field), <$type as $crate::http::fields::Field<$life>>::FORM, concat!($($doc),*))
    };
    (@parameter $life:lifetime, [] .. $other:expr) => { $other };
}
pub(crate) use query;
