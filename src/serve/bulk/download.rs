//! Answers `GET /v1/releases/{release_id}/datasets/{dataset_id}`: lists the parts of a dataset with
//! their URLs. With `format` it sends one part as published, or all parts as one CSV table.

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use super::release::PartFile;
use super::{query, table};
use crate::dataset_summary::{Origin, citation, tasks_of};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::parameters::{Kind, RELEASE_ID, TextForm};
use crate::http::problem::{Code, Problem, Result};
use crate::http::response::{PARQUET, as_file, insert, not_modified};
use crate::http::scope::visible_parts;
use crate::http::{etag, pieces, range};
use crate::json::Json;
use pubdata_core::ids::Hasher;
use pubdata_store::{Manifest, Part};

query! {
    pub struct Parameters<'a> {
        /// `parquet`: the bytes of the part that `part` names, which is required; `csv`: all parts
        /// as one table, or only the part that `part` names. When absent, the answer lists the
        /// parts.
        format: Option<&'a str> = Kind::Word(&["parquet", "csv"]),
        /// Digest of a part (`sha256` of the list). Requires `format`.
        part: Option<&'a str> = Kind::Form(TextForm { pattern: "^[0-9a-f]{64}$", description: "the SHA-256 digest of a part, 64 hexadecimal digits" }),
    }
}

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/releases/{release_id}/datasets/{dataset_id}",
    operation_id: "downloadDataset",
    summary: "A whole dataset: its parts, or one of them as Parquet, or all as CSV",
    access: Access::Key,
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Download<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Download {
        list: |call, json| list(call, json).boxed(),
        file: |call, head| file(call, head).boxed(),
    },
};

#[derive(Serialize, JsonSchema)]
struct Download<'a> {
    /// Identifier of the dataset, such as `permit.permit`.
    dataset_id: &'a str,
    /// Identifier of the release.
    #[schemars(extend("pattern" = RELEASE_ID.pattern))]
    release_id: &'a str,
    /// Version of the contract that the release was made with.
    schema_version: &'a str,
    /// Number of records in the dataset.
    rows: u64,
    /// Size of the listed Parquet files, in bytes.
    size_bytes: u64,
    #[serde(flatten)]
    origin: Origin,
    /// Credit line for works that use the data.
    credit: String,
    /// Citation of the data as a source.
    citation: String,
    /// Data that a reader might expect here but that the dataset does not have.
    caveats: &'a [String],
    /// Path under which all parts are downloaded as one CSV table; null if this server has no
    /// contract for the dataset.
    csv: Option<String>,
    /// Parts that the key may see.
    parts: Vec<DownloadPart<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct DownloadPart<'a> {
    #[serde(flatten)]
    file: PartFile<'a>,
    /// Path under which the part is downloaded.
    parquet: String,
}

async fn list(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    if Parameters::read(call)?.part.is_some() {
        return Err(Problem::of_field(
            Code::MissingParameter,
            "format",
            "`part` needs a file format: add `format=parquet` or `format=csv`",
        ));
    }
    let earlier = query::release(call).await?;
    let manifest = query::manifest(call, &earlier);
    let dataset_id = call.path_value("dataset_id");
    let dataset = query::dataset(manifest, "dataset_id", dataset_id)?;
    let parts = visible_parts(call, dataset_id, &dataset.parts)?;
    let contract = call.contracts().get(dataset_id);
    let origin = Origin::from_tasks(&tasks_of(manifest, dataset));
    let path = format!("/v1/releases/{}/datasets/{dataset_id}", manifest.release_id);
    let part = |part| DownloadPart {
        file: PartFile::from_part(part),
        parquet: format!("{path}?format=parquet&part={}", part.sha256),
    };
    json.value(&Download {
        dataset_id,
        release_id: manifest.release_id.as_str(),
        schema_version: &dataset.schema_version,
        rows: parts.iter().map(|part| part.rows).sum(),
        size_bytes: parts.iter().map(|part| part.size_bytes).sum(),
        credit: origin.credit(),
        citation: citation(manifest, dataset_id, &origin, contract),
        origin,
        caveats: contract
            .map(|contract| contract.not_covered.as_slice())
            .unwrap_or_default(),
        csv: contract.map(|_| format!("{path}?format=csv")),
        parts: parts.into_iter().map(part).collect(),
    });
    Ok(Meta {
        datasets: vec![dataset_id.to_owned().into()],
        release: earlier,
        ..Meta::default()
    })
}

