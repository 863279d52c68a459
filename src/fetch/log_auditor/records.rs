//! Draws records from a server's release. Compares what the server proves about each record with
//! the server's other responses.
//!
//! Draws evenly across datasets. If draws were proportional to the number of records, nearly all
//! would be figures from filings. Within a dataset, it draws a part, weighted by the part's number
//! of records, and then a record from the part's text table. If the table is too long, it draws a
//! random id and takes a neighbour from that id's proof of absence.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::AuditSettings;
use super::absent::altered;
use super::compare::differences;
use super::log::CheckedLog;
use super::random::Random;
use super::report::{AuditReport, Outcome};
use super::server::{ListedDataset, ListedPart, ListedRelease, Server};
use super::table::record_ids;
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_core::ids::{Digest, RecordId};
use pubdata_store::receipts::{Checkpoint, PartProof, Receipt};

/// Maximum number of bytes to read from a part's table.
const TABLE_BYTES: u64 = 4 << 20;
/// Neighbours in this dataset may belong to product families that the API key cannot access. The
/// server therefore issues no receipts for absent ids in this dataset.
const NO_ABSENCE_PROOFS_DATASET: &str = "pubdata.quarantine";
/// Number of datasets that may be tried in addition to one dataset per record.
const MAX_EXTRA_DATASETS: usize = 200;
const MAX_UNANSWERED: u32 = 3;
const OBTAINED: &str = "by program";

/// The files from which the records come according to the server, by URL and digest.
pub(super) type Files = BTreeMap<(String, Digest), File>;

pub(super) struct File {
    pub(super) source_id: String,
    pub(super) fetched_at: Option<String>,
    pub(super) size_bytes: Option<u64>,
    pub(super) is_by_program: bool,
}

/// Why a record is not proven. Violations have already been reported.
enum Stop {
    Mismatch,
    NotPossible,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

type Checked<T> = std::result::Result<T, Stop>;

struct RecordAuditor<'a> {
    settings: &'a AuditSettings,
    server: &'a Server,
    log: &'a mut CheckedLog,
    report: &'a mut AuditReport,
    release: &'a ListedRelease,
    random: Random,
    files: Files,
    /// Number of failed requests. If a server stops responding, the audit does not wait for every
    /// record.
    unanswered: u32,
    /// True if the report already notes that the log has newer releases.
    is_older_reported: bool,
}

/// Draws and checks records. Returns the files that the records come from according to the server.
pub(super) async fn check(
    settings: &AuditSettings,
    server: &Server,
    log: &mut CheckedLog,
    report: &mut AuditReport,
) -> Result<Files> {
    let release = server.release().await?;
    report.release_id = Some(release.release_id.to_string());
    let mut random = Random::from_seed(settings.seed);
    let mut datasets: Vec<&ListedDataset> = release
        .datasets
        .iter()
        .filter(|dataset| dataset.parts.iter().any(|part| part.rows > 0))
        .collect();
    random.shuffle(&mut datasets);
    datasets.truncate(settings.records + MAX_EXTRA_DATASETS);
    let mut queue: VecDeque<&ListedDataset> = datasets.into();
    let mut drawn = BTreeSet::new();
    let mut auditor = RecordAuditor {
        settings,
        server,
        log,
        report,
        release: &release,
        random,
        files: Files::new(),
        unanswered: 0,
        is_older_reported: false,
    };
    while drawn.len() < settings.records {
        let Some(dataset) = queue.pop_front() else {
            break;
        };
        if auditor.unanswered >= MAX_UNANSWERED {
            auditor
                .report
                .not_proven("the server stopped answering: no further record was drawn");
            break;
        }
        // A dataset that yields no record, or the same record again, is not tried again.
        let Some(record_id) = auditor.draw(dataset).await? else {
            continue;
        };
        if drawn.insert(record_id.clone()) {
            let outcome = match auditor.check(dataset, &record_id).await {
                Ok(()) => Outcome::Match,
                Err(Stop::Mismatch) => Outcome::Mismatch,
                Err(Stop::NotPossible) => Outcome::NotPossible,
                Err(Stop::Failed(error)) => return Err(error),
            };
            auditor.report.record(record_id.as_str(), outcome);
            queue.push_back(dataset);
        }
    }
    let files = auditor.files;
    if drawn.is_empty() {
        report.not_proven("no record could be drawn: nothing of the release is proven");
    } else if drawn.len() < settings.records {
        report.note(&format!(
            "{} records were drawn of the {} asked for: what the server opens has no more",
            drawn.len(),
            settings.records
        ));
    }
    Ok(files)
}

