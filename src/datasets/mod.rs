//! What each agency's files mean. One file per pipeline, one registry line each; a pipeline turns its declared sources into tables in
//! the shape of their contracts. Pure: the same snapshots and declaration give the same tables, and nothing here reads the clock, the
//! environment, the network or the store.

mod buckets;
mod business;
mod census;
mod context;
mod license;
mod nces;
mod permit;
mod rows_read;
mod sec;
mod tax;
mod zip_code;

use std::collections::BTreeMap;

use polars::prelude::DataFrame;

pub use buckets::Split;
pub use context::{Context, SourceArchive, SourceDocument, SourceFrame};
pub use rows_read::RowsRead;
pub use sec::feeds::{Party, Reading, Seen, Sighting, read_feed};

use crate::error::{Error, Result};
use crate::ids::Digest;
use crate::issue::Issue;
use crate::pipeline::Declaration;
use crate::provenance::Inputs;

/// One pipeline's code.
pub struct Pipeline {
    pub pipeline_id: &'static str,
    /// Raised whenever the meaning of the output changes, so that unchanged sources are built again.
    pub logic: u32,
    pub build: Build,
    /// Checks the declaration's settings without data.
    pub check: fn(&Declaration) -> Result<()>,
}

/// Makes all tables of a partition, or of one bucket of it.
pub type BuildWhole = fn(&Context<'_>) -> Result<Vec<Table>>;

/// How a pipeline makes its tables.
#[derive(Clone, Copy)]
pub enum Build {
    /// All tables of a partition at once, or bucket by bucket where the declaration says so.
    Whole(BuildWhole),
    /// Shard by shard, several side by side: for archives of very many members. What did not change is carried over.
    Sharded(fn(&Context<'_>) -> Result<Box<dyn Sharded>>),
}

/// A build whose records fall into shards, and in each shard to subjects that do not depend on each other.
pub trait Sharded: Send + Sync {
    /// The shards in the order of their keys. Each subject is in exactly one.
    fn shards(&self) -> &[Shard];

    /// Makes the tables of some subjects of a shard. `inputs` numbers the members that are read.
    ///
    /// # Errors
    /// `Format`, when a source is not what it was declared to be.
    fn build(&self, shard: &Shard, subjects: &[&Subject], inputs: &mut Inputs) -> Result<Vec<Table>>;
}

/// The subjects whose records are published in the same parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    /// Value of the partition column of all its parts.
    pub key: String,
    /// In the order of their keys.
    pub subjects: Vec<Subject>,
}

/// What is built or carried over as one, such as a registrant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// First segment of its records' keys.
    pub key: String,
    /// Of everything in the sources that decides its records. Equal fingerprints mean equal records.
    pub fingerprint: Digest,
}

/// Every pipeline that produces datasets, one line each.
pub const REGISTRY: &[Pipeline] = &[
    Pipeline { pipeline_id: "business.co_sos", logic: 4, build: Build::Whole(business::build), check: business::check },
    Pipeline { pipeline_id: "business.ct_sots", logic: 4, build: Build::Whole(business::build), check: business::check },
    Pipeline { pipeline_id: "business.fl_sunbiz", logic: 4, build: Build::Whole(business::build), check: business::check },
    Pipeline { pipeline_id: "business.ia_sos", logic: 4, build: Build::Whole(business::build), check: business::check },
    Pipeline { pipeline_id: "business.ny_dos", logic: 4, build: Build::Whole(business::build), check: business::check },
    Pipeline { pipeline_id: "business.or_sos", logic: 4, build: Build::Whole(business::build), check: business::check },
    Pipeline { pipeline_id: "business.pa_dos", logic: 4, build: Build::Whole(business::build), check: business::check },
    Pipeline { pipeline_id: "business.tx_comptroller", logic: 4, build: Build::Whole(business::build), check: business::check },
    Pipeline { pipeline_id: "census.acs5", logic: 1, build: Build::Whole(census::acs5::build), check: census::acs5::check },
    Pipeline { pipeline_id: "census.gazetteer", logic: 1, build: Build::Whole(census::gazetteer::build), check: census::gazetteer::check },
    Pipeline { pipeline_id: "license.az_roc", logic: 4, build: Build::Whole(license::build), check: license::check },
    Pipeline { pipeline_id: "license.ca_cslb", logic: 4, build: Build::Whole(license::build), check: license::check },
    Pipeline { pipeline_id: "license.co_dora", logic: 4, build: Build::Whole(license::build), check: license::check },
    Pipeline { pipeline_id: "license.ct_elicense", logic: 4, build: Build::Whole(license::build), check: license::check },
    Pipeline { pipeline_id: "license.fl_dbpr", logic: 4, build: Build::Whole(license::build), check: license::check },
    Pipeline { pipeline_id: "license.nppes", logic: 4, build: Build::Whole(license::build), check: license::check },
    Pipeline { pipeline_id: "license.nyc_dcwp", logic: 4, build: Build::Whole(license::build), check: license::check },
    Pipeline { pipeline_id: "license.or_ccb", logic: 4, build: Build::Whole(license::build), check: license::check },
    Pipeline { pipeline_id: "license.tx_tdlr", logic: 4, build: Build::Whole(license::build), check: license::check },
    Pipeline { pipeline_id: "license.wa_lni", logic: 4, build: Build::Whole(license::build), check: license::check },
    Pipeline { pipeline_id: "nces.ccd_directory", logic: 2, build: Build::Whole(nces::ccd_directory::build), check: nces::ccd_directory::check },
    Pipeline { pipeline_id: "permit.austin", logic: 4, build: Build::Whole(permit::build), check: permit::check },
    Pipeline { pipeline_id: "permit.chicago", logic: 3, build: Build::Whole(permit::build), check: permit::check },
    Pipeline { pipeline_id: "permit.cincinnati", logic: 2, build: Build::Whole(permit::build), check: permit::check },
    Pipeline { pipeline_id: "permit.la", logic: 5, build: Build::Whole(permit::build), check: permit::check },
    Pipeline { pipeline_id: "permit.la_before_2020", logic: 1, build: Build::Whole(permit::build), check: permit::check },
    Pipeline { pipeline_id: "permit.nashville", logic: 4, build: Build::Whole(permit::build), check: permit::check },
    Pipeline { pipeline_id: "permit.nola", logic: 3, build: Build::Whole(permit::build), check: permit::check },
    Pipeline { pipeline_id: "permit.nyc_bis", logic: 4, build: Build::Whole(permit::build), check: permit::check },
    Pipeline { pipeline_id: "permit.nyc_now", logic: 4, build: Build::Whole(permit::build), check: permit::check },
    Pipeline { pipeline_id: "permit.san_antonio", logic: 4, build: Build::Whole(permit::build), check: permit::check },
    Pipeline { pipeline_id: "permit.seattle", logic: 3, build: Build::Whole(permit::build), check: permit::check },
    Pipeline { pipeline_id: "permit.seattle_before_2018", logic: 3, build: Build::Whole(permit::build), check: permit::check },
    Pipeline { pipeline_id: "permit.sf", logic: 4, build: Build::Whole(permit::build), check: permit::check },
    Pipeline { pipeline_id: "sec.financials", logic: 1, build: Build::Sharded(sec::financials::prepare), check: sec::financials::check },
    Pipeline { pipeline_id: "sec.submissions", logic: 1, build: Build::Sharded(sec::submissions::prepare), check: sec::submissions::check },
    Pipeline { pipeline_id: "sec.taxonomy", logic: 1, build: Build::Whole(sec::taxonomy::build), check: sec::taxonomy::check },
    Pipeline { pipeline_id: "tax.california", logic: 3, build: Build::Whole(tax::california::build), check: tax::california::check },
    Pipeline { pipeline_id: "tax.sst_boundaries", logic: 1, build: Build::Whole(tax::sst_boundaries::build), check: tax::sst_boundaries::check },
    Pipeline { pipeline_id: "tax.sst_rates", logic: 1, build: Build::Whole(tax::sst_rates::build), check: tax::sst_rates::check },
    Pipeline { pipeline_id: "tax.states", logic: 3, build: Build::Whole(tax::states::build), check: tax::states::check },
    Pipeline { pipeline_id: "tax.texas", logic: 2, build: Build::Whole(tax::texas::build), check: tax::texas::check },
    Pipeline { pipeline_id: "tax.washington", logic: 2, build: Build::Whole(tax::washington::build), check: tax::washington::check },
    Pipeline { pipeline_id: "zip.zip", logic: 3, build: Build::Whole(zip_code::build), check: zip_code::check },
];

/// The code of a pipeline.
///
/// # Errors
/// `Config`, when a declaration produces datasets and no code is registered for it.
pub fn pipeline(pipeline_id: &str) -> Result<&'static Pipeline> {
    REGISTRY.iter().find(|pipeline| pipeline.pipeline_id == pipeline_id).ok_or_else(|| {
        let known: Vec<&str> = REGISTRY.iter().map(|pipeline| pipeline.pipeline_id).collect();
        Error::config(format!("no code is registered for pipeline `{pipeline_id}`; registered: {}", known.join(", ")))
    })
}

/// Rows of one dataset and partition, before validation.
pub struct Table {
    pub dataset_id: String,
    /// Contract column and value of each key of the partition.
    pub partition: BTreeMap<String, String>,
    /// The contract's columns except the verdict, in the conventions of `contract::Physical`.
    pub frame: DataFrame,
    /// Findings of decoding and normalising. A record with a `Quarantine` finding has no row.
    pub issues: Vec<Issue>,
}

/// Reads a declaration's `settings` into the pipeline's own type.
fn settings<T: serde::de::DeserializeOwned>(declaration: &Declaration) -> Result<T> {
    let read = toml::Value::Table(declaration.settings.clone()).try_into();
    read.map_err(|error: toml::de::Error| Error::config(format!("pipelines/{}.toml: settings: {}", declaration.pipeline_id.replace('.', "/"), error.message())))
}
