//! Turns the Gazetteer files and the 2020 relationship file into one row per ZCTA and one per county. A ZCTA's primary county is the
//! one with the largest part of its land (then of its water, then the lower code), as in the Bureau's "2020 ZCTA to County
//! Relationship File"; in Connecticut it is the planning region, because the survey and the Gazetteer have regions since 2022.

use std::collections::BTreeMap;

use polars::prelude::*;
use serde::Deserialize;

use crate::datasets::context::finding;
use crate::datasets::{Context, SourceFrame, Table, settings};
use crate::error::{Error, Result};
use crate::issue::{Issue, Severity};
use crate::normalise::{Rejects, convert, degrees, left_join, pointer_column, pointers, require, text, unscaled};
use crate::pipeline::Declaration;
use crate::provenance::POINTERS;

const GEOGRAPHY: &str = "geo.geography";
const COUNTY: &str = "geo.county";

/// Parts that cover less than this share of the Gazetteer's land mean that parts are missing; boundaries move by up to 30 %.
const LEAST_COVERED: f64 = 0.5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    connecticut_state_fips: String,
    /// Postal code by state FIPS code.
    states: BTreeMap<String, String>,
}

pub(in crate::datasets) fn check(declaration: &Declaration) -> Result<()> {
    let settings: Settings = settings(declaration)?;
    if settings.states.contains_key(&settings.connecticut_state_fips) {
        return Ok(());
    }
    Err(Error::config(format!("pipelines/census/gazetteer.toml: settings.states lacks `{}`", settings.connecticut_state_fips)))
}

pub(in crate::datasets) fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings: Settings = settings(context.declaration)?;
    Ok(vec![build_geography(context, &settings)?, build_county(context)?])
}

/// The areas of one Gazetteer file: code, areas in square metres and square miles, internal point.
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
        for column in ["geoid", "land_area_sqm", "water_area_sqm", "land_area_sqmi", "lat", "lon"] {
            require(&frame, column, &mut rejects)?;
        }
        let is_code = |code: &str| (code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_digit())).then_some(());
        convert(&frame, "geoid", "five digits", &mut rejects, is_code)?;
        let area = |text: &str| text.parse().ok().filter(|area| *area >= 0);
        let year = source.source_version.parse().map_err(|_| Error::config(format!("source version `{}` is not a year", source.source_version)))?;
        Ok(Self {
            year,
            land_area_sqm: convert(&frame, "land_area_sqm", "square metres", &mut rejects, area)?,
            water_area_sqm: convert(&frame, "water_area_sqm", "square metres", &mut rejects, area)?,
            land_area_sqmi: convert(&frame, "land_area_sqmi", "square miles with three decimals", &mut rejects, |text| unscaled(text, 3))?,
            lat: convert(&frame, "lat", "a latitude", &mut rejects, |text| degrees(text, 90.0))?,
            lon: convert(&frame, "lon", "a longitude", &mut rejects, |text| degrees(text, 180.0))?,
            frame,
            rejects,
        })
    }

    /// The columns that ZCTAs and counties share, and the findings about rows that have no place in them.
    fn finish(self, dataset_id: &str, mut columns: Vec<Column>, issues: &mut Vec<Issue>, context: &Context<'_>) -> Result<DataFrame> {
        let height = self.frame.height();
        let codes = text(&self.frame, "geoid")?;
        let all_pointers = pointers(&self.frame, POINTERS)?;
        for (row, code, detail) in self.rejects.iter() {
            let record = format!("{dataset_id}:{}", codes.get(row).unwrap_or_default());
            let mut issue = finding(code, Severity::Quarantine, dataset_id, &record, detail.to_owned());
            issue.pointer = all_pointers[row].as_deref().and_then(|numbers| context.resolve(numbers).into_iter().next());
            issues.push(issue);
        }
        columns.extend([
            StringChunked::from_iter(codes.iter().map(|code| format!("{dataset_id}:{}", code.unwrap_or_default()))).with_name("record_id".into()).into_column(),
            Column::new_scalar("gazetteer_year".into(), Scalar::from(self.year), height),
            Column::new("land_area_sqm".into(), self.land_area_sqm),
            Column::new("water_area_sqm".into(), self.water_area_sqm),
            Column::new("land_area_sqmi".into(), self.land_area_sqmi),
            Column::new("internal_point_lat".into(), self.lat),
            Column::new("internal_point_lon".into(), self.lon),
        ]);
        Ok(DataFrame::new(height, columns)?.filter(&self.rejects.kept())?)
    }
}

/// The newest file of a source: the one with the last keys.
fn newest(context: &Context<'_>, source_id: &str) -> Result<SourceFrame> {
    context.read(source_id)?.pop().ok_or_else(|| Error::format(format!("source `{source_id}` has no file")))
}

