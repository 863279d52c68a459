//! `pubdata schema`: prints the data dictionary of all contracts, one contract, or the JSON Schema of what commands print for machines.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::{Global, json_schemas, output};
use pubdata_core::contract::data_dictionary;
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::nearest;

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
        /// Such as geo.zcta_metric.
        dataset_id: String,
    },
    /// Prints the JSON Schema of a document that a command prints with --json.
    Json {
        /// The document's `format`, such as pubdata.run.
        format: String,
    },
}

pub(super) fn schema(global: &Global, arguments: &SchemaArgs) -> Result<ExitCode> {
    let contracts = || global.declarations().map(|declarations| declarations.contracts);
    match &arguments.command {
        SchemaCommand::Dictionary if global.json => output::document("contracts", &serde_json::json!({ "contracts": contracts()? })),
        SchemaCommand::Dictionary => output::text(&data_dictionary(&contracts()?)),
        SchemaCommand::Show { dataset_id } => {
            let contracts = contracts()?;
            let contract = contracts.get(dataset_id).ok_or_else(|| unknown("dataset", dataset_id, contracts.keys().map(String::as_str)))?;
            output::document("contract", &serde_json::json!({ "contract": contract }));
        }
        SchemaCommand::Json { format } => {
            output::json(&json_schemas::schema(format).ok_or_else(|| unknown("format", format, json_schemas::formats()))?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> Error {
    let known: Vec<&str> = known.collect();
    let error = Error::config(format!("there is no {what} `{name}`; there are {}", known.join(", ")));
    match nearest(name, &known) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}
