//! Records the outcome of each registrant's facts: published, or the reason why not. A registrant
//! is never missing without a reason.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::release::dictionary::Dictionary;
use crate::release::part_cache::CachedPart;
use crate::release::part_reader::PartReader;
use crate::release::table::{Table, Texts};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Cik;

/// Number of parts read in parallel while a release is loaded.
const LOADING: usize = 8;

/// Outcome of each registrant in the facts archive: published, or the reason why not.
#[derive(Debug, Default)]
pub struct Members {
    /// Outcomes sorted by CIK.
    outcomes: Vec<(u64, u16)>,
    words: Dictionary,
}

/// The columns of one bucket.
struct Bucket {
    ciks: Texts,
    outcomes: Texts,
}

impl CachedPart for Bucket {
    const DATASET_ID: &'static str = Members::DATASET_ID;

    fn read(bytes: Bytes, path: &str) -> Result<Self> {
        let table = Table::read(bytes, &["cik", "outcome"], path)?;
        Ok(Self {
            ciks: table.texts("cik")?,
            outcomes: table.texts("outcome")?,
        })
    }

    fn size_bytes(&self) -> usize {
        0
    }
}

impl Members {
    pub const DATASET_ID: &'static str = "sec.archive_member";

    /// Reads every part of the dataset; empty if the release lacks the dataset.
    pub async fn load(reader: PartReader<'_>) -> Result<Self> {
        let dataset = reader.manifest().datasets.get(Self::DATASET_ID);
        let reads: Vec<_> = dataset
            .into_iter()
            .flat_map(|dataset| &dataset.parts)
            .map(|part| reader.read::<Bucket>(part))
            .collect();
        let buckets: Vec<Bucket> = stream::iter(reads).buffered(LOADING).try_collect().await?;
        let mut members = Self::default();
        for bucket in &buckets {
            for row in 0..bucket.ciks.len() {
                let cik: Cik = bucket
                    .ciks
                    .at(row)
                    .parse()
                    .map_err(|error| Error::store(format!("{}: {error}", Self::DATASET_ID)))?;
                members.outcomes.push((
                    cik.number(),
                    members.words.number(bucket.outcomes.get(row))?,
                ));
            }
        }
        members.outcomes.sort_unstable();
        Ok(members)
    }

    /// Returns the outcome of a registrant; `None` if the archive does not contain the registrant.
    pub fn outcome(&self, cik: Cik) -> Option<&str> {
        let index = self
            .outcomes
            .binary_search_by_key(&cik.number(), |(number, _)| *number)
            .ok()?;
        self.words.text(self.outcomes[index].1)
    }

    /// Returns the number of registrants by outcome.
    pub fn outcomes(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for outcome in self
            .outcomes
            .iter()
            .filter_map(|(_, word)| self.words.text(*word))
        {
            *counts.entry(outcome).or_default() += 1;
        }
        counts
    }
}
