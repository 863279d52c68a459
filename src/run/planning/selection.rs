//! Resolves a command's selectors to tasks, and determines which sources each task reads.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::settings::{Chosen, RunSettings, is_selected};
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::{Declaration, Declarations, Source, nearest};

/// A task whose files have not been determined yet.
pub(crate) struct Selected<'a> {
    pub(crate) task_id: String,
    pub(crate) declaration: &'a Declaration,
    pub(crate) partition: Option<String>,
}

/// Checks that each selector names something that can be built.
///
/// # Errors
/// Returns `Config`, naming the first selector that does not.
pub fn check_selectors(
    declarations: &Declarations,
    selectors: &[String],
    now: Timestamp,
) -> Result<()> {
    selected(declarations, &Chosen::default(), selectors, now).map(drop)
}

/// Returns the tasks that the selectors name. If no selector is given, returns the tasks chosen in
/// the settings.
pub(crate) fn selected<'a>(
    declarations: &'a Declarations,
    chosen: &Chosen,
    selectors: &[String],
    now: Timestamp,
) -> Result<Vec<Selected<'a>>> {
    let mut tasks = Vec::new();
    let mut unused: BTreeSet<&str> = selectors.iter().map(String::as_str).collect();
    for declaration in declarations
        .pipelines
        .values()
        .filter(|declaration| !declaration.produces.is_empty())
    {
        let partitions: Vec<Option<String>> = match &declaration.partition {
            Some(range) => declaration
                .newest_partition(now)?
                .map(|to| {
                    (range.from..=to)
                        .map(|value| Some(value.to_string()))
                        .collect()
                })
                .unwrap_or_default(),
            None => vec![None],
        };
        for partition in partitions {
            let task_id = match (&declaration.partition, &partition) {
                (Some(range), Some(value)) => {
                    format!("{}/{}={value}", declaration.pipeline_id, range.variable)
                }
                _ => declaration.pipeline_id.clone(),
            };
            let naming: Vec<&String> = selectors
                .iter()
                .filter(|selector| is_selected(selector, declaration, &task_id))
                .collect();
            if !naming.is_empty() || (selectors.is_empty() && chosen.has(declaration, &task_id)) {
                tasks.push(Selected {
                    task_id,
                    declaration,
                    partition,
                });
            }
            unused.retain(|unused| !naming.iter().any(|selector| selector == unused));
        }
    }
    unused.first().map_or(Ok(tasks), |selector| {
        Err(unknown_selector(declarations, selector, now))
    })
}

/// Checks that each entry of the settings names something that can be built.
///
/// # Errors
/// Returns `Config`, naming the first entry that does not.
pub fn check_chosen(declarations: &Declarations, chosen: &Chosen, now: Timestamp) -> Result<()> {
    for (key, names) in [
        ("pipelines", &chosen.pipelines),
        ("disabled", &chosen.disabled),
        ("optional", &chosen.optional),
    ] {
        selected(declarations, &Chosen::default(), names, now)
            .map_err(|error| error.context(format!("`{key}` in pubdata.toml")))?;
    }
    Ok(())
}

fn unknown_selector(declarations: &Declarations, selector: &str, now: Timestamp) -> Error {
    let (pipeline_id, requested) = selector.split_once('/').unwrap_or((selector, ""));
    let range = declarations
        .pipelines
        .get(pipeline_id)
        .and_then(|declaration| declaration.partition.as_ref());
    let value = requested
        .split_once('=')
        .and_then(|(_, value)| value.parse::<i32>().ok());
    if let (Some(range), Some(value)) = (range, value)
        && value < range.from
    {
        return Error::config(format!("`{selector}` cannot be built: {}", range.earlier));
    }
    let newest = declarations
        .pipelines
        .get(pipeline_id)
        .and_then(|declaration| declaration.newest_partition(now).ok().flatten());
    if let (Some(value), Some(newest)) = (value, newest)
        && value > newest
    {
        return Error::config(format!(
            "`{selector}` selects nothing: the newest that {pipeline_id} can have is {newest}"
        ));
    }
    let has_none = |declaration: &&Declaration| declaration.produces.is_empty();
    if declarations
        .pipelines
        .get(pipeline_id)
        .filter(has_none)
        .is_some()
    {
        let reads = |declaration: &&Declaration| {
            declaration.inputs.iter().any(|input| input == pipeline_id)
        };
        let readers: Vec<&str> = declarations
            .pipelines
            .values()
            .filter(reads)
            .map(|declaration| declaration.pipeline_id.as_str())
            .collect();
        return Error::config(format!(
            "`{selector}` selects nothing: {pipeline_id} has no tables, its files are read by {}",
            readers.join(", ")
        ))
        .hint(format!("name {} instead", readers.join(" or ")));
    }
    let known: Vec<&str> = declarations.pipelines.keys().map(String::as_str).collect();
    let having = known
        .iter()
        .filter(|known| !pipeline_id.is_empty() && known.contains(pipeline_id))
        .take(NAMES_SHOWN);
    let near: BTreeSet<&str> = nearest(pipeline_id, &known)
        .into_iter()
        .chain(having.copied())
        .collect();
    let meant = match near.len() {
        0 => "name a family such as census, a pipeline such as census.acs5, a dataset, or a task such as census.acs5/vintage=2023".to_owned(),
        _ => format!("did you mean {}?", near.iter().map(|near| format!("`{near}`")).collect::<Vec<_>>().join(" or ")),
    };
    Error::config(format!("`{selector}` selects nothing")).hint(format!(
        "{meant} `pubdata plan --offline` lists every task without asking a publisher"
    ))
}

/// Maximum number of pipeline names in a hint.
const NAMES_SHOWN: usize = 4;

/// Returns the sources that a build reads: its own sources, then the sources of other declarations.
pub(crate) fn sources_of<'a>(
    settings: &'a RunSettings,
    declaration: &'a Declaration,
) -> Result<Vec<(&'a Declaration, &'a Source)>> {
    let mut sources: Vec<(&Declaration, &Source)> = declaration
        .sources
        .iter()
        .map(|source| (declaration, source))
        .collect();
    for source_id in &declaration.inputs {
        sources.push(
            settings.declarations.source(source_id).ok_or_else(|| {
                Error::config(format!("no declaration has a source `{source_id}`"))
            })?,
        );
    }
    Ok(sources)
}
