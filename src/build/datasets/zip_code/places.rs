//! Reads the sources' records by ZIP Code, tabulation area and county.

use std::collections::{BTreeMap, HashMap};

use super::time_zones::TimeZones;
use super::{add_quarantine, postal_state};
use crate::datasets::{Context, SourceFrame};
use crate::normalise::{degrees, pointers, text};
use pubdata_core::canonical::name::words;
use pubdata_core::canonical::state;
use pubdata_core::error::Result;
use pubdata_core::issue::Issue;
use pubdata_core::provenance::POINTERS;

const CROSSWALK: &str = "hrsa.zip_zcta";

/// A record in GeoNames' postal codes.
pub(super) struct Place {
    pub(super) name: String,
    /// State of the place; `None` for military addresses.
    pub(super) state: Option<String>,
    pub(super) county_fips: Option<String>,
    pub(super) county_name: Option<String>,
    /// County in a territory's list.
    pub(super) territory_county: Option<String>,
    pub(super) lat: Option<f64>,
    pub(super) lon: Option<f64>,
    /// True if the coordinates in the source are invalid.
    pub(super) has_bad_point: bool,
    pub(super) accuracy: Option<String>,
    pub(super) pointers: Vec<u64>,
}

impl Place {
    /// Returns the place's name, or the first word for a military address such as `APO AE`.
    pub(super) fn city(&self) -> String {
        match self.state {
            Some(_) => self.name.clone(),
            None => self
                .name
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned(),
        }
    }
}

/// A record in the crosswalk.
pub(super) struct Crosswalk {
    pub(super) city: String,
    pub(super) state: String,
    pub(super) zip_type: Option<String>,
    pub(super) zcta: Option<String>,
    pub(super) join: Option<String>,
    pub(super) pointers: Vec<u64>,
}

/// Part of a tabulation area that lies in one county.
pub(super) struct County {
    pub(super) fips: String,
    pub(super) name: Option<String>,
    /// Land area in square metres.
    pub(super) land: i64,
    pub(super) pointers: Vec<u64>,
}

pub(super) struct CountyName {
    pub(super) name: String,
    pub(super) pointers: Vec<u64>,
}

pub(super) struct Sources {
    pub(super) places: BTreeMap<String, Vec<Place>>,
    pub(super) crosswalk: BTreeMap<String, Crosswalk>,
    pub(super) parts: HashMap<String, Vec<County>>,
    /// A tabulation area's planning region in Connecticut, with a flag for areas in several
    /// regions. The 2020 parts refer to the former counties.
    pub(super) regions: HashMap<String, (String, bool)>,
    pub(super) county_names: HashMap<String, CountyName>,
    pub(super) time_zones: TimeZones,
}

impl Sources {
    pub(super) fn read(context: &Context<'_>, issues: &mut Vec<Issue>) -> Result<Self> {
        let mut places = BTreeMap::new();
        for source in context
            .read("geonames.postal")?
            .iter()
            .chain(&context.read("geonames.postal_territory")?)
        {
            issues.extend(source.issues(super::ZIP));
            read_places(context, source, &mut places, issues)?;
        }
        let mut sources = Self {
            places,
            crosswalk: BTreeMap::new(),
            parts: HashMap::new(),
            regions: HashMap::new(),
            county_names: HashMap::new(),
            time_zones: TimeZones::read(context)?,
        };
        sources.read_crosswalk(context, issues)?;
        sources.read_parts(context)?;
        sources.read_regions(context)?;
        sources.read_county_names(context)?;
        Ok(sources)
    }

    /// Returns the counties that contain part of a tabulation area, in code order.
    pub(super) fn parts(&self, zcta: &str) -> &[County] {
        self.parts.get(zcta).map_or(&[], Vec::as_slice)
    }

    /// Returns true if a tabulation area may lie in a county. This is the case if part of it lies
    /// there, or if its parts are unknown.
    pub(super) fn may_touch(&self, zcta: &str, fips: &str) -> bool {
        let parts = self.parts(zcta);
        let is_region = || {
            self.regions.get(zcta).is_some_and(|(region, is_split)| {
                region == fips || (*is_split && region[..2] == fips[..2])
            })
        };
        parts.is_empty() || parts.iter().any(|part| part.fips == fips) || is_region()
    }