async fn file(call: &Call<'_>, head: &Parts) -> Result<Response> {
    let earlier = query::release(call).await?;
    let manifest = query::manifest(call, &earlier);
    let dataset_id = call.path_value("dataset_id");
    let dataset = query::dataset(manifest, "dataset_id", dataset_id)?;
    let mut parts = visible_parts(call, dataset_id, &dataset.parts)?;
    let Parameters { format, part } = Parameters::read(call)?;
    if let Some(digest) = part {
        parts.retain(|part| part.sha256.to_string() == digest);
        // Two parts without rows may have the same bytes.
        parts.truncate(1);
        if parts.is_empty() {
            let message = format!(
                "`{dataset_id}` of release {} has no part with this digest; the path without `format` lists its parts",
                manifest.release_id
            );
            return Err(Problem::of_field(Code::NotFound, "part", message));
        }
    }
    let mut response = match (format, part) {
        (Some("csv"), _) => as_table(call, head, manifest, parts)?,
        (_, Some(_)) => whole_part(call, head, manifest, parts[0]).await?,
        (_, None) => {
            let message = "`part` is missing: Parquet files are downloaded one part at a time; the path without `format` lists the parts";
            return Err(Problem::of_field(Code::MissingParameter, "part", message));
        }
    };
    let terms = format!(
        "<{}/v1/datasets/{dataset_id}>; rel=\"license\"",
        call.service.public_url()
    );
    insert(response.headers_mut(), header::LINK, &terms);
    Ok(response)
}

/// Returns the bytes of a part, or a byte range, after checking the part's digest.
async fn whole_part(
    call: &Call<'_>,
    head: &Parts,
    manifest: &Manifest,
    part: &Part,
) -> Result<Response> {
    let (service, tag) = (call.service, format!("\"{}\"", part.sha256));
    if let Some(known) = etag::matching(&head.headers, &tag) {
        return Ok(not_modified(&known, service.now()));
    }
    let requested = range::requested(&head.headers, &tag, part.size_bytes)?;
    let served_range = requested.clone().unwrap_or(0..part.size_bytes);
    let length = served_range.end - served_range.start;
    let response = if head.method == Method::HEAD {
        Response::new(Body::empty())
    } else {
        // Reserves the quota before reading, because the bytes in flight of all clients are
        // limited.
        let share = service.send(&call.client.id, in_memory(part.size_bytes))?;
        let bytes: Bytes = service.parts.bytes(&manifest.release_id, part).await?;
        pieces::whole(
            bytes.slice(in_memory(served_range.start)..in_memory(served_range.end)),
            share,
        )
    };
    let mut response = as_file(
        response,
        PARQUET,
        &part.path.replace('/', "-"),
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
                part.size_bytes
            ),
        );
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

/// Returns parts as one CSV table, which is written while the client reads it.
fn as_table(
    call: &Call<'_>,
    head: &Parts,
    manifest: &Manifest,
    parts: Vec<&Part>,
) -> Result<Response> {
    let (service, dataset_id) = (call.service, call.path_value("dataset_id"));
    let contract = call.contracts().get(dataset_id).ok_or_else(|| {
        let message = format!("this server has no contract for `{dataset_id}` and cannot write it as CSV: download its parts as Parquet");
        Problem::of_field(Code::CoverageUnavailable, "format", message)
    })?;
    let mut hasher = Hasher::default();
    hasher.update(service.program.as_bytes());
    parts
        .iter()
        .for_each(|part| hasher.update(part.sha256.as_bytes()));
    let tag = format!("\"{}\"", hasher.finish().short(32));
    if let Some(known) = etag::matching(&head.headers, &tag) {
        return Ok(not_modified(&known, service.now()));
    }
    let largest = parts.iter().map(|part| part.size_bytes).max().unwrap_or(0);
    let kept = (
        service.download(call.client)?,
        service.send(&call.client.id, in_memory(largest))?,
    );
    let parts = parts.into_iter().cloned().collect();
    let rows = table::pieces(
        service.parts.clone(),
        manifest.release_id.clone(),
        parts,
        table::columns(contract).cloned().collect(),
    );
    let response = pieces::in_pieces(service, call.client, kept, rows);
    let file_name = format!("{dataset_id}-{}.csv", manifest.release_id);
    Ok(as_file(
        response,
        "text/csv; charset=utf-8; header=present",
        &file_name,
        &tag,
        service.now(),
    ))
}

fn in_memory(size_bytes: u64) -> usize {
    usize::try_from(size_bytes).unwrap_or(usize::MAX)
}
