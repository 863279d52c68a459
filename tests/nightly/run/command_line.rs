use serde_json::Value;

use pubdata_testing::{Place, answer, copy_folder, project};

fn error(text: &str) -> Value {
    serde_json::from_str(text.lines().last().unwrap_or_default())
        .unwrap_or_else(|problem| panic!("not JSON ({problem}): {text}"))
}

#[test]
fn bad_flags_and_arguments_are_configuration_errors() {
    let place = Place::new();
    for arguments in [
        &["run", "--no-such-flag"][..],
        &["no-such-command"],
        &[],
        &["trace"],
        &["run", "--mirror", "/no/such/folder"],
        &["run", "--mirror", "ftp://example.org/"],
        &["status", "--store", "gopher://x"],
        &["releases", "show", "--channel", "../up"],
        &["releases", "rollback", "--to", "x"],
        &["check", "--declarations", "/no/such/folder"],
        &["run", "--declarations", "/"],
    ] {
        let answer = place.pubdata(arguments);
        assert_eq!(answer.code, Some(40), "{arguments:?}: {answer:#?}");
        assert!(!answer.stderr.is_empty(), "{arguments:?}");
    }
    place.pubdata(&["--help"]).expect(0);
    place.pubdata(&["--version"]).expect(0);
}

#[test]
fn typing_errors_get_a_suggestion() {
    let place = Place::new();
    let file = place.mirror().display().to_string();
    for (arguments, says) in [
        (
            &["check", "--declarations", &file][..],
            "has no folder pipelines/ and no schemas/",
        ),
        (
            &["check", "--declarations", "/no/such/folder"],
            "is not a folder",
        ),
        (
            &["import", "seattle", &file],
            "did you mean `permit.seattle` or `permit.seattle_before_2018`?",
        ),
        (
            &["import", "license.or_cbc", &file],
            "did you mean `license.or_ccb`?",
        ),
        (
            &["import", "licence.or_ccb", &file],
            "did you mean `license.or_ccb`?",
        ),
        (&["import", "zzz", &file], "a source is named FAMILY.NAME"),
        (
            &["import", "license.fl_dbpr", &file, "--date", "20.11.2026"],
            "YYYY-MM-DD",
        ),
        (
            &["import", "license.fl_dbpr", &file, "--date", "2026-02-30"],
            "--date 2026-02-30 is not a date",
        ),
        (
            &["accept", "license.fl_dbpr", "--until", "tomorrow"],
            "YYYY-MM-DD",
        ),
        (&["import", "license.fl_dbpr"], "<FILE>"),
        (
            &["serve", "--bind", "8080"],
            "`127.0.0.1:8080` is that port",
        ),
        (
            &["serve", "--bind", ":8080"],
            "`127.0.0.1:8080` is that port",
        ),
        (
            &["serve", "--bind", "10.0.0.5"],
            "it lacks its port, as in `10.0.0.5:8080`",
        ),
        (
            &["serve", "--bind", "::1"],
            "it lacks its port, as in `[::1]:8080`",
        ),
        (
            &["serve", "--bind", "localhost:8080"],
            "`127.0.0.1:8080` is that machine",
        ),
        (
            &["schema", "show", "geo.zcta_metrics"],
            "did you mean `geo.zcta_metric`?",
        ),
        (
            &["schema", "json", "pubdata.stats"],
            "did you mean `pubdata.status`?",
        ),
    ] {
        let answer = place.pubdata(arguments).expect(40);
        assert!(
            answer.stderr.contains(says),
            "{arguments:?}: {}",
            answer.stderr
        );
    }
    assert!(!place.home().exists(), "no file is left behind");
    for command in ["import", "accept"] {
        assert!(
            place
                .pubdata(&[command, "--help"])
                .expect(0)
                .stdout
                .contains("Exit codes:"),
            "{command}"
        );
    }
}

