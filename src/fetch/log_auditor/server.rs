//! Sends an audit's requests and parses the responses.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::AuditSettings;
use super::report::shown;
use crate::{Extent, FetchSettings, UntrustedClient, UntrustedResponse};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::{Digest, ReleaseId};

/// Maximum size of a response about one record. A proof of absence can name every part of a
/// dataset.
const MAX_BYTES: u64 = 16 << 20;
/// Maximum size of the list of all parts of a release.
const MAX_RELEASE_BYTES: u64 = 64 << 20;
const MAX_NOTE_BYTES: u64 = 16 << 10;

/// Client of the audited server.
pub(super) struct Server(UntrustedClient);

/// A response with a status other than 200.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// Problem code defined by this API; empty if the response has none.
    pub(super) code: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "status {}", self.status)?;
        if self.code.is_empty() {
            Ok(())
        } else {
            write!(formatter, " ({})", self.code)
        }
    }
}

/// A server's response, or its refusal.
pub(super) type Given<T> = std::result::Result<T, Refusal>;

#[derive(Deserialize)]
struct Envelope<T> {
    data: T,
}

/// A release as `/v1/releases/…` lists it.
#[derive(Deserialize)]
pub(super) struct ListedRelease {
    pub(super) release_id: ReleaseId,
    pub(super) datasets: Vec<ListedDataset>,
}

#[derive(Deserialize)]
pub(super) struct ListedDataset {
    pub(super) dataset_id: String,
    pub(super) parts: Vec<ListedPart>,
}

#[derive(Deserialize)]
pub(super) struct ListedPart {
    pub(super) path: String,
    pub(super) rows: u64,
    pub(super) sha256: Digest,
}

/// A record as `/v1/provenance/…` describes it.
#[derive(Deserialize)]
pub(super) struct Chain {
    pub(super) record: ChainRecord,
    pub(super) part: ListedPart,
    pub(super) release: ChainRelease,
    pub(super) sources: Vec<ChainSource>,
}

#[derive(Deserialize)]
pub(super) struct ChainRecord {
    /// Columns as sent, so that numbers keep their original digits.
    pub(super) columns: BTreeMap<String, Box<RawValue>>,
}

#[derive(Deserialize)]
pub(super) struct ChainRelease {
    pub(super) release_id: ReleaseId,
}

#[derive(Deserialize)]
pub(super) struct ChainSource {
    pub(super) source_id: String,
    pub(super) snapshot: ChainSnapshot,
    pub(super) member: Option<String>,
    pub(super) member_digest: Option<Digest>,
    pub(super) offset: u64,
    pub(super) length: u64,
}

#[derive(Deserialize)]
pub(super) struct ChainSnapshot {
    pub(super) sha256: Digest,
    pub(super) url: Option<String>,
    pub(super) fetched_at: Option<String>,
    pub(super) obtained: Option<String>,
    pub(super) size_bytes: Option<u64>,
}

impl Server {
    pub(super) fn new(settings: &AuditSettings) -> Result<Self> {
        // A server that sends single bytes slowly must not block the audit for hours.
        let patient = FetchSettings {
            tries: settings.fetch.tries.min(4),
            total_timeout: settings.fetch.total_timeout.min(TIME),
            ..settings.fetch.clone()
        };
        Ok(Self(UntrustedClient::new(
            patient,
            &settings.url,
            settings.api_key.as_deref(),
        )?))
    }

    pub(super) fn url(&self) -> &str {
        self.0.url()
    }

    /// Requests a log file; `None` if the server does not have the file.
    pub(super) async fn log_file(&self, name: &str, most: Option<u64>) -> Result<Option<Vec<u8>>> {
        let path: Vec<&str> = ["v1", "log"].into_iter().chain(name.split('/')).collect();
        let UntrustedResponse { status, bytes, .. } = self
            .0
            .get(&path, &[], Extent::Whole(most.unwrap_or(MAX_NOTE_BYTES)))
            .await?;
        match status {
            200 => Ok(Some(bytes)),
            404 => Ok(None),
            _ => Err(Error::fetch(format!(
                "{}/v1/log/{name} answered with status {status}",
                self.url()
            ))
            .hint(NOT_OF_THIS_API)),
        }
    }

