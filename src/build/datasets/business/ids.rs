//! How an entity of a registry and its record are named.

use super::ENTITY;

/// The record of an entity; one without a number has none of its own.
pub(super) fn record_id(entity_id: Option<&str>) -> String {
    format!("{ENTITY}:{}", entity_id.unwrap_or("(no number)"))
}

/// State and number, with characters only that a path may hold.
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
