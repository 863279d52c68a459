//! `pubdata check`: all findings about declarations, contracts and settings, each with file and line. Touches no home and no network.

use std::process::ExitCode;

use super::{Global, output};
use crate::declared::Finding;
use crate::error::Result;
use crate::follow;
use crate::pipeline::Declarations;
use crate::run;

pub(super) fn check(global: &Global) -> Result<ExitCode> {
    let files = global.files()?;
    let (declarations, mut findings) = Declarations::check(files);
    findings.extend(declarations.pipelines.values().flat_map(|declaration| run::declaration_faults(&declarations, declaration)));
    if let Err(error) = follow::check(&declarations) {
        findings.push(Finding { file: "pipelines/".into(), line: 1, key: "settings".into(), message: error.to_string() });
    }
    if global.json {
        let (pipelines, contracts) = (declarations.pipelines.len(), declarations.contracts.len());
        output::document("check", &serde_json::json!({ "pipelines": pipelines, "contracts": contracts, "findings": findings }));
    } else if findings.is_empty() {
        anstream::println!("{}: {} pipelines, {} contracts", output::coloured("ok"), declarations.pipelines.len(), declarations.contracts.len());
    } else {
        findings.iter().for_each(|finding| anstream::println!("{finding}"));
    }
    Ok(ExitCode::from(if findings.is_empty() { 0 } else { crate::error::ErrorKind::Config.exit_code() }))
}
