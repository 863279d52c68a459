//! Determines a ZCTA's primary county, which contains the largest part of the ZCTA's land. Ties are
//! resolved by the largest part of its water, then by the lower code. Source: the Bureau's "2020
//! ZCTA to County Relationship File". In Connecticut, the result is the planning region, because
//! the survey and the Gazetteer have used planning regions since 2022.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use polars::prelude::*;

use crate::datasets::Context;
use crate::datasets::context::finding;
use crate::normalise::{Rejects, convert, filtered, left_join, pointers, require, text, whole};
use pubdata_core::error::Result;
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::provenance::POINTERS;

/// A ZCTA's primary county, with areas in square metres.
#[derive(Debug)]
pub(super) struct PrimaryCounty {
    /// `None` in Connecticut if the ZCTA is missing from the crosswalk of planning regions.
    pub(super) fips: Option<String>,
    pub(super) name: Option<String>,
    /// Basis for the choice, which is a value of `county_basis`.
    pub(super) basis: &'static str,
    /// The ZCTA's land in the county, or `None` if the file does not state it.
    pub(super) land: Option<i64>,
    /// Total land of all the ZCTA's parts.
    pub(super) land_of_parts: i64,
    pub(super) county_count: i64,
    /// County with the largest land part. Survey vintages before 2022 use this county in
    /// Connecticut too.
    pub(super) county_2020: County2020,
    /// Pointers to all parts and to the crosswalk row.
    pub(super) pointers: Vec<u64>,
}

impl PrimaryCounty {
    /// Returns the share of the ZCTA's land that lies in its 2020 county, 0 to 1, or `None` without
    /// land.
    pub(super) fn share_2020(&self) -> Option<f64> {
        (self.land_of_parts > 0).then(|| self.county_2020.land as f64 / self.land_of_parts as f64)
    }
}

/// A 2020 county.
#[derive(Debug)]
pub(super) struct County2020 {
    pub(super) fips: String,
    pub(super) name: Option<String>,
    /// Area of the ZCTA's land in the county, in square metres.
    pub(super) land: i64,
}

/// Part of a ZCTA in one county, which is a row in the relationship file.
struct Part<'f> {
    zcta: &'f str,
    county_fips: &'f str,
    county_name: Option<&'f str>,
    land: i64,
    water: i64,
    pointers: &'f [u64],
}

/// Reads the primary counties by ZCTA.
///
/// # Errors
/// Fails if a source is missing or a ZCTA occurs twice in the crosswalk.
pub(super) fn read(
    context: &Context<'_>,
    connecticut: &str,
    dataset_id: &str,
    issues: &mut Vec<Issue>,
) -> Result<BTreeMap<String, PrimaryCounty>> {
    let source = context.read_one("census.zcta_county")?;
    issues.extend(source.issues(dataset_id));
    // Rows without a ZCTA describe county land that lies outside every ZCTA.
    let frame = context.without_repeats(&filtered(
        &source.frame,
        &source.frame.column("zcta")?.is_not_null(),
    )?)?;
    let mut rejects = Rejects::new(frame.height());
    let land = convert(&frame, "land_part", "square metres", &mut rejects, whole)?;
    let water = convert(&frame, "water_part", "square metres", &mut rejects, whole)?;
    for column in ["county_fips", "land_part", "water_part"] {
        require(&frame, column, &mut rejects)?;
    }
    let zctas = text(&frame, "zcta")?;
    for (row, code, detail) in rejects.iter() {
        let record = format!("{dataset_id}:{}", zctas.get(row).unwrap_or_default());
        issues.push(finding(
            code,
            Severity::Quarantine,
            dataset_id,
            &record,
            detail.to_owned(),
        ));
    }
    let (codes, names, all_pointers) = (
        text(&frame, "county_fips")?,
        text(&frame, "county_name")?,
        pointers(&frame, POINTERS)?,
    );
    let part = |row: usize| {
        Some(Part {
            zcta: zctas.get(row)?,
            county_fips: codes.get(row)?,
            county_name: names.get(row),
            land: land[row]?,
            water: water[row]?,
            pointers: all_pointers[row].as_deref().unwrap_or_default(),
        })
    };
    let kept = rejects.kept();
    let mut parts: Vec<Part<'_>> = (0..frame.height())
        .filter(|row| kept.get(*row) == Some(true))
        .filter_map(part)
        .collect();
    parts.sort_by_key(|part| {
        (
            part.zcta,
            Reverse(part.land),
            Reverse(part.water),
            part.county_fips,
        )
    });
    let mut counties: BTreeMap<String, PrimaryCounty> = parts
        .chunk_by(|a, b| a.zcta == b.zcta)
        .map(|parts| (parts[0].zcta.to_owned(), largest_land_part(parts)))
        .collect();
    let in_connecticut = |parts: &[Part<'_>]| {
        parts
            .iter()
            .filter(|part| part.county_fips.starts_with(connecticut))
            .map(|part| part.land)
            .sum()
    };
    let connecticut_land: BTreeMap<&str, i64> = parts
        .chunk_by(|a, b| a.zcta == b.zcta)
        .map(|parts| (parts[0].zcta, in_connecticut(parts)))
        .collect();
    assign_planning_regions(context, connecticut, &connecticut_land, &mut counties)?;
    Ok(counties)
}

