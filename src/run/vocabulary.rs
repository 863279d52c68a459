//! Names and words of declarations that no code understands, each with file and line.

use crate::datasets::{self, Fault};
use crate::declared::{Finding, TablePath};
use crate::pipeline::Declarations;

/// Finds columns that nothing reads, and words of settings that are no values of their columns.
pub fn check_vocabulary(declarations: &Declarations) -> Vec<Finding> {
    let mut findings = Vec::new();
    for declaration in declarations.pipelines.values() {
        let Some(vocabulary) = datasets::builder(&declaration.pipeline_id).ok().and_then(|builder| builder.vocabulary) else { continue };
        let file = format!("pipelines/{}.toml", declaration.pipeline_id.replace('.', "/"));
        let text = String::from_utf8_lossy(declarations.files.read(&file).unwrap_or_default());
        for Fault { table, number, key, message } in vocabulary.faults(declaration, &declarations.contracts) {
            let place = number.map_or(TablePath::Table(table), |number| TablePath::Nth(table, number));
            findings.push(Finding::at(&file, &text, place, &key, message));
        }
    }
    findings
}
