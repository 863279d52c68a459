//! Answers `GET /v1/snapshots/{sha256}`: facts about a publisher's file, and the releases that were
//! built from it. If the settings allow it, serves the file or a range of the file. Only
//! administrators get files that may contain unpublished personal data.

use std::io::SeekFrom;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use futures_util::{FutureExt, Stream, stream};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use crate::answer::{Instant, Sha256};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::{Kind, RELEASE_ID};
use crate::http::pieces::{self, PIECE_BYTES};
use crate::http::problem::{Code, Problem, Result};
use crate::http::response::{as_file, insert, not_modified};
use crate::http::scope::scope_of;
use crate::http::{etag, range};
use crate::json::Json;
use crate::settings::SnapshotAccess;
use pubdata_core::error::{self, IoExt};
use pubdata_core::ids::Digest;
use pubdata_core::provenance::Snapshot;
use pubdata_store::{Manifest, Scope, Snapshots, TaskEntry};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/snapshots/{sha256}",
    operation_id: "getSnapshot",
    summary: "A publisher's file, and the releases that were made from it",
    access: Access::Everyone,
    parameters: &[Kind::Word(&["bytes"])
        .described("`bytes`: the file itself, or with `Range` a part of it. Needs a key, and a server that serves publishers' files.")
        .named("format")],
    body: None,
    data: Data::for_type::<SnapshotReport<'static>>(),
    // The answer must not mention a release after its deletion.
    cache_policy: CachePolicy::NoStore,
    handler: Handler::Download { list: |call, json| report(call, json).boxed(), file: |call, head| file(call, head).boxed() },
};

#[derive(Serialize, JsonSchema)]
struct SnapshotReport<'a> {
    /// SHA-256 digest of the file, in hexadecimal.
    sha256: Sha256,
    /// Identifier of the source.
    source_id: &'a str,
    /// Publisher's URL of the file, without secrets.
    url: &'a str,
    /// The publisher's own label of the file, such as `2019-2023`.
    source_version: &'a str,
    /// The publisher's date of the file, YYYY-MM-DD.
    source_date: &'a str,
    /// Time at which these bytes were first fetched, RFC 3339 UTC.
    fetched_at: &'a str,
    /// `by program`: the program fetched the file. `by hand`: the file was downloaded and imported
    /// manually.
    #[schemars(extend("enum" = ["by program", "by hand"]))]
    obtained: &'static str,
    /// Name of the mirror from which the bytes came instead of the publisher; null if they came
    /// from the publisher, or were imported manually.
    mirror: Option<&'a str>,
    /// URLs to which the publisher's server redirected, in order, without queries; empty if the
    /// server did not redirect.
    redirected_through: &'a [String],
    /// Size of the file in bytes.
    size_bytes: u64,
    /// Publisher of the file; null if the release does not describe the task that read it.
    publisher: Option<&'a str>,
    /// Licence of the file; null if the release does not describe the task that read it.
    licence: Option<&'a str>,
    /// Builds that read the file, in the newest release built from the file.
    tasks: Vec<&'a str>,
    /// Datasets that were built from the file.
    datasets: Vec<&'a str>,
    /// Releases that were built from the file, newest first. Searches only the newest 30 retained
    /// releases.
    releases: Vec<MadeRelease<'a>>,
    /// Availability of the file on this server.
    file: Availability,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SnapshotReportRelease")]
struct MadeRelease<'a> {
    /// Identifier of the release.
    #[schemars(extend("pattern" = RELEASE_ID.pattern))]
    release_id: &'a str,
    /// Time at which the release was published, RFC 3339 UTC.
    published_at: Instant<'a>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SnapshotReportFile")]
struct Availability {
    /// True if this server has a copy of the file.
    is_here: bool,
    /// Clients that have access with `format=bytes`: none, holders of keys, or administrators.
    #[serde(rename = "for")]
    #[schemars(extend("enum" = ["nobody", "keys", "administrators"]))]
    for_whom: &'static str,
}

/// Maximum number of retained releases that are searched, newest first.
const MAX_RELEASES: usize = 30;

