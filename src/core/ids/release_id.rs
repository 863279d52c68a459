//! Defines the release id, which is derived from the release's content. Equal content has an equal
//! id, no matter when it was built.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Digest, ParseIdError};

/// Identifier of one immutable release: `r` and the first 20 hexadecimal digits of the manifest's
/// hash (without timestamps).
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(into = "String", try_from = "String")]
#[schemars(inline, with = "String", extend("pattern" = "^r[0-9a-f]{20}$"))]
pub struct ReleaseId(String);

impl ReleaseId {
    /// Derives the id from the hash of the manifest's content.
    pub fn from_digest(digest: &Digest) -> Self {
        Self(format!("r{}", digest.short(20)))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ReleaseId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.strip_prefix('r') {
            Some(rest) if rest.len() == 20 && rest.bytes().all(is_hex) => Ok(Self(text.to_owned())),
            _ => Err(ParseIdError::new(
                text,
                "a release id: `r` and 20 hexadecimal digits",
            )),
        }
    }
}

impl fmt::Display for ReleaseId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<ReleaseId> for String {
    fn from(id: ReleaseId) -> Self {
        id.0
    }
}

impl TryFrom<String> for ReleaseId {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, ParseIdError> {
        text.parse()
    }
}
