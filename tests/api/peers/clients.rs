//! Tests clients that other generators make from the served document, and the client of
//! `clients/python`: each is generated, compiled and run against a server.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::serve::Listening;
use pubdata_testing::peers::{python_of, script};
use pubdata_testing::project;

/// Runs a program with address and key in the environment, and returns its output.
fn run(listening: &Listening, program: &mut Command) -> String {
    let output = program
        .env("PUBDATA_URL", &listening.url)
        .env("PUBDATA_KEY", &listening.served.key)
        .output()
        .unwrap();
    let printed = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{program:?}: {printed}");
    printed
}

/// Saves the served document to a file.
async fn document(listening: &Listening, folder: &Path) -> PathBuf {
    let path = folder.join("openapi.json");
    std::fs::write(&path, listening.served.get("/v1/openapi.json").await.bytes).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_python_client_compiles_and_gets_answers() {
    let Some(python) = python_of(
        "PUBDATA_TEST_CLIENTS",
        &["openapi_python_client", "httpx", "attr"],
    ) else {
        return;
    };
    let listening = Listening::new().await;
    let folder = tempfile::tempdir().unwrap();
    let document = document(&listening, folder.path()).await;
    let settings = folder.path().join("settings.yaml");
    std::fs::write(&settings, "post_hooks: []\n").unwrap();
    tokio::task::block_in_place(|| {
        let mut generate = Command::new(&python);
        generate.args([
            "-m",
            "openapi_python_client",
            "generate",
            "--meta",
            "none",
            "--fail-on-warning",
        ]);
        generate
            .arg("--path")
            .arg(&document)
            .arg("--config")
            .arg(&settings)
            .arg("--output-path")
            .arg(folder.path().join("generated"));
        run(&listening, &mut generate);
        run(
            &listening,
            Command::new(&python)
                .args(["-m", "compileall", "-q"])
                .arg(folder.path().join("generated")),
        );
        let printed = run(
            &listening,
            Command::new(&python)
                .env("PYTHONPATH", folder.path())
                .arg(script("use_generated.py")),
        );
        assert!(
            printed.trim_end().ends_with("operations answered"),
            "{printed}"
        );
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_typescript_client_compiles_and_gets_answers() {
    let Some(modules) = std::env::var_os("PUBDATA_TEST_TYPESCRIPT")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
    else {
        eprintln!(
            "skipped: PUBDATA_TEST_TYPESCRIPT does not name a folder with the packages of .ci/typescript/package.json"
        );
        return;
    };
    let listening = Listening::new().await;
    let folder = tempfile::tempdir().unwrap();
    let document = document(&listening, folder.path()).await;
    std::os::unix::fs::symlink(
        modules.join("node_modules"),
        folder.path().join("node_modules"),
    )
    .unwrap();
    std::fs::copy(
        script("use_generated.ts"),
        folder.path().join("use_generated.ts"),
    )
    .unwrap();
    std::fs::write(
        folder.path().join("package.json"),
        "{\"type\": \"module\"}\n",
    )
    .unwrap();
    tokio::task::block_in_place(|| {
        let tool = |name: &str| Command::new(modules.join("node_modules/.bin").join(name));
        run(
            &listening,
            tool("openapi-typescript")
                .current_dir(folder.path())
                .arg(&document)
                .args(["--output", "generated.d.ts"]),
        );
        let options = [
            "--strict",
            "--target",
            "es2022",
            "--module",
            "nodenext",
            "--moduleResolution",
            "nodenext",
            "use_generated.ts",
        ];
        run(
            &listening,
            tool("tsc").current_dir(folder.path()).args(options),
        );
        let printed = run(
            &listening,
            Command::new("node")
                .current_dir(folder.path())
                .arg("use_generated.js"),
        );
        assert!(
            printed.trim_end().ends_with("operations answered"),
            "{printed}"
        );
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn python_client_matches_the_document_and_follows_pages() {
    let Some(python) = python_of("PUBDATA_TEST_PYTHON", &["httpx", "polars", "pandas"]) else {
        return;
    };
    let listening = Listening::new().await;
    let folder = tempfile::tempdir().unwrap();
    let document = document(&listening, folder.path()).await;
    tokio::task::block_in_place(|| {
        run(
            &listening,
            Command::new(&python)
                .arg(project("clients/python/generate.py"))
                .arg("--check")
                .arg(&document),
        );
        let mut program = Command::new(&python);
        let printed = run(
            &listening,
            program
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .env("PYTHONPATH", project("clients/python/src"))
                .arg(script("use_client.py")),
        );
        assert!(printed.trim_end().ends_with("all as expected"), "{printed}");
    });
}
