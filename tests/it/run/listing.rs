//! Files that a publisher's page names, over HTTP: the newest of each state is asked for, and nothing else.

use pubdata::declared::DeclarationFiles;
use pubdata::run::{ExitCode, RunReport, RunSettings, trace};

use crate::publisher::{Publisher, Reply};
use crate::support::{Place, run_here, settings};

const TASK: &str = "tax.sst";
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
        let mut settings = settings(&self.place.home(), vec![self.publisher.base_url()], DeclarationFiles::built_in());
        settings.selectors = vec![TASK.to_owned()];
        settings
    }

    async fn run(&self) -> RunReport {
        run_here(&self.settings()).await
    }

    /// Names of the files that the current release was made from, of a kind.
    fn read(&self, source_id: &str) -> Vec<String> {
        let manifest = self.place.manifest();
        let inputs = manifest["tasks"][TASK]["inputs"].as_array().unwrap().clone();
        let of_source = inputs.iter().filter(|input| input["source_id"] == source_id);
        let mut names: Vec<String> = of_source.map(|input| input["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()).collect();
        names.sort();
        names
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_file_of_each_state_is_read_and_no_other_is_asked_for() {
    let site = Site::new().await;
    let report = site.run().await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    assert_eq!(site.read("tax.sst_rate"), ["MNR2026Q2FEB18.zip", "NER2013Q2FEB25.txt", "VTR2026Q2FEB18.csv", "WIR2026Q2FEB18.csv"]);
    assert_eq!(site.read("tax.sst_boundary"), ["MNB2026Q2FEB18.csv", "TNB2026Q2FEB18.csv", "WIB2026Q2FEB18.csv"]);
    let asked: Vec<String> = site.publisher.all_requests().into_iter().map(|request| request.target).collect();
    let strange = ["MNR2025Q4NOV20", "MNR2026Q2FEB9", "WAR", "WAB", "readme"];
    assert_eq!(asked.iter().find(|target| strange.iter().any(|name| target.contains(name))), None, "{asked:?}");
    // Nothing of Washington, whose own files say the same.
    assert!(site.place.rows("tax.rate").values().all(|(row, _)| row["state"] != "WA"));
    // The same pages and files a second time are nothing new, and offline they are known.
    let again = site.run().await;
    assert_eq!((again.outcome, again.tasks[0].outcome), ("unchanged", "fresh"), "{again:#?}");
    let offline = run_here(&RunSettings { is_offline: true, ..site.settings() }).await;
    assert_eq!(offline.tasks[0].outcome, "fresh", "{offline:#?}");
    let traced = trace(&site.settings(), &"tax.rate:WI:45:55:1980-01-01".parse().unwrap(), None).await.unwrap();
    assert!(traced.is_match, "{:?}", traced.differences);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_name_on_the_page_is_read_the_next_night() {
    let site = Site::new().await;
    site.run().await;
    let folder = site.place.mirror().join(RATES);
    let page = std::fs::read_to_string(folder.join("index.html")).unwrap();
    std::fs::write(folder.join("index.html"), page.replace("WIR2026Q2FEB18.csv", "WIR2026Q3MAY8.csv")).unwrap();
    let rates = std::fs::read_to_string(folder.join("WIR2026Q2FEB18.csv")).unwrap();
    std::fs::write(folder.join("WIR2026Q3MAY8.csv"), rates + "55,63,55503,0.001,0.001,0.001,0.001,20260701,99991231\r\n").unwrap();
    site.publisher.serve_folder(&site.place.mirror());
    let report = site.run().await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    assert!(site.read("tax.sst_rate").contains(&"WIR2026Q3MAY8.csv".to_owned()));
    assert!(site.place.rows("tax.rate").contains_key("tax.rate:WI:63:55503:2026-07-01"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_names_no_file_keeps_the_last_build() {
    let site = Site::new().await;
    site.run().await;
    let rows = site.place.rows("tax.rate");
    let page = site.place.mirror().join(RATES).join("index.html");
    std::fs::write(&page, "<html><body>We are moving. <a href=\"/\">Home</a></body></html>").unwrap();
    site.publisher.serve_folder(&site.place.mirror());
    let report = site.run().await;
    assert_eq!(report.exit_code, ExitCode::SourceMissing, "{report:#?}");
    assert!(report.tasks[0].reasons[0].contains("the page names no file of the form"), "{:?}", report.tasks[0].reasons);
    assert_eq!(site.place.rows("tax.rate"), rows);
    site.publisher.route(&format!("/{RATES}/index.html"), vec![Reply::status(404)]);
    let report = site.run().await;
    assert!(report.tasks[0].reasons[0].contains("the publisher has no such page"), "{:?}", report.tasks[0].reasons);
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_that_share_a_page_ask_for_it_once() {
    let site = Site::new().await;
    let mut settings = site.settings();
    settings.selectors = vec!["tax.washington".to_owned()];
    let report = run_here(&settings).await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    let pages = |target: &str| target.contains("downloadable-database") && !target.contains(".zip") && !target.contains(".csv");
    let asked: Vec<String> = site.publisher.all_requests().into_iter().map(|request| request.target).filter(|target| pages(target)).collect();
    assert_eq!(asked.len(), 1, "{asked:?}");
}
