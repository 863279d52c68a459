//! Answers sales tax requests: the rate of a place on a day, and the tax on a sale.

mod answer;
mod batch;
mod body_address;
mod calculate;
mod calculated;
mod calculation;
mod candidate;
mod dates;
mod fields;
pub mod figures;
mod goods;
mod invoice;
mod limits;
mod lists;
pub mod location;
mod lookup;
pub mod range;
mod rate;
mod request;
mod sale;
mod search;
pub mod table;

use crate::http::endpoint::{Family, Tag};
use crate::release::loaded::Tables;
use crate::release::part_reader::PartReader;
use futures_util::FutureExt;
use pubdata_core::error::Result;
use table::TaxTables;

/// Sales tax endpoints and their table.
pub static FAMILY: Family = Family {
    tag: Tag {
        name: "Sales tax",
        description: "Rates of a place on a day with each jurisdiction's part, and the tax of a sale to the cent, with the rules that decide.",
    },
    load: |reader, _, _| load(reader).boxed(),
    endpoints: &[rate::ENDPOINT, calculate::ENDPOINT, batch::ENDPOINT],
    placeholders: &[],
};

async fn load(reader: PartReader<'_>) -> Result<Tables> {
    let mut tables = Tables::default();
    let tax = TaxTables::load(reader).await?;
    let (boundaries, boundary_bytes) = tax.boundary_size();
    tracing::debug!(boundaries, boundary_bytes, "indexed sales tax");
    tables.insert(tax);
    Ok(tables)
}
