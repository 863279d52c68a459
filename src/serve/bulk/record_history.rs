//! Answers `GET /v1/records/{record_id}/history`: shows one record through the channel's retained
//! releases, with its changes and their causes. A part that several releases share is read once.
//! The number of parts that a request may read is limited.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::causes::Causes;
use super::query;
use crate::answer::ColumnValue;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::format;
use crate::http::problem::{Code, Problem, Result};
use crate::http::scope;
use crate::json::Json;
use crate::release::bucketed::BUCKET;
use crate::release::manifests::{ReleaseName, Summary};
use crate::release::part_reader::PartReader;
use pubdata_core::contract::Contract;
use pubdata_core::ids::{Digest, RecordId};
use pubdata_store::{Manifest, Part, TaskEntry};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/records/{record_id}/history",
    operation_id: "getRecordHistory",
    summary: "History of a record through the retained releases, with the causes of its changes",
    access: Access::Key,
    parameters: &[format("entries")],
    body: None,
    data: Data::for_type::<RecordHistory<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| history(call, json).boxed()),
};

const MAX_RELEASES: usize = 30;
/// Maximum number of parts to search. A record is in only one part, but a missing record could be
/// in any part.
const MAX_PARTS: usize = 64;

#[derive(Serialize, JsonSchema)]
struct RecordHistory<'a> {
    /// Identifier of the record.
    record_id: &'a str,
    /// Identifier of the dataset, such as `permit.permit`.
    dataset_id: &'a str,
    /// False if the search ended before the last release because it would have to read too many
    /// parts.
    is_complete: bool,
    /// Entries, newest first. Contiguous releases with an identical record form one entry.
    entries: Vec<RecordEntry<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct RecordEntry<'a> {
    /// Earliest release of the entry.
    first: ReleaseName<'a>,
    /// Latest release of the entry.
    last: ReleaseName<'a>,
    /// Number of releases, from the first to the last.
    releases: u64,
    /// True if the releases of the entry have the record.
    is_present: bool,
    /// Columns that differ from the previous entry in time; empty unless both entries have the
    /// record.
    changes: Vec<ColumnChange<'a>>,
    #[serde(flatten)]
    causes: Causes<'a>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RecordEntryChange")]
struct ColumnChange<'a> {
    /// Name of the column.
    column: &'a str,
    /// Value in the previous entry; null if the column was null.
    before: ColumnValue<'a>,
    /// Value in this entry; null if the column is null.
    after: ColumnValue<'a>,
}

type Columns = Map<String, Value>;

/// Contiguous releases in which a record is identical.
struct Entry {
    newest: Arc<Summary>,
    oldest: Arc<Summary>,
    releases: u64,
    columns: Option<Arc<Columns>>,
    /// State before the entry, or `None` for the earliest entry.
    before: Option<Before>,
}

/// State of the record in the release before an entry, and the builds before and after the change.
struct Before {
    columns: Option<Arc<Columns>>,
    task: Option<TaskEntry>,
    task_after: Option<TaskEntry>,
}

async fn history(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let id: RecordId = call.path_value("record_id").parse().map_err(|error| {
        Problem::of_field(Code::InvalidParameter, "record_id", format!("{error}"))
    })?;
    scope::check_record(call, &id)?;
    let mut looks = Looks::new(call, &id);
    let mut entries: Vec<Entry> = Vec::new();
    let mut newer: Option<Arc<Manifest>> = None;
    let mut is_complete = true;
    for summary in query::newest_retained(call, MAX_RELEASES).await? {
        let Some(manifest) = call
            .service
            .catalog
            .manifests
            .manifest(&summary.release_id)
            .await?
        else {
            continue;
        };
        let Some(columns) = looks.find(&manifest).await? else {
            is_complete = false;
            break;
        };
        match (entries.last_mut(), &newer) {
            (Some(entry), _) if entry.columns == columns => {
                entry.oldest = summary;
                entry.releases += 1;
            }
            (last, newer) => {
                if let (Some(entry), Some(newer)) = (last, newer) {
                    let task = |manifest: &Manifest| {
                        manifest.tasks.get(looks.task_id.as_deref()?).cloned()
                    };
                    entry.before = Some(Before {
                        columns: columns.clone(),
                        task: task(&manifest),
                        task_after: task(newer),
                    });
                }
                entries.push(Entry {
                    newest: summary.clone(),
                    oldest: summary,
                    releases: 1,
                    columns,
                    before: None,
                });
            }
        }
        newer = Some(manifest);
    }
    if entries.iter().all(|entry| entry.columns.is_none()) {
        let message = format!("no retained release has a record `{id}`");
        return Err(Problem::of_field(Code::NotFound, "record_id", message));
    }
    json.value(&RecordHistory {
        record_id: id.as_str(),
        dataset_id: id.dataset_id(),
        is_complete,
        entries: entries
            .iter()
            .map(|entry| RecordEntry::new(call, entry))
            .collect(),
    });
    Ok(Meta {
        datasets: vec![id.dataset_id().to_owned().into()],
        ..Meta::default()
    })
}

