//! Locates areas and ZIP codes, and counts their population, for several families. The module has
//! no endpoints.

pub mod area_codes;
pub mod areas;
pub mod distance;
pub mod reach;
pub mod zips;

use bytes::Bytes;
use futures_util::{FutureExt, join};

use crate::release::loaded::{Load, Tables};
use crate::release::part_reader::PartReader;
use crate::release::provenance::PartOrigins;
use areas::PlaceTable;
use pubdata_core::error::Result;
use pubdata_store::Part;
use reach::Population;

/// Loader for the tables of this module.
pub const LOAD: Load = |reader, _, _| load(reader).boxed();

/// ZCTAs and counties; `None` for a dataset that the release lacks.
#[derive(Debug, Default)]
pub struct Places {
    pub zctas: Option<PlaceTable>,
    pub counties: Option<PlaceTable>,
}

async fn load(reader: PartReader<'_>) -> Result<Tables> {
    let zctas = places(reader, "geo.geography", PlaceTable::read_zctas);
    let counties = places(reader, "geo.county", PlaceTable::read_counties);
    let (zctas, counties, population) = join!(zctas, counties, Population::load(reader));
    let mut tables = Tables::default();
    tables.insert(Places {
        zctas: zctas?,
        counties: counties?,
    });
    tables.insert(population?);
    Ok(tables)
}

type Read = fn(&PartOrigins, &Part, Bytes) -> Result<PlaceTable>;

async fn places(
    reader: PartReader<'_>,
    dataset_id: &str,
    read: Read,
) -> Result<Option<PlaceTable>> {
    let Some(part) = reader.parts_of(dataset_id).last() else {
        return Ok(None);
    };
    let origins = PartOrigins::for_part(reader.manifest(), dataset_id, part);
    reader
        .decoded(part, move |part, bytes| read(&origins, part, bytes))
        .await
        .map(Some)
}
