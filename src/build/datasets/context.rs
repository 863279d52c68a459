//! What a build may see: its declaration, its partition, and its sources decoded as declared. It
//! counts every row that it hands out, so that the build has to account for it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};

use super::source_archive::{Elsewhere, SourceArchive};
use super::{Build, RowsRead, Split, Table};
use crate::decode::{
    self, Archive, ColumnFindings, ColumnPlan, Decoded, HashPartitioner, Malformed, Member,
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

/// The bucket of a build that is not split.
const WHOLE: &str = "0";

/// What a build may see: its declaration, its partition and its snapshots.
pub struct Context<'a> {
    pub declaration: &'a Declaration,
    declarations: &'a Declarations,
    /// Value of the partition's URL variable, when the pipeline has partitions.
    pub partition: Option<String>,
    bucket: String,
    inputs: Mutex<Inputs>,
    rows: Mutex<RowsRead>,
    locate: &'a (dyn Fn(&Snapshot) -> PathBuf + Sync),
    elsewhere: Option<&'a Elsewhere>,
    /// Reads only these records: how one record is made again from its own bytes.
    only: Option<Ranges>,
    /// Where the rows of a bucket are, and its number.
    split: Option<(&'a Split<'a>, u32)>,
    /// Numbers of snapshots that the build does not see.
    hidden: Option<&'a BTreeSet<u64>>,
}

/// The decoded records of one file.
pub struct SourceFrame {
    /// The values of the URL variables; of pages, without their number.
    pub keys: BTreeMap<String, String>,
    pub source_version: String,
    /// Day of the newest archive member that the records are from, `YYYY-MM-DD`, where the archive
    /// says it.
    pub member_date: Option<String>,
    pub frame: DataFrame,
    /// Findings of decoding, not yet assigned to a dataset.
    malformed: Vec<(Malformed, SourcePointer)>,
}

/// A source whose file is one document.
pub struct SourceDocument {
    /// Number of the snapshot, for pointers.
    pub number: u64,
    pub snapshot: Snapshot,
    pub content: Vec<u8>,
}

impl<'a> Context<'a> {
    /// `locate` gives the file of a snapshot; `only`, when given, restricts every source to the
    /// records pointed to.
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

    /// With archives that are not, or not all, on this machine.
    #[must_use]
    pub fn with_elsewhere(self, elsewhere: &'a Elsewhere) -> Self {
        Self {
            elsewhere: Some(elsewhere),
            ..self
        }
    }

    /// With members that are numbered already.
    #[must_use]
    pub fn numbered(self, inputs: Inputs) -> Self {
        Self {
            inputs: Mutex::new(inputs),
            ..self
        }
    }

    /// For records of a bucket that is not the only one.
    #[must_use]
    pub fn in_bucket(self, bucket: &str) -> Self {
        Self {
            bucket: bucket.to_owned(),
            ..self
        }
    }

    /// For a bucket of a build that is split.
    #[must_use]
    pub fn of_split(self, split: &'a Split<'a>, bucket: u32) -> Self {
        let inputs = Mutex::new(split.inputs.clone());
        Self {
            bucket: bucket_name(bucket, split.count()),
            split: Some((split, bucket)),
            inputs,
            ..self
        }
    }

    /// Hides snapshots, by their numbers.
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

