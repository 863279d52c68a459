//! Other people's programs against ours: readers of the published Parquet, a generator of requests against the API, generators of clients, and a
//! WebSocket client. They are Python
//! packages (`.ci/python-requirements.txt`), found through `PUBDATA_TEST_PYTHON`; without them these tests say so and skip.

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

/// A script of `tests/peers`.
pub fn script(name: &str) -> PathBuf {
    crate::project("tests/peers").join(name)
}

/// Runs the program and returns what it wrote.
pub fn pubdata(arguments: &[&str]) -> Output {
    Command::new(crate::program()).args(arguments).output().unwrap()
}

/// Publishes the project's fixtures into a home and returns the release's id.
pub fn publish_fixtures(home: &Path) -> String {
    let mut arguments = vec!["run".to_owned(), "--home".to_owned(), home.display().to_string()];
    for mirror in crate::case_sources("basic") {
        arguments.extend(["--mirror".to_owned(), mirror.display().to_string()]);
    }
    let run = pubdata(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(matches!(run.status.code(), Some(0 | 10)), "{run:?}");
    let channel = std::fs::read(home.join("channels/nightly/0000000001.json")).unwrap();
    serde_json::from_slice::<serde_json::Value>(&channel).unwrap()["release_id"].as_str().unwrap().to_owned()
}
