//! Builds a ZIP code for answers, with the fields that the caller selected and the underlying
//! records.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Date, Decimal, Float, Members, Text};
use crate::geo::area::{Area, AreaKind};
use crate::geo::figures::{Metric, Vintage};
use crate::geo::notices::{add_not_fetched_notice, add_not_in_survey_notice, add_zcta_notice};
use crate::geo::tables::Geo;
use crate::http::endpoint::Call;
use crate::http::meta::Meta;
use crate::place::zips::Zips;
use crate::release::provenance::Provenance;
use crate::tax::figures::rate;
use crate::tax::range::{Range, Unknown, range_of_zip};

/// Fields that a caller may select; `zip`, `input` and `provenance` are always included.
#[rustfmt::skip]
pub const FIELDS: [&str; 22] = [
    "type", "type_raw", "city", "other_cities", "state", "military_region", "state_name", "state_fips", "county", "counties", "lat", "lon", "coordinate_accuracy", "zcta", "land_area_sqmi",
    "water_area_sqmi", "timezone", "timezone_basis", "timezone_null_reason", "demographics", "sales_tax", "sales_tax_null_reason",
];

/// Fields to include in the answer.
#[derive(Debug)]
pub struct Chosen(Option<Vec<String>>);

impl Chosen {
    pub fn new(fields: Option<&[&str]>) -> Self {
        Self(fields.map(|fields| fields.iter().map(|field| (*field).to_owned()).collect()))
    }

    pub fn has(&self, field: &str) -> bool {
        self.0
            .as_ref()
            .is_none_or(|fields| fields.iter().any(|known| known == field))
    }
}

/// One ZIP code in a release.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    pub call: &'a Call<'a>,
    pub zips: &'a Zips,
    pub row: usize,
    /// The code as sent in the request.
    pub input: &'a str,
}

/// With `fields`, only the requested optional fields are present.
#[derive(Serialize, JsonSchema)]
pub struct Zip<'a> {
    /// ZIP code exactly as given in the request.
    input: &'a str,
    #[schemars(extend("$field" = "zip.zip/zip"))]
    zip: &'a str,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(title = "ZipType", extend("$field" = "zip.zip/type"))]
    kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("$field" = "zip.zip/type_raw"))]
    type_raw: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("$field" = "zip.zip/city"))]
    city: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("$field" = "zip.zip/other_cities"))]
    other_cities: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("$field" = "zip.zip/state"))]
    state: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("$field" = "zip.zip/military_region"))]
    military_region: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("$field" = "zip.zip/state_name"))]
    state_name: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("$field" = "zip.zip/state_fips"))]
    state_fips: Option<Option<&'a str>>,
    /// County of the ZIP code's place; null for military mail.
    #[serde(skip_serializing_if = "Option::is_none")]
    county: Option<Option<ZipCounty<'a>>>,
    /// Counties in which the ZIP code lies.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<ZipCountyPart<'a>>")]
    counties: Option<Vec<ZipCountyPart<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("$field" = "zip.zip/lat"))]
    lat: Option<Option<Float>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("$field" = "zip.zip/lon"))]
    lon: Option<Option<Float>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("$field" = "zip.zip/coordinate_accuracy"))]
    coordinate_accuracy: Option<Option<&'a str>>,
    /// ZIP Code Tabulation Area that represents the ZIP code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ZipZcta<'a>")]
    zcta: Option<ZipZcta<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("$field" = "geo.geography/land_area_sqmi", "nullable" = true))]
    land_area_sqmi: Option<Option<Decimal>>,
    /// Water area of the ZCTA in square miles.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    water_area_sqmi: Option<Option<Decimal>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("$field" = "zip.zip/timezone", "nullable" = true))]
    timezone: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("$field" = "zip.zip/timezone_basis", "nullable" = true))]
    timezone_basis: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("$field" = "zip.zip/timezone_null_reason", "nullable" = true))]
    timezone_null_reason: Option<Option<&'a str>>,
    /// Figures of the ZCTA that represents the ZIP code; null if the release has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    demographics: Option<Option<ZipDemographics<'a>>>,
    /// Current range of combined sales tax rates in the ZIP code; null with a reason if not all
    /// rates are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    sales_tax: Option<Option<ZipSalesTax>>,
    /// Reason for a null `sales_tax`: the release lacks the state's local rates for the current
    /// day; the state's list has no rate for the city; or the release lacks a rate for the place.
    #[serde(skip_serializing_if = "Option::is_none")]
    sales_tax_null_reason: Option<Option<Unknown>>,
    /// Provenance of the records from which the answer was built.
    provenance: Vec<Provenance<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct ZipCounty<'a> {
    #[schemars(extend("$field" = "zip.zip/county_fips", "nullable" = false))]
    fips: &'a str,
    #[schemars(extend("$field" = "zip.zip/county_name"))]
    name: Option<&'a str>,
}

