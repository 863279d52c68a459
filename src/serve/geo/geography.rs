//! Builds the geography objects of areas. For ZCTAs, the JSON text is written once when a release
//! is loaded, because each object appears in many answers and is built from a dozen columns.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Decimal, Float, Text};

/// An area and its location.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Geography<'a> {
    /// Kind of area: `zcta` (ZIP Code Tabulation Area) or `county`.
    #[serde(rename = "type")]
    #[schemars(title = "GeographyType", extend("enum" = ["zcta", "county"]))]
    pub kind: &'a str,
    /// Five digits: the ZCTA code, or the FIPS code of the county.
    #[schemars(extend("pattern" = "^[0-9]{5}$"))]
    pub id: &'a str,
    /// Display name of the area, such as `ZCTA 90210`.
    pub name: &'a str,
    /// The code as the caller supplied it.
    pub input_code: &'a str,
    /// How the area was found: by its exact ZCTA code or by its exact county FIPS code.
    #[schemars(extend("enum" = ["exact_zcta_code", "exact_county_fips"]))]
    pub matched_by: &'a str,
    #[schemars(extend("$field" = "geo.geography/land_area_sqmi", "nullable" = true))]
    pub land_area_sqmi: Option<Decimal>,
    #[schemars(extend("$field" = "geo.geography/primary_county_fips", "nullable" = true))]
    pub primary_county_fips: Option<&'a str>,
    #[serde(flatten)]
    pub of_zcta: Option<CountyOfZcta<'a>>,
    #[schemars(extend("$field" = "geo.geography/primary_state_code", "nullable" = true))]
    pub primary_state_code: Option<&'a str>,
    /// The Bureau's internal point of the area, in degrees; null if the release has no point for
    /// the area.
    pub internal_point: Option<InternalPoint>,
    /// Id of the area's record in `geo.geography` or `geo.county`; null if the release has no such
    /// record.
    pub record_id: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CountyOfZcta<'a> {
    #[schemars(extend("$field" = "geo.geography/primary_county_name", "nullable" = true))]
    pub primary_county_name: Option<&'a str>,
    #[schemars(extend("$field" = "geo.geography/primary_county_land_share", "nullable" = true))]
    pub primary_county_land_share: Option<Float>,
    #[schemars(extend("$field" = "geo.geography/primary_county_basis", "nullable" = true))]
    pub primary_county_basis: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GeographyInternalPoint")]
pub struct InternalPoint {
    #[schemars(extend("$field" = "geo.geography/internal_point_lat"))]
    pub lat: Float,
    #[schemars(extend("$field" = "geo.geography/internal_point_lon"))]
    pub lon: Float,
}

/// Geography objects of all areas in a table, by row.
#[derive(Debug)]
pub struct GeographyTexts {
    /// Start of each text, followed by the end of the last text.
    borders: Vec<usize>,
    text: String,
    /// Vintage of the counties in the objects.
    pub vintage_year: i32,
}

impl GeographyTexts {
    /// Writes the geography objects for `rows` rows.
    pub fn new<'a>(
        rows: usize,
        vintage_year: i32,
        geography: impl Fn(usize) -> Geography<'a>,
    ) -> Self {
        let (mut borders, mut text) = (vec![0], String::new());
        for row in 0..rows {
            text.push_str(Text::new(&geography(row)).as_str());
            borders.push(text.len());
        }
        text.shrink_to_fit();
        Self {
            borders,
            text,
            vintage_year,
        }
    }

    pub fn get(&self, row: usize) -> &str {
        &self.text[self.borders[row]..self.borders[row + 1]]
    }
}