    /// Returns the county for a territory's ZIP Code whose tabulation area has several parts. Uses
    /// GeoNames' county unless it contradicts the area. In that case, uses the county with the post
    /// office's name, if that county is part of the area. Returns `None` if no source agrees.
    pub(super) fn territory_county(
        &self,
        usps: &str,
        listed: &str,
        city: &str,
        parts: &[County],
    ) -> Option<String> {
        let is_there =
            |fips: &String| parts.is_empty() || parts.iter().any(|part| part.fips == *fips);
        let county = |name: &str| self.named_county(usps, name).filter(is_there);
        county(listed).or_else(|| county(city).filter(|_| !parts.is_empty()))
    }

    /// Returns a state's only county with this name, with or without the kind of county at the end.
    pub(super) fn named_county(&self, usps: &str, name: &str) -> Option<String> {
        let (state, target) = (state::fips(usps)?, words(name));
        let is_selected = |county: &CountyName| {
            let known = words(&county.name);
            known == target || (known.len() == target.len() + 1 && known.starts_with(&target))
        };
        let mut found = self
            .county_names
            .iter()
            .filter(|(fips, county)| fips.starts_with(state) && is_selected(county))
            .map(|(fips, _)| fips.clone());
        found.next().filter(|_| found.next().is_none())
    }

    fn read_crosswalk(&mut self, context: &Context<'_>, issues: &mut Vec<Issue>) -> Result<()> {
        let Some(source) = context.read(CROSSWALK)?.pop() else {
            return Ok(());
        };
        issues.extend(source.issues(super::ZIP));
        let frame = context.without_repeats(&source.frame)?;
        let column = |name: &str| text(&frame, name);
        let (zip, city, usps, zip_type, zcta, join) = (
            column("zip")?,
            column("city")?,
            column("state")?,
            column("zip_type")?,
            column("zcta")?,
            column("zcta_match")?,
        );
        for (row, pointers) in pointers(&frame, POINTERS)?.into_iter().enumerate() {
            let pointers = pointers.unwrap_or_default();
            let mut refuse = |code: &str, detail: String| {
                let record = format!(
                    "{}@{}",
                    CROSSWALK,
                    pointers.get(2).copied().unwrap_or_default()
                );
                add_quarantine(issues, context, code, &record, detail, &pointers);
            };
            let Some(code) = zip.get(row).and_then(code_of_number) else {
                refuse(
                    "bad_value",
                    format!(
                        "ZIP_CODE is `{}`, not five digits or a number of three to five",
                        zip.get(row).unwrap_or_default()
                    ),
                );
                continue;
            };
            let (Some(city), Some(state)) = (city.get(row), usps.get(row).and_then(state::usps))
            else {
                refuse(
                    "missing_value",
                    format!(
                        "{code} has no post office, or no state ({})",
                        usps.get(row).unwrap_or_default()
                    ),
                );
                continue;
            };
            if self.crosswalk.contains_key(&code) {
                refuse(
                    "duplicate_key",
                    format!("{code} repeats an earlier code with other values"),
                );
                continue;
            }
            let record = Crosswalk {
                city: city.to_owned(),
                state: state.to_owned(),
                zip_type: zip_type.get(row).map(str::to_owned),
                zcta: zcta.get(row).and_then(code_of_number),
                join: join.get(row).map(str::to_owned),
                pointers,
            };
            self.crosswalk.insert(code, record);
        }
        Ok(())
    }

    /// Reads the parts of tabulation areas. Omits unreadable parts, because the geographic family
    /// reads the same file and reports them.
    fn read_parts(&mut self, context: &Context<'_>) -> Result<()> {
        let source = context.read_one("census.zcta_county")?;
        let frame = context.without_repeats(&source.frame)?;
        let (zcta, fips, name, land) = (
            text(&frame, "zcta")?,
            text(&frame, "county_fips")?,
            text(&frame, "county_name")?,
            text(&frame, "land_part")?,
        );
        for (row, pointers) in pointers(&frame, POINTERS)?.into_iter().enumerate() {
            let land: Option<i64> = land
                .get(row)
                .and_then(|land| land.parse().ok())
                .filter(|land| *land >= 0);
            // Rows without a tabulation area describe county land that lies outside every
            // tabulation area.
            if let (Some(zcta), Some(fips), Some(land)) = (
                zcta.get(row),
                fips.get(row).filter(|fips| is_code(fips)),
                land,
            ) {
                let part = County {
                    fips: fips.to_owned(),
                    name: name.get(row).map(str::to_owned),
                    land,
                    pointers: pointers.unwrap_or_default(),
                };
                self.parts.entry(zcta.to_owned()).or_default().push(part);
            }
        }
        self.parts
            .values_mut()
            .for_each(|parts| parts.sort_by(|a, b| a.fips.cmp(&b.fips)));
        Ok(())
    }

