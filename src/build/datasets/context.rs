//! Gives a build its declaration, its partition and its decoded sources. Counts every row it
//! returns, so that the build must account for all rows.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};

use super::source_archive::{Elsewhere, SourceArchive};
use super::{Build, RowsRead, Split, Table};
use crate::decode::{
    self, Archive, ColumnPlan, ColumnReport, Decoded, HashPartitioner, Malformed, Member,
    Partitioned, Ranges,
};
use crate::normalise;
use crate::validate::{Candidate, passing};
use pubdata_core::contract::Words;
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::bucket_name;
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::pipeline::{Buckets, Declaration, Declarations, Source, expand, is_packed};
use pubdata_core::provenance::{Inputs, POINTERS, Snapshot, SourcePointer};

/// Bucket for a build that is not split.
const WHOLE: &str = "0";

/// One build's declaration, partition and snapshots, which are all that the build may read.
pub struct Context<'a> {
    pub declaration: &'a Declaration,
    declarations: &'a Declarations,
    /// Value of the partition's URL variable, if the pipeline has partitions.
    pub partition: Option<String>,
    bucket: String,
    inputs: Mutex<Inputs>,
    rows: Mutex<RowsRead>,
    locate: &'a (dyn Fn(&Snapshot) -> PathBuf + Sync),
    elsewhere: Option<&'a Elsewhere>,
    /// Restricts reading to these records, to rebuild one published record from its own bytes.
    only: Option<Ranges>,
    /// Bucket files and the number of the bucket to read.
    split: Option<(&'a Split<'a>, u32)>,
    /// Numbers of snapshots that are hidden from the build.
    hidden: Option<&'a BTreeSet<u64>>,
}

/// Decoded records from one file.
pub struct SourceFrame {
    /// Values of the URL variables, without the page number for pages.
    pub keys: BTreeMap<String, String>,
    pub source_version: String,
    /// Date of the newest archive member that contributed records, `YYYY-MM-DD`, if the archive
    /// states it.
    pub member_date: Option<String>,
    pub frame: DataFrame,
    /// Decoding issues that are not yet assigned to a dataset.
    malformed: Vec<(Malformed, SourcePointer)>,
}

/// A source whose file is a single document.
pub struct SourceDocument {
    /// Snapshot number, for pointers.
    pub number: u64,
    pub snapshot: Snapshot,
    pub content: Vec<u8>,
}

impl<'a> Context<'a> {
    /// Creates a context. `locate` returns the path of a snapshot. `only` restricts every source to
    /// the records that it points to.
    pub fn new(
        declarations: &'a Declarations,
        declaration: &'a Declaration,
        partition: Option<String>,
        inputs: Inputs,
        locate: &'a (dyn Fn(&Snapshot) -> PathBuf + Sync),
        only: Option<&[SourcePointer]>,
    ) -> Self {
        let only = only.map(|pointers| decode::ranges_by_file(pointers.iter()));
        Self {
            declaration,
            declarations,
            partition,
            bucket: WHOLE.to_owned(),
            inputs: Mutex::new(inputs),
            rows: Mutex::default(),
            locate,
            elsewhere: None,
            only,
            split: None,
            hidden: None,
        }
    }

    /// Adds archives that are not entirely on this machine.
    #[must_use]
    pub fn with_remote_archives(self, elsewhere: &'a Elsewhere) -> Self {
        Self {
            elsewhere: Some(elsewhere),
            ..self
        }
    }

    /// Uses members that have already been numbered.
    #[must_use]
    pub fn numbered(self, inputs: Inputs) -> Self {
        Self {
            inputs: Mutex::new(inputs),
            ..self
        }
    }

    /// Restricts the build to one of several buckets.
    #[must_use]
    pub fn in_bucket(self, bucket: &str) -> Self {
        Self {
            bucket: bucket.to_owned(),
            ..self
        }
    }

    /// Reads one bucket of a split build.
    #[must_use]
    pub fn for_split(self, split: &'a Split<'a>, bucket: u32) -> Self {
        let inputs = Mutex::new(split.inputs.clone());
        Self {
            bucket: bucket_name(bucket, split.count()),
            split: Some((split, bucket)),
            inputs,
            ..self
        }
    }

    /// Hides snapshots, given by number.
    #[must_use]
    pub fn hiding(self, hidden: &'a BTreeSet<u64>) -> Self {
        Self {
            hidden: Some(hidden),
            ..self
        }
    }

