//! Checks publishers that accept a connection and stay silent: every command ends in time and
//! reports it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_fetch::FetchSettings;
use pubdata_run::follow::{self, FollowSettings};
use pubdata_run::{self as run, Chosen, NewSettings, ProbeSettings, SharedObserver};
use pubdata_store::Home;

use super::{Ground, LIST, SOURCE};
use pubdata_testing::publisher::{Publisher, Reply};
use pubdata_testing::{NoopObserver, instant_waits, plan_here, settings};

const SILENCE: Duration = Duration::from_millis(200);

/// Longer than any command may take, and shorter than the minutes of silence that the program
/// allows by default.
const IN_TIME: Duration = Duration::from_secs(20);

const FEEDS: [&str; 2] = [
    "/www.sec.gov/cgi-bin/browse-edgar@action=getcurrent&type=&owner=include&start=0&count=100&output=atom",
    "/www.sec.gov/Archives/edgar/usgaap.rss.xml",
];

async fn silent() -> Publisher {
    let publisher = Publisher::start().await;
    for target in [format!("/{LIST}"), "/data.example.org/list.csv".to_owned()]
        .into_iter()
        .chain(FEEDS.map(str::to_owned))
    {
        publisher.route(
            &target,
            vec![Reply::body(200, "SUMLEV,STATE\n".repeat(9)).stall_after(8)],
        );
    }
    publisher
}

fn impatient(publisher: &Publisher) -> FetchSettings {
    FetchSettings {
        mirrors: vec![publisher.base_url()],
        read_timeout: SILENCE,
        tries: 2,
        ..instant_waits()
    }
}

fn files(ground: &Ground) -> DeclarationFiles {
    DeclarationFiles::from_dir(&ground.path("declarations")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_beside_a_silent_publisher_reports_the_missing_files_in_time() {
    let (ground, publisher) = (Ground::new(), silent().await);
    let mut settings = settings(&ground.home(), Vec::new(), files(&ground));
    settings.fetch = impatient(&publisher);
    let began = Instant::now();
    let plan = plan_here(&settings).await;
    assert!(began.elapsed() < IN_TIME);
    let failed: Vec<_> = plan
        .sources
        .iter()
        .filter(|source| source.outcome == "failed")
        .collect();
    assert_eq!(failed.len(), 1, "{:#?}", plan.sources);
    assert!(
        failed[0].url.ends_with("sub-est2024.csv")
            && failed[0]
                .detail
                .as_ref()
                .unwrap()
                .contains("gave up after 2 tries"),
        "{failed:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn follower_of_silent_feeds_reports_both_and_ends_in_time() {
    let (ground, publisher) = (Ground::new(), silent().await);
    let home = Home::open(&ground.home()).unwrap();
    let declarations = Declarations::load(files(&ground)).unwrap();
    let began = Instant::now();
    let report = follow::once(FollowSettings {
        store: pubdata_store::SharedStore::open(&home, None).unwrap(),
        home,
        declarations,
        fetch: impatient(&publisher),
        days: Vec::new(),
    })
    .await
    .unwrap();
    assert!(began.elapsed() < IN_TIME);
    let outcomes: Vec<&str> = report
        .polls
        .iter()
        .take(2)
        .map(|poll| poll.outcome)
        .collect();
    assert_eq!(outcomes, ["failed", "failed"], "{report:#?}");
    assert!(
        report
            .polls
            .iter()
            .take(2)
            .all(|poll| poll.detail.is_some()),
        "{report:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn probe_of_a_silent_publisher_names_the_source_in_time() {
    let (ground, publisher) = (Ground::new(), silent().await);
    let given = ProbeSettings {
        declarations: Declarations::load(files(&ground)).unwrap(),
        fetch: impatient(&publisher),
        selectors: vec!["census.population".to_owned()],
        chosen: Chosen::default(),
        rows: 100,
        published: None,
        home: None,
    };
    let began = Instant::now();
    let report = run::probe(&given, &(Arc::new(NoopObserver) as SharedObserver))
        .await
        .unwrap();
    assert!(began.elapsed() < IN_TIME);
    let source = report
        .sources
        .iter()
        .find(|source| source.source_id == SOURCE)
        .unwrap();
    assert!(
        u8::from(report.exit_code) == 30 && source.problem.is_some(),
        "{report:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn new_source_of_a_silent_publisher_is_refused_in_time() {
    let (ground, publisher) = (Ground::new(), silent().await);
    let folder = ground.path("begun");
    let given = NewSettings {
        kind: "permit".to_owned(),
        jurisdiction: "us-wy-casper".to_owned(),
        name: None,
        url: "https://data.example.org/list.csv".to_owned(),
        file: None,
        columns: std::collections::BTreeMap::new(),
        is_month_first: false,
        publisher: None,
        licence: None,
        homepage: None,
        folder: folder.clone(),
        is_forced: false,
        fetch: impatient(&publisher),
    };
    let began = Instant::now();
    let error = run::new_list(&given, &(Arc::new(NoopObserver) as SharedObserver))
        .await
        .err()
        .unwrap();
    assert!(began.elapsed() < IN_TIME);
    assert!(
        error.kind() == pubdata_core::error::ErrorKind::Fetch
            && error.to_string().contains("/list.csv"),
        "{error}"
    );
    assert!(!folder.join("pipelines/permit/casper.toml").exists());
}
