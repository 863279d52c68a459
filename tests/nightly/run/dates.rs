//! Dates feeds by the metadata documents of portals, and skips the fetch of unchanged feeds, over
//! HTTP.

use pubdata_core::declared::DeclarationFiles;
use pubdata_fetch::FetchSettings;
use pubdata_run::{ExitCode, RunReport, RunSettings};
use serde_json::Value;

use pubdata_testing::publisher::{Publisher, Received, Reply};
use pubdata_testing::{Place, run_here, settings};

const TASK: &str = "permit.austin";
const DESCRIPTION: &str = "/data.austintexas.gov/api/views/3syk-w9eu.json";
const LIST: &str = "3syk-w9eu/rows.csv@accessType=DOWNLOAD";
/// 10 August 2025, 23:30 UTC, and two days later.
const AUGUST_10: i64 = 1_754_868_600;
const AUGUST_12: i64 = 1_754_958_600;

/// Builds the relevant part of Socrata's metadata for a feed.
fn description(seconds: i64) -> Reply {
    Reply::file(format!(
        r#"{{"id": "3syk-w9eu", "name": "Issued Construction Permits", "rowsUpdatedAt": {seconds}, "viewLastModified": 1700000000}}"#
    ))
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

    async fn run(&self) -> RunReport {
        let mut settings = settings(
            &self.place.home(),
            vec![self.publisher.base_url()],
            DeclarationFiles::built_in(),
        );
        settings.selectors = vec![TASK.to_owned()];
        let report = run_here(&settings).await;
        assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
        report
    }

    /// Returns the feed's input in the current release; the metadata document is not an input.
    fn input(&self) -> Value {
        let inputs = self.place.manifest()["tasks"][TASK]["inputs"]
            .as_array()
            .unwrap()
            .clone();
        assert_eq!(inputs.len(), 1, "{inputs:?}");
        inputs[0].clone()
    }

    /// Returns the day of the header `Last-Modified`.
    fn day_of_file(&self) -> String {
        let modified = std::fs::metadata(self.place.file(LIST))
            .unwrap()
            .modified()
            .unwrap();
        jiff::Timestamp::try_from(modified)
            .unwrap()
            .to_zoned(jiff::tz::TimeZone::UTC)
            .date()
            .to_string()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn feed_has_the_day_on_which_its_portal_says_its_rows_changed() {
    let site = Site::new().await;
    site.publisher
        .route(DESCRIPTION, vec![description(AUGUST_10)]);
    let report = site.run().await;
    assert_eq!(
        site.input()["source_date"],
        "2025-08-10",
        "it is the 10th in Austin too; days are in UTC"
    );
    assert_ne!(site.day_of_file(), "2025-08-10");
    let requested: Vec<&str> = report
        .sources
        .iter()
        .map(|source| &*source.outcome)
        .collect();
    assert_eq!(
        requested,
        ["new", "new"],
        "the metadata document was fetched"
    );

    // The rows changed: the feed has other bytes and another day.
    site.publisher
        .route(DESCRIPTION, vec![description(AUGUST_12)]);
    site.place
        .edit(LIST, |text| text.replacen(",Final,", ",Closed,", 1));
    site.run().await;
    assert_eq!(site.input()["source_date"], "2025-08-12");
    // Metadata with another day for the same bytes triggers no build.
    site.publisher
        .route(DESCRIPTION, vec![description(AUGUST_10)]);
    let report = site.run().await;
    assert_eq!(
        (report.outcome, site.input()["source_date"].as_str()),
        ("unchanged", Some("2025-08-12"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn feed_without_metadata_has_the_day_of_its_bytes() {
    for reply in [
        Reply::status(404),
        Reply::file(r#"{"error": true, "message": "Cannot find view"}"#),
        Reply::file(r#"{"rowsUpdatedAt": "yesterday"}"#),
        Reply::status(503),
    ] {
        let site = Site::new().await;
        site.publisher.route(DESCRIPTION, vec![reply]);
        site.run().await;
        assert_eq!(site.input()["source_date"], site.day_of_file().as_str());
    }
}

/// A future day would keep the feed fresh for years.
#[tokio::test(flavor = "multi_thread")]
async fn metadata_with_a_future_day_dates_no_feed_and_is_reported() {
    let site = Site::new().await;
    site.publisher
        .route(DESCRIPTION, vec![description(13_569_465_599)]);
    let mut settings = settings(
        &site.place.home(),
        vec![site.publisher.base_url()],
        DeclarationFiles::built_in(),
    );
    settings.selectors = vec![TASK.to_owned()];
    let report = run_here(&settings).await;
    assert_eq!(site.input()["source_date"], site.day_of_file().as_str());
    assert_eq!(future_dates(&report), ["2399-12-31"]);
    assert_eq!(report.exit_code, ExitCode::Quarantined);
    // Each run reports it until the portal changes its statement.
    assert_eq!(future_dates(&run_here(&settings).await), ["2399-12-31"]);
    site.publisher
        .route(DESCRIPTION, vec![description(AUGUST_10)]);
    let report = run_here(&settings).await;
    assert_eq!(
        (future_dates(&report), report.exit_code),
        (Vec::new(), ExitCode::Ok),
        "{report:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn feed_dated_in_the_future_gets_its_fetch_day_and_is_reported() {
    let site = Site::new().await;
    let list = std::fs::read(site.place.file(LIST)).unwrap();
    let path = "/data.austintexas.gov/api/views/3syk-w9eu/rows.csv%40accessType=DOWNLOAD";
    let target = format!("/data.austintexas.gov/api/views/{LIST}");
    for target in [path, &target] {
        site.publisher.route(
            target,
            vec![
                Reply::file(list.clone())
                    .etag("\"v1\"")
                    .last_modified("Fri, 31 Dec 2399 23:59:59 GMT"),
            ],
        );
    }
    let mut settings = settings(
        &site.place.home(),
        vec![site.publisher.base_url()],
        DeclarationFiles::built_in(),
    );
    settings.selectors = vec![TASK.to_owned()];
    let today = jiff::Timestamp::now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date();
    // The second run does not fetch the feed again.
    for night in ["first", "second"] {
        let report = run_here(&settings).await;
        let dated: jiff::civil::Date = site.input()["source_date"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        assert!(
            dated >= today && dated <= today.tomorrow().unwrap(),
            "{night}: {dated}"
        );
        assert_eq!(
            (future_dates(&report), report.exit_code),
            (vec!["2399-12-31".to_owned()], ExitCode::Quarantined),
            "{night}"
        );
    }
}

/// A site whose metadata states a change of August 2025, with the result of each run for the feed.
impl Site {
    fn settings(&self) -> RunSettings {
        RunSettings {
            selectors: vec![TASK.to_owned()],
            ..settings(
                &self.place.home(),
                vec![self.publisher.base_url()],
                DeclarationFiles::built_in(),
            )
        }
    }

    /// Returns the outcome of the feed in the next run, the requests for it, and the codes of
    /// findings.
    async fn night(&self, settings: &RunSettings) -> (String, usize, Vec<String>) {
        let of_list = |request: &&Received| request.target.contains("rows.csv");
        let before = self.publisher.all_requests().iter().filter(of_list).count();
        let report = run_here(settings).await;
        assert!(
            matches!(report.exit_code, ExitCode::Ok | ExitCode::Quarantined),
            "{report:#?}"
        );
        let list = report
            .sources
            .iter()
            .find(|source| source.url.contains("rows.csv"))
            .unwrap();
        assert_eq!(
            list.detail
                .as_ref()
                .is_some_and(|detail| detail.contains("last changed at 20")),
            list.outcome == "reused",
            "{list:?}"
        );
        let codes = report
            .tasks
            .iter()
            .flat_map(|task| &task.findings)
            .map(|finding| finding.code.clone())
            .collect();
        (
            list.outcome.to_string(),
            self.publisher.all_requests().iter().filter(of_list).count() - before,
            codes,
        )
    }
}

fn outcome(outcome: &str, requests: usize) -> (String, usize, Vec<String>) {
    (outcome.to_owned(), requests, Vec::new())
}

#[tokio::test(flavor = "multi_thread")]
async fn list_is_not_fetched_while_its_portal_states_no_change() {
    let site = Site::new().await;
    site.publisher
        .route(DESCRIPTION, vec![description(AUGUST_10)]);
    assert_eq!(site.night(&site.settings()).await, outcome("new", 1));
    let release = site.place.current();
    for _ in 1..7 {
        assert_eq!(site.night(&site.settings()).await, outcome("reused", 0));
    }
    assert_eq!(
        site.night(&site.settings()).await,
        outcome("unchanged", 1),
        "the seventh run verifies the statement"
    );
    assert_eq!(site.night(&site.settings()).await, outcome("reused", 0));
    let ignores_stated_changes = RunSettings {
        fetch: FetchSettings {
            ignores_stated_changes: true,
            ..site.settings().fetch
        },
        ..site.settings()
    };
    assert_eq!(
        site.night(&ignores_stated_changes).await,
        outcome("unchanged", 1),
        "the operator chose not to rely on it"
    );
    // Without a statement, the file is fetched.
    site.publisher.route(DESCRIPTION, vec![Reply::status(503)]);
    assert_eq!(site.night(&site.settings()).await, outcome("unchanged", 1));
    assert_eq!(
        site.place.current(),
        release,
        "none of this changes the release"
    );

    site.publisher
        .route(DESCRIPTION, vec![description(AUGUST_12)]);
    site.place
        .edit(LIST, |text| text.replacen(",Final,", ",Closed,", 1));
    assert_eq!(site.night(&site.settings()).await, outcome("new", 1));
    assert_eq!(site.night(&site.settings()).await, outcome("reused", 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn feed_that_contradicts_its_portal_is_fetched_in_every_run() {
    let site = Site::new().await;
    site.publisher
        .route(DESCRIPTION, vec![description(AUGUST_10)]);
    assert_eq!(site.night(&site.settings()).await, outcome("new", 1));
    let first = site.place.current();
    site.place
        .edit(LIST, |text| text.replacen(",Final,", ",Closed,", 1));
    for _ in 1..7 {
        assert_eq!(
            site.night(&site.settings()).await,
            outcome("reused", 0),
            "the change is not detectable yet"
        );
    }
    let contradicted = |word: &str| (word.to_owned(), 1, vec!["changed_unstated".to_owned()]);
    assert_eq!(site.night(&site.settings()).await, contradicted("new"));
    assert_ne!(site.place.current(), first, "the change is published");
    for _ in 0..2 {
        assert_eq!(
            site.night(&site.settings()).await,
            contradicted("unchanged")
        );
    }
    // A run without the metadata document keeps the earlier knowledge.
    site.publisher.route(DESCRIPTION, vec![Reply::status(503)]);
    assert_eq!(
        site.night(&site.settings()).await,
        contradicted("unchanged")
    );
    site.publisher
        .route(DESCRIPTION, vec![description(AUGUST_10)]);
    assert_eq!(
        site.night(&site.settings()).await,
        contradicted("unchanged")
    );
    site.publisher
        .route(DESCRIPTION, vec![description(AUGUST_12)]);
    assert_eq!(site.night(&site.settings()).await, outcome("unchanged", 1));
    assert_eq!(site.night(&site.settings()).await, outcome("reused", 0));
}

/// A portal may serve an export from before the change that it states.
#[tokio::test(flavor = "multi_thread")]
async fn list_is_fetched_again_within_a_day_of_its_change() {
    let site = Site::new().await;
    let hour_ago = jiff::Timestamp::now().as_second() - 3600;
    site.publisher
        .route(DESCRIPTION, vec![description(hour_ago)]);
    assert_eq!(site.night(&site.settings()).await, outcome("new", 1));
    site.place
        .edit(LIST, |text| text.replacen(",Final,", ",Closed,", 1));
    assert_eq!(
        site.night(&site.settings()).await,
        outcome("new", 1),
        "without a finding: the first export was older"
    );
}

/// Returns the days that findings report as ignored.
fn future_dates(report: &RunReport) -> Vec<String> {
    let findings = report
        .tasks
        .iter()
        .flat_map(|task| &task.findings)
        .filter(|finding| finding.code == "future_date");
    let day = |detail: &str| {
        detail
            .split("dates it ")
            .nth(1)
            .unwrap()
            .split(',')
            .next()
            .unwrap()
            .to_owned()
    };
    findings.map(|finding| day(&finding.detail)).collect()
}
