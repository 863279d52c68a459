//! Groups registrants by the bucket that contains their parts.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::datasets::{Shard, Subject};
use pubdata_core::ids::{Cik, Digest, cik_bucket};

/// Sorts registrants into shards by number, without duplicates. Computes fingerprints in parallel,
/// because there are nearly a million registrants.
pub(super) fn shards_of(
    mut ciks: Vec<Cik>,
    fingerprint: impl Fn(Cik) -> Digest + Sync,
) -> Vec<Shard> {
    ciks.par_sort_unstable();
    ciks.dedup();
    let subjects: Vec<Subject> = ciks
        .par_iter()
        .map(|cik| Subject {
            key: cik.to_string(),
            fingerprint: fingerprint(*cik),
        })
        .collect();
    let mut shards: BTreeMap<String, Vec<Subject>> = BTreeMap::new();
    for (cik, subject) in ciks.into_iter().zip(subjects) {
        shards.entry(cik_bucket(cik)).or_default().push(subject);
    }
    shards
        .into_iter()
        .map(|(key, subjects)| Shard { key, subjects })
        .collect()
}
