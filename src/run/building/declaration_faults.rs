//! Finds parts of a declaration that the pipeline's code cannot use, each with its file and line.
//! Such faults are invalid settings, columns that nothing reads, and terms mapped to values that
//! their column does not allow.

use pubdata_build::datasets::{self, Fault};
use pubdata_core::declared::{Finding, TablePath};
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::{Declaration, Declarations};

/// Maximum number of faults quoted in one message.
const MAX_REPORTED: usize = 3;

/// Finds the parts of a declaration that the pipeline's code cannot use.
pub fn declaration_faults(declarations: &Declarations, declaration: &Declaration) -> Vec<Finding> {
    if declaration.produces.is_empty() {
        return Vec::new();
    }
    let faults = match datasets::builder(declaration) {
        Err(error) => vec![Fault {
            table: String::new(),
            number: None,
            key: "builder".to_owned(),
            message: error.to_string(),
        }],
        Ok(builder) => {
            let of_words = builder
                .vocabulary
                .iter()
                .flat_map(|vocabulary| vocabulary.faults(declaration, &declarations.contracts));
            (builder.check)(declaration)
                .err()
                .into_iter()
                .chain(of_words)
                .collect()
        }
    };
    let file = format!(
        "pipelines/{}.toml",
        declaration.pipeline_id.replace('.', "/")
    );
    let text = String::from_utf8_lossy(declarations.files.read(&file).unwrap_or_default());
    let finding = |Fault {
                       table,
                       number,
                       key,
                       message,
                   }: Fault| {
        let place = match (table.as_str(), number) {
            ("", _) => TablePath::Top,
            (table, None) => TablePath::Table(table),
            (table, Some(number)) => TablePath::Nth(table, number),
        };
        Finding::at(&file, &text, place, &key, message)
    };
    faults.into_iter().map(finding).collect()
}

/// Refuses a declaration with faults, because the build would lack the affected data.
///
/// # Errors
/// Returns `Contract` with the first faults. The error blocks this task only.
pub(super) fn refuse_faults(declarations: &Declarations, declaration: &Declaration) -> Result<()> {
    let faults = declaration_faults(declarations, declaration);
    if faults.is_empty() {
        return Ok(());
    }
    let mut messages: Vec<String> = faults
        .iter()
        .take(MAX_REPORTED)
        .map(ToString::to_string)
        .collect();
    if faults.len() > MAX_REPORTED {
        messages.push(format!(
            "and {} more, which `pubdata check` lists",
            faults.len() - MAX_REPORTED
        ));
    }
    Err(Error::contract(messages.join("; ")))
}
