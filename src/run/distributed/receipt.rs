//! Defines the unit result, which contains everything that the commit needs to know about a unit
//! besides its parts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::plan_file::{Failure, TaskToBuild};
use crate::building::units::WorkUnit;
use pubdata_build::datasets::{RowsRead, SplitPart};
use pubdata_build::publish::StagedPart;
use pubdata_core::error::{Error, Result};
use pubdata_store::DistributedRunStore;

/// Format of unit results. Only the program that made the plan reads them.
pub const RECEIPT_FORMAT_VERSION: u32 = 1;

/// A unit result in the store.
#[derive(Serialize, Deserialize)]
pub(super) struct Receipt {
    format_version: u32,
    pub(super) task_id: String,
    pub(super) unit: String,
    pub(super) outcome: Outcome,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "one at a time")]
pub(super) enum Outcome {
    Built {
        unit: WorkUnit,
        /// Row counts by source, for a task that is built as a whole.
        read: BTreeMap<String, u64>,
        parts: Vec<StagedPart>,
    },
    Split(SplitInput),
    /// The unit failed permanently, because the sources themselves are at fault.
    Failed(Failure),
}

/// A file whose rows are sorted by bucket.
#[derive(Serialize, Deserialize)]
pub(super) struct SplitInput {
    pub(super) part: SplitPart,
    pub(super) read: RowsRead,
    /// Start and end offset of each bucket's rows.
    pub(super) places: BTreeMap<u32, (u64, u64)>,
}

impl Receipt {
    pub(super) fn new(task: &TaskToBuild<'_>, unit: &str, outcome: Outcome) -> Self {
        Self {
            format_version: RECEIPT_FORMAT_VERSION,
            task_id: task.planned.task_id.clone(),
            unit: unit.to_owned(),
            outcome,
        }
    }

    pub(super) async fn write(
        &self,
        run_store: DistributedRunStore<'_>,
        task: &TaskToBuild<'_>,
    ) -> Result<()> {
        let bytes = serde_json::to_vec(self).expect("a receipt is plain data");
        run_store
            .put_unit_result(&task.work.hash, &self.unit, bytes.into())
            .await
    }

    /// Reads a unit result. Returns `None` if the unit is not finished.
    pub(super) async fn read(
        run_store: DistributedRunStore<'_>,
        task: &TaskToBuild<'_>,
        unit: &str,
    ) -> Result<Option<Self>> {
        let Some(bytes) = run_store.receipt(&task.work.hash, unit).await? else {
            return Ok(None);
        };
        let damaged = |what: &str| {
            Error::store(format!(
                "the result of {} unit {unit} is damaged: {what}",
                task.planned.task_id
            ))
            .hint("delete its unit.json below staging/ in the store, and build the unit again")
        };
        let receipt: Self =
            serde_json::from_slice(&bytes).map_err(|error| damaged(&error.to_string()))?;
        if receipt.format_version != RECEIPT_FORMAT_VERSION
            || receipt.task_id != task.planned.task_id
            || receipt.unit != unit
        {
            return Err(damaged(&format!(
                "it is of {} unit {} in format {}",
                receipt.task_id, receipt.unit, receipt.format_version
            )));
        }
        Ok(Some(receipt))
    }
}

#[cfg(fuzzing)]
pub mod fuzzing {
    use super::Receipt;

    /// Parses and serialises a unit result. Returns `None` if the bytes are not a unit result.
    pub fn receipt_again(bytes: &[u8]) -> Option<Vec<u8>> {
        let receipt: Receipt = serde_json::from_slice(bytes).ok()?;
        Some(serde_json::to_vec(&receipt).expect("a receipt is plain data"))
    }
}
