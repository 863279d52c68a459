//! Writes a ZIP code with the fields that the caller chose, and the records that they were made from.

use crate::geo::area::{Area, AreaKind};
use crate::geo::notices::{add_not_fetched_notice, add_not_in_survey_notice, add_zcta_notice};
use crate::geo::tables::Geo;
use crate::http::endpoint::Call;
use crate::http::meta::Meta;
use crate::json::Json;
use crate::place::zips::Zips;
use crate::tax::figures::write_rate;
use crate::tax::range::{Range, range_of_zip};

/// Fields that a caller may choose; `zip`, `input` and `provenance` are always there.
#[rustfmt::skip]
pub const FIELDS: [&str; 22] = [
    "type", "type_raw", "city", "other_cities", "state", "military_region", "state_name", "state_fips", "county", "counties", "lat", "lon", "coordinate_accuracy", "zcta", "land_area_sqmi",
    "water_area_sqmi", "timezone", "timezone_basis", "timezone_null_reason", "demographics", "sales_tax", "sales_tax_null_reason",
];

/// Which fields are answered.
#[derive(Debug)]
pub struct Chosen(Option<Vec<String>>);

impl Chosen {
    pub fn of(fields: Option<&[&str]>) -> Self {
        Self(fields.map(|fields| fields.iter().map(|field| (*field).to_owned()).collect()))
    }

    pub fn has(&self, field: &str) -> bool {
        self.0.as_ref().is_none_or(|fields| fields.iter().any(|known| known == field))
    }
}

/// One ZIP code of a release.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    pub call: &'a Call<'a>,
    pub zips: &'a Zips,
    pub row: usize,
    /// The code as asked.
    pub input: &'a str,
}

impl<'a> Record<'a> {
    /// Writes the record.
    pub fn write(&self, json: &mut Json, chosen: &Chosen) {
        let (zips, row) = (self.zips, self.row);
        let area = self.area();
        let is_range_needed = chosen.has("sales_tax") || chosen.has("sales_tax_null_reason");
        let (range, unknown) = match is_range_needed.then(|| range_of_zip(self.call, row)) {
            Some(Ok(range)) => (Some(range), None),
            Some(Err(unknown)) => (None, Some(unknown.name())),
            None => (None, None),
        };
        json.object(|json| {
            json.key("input").text(self.input);
            json.key("zip").text(zips.codes.at(row));
            let mut field = |name: &str, write: &dyn Fn(&mut Json)| {
                if chosen.has(name) {
                    write(json.key(name));
                }
            };
            field("type", &|json| json.text(zips.types.at(row)));
            field("type_raw", &|json| json.optional_text(zips.types_raw.get(row)));
            field("city", &|json| json.text(zips.cities.at(row)));
            field("other_cities", &|json| json.texts(zips.other_cities.at(row)));
            field("state", &|json| json.text(zips.states.at(row)));
            field("military_region", &|json| json.optional_text(zips.military_regions.get(row)));
            field("state_name", &|json| json.optional_text(zips.state_names.get(row)));
            field("state_fips", &|json| json.optional_text(zips.state_fips.get(row)));
            field("county", &|json| self.write_county(json));
            field("counties", &|json| self.write_counties(json));
            field("lat", &|json| write_degrees(json, zips.place(row).map(|place| place.0)));
            field("lon", &|json| write_degrees(json, zips.place(row).map(|place| place.1)));
            field("coordinate_accuracy", &|json| json.optional_text(zips.accuracies.get(row)));
            field("zcta", &|json| {
                json.object(|json| {
                    json.key("code").optional_text(zips.zctas.get(row));
                    json.key("match").text(zips.zcta_matches.at(row));
                });
            });
            let place = area.as_ref().and_then(|area| area.place);
            field("land_area_sqmi", &|json| match place {
                Some((places, row)) => places.write_land_area_sqmi(json, row),
                None => json.null(),
            });
            field("water_area_sqmi", &|json| match place {
                Some((places, row)) => places.write_water_area_sqmi(json, row),
                None => json.null(),
            });
            field("timezone", &|json| json.optional_text(zips.time_zones.get(row)));
            field("timezone_basis", &|json| json.optional_text(zips.time_zone_bases.get(row)));
            field("timezone_null_reason", &|json| json.optional_text(zips.time_zone_null_reasons.get(row)));
            field("demographics", &|json| self.write_demographics(json, area.as_ref()));
            field("sales_tax", &|json| write_range(json, range.as_ref()));
            field("sales_tax_null_reason", &|json| json.optional_text(unknown));
            self.write_provenance(json.key("provenance"), chosen, area.as_ref(), range.as_ref());
        });
    }

