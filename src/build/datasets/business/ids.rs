//! Builds ids for entities and their records.

use super::ENTITY;

/// Returns an entity's record id. All entities without a number share the same id.
pub(super) fn record_id(entity_id: Option<&str>) -> String {
    format!("{ENTITY}:{}", entity_id.unwrap_or("(no number)"))
}

/// Returns the state and number, with characters that are safe in a path.
pub(super) fn entity_id(state: &str, number: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
            c.to_ascii_uppercase()
        } else {
            '-'
        }
    };
    format!("{state}-{}", number.chars().map(safe).collect::<String>())
}
