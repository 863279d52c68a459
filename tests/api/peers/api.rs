use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use pubdata_testing::peers::{pubdata, publish_fixtures, python, script};

/// `pubdata serve` on a free loopback port; ended when dropped.
pub struct Server {
    process: Child,
    pub address: String,
    log: PathBuf,
}

impl Server {
    pub fn start(home: &Path, declarations: &Path) -> Self {
        let address = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .to_string();
        let log = home.join("serve.log");
        let file = File::create(&log).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_pubdata"));
        command.args([
            "serve",
            "--home",
            home.to_str().unwrap(),
            "--bind",
            &address,
            "--declarations",
            declarations.to_str().unwrap(),
        ]);
        let process = command
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        Self {
            process,
            address,
            log,
        }
    }

    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap()).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already; both outcomes are fine.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Writes the built-in declarations with almost no limit for callers without a key: a refusal for
/// too many requests would hide every other answer.
pub fn declarations_without_limits(folder: &Path) {
    let (limited, unlimited) = (
        "[anonymous]\nrequests_per_minute = 120\nburst = 60\n",
        "[anonymous]\nrequests_per_minute = 1_000_000\nburst = 1_000_000\n",
    );
    for path in ["schemas", "pipelines"]
        .iter()
        .flat_map(|root| files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join(root)))
    {
        let target = folder.join(path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(path, target).unwrap();
    }
    let plans = folder.join("schemas/_plans.toml");
    let text = std::fs::read_to_string(&plans).unwrap();
    assert!(text.contains(limited), "{text}");
    std::fs::write(plans, text.replace(limited, unlimited)).unwrap();
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| {
        if path.is_dir() {
            files_below(&path)
        } else {
            vec![path]
        }
    };
    std::fs::read_dir(folder)
        .unwrap()
        .flat_map(|entry| below(entry.unwrap().path()))
        .collect()
}

/// Runs schemathesis with every check but one against the server and returns its report.
///
/// The excluded check wants 405 for each method that the document does not list; `HEAD` and
/// `OPTIONS` are answered on every path.
fn fuzz(python: &Path, server: &mut Server, folder: &Path, release_id: &str, key: &str) -> Value {
    let settings = folder.join("schemathesis.toml");
    let text = std::fs::read_to_string(script("schemathesis.toml"))
        .unwrap()
        .replace("THE_RELEASE", release_id);
    std::fs::write(&settings, text).unwrap();
    let report = folder.join("report.json");
    let output = Command::new(python)
        .current_dir(folder)
        .env("PYTHONPATH", script(""))
        .args(["-B", "-m", "schemathesis.cli", "--config-file"])
        .arg(settings)
        .args([
            "run",
            &format!("http://{}/v1/openapi.json", server.address),
            "--wait-for-schema",
            "30",
            "--no-color",
        ])
        .args([
            "--checks",
            "all",
            "--exclude-checks",
            "unsupported_method",
            "--max-examples",
            "40",
            "--header",
            &format!("X-API-Key: {key}"),
        ])
        .args(["--report", "json", "--report-json-path"])
        .arg(&report)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}\n{}", server.log());
    assert!(
        server.process.try_wait().unwrap().is_none(),
        "the server ended: {}",
        server.log()
    );
    assert!(!server.log().contains("panicked"), "{}", server.log());
    serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap()
}

#[test]
fn generated_requests_find_no_fault_in_the_api() {
    let Some(python) = python(&["schemathesis"]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (home, declarations) = (
        folder.path().join("home"),
        folder.path().join("declarations"),
    );
    let release_id = publish_fixtures(&home);
    declarations_without_limits(&declarations);
    let scopes = "general,geo,sec,stream,admin";
    let created = pubdata(&[
        "keys",
        "create",
        "--home",
        home.to_str().unwrap(),
        "--name",
        "peers",
        "--scopes",
        scopes,
        "--plan",
        "unlimited",
        "--json",
    ]);
    let created: Value = serde_json::from_slice(&created.stdout).unwrap();
    let secret = folder.path().join("signing.key");
    let (at_home, secret) = (["--home", home.to_str().unwrap()], secret.to_str().unwrap());
    assert!(
        pubdata(&[
            "keys",
            "signing",
            "--name",
            "data.example.org/2026",
            "--output",
            secret
        ])
        .status
        .success()
    );
    assert!(
        pubdata(&[&["seal", "--signing-key", secret][..], &at_home].concat())
            .status
            .success()
    );

    let mut server = Server::start(&home, &declarations);
    let report = fuzz(
        &python,
        &mut server,
        folder.path(),
        &release_id,
        created["key"].as_str().unwrap(),
    );
    let operations = &report["operations"];
    assert_eq!(
        (&operations["tested"], &operations["errored"]),
        (&operations["total"], &Value::from(0)),
        "{operations}"
    );
    // A request refused by rate limits, and an answer without content, do not exercise the code
    // behind them.
    assert_eq!(report["warnings"]["rate_limited"], Value::Array(Vec::new()));
    let accepted = |phases: &Value| {
        phases
            .as_object()
            .unwrap()
            .values()
            .filter_map(|phase| phase["accepted"].as_u64())
            .sum::<u64>()
    };
    let rates: Vec<(&String, u64)> = report["valid_rates"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(operation, phases)| (operation, accepted(phases)))
        .collect();
    let enough = |operation: &str| {
        // No generated id is the id of a key, no generated token belongs to an invitation, and a
        // single release has no changes.
        if operation.ends_with("/revoke")
            || operation.contains("/invitations/")
            || operation.ends_with("/changes")
        {
            return 0;
        }
        // A replaced secret cannot replace another.
        if operation.ends_with("/me/rotate") {
            return 1;
        }
        // An endpoint without parameters, or with a single existing value, gets only a few
        // requests.
        let is_asked_little = ["/admin/", "/snapshots/", "/receipts/"]
            .iter()
            .any(|part| operation.contains(part))
            || operation.ends_with("/v1/me");
        if is_asked_little { 2 } else { 5 }
    };
    let is_tried = rates
        .iter()
        .all(|(operation, accepted)| *accepted >= enough(operation));
    // The secret in use was replaced by then, and a replaced one revokes nothing: every request is
    // refused.
    let refused = u64::from(
        !rates
            .iter()
            .any(|(operation, _)| operation.ends_with("/me/revoke")),
    );
    assert!(
        rates.len() as u64 + refused == operations["total"].as_u64().unwrap() && is_tried,
        "{rates:?}"
    );
}