    /// Adds the notices of the fields that were written.
    pub fn note(&self, meta: &mut Meta, chosen: &Chosen) {
        let (code, state) = (self.zips.codes.at(self.row), self.zips.states.at(self.row));
        if let Some(region) = self.zips.military_regions.get(self.row).filter(|region| *region != state && chosen.has("state")) {
            let message = format!(
                "The source names the region {state} for {code}; the Postal Service has the military codes that begin so in {region}. `state` is as the source has it, `military_region` by the first digits."
            );
            meta.notice("MILITARY_REGION_CONFLICT", message);
        }
        if chosen.has("county") && self.zips.has_county_conflict(self.row) {
            let zcta = self.zips.zctas.get(self.row).unwrap_or(code);
            let answered = if self.zips.county_fips.get(self.row).is_some() { "follows the area's land or the post office" } else { "is null" };
            let message = format!("GeoNames lists {code} under a county in which tabulation area {zcta} has no part: `county` {answered}.");
            meta.notice("COUNTY_CONFLICT", message);
        }
        let Some(area) = self.area() else { return };
        if chosen.has("demographics") || chosen.has("land_area_sqmi") || chosen.has("water_area_sqmi") {
            add_zcta_notice(meta);
        }
        if chosen.has("demographics") {
            add_not_fetched_notice(meta, area.table, &self.all_metrics());
            if area.area.is_none() {
                add_not_in_survey_notice(meta, area.code, area.table.vintage_year);
            }
        }
    }

    /// The tabulation area that stands for the code, where the release has it.
    fn area(&self) -> Option<Area<'a>> {
        let code = self.zips.zctas.get(self.row)?;
        Area::find(&Geo::of(self.call.release), AreaKind::Zcta, code, None, "zip").ok()
    }

    fn write_county(&self, json: &mut Json) {
        let Some(fips) = self.zips.county_fips.get(self.row) else { return json.null() };
        json.object(|json| {
            json.key("fips").text(fips);
            json.key("name").optional_text(self.zips.county_names.get(self.row));
        });
    }

    fn write_counties(&self, json: &mut Json) {
        json.array(|json| {
            let Some(counties) = &self.zips.counties else { return };
            for row in counties.of_zip(self.zips.codes.at(self.row)) {
                json.object(|json| {
                    json.key("fips").text(counties.county_fips.at(row));
                    json.key("name").optional_text(counties.county_names.get(row));
                    write_degrees(json.key("share"), counties.share(row));
                    json.key("basis").text(counties.bases.at(row));
                });
            }
        });
    }

    fn all_metrics(&self) -> Vec<usize> {
        (0..Geo::of(self.call.release).metric_keys.len()).collect()
    }

    fn write_demographics(&self, json: &mut Json, area: Option<&Area<'_>>) {
        let Some(area) = area else { return json.null() };
        json.object(|json| {
            for (metric, key) in Geo::of(self.call.release).metric_keys.iter().enumerate() {
                json.key(key).object(|json| area.write_metric(json, key, metric));
            }
            area.write_vintage(json.key("vintage"));
        });
    }

    /// Writes the records that the answer was made from, as far as their fields are in it.
    fn write_provenance(&self, json: &mut Json, chosen: &Chosen, area: Option<&Area<'_>>, range: Option<&Range<'_>>) {
        let manifest = &self.call.release.manifest;
        json.array(|json| {
            self.zips.provenance.write(json, manifest, self.row);
            if let Some(counties) = self.zips.counties.as_ref().filter(|_| chosen.has("counties")) {
                counties.of_zip(self.zips.codes.at(self.row)).for_each(|row| counties.provenance.write(json, manifest, row));
            }
            if let Some((places, row)) = area.and_then(|area| area.place).filter(|_| chosen.has("land_area_sqmi") || chosen.has("water_area_sqmi"))
                && let Some(origin) = &places.origin
            {
                origin.write(json, places.validation_statuses.at(row), places.record_ids.at(row));
            }
            if let Some(area) = area.filter(|area| area.area.is_some() && chosen.has("demographics")) {
                area.write_provenance(self.call.release, json, &self.all_metrics());
            }
            if let Some(range) = range {
                range.write_provenance(json, manifest);
            }
        });
    }
}

fn write_range(json: &mut Json, range: Option<&Range<'_>>) {
    let Some(range) = range else { return json.null() };
    json.object(|json| {
        write_rate(json.key("min_rate"), range.min);
        write_rate(json.key("max_rate"), range.max);
        json.key("as_of").text(&range.as_of.to_string());
        json.key("coverage").text(range.coverage);
    });
}

fn write_degrees(json: &mut Json, value: Option<f64>) {
    json.float(value.unwrap_or(f64::NAN));
}
