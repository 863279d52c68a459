//! Reads files that a publisher's page names, over HTTP: only the newest file of each state is
//! requested.

use std::path::PathBuf;

use pubdata_core::declared::DeclarationFiles;
use pubdata_run::{ExitCode, RunReport, RunSettings, trace};
use pubdata_store::{Home, Releases};

use pubdata_testing::publisher::{Publisher, Reply};
use pubdata_testing::{Place, run_here, settings};

const TASKS: [&str; 2] = ["tax.sst_boundaries", "tax.sst_rates"];
const RATES: &str = "www.streamlinedsalestax.org/ratesandboundry/Rates";

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

    fn settings(&self) -> RunSettings {
        let mut settings = settings(
            &self.place.home(),
            vec![self.publisher.base_url()],
            DeclarationFiles::built_in(),
        );
        settings.selectors = TASKS.map(str::to_owned).into();
        settings
    }

    async fn run(&self) -> RunReport {
        run_here(&self.settings()).await
    }

    /// Returns the names of a source's files that the current release was made from.
    fn read(&self, source_id: &str) -> Vec<String> {
        let manifest = self.place.manifest();
        let inputs = TASKS
            .iter()
            .flat_map(|task| manifest["tasks"][task]["inputs"].as_array().unwrap());
        let of_source = inputs.filter(|input| input["source_id"] == source_id);
        let mut names: Vec<String> = of_source
            .map(|input| {
                input["url"]
                    .as_str()
                    .unwrap()
                    .rsplit('/')
                    .next()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        names.sort();
        names
    }

    /// Lists Wisconsin's rates under another name, and returns the folder of the files.
    fn list_wisconsin_as(&self, name: &str) -> PathBuf {
        let folder = self.place.mirror().join(RATES);
        let page = std::fs::read_to_string(folder.join("index.html")).unwrap();
        std::fs::write(
            folder.join("index.html"),
            page.replace("WIR2026Q2FEB18.csv", name),
        )
        .unwrap();
        folder
    }

    /// Removes a file's name from a page.
    fn unlist(&self, folder: &str, name: &str) {
        let page = self.place.mirror().join(folder).join("index.html");
        let text = std::fs::read_to_string(&page).unwrap();
        let lines: Vec<&str> = text
            .split_inclusive("<br>")
            .filter(|line| {
                !line.contains(&format!(
                    "\"/{}/{name}\"",
                    folder.split_once('/').unwrap().1
                ))
            })
            .collect();
        assert!(
            lines.concat().len() < text.len(),
            "{name} is not on the page"
        );
        std::fs::write(page, lines.concat()).unwrap();
        self.publisher.serve_folder(&self.place.mirror());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_newest_file_of_each_state_is_requested_and_read() {
    let site = Site::new().await;
    let report = site.run().await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    assert_eq!(
        site.read("tax.sst_rate"),
        [
            "MNR2026Q2FEB18.zip",
            "NER2013Q2FEB25.txt",
            "VTR2026Q2FEB18.csv",
            "WIR2026Q2FEB18.csv"
        ]
    );
    assert_eq!(
        site.read("tax.sst_boundary"),
        [
            "MNB2026Q2FEB18.csv",
            "TNB2026Q2FEB18.csv",
            "WIB2026Q2FEB18.csv"
        ]
    );
    let requested: Vec<String> = site
        .publisher
        .all_requests()
        .into_iter()
        .map(|request| request.target)
        .collect();
    let strange = ["MNR2025Q4NOV20", "MNR2026Q2FEB9", "WAR", "WAB", "readme"];
    assert_eq!(
        requested
            .iter()
            .find(|target| strange.iter().any(|name| target.contains(name))),
        None,
        "{requested:?}"
    );
    // No file of Washington is requested: the state's own files have the same data.
    assert!(
        site.place
            .rows("tax.rate")
            .values()
            .all(|(row, _)| row["state"] != "WA")
    );
    // The same pages and files are unchanged the second time, and known offline.
    let again = site.run().await;
    assert_eq!(
        (
            again.outcome,
            again.tasks[0].outcome,
            again.tasks[1].outcome
        ),
        ("unchanged", "fresh", "fresh"),
        "{again:#?}"
    );
    let offline = run_here(&RunSettings {
        is_offline: true,
        ..site.settings()
    })
    .await;
    assert_eq!(
        (offline.tasks[0].outcome, offline.tasks[1].outcome),
        ("fresh", "fresh"),
        "{offline:#?}"
    );
    let traced = trace(
        &site.settings(),
        &"tax.rate:WI:45:55:1980-01-01".parse().unwrap(),
        None,
    )
    .await
    .unwrap();
    assert!(traced.is_match, "{:?}", traced.differences);
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_name_on_the_page_is_read_in_the_next_run() {
    let site = Site::new().await;
    site.run().await;
    let folder = site.list_wisconsin_as("WIR2026Q3MAY8.csv");
    let rates = std::fs::read_to_string(folder.join("WIR2026Q2FEB18.csv")).unwrap();
    std::fs::write(
        folder.join("WIR2026Q3MAY8.csv"),
        rates + "55,63,55503,0.001,0.001,0.001,0.001,20260701,99991231\r\n",
    )
    .unwrap();
    site.publisher.serve_folder(&site.place.mirror());
    let report = site.run().await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    assert!(
        site.read("tax.sst_rate")
            .contains(&"WIR2026Q3MAY8.csv".to_owned())
    );
    assert!(
        site.place
            .rows("tax.rate")
            .contains_key("tax.rate:WI:63:55503:2026-07-01")
    );
}

/// A release describes its files as the publisher does now.
#[tokio::test(flavor = "multi_thread")]
async fn same_bytes_under_a_newer_name_are_renamed_in_the_release() {
    let site = Site::new().await;
    site.run().await;
    let folder = site.list_wisconsin_as("WIR2026Q3MAY8.csv");
    std::fs::copy(
        folder.join("WIR2026Q2FEB18.csv"),
        folder.join("WIR2026Q3MAY8.csv"),
    )
    .unwrap();
    site.publisher.serve_folder(&site.place.mirror());
    let report = site.run().await;
    let rates = report
        .tasks
        .iter()
        .find(|task| task.task_id == "tax.sst_rates")
        .unwrap();
    assert_eq!(rates.outcome, "built");
    assert!(
        rates.reasons[0].contains("WIR2026Q2FEB18.csv, now")
            && rates.reasons[0].ends_with("WIR2026Q3MAY8.csv"),
        "{:?}",
        rates.reasons
    );
    assert!(
        site.read("tax.sst_rate")
            .contains(&"WIR2026Q3MAY8.csv".to_owned())
    );
    let home = site.place.root().join("other-home");
    let from_nothing = run_here(&RunSettings {
        releases: Releases::open(&Home::open(&home).unwrap(), None).unwrap(),
        home: Home::open(&home).unwrap(),
        ..site.settings()
    })
    .await;
    assert_eq!(report.release_id, from_nothing.release_id);
}

#[tokio::test(flavor = "multi_thread")]
async fn page_that_names_no_file_keeps_the_last_build() {
    let site = Site::new().await;
    site.run().await;
    let rows = site.place.rows("tax.rate");
    let page = site.place.mirror().join(RATES).join("index.html");
    std::fs::write(
        &page,
        "<html><body>We are moving. <a href=\"/\">Home</a></body></html>",
    )
    .unwrap();
    site.publisher.serve_folder(&site.place.mirror());
    let report = site.run().await;
    assert_eq!(report.exit_code, ExitCode::SourceMissing, "{report:#?}");
    assert!(
        report.tasks[1].reasons[0].contains("the page names no file of the form"),
        "{:?}",
        report.tasks[1].reasons
    );
    assert_eq!(site.place.rows("tax.rate"), rows);
    site.publisher
        .route(&format!("/{RATES}/index.html"), vec![Reply::status(404)]);
    let report = site.run().await;
    let absent = format!("the mirror {} has no {RATES}", site.publisher.base_url());
    assert!(
        report.tasks[1].reasons[0].contains(&absent),
        "{:?}",
        report.tasks[1].reasons
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn unlisted_state_keeps_its_rows_until_its_loss_is_accepted() {
    let site = Site::new().await;
    site.run().await;
    let rows = site.place.rows("tax.rate");
    assert!(rows.values().any(|(row, _)| row["state"] == "WI"));
    site.unlist(RATES, "WIR2026Q2FEB18.csv");
    for _ in 0..2 {
        let report = site.run().await;
        assert_eq!(report.exit_code, ExitCode::SourceMissing, "{report:#?}");
        let task = &report.tasks[1];
        assert_eq!(
            (task.task_id.as_str(), task.outcome, task.is_in_release),
            ("tax.sst_rates", "fresh", true)
        );
        let [finding] = &task.findings[..] else {
            panic!("{task:#?}")
        };
        assert_eq!(
            (finding.source_id.as_str(), finding.code.as_str()),
            ("tax.sst_rate", "file_missing")
        );
        assert!(
            finding.detail.contains("no longer names")
                && finding.detail.contains("WIR2026Q2FEB18.csv"),
            "{finding:?}"
        );
        assert!(
            finding
                .detail
                .contains("`pubdata accept tax.sst_rate:shrink`"),
            "{finding:?}"
        );
        assert_eq!(
            report.tasks[0].outcome, "fresh",
            "all boundaries are listed"
        );
        assert_eq!(site.place.rows("tax.rate"), rows);
    }
    let accepted = run_here(&RunSettings {
        accepted: vec!["tax.sst_rate".to_owned()],
        ..site.settings()
    })
    .await;
    assert_eq!(accepted.exit_code, ExitCode::Ok, "{accepted:#?}");
    let left = site.place.rows("tax.rate");
    assert!(!left.is_empty() && left.values().all(|(row, _)| row["state"] != "WI"));
    // The removed state is not missed again.
    let again = site.run().await;
    assert_eq!(
        (again.exit_code, again.tasks[1].outcome),
        (ExitCode::Ok, "fresh"),
        "{again:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn state_whose_file_has_another_extension_is_still_listed() {
    let site = Site::new().await;
    site.run().await;
    let folder = site.list_wisconsin_as("WIR2026Q2FEB18.txt");
    std::fs::rename(
        folder.join("WIR2026Q2FEB18.csv"),
        folder.join("WIR2026Q2FEB18.txt"),
    )
    .unwrap();
    site.publisher.serve_folder(&site.place.mirror());
    let report = site.run().await;
    assert_eq!(
        (report.exit_code, report.tasks[1].outcome),
        (ExitCode::Ok, "built"),
        "{report:#?}"
    );
    assert!(
        site.read("tax.sst_rate")
            .contains(&"WIR2026Q2FEB18.txt".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn optional_file_is_missed_when_the_last_build_had_it() {
    let site = Site::new().await;
    let mut settings = site.settings();
    settings.selectors = vec!["tax.washington".to_owned()];
    assert_eq!(run_here(&settings).await.exit_code, ExitCode::Ok);
    let rows = site.place.rows("tax.boundary");
    assert!(!rows.is_empty());
    let page = pubdata_testing::files_below(&site.place.mirror())
        .into_iter()
        .find(|path| path.to_string_lossy().ends_with("downloadable-database"))
        .unwrap();
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("State_"));
    std::fs::write(&page, text.replace("State_", "Other_")).unwrap();
    site.publisher.serve_folder(&site.place.mirror());
    let report = run_here(&settings).await;
    assert_eq!(report.exit_code, ExitCode::SourceMissing, "{report:#?}");
    assert!(
        report.tasks[0].reasons[0].contains("tax.washington_address"),
        "{:?}",
        report.tasks[0].reasons
    );
    assert_eq!(site.place.rows("tax.boundary"), rows);
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_that_share_a_page_request_it_once() {
    let site = Site::new().await;
    let mut settings = site.settings();
    settings.selectors = vec!["tax.washington".to_owned()];
    let report = run_here(&settings).await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    let pages = |target: &str| {
        target.contains("downloadable-database")
            && !target.contains(".zip")
            && !target.contains(".csv")
    };
    let requested: Vec<String> = site
        .publisher
        .all_requests()
        .into_iter()
        .map(|request| request.target)
        .filter(|target| pages(target))
        .collect();
    assert_eq!(requested.len(), 1, "{requested:?}");
}