#[derive(Serialize, JsonSchema)]
struct ZipCountyPart<'a> {
    #[schemars(extend("$field" = "zip.county/county_fips"))]
    fips: &'a str,
    #[schemars(extend("$field" = "zip.county/county_name"))]
    name: Option<&'a str>,
    #[schemars(extend("$field" = "zip.county/share"))]
    share: Option<Float>,
    #[schemars(extend("$field" = "zip.county/basis"))]
    basis: &'a str,
}

/// ZIP Code Tabulation Area that represents the ZIP code.
#[derive(Serialize, JsonSchema)]
struct ZipZcta<'a> {
    #[schemars(extend("$field" = "zip.zip/zcta"))]
    code: Option<&'a str>,
    #[serde(rename = "match")]
    #[schemars(extend("$field" = "zip.zip/zcta_match"))]
    zcta_match: &'a str,
}

/// Metrics of the ZCTA that represents the ZIP code, by key, and their vintage.
#[derive(Serialize, JsonSchema)]
struct ZipDemographics<'a> {
    // Uses the text stored in the metric table, because building it for each code would dominate
    // the answer's time.
    #[serde(flatten)]
    metrics: Members<&'a str, Text<'a, Metric<'a>>>,
    /// Survey vintage of the figures.
    vintage: &'a Vintage,
}

/// Lowest and highest current combined rate in the ZIP code; null if local rates are not covered.
#[derive(Serialize, JsonSchema)]
struct ZipSalesTax {
    /// Lowest combined rate, as a fraction from 0 to 1: 0.0725 is 7.25 percent.
    min_rate: Decimal,
    /// Highest combined rate, as a fraction from 0 to 1: 0.0725 is 7.25 percent.
    max_rate: Decimal,
    /// Day for which the rates hold.
    #[schemars(with = "Date")]
    as_of: jiff::civil::Date,
    /// How rates are located: `full` by boundaries, `partial` only by place names.
    #[schemars(extend("enum" = ["full", "partial"]))]
    coverage: &'static str,
}