fn build_geography(context: &Context<'_>, settings: &Settings) -> Result<Table> {
    let source = newest(context, "census.gazetteer_zcta")?;
    let mut issues: Vec<Issue> = source.issues(GEOGRAPHY).collect();
    let mut areas = Areas::read(context, &source)?;
    let primary = primary_counties(context, settings, &mut issues)?;
    if !context.is_replay() {
        find_strangers(&areas.frame, &primary, &mut issues)?;
    }
    let aligned = left_join(areas.frame.clone().lazy().rename(["geoid"], ["zcta"], true).collect()?, primary, "zcta")?;
    let shares = check_parts(&mut areas, &aligned)?;
    let pointers: Vec<Vec<u64>> = pointers(&aligned, POINTERS)?
        .into_iter()
        .zip(pointers(&aligned, "part_pointers")?)
        .map(|(area, parts)| [area.unwrap_or_default(), parts.unwrap_or_default()].concat())
        .collect();
    let county = text(&aligned, "primary_county_fips")?;
    let zcta = text(&aligned, "zcta")?;
    let states: Vec<Option<&str>> = county.iter().map(|county| county.and_then(|county| county.get(..2))).collect();
    let state_codes = states.iter().map(|state| state.and_then(|state| settings.states.get(state)).map(String::as_str));
    let columns = vec![
        zcta.clone().into_column(),
        StringChunked::from_iter(zcta.iter().map(|zcta| format!("ZCTA5 {}", zcta.unwrap_or_default()))).with_name("name".into()).into_column(),
        county.clone().into_column(),
        aligned.column("primary_county_name")?.clone(),
        Column::new("primary_county_land_share".into(), shares),
        aligned.column("primary_county_basis")?.clone(),
        StringChunked::from_iter_options("primary_state_fips".into(), states.iter().copied()).into_column(),
        StringChunked::from_iter_options("primary_state_code".into(), state_codes).into_column(),
        aligned.column("county_count")?.cast(&DataType::Int64)?,
        pointer_column(pointers.iter().map(Vec::as_slice)),
    ];
    let frame = areas.finish(GEOGRAPHY, columns, &mut issues, context)?;
    Ok(Table { dataset_id: GEOGRAPHY.to_owned(), partition: BTreeMap::new(), frame, issues })
}

/// Rejects ZCTAs without a county or whose parts are missing, and returns the land share of each primary county.
///
/// # Units
/// Share of the sum of the parts, 0 to 1. The sum is the whole: the parts partition the ZCTA.
fn check_parts(areas: &mut Areas, aligned: &DataFrame) -> Result<Vec<Option<f64>>> {
    let county = text(aligned, "primary_county_fips")?;
    let (primary_land, land) = (aligned.column("primary_land")?.i64()?, aligned.column("land")?.i64()?);
    let mut shares = Vec::with_capacity(aligned.height());
    for row in 0..aligned.height() {
        let covered = land.get(row).unwrap_or(0);
        let whole = areas.land_area_sqm[row].unwrap_or(0);
        if county.get(row).is_none() {
            areas.rejects.add(row, "no_county_relationship", "the relationship file has no county for this ZCTA".into());
        } else if (covered as f64) < whole as f64 * LEAST_COVERED {
            let detail = format!("its parts in the relationship file have {covered} square metres of land, the Gazetteer has {whole}");
            areas.rejects.add(row, "parts_do_not_cover_area", detail);
        }
        shares.push(primary_land.get(row).filter(|_| covered > 0).map(|part| part as f64 / covered as f64));
    }
    Ok(shares)
}

/// Finds ZCTAs of the relationship file that the Gazetteer lacks: both list the ZCTAs of the 2020 Census.
fn find_strangers(areas: &DataFrame, primary: &DataFrame, issues: &mut Vec<Issue>) -> Result<()> {
    let arguments = JoinArgs::new(JoinType::Anti);
    let strangers =
        primary.clone().lazy().join(areas.clone().lazy(), [col("zcta")], [col("geoid")], arguments).sort(["zcta"], SortMultipleOptions::default()).collect()?;
    for zcta in text(&strangers, "zcta")?.iter().flatten() {
        let record = format!("{GEOGRAPHY}:{zcta}");
        issues.push(finding("not_in_gazetteer", Severity::Quarantine, GEOGRAPHY, &record, "the relationship file has this ZCTA, the Gazetteer has not".into()));
    }
    Ok(())
}

