//! Serves ZIP codes: a single code, many codes in one request, and the codes around a code.

mod batch;
mod code;
mod lookup;
mod nearby;
mod record;

use futures_util::FutureExt;

use crate::http::endpoint::{Family, Placeholder, Tag};
use crate::place::zips::Zips;
use crate::release::loaded::Tables;
use crate::release::part_reader::PartReader;
use pubdata_core::error::Result;

/// ZIP code endpoints and their table.
pub static FAMILY: Family = Family {
    tag: Tag {
        name: "ZIP codes",
        description: "ZIP codes with their places, counties, tabulation area, people and range of sales tax.",
    },
    load: |reader, _, _| load(reader).boxed(),
    endpoints: &[lookup::ENDPOINT, batch::ENDPOINT, nearby::ENDPOINT],
    placeholders: &[Placeholder {
        name: "zip",
        pattern: "^[0-9]{5}(-[0-9]{4})?$",
        example: "10001",
        description: "ZIP code of five digits, or nine, of which the last four are ignored.",
    }],
};

async fn load(reader: PartReader<'_>) -> Result<Tables> {
    let mut tables = Tables::default();
    if let Some(zips) = Zips::load(reader).await? {
        tables.insert(zips);
    }
    Ok(tables)
}
