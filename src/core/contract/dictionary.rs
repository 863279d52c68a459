//! Generates the data dictionary in Markdown from the contracts alone.

use std::fmt::Write;

use super::{ColumnType, Contracts, Physical};

/// Writes the data dictionary, with one section per dataset and one table row per column.
pub fn data_dictionary(contracts: &Contracts) -> String {
    let mut text = String::from(
        "# Data dictionary\n\nGenerated from `schemas/` by `make docs`; do not edit.\n",
    );
    for contract in contracts.values() {
        let _ = write!(
            text,
            "\n## {}\n\n{}. {} Schema version {}, key ({}), a part for each ({}).\n\n| column | type | null | meaning |\n|---|---|---|---|\n",
            contract.dataset_id,
            contract.title,
            contract.grain,
            contract.version,
            contract.primary_key.join(", "),
            contract.partition_by.join(", "),
        );
        for column in &contract.columns {
            let column_type = &column.column_type;
            let physical = type_name(column_type);
            let values = if column_type.values.is_empty() {
                String::new()
            } else {
                format!(" One of `{}`.", column_type.values.join("`, `"))
            };
            let null = if column.nullable { "yes" } else { "no" };
            let _ = writeln!(
                text,
                "| `{}` | {physical} | {null} | {}{values} |",
                column.name,
                column.description.replace('|', "\\|")
            );
        }
        if !contract.invariants.is_empty() {
            text.push_str("\nRules:\n\n");
            for invariant in &contract.invariants {
                let _ = writeln!(text, "- `{}`: {}", invariant.code, invariant.description);
            }
        }
    }
    text
}

/// Returns a readable name for the physical type of a column.
pub fn type_name(column_type: &ColumnType) -> String {
    match column_type.physical {
        Physical::String => "string".to_owned(),
        Physical::Int32 => "int32".to_owned(),
        Physical::Int64 => "int64".to_owned(),
        Physical::Float64 => "float64".to_owned(),
        Physical::Boolean => "boolean".to_owned(),
        Physical::Date => "date".to_owned(),
        Physical::Decimal => format!("decimal({}, {})", column_type.precision, column_type.scale),
        Physical::StringList => "list of string".to_owned(),
        Physical::Pointers => "list of (source_id, snapshot, member, offset, length)".to_owned(),
    }
}
