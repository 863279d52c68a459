//! Runs one fixture case through its pipeline with the library, as `pubdata run` does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::issue::SourceFinding;
use pubdata_core::pipeline::Declarations;
use pubdata_core::provenance::SourceRows;
use pubdata_run::ExitCode;
use pubdata_store::Record;
use tempfile::TempDir;

use pubdata_testing::{case_sources, folders, project, rows_below, run_here, settings};

/// Fixture folder whose pipeline publishes datasets.
pub struct Case {
    pub folder: PathBuf,
    pub pipeline_id: String,
    pub name: String,
}

/// Published records of a case by dataset, and the home that holds them.
pub struct Published {
    pub datasets: BTreeMap<String, BTreeMap<String, Record>>,
    /// Row counts of each source, by task.
    pub source_rows: BTreeMap<String, BTreeMap<String, SourceRows>>,
    _home: TempDir,
}

/// Returns every case that is a mirror and whose pipeline publishes datasets.
pub fn cases() -> Vec<Case> {
    let declarations = Declarations::load(DeclarationFiles::built_in()).unwrap();
    let mut cases = Vec::new();
    for family in folders(&project("fixtures")) {
        for pipeline in folders(&family) {
            let pipeline_id = format!("{}.{}", file_name(&family), file_name(&pipeline));
            let publishes = declarations
                .pipelines
                .get(&pipeline_id)
                .is_some_and(|declaration| !declaration.produces.is_empty());
            for folder in folders(&pipeline)
                .into_iter()
                .filter(|folder| publishes && folder.join("source/.pubdata-mirror").is_file())
            {
                cases.push(Case {
                    name: file_name(&folder),
                    folder,
                    pipeline_id: pipeline_id.clone(),
                });
            }
        }
    }
    cases
}

pub fn case(pipeline_id: &str, name: &str) -> Case {
    cases()
        .into_iter()
        .find(|case| case.pipeline_id == pipeline_id && case.name == name)
        .unwrap()
}

/// Publishes a case over the basic fixtures of all pipelines.
pub async fn publish(case: &Case) -> Published {
    let mut files = DeclarationFiles::built_in();
    let mut selector = case.pipeline_id.clone();
    match case.name.as_str() {
        // The 2024 layout belongs to an earlier file, which the declaration no longer names.
        "2024_layout" => {
            let path = "pipelines/census/gazetteer.toml";
            let text = std::fs::read_to_string(project(path)).unwrap();
            let earlier = text.replace("{ from = \"2025\", to = \"now\", last = 1 }", "[\"2024\"]");
            assert_ne!(text, earlier);
            files = files.with(&[(path, &earlier)]);
        }
        // Most of these few rows are wrong on purpose, so their share means nothing.
        "bad_rows" | "bad_records" => {
            let path = format!("pipelines/{}.toml", case.pipeline_id.replace('.', "/"));
            let text = std::fs::read_to_string(project(&path)).unwrap();
            let lax = text.lines().map(|line| match line.split(' ').next() {
                Some(name @ ("max_quarantined_percent" | "warn_quarantined_percent")) => {
                    format!("{name} = 100.0")
                }
                _ => line.to_owned(),
            });
            files = files.with(&[(path.as_str(), lax.collect::<Vec<_>>().join("\n").as_str())]);
        }
        "api_key" => selector.push_str("/vintage=2023"),
        _ => {}
    }
    let home = tempfile::tempdir().unwrap();
    let mirrors = std::iter::once(case.folder.join("source"))
        .chain(case_sources("basic"))
        .map(|folder| folder.display().to_string())
        .collect();
    let mut settings = settings(home.path(), mirrors, files);
    settings.selectors = vec![selector];
    if case.name == "api_key" {
        settings.fetch.secret = |_| Some("a-key".to_owned());
    }
    let report = run_here(&settings).await;
    // Most sources contain an unknown word on purpose.
    let is_of_words = |finding: &SourceFinding| {
        ["unknown_words", "meaning_lost", "empty_column"].contains(&finding.code.as_str())
    };
    let needs_nobody = report.tasks.iter().all(|task| {
        !task.is_above_warning_level
            && task.late_since.is_none()
            && task.findings.iter().all(is_of_words)
    });
    assert!(
        [ExitCode::Ok, ExitCode::Quarantined].contains(&report.exit_code) && needs_nobody,
        "{report:#?}"
    );
    let release = settings
        .home
        .root()
        .join("releases")
        .join(report.release_id.unwrap().as_str());
    let source_rows = report
        .tasks
        .into_iter()
        .map(|task| (task.task_id, task.source_rows))
        .collect();
    let of_records = |folder: &PathBuf| !folder.ends_with("declarations");
    let datasets = folders(&release)
        .into_iter()
        .filter(of_records)
        .map(|folder| (file_name(&folder), rows_below(&folder)))
        .collect();
    Published {
        datasets,
        source_rows,
        _home: home,
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
