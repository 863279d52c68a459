//! `pubdata schema`: prints the data dictionary of all contracts, or one contract.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::{Global, output};
use crate::contract::data_dictionary;
use crate::error::{Error, Result};

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
}

pub(super) fn schema(global: &Global, arguments: &SchemaArgs) -> Result<ExitCode> {
    let contracts = global.declarations()?.contracts;
    match &arguments.command {
        SchemaCommand::Dictionary if global.json => output::json(&contracts),
        SchemaCommand::Dictionary => anstream::print!("{}", data_dictionary(&contracts)),
        SchemaCommand::Show { dataset_id } => {
            let known: Vec<&str> = contracts.keys().map(String::as_str).collect();
            let contract =
                contracts.get(dataset_id).ok_or_else(|| Error::config(format!("there is no dataset `{dataset_id}`; there are {}", known.join(", "))))?;
            output::json(contract);
        }
    }
    Ok(ExitCode::SUCCESS)
}
