//! Checks publishers that misbehave, over HTTP: the run's report, and that the last good rows stay.

use pubdata_core::declared::DeclarationFiles;
use pubdata_run::{ExitCode, RunReport, RunSettings};
use serde_json::{Value, json};

use super::{ACS_2023, GEOGRAPHY};
use pubdata_testing::publisher::{Publisher, Reply, corrupt_archive};
use pubdata_testing::{Place, only_member, run_here, settings};

const POPULATION: &str = "acsdt5y2023-b01003.dat";
const EDGE: &str = "EDGE_GEOCODE_PUBLICSCH_2425.zip";
const SCHOOLS: &str = "nces.ccd_directory";

/// A home that has published once from a publisher that serves the fixtures.
struct Site {
    place: Place,
    publisher: Publisher,
}

impl Site {
    async fn published() -> Self {
        let (place, publisher) = (Place::new(), Publisher::start().await);
        publisher.serve_folder(&place.mirror());
        let site = Self { place, publisher };
        let report = run_here(&site.settings()).await;
        assert_eq!(
            (report.exit_code, report.is_sample),
            (ExitCode::Ok, true),
            "{report:#?}"
        );
        site
    }

    fn settings(&self) -> RunSettings {
        let mut settings = settings(
            &self.place.home(),
            vec![self.publisher.base_url()],
            DeclarationFiles::built_in(),
        );
        settings.selectors = GEOGRAPHY
            .iter()
            .map(|family| (*family).to_owned())
            .collect();
        settings
    }

    fn target(&self, file: &str) -> String {
        format!(
            "/{}",
            self.place
                .file(file)
                .strip_prefix(self.place.mirror())
                .unwrap()
                .display()
        )
    }

    fn bytes(&self, file: &str) -> Vec<u8> {
        std::fs::read(self.place.file(file)).unwrap()
    }

    /// Sets the response for a file, runs again, and asserts the run's report and that every
    /// earlier part is still current.
    #[track_caller]
    fn assert_refused(
        &self,
        before: &Value,
        report: &RunReport,
        exit_code: ExitCode,
        task_id: &str,
        says: &[&str],
    ) {
        assert_eq!(report.exit_code, exit_code, "{report:#?}");
        let task = report
            .tasks
            .iter()
            .find(|task| task.task_id == task_id)
            .unwrap();
        let reasons = task.reasons.join("\n");
        for text in says {
            assert!(reasons.contains(text), "`{text}` is not in: {reasons}");
        }
        let after = self.place.manifest();
        assert_eq!(after["datasets"], before["datasets"]);
        assert!(self.place.stale_tasks().contains_key(task_id));
    }
}