/// One row per ZCTA: primary county, its land, all land, number of counties, and the pointers of all parts.
fn primary_counties(context: &Context<'_>, settings: &Settings, issues: &mut Vec<Issue>) -> Result<DataFrame> {
    let source = context.read_one("census.zcta_county")?;
    issues.extend(source.issues(GEOGRAPHY));
    // Rows without a ZCTA are county land outside every ZCTA.
    let parts = context.without_repeats(&source.frame.filter(&source.frame.column("zcta")?.is_not_null())?)?;
    let mut rejects = Rejects::new(parts.height());
    let area = |text: &str| text.parse::<i64>().ok().filter(|area| *area >= 0);
    let land = convert(&parts, "land_part", "square metres", &mut rejects, area)?;
    let water = convert(&parts, "water_part", "square metres", &mut rejects, area)?;
    for column in ["county_fips", "land_part", "water_part"] {
        require(&parts, column, &mut rejects)?;
    }
    let zctas = text(&parts, "zcta")?;
    for (row, code, detail) in rejects.iter() {
        let record = format!("{GEOGRAPHY}:{}", zctas.get(row).unwrap_or_default());
        issues.push(finding(code, Severity::Quarantine, GEOGRAPHY, &record, detail.to_owned()));
    }
    let mut parts = parts;
    parts.with_column(Column::new("land_part".into(), land))?.with_column(Column::new("water_part".into(), water))?;
    let parts = parts.filter(&rejects.kept())?;

    let largest_first = SortMultipleOptions::default().with_order_descending_multi([false, true, true, false]);
    let is_connecticut = col("county_fips").str().starts_with(lit(settings.connecticut_state_fips.as_str()));
    let primary = parts
        .lazy()
        .sort(["zcta", "land_part", "water_part", "county_fips"], largest_first)
        .group_by_stable([col("zcta")])
        .agg([
            col("county_fips").first(),
            col("county_name").first(),
            col("land_part").first().alias("primary_land"),
            col("land_part").sum().alias("land"),
            col("land_part").filter(is_connecticut.clone()).sum().alias("connecticut_land"),
            len().alias("county_count"),
            col(POINTERS).explode(ExplodeOptions { empty_as_null: false, keep_nulls: false }).alias("part_pointers"),
        ])
        .collect()?;

    let mut regions = context.without_repeats(&context.read_one("census.ct_planning_region")?.frame)?;
    regions.rename(POINTERS, "region_pointers".into())?;
    let joined = left_join(primary, regions, "zcta")?;
    let is_split = col("is_split").eq(lit("yes"));
    let basis =
        when(is_connecticut.clone().not()).then(lit("largest_land_part")).when(is_split.clone()).then(lit("principal_town")).otherwise(lit("planning_region"));
    let is_plain = is_connecticut.clone().not();
    Ok(joined
        .lazy()
        .with_columns([
            basis.alias("primary_county_basis"),
            when(is_plain.clone()).then(col("county_fips")).otherwise(col("region_fips")).alias("primary_county_fips"),
            when(is_plain.clone()).then(col("county_name")).otherwise(col("region_name")).alias("primary_county_name"),
            // The parts by region of a split ZCTA are not in the file; an unsplit one lies in its region with all its Connecticut land.
            when(is_plain.clone()).then(col("primary_land")).when(is_split).then(lit(NULL)).otherwise(col("connecticut_land")).alias("primary_land"),
            when(is_plain).then(col("part_pointers")).otherwise(concat_list([col("part_pointers"), col("region_pointers")])?).alias("part_pointers"),
        ])
        .select(
            ["zcta", "primary_county_fips", "primary_county_name", "primary_county_basis", "primary_land", "land", "county_count", "part_pointers"].map(col),
        )
        .collect()?)
}

fn build_county(context: &Context<'_>) -> Result<Table> {
    let source = newest(context, "census.gazetteer_county")?;
    let mut issues: Vec<Issue> = source.issues(COUNTY).collect();
    let mut areas = Areas::read(context, &source)?;
    for column in ["name", "state_code"] {
        require(&areas.frame, column, &mut areas.rejects)?;
    }
    let codes = text(&areas.frame, "geoid")?;
    let state = StringChunked::from_iter_options("state_fips".into(), codes.iter().map(|code| code.and_then(|code| code.get(..2))));
    let columns = vec![
        codes.clone().with_name("county_fips".into()).into_column(),
        areas.frame.column("name")?.clone(),
        areas.frame.column("state_code")?.clone(),
        state.into_column(),
        areas.frame.column(POINTERS)?.clone(),
    ];
    let frame = areas.finish(COUNTY, columns, &mut issues, context)?;
    Ok(Table { dataset_id: COUNTY.to_owned(), partition: BTreeMap::new(), frame, issues })
}
