//! Lists public schools near a ZCTA that are open in the directory's school year, by straight-line
//! distance from the ZCTA's internal point.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Date, Decimal, Float, Text};
use crate::geo::area::{Area, AreaKind};
use crate::geo::geography::Geography;
use crate::geo::school_table::SchoolTable;
use crate::geo::tables::Geo;
use crate::http::components::Data;
use crate::http::cursor;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::{Coverage, Meta, Page};
use crate::http::paging::Paging;
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, RELEASE, format};
use crate::http::problem::not_published;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::place::distance::{Near, within};
use crate::release::key_columns::known_day;
use crate::release::loaded::Release;
use crate::release::provenance::{Provenance, schema_version};
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/locations/{zcta}/schools",
    operation_id: "getSchools",
    summary: "Public schools near a ZCTA",
    access: Access::Scope(Scope::Geo),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Schools<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Memory(schools),
};

const SCHOOLS: &str = "geo.school";

query! {
    pub struct Parameters<'a> {
        /// Straight-line distance from the ZCTA's internal point, statute miles.
        radius_mi: f64 = Kind::Number { min: 0.1, max: 100.0 }.or("5.0"),
        /// Limits the list to schools of this level.
        level: Option<&'a str> = Kind::OneOf(SCHOOLS, "level"),
        /// `true`: only charter schools; `false`: only other schools.
        charter: Option<bool> = Kind::Flag,
        /// `true`: only exclusively or primarily virtual schools; `false`: only other schools.
        r#virtual: Option<bool> = Kind::Flag,
        /// Limits the list to schools that offer this grade.
        grade: Option<&'a str> = Kind::OneWithNote(SCHOOLS, "grades_offered", "label"),
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format("schools"), ..RELEASE, ..AS_OF,
    }
}

#[derive(Serialize, JsonSchema)]
struct Schools<'a> {
    /// ZCTA from which the search starts.
    geography: Text<'a, Geography<'a>>,
    /// Provenance of the geography; null if the release has no record of the area.
    geography_provenance: Option<Provenance<'a>>,
    /// Point from which distances are measured.
    origin: Start,
    /// Radius of the search in statute miles.
    radius_mi: Float,
    /// School year of the directory, such as `2025-2026`; null if the directory is empty.
    school_year: Option<&'a str>,
    /// Schools within the radius, nearest first.
    schools: Vec<School<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SchoolsOrigin")]
struct Start {
    /// Latitude in degrees (WGS 84).
    lat: Float,
    /// Longitude in degrees (WGS 84).
    lon: Float,
    /// Kind of point: the ZCTA's internal point, as the Bureau publishes it.
    #[schemars(extend("enum" = ["zcta_internal_point"]))]
    basis: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct School<'a> {
    #[schemars(extend("$field" = "geo.school/ncessch"))]
    school_id: &'a str,
    #[schemars(extend("$field" = "geo.school/name"))]
    name: &'a str,
    /// Local education agency to which the school belongs.
    district: District<'a>,
    #[serde(rename = "type")]
    #[schemars(extend("$field" = "geo.school/school_type"))]
    school_type: Option<&'a str>,
    #[schemars(extend("$field" = "geo.school/level"))]
    level: Option<&'a str>,
    /// Grades that the school offers.
    grades: Grades<'a>,
    #[schemars(extend("$field" = "geo.school/is_charter"))]
    is_charter: Option<bool>,
    /// True if instruction is exclusively or primarily virtual; null if the publisher does not
    /// state this.
    is_virtual: Option<bool>,
    #[schemars(extend("$field" = "geo.school/virtual_status"))]
    virtual_status: Option<&'a str>,
    #[schemars(extend("$field" = "geo.school/status"))]
    status: &'a str,
    #[schemars(extend("$field" = "geo.school/status_updated"))]
    status_updated: Option<&'a str>,
    /// Date on which the status took effect; null if it is not published.
    #[schemars(extend("$field" = "geo.school/status_effective_date"))]
    status_effective_date: Option<Date>,
    /// Physical location of the school.
    address: Address<'a>,
    #[schemars(extend("$field" = "geo.school/county_fips"))]
    county_fips: Option<&'a str>,
    #[schemars(extend("$field" = "geo.school/lat", "nullable" = false))]
    lat: Float,
    #[schemars(extend("$field" = "geo.school/lon", "nullable" = false))]
    lon: Float,
    /// Straight line from the ZCTA's internal point, statute miles, rounded to 0.01.
    distance_mi: Decimal,
    /// Provenance of the school's record in `geo.school`.
    provenance: Provenance<'a>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SchoolDistrict")]
struct District<'a> {
    #[schemars(extend("$field" = "geo.school/leaid"))]
    id: &'a str,
    #[schemars(extend("$field" = "geo.school/district_name"))]
    name: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SchoolGrades")]
struct Grades<'a> {
    #[schemars(extend("$field" = "geo.school/grade_low"))]
    low: Option<&'a str>,
    #[schemars(extend("$field" = "geo.school/grade_high"))]
    high: Option<&'a str>,
    #[schemars(extend("$field" = "geo.school/grades_offered"))]
    offered: Vec<&'a str>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SchoolAddress")]
struct Address<'a> {
    #[schemars(extend("$field" = "geo.school/street"))]
    street: Option<&'a str>,
    #[schemars(extend("$field" = "geo.school/city"))]
    city: Option<&'a str>,
    #[schemars(extend("$field" = "geo.school/state_code"))]
    state: Option<&'a str>,
    #[schemars(extend("$field" = "geo.school/postal_code"))]
    zip: Option<&'a str>,
}

