//! Why a request has no release to be answered from.

use std::sync::Arc;

use pubdata_core::error::Error;

/// Why a request has no release to be answered from.
#[derive(Debug, Clone)]
pub enum NotServed {
    /// There is none, or none any more; with the parameter that asked for it.
    Missing {
        parameter: Option<&'static str>,
        detail: String,
    },
    /// Another is being loaded; with what to say of it.
    Busy(String),
    /// It cannot be read; the cause is in the log.
    Failed(Arc<Error>),
}

impl NotServed {
    pub fn missing(parameter: &'static str, detail: String) -> Self {
        Self::Missing {
            parameter: Some(parameter),
            detail,
        }
    }
}

impl From<Error> for NotServed {
    fn from(error: Error) -> Self {
        Self::Failed(Arc::new(error))
    }
}