impl<'a> Record<'a> {
    /// Builds the record shown in answers.
    pub fn shown(&self, chosen: &Chosen) -> Zip<'a> {
        let (zips, row) = (self.zips, self.row);
        let has = |field: &str| chosen.has(field);
        let area = self.area();
        let place = area.and_then(|area| area.place);
        let is_range_needed = has("sales_tax") || has("sales_tax_null_reason");
        let (range, unknown) = match is_range_needed.then(|| range_of_zip(self.call, row)) {
            Some(Ok(range)) => (Some(range), None),
            Some(Err(unknown)) => (None, Some(unknown)),
            None => (None, None),
        };
        Zip {
            input: self.input,
            zip: zips.codes.at(row),
            kind: has("type").then(|| zips.types.at(row)),
            type_raw: has("type_raw").then(|| zips.types_raw.get(row)),
            city: has("city").then(|| zips.cities.at(row)),
            other_cities: has("other_cities").then(|| zips.other_cities.at(row).collect()),
            state: has("state").then(|| zips.states.at(row)),
            military_region: has("military_region").then(|| zips.military_regions.get(row)),
            state_name: has("state_name").then(|| zips.state_names.get(row)),
            state_fips: has("state_fips").then(|| zips.state_fips.get(row)),
            county: has("county").then(|| {
                zips.county_fips.get(row).map(|fips| ZipCounty {
                    fips,
                    name: zips.county_names.get(row),
                })
            }),
            counties: has("counties").then(|| self.counties()),
            lat: has("lat").then(|| zips.place(row).map(|place| Float(place.0))),
            lon: has("lon").then(|| zips.place(row).map(|place| Float(place.1))),
            coordinate_accuracy: has("coordinate_accuracy").then(|| zips.accuracies.get(row)),
            zcta: has("zcta").then(|| ZipZcta {
                code: zips.zctas.get(row),
                zcta_match: zips.zcta_matches.at(row),
            }),
            land_area_sqmi: has("land_area_sqmi")
                .then(|| place.map(|(places, row)| places.land_area_sqmi(row))),
            water_area_sqmi: has("water_area_sqmi")
                .then(|| place.map(|(places, row)| places.water_area_sqmi(row))),
            timezone: has("timezone").then(|| zips.time_zones.get(row)),
            timezone_basis: has("timezone_basis").then(|| zips.time_zone_bases.get(row)),
            timezone_null_reason: has("timezone_null_reason")
                .then(|| zips.time_zone_null_reasons.get(row)),
            demographics: has("demographics").then(|| area.map(|area| self.demographics(&area))),
            sales_tax: has("sales_tax").then(|| range.as_ref().map(sales_tax)),
            sales_tax_null_reason: has("sales_tax_null_reason").then_some(unknown),
            provenance: self.provenance(chosen, area.as_ref(), range.as_ref()),
        }
    }

    /// Adds the notices for the included fields.
    pub fn note(&self, meta: &mut Meta, chosen: &Chosen) {
        let (code, state) = (self.zips.codes.at(self.row), self.zips.states.at(self.row));
        if let Some(region) = self
            .zips
            .military_regions
            .get(self.row)
            .filter(|region| *region != state && chosen.has("state"))
        {
            let message = format!(
                "The source names the region {state} for {code}, but the Postal Service assigns military codes with these first digits to {region}. `state` follows the source, `military_region` the first digits."
            );
            meta.notice("MILITARY_REGION_CONFLICT", message);
        }
        if chosen.has("county") && self.zips.has_county_conflict(self.row) {
            let zcta = self.zips.zctas.get(self.row).unwrap_or(code);
            let answered = if self.zips.county_fips.get(self.row).is_some() {
                "follows the area's land or the post office"
            } else {
                "is null"
            };
            let message = format!(
                "GeoNames lists {code} under a county in which tabulation area {zcta} has no part: `county` {answered}."
            );
            meta.notice("COUNTY_CONFLICT", message);
        }
        let Some(area) = self.area() else { return };
        if chosen.has("demographics")
            || chosen.has("land_area_sqmi")
            || chosen.has("water_area_sqmi")
        {
            add_zcta_notice(meta);
        }
        if chosen.has("demographics") {
            if area.code != code {
                meta.notice(
                    "ZIP_WITHOUT_ZCTA",
                    "A ZIP code without its own ZCTA, such as one for post office boxes, has the `demographics` of the ZCTA that contains it. Other ZIP codes share these figures: do not add them.",
                );
            }
            add_not_fetched_notice(meta, area.table, &self.all_metrics());
            if area.area.is_none() {
                add_not_in_survey_notice(meta, area.code, area.table.vintage_year);
            }
        }
    }

    /// Returns the ZCTA that represents the code, if the release contains it.
    fn area(&self) -> Option<Area<'a>> {
        let code = self.zips.zctas.get(self.row)?;
        Area::find(
            &Geo::from_release(self.call.release),
            AreaKind::Zcta,
            code,
            None,
            "zip",
        )
        .ok()
    }

    fn counties(&self) -> Vec<ZipCountyPart<'a>> {
        let Some(counties) = &self.zips.counties else {
            return Vec::new();
        };
        let part = |row| ZipCountyPart {
            fips: counties.county_fips.at(row),
            name: counties.county_names.get(row),
            share: counties.share(row).map(Float),
            basis: counties.bases.at(row),
        };
        counties
            .of_zip(self.zips.codes.at(self.row))
            .map(part)
            .collect()
    }

    fn all_metrics(&self) -> Vec<usize> {
        (0..Geo::from_release(self.call.release).metric_keys.len()).collect()
    }

    fn demographics(&self, area: &Area<'a>) -> ZipDemographics<'a> {
        let metric = |(metric, key): (usize, &'a String)| {
            (
                key.as_str(),
                Text::written(|json| json.object(|json| area.write_metric(json, key, metric))),
            )
        };
        let metrics = Geo::from_release(self.call.release)
            .metric_keys
            .iter()
            .enumerate()
            .map(metric)
            .collect();
        ZipDemographics {
            metrics: Members(metrics),
            vintage: &area.table.vintage,
        }
    }

    /// Returns the provenance of the records from which the included fields come.
    fn provenance(
        &self,
        chosen: &Chosen,
        area: Option<&Area<'a>>,
        range: Option<&Range<'a>>,
    ) -> Vec<Provenance<'a>> {
        let manifest = &self.call.release.manifest;
        let mut records = vec![self.zips.provenance.for_row(manifest, self.row)];
        if let Some(counties) = self
            .zips
            .counties
            .as_ref()
            .filter(|_| chosen.has("counties"))
        {
            records.extend(
                counties
                    .of_zip(self.zips.codes.at(self.row))
                    .map(|row| counties.provenance.for_row(manifest, row)),
            );
        }
        if chosen.has("land_area_sqmi") || chosen.has("water_area_sqmi") {
            records.extend(area.and_then(Area::geography_provenance));
        }
        if let Some(area) = area.filter(|area| area.area.is_some() && chosen.has("demographics")) {
            records.push(area.provenance(self.call.release, &self.all_metrics()));
        }
        records.extend(
            range
                .into_iter()
                .flat_map(|range| range.provenance(manifest)),
        );
        records
    }
}

fn sales_tax(range: &Range<'_>) -> ZipSalesTax {
    ZipSalesTax {
        min_rate: rate(range.min),
        max_rate: rate(range.max),
        as_of: range.as_of,
        coverage: range.coverage,
    }
}
