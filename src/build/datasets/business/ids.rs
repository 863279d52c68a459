//! Builds the ids of entities and their records.

use super::ENTITY;

/// Returns the record id of an entity. All entities without a number share one.
pub(super) fn record_id(entity_id: Option<&str>) -> String {
    format!("{ENTITY}:{}", entity_id.unwrap_or("(no number)"))
}

/// Returns state and number, with characters that are safe in a path.
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
