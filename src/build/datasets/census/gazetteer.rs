//! Turns the Gazetteer files and the 2020 relationship file into one row per ZCTA and one per
//! county.

use std::collections::{BTreeMap, HashSet};

use polars::prelude::*;
use serde::Deserialize;

use super::primary_county::{self, PrimaryCounty};
use crate::datasets::Fault;
use crate::datasets::context::finding;
use crate::datasets::{Build, Builder, Context, SourceFrame, Table, settings};
use crate::normalise::{
    Rejects, convert, degrees, filtered, pointer_column, pointers, require, text, text_column,
    unscaled, whole,
};
use pubdata_core::error::{Error, Result};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::POINTERS;

const GEOGRAPHY: &str = "geo.geography";
const COUNTY: &str = "geo.county";

/// Minimum share of the Gazetteer's land area that a ZCTA's parts must cover. A smaller share means
/// that parts are missing. Boundaries move by up to 30 %.
const MIN_COVERED_SHARE: f64 = 0.5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    connecticut_state_fips: String,
    /// Postal code by state FIPS code.
    states: BTreeMap<String, String>,
}

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 3,
    build: Build::Whole(build),
    check,
    vocabulary: None,
};

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    let settings: Settings = settings(declaration)?;
    if settings
        .states
        .contains_key(&settings.connecticut_state_fips)
    {
        return Ok(());
    }
    Err(Fault::in_settings(
        "states",
        format!("lacks `{}`", settings.connecticut_state_fips),
    ))
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings: Settings = settings(context.declaration)?;
    Ok(vec![
        build_geography(context, &settings)?,
        build_county(context)?,
    ])
}

/// Areas from one Gazetteer file: code, area in square metres and square miles, and internal point.
struct Areas {
    frame: DataFrame,
    year: i32,
    rejects: Rejects,
    land_area_sqm: Vec<Option<i64>>,
    water_area_sqm: Vec<Option<i64>>,
    land_area_sqmi: Vec<Option<i64>>,
    lat: Vec<Option<f64>>,
    lon: Vec<Option<f64>>,
}

impl Areas {
    fn read(context: &Context<'_>, source: &SourceFrame) -> Result<Self> {
        let frame = context.without_repeats(&source.frame)?;
        let mut rejects = Rejects::new(frame.height());
        for column in [
            "geoid",
            "land_area_sqm",
            "water_area_sqm",
            "land_area_sqmi",
            "lat",
            "lon",
        ] {
            require(&frame, column, &mut rejects)?;
        }
        let is_code = |code: &str| {
            (code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_digit())).then_some(())
        };
        convert(&frame, "geoid", "five digits", &mut rejects, is_code)?;
        let year = source.source_version.parse().map_err(|_| {
            Error::config(format!(
                "source version `{}` is not a year",
                source.source_version
            ))
        })?;
        Ok(Self {
            year,
            land_area_sqm: convert(
                &frame,
                "land_area_sqm",
                "square metres",
                &mut rejects,
                whole,
            )?,
            water_area_sqm: convert(
                &frame,
                "water_area_sqm",
                "square metres",
                &mut rejects,
                whole,
            )?,
            land_area_sqmi: convert(
                &frame,
                "land_area_sqmi",
                "square miles with three decimals",
                &mut rejects,
                |text| unscaled(text, 3),
            )?,
            lat: convert(&frame, "lat", "a latitude", &mut rejects, |text| {
                degrees(text, 90.0)
            })?,
            lon: convert(&frame, "lon", "a longitude", &mut rejects, |text| {
                degrees(text, 180.0)
            })?,
            frame,
            rejects,
        })
    }

    /// Builds the columns that ZCTAs and counties share, and adds issues about rejected rows.
    fn finish(
        self,
        dataset_id: &str,
        mut columns: Vec<Column>,
        issues: &mut Vec<Issue>,
        context: &Context<'_>,
    ) -> Result<DataFrame> {
        let height = self.frame.height();
        let codes = text(&self.frame, "geoid")?;
        let all_pointers = pointers(&self.frame, POINTERS)?;
        for (row, code, detail) in self.rejects.iter() {
            let record = format!("{dataset_id}:{}", codes.get(row).unwrap_or_default());
            let mut issue = finding(
                code,
                Severity::Quarantine,
                dataset_id,
                &record,
                detail.to_owned(),
            );
            issue.pointer = all_pointers[row]
                .as_deref()
                .and_then(|numbers| context.resolve(numbers).into_iter().next());
            issues.push(issue);
        }
        columns.extend([
            StringChunked::from_iter(
                codes
                    .iter()
                    .map(|code| format!("{dataset_id}:{}", code.unwrap_or_default())),
            )
            .with_name("record_id".into())
            .into_column(),
            Column::new_scalar("gazetteer_year".into(), Scalar::from(self.year), height),
            Column::new("land_area_sqm".into(), self.land_area_sqm),
            Column::new("water_area_sqm".into(), self.water_area_sqm),
            Column::new("land_area_sqmi".into(), self.land_area_sqmi),
            Column::new("internal_point_lat".into(), self.lat),
            Column::new("internal_point_lon".into(), self.lon),
        ]);
        filtered(&DataFrame::new(height, columns)?, &self.rejects.kept())
    }
}

