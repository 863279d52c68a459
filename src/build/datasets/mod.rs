//! Builds tables from each agency's files. Each kind of file has one builder, with one line in the
//! registry. A builder turns its declared sources into tables with the shape that their contracts
//! require. Builders are pure: the same snapshots and declaration produce the same tables. No
//! builder reads the clock, the environment, the network or the store.

mod buckets;
mod business;
mod census;
mod context;
mod fault;
mod license;
mod nces;
mod permit;
mod placeholders;
mod rows_read;
mod sec;
mod source_archive;
mod tax;
mod vocabulary;
mod zip_code;

use std::collections::BTreeMap;

use polars::prelude::DataFrame;

pub use buckets::{Split, SplitPart, SplitPlan};
pub use context::{Context, SourceDocument, SourceFrame};
pub use fault::Fault;
pub use rows_read::RowsRead;
pub use sec::feeds::{FeedEntry, FeedPage, Party, Reading, read_feed};
#[cfg(fuzzing)]
#[doc(hidden)]
pub use sec::fuzzing;
pub use source_archive::{Elsewhere, SourceArchive};
pub use vocabulary::{SameNames, Vocabulary};

use crate::decode::Member;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Digest;
use pubdata_core::issue::Issue;
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::Inputs;

/// Code that builds the tables for one pipeline, or for all pipelines of the same kind.
pub struct Builder {
    /// Version of the output's meaning. Increase it with every change in meaning, so that all of
    /// the builder's pipelines rebuild unchanged sources.
    pub code_version: u32,
    pub build: Build,
    /// Checks the declaration's settings without data.
    pub check: fn(&Declaration) -> std::result::Result<(), Fault>,
    /// Names and words that declarations may use, for builders that read many sources.
    pub vocabulary: Option<&'static Vocabulary>,
}

/// Builds all tables for a partition, or for one of its buckets.
pub type BuildWhole = fn(&Context<'_>) -> Result<Vec<Table>>;

/// Reads the data that divides a build into shards.
pub type BuildShards = fn(&Context<'_>) -> Result<Box<dyn Sharded>>;

/// How a pipeline builds its tables.
#[derive(Clone, Copy)]
pub enum Build {
    /// Builds all of a partition's tables at once, or bucket by bucket if the declaration splits
    /// the build.
    Whole(BuildWhole),
    /// Builds shard by shard, several in parallel, for archives with large numbers of members.
    /// Reuses unchanged subjects.
    Sharded(BuildShards),
}

/// A build whose records are divided into shards, and within a shard into independent subjects.
pub trait Sharded: Send + Sync {
    /// Returns the shards in key order. Each subject belongs to exactly one shard.
    fn shards(&self) -> &[Shard];

    /// Returns the archives whose members are read shard by shard.
    fn archives(&self) -> Vec<&SourceArchive>;

    /// Returns the members needed to build a subject, for each archive in the order of
    /// [`Sharded::archives`].
    ///
    /// # Errors
    /// `Format` if the subject is unknown.
    fn members(&self, subject: &Subject) -> Result<Vec<Vec<&Member>>>;

    /// Builds the tables for some subjects in a shard. `inputs` contains the numbers of the members
    /// that are read.
    ///
    /// # Errors
    /// `Format` if a source does not match its declaration.
    fn build(
        &self,
        shard: &Shard,
        subjects: &[&Subject],
        inputs: &mut Inputs,
    ) -> Result<Vec<Table>>;
}

/// Subjects whose records are published in the same parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    /// Value of the partition column in all of the shard's parts.
    pub key: String,
    /// Subjects in key order.
    pub subjects: Vec<Subject>,
}

/// A unit that is built or reused in full, such as a registrant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// First segment of the subject's record keys.
    pub key: String,
    /// Hash of everything in the sources that determines the subject's records. Equal fingerprints
    /// mean equal records.
    pub fingerprint: Digest,
}

/// Builders by the name used in declarations under `builder`, one line per builder.
pub const BUILDERS: &[(&str, &Builder)] = &[
    ("business", &business::BUILDER),
    ("census.acs5", &census::acs5::BUILDER),
    ("census.gazetteer", &census::gazetteer::BUILDER),
    ("census.population", &census::population::BUILDER),
    ("license", &license::BUILDER),
    ("nces.ccd_directory", &nces::ccd_directory::BUILDER),
    ("permit", &permit::BUILDER),
    ("permit.links", &permit::links::BUILDER),
    ("sec.financials", &sec::financials::BUILDER),
    ("sec.submissions", &sec::submissions::BUILDER),
    ("sec.taxonomy", &sec::taxonomy::BUILDER),
    ("tax.california", &tax::california::BUILDER),
    ("tax.sst_boundaries", &tax::sst_boundaries::BUILDER),
    ("tax.sst_rates", &tax::sst_rates::BUILDER),
    ("tax.states", &tax::states::BUILDER),
    ("tax.texas", &tax::texas::BUILDER),
    ("tax.washington", &tax::washington::BUILDER),
    ("zip", &zip_code::BUILDER),
];

/// Returns the builder that a declaration names.
///
/// # Errors
/// `Config` if the declaration names no builder or an unknown one.
pub fn builder(declaration: &Declaration) -> Result<&'static Builder> {
    let known = || {
        BUILDERS
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let Some(requested) = &declaration.builder else {
        return Err(Error::config(format!(
            "{}: no builder is named; expected one of {}",
            declaration.pipeline_id,
            known()
        )));
    };
    BUILDERS
        .iter()
        .find(|(name, _)| name == requested)
        .map(|(_, builder)| *builder)
        .ok_or_else(|| {
            Error::config(format!(
                "{}: there is no builder `{requested}`; expected one of {}",
                declaration.pipeline_id,
                known()
            ))
            .hint("see docs/ADDING-A-DATASET.md for what each builder reads and how to write one")
        })
}

/// Rows for one dataset and partition, before validation.
pub struct Table {
    pub dataset_id: String,
    /// Each partition key's contract column and value.
    pub partition: BTreeMap<String, String>,
    /// All columns in the contract except the verdict, represented as described in
    /// `contract::Physical`.
    pub frame: DataFrame,
    /// Issues from decoding and normalising. A record with a `Quarantine` issue has no row.
    pub issues: Vec<Issue>,
}

/// Reads a declaration's `settings` into the pipeline's own type.
fn settings<T: serde::de::DeserializeOwned>(
    declaration: &Declaration,
) -> std::result::Result<T, Fault> {
    serde_path_to_error::deserialize(toml::Value::Table(declaration.settings.clone()))
        .map_err(|error| Fault::from_reader_error(&declaration.settings, &error))
}
