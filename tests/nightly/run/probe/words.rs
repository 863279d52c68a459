//! Checks the texts of a probe, and that they agree with those of `run` and `plan`.

use pubdata_core::declared::DeclarationFiles;

use super::{SCHOOLS, SEATTLE, SEATTLE_FILE, probe, source, with_header};
use pubdata_testing::{Answer, Place, answer};

/// Runs a command on the mirror with its output as text.
fn shown(place: &Place, command: &str, arguments: &[&str]) -> Answer {
    let mut command = place.command(&[&[command], arguments].concat());
    answer(command.arg("--mirror").arg(place.mirror()))
}

/// Returns the lines about a task, from the one that begins with its outcome to the next empty one.
#[track_caller]
fn paragraph<'t>(text: &'t str, begins: &str) -> Vec<&'t str> {
    let lines: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with(begins))
        .take_while(|line| !line.is_empty())
        .collect();
    assert!(!lines.is_empty(), "no line begins with `{begins}`: {text}");
    lines
}

/// Asserts that probe, plan and run use the same word for a task in the same home, and returns it.
#[track_caller]
fn same_words(place: &Place, task_id: &str) -> String {
    let probed = probe(place, &[task_id]);
    let foreseen = probed.json()["tasks"][0].clone();
    let of_probe = shown(place, "probe", &[task_id]);
    let planned = place.plan(&[task_id]).json()["tasks"][0].clone();
    let done = place.run(&[task_id]);
    let task = done.task(task_id);
    for key in ["outcome", "reasons", "is_in_release"] {
        assert_eq!(foreseen[key], task[key], "{key}: {foreseen:#} {task:#}");
    }
    assert_eq!(
        (probed.code, of_probe.code),
        (done.code, done.code),
        "{foreseen:#} {task:#}"
    );
    let word = task["outcome"].as_str().unwrap().to_owned();
    if planned["outcome"] != "to_build" {
        assert_eq!(
            (&planned["outcome"], &planned["reasons"]),
            (&task["outcome"], &task["reasons"]),
            "{planned:#} {task:#}"
        );
    }
    let begins = format!("{word} {task_id}");
    let of_run = shown(place, "run", &[task_id]);
    let of_probe = paragraph(&of_probe.stdout, &begins).join("\n");
    assert!(
        of_run.stdout.contains(&format!("\n  {begins} since ")),
        "{}",
        of_run.stdout
    );
    for reason in task["reasons"].as_array().unwrap() {
        let reason = reason.as_str().unwrap();
        assert!(
            of_probe.contains(reason) && of_run.stdout.contains(reason),
            "{of_probe}\n{}",
            of_run.stdout
        );
    }
    word
}

#[test]
fn probe_plan_and_run_have_one_word_for_a_missing_file() {
    let place = Place::new();
    let file = place.file(SEATTLE_FILE);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(same_words(&place, SEATTLE), "missing");
    std::fs::write(&file, bytes).unwrap();
    place.run(&[SEATTLE]).expect(0);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(same_words(&place, SEATTLE), "missing");
    assert!(
        shown(&place, "probe", &[SEATTLE])
            .stdout
            .contains("missing permit.seattle: the last good build stays\n")
    );
}

#[test]
fn probe_and_run_have_one_word_for_a_file_that_is_not_as_declared() {
    let place = Place::new();
    place.run(&[SEATTLE]).expect(0);
    place.edit(SEATTLE_FILE, |text| {
        with_header(&text, |header| header.replace("OriginalAddress1", "Where"))
    });
    assert_eq!(same_words(&place, SEATTLE), "blocked");
}

#[test]
fn unpublished_partition_is_not_a_failure() {
    let place = Place::new();
    let task_id = "census.acs5/vintage=2024";
    let probed = probe(&place, &[task_id]).expect(0);
    assert_eq!(
        probed.json()["tasks"][0]["outcome"],
        "not_published",
        "{probed:#?}"
    );
    assert_eq!(
        place.run(&[task_id]).task(task_id)["outcome"],
        "not_published"
    );
}

#[test]
fn trial_runs_on_samples_write_no_log() {
    let place = Place::new();
    place.edit(SEATTLE_FILE, |text| {
        with_header(&text, |header| header.replace("PermitNum", "Permit Number"))
    });
    let probed = shown(&place, "probe", &[SEATTLE, SCHOOLS]);
    assert_eq!((probed.code, probed.stderr.as_str()), (Some(20), ""));
    let mut command = place.command(&["probe", SEATTLE]);
    let reported = answer(
        command
            .arg("--mirror")
            .arg(place.mirror())
            .env("PUBDATA_LOG", "debug"),
    )
    .stderr;
    assert!(
        reported.contains("fetching") && reported.contains("building"),
        "messages that are not about trial runs appear on request: {reported}"
    );
    assert!(
        !reported.contains("task not rebuilt")
            && !reported.contains("snapshot")
            && !reported.contains("pubdata-probe"),
        "{reported}"
    );
}