    fn read_regions(&mut self, context: &Context<'_>) -> Result<()> {
        let frame = context.read_one("census.ct_planning_region")?.frame;
        let (zctas, regions, split) = (
            text(&frame, "zcta")?,
            text(&frame, "region_fips")?,
            text(&frame, "is_split")?,
        );
        for row in 0..frame.height() {
            if let (Some(zcta), Some(region)) = (
                zctas.get(row),
                regions.get(row).filter(|region| is_code(region)),
            ) {
                self.regions.insert(
                    zcta.to_owned(),
                    (region.to_owned(), split.get(row) == Some("yes")),
                );
            }
        }
        Ok(())
    }

    fn read_county_names(&mut self, context: &Context<'_>) -> Result<()> {
        let frame = context.read_one("census.county_code")?.frame;
        let (state, county, name) = (
            text(&frame, "state_fips")?,
            text(&frame, "county_code")?,
            text(&frame, "name")?,
        );
        for (row, pointers) in pointers(&frame, POINTERS)?.into_iter().enumerate() {
            if let (Some(state), Some(county), Some(name)) =
                (state.get(row), county.get(row), name.get(row))
            {
                let entry = CountyName {
                    name: name.to_owned(),
                    pointers: pointers.unwrap_or_default(),
                };
                self.county_names
                    .entry(format!("{state}{county}"))
                    .or_insert(entry);
            }
        }
        Ok(())
    }
}

fn read_places(
    context: &Context<'_>,
    source: &SourceFrame,
    places: &mut BTreeMap<String, Vec<Place>>,
    issues: &mut Vec<Issue>,
) -> Result<()> {
    let frame = context.without_repeats(&source.frame)?;
    let column = |name: &str| text(&frame, name);
    let (country, zip, name, admin1, county, county_code) = (
        column("country")?,
        column("zip")?,
        column("place_name")?,
        column("state")?,
        column("county_name")?,
        column("county_code")?,
    );
    let (lat, lon, accuracy) = (column("lat")?, column("lon")?, column("accuracy")?);
    // In the territories' lists, the county is in the column used for the state.
    let territory_county = source
        .frame
        .column("territory_county")
        .is_ok()
        .then(|| column("territory_county"))
        .transpose()?;
    for (row, pointers) in pointers(&frame, POINTERS)?.into_iter().enumerate() {
        let pointers = pointers.unwrap_or_default();
        let mut refuse = |code: &str, detail: String| {
            let record = format!(
                "{}@{}",
                "geonames.postal",
                pointers.get(2).copied().unwrap_or_default()
            );
            add_quarantine(issues, context, code, &record, detail, &pointers);
        };
        let (Some(code), Some(name), Some(country)) = (
            zip.get(row).filter(|code| is_code(code)),
            name.get(row),
            country.get(row),
        ) else {
            refuse(
                "bad_value",
                format!(
                    "`{}` is no ZIP code of five digits, or the place has no name",
                    zip.get(row).unwrap_or_default()
                ),
            );
            continue;
        };
        let state = postal_state(country, admin1.get(row));
        if state.is_none() && admin1.get(row).is_some() {
            refuse(
                "unknown_state",
                format!(
                    "{code} has the state `{}`, which is not a state",
                    admin1.get(row).unwrap_or_default()
                ),
            );
            continue;
        }
        // The county's code is relative to the state. For a territory, the code is GeoNames' own.
        let digits = county_code
            .get(row)
            .filter(|code| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit()));
        let county_fips = digits
            .filter(|_| country == "US")
            .zip(state.as_deref().and_then(state::fips))
            .map(|(county, state)| format!("{state}{county}"));
        let point = lat
            .get(row)
            .and_then(|text| degrees(text, 90.0))
            .zip(lon.get(row).and_then(|text| degrees(text, 180.0)));
        let place = Place {
            name: name.to_owned(),
            state,
            county_fips,
            county_name: county.get(row).map(str::to_owned),
            territory_county: territory_county
                .as_ref()
                .and_then(|county| county.get(row))
                .map(str::to_owned),
            has_bad_point: point.is_none() && (lat.get(row).is_some() || lon.get(row).is_some()),
            lat: point.map(|(lat, _)| lat),
            lon: point.map(|(_, lon)| lon),
            accuracy: accuracy.get(row).map(str::to_owned),
            pointers,
        };
        places.entry(code.to_owned()).or_default().push(place);
    }
    Ok(())
}