#[test]
fn help_offers_home_and_store_only_to_commands_that_use_them() {
    let place = Place::new();
    for command in [
        &["verify-receipt"][..],
        &["keys", "signing"],
        &["schema"],
        &["completions"],
        &["man"],
    ] {
        let help = place
            .pubdata(&[command, &["--help"]].concat())
            .expect(0)
            .stdout;
        assert!(
            !help.contains("--home") && !help.contains("--store") && !help.contains("PUBDATA_HOME"),
            "{help}"
        );
    }
    for command in [&["receipt"][..], &["keys", "list"], &["check"]] {
        let help = place
            .pubdata(&[command, &["--help"]].concat())
            .expect(0)
            .stdout;
        assert!(
            help.contains("--home") && help.contains("--store"),
            "{help}"
        );
    }
}

#[test]
fn missing_release_of_a_channel_names_channels_that_have_one() {
    let place = Place::new();
    place.run(&["permit.nola"]).expect(0);
    let reported = place.pubdata(&["status", "--channel", "stable"]).expect(0);
    assert!(
        reported
            .stdout
            .contains("channel stable has no release; there are: nightly"),
        "{}",
        reported.stdout
    );
}

#[test]
fn errors_are_json_on_request() {
    let place = Place::new();
    for (arguments, kind) in [
        (&["run", "census.nothing", "--json"][..], "config"),
        (&["trace", "geo.county:06037", "--json"], "config"),
        (&["run", "--mirror", "/no/such/folder", "--json"], "config"),
    ] {
        let answer = place.pubdata(arguments).expect(40);
        let error = error(&answer.stderr);
        assert_eq!(error["kind"], kind);
        assert!(
            error["error"].as_str().is_some_and(|text| !text.is_empty())
                && error["hint"].is_string(),
            "{error}"
        );
        assert!(answer.stdout.is_empty(), "{answer:#?}");
    }
}

#[test]
fn broken_declaration_is_named_with_file_line_and_key_before_the_run() {
    let place = Place::new();
    let declarations = place.root().join("declarations");
    copy_folder(&project("pipelines"), &declarations.join("pipelines"));
    copy_folder(&project("schemas"), &declarations.join("schemas"));
    let path = declarations.join("pipelines/census/acs5.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replacen("cadence = \"yearly\"", "cadence = \"sometimes\"", 1),
    )
    .unwrap();
    let folder = declarations.to_str().unwrap();
    for command in ["run", "check", "status"] {
        let answer = place.pubdata(&[command, "--declarations", folder]);
        assert!(matches!(answer.code, Some(1 | 40)), "{answer:#?}");
        let said = format!("{}{}", answer.stdout, answer.stderr);
        assert!(
            said.contains("pipelines/census/acs5.toml:") && said.contains("cadence"),
            "{command}: {said}"
        );
    }
    place.pubdata(&["run", "--declarations", "/no/such/folder"]);
    assert!(!place.home().join("releases").exists());
}

#[test]
fn losses_of_unknown_tasks_cannot_be_accepted() {
    let place = Place::new();
    let answer = place.run(&["--accept", "license.foo"]).expect(40);
    assert!(
        answer
            .stderr
            .contains("--accept license.foo: there is no such task, pipeline, source or dataset"),
        "{}",
        answer.stderr
    );
    assert!(
        !place.home().join("ledger.jsonl").exists(),
        "no run was begun"
    );
}

#[test]
fn folder_that_is_not_a_mirror_is_named_before_any_request() {
    let place = Place::new();
    let parent = place.mirror().parent().unwrap().to_owned();
    for command in ["run", "probe", "plan"] {
        let answer = place
            .pubdata(&[
                command,
                "permit.seattle",
                "--mirror",
                parent.to_str().unwrap(),
            ])
            .expect(40);
        assert!(
            answer
                .stderr
                .contains("has no folder of a publisher's host")
                && answer.stderr.contains("such as `www."),
            "{command}: {}",
            answer.stderr
        );
    }
    let file = place.root().join("file");
    std::fs::write(&file, "text").unwrap();
    let answer = place
        .pubdata(&["run", "--mirror", file.to_str().unwrap()])
        .expect(40);
    assert!(
        answer
            .stderr
            .contains("is a file, and a mirror is a folder"),
        "{}",
        answer.stderr
    );
}

