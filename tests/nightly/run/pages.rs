//! Reads a feed that a publisher serves in pages, over HTTP: requested page by page to its end, and
//! read as one file.

use std::path::PathBuf;

use pubdata_core::declared::DeclarationFiles;
use pubdata_run::{ExitCode, FetchedSource, RunReport, RunSettings, trace};
use serde_json::Value;

use pubdata_testing::publisher::{Publisher, Reply};
use pubdata_testing::{Place, project, run_here, settings};

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
    /// Text after `records` in the declaration.
    count: &'static str,
    /// Value of `min_bytes`.
    least: u64,
}

/// Address where the publisher states the number of records.
const COUNT: &str =
    ", count = { url = \"https://www2.census.gov/count.json\", member = \"result.total\" }";

impl Site {
    async fn new() -> Self {
        let (place, publisher) = (Place::new(), Publisher::start().await);
        let text = place.read(FILE);
        std::fs::remove_file(place.file(FILE)).unwrap();
        let mut lines = text.lines().map(str::to_owned);
        let header = lines.next().unwrap();
        let mut site = Self {
            place,
            publisher,
            header,
            rows: lines.collect(),
            count: "",
            least: 1_000_000,
        };
        assert_eq!(site.rows.len(), 56);
        // Rows without a ZCTA contribute no data: the list may contain more of them.
        let idle = site
            .rows
            .iter()
            .find(|row| row.starts_with("||"))
            .unwrap()
            .clone();
        site.rows.extend(std::iter::repeat_n(idle, 8));
        site.publisher.serve_folder(&site.place.mirror());
        site
    }

    fn page(&self, offset: usize) -> PathBuf {
        let folder = self
            .place
            .mirror()
            .join("www2.census.gov/geo/docs/maps-data/data/rel2020/zcta520");
        folder.join(format!("{FILE}@offset={offset}"))
    }

    fn write_page(&self, offset: usize, rows: &[String]) {
        std::fs::write(
            self.page(offset),
            format!("{}\n{}\n", self.header, rows.join("\n")),
        )
        .unwrap();
    }

