use std::process::Command;

use pubdata_core::ids::Digest;
use pubdata_store::Scope;
use serde_json::{Value, json};

use super::{has, run};
use crate::serve::Listening;
use crate::serve::examples::NO_TOKEN;
use pubdata_testing::peers::python;

/// Served code of each operation in one language.
async fn served(listening: &Listening, label: &str) -> Vec<(String, String)> {
    let api = listening.served.ok("/v1/openapi.json").await;
    let operations = api["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|methods| methods.as_object().unwrap().values());
    // The key in the documents is fictitious: a key of this server replaces it.
    let key_id = format!(
        "k{}",
        Digest::sha256(listening.served.key_of(&[Scope::Geo]).as_bytes()).short(12)
    );
    let source = |operation: &Value| {
        let samples = operation["x-codeSamples"].as_array().unwrap();
        let sample = samples
            .iter()
            .find(|sample| sample["label"] == label)
            .unwrap();
        let source = sample["source"]
            .as_str()
            .unwrap()
            .replace("k0123456789ab", &key_id);
        let operation_id = operation["operationId"].as_str().unwrap();
        let source = match operation_id {
            // Uses another key than the other samples, with its own token bucket.
            "rotateMyKey" | "revokeMyKey" => {
                with_key(&source, &listening.served.key_of(&[Scope::Geo]))
            }
            "showInvitation" | "redeemInvitation" => {
                source.replace(NO_TOKEN, &listening.served.invitation())
            }
            _ => source,
        };
        (operation_id.to_owned(), source)
    };
    operations.map(source).collect()
}

/// Changes a sample to send a given key instead of the one in the environment.
fn with_key(source: &str, key: &str) -> String {
    let of_environment = [
        "os.environ[\"PUBDATA_KEY\"]",
        "process.env.PUBDATA_KEY",
        "Sys.getenv(\"PUBDATA_KEY\")",
    ];
    of_environment
        .iter()
        .fold(source.replace("$PUBDATA_KEY", key), |text, variable| {
            text.replace(variable, &format!("\"{key}\""))
        })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_printed_curl_line_is_answered() {
    if !has("curl") {
        return;
    }
    let listening = Listening::new().await;
    // Curl turns a status of 400 or more into an exit code; the lines themselves stay as printed.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join(".curlrc"),
        "fail-with-body\nsilent\nshow-error\nmax-time = 30\n",
    )
    .unwrap();
    let samples = served(&listening, "curl").await;
    assert!(samples.len() > 30, "{}", samples.len());
    let failed: Vec<String> = tokio::task::block_in_place(|| {
        let ask = |(operation, line): &(String, String)| {
            let mut shell = Command::new("sh");
            shell.args(["-c", line]).env("CURL_HOME", folder.path());
            let printed = run(&listening, shell, "");
            let answer = printed
                .as_deref()
                .map(|text| serde_json::from_str::<Value>(text).unwrap_or_default());
            let is_answer = |answer: &Value| {
                answer["data"].is_object()
                    || answer["data"].is_array()
                    || answer["@type"].is_string()
            };
            (!answer.is_ok_and(|answer| is_answer(&answer)))
                .then(|| format!("{operation}: {line}\n{printed:?}"))
        };
        samples.iter().filter_map(ask).collect()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// Runs all samples in one process, which stops at the first failure and names it.
async fn run_all(label: &str, program: Command) {
    let listening = Listening::new().await;
    let samples = served(&listening, label).await;
    let printed =
        tokio::task::block_in_place(|| run(&listening, program, &json!(samples).to_string()));
    let printed = printed.unwrap_or_else(|said| panic!("{said}"));
    assert!(
        printed.contains(&format!("{} samples", samples.len())),
        "{printed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_printed_python_sample_runs() {
    let Some(python) = python(&["requests"]) else {
        return;
    };
    let driver = "
import json, sys
samples = json.load(sys.stdin)
for name, source in samples:
    try:
        exec(compile(source, name, 'exec'), {})
    except Exception as error:
        sys.exit(f'{name}: {error!r}\\n{source}')
print(len(samples), 'samples')
";
    let mut program = Command::new(python);
    program.args(["-c", driver]);
    run_all("Python", program).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_printed_javascript_sample_runs() {
    if !has("node") {
        return;
    }
    let driver = "
import { readFileSync } from 'node:fs';
const samples = JSON.parse(readFileSync(0));
for (const [name, source] of samples) {
  try {
    await import('data:text/javascript;base64,' + Buffer.from(source).toString('base64'));
  } catch (error) {
    console.error(name, error, source);
    process.exit(1);
  }
}
console.log(samples.length, 'samples');
";
    let mut program = Command::new("node");
    program.args(["--input-type=module", "-e", driver]);
    run_all("JavaScript", program).await;
}

/// Runs the samples if `httr2` and `jsonlite` are installed, and parses them if only R is.
#[tokio::test(flavor = "multi_thread")]
async fn every_printed_r_sample_runs_or_parses() {
    if !has("Rscript") {
        return;
    }
    let listening = Listening::new().await;
    let samples = served(&listening, "R").await;
    let text: Vec<&str> = samples.iter().map(|(_, source)| source.as_str()).collect();
    let driver = "code <- parse(file('stdin')); if (requireNamespace('httr2', quietly = TRUE) && requireNamespace('jsonlite', quietly = TRUE)) for (line in code) eval(line); cat('read')";
    let mut program = Command::new("Rscript");
    program.args(["-e", driver]);
    let printed = tokio::task::block_in_place(|| run(&listening, program, &text.join("\n")));
    assert!(
        printed
            .unwrap_or_else(|said| panic!("{said}"))
            .ends_with("read")
    );
}
