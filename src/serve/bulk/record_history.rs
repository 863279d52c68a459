//! Answers `GET /v1/records/{record_id}/history`: one record through the releases of the channel that are kept, where it changed and why. A part that
//! several releases share is read once, and no more parts than one request may read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Map, Value};

use super::asked;
use super::causes::write_causes;
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::format;
use crate::http::problem::{Code, Problem, Result};
use crate::http::scope;
use crate::json::Json;
use crate::release::bucketed::BUCKET;
use crate::release::manifests::Summary;
use crate::release::part_reader::PartReader;
use pubdata_core::contract::Contract;
use pubdata_core::ids::{Digest, RecordId};
use pubdata_store::{Manifest, Part, TaskEntry};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/records/{record_id}/history",
    operation_id: "getRecordHistory",
    summary: "A record through the releases that are kept: where it changed, and why",
    access: Access::Key,
    parameters: &[format("entries")],
    body: None,
    data: Data::Written("RecordHistory"),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| history(call, json).boxed()),
};

const MOST_RELEASES: usize = 30;
/// The most parts that are looked into: a record is in one, and one that is not there may be in any.
const MOST_PARTS: usize = 64;

type Columns = Map<String, Value>;

/// Releases, one behind the other, in which a record is the same.
struct Entry {
    newest: Arc<Summary>,
    oldest: Arc<Summary>,
    releases: u64,
    columns: Option<Arc<Columns>>,
    /// What came before; none for the first entry of all.
    before: Option<Before>,
}

/// The record in the release before an entry, and the build on both sides.
struct Before {
    columns: Option<Arc<Columns>>,
    task: Option<TaskEntry>,
    task_after: Option<TaskEntry>,
}

async fn history(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let id: RecordId = call.path_value("record_id").parse().map_err(|error| Problem::of_field(Code::InvalidParameter, "record_id", format!("{error}")))?;
    scope::check_record(call, &id)?;
    let mut looks = Looks::new(call, &id);
    let mut entries: Vec<Entry> = Vec::new();
    let mut newer: Option<Arc<Manifest>> = None;
    let mut is_complete = true;
    for summary in asked::newest_kept(call, MOST_RELEASES).await? {
        let Some(manifest) = call.service.catalog.manifests.manifest(&summary.release_id).await? else { continue };
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
                    let task = |manifest: &Manifest| manifest.tasks.get(looks.task_id.as_deref()?).cloned();
                    entry.before = Some(Before { columns: columns.clone(), task: task(&manifest), task_after: task(newer) });
                }
                entries.push(Entry { newest: summary.clone(), oldest: summary, releases: 1, columns, before: None });
            }
        }
        newer = Some(manifest);
    }
    if entries.iter().all(|entry| entry.columns.is_none()) {
        let message = format!("no release that is kept has a record `{id}`");
        return Err(Problem::of_field(Code::NotFound, "record_id", message));
    }
    json.object(|json| {
        json.key("record_id").text(id.as_str());
        json.key("dataset_id").text(id.dataset_id());
        json.key("is_complete").flag(is_complete);
        json.key("entries").array(|json| entries.iter().for_each(|entry| json.object(|json| write_entry(json, call, entry))));
    });
    Ok(Meta { datasets: vec![id.dataset_id().to_owned().into()], ..Meta::default() })
}

fn write_entry(json: &mut Json, call: &Call<'_>, entry: &Entry) {
    for (name, summary) in [("first", &entry.oldest), ("last", &entry.newest)] {
        json.key(name).object(|json| {
            json.key("release_id").text(summary.release_id.as_str());
            json.key("published_at").instant(&summary.published_at);
        });
    }
    json.key("releases").count(entry.releases);
    json.key("is_present").flag(entry.columns.is_some());
    let before = entry.before.as_ref().and_then(|before| before.columns.as_deref());
    json.key("changes").array(|json| {
        for (column, before, after) in differences(before, entry.columns.as_deref()) {
            json.object(|json| {
                json.key("column").text(column);
                json.key("before").value(before);
                json.key("after").value(after);
            });
        }
    });
    let of_task = |of: fn(&Before) -> Option<&TaskEntry>| entry.before.as_ref().and_then(of);
    write_causes(json, call.service, of_task(|before| before.task.as_ref()), of_task(|before| before.task_after.as_ref()));
}

/// The columns that differ; none where the record is on one side only.
fn differences<'a>(before: Option<&'a Columns>, after: Option<&'a Columns>) -> Vec<(&'a str, &'a Value, &'a Value)> {
    let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
    let columns: BTreeSet<&str> = before.keys().chain(after.keys()).map(String::as_str).collect();
    let value = |record: &'a Columns, column| record.get(column).unwrap_or(&Value::Null);
    let compared = columns.into_iter().map(|column| (column, value(before, column), value(after, column)));
    compared.filter(|(_, before, after)| before != after).collect()
}

/// Looks for one record in one release after the other.
struct Looks<'a> {
    call: &'a Call<'a>,
    id: &'a RecordId,
    is_sorted: bool,
    /// What is known of parts, whichever release has them.
    by_part: HashMap<Digest, Option<Arc<Columns>>>,
    left: usize,
    /// Where it was found last, and of which build.
    partition: Option<BTreeMap<String, String>>,
    buckets: usize,
    task_id: Option<String>,
}

impl<'a> Looks<'a> {
    fn new(call: &'a Call<'a>, id: &'a RecordId) -> Self {
        let is_sorted = call.contracts().get(id.dataset_id()).is_some_and(Contract::is_sorted_by_subject);
        Self { call, id, is_sorted, by_part: HashMap::new(), left: MOST_PARTS, partition: None, buckets: 0, task_id: None }
    }

    /// The record in a release, or that it has none; none of both, when no more parts may be read.
    async fn find(&mut self, manifest: &Manifest) -> Result<Option<Option<Arc<Columns>>>> {
        let reader = PartReader::new(&self.call.service.parts, manifest);
        let mut parts: Vec<&Part> = reader.parts_that_may_hold(self.id, self.is_sorted).collect();
        if let Some(known) = &self.partition {
            let same = reader.parts_of(self.id.dataset_id()).find(|part| part.partition == *known);
            match same {
                // Which bucket a record is in follows from its key and from how many there are.
                Some(_) if known.contains_key(BUCKET) && buckets(reader, self.id, known) == self.buckets => parts.retain(|part| part.partition == *known),
                _ => parts.sort_by_key(|part| part.partition != *known),
            }
        }
        for part in parts {
            let found = match self.by_part.get(&part.sha256) {
                Some(known) => known.clone(),
                None if self.left == 0 => return Ok(None),
                None => {
                    self.left -= 1;
                    let found = reader.find_record(part, self.id).await?.map(|(columns, _)| Arc::new(columns));
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

/// How many buckets the rows are spread over that a partition is one of.
fn buckets(reader: PartReader<'_>, id: &RecordId, partition: &BTreeMap<String, String>) -> usize {
    let rest = |partition: &BTreeMap<String, String>| {
        partition.iter().filter(|(column, _)| *column != BUCKET).map(|(column, value)| (column.clone(), value.clone())).collect::<Vec<_>>()
    };
    let own = rest(partition);
    reader.parts_of(id.dataset_id()).filter(|part| rest(&part.partition) == own).count()
}