    /// Publishes the first rows of the list in pages, and an empty page if the last one is full.
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
        let pages = format!(
            "natl.txt?offset={{offset}}\"\npages = {{ variable = \"offset\", records = 20{} }}",
            self.count
        );
        let paged = text.replacen("natl.txt\"", &pages, 1);
        let paged = paged.replace(
            "min_bytes = 1_000_000",
            &format!("min_bytes = {}", self.least),
        );
        assert_ne!(text, paged);
        let files = DeclarationFiles::built_in().with(&[(DECLARATION, &paged)]);
        let mut settings = settings(&self.place.home(), vec![self.publisher.base_url()], files);
        settings.selectors = vec![TASK.to_owned()];
        settings
    }

    /// Creates a list of `rows` rows whose publisher gives these counts, one answer after the
    /// other.
    async fn counted(rows: usize, counts: &[&str]) -> Self {
        let site = Self {
            count: COUNT,
            ..Self::new().await
        };
        site.publish(rows);
        let reply = |count: &&str| {
            Reply::file(format!(
                "{{\"success\": true, \"result\": {{\"total\": {count}}}}}"
            ))
        };
        site.publisher.route(
            "/www2.census.gov/count.json",
            counts.iter().map(reply).collect(),
        );
        site
    }

    /// Returns the number of requests for the first page and for the count.
    fn requested(&self) -> (usize, usize) {
        let requests = self.publisher.all_requests();
        let count = |ending: &str| {
            requests
                .iter()
                .filter(|request| request.target.ends_with(ending))
                .count()
        };
        (count("@offset=0"), count("/count.json"))
    }

    async fn run(&self) -> RunReport {
        run_here(&self.settings()).await
    }

    /// Returns the offsets of the pages that the current release was made from.
    fn offsets(&self) -> Vec<String> {
        let manifest = self.place.manifest();
        let inputs = manifest["tasks"][TASK]["inputs"]
            .as_array()
            .unwrap()
            .clone();
        let pages = inputs
            .iter()
            .filter(|input| input["source_id"] == "census.zcta_county");
        pages
            .map(|input| input["keys"]["offset"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// Returns rows without their pointers.
fn columns(place: &Place) -> Vec<Value> {
    place
        .rows("geo.geography")
        .into_values()
        .map(|(columns, _)| Value::Object(columns))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_form_one_list_whose_rows_lead_back_to_their_pages() {
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
        pointers.iter().any(|pointer| {
            third
                .to_str()
                .unwrap()
                .contains(&pointer.snapshot.to_string())
        })
    });
    let (record_id, _) = on_last_page.expect("an area whose counties are on the last page");
    let traced = trace(&site.settings(), &record_id.parse().unwrap(), None)
        .await
        .unwrap();
    assert!(traced.is_match, "{:?}", traced.differences);

    // The next run fetches no page again.
    let before = site.publisher.all_requests().len();
    let report = site.run().await;
    assert_eq!(
        (report.outcome, report.exit_code),
        ("unchanged", ExitCode::Ok)
    );
    let requests = site.publisher.all_requests();
    let pages: Vec<_> = requests[before..]
        .iter()
        .filter(|request| request.target.contains("@offset="))
        .collect();
    assert_eq!(pages.len(), 3);
    assert!(
        pages
            .iter()
            .all(|request| !request.header("if-none-match").is_empty()),
        "{pages:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn run_with_fewer_pages_reads_no_page_of_the_run_before() {
    let site = Site::new().await;
    site.publish(60);
    assert_eq!(site.run().await.exit_code, ExitCode::Ok);
    assert_eq!(
        site.offsets(),
        ["0", "20", "40", "60"],
        "a full page is followed by another one, even an empty one"
    );
    site.publish(56);
    let report = site.run().await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    assert_eq!(site.offsets(), ["0", "20", "40"]);
    assert!(
        report.tasks[0]
            .reasons
            .iter()
            .any(|reason| reason.starts_with("source file no longer read")
                && reason.contains("offset=60")),
        "{report:#?}"
    );
}

/// Checks that the list failed and that the run reports it.
#[track_caller]
fn says(report: &RunReport, text: &str) {
    assert_eq!(report.exit_code, ExitCode::SourceMissing, "{report:#?}");
    let reasons = report.tasks[0].reasons.join("\n");
    assert!(reasons.contains(text), "`{text}` is not in: {reasons}");
}

#[tokio::test(flavor = "multi_thread")]
async fn list_that_breaks_off_or_has_no_end_is_refused() {
    let site = Site::new().await;
    says(
        &site.run().await,
        &format!(
            "the mirror {} has no www2.census.gov/",
            site.publisher.base_url()
        ),
    );
    site.publish(56);
    std::fs::remove_file(site.page(40)).unwrap();
    says(
        &site.run().await,
        "offset=40 is missing, and the one before it is full",
    );
    site.write_page(20, &site.rows[..20]);
    says(&site.run().await, "offset=20 repeats the page before it");

    // A first page that is not full is the whole list.
    site.write_page(0, &site.rows[..19]);
    std::fs::remove_file(site.page(20)).unwrap();
    let report = site.run().await;
    assert!(
        report
            .sources
            .iter()
            .any(|source| source.url.ends_with("offset=0") && source.outcome == "new"),
        "{report:#?}"
    );
    assert!(
        !report
            .sources
            .iter()
            .any(|source| source.url.ends_with("offset=20")),
        "{report:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn list_that_lost_pages_is_refused_and_a_shorter_last_page_accepted() {
    let site = Site::new().await;
    site.publish(64);
    assert_eq!(site.run().await.exit_code, ExitCode::Ok);
    // The last page loses more than a fifth of its bytes; the list does not.
    site.publish(61);
    let report = site.run().await;
    assert_eq!(
        (report.exit_code, report.outcome),
        (ExitCode::Ok, "published"),
        "{report:#?}"
    );
    site.publish(30);
    let report = site.run().await;
    assert_eq!(report.exit_code, ExitCode::Blocked, "{report:#?}");
    assert!(
        report.tasks[0].reasons[0]
            .contains("of the last release; a loss of more than 20 % is rejected"),
        "{:?}",
        report.tasks[0].reasons
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_with_the_publishers_record_count_are_complete() {
    let site = Site::counted(56, &["56"]).await;
    let report = site.run().await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    assert_eq!(
        (site.offsets(), site.requested()),
        (
            vec!["0".to_owned(), "20".to_owned(), "40".to_owned()],
            (1, 2)
        )
    );
    let manifest = site.place.manifest();
    let inputs = manifest["tasks"][TASK]["inputs"].as_array().unwrap();
    assert!(
        !inputs
            .iter()
            .any(|input| input["url"].as_str().unwrap().ends_with("count.json")),
        "a count is not a file of the list"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn list_that_changes_during_its_fetch_is_fetched_again() {
    let site = Site::counted(57, &["56", "57", "\"57\""]).await;
    let report = site.run().await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    assert_eq!(site.requested(), (2, 4));
    let pages: Vec<_> = report
        .sources
        .iter()
        .filter(|source| source.url.contains("offset="))
        .map(|source| &*source.outcome)
        .collect();
    assert_eq!(pages, ["new"; 3], "each page is reported once");
}

#[tokio::test(flavor = "multi_thread")]
async fn list_that_keeps_changing_is_refused() {
    let site = Site::counted(56, &["55", "56", "57", "58", "59", "60"]).await;
    says(
        &site.run().await,
        "the list changed while it was being asked for: 59 records before, 60 after, 56 on its pages, 3 times in a row",
    );
    assert_eq!(site.requested(), (3, 6));
}

/// A row that moves from the first page to the second during the fetch is on both pages. The last
/// row is then on none.
#[tokio::test(flavor = "multi_thread")]
async fn pages_that_do_not_add_up_are_refused() {
    let site = Site::counted(56, &["56"]).await;
    let mut rows = site.rows[19..40].to_vec();
    rows.truncate(20);
    site.write_page(20, &rows);
    site.write_page(40, &site.rows[39..56]);
    says(
        &site.run().await,
        "the pages have 57 records and the publisher counts 56: rows moved between two pages, 3 times in a row",
    );

    // A server that returns fewer records than requested: its first page looks like the last.
    let site = Site::counted(56, &["56"]).await;
    site.write_page(0, &site.rows[..15]);
    says(
        &site.run().await,
        "the pages have 15 records and the publisher counts 56: rows moved between two pages, or a page has fewer records than",
    );
}

/// The declared minimum of bytes applies to the whole list: a page has fewer.
#[tokio::test(flavor = "multi_thread")]
async fn minimum_bytes_apply_to_all_pages_together() {
    for (least, outcome) in [(4_000, "new"), (1_000_000, "failed")] {
        let site = Site {
            least,
            ..Site::new().await
        };
        site.publish(56);
        let sizes: Vec<u64> = [0, 20, 40]
            .map(|offset| std::fs::metadata(site.page(offset)).unwrap().len())
            .into();
        assert!(
            sizes.iter().all(|size| *size < 4_000) && sizes.iter().sum::<u64>() > 4_000,
            "{sizes:?}"
        );
        // Without samples.
        std::fs::remove_file(site.place.mirror().join(".pubdata-mirror")).unwrap();
        site.publisher.serve_folder(&site.place.mirror());
        let report = site.run().await;
        let reasons = report
            .tasks
            .iter()
            .flat_map(|task| &task.reasons)
            .cloned()
            .collect::<Vec<_>>()
            .join("; ");
        let total = format!(
            "its pages have {} bytes together, fewer than the 1000000 declared as `min_bytes`",
            sizes.iter().sum::<u64>()
        );
        assert_eq!(reasons.contains(&total), outcome == "failed", "{reasons}");
        let pages: Vec<&FetchedSource> = report
            .sources
            .iter()
            .filter(|source| source.url.contains("offset="))
            .collect();
        assert!(
            pages.len() == 3 && pages.iter().all(|page| page.outcome == "new"),
            "{pages:#?}"
        );
    }
}

/// The next run requests an unreadable page as a whole. Pages of a sample pass offline, too.
#[tokio::test(flavor = "multi_thread")]
async fn broken_page_is_fetched_again_and_offline_bytes_are_not_judged() {
    let site = Site::counted(56, &["56"]).await;
    let broken = Reply::file("{\"result\": {}}").etag("\"broken\"");
    site.publisher.route(
        "/www2.census.gov/count.json",
        vec![broken, Reply::file("{\"result\": {\"total\": 56}}")],
    );
    says(&site.run().await, "there is no number at `result.total`");
    assert_eq!(site.run().await.exit_code, ExitCode::Ok);
    let requests = site.publisher.all_requests();
    let second = requests
        .iter()
        .filter(|request| request.target.ends_with("/count.json"))
        .nth(1)
        .unwrap();
    assert_eq!(second.header("if-none-match"), "", "{second:#?}");

    let offline = run_here(&RunSettings {
        is_offline: true,
        ..site.settings()
    })
    .await;
    assert_eq!(
        (offline.exit_code, offline.tasks[0].outcome),
        (ExitCode::Ok, "fresh"),
        "{offline:#?}"
    );
}

/// A count that is stated before the pages and not after them still counts.
#[tokio::test(flavor = "multi_thread")]
async fn count_stated_once_is_compared_with_the_pages() {
    let site = Site::counted(56, &["0"]).await;
    let total = || Reply::file("{\"result\": {\"total\": 60}}");
    site.publisher.route(
        "/www2.census.gov/count.json",
        vec![total(), Reply::page(404), Reply::page(404)],
    );
    says(
        &site.run().await,
        "the pages have 56 records and the publisher counts 60",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn count_absent_from_a_mirror_is_skipped_and_a_failing_one_is_not() {
    let site = Site::counted(56, &["0"]).await;
    site.publisher
        .route("/www2.census.gov/count.json", vec![Reply::page(404)]);
    let report = site.run().await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    assert!(
        !report
            .sources
            .iter()
            .any(|source| source.url.ends_with("count.json")),
        "{report:#?}"
    );

    let reported =
        "{\"error\":{\"code\":400,\"message\":\"Invalid query parameters.\",\"details\":[]}}";
    for (reply, expected) in [
        (Reply::page(503), "503"),
        (
            Reply::file("{\"result\": {\"total\": \"many\"}}"),
            "there is no number at `result.total`",
        ),
        (
            Reply::file(reported),
            "the server answered 200 OK and reports an error: 400 Invalid query parameters.",
        ),
    ] {
        let site = Site::counted(56, &["0"]).await;
        site.publisher
            .route("/www2.census.gov/count.json", vec![reply]);
        says(&site.run().await, expected);
    }
}
