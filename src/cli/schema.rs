//! `pubdata schema`: prints the data dictionary of all contracts, one contract, or the JSON Schema
//! of a command's document. Schemas are generated from the types of the documents, and are
//! available as files in `docs/json`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};

use super::output::{self, DOCUMENT_VERSION, Document};
use super::{
    Global, accept, after_run, check, distributed, import, keys, receipts, releases, run, settings,
    status, verify,
};
use pubdata_core::contract::{Contract, Contracts, data_dictionary};
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::nearest;
use pubdata_fetch::log_auditor::AuditReport;
use pubdata_run::follow::FollowReport;
use pubdata_run::{AccessionReport, NewReport, ProbeReport, RunReport, TraceReport, UpgradeReport};
use pubdata_store::ReleaseDiff;
use pubdata_store::monitor::Message;

#[derive(Args)]
pub(super) struct SchemaArgs {
    #[command(subcommand)]
    command: SchemaCommand,
}

#[derive(Subcommand)]
enum SchemaCommand {
    /// Prints the data dictionary of all contracts, in Markdown.
    Dictionary,
    /// Prints one contract as JSON.
    Show {
        /// Id of the dataset, such as geo.zcta_metric.
        dataset_id: String,
    },
    /// Prints the JSON Schema of a document that a command prints with --json.
    Json {
        /// The document's `format`, such as pubdata.run.
        format: String,
    },
}

/// A contract: `pubdata schema show DATASET_ID`, which prints JSON even without `--json`.
#[derive(Serialize, JsonSchema)]
struct ContractReport<'a> {
    /// The contract.
    contract: &'a Contract,
}

/// All contracts: `pubdata schema dictionary`.
#[derive(Serialize, JsonSchema)]
struct ContractsReport {
    /// All contracts, by dataset.
    contracts: Contracts,
}

pub(super) fn schema(global: &Global, arguments: &SchemaArgs) -> Result<ExitCode> {
    let contracts = || {
        global
            .declarations()
            .map(|declarations| declarations.contracts)
    };
    match &arguments.command {
        SchemaCommand::Dictionary if global.json => output::sorted_document(&ContractsReport {
            contracts: contracts()?,
        }),
        SchemaCommand::Dictionary => output::text(&data_dictionary(&contracts()?)),
        SchemaCommand::Show { dataset_id } => {
            let contracts = contracts()?;
            let contract = contracts.get(dataset_id).ok_or_else(|| {
                unknown("dataset", dataset_id, contracts.keys().map(String::as_str))
            })?;
            output::sorted_document(&ContractReport { contract });
        }
        SchemaCommand::Json { format } => {
            output::json(&schema_of(format).ok_or_else(|| {
                unknown(
                    "format",
                    format,
                    DOCUMENTS.iter().map(|(format, _)| *format),
                )
            })?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> Error {
    let known: Vec<&str> = known.collect();
    let error = Error::config(format!(
        "there is no {what} `{name}`; there are {}",
        known.join(", ")
    ));
    match nearest(name, &known) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

macro_rules! documents {
    ($($format:literal: $type:ty,)+) => {
        $(impl Document for $type {
            const FORMAT: &'static str = $format;
        })+

        /// Every document format, with the generator of its schema.
        const DOCUMENTS: &[(&str, fn(SchemaGenerator) -> Schema)] = &[$(($format, SchemaGenerator::into_root_schema_for::<$type>)),+];
    };
}

documents! {
    "pubdata.accepted": accept::AcceptReport<'_>,
    "pubdata.channel_move": releases::MoveReport<'_>,
    "pubdata.check": check::CheckReport<'_>,
    "pubdata.contract": ContractReport<'_>,
    "pubdata.contracts": ContractsReport,
    "pubdata.error": output::ErrorReport<'_>,
    "pubdata.fetch": run::FetchReport<'_>,
    "pubdata.follow": FollowReport,
    "pubdata.import": import::ImportReport<'_>,
    "pubdata.invitation": keys::InvitationReport<'_>,
    "pubdata.key": keys::KeyReport<'_>,
    "pubdata.keys": keys::KeysReport<'_>,
    "pubdata.message": Message,
    "pubdata.new": NewReport,
    "pubdata.plan": run::PlanReport<'_>,
    "pubdata.probe": ProbeReport,
    "pubdata.prune": releases::PruneReport<'_>,
    "pubdata.release": releases::ReleaseReport<'_>,
    "pubdata.release_diff": ReleaseDiff,
    "pubdata.releases": releases::ReleasesReport<'_>,
    "pubdata.run": RunReport,
    "pubdata.seal": receipts::SealReport,
    "pubdata.settings": settings::SettingsReport<'_>,
    "pubdata.signing_key": keys::SigningKeyReport<'_>,
    "pubdata.status": status::StatusReport<'_>,
    "pubdata.test_message": after_run::TestMessageReport<'_>,
    "pubdata.trace": TraceReport,
    "pubdata.trace_filing": AccessionReport,
    "pubdata.units": distributed::UnitsReport<'_>,
    "pubdata.upgrade": UpgradeReport,
    "pubdata.verify": verify::VerificationReport<'_>,
    "pubdata.verify_receipt": receipts::ReceiptReport<'_>,
    "pubdata.verify_url": AuditReport,
    "pubdata.withdrawal": import::WithdrawalReport<'_>,
}

/// Returns the schema of a format, whose name may omit `pubdata.`. Returns `None` if the format
/// does not exist.
fn schema_of(format: &str) -> Option<Value> {
    let (format, of_type) = DOCUMENTS
        .iter()
        .find(|(known, _)| *known == format || known.strip_prefix("pubdata.") == Some(format))?;
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(plain));
    let mut schema = of_type(settings.into_generator()).to_value();
    schema["$id"] = format!("{format}.schema.json").into();
    schema["properties"]["format"] =
        json!({ "description": "Names the document.", "type": "string", "enum": [format] });
    schema["properties"]["version"] = json!({ "description": "Raised when a key goes or changes its meaning; new keys do not raise it.", "type": "integer", "enum": [DOCUMENT_VERSION] });
    if let Value::Array(required) = &mut schema["required"] {
        required.splice(0..0, ["format".into(), "version".into()]);
    }
    Some(schema)
}

/// Simplifies a schema. Forbids additional fields in objects, and lists the values of an
/// enumeration in one place. Removes line breaks from comments, and Rust details such as names of
/// number types and defaults for deserialisation.
fn plain(schema: &mut Schema) {
    if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    if let Some(Value::Array(variants)) = schema.remove("oneOf") {
        list_words(schema, &variants);
    }
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    let format = schema
        .get("format")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if format == "double" || format.trim_start_matches('u').starts_with("int") {
        schema.remove("format");
    }
    schema.remove("default");
}

/// Replaces the schemas of an enumeration's variants with a single list of values, and moves the
/// values' meanings into the description. Code generators support this form more widely.
fn list_words(schema: &mut Schema, variants: &[Value]) {
    let mut description = schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let mut words = Vec::new();
    for variant in variants {
        words.extend(variant["enum"].as_array().into_iter().flatten().cloned());
        if let (Some(word), Some(meaning)) =
            (variant["const"].as_str(), variant["description"].as_str())
        {
            words.push(word.into());
            description.push_str(&format!(" `{word}`: {meaning}"));
        }
    }
    schema.insert("description".to_owned(), description.into());
    schema.insert("enum".to_owned(), words.into());
    schema.insert("type".to_owned(), "string".into());
}
