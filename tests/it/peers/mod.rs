//! Other people's programs against ours: readers of the published Parquet, and a generator of requests against the API. They are Python
//! packages (`.ci/python-requirements.txt`), found through `PUBDATA_TEST_PYTHON`; without them these tests say so and skip.

mod expected;
mod readers;

use std::path::PathBuf;
use std::process::Command;

/// The interpreter that has the packages; none, having said why, when there is no such interpreter.
pub fn python(packages: &[&str]) -> Option<PathBuf> {
    let Some(interpreter) = std::env::var_os("PUBDATA_TEST_PYTHON").filter(|path| !path.is_empty()).map(PathBuf::from) else {
        eprintln!("skipped: PUBDATA_TEST_PYTHON does not name a Python with the packages of .ci/python-requirements.txt");
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