/// Returns the newest file from a source, which is the file with the last keys.
fn newest(context: &Context<'_>, source_id: &str) -> Result<SourceFrame> {
    context
        .read(source_id)?
        .pop()
        .ok_or_else(|| Error::format(format!("source `{source_id}` has no file")))
}

fn build_geography(context: &Context<'_>, settings: &Settings) -> Result<Table> {
    let source = newest(context, "census.gazetteer_zcta")?;
    let mut issues: Vec<Issue> = source.issues(GEOGRAPHY).collect();
    let mut areas = Areas::read(context, &source)?;
    let counties = primary_county::read(
        context,
        &settings.connecticut_state_fips,
        GEOGRAPHY,
        &mut issues,
    )?;
    let codes = text(&areas.frame, "geoid")?.clone();
    if !context.is_replay() {
        find_orphans(&codes, &counties, &mut issues);
    }
    let primary: Vec<Option<&PrimaryCounty>> = codes
        .iter()
        .map(|code| code.and_then(|code| counties.get(code)))
        .collect();
    let shares = check_parts(&mut areas, &primary);
    let all_pointers: Vec<Vec<u64>> = pointers(&areas.frame, POINTERS)?
        .into_iter()
        .zip(&primary)
        .map(|(area, primary)| {
            [
                area.unwrap_or_default().as_slice(),
                primary.map_or(&[][..], |primary| &primary.pointers),
            ]
            .concat()
        })
        .collect();
    let fips: Vec<Option<&str>> = primary
        .iter()
        .map(|primary| primary.and_then(|primary| primary.fips.as_deref()))
        .collect();
    let states: Vec<Option<&str>> = fips
        .iter()
        .map(|fips| fips.and_then(|fips| fips.get(..2)))
        .collect();
    let state_codes = states
        .iter()
        .map(|state| state.and_then(|state| settings.states.get(state)));
    let columns = vec![
        codes.clone().with_name("zcta".into()).into_column(),
        text_column(
            "name",
            codes
                .iter()
                .map(|code| Some(format!("ZCTA {}", code.unwrap_or_default()))),
        ),
        text_column("primary_county_fips", fips.iter().copied()),
        text_column(
            "primary_county_name",
            primary
                .iter()
                .map(|primary| primary.and_then(|primary| primary.name.as_deref())),
        ),
        Column::new("primary_county_land_share".into(), shares),
        text_column(
            "primary_county_basis",
            primary
                .iter()
                .map(|primary| primary.map(|primary| primary.basis)),
        ),
        text_column("primary_state_fips", states.iter().copied()),
        text_column("primary_state_code", state_codes),
        text_column(
            "county_2020_fips",
            primary
                .iter()
                .map(|primary| primary.map(|primary| primary.county_2020.fips.as_str())),
        ),
        text_column(
            "county_2020_name",
            primary
                .iter()
                .map(|primary| primary.and_then(|primary| primary.county_2020.name.as_deref())),
        ),
        Column::new(
            "county_2020_land_share".into(),
            primary
                .iter()
                .map(|primary| primary.and_then(PrimaryCounty::share_2020))
                .collect::<Vec<_>>(),
        ),
        Column::new(
            "county_count".into(),
            primary
                .iter()
                .map(|primary| primary.map(|primary| primary.county_count))
                .collect::<Vec<_>>(),
        ),
        pointer_column(all_pointers.iter().map(Vec::as_slice)),
    ];
    let frame = areas.finish(GEOGRAPHY, columns, &mut issues, context)?;
    Ok(Table {
        dataset_id: GEOGRAPHY.to_owned(),
        partition: BTreeMap::new(),
        frame,
        issues,
    })
}

