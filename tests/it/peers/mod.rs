//! Other people's programs against ours: readers of the published Parquet, a generator of requests against the API, generators of clients, and a
//! WebSocket client. They are Python
//! packages (`.ci/python-requirements.txt`), found through `PUBDATA_TEST_PYTHON`; without them these tests say so and skip.

mod api;
mod azurite;
mod browser;
mod clients;
mod croissant;
mod expected;
mod moto;
mod orchestrators;
mod readers;
mod receipts;
mod spark;
mod stream;
mod tables;
mod views;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The interpreter that has the packages; none, having said why, when there is no such interpreter.
pub fn python(packages: &[&str]) -> Option<PathBuf> {
    python_of("PUBDATA_TEST_PYTHON", packages)
}

/// The same of an interpreter that another variable names.
pub fn python_of(variable: &str, packages: &[&str]) -> Option<PathBuf> {
    let Some(interpreter) = std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from) else {
        eprintln!("skipped: {variable} does not name a Python with the packages that .ci/run installs for it");
        return None;
    };
    let imports = format!("import {}", packages.join(", "));
    match Command::new(&interpreter).args(["-c", &imports]).output() {
        Ok(output) if output.status.success() => Some(interpreter),
        Ok(output) => {
            let reason = String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned();
            eprintln!("skipped: {} cannot `{imports}`: {reason}", interpreter.display());
            None
        }
        Err(error) => {
            eprintln!("skipped: {} cannot be started: {error}", interpreter.display());
            None
        }
    }
}

/// A script beside this file.
pub fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/peers").join(name)
}

/// Runs the program and returns what it wrote.
pub fn pubdata(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pubdata")).args(arguments).output().unwrap()
}

/// Publishes the project's fixtures into a home and returns the release's id.
pub fn publish_fixtures(home: &Path) -> String {
    let mut arguments = vec!["run".to_owned(), "--home".to_owned(), home.display().to_string()];
    for mirror in mirrors() {
        arguments.extend(["--mirror".to_owned(), mirror.display().to_string()]);
    }
    let run = pubdata(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(matches!(run.status.code(), Some(0 | 10)), "{run:?}");
    let channel = std::fs::read(home.join("channels/nightly/0000000001.json")).unwrap();
    serde_json::from_slice::<serde_json::Value>(&channel).unwrap()["release_id"].as_str().unwrap().to_owned()
}

/// The sources of the fixtures' basic cases: `fixtures/<family>/<dataset>/basic/source`.
fn mirrors() -> Vec<PathBuf> {
    let folders =
        |folder: &Path| -> Vec<PathBuf> { std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect() };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let datasets = folders(&root).into_iter().flat_map(|family| folders(&family));
    let mut mirrors: Vec<PathBuf> = datasets.map(|dataset| dataset.join("basic/source")).filter(|source| source.is_dir()).collect();
    mirrors.sort();
    mirrors
}