/// A snapshot, and the releases that used it.
struct Used {
    snapshot: Snapshot,
    /// Manifest of the newest release that was built from the snapshot.
    manifest: Arc<Manifest>,
    /// Release ids and publication times, newest first.
    releases: Vec<(String, String)>,
}

impl Used {
    fn tasks(&self) -> impl Iterator<Item = (&String, &TaskEntry)> {
        self.manifest.tasks.iter().filter(|(_, task)| {
            task.inputs
                .iter()
                .any(|input| input.sha256 == self.snapshot.sha256)
        })
    }

    /// Returns the datasets that were built from the snapshot.
    fn datasets(&self) -> impl Iterator<Item = &str> {
        let is_made = |task_id: &str| self.tasks().any(|(known, _)| known == task_id);
        self.manifest
            .datasets
            .iter()
            .filter(move |(_, dataset)| dataset.parts.iter().any(|part| is_made(&part.task_id)))
            .map(|(id, _)| id.as_str())
    }
}

/// Finds a snapshot in the newest retained releases.
async fn find(call: &Call<'_>) -> Result<Used> {
    let text = call.path_value("sha256");
    let digest: Digest = text.parse().map_err(|error| {
        Problem::of_field(
            Code::InvalidParameter,
            "sha256",
            format!("`sha256`: {error}"),
        )
    })?;
    let catalog = &call.service.catalog;
    let (mut found, mut seen): (Option<Used>, Vec<&pubdata_core::ids::ReleaseId>) =
        (None, Vec::new());
    let history = catalog.history().await?;
    for entry in history.iter().rev() {
        if seen.contains(&&entry.release_id) {
            continue;
        }
        if seen.len() == MAX_RELEASES {
            break;
        }
        seen.push(&entry.release_id);
        let Some(manifest) = catalog.manifests.manifest(&entry.release_id).await? else {
            continue;
        };
        let snapshot = manifest
            .tasks
            .values()
            .flat_map(|task| &task.inputs)
            .find(|input| input.sha256 == digest);
        let Some(snapshot) = snapshot.cloned() else {
            continue;
        };
        let release = (
            manifest.release_id.to_string(),
            manifest.published_at.clone(),
        );
        match &mut found {
            Some(found) => found.releases.push(release),
            None => {
                found = Some(Used {
                    snapshot,
                    manifest,
                    releases: vec![release],
                });
            }
        }
    }
    found.ok_or_else(|| {
        let message = format!("none of the newest {MAX_RELEASES} releases that are kept was made from a file with the digest {digest}");
        Problem::of_field(Code::NotFound, "sha256", message)
    })
}

async fn report(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let used = find(call).await?;
    let snapshot = &used.snapshot;
    let task = used.tasks().next().map(|(_, task)| task);
    json.value(&SnapshotReport {
        sha256: Sha256(snapshot.sha256),
        source_id: &snapshot.source_id,
        url: &snapshot.url,
        source_version: &snapshot.source_version,
        source_date: &snapshot.source_date,
        fetched_at: &snapshot.fetched_at,
        obtained: snapshot.obtained.name(),
        mirror: snapshot.mirror.as_deref(),
        redirected_through: &snapshot.redirected_through,
        size_bytes: snapshot.size_bytes,
        publisher: task.map(|task| task.publisher.as_str()),
        licence: task.map(|task| task.licence.as_str()),
        tasks: used.tasks().map(|(id, _)| id.as_str()).collect(),
        datasets: used.datasets().collect(),
        releases: used
            .releases
            .iter()
            .map(|(release_id, published_at)| MadeRelease {
                release_id,
                published_at: Instant(published_at),
            })
            .collect(),
        file: Availability {
            is_here: path_of(call, snapshot).is_ok(),
            for_whom: for_whom(call, snapshot),
        },
    });
    Ok(Meta::default())
}