/// Returns the county of the first part. `parts` is sorted by size, largest first.
fn largest_land_part(parts: &[Part<'_>]) -> PrimaryCounty {
    PrimaryCounty {
        fips: Some(parts[0].county_fips.to_owned()),
        name: parts[0].county_name.map(str::to_owned),
        basis: "largest_land_part",
        land: Some(parts[0].land),
        land_of_parts: parts.iter().map(|part| part.land).sum(),
        county_count: parts.len() as i64,
        county_2020: County2020 {
            fips: parts[0].county_fips.to_owned(),
            name: parts[0].county_name.map(str::to_owned),
            land: parts[0].land,
        },
        pointers: parts
            .iter()
            .flat_map(|part| part.pointers)
            .copied()
            .collect(),
    }
}

/// Replaces the counties of ZCTAs in Connecticut with planning regions.
fn assign_planning_regions(
    context: &Context<'_>,
    connecticut: &str,
    connecticut_land: &BTreeMap<&str, i64>,
    counties: &mut BTreeMap<String, PrimaryCounty>,
) -> Result<()> {
    let is_old_county = |county: &PrimaryCounty| {
        county
            .fips
            .as_deref()
            .is_some_and(|fips| fips.starts_with(connecticut))
    };
    let zctas: StringChunked = counties
        .iter()
        .filter(|(_, county)| is_old_county(county))
        .map(|(zcta, _)| Some(zcta.as_str()))
        .collect();
    let zctas = DataFrame::new(
        zctas.len(),
        vec![zctas.with_name("zcta".into()).into_column()],
    )?;
    let regions = left_join(
        zctas,
        context.without_repeats(&context.read_one("census.ct_planning_region")?.frame)?,
        "zcta",
    )?;
    let (zctas, codes, names, splits) = (
        text(&regions, "zcta")?,
        text(&regions, "region_fips")?,
        text(&regions, "region_name")?,
        text(&regions, "is_split")?,
    );
    for (row, region_pointers) in pointers(&regions, POINTERS)?.into_iter().enumerate() {
        let Some((zcta, county)) = zctas
            .get(row)
            .and_then(|zcta| Some((zcta, counties.get_mut(zcta)?)))
        else {
            continue;
        };
        let is_split = splits.get(row) == Some("yes");
        county.fips = codes.get(row).map(str::to_owned);
        county.name = names.get(row).map(str::to_owned);
        county.basis = if is_split {
            "principal_town"
        } else {
            "planning_region"
        };
        // The file does not divide a split ZCTA by region. All of an unsplit ZCTA's Connecticut
        // land lies in its region.
        county.land = connecticut_land.get(zcta).copied().filter(|_| !is_split);
        county.pointers.extend(region_pointers.unwrap_or_default());
    }
    Ok(())
}
