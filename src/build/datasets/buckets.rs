//! Splits a build's sources into bucket files on disk by the hash of a column, and reads them
//! bucket by bucket. Records that could not be read have no key and belong to the first bucket.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use super::context::{Context, SourceFrame, SourcePart};
use super::{RowsRead, Table};
use crate::decode::{self, HashPartitioner, KeptRows, Malformed, Partitioned};
use pubdata_core::error::{Error, Result};
use pubdata_core::issue::SourceFinding;
use pubdata_core::pipeline::{Buckets, Declarations, Format};
use pubdata_core::provenance::{Inputs, Snapshot, SourcePointer};

/// Path of a bucket file, by bucket, snapshot number and member number.
pub type BucketPath<'a> = &'a (dyn Fn(u32, u64, u64) -> PathBuf + Sync);

/// Rows from a build's sources on disk, split by the hash of a column.
pub struct Split<'a> {
    buckets: &'a Buckets,
    path_of: BucketPath<'a>,
    /// Files and members of each source that contains the column, in reading order.
    sources: BTreeMap<String, Vec<SplitPart>>,
    pub(super) inputs: Inputs,
    rows: RowsRead,
    /// Tables from other pipelines that are not split into buckets, by pipeline.
    tables: Mutex<BTreeMap<String, Arc<Vec<Table>>>>,
}

/// Files and members to split, in reading order, and the members' numbers.
#[derive(Clone, Serialize, Deserialize)]
pub struct SplitPlan {
    /// Source id and part for each file or member.
    parts: Vec<(String, SourcePart)>,
    inputs: Inputs,
}

/// A file or member that has been split.
#[derive(Serialize, Deserialize)]
pub struct SplitPart {
    part: SourcePart,
    /// Column names, in the order of the frame.
    columns: Vec<String>,
    malformed: Vec<(Malformed, SourcePointer)>,
    /// Buckets that contain rows from this part.
    filled: BTreeSet<u32>,
}

impl SplitPlan {
    /// Lists the files and members of every source that maps the column.
    ///
    /// # Errors
    /// `Format`, naming the snapshot, if an archive cannot be read.
    pub fn from_context(context: Context<'_>, buckets: &Buckets) -> Result<Self> {
        let mut parts = Vec::new();
        for source_id in context.source_ids() {
            let source = context.source(&source_id)?;
            let is_split = source.columns.contains_key(&buckets.key);
            if (is_split || !context.declaration.builds_on.is_empty())
                && !matches!(source.format, Format::Document { .. })
            {
                // Number the members here, in order, so that the numbers do not depend on the
                // threads' timing.
                let numbered = context.parts(&source_id)?;
                parts.extend(
                    numbered
                        .into_iter()
                        .filter(|_| is_split)
                        .map(|part| (source_id.clone(), part)),
                );
            }
        }
        Ok(Self {
            parts,
            inputs: context.finish().0,
        })
    }

    /// Returns the snapshot for each file or member, in order.
    pub fn snapshots(&self) -> impl Iterator<Item = &Snapshot> {
        self.parts.iter().map(|(_, part)| &part.snapshot)
    }

    /// Returns the name of the archive member with this index, or `None` if the file is not an
    /// archive.
    pub fn member(&self, number: usize) -> Option<&str> {
        self.parts[number].1.member.as_deref()
    }

    /// Returns true if the source is split. A source that is not split is read in full for each
    /// bucket.
    pub fn has(&self, source_id: &str) -> bool {
        self.parts.iter().any(|(split, _)| split == source_id)
    }

    /// Returns the keys of the records in the files from some snapshots, given by number.
    ///
    /// # Errors
    /// `Format` as soon as the number of keys exceeds `limit`.
    pub fn keys(
        &self,
        numbers: &BTreeSet<u64>,
        context: &Context<'_>,
        buckets: &Buckets,
        limit: usize,
    ) -> Result<HashSet<String>> {
        let mut keys = HashSet::new();
        for (_, part) in self
            .parts
            .iter()
            .filter(|(_, part)| numbers.contains(&part.number))
        {
            context.collect_keys(part, buckets, limit, &mut keys)?;
        }
        Ok(keys)
    }

    /// Returns the build's snapshots and members, with their numbers.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Splits the file or member with a number.
    ///
    /// # Errors
    /// `Format`, naming the snapshot, if the file does not match its declaration; `Store` if the
    /// rows cannot be written.
    pub fn split(
        &self,
        number: usize,
        context: &Context<'_>,
        buckets: &Buckets,
        kept: KeptRows<'_>,
        path_of: BucketPath<'_>,
    ) -> Result<SplitPart> {
        split(context, &self.parts[number].1, buckets, kept, path_of)
    }
}

impl SplitPart {
    /// Returns the numbers that identify the snapshot and the member, for pointers and
    /// [`BucketPath`].
    pub fn numbers(&self) -> (u64, u64) {
        (self.part.number, self.part.member_number)
    }

    /// Returns the buckets that contain rows from this part, each with its file.
    pub fn files(&self, path_of: BucketPath<'_>) -> Vec<(u32, PathBuf)> {
        self.filled
            .iter()
            .map(|bucket| {
                (
                    *bucket,
                    path_of(*bucket, self.part.number, self.part.member_number),
                )
            })
            .collect()
    }
}

