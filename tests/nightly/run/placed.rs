//! Checks distributed runs: other processes do the work manually, in any order, twice, killed, and
//! on a failing store. The release always equals that of `run`.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

use pubdata_build::publish::fault::{TASK_FAULT_POINTS, VARIABLE};
use serde_json::{Value, json};

use pubdata_testing::objects::{Fault, ObjectServer};
use pubdata_testing::publisher::archive;
use pubdata_testing::{Answer, Place, answer, files_below, member_bytes};

/// Tasks that are built whole, in buckets after a first wave, and shard by shard.
const TASKS: [&str; 3] = ["permit.nola", "license.tx_tdlr", "sec.financials"];
const PERMITS: &str = "72f9-bi28/rows.csv@accessType=DOWNLOAD";
const FACTS: &str = "companyfacts.zip";
const REGISTRY: &str = "cordata.zip";

/// Machines that share a store: one that plans and commits, and one that builds.
pub struct Machines<'a> {
    pub place: &'a Place,
    pub store: String,
    pub environment: Vec<(String, String)>,
}

impl<'a> Machines<'a> {
    pub fn new(place: &'a Place) -> Self {
        Self {
            place,
            store: format!("file://{}", place.root().join("store").display()),
            environment: Vec::new(),
        }
    }

    pub fn on(place: &'a Place, server: &ObjectServer) -> Self {
        Self {
            place,
            store: "s3://bucket/night".to_owned(),
            environment: server.environment(),
        }
    }

    pub fn home(&self, machine: &str) -> PathBuf {
        self.place.root().join(machine)
    }

