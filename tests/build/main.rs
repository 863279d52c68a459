//! Tests of the code that turns files into a release: decoders, validation, publishing. They also
//! check what other readers find in a published release.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::float_cmp,
    reason = "a test may stop at once, say why it skips, and compare exact figures"
)]

mod decode;
mod peers;
mod publish;
mod validate;

use polars::prelude::{Column, IntoColumn, ListBuilderTrait, ListStringChunkedBuilder};

/// A list column; null in rows without items.
fn lists<I>(name: &str, rows: impl Iterator<Item = Option<I>>) -> Column
where
    I: IntoIterator<Item: AsRef<str>>,
{
    let mut lists = ListStringChunkedBuilder::new(name.into(), 0, 0);
    for row in rows {
        match row.map(|items| items.into_iter().collect::<Vec<_>>()) {
            Some(items) => lists.append_values_iter(items.iter().map(AsRef::as_ref)),
            None => lists.append_null(),
        }
    }
    lists.finish().into_column()
}
