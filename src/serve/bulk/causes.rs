//! Describes why a build differs from an earlier build.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Sha256;
use crate::http::service::Service;
use pubdata_core::provenance::Snapshot;
use pubdata_store::{Cause, TaskEntry, causes_of_task, changed_inputs};

#[derive(Serialize, JsonSchema)]
pub struct Causes<'a> {
    /// Reasons why the build differs.
    causes: Vec<BuildCause>,
    /// Files whose bytes differ; null on the side where the file was not read.
    inputs: Vec<InputChange<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct BuildCause {
    /// Stable code of the cause.
    #[schemars(extend("enum" = [
        "task_added", "task_removed", "source_changed", "declaration_changed", "contracts_changed", "code_changed", "sample_changed",
        "layout_evidence_changed", "date_changed", "inputs_changed", "became_stale", "became_fresh"
    ]))]
    cause: &'static str,
    /// Earlier version for `code_changed`, earlier day for `date_changed`; null for other causes.
    before: Option<String>,
    /// Later version for `code_changed`, later day for `date_changed`, the reason for
    /// `became_stale`; null for other causes.
    after: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct InputChange<'a> {
    /// The file before the change; null if it was not read.
    before: Option<SourceFile<'a>>,
    /// The file after the change; null if it is no longer read.
    after: Option<SourceFile<'a>>,
}

/// Publisher's file that a build used as input.
#[derive(Serialize, JsonSchema)]
pub struct SourceFile<'a> {
    /// Identifier of the source.
    source_id: &'a str,
    /// URL of the file at the publisher, without secrets.
    url: &'a str,
    /// SHA-256 digest of the file, in hexadecimal.
    sha256: Sha256,
    /// Size of the file in bytes.
    size_bytes: u64,
    /// The publisher's own label for the file.
    source_version: &'a str,
    /// Date that the publisher gives for the file, YYYY-MM-DD.
    source_date: &'a str,
    /// Time at which these bytes were first fetched, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    fetched_at: &'a str,
    /// `by program`: the program fetched the file. `by hand`: an operator downloaded and imported
    /// it.
    #[schemars(extend("enum" = ["by program", "by hand"]))]
    obtained: &'static str,
    /// Name of the mirror that the bytes came from instead of the publisher; null if they came from
    /// the publisher or were imported manually.
    mirror: Option<&'a str>,
}

impl<'a> Causes<'a> {
    /// Compares two builds of a task and returns the causes and the files that differ.
    pub fn compare(
        service: &Service,
        before: Option<&'a TaskEntry>,
        after: Option<&'a TaskEntry>,
    ) -> Self {
        let causes = causes_of_task(before, after);
        // All changed files count as one cause here; `inputs` lists them.
        let is_of_a_file = |cause: &&Cause| matches!(cause, Cause::SourceChanged { .. });
        let of_files = causes.iter().filter(is_of_a_file).take(1);
        let file = |input: Option<&'a Snapshot>| input.map(SourceFile::from_snapshot);
        Self {
            causes: of_files
                .chain(causes.iter().filter(|cause| !is_of_a_file(cause)))
                .map(|cause| BuildCause::new(service, cause))
                .collect(),
            inputs: changed_inputs(before, after)
                .into_iter()
                .map(|(before, after)| InputChange {
                    before: file(before),
                    after: file(after),
                })
                .collect(),
        }
    }
}

impl BuildCause {
    fn new(service: &Service, cause: &Cause) -> Self {
        let redact = |text: &str| Some(service.redact(text));
        let (cause, before, after) = match cause {
            Cause::TaskAdded => ("task_added", None, None),
            Cause::TaskRemoved => ("task_removed", None, None),
            Cause::SourceChanged { .. } => ("source_changed", None, None),
            Cause::DeclarationChanged => ("declaration_changed", None, None),
            Cause::ContractsChanged => ("contracts_changed", None, None),
            Cause::CodeChanged { from, to } => ("code_changed", redact(from), redact(to)),
            Cause::SampleChanged => ("sample_changed", None, None),
            Cause::LayoutEvidenceChanged => ("layout_evidence_changed", None, None),
            Cause::DateChanged { from, to, .. } => ("date_changed", redact(from), redact(to)),
            Cause::InputsChanged => ("inputs_changed", None, None),
            Cause::BecameStale { reason } => {
                ("became_stale", None, reason.as_deref().and_then(redact))
            }
            Cause::BecameFresh => ("became_fresh", None, None),
        };
        Self {
            cause,
            before,
            after,
        }
    }
}

impl<'a> SourceFile<'a> {
    pub fn from_snapshot(input: &'a Snapshot) -> Self {
        Self {
            source_id: &input.source_id,
            url: &input.url,
            sha256: Sha256(input.sha256),
            size_bytes: input.size_bytes,
            source_version: &input.source_version,
            source_date: &input.source_date,
            fetched_at: &input.fetched_at,
            obtained: input.obtained.name(),
            mirror: input.mirror.as_deref(),
        }
    }
}
