//! Serves building permits from cities and counties, their properties, and the contractors whose
//! licenses they name.

mod contractor;
mod cover;
pub mod datasets;
mod filter;
mod links;
mod lists;
pub mod place;
mod property;
mod query;
mod record;
mod search;
mod summary;
pub mod table;

use crate::http::endpoint::{Family, Placeholder, Tag};
use crate::release::loaded::Tables;
use crate::release::part_reader::PartReader;
use futures_util::FutureExt;
use pubdata_core::error::Result;
use table::Permits;

/// Permit endpoints and their tables.
pub static FAMILY: Family = Family {
    tag: Tag {
        name: "Permits, contractors, properties",
        description: "Building permits as cities publish them, the licenses they are linked to, and the properties they are about.",
    },
    load: |reader, _, _| load(reader).boxed(),
    endpoints: &[
        search::ENDPOINT,
        contractor::ENDPOINT,
        property::BY_ADDRESS,
        property::BY_QUERY,
    ],
    placeholders: &[
        Placeholder {
            name: "license",
            pattern: "^[^/]{1,120}$",
            example: "TX-tdlr-ba-21907",
            description: "Id of a license; or its number, with `state`.",
        },
        Placeholder {
            name: "address",
            pattern: "^[^/]{1,200}$",
            example: "618 W Elmira St, San Antonio, TX 78212",
            description: "Street address on one line, with ZIP code or city and state; or a property id.",
        },
    ],
};

async fn load(reader: PartReader<'_>) -> Result<Tables> {
    let mut tables = Tables::default();
    let Some(permits) = Permits::load(reader).await? else {
        return Ok(tables);
    };
    tables.open_later(permits.rows.prepare(reader).await?);
    tables.open_later(permits.contacts.prepare(reader).await?);
    tables.open_later(permits.links.prepare(reader).await?);
    tracing::debug!(bytes = permits.size_bytes(), "indexed permits");
    tables.insert(permits);
    Ok(tables)
}
