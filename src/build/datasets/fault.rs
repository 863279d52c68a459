//! Describes a mistake in a declaration as reported by the code that reads it, such as an invalid
//! setting or an unknown name.

use serde_path_to_error::Segment;

use pubdata_core::error::Error;
use pubdata_core::pipeline::suggested;

/// A declaration key that the reading code cannot use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Table that contains the key: `source`, `settings` or `settings.contact`.
    pub table: String,
    /// Index among the tables with this name, if they form a list.
    pub number: Option<usize>,
    /// The key, such as `columns.statsu` or `type.Building`; empty for the entire table.
    pub key: String,
    pub message: String,
}

impl Fault {
    /// Creates a fault for a key in `settings`, or for the entire table if the key is empty.
    pub fn in_settings(key: &str, message: impl Into<String>) -> Self {
        Self {
            table: "settings".to_owned(),
            number: None,
            key: key.to_owned(),
            message: message.into(),
        }
    }

    /// Creates a fault from a deserialisation error for `settings`.
    pub fn from_reader_error(
        settings: &toml::Table,
        error: &serde_path_to_error::Error<toml::de::Error>,
    ) -> Self {
        let message = suggested(error.inner().message());
        let segments: Vec<&Segment> = error.path().iter().collect();
        let rest = |segments: &[&Segment]| {
            segments
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(".")
        };
        match segments.as_slice() {
            [
                Segment::Map { key: list },
                Segment::Seq { index },
                rest_of @ ..,
            ] if settings.get(list).is_some_and(is_list_of_tables) => Self {
                table: format!("settings.{list}"),
                number: Some(*index),
                key: rest(rest_of),
                message,
            },
            segments => Self::in_settings(&rest(segments), message),
        }
    }
}

fn is_list_of_tables(value: &toml::Value) -> bool {
    value
        .as_array()
        .is_some_and(|list| list.iter().all(toml::Value::is_table))
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let key = if fault.key.is_empty() {
            fault.table
        } else {
            format!("{}.{}", fault.table, fault.key)
        };
        Self::config(format!("{key}: {}", fault.message))
    }
}
