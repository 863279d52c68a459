//! The geographic and demographics family: areas with their metrics, schools near a ZCTA, and comparisons of two ZCTAs.

pub mod area;
mod compare;
mod county;
mod demographics;
pub mod estimates;
mod metric;
mod metric_text;
pub mod notices;
mod profile;
mod school_table;
mod schools;
pub mod tables;

use crate::contract::Contracts;
use crate::error::Result;
use crate::serve::http::endpoint::{Family, Placeholder};
use crate::serve::release::loaded::Tables;
use crate::serve::release::part_reader::PartReader;
use futures_util::FutureExt;
use tables::GeoTables;

/// What the route table takes.
pub static FAMILY: Family = Family {
    load: |reader, contracts, tables| load(reader, contracts, tables).boxed(),
    endpoints: &[profile::ENDPOINT, demographics::ENDPOINT, schools::ENDPOINT, compare::ENDPOINT, county::ENDPOINT],
    placeholders: &[
        Placeholder { name: "zcta", pattern: "^[0-9]{5}$", example: "90210", description: "ZCTA code: five digits, leading zeros kept." },
        Placeholder { name: "fips", pattern: "^[0-9]{5}$", example: "06037", description: "County FIPS code: five digits, leading zeros kept." },
    ],
};

async fn load(reader: PartReader<'_>, contracts: &Contracts, tables: &mut Tables) -> Result<()> {
    tables.insert(GeoTables::load(reader, contracts).await?);
    Ok(())
}
