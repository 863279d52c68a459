//! Holds all ZIP codes in memory: with their counties, by city, and in order of latitude.

use std::collections::HashMap;
use std::ops::Range;

use arrow::array::{Array, Float64Array};
use bytes::Bytes;
use futures_util::future::OptionFuture;
use futures_util::join;

use crate::place::distance::Point;
use crate::release::dictionary::DictionaryColumn;
use crate::release::part_provenance::PartProvenance;
use crate::release::part_reader::PartReader;
use crate::release::table::{Table, TextLists, Texts};
use pubdata_core::canonical::address::city_key;
use pubdata_core::error::Result;
use pubdata_store::Part;

#[rustfmt::skip]
const COLUMNS: [&str; 16] = [
    "zip", "type", "type_raw", "city", "other_cities", "state", "state_name", "state_fips", "county_fips", "county_name", "lat", "lon", "coordinate_accuracy", "zcta", "zcta_match", "warnings",
];

/// Columns that later versions added to `zip.zip`.
const ADDED: [&str; 4] = [
    "military_region?",
    "timezone?",
    "timezone_basis?",
    "timezone_null_reason?",
];

/// Rows of `zip.zip`, sorted by code.
#[derive(Debug)]
pub struct Zips {
    pub codes: Texts,
    pub types: DictionaryColumn,
    pub types_raw: DictionaryColumn,
    pub cities: Texts,
    pub other_cities: TextLists,
    pub states: DictionaryColumn,
    pub military_regions: DictionaryColumn,
    /// Names in the IANA time zone database.
    pub time_zones: DictionaryColumn,
    pub time_zone_bases: DictionaryColumn,
    pub time_zone_null_reasons: DictionaryColumn,
    pub state_names: DictionaryColumn,
    pub state_fips: DictionaryColumn,
    pub county_fips: DictionaryColumn,
    pub county_names: DictionaryColumn,
    latitudes: Float64Array,
    longitudes: Float64Array,
    pub accuracies: DictionaryColumn,
    pub zctas: Texts,
    pub zcta_matches: DictionaryColumn,
    warnings: TextLists,
    pub provenance: PartProvenance,
    /// Rows with coordinates, in ascending order of latitude.
    pub points: Vec<Point>,
    /// Rows by state and city; city names are in the format used for comparison.
    by_city: HashMap<(String, String), Vec<u32>>,
    pub counties: Option<ZipCounties>,
}

/// Suffixes of county names in the Census Bureau's lists.
const COUNTY_SUFFIXES: [&str; 7] = [
    " COUNTY",
    " PARISH",
    " CITY AND BOROUGH",
    " BOROUGH",
    " CENSUS AREA",
    " MUNICIPALITY",
    " MUNICIPIO",
];

/// Rows of `zip.county`, sorted by ZIP code.
#[derive(Debug)]
pub struct ZipCounties {
    codes: Texts,
    pub county_fips: Texts,
    pub county_names: DictionaryColumn,
    shares: Float64Array,
    pub bases: DictionaryColumn,
    pub provenance: PartProvenance,
}

impl Zips {
    /// Reads the ZIP codes of a release, or returns `None` if the release has none.
    pub async fn load(reader: PartReader<'_>) -> Result<Option<Self>> {
        let Some(part) = reader.parts_of("zip.zip").next() else {
            return Ok(None);
        };
        let counties = OptionFuture::from(
            reader
                .parts_of("zip.county")
                .next()
                .map(|part| reader.decoded(part, ZipCounties::read)),
        );
        let (zips, counties) = join!(reader.decoded(part, Self::read), counties);
        Ok(Some(Self {
            counties: counties.transpose()?,
            ..zips?
        }))
    }

