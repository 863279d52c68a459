use serde_json::Value;

use super::ACS_2023;
use pubdata_testing::{Place, answer, folders, project};

/// Returns state and reasons of a task in a plan.
fn planned(plan: &Value, task_id: &str) -> (String, String) {
    let task = plan["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|task| task["task_id"] == task_id)
        .unwrap_or_else(|| panic!("{task_id}: {plan:#}"));
    (
        task["outcome"].as_str().unwrap().to_owned(),
        task["reasons"].to_string(),
    )
}

fn tasks(report: &Value) -> Vec<&str> {
    let built = report["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|task| task["outcome"] != "not_published");
    built
        .map(|task| task["task_id"].as_str().unwrap())
        .collect()
}

#[test]
fn selector_names_a_family_a_pipeline_a_dataset_or_a_task() {
    let place = Place::new();
    let acs5 = ["census.acs5/vintage=2022", ACS_2023];
    for (selector, expected) in [
        ("nces", vec!["nces.ccd_directory"]),
        (
            "census",
            vec![acs5[0], acs5[1], "census.gazetteer", "census.population"],
        ),
        ("census.acs5", acs5.to_vec()),
        ("geo.county", vec!["census.gazetteer"]),
        ("geo.zcta_metric", acs5.to_vec()),
        (ACS_2023, vec![ACS_2023]),
        ("sec.filing", vec!["sec.submissions"]),
        (
            "sec",
            vec!["sec.financials", "sec.submissions", "sec.taxonomy"],
        ),
    ] {
        let report = place.run(&[selector]).expect(0).json();
        assert_eq!(tasks(&report), expected, "{selector}");
    }
    for family in folders(&project("pipelines")) {
        let family = family.file_name().unwrap().to_str().unwrap().to_owned();
        if !["census", "nces", "sec"].contains(&family.as_str()) {
            place.run(&[&family]).expect(0);
        }
    }
    assert_eq!(
        place.current(),
        Place::published().current(),
        "task by task comes to the same release"
    );
}

#[test]
fn run_with_a_selector_keeps_the_parts_of_all_other_tasks() {
    let place = Place::published();
    let before = place.manifest();
    place.edit("acsdt5y2023-b01003.dat", |text| {
        text.replace("860Z200US90210|19652|1335", "860Z200US90210|19653|1335")
    });
    place.edit("acsdt5y2022-b01003.dat", |text| {
        text.replacen("860Z200US90210|", "860Z200US90210|1", 1)
    });
    let report = place.run(&[ACS_2023]).expect(0).json();
    assert_eq!(tasks(&report), [ACS_2023]);
    let after = place.manifest();
    for dataset_id in ["geo.geography", "geo.county", "geo.school"] {
        assert_eq!(
            after["datasets"][dataset_id],
            before["datasets"][dataset_id]
        );
    }
    let of_2022 = |manifest: &Value| {
        manifest["datasets"]["geo.zcta_metric"]["parts"]
            .as_array()
            .unwrap()
            .iter()
            .find(|part| part["partition"]["vintage_year"] == "2022")
            .cloned()
    };
    assert!(of_2022(&before).is_some());
    assert_eq!(
        of_2022(&after),
        of_2022(&before),
        "a change outside the selection waits"
    );
    assert_ne!(
        after["datasets"]["geo.zcta_metric"],
        before["datasets"]["geo.zcta_metric"]
    );
}

#[test]
fn selector_without_a_match_is_refused() {
    let place = Place::new();
    for selector in [
        "census.acs",
        "geo.nothing",
        "census.acs5/vintage=2031",
        "census.acs5/vintage=x",
    ] {
        let answer = place.run(&["nces", selector]).expect(40);
        assert!(
            answer
                .stderr
                .contains(&format!("`{selector}` selects nothing"))
                && answer.stderr.contains("census.acs5"),
            "{answer:#?}"
        );
    }
    let answer = place.run(&["austin"]).expect(40);
    assert!(
        answer
            .stderr
            .contains("did you mean `permit.austin` or `permit.austin_links`?")
            && answer.stderr.contains("pubdata plan --offline"),
        "{answer:#?}"
    );
    let answer = place.run(&["nosuch"]).expect(40);
    assert!(
        answer.stderr.len() < 500 && answer.stderr.contains("pubdata plan --offline"),
        "{answer:#?}"
    );
    assert!(
        !place.home().exists(),
        "the valid selector did not run, and no folder was created"
    );
    let answer = place.run(&["nces.edge_geocode"]).expect(40);
    assert!(
        answer
            .stderr
            .contains("no tables, its files are read by nces.ccd_directory"),
        "{answer:#?}"
    );
}

/// A mistyped home is reported, not created.
#[test]
fn reading_commands_create_no_home() {
    let place = Place::new();
    let of_keys = [
        &["keys", "list"][..],
        &["keys", "revoke", "k"],
        &["accept", "--list"],
    ];
    for looking in [
        &["status"][..],
        &["releases", "list"],
        &["trace", "geo.geography:2025:zcta:90210"],
        &["verify"],
    ]
    .into_iter()
    .chain(of_keys)
    {
        let answer = place.pubdata(looking).expect(40);
        assert!(
            answer
                .stderr
                .contains(&format!("there is no home at {}", place.home().display()))
                && answer.stderr.contains("PUBDATA_HOME"),
            "{answer:#?}"
        );
        assert!(!place.home().exists(), "{looking:?}");
    }
    std::fs::create_dir(place.home()).unwrap();
    for looking in [
        &["status"][..],
        &["releases", "list"],
        &["verify"],
        &["upgrade"],
        &["accept", "--list"],
    ] {
        let answer = place.pubdata(looking).expect(40);
        assert!(
            answer
                .stderr
                .contains(&format!("{} is not a pubdata home", place.home().display())),
            "{answer:#?}"
        );
        assert_eq!(
            std::fs::read_dir(place.home()).unwrap().count(),
            0,
            "{looking:?}"
        );
    }
}

#[test]
fn run_reports_that_it_creates_a_home() {
    let place = Place::new();
    let run = |place: &Place| {
        let mirror = place.mirror().display().to_string();
        answer(&mut place.command(&["run", "census.population", "--mirror", &mirror]))
            .expect(0)
            .stderr
    };
    let said = format!(
        "there is no home at {} yet: creating it",
        place.home().display()
    );
    assert!(run(&place).contains(&said));
    assert!(!run(&place).contains(&said));
}

#[test]
fn file_in_place_of_the_home_is_the_same_error_for_every_command() {
    let place = Place::new();
    std::fs::write(place.home(), "a file").unwrap();
    for command in [
        &["status"][..],
        &["run"],
        &["settings"],
        &["keys", "list"],
        &["serve"],
        &["probe"],
        &["verify"],
        &["check"],
    ] {
        let answer = place.pubdata(command).expect(40);
        assert!(
            answer.stderr.contains(&format!(
                "--home {}: it is a file, and a home is a folder",
                place.home().display()
            )),
            "{command:?}: {answer:#?}"
        );
    }
}

#[test]
fn vintages_before_2021_are_refused_with_the_reason() {
    let place = Place::new();
    for vintage in ["2019", "2020", "2009"] {
        let answer = place
            .run(&[&format!("census.acs5/vintage={vintage}")])
            .expect(40);
        assert!(
            answer
                .stderr
                .contains("vintages before 2021 are not in the table-based Summary File"),
            "{answer:#?}"
        );
    }
}

#[test]
fn plan_lists_pending_work_with_its_reasons() {
    let place = Place::new();
    std::fs::remove_file(place.file("acsdt5y2023-b19013.dat")).unwrap();
    let plan = place.plan(&[]).expect(30).json();
    assert_eq!(
        planned(&plan, "census.acs5/vintage=2024").0,
        "not_published"
    );
    assert_eq!(
        planned(&plan, "census.gazetteer"),
        ("to_build".to_owned(), "[\"never built\"]".to_owned())
    );
    let (state, reasons) = planned(&plan, ACS_2023);
    let on_mirror = format!(
        "the mirror {} has no www2.census.gov/programs-surveys/acs/summary_file/2023/",
        place.mirror().display()
    );
    assert!(
        state == "missing"
            && reasons.contains("acsdt5y2023-b19013.dat")
            && reasons.contains(&on_mirror),
        "{reasons}"
    );
    assert!(
        !place.home().join("releases").exists(),
        "a plan publishes no release"
    );

    let place = Place::published();
    let plan = place.plan(&[]).expect(0).json();
    assert_eq!(
        planned(&plan, ACS_2023),
        ("fresh".to_owned(), "[]".to_owned())
    );
    place.edit("acsdt5y2023-b01003.dat", |text| {
        text.replace("860Z200US90210|19652|1335", "860Z200US90210|19653|1335")
    });
    let plan = place.plan(&[]).expect(0).json();
    let (state, reasons) = planned(&plan, ACS_2023);
    assert!(
        state == "to_build"
            && reasons.contains("source changed: https://www2.census.gov/")
            && reasons.contains("b01003"),
        "{reasons}"
    );
    assert_eq!(planned(&plan, "census.acs5/vintage=2022").0, "fresh");
    place.edit("acsdt5y2023-b01003.dat", |text| {
        text.lines().take(3).collect::<Vec<_>>().join("\n")
    });
    let plan = place.plan(&[ACS_2023]).expect(20).json();
    assert_eq!(planned(&plan, ACS_2023).0, "blocked", "as a run would end");
    let plan = place.plan(&["nces"]).expect(0).json();
    assert_eq!(plan["tasks"].as_array().unwrap().len(), 1);
    assert!(plan["untouched"].to_string().contains(ACS_2023), "{plan:#}");
}

#[test]
fn vintage_missing_between_two_is_missing_and_a_later_one_is_not() {
    let place = Place::new();
    let of_2022 = pubdata_testing::files_below(&place.mirror())
        .into_iter()
        .filter(|path| path.to_str().unwrap().contains("summary_file/2022"));
    for path in of_2022 {
        let to = std::path::PathBuf::from(
            path.to_str()
                .unwrap()
                .replace("summary_file/2022", "summary_file/2021")
                .replace("5y2022", "5y2021")
                .replace("Geos2022", "Geos2021")
                .replace("ACS2022", "ACS2021"),
        );
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::rename(path, to).unwrap();
    }
    let answer = place.run(&["census.acs5"]).expect(30);
    assert_eq!(answer.task("census.acs5/vintage=2021")["outcome"], "built");
    assert_eq!(
        answer.task("census.acs5/vintage=2022")["outcome"],
        "missing"
    );
    assert_eq!(
        answer.task("census.acs5/vintage=2024")["outcome"],
        "not_published"
    );
}
