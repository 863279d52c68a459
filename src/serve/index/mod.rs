//! Turns one release's Parquet parts into immutable sorted columns in memory that answers are written from. One index per release,
//! all vintages. Every part's hash is checked, so that damaged bytes are never served; columns that no answer needs are not kept.

mod general;
mod metrics;
mod origin;
mod places;
mod schools;
mod sec;
mod table;
mod words;

use bytes::Bytes;

pub use general::{
    Action, AddressFit, Boundaries, Businesses, Contact, DATES, Entity, GeneralIndex, Jurisdictions, License, LicenseList, Licenses, Mode, NO_DAY, NO_VALUE,
    NameKind, NameQuery, Officer, Permit, PermitList, Permits, Rates, Record, RowHit, Rules, StateTax, TaxClass, TaxIndex, Zips, folded, is_persons_name,
    person_words, persons_name, spaced,
};
pub use metrics::{Estimate, MetricTable};
pub use origin::origin;
pub use places::PlaceTable;
pub use schools::{Point, SchoolTable};
pub use sec::{
    BUCKET, Bucket, FilingDates, FilingFilter, FilingTable, Found, LineTable, Match, Members, ProfileTable, Registrants, ReportColumns, SecIndex, Stamps,
    UNKNOWN, ValueTable,
};

use super::freshness::FreshnessCache;
use super::parts::{Parts, check_digest};
use crate::contract::Contracts;
use crate::error::{Error, Result, ResultExt};
use crate::ids::ReleaseId;
use crate::store::{Manifest, Part, Releases};

/// One release, ready to answer.
#[derive(Debug)]
pub struct Release {
    pub manifest: Manifest,
    pub geo: GeoIndex,
    pub sec: SecIndex,
    pub general: GeneralIndex,
    pub(super) freshness: FreshnessCache,
}

/// The geographic family's tables. A dataset that the release lacks is none or empty.
#[derive(Debug, Default)]
pub struct GeoIndex {
    /// The twelve metric keys in the order they are served.
    pub metric_keys: Vec<String>,
    /// By vintage, ascending.
    pub zcta_metrics: Vec<MetricTable>,
    /// By vintage, ascending.
    pub county_metrics: Vec<MetricTable>,
    pub zctas: Option<PlaceTable>,
    pub counties: Option<PlaceTable>,
    pub schools: Option<SchoolTable>,
}

/// A part as decoded, before it finds its place in the index.
enum Decoded {
    ZctaMetrics(MetricTable),
    CountyMetrics(MetricTable),
    Zctas(PlaceTable),
    Counties(PlaceTable),
    Schools(Box<SchoolTable>),
}

const DATASETS: [&str; 5] = ["geo.zcta_metric", "geo.county_metric", "geo.geography", "geo.county", "geo.school"];

impl Release {
    /// Loads a release.
    ///
    /// # Errors
    /// `Store`, when a part is missing, damaged, or not as the contract says.
    pub async fn load(releases: &Releases, parts: &Parts, contracts: &Contracts, id: &ReleaseId) -> Result<Self> {
        let manifest = std::sync::Arc::new(releases.manifest(id).await?);
        let metric_keys = metric_keys(contracts)?;
        let mut decoding = Vec::new();
        for dataset_id in DATASETS {
            for part in manifest.datasets.get(dataset_id).into_iter().flat_map(|dataset| &dataset.parts) {
                let bytes = releases.part(id, part).await.context(|| part.path.clone())?;
                let (manifest, part, metric_keys) = (manifest.clone(), part.clone(), metric_keys.clone());
                decoding.push(tokio::task::spawn_blocking(move || decode(&manifest, dataset_id, &metric_keys, &part, bytes)));
            }
        }
        let mut geo = GeoIndex { metric_keys, ..GeoIndex::default() };
        for task in decoding {
            match task.await.map_err(|error| Error::store(format!("reading release {id} failed: {error}")))?? {
                Decoded::ZctaMetrics(table) => geo.zcta_metrics.push(table),
                Decoded::CountyMetrics(table) => geo.county_metrics.push(table),
                Decoded::Zctas(table) => geo.zctas = Some(table),
                Decoded::Counties(table) => geo.counties = Some(table),
                Decoded::Schools(table) => geo.schools = Some(*table),
            }
        }
        geo.zcta_metrics.sort_by_key(|table| table.vintage_year);
        geo.county_metrics.sort_by_key(|table| table.vintage_year);
        let sec = Box::pin(SecIndex::load(parts, &manifest)).await?;
        let general = Box::pin(GeneralIndex::load(parts, &manifest)).await?;
        Ok(Self { manifest: std::sync::Arc::unwrap_or_clone(manifest), geo, sec, general, freshness: FreshnessCache::default() })
    }
}

/// The metric keys in contract order.
///
/// # Errors
/// `Contract`, when the contracts have no `geo.zcta_metric` with a `metric` column.
pub fn metric_keys(contracts: &Contracts) -> Result<Vec<String>> {
    let column = contracts.get("geo.zcta_metric").and_then(|contract| contract.column("metric"));
    let column = column.ok_or_else(|| Error::contract("there is no contract geo.zcta_metric with a column `metric`"))?;
    Ok(column.column_type.values.clone())
}

fn decode(manifest: &Manifest, dataset_id: &str, metric_keys: &[String], part: &Part, bytes: Bytes) -> Result<Decoded> {
    check_digest(part, &bytes)?;
    let decoded = match dataset_id {
        "geo.zcta_metric" => Decoded::ZctaMetrics(MetricTable::read(manifest, dataset_id, "zcta", metric_keys, part, bytes)?),
        "geo.county_metric" => Decoded::CountyMetrics(MetricTable::read(manifest, dataset_id, "county_fips", metric_keys, part, bytes)?),
        "geo.geography" => Decoded::Zctas(PlaceTable::read_zctas(manifest, part, bytes)?),
        "geo.county" => Decoded::Counties(PlaceTable::read_counties(manifest, part, bytes)?),
        _ => Decoded::Schools(Box::new(SchoolTable::read(manifest, part, bytes)?)),
    };
    Ok(decoded)
}
