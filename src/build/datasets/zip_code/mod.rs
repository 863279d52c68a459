//! Builds one row per ZIP Code, and one per ZIP Code and county. Sources: GeoNames' postal codes,
//! the ZIP to ZCTA crosswalk, the Census relationship file and the weather service's list of
//! counties. A ZIP Code is a set of delivery routes. Its area, and the shares of it in each county,
//! are those of its tabulation area. Does not return figures about tabulation areas.

mod places;
mod tables;
mod time_zones;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use self::places::{County, Crosswalk, Place, Sources};
use super::context::finding;
use super::{Build, Builder, Context, Table};
use crate::datasets::Fault;
use pubdata_core::canonical::state;
use pubdata_core::error::Result;
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::pipeline::Declaration;

const ZIP: &str = "zip.zip";
const COUNTY: &str = "zip.county";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Maps the crosswalk's type to the pubdata type.
    zip_type: BTreeMap<String, String>,
    /// Maps the crosswalk's description of how a ZIP Code was joined to a tabulation area to the
    /// pubdata value.
    zcta_match: BTreeMap<String, String>,
    /// Maps the first digits of military ZIP Codes to the military region.
    military: BTreeMap<String, String>,
    /// Maps the weather service's letters to time zone database names.
    time_zone: BTreeMap<char, String>,
}

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 8,
    build: Build::Whole(build),
    check,
    vocabulary: None,
};

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    super::settings::<Settings>(declaration).map(drop)
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings: Settings = super::settings(context.declaration)?;
    let mut issues = Vec::new();
    let sources = Sources::read(context, &mut issues)?;
    let codes: BTreeSet<&String> = sources
        .places
        .keys()
        .chain(sources.crosswalk.keys())
        .collect();
    let (mut zips, mut counties) = (
        Vec::with_capacity(codes.len()),
        Vec::with_capacity(codes.len() * 2),
    );
    for code in codes {
        let places = sources.places.get(code).map_or(&[][..], Vec::as_slice);
        let subject = Subject {
            code,
            places,
            crosswalk: sources.crosswalk.get(code),
            sources: &sources,
            settings: &settings,
        };
        let mut warnings = Vec::new();
        if let Some(zip) = subject.zip(&mut warnings) {
            counties.extend(subject.counties(&zip));
            zips.push(zip);
            issues.extend(warnings.into_iter().map(|(rule, detail)| {
                finding(
                    rule,
                    Severity::Warning,
                    ZIP,
                    &format!("{ZIP}:{code}"),
                    detail,
                )
            }));
        } else {
            let pointers: Vec<u64> = places
                .iter()
                .flat_map(|place| place.pointers.iter().copied())
                .collect();
            add_quarantine(
                &mut issues,
                context,
                "missing_value",
                &format!("{ZIP}:{code}"),
                "no state, and not a military code".to_owned(),
                &pointers,
            );
        }
    }
    let table = |dataset_id: &str, frame, issues| Table {
        dataset_id: dataset_id.to_owned(),
        partition: BTreeMap::new(),
        frame,
        issues,
    };
    Ok(vec![
        table(ZIP, tables::zips(&zips)?, issues),
        table(COUNTY, tables::counties(&counties)?, Vec::new()),
    ])
}

/// A row of `zip.zip`.
struct Zip {
    code: String,
    zip_type: String,
    type_raw: Option<String>,
    city: String,
    other_cities: Vec<String>,
    state: String,
    military_region: Option<String>,
    county: Option<(String, Option<String>)>,
    /// True if a source names the county; false if it is determined by the tabulation area's land.
    is_county_named: bool,
    /// Named county that contains no part of the tabulation area.
    contradicted: Option<String>,
    time_zone: TimeZone,
    lat: Option<f64>,
    lon: Option<f64>,
    coordinate_accuracy: Option<String>,
    zcta: Option<String>,
    zcta_match: String,
    pointers: Vec<u64>,
}