impl<'a> RecordEntry<'a> {
    fn new(call: &Call<'_>, entry: &'a Entry) -> Self {
        let before = entry.before.as_ref();
        Self {
            first: entry.oldest.name(),
            last: entry.newest.name(),
            releases: entry.releases,
            is_present: entry.columns.is_some(),
            changes: differences(
                before.and_then(|before| before.columns.as_deref()),
                entry.columns.as_deref(),
            ),
            causes: Causes::compare(
                call.service,
                before.and_then(|before| before.task.as_ref()),
                before.and_then(|before| before.task_after.as_ref()),
            ),
        }
    }
}

/// Returns the columns that differ. The result is empty if only one side has the record.
fn differences<'a>(
    before: Option<&'a Columns>,
    after: Option<&'a Columns>,
) -> Vec<ColumnChange<'a>> {
    let (Some(before), Some(after)) = (before, after) else {
        return Vec::new();
    };
    let columns: BTreeSet<&str> = before
        .keys()
        .chain(after.keys())
        .map(String::as_str)
        .collect();
    let value =
        |record: &'a Columns, column| ColumnValue(record.get(column).unwrap_or(&Value::Null));
    let compared = columns.into_iter().map(|column| ColumnChange {
        column,
        before: value(before, column),
        after: value(after, column),
    });
    compared
        .filter(|change| change.before != change.after)
        .collect()
}

/// Search for one record in a series of releases.
struct Looks<'a> {
    call: &'a Call<'a>,
    id: &'a RecordId,
    is_sorted: bool,
    /// Search results by part, because releases may share parts.
    by_part: HashMap<Digest, Option<Arc<Columns>>>,
    left: usize,
    /// Partition and build in which the record was last found.
    partition: Option<BTreeMap<String, String>>,
    buckets: usize,
    task_id: Option<String>,
}

impl<'a> Looks<'a> {
    fn new(call: &'a Call<'a>, id: &'a RecordId) -> Self {
        let is_sorted = call
            .contracts()
            .get(id.dataset_id())
            .is_some_and(Contract::is_sorted_by_subject);
        Self {
            call,
            id,
            is_sorted,
            by_part: HashMap::new(),
            left: MAX_PARTS,
            partition: None,
            buckets: 0,
            task_id: None,
        }
    }

    /// Returns the record in a release, or `Some(None)` if the release does not have the record.
    /// Returns `None` if the search has reached the part limit.
    async fn find(&mut self, manifest: &Manifest) -> Result<Option<Option<Arc<Columns>>>> {
        let reader = PartReader::new(&self.call.service.parts, manifest);
        let mut parts: Vec<&Part> = reader.candidate_parts(self.id, self.is_sorted).collect();
        if let Some(known) = &self.partition {
            let same = reader
                .parts_of(self.id.dataset_id())
                .find(|part| part.partition == *known);
            match same {
                // The bucket of a record depends only on its key and on the number of buckets.
                Some(_)
                    if known.contains_key(BUCKET)
                        && buckets(reader, self.id, known) == self.buckets =>
                {
                    parts.retain(|part| part.partition == *known);
                }
                _ => parts.sort_by_key(|part| part.partition != *known),
            }
        }
        for part in parts {
            let found = match self.by_part.get(&part.sha256) {
                Some(known) => known.clone(),
                None if self.left == 0 => return Ok(None),
                None => {
                    self.left -= 1;
                    let found = reader
                        .find_record(part, self.id)
                        .await?
                        .map(|(columns, _)| Arc::new(columns));
                    self.by_part.insert(part.sha256, found.clone());
                    found
                }
            };
            if found.is_some() {
                self.buckets = buckets(reader, self.id, &part.partition);
                self.partition = Some(part.partition.clone());
                self.task_id = Some(part.task_id.clone());
                return Ok(Some(found));
            }
        }
        Ok(Some(None))
    }
}

/// Returns the number of buckets whose other partition values are equal to those of this partition.
fn buckets(reader: PartReader<'_>, id: &RecordId, partition: &BTreeMap<String, String>) -> usize {
    let rest = |partition: &BTreeMap<String, String>| {
        partition
            .iter()
            .filter(|(column, _)| *column != BUCKET)
            .map(|(column, value)| (column.clone(), value.clone()))
            .collect::<Vec<_>>()
    };
    let own = rest(partition);
    reader
        .parts_of(id.dataset_id())
        .filter(|part| rest(&part.partition) == own)
        .count()
}