/// Returns the access class of the file.
fn for_whom(call: &Call<'_>, snapshot: &Snapshot) -> &'static str {
    let is_open = call
        .service
        .settings
        .tracer
        .as_ref()
        .is_some_and(|tracer| tracer.is_open(&snapshot.source_id));
    match (call.service.settings.snapshots, is_open) {
        (SnapshotAccess::Off, _) => "nobody",
        (SnapshotAccess::Public, true) => "keys",
        (SnapshotAccess::Public, false) => "administrators",
    }
}

fn path_of(call: &Call<'_>, snapshot: &Snapshot) -> Result<std::path::PathBuf> {
    let path = Snapshots::look(&call.service.home).path(snapshot);
    let is_whole = path
        .metadata()
        .is_ok_and(|file| file.is_file() && file.len() == snapshot.size_bytes);
    let message = "this server has no copy of the file; the publisher's address is in `url`";
    if is_whole {
        Ok(path)
    } else {
        Err(Problem::of_field(
            Code::CoverageUnavailable,
            "format",
            message,
        ))
    }
}

async fn file(call: &Call<'_>, head: &Parts) -> Result<Response> {
    if call.scopes().is_empty() {
        return Err(Problem::new(
            Code::MissingApiKey,
            "a file needs an API key: send `Authorization: Bearer KEY` or `X-API-Key: KEY`",
        ));
    }
    let used = find(call).await?;
    let (snapshot, service) = (&used.snapshot, call.service);
    match for_whom(call, snapshot) {
        "nobody" => {
            let message = "this server does not serve publishers' files; the publisher's address is in `url` of the answer without `format`";
            return Err(Problem::of_field(
                Code::CoverageUnavailable,
                "format",
                message,
            ));
        }
        "keys"
            if !used
                .datasets()
                .any(|dataset_id| call.scopes().contains(&scope_of(dataset_id))) =>
        {
            return Err(Problem::new(
                Code::InsufficientPermission,
                "the file needs a key with the scope of a family that was made from it",
            ));
        }
        "administrators" if !call.scopes().contains(&Scope::Admin) => {
            let message = "the file may contain personal data that is not published here: it needs a key with the scope `admin`";
            return Err(Problem::new(Code::InsufficientPermission, message));
        }
        _ => {}
    }
    let path = path_of(call, snapshot)?;
    let tag = format!("\"{}\"", snapshot.sha256);
    if let Some(known) = etag::matching(&head.headers, &tag) {
        return Ok(not_modified(&known, service.now()));
    }
    let requested = range::requested(&head.headers, &tag, snapshot.size_bytes)?;
    let served_range = requested.clone().unwrap_or(0..snapshot.size_bytes);
    let length = served_range.end - served_range.start;
    let response = if head.method == Method::HEAD {
        Response::new(Body::empty())
    } else {
        let share = service.download(call.client)?;
        pieces::in_pieces(
            service,
            call.client,
            share,
            read(&path, served_range.clone()).await?,
        )
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.split_once('-').map_or(&*name, |(_, name)| name);
    let mut response = as_file(
        response,
        "application/octet-stream",
        name,
        &tag,
        service.now(),
    );
    let headers = response.headers_mut();
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    if requested.is_some() {
        insert(
            headers,
            header::CONTENT_RANGE,
            &format!(
                "bytes {}-{}/{}",
                served_range.start,
                served_range.end - 1,
                snapshot.size_bytes
            ),
        );
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

/// Streams the bytes of a file, one piece at a time.
async fn read(
    path: &Path,
    range: Range<u64>,
) -> error::Result<impl Stream<Item = error::Result<Vec<u8>>> + Send + 'static> {
    let mut file = tokio::fs::File::open(path).await.at("open", path)?;
    file.seek(SeekFrom::Start(range.start))
        .await
        .at("read", path)?;
    let path = path.to_owned();
    Ok(stream::try_unfold(
        (file, range.end - range.start, path),
        |(mut file, left, path)| async move {
            if left == 0 {
                return Ok(None);
            }
            let mut piece = vec![0; PIECE_BYTES.min(usize::try_from(left).unwrap_or(usize::MAX))];
            // If the file was truncated in the meantime, the response is cut off.
            file.read_exact(&mut piece).await.at("read", &path)?;
            let left = left - piece.len() as u64;
            Ok(Some((piece, (file, left, path))))
        },
    ))
}
