//! Collects changes to declarations that the files suggest, and tries them in another trial run on
//! the same samples.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::address::{PredictedTask, sample_path};
use super::edit::{self, Edit, Edits};
use super::header::columns_of;
use super::predict::{Prediction, TrialRuns, unknown_values};
use super::report::PredictedOutcome;
use super::suggest::{self, Last};
use super::values::{self, Cells};
use super::{ProbeContext, ProbedAddress};
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::error::Result;
use pubdata_core::pipeline::{Declarations, expand};
use pubdata_fetch::recorded_url;
use pubdata_store::Snapshots;

/// Results by task.
pub(super) type Tried = BTreeMap<String, (PredictedOutcome, Vec<String>)>;

/// Returns the changes to declarations that the received files suggest.
pub(super) fn edits(
    context: &ProbeContext<'_>,
    tasks: &[PredictedTask<'_>],
    probed: &[ProbedAddress<'_>],
    predictions: &[Prediction],
) -> Result<Edits> {
    let mut edits = Edits::new();
    let mut add = |pipeline_id: &str, new: Vec<Edit>| {
        for edit in new {
            let known: &mut Vec<Edit> = edits.entry(pipeline_id.to_owned()).or_default();
            if !known.contains(&edit) {
                known.push(edit);
            }
        }
    };
    for probed in probed {
        let Some((owner, _)) = context
            .given
            .declarations
            .source(&probed.address.source.source_id)
        else {
            continue;
        };
        if let Some(location) = &probed.examined.location {
            add(
                &owner.pipeline_id,
                suggest::moved(&probed.address, location)
                    .into_iter()
                    .collect(),
            );
        }
        if !probed.examined.header.missing.is_empty() || !probed.examined.header.new.is_empty() {
            let (now, last) = cells(context, probed)?;
            add(
                &owner.pipeline_id,
                suggest::columns(owner, &probed.address, &probed.examined, &now, &last),
            );
        }
    }
    for (task, prediction) in tasks.iter().zip(predictions) {
        if let Some(trial_run) = &prediction.trial_run {
            add(
                &task.declaration.pipeline_id,
                suggest::words(
                    &context.given.declarations.contracts,
                    task.declaration,
                    &unknown_values(trial_run),
                ),
            );
        }
    }
    edits.retain(|_, edits| !edits.is_empty());
    Ok(edits)
}

/// Returns the declarations with the changes applied.
pub(super) fn apply(files: &DeclarationFiles, edits: &Edits) -> Result<DeclarationFiles> {
    let mut suggested = files.clone();
    for (pipeline_id, edits) in edits {
        suggested = edit::apply(&suggested, pipeline_id, edits)?;
    }
    Ok(suggested)
}

/// Returns the values in the new columns of a file, and the columns and values of the file in the
/// home.
fn cells(context: &ProbeContext<'_>, probed: &ProbedAddress<'_>) -> Result<(Cells, Last)> {
    let (address, examined) = (&probed.address, &probed.examined);
    let recorded = recorded_url(&address.request.url)?;
    let path = context
        .temporary
        .mirror()
        .join(sample_path(&address.request.url)?);
    let new: Vec<(String, Vec<String>)> = examined
        .header
        .new
        .iter()
        .map(|name| (name.clone(), vec![name.clone()]))
        .collect();
    // Values only improve the guess. If they cannot be read, the guess relies on names.
    let now = values::of_file(
        address,
        &path,
        examined.sample.clone().flatten().as_deref(),
        &new,
        &examined.columns,
    )
    .unwrap_or_default();
    // The file in the release matches its declaration, whereas the file of the last run may be the
    // one that was blocked.
    let of_release = context
        .given
        .published
        .iter()
        .flat_map(|manifest| manifest.tasks.values())
        .flat_map(|task| &task.inputs);
    let of_source = of_release.filter(|input| input.source_id == address.source.source_id);
    let of_release = of_source
        .max_by_key(|input| (input.url == recorded, &input.source_date))
        .cloned();
    let of_url = |snapshots: &Snapshots| snapshots.known(&address.source.source_id, &recorded);
    let known = context
        .snapshots
        .as_ref()
        .and_then(|snapshots| Some((snapshots, of_release.or_else(|| of_url(snapshots))?)));
    let last = known
        .and_then(|(snapshots, snapshot)| last(probed, &snapshots.path(&snapshot)).ok())
        .unwrap_or_default();
    Ok((now, last))
}

fn last(probed: &ProbedAddress<'_>, path: &Path) -> Result<Last> {
    let (address, examined) = (&probed.address, &probed.examined);
    let pattern = address
        .source
        .member
        .as_deref()
        .map(|pattern| expand(pattern, &address.request.keys))
        .transpose()?;
    let member = pattern
        .map(|pattern| pubdata_build::decode::member_name(path, &pattern))
        .transpose()?;
    let columns = columns_of(address, path, member.as_deref())?;
    let missing: Vec<(String, Vec<String>)> = examined
        .missing
        .iter()
        .map(|column| (column.clone(), address.source.columns[column].clone()))
        .collect();
    let cells = if missing.is_empty() {
        Cells::new()
    } else {
        values::of_file(address, path, member.as_deref(), &missing, &columns)?
    };
    Ok(Last { columns, cells })
}

/// Repeats the trial runs with changed declarations. Returns the predicted outcome of each task,
/// and the reasons why the task would still not be built.
pub(super) async fn try_out(
    trial_runs: &TrialRuns<'_, '_>,
    suggested: &DeclarationFiles,
    tasks: &[PredictedTask<'_>],
    edits: &Edits,
) -> Result<Tried> {
    let mut tried = BTreeMap::new();
    if edits.is_empty() {
        return Ok(tried);
    }
    let declarations = Declarations::load(suggested.clone())?;
    let is_moved = |pipeline_id: &String| {
        edits[pipeline_id]
            .iter()
            .any(|edit| matches!(edit, Edit::Url { .. } | Edit::Redirect { .. }))
    };
    for task in tasks {
        let owners: BTreeSet<&String> = task
            .sources
            .iter()
            .map(|(owner, _)| &owner.pipeline_id)
            .chain([&task.declaration.pipeline_id])
            .collect();
        let changed: Vec<&String> = owners
            .into_iter()
            .filter(|owner| edits.contains_key(*owner))
            .collect();
        // A file that has moved has no sample. The next probe tries the new URL.
        if changed.is_empty() || changed.into_iter().any(is_moved) {
            continue;
        }
        let prediction = trial_runs.predict(&declarations, task).await?;
        if prediction.not_sampled.is_none() {
            tried.insert(
                task.task_id.clone(),
                (
                    prediction
                        .end
                        .predicted_outcome(trial_runs.context.last_build(&task.task_id)),
                    prediction.reasons,
                ),
            );
        }
    }
    Ok(tried)
}