    fn command(&self, machine: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pubdata"));
        for name in [
            "PUBDATA_HOME",
            "PUBDATA_STORE",
            "PUBDATA_DECLARATIONS",
            "PUBDATA_LOG",
        ] {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .arg("--json")
            .arg("--home")
            .arg(self.home(machine))
            .envs(self.environment.iter().cloned());
        command
    }

    pub fn ask(&self, machine: &str, arguments: &[&str]) -> Answer {
        answer(&mut self.command(machine, arguments))
    }

    #[track_caller]
    pub fn plan(&self) -> Plan {
        self.plan_of(&TASKS)
    }

    #[track_caller]
    fn plan_of(&self, tasks: &[&str]) -> Plan {
        let mirror = self.place.mirror().display().to_string();
        let written = self
            .ask(
                "driver",
                &[
                    &[
                        "plan",
                        "--write",
                        "--store",
                        &self.store,
                        "--mirror",
                        &mirror,
                    ],
                    tasks,
                ]
                .concat(),
            )
            .expect(0)
            .json();
        let list = |of: &Value, key: &str| {
            of.as_array()
                .unwrap()
                .iter()
                .map(|item| item[key].to_string().trim_matches('"').to_owned())
                .collect()
        };
        let work = written["work"].as_array().unwrap().iter().map(|work| Work {
            task_id: work["task_id"].as_str().unwrap().to_owned(),
            inputs: list(&work["inputs"], "number"),
            units: list(&work["units"], "key"),
        });
        Plan {
            address: written["plan"].as_str().unwrap().to_owned(),
            work: work.collect(),
        }
    }

    fn split(&self, machine: &str, plan: &Plan, work: &Work) -> Command {
        self.command(
            machine,
            &[
                "task",
                "split",
                "--plan",
                &plan.address,
                "--task",
                &work.task_id,
                "--input",
                &work.inputs.join(","),
            ],
        )
    }

    fn build(&self, machine: &str, plan: &Plan, work: &Work, units: &[String]) -> Command {
        self.command(
            machine,
            &[
                "task",
                "build",
                "--plan",
                &plan.address,
                "--task",
                &work.task_id,
                "--unit",
                &units.join(","),
            ],
        )
    }

    /// Does all work of the plan on one machine.
    #[track_caller]
    pub fn work(&self, machine: &str, plan: &Plan) {
        for work in &plan.work {
            if !work.inputs.is_empty() {
                answer(&mut self.split(machine, plan, work)).expect(0);
            }
            if !work.units.is_empty() {
                answer(&mut self.build(machine, plan, work, &work.units)).expect(0);
            }
        }
    }

    pub fn commit(&self, machine: &str, plan: &Plan) -> Answer {
        self.ask(machine, &["commit", "--plan", &plan.address])
    }

    /// Returns the number of releases in the store, by the files that name them.
    fn releases(&self) -> usize {
        files_below(&self.place.root().join("store"))
            .iter()
            .filter(|path| path.ends_with("manifest.json"))
            .count()
    }
}

pub struct Plan {
    address: String,
    work: Vec<Work>,
}

pub struct Work {
    task_id: String,
    inputs: Vec<String>,
    units: Vec<String>,
}

/// Changes one permit, and one figure of one registrant.
pub fn second_night(place: &Place) {
    place.edit(PERMITS, |text| {
        text.replace("15-14477-EVAC,VACANCY", "15-14478-EVAC,VACANCY")
    });
    place.edit_archive(FACTS, |members: &mut BTreeMap<String, String>| {
        let text = members.values_mut().next().unwrap();
        *text = text.replacen("\"val\":", "\"val\":1", 1);
    });
}

/// Returns the releases that `run` makes of the same files, run by run.
pub fn of_run(nights: usize) -> Vec<String> {
    let place = Place::new();
    let mut made = vec![place.run(&TASKS).expect(0).release_id()];
    if nights > 1 {
        second_night(&place);
        made.push(place.run(&TASKS).expect(0).release_id());
    }
    made
}

#[test]
fn distributed_run_makes_the_release_of_run() {
    let expected = of_run(2);
    let place = Place::new();
    let machines = Machines::new(&place);
    let plan = machines.plan();
    let shapes: Vec<(bool, bool)> = plan
        .work
        .iter()
        .map(|work| (work.inputs.is_empty(), work.units.len() > 1))
        .collect();
    assert_eq!(plan.work.len(), 3);
    assert!(
        shapes.contains(&(true, false))
            && shapes.contains(&(true, true))
            && shapes.contains(&(false, true)),
        "whole, shards, buckets: {shapes:?}"
    );
    machines.work("executor", &plan);
    assert_eq!(
        machines.commit("driver", &plan).expect(0).release_id(),
        expected[0]
    );

    second_night(&place);
    let next = machines.plan();
    let tasks: Vec<&str> = next.work.iter().map(|work| work.task_id.as_str()).collect();
    assert_eq!(
        tasks,
        ["permit.nola", "sec.financials"],
        "unchanged tasks are not built"
    );
    assert!(
        next.work[1].units.len()
            < plan
                .work
                .iter()
                .find(|work| work.task_id == tasks[1])
                .unwrap()
                .units
                .len(),
        "nor are unchanged shards"
    );
    machines.work("executor", &next);
    let committed = machines.commit("driver", &next).expect(0);
    assert_eq!(committed.release_id(), expected[1]);
    let subjects = &committed.task("sec.financials")["subjects"];
    assert!(
        subjects["built"].as_u64() == Some(1) && subjects["carried"].as_u64() >= Some(1),
        "{subjects}"
    );
    machines
        .ask(
            "driver",
            &["verify", "--rebuild", "--store", &machines.store],
        )
        .expect(0);
}

#[test]
fn worker_shares_cover_the_work_exactly_once() {
    let place = Place::new();
    let machines = Machines::new(&place);
    let plan = machines.plan();
    let mut done = Vec::new();
    for what in ["split", "build"] {
        for share in ["0/3", "1/3", "2/3"] {
            let reported = machines
                .ask(
                    "executor",
                    &["task", what, "--plan", &plan.address, "--share", share],
                )
                .expect(0)
                .json();
            let of_share = reported["units"].as_array().unwrap().clone();
            assert!(!of_share.is_empty() || what == "split", "{what} {share}");
            assert!(
                of_share.iter().all(|unit| unit["is_known"] == false),
                "{of_share:?}"
            );
            done.extend(of_share);
        }
    }
    assert_eq!(
        done.len(),
        plan.work
            .iter()
            .map(|work| work.inputs.len() + work.units.len())
            .sum::<usize>()
    );
    assert_eq!(
        machines.commit("driver", &plan).expect(0).release_id(),
        of_run(1)[0]
    );
    machines
        .ask(
            "executor",
            &["task", "build", "--plan", &plan.address, "--share", "3/3"],
        )
        .expect(40);
    machines
        .ask(
            "executor",
            &[
                "task",
                "build",
                "--plan",
                &plan.address,
                "--task",
                "permit.nola",
            ],
        )
        .expect(40);
    machines
        .ask("executor", &["task", "build", "--plan", &plan.address])
        .expect(40);
}

#[test]
fn commit_waits_for_all_units_and_repeated_work_counts_once() {
    let place = Place::new();
    let machines = Machines::new(&place);
    let plan = machines.plan();
    let buckets = plan
        .work
        .iter()
        .find(|work| !work.inputs.is_empty())
        .unwrap();
    let early =
        answer(&mut machines.build("executor", &plan, buckets, &buckets.units[..1])).expect(30);
    assert!(
        early.stderr.contains("is not split yet") && early.stderr.contains("task split"),
        "{early:?}"
    );

    let other = &plan
        .work
        .iter()
        .find(|work| work.inputs.is_empty())
        .unwrap();
    answer(&mut machines.build("executor", &plan, other, &other.units)).expect(0);
    let again = answer(&mut machines.build("another", &plan, other, &other.units))
        .expect(0)
        .json();
    assert_eq!(again["units"][0]["is_known"], true, "{again}");
    let refused = machines.commit("driver", &plan).expect(30);
    assert!(
        refused
            .stderr
            .contains("are not done, nothing is published")
            && refused.stderr.contains(&buckets.task_id),
        "{refused:?}"
    );
    assert_eq!(machines.releases(), 0);

    machines.work("executor", &plan);
    // Two concurrent commits, on two machines.
    let mut commits: Vec<_> = ["driver", "other"]
        .map(|machine| {
            machines
                .command(machine, &["commit", "--plan", &plan.address])
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .into();
    for commit in &mut commits {
        assert!(commit.wait().unwrap().success());
    }
    let third = machines.commit("driver", &plan).expect(0);
    assert_eq!(
        (third.json()["outcome"].as_str(), machines.releases()),
        (Some("unchanged"), 1)
    );
    assert_eq!(third.release_id(), of_run(1)[0]);
    let generations = files_below(&place.root().join("store/channels/nightly")).len();
    assert_eq!(generations, 1, "the channel moved once");

    // A plan from before the channel moved.
    second_night(&place);
    let late = machines.plan();
    machines.work("executor", &late);
    place.edit(PERMITS, |text| {
        text.replace("15-14478-EVAC,VACANCY", "15-14479-EVAC,VACANCY")
    });
    let sooner = machines.plan();
    machines.work("executor", &sooner);
    machines.commit("driver", &sooner).expect(0);
    let busy = machines.commit("driver", &late).expect(50);
    assert!(busy.stderr.contains("plan again"), "{busy:?}");
}

#[test]
fn impossible_work_is_refused_with_the_reason() {
    let place = Place::new();
    let machines = Machines::new(&place);
    let plan = machines.plan();
    let refused = |arguments: &[&str], words: &[&str]| {
        let answer = machines.ask("executor", arguments).expect(40);
        assert!(
            words.iter().all(|word| answer.stderr.contains(word)),
            "{arguments:?}: {words:?}: {}",
            answer.stderr
        );
    };
    refused(
        &["commit", "--plan", "tonight"],
        &["is not a plan", "plan --write"],
    );
    let unknown = "0".repeat(64);
    refused(
        &["commit", "--store", &machines.store, "--plan", &unknown],
        &["there is no plan", "plan --write"],
    );
    refused(
        &[
            "task",
            "build",
            "--plan",
            &plan.address,
            "--task",
            "permit.austin",
            "--unit",
            "0",
        ],
        &["has no task `permit.austin`", "permit.nola"],
    );
    refused(
        &[
            "task",
            "build",
            "--plan",
            &plan.address,
            "--task",
            "permit.nola",
            "--unit",
            "7",
        ],
        &["has no unit `7`", "its units are 0"],
    );
    refused(
        &[
            "task",
            "split",
            "--plan",
            &plan.address,
            "--task",
            "permit.nola",
            "--input",
            "0",
        ],
        &["nothing to split", "task build"],
    );
    refused(
        &[
            "task",
            "split",
            "--plan",
            &plan.address,
            "--task",
            "license.tx_tdlr",
            "--input",
            "9",
        ],
        &["has no input 9", "0 to"],
    );

    // Written as by another program.
    let path = plan.address.strip_prefix("file://").unwrap();
    let mut text: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    text["program"] = "1".repeat(64).into();
    let bytes = serde_json::to_vec(&text).unwrap();
    let hash = pubdata_core::ids::Digest::sha256(&bytes);
    std::fs::write(place.root().join(format!("store/plans/{hash}.json")), bytes).unwrap();
    refused(
        &[
            "commit",
            "--store",
            &machines.store,
            "--plan",
            &hash.to_string(),
        ],
        &["another program", "plan again"],
    );
    std::fs::write(place.root().join(format!("store/plans/{hash}.json")), "{}").unwrap();
    machines
        .ask(
            "executor",
            &[
                "commit",
                "--store",
                &machines.store,
                "--plan",
                &hash.to_string(),
            ],
        )
        .expect(60);
}

/// A problem that blocks a task in a run blocks it here, with the same words, and the last good
/// build stays.
#[test]
fn blocked_unit_blocks_only_its_task() {
    let damage = |place: &Place| {
        second_night(place);
        place.edit(PERMITS, |text| {
            text.lines()
                .take(2)
                .map(|line| format!("{line}\n"))
                .collect()
        });
        place.edit_archive(FACTS, |members| {
            *members.values_mut().last().unwrap() = "{".to_owned();
        });
    };
    let expected = {
        let place = Place::new();
        place.run(&TASKS).expect(0);
        damage(&place);
        place.run(&TASKS).expect(20)
    };
    let place = Place::new();
    let machines = Machines::new(&place);
    let first = machines.plan();
    machines.work("executor", &first);
    machines.commit("driver", &first).expect(0);
    damage(&place);
    let plan = machines.plan();
    for work in plan.work.iter().filter(|work| !work.units.is_empty()) {
        let built = answer(&mut machines.build("executor", &plan, work, &work.units));
        assert!([Some(0), Some(20)].contains(&built.code), "{built:?}");
    }
    let committed = machines.commit("driver", &plan).expect(20);
    assert_eq!(
        committed.json()["release_id"],
        expected.json()["release_id"]
    );
    for task in TASKS {
        let of = |answer: &Answer| {
            (
                answer.task(task)["outcome"].clone(),
                answer.task(task)["next_step"].clone(),
            )
        };
        let same_but_for_paths = |(outcome, next): (Value, Value)| {
            (
                outcome,
                next.as_str()
                    .map(|text| text.rsplit("issues.jsonl").next().unwrap().to_owned()),
            )
        };
        assert_eq!(
            same_but_for_paths(of(&committed)),
            same_but_for_paths(of(&expected)),
            "{task}"
        );
        assert_eq!(committed.reasons(task), expected.reasons(task), "{task}");
    }
}

#[test]
fn unit_killed_at_any_step_is_finished_by_the_next_try() {
    let expected = of_run(1).remove(0);
    for point in TASK_FAULT_POINTS {
        let place = Place::new();
        let machines = Machines::new(&place);
        let plan = machines.plan();
        for work in &plan.work {
            if !work.inputs.is_empty() && *point != "task.part_placed" {
                let killed = machines
                    .split("executor", &plan, work)
                    .env(VARIABLE, point)
                    .output()
                    .unwrap();
                assert_eq!(killed.status.signal(), Some(6), "{point}: {killed:?}");
            }
            if !work.inputs.is_empty() {
                answer(&mut machines.split("executor", &plan, work)).expect(0);
            }
            let killed = machines
                .build("executor", &plan, work, &work.units)
                .env(VARIABLE, point)
                .output()
                .unwrap();
            assert_eq!(killed.status.signal(), Some(6), "{point}: {killed:?}");
        }
        machines.work("executor", &plan);
        assert_eq!(
            machines.commit("driver", &plan).expect(0).release_id(),
            expected,
            "{point}"
        );
        let left: Vec<_> = files_below(&machines.home("executor").join("scratch"));
        assert!(
            left.is_empty(),
            "{point}: files of killed processes are removed: {left:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn distributed_run_on_a_failing_store_makes_the_release_of_run() {
    let expected = tokio::task::spawn_blocking(|| of_run(1).remove(0))
        .await
        .unwrap();
    for faults in [
        &[][..],
        &[Fault::Conflict],
        &[Fault::LostAnswer],
        &[Fault::Unavailable],
    ] {
        let server = ObjectServer::start(faults).await;
        let made = tokio::task::spawn_blocking(move || {
            let place = Place::new();
            let machines = Machines::on(&place, &server);
            let plan = machines.plan();
            assert!(
                plan.address.starts_with("s3://bucket/night/plans/"),
                "{}",
                plan.address
            );
            machines.work("executor", &plan);
            let made = machines.commit("driver", &plan).expect(0).release_id();
            machines
                .ask(
                    "driver",
                    &["verify", "--rebuild", "--store", &machines.store],
                )
                .expect(0);
            made
        });
        assert_eq!(made.await.unwrap(), expected, "{faults:?}");
    }
}

#[test]
fn damaged_unit_result_is_named_with_a_hint_and_upgrade_lists_formats() {
    let place = Place::new();
    let machines = Machines::new(&place);
    let plan = machines.plan();
    machines.work("executor", &plan);
    let formats = |store: &str| {
        let report = machines
            .ask("driver", &["upgrade", "--store", store])
            .expect(0)
            .json();
        let of = |name: &str| {
            report["formats"]
                .as_array()
                .unwrap()
                .iter()
                .find(|format| format["name"] == name)
                .map(|format| format["found"].clone())
        };
        ["plans", "receipts of units", "API keys of the store"].map(of)
    };
    let units: usize = plan
        .work
        .iter()
        .map(|work| work.inputs.len() + work.units.len())
        .sum();
    assert_eq!(
        formats(&machines.store),
        [
            Some(json!({ "1": 1 })),
            Some(json!({ "1": units })),
            Some(json!({}))
        ]
    );

    let figures = plan
        .work
        .iter()
        .find(|work| work.task_id == "sec.financials")
        .unwrap();
    let unit = format!("/{}/unit.json", figures.units[0]);
    let receipts = || {
        files_below(&place.root().join("store/staging"))
            .into_iter()
            .filter(|path| path.to_string_lossy().ends_with(&unit))
    };
    let receipt = receipts()
        .find(|path| {
            std::fs::read_to_string(path)
                .unwrap()
                .contains("sec.financials")
        })
        .unwrap();
    std::fs::write(&receipt, "{").unwrap();
    for refused in [
        machines.commit("driver", &plan),
        answer(&mut machines.build("executor", &plan, figures, &figures.units[..1])),
    ] {
        let words = [
            &format!(
                "the result of sec.financials unit {} is damaged",
                figures.units[0]
            ),
            "delete its unit.json below staging/",
        ];
        assert!(
            refused.code == Some(60) && words.iter().all(|word| refused.stderr.contains(*word)),
            "{refused:?}"
        );
    }
    assert_eq!(
        formats(&machines.store)[1],
        Some(json!({ "0": 1, "1": units - 1 })),
        "rebuilt when it is needed"
    );
    std::fs::remove_file(&receipt).unwrap();
    machines.work("executor", &plan);
    assert_eq!(
        machines.commit("driver", &plan).expect(0).release_id(),
        of_run(1)[0]
    );
}

/// Edits of a unit result that leave the bytes of its parts unchanged.
type Edit = fn(&mut Value);

/// A process that can write to `staging/` can claim anything about parts with correct digests. Each
/// false claim is refused before publication.
#[test]
fn unit_result_that_contradicts_its_parts_is_refused() {
    let place = Place::new();
    let machines = Machines::new(&place);
    let key = place.root().join("signing.key");
    machines
        .ask(
            "driver",
            &[
                "keys",
                "signing",
                "--name",
                "forged.example/1",
                "--output",
                key.to_str().unwrap(),
            ],
        )
        .expect(0);
    let plan = machines.plan();
    machines.work("executor", &plan);
    let edits: [(&str, &str, Edit); 22] = [
        ("permit.nola", "have the path", |receipt| {
            receipt["outcome"]["built"]["parts"][0]["part"]["path"] = "manifest.json".into();
        }),
        ("permit.nola", "does not produce", |receipt| {
            receipt["outcome"]["built"]["parts"][0]["dataset_id"] = "geo.population".into();
        }),
        (
            "permit.nola",
            "it has no part of permit.permit",
            |receipt| receipt["outcome"]["built"]["parts"] = json!([]),
        ),
        (
            "permit.nola",
            "it has no part of permit.contact",
            |receipt| without(receipt, "permit.contact"),
        ),
        ("permit.nola", "first and last records", |receipt| {
            part_of(receipt, "permit.permit")["key_range"] =
                json!(["permit.permit:zz:A", "permit.permit:zz:B"]);
        }),
        ("permit.nola", "first and last records", |receipt| {
            part_of(receipt, "permit.permit")["key_range"] = Value::Null;
        }),
        ("permit.nola", "`us-tx-austin` is recorded", |receipt| {
            let part = part_of(receipt, "permit.permit");
            part["partition"]["jurisdiction"] = "us-tx-austin".into();
            part["path"] = part["path"]
                .as_str()
                .unwrap()
                .replace("us-la-new_orleans", "us-tx-austin")
                .into();
        }),
        (
            "permit.nola",
            "counts 9223372036854775808 quarantined records of the rule x",
            |receipt| {
                part_of(receipt, "permit.permit")["report"]["quarantined"] =
                    json!({"x": 1_u64 << 63});
            },
        ),
        ("permit.nola", "have the warnings", |receipt| {
            part_of(receipt, "permit.permit")["report"]["warnings"] = json!({});
        }),
        ("permit.nola", "have the words", |receipt| {
            let words = part_of(receipt, "permit.permit")["report"]["words"]
                .as_object_mut()
                .unwrap();
            words.values_mut().next().unwrap()["unknown"] = json!(7);
        }),
        ("permit.nola", "have the words", |receipt| {
            part_of(receipt, "permit.permit")["report"]["words"] = json!({});
        }),
        ("permit.nola", "without a value", |receipt| {
            part_of(receipt, "permit.permit")["report"]["empty_columns"] = json!(["record_id"]);
        }),
        (
            "permit.nola",
            "does not list the columns without a value",
            |receipt| part_of(receipt, "permit.permit")["report"]["empty_columns"] = Value::Null,
        ),
        ("permit.nola", "rows, but", |receipt| {
            part_of(receipt, "permit.permit")["rows"] = json!(1);
        }),
        ("permit.nola", "bytes, but", |receipt| {
            part_of(receipt, "permit.permit")["size_bytes"] = json!(1);
        }),
        ("permit.nola", "another task", |receipt| {
            part_of(receipt, "permit.permit")["task_id"] = "permit.austin".into();
        }),
        (
            "permit.nola",
            "another version of its contract",
            |receipt| of_dataset(receipt, "permit.permit")["schema_version"] = "9.0.0".into(),
        ),
        ("permit.nola", "the records point to", |receipt| {
            rows_of(receipt)["records"] = json!(5);
        }),
        ("permit.nola", "add up to", |receipt| {
            rows_of(receipt)["left_out"]["no_number"] = json!(1_000_000);
        }),
        ("permit.nola", "have room for", |receipt| {
            receipt["outcome"]["built"]["read"]["permit.nola"] =
                json!(1_000_000_000_000_000_000_u64);
        }),
        ("license.tx_tdlr", "is not of the bucket", |receipt| {
            let part = &mut receipt["outcome"]["built"]["parts"][0]["part"];
            part["partition"]["bucket"] = "zz".into();
        }),
        ("sec.financials", "another fingerprint", |receipt| {
            receipt["outcome"]["built"]["parts"][0]["part"]["fingerprint"] = "1".repeat(64).into();
        }),
    ];
    for (number, (task, message, edit)) in edits.into_iter().enumerate() {
        let receipts = files_below(&place.root().join("store/staging"))
            .into_iter()
            .filter(|path| path.ends_with("unit.json"));
        let of_task = |path: &PathBuf| {
            let receipt: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            receipt["task_id"] == task
                && receipt["outcome"]["built"]["parts"]
                    .as_array()
                    .is_some_and(|parts| !parts.is_empty())
        };
        let path = receipts.into_iter().find(of_task).unwrap();
        let original = std::fs::read(&path).unwrap();
        let mut receipt: Value = serde_json::from_slice(&original).unwrap();
        edit(&mut receipt);
        std::fs::write(&path, receipt.to_string()).unwrap();
        // With and without a signing key.
        let signing = if number % 2 == 0 {
            &["--signing-key", key.to_str().unwrap()][..]
        } else {
            &[]
        };
        let refused = machines.ask(
            "driver",
            &[&["commit", "--plan", &plan.address], signing].concat(),
        );
        let words = [
            message,
            "contradicts its parts",
            "nothing is published",
            "/unit.json",
        ];
        assert!(
            refused.code == Some(60) && words.iter().all(|word| refused.stderr.contains(word)),
            "{task}, {message}: {}",
            refused.stderr
        );
        assert_eq!(machines.releases(), 0, "{message}");
        std::fs::write(&path, original).unwrap();
    }
    assert_eq!(
        machines.commit("driver", &plan).expect(0).release_id(),
        of_run(1)[0]
    );
}

/// The unit result fits a part with fewer rows than its sources have, and claims that no rule
/// blocks it.
#[test]
fn commit_checks_limits_whatever_a_unit_result_claims() {
    const SCHOOLS: &str = "nces.ccd_directory";
    let place = Place::new();
    let machines = Machines::new(&place);
    let first = machines.plan_of(&[SCHOOLS]);
    machines.work("executor", &first);
    machines.commit("driver", &first).expect(0);
    place.edit_archive(
        "ccd_sch_029_2526_w_0a_050626.zip",
        |members: &mut BTreeMap<String, String>| {
            members
                .values_mut()
                .for_each(|text| *text = text.replacen("Middle", "MIDDLE", 1));
        },
    );
    let plan = machines.plan_of(&[SCHOOLS]);
    machines.work("executor", &plan);
    let done: std::collections::HashSet<PathBuf> = files_below(&place.root().join("store/staging"))
        .into_iter()
        .collect();
    let newest = done
        .iter()
        .filter(|path| path.ends_with("unit.json"))
        .max_by_key(|path| std::fs::metadata(path).unwrap().modified().unwrap())
        .unwrap();
    let mut receipt: Value = serde_json::from_slice(&std::fs::read(newest).unwrap()).unwrap();
    let part = part_of(&mut receipt, "geo.school");
    let (id, empty_columns, bytes) =
        first_row(&newest.with_file_name(format!("{}.parquet", part["sha256"].as_str().unwrap())));
    let sha256 = pubdata_core::ids::Digest::sha256(&bytes).to_string();
    std::fs::write(newest.with_file_name(format!("{sha256}.parquet")), &bytes).unwrap();
    (part["rows"], part["size_bytes"], part["sha256"]) =
        (json!(1), json!(bytes.len()), json!(sha256));
    (
        part["key_range"],
        part["report"]["warnings"],
        part["report"]["empty_columns"],
    ) = (json!([id, id]), json!({}), json!(empty_columns));
    for rows in receipt["outcome"]["built"]["unit"]["rows"]
        .as_object_mut()
        .unwrap()
        .values_mut()
    {
        (rows["records"], rows["merged"]) = (json!(1), json!(0));
    }
    std::fs::write(newest, receipt.to_string()).unwrap();
    let before = machines.releases();
    let refused = machines.commit("driver", &plan).expect(20);
    assert!(
        refused.reasons(SCHOOLS).contains("max_shrink_percent"),
        "{refused:?}"
    );
    assert_eq!(machines.releases(), before);
}

/// Returns a part with only the first row of another part that has no warning, the row's id, and
/// its columns without a value.
fn first_row(path: &std::path::Path) -> (String, Vec<String>, Vec<u8>) {
    use arrow::array::{Array, AsArray};
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(std::fs::read(path).unwrap()))
            .unwrap();
    let footer = reader
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .cloned()
        .unwrap();
    let batch = reader.build().unwrap().next().unwrap().unwrap();
    let row = batch
        .column_by_name("warnings")
        .unwrap()
        .as_list::<i32>()
        .iter()
        .position(|codes| codes.unwrap().is_empty())
        .unwrap();
    let row = batch.slice(row, 1);
    let mut writer = ArrowWriter::try_new(Vec::new(), row.schema(), None).unwrap();
    writer.write(&row).unwrap();
    footer
        .into_iter()
        .filter(|pair| pair.key != "ARROW:schema")
        .for_each(|pair| writer.append_key_value_metadata(pair));
    let schema = row.schema();
    let columns = schema
        .fields()
        .iter()
        .zip(row.columns())
        .filter(|(_, values)| values.null_count() == 1);
    let empty_columns = columns.map(|(field, _)| field.name().clone()).collect();
    (
        row.column_by_name("record_id")
            .unwrap()
            .as_string::<i32>()
            .value(0)
            .to_owned(),
        empty_columns,
        writer.into_inner().unwrap(),
    )
}

fn of_dataset<'r>(receipt: &'r mut Value, dataset_id: &str) -> &'r mut Value {
    let parts = receipt["outcome"]["built"]["parts"].as_array_mut().unwrap();
    parts
        .iter_mut()
        .find(|part| part["dataset_id"] == dataset_id)
        .unwrap()
}

fn part_of<'r>(receipt: &'r mut Value, dataset_id: &str) -> &'r mut Value {
    &mut of_dataset(receipt, dataset_id)["part"]
}

