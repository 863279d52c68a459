//! Answers `GET /v1/provenance/{record_id}`: the chain from a record to the publisher's bytes. The
//! chain contains the record, its part, release, run and channel. For each source cell it contains
//! the snapshot, archive member and byte range. On request it adds the bytes, commands that fetch
//! the same bytes, and the result of building the record again from them.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::answer::{ColumnValue, Instant, Members, Sha256};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, Kind, RELEASE};
use crate::http::problem::{Code, Problem, Result};
use crate::http::scope;
use crate::http::shared_work::SharedWork;
use crate::json::Json;
use crate::tracer::Tracer;
use pubdata_core::ids::{Digest, RecordId};
use pubdata_core::provenance::{Obtained, Snapshot, SourcePointer};
use pubdata_store::evidence::{Replay, ReplayView, Shown, ShownBytes};
use pubdata_store::{FoundRecord, Part, Record};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/provenance/{record_id}",
    operation_id: "getProvenance",
    summary: "From a record to the publisher's bytes",
    access: Access::Key,
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Chain<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| trace(call, json).boxed()),
};

query! {
    pub struct Parameters<'a> {
        /// Comma-separated list. `bytes`: the publisher's bytes, and commands that fetch the same
        /// bytes; for lists that may contain personal data, only the published part of the bytes.
        /// `replay`: the result of building the record again from its bytes.
        include: Vec<&'a str> = Kind::Word(&["bytes", "replay"]),
        ..RELEASE, ..AS_OF,
    }
}

#[derive(Serialize, JsonSchema)]
struct Chain<'a> {
    /// Record that the chain explains, with its columns.
    record: ChainRecord<'a>,
    /// How the figure was computed from the publisher's figures; null if the publisher states the
    /// figure itself.
    formula: Option<String>,
    /// Rules for columns of the record that the source states in a similar form, such as `fy` for
    /// `fiscal_year`; empty if the record has no such columns.
    derivations: Vec<Derivation<'a>>,
    /// Parquet file that contains the record.
    part: ChainPart<'a>,
    /// Build that produced the file.
    build: Build<'a>,
    /// Release that published the file.
    release: ChainRelease<'a>,
    /// Publisher's bytes from which the record was built.
    sources: Vec<Source<'a>>,
    /// Result of rebuilding the record from its source bytes; only with `include=replay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ReplayView")]
    replay: Option<&'a ReplayView>,
}

#[derive(Serialize, JsonSchema)]
struct ChainRecord<'a> {
    /// Identifier of the record.
    record_id: &'a str,
    /// Dataset of the record.
    dataset_id: &'a str,
    /// Version of the dataset's contract; null if the release names no version.
    schema_version: Option<&'a str>,
    /// Result of validation: `passed`, or `passed_with_warnings` if the record carries warnings.
    #[schemars(with = "&str")]
    validation_status: Option<&'a Value>,
    /// The record as published, by column. A figure is a number; it is a string only if a JSON
    /// number would not keep all its digits.
    #[schemars(with = "Members<&str, ColumnValue<'_>>")]
    columns: &'a Map<String, Value>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ChainDerivation")]
struct Derivation<'a> {
    /// Name of the column that is derived.
    column: &'a str,
    /// How the column's value is derived.
    rule: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct ChainPart<'a> {
    /// Path of the file below the release.
    path: &'a str,
    /// Number of records in the file.
    rows: u64,
    /// Size of the file in bytes.
    size_bytes: u64,
    /// SHA-256 digest of the file, in hexadecimal.
    sha256: Sha256,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ChainBuild")]
struct Build<'a> {
    /// Identifier of the task: a pipeline and its partition, such as `census.acs5/vintage=2023`.
    task_id: &'a str,
    /// Identifier of the pipeline; null if the release does not describe the task.
    pipeline_id: Option<&'a str>,
    /// Digest of the source files, declaration, contracts and code; equal digests mean equal
    /// output. Null if the release does not describe the task.
    input_hash: Option<Sha256>,
    /// Time of the build, RFC 3339 UTC; null if the release does not describe the task.
    built_at: Option<&'a str>,
    /// Publisher of the source files; null if the release does not describe the task.
    publisher: Option<&'a str>,
    /// Licence of the source files; null if the release does not describe the task.
    licence: Option<&'a str>,
}

#[derive(Serialize, JsonSchema)]
struct ChainRelease<'a> {
    /// Identifier of the release.
    release_id: &'a str,
    /// Channel that the server follows.
    channel: &'a str,
    /// Time at which the release was published, RFC 3339 UTC.
    published_at: Instant<'a>,
    /// Identifier of the run that built the release.
    run_id: &'a str,
    /// Version of the program that built the release.
    pubdata_version: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ChainSource")]