    /// Requests the release that the server serves.
    pub(super) async fn release(&self) -> Result<ListedRelease> {
        match self
            .json(&["v1", "releases", "current"], &[], MAX_RELEASE_BYTES)
            .await?
        {
            Ok(release) => Ok(release),
            Err(refusal) => Err(Error::fetch(format!(
                "{}/v1/releases/current: {refusal}",
                self.url()
            ))
            .hint(NOT_OF_THIS_API)),
        }
    }

    /// Requests the beginning of a part as text, and returns whether this is the entire part.
    pub(super) async fn table(
        &self,
        release_id: &ReleaseId,
        dataset_id: &str,
        part: &Digest,
        most: u64,
    ) -> Result<Given<(Vec<u8>, bool)>> {
        let path = [
            "v1",
            "releases",
            release_id.as_str(),
            "datasets",
            dataset_id,
        ];
        let response = self
            .0
            .get(
                &path,
                &[("format", "csv"), ("part", &part.to_string())],
                Extent::Beginning(most),
            )
            .await?;
        match self.refusal(&response)? {
            Some(refusal) => Ok(Err(refusal)),
            None => Ok(Ok((response.bytes, response.is_whole))),
        }
    }

    /// Requests the bytes of a receipt.
    pub(super) async fn receipt(
        &self,
        release_id: &ReleaseId,
        record_id: &str,
    ) -> Result<Given<Vec<u8>>> {
        let response = self
            .0
            .get(
                &["v1", "receipts", record_id],
                &[("release", release_id.as_str())],
                Extent::Whole(MAX_BYTES),
            )
            .await?;
        Ok(match self.refusal(&response)? {
            Some(refusal) => Err(refusal),
            None => Ok(response.bytes),
        })
    }

    pub(super) async fn provenance(
        &self,
        release_id: &ReleaseId,
        record_id: &str,
    ) -> Result<Given<Chain>> {
        self.json(
            &["v1", "provenance", record_id],
            &[("release", release_id.as_str())],
            MAX_BYTES,
        )
        .await
    }

    async fn json<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        most: u64,
    ) -> Result<Given<T>> {
        let response = self.0.get(path, query, Extent::Whole(most)).await?;
        if let Some(refusal) = self.refusal(&response)? {
            return Ok(Err(refusal));
        }
        let answer: Envelope<T> = serde_json::from_slice(&response.bytes).map_err(|error| {
            let place = shown(&path.join("/"));
            Error::fetch(shown(&format!(
                "{}/{place} is not what the API answers: {error}",
                self.url()
            )))
            .hint(NOT_OF_THIS_API)
        })?;
        Ok(Ok(answer.data))
    }

    /// Returns the refusal in a response. A missing or wrong API key ends the audit, because every
    /// further response would be the same.
    fn refusal(&self, response: &UntrustedResponse) -> Result<Option<Refusal>> {
        #[derive(Deserialize)]
        struct Problem {
            code: String,
        }
        if response.status == 200 {
            return Ok(None);
        }
        if response.status == 401 {
            let message = format!(
                "{} opens its records to holders of an API key, and the one that was sent is missing or not valid",
                self.url()
            );
            return Err(Error::config(message).hint(
                "set PUBDATA_KEY to a key for that server, or use `--records 0` to check only its log",
            ));
        }
        let code = serde_json::from_slice::<Problem>(&response.bytes)
            .map(|problem| problem.code)
            .unwrap_or_default();
        Ok(Some(Refusal {
            status: response.status,
            code: shown(&code).chars().take(60).collect(),
        }))
    }
}

/// Maximum duration of one request.
const TIME: std::time::Duration = std::time::Duration::from_secs(120);
pub(super) const NOT_OF_THIS_API: &str = "is it a server of this API?";