/// A row of `zip.county`.
struct ZipCounty {
    zip: String,
    county_fips: String,
    county_name: Option<String>,
    share: Option<f64>,
    basis: &'static str,
    pointers: Vec<u64>,
}

/// A ZIP Code's time zone.
enum TimeZone {
    /// Name in the time zone database, and its origin: `county` or `state`.
    Known(String, &'static str),
    /// Reason why the time zone is missing.
    Unknown(&'static str),
}

/// Code and detail for each issue about a published row.
type Warnings = Vec<(&'static str, String)>;

/// Source records for one ZIP Code.
struct Subject<'s> {
    code: &'s str,
    places: &'s [Place],
    crosswalk: Option<&'s Crosswalk>,
    sources: &'s Sources,
    settings: &'s Settings,
}

impl Subject<'_> {
    /// Builds the ZIP Code's row.
    ///
    /// # Issues
    /// Types and join descriptions that are missing from the settings, and contradictions between
    /// the sources.
    fn zip(&self, warnings: &mut Warnings) -> Option<Zip> {
        // A place with a state takes precedence over a military address with the same code.
        // Otherwise, the first in file order counts.
        let place = self
            .places
            .iter()
            .find(|place| place.state.is_some())
            .or_else(|| self.places.first());
        let is_military = place.is_some_and(|place| place.state.is_none());
        let state = match place {
            Some(place) => place
                .state
                .clone()
                .or_else(|| self.military_state(place, warnings))?,
            None => self.crosswalk?.state.clone(),
        };
        let city = place.map_or_else(
            || {
                self.crosswalk
                    .map(|crosswalk| crosswalk.city.clone())
                    .unwrap_or_default()
            },
            Place::city,
        );
        let (zcta, zcta_match) = self.zcta(warnings);
        let mut pointers: Vec<u64> = self
            .places
            .iter()
            .flat_map(|place| place.pointers.iter().copied())
            .collect();
        if let Some(crosswalk) = self.crosswalk {
            pointers.extend(&crosswalk.pointers);
            if crosswalk.state != state && !is_military {
                warnings.push((
                    "state_conflict",
                    format!("the crosswalk has the state {}", crosswalk.state),
                ));
            }
        }
        let mut named = place.and_then(|place| place.county_fips.clone());
        let parts = zcta
            .as_ref()
            .map_or(&[][..], |zcta| self.sources.parts(zcta));
        // Use GeoNames' county unless it contains no part of the tabulation area. A post office may
        // lie outside the area where its box holders live, so it is unknown which source is wrong.
        let contradicted = named.take_if(|fips| {
            zcta.as_ref()
                .is_some_and(|zcta| !self.sources.may_touch(zcta, fips))
        });
        let is_land_certain =
            contradicted.is_none() || (zcta_match == "same_code" && !self.is_post_office());
        let by_land = primary(parts, &zcta_match)
            .filter(|_| !is_military && named.is_none() && is_land_certain)
            .map(|part| part.fips.clone());
        // The record points to the parts if they determine the county, or if nothing else is known
        // about the tabulation area.
        let is_by_land = by_land.is_some();
        let listed = place
            .and_then(|place| place.territory_county.as_deref())
            .filter(|_| named.is_none() && !is_by_land);
        let post_office = self
            .crosswalk
            .map_or(city.as_str(), |crosswalk| &crosswalk.city);
        let by_name = || {
            self.sources
                .territory_county(&state, listed?, post_office, parts)
        };
        let county = named.or(by_land).or_else(by_name).filter(|_| !is_military);
        let listed = listed.filter(|listed| self.sources.named_county(&state, listed) != county);
        if let Some(listed) = listed {
            warnings.push(("county_conflict", format!("GeoNames lists the place under {listed}, in which the tabulation area has no part")));
        }
        if let Some(fips) = &contradicted {
            warnings.push(("county_conflict", format!("GeoNames has the place in county {fips}, in which the tabulation area has no part")));
        }
        let is_county_named = county.is_some() && !is_by_land;
        if is_by_land
            || listed.is_some()
            || contradicted.is_some()
            || (self.crosswalk.is_none() && zcta.is_some())
        {
            pointers.extend(parts.iter().flat_map(|part| part.pointers.iter().copied()));
        }
        let county = county.map(|fips| {
            let part = parts.iter().find(|part| is_by_land && part.fips == fips);
            let name = self.county_name(
                &fips,
                part.and_then(|part| part.name.clone()),
                place,
                &mut pointers,
            );
            (fips, name)
        });
        let time_zone = if is_military {
            TimeZone::Unknown("military")
        } else {
            self.time_zone(&state, county.as_ref(), &mut pointers, warnings)
        };
        if place.is_some_and(|place| place.has_bad_point) {
            warnings.push((
                "bad_coordinate",
                "the place has invalid coordinates".to_owned(),
            ));
        }
        Some(Zip {
            code: self.code.to_owned(),
            zip_type: if is_military {
                "military".to_owned()
            } else {
                self.zip_type(warnings)
            },
            type_raw: self
                .crosswalk
                .and_then(|crosswalk| crosswalk.zip_type.clone()),
            other_cities: self.other_cities(&city),
            city,
            state,
            military_region: self.military_region().filter(|_| is_military),
            county,
            is_county_named,
            contradicted,
            time_zone,
            lat: place.and_then(|place| place.lat),
            lon: place.and_then(|place| place.lon),
            coordinate_accuracy: place.and_then(|place| place.accuracy.clone()),
            zcta,
            zcta_match,
            pointers,
        })
    }

    /// Returns the county's time zone. If it is unknown, returns the state's time zone, provided
    /// that the state has only one.
    fn time_zone(
        &self,
        state: &str,
        county: Option<&(String, Option<String>)>,
        pointers: &mut Vec<u64>,
        warnings: &mut Warnings,
    ) -> TimeZone {
        let zones = &self.sources.time_zones;
        let of_county = county
            .and_then(|(fips, _)| zones.of_county(fips))
            .map(|letters| (letters, "county"));
        let Some((letters, basis)) = of_county.or_else(|| Some((zones.of_state(state)?, "state")))
        else {
            return TimeZone::Unknown(if zones.is_empty() {
                "list_not_read"
            } else {
                "not_listed"
            });
        };
        let Some(letter) = letters.only() else {
            return TimeZone::Unknown(if basis == "county" {
                "county_is_divided"
            } else {
                "state_is_divided"
            });
        };
        let Some(name) = self.settings.time_zone.get(&letter) else {
            warnings.push((
                "unmapped_time_zone",
                format!("the time zone `{letter}` is not among the settings"),
            ));
            return TimeZone::Unknown("not_listed");
        };
        pointers.extend(&letters.pointers);
        TimeZone::Known(name.clone(), basis)
    }

    /// Returns a military ZIP Code's region, based on its first digits.
    fn military_region(&self) -> Option<String> {
        self.settings
            .military
            .iter()
            .find(|(digits, _)| self.code.starts_with(digits.as_str()))
            .map(|(_, region)| region.clone())
    }

    /// Returns a military address's region, which is the second word in its name. If there is none,
    /// the region is based on the code's first digits.
    fn military_state(&self, place: &Place, warnings: &mut Warnings) -> Option<String> {
        let by_code = self.military_region();
        let word = place
            .name
            .split_whitespace()
            .nth(1)
            .filter(|word| self.settings.military.values().any(|region| region == word));
        match (word, by_code) {
            (Some(word), Some(region)) if word != region => {
                warnings.push(("military_region", format!("`{}` names another region than the code's first digits, which are of {region}", place.name)));
                Some(word.to_owned())
            }
            (Some(word), _) => Some(word.to_owned()),
            (None, Some(region)) => {
                warnings.push((
                    "military_region",
                    format!(
                        "`{}` names no region; the code's first digits are of {region}",
                        place.name
                    ),
                ));
                Some(region)
            }
            (None, None) => None,
        }
    }

    /// Returns true if the ZIP Code serves post office boxes or a single recipient.
    fn is_post_office(&self) -> bool {
        let raw = self
            .crosswalk
            .and_then(|crosswalk| crosswalk.zip_type.as_ref());
        raw.and_then(|raw| self.settings.zip_type.get(raw))
            .is_some_and(|known| known == "po_box_or_unique")
    }

    fn zip_type(&self, warnings: &mut Warnings) -> String {
        let Some(raw) = self
            .crosswalk
            .and_then(|crosswalk| crosswalk.zip_type.as_ref())
        else {
            return "unknown".to_owned();
        };
        self.settings.zip_type.get(raw).cloned().unwrap_or_else(|| {
            warnings.push((
                "unmapped_type",
                format!("the type `{raw}` is not among the settings"),
            ));
            "unknown".to_owned()
        })
    }

    /// Returns the tabulation area and how it was determined. Without a crosswalk record, the
    /// relationship file must contain an area with the same code.
    fn zcta(&self, warnings: &mut Warnings) -> (Option<String>, String) {
        let Some(crosswalk) = self.crosswalk else {
            return match self.sources.parts(self.code).is_empty() {
                true => (None, "none".to_owned()),
                false => (Some(self.code.to_owned()), "same_code".to_owned()),
            };
        };
        let join = crosswalk.join.as_deref().unwrap_or_default();
        let how = self.settings.zcta_match.get(join);
        if how.is_none() {
            warnings.push((
                "unmapped_match",
                format!("the join `{join}` is not among the settings"),
            ));
        }
        match (&crosswalk.zcta, how.map(String::as_str)) {
            (Some(zcta), Some(how @ ("same_code" | "spatial_join"))) => {
                (Some(zcta.clone()), how.to_owned())
            }
            _ => (None, "none".to_owned()),
        }
    }

    fn other_cities(&self, city: &str) -> Vec<String> {
        let mut others: Vec<String> = Vec::new();
        for name in self
            .places
            .iter()
            .map(Place::city)
            .chain(self.crosswalk.map(|crosswalk| crosswalk.city.clone()))
        {
            if !name.eq_ignore_ascii_case(city)
                && !others.iter().any(|other| other.eq_ignore_ascii_case(&name))
            {
                others.push(name);
            }
        }
        others
    }

    /// Returns the county's name from the national list, the relationship file or the place, in
    /// this order of preference.
    fn county_name(
        &self,
        fips: &str,
        part: Option<String>,
        place: Option<&Place>,
        pointers: &mut Vec<u64>,
    ) -> Option<String> {
        if let Some(county) = self.sources.county_names.get(fips) {
            pointers.extend(&county.pointers);
            return Some(county.name.clone());
        }
        part.or_else(|| {
            place
                .filter(|place| place.county_fips.as_deref() == Some(fips))?
                .county_name
                .clone()
        })
    }

    /// Returns a ZIP Code's counties: those that contain part of its tabulation area, and the named
    /// county.
    fn counties(&self, zip: &Zip) -> Vec<ZipCounty> {
        let mut counties = Vec::new();
        let parts = match zip
            .zcta
            .as_ref()
            .map(|zcta| (self.sources.parts(zcta), zip.zcta_match.as_str()))
        {
            // A post office in a tabulation area has a certain county only if the area lies in a
            // single county.
            Some((parts, "same_code")) if zip.zip_type != "military" => parts,
            Some((parts @ [_], "spatial_join")) if zip.zip_type != "military" => parts,
            _ => &[],
        };
        let land: i64 = parts.iter().map(|part| part.land).sum();
        let own: Vec<u64> = self
            .places
            .iter()
            .flat_map(|place| &place.pointers)
            .chain(
                self.crosswalk
                    .iter()
                    .flat_map(|crosswalk| &crosswalk.pointers),
            )
            .copied()
            .collect();
        for part in parts {
            let mut pointers = own.clone();
            pointers.extend(parts.iter().flat_map(|part| part.pointers.iter().copied()));
            let name = match self.sources.county_names.get(&part.fips) {
                Some(county) => {
                    pointers.extend(&county.pointers);
                    Some(county.name.clone())
                }
                None => part.name.clone(),
            };
            let share = (land > 0).then(|| part.land as f64 / land as f64);
            counties.push(ZipCounty {
                zip: zip.code.clone(),
                county_fips: part.fips.clone(),
                county_name: name,
                share,
                basis: "land_area",
                pointers,
            });
        }
        let named = zip
            .county
            .as_ref()
            .filter(|_| zip.is_county_named)
            .map(|(fips, _)| fips);
        // If the sources contradict each other and neither decides the county, list both counties.
        let named = named.or_else(|| zip.contradicted.as_ref().filter(|_| zip.county.is_none()));
        if let Some(fips) = named.filter(|fips| !parts.iter().any(|part| part.fips == **fips)) {
            let pointers = named_pointers(&own, self.sources.county_names.get(fips), parts);
            let place = self.places.iter().find(|place| place.state.is_some());
            counties.push(ZipCounty {
                zip: zip.code.clone(),
                county_fips: fips.clone(),
                county_name: self.county_name(fips, None, place, &mut Vec::new()),
                share: None,
                basis: "named_place",
                pointers,
            });
        }
        counties
    }
}

/// Returns pointers for the named county's row. They include the area's parts, to show that the
/// county is not among them.
fn named_pointers(own: &[u64], county: Option<&places::CountyName>, parts: &[County]) -> Vec<u64> {
    let parts = parts.iter().flat_map(|part| &part.pointers);
    own.iter()
        .chain(county.iter().flat_map(|county| &county.pointers))
        .chain(parts)
        .copied()
        .collect()
}

/// Returns the part with the most land. If the area only surrounds a post office, returns its only
/// part, or `None` if it has several.
fn primary<'p>(parts: &'p [County], zcta_match: &str) -> Option<&'p County> {
    match zcta_match {
        "same_code" => parts
            .iter()
            .max_by(|a, b| a.land.cmp(&b.land).then_with(|| b.fips.cmp(&a.fips))),
        _ => parts.first().filter(|_| parts.len() == 1),
    }
}