fn is_code(code: &str) -> bool {
    code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_digit())
}

/// Restores a code that a workbook may store as a number. The lowest code is 00501.
fn code_of_number(cell: &str) -> Option<String> {
    let is_number = (3..=5).contains(&cell.len()) && cell.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| format!("{cell:0>5}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Areas in square metres from the 2020 relationship file for tabulation area 00784. The Postal
    /// Service's Guayama 00785 lies in this area, but GeoNames lists 00785 under Guayanilla.
    #[test]
    fn territorys_county_is_one_that_the_tabulation_area_has_a_part_in() {
        let names = [
            ("72035", "Cayey Municipio"),
            ("72057", "Guayama Municipio"),
            ("72059", "Guayanilla Municipio"),
            ("72109", "Patillas Municipio"),
        ];
        let county_names = names.map(|(fips, name)| {
            (
                fips.to_owned(),
                CountyName {
                    name: name.to_owned(),
                    pointers: Vec::new(),
                },
            )
        });
        let parts = [
            ("72035", 2_804_391),
            ("72057", 167_872_705),
            ("72109", 2_181_039),
        ];
        let parts = parts.map(|(fips, land)| County {
            fips: fips.to_owned(),
            name: None,
            land,
            pointers: Vec::new(),
        });
        let (places, crosswalk, none) = (BTreeMap::new(), BTreeMap::new(), HashMap::new());
        let county_names = HashMap::from(county_names);
        let sources = Sources {
            places,
            crosswalk,
            parts: none,
            regions: HashMap::new(),
            county_names,
            time_zones: TimeZones::default(),
        };
        let county = |listed: &str, city: &str, parts: &[County]| {
            sources.territory_county("PR", listed, city, parts)
        };
        assert_eq!(
            county("Guayanilla", "Guayama", &parts).as_deref(),
            Some("72057"),
            "the list contradicts the area, the post office does not"
        );
        assert_eq!(
            county("Guayanilla", "Aguirre", &parts),
            None,
            "nothing agrees"
        );
        assert_eq!(
            county("Patillas", "Guayama", &parts).as_deref(),
            Some("72109"),
            "the list may name any part"
        );
        assert_eq!(
            county("Guayanilla", "Guayama", &[]).as_deref(),
            Some("72059"),
            "without an area the list stands alone"
        );
    }

    /// Parts from the 2020 relationship file, and the regions for 06010, whose principal town is
    /// Bristol.
    #[test]
    fn connecticuts_regions_are_counties_that_its_tabulation_areas_touch() {
        let part = |fips: &str| County {
            fips: fips.to_owned(),
            name: None,
            land: 1,
            pointers: Vec::new(),
        };
        let parts = HashMap::from(
            [("06001", "09003"), ("06010", "09003"), ("23228", "51087")]
                .map(|(zcta, fips)| (zcta.to_owned(), vec![part(fips)])),
        );
        let regions = HashMap::from(
            [("06001", "09110", false), ("06010", "09140", true)]
                .map(|(zcta, region, split)| (zcta.to_owned(), (region.to_owned(), split))),
        );
        let sources = Sources {
            places: BTreeMap::new(),
            crosswalk: BTreeMap::new(),
            parts,
            regions,
            county_names: HashMap::new(),
            time_zones: TimeZones::default(),
        };
        let touched = [
            ("06001", "09003"),
            ("06001", "09110"),
            ("06010", "09140"),
            ("06010", "09110"),
            ("23228", "51087"),
            ("99999", "51087"),
        ];
        assert!(
            touched
                .into_iter()
                .all(|(zcta, fips)| sources.may_touch(zcta, fips))
        );
        assert!(
            [("06001", "09140"), ("06001", "09001"), ("23228", "51760")]
                .into_iter()
                .all(|(zcta, fips)| !sources.may_touch(zcta, fips))
        );
    }
}
