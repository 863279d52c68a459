//! Serves businesses as state registries publish them, by name, number or agent.

pub mod datasets;
mod entity;
mod lists;
mod record;
mod search;
pub mod table;

use crate::http::endpoint::{Family, Placeholder, Tag};
use crate::release::loaded::Tables;
use crate::release::part_reader::PartReader;
use futures_util::FutureExt;
use pubdata_core::error::Result;
use table::Businesses;

/// Family for the route table.
pub static FAMILY: Family = Family {
    tag: Tag {
        name: "Businesses",
        description: "Businesses as state registries publish them, found by name, number or agent.",
    },
    load: |reader, _, _| load(reader).boxed(),
    endpoints: &[search::ENDPOINT, entity::ENDPOINT],
    placeholders: &[Placeholder {
        name: "entity_id",
        pattern: "^[^/]{1,80}$",
        example: "FL-L23000448570",
        description: "Id of a business: state and the registry's number.",
    }],
};

async fn load(reader: PartReader<'_>) -> Result<Tables> {
    let mut tables = Tables::default();
    let Some(businesses) = Businesses::load(reader).await? else {
        return Ok(tables);
    };
    tables.open_later(businesses.rows.prepare(reader).await?);
    tables.open_later(businesses.officers.prepare(reader).await?);
    tracing::debug!(bytes = businesses.index.size_bytes(), "indexed businesses");
    tables.watch(&businesses.index);
    tables.insert(businesses);
    Ok(tables)
}