/// Returns the postal code for a state, given any of its names, or for a territory, given its
/// country code.
fn postal_state(country: &str, admin1: Option<&str>) -> Option<String> {
    if country == "US" {
        admin1.and_then(state::usps)
    } else {
        state::usps(country)
    }
    .map(str::to_owned)
}

fn add_quarantine(
    issues: &mut Vec<Issue>,
    context: &Context<'_>,
    code: &str,
    record: &str,
    detail: String,
    pointers: &[u64],
) {
    let mut issue = finding(code, Severity::Quarantine, ZIP, record, detail);
    issue.pointer = context.resolve(pointers).into_iter().next();
    issues.push(issue);
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::time_zones::TimeZones;
    use super::*;

    /// Codes, counties and joins from GeoNames (12 April 2024), the 2022 crosswalk and the 2020
    /// relationship file.
    #[test]
    fn geonames_county_counts_where_the_tabulation_area_has_a_part_in_it() {
        let part = |(fips, land): &(&str, i64)| County {
            fips: (*fips).to_owned(),
            name: None,
            land: *land,
            pointers: Vec::new(),
        };
        let of_type = |zip_type: &str,
                       state: &str,
                       county: &str,
                       (zcta, join): (&str, &str),
                       parts: &[(&str, i64)]| {
            let place = Place {
                name: "Place".to_owned(),
                state: Some(state.to_owned()),
                county_fips: Some(county.to_owned()),
                county_name: None,
                territory_county: None,
                lat: None,
                lon: None,
                has_bad_point: false,
                accuracy: None,
                pointers: Vec::new(),
            };
            let crosswalk = Crosswalk {
                city: "Place".to_owned(),
                state: state.to_owned(),
                zip_type: Some(zip_type.to_owned()),
                zcta: Some(zcta.to_owned()),
                join: Some(join.to_owned()),
                pointers: Vec::new(),
            };
            let parts = HashMap::from([(zcta.to_owned(), parts.iter().map(part).collect())]);
            let (places, crosswalks, regions, county_names) = (
                BTreeMap::new(),
                BTreeMap::new(),
                HashMap::new(),
                HashMap::new(),
            );
            let sources = Sources {
                places,
                crosswalk: crosswalks,
                parts,
                regions,
                county_names,
                time_zones: TimeZones::default(),
            };
            let zcta_match = BTreeMap::from(
                [("same", "same_code"), ("spatial", "spatial_join")]
                    .map(|(join, how)| (join.to_owned(), how.to_owned())),
            );
            let zip_type = BTreeMap::from(
                ["po_box_or_unique", "standard"].map(|known| (known.to_owned(), known.to_owned())),
            );
            let settings = Settings {
                zip_type,
                zcta_match,
                military: BTreeMap::new(),
                time_zone: BTreeMap::new(),
            };
            let subject = Subject {
                code: "00000",
                places: &[place],
                crosswalk: Some(&crosswalk),
                sources: &sources,
                settings: &settings,
            };
            let mut warnings = Vec::new();
            let zip = subject.zip(&mut warnings).unwrap();
            let is_warned = warnings.iter().any(|(code, _)| *code == "county_conflict");
            let rows = subject
                .counties(&zip)
                .into_iter()
                .map(|row| (row.county_fips, row.basis))
                .collect::<Vec<_>>();
            (zip.county.map(|(fips, _)| fips), is_warned, rows)
        };
        let of_code = |state: &str, county: &str, zcta: (&str, &str), parts: &[(&str, i64)]| {
            of_type("standard", state, county, zcta, parts)
        };
        let found = |fips: &str| Some(fips.to_owned());
        let rows = |rows: &[&str]| {
            rows.iter()
                .map(|fips| ((*fips).to_owned(), "land_area"))
                .collect::<Vec<_>>()
        };
        // 27527 Clayton lies in Johnston County, but GeoNames states Granville.
        assert_eq!(
            of_code("NC", "37077", ("27527", "same"), &[("37101", 114_186_967)]),
            (found("37101"), true, rows(&["37101"]))
        );
        // 57752 Kyle: Shannon County's code became that of Oglala Lakota in 2015.
        let kyle = [
            ("46007", 36_583_186),
            ("46071", 155_468_397),
            ("46102", 922_787_381),
        ];
        assert_eq!(
            of_code("SD", "46113", ("57752", "same"), &kyle),
            (found("46102"), true, rows(&["46007", "46071", "46102"]))
        );
        // A named county that contains part of the area counts even if another county contains more
        // land.
        assert_eq!(
            of_code("SD", "46071", ("57752", "same"), &kyle),
            (found("46071"), false, rows(&["46007", "46071", "46102"]))
        );
        // 99519 consists of post office boxes in Anchorage, but the area with the same number is on
        // the North Slope.
        assert_eq!(
            of_type(
                "po_box_or_unique",
                "AK",
                "02020",
                ("99519", "same"),
                &[("02185", 5_533_233_625)]
            ),
            (
                None,
                true,
                vec![
                    ("02185".to_owned(), "land_area"),
                    ("02020".to_owned(), "named_place")
                ]
            )
        );
        // 21792 Unionville is in Frederick County, but the crosswalk assigns it to an area on
        // Maryland's Eastern Shore. 23273 is a post office in Henrico.
        assert_eq!(
            of_code(
                "MD",
                "24021",
                ("21851", "spatial"),
                &[("24039", 52_738_932), ("24047", 215_655_475)]
            ),
            (None, true, vec![("24021".to_owned(), "named_place")])
        );
        assert_eq!(
            of_code(
                "VA",
                "51760",
                ("23228", "spatial"),
                &[("51087", 28_751_745)]
            ),
            (
                None,
                true,
                vec![
                    ("51087".to_owned(), "land_area"),
                    ("51760".to_owned(), "named_place")
                ]
            )
        );
    }
}