#[test]
fn unreadable_page_is_reported_with_the_address_requested_instead() {
    let place = Place::new();
    // Newer than the file that the declaration names: known only from the last release.
    let (declared, newer) = (
        "ccd_sch_029_2526_w_0a_050626",
        "ccd_sch_029_2526_w_1a_073026",
    );
    place.edit("datatables/api/File/2/0/0/0/0/0", |page| {
        page.replace(declared, newer)
    });
    let file = place.file(&format!("{declared}.zip"));
    std::fs::rename(&file, file.with_file_name(format!("{newer}.zip"))).unwrap();
    place.run(&[SCHOOLS]).expect(0);
    let inputs = place.manifest()["tasks"][SCHOOLS]["inputs"].clone();
    let known = inputs
        .as_array()
        .unwrap()
        .iter()
        .find(|input| input["source_id"] == SCHOOLS)
        .unwrap()["url"]
        .as_str()
        .unwrap()
        .to_owned();
    std::fs::remove_file(place.file("datatables/api/File/2/0/0/0/0/0")).unwrap();
    let probed = probe(&place, &[SCHOOLS]).expect(10);
    let page = probed.json()["sources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|source| source["source_id"] == SCHOOLS && source["verdict"] == "absent")
        .cloned();
    let page = page.unwrap_or_else(|| panic!("{probed:#?}"));
    let on_mirror = format!(
        "the mirror {} has no nces.ed.gov/ccd/datatables/api/File/2/0/0/0/0/0",
        place.mirror().display()
    );
    assert_eq!(
        (&page["problem"], &page["would"]),
        (&on_mirror.into(), &"publish_with_findings".into()),
        "{page:#}"
    );
    assert_eq!(
        page["in_use"],
        format!("asked for instead: {known}"),
        "{page:#}"
    );
    let run = place.run(&[SCHOOLS]).expect(10);
    let reported: Vec<String> = run.task(SCHOOLS)["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            format!(
                "{} {}: {}",
                finding["code"].as_str().unwrap(),
                finding["source_id"].as_str().unwrap(),
                finding["detail"].as_str().unwrap()
            )
        })
        .collect();
    let foreseen = probed.json()["tasks"][0]["reasons"].clone();
    assert!(
        !reported.is_empty()
            && reported.iter().all(|reported| foreseen
                .as_array()
                .unwrap()
                .contains(&reported.as_str().into())),
        "{reported:?} {foreseen:?}"
    );
}

#[test]
fn refusal_is_reported_with_a_hint() {
    let place = Place::new();
    place.edit(SEATTLE_FILE, |_| {
        "<html><body>Please complete the CAPTCHA to continue.</body></html>".to_owned()
    });
    let wall = source(&probe(&place, &[SEATTLE]).expect(30), SEATTLE);
    assert!(
        wall["ways_out"][0]
            .as_str()
            .unwrap()
            .contains("`pubdata import permit.seattle FILE`"),
        "{wall:#}"
    );
    let text = shown(&place, "probe", &[SEATTLE]).stdout;
    assert!(
        text.contains("\nwhat you can do\n")
            && text.contains("`pubdata import permit.seattle FILE`"),
        "{text}"
    );
}

/// A word of the declaration that its contract lacks costs every record that uses it: a run would
/// refuse it, and so does a probe.
#[test]
fn word_missing_from_the_contract_is_reported_with_its_line() {
    let place = Place::new();
    let folder = place.root().join("declarations");
    let files = DeclarationFiles::built_in();
    let path = "pipelines/permit/seattle.toml";
    let original = String::from_utf8(files.read(path).unwrap().to_vec()).unwrap();
    let changed = original.replace("\"Building\" = \"building\"", "\"Building\" = \"bilding\"");
    assert_ne!(changed, original);
    files.with(&[(path, &changed)]).write_to(&folder).unwrap();
    let arguments = [SEATTLE, "--declarations", folder.to_str().unwrap()];
    let line = 1 + changed
        .lines()
        .position(|line| line.contains("bilding"))
        .unwrap();
    let fault = format!(
        "{path}:{line}: settings.type.Building: `bilding` is no value of `type` in `permit.permit`; did you mean `building`?"
    );
    let reports = [
        probe(&place, &arguments).expect(20),
        place.run(&arguments).expect(20),
    ];
    for report in reports {
        assert!(report.stdout.contains(&fault), "{}", report.stdout);
    }
    let text = shown(&place, "probe", &arguments).stdout;
    assert!(text.contains(&fault), "{text}");
}
