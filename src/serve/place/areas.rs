//! Holds ZCTAs and counties in memory: names, areas, internal points, and the primary county of
//! each ZCTA.

use arrow::array::{Array, Float64Array, Int64Array};
use bytes::Bytes;

use crate::answer::Decimal;
use crate::place::area_codes::AreaCodes;
use crate::release::provenance::{Origin, PartOrigins};
use crate::release::table::{Table, Texts};
use pubdata_core::canonical::name::comparable;
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_store::Part;

/// Areas of one kind, sorted by code.
#[derive(Debug)]
pub struct PlaceTable {
    pub codes: Texts,
    by_code: AreaCodes,
    /// Sorted names of counties in the format used for comparison, with their rows; empty for
    /// ZCTAs.
    by_name: Vec<(Box<str>, u32)>,
    pub names: Texts,
    pub record_ids: Texts,
    pub validation_statuses: Texts,
    /// Land areas in square miles, in units of 10^-`land_area_scale`.
    land_areas: Vec<i64>,
    land_area_scale: u8,
    /// Water areas in square metres.
    water_areas: Int64Array,
    latitudes: Float64Array,
    longitudes: Float64Array,
    pub states: Texts,
    /// Primary counties; present for ZCTAs only.
    primary: Option<PrimaryCounties>,
    pub origin: Option<Origin>,
}

#[derive(Debug)]
struct PrimaryCounties {
    codes: Texts,
    names: Texts,
    land_shares: Float64Array,
    bases: Texts,
    /// Codes, names and land shares of the 2020 counties; null in releases of earlier versions.
    of_2020: (Texts, Texts, Option<Float64Array>),
}

/// First survey vintage that uses planning regions as the counties of Connecticut.
const FIRST_WITH_REGIONS: i32 = 2022;
const LARGEST_LAND_PART: &str = "largest_land_part";

/// Primary county of one ZCTA.
#[derive(Debug, Clone, Copy)]
pub struct PrimaryCounty<'a> {
    pub code: Option<&'a str>,
    pub name: Option<&'a str>,
    pub land_share: Option<f64>,
    pub basis: &'a str,
}

const COMMON: [&str; 7] = [
    "record_id",
    "name",
    "land_area_sqmi",
    "water_area_sqm",
    "internal_point_lat",
    "internal_point_lon",
    "validation_status",
];

impl PlaceTable {
    /// Reads the part of `geo.geography`.
    pub fn read_zctas(origins: &PartOrigins, part: &Part, bytes: Bytes) -> Result<Self> {
        let own = [
            "zcta",
            "primary_state_code",
            "primary_county_fips",
            "primary_county_name",
            "primary_county_land_share",
            "primary_county_basis",
        ];
        let of_2020 = [
            "county_2020_fips?",
            "county_2020_name?",
            "county_2020_land_share?",
        ];
        let table = Table::read(
            bytes.clone(),
            &[&COMMON[..], &own, &of_2020].concat(),
            &part.path,
        )?;
        let primary = PrimaryCounties {
            codes: table.texts("primary_county_fips")?,
            names: table.texts("primary_county_name")?,
            land_shares: table.floats("primary_county_land_share")?,
            bases: table.texts("primary_county_basis")?,
            of_2020: (
                table.texts("county_2020_fips")?,
                table.texts("county_2020_name")?,
                table.floats("county_2020_land_share").ok(),
            ),
        };
        Self::new(
            &table,
            ("zcta", "primary_state_code"),
            Some(primary),
            origins,
            part,
            bytes,
        )
    }

    /// Reads the part of `geo.county`.
    pub fn read_counties(origins: &PartOrigins, part: &Part, bytes: Bytes) -> Result<Self> {
        let table = Table::read(
            bytes.clone(),
            &[&COMMON[..], &["county_fips", "state_code"]].concat(),
            &part.path,
        )?;
        let mut counties = Self::new(
            &table,
            ("county_fips", "state_code"),
            None,
            origins,
            part,
            bytes,
        )?;
        counties.by_name = (0..)
            .take(table.rows())
            .map(|row: u32| (comparable(counties.names.at(row as usize)).into(), row))
            .collect();
        counties.by_name.sort_unstable();
        Ok(counties)
    }

