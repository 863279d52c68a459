//! Describes why no release can answer a request.

use std::sync::Arc;

use pubdata_core::error::Error;

/// Reason why no release can answer a request.
#[derive(Debug, Clone)]
pub enum ReleaseUnavailable {
    /// The release does not exist, or was deleted. Contains the parameter that selected the
    /// release.
    Missing {
        parameter: Option<&'static str>,
        detail: String,
    },
    /// Another release is being loaded. Contains the message to return.
    Busy(String),
    /// The release cannot be read; the cause is in the log.
    Failed(Arc<Error>),
}

impl ReleaseUnavailable {
    pub fn missing(parameter: &'static str, detail: String) -> Self {
        Self::Missing {
            parameter: Some(parameter),
            detail,
        }
    }
}

impl From<Error> for ReleaseUnavailable {
    fn from(error: Error) -> Self {
        Self::Failed(Arc::new(error))
    }
}
