//! A list that a publisher hands out in pages, over HTTP: asked for to its end, page by page, and read as one file.

use std::path::PathBuf;

use pubdata::declared::DeclarationFiles;
use pubdata::run::{ExitCode, RunReport, RunSettings, trace};
use serde_json::Value;

use crate::publisher::Publisher;
use crate::support::{Place, project, run_here, settings};

const DECLARATION: &str = "pipelines/census/zcta_county.toml";
const FILE: &str = "tab20_zcta520_county20_natl.txt";
const TASK: &str = "census.gazetteer";
const PAGE_ROWS: usize = 20;

/// The relationship file in pages of 20 rows, each with the header line.
struct Site {
    place: Place,
    publisher: Publisher,
    header: String,
    rows: Vec<String>,
}

impl Site {
    async fn new() -> Self {
        let (place, publisher) = (Place::new(), Publisher::start().await);
        let text = place.read(FILE);
        std::fs::remove_file(place.file(FILE)).unwrap();
        let mut lines = text.lines().map(str::to_owned);
        let header = lines.next().unwrap();
        let mut site = Self { place, publisher, header, rows: lines.collect() };
        assert_eq!(site.rows.len(), 56);
        // Rows without a ZCTA say nothing that is read: the list may have more of them.
        let idle = site.rows.iter().find(|row| row.starts_with("||")).unwrap().clone();
        site.rows.extend(std::iter::repeat_n(idle, 8));
        site.publisher.serve_folder(&site.place.mirror());
        site
    }

    fn page(&self, offset: usize) -> PathBuf {
        let folder = self.place.mirror().join("www2.census.gov/geo/docs/maps-data/data/rel2020/zcta520");
        folder.join(format!("{FILE}@offset={offset}"))
    }

    fn write_page(&self, offset: usize, rows: &[String]) {
        std::fs::write(self.page(offset), format!("{}\n{}\n", self.header, rows.join("\n"))).unwrap();
    }

    /// The first rows of the list in pages, and an empty page where the last one is full.
    fn publish(&self, rows: usize) {
        for offset in (0..=64).step_by(PAGE_ROWS) {
            let _ = std::fs::remove_file(self.page(offset));
        }
        for offset in (0..=rows).step_by(PAGE_ROWS) {
            self.write_page(offset, &self.rows[offset..rows.min(offset + PAGE_ROWS)]);
        }
    }

    fn settings(&self) -> RunSettings {
        let text = std::fs::read_to_string(project(DECLARATION)).unwrap();
        let paged = text.replacen("natl.txt\"", "natl.txt?offset={offset}\"\npages = { variable = \"offset\", records = 20 }", 1);
        assert_ne!(text, paged);
        let files = DeclarationFiles::built_in().with(&[(DECLARATION, &paged)]);
        let mut settings = settings(&self.place.home(), vec![self.publisher.base_url()], files);
        settings.selectors = vec![TASK.to_owned()];
        settings
    }

    async fn run(&self) -> RunReport {
        run_here(&self.settings()).await
    }

    /// The offsets of the pages that the current release was made from.
    fn offsets(&self) -> Vec<String> {
        let manifest = self.place.manifest();
        let inputs = manifest["tasks"][TASK]["inputs"].as_array().unwrap().clone();
        let pages = inputs.iter().filter(|input| input["source_id"] == "census.zcta_county");
        pages.map(|input| input["keys"]["offset"].as_str().unwrap().to_owned()).collect()
    }
}

/// Rows without their pointers.
fn columns(place: &Place) -> Vec<Value> {
    place.rows("geo.geography").into_values().map(|(columns, _)| Value::Object(columns)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_one_list_whose_rows_lead_back_to_their_pages() {
    let whole = Place::new();
    whole.run(&[TASK]).expect(0);
    let site = Site::new().await;
    site.publish(56);
    let report = site.run().await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    assert_eq!(site.offsets(), ["0", "20", "40"]);
    assert_eq!(columns(&site.place), columns(&whole));

    let rows = site.place.rows("geo.geography");
    let on_last_page = rows.iter().find(|(_, (_, pointers))| {
        let third = site.place.snapshot("natl-40.txt");
        pointers.iter().any(|pointer| third.to_str().unwrap().contains(&pointer.snapshot.to_string()))
    });
    let (record_id, _) = on_last_page.expect("an area whose counties stand on the last page");
    let traced = trace(&site.settings(), &record_id.parse().unwrap(), None).await.unwrap();
    assert!(traced.is_match, "{:?}", traced.differences);

    // The next night nothing is sent again.
    let before = site.publisher.all_requests().len();
    let report = site.run().await;
    assert_eq!((report.outcome, report.exit_code), ("unchanged", ExitCode::Ok));
    let requests = site.publisher.all_requests();
    let pages: Vec<_> = requests[before..].iter().filter(|request| request.target.contains("@offset=")).collect();
    assert_eq!(pages.len(), 3);
    assert!(pages.iter().all(|request| !request.header("if-none-match").is_empty()), "{pages:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_night_with_fewer_pages_reads_no_page_of_the_night_before() {
    let site = Site::new().await;
    site.publish(60);
    assert_eq!(site.run().await.exit_code, ExitCode::Ok);
    assert_eq!(site.offsets(), ["0", "20", "40", "60"], "a full page is followed by another, though it be empty");
    site.publish(56);
    let report = site.run().await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    assert_eq!(site.offsets(), ["0", "20", "40"]);
    assert!(report.tasks[0].reasons.iter().any(|reason| reason.starts_with("source file no longer read") && reason.contains("offset=60")), "{report:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_breaks_off_or_has_no_end_is_not_believed() {
    let site = Site::new().await;
    let says = |report: &RunReport, text: &str| {
        assert_eq!(report.exit_code, ExitCode::SourceMissing, "{report:#?}");
        let reasons = report.tasks[0].reasons.join("\n");
        assert!(reasons.contains(text), "`{text}` is not in: {reasons}");
    };
    says(&site.run().await, "the publisher has no such file");
    site.publish(56);
    std::fs::remove_file(site.page(40)).unwrap();
    says(&site.run().await, "offset=40 is not there, and the one before it is full");
    site.write_page(20, &site.rows[..20]);
    says(&site.run().await, "offset=20 is the one before it once more");

    // The first page alone is the list, when it is not full.
    site.write_page(0, &site.rows[..19]);
    std::fs::remove_file(site.page(20)).unwrap();
    let report = site.run().await;
    assert!(report.sources.iter().any(|source| source.url.ends_with("offset=0") && source.outcome == "new"), "{report:#?}");
    assert!(!report.sources.iter().any(|source| source.url.ends_with("offset=20")), "{report:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_lost_pages_is_not_believed_but_one_whose_last_page_shrank_is() {
    let site = Site::new().await;
    site.publish(64);
    assert_eq!(site.run().await.exit_code, ExitCode::Ok);
    // The last page loses more than a fifth of its bytes, the list does not.
    site.publish(61);
    let report = site.run().await;
    assert_eq!((report.exit_code, report.outcome), (ExitCode::Ok, "published"), "{report:#?}");
    site.publish(30);
    let report = site.run().await;
    assert_eq!(report.exit_code, ExitCode::Blocked, "{report:#?}");
    assert!(report.tasks[0].reasons[0].contains("of the last release; more than 20 % is not believed"), "{:?}", report.tasks[0].reasons);
}