fn without(receipt: &mut Value, dataset_id: &str) {
    receipt["outcome"]["built"]["parts"]
        .as_array_mut()
        .unwrap()
        .retain(|part| part["dataset_id"] != dataset_id);
}

fn rows_of(receipt: &mut Value) -> &mut Value {
    receipt["outcome"]["built"]["unit"]["rows"]
        .as_object_mut()
        .unwrap()
        .values_mut()
        .next()
        .unwrap()
}

#[test]
fn unneeded_snapshot_copies_in_the_store_are_pruned() {
    let place = Place::new();
    let machines = Machines::new(&place);
    let copies = || files_below(&place.root().join("store/snapshots"));
    let first = machines.plan();
    machines.work("executor", &first);
    machines.commit("driver", &first).expect(0);
    let of_first = copies();
    second_night(&place);
    let second = machines.plan();
    let of_second: Vec<PathBuf> = copies()
        .into_iter()
        .filter(|path| !of_first.contains(path))
        .collect();
    assert_eq!(of_second.len(), 2, "the permits and the facts");
    let prune = |arguments: &[&str]| {
        let answer = machines
            .ask(
                "driver",
                &[
                    &[
                        "releases",
                        "prune",
                        "--keep",
                        "1",
                        "--snapshots",
                        "--store",
                        &machines.store,
                    ],
                    arguments,
                ]
                .concat(),
            )
            .expect(0);
        let gone: Vec<String> = serde_json::from_value(answer.json()["snapshots"].clone()).unwrap();
        gone.into_iter()
            .filter(|path| path.starts_with("file://"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        prune(&[]),
        Vec::<String>::new(),
        "the release needs the first, the plan the second"
    );
    machines.work("executor", &second);
    machines.commit("driver", &second).expect(0);
    assert_eq!(
        prune(&[]),
        Vec::<String>::new(),
        "the plan of the first run still names its own"
    );
    let plan = first.address.strip_prefix("file://").unwrap();
    std::fs::remove_file(plan).unwrap();
    assert_eq!(
        prune(&[]),
        Vec::<String>::new(),
        "the copies are from today: another home may be about to plan with them"
    );
    for file in copies() {
        // Snapshots are read-only; in a folder each copy is a link to the same file.
        let two_days_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(48);
        std::fs::File::open(file)
            .unwrap()
            .set_modified(two_days_ago)
            .unwrap();
    }
    let dry = prune(&["--dry-run"]);
    assert_eq!(dry.len(), 2, "{dry:?}");
    assert_eq!(prune(&[]), dry);
    assert!(
        of_second.iter().all(|path| path.exists())
            && dry
                .iter()
                .all(|url| !PathBuf::from(url.strip_prefix("file://").unwrap()).exists()),
        "{dry:?}"
    );
    // The next plan restores the removed copies.
    machines
        .ask(
            "driver",
            &["verify", "--rebuild", "--store", &machines.store],
        )
        .expect(0);
}

/// A mistyped store, or a store on an unmounted disk, is not an empty store.
#[test]
fn missing_store_is_refused_by_readers_and_deletes_nothing() {
    let place = Place::new();
    place.run(&["permit.nola"]).expect(0);
    second_night(&place);
    place.run(&["permit.nola"]).expect(0);
    let snapshots = || files_below(&place.home().join("snapshots"));
    let before = snapshots();
    let typo = place.root().join("stoer");
    let url = format!("file://{}", typo.display());
    for command in [
        &["releases", "list"][..],
        &["status"],
        &["upgrade"],
        &["keys", "list"],
        &["releases", "prune", "--snapshots"],
    ] {
        let refused = place
            .pubdata(&[command, &["--store", &url]].concat())
            .expect(40);
        assert!(
            refused.stderr.contains("there is no store at") && refused.stderr.contains("mounted"),
            "{command:?}: {}",
            refused.stderr
        );
    }
    let plan = format!("{url}/plans/{}.json", "0".repeat(64));
    place
        .pubdata(&["task", "build", "--plan", &plan, "--share", "0/1"])
        .expect(40);
    assert!(!typo.exists());

    let prune = |url: &str| {
        place.pubdata(&[
            "releases",
            "prune",
            "--keep",
            "1",
            "--snapshots",
            "--store",
            url,
        ])
    };
    std::fs::create_dir(&typo).unwrap();
    let refused = prune(&url).expect(40);
    assert!(
        refused.stderr.contains("has no release") && refused.stderr.contains("--store"),
        "{}",
        refused.stderr
    );
    let machines = Machines::new(&place);
    let plan = machines.plan_of(&["permit.nola"]);
    machines.work("executor", &plan);
    machines.commit("driver", &plan).expect(0);
    prune(&machines.store).expect(0);
    assert_eq!(snapshots(), before, "the releases of the home need them");
    place.pubdata(&["verify"]).expect(0);

    let plain = place
        .command(&["check", "--store", "s3://bucket"])
        .env("AWS_ENDPOINT", "http://127.0.0.1:9")
        .output()
        .unwrap();
    let reported = String::from_utf8_lossy(&plain.stderr).into_owned();
    assert!(
        plain.status.code() == Some(40) && reported.contains("AWS_ALLOW_HTTP=true"),
        "{reported}"
    );
}

#[test]
fn plan_prints_its_commands_and_a_commit_of_another_home_warns() {
    let place = Place::new();
    let machines = Machines::new(&place);
    let mirror = place.mirror().display().to_string();
    let reported = place
        .pubdata(
            &[
                &[
                    "plan",
                    "--write",
                    "--store",
                    &machines.store,
                    "--mirror",
                    &mirror,
                ],
                &TASKS[..],
            ]
            .concat(),
        )
        .expect(0);
    let with_home = format!("  pubdata --home {} ", place.home().display());
    let typed: Vec<Vec<&str>> = reported
        .stdout
        .lines()
        .filter_map(|line| Some(line.strip_prefix(&with_home)?.split(' ').collect()))
        .collect();
    assert_eq!(
        typed.iter().map(|words| words[0]).collect::<Vec<_>>(),
        ["task", "task", "commit"],
        "{}",
        reported.stdout
    );
    for words in &typed[..2] {
        place.pubdata(words).expect(0);
    }
    let other = machines.ask("another", &typed[2]).expect(0);
    assert!(
        other.stderr.contains("the plan was made with the home"),
        "{}",
        other.stderr
    );
    assert_eq!(other.release_id(), of_run(1)[0]);
    let own = place.pubdata(&typed[2]).expect(0);
    assert!(
        !own.stderr.contains("the plan was made with the home"),
        "{}",
        own.stderr
    );
}

/// Builds a small archive like the SEC's, of which a unit needs little.
pub fn many_registrants(place: &Place) -> usize {
    place.edit_archive(FACTS, |members| {
        let one = members["CIK0001045810.json"].clone();
        for number in 0..40 {
            // Fictional registrants, with text that does not compress away.
            let cik = 9_930_000 + number;
            let noise: String = (0..2_000)
                .map(|part| {
                    pubdata_core::ids::Digest::sha256(format!("{cik} {part}").as_bytes())
                        .to_string()
                })
                .collect();
            let padded = one.replacen("1045810", &cik.to_string(), 1).replacen(
                "\"units\":",
                &format!("\"noise\":\"{noise}\",\"units\":"),
                1,
            );
            members.insert(format!("CIK{cik:010}.json"), padded);
        }
    });
    usize::try_from(std::fs::metadata(place.file(FACTS)).unwrap().len()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unit_reads_only_its_members_from_an_archive_in_the_store() {
    let server = ObjectServer::start(&[]).await;
    tokio::task::spawn_blocking(move || {
        let place = Place::new();
        let size = many_registrants(&place);
        let machines = Machines::on(&place, &server);
        let plan = machines.plan();
        let figures = plan
            .work
            .iter()
            .find(|work| work.task_id == "sec.financials")
            .unwrap();
        server.given("");
        answer(&mut machines.build("executor", &plan, figures, &figures.units[20..24])).expect(0);
        let given = server.given(FACTS);
        assert!(
            given > 0 && given < size / 5,
            "{given} of {size} bytes for four units of {}",
            figures.units.len()
        );
        let is_whole = || {
            files_below(&machines.home("executor").join("snapshots"))
                .iter()
                .any(|path| path.ends_with(FACTS))
        };
        assert!(
            !is_whole(),
            "the fetched bytes are removed with the scratch folder"
        );
        answer(&mut machines.build("executor", &plan, figures, &figures.units)).expect(0);
        let given = server.given(FACTS);
        assert!(
            given >= size && given < size + size / 10,
            "most members are needed: the directory and all of it, {given} of {size} bytes"
        );
        machines.work("another", &plan);
        let made = machines.commit("driver", &plan).expect(0).release_id();
        let of_run = Place::new();
        many_registrants(&of_run);
        assert_eq!(made, of_run.run(&TASKS).expect(0).release_id());
    })
    .await
    .unwrap();
}

/// Builds a registry like Florida's, with three members of some size.
fn long_registry(place: &Place) -> usize {
    let path = place.file(REGISTRY);
    let mut members = member_bytes(&path);
    let mut record = members["cordata1.txt"].clone();
    // Without officers.
    record[668..1436].fill(b' ');
    for member in ["cordata1.txt", "cordata3.txt", "cordata9.txt"] {
        for number in 0..1_500 {
            // Fictional numbers, and names that do not compress away. Source of the layout:
            // `pipelines/business/fl_sunbiz.toml`.
            let digit = &member[7..8];
            let name: String = (0..3)
                .map(|part| {
                    pubdata_core::ids::Digest::sha256(
                        format!("{member} {number} {part}").as_bytes(),
                    )
                    .to_string()
                })
                .collect();
            let rows = members.get_mut(member).unwrap();
            rows.extend(format!("L99{digit}{number:08}{name}").as_bytes());
            rows.extend(&record[12 + 192..]);
        }
    }
    let members: Vec<(&str, &[u8])> = members
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
        .collect();
    std::fs::write(&path, archive(&members)).unwrap();
    usize::try_from(std::fs::metadata(&path).unwrap().len()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn split_reads_only_its_member_from_an_archive_in_the_store() {
    let server = ObjectServer::start(&[]).await;
    tokio::task::spawn_blocking(move || {
        let place = Place::new();
        let size = long_registry(&place);
        let machines = Machines::on(&place, &server);
        let plan = machines.plan_of(&["business.fl_sunbiz"]);
        let registry = &plan.work[0];
        server.given("");
        // The members come first, ordered by name.
        let split = |inputs: &str| {
            machines.ask(
                "executor",
                &[
                    "task",
                    "split",
                    "--plan",
                    &plan.address,
                    "--task",
                    &registry.task_id,
                    "--input",
                    inputs,
                ],
            )
        };
        split("1").expect(0);
        let given = server.given(REGISTRY);
        assert!(
            given > 0 && given < size * 4 / 5,
            "{given} of {size} bytes for one member of three"
        );
        assert!(
            !files_below(&machines.home("executor").join("snapshots"))
                .iter()
                .any(|path| path.ends_with(REGISTRY))
        );
        machines.work("executor", &plan);
        let made = machines.commit("driver", &plan).expect(0).release_id();
        let of_run = Place::new();
        long_registry(&of_run);
        assert_eq!(
            made,
            of_run.run(&["business.fl_sunbiz"]).expect(0).release_id()
        );
    })
    .await
    .unwrap();
}

#[test]
fn only_work_untouched_for_a_day_is_pruned() {
    let place = Place::new();
    let machines = Machines::new(&place);
    let (plan, store) = (machines.plan(), place.root().join("store"));
    machines.work("executor", &plan);
    machines.commit("driver", &plan).expect(0);
    let prune = |arguments: &[&str]| {
        let answer = machines
            .ask(
                "driver",
                &[
                    &[
                        "releases",
                        "prune",
                        "--keep",
                        "1",
                        "--store",
                        &machines.store,
                    ],
                    arguments,
                ]
                .concat(),
            )
            .expect(0);
        serde_json::from_value::<Vec<String>>(answer.json()["placed"].clone()).unwrap()
    };
    assert_eq!(prune(&[]), Vec::<String>::new(), "it may still be in use");
    let of_folder = |folder: &str| files_below(&store.join(folder));
    let two_days_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(48);
    let make_old = |files: Vec<PathBuf>| {
        for file in files {
            let file = std::fs::OpenOptions::new().append(true).open(file).unwrap();
            file.set_modified(two_days_ago).unwrap();
        }
    };
    make_old(of_folder("staging").into_iter().skip(1).collect());
    let own = store.join("staging/0123456789abcdef-0123456789abcdef0123456789abcdef/build.json");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(&own, "{}").unwrap();
    make_old([of_folder("plans"), vec![own.clone()]].concat());
    let dry = prune(&["--dry-run"]);
    assert_eq!(prune(&[]), dry);
    assert!(
        dry.len() == 1 + TASKS.len() - 1 && dry[0].starts_with("plans/"),
        "all but the work of which one file is new: {dry:?}"
    );
    assert!(
        of_folder("plans").is_empty() && own.exists(),
        "staged builds of a home do not belong to a plan"
    );
    machines
        .ask("driver", &["verify", "--store", &machines.store])
        .expect(0);
}
