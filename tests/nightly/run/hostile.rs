//! Checks publishers that harm a run: they crash the program's code, drip bytes, or end a file
//! early. Only their own task is affected.

use std::time::Duration;

use pubdata_build::publish::fault::VARIABLE;
use pubdata_core::declared::DeclarationFiles;
use pubdata_run::{ExitCode, RunSettings};
use serde_json::Value;

use pubdata_testing::publisher::{Publisher, Reply};
use pubdata_testing::{Place, answer, run_here, settings};

fn outcome(report: &Value, task_id: &str) -> String {
    let tasks = report["tasks"].as_array().unwrap();
    tasks
        .iter()
        .find(|task| task["task_id"] == task_id)
        .unwrap()["outcome"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// A defect in a whole build, in one that is split into buckets, and in one of shards.
#[test]
fn build_that_stops_with_a_defect_blocks_only_its_own_task() {
    let place = Place::published();
    for task_id in ["census.population", "business.fl_sunbiz", "sec.submissions"] {
        let mut command = place.run_command(&[
            "--force",
            "census.population",
            "business.fl_sunbiz",
            "sec.submissions",
            "nces",
        ]);
        let after = answer(command.env(VARIABLE, format!("defect:{task_id}"))).expect(20);
        let report = after.json();
        for other in [
            "census.population",
            "business.fl_sunbiz",
            "sec.submissions",
            "nces.ccd_directory",
        ] {
            assert_eq!(
                outcome(&report, other),
                if other == task_id { "blocked" } else { "built" },
                "{task_id}: {other}"
            );
        }
        let reason = after.reasons(task_id);
        assert!(
            reason.contains("stopped with a defect: asked for in"),
            "{reason}"
        );
        let reported = place.stale_tasks().remove(task_id).unwrap();
        assert!(
            reported.contains("asked for in some.rs"),
            "no public text names a folder: {reported}"
        );
    }
}

struct Site {
    place: Place,
    publisher: Publisher,
}

impl Site {
    async fn new() -> Self {
        let (place, publisher) = (Place::new(), Publisher::start().await);
        publisher.serve_folder(&place.mirror());
        Self { place, publisher }
    }

    fn settings(&self, selectors: &[&str]) -> RunSettings {
        let mut settings = settings(
            &self.place.home(),
            vec![self.publisher.base_url()],
            DeclarationFiles::built_in(),
        );
        settings.selectors = selectors
            .iter()
            .map(|&selector| selector.to_owned())
            .collect();
        settings
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dripping_publisher_delays_only_its_own_pipeline_until_the_deadline() {
    let site = Site::new().await;
    site.publisher.route(
        "/www2.census.gov/programs-surveys/popest/datasets/2020-2024/cities/totals/sub-est2024.csv",
        vec![Reply::file("SUMLEV,STATE").dripping()],
    );
    let mut settings = site.settings(&["census.population", "nces.ccd_directory"]);
    settings.fetch.pipeline_deadline = Duration::from_millis(500);
    let report = run_here(&settings).await;
    let of = |task_id: &str| {
        report
            .tasks
            .iter()
            .find(|task| task.task_id == task_id)
            .unwrap()
    };
    assert_eq!(
        (of("census.population").outcome, report.exit_code),
        ("missing", ExitCode::SourceMissing),
        "{report:#?}"
    );
    assert!(
        of("census.population")
            .reasons
            .join(" ")
            .contains("the files of census.population took longer than"),
        "{report:#?}"
    );
    assert_eq!(
        of("nces.ccd_directory").outcome,
        "built",
        "the other tasks are published"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn feed_with_an_unproven_end_is_published_with_a_finding() {
    let site = Site::new().await;
    let list = site.place.read("sub-est2024.csv");
    let path =
        "/www2.census.gov/programs-surveys/popest/datasets/2020-2024/cities/totals/sub-est2024.csv";
    // Without the end of its last line, the feed ends in the middle of a figure.
    site.publisher.route(
        path,
        vec![
            Reply::body(200, list.clone())
                .without_length()
                .cut_after(list.len() - 3),
        ],
    );
    let report = run_here(&site.settings(&["census.population"])).await;
    let findings: Vec<(&str, &str)> = report.tasks[0]
        .findings
        .iter()
        .map(|finding| (finding.source_id.as_str(), finding.code.as_str()))
        .collect();
    assert_eq!(report.tasks[0].outcome, "built", "{report:#?}");
    assert!(
        findings.contains(&("census.population_estimate", "length_unknown")),
        "{findings:?}"
    );
    assert_eq!(report.exit_code, ExitCode::Quarantined);
    // The next run gets the normal file.
    site.publisher
        .route(path, vec![Reply::body(200, list).without_length()]);
    let report = run_here(&site.settings(&["census.population"])).await;
    assert!(
        !report.tasks[0]
            .findings
            .iter()
            .any(|finding| finding.code == "length_unknown"),
        "{report:#?}"
    );
}
