//! Holds the family's tables in a release, and the tables from which answers about areas are built.

use futures_util::future::join_all;
use futures_util::join;

use crate::place::Places;
use crate::place::areas::PlaceTable;
use crate::release::loaded::Release;
use crate::release::part_reader::PartReader;
use crate::release::provenance::PartOrigins;
use pubdata_core::contract::Contracts;
use pubdata_core::error::{Error, Result};
use pubdata_store::Part;

use super::estimates::MetricTable;
use super::estimates_builder;
use super::geography::GeographyTexts;
use super::school_table::SchoolTable;

const ZCTA_METRICS: &str = "geo.zcta_metric";
const COUNTY_METRICS: &str = "geo.county_metric";
const SCHOOLS: &str = "geo.school";

/// Estimates and schools. A dataset that the release lacks is `None` or empty.
#[derive(Debug, Default)]
pub struct GeoTables {
    /// The twelve metric keys in the order of answers.
    metric_keys: Vec<String>,
    /// ZCTA estimates by vintage, ascending.
    zcta_metrics: Vec<MetricTable>,
    /// County estimates by vintage, ascending.
    county_metrics: Vec<MetricTable>,
    schools: Option<SchoolTable>,
}

/// Tables from which answers about areas are built.
#[derive(Debug, Clone, Copy, Default)]
pub struct Geo<'a> {
    pub metric_keys: &'a [String],
    pub zcta_metrics: &'a [MetricTable],
    pub county_metrics: &'a [MetricTable],
    pub zctas: Option<&'a PlaceTable>,
    pub counties: Option<&'a PlaceTable>,
    pub schools: Option<&'a SchoolTable>,
    /// Geography objects of `zctas`.
    pub zcta_geographies: Option<&'a GeographyTexts>,
    /// True if the release was built from samples, which contain few areas.
    pub is_sample: bool,
}

impl<'a> Geo<'a> {
    pub fn from_release(release: &'a Release) -> Self {
        let places = release.table::<Places>();
        Self {
            zctas: places.and_then(|places| places.zctas.as_ref()),
            counties: places.and_then(|places| places.counties.as_ref()),
            zcta_geographies: release.table(),
            is_sample: release.manifest.is_sample,
            ..release.table().map_or_else(Self::default, Self::of_tables)
        }
    }

    /// Uses only the family's own tables.
    pub fn of_tables(tables: &'a GeoTables) -> Self {
        Self {
            metric_keys: &tables.metric_keys,
            zcta_metrics: &tables.zcta_metrics,
            county_metrics: &tables.county_metrics,
            schools: tables.schools.as_ref(),
            ..Self::default()
        }
    }
}

impl GeoTables {
    /// Loads the tables; reads their parts in parallel.
    ///
    /// # Errors
    /// `Store` if a part is missing, damaged, or differs from its contract; `Contract` if the
    /// contracts lack the metrics.
    pub async fn load(reader: PartReader<'_>, contracts: &Contracts) -> Result<Self> {
        let metric_keys = metric_keys(contracts)?;
        let metrics = |dataset_id, area_column| {
            join_all(
                reader
                    .parts_of(dataset_id)
                    .map(|part| metrics(reader, dataset_id, area_column, &metric_keys, part)),
            )
        };
        let schools = join_all(reader.parts_of(SCHOOLS).map(|part| schools(reader, part)));
        // Await all parts, so that the error of the first failing part is reported.
        let (zctas, counties, schools) = join!(
            metrics(ZCTA_METRICS, "zcta"),
            metrics(COUNTY_METRICS, "county_fips"),
            schools
        );
        let mut tables = Self {
            zcta_metrics: zctas.into_iter().collect::<Result<_>>()?,
            county_metrics: counties.into_iter().collect::<Result<_>>()?,
            schools: schools.into_iter().collect::<Result<Vec<_>>>()?.pop(),
            metric_keys,
        };
        tables.zcta_metrics.sort_by_key(|table| table.vintage_year);
        tables
            .county_metrics
            .sort_by_key(|table| table.vintage_year);
        Ok(tables)
    }
}

async fn metrics(
    reader: PartReader<'_>,
    dataset_id: &str,
    area_column: &'static str,
    metric_keys: &[String],
    part: &Part,
) -> Result<MetricTable> {
    let keys = metric_keys.to_vec();
    let make = reader.decoded(part, move |part, bytes| {
        estimates_builder::read(area_column, &keys, part, bytes)
    });
    let estimates = reader
        .prepared(
            part,
            &format!("{} {area_column} {}", part.path, metric_keys.join(" ")),
            make,
        )
        .await?;
    Ok(MetricTable::from_estimates(
        estimates,
        metric_keys,
        &PartOrigins::for_part(reader.manifest(), dataset_id, part),
    ))
}

async fn schools(reader: PartReader<'_>, part: &Part) -> Result<SchoolTable> {
    let origins = PartOrigins::for_part(reader.manifest(), SCHOOLS, part);
    reader
        .decoded(part, move |part, bytes| {
            SchoolTable::read(&origins, part, bytes)
        })
        .await
}

/// Returns the metric keys in contract order.
fn metric_keys(contracts: &Contracts) -> Result<Vec<String>> {
    let column = contracts
        .get(ZCTA_METRICS)
        .and_then(|contract| contract.column("metric"));
    let column = column.ok_or_else(|| {
        Error::contract("contract geo.zcta_metric with a column `metric` is missing")
    })?;
    Ok(column.column_type.values.clone())
}
