//! Defines the id of a published record, which stays the same across releases because it is built
//! from the publisher's own key.

use std::fmt;
use std::str::FromStr;

use super::ParseIdError;

/// Identifier of one published record: `{dataset_id}:{stable native key}`, such as
/// `geo.zcta_metric:2023:90210:population`.
///
/// The key comes from the publisher's own codes, never from a row number or from normalised text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(String);

impl RecordId {
    /// Returns the id of the record's dataset.
    pub fn dataset_id(&self) -> &str {
        self.0.split_once(':').expect("checked when parsed").0
    }

    /// Returns the first segment of the key: the subject of the record.
    pub fn subject(&self) -> &str {
        self.0.split(':').nth(1).unwrap_or_default()
    }

    /// Returns the full id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RecordId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        match text.split_once(':') {
            Some((dataset, key)) if !dataset.is_empty() && !key.is_empty() && text.len() <= 512 => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(ParseIdError::new(
                text,
                "a record id: `dataset_id:key`, such as `geo.zcta_metric:2023:90210:population`",
            )),
        }
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
