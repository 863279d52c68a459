//! Distributes the work of a run on Spark, as `integrations/spark` does: two executors of a local
//! cluster, and a standalone master with two workers. Executors and child processes are killed, a
//! unit is slow, and the store fails. The release equals that of `run`.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use pubdata_testing::objects::{Fault, ObjectServer};
use pubdata_testing::peers::python;
use pubdata_testing::{Answer, Place, answer, project};

/// Returns the interpreter with Spark, if Java is installed.
fn spark() -> Option<PathBuf> {
    let python = python(&["pyspark"])?;
    if Command::new("java")
        .arg("-version")
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return Some(python);
    }
    eprintln!("skipped: there is no Java");
    None
}

const TASKS: [&str; 3] = ["permit.nola", "license.tx_tdlr", "sec.financials"];

/// Writes the program that executors start: it records every try and injects each fault once. A
/// killed child is retried, a killed executor loses its task to the other one, and Spark starts a
/// second try beside a slow one.
fn program(folder: &Path, faults: &str) -> PathBuf {
    let (path, reported) = (folder.join("pubdata-with-faults"), folder.join("tries"));
    std::fs::create_dir_all(&reported).unwrap();
    let script = format!(
        r#"#!/bin/bash
once() {{ mkdir "{reported}/$1" 2>/dev/null; }}
if [ "$1" = task ]; then
    name=$(echo "$2 $6 $8" | tr ' /,' '---')
    echo $$ >> "{reported}/$name.tries"
    case "$name" in
{faults}
    esac
fi
exec "{pubdata}" "$@"
"#,
        reported = reported.display(),
        pubdata = env!("CARGO_BIN_EXE_pubdata"),
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    path
}

/// A child dies in a split.
const CHILD: &str = "        split-license.tx_tdlr-*) once child && kill -9 $$ ;;\n";

/// An executor dies in the middle of a task that is built as a whole.
const EXECUTOR: &str = r#"        build-permit.nola-*) if once executor; then
            pid=$$
            while [ "$(cat /proc/$pid/comm)" != java ]; do pid=$(awk '{print $4}' /proc/$pid/stat); done
            kill -9 $pid
            sleep 60
        fi ;;
"#;

/// A unit of the shards would exceed the test's time limit.
const SLOW: &str = "        build-sec.financials-*) once slow && sleep 600 ;;\n";

/// Returns the number of tries of each batch.
fn tries(folder: &Path, name: &str) -> usize {
    let of_batch = pubdata_testing::files_below(&folder.join("tries"))
        .into_iter()
        .filter(|path| path.to_string_lossy().contains(name));
    of_batch
        .map(|path| std::fs::read_to_string(path).unwrap().lines().count())
        .max()
        .unwrap_or(0)
}

struct Night<'a> {
    python: &'a Path,
    place: &'a Place,
    master: String,
    store: String,
    settings: Vec<&'static str>,
    environment: Vec<(String, String)>,
}

impl Night<'_> {
    fn options(&self, command: &mut Command, program: &Path) -> Answer {
        command
            .env("PYSPARK_PYTHON", self.python)
            .envs(self.environment.iter().cloned())
            .env_remove("PUBDATA_HOME")
            .env_remove("PUBDATA_STORE");
        command
            .args(TASKS)
            .args(["--store", &self.store, "--json", "--batch-bytes", "1"])
            .arg("--binary")
            .arg(program);
        command
            .arg("--home")
            .arg(self.place.root().join("driver"))
            .arg("--mirror")
            .arg(self.place.mirror());
        // Spark keeps its working files in the folder where it starts.
        answer(command.current_dir(self.place.root()))
    }

    /// Starts a module, which leaves standard output to the report.
    fn as_a_module(&self, program: &Path) -> Answer {
        let mut command = Command::new(self.python);
        let submit = format!(
            "--master {} --conf spark.ui.enabled=false pyspark-shell",
            self.master
        );
        command
            .args(["-m", "pubdata_spark"])
            .env("PYTHONPATH", project("integrations/spark"))
            .env("PYSPARK_SUBMIT_ARGS", submit);
        self.options(&mut command, program)
    }

    /// Starts `spark-submit`, which mixes log lines into the output.
    fn submitted(&self, program: &Path) -> Answer {
        let mut command = Command::new(self.python.with_file_name("spark-submit"));
        command.args(["--master", &self.master, "--conf", "spark.ui.enabled=false"]);
        for setting in &self.settings {
            command.args(["--conf", setting]);
        }
        command.arg(project("integrations/spark/nightly.py"));
        self.options(&mut command, program)
    }

    fn verified(&self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pubdata"));
        command
            .args(["verify", "--rebuild", "--store", &self.store, "--home"])
            .arg(self.place.root().join("driver"))
            .envs(self.environment.iter().cloned());
        answer(&mut command).expect(0);
    }
}

fn of_run() -> String {
    Place::new().run(&TASKS).expect(0).release_id()
}

/// Processes of a cluster, which end with the test.
struct Processes(Vec<Child>);