struct Source<'a> {
    /// Identifier of the source.
    source_id: &'a str,
    /// The publisher's file as fetched. Its fields are null if the release does not list the file.
    snapshot: File<'a>,
    /// Name of the file in the archive; null if the snapshot is not an archive.
    member: Option<&'a str>,
    /// Digest of the member's bytes, for pointers that carry one, because unchanged members are
    /// reused from archive to archive. Uses BLAKE3 (`b3sum`), or SHA-256 if the digits have no
    /// prefix.
    #[schemars(with = "Option<&str>", extend("pattern" = "^(blake3:)?[0-9a-f]{64}$"))]
    member_digest: Option<Digest>,
    /// Offset of the first byte in the member, or in the file after decompression.
    offset: u64,
    /// Number of bytes, without the line ending.
    length: u64,
    /// The bytes themselves, if they may be shown; present only with `include=bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ShownBytes")]
    bytes: Option<&'a ShownBytes>,
    /// Commands that fetch the same bytes from the publisher while its file is unchanged; present
    /// only with `include=bytes`. Empty if the file is not fetched by HTTP, came from a mirror, or
    /// was imported manually.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    commands: Option<Vec<String>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ChainSourceSnapshot")]
struct File<'a> {
    /// SHA-256 digest of the file, in hexadecimal.
    #[schemars(with = "&str")]
    sha256: Digest,
    /// Publisher's URL of the file; null if the release does not list the file.
    url: Option<&'a str>,
    /// The publisher's own label of the file; null if the release does not list the file.
    source_version: Option<&'a str>,
    /// The publisher's date of the file, YYYY-MM-DD; null if the release does not list the file.
    source_date: Option<&'a str>,
    /// Time at which these bytes were first fetched, RFC 3339 UTC; null if the release does not
    /// list the file.
    fetched_at: Option<&'a str>,
    /// How the file was obtained: fetched by the program, or imported manually.
    #[schemars(extend("enum" = ["by program", "by hand", null]))]
    obtained: Option<&'static str>,
    /// Name of the mirror from which the bytes came instead of the publisher; null if they came
    /// from the publisher, or were imported manually.
    mirror: Option<&'a str>,
    /// URLs to which the publisher's server redirected from `url`, in order, without queries. The
    /// last URL returned the bytes. Empty if the server did not redirect.
    redirected_through: &'a [String],
    /// Size of the file in bytes; null if the release does not list the file.
    size_bytes: Option<u64>,
}

/// Requested views of the publishers' files.
#[derive(Default)]
struct ChainExtras {
    /// Shown bytes, one entry for each pointer.
    bytes: Option<Arc<Vec<ShownBytes>>>,
    replay: Option<Arc<ReplayView>>,
}

async fn trace(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let id: RecordId = call.path_value("record_id").parse().map_err(|error| {
        Problem::of_field(Code::InvalidParameter, "record_id", format!("{error}"))
    })?;
    let dataset_id = id.dataset_id();
    scope::check_record(call, &id)?;
    if !call.release.manifest.datasets.contains_key(dataset_id) {
        let message =
            format!("the release has no dataset `{dataset_id}`; /v1/coverage lists those it has");
        return Err(Problem::of_field(Code::NotFound, "record_id", message));
    }
    let Some((part, record)) = call.reader().find(call.contracts(), &id).await? else {
        return Err(Problem::of_field(
            Code::NotFound,
            "record_id",
            format!("the release has no record `{id}`"),
        ));
    };
    let Parameters { include: included } = Parameters::read(call)?;
    let record = Arc::new(record);
    let service = call.service;
    let bytes = async {
        if !included.contains(&"bytes") {
            return Ok(None);
        }
        let nothing = record
            .1
            .iter()
            .map(|_| ShownBytes::nothing(Shown::Unavailable, NO_TRACER))
            .collect();
        // A missing file may arrive later.
        let is_kept = |_: &Vec<ShownBytes>| false;
        look(
            call,
            &service.looks,
            (&id, part, &record),
            (nothing, is_kept),
            |tracer, found| tracer.bytes(found),
        )
        .await
        .map(Some)
    };
    let replay = async {
        if !included.contains(&"replay") {
            return Ok(None);
        }
        let nothing = ReplayView::untried(NO_TRACER);
        look(
            call,
            &service.replays,
            (&id, part, &record),
            (nothing, is_final),
            |tracer, found| tracer.replay(found),
        )
        .await
        .map(Some)
    };
    let (bytes, replay) = tokio::try_join!(bytes, replay)?;
    let extras = ChainExtras { bytes, replay };
    let mut meta = Meta {
        datasets: vec![dataset_id.to_owned().into()],
        ..Meta::default()
    };
    // Another server with the same store may have the files, and this server may get them later.
    meta.is_uncacheable = extras
        .replay
        .as_ref()
        .is_some_and(|replay| !is_final(replay))
        || extras.bytes.as_ref().is_some_and(|bytes| !is_seen(bytes));
    json.value(&chain(call, &id, part, &record, &extras));
    Ok(meta)
}