#[test]
fn json_of_every_command_is_one_valid_document() {
    let place = Place::published();
    let first = place.current();
    place.edit("acsdt5y2023-b01003.dat", |text| {
        text.replace("860Z200US90210|19652|1335", "860Z200US90210|19653|1335")
    });
    let mirror = place.mirror();
    let mirror = mirror.to_str().unwrap();
    for arguments in [
        &["plan", "--mirror", mirror][..],
        &["fetch", "--mirror", mirror],
        &["run", "--mirror", mirror],
        &["run", "--offline"],
        &["status"],
        &["releases", "list"],
        &["releases", "show"],
        &["releases", "show", &first],
        &["releases", "promote"],
        &["releases", "rollback"],
        &["releases", "prune", "--keep", "1"],
        &["trace", "geo.school:010000500870"],
        &["verify"],
        &["check"],
        &["schema", "dictionary"],
        &["schema", "show", "geo.school"],
    ] {
        let mut arguments = arguments.to_vec();
        arguments.push("--json");
        let answer = place.pubdata(&arguments).expect(0);
        answer.json();
    }
}

#[test]
fn output_to_a_file_or_pipe_has_no_escape_codes() {
    let place = Place::new();
    let mirror = place.mirror();
    let run: &[&str] = &["run", "--mirror", mirror.to_str().unwrap()];
    for (arguments, code) in [
        // Most sources contain an unknown word on purpose.
        (run, 10),
        (&["status"], 0),
        (&["plan", "--offline"], 0),
        (&["trace", "geo.school:010000500870"], 0),
        (&["verify"], 0),
        (&["check"], 0),
        (&["trace", "x"], 40),
        (&["--help"], 0),
        (&["bad"], 40),
    ] {
        for no_color in [false, true] {
            let mut command = place.command(arguments);
            if no_color {
                command.env("NO_COLOR", "1");
            }
            let answer = answer(&mut command).expect(code);
            assert!(
                !answer.stdout.contains('\u{1b}') && !answer.stderr.contains('\u{1b}'),
                "{arguments:?}: {answer:#?}"
            );
        }
    }
}

#[test]
fn run_reports_its_work_in_words() {
    let place = Place::published();
    std::fs::remove_file(place.file("acsdt5y2023-b19013.dat")).unwrap();
    let mirror = place.mirror();
    let answer = place
        .pubdata(&["run", "--mirror", mirror.to_str().unwrap()])
        .expect(30);
    for text in [
        "  missing census.acs5/vintage=2023 since ",
        "; the last good build stays\n",
        "acsdt5y2023-b19013.dat",
        "built from samples",
        &place.current(),
    ] {
        assert!(
            answer.stdout.contains(text),
            "`{text}` is not in: {}",
            answer.stdout
        );
    }
}

#[test]
fn source_missing_from_the_first_run_promises_no_earlier_build() {
    let place = Place::new();
    std::fs::remove_file(place.file("acsdt5y2023-b19013.dat")).unwrap();
    let mirror = place.mirror();
    let answer = place
        .pubdata(&["run", "--mirror", mirror.to_str().unwrap()])
        .expect(30);
    assert!(
        !answer.stdout.contains("the last good build stays"),
        "{}",
        answer.stdout
    );
}

#[test]
fn run_without_data_publishes_no_release() {
    let place = Place::new();
    for file in pubdata_testing::files_below(&place.mirror()) {
        if !file.ends_with(".pubdata-mirror") {
            std::fs::remove_file(file).unwrap();
        }
    }
    let answer = place.run(&[]).expect(30);
    assert_eq!(answer.json()["release_id"], Value::Null);
    assert_eq!(answer.json()["outcome"], "nothing");
    place.pubdata(&["status"]).expect(0);
    place.pubdata(&["verify"]).expect(40);
}
