//! `pubdata check`: all findings about declarations, contracts and settings, each with file and line; where a store is given, also whether
//! publishing can rely on it. Touches no home, and no network but the store's.

use std::process::ExitCode;

use super::{Global, output};
use pubdata_core::declared::Finding;
use pubdata_core::error::Result;
use pubdata_core::pipeline::Declarations;
use pubdata_run as run;
use pubdata_run::follow;
use pubdata_store::SharedStore;

pub(super) async fn check(global: &Global) -> Result<ExitCode> {
    let files = global.files()?;
    let (declarations, mut findings) = Declarations::check(files);
    findings.extend(declarations.pipelines.values().flat_map(|declaration| run::declaration_faults(&declarations, declaration)));
    if let Err(error) = follow::check(&declarations) {
        findings.push(Finding { file: "pipelines/".into(), line: 1, key: "settings".into(), message: error.to_string() });
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
        let mut document = serde_json::json!({ "pipelines": pipelines, "contracts": contracts, "findings": findings });
        if let Some(store) = store {
            document["store"] = store.into();
        }
        output::document("check", &document);
    } else {
        if findings.is_empty() {
            output::print_line!("{}: {} pipelines, {} contracts", output::coloured("ok"), declarations.pipelines.len(), declarations.contracts.len());
        }
        findings.iter().for_each(|finding| output::print_line!("{finding}"));
        if let Some(store) = store {
            output::print_line!("{}: {store}: of several who create a file at once, one wins", output::coloured("ok"));
        }
    }
    Ok(ExitCode::from(if findings.is_empty() { 0 } else { pubdata_core::error::ErrorKind::Config.exit_code() }))
}
