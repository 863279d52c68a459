//! Prints a release on one page: its origin, datasets, builds, and their problems.

use super::output;
use pubdata_core::provenance::Snapshot;
use pubdata_store::Manifest;

/// Prints the page of a release. `channels` are the channels that point at the release.
pub(super) fn print(manifest: &Manifest, channels: &[String]) {
    let samples = if manifest.is_sample {
        ", made from samples"
    } else {
        ""
    };
    output::print_line!(
        "release    {} published {}{samples}",
        output::bold(manifest.release_id.as_str()),
        output::to_seconds(&manifest.published_at)
    );
    output::print_line!(
        "channels   {}",
        if channels.is_empty() {
            "none points at it".to_owned()
        } else {
            channels.join(", ")
        }
    );
    output::print_line!(
        "made by    pubdata {}, run {}",
        manifest.pubdata_version,
        manifest.run_id
    );
    output::print_line!("carries    {}", declarations(manifest));
    output::print_line!();
    let mut rows = vec![
        ["DATASET", "SCHEMA", "ROWS", "PARTS", "SIZE", "QUARANTINED"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (dataset_id, dataset) in &manifest.datasets {
        let quarantined: u64 = manifest.quarantined(dataset_id).values().sum();
        rows.push(vec![
            dataset_id.clone(),
            dataset.schema_version.clone(),
            output::grouped(manifest.rows(dataset_id)),
            output::grouped(dataset.parts.len() as u64),
            output::size(dataset.parts.iter().map(|part| part.size_bytes).sum()),
            if quarantined > 0 {
                output::grouped(quarantined)
            } else {
                String::new()
            },
        ]);
    }
    output::table(&rows);
    output::print_line!();
    let mut rows = vec![
        ["BUILD", "CODE", "FILES", "NEWEST", "BUILT", "STATE"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (task_id, task) in &manifest.tasks {
        let state = match (task.is_stale, task.stale_reason.as_deref()) {
            (false, _) => String::new(),
            (true, reason) => format!(
                "{} {}",
                output::coloured("stale"),
                reason.unwrap_or_default()
            ),
        };
        rows.push(vec![
            task_id.clone(),
            task.code_version.clone(),
            output::grouped(task.inputs.len() as u64),
            task.inputs
                .iter()
                .filter_map(Snapshot::day)
                .max()
                .map_or_else(String::new, |day| day.to_string()),
            output::to_seconds(&task.built_at),
            state,
        ]);
    }
    output::table(&rows);
    output::print_paragraph!(
        "{}",
        output::dim("--json shows the whole manifest, with every file, part and digest")
    );
}

/// Describes the builds for which the release keeps declarations and contracts.
fn declarations(manifest: &Manifest) -> String {
    let of = manifest
        .tasks
        .values()
        .filter(|task| manifest.has_declarations_of(task))
        .count();
    match of {
        0 => "no declarations: it is of an earlier version, which kept none".to_owned(),
        of if of == manifest.tasks.len() => {
            format!(
                "the declarations and contracts of {}",
                if of == 1 {
                    "its build".to_owned()
                } else {
                    format!("all {of} builds")
                }
            )
        }
        of => format!(
            "the declarations and contracts of {of} of {}; the others are of an earlier version, which kept none",
            output::counted(manifest.tasks.len(), "build")
        ),
    }
}
