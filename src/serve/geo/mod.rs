//! Serves the geographic and demographics family: areas with their metrics, schools near a ZCTA,
//! comparisons of ZCTAs, and lists of areas.

pub mod area;
mod compare;
mod county;
mod county_locations;
mod demographics;
pub mod estimates;
mod estimates_builder;
pub mod figures;
mod geography;
pub mod metric;
mod metric_areas;
mod metric_text;
pub mod notices;
mod profile;
mod school_table;
mod schools;
mod source_table;
mod state_counties;
pub mod tables;

use crate::http::endpoint::{Family, Placeholder, Tag};
use crate::http::parameters::STATE_PATTERN;
use crate::place::Places;
use crate::release::loaded::Tables;
use crate::release::part_reader::PartReader;
use area::{Area, AreaKind};
use futures_util::FutureExt;
use geography::GeographyTexts;
use pubdata_core::contract::Contracts;
use pubdata_core::error::Result;
use tables::{Geo, GeoTables};

/// Endpoints and tables of the family.
pub static FAMILY: Family = Family {
    tag: Tag {
        name: "Areas",
        description: "Survey estimates of ZCTAs and counties with their published margins of error, the schools near them, and comparisons by the Bureau's own test.",
    },
    load: |reader, contracts, of_all| load(reader, contracts, of_all).boxed(),
    endpoints: &[
        profile::ENDPOINT,
        demographics::ENDPOINT,
        schools::ENDPOINT,
        compare::ENDPOINT,
        county::ENDPOINT,
        county_locations::ENDPOINT,
        state_counties::ENDPOINT,
        metric_areas::ENDPOINT,
    ],
    placeholders: &[
        Placeholder {
            name: "zcta",
            pattern: "^[0-9]{5}$",
            example: "90210",
            description: "ZCTA code: five digits, leading zeros kept.",
        },
        Placeholder {
            name: "fips",
            pattern: "^[0-9]{5}$",
            example: "06037",
            description: "County FIPS code: five digits, leading zeros kept.",
        },
        Placeholder {
            name: "state",
            pattern: STATE_PATTERN,
            example: "ca",
            description: "State, by postal code or name.",
        },
        Placeholder {
            name: "metric",
            pattern: "^[a-z_]+$",
            example: "geo.zcta_metric/metric",
            description: "Key of a metric; other values are rejected.",
        },
    ],
};

async fn load(reader: PartReader<'_>, contracts: &Contracts, of_all: &Tables) -> Result<Tables> {
    let own = GeoTables::load(reader, contracts).await?;
    let geo = Geo {
        zctas: of_all
            .get::<Places>()
            .and_then(|places| places.zctas.as_ref()),
        ..Geo::of_tables(&own)
    };
    let texts = geo
        .zctas
        .zip(geo.zcta_metrics.last())
        .map(|(places, table)| {
            let area = |row| Area {
                kind: AreaKind::Zcta,
                code: places.codes.at(row),
                table,
                area: None,
                place: Some((places, row)),
            };
            GeographyTexts::new(places.codes.len(), table.vintage_year, |row| {
                area(row).geography_fields(&geo)
            })
        });
    let mut tables = Tables::default();
    tables.insert(own);
    if let Some(texts) = texts {
        tables.insert(texts);
    }
    Ok(tables)
}