/// Message from a server without a tracer.
const NO_TRACER: &str = "this server has no access to the publishers' files";

type Look<T> =
    for<'a> fn(&'a dyn Tracer, FoundRecord<'a>) -> BoxFuture<'a, pubdata_core::error::Result<T>>;

/// Runs the tracer on a record's files, or returns `nothing` if this server has no tracer.
async fn look<T: Send + Sync + 'static>(
    call: &Call<'_>,
    work: &Arc<SharedWork<T>>,
    (id, part, record): (&RecordId, &Part, &Arc<Record>),
    (nothing, is_kept): (T, fn(&T) -> bool),
    look: Look<T>,
) -> Result<Arc<T>> {
    let Some(tracer) = call.service.settings.tracer.clone() else {
        return Ok(Arc::new(nothing));
    };
    let (release, runtime) = (call.release.clone(), tokio::runtime::Handle::current());
    let (record_id, part, record) = (id.clone(), part.clone(), record.clone());
    let subject = (release.manifest.release_id.clone(), id.clone());
    let made = move || {
        let found = FoundRecord {
            manifest: &release.manifest,
            part: &part,
            record_id: &record_id,
            columns: &record.0,
            pointers: &record.1,
        };
        runtime.block_on(look(&*tracer, found))
    };
    work.done(&call.client.id, subject, is_kept, made).await
}

/// Reports whether the result of a replay is final. A mismatch may come from a damaged file, which
/// can be repaired.
fn is_final(replay: &ReplayView) -> bool {
    matches!(replay.verdict, Some(Replay::Match | Replay::NotPossible))
}

/// Reports whether all bytes were available.
fn is_seen(bytes: &[ShownBytes]) -> bool {
    bytes.iter().all(|bytes| bytes.shown != Shown::Unavailable)
}

fn chain<'a>(
    call: &'a Call<'_>,
    id: &'a RecordId,
    part: &'a Part,
    (columns, pointers): &'a Record,
    extras: &'a ChainExtras,
) -> Chain<'a> {
    let manifest = &call.release.manifest;
    let task = manifest.tasks.get(&part.task_id);
    let inputs = task.map(|task| task.inputs.as_slice()).unwrap_or_default();
    let contract = call.contracts().get(id.dataset_id());
    let derivations = contract
        .into_iter()
        .flat_map(|contract| contract.derivations(columns))
        .map(|(column, rule)| Derivation { column, rule });
    let bytes = |number: usize| extras.bytes.as_ref().and_then(|bytes| bytes.get(number));
    Chain {
        record: ChainRecord {
            record_id: id.as_str(),
            dataset_id: id.dataset_id(),
            schema_version: manifest
                .datasets
                .get(id.dataset_id())
                .map(|dataset| dataset.schema_version.as_str()),
            validation_status: columns.get("validation_status"),
            columns,
        },
        formula: formula(call, id, columns),
        derivations: derivations.collect(),
        part: ChainPart {
            path: &part.path,
            rows: part.rows,
            size_bytes: part.size_bytes,
            sha256: Sha256(part.sha256),
        },
        build: Build {
            task_id: &part.task_id,
            pipeline_id: task.map(|task| task.pipeline_id.as_str()),
            input_hash: task.map(|task| Sha256(task.input_hash)),
            built_at: task.map(|task| task.built_at.as_str()),
            publisher: task.map(|task| task.publisher.as_str()),
            licence: task.map(|task| task.licence.as_str()),
        },
        release: ChainRelease {
            release_id: manifest.release_id.as_str(),
            channel: call.service.catalog.channel(),
            published_at: Instant(&manifest.published_at),
            run_id: &manifest.run_id,
            pubdata_version: &manifest.pubdata_version,
        },
        sources: pointers
            .iter()
            .enumerate()
            .map(|(number, pointer)| Source::new(pointer, inputs, bytes(number)))
            .collect(),
        replay: extras.replay.as_deref(),
    }
}

/// Describes how a figure was computed if the publisher does not state it: the contract's formula
/// with the record's variables.
fn formula(call: &Call<'_>, id: &RecordId, columns: &Map<String, Value>) -> Option<String> {
    let is_derived = columns
        .get("is_derived")
        .filter(|value| value.as_bool() == Some(true))?;
    let words = call
        .contracts()
        .get(id.dataset_id())?
        .value("is_derived", &is_derived.to_string())?
        .note("formula")?;
    let variables: Vec<&str> = columns
        .get("variables")?
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let (last, others) = variables.split_last()?;
    Some(
        words
            .replace("{others}", &others.join(" + "))
            .replace("{last}", last),
    )
}

