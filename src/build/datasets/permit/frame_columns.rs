//! Builds columns for the permit and party frames.

use polars::prelude::*;

/// Source and bucket shared by all rows in a table.
pub(super) struct Feed<'a> {
    pub(super) source_id: &'a str,
    pub(super) bucket: &'a str,
}

pub(super) fn texts<'a, T: 'a>(
    name: &str,
    items: &'a [T],
    value: impl Fn(&'a T) -> Option<&'a str>,
) -> Column {
    StringChunked::from_iter_options(name.into(), items.iter().map(value)).into_column()
}

pub(super) fn made<T>(name: &str, items: &[T], value: impl Fn(&T) -> Option<String>) -> Column {
    StringChunked::from_iter_options(name.into(), items.iter().map(value)).into_column()
}

pub(super) fn whole<T>(name: &str, items: &[T], value: impl Fn(&T) -> Option<i64>) -> Column {
    items
        .iter()
        .map(value)
        .collect::<Int64Chunked>()
        .with_name(name.into())
        .into_column()
}

pub(super) fn degrees<T>(name: &str, items: &[T], value: impl Fn(&T) -> Option<f64>) -> Column {
    items
        .iter()
        .map(value)
        .collect::<Float64Chunked>()
        .with_name(name.into())
        .into_column()
}

pub(super) fn constant(name: &str, text: &str, height: usize) -> Column {
    StringChunked::full(name.into(), text, height).into_column()
}
