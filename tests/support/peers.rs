//! Runs programs by others against ours: readers of the published Parquet, a generator of requests
//! against the API, generators of clients, and a WebSocket client. They are Python packages
//! (`.ci/python-requirements.txt`), found through `PUBDATA_TEST_PYTHON`; without them these tests
//! print a notice and skip.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{Place, copy_folder};

/// Interpreter that has the packages. Returns none and prints the reason if it is missing.
pub fn python(packages: &[&str]) -> Option<PathBuf> {
    python_of("PUBDATA_TEST_PYTHON", packages)
}

/// The same for an interpreter that another variable names.
pub fn python_of(variable: &str, packages: &[&str]) -> Option<PathBuf> {
    let Some(interpreter) = std::env::var_os(variable)
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
    else {
        eprintln!(
            "skipped: {variable} does not name a Python with the packages that .ci/run installs for it"
        );
        return None;
    };
    let imports = format!("import {}", packages.join(", "));
    match Command::new(&interpreter).args(["-c", &imports]).output() {
        Ok(output) if output.status.success() => Some(interpreter),
        Ok(output) => {
            let reason = String::from_utf8_lossy(&output.stderr)
                .lines()
                .last()
                .unwrap_or_default()
                .to_owned();
            eprintln!(
                "skipped: {} cannot `{imports}`: {reason}",
                interpreter.display()
            );
            None
        }
        Err(error) => {
            eprintln!(
                "skipped: {} cannot be started: {error}",
                interpreter.display()
            );
            None
        }
    }
}

/// Path of a script in `tests/peers`.
pub fn script(name: &str) -> PathBuf {
    crate::project("tests/peers").join(name)
}

/// Runs the program and returns its output.
pub fn pubdata(arguments: &[&str]) -> Output {
    Command::new(crate::program())
        .args(arguments)
        .output()
        .unwrap()
}

/// Copies a release of the project's fixtures into a home and returns the release's id.
pub fn publish_fixtures(home: &Path) -> String {
    let place = Place::published();
    copy_folder(&place.home(), home);
    place.current()
}
