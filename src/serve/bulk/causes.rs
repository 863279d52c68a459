//! Why a build is another one than before, as answers tell it.

use crate::http::service::Service;
use crate::json::Json;
use pubdata_core::provenance::Snapshot;
use pubdata_store::{Cause, InputChange, TaskEntry, causes_of_task, changed_inputs};

/// Writes the causes, and the files that are others.
pub fn write_causes(json: &mut Json, service: &Service, before: Option<&TaskEntry>, after: Option<&TaskEntry>) {
    let causes = causes_of_task(before, after);
    // Which files they are is told beneath.
    let is_of_a_file = |cause: &&Cause| matches!(cause, Cause::SourceChanged { .. });
    let of_files = causes.iter().filter(is_of_a_file).take(1);
    json.key("causes").array(|json| of_files.chain(causes.iter().filter(|cause| !is_of_a_file(cause))).for_each(|cause| write_cause(json, service, cause)));
    json.key("inputs").array(|json| changed_inputs(before, after).into_iter().for_each(|change| write_change(json, change)));
}

fn write_cause(json: &mut Json, service: &Service, cause: &Cause) {
    let told = |text: &str| Some(service.told(text));
    let (word, before, after) = match cause {
        Cause::TaskAdded => ("task_added", None, None),
        Cause::TaskRemoved => ("task_removed", None, None),
        Cause::SourceChanged { .. } => ("source_changed", None, None),
        Cause::DeclarationChanged => ("declaration_changed", None, None),
        Cause::ContractsChanged => ("contracts_changed", None, None),
        Cause::CodeChanged { from, to } => ("code_changed", told(from), told(to)),
        Cause::SampleChanged => ("sample_changed", None, None),
        Cause::LayoutEvidenceChanged => ("layout_evidence_changed", None, None),
        Cause::DateChanged { from, to, .. } => ("date_changed", told(from), told(to)),
        Cause::InputsChanged => ("inputs_changed", None, None),
        Cause::BecameStale { reason } => ("became_stale", None, reason.as_deref().and_then(told)),
        Cause::BecameFresh => ("became_fresh", None, None),
    };
    json.object(|json| {
        json.key("cause").text(word);
        json.key("before").optional_text(before.as_deref());
        json.key("after").optional_text(after.as_deref());
    });
}

fn write_change(json: &mut Json, (before, after): InputChange<'_>) {
    json.object(|json| {
        for (name, input) in [("before", before), ("after", after)] {
            match input {
                Some(input) => json.key(name).object(|json| write_input(json, input)),
                None => json.key(name).null(),
            }
        }
    });
}

/// A publisher's file that a build was made from.
pub fn write_input(json: &mut Json, input: &Snapshot) {
    json.key("source_id").text(&input.source_id);
    json.key("url").text(&input.url);
    json.key("sha256").text(&input.sha256.to_string());
    json.key("size_bytes").count(input.size_bytes);
    json.key("source_version").text(&input.source_version);
    json.key("source_date").text(&input.source_date);
    json.key("fetched_at").text(&input.fetched_at);
    json.key("obtained").text(input.obtained.name());
    json.key("mirror").optional_text(input.mirror.as_deref());
}
