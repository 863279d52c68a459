//! Caches the ledger's history for repeated requests. Reads the ledger again only after the file
//! has changed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::history::History;
use crate::Home;
use pubdata_core::error::{IoExt, Result};

/// Length and modification time of a ledger file.
type Stamp = (u64, Option<SystemTime>);

/// A ledger's history, cached until the file changes.
#[derive(Debug)]
pub struct Watch {
    home: Home,
    kept: Mutex<Option<(Stamp, Arc<History>)>>,
}

impl Watch {
    pub fn new(home: Home) -> Self {
        Self {
            home,
            kept: Mutex::default(),
        }
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Returns the current history; empty if the home has no ledger. Blocks.
    pub fn history(&self) -> Result<Arc<History>> {
        let path = self.home.ledger_file();
        let stamp = match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Arc::default()),
            metadata => metadata
                .map(|metadata| (metadata.len(), metadata.modified().ok()))
                .at("look at", &path)?,
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, history)) = kept.as_ref().filter(|(known, _)| *known == stamp) {
            return Ok(history.clone());
        }
        let history = Arc::new(History::from_entries(&crate::read_ledger(&self.home)?));
        *kept = Some((stamp, history.clone()));
        Ok(history)
    }
}
