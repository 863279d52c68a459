//! Holds a release that is ready to answer requests: its manifest, and the tables that each family
//! keeps in memory.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::ready;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use jiff::civil::Date;

use super::freshness::{DailyFreshness, FreshnessCache};
use super::part_cache::PartCache;
use super::part_reader::PartReader;
use crate::index::file::Index;
use pubdata_core::contract::Contracts;
use pubdata_core::error::Result;
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_store::{Manifest, MappedFile, Part, StaleTasks};

/// Tables that families keep for a release, one table of each type. No module below the route table
/// knows all table types.
#[derive(Default)]
pub struct Tables {
    by_type: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
    /// Files from which indexes are mapped.
    mapped: Vec<Arc<MappedFile>>,
    /// Copies to open after all families are loaded.
    openings: Vec<Opening>,
}

impl Tables {
    /// Adds a table to the set.
    pub fn insert<T: Any + Send + Sync>(&mut self, table: T) {
        self.by_type.insert(TypeId::of::<T>(), Box::new(table));
    }

    /// Adds the tables from another set.
    fn take(&mut self, others: Self) {
        self.by_type.extend(others.by_type);
        self.mapped.extend(others.mapped);
        self.openings.extend(others.openings);
    }

    /// Registers the file from which an index is mapped, to detect changes to the file.
    pub fn watch<T>(&mut self, index: &Index<T>) {
        self.mapped.extend(index.mapped().cloned());
    }

    /// Schedules copies to be opened after all families are loaded.
    pub fn open_later(&mut self, openings: Vec<Opening>) {
        self.openings.extend(openings);
    }

    /// Returns a family's table, or `None` if the release lacks its dataset. While families are
    /// loaded, only the first family's tables are available.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.by_type.get(&TypeId::of::<T>())?.downcast_ref()
    }
}

/// A copy on disk whose contents are verified in the background, because verification takes time.
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

/// Reads the data that a family keeps in memory. Skips datasets that the release lacks. Receives
/// the tables of the first family.
pub type Load =
    for<'a> fn(PartReader<'a>, &'a Contracts, &'a Tables) -> BoxFuture<'a, Result<Tables>>;

/// Loader for a family that keeps no data in memory.
pub const NOTHING: Load = |_, _, _| ready(Ok(Tables::default())).boxed();

/// A release that is ready to answer requests.
pub struct Release {
    pub manifest: Manifest,
    tables: Arc<Tables>,
    freshness: FreshnessCache,
}

impl Release {
    /// Loads a release: first the first family, which the others may need, then the other families
    /// in parallel.
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
            // Waits for all loads: the first family's error is reported, and finished files are
            // kept.
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

    /// Returns the placeholder for endpoints that do not need a release, used if none is loaded.
    pub fn none() -> Self {
        let manifest = Manifest {
            format_version: 0,
            release_id: ReleaseId::from_digest(&Digest::sha256(b"")),
            pubdata_version: String::new(),
            is_sample: false,
            tasks: BTreeMap::new(),
            datasets: BTreeMap::new(),
            declarations: BTreeSet::new(),
            sidecars: BTreeMap::new(),
            published_at: String::new(),
            run_id: String::new(),
        };
        Self {
            manifest,
            tables: Arc::default(),
            freshness: FreshnessCache::default(),
        }
    }

    /// Reports whether this is the placeholder without a release.
    pub fn is_none(&self) -> bool {
        self.manifest.run_id.is_empty()
    }

    /// Reads the manifest again for a release whose tables are still in memory. The tables stay
    /// valid, because the release id depends on the digests of the parts.
    pub async fn again(&self, cache: &PartCache) -> Result<Self> {
        let manifest = cache.releases().manifest(&self.manifest.release_id).await?;
        Ok(Self {
            manifest,
            tables: self.tables.clone(),
            freshness: FreshnessCache::default(),
        })
    }

    /// Returns the release with the given stale flags.
    pub fn marked(&self, stale_tasks: Option<&StaleTasks>) -> Self {
        let mut manifest = self.manifest.clone();
        manifest.mark(stale_tasks);
        Self {
            manifest,
            tables: self.tables.clone(),
            freshness: FreshnessCache::default(),
        }
    }

    /// Reports whether the indexes are readable. Another process can change a mapped file.
    pub fn is_intact(&self) -> bool {
        self.tables.mapped.iter().all(|file| file.is_as_mapped())
    }

    /// Returns a family's table, or `None` if the release lacks its dataset.
    pub fn table<T: Any>(&self) -> Option<&T> {
        self.tables.get()
    }

    /// Returns the freshness of the datasets on a day.
    pub fn freshness(&self, today: Date) -> Arc<DailyFreshness> {
        self.freshness.get(&self.manifest, today)
    }
}