/// Answers `GET locations/{zcta}/schools`.
pub fn schools(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (geo, query) = (Geo::from_release(call.release), Parameters::read(call)?);
    let area = Area::find(&geo, AreaKind::Zcta, call.path_value("zcta"), None, "zcta")?;
    let table = geo.schools.ok_or_else(|| not_published(SCHOOLS))?;
    let Some((places, place)) = area.place else {
        return Err(Problem::of_field(
            Code::NotFound,
            "zcta",
            format!(
                "ZCTA {} has no internal point in the gazetteer, so distances cannot be computed",
                area.code
            ),
        ));
    };
    let (lat, lon) = places.internal_point(place);
    let radius_mi = query.radius_mi;
    let paging = Paging::new(call, query.limit, query.cursor)?;
    let (limit, ids) = (paging.limit, &table.columns.ncessch);
    let mut near = within(&table.points, (lat, lon), radius_mi);
    near.retain(|near| is_selected(table, near.row as usize, &query));
    let total = near.len();
    let order = |near: &Near| (near.hundredths, ids.at(near.row as usize));
    if let Some(key) = &paging.after {
        let (hundredths, id) = key
            .split_once(':')
            .and_then(|(hundredths, id)| Some((hundredths.parse::<u32>().ok()?, id)))
            .ok_or_else(cursor::malformed_cursor)?;
        near.retain(|near| order(near) > (hundredths, id));
    }
    let has_more = near.len() > limit;
    if has_more {
        // Sorts only the schools on the page, not the thousands of others.
        near.select_nth_unstable_by(limit, |a, b| order(a).cmp(&order(b)));
        near.truncate(limit);
    }
    near.sort_unstable_by(|a, b| order(a).cmp(&order(b)));
    let sort_key = |near: &Near| format!("{}:{}", near.hundredths, ids.at(near.row as usize));
    let next_cursor = near
        .last()
        .filter(|_| has_more)
        .map(|last| paging.cursor(&sort_key(last)));

    json.value(&Schools {
        geography: area.geography(&geo),
        geography_provenance: area.geography_provenance(),
        origin: Start {
            lat: Float(lat),
            lon: Float(lon),
            basis: "zcta_internal_point",
        },
        radius_mi: Float(radius_mi),
        school_year: (ids.len() > 0).then(|| table.columns.school_year.at(0)),
        schools: near
            .iter()
            .map(|near| school(call.release, table, near))
            .collect(),
    });
    Ok(describe(
        table,
        Page {
            limit,
            count: near.len(),
            next_cursor,
            total,
            is_total_exact: true,
            is_cut: false,
        },
    ))
}

fn describe(table: &SchoolTable, page: Page) -> Meta {
    let mut meta = Meta {
        datasets: vec![SCHOOLS.into(), "geo.geography".into()],
        page: Some(page),
        ..Meta::default()
    };
    let scope = format!(
        "{} open public schools with coordinates",
        table.points.len()
    );
    meta.coverage = Some(Coverage {
        geography_type: Some("zcta"),
        scope,
        ..Coverage::default()
    });
    crate::geo::notices::add_zcta_notice(&mut meta);
    meta.notice("STRAIGHT_LINE_DISTANCE", "Distances are straight lines from the ZCTA's internal point to the school's address geocode, not travel distances.");
    if table.open_without_coordinates > 0 {
        let count = table.open_without_coordinates;
        meta.notice(
            "SCHOOLS_WITHOUT_COORDINATES",
            format!("{count} open schools of the directory have no published coordinates and cannot be found by distance."),
        );
    }
    meta
}

fn is_selected(table: &SchoolTable, row: usize, query: &Parameters<'_>) -> bool {
    let flag = |required: Option<bool>, value: Option<bool>| {
        required.is_none_or(|required| required == (value == Some(true)))
    };
    let has_level = query
        .level
        .is_none_or(|level| table.columns.level.get(row) == Some(level));
    let has_grade = query.grade.is_none_or(|grade| {
        table
            .columns
            .grades_offered
            .at(row)
            .any(|offered| offered == grade)
    });
    has_level
        && has_grade
        && flag(query.charter, table.is_charter(row))
        && flag(query.r#virtual, table.is_virtual(row))
}

fn school<'a>(release: &'a Release, table: &'a SchoolTable, near: &Near) -> School<'a> {
    let (columns, row) = (&table.columns, near.row as usize);
    let (validation_status, record_id) =
        (columns.validation_status.at(row), columns.record_id.at(row));
    School {
        school_id: columns.ncessch.at(row),
        name: columns.name.at(row),
        district: District {
            id: columns.leaid.at(row),
            name: columns.district_name.at(row),
        },
        school_type: columns.school_type.get(row),
        level: columns.level.get(row),
        grades: Grades {
            low: columns.grade_low.get(row),
            high: columns.grade_high.get(row),
            offered: columns.grades_offered.at(row).collect(),
        },
        is_charter: table.is_charter(row),
        is_virtual: table.is_virtual(row),
        virtual_status: columns.virtual_status.get(row),
        status: columns.status.at(row),
        status_updated: columns.status_updated.get(row),
        status_effective_date: known_day(columns.status_effective_date.at(row)).map(Date),
        address: Address {
            street: columns.street.get(row),
            city: columns.city.get(row),
            state: columns.state_code.get(row),
            zip: columns.postal_code.get(row),
        },
        county_fips: columns.county_fips.get(row),
        lat: Float(columns.lat.value(row)),
        lon: Float(columns.lon.value(row)),
        distance_mi: Decimal {
            units: i128::from(near.hundredths),
            scale: 2,
        },
        provenance: match &table.origin {
            Some(origin) => origin.provenance(validation_status, record_id),
            None => Provenance::new(
                (SCHOOLS, schema_version(&release.manifest, SCHOOLS)),
                ("", None),
                validation_status,
                record_id,
            ),
        },
    }
}
