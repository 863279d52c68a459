//! Answers `GET counties/{fips}/locations`: the ZCTAs with land in a county, each with the share of
//! its land that lies in the county.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Float, Text};
use crate::geo::area::{Area, AreaKind, vintage};
use crate::geo::figures::Vintage;
use crate::geo::geography::Geography;
use crate::geo::metric::{ChosenFigures, METRIC_OF_LIST, requested_metrics};
use crate::geo::notices::{add_not_fetched_notice, add_not_in_survey_notice, add_zcta_notice};
use crate::geo::source_table::{INCLUDE, RecordReferences, SourceTable};
use crate::geo::tables::Geo;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::{Coverage, Meta};
use crate::http::paging::ListPaging;
use crate::http::parameters::{AS_OF, CURSOR, LIMIT, RELEASE, VINTAGE, format};
use crate::http::problem::{Result, not_published};
use crate::json::Json;
use crate::place::areas::PlaceTable;
use crate::place::zips::Zips;
use crate::release::provenance::{Provenance, schema_version};
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/counties/{fips}/locations",
    operation_id: "listCountyLocations",
    summary: "ZCTAs of a county",
    access: Access::Scope(Scope::Geo),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<CountyLocations<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Memory(locations),
};

query! {
    pub struct Parameters<'a> {
        metric: Vec<&'a str> = METRIC_OF_LIST, vintage: Option<i64> = VINTAGE, include: Option<&'a str> = INCLUDE,
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format("locations"), ..RELEASE, ..AS_OF,
    }
}

#[derive(Serialize, JsonSchema)]
struct CountyLocations<'a> {
    /// County for which the areas are listed.
    geography: Text<'a, Geography<'a>>,
    /// Provenance of the geography; null if the release has no record of the area.
    geography_provenance: Option<Provenance<'a>>,
    /// Survey vintage of the figures.
    vintage: &'a Vintage,
    /// ZCTAs with land in the county, by code.
    locations: Vec<Location<'a>>,
    /// Sources of the rows; present only with `include=provenance`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SourceTable<'a>")]
    provenance: Option<SourceTable<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CountyLocationsLocation")]
struct Location<'a> {
    /// A ZCTA with land in the county.
    geography: Text<'a, Geography<'a>>,
    /// Part of the ZCTA's land that lies in the county, as a fraction from 0 to 1; null if it is
    /// not published.
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    land_share: Option<Float>,
    /// True if the county contains the largest part of the ZCTA's land.
    is_primary: bool,
    /// Id of the record for the part in the county. Null if only the primary county is published,
    /// which the record of the geography names.
    part_record_id: Option<String>,
    /// Figures of the entire ZCTA, not of its part in the county, by metric key.
    metrics: ChosenFigures<'a>,
    /// Records of the geography, the figures and the part in the county; present only with
    /// `include=provenance`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RecordReferences<'a>")]
    provenance: Option<RecordReferences<'a>>,
}

/// The part of a ZCTA that lies in the county.
struct PartOfZcta<'a> {
    land_share: Option<f64>,
    is_primary: bool,
    /// The ZIP code with the same digits, if its part in the county is published.
    zip: Option<&'a str>,
    /// Row of the part in the table of ZIP code parts.
    part: Option<usize>,
}

