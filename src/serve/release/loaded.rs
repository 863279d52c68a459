//! A release that is ready to answer: its manifest, and what each family keeps of it in memory.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::ready;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use jiff::civil::Date;

use super::freshness::{FreshnessCache, FreshnessOfDay};
use super::part_cache::PartCache;
use super::part_reader::PartReader;
use crate::index::file::Index;
use pubdata_core::contract::Contracts;
use pubdata_core::error::Result;
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_store::{Manifest, MappedFile, Part, Unrenewed};

/// What families keep of a release, one of each type: nothing below the route table knows all of
/// them.
#[derive(Default)]
pub struct Tables {
    by_type: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
    /// The files that indexes are mapped from.
    mapped: Vec<Arc<MappedFile>>,
    /// What is opened when all families are loaded.
    openings: Vec<Opening>,
}

impl Tables {
    /// Keeps a table.
    pub fn insert<T: Any + Send + Sync>(&mut self, table: T) {
        self.by_type.insert(TypeId::of::<T>(), Box::new(table));
    }

    /// Keeps what others keep, too.
    fn take(&mut self, others: Self) {
        self.by_type.extend(others.by_type);
        self.mapped.extend(others.mapped);
        self.openings.extend(others.openings);
    }

    /// Keeps an eye on the file that an index of a table is mapped from.
    pub fn watch<T>(&mut self, index: &Index<T>) {
        self.mapped.extend(index.mapped().cloned());
    }

    /// Opens copies when all families are loaded.
    pub fn open_later(&mut self, openings: Vec<Opening>) {
        self.openings.extend(openings);
    }

    /// A family's table, of the first family alone while the others are loaded; none when the
    /// release lacks its dataset.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.by_type.get(&TypeId::of::<T>())?.downcast_ref()
    }
}

/// A copy that is there. To look whether it is as it was written takes its time, for which nobody
/// waits.
pub struct Opening {
    pub part: Part,
    pub open: for<'a> fn(&'a PartCache, &'a ReleaseId, &'a Part) -> BoxFuture<'a, Result<()>>,
}

fn open_by_and_by(cache: Arc<PartCache>, release_id: ReleaseId, openings: Vec<Opening>) {
    tokio::spawn(async move {
        for Opening { part, open } in openings {
            if let Err(error) = open(&cache, &release_id, &part).await {
                tracing::warn!("{error}");
            }
        }
    });
}

/// Reads what a family keeps in memory. A dataset that the release lacks is left out. It is given
/// what the first of all families keeps.
///
/// # Errors
/// `Store`, when a part is missing, damaged, or not as its contract says.
pub type Load =
    for<'a> fn(PartReader<'a>, &'a Contracts, &'a Tables) -> BoxFuture<'a, Result<Tables>>;

/// Of a family that keeps nothing.
pub const NOTHING: Load = |_, _, _| ready(Ok(Tables::default())).boxed();

/// One release, ready to answer.
pub struct Release {
    pub manifest: Manifest,
    tables: Arc<Tables>,
    freshness: FreshnessCache,
}

impl Release {
    /// Loads a release: the first family, which the others may need, then these side by side.
    ///
    /// # Errors
    /// `Store`, when the manifest or a part is missing, damaged, or not as the contract says.
    pub async fn load(
        cache: &Arc<PartCache>,
        contracts: &Contracts,
        loads: &[Load],
        id: &ReleaseId,
    ) -> Result<Self> {
        let manifest = cache.releases().manifest(id).await?;
        let reader = PartReader::new(cache, &manifest);
        let mut tables = Tables::default();
        if let Some((first, others)) = loads.split_first() {
            tables = first(reader, contracts, &Tables::default()).await?;
            // All to their end: of several errors the first family's is told, and what was made
            // stays.
            let of_others =
                join_all(others.iter().map(|load| load(reader, contracts, &tables))).await;
            of_others
                .into_iter()
                .collect::<Result<Vec<_>>>()?
                .into_iter()
                .for_each(|own| tables.take(own));
        }
        open_by_and_by(
            cache.clone(),
            manifest.release_id.clone(),
            std::mem::take(&mut tables.openings),
        );
        Ok(Self {
            manifest,
            tables: Arc::new(tables),
            freshness: FreshnessCache::default(),
        })
    }

    /// What answers that ask nothing of a release are given where none is loaded.
    pub fn none() -> Self {
        let manifest = Manifest {
            format_version: 0,
            release_id: ReleaseId::from_digest(&Digest::of(b"")),
            pubdata_version: String::new(),
            is_sample: false,
            tasks: BTreeMap::new(),
            datasets: BTreeMap::new(),
            declarations: BTreeSet::new(),
            companions: BTreeMap::new(),
            published_at: String::new(),
            run_id: String::new(),
        };
        Self {
            manifest,
            tables: Arc::default(),
            freshness: FreshnessCache::default(),
        }
    }

    /// Whether it stands where no release is loaded.
    pub fn is_none(&self) -> bool {
        self.manifest.run_id.is_empty()
    }

    /// Reads a release again of which the tables are still in memory: its parts are those that they
    /// were read from, for their digests decide its id.
    ///
    /// # Errors
    /// `Store`, when the manifest is missing or damaged.
    pub async fn again(&self, cache: &PartCache) -> Result<Self> {
        let manifest = cache.releases().manifest(&self.manifest.release_id).await?;
        Ok(Self {
            manifest,
            tables: self.tables.clone(),
            freshness: FreshnessCache::default(),
        })
    }

    /// The release with the marks of what could not be renewed since.
    pub fn marked(&self, unrenewed: Option<&Unrenewed>) -> Self {
        let mut manifest = self.manifest.clone();
        manifest.mark(unrenewed);
        Self {
            manifest,
            tables: self.tables.clone(),
            freshness: FreshnessCache::default(),
        }
    }

    /// Whether its indexes can be read: a mapped file can be changed behind our back.
    pub fn is_intact(&self) -> bool {
        self.tables.mapped.iter().all(|file| file.is_as_mapped())
    }

    /// A family's table; none when the release lacks its dataset.
    pub fn table<T: Any>(&self) -> Option<&T> {
        self.tables.get()
    }

    /// Freshness of the datasets on a day.
    pub fn freshness(&self, today: Date) -> Arc<FreshnessOfDay> {
        self.freshness.of(&self.manifest, today)
    }
}
