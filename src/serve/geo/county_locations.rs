//! Answers `GET counties/{fips}/locations`: the ZCTAs with land in a county, and how much of theirs it is.

use std::collections::BTreeMap;

use crate::geo::area::{Area, AreaKind, asked_vintage, vintage};
use crate::geo::metric::{METRIC_OF_LIST, asked_metrics};
use crate::geo::notices::{add_not_fetched_notice, add_not_in_survey_notice, add_zcta_notice};
use crate::geo::source_table::{INCLUDE, SourceTable};
use crate::geo::tables::Geo;
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::{Coverage, Meta};
use crate::http::paging::ListPaging;
use crate::http::parameters::{AS_OF, CURSOR, LIMIT, Parameter, RELEASE, VINTAGE, format};
use crate::http::problem::{Result, not_published};
use crate::json::Json;
use crate::place::areas::PlaceTable;
use crate::place::zips::Zips;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/counties/{fips}/locations",
    operation_id: "listCountyLocations",
    summary: "ZCTAs of a county",
    access: Access::Scope(Scope::Geo),
    parameters: PARAMETERS,
    body: None,
    data: Data::Written("CountyLocations"),
    validity: Validity::Release,
    handler: Handler::Memory(locations),
};

/// The endpoint's parameters.
const PARAMETERS: &[Parameter] = &[METRIC_OF_LIST, VINTAGE, INCLUDE, LIMIT, CURSOR, format("locations"), RELEASE, AS_OF];

/// What of a ZCTA lies in the county.
struct Location<'a> {
    land_share: Option<f64>,
    is_primary: bool,
    /// The ZIP code of the same digits, of which the part in the county is published.
    zip: Option<&'a str>,
    /// Its row in the table of such parts.
    part: Option<usize>,
}

/// Answers `GET counties/{fips}/locations`.
///
/// # Errors
/// `invalid_parameter`, when the code has the wrong form; `not_found`, when there is no such county; `coverage_unavailable`, when the
/// vintage or a dataset is missing; `invalid_cursor`.
pub fn locations(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let geo = Geo::of(call.release);
    let county = Area::find(&geo, AreaKind::County, call.path_value("fips"), asked_vintage(call), "fips")?;
    let places = geo.zctas.ok_or_else(|| not_published(AreaKind::Zcta.place_dataset()))?;
    let table = vintage(geo.zcta_metrics, Some(i64::from(county.table.vintage_year)), AreaKind::Zcta)?;
    let metrics = asked_metrics(&geo, call).unwrap_or_default();
    let zips = call.release.table::<Zips>().filter(|zips| zips.counties.is_some());
    let found = in_county(places, zips, county.code, table.vintage_year);
    let paging = ListPaging::of(call)?;
    let found: Vec<(usize, Location<'_>)> = found.into_iter().collect();
    let mut sources = SourceTable::asked(call);
    json.object(|json| {
        county.write_geography(&geo, json.key("geography"));
        county.write_geography_provenance(json.key("geography_provenance"));
        county.write_vintage(json.key("vintage"));
        json.key("locations").array(|json| {
            for (row, location) in paging.slice(&found) {
                let code = places.codes.at(*row);
                let area = Area { kind: AreaKind::Zcta, code, table, area: table.find(code), place: Some((places, *row)) };
                json.object(|json| {
                    area.write_geography(&geo, json.key("geography"));
                    json.key("land_share").float(location.land_share.unwrap_or(f64::NAN));
                    json.key("is_primary").flag(location.is_primary);
                    match location.zip {
                        Some(zip) => json.key("part_record_id").plain(&["zip.county:", zip, ":", county.code]),
                        None => json.key("part_record_id").null(),
                    }
                    area.write_chosen(&geo, json.key("metrics"), &metrics);
                    if let Some(sources) = &mut sources {
                        json.key("provenance").array(|json| {
                            sources.write_area(json, &geo, &area, &metrics);
                            if let Some((part, counties)) = location.part.zip(zips.and_then(|zips| zips.counties.as_ref())) {
                                let (provenance, manifest) = (&counties.provenance, &call.release.manifest);
                                sources.write_record(json, &provenance.origin(manifest, part), provenance.validation_status(part), provenance.record_id(part));
                            }
                        });
                    }
                });
            }
        });
        if let Some(sources) = &sources {
            sources.write(json.key("provenance"));
        }
    });
    let mut meta = Meta { page: Some(paging.page_of_all(found.len())), ..Meta::default() };
    meta.datasets.extend([AreaKind::Zcta.place_dataset().into(), AreaKind::Zcta.metric_dataset().into(), AreaKind::County.place_dataset().into()]);
    meta.datasets.extend(zips.map(|_| "zip.county".into()));
    let scope = format!("{} ZCTAs of the Gazetteer", places.codes.len());
    meta.coverage = Some(Coverage { geography_type: Some(AreaKind::Zcta.name()), scope, ..Coverage::default() });
    add_zcta_notice(&mut meta);
    meta.notice("PRIMARY_COUNTY_RULE", if zips.is_some() { WITH_PARTS } else { PRIMARY_ONLY });
    add_not_fetched_notice(&mut meta, table, &metrics);
    if county.area.is_none() {
        add_not_in_survey_notice(&mut meta, county.code, table.vintage_year);
    }
    Ok(meta)
}

const WITH_PARTS: &str = "is_primary is true where the county has the largest part of the ZCTA's land; in Connecticut the planning region from vintage 2022 on, and the old county before. \
    Smaller parts are known of ZCTAs whose code is a ZIP code too, by the counties of 2020: in Connecticut none by planning region.";
const PRIMARY_ONLY: &str =
    "This release has one county for each ZCTA, the one with the largest part of its land: ZCTAs of which the county has a smaller part are not listed.";

/// The ZCTAs with land in a county, by their rows, as far as that is published.
fn in_county<'a>(places: &PlaceTable, zips: Option<&'a Zips>, county_fips: &'a str, vintage_year: i32) -> BTreeMap<usize, Location<'a>> {
    let mut found = BTreeMap::new();
    for row in 0..places.codes.len() {
        if let Some(primary) = places.primary_county(row, vintage_year)
            && primary.code == Some(county_fips)
        {
            found.insert(row, Location { land_share: primary.land_share, is_primary: true, zip: None, part: None });
        }
    }
    let Some((zips, counties)) = zips.and_then(|zips| Some((zips, zips.counties.as_ref()?))) else { return found };
    for (part, zip) in counties.in_county(county_fips) {
        // A ZIP code without an area of its own has the parts of the area that it lies in.
        let is_area = zips.find(zip).is_some_and(|row| zips.zctas.get(row) == Some(zip));
        if let (true, Some(share), Some(row)) = (is_area, counties.share(part).filter(|share| *share > 0.0), places.find(zip)) {
            let location = found.entry(row).or_insert(Location { land_share: Some(share), is_primary: false, zip: None, part: None });
            (location.zip, location.part) = (Some(zip), Some(part));
        }
    }
    found
}
