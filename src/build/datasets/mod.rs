//! What each agency's files mean. One builder per kind of files, one line each in the registry; a
//! builder turns its declared sources into tables in the shape of their contracts. Pure: the same
//! snapshots and declaration give the same tables, and nothing here reads the clock, the
//! environment, the network or the store.

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

pub use buckets::{Split, SplitPart, ToSplit};
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

/// The code that makes the tables of one pipeline, or of all pipelines of a kind.
pub struct Builder {
    /// Raised whenever the meaning of the output changes, so that unchanged sources are built
    /// again: those of all its pipelines.
    pub code_version: u32,
    pub build: Build,
    /// Checks the declaration's settings without data.
    pub check: fn(&Declaration) -> std::result::Result<(), Fault>,
    /// What declarations may say, where one builder reads many lists.
    pub vocabulary: Option<&'static Vocabulary>,
}

/// Makes all tables of a partition, or of one bucket of it.
pub type BuildWhole = fn(&Context<'_>) -> Result<Vec<Table>>;

/// Reads what a build is divided by.
pub type BuildShards = fn(&Context<'_>) -> Result<Box<dyn Sharded>>;

/// How a pipeline makes its tables.
#[derive(Clone, Copy)]
pub enum Build {
    /// All tables of a partition at once, or bucket by bucket where the declaration says so.
    Whole(BuildWhole),
    /// Shard by shard, several side by side: for archives of very many members. What did not change
    /// is carried over.
    Sharded(BuildShards),
}

/// A build whose records fall into shards, and in each shard to subjects that do not depend on each
/// other.
pub trait Sharded: Send + Sync {
    /// The shards in the order of their keys. Each subject is in exactly one.
    fn shards(&self) -> &[Shard];

    /// The archives whose members are read shard by shard.
    fn archives(&self) -> Vec<&SourceArchive>;

    /// The members that building a subject reads: of each archive, in the order of
    /// [`Sharded::archives`].
    ///
    /// # Errors
    /// `Format`, when the subject is none.
    fn members(&self, subject: &Subject) -> Result<Vec<Vec<&Member>>>;

    /// Makes the tables of some subjects of a shard. `inputs` numbers the members that are read.
    ///
    /// # Errors
    /// `Format`, when a source is not what it was declared to be.
    fn build(
        &self,
        shard: &Shard,
        subjects: &[&Subject],
        inputs: &mut Inputs,
    ) -> Result<Vec<Table>>;
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
    /// Of everything in the sources that decides its records. Equal fingerprints mean equal
    /// records.
    pub fingerprint: Digest,
}

/// The code that makes tables, by the name that declarations give under `builder`: one line each.
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

/// What builds a pipeline's tables.
///
/// # Errors
/// `Config`, when its declaration names no builder, or one that is not here.
pub fn builder(declaration: &Declaration) -> Result<&'static Builder> {
    let known = || {
        BUILDERS
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let Some(wanted) = &declaration.builder else {
        return Err(Error::config(format!(
            "{}: no builder is named; expected one of {}",
            declaration.pipeline_id,
            known()
        )));
    };
    BUILDERS
        .iter()
        .find(|(name, _)| name == wanted)
        .map(|(_, builder)| *builder)
        .ok_or_else(|| {
            Error::config(format!(
                "{}: there is no builder `{wanted}`; expected one of {}",
                declaration.pipeline_id,
                known()
            ))
            .hint("docs/ADDING-A-DATASET.md says which builder reads what, and how to write one")
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
fn settings<T: serde::de::DeserializeOwned>(
    declaration: &Declaration,
) -> std::result::Result<T, Fault> {
    serde_path_to_error::deserialize(toml::Value::Table(declaration.settings.clone()))
        .map_err(|error| Fault::of_reader(&declaration.settings, &error))
}
