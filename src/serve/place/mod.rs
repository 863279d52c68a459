//! Where areas and ZIP codes lie, and how many people live there: what several families find places by. Has no endpoints.

pub mod area_codes;
pub mod areas;
pub mod distance;
pub mod reach;
pub mod zips;

use futures_util::FutureExt;

use crate::error::{Error, Result};
use crate::serve::release::loaded::{Load, Tables};
use crate::serve::release::part_reader::PartReader;
use crate::serve::release::provenance::PartOrigins;
use areas::PlaceTable;
use reach::Population;
use zips::Zips;

/// Reads what is kept of a release.
pub const LOAD: Load = |reader, _, _| load(reader).boxed();

/// ZCTAs and counties; none of a dataset that the release lacks.
#[derive(Debug, Default)]
pub struct Places {
    pub zctas: Option<PlaceTable>,
    pub counties: Option<PlaceTable>,
}

async fn load(reader: PartReader<'_>) -> Result<Tables> {
    let mut tables = Tables::default();
    let zctas = places(reader, "geo.geography", PlaceTable::read_zctas).await?;
    let counties = places(reader, "geo.county", PlaceTable::read_counties).await?;
    tables.insert(Places { zctas, counties });
    tables.insert(Population::load(reader).await?);
    if let Some(zips) = Zips::load(reader).await? {
        tables.insert(zips);
    }
    Ok(tables)
}

type Read = fn(&PartOrigins, &crate::store::Part, bytes::Bytes) -> Result<PlaceTable>;

async fn places(reader: PartReader<'_>, dataset_id: &str, read: Read) -> Result<Option<PlaceTable>> {
    let Some(part) = reader.parts_of(dataset_id).last() else { return Ok(None) };
    let bytes = reader.bytes(part).await?;
    let (origins, part) = (PartOrigins::of(reader.manifest(), dataset_id, part), part.clone());
    let reading = tokio::task::spawn_blocking(move || read(&origins, &part, bytes));
    reading.await.map_err(|error| Error::store(format!("reading a part failed: {error}")))?.map(Some)
}