async fn refused(
    file: &str,
    reply: impl FnOnce(Vec<u8>) -> Reply,
    exit_code: ExitCode,
    task_id: &str,
    says: &[&str],
) {
    let site = Site::published().await;
    let before = site.place.manifest();
    site.publisher
        .route(&site.target(file), vec![reply(site.bytes(file))]);
    let report = run_here(&site.settings()).await;
    site.assert_refused(&before, &report, exit_code, task_id, says);

    // The publisher has recovered.
    let bytes = site.bytes(file);
    site.publisher
        .route(&site.target(file), vec![Reply::file(bytes)]);
    let report = run_here(&site.settings()).await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    assert!(site.place.stale_tasks().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_site_gets_conditional_requests_and_sends_no_file_again() {
    let site = Site::published().await;
    let first = site.publisher.all_requests().len();
    let report = run_here(&site.settings()).await;
    assert_eq!(
        (report.outcome, report.exit_code),
        ("unchanged", ExitCode::Ok)
    );
    let target = site.target(POPULATION);
    let again: Vec<_> = site
        .publisher
        .all_requests()
        .into_iter()
        .skip(first)
        .filter(|request| request.target == target)
        .collect();
    assert!(
        again
            .iter()
            .all(|request| !request.header("if-none-match").is_empty())
            && again.len() == 1,
        "{again:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_is_down_makes_the_source_missing() {
    refused(
        POPULATION,
        |_| Reply::page(503),
        ExitCode::SourceMissing,
        ACS_2023,
        &[POPULATION, "503"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_that_blocks_programs_makes_the_source_missing() {
    refused(
        POPULATION,
        |_| Reply::page(403),
        ExitCode::SourceMissing,
        ACS_2023,
        &[POPULATION, "403"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn web_page_with_status_200_is_refused() {
    refused(
        POPULATION,
        |_| Reply::page(200),
        ExitCode::SourceMissing,
        ACS_2023,
        &[POPULATION, "web page", "open the URL in a browser"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn web_page_with_a_text_content_type_is_refused() {
    let page = |_| {
        Reply::body(
            200,
            "<!DOCTYPE html><html><body>Please stand by</body></html>",
        )
        .content_type("text/plain")
    };
    refused(
        POPULATION,
        page,
        ExitCode::SourceMissing,
        ACS_2023,
        &[POPULATION, "web page"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transfer_that_always_breaks_off_makes_the_source_missing() {
    let cut = |bytes: Vec<u8>| {
        let middle = bytes.len() / 2;
        Reply::body(200, bytes).cut_after(middle)
    };
    refused(
        POPULATION,
        cut,
        ExitCode::SourceMissing,
        ACS_2023,
        &[POPULATION],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn archive_damaged_at_the_publisher_blocks() {
    let damaged = |bytes: Vec<u8>| {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), bytes).unwrap();
        let (name, text) = only_member(path.path());
        Reply::file(corrupt_archive(&name, text.as_bytes())).etag("\"damaged\"")
    };
    refused(
        EDGE,
        damaged,
        ExitCode::Blocked,
        SCHOOLS,
        &[EDGE, "EDGE_GEOCODE_PUBLICSCH_2425.TXT", "cannot be read"],
    )
    .await;
}

/// The file was damaged in transfer and has the publisher's ETag: a conditional request would
/// answer "not modified" forever.
#[tokio::test(flavor = "multi_thread")]
async fn archive_damaged_in_transfer_is_fetched_whole_in_the_next_run() {
    let site = Site::published().await;
    let (name, text) = only_member(&site.place.file(EDGE));
    let target = site.target(EDGE);
    site.publisher.route(
        &target,
        vec![Reply::file(corrupt_archive(&name, text.as_bytes())).etag("\"same\"")],
    );
    assert_eq!(
        run_here(&site.settings()).await.exit_code,
        ExitCode::Blocked
    );
    site.publisher.route(
        &target,
        vec![Reply::file(site.bytes(EDGE)).etag("\"same\"")],
    );
    let report = run_here(&site.settings()).await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    assert!(site.place.stale_tasks().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_asks_for_a_pause_gets_it_and_the_run_continues() {
    let site = Site::published().await;
    let target = site.target(POPULATION);
    let changed = String::from_utf8(site.bytes(POPULATION))
        .unwrap()
        .replace("860Z200US90210|19652|1335", "860Z200US90210|19653|1335");
    site.publisher.route(
        &target,
        vec![
            Reply::page(429).header("Retry-After", "0"),
            Reply::file(changed).etag("\"second\""),
        ],
    );
    let report = run_here(&site.settings()).await;
    assert_eq!(
        (report.exit_code, report.outcome),
        (ExitCode::Ok, "published"),
        "{report:#?}"
    );
    assert_eq!(
        site.place.rows("geo.zcta_metric")["geo.zcta_metric:2023:90210:population"].0["value"],
        json!(19653)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn file_that_changes_during_a_broken_transfer_is_fetched_whole() {
    let site = Site::published().await;
    let target = site.target(POPULATION);
    let text = String::from_utf8(site.bytes(POPULATION)).unwrap();
    let second = text.replace("860Z200US90210|19652|1335", "860Z200US90210|20000|1335");
    let third = text
        .replace("860Z200US90210|19652|1335", "860Z200US90210|30000|1335")
        .replace("860Z200US00601|", "860Z200US00601|1");
    let broken = Reply::file(second)
        .etag("\"second\"")
        .cut_after(text.len() / 2);
    site.publisher.route(
        &target,
        vec![broken, Reply::file(third.clone()).etag("\"third\"")],
    );
    let report = run_here(&site.settings()).await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    let snapshots =
        pubdata_testing::files_below(&site.place.home().join("snapshots/census.acs5_table"));
    let of_population = snapshots
        .iter()
        .filter(|path| path.to_str().unwrap().ends_with(POPULATION));
    let contents: Vec<String> = of_population
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    assert!(
        contents.len() == 2 && contents.contains(&text) && contents.contains(&third),
        "no mixture of two versions"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn host_that_fails_repeatedly_is_skipped_for_the_rest_of_the_run() {
    let site = Site::published().await;
    let before = site.place.manifest();
    let directory = pubdata_testing::files_below(&site.place.mirror());
    for path in directory
        .iter()
        .filter(|path| path.to_str().unwrap().ends_with(".dat"))
    {
        site.publisher.route(
            &format!(
                "/{}",
                path.strip_prefix(site.place.mirror()).unwrap().display()
            ),
            vec![Reply::page(503)],
        );
    }
    let report = run_here(&site.settings()).await;
    assert_eq!(report.exit_code, ExitCode::SourceMissing);
    let not_asked = report
        .sources
        .iter()
        .filter(|source| {
            source
                .detail
                .as_deref()
                .is_some_and(|detail| detail.starts_with("not asked"))
        })
        .count();
    assert!(not_asked > 0, "{report:#?}");
    assert_eq!(site.place.manifest()["datasets"], before["datasets"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_census_key_is_reported_with_its_variable_and_never_shown() {
    let site = Site::published().await;
    let mut settings = site.settings();
    settings.fetch.secret = |_| Some("wrong".to_owned());
    let fields = [
        "S1501_C02_014E,S1501_C02_014M,S1501_C02_015E,S1501_C02_015M",
        "S1701_C03_001E,S1701_C03_001M",
        "S2301_C04_001E,S2301_C04_001M",
    ];
    for place in ["zip%2520code%2520tabulation%2520area:*", "county:*"] {
        for fields in fields {
            let target =
                format!("/api.census.gov/data/2023/acs/acs5/subject@get=NAME,{fields}&for={place}");
            site.publisher
                .route(&target, vec![Reply::key_error("invalid_key.html")]);
        }
    }
    let report = run_here(&settings).await;
    assert_eq!(report.exit_code, ExitCode::Quarantined, "{report:#?}");
    let task = report
        .tasks
        .iter()
        .find(|task| task.task_id == ACS_2023)
        .unwrap();
    let reported = task.findings.iter().filter(|finding| {
        finding.code == "optional_file_missing"
            && finding
                .detail
                .contains("the API key in CENSUS_API_KEY was refused")
    });
    assert!(reported.count() > 0, "{task:#?}");
    assert!(
        !format!("{report:?}").contains("key=wrong"),
        "no secret in a report"
    );
}

/// Counted where requests arrive: the n-th comes no sooner than n - 1 intervals after the first,
/// for any task.
#[tokio::test(flavor = "multi_thread")]
async fn all_tasks_of_a_run_together_keep_the_declared_rate() {
    let (place, publisher) = (Place::new(), Publisher::start().await);
    publisher.serve_folder(&place.mirror());
    let mut settings = settings(
        &place.home(),
        vec![publisher.base_url()],
        DeclarationFiles::built_in(),
    );
    settings.selectors = ["census.gazetteer", "nces.ccd_directory", "zip.zip"]
        .map(str::to_owned)
        .to_vec();
    settings
        .fetch
        .host_requests_per_second
        .insert("127.0.0.1".to_owned(), 10.0);
    let started = std::time::Instant::now();
    run_here(&settings).await;
    let requests = publisher.all_requests();
    assert!(
        requests.len() >= 10,
        "{} requests are too few for a decision",
        requests.len()
    );
    for (number, request) in (0_u32..).zip(&requests) {
        let earliest = std::time::Duration::from_millis(100) * number;
        assert!(
            request.at - started >= earliest,
            "request {number} came after {:?}: {request:?}",
            request.at - started
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redirect_is_reported_with_the_input_and_ignored_by_the_release_id() {
    let mut releases = Vec::new();
    for is_redirected in [false, true] {
        let (place, publisher) = (Place::new(), Publisher::start().await);
        publisher.serve_folder(&place.mirror());
        let target = format!(
            "/{}",
            place
                .file("tab20_zcta520_county20_natl.txt")
                .strip_prefix(place.mirror())
                .unwrap()
                .display()
        );
        if is_redirected {
            let bytes = std::fs::read(place.file("tab20_zcta520_county20_natl.txt")).unwrap();
            publisher.route(
                &target,
                vec![Reply::status(302).header("Location", "/signed/list?signature=0123")],
            );
            publisher.route("/signed/list?signature=0123", vec![Reply::file(bytes)]);
        }
        let mut settings = settings(
            &place.home(),
            vec![publisher.base_url()],
            DeclarationFiles::built_in(),
        );
        settings.selectors = vec!["census.gazetteer".to_owned()];
        let report = run_here(&settings).await;
        assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
        let manifest = place.manifest();
        let inputs = manifest["tasks"]["census.gazetteer"]["inputs"]
            .as_array()
            .unwrap();
        let through: Vec<&Value> = inputs
            .iter()
            .filter_map(|input| input.get("redirected_through"))
            .collect();
        let expected = json!([format!("{}/signed/list", publisher.base_url())]);
        assert_eq!(
            through,
            if is_redirected {
                vec![&expected]
            } else {
                vec![]
            }
        );
        releases.push(manifest["release_id"].clone());
    }
    assert_eq!(releases[0], releases[1]);
}