    fn new(
        table: &Table,
        (code, state): (&str, &str),
        primary: Option<PrimaryCounties>,
        origins: &PartOrigins,
        part: &Part,
        bytes: Bytes,
    ) -> Result<Self> {
        let too_wide = |column: &str| {
            Error::store(format!(
                "{}: column `{column}` does not match its contract",
                part.path
            ))
        };
        let areas = table.decimals("land_area_sqmi")?;
        let codes = table.texts(code)?;
        codes.check_sorted(&part.path)?;
        let mut by_code = AreaCodes::default();
        (0..codes.len())
            .try_for_each(|row| by_code.push(codes.at(row)).map(drop))
            .context(|| part.path.clone())?;
        let first_row: &[usize] = if table.rows() > 0 { &[0] } else { &[] };
        Ok(Self {
            codes,
            by_code,
            by_name: Vec::new(),
            names: table.texts("name")?,
            record_ids: table.texts("record_id")?,
            validation_statuses: table.texts("validation_status")?,
            land_areas: areas
                .values()
                .iter()
                .map(|&area| i64::try_from(area))
                .collect::<std::result::Result<_, _>>()
                .map_err(|_| too_wide("land_area_sqmi"))?,
            land_area_scale: u8::try_from(areas.scale()).map_err(|_| too_wide("land_area_sqmi"))?,
            water_areas: table.int64s("water_area_sqm")?,
            latitudes: table.floats("internal_point_lat")?,
            longitudes: table.floats("internal_point_lon")?,
            states: table.texts(state)?,
            primary,
            origin: origins.of_rows(part, bytes, first_row)?.pop(),
        })
    }

    /// Finds an area by its code.
    pub fn find(&self, code: &str) -> Option<usize> {
        self.by_code.find(code)
    }

    /// Returns the counties whose names start with `beginning`, with their names. `beginning` must
    /// be in the format used to compare names.
    pub fn beginning(&self, beginning: &str) -> impl Iterator<Item = (&str, usize)> {
        let start = self
            .by_name
            .partition_point(|(name, _)| **name < *beginning);
        self.by_name[start..]
            .iter()
            .take_while(move |(name, _)| name.starts_with(beginning))
            .map(|(name, row)| (&**name, *row as usize))
    }

    /// Returns the latitude and longitude of the area's internal point in degrees.
    pub fn internal_point(&self, row: usize) -> (f64, f64) {
        (self.latitudes.value(row), self.longitudes.value(row))
    }

    /// Returns the land area as the Gazetteer prints it.
    pub fn land_area_sqmi(&self, row: usize) -> Decimal {
        Decimal {
            units: i128::from(self.land_areas[row]),
            scale: self.land_area_scale,
        }
    }

    /// Returns the water area in square miles, rounded to thousandths as the Gazetteer prints it.
    pub fn water_area_sqmi(&self, row: usize) -> Decimal {
        // Millionths of a square metre per square mile.
        const SQUARE_MILE: i128 = 2_589_988_110_336;
        let thousandths = (i128::from(self.water_areas.value(row)) * 1_000_000_000
            + SQUARE_MILE / 2)
            / SQUARE_MILE;
        Decimal {
            units: thousandths,
            scale: 3,
        }
    }

    /// Reports whether a ZCTA has the same primary county in two survey vintages.
    pub fn has_same_county(&self, row: usize, one_year: i32, other_year: i32) -> bool {
        self.is_of_2020(row, one_year) == self.is_of_2020(row, other_year)
    }

    /// Reports whether the primary county in a vintage is one of the 2020 counties and differs from
    /// today's county.
    fn is_of_2020(&self, row: usize, vintage_year: i32) -> bool {
        self.primary.as_ref().is_some_and(|primary| {
            let codes = &primary.of_2020.0;
            vintage_year < FIRST_WITH_REGIONS
                && codes.get(row) != primary.codes.get(row)
                && codes.get(row).is_some()
        })
    }

    /// Returns the primary county of a ZCTA among the counties of a vintage.
    pub fn primary_county(&self, row: usize, vintage_year: i32) -> Option<PrimaryCounty<'_>> {
        let primary = self.primary.as_ref()?;
        let (codes, names, land_shares) = &primary.of_2020;
        if self.is_of_2020(row, vintage_year) {
            let land_share = land_shares
                .as_ref()
                .filter(|shares| !shares.is_null(row))
                .map(|shares| shares.value(row));
            return Some(PrimaryCounty {
                code: codes.get(row),
                name: names.get(row),
                land_share,
                basis: LARGEST_LAND_PART,
            });
        }
        Some(PrimaryCounty {
            code: primary.codes.get(row),
            name: primary.names.get(row),
            land_share: (!primary.land_shares.is_null(row)).then(|| primary.land_shares.value(row)),
            basis: primary.bases.at(row),
        })
    }

    /// Returns the postal code of the state whose county codes start with the first two digits.
    pub fn state_of(&self, code: &str) -> Option<&str> {
        let prefix = code.get(..2)?;
        (0..self.codes.len())
            .find(|&row| self.codes.at(row).starts_with(prefix))
            .and_then(|row| self.states.get(row))
    }
}
