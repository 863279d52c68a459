//! Public schools in memory, and the open ones that have coordinates in order of latitude, so that a search looks only at a band.

use arrow::array::{Array, BooleanArray, Date32Array, Float64Array};
use bytes::Bytes;

use crate::place::distance::Point;
use crate::release::provenance::{Origin, PartOrigins};
use crate::release::table::{Table, TextLists, Texts};
use pubdata_core::error::Result;
use pubdata_store::Part;

/// The school directory.
#[derive(Debug)]
pub struct SchoolTable {
    pub record_ids: Texts,
    pub ids: Texts,
    pub school_years: Texts,
    pub names: Texts,
    pub district_ids: Texts,
    pub district_names: Texts,
    pub types: Texts,
    pub levels: Texts,
    pub grades_low: Texts,
    pub grades_high: Texts,
    pub grades_offered: TextLists,
    pub charters: BooleanArray,
    pub virtual_statuses: Texts,
    pub statuses: Texts,
    pub statuses_updated: Texts,
    pub status_dates: Date32Array,
    pub streets: Texts,
    pub cities: Texts,
    pub states: Texts,
    pub postal_codes: Texts,
    pub county_codes: Texts,
    pub latitudes: Float64Array,
    pub longitudes: Float64Array,
    pub validation_statuses: Texts,
    pub origin: Option<Origin>,
    /// Open schools with coordinates, by latitude.
    pub points: Vec<Point>,
    /// Open schools that no search can find because the publisher gives no coordinates.
    pub open_without_coordinates: usize,
}

const COLUMNS: [&str; 25] = [
    "record_id",
    "ncessch",
    "school_year",
    "name",
    "leaid",
    "district_name",
    "school_type",
    "level",
    "grade_low",
    "grade_high",
    "grades_offered",
    "is_charter",
    "virtual_status",
    "is_open",
    "status",
    "status_updated",
    "status_effective_date",
    "street",
    "city",
    "state_code",
    "postal_code",
    "county_fips",
    "lat",
    "lon",
    "validation_status",
];

impl SchoolTable {
    /// Reads the part of `geo.school`.
    ///
    /// # Errors
    /// `Store`, when the part lacks a column.
    pub fn read(origins: &PartOrigins, part: &Part, bytes: Bytes) -> Result<Self> {
        let table = Table::read(bytes.clone(), &COLUMNS, &part.path)?;
        let (latitudes, longitudes, open) = (table.floats("lat")?, table.floats("lon")?, table.flags("is_open")?);
        let has_point = |row: usize| !latitudes.is_null(row) && !longitudes.is_null(row);
        let open_rows = || (0..table.rows()).filter(|&row| open.value(row));
        let point = |row: usize| Point { lat: latitudes.value(row), lon: longitudes.value(row), row: row as u32 };
        let mut points: Vec<Point> = open_rows().filter(|&row| has_point(row)).map(point).collect();
        points.sort_by(|a, b| a.lat.total_cmp(&b.lat).then(a.row.cmp(&b.row)));
        let open_without_coordinates = open_rows().filter(|&row| !has_point(row)).count();
        let first_row: &[usize] = if table.rows() > 0 { &[0] } else { &[] };
        Ok(Self {
            record_ids: table.texts("record_id")?,
            ids: table.texts("ncessch")?,
            school_years: table.texts("school_year")?,
            names: table.texts("name")?,
            district_ids: table.texts("leaid")?,
            district_names: table.texts("district_name")?,
            types: table.texts("school_type")?,
            levels: table.texts("level")?,
            grades_low: table.texts("grade_low")?,
            grades_high: table.texts("grade_high")?,
            grades_offered: table.text_lists("grades_offered")?,
            charters: table.flags("is_charter")?,
            virtual_statuses: table.texts("virtual_status")?,
            statuses: table.texts("status")?,
            statuses_updated: table.texts("status_updated")?,
            status_dates: table.dates("status_effective_date")?,
            streets: table.texts("street")?,
            cities: table.texts("city")?,
            states: table.texts("state_code")?,
            postal_codes: table.texts("postal_code")?,
            county_codes: table.texts("county_fips")?,
            latitudes,
            longitudes,
            validation_statuses: table.texts("validation_status")?,
            origin: origins.of_rows(part, bytes, first_row)?.pop(),
            points,
            open_without_coordinates,
        })
    }

    /// Whether instruction is wholly or mainly virtual; none when the publisher does not say.
    pub fn is_virtual(&self, row: usize) -> Option<bool> {
        match self.virtual_statuses.get(row) {
            Some("exclusively_virtual" | "primarily_virtual") => Some(true),
            Some("not_virtual" | "supplemental") => Some(false),
            _ => None,
        }
    }

    /// Whether it is a charter school; none where the directory says not applicable.
    pub fn is_charter(&self, row: usize) -> Option<bool> {
        (!self.charters.is_null(row)).then(|| self.charters.value(row))
    }
}
