//! Lists public schools near a ZCTA: open ones of the directory's school year, by straight-line distance from the internal point.

use crate::geo::tables::Geo;
use arrow::array::Array;

use crate::geo::area::{Area, AreaKind};
use crate::geo::school_table::SchoolTable;
use crate::http::components::Data;
use crate::http::cursor;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::{Coverage, Meta, Page};
use crate::http::paging::Paging;
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, Parameter, RELEASE, format};
use crate::http::problem::not_published;
use crate::http::problem::{Code, Problem, Result};
use crate::http::query::Query;
use crate::json::{Json, Trim};
use crate::place::distance::{Near, within};
use crate::release::loaded::Release;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/locations/{zcta}/schools",
    operation_id: "getSchools",
    summary: "Public schools near a ZCTA",
    access: Access::Scope(Scope::Geo),
    parameters: PARAMETERS,
    body: None,
    data: Data::Written("Schools"),
    validity: Validity::Release,
    handler: Handler::Memory(schools),
};

const DEFAULT_RADIUS_MI: f64 = 5.0;

/// The endpoint's parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "radius_mi",
        kind: Kind::Number { min: 0.1, max: 100.0, default: Some(DEFAULT_RADIUS_MI) },
        description: "Straight-line distance from the ZCTA's internal point, statute miles.",
    },
    Parameter { name: "level", kind: Kind::OneOf("geo.school", "level"), description: "Only schools of this level." },
    Parameter { name: "charter", kind: Kind::Flag, description: "`true`: only charter schools; `false`: only the others." },
    Parameter { name: "virtual", kind: Kind::Flag, description: "`true`: only exclusively or primarily virtual schools; `false`: only the others." },
    Parameter { name: "grade", kind: Kind::OneNoted("geo.school", "grades_offered", "label"), description: "Only schools that offer this grade." },
    LIMIT,
    CURSOR,
    format("schools"),
    RELEASE,
    AS_OF,
];

/// Answers `GET locations/{zcta}/schools`.
pub fn schools(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (geo, query) = (Geo::of(call.release), call.query);
    let area = Area::find(&geo, AreaKind::Zcta, call.path_value("zcta"), None, "zcta")?;
    let table = geo.schools.ok_or_else(|| not_published("geo.school"))?;
    let Some((places, place)) = area.place else {
        return Err(Problem::of_field(Code::NotFound, "zcta", format!("ZCTA {} has no internal point in the gazetteer, so nothing can be near it", area.code)));
    };
    let (lat, lon) = places.internal_point(place);
    let radius_mi = query.parsed("radius_mi").unwrap_or(DEFAULT_RADIUS_MI);
    let paging = Paging::of(call)?;
    let limit = paging.limit;
    let mut near = within(&table.points, (lat, lon), radius_mi);
    near.retain(|near| is_wanted(table, near.row as usize, query));
    let total = near.len();
    let order = |near: &Near| (near.hundredths, table.ids.at(near.row as usize));
    if let Some(key) = &paging.after {
        let (hundredths, id) = key.split_once(':').and_then(|(hundredths, id)| Some((hundredths.parse::<u32>().ok()?, id))).ok_or_else(cursor::not_a_cursor)?;
        near.retain(|near| order(near) > (hundredths, id));
    }
    let has_more = near.len() > limit;
    if has_more {
        // Only the page needs an order, not the thousands of schools around it.
        near.select_nth_unstable_by(limit, |a, b| order(a).cmp(&order(b)));
        near.truncate(limit);
    }
    near.sort_unstable_by(|a, b| order(a).cmp(&order(b)));
    let sort_key = |near: &Near| format!("{}:{}", near.hundredths, table.ids.at(near.row as usize));
    let next_cursor = near.last().filter(|_| has_more).map(|last| paging.cursor(&sort_key(last)));

    json.object(|json| {
        area.write_geography(&geo, json.key("geography"));
        area.write_geography_provenance(json.key("geography_provenance"));
        json.key("origin").object(|json| {
            json.key("lat").float(lat);
            json.key("lon").float(lon);
            json.key("basis").text("zcta_internal_point");
        });
        json.key("radius_mi").float(radius_mi);
        json.key("school_year").optional_text(if table.ids.len() > 0 { Some(table.school_years.at(0)) } else { None });
        json.key("schools").array(|json| near.iter().for_each(|near| write_school(json, call.release, table, near)));
    });
    Ok(describe(table, Page { limit, count: near.len(), next_cursor, total, is_total_exact: true, is_cut: false }))
}

fn describe(table: &SchoolTable, page: Page) -> Meta {
    let mut meta = Meta { datasets: vec!["geo.school".into(), "geo.geography".into()], page: Some(page), ..Meta::default() };
    let scope = format!("{} open public schools with coordinates", table.points.len());
    meta.coverage = Some(Coverage { geography_type: Some("zcta"), scope, ..Coverage::default() });
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

fn is_wanted(table: &SchoolTable, row: usize, query: &Query) -> bool {
    let flag = |name: &str, value: Option<bool>| query.get(name).is_none_or(|wanted| (wanted == "true") == (value == Some(true)));
    let has_level = query.get("level").is_none_or(|level| table.levels.get(row) == Some(level));
    let has_grade = query.get("grade").is_none_or(|grade| table.grades_offered.at(row).any(|offered| offered == grade));
    has_level && has_grade && flag("charter", table.is_charter(row)) && flag("virtual", table.is_virtual(row))
}

fn write_school(json: &mut Json, release: &Release, table: &SchoolTable, near: &Near) {
    let row = near.row as usize;
    json.object(|json| {
        json.key("school_id").text(table.ids.at(row));
        json.key("name").text(table.names.at(row));
        json.key("district").object(|json| {
            json.key("id").text(table.district_ids.at(row));
            json.key("name").text(table.district_names.at(row));
        });
        json.key("type").optional_text(table.types.get(row));
        json.key("level").optional_text(table.levels.get(row));
        json.key("grades").object(|json| {
            json.key("low").optional_text(table.grades_low.get(row));
            json.key("high").optional_text(table.grades_high.get(row));
            json.key("offered").texts(table.grades_offered.at(row));
        });
        json.key("is_charter").optional_flag(table.is_charter(row));
        json.key("is_virtual").optional_flag(table.is_virtual(row));
        json.key("virtual_status").optional_text(table.virtual_statuses.get(row));
        json.key("status").text(table.statuses.at(row));
        json.key("status_updated").optional_text(table.statuses_updated.get(row));
        json.key("status_effective_date").optional_day((!table.status_dates.is_null(row)).then(|| table.status_dates.value(row)));
        json.key("address").object(|json| {
            json.key("street").optional_text(table.streets.get(row));
            json.key("city").optional_text(table.cities.get(row));
            json.key("state").optional_text(table.states.get(row));
            json.key("zip").optional_text(table.postal_codes.get(row));
        });
        json.key("county_fips").optional_text(table.county_codes.get(row));
        json.key("lat").float(table.latitudes.value(row));
        json.key("lon").float(table.longitudes.value(row));
        json.key("distance_mi").decimal(i64::from(near.hundredths), 2, Trim::Zeros);
        json.key("provenance");
        match &table.origin {
            Some(origin) => origin.write(json, table.validation_statuses.at(row), table.record_ids.at(row)),
            None => crate::release::provenance::origin(&release.manifest, "geo.school", None).write(
                json,
                table.validation_statuses.at(row),
                table.record_ids.at(row),
            ),
        }
    });
}