/// Answers `GET counties/{fips}/locations`.
///
/// # Errors
/// `invalid_parameter` if the code has the wrong format; `not_found` if the county does not exist;
/// `coverage_unavailable` if the vintage or a dataset is missing; `invalid_cursor` if the cursor is
/// invalid.
pub fn locations(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let query = Parameters::read(call)?;
    let geo = Geo::from_release(call.release);
    let county = Area::find(
        &geo,
        AreaKind::County,
        call.path_value("fips"),
        query.vintage,
        "fips",
    )?;
    let places = geo
        .zctas
        .ok_or_else(|| not_published(AreaKind::Zcta.place_dataset()))?;
    let table = vintage(
        geo.zcta_metrics,
        Some(i64::from(county.table.vintage_year)),
        AreaKind::Zcta,
    )?;
    let metrics = requested_metrics(&geo, &query.metric);
    let zips = call
        .release
        .table::<Zips>()
        .filter(|zips| zips.counties.is_some());
    let found = in_county(places, zips, county.code, table.vintage_year);
    let paging = ListPaging::new(call, query.limit, query.cursor)?;
    let found: Vec<(usize, PartOfZcta<'_>)> = found.into_iter().collect();
    let mut sources = query.include.map(|_| SourceTable::default());
    let manifest = &call.release.manifest;
    let location = |(row, of_zcta): &(usize, PartOfZcta<'_>)| {
        let code = places.codes.at(*row);
        let area = Area {
            kind: AreaKind::Zcta,
            code,
            table,
            area: table.find(code),
            place: Some((places, *row)),
        };
        let provenance = sources.as_mut().map(|sources| {
            let mut records = sources.area(&geo, &area, &metrics);
            if let Some((part, counties)) = of_zcta
                .part
                .zip(zips.and_then(|zips| zips.counties.as_ref()))
            {
                let (part_of, dataset) = (
                    &counties.provenance,
                    (PARTS, schema_version(manifest, PARTS)),
                );
                let (status, record_id) = (
                    part_of.validation_status(part),
                    part_of.record_id(part).to_owned(),
                );
                records.0.push(sources.record(
                    dataset,
                    part_of.source(manifest, part),
                    status,
                    record_id,
                ));
            }
            records
        });
        Location {
            geography: area.geography(&geo),
            land_share: of_zcta.land_share.map(Float),
            is_primary: of_zcta.is_primary,
            part_record_id: of_zcta.zip.map(|zip| [PARTS, zip, county.code].join(":")),
            metrics: area.chosen(&geo, &metrics),
            provenance,
        }
    };
    let locations = paging.slice(&found).iter().map(location).collect();
    json.value(&CountyLocations {
        geography: county.geography(&geo),
        geography_provenance: county.geography_provenance(),
        vintage: &county.table.vintage,
        locations,
        provenance: sources,
    });
    let mut meta = Meta {
        page: Some(paging.page_of_all(found.len())),
        ..Meta::default()
    };
    meta.datasets.extend([
        AreaKind::Zcta.place_dataset().into(),
        AreaKind::Zcta.metric_dataset().into(),
        AreaKind::County.place_dataset().into(),
    ]);
    meta.datasets.extend(zips.map(|_| PARTS.into()));
    let scope = format!("{} ZCTAs of the Gazetteer", places.codes.len());
    meta.coverage = Some(Coverage {
        geography_type: Some(AreaKind::Zcta.name()),
        scope,
        ..Coverage::default()
    });
    add_zcta_notice(&mut meta);
    meta.notice(
        "PRIMARY_COUNTY_RULE",
        if zips.is_some() {
            WITH_PARTS
        } else {
            PRIMARY_ONLY
        },
    );
    add_not_fetched_notice(&mut meta, table, &metrics);
    if county.area.is_none() {
        add_not_in_survey_notice(&mut meta, county.code, table.vintage_year);
    }
    Ok(meta)
}

/// Dataset of ZIP code parts by county.
const PARTS: &str = "zip.county";

const WITH_PARTS: &str = "is_primary is true if the county has the largest part of the ZCTA's land; in Connecticut, the planning region from vintage 2022 on and the old county before. \
    Smaller parts are known for ZCTAs whose code is also a ZIP code, by the counties of 2020: in Connecticut, none by planning region.";
const PRIMARY_ONLY: &str = "This release has one county for each ZCTA, the one with the largest part of its land: ZCTAs with a smaller part in the county are not listed.";

/// Returns the ZCTAs with land in a county, by row, if this is published.
fn in_county<'a>(
    places: &PlaceTable,
    zips: Option<&'a Zips>,
    county_fips: &'a str,
    vintage_year: i32,
) -> BTreeMap<usize, PartOfZcta<'a>> {
    let mut found = BTreeMap::new();
    for row in 0..places.codes.len() {
        if let Some(primary) = places.primary_county(row, vintage_year)
            && primary.code == Some(county_fips)
        {
            found.insert(
                row,
                PartOfZcta {
                    land_share: primary.land_share,
                    is_primary: true,
                    zip: None,
                    part: None,
                },
            );
        }
    }
    let Some((zips, counties)) = zips.and_then(|zips| Some((zips, zips.counties.as_ref()?))) else {
        return found;
    };
    for (part, zip) in counties.in_county(county_fips) {
        // A ZIP code without a separate area has the parts of the area in which it lies.
        let is_area = zips
            .find(zip)
            .is_some_and(|row| zips.zctas.get(row) == Some(zip));
        if let (true, Some(share), Some(row)) = (
            is_area,
            counties.share(part).filter(|share| *share > 0.0),
            places.find(zip),
        ) {
            let location = found.entry(row).or_insert(PartOfZcta {
                land_share: Some(share),
                is_primary: false,
                zip: None,
                part: None,
            });
            (location.zip, location.part) = (Some(zip), Some(part));
        }
    }
    found
}