impl Drop for Processes {
    fn drop(&mut self) {
        for process in &mut self.0 {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

#[test]
fn release_of_a_local_cluster_equals_run_whatever_dies() {
    let Some(python) = spark() else { return };
    let place = Place::new();
    let store = format!("file://{}", place.root().join("store").display());
    let night = Night {
        python: &python,
        place: &place,
        master: "local-cluster[2,1,1024]".to_owned(),
        store,
        settings: Vec::new(),
        environment: Vec::new(),
    };
    let report = night
        .as_a_module(&program(place.root(), &format!("{CHILD}{EXECUTOR}")))
        .expect(0);
    assert_eq!(report.release_id(), of_run());
    for (fault, batch) in [
        ("child", "split-license.tx_tdlr"),
        ("executor", "build-permit.nola"),
    ] {
        assert!(
            place.root().join("tries").join(fault).exists(),
            "{fault} happened"
        );
        assert!(tries(place.root(), batch) > 1, "{batch} was tried again");
    }
    night.verified();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn release_of_a_standalone_master_with_a_failing_store_equals_run() {
    let Some(python) = spark() else { return };
    let server = ObjectServer::start(&[Fault::Unavailable, Fault::Conflict]).await;
    let environment = server.environment();
    let nights = tokio::task::spawn_blocking(move || {
        let place = Place::new();
        let located = Command::new(&python)
            .args([
                "-c",
                "import os, pyspark; print(os.path.dirname(pyspark.__file__))",
            ])
            .output()
            .unwrap();
        let class = PathBuf::from(String::from_utf8(located.stdout).unwrap().trim())
            .join("bin/spark-class");
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let master = format!("spark://127.0.0.1:{port}");
        let start = |arguments: &[&str]| {
            let mut command = Command::new(&class);
            command
                .args(arguments)
                .env("PYSPARK_PYTHON", &python)
                .envs(environment.iter().cloned())
                .current_dir(place.root());
            command
                .env("SPARK_WORKER_DIR", place.root().join("work"))
                .env("SPARK_NO_DAEMONIZE", "1")
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command.spawn().unwrap()
        };
        let mut cluster = Processes(Vec::new());
        cluster.0.push(start(&[
            "org.apache.spark.deploy.master.Master",
            "--host",
            "127.0.0.1",
            "--port",
            &port.to_string(),
            "--webui-port",
            "0",
        ]));
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            std::thread::park_timeout(Duration::from_millis(100));
        }
        // Two hosts: Spark starts a second try beside a slow one only on another host.
        for host in ["127.0.0.1", "127.0.0.2"] {
            let worker = [
                "org.apache.spark.deploy.worker.Worker",
                &master,
                "--host",
                host,
                "--cores",
                "1",
                "--memory",
                "1g",
                "--webui-port",
                "0",
            ];
            cluster.0.push(start(&worker));
        }
        let settings = vec![
            "spark.executor.memory=512m",
            "spark.driver.host=127.0.0.1",
            "spark.executor.cores=1",
            "spark.speculation=true",
            "spark.speculation.interval=200ms",
            "spark.speculation.quantile=0.3",
            "spark.speculation.multiplier=1.1",
            "spark.speculation.minTaskRuntime=1s",
        ];
        let night = Night {
            python: &python,
            place: &place,
            master,
            store: "s3://bucket/night".to_owned(),
            settings,
            environment: environment.clone(),
        };
        let report = night
            .submitted(&program(place.root(), &format!("{CHILD}{SLOW}")))
            .expect(0);
        for (fault, batch) in [
            ("child", "split-license.tx_tdlr"),
            ("slow", "build-sec.financials"),
        ] {
            assert!(
                place.root().join("tries").join(fault).exists(),
                "{fault} happened"
            );
            assert!(tries(place.root(), batch) > 1, "{batch} was tried again");
        }
        night.verified();
        let (_, after) = report
            .stdout
            .split_once("\"release_id\": \"")
            .expect("the report is among the log lines");
        after[..21].to_owned()
    });
    assert_eq!(
        nights.await.unwrap(),
        tokio::task::spawn_blocking(of_run).await.unwrap()
    );
}

/// Examples for other schedulers have valid form and call commands and options that exist.
#[test]
fn examples_for_other_schedulers_use_existing_commands() {
    let Some(python) = python(&["yaml"]) else {
        return;
    };
    let listed = Command::new(python)
        .arg(pubdata_testing::peers::script("placed_examples.py"))
        .arg(project("integrations"))
        .output()
        .unwrap();
    assert!(
        listed.status.success(),
        "{}",
        String::from_utf8_lossy(&listed.stderr)
    );
    let commands = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(commands.lines().count(), 11, "{commands}");
    let folder = tempfile::tempdir().unwrap();
    for command in commands.lines() {
        let words: Vec<&str> = command
            .split_whitespace()
            .skip(1)
            .filter(|word| !["--write", "--json"].contains(word))
            .collect();
        let mut requested = Command::new(env!("CARGO_BIN_EXE_pubdata"));
        requested
            .args(&words)
            .arg("--home")
            .arg(folder.path())
            .env_remove("PUBDATA_STORE");
        if words[0] == "plan" {
            // No server is contacted: an unknown option of a plan would be refused.
            requested.args(["--write", "--json", "no.such.task"]);
        }
        let answer = answer(&mut requested).expect(40);
        assert!(
            ["there is no plan", "selects nothing"]
                .iter()
                .any(|reported| answer.stderr.contains(reported)),
            "{command}: {}",
            answer.stderr
        );
    }
    for script in ["kubernetes/night.sh", "aws-batch/night.sh"] {
        assert!(
            Command::new("sh")
                .arg("-n")
                .arg(project("integrations").join(script))
                .status()
                .unwrap()
                .success(),
            "{script}"
        );
    }
}
