//! Tries a declaration on the sampled records. Checks it just as `pubdata check` does and runs it
//! just as a probe does.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::place::Place;
use crate::building::declaration_faults::declaration_faults;
use crate::observer::SharedObserver;
use crate::probe::{ProbeSettings, ProbedTask, TaskOutcome, probe};
use crate::settings::Chosen;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::Declarations;
use pubdata_fetch::FetchSettings;
use pubdata_store::TemporaryHome;

/// Result of trying the declaration on the sampled records.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Trial {
    /// Outcome that a run would report.
    #[schemars(with = "TaskOutcome")]
    pub outcome: &'static str,
    /// Reasons for the outcome.
    pub reasons: Vec<String>,
    /// Number of rows in each dataset.
    pub rows: BTreeMap<String, u64>,
}

/// Runs the declaration on the sampled records, just as a probe does.
pub(super) async fn try_out(
    files: &DeclarationFiles,
    place: &Place,
    temporary: &TemporaryHome,
    fetch: &FetchSettings,
    observer: &SharedObserver,
) -> Result<Trial> {
    let declarations = Declarations::load(files.clone())?;
    let pipeline_id = place.pipeline_id();
    if let Some(fault) = declarations
        .pipelines
        .get(&pipeline_id)
        .into_iter()
        .flat_map(|declaration| declaration_faults(&declarations, declaration))
        .next()
    {
        return Err(Error::config(format!(
            "the declaration that was written is not valid: {fault}"
        ))
        .hint("name the columns with --column, or declare the list manually"));
    }
    let on_samples = FetchSettings {
        mirrors: vec![temporary.mirror().display().to_string()],
        clock: Arc::clone(&fetch.clock),
        ..FetchSettings::default()
    };
    let given = ProbeSettings {
        declarations,
        fetch: on_samples,
        selectors: vec![pipeline_id.clone()],
        chosen: Chosen::default(),
        rows: usize::MAX,
        published: None,
        home: None,
    };
    let report = Box::pin(probe(&given, observer)).await?;
    let task: Option<ProbedTask> = report
        .tasks
        .into_iter()
        .find(|task| task.task_id == pipeline_id);
    let task = task.ok_or_else(|| Error::config(format!("{pipeline_id}: nothing was tried")))?;
    Ok(Trial {
        outcome: task.outcome.word(),
        reasons: task.reasons,
        rows: task.rows,
    })
}