    fn is_hidden(&self, number: u64) -> bool {
        self.hidden.is_some_and(|hidden| hidden.contains(&number))
    }

    /// Returns the value of the contracts' `bucket` column, which is `0` unless the declaration
    /// splits the build.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Returns the shared vocabulary for a coded column. It applies to words that are missing from
    /// a source's own table. It is empty for a dataset without a contract.
    pub fn words(&self, dataset_id: &str, column: &str) -> &'a Words {
        static NONE: Words = Words::NONE;
        let column = self
            .declarations
            .contracts
            .get(dataset_id)
            .and_then(|contract| contract.column(column));
        column.map_or(&NONE, |column| &column.column_type.words)
    }

    /// Returns the inputs, with a number for every archive member that was read, and the rows that
    /// were read.
    ///
    /// # Panics
    /// If a build panicked while numbering a member.
    pub fn finish(self) -> (Inputs, RowsRead) {
        let rows = self
            .rows
            .into_inner()
            .expect("no build panicked while counting");
        (
            self.inputs
                .into_inner()
                .expect("no build panicked while numbering"),
            rows,
        )
    }

    /// Accounts for rows that break no rule but are not published. `pointers` contains four numbers
    /// per row.
    ///
    /// # Panics
    /// If a build panicked while counting rows.
    pub fn exclude_rows(&self, reason: &'static str, pointers: Vec<u64>) {
        if !pointers.is_empty() {
            self.rows
                .lock()
                .expect("no build panicked while counting")
                .left_out
                .push((reason, pointers));
        }
    }

    /// Returns true if the build reads only the records of one published record.
    pub fn is_replay(&self) -> bool {
        self.only.is_some()
    }

    /// Returns a source's snapshots in the order of their keys.
    pub fn snapshots(&self, source_id: &str) -> Vec<(u64, Snapshot)> {
        let inputs = self
            .inputs
            .lock()
            .expect("no build panicked while numbering");
        inputs
            .of_source(source_id)
            .filter(|(number, _)| !self.is_hidden(*number))
            .map(|(number, snapshot)| (number, snapshot.clone()))
            .collect()
    }

    /// Decodes every file in a source with the columns that its declaration maps. The pages of a
    /// list count as one file, and so do the members of an archive. In a split build, returns only
    /// the bucket's rows.
    ///
    /// # Errors
    /// `Format`, naming the snapshot, if a file does not match its declaration.
    pub fn read(&self, source_id: &str) -> Result<Vec<SourceFrame>> {
        let parts = match self.split.filter(|(split, _)| split.has(source_id)) {
            Some((split, bucket)) => {
                split.read(source_id, bucket, &|number| !self.is_hidden(number))?
            }
            None => self
                .parts(source_id)?
                .iter()
                .map(|part| self.read_part(part))
                .collect::<Result<_>>()?,
        };
        let mut files: Vec<SourceFrame> = Vec::new();
        for part in parts {
            match files.last_mut().filter(|last| last.keys == part.keys) {
                Some(last) => last.append(part)?,
                None => files.push(part),
            }
        }
        for file in &mut files {
            file.frame.rechunk_mut();
        }
        Ok(files)
    }

    /// Decodes a source's only file.
    ///
    /// # Errors
    /// `Format` as for [`Context::read`], and if the source does not have exactly one file.
    pub fn read_one(&self, source_id: &str) -> Result<SourceFrame> {
        self.read_optional(source_id)?
            .ok_or_else(|| Error::format(format!("source `{source_id}` has no file")))
    }

    /// Decodes a source's only file. Returns `None` if the publisher does not have the file, which
    /// is allowed only for a source with `required = false`.
    ///
    /// # Errors
    /// `Format` as for [`Context::read`], and if the source has more than one file.
    pub fn read_optional(&self, source_id: &str) -> Result<Option<SourceFrame>> {
        let mut frames = self.read(source_id)?;
        if frames.len() > 1 {
            return Err(Error::format(format!(
                "source `{source_id}` has {} files where one is read",
                frames.len()
            )));
        }
        Ok(frames.pop())
    }

    /// Decodes a snapshot. `adjust` adds columns or a row filter to the declared plan.
    ///
    /// # Errors
    /// `Format`, naming the snapshot; `Config` if the source is split, because the rows on disk
    /// follow the declared plan.
    pub fn read_snapshot(
        &self,
        number: u64,
        snapshot: &Snapshot,
        adjust: impl Fn(ColumnPlan) -> ColumnPlan,
    ) -> Result<SourceFrame> {
        if self
            .split
            .is_some_and(|(split, _)| split.has(&snapshot.source_id))
        {
            return Err(Error::config(format!(
                "source `{}` is split into buckets, and is read as it is declared",
                snapshot.source_id
            )));
        }
        let mut file: Option<SourceFrame> = None;
        for part in self.parts_of(number, snapshot)? {
            let frame = self.read_adjusted(&part, &adjust)?;
            match &mut file {
                Some(file) => file.append(frame)?,
                None => file = Some(frame),
            }
        }
        file.ok_or_else(|| Error::format(format!("{} has no member to read", snapshot.url)))
    }

    fn read_part(&self, part: &SourcePart) -> Result<SourceFrame> {
        self.read_adjusted(part, &|plan| plan)
    }

    fn read_adjusted(
        &self,
        part: &SourcePart,
        adjust: &dyn Fn(ColumnPlan) -> ColumnPlan,
    ) -> Result<SourceFrame> {
        let (frame, malformed) = self.decode(part, adjust, |task| {
            let Decoded {
                frame,
                malformed,
                columns,
            } = decode::decode(task)?;
            Ok((frame.height() as u64, frame, malformed, columns))
        })?;
        Ok(part.frame(frame, malformed))
    }

    /// Decodes a file or member as declared and writes it into bucket files.
    pub(super) fn split_part(
        &self,
        part: &SourcePart,
        partitioner: HashPartitioner<'_>,
    ) -> Result<(Partitioned, Vec<(Malformed, SourcePointer)>)> {
        self.decode(part, &|plan| plan, |task| {
            let (partitioned, malformed, columns) = decode::partition(task, partitioner)?;
            Ok((partitioned.rows, partitioned, malformed, columns))
        })
    }

    /// Adds the keys of the records in a file or member to `keys`.
    pub(super) fn collect_keys(
        &self,
        part: &SourcePart,
        buckets: &Buckets,
        limit: usize,
        keys: &mut HashSet<String>,
    ) -> Result<()> {
        self.decode(part, &|plan| plan, |task| {
            let fallback_key = buckets.fallback_key.as_deref();
            decode::collect_keys(task, &buckets.key, fallback_key, limit, keys)?;
            Ok((0, (), Vec::new(), ColumnReport::default()))
        })
        .map(drop)
    }

    /// Decodes a file or archive member. `read` returns the row count and the result.
    fn decode<T>(
        &self,
        part: &SourcePart,
        adjust: &dyn Fn(ColumnPlan) -> ColumnPlan,
        read: impl FnOnce(&decode::Task<'_>) -> Result<(u64, T, Vec<Malformed>, ColumnReport)>,
    ) -> Result<(T, Vec<(Malformed, SourcePointer)>)> {
        let snapshot = &part.snapshot;
        let source = self.source(&snapshot.source_id)?;
        let path = (self.locate)(snapshot);
        let plan = adjust(ColumnPlan::for_source(source, &snapshot.keys)?);
        let key = (snapshot.sha256, part.member.clone());
        let task = decode::Task {
            path: &path,
            format: &source.format,
            member: part.member.as_deref(),
            plan: &plan,
            input: part.number,
            member_number: part.member_number,
            max_bytes: if source.members.is_some() {
                source.max_member_bytes
            } else {
                source.max_bytes
            },
            only: self
                .only
                .as_ref()
                .map(|ranges| ranges.get(&key).map(Vec::as_slice).unwrap_or_default()),
        };
        let (mut count, made, malformed, columns) =
            read(&task).context(|| format!("{} ({})", snapshot.source_id, snapshot.url))?;
        count += malformed
            .iter()
            .filter(|malformed| malformed.severity == Severity::Quarantine)
            .count() as u64;
        let mut rows = self.rows.lock().expect("no build panicked while counting");
        rows.add(
            &snapshot.source_id,
            (part.number, part.member_number),
            count,
        );
        rows.add_columns(&snapshot.source_id, columns);
        drop(rows);
        let pointer = |malformed: &Malformed| SourcePointer {
            source_id: snapshot.source_id.clone(),
            snapshot: snapshot.sha256,
            member: part.member.clone(),
            offset: malformed.offset,
            length: malformed.length,
        };
        Ok((
            made,
            malformed
                .into_iter()
                .map(|malformed| (malformed.clone(), pointer(&malformed)))
                .collect(),
        ))
    }

    /// Returns true if all required files for a pipeline's sources are present.
    ///
    /// # Panics
    /// If a build panicked while numbering a member.
    pub fn has_required_sources(&self, pipeline_id: &str) -> bool {
        let inputs = self
            .inputs
            .lock()
            .expect("no build panicked while numbering");
        let needed = |declaration: &'a Declaration| {
            declaration
                .sources
                .iter()
                .filter(|source| source.required && source.on_demand.is_none())
        };
        self.declarations
            .pipelines
            .get(pipeline_id)
            .into_iter()
            .flat_map(needed)
            .all(|source| {
                inputs
                    .of_source(&source.source_id)
                    .any(|(number, _)| !self.is_hidden(number))
            })
    }

    /// Builds the tables of another pipeline that this pipeline builds on, from the same snapshots
    /// and with that pipeline's code. Drops the rows that fail validation; that pipeline's own task
    /// reports their issues. In a split build, returns the bucket's tables. If none of the tables'
    /// sources is split, builds them once for all buckets.
    ///
    /// # Errors
    /// Errors from the pipeline's code and from validation. `Config` if the declaration does not
    /// build on the pipeline, or if the pipeline is built shard by shard.
    ///
    /// # Panics
    /// If a build panicked while numbering a member.
    pub fn pipeline_tables(&self, pipeline_id: &str) -> Result<Arc<Vec<Table>>> {
        let other = self.declarations.pipelines.get(pipeline_id).filter(|_| {
            self.declaration
                .builds_on
                .iter()
                .any(|id| id == pipeline_id)
        });
        let other = other.ok_or_else(|| {
            Error::config(format!(
                "`{}` does not build on `{pipeline_id}`",
                self.declaration.pipeline_id
            ))
        })?;
        let Build::Whole(build) = super::builder(other)?.build else {
            return Err(Error::config(format!(
                "`{pipeline_id}` is built shard by shard: no other pipeline can build on its tables"
            )));
        };
        let split = self.split.filter(|(split, _)| {
            other
                .sources
                .iter()
                .any(|source| split.has(&source.source_id))
        });
        let make = || {
            let numbered = self
                .inputs
                .lock()
                .expect("no build panicked while numbering")
                .clone();
            let context = Context {
                declaration: other,
                declarations: self.declarations,
                partition: None,
                bucket: if split.is_some() || self.is_replay() {
                    self.bucket.clone()
                } else {
                    WHOLE.to_owned()
                },
                inputs: Mutex::new(numbered),
                rows: Mutex::default(),
                locate: self.locate,
                elsewhere: self.elsewhere,
                only: self.only.clone(),
                split,
                hidden: self.hidden,
            };
            let tables = build(&context)?;
            let inputs = context.finish().0;
            let tables = tables
                .into_iter()
                .map(|table| self.as_published(table, &inputs))
                .collect::<Result<Vec<_>>>()?;
            *self
                .inputs
                .lock()
                .expect("no build panicked while numbering") = inputs;
            Ok(Arc::new(tables))
        };
        match self.split.filter(|_| split.is_none()) {
            Some((shared, _)) => shared.once(pipeline_id, make),
            None => make(),
        }
    }

    /// Removes the rows that the table's own task quarantines.
    fn as_published(&self, table: Table, inputs: &Inputs) -> Result<Table> {
        let Table {
            dataset_id,
            partition,
            frame,
            issues,
        } = table;
        let contract = self
            .declarations
            .contracts
            .get(&dataset_id)
            .ok_or_else(|| Error::contract(format!("no contract of {dataset_id}")))?;
        let candidate = Candidate {
            dataset_id: dataset_id.clone(),
            partition: partition.clone(),
            frame,
            issues,
        };
        Ok(Table {
            frame: passing(contract, candidate, inputs)?,
            dataset_id,
            partition,
            issues: Vec::new(),
        })
    }

    /// Drops rows that equal an earlier row in every column except the pointers, and accounts for
    /// the dropped rows.
    ///
    /// # Errors
    /// Fails only if polars fails.
    pub fn without_repeats(&self, frame: &DataFrame) -> Result<DataFrame> {
        let kept = normalise::without_repeats(frame)?;
        if kept.height() < frame.height() {
            let of_kept: HashSet<Vec<u64>> = normalise::pointers(&kept, POINTERS)?
                .into_iter()
                .flatten()
                .collect();
            let dropped = normalise::pointers(frame, POINTERS)?
                .into_iter()
                .flatten()
                .filter(|pointers| !of_kept.contains(pointers));
            self.exclude_rows("repeated", dropped.flatten().collect());
        }
        Ok(kept)
    }

    /// Returns the ids of the sources that a build reads: its own sources and those of other
    /// declarations.
    pub(super) fn source_ids(&self) -> Vec<String> {
        let own = self
            .declaration
            .sources
            .iter()
            .map(|source| &source.source_id);
        own.chain(&self.declaration.inputs).cloned().collect()
    }

    /// Returns the files in a source, or the members of its archives, in reading order. The pages
    /// of a list keep the list's order. Assigns numbers to the members.
    pub(super) fn parts(&self, source_id: &str) -> Result<Vec<SourcePart>> {
        let source = self.source(source_id)?;
        let mut snapshots = self.snapshots(source_id);
        let page = |snapshot: &Snapshot| {
            source
                .pages
                .as_ref()
                .and_then(|pages| snapshot.keys.get(&pages.variable)?.parse::<u64>().ok())
        };
        snapshots.sort_by_cached_key(|(_, snapshot)| (file_keys(source, snapshot), page(snapshot)));
        let mut parts = Vec::new();
        for (number, snapshot) in snapshots {
            parts.extend(self.parts_of(number, &snapshot)?);
        }
        Ok(parts)
    }

    fn parts_of(&self, number: u64, snapshot: &Snapshot) -> Result<Vec<SourcePart>> {
        let source = self.source(&snapshot.source_id)?;
        let path = (self.locate)(snapshot);
        let place = || format!("{} ({})", snapshot.source_id, snapshot.url);
        let mut parts = Vec::new();
        for member in members(source, snapshot, &path).context(place)? {
            let member_date = member
                .as_deref()
                .map(|member| decode::member_date(&path, member))
                .transpose()
                .context(place)?
                .flatten();
            let member_number = self
                .inputs
                .lock()
                .expect("no build panicked while numbering")
                .member_number(member.as_deref());
            parts.push(SourcePart {
                number,
                keys: file_keys(source, snapshot),
                snapshot: snapshot.clone(),
                member,
                member_date,
                member_number,
            });
        }
        Ok(parts)
    }

    /// Returns true if the build needs any records from a snapshot. Only the replay of a single
    /// record excludes snapshots.
    pub fn is_selected(&self, snapshot: &Snapshot) -> bool {
        self.only
            .as_ref()
            .is_none_or(|ranges| ranges.keys().any(|(digest, _)| *digest == snapshot.sha256))
    }

    /// Returns an archive member's number, for pointers.
    ///
    /// # Panics
    /// If a build panicked while numbering a member.
    pub fn member_number(&self, member: &Member) -> u64 {
        self.inputs
            .lock()
            .expect("no build panicked while numbering")
            .member_number(Some(&member.name))
    }

    /// Opens a source's archives, in the order of their keys.
    ///
    /// # Errors
    /// `Format`, naming the snapshot, if a file is not the declared archive; `Config` if the source
    /// declares no `members`.
    pub fn archives(&self, source_id: &str) -> Result<Vec<SourceArchive>> {
        let source = self.source(source_id)?;
        let pattern = source
            .members
            .as_deref()
            .ok_or_else(|| Error::config(format!("source `{source_id}` declares no `members`")))?;
        let open = |(number, snapshot): (u64, Snapshot)| {
            let archive = match self
                .elsewhere
                .and_then(|elsewhere| elsewhere.get(&snapshot.sha256))
            {
                Some(file) => Archive::from_reader(file.clone(), pattern, source.max_member_bytes),
                None => Archive::open(&(self.locate)(&snapshot), pattern, source.max_member_bytes),
            };
            Ok(SourceArchive {
                number,
                archive: archive.context(|| format!("{source_id} ({})", snapshot.url))?,
                snapshot,
            })
        };
        self.snapshots(source_id).into_iter().map(open).collect()
    }

    /// Reads a source's documents, in the order of their keys.
    ///
    /// # Errors
    /// `Format` or `Store`, naming the snapshot, if a file cannot be read.
    pub fn documents(&self, source_id: &str) -> Result<Vec<SourceDocument>> {
        let source = self.source(source_id)?;
        let read = |(number, snapshot): (u64, Snapshot)| {
            let content = decode::read_document(&(self.locate)(&snapshot), source.max_bytes)
                .context(|| format!("{source_id} ({})", snapshot.url))?;
            Ok(SourceDocument {
                number,
                content,
                snapshot,
            })
        };
        self.snapshots(source_id).into_iter().map(read).collect()
    }

    pub(super) fn source(&self, source_id: &str) -> Result<&'a Source> {
        let found = self
            .declarations
            .source(source_id)
            .map(|(_, source)| source);
        found.ok_or_else(|| Error::config(format!("no declaration has a source `{source_id}`")))
    }

    /// Resolves the numbers in a pointer column to pointers.
    ///
    /// # Panics
    /// If a build panicked while numbering a member.
    pub fn resolve(&self, numbers: &[u64]) -> Vec<SourcePointer> {
        self.inputs
            .lock()
            .expect("no build panicked while numbering")
            .resolve(numbers)
    }
}