impl<'a> Split<'a> {
    /// Splits every source of a build that maps the column. Splits each file and member once,
    /// several in parallel. Rows and columns from the snapshots numbered in `uncounted` are not
    /// counted.
    ///
    /// # Errors
    /// `Format`, naming the snapshot, if a file does not match its declaration; `Store` if the rows
    /// cannot be written.
    pub fn write<'c>(
        open: impl Fn() -> Context<'c>,
        buckets: &'a Buckets,
        kept: KeptRows<'_>,
        uncounted: &BTreeSet<u64>,
        path_of: BucketPath<'a>,
    ) -> Result<Self> {
        let to_split = SplitPlan::from_context(open(), buckets)?;
        let context = open().numbered(to_split.inputs.clone());
        let not_counting = open().numbered(to_split.inputs.clone());
        let next = AtomicUsize::new(0);
        let done: Mutex<BTreeMap<usize, Result<SplitPart>>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..rayon::current_num_threads() {
                scope.spawn(|| {
                    while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed))
                        .filter(|number| *number < to_split.parts.len())
                    {
                        let is_counted = !uncounted.contains(&to_split.parts[number].1.number);
                        let context = if is_counted { &context } else { &not_counting };
                        let split = to_split.split(number, context, buckets, kept, path_of);
                        done.lock()
                            .expect("nothing panics while holding it")
                            .insert(number, split);
                    }
                });
            }
        });
        let parts = done
            .into_inner()
            .expect("nothing panics while holding it")
            .into_values()
            .collect::<Result<_>>()?;
        Ok(Self::from_parts(
            buckets,
            &to_split,
            parts,
            context.finish().1,
            path_of,
        ))
    }

    /// Assembles parts that have been split, in order, along with the rows read from them.
    pub fn from_parts(
        buckets: &'a Buckets,
        to_split: &SplitPlan,
        parts: Vec<SplitPart>,
        rows: RowsRead,
        path_of: BucketPath<'a>,
    ) -> Self {
        let mut sources: BTreeMap<String, Vec<SplitPart>> = BTreeMap::new();
        for ((source_id, _), split) in to_split.parts.iter().zip(parts) {
            sources.entry(source_id.clone()).or_default().push(split);
        }
        Self {
            buckets,
            path_of,
            sources,
            inputs: to_split.inputs.clone(),
            rows,
            tables: Mutex::default(),
        }
    }

    /// Returns true if the source is split. A source that is not split is read in full for each
    /// bucket.
    pub(super) fn has(&self, source_id: &str) -> bool {
        self.sources.contains_key(source_id)
    }

    /// Returns tables that all buckets share. The first bucket that needs the tables builds them
    /// while the other buckets wait.
    pub(super) fn once(
        &self,
        pipeline_id: &str,
        make: impl FnOnce() -> Result<Arc<Vec<Table>>>,
    ) -> Result<Arc<Vec<Table>>> {
        let mut tables = self.tables.lock().map_err(|_| {
            Error::format(format!(
                "{pipeline_id}: another bucket stopped while it made the tables"
            ))
        })?;
        if let Some(made) = tables.get(pipeline_id) {
            return Ok(made.clone());
        }
        let made = make()?;
        tables.insert(pipeline_id.to_owned(), made.clone());
        Ok(made)
    }

    /// Returns the number of split rows by source.
    pub fn rows(&self) -> BTreeMap<String, u64> {
        self.rows.by_source()
    }

    /// Reports columns in the split sources that need attention.
    pub fn findings(&self, declarations: &Declarations) -> Vec<SourceFinding> {
        self.rows.findings(declarations)
    }

    /// Returns the number of buckets.
    pub fn count(&self) -> u32 {
        self.buckets.count
    }

    /// Returns true if a bucket has no rows and no unreadable records.
    pub fn is_empty(&self, bucket: u32) -> bool {
        let has_any = |split: &SplitPart| {
            split.filled.contains(&bucket) || (bucket == 0 && !split.malformed.is_empty())
        };
        !self.sources.values().flatten().any(has_any)
    }

    /// Reads a source's rows in a bucket, from the snapshots that are not hidden. Records that
    /// could not be read have no key and belong to the first bucket.
    ///
    /// # Errors
    /// `Store` if the rows cannot be read again.
    pub(super) fn read(
        &self,
        source_id: &str,
        bucket: u32,
        is_visible: &dyn Fn(u64) -> bool,
    ) -> Result<Vec<SourceFrame>> {
        let read = |split: &SplitPart| {
            let part = &split.part;
            let path = (self.path_of)(bucket, part.number, part.member_number);
            let frame =
                decode::read_partition(&path, &split.columns, [part.number, part.member_number])?;
            let malformed = if bucket == 0 {
                split.malformed.clone()
            } else {
                Vec::new()
            };
            Ok(part.frame(frame, malformed))
        };
        self.sources
            .get(source_id)
            .into_iter()
            .flatten()
            .filter(|split| is_visible(split.part.number))
            .map(read)
            .collect()
    }
}

fn split(
    context: &Context<'_>,
    part: &SourcePart,
    buckets: &Buckets,
    kept: KeptRows<'_>,
    path_of: BucketPath<'_>,
) -> Result<SplitPart> {
    let path_of = |bucket: u32| path_of(bucket, part.number, part.member_number);
    let partitioner = HashPartitioner {
        key: &buckets.key,
        fallback_key: buckets.fallback_key.as_deref(),
        count: buckets.count,
        kept,
        path_of: &path_of,
    };
    let (
        Partitioned {
            columns, filled, ..
        },
        malformed,
    ) = context.split_part(part, partitioner)?;
    Ok(SplitPart {
        part: part.clone(),
        columns,
        malformed,
        filled,
    })
}
