//! Holds public schools in memory. Open schools with coordinates are sorted by latitude, so that a
//! search reads only a band.

use arrow::array::{Array, BooleanArray, Float64Array};
use bytes::Bytes;

use crate::place::distance::Point;
use crate::release::key_columns::{Days, key_columns};
use crate::release::provenance::{Origin, PartOrigins};
use crate::release::table::{Table, TextLists, Texts};
use pubdata_core::error::Result;
use pubdata_store::Part;

/// The school directory.
#[derive(Debug)]
pub struct SchoolTable {
    pub columns: SchoolColumns,
    pub origin: Option<Origin>,
    /// Open schools with coordinates, by latitude.
    pub points: Vec<Point>,
    /// Number of open schools that no search can find, because the publisher gives no coordinates.
    pub open_without_coordinates: usize,
}

key_columns! {
    #[derive(Debug)]
    pub struct SchoolColumns {
        pub record_id: Texts,
        pub ncessch: Texts,
        pub school_year: Texts,
        pub name: Texts,
        pub leaid: Texts,
        pub district_name: Texts,
        pub school_type: Texts,
        pub level: Texts,
        pub grade_low: Texts,
        pub grade_high: Texts,
        pub grades_offered: TextLists,
        is_charter: BooleanArray,
        pub virtual_status: Texts,
        is_open: BooleanArray,
        pub status: Texts,
        pub status_updated: Texts,
        pub status_effective_date: Days,
        pub street: Texts,
        pub city: Texts,
        pub state_code: Texts,
        pub postal_code: Texts,
        pub county_fips: Texts,
        pub lat: Float64Array,
        pub lon: Float64Array,
        pub validation_status: Texts,
    }
}

impl SchoolTable {
    /// Reads the part of `geo.school`.
    pub fn read(origins: &PartOrigins, part: &Part, bytes: Bytes) -> Result<Self> {
        let table = Table::read(bytes.clone(), SchoolColumns::COLUMNS, &part.path)?;
        let columns = SchoolColumns::open(&table)?;
        let has_point = |row: usize| !columns.lat.is_null(row) && !columns.lon.is_null(row);
        let open_rows = || (0..table.rows()).filter(|&row| columns.is_open.value(row));
        let point = |row: usize| Point {
            lat: columns.lat.value(row),
            lon: columns.lon.value(row),
            row: row as u32,
        };
        let mut points: Vec<Point> = open_rows()
            .filter(|&row| has_point(row))
            .map(point)
            .collect();
        points.sort_by(|a, b| a.lat.total_cmp(&b.lat).then(a.row.cmp(&b.row)));
        let open_without_coordinates = open_rows().filter(|&row| !has_point(row)).count();
        let first_row: &[usize] = if table.rows() > 0 { &[0] } else { &[] };
        Ok(Self {
            origin: origins.of_rows(part, bytes, first_row)?.pop(),
            columns,
            points,
            open_without_coordinates,
        })
    }

    /// Returns whether instruction is wholly or mainly virtual; `None` if the publisher does not
    /// state this.
    pub fn is_virtual(&self, row: usize) -> Option<bool> {
        match self.columns.virtual_status.get(row) {
            Some("exclusively_virtual" | "primarily_virtual") => Some(true),
            Some("not_virtual" | "supplemental") => Some(false),
            _ => None,
        }
    }

    /// Returns whether the school is a charter school; `None` if the directory states that this
    /// does not apply.
    pub fn is_charter(&self, row: usize) -> Option<bool> {
        let charters = &self.columns.is_charter;
        (!charters.is_null(row)).then(|| charters.value(row))
    }
}