/// A file or archive member that is read as one table.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SourcePart {
    /// Snapshot number, for pointers.
    pub(super) number: u64,
    pub(super) snapshot: Snapshot,
    /// Keys of the file that contains the part.
    keys: BTreeMap<String, String>,
    pub(super) member: Option<String>,
    member_date: Option<String>,
    pub(super) member_number: u64,
}

impl SourcePart {
    pub(super) fn frame(
        &self,
        frame: DataFrame,
        malformed: Vec<(Malformed, SourcePointer)>,
    ) -> SourceFrame {
        let (keys, source_version) = (self.keys.clone(), self.snapshot.source_version.clone());
        SourceFrame {
            keys,
            source_version,
            member_date: self.member_date.clone(),
            frame,
            malformed,
        }
    }
}

/// Returns the values of a snapshot's URL variables. All pages of a list have the same values.
fn file_keys(source: &Source, snapshot: &Snapshot) -> BTreeMap<String, String> {
    let mut keys = snapshot.keys.clone();
    source
        .pages
        .iter()
        .for_each(|pages| drop(keys.remove(&pages.variable)));
    keys
}

/// Returns the members of a file that are read as tables, in order. A file that is not an archive
/// gives a single `None`.
fn members(source: &Source, snapshot: &Snapshot, path: &Path) -> Result<Vec<Option<String>>> {
    // A page may list both archives and plain files.
    if source.listing.is_some() && !is_packed(&snapshot.url) {
        return Ok(vec![None]);
    }
    Ok(match (&source.member, &source.members) {
        (Some(pattern), _) => vec![Some(decode::member_name(
            path,
            &expand(pattern, &snapshot.keys)?,
        )?)],
        (None, Some(pattern)) => decode::member_names(path, pattern)?
            .into_iter()
            .map(Some)
            .collect(),
        (None, None) => vec![None],
    })
}