    fn read(part: &Part, bytes: Bytes) -> Result<Self> {
        let table = Table::read(
            bytes.clone(),
            &[&COLUMNS[..], &ADDED, &PartProvenance::COLUMNS].concat(),
            &part.path,
        )?;
        let codes = table.texts("zip")?;
        codes.check_sorted(&part.path)?;
        let (latitudes, longitudes) = (table.floats("lat")?, table.floats("lon")?);
        let has_place = |row: &usize| !latitudes.is_null(*row) && !longitudes.is_null(*row);
        let mut points: Vec<Point> = (0..table.rows())
            .filter(has_place)
            .map(|row| Point {
                lat: latitudes.value(row),
                lon: longitudes.value(row),
                row: row as u32,
            })
            .collect();
        points.sort_by(|a, b| a.lat.total_cmp(&b.lat));
        let mut zips = Self {
            codes,
            types: table.words("type")?,
            types_raw: table.words("type_raw")?,
            cities: table.texts("city")?,
            other_cities: table.text_lists("other_cities")?,
            states: table.words("state")?,
            military_regions: table.words("military_region")?,
            time_zones: table.words("timezone")?,
            time_zone_bases: table.words("timezone_basis")?,
            time_zone_null_reasons: table.words("timezone_null_reason")?,
            state_names: table.words("state_name")?,
            state_fips: table.words("state_fips")?,
            county_fips: table.words("county_fips")?,
            county_names: table.words("county_name")?,
            latitudes,
            longitudes,
            accuracies: table.words("coordinate_accuracy")?,
            zctas: table.texts("zcta")?,
            zcta_matches: table.words("zcta_match")?,
            warnings: table.text_lists("warnings")?,
            provenance: PartProvenance::read("zip.zip", part, bytes, &table)?,
            points,
            by_city: HashMap::new(),
            counties: None,
        };
        for row in 0..table.rows() {
            for name in zips.city_names(row) {
                zips.by_city
                    .entry((zips.states.at(row).to_owned(), name))
                    .or_default()
                    .push(row as u32);
            }
        }
        Ok(zips)
    }

    /// Reports whether the listed county contains no part of the ZIP code's ZCTA.
    pub fn has_county_conflict(&self, row: usize) -> bool {
        self.warnings.at(row).any(|code| code == "county_conflict")
    }

    /// Returns the row of a code.
    pub fn find(&self, code: &str) -> Option<usize> {
        self.codes.find(code)
    }

    /// Returns the latitude and longitude of the ZIP code's place in degrees.
    pub fn place(&self, row: usize) -> Option<(f64, f64)> {
        let is_known = !self.latitudes.is_null(row) && !self.longitudes.is_null(row);
        is_known.then(|| (self.latitudes.value(row), self.longitudes.value(row)))
    }

    /// Returns all city names for a ZIP code, in the format used to compare cities.
    pub fn city_names(&self, row: usize) -> Vec<String> {
        std::iter::once(self.cities.at(row))
            .chain(self.other_cities.at(row))
            .map(city_key)
            .collect()
    }

    /// Returns the name of a ZIP code's county in the format used to compare cities, without the
    /// word for its kind.
    pub fn county_as_city(&self, row: usize) -> Option<String> {
        let name = city_key(self.county_names.get(row)?);
        let kind = COUNTY_SUFFIXES
            .into_iter()
            .find_map(|kind| name.strip_suffix(kind));
        Some(kind.unwrap_or(&name).to_owned())
    }

    /// Returns the ZIP codes of a city.
    pub fn of_city(&self, state: &str, name: &str) -> &[u32] {
        self.by_city
            .get(&(state.to_owned(), city_key(name)))
            .map_or(&[], Vec::as_slice)
    }
}

impl ZipCounties {
    fn read(part: &Part, bytes: Bytes) -> Result<Self> {
        let columns = ["zip", "county_fips", "county_name", "share", "basis"];
        let table = Table::read(
            bytes.clone(),
            &[&columns[..], &PartProvenance::COLUMNS].concat(),
            &part.path,
        )?;
        Ok(Self {
            codes: table.texts("zip")?,
            county_fips: table.texts("county_fips")?,
            county_names: table.words("county_name")?,
            shares: table.floats("share")?,
            bases: table.words("basis")?,
            provenance: PartProvenance::read("zip.county", part, bytes, &table)?,
        })
    }

    /// Returns the rows of a ZIP code.
    pub fn of_zip(&self, code: &str) -> Range<usize> {
        let first = |is_before: &dyn Fn(&str) -> bool| {
            let (mut low, mut high) = (0, self.codes.len());
            while low < high {
                let middle = low + (high - low) / 2;
                if is_before(self.codes.at(middle)) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            low
        };
        first(&|known| known < code)..first(&|known| known <= code)
    }

    /// Returns the rows of a county, with their ZIP codes.
    pub fn in_county<'a>(&'a self, county_fips: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
        (0..self.codes.len())
            .filter(move |row| self.county_fips.at(*row) == county_fips)
            .map(|row| (row, self.codes.at(row)))
    }

    /// Returns the share of the ZCTA's land that is in the county.
    pub fn share(&self, row: usize) -> Option<f64> {
        (!self.shares.is_null(row)).then(|| self.shares.value(row))
    }
}