/// Rejects ZCTAs without a county or with missing parts. Returns the land share in each ZCTA's
/// primary county.
///
/// # Units
/// Share of the parts' total land, from 0 to 1. The total equals the entire ZCTA, because the parts
/// partition it.
fn check_parts(areas: &mut Areas, primary: &[Option<&PrimaryCounty>]) -> Vec<Option<f64>> {
    let mut shares = Vec::with_capacity(primary.len());
    for (row, primary) in primary.iter().enumerate() {
        let covered = primary.map_or(0, |primary| primary.land_of_parts);
        let whole = areas.land_area_sqm[row].unwrap_or(0);
        if primary.is_none_or(|primary| primary.fips.is_none()) {
            areas.rejects.add(
                row,
                "no_county_relationship",
                "the relationship file has no county for this ZCTA".into(),
            );
        } else if (covered as f64) < whole as f64 * MIN_COVERED_SHARE {
            let detail = format!(
                "its parts in the relationship file have {covered} square metres of land, the Gazetteer has {whole}"
            );
            areas.rejects.add(row, "parts_do_not_cover_area", detail);
        }
        shares.push(
            primary
                .and_then(|primary| primary.land)
                .filter(|_| covered > 0)
                .map(|part| part as f64 / covered as f64),
        );
    }
    shares
}

/// Reports ZCTAs in the relationship file that are missing from the Gazetteer. Both list the ZCTAs
/// of the 2020 Census.
fn find_orphans(
    codes: &StringChunked,
    counties: &BTreeMap<String, PrimaryCounty>,
    issues: &mut Vec<Issue>,
) {
    let known: HashSet<&str> = codes.iter().flatten().collect();
    for zcta in counties
        .keys()
        .filter(|zcta| !known.contains(zcta.as_str()))
    {
        let record = format!("{GEOGRAPHY}:{zcta}");
        issues.push(finding(
            "not_in_gazetteer",
            Severity::Quarantine,
            GEOGRAPHY,
            &record,
            "the relationship file has this ZCTA, the Gazetteer has not".into(),
        ));
    }
}

fn build_county(context: &Context<'_>) -> Result<Table> {
    let source = newest(context, "census.gazetteer_county")?;
    let mut issues: Vec<Issue> = source.issues(COUNTY).collect();
    let mut areas = Areas::read(context, &source)?;
    for column in ["name", "state_code"] {
        require(&areas.frame, column, &mut areas.rejects)?;
    }
    let codes = text(&areas.frame, "geoid")?;
    let state = StringChunked::from_iter_options(
        "state_fips".into(),
        codes.iter().map(|code| code.and_then(|code| code.get(..2))),
    );
    let columns = vec![
        codes.clone().with_name("county_fips".into()).into_column(),
        areas.frame.column("name")?.clone(),
        areas.frame.column("state_code")?.clone(),
        state.into_column(),
        areas.frame.column(POINTERS)?.clone(),
    ];
    let frame = areas.finish(COUNTY, columns, &mut issues, context)?;
    Ok(Table {
        dataset_id: COUNTY.to_owned(),
        partition: BTreeMap::new(),
        frame,
        issues,
    })
}
