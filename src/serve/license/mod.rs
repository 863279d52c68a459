//! Serves licenses of state boards, by number or by the holder's name.

pub mod datasets;
mod holder_match;
pub mod number;
pub mod record;
mod search;
mod searched_lists;
pub mod table;
mod verify;

use crate::http::endpoint::{Family, Tag};
use crate::release::loaded::Tables;
use crate::release::part_reader::PartReader;
use futures_util::FutureExt;
use pubdata_core::error::Result;
use table::Licenses;

/// Family for the route table.
pub static FAMILY: Family = Family {
    tag: Tag {
        name: "Licenses",
        description: "Professional and contractors' licenses as state boards publish them: verification by number, and search by name.",
    },
    load: |reader, _, _| load(reader).boxed(),
    endpoints: &[verify::ENDPOINT, search::ENDPOINT],
    placeholders: &[],
};

async fn load(reader: PartReader<'_>) -> Result<Tables> {
    let mut tables = Tables::default();
    let Some(licenses) = Licenses::load(reader).await? else {
        return Ok(tables);
    };
    tables.open_later(licenses.rows.prepare(reader).await?);
    tables.open_later(licenses.actions.prepare(reader).await?);
    tracing::debug!(bytes = licenses.index.size_bytes(), "indexed licenses");
    tables.watch(&licenses.index);
    tables.insert(licenses);
    Ok(tables)
}