impl SourceFrame {
    /// Appends the records from another page or member.
    fn append(&mut self, other: Self) -> Result<()> {
        self.malformed.extend(other.malformed);
        self.member_date = self.member_date.take().max(other.member_date);
        self.frame.vstack_mut(&other.frame)?;
        Ok(())
    }

    /// Returns the decoding issues as issues of a dataset.
    pub fn issues(&self, dataset_id: &str) -> impl Iterator<Item = Issue> {
        self.malformed
            .iter()
            .map(move |(malformed, pointer)| Issue {
                code: "malformed_record".to_owned(),
                severity: malformed.severity,
                dataset_id: dataset_id.to_owned(),
                record: Some(format!("{}@{}", pointer.source_id, pointer.offset)),
                detail: malformed.detail.clone(),
                source_text: Some(malformed.source_text.clone()),
                pointer: Some(pointer.clone()),
            })
    }

    /// Returns the same issues without the record's text, for a source with data about persons. The
    /// text contains values that are never published, but the pointer leads to it.
    pub fn issues_without_text(&self, dataset_id: &str) -> impl Iterator<Item = Issue> {
        self.issues(dataset_id).map(|issue| Issue {
            source_text: None,
            ..issue
        })
    }
}

/// Creates an issue about a record, found during normalisation.
pub fn finding(
    code: &str,
    severity: Severity,
    dataset_id: &str,
    record: &str,
    detail: String,
) -> Issue {
    Issue {
        code: code.to_owned(),
        severity,
        dataset_id: dataset_id.to_owned(),
        record: Some(record.to_owned()),
        detail,
        source_text: None,
        pointer: None,
    }
}