    /// Value of the contracts' column `bucket`: `0`, unless the declaration splits the build.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Words of the trade for the values of a coded column, which count where a list's own table
    /// has no entry; none of a table that the list does not produce.
    pub fn words(&self, dataset_id: &str, column: &str) -> &'a Words {
        static NONE: Words = Words::NONE;
        let column = self
            .declarations
            .contracts
            .get(dataset_id)
            .and_then(|contract| contract.column(column));
        column.map_or(&NONE, |column| &column.column_type.words)
    }

    /// The inputs with every archive member numbered that was read, and the rows that were.
    ///
    /// # Panics
    /// When a build panicked while it numbered a member.
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

    /// Gives account of rows of which nothing is published though they break no rule. Four pointer
    /// numbers each.
    ///
    /// # Panics
    /// When a build panicked while it gave account.
    pub fn leave_out(&self, reason: &'static str, pointers: Vec<u64>) {
        if !pointers.is_empty() {
            self.rows
                .lock()
                .expect("no build panicked while counting")
                .left_out
                .push((reason, pointers));
        }
    }

    /// Whether only the records of one published record are read.
    pub fn is_replay(&self) -> bool {
        self.only.is_some()
    }

    /// The snapshots of a source, in the order of their keys.
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

    /// Decodes every file of a source with the columns its declaration maps. Pages of one list are
    /// one file, and so are members of one archive. In a build that is split, the bucket's rows.
    ///
    /// # Errors
    /// `Format`, naming the snapshot, when a file is not what was declared.
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

    /// Decodes the single file of a source.
    ///
    /// # Errors
    /// `Format` as [`Context::read`], and when the source has none or several.
    pub fn read_one(&self, source_id: &str) -> Result<SourceFrame> {
        self.read_optional(source_id)?
            .ok_or_else(|| Error::format(format!("source `{source_id}` has no file")))
    }

    /// Decodes the single file of a source; none when the publisher does not have it, which only a
    /// source with `required = false` may.
    ///
    /// # Errors
    /// `Format` as [`Context::read`], and when the source has several files.
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

    /// Decodes one snapshot; `adjust` adds columns or a row filter to the declared plan.
    ///
    /// # Errors
    /// `Format`, naming the snapshot; `Config`, in a build that is split, whose rows are on disk as
    /// they were declared.
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

    /// Decodes a file or member as declared into files of buckets.
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

    /// Adds the keys of a file's or member's records to `keys`.
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
            Ok((0, (), Vec::new(), ColumnFindings::default()))
        })
        .map(drop)
    }

    /// Decodes a file or member; `read` gives the number of its rows beside what it makes of them.
    fn decode<T>(
        &self,
        part: &SourcePart,
        adjust: &dyn Fn(ColumnPlan) -> ColumnPlan,
        read: impl FnOnce(&decode::Task<'_>) -> Result<(u64, T, Vec<Malformed>, ColumnFindings)>,
    ) -> Result<(T, Vec<(Malformed, SourcePointer)>)> {
        let snapshot = &part.snapshot;
        let source = self.source(&snapshot.source_id)?;
        let path = (self.locate)(snapshot);
        let plan = adjust(ColumnPlan::of(source, &snapshot.keys)?);
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

    /// Whether all files are there that a pipeline's build cannot do without.
    ///
    /// # Panics
    /// When a build panicked while it numbered a member.
    pub fn has_sources_of(&self, pipeline_id: &str) -> bool {
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

    /// The tables of a pipeline that this one builds on, built from the same snapshots by that
    /// pipeline's code and reduced to the rows that pass validation. That pipeline's own task
    /// reports their findings. In a build that is split they are those of the bucket; where none of
    /// their sources is split, they are made once for all buckets.
    ///
    /// # Errors
    /// Those of the pipeline's code and of validation; `Config`, when the declaration does not
    /// build on it, or it is built shard by shard.
    ///
    /// # Panics
    /// When a build panicked while it numbered a member.
    pub fn tables_of(&self, pipeline_id: &str) -> Result<Arc<Vec<Table>>> {
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
                "`{pipeline_id}` is built shard by shard: its tables cannot be built on"
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

    /// A table without the rows that its own task quarantines.
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

    /// Drops rows that repeat an earlier one in every column but the pointers, and gives account of
    /// them.
    ///
    /// # Errors
    /// When polars fails.
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
            self.leave_out("repeated", dropped.flatten().collect());
        }
        Ok(kept)
    }

    /// The ids of the sources a build reads: its own and those of other declarations.
    pub(super) fn source_ids(&self) -> Vec<String> {
        let own = self
            .declaration
            .sources
            .iter()
            .map(|source| &source.source_id);
        own.chain(&self.declaration.inputs).cloned().collect()
    }

    /// The files of a source, and of archives the members, in the order in which they are read:
    /// pages of one list in their own. Members are numbered.
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

    /// Whether the build is about records of a snapshot: always, except when one record is made
    /// again.
    pub fn is_wanted(&self, snapshot: &Snapshot) -> bool {
        self.only
            .as_ref()
            .is_none_or(|ranges| ranges.keys().any(|(digest, _)| *digest == snapshot.sha256))
    }

    /// Number of an archive member, for pointers.
    ///
    /// # Panics
    /// When a build panicked while it numbered a member.
    pub fn member_number(&self, member: &Member) -> u64 {
        self.inputs
            .lock()
            .expect("no build panicked while numbering")
            .member_number(Some(&member.name))
    }

    /// Opens the archives of a source, in the order of their keys.
    ///
    /// # Errors
    /// `Format`, naming the snapshot, when a file is not the archive that was declared.
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
                Some(file) => Archive::of(file.clone(), pattern, source.max_member_bytes),
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

    /// Reads the documents of a source, in the order of their keys.
    ///
    /// # Errors
    /// `Format` or `Store`, naming the snapshot, when a file cannot be read.
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

    /// Turns numbers of a pointer column into pointers.
    ///
    /// # Panics
    /// When a build panicked while it numbered a member.
    pub fn resolve(&self, numbers: &[u64]) -> Vec<SourcePointer> {
        self.inputs
            .lock()
            .expect("no build panicked while numbering")
            .resolve(numbers)
    }
}

/// A file, or a member of one, that is read as one table.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SourcePart {
    /// Number of the snapshot, for pointers.
    pub(super) number: u64,
    pub(super) snapshot: Snapshot,
    /// Of the file it is a part of.
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

/// The values of a snapshot's variables; pages of one list have the same.
fn file_keys(source: &Source, snapshot: &Snapshot) -> BTreeMap<String, String> {
    let mut keys = snapshot.keys.clone();
    source
        .pages
        .iter()
        .for_each(|pages| drop(keys.remove(&pages.variable)));
    keys
}

/// The members of a file that are read one after the other as tables; none, once, for a file that
/// is not packed.
fn members(source: &Source, snapshot: &Snapshot, path: &Path) -> Result<Vec<Option<String>>> {
    // Of files that a page lists, some are packed and some are not.
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
    /// Adds the records of a further page or member.
    fn append(&mut self, other: Self) -> Result<()> {
        self.malformed.extend(other.malformed);
        self.member_date = self.member_date.take().max(other.member_date);
        self.frame.vstack_mut(&other.frame)?;
        Ok(())
    }

    /// The findings of decoding, as findings about a dataset.
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

    /// The same of a list that tells of persons: without the text of the record, which holds what
    /// is never published. The pointer leads to it.
    pub fn issues_without_text(&self, dataset_id: &str) -> impl Iterator<Item = Issue> {
        self.issues(dataset_id).map(|issue| Issue {
            source_text: None,
            ..issue
        })
    }
}

/// A finding about a record that normalising made.
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