impl RecordAuditor<'_> {
    /// Draws a record from a dataset. Returns `None` if no record can be obtained.
    async fn draw(&mut self, dataset: &ListedDataset) -> Result<Option<RecordId>> {
        let id = &dataset.dataset_id;
        let Some(part) = self.part(dataset) else {
            return Ok(None);
        };
        let table = match self
            .server
            .table(&self.release.release_id, id, &part.sha256, TABLE_BYTES)
            .await
        {
            Ok(table) => table,
            Err(error) if error.kind() == ErrorKind::Fetch => {
                self.unanswered += 1;
                return Ok(self.passed_over(id, &error.to_string()));
            }
            Err(error) => return Err(error),
        };
        let (bytes, is_whole) = match table {
            Ok(table) => table,
            Err(refusal) if refusal.status == 403 => {
                return Ok(self.passed_over(id, "the API key does not open it"));
            }
            Err(refusal) => {
                return Ok(self.passed_over(id, &format!("its records are not shown: {refusal}")));
            }
        };
        let Some(ids) = record_ids(&bytes, is_whole) else {
            self.report.problem(&format!(
                "{id}: the table of part {} is not a table of records",
                part.path
            ));
            return Ok(None);
        };
        if is_whole && ids.len() as u64 != part.rows {
            self.report.problem(&format!(
                "{id}: the table of part {} has {} records, and the list of parts says {}",
                part.path,
                ids.len(),
                part.rows
            ));
        }
        let Some(drawn) = self.random.one_of(&ids).cloned() else {
            return Ok(None);
        };
        let Some(drawn) = self.of_dataset(&drawn, id) else {
            self.report.problem(&format!(
                "{id}: the table of part {} has the record {drawn}, which is none of the dataset's",
                part.path
            ));
            return Ok(None);
        };
        if id == NO_ABSENCE_PROOFS_DATASET {
            return Ok(Some(drawn));
        }
        let neighbours = self.absence(dataset, &drawn).await?;
        let neighbour = self
            .random
            .one_of(&neighbours)
            .cloned()
            .filter(|_| !is_whole)
            .and_then(|other| self.of_dataset(&other, id));
        Ok(Some(neighbour.unwrap_or(drawn)))
    }

    fn of_dataset(&self, record_id: &str, dataset_id: &str) -> Option<RecordId> {
        record_id
            .parse()
            .ok()
            .filter(|id: &RecordId| id.dataset_id() == dataset_id)
    }

    fn passed_over<T>(&mut self, dataset_id: &str, why: &str) -> Option<T> {
        self.report
            .note(&format!("{dataset_id}: no record was drawn: {why}"));
        None
    }

    /// Draws a part, weighted by the number of records.
    fn part<'d>(&mut self, dataset: &'d ListedDataset) -> Option<&'d ListedPart> {
        let all = dataset
            .parts
            .iter()
            .fold(0_u64, |all, part| all.saturating_add(part.rows));
        let mut place = self.random.below(all);
        dataset
            .parts
            .iter()
            .find(|part| match place.checked_sub(part.rows) {
                Some(rest) => {
                    place = rest;
                    false
                }
                None => true,
            })
    }

    /// Checks the proof that the release lacks an id similar to the given id, and returns the
    /// neighbouring ids.
    async fn absence(
        &mut self,
        dataset: &ListedDataset,
        record_id: &RecordId,
    ) -> Result<Vec<String>> {
        // The first altered id may exist by chance.
        for absent in [
            altered(record_id.as_str(), &mut self.random),
            format!("{record_id}~"),
        ] {
            match self.proven(dataset, &absent).await {
                Ok(receipt) if receipt.record.is_some() => {}
                Ok(receipt) => {
                    self.report.absent += 1;
                    return Ok(receipt
                        .parts
                        .into_iter()
                        .flat_map(|part| part.leaves)
                        .map(|leaf| leaf.record_id)
                        .collect());
                }
                Err(Stop::Failed(error)) => return Err(error),
                Err(_) => break,
            }
        }
        Ok(Vec::new())
    }

    /// Fetches the receipt for an id and checks everything that the receipt proves.
    async fn proven(&mut self, dataset: &ListedDataset, record_id: &str) -> Checked<Receipt> {
        let bytes = match self
            .server
            .receipt(&self.release.release_id, record_id)
            .await
        {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(refusal)) if refusal.code == "not_found" => {
                return Err(self.mismatch(
                    record_id,
                    "the server lists its dataset, and has no receipt of it",
                ));
            }
            Ok(Err(refusal)) => {
                return Err(self.not_possible(record_id, &format!("no receipt: {refusal}")));
            }
            Err(error) if error.kind() == ErrorKind::Fetch => {
                return Err(self.no_answer(record_id, &error));
            }
            Err(error) => return Err(error.into()),
        };
        let receipt =
            Receipt::parse(&bytes).map_err(|error| self.mismatch(record_id, &error.to_string()))?;
        let proven = receipt.verify(&self.log.key).map_err(|reason| {
            self.mismatch(record_id, &format!("its receipt is not valid: {reason}"))
        })?;
        if proven.record_id != record_id {
            return Err(self.mismatch(
                record_id,
                &format!("its receipt is of {}", proven.record_id),
            ));
        }
        if proven.release_id != self.release.release_id {
            return Err(self.mismatch(
                record_id,
                &format!(
                    "its receipt is of release {}, and the server answers from {}",
                    proven.release_id, self.release.release_id
                ),
            ));
        }
        let Some(checkpoint) = Checkpoint::parse(&receipt.checkpoint) else {
            return Err(self.mismatch(record_id, "its checkpoint is malformed"));
        };
        if let Err(reason) = self
            .log
            .has(&checkpoint, self.settings, self.server, self.report)
            .await?
        {
            return Err(self.mismatch(record_id, &reason));
        }
        if proven.log_index + 1 < proven.log_size
            && !std::mem::replace(&mut self.is_older_reported, true)
        {
            let place = proven.log_index + 1;
            self.report.note(&format!(
                "the release is not the newest of the log: it is release {place} of {}",
                proven.log_size
            ));
        }
        let listed: BTreeMap<&str, &ListedPart> = dataset
            .parts
            .iter()
            .map(|part| (part.path.as_str(), part))
            .collect();
        let is_listed = |PartProof { part, .. }: &PartProof| {
            listed
                .get(part.path.as_str())
                .is_some_and(|listed| (listed.rows, listed.sha256) == (part.records, part.sha256))
        };
        if let Some(other) = receipt.parts.iter().find(|part| !is_listed(part)) {
            return Err(self.mismatch(
                record_id,
                &format!(
                    "the server's list of parts is not what was sealed: {}",
                    other.part.path
                ),
            ));
        }
        let sealed = receipt.dataset.parts().unwrap_or_default();
        if sealed != listed.len() as u64 {
            return Err(self.mismatch(
                record_id,
                &format!(
                    "{sealed} parts of its dataset were sealed, and the server lists {}",
                    listed.len()
                ),
            ));
        }
        Ok(receipt)
    }

    /// Compares a server's responses about a record with the record's receipt.
    async fn check(&mut self, dataset: &ListedDataset, record_id: &RecordId) -> Checked<()> {
        let receipt = self.proven(dataset, record_id.as_str()).await?;
        let record_id = record_id.as_str();
        let Some(record) = &receipt.record else {
            return Err(self.mismatch(
                record_id,
                "the server lists it, and proves that it is absent",
            ));
        };
        let chain = match self
            .server
            .provenance(&self.release.release_id, record_id)
            .await
        {
            Ok(Ok(chain)) => chain,
            Ok(Err(refusal)) if refusal.code == "not_found" => {
                return Err(self.mismatch(
                    record_id,
                    "the server proves it, and /v1/provenance does not have it",
                ));
            }
            Ok(Err(refusal)) => {
                return Err(self.not_possible(record_id, &format!("no provenance: {refusal}")));
            }
            Err(error) if error.kind() == ErrorKind::Fetch => {
                return Err(self.no_answer(record_id, &error));
            }
            Err(error) => return Err(error.into()),
        };
        let differences = differences(record, &chain);
        if !differences.is_empty() {
            return Err(self.mismatch(record_id, &differences.join("; ")));
        }
        if chain.release.release_id != self.release.release_id {
            return Err(self.mismatch(
                record_id,
                &format!(
                    "/v1/provenance answers from release {}",
                    chain.release.release_id
                ),
            ));
        }
        let sealed = receipt
            .parts
            .first()
            .map(|part| (&part.part.path, part.part.records, part.part.sha256));
        if sealed != Some((&chain.part.path, chain.part.rows, chain.part.sha256)) {
            return Err(self.mismatch(
                record_id,
                &format!(
                    "/v1/provenance names part {}, which is not the one that was sealed",
                    chain.part.path
                ),
            ));
        }
        for source in chain.sources {
            let snapshot = source.snapshot;
            let Some(url) = snapshot.url else { continue };
            let is_by_program = snapshot.obtained.as_deref() == Some(OBTAINED);
            let file = File {
                source_id: source.source_id,
                fetched_at: snapshot.fetched_at,
                size_bytes: snapshot.size_bytes,
                is_by_program,
            };
            self.files.entry((url, snapshot.sha256)).or_insert(file);
        }
        Ok(())
    }

    fn mismatch(&mut self, record_id: &str, why: &str) -> Stop {
        self.report.problem(&format!("{record_id}: {why}"));
        Stop::Mismatch
    }

    fn no_answer(&mut self, record_id: &str, error: &Error) -> Stop {
        self.unanswered += 1;
        self.not_possible(record_id, &error.to_string())
    }

    fn not_possible(&mut self, record_id: &str, why: &str) -> Stop {
        self.report.note(&format!("{record_id}: {why}"));
        Stop::NotPossible
    }
}
