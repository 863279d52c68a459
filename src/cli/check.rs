//! `pubdata check`: lists all problems in declarations, contracts and settings, each with its file
//! and line. If a store is given, also checks that publishing can rely on it. Requires no home, and
//! no network except for the store.

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Global, output};
use pubdata_core::declared::Finding;
use pubdata_core::error::Result;
use pubdata_core::pipeline::Declarations;
use pubdata_run as run;
use pubdata_run::follow;
use pubdata_store::SharedStore;

/// Validity of declarations and contracts: `pubdata check`.
#[derive(Serialize, JsonSchema)]
pub(super) struct CheckReport<'a> {
    /// Number of pipelines.
    pipelines: usize,
    /// Number of contracts.
    contracts: usize,
    /// The store that was tested. If several writers create the same file at once, exactly one of
    /// them must succeed, because publishing relies on this. Absent if no store was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    store: Option<&'a str>,
    /// The problems that were found; empty if none were found.
    findings: &'a [Finding],
}

pub(super) async fn check(global: &Global) -> Result<ExitCode> {
    let files = global.files()?;
    let (declarations, mut findings) = Declarations::check(files);
    findings.extend(
        declarations
            .pipelines
            .values()
            .flat_map(|declaration| run::declaration_faults(&declarations, declaration)),
    );
    if let Err(error) = follow::check(&declarations) {
        findings.push(Finding {
            file: "pipelines/".into(),
            line: 1,
            key: "settings".into(),
            message: error.to_string(),
        });
    }
    let store = match &global.store {
        Some(url) => {
            let store = SharedStore::at(url)?;
            store.check().await?;
            Some(store.url().to_owned())
        }
        None => None,
    };
    if global.json {
        let (pipelines, contracts) = (declarations.pipelines.len(), declarations.contracts.len());
        output::sorted_document(&CheckReport {
            pipelines,
            contracts,
            store: store.as_deref(),
            findings: &findings,
        });
    } else {
        if findings.is_empty() {
            output::print_line!(
                "{}: {}, {}",
                output::coloured("ok"),
                output::counted(declarations.pipelines.len(), "pipeline"),
                output::counted(declarations.contracts.len(), "contract")
            );
        }
        findings
            .iter()
            .for_each(|finding| output::print_line!("{finding}"));
        if let Some(store) = store {
            output::print_line!(
                "{}: {store}: if several writers create a file at once, one wins",
                output::coloured("ok")
            );
        }
    }
    Ok(ExitCode::from(if findings.is_empty() {
        0
    } else {
        pubdata_core::error::ErrorKind::Config.exit_code()
    }))
}