impl<'a> Source<'a> {
    fn new(
        pointer: &'a SourcePointer,
        inputs: &'a [Snapshot],
        bytes: Option<&'a ShownBytes>,
    ) -> Self {
        let of_source = || {
            inputs
                .iter()
                .filter(|input| input.source_id == pointer.source_id)
        };
        let exact = of_source().find(|input| input.sha256 == pointer.snapshot);
        // A pointer into an archive may carry the member's own digest. In that case this release's
        // archive contains that member.
        let snapshot = exact.or_else(|| of_source().find(|_| pointer.member.is_some()));
        Self {
            source_id: &pointer.source_id,
            snapshot: File {
                sha256: snapshot.map_or(pointer.snapshot, |snapshot| snapshot.sha256),
                url: snapshot.map(|snapshot| snapshot.url.as_str()),
                source_version: snapshot.map(|snapshot| snapshot.source_version.as_str()),
                source_date: snapshot.map(|snapshot| snapshot.source_date.as_str()),
                fetched_at: snapshot.map(|snapshot| snapshot.fetched_at.as_str()),
                obtained: snapshot.map(|snapshot| snapshot.obtained.name()),
                mirror: snapshot.and_then(|snapshot| snapshot.mirror.as_deref()),
                redirected_through: snapshot
                    .map(|snapshot| snapshot.redirected_through.as_slice())
                    .unwrap_or_default(),
                size_bytes: snapshot.map(|snapshot| snapshot.size_bytes),
            },
            member: pointer.member.as_deref(),
            member_digest: snapshot
                .filter(|snapshot| snapshot.sha256 != pointer.snapshot)
                .map(|_| pointer.snapshot),
            offset: pointer.offset,
            length: pointer.length,
            bytes,
            commands: bytes.map(|_| {
                snapshot
                    .map(|snapshot| commands(snapshot, pointer))
                    .unwrap_or_default()
            }),
        }
    }
}

/// Returns commands that fetch the same bytes from the publisher while its file is unchanged. Empty
/// if the file is not fetched by HTTP, was imported manually, or came from a mirror.
fn commands(snapshot: &Snapshot, pointer: &SourcePointer) -> Vec<String> {
    let SourcePointer {
        offset,
        length,
        member,
        ..
    } = pointer;
    if !snapshot.url.starts_with("http")
        || snapshot.obtained != Obtained::ByProgram
        || snapshot.mirror.is_some()
    {
        return Vec::new();
    }
    let url = quoted(&snapshot.url);
    match member {
        None => vec![format!(
            "curl -sSL -r {offset}-{} {url}",
            (offset + length).saturating_sub(1)
        )],
        Some(member) => {
            // `unzip` treats names as patterns.
            let name: String = member
                .chars()
                .flat_map(|character| {
                    matches!(character, '*' | '?' | '[' | '\\')
                        .then_some('\\')
                        .into_iter()
                        .chain([character])
                })
                .collect();
            vec![
                format!("curl -sSL -o snapshot.zip {url}"),
                format!(
                    "unzip -p snapshot.zip {} | tail -c +{} | head -c {length}",
                    quoted(&name),
                    offset + 1
                ),
            ]
        }
    }
}

/// Quotes a string as one word of a shell command.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pubdata_core::ids::Digest;

    use super::*;

    #[test]
    fn commands_fetch_the_publishers_file_and_none_a_mirrors_copy() {
        let snapshot = |mirror: Option<&str>| Snapshot {
            source_id: "test.table".to_owned(),
            keys: BTreeMap::new(),
            url: "https://publisher.example/o'clock.csv".to_owned(),
            sha256: Digest::sha256(b"table"),
            size_bytes: 100,
            source_version: "current".to_owned(),
            source_date: "2026-11-28".to_owned(),
            etag: None,
            last_modified: None,
            fetched_at: "2026-11-28T04:30:00Z".to_owned(),
            redirected_through: Vec::new(),
            obtained: Obtained::ByProgram,
            mirror: mirror.map(str::to_owned),
        };
        let pointer = |member: Option<&str>| SourcePointer {
            source_id: "test.table".to_owned(),
            snapshot: Digest::sha256(b"table"),
            member: member.map(str::to_owned),
            offset: 10,
            length: 5,
        };
        assert_eq!(
            commands(&snapshot(None), &pointer(None)),
            ["curl -sSL -r 10-14 'https://publisher.example/o'\\''clock.csv'"]
        );
        let of_member = [
            "curl -sSL -o snapshot.zip 'https://publisher.example/o'\\''clock.csv'",
            "unzip -p snapshot.zip 'a\\*.csv' | tail -c +11 | head -c 5",
        ];
        assert_eq!(
            commands(&snapshot(None), &pointer(Some("a*.csv"))),
            of_member
        );
        assert_eq!(
            commands(&snapshot(Some("samples")), &pointer(None)),
            [""; 0]
        );
    }
}
