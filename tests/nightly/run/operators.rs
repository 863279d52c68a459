//! Checks what an operator writes and reads: the settings file, the list of needed actions, and
//! acceptances for a single task.

use serde_json::{Value, json};

use super::changed_sources::with_cell;
use super::{ACS_2023, GEOGRAPHY};
use pubdata_testing::{Place, only_member};

const DIRECTORY: &str = "ccd_sch_029_2526_w_0a_050626.zip";
const EDGE: &str = "EDGE_GEOCODE_PUBLICSCH_2425.zip";
const SCHOOLS: &str = "nces.ccd_directory";
const INCOME_2023: &str = "acsdt5y2023-b19013.dat";

fn set(place: &Place, text: &str) {
    std::fs::create_dir_all(place.home()).unwrap();
    std::fs::write(place.home().join("pubdata.toml"), text).unwrap();
}

#[track_caller]
fn task(document: &Value, task_id: &str) -> Value {
    let tasks = document["tasks"].as_array().unwrap();
    tasks
        .iter()
        .find(|task| task["task_id"] == task_id)
        .cloned()
        .unwrap_or_else(|| panic!("no {task_id} in {document:#}"))
}

#[test]
fn run_is_judged_by_the_operators_selection() {
    let place = Place::new();
    std::fs::remove_file(place.file(INCOME_2023)).unwrap();
    set(
        &place,
        "pipelines = [\"census\", \"nces.*\"]\ndisabled = [\"census.acs5\"]\n",
    );
    let run = place.run(&[]).expect(0).json();
    let mut ran: Vec<&str> = run["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["task_id"].as_str().unwrap())
        .collect();
    ran.sort_unstable();
    assert_eq!(
        ran,
        [
            "census.gazetteer",
            "census.population",
            "nces.ccd_directory"
        ]
    );
    assert_eq!(
        place.plan(&[]).expect(0).json()["tasks"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        place.pubdata(&["status", "--json"]).expect(0).json()["tasks"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    // Pipelines named on the command line run, whatever the file says.
    place.run(&["census.acs5"]).expect(30);
    let status = place.pubdata(&["status", "--json"]).expect(0).json();
    assert_eq!(
        status["not_chosen"],
        json!(["census.acs5/vintage=2022"]),
        "reported, though no nightly run builds it"
    );
}

#[test]
fn optional_pipeline_is_reported_and_decides_no_exit_code() {
    let place = Place::published();
    std::fs::remove_file(place.file(INCOME_2023)).unwrap();
    set(&place, "optional = [\"census.acs5\"]\n");
    let run = place.run(&["census"]).expect(0);
    assert_eq!(
        (
            &run.task(ACS_2023)["outcome"],
            &run.task(ACS_2023)["is_optional"]
        ),
        (&json!("missing"), &json!(true))
    );
    let shown = place.pubdata(&["status"]).expect(0).stdout;
    assert!(
        shown.contains(&format!("missing {ACS_2023} since ")) && shown.contains("; optional"),
        "{shown}"
    );
    // A refused file is a different case.
    let text = std::fs::read_to_string(place.file("acsdt5y2023-b01003.dat")).unwrap();
    std::fs::copy(
        place.file("acsdt5y2022-b19013.dat"),
        place
            .file("acsdt5y2023-b01003.dat")
            .with_file_name(INCOME_2023),
    )
    .unwrap();
    place.edit("acsdt5y2023-b01003.dat", |_| {
        text[..text.len() / 2].to_owned()
    });
    place.run(&["census"]).expect(20);
}

#[test]
fn settings_come_from_flag_environment_file_and_default_in_this_order() {
    let place = Place::new();
    set(
        &place,
        "channel = \"of_file\"\n[serve]\nbind = \"127.0.0.1:9000\"\ntls_cert = \"tls/chain.pem\"\ntls_key = \"/etc/key.pem\"\n",
    );
    let said = |command: &mut std::process::Command| {
        let output = command.output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        move |command: &str, name: &str| -> (Value, Value) {
            let settings = document["settings"].as_array().unwrap();
            let found = settings
                .iter()
                .find(|setting| setting["command"] == command && setting["name"] == name)
                .unwrap_or_else(|| panic!("{name}: {document:#}"));
            (found["value"].clone(), found["from"].clone())
        }
    };
    let of = said(&mut place.command(&["settings", "--all", "--json"]));
    assert_eq!(
        of("serve", "bind"),
        (json!("127.0.0.1:9000"), json!("file"))
    );
    assert_eq!(of("run", "channel"), (json!("of_file"), json!("file")));
    assert_eq!(of("serve", "poll_seconds"), (json!("2"), json!("default")));
    // A relative path is relative to the home, wherever the program starts.
    assert_eq!(
        of("serve", "tls_cert").0,
        json!(place.home().canonicalize().unwrap().join("tls/chain.pem"))
    );
    assert_eq!(of("serve", "tls_key").0, json!("/etc/key.pem"));
    let of = said(
        place
            .command(&["settings", "--all", "--json"])
            .env("PUBDATA_BIND", "127.0.0.1:9001"),
    );
    assert_eq!(
        of("serve", "bind"),
        (json!("127.0.0.1:9001"), json!("environment"))
    );
    // The file's setting applies: the run moves the file's channel, and a flag moves another.
    place.run(&["census.gazetteer"]).expect(0);
    assert!(
        place.home().join("channels/of_file").is_dir()
            && !place.home().join("channels/nightly").exists()
    );
    place
        .run(&["census.gazetteer", "--channel", "of_flag"])
        .expect(0);
    assert!(place.home().join("channels/of_flag").is_dir());
}

#[test]
fn invalid_setting_is_named_with_its_file_before_the_run() {
    let place = Place::new();
    for (text, says) in [
        (
            "pipeline = [\"sec\"]\n",
            "there is no `pipeline` that is a setting; did you mean `pipelines`?",
        ),
        (
            "[serve]\nbindd = \"127.0.0.1:9\"\n",
            "there is no `bindd` in [serve]; did you mean `bind`?",
        ),
        ("[sevre]\nbind = \"127.0.0.1:9\"\n", "did you mean `serve`?"),
        ("pipelines = \"sec\"\n", "lists of names"),
        (
            "pipelines = [\"sce\"]\n",
            "`pipelines` in pubdata.toml: `sce` selects nothing",
        ),
        ("[run]\nforce = true\n", "there is no `force` in [run]"),
        (
            "[serve]\npoll_seconds = \"often\"\n",
            "pubdata.toml: invalid value 'often' for '--poll-seconds",
        ),
        ("pipelines = [\n", "pubdata.toml: "),
    ] {
        set(&place, text);
        let command: &[&str] = if text.contains("[serve]\npoll") {
            &["serve"]
        } else {
            &["run", "--offline"]
        };
        let answer = place.pubdata(command).expect(40);
        assert!(answer.stderr.contains(says), "{text}: {}", answer.stderr);
    }
    assert!(!place.home().join("ledger.jsonl").exists());
}

/// The publisher drops more than the declared share of its rows and bytes: one acceptance covers
/// both, for one run of that task.
#[test]
fn blocked_task_is_accepted_by_its_rule_for_one_run() {
    let place = Place::published_with(GEOGRAPHY);
    let (name, text) = only_member(&place.file(DIRECTORY));
    // All remaining schools have a geocode: no other rule is broken.
    let geocoded = only_member(&place.file(EDGE)).1;
    let keep = |line: &&str| {
        !line.contains("069037")
            && (line.starts_with("SCHOOL_YEAR")
                || geocoded.contains(line.split(',').nth(11).unwrap()))
    };
    let lines: Vec<&str> = text.lines().filter(keep).collect();
    let fewer = lines.join("\n") + "\n";
    place.edit_archive(DIRECTORY, |members| {
        *members.get_mut(&name).unwrap() = fewer;
    });
    let blocked = place.run(&[]).expect(20);
    let step = blocked.task(SCHOOLS)["next_step"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        step.contains(&format!("`pubdata accept {SCHOOLS}:shrink`")),
        "{step}"
    );

    // Plan, run and status use the same words.
    let (plan, status) = (
        place.plan(&[]).expect(20).json(),
        place.pubdata(&["status", "--json"]).expect(0).json(),
    );
    for other in [&plan, &status] {
        let (reported, of_run) = (task(other, SCHOOLS), blocked.task(SCHOOLS));
        assert_eq!(
            (
                &reported["outcome"],
                &reported["next_step"],
                &reported["since"]
            ),
            (&of_run["outcome"], &of_run["next_step"], &of_run["since"]),
            "{reported:#} {of_run:#}"
        );
        assert_eq!(reported["reasons"].as_array().unwrap().len(), 1);
    }
    let shown = place.pubdata(&["status"]).expect(0).stdout;
    assert!(
        shown.starts_with(&format!("needs attention: 1\n  blocked {SCHOOLS} since ")),
        "{shown}"
    );

    let word = format!("{SCHOOLS}:shrink");
    let dry = place
        .pubdata(&["accept", &word, "--dry-run"])
        .expect(0)
        .stdout;
    assert!(
        dry.contains("overrides what blocked the last run") && dry.contains("nothing was written"),
        "{dry}"
    );
    let dry = place
        .pubdata(&["accept", &word, "--dry-run", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        (&dry["is_dry_run"], &dry["lets_through"]),
        (
            &json!(true),
            &json!({&word: blocked.task(SCHOOLS)["reasons"][0]})
        )
    );
    place.run(&[]).expect(20);
    place.pubdata(&["accept", &word]).expect(0);
    // Another rule of the same task needs another acceptance.
    assert!(
        place
            .pubdata(&["accept", &format!("{SCHOOLS}:everything")])
            .expect(40)
            .stderr
            .contains("nothing of that kind")
    );
    let taken = place.run(&[]).expect(0);
    assert_eq!(taken.task(SCHOOLS)["outcome"], "built");
    assert_eq!(taken.json()["accepted"], json!([word]));
    let ledger = std::fs::read_to_string(place.home().join("ledger.jsonl")).unwrap();
    assert!(
        ledger
            .lines()
            .last()
            .unwrap()
            .contains(&format!("\"accepted\":[\"{word}\"]"))
    );
    // It counted for one run: no list shows it any more, and the next loss is reported again.
    let listed = || {
        place
            .pubdata(&["accept", "--list", "--json"])
            .expect(0)
            .json()["acceptances"]
            .clone()
    };
    assert_eq!(listed(), json!([]));
    let least = lines[..lines.len() / 3].join("\n") + "\n";
    place.edit_archive(DIRECTORY, |members| {
        *members.get_mut(&name).unwrap() = least;
    });
    place.run(&[]).expect(20);
}

/// An undeclared code blocks by itself. After an acceptance its records are quarantined, and the
/// release can be rebuilt.
#[test]
fn blocking_finding_accepted_by_name_survives_a_run_without_the_file() {
    let place = Place::published_with(GEOGRAPHY);
    const SCHOOL: &str = "geo.school:010000500870";
    let before = place.run(&["--force", SCHOOLS]).expect(0);
    let good = std::fs::read(place.file(DIRECTORY)).unwrap();
    place.edit_member(DIRECTORY, |text| {
        with_cell(&text, "010000500870", "SY_STATUS", "9")
    });
    let blocked = place.run(&[]).expect(20);
    // One record of sixty also exceeds the declared share.
    let words = [
        format!("{SCHOOLS}:quarantined"),
        format!("{SCHOOLS}:unknown_category"),
    ];
    assert!(
        blocked
            .reasons(SCHOOLS)
            .contains(&format!("`pubdata accept {}`", words.join(" "))),
        "{}",
        blocked.reasons(SCHOOLS)
    );
    assert_eq!(
        task(&place.plan(&[]).expect(20).json(), SCHOOLS)["outcome"],
        "blocked"
    );
    place.pubdata(&["accept", &words[0], &words[1]]).expect(0);
    assert_eq!(
        task(&place.plan(&[]).expect(0).json(), SCHOOLS)["outcome"],
        "to_build",
        "the accepted build is tried again"
    );
    let (file, bytes) = (
        place.file(DIRECTORY),
        std::fs::read(place.file(DIRECTORY)).unwrap(),
    );
    std::fs::remove_file(&file).unwrap();
    place.run(&[]).expect(30);
    std::fs::write(&file, bytes).unwrap();
    let taken = place.run(&[]).expect(10);
    // Once, although a school without a status breaks the contract as well.
    let (before, now) = (before.task(SCHOOLS), taken.task(SCHOOLS));
    let mut expected = before["quarantined"]["geo.school"].clone();
    expected["unknown_category"] = json!(1);
    assert_eq!(
        (&now["outcome"], &now["quarantined"]["geo.school"]),
        (&json!("built"), &expected)
    );
    assert_eq!(
        now["rows"]["geo.school"].as_u64().unwrap() + 1,
        before["rows"]["geo.school"].as_u64().unwrap()
    );
    assert!(!place.rows("geo.school").contains_key(SCHOOL));
    let about: Vec<String> = place
        .rows("pubdata.quarantine")
        .into_keys()
        .filter(|id| id.contains(SCHOOL))
        .collect();
    assert!(
        about.len() == 1 && about[0].ends_with(":unknown_category"),
        "{about:?}"
    );
    place.pubdata(&["verify", "--rebuild"]).expect(0);
    // It counted for that run only: the same finding in another file blocks again.
    std::fs::write(&file, good).unwrap();
    place.edit_member(DIRECTORY, |text| {
        with_cell(&text, "010000500870", "SY_STATUS", "99")
    });
    place.run(&[]).expect(20);
}

#[test]
fn quiet_run_prints_only_what_needs_an_operator() {
    let place = Place::published_with(GEOGRAPHY);
    let mirror = place.mirror();
    let run = || place.pubdata(&["run", "--quiet", "--mirror", mirror.to_str().unwrap()]);
    let quiet = run().expect(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    std::fs::remove_file(place.file(INCOME_2023)).unwrap();
    let reported = run().expect(30);
    assert!(
        reported.stdout.starts_with("needs attention: 1\n")
            && reported
                .stdout
                .contains(&format!("missing {ACS_2023} since ")),
        "{reported:#?}"
    );
    assert!(
        reported.stdout.lines().count() < 8 && reported.stderr.is_empty(),
        "{reported:#?}"
    );
}

#[test]
fn mistakes_on_the_command_line_are_json_on_request() {
    let place = Place::new();
    for arguments in [
        &["run", "--no-such-flag", "--json"][..],
        &["status", "--runs", "many", "--json"],
        &["nothing", "--json"],
    ] {
        let answer = place.pubdata(arguments).expect(40);
        let error: Value = serde_json::from_str(&answer.stderr)
            .unwrap_or_else(|error| panic!("{error}: {answer:#?}"));
        assert!(
            error["kind"] == "config" && !error["error"].as_str().unwrap().is_empty(),
            "{error}"
        );
    }
}

#[test]
fn unfinished_run_needs_an_operator_and_is_reported_first() {
    let place = Place::published_with(GEOGRAPHY);
    assert!(
        place
            .pubdata(&["status"])
            .expect(0)
            .stdout
            .starts_with("nothing needs attention\n")
    );
    std::fs::remove_dir_all(place.home().join("state/partial")).ok();
    std::fs::write(place.home().join("state/partial"), "a file").unwrap();
    place.run(&[]).expect(60);
    let shown = place.pubdata(&["status"]).expect(0).stdout;
    assert!(
        shown.starts_with("needs attention: 1\n  failed run since ")
            && shown.contains("state/partial"),
        "{shown}"
    );
    // Written as the operator must type it for this home.
    assert!(
        shown.contains(&format!("`pubdata --home {} run`", place.home().display())),
        "{shown}"
    );
    let reported = place.pubdata(&["status", "--json"]).expect(0).json()["attention"].clone();
    assert_eq!(
        (
            &reported[0]["what"],
            &reported[0]["task_id"],
            reported.as_array().unwrap().len()
        ),
        (&json!("failed"), &Value::Null, 1)
    );
    std::fs::remove_file(place.home().join("state/partial")).unwrap();
    place.run(&[]).expect(0);
    assert!(
        place
            .pubdata(&["status"])
            .expect(0)
            .stdout
            .starts_with("nothing needs attention\n")
    );
}

/// The list of mold licenses is optional and was never imported.
#[test]
fn status_lists_no_uncounted_import_as_due() {
    let place = Place::with(&["license.la_lslbc"]);
    place.run(&[]);
    let shown = place.pubdata(&["status"]).expect(0).stdout;
    let row = shown
        .lines()
        .find(|line| line.starts_with("license.la_lslbc_mold "))
        .unwrap_or_else(|| panic!("{shown}"));
    assert!(
        row.contains(" optional ") && !row.contains(" now "),
        "{row}"
    );
    let status = place.pubdata(&["status", "--json"]).expect(0).json();
    assert!(
        status["attention"]
            .as_array()
            .unwrap()
            .iter()
            .all(|need| need["what"] != "import_due"),
        "{status:#}"
    );
    let states = status["release"]["datasets"].as_array().unwrap();
    let needing = states
        .iter()
        .filter(|dataset| dataset["state"] != "fresh")
        .count();
    let summary = if needing == 0 {
        format!("All {} datasets are fresh.", states.len())
    } else {
        format!("{needing} of {} datasets need attention.", states.len())
    };
    assert!(
        shown.contains(&format!("\n{summary}\n")),
        "{summary}: {shown}"
    );
}

#[test]
fn status_shows_the_full_hint_of_a_finding_with_its_command() {
    let place = Place::with(&["business.ct_sots"]);
    place.run(&[]).expect(10);
    let shown = place.pubdata(&["status"]).expect(0).stdout;
    assert!(
        shown.contains(
            "declare the words whose meaning is certain in pipelines/business/ct_sots.toml\n"
        ),
        "{shown}"
    );
    let home = place.home().display().to_string();
    assert!(
        shown.contains(&format!(
            "`pubdata --home {home} probe business.ct_sots --write declarations`"
        )),
        "{shown}"
    );
    assert!(
        shown.contains(&format!(
            "`pubdata --home {home} run --declarations declarations`"
        )),
        "{shown}"
    );
}

#[test]
fn invalid_selection_is_refused_before_any_request() {
    let place = Place::published();
    let lines = || {
        std::fs::read_to_string(place.home().join("ledger.jsonl"))
            .unwrap()
            .lines()
            .count()
    };
    let before = lines();
    let refused = place
        .run(&["--accept", &format!("{SCHOOLS}:shrnk")])
        .expect(40);
    assert!(
        refused.stderr.contains("shrnk") && refused.stderr.contains("shrink, floor"),
        "{refused:#?}"
    );
    let settings = place.home().join("pubdata.toml");
    std::fs::write(&settings, "disabled = [\"nces.ccd\"]\n").unwrap();
    assert!(
        place
            .pubdata(&["settings"])
            .expect(40)
            .stderr
            .contains("nces.ccd")
    );
    assert_eq!(lines(), before);
    std::fs::write(&settings, "pipelines = [\"nces\"]\ndisabled = [\"nces\"]\n").unwrap();
    assert!(
        place
            .run(&[])
            .expect(40)
            .stderr
            .contains("leave nothing to run")
    );
    std::fs::write(&settings, "pipelines = [\"nces\"]\n").unwrap();
    assert!(
        place
            .pubdata(&["settings"])
            .expect(0)
            .stdout
            .contains("disabled   none")
    );
}
