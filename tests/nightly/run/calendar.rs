//! Advances the clock over years without a manual edit of dates: new files are found, no file is
//! requested before it can exist, and a missing file is late on its day.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::civil::{Date, Weekday, date};
use jiff::{Timestamp, ToSpan};
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::{Declarations, Editions, Variable, are_labels};
use pubdata_fetch::FetchSettings;
use pubdata_run::lineage::Emitter;
use pubdata_run::{
    self as run, ExitCode, Plan, PlannedTask, RunSettings, SharedObserver, TaskReport, TaskState,
};

use crate::lineage::{events_of, reported};
use pubdata_testing::desk::gazetteer;
use pubdata_testing::publisher::{Publisher, Reply};
use pubdata_testing::{ClockAt, NoopObserver, Place, files_below, plan_here, run_here, settings};

const QUARTERS: &str = "permit.raleigh";
const YEARS: &str = "permit.pittsburgh";
const MONTHS: &str = "permit.sf";
const DAYS: &str = "permit.denver";
const VINTAGES: &str = "census.acs5";

/// Builds a declaration of one pipeline over made-up files of `example.org`.
fn declaration(
    pipeline_id: &str,
    head: &str,
    produces: &[&str],
    sources: &str,
) -> (String, String) {
    let expect: String = produces
        .iter()
        .map(|dataset_id| {
            format!(
                "[expect.\"{dataset_id}\"]\nmin_rows = 0\nmax_rows = 9\nmax_shrink_percent = 5.0\nmax_growth_percent = 5.0\nwarn_quarantined_percent = 1.0\nmax_quarantined_percent = 1.0\n"
            )
        })
        .collect();
    let text = format!(
        "pipeline_id = \"{pipeline_id}\"\ntitle = \"t\"\npublisher = \"p\"\nlicence = \"l\"\nhomepage = \"https://example.org\"\nproduces = {produces:?}\n{head}\n{sources}\n{expect}"
    );
    (
        format!("pipelines/{}.toml", pipeline_id.replace('.', "/")),
        text,
    )
}

/// Builds a source of delimited text.
fn source(source_id: &str, url: &str, more: &str) -> String {
    format!(
        "[[source]]\nsource_id = \"{source_id}\"\nevidence = {{ kind = \"file\", seen = \"2026-02\" }}\nurl = \"{url}\"\nsource_version = \"v\"\nformat = {{ kind = \"delimited\", delimiters = [\",\"], quoting = true }}\ncolumns = {{ a = [\"A\"] }}\n{more}\n"
    )
}

fn declarations() -> DeclarationFiles {
    let permits = ["permit.permit", "permit.contact"];
    let range = |variable: &str, from: &str, last: &str| {
        format!("variables = {{ {variable} = {{ from = \"{from}\", to = \"now\"{last} }} }}")
    };
    let of_source = |source_id: &str, url: &str, more: String| {
        source(source_id, &format!("https://example.org/{url}"), &more)
    };
    let quarters = of_source(
        "test.quarter",
        "quarters/{quarter}/index.txt",
        range("quarter", "2026/QTR1", ""),
    );
    let years = of_source(
        "test.year",
        "years/{year}.txt",
        range("year", "2024", ", last = 1"),
    );
    let days = of_source(
        "test.day",
        "days/{day}c.txt",
        range("day", "20261102", ", last = 5"),
    );
    let listing = "[source.listing]\npattern = 'NPI_(?<month>[a-z]+)_(?<year>\\d{4})_V2\\.txt'\nper = []\nnewest_by = [\"year\", \"month\"]\n\
                   otherwise = [\"https://example.org/npi/NPI_October_2026_V2.txt\"]";
    let months = of_source("test.month", "npi/list.html", listing.to_owned());
    let vintages = ["a", "b"]
        .map(|name| {
            of_source(
                &format!("test.vintage_{name}"),
                &format!("vintages/{{vintage}}/{name}.txt"),
                String::new(),
            )
        })
        .concat();
    let partition = "calendar = { every = \"year\", after = \"23 months\", grace = \"2 months\" }\n[partition]\nvariable = \"vintage\"\ncolumn = \"vintage_year\"\nfrom = 2023\nearlier = \"e\"";
    let texts = [
        declaration(
            QUARTERS,
            "cadence = \"quarterly\"\ncalendar = { every = \"quarter\", after = \"5 days\", grace = \"25 days\" }",
            &permits,
            &quarters,
        ),
        declaration(
            YEARS,
            "cadence = \"yearly\"\ncalendar = { every = \"year\", after = \"8 months\", grace = \"2 months\" }",
            &permits,
            &years,
        ),
        declaration(
            MONTHS,
            "cadence = \"monthly\"\ncalendar = { every = \"month\", after = \"10 days\", grace = \"5 days\" }",
            &permits,
            &months,
        ),
        declaration(
            DAYS,
            "cadence = \"daily\"\ncalendar = { every = \"business_day\", at = \"03:00 America/New_York\" }",
            &permits,
            &days,
        ),
        declaration(
            VINTAGES,
            &format!("cadence = \"yearly\"\n{partition}"),
            &["geo.zcta_metric", "geo.county_metric"],
            &vintages,
        ),
    ];
    let texts: Vec<(&str, &str)> = texts
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    DeclarationFiles::built_in().with(&texts)
}

/// Dates a file 1 October 2026, before all runs of the tests: no publisher has files dated in the
/// future.
fn make_old(path: &Path) {
    std::fs::File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_812_800))
        .unwrap();
}

/// A publisher whose site grows, and a home.
struct Site {
    place: tempfile::TempDir,
    publisher: Publisher,
    files: DeclarationFiles,
}

impl Site {
    async fn new() -> Self {
        let (place, publisher) = (tempfile::tempdir().unwrap(), Publisher::start().await);
        publisher.serve_folder(&place.path().join("site"));
        Self {
            place,
            publisher,
            files: declarations(),
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        let path = self.place.path().join("site/example.org").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn put(&self, path: &str) {
        let file = self.path(path);
        std::fs::write(&file, format!("A\n{path}\n")).unwrap();
        make_old(&file);
    }

    /// Writes a page whose only file belongs to one month.
    fn list(&self, month: &str) {
        let name = format!("NPI_{month}_V2.txt");
        self.put(&format!("npi/{name}"));
        std::fs::write(
            self.path("npi/list.html"),
            format!("<html><body><a href=\"./{name}\">Full file</a></body></html>"),
        )
        .unwrap();
    }

    fn settings(&self, now: Timestamp, selectors: &[&str]) -> RunSettings {
        let settings = settings(
            &self.place.path().join("home"),
            vec![self.publisher.base_url()],
            self.files.clone(),
        );
        let fetch = FetchSettings {
            clock: Arc::new(ClockAt(now)),
            ..settings.fetch
        };
        RunSettings {
            fetch,
            selectors: selectors
                .iter()
                .map(|selector| (*selector).to_owned())
                .collect(),
            ..settings
        }
    }

    async fn plan(&self, now: &str, selectors: &[&str]) -> Plan {
        plan_here(&self.settings(now.parse().unwrap(), selectors)).await
    }

    /// Returns the requests since `before`, below `example.org`.
    fn requested(&self, before: usize) -> Vec<String> {
        let requests = self.publisher.all_requests().split_off(before);
        requests
            .into_iter()
            .filter_map(|request| {
                request
                    .target
                    .strip_prefix("/example.org/")
                    .map(str::to_owned)
            })
            .collect()
    }
}

#[track_caller]
fn task<'p>(plan: &'p Plan, task_id: &str) -> &'p PlannedTask {
    plan.tasks
        .iter()
        .find(|task| task.task_id == task_id)
        .unwrap_or_else(|| panic!("no task {task_id}"))
}

/// Returns the names of the files that a task would be built from, below `example.org`.
#[track_caller]
fn read(plan: &Plan, task_id: &str) -> Vec<String> {
    let entry = task(plan, task_id)
        .entry
        .as_ref()
        .unwrap_or_else(|| panic!("{task_id}: {:?}", task(plan, task_id).state));
    let mut names: Vec<String> = entry
        .inputs
        .iter()
        .map(|input| {
            input
                .url
                .strip_prefix("https://example.org/")
                .unwrap()
                .to_owned()
        })
        .collect();
    names.sort();
    names
}

/// Returns the first day on which a file of the site can be requested.
fn earliest(path: &str) -> Date {
    let number = |text: &str| text.parse::<i16>().unwrap();
    let (folder, rest) = path.split_once('/').unwrap();
    match folder {
        "quarters" => date(number(&rest[..4]), (number(&rest[8..9]) as i8) * 3 - 2, 6),
        "years" => date(number(&rest[..4]), 9, 1),
        "days" => format!("{}-{}-{}", &rest[..4], &rest[4..6], &rest[6..8])
            .parse()
            .unwrap(),
        "vintages" => date(number(&rest[..4]) + 1, 12, 1),
        "npi" => date(2026, 1, 1),
        _ => panic!("{path}"),
    }
}

/// Publishes the files that the publisher issues on a day.
fn publish(site: &Site, day: Date) {
    let (year, month) = (day.year(), day.month());
    if day.day() == 6 && month % 3 == 1 {
        site.put(&format!("quarters/{year}/QTR{}/index.txt", (month + 2) / 3));
    }
    if (month, day.day()) == (9, 8) {
        site.put(&format!("years/{year}.txt"));
    }
    if (month, day.day()) == (12, 10) {
        site.put(&format!("vintages/{}/a.txt", year - 1));
        site.put(&format!("vintages/{}/b.txt", year - 1));
    }
    if day.day() == 11 {
        site.list(&format!("{}_{year}", day.strftime("%B")));
    }
    if !matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday) {
        site.put(&format!("days/{}c.txt", day.strftime("%Y%m%d")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_2026_to_2029_are_found_without_an_edit_and_not_too_early() {
    let site = Site::new().await;
    let mut day = date(2025, 12, 1);
    let mut tonight = date(2026, 11, 15);
    let mut last_days: BTreeMap<Date, Vec<String>> = BTreeMap::new();
    while tonight <= date(2029, 1, 15) {
        while day <= tonight {
            publish(&site, day);
            day = day.tomorrow().unwrap();
        }
        let before = site.publisher.all_requests().len();
        let plan = site
            .plan(
                &format!("{tonight}T09:00:00Z"),
                &[QUARTERS, YEARS, MONTHS, DAYS, VINTAGES],
            )
            .await;
        let quarters: Vec<String> = (2026..=tonight.year())
            .flat_map(|year| (1..=4).map(move |quarter| (year, quarter)))
            .filter(|quarter| *quarter <= (tonight.year(), (tonight.month() + 2) / 3))
            .map(|(year, quarter)| format!("quarters/{year}/QTR{quarter}/index.txt"))
            .collect();
        assert_eq!(read(&plan, QUARTERS), quarters, "{tonight}");
        let year = if tonight.month() >= 9 {
            tonight.year()
        } else {
            tonight.year() - 1
        };
        assert_eq!(
            read(&plan, YEARS),
            [format!("years/{year}.txt")],
            "{tonight}"
        );
        assert_eq!(
            read(&plan, MONTHS),
            [format!(
                "npi/NPI_{}_{}_V2.txt",
                tonight.strftime("%B"),
                tonight.year()
            )],
            "{tonight}"
        );
        last_days.insert(tonight, read(&plan, DAYS));
        let newest = if tonight.month() == 12 {
            tonight.year() - 1
        } else {
            tonight.year() - 2
        };
        let vintages: Vec<&str> = plan
            .tasks
            .iter()
            .filter(|task| task.pipeline_id == VINTAGES && task.entry.is_some())
            .map(|task| task.task_id.as_str())
            .collect();
        // 2023 was published before the site began.
        let expected: Vec<String> = (2024..=newest)
            .map(|vintage| format!("{VINTAGES}/vintage={vintage}"))
            .collect();
        assert_eq!(vintages, expected, "{tonight}");
        for path in site.requested(before) {
            assert!(
                earliest(&path) <= tonight,
                "{path} was requested on {tonight}, before it can exist"
            );
        }
        tonight = tonight.saturating_add(1.month());
    }
    for (tonight, expected) in [
        (
            date(2026, 11, 15),
            ["20261106", "20261109", "20261110", "20261112", "20261113"],
        ),
        (
            date(2027, 7, 15),
            ["20270709", "20270712", "20270713", "20270714", "20270715"],
        ),
        (
            date(2028, 1, 15),
            ["20280110", "20280111", "20280112", "20280113", "20280114"],
        ),
        (
            date(2029, 1, 15),
            ["20290108", "20290109", "20290110", "20290111", "20290112"],
        ),
    ] {
        assert_eq!(
            last_days[&tonight],
            expected.map(|day| format!("days/{day}c.txt")),
            "{tonight}"
        );
    }
    let requested: BTreeSet<String> = site.requested(0).into_iter().collect();
    assert!(
        requested.contains("quarters/2029/QTR1/index.txt")
            && requested.contains("npi/NPI_January_2029_V2.txt")
    );
    for holiday in ["20261111", "20290115"] {
        assert!(
            !requested.contains(&format!("days/{holiday}c.txt")),
            "{holiday}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn daily_files_are_requested_after_the_publishers_morning() {
    let site = Site::new().await;
    for day in ["20261117", "20261118", "20261119", "20261120", "20261123"] {
        site.put(&format!("days/{day}c.txt"));
    }
    // Three in the morning in New York is eight in UTC.
    let early = site.plan("2026-11-23T07:59:00Z", &[DAYS]).await;
    assert!(!site.requested(0).contains(&"days/20261123c.txt".to_owned()));
    // 16 November is missing between existing files: a lost day must be reported.
    assert!(
        matches!(&task(&early, DAYS).state, TaskState::Blocked(problems) if problems[0].message.contains("days/20261116c.txt"))
    );
    site.put("days/20261116c.txt");
    let plan = site.plan("2026-11-23T08:00:00Z", &[DAYS]).await;
    assert_eq!(
        read(&plan, DAYS),
        ["17", "18", "19", "20", "23"].map(|day| format!("days/202611{day}c.txt"))
    );
    let due = |plan: &Plan, task_id: &str| {
        task(plan, task_id)
            .entry
            .as_ref()
            .unwrap()
            .due
            .values()
            .next()
            .unwrap()
            .to_string()
    };
    assert_eq!(
        due(&plan, DAYS),
        "2026-11-26",
        "Tuesday's file is late when Wednesday's exists"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn newest_label_that_does_not_exist_yet_is_not_a_missing_file() {
    let site = Site::new().await;
    for path in [
        "quarters/2026/QTR1/index.txt",
        "quarters/2026/QTR2/index.txt",
        "quarters/2026/QTR3/index.txt",
        "years/2024.txt",
    ] {
        site.put(path);
    }
    let plan = site.plan("2026-12-01T00:00:00Z", &[QUARTERS, YEARS]).await;
    assert_eq!(read(&plan, QUARTERS).len(), 3);
    let entry = task(&plan, QUARTERS).entry.as_ref().unwrap();
    assert_eq!(
        entry.due,
        BTreeMap::from([("test.quarter".to_owned(), date(2026, 10, 31))])
    );
    // 2026 and 2025 do not exist: the label before is requested and read.
    assert_eq!(read(&plan, YEARS), ["years/2024.txt"]);
    assert_eq!(
        site.requested(0)
            .iter()
            .filter(|path| path.starts_with("years/"))
            .collect::<Vec<_>>(),
        ["years/2026.txt", "years/2025.txt", "years/2024.txt"]
    );
    // A gap between existing labels is different.
    std::fs::remove_file(site.path("quarters/2026/QTR2/index.txt")).unwrap();
    let plan = site.plan("2026-12-01T00:00:00Z", &[QUARTERS]).await;
    assert!(
        matches!(&task(&plan, QUARTERS).state, TaskState::Blocked(problems) if problems.len() == 1 && problems[0].message.contains("2026/QTR2"))
    );
    // A source without any file is reported once.
    let nothing = Site::new().await;
    let plan = nothing.plan("2026-12-01T00:00:00Z", &[QUARTERS]).await;
    assert!(
        matches!(&task(&plan, QUARTERS).state, TaskState::Blocked(problems) if problems.len() == 1 && problems[0].message.contains("2026/QTR4"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn partly_published_vintage_is_not_built_until_it_is_late() {
    let site = Site::new().await;
    for path in [
        "vintages/2024/a.txt",
        "vintages/2024/b.txt",
        "vintages/2025/a.txt",
    ] {
        site.put(path);
    }
    let newest = format!("{VINTAGES}/vintage=2025");
    // It can exist from 1 December 2026 on, and is late two months later.
    assert!(
        !site
            .plan("2026-11-30T23:59:59Z", &[VINTAGES])
            .await
            .tasks
            .iter()
            .any(|task| task.task_id == newest)
    );
    assert_eq!(
        site.requested(0)
            .iter()
            .filter(|path| path.contains("2025"))
            .count(),
        0
    );
    let plan = site.plan("2027-01-31T23:59:59Z", &[VINTAGES]).await;
    assert_eq!(
        task(&plan, &newest).state,
        TaskState::NotPublished(vec![
            "only some of its files are published: 1 are still missing".to_owned()
        ])
    );
    assert_eq!(
        (
            task(&plan, &newest).late_since,
            read(&plan, &format!("{VINTAGES}/vintage=2024")).len()
        ),
        (None, 2)
    );
    let plan = site.plan("2027-02-01T00:00:00Z", &[VINTAGES]).await;
    assert!(
        matches!(&task(&plan, &newest).state, TaskState::Blocked(problems) if problems.len() == 1 && problems[0].message.contains("vintages/2025/b.txt"))
    );
    // A vintage without any file stays unpublished, and is reported when it is late.
    std::fs::remove_file(site.path("vintages/2025/a.txt")).unwrap();
    let plan = site.plan("2027-01-31T23:59:59Z", &[VINTAGES]).await;
    assert_eq!(
        (&task(&plan, &newest).state, task(&plan, &newest).late_since),
        (&TaskState::NotPublished(Vec::new()), None)
    );
    let plan = site.plan("2027-02-01T00:00:00Z", &[VINTAGES]).await;
    assert_eq!(
        (&task(&plan, &newest).state, task(&plan, &newest).late_since),
        (&TaskState::NotPublished(Vec::new()), Some(date(2027, 2, 1)))
    );
    // The vintage from before the site is not a failure.
    assert_eq!(
        task(&plan, &format!("{VINTAGES}/vintage=2023")).late_since,
        None
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn known_addresses_are_requested_while_a_page_is_unreadable() {
    let site = Site::new().await;
    site.put("npi/NPI_October_2026_V2.txt");
    let plan = site.plan("2026-11-22T09:00:00Z", &[MONTHS]).await;
    assert_eq!(read(&plan, MONTHS), ["npi/NPI_October_2026_V2.txt"]);
    let findings = &task(&plan, MONTHS).entry.as_ref().unwrap().findings;
    assert_eq!(
        findings
            .iter()
            .map(|finding| finding.code.as_str())
            .collect::<Vec<_>>(),
        ["page_not_read"]
    );
    assert!(
        findings[0]
            .detail
            .contains("https://example.org/npi/list.html"),
        "{findings:?}"
    );
    // Once the page is back, only the page counts.
    site.list("November_2026");
    let plan = site.plan("2026-11-22T09:00:00Z", &[MONTHS]).await;
    assert_eq!(read(&plan, MONTHS), ["npi/NPI_November_2026_V2.txt"]);
    assert!(
        task(&plan, MONTHS)
            .entry
            .as_ref()
            .unwrap()
            .findings
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn unlabelled_file_is_the_edition_of_its_day_even_with_equal_bytes() {
    let site = Site::new().await;
    site.list("November_2026");
    let issued = |date: &str| Reply::file("A\n1\n").last_modified(date);
    let dates = [
        "Wed, 11 Nov 2026 05:00:00 GMT",
        "Fri, 11 Dec 2026 05:00:00 GMT",
    ];
    site.publisher.route(
        "/example.org/npi/NPI_November_2026_V2.txt",
        dates.map(issued).into(),
    );
    for (now, due) in [
        ("2026-11-22T09:00:00Z", date(2026, 12, 16)),
        ("2026-12-12T09:00:00Z", date(2027, 1, 16)),
    ] {
        let plan = site.plan(now, &[MONTHS]).await;
        let entry = task(&plan, MONTHS).entry.as_ref().unwrap();
        assert_eq!(
            (
                entry.inputs[0].source_date.as_str(),
                entry.due["test.month"]
            ),
            ("2026-11-11", due),
            "{now}"
        );
    }
}

/// A future date would keep an edition from ever being late; so would a future date that an earlier
/// version of the program kept.
#[tokio::test(flavor = "multi_thread")]
async fn file_dated_in_the_future_is_the_edition_of_its_fetch_day() {
    const FAR: &str = "Fri, 31 Dec 2399 23:59:59 GMT";
    let site = Site::new().await;
    site.list("November_2026");
    site.publisher.route(
        "/example.org/npi/NPI_November_2026_V2.txt",
        vec![Reply::file("A\n1\n").etag("\"v1\"").last_modified(FAR)],
    );
    let now: Timestamp = "2026-11-22T09:00:00Z".parse().unwrap();
    let mut settings = site.settings(now, &[MONTHS]);
    let is_as_on_its_day = |plan: &Plan, what: &str| {
        let entry = task(plan, MONTHS).entry.as_ref().unwrap();
        assert_eq!(
            (
                entry.inputs[0].source_date.as_str(),
                entry.due["test.month"]
            ),
            ("2026-11-22", date(2026, 12, 16)),
            "{what}"
        );
        let codes: Vec<&str> = entry
            .findings
            .iter()
            .map(|finding| finding.code.as_str())
            .collect();
        assert_eq!(codes, ["future_date"], "{what}");
    };
    is_as_on_its_day(&plan_here(&settings).await, "new");
    is_as_on_its_day(&plan_here(&settings).await, "not sent again");
    for path in files_below(&site.place.path().join("home/state/urls")) {
        let mut state: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        if state["snapshot"]["url"]
            .as_str()
            .unwrap()
            .ends_with("V2.txt")
        {
            state["snapshot"]["source_date"] = "2399-12-31".into();
            state["snapshot"]["last_modified"] = FAR.into();
            state.as_object_mut().unwrap().remove("future_date");
            std::fs::write(path, state.to_string()).unwrap();
        }
    }
    settings.is_offline = true;
    is_as_on_its_day(
        &plan_here(&settings).await,
        "of an earlier version, offline",
    );
    settings.is_offline = false;
    is_as_on_its_day(&plan_here(&settings).await, "of an earlier version");
}

#[tokio::test(flavor = "multi_thread")]
async fn edition_is_late_on_its_day_and_on_time_again_once_published() {
    let place = Place::new();
    std::fs::remove_file(place.file(".pubdata-mirror")).unwrap();
    files_below(&place.mirror())
        .iter()
        .for_each(|file| make_old(file));
    let files = gazetteer();
    let run = async |now: &str| -> TaskReport {
        let settings = settings(
            &place.home(),
            vec![place.mirror().to_str().unwrap().to_owned()],
            files.clone(),
        );
        let fetch = FetchSettings {
            clock: Arc::new(ClockAt(now.parse().unwrap())),
            ..settings.fetch
        };
        let mut report = run_here(&RunSettings {
            fetch,
            selectors: vec!["census.gazetteer".to_owned()],
            ..settings
        })
        .await;
        let expected = if report.tasks[0].late_since.is_some() {
            ExitCode::Quarantined
        } else {
            ExitCode::Ok
        };
        assert_eq!(report.exit_code, expected, "{report:#?}");
        report.tasks.remove(0)
    };
    let report = run("2026-10-31T23:59:59Z").await;
    assert_eq!((report.outcome, report.late_since), ("built", None));
    let report = run("2026-11-01T00:00:00Z").await;
    assert_eq!(
        (report.outcome, report.late_since),
        ("fresh", Some(date(2026, 11, 1)))
    );
    let status = place.pubdata(&["status"]).expect(0).stdout;
    assert!(
        status.contains("  late census.gazetteer since 2026-11-01\n"),
        "{status}"
    );
    assert_eq!(
        late_since(
            &place.pubdata(&["status", "--json"]).expect(0).json(),
            "census.gazetteer"
        ),
        "2026-11-01"
    );
    let folder = place
        .file("2025_Gaz_zcta_national.zip")
        .parent()
        .unwrap()
        .to_owned();
    let next = folder.parent().unwrap().join("2026_Gazetteer");
    std::fs::create_dir_all(&next).unwrap();
    for name in ["Gaz_zcta_national.zip", "Gaz_counties_national.zip"] {
        std::fs::copy(
            folder.join(format!("2025_{name}")),
            next.join(format!("2026_{name}")),
        )
        .unwrap();
        make_old(&next.join(format!("2026_{name}")));
    }
    let report = run("2026-11-02T09:00:00Z").await;
    assert_eq!((report.outcome, report.late_since), ("built", None));
    let urls: Vec<String> = place.manifest()["tasks"]["census.gazetteer"]["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|input| input["url"].to_string())
        .collect();
    assert!(
        urls.iter().any(|url| url.contains("2026_Gaz_zcta"))
            && !urls.iter().any(|url| url.contains("2025_Gaz_zcta")),
        "{urls:?}"
    );
    assert!(
        place
            .pubdata(&["status", "--verbose"])
            .expect(0)
            .stdout
            .contains("by 2027-11-01")
    );
}

/// Sources whose label lists are historical: no label is added to them.
const CLOSED: &[&str] = &[
    "sec.us_gaap_dated",
    "sec.srt_dated",
    "sec.dei_dated",
    "sec.dei_of_day",
];

#[tokio::test(flavor = "multi_thread")]
async fn late_edition_is_reported_as_a_failed_task() {
    let place = Place::new();
    std::fs::remove_file(place.file(".pubdata-mirror")).unwrap();
    for (now, expected) in [
        ("2026-10-31T23:59:59Z", "COMPLETE"),
        ("2026-11-01T00:00:00Z", "FAIL"),
    ] {
        let settings = settings(
            &place.home(),
            vec![place.mirror().to_str().unwrap().to_owned()],
            gazetteer(),
        );
        let fetch = FetchSettings {
            clock: Arc::new(ClockAt(now.parse().unwrap())),
            ..settings.fetch
        };
        let settings = RunSettings {
            fetch,
            selectors: vec!["census.gazetteer".to_owned()],
            ..settings
        };
        let emitter = Emitter::new(Arc::new(NoopObserver), settings.clone(), "test", None);
        let report = run::run(&settings, &(emitter.clone() as SharedObserver)).await;
        emitter.ended(report.as_ref()).await.unwrap();
        let events = events_of(&place);
        assert_eq!(
            reported(&events),
            [
                ("START", "run"),
                ("START", "census.gazetteer"),
                (expected, "census.gazetteer"),
                ("COMPLETE", "run")
            ]
        );
        let message = events[2]["run"]["facets"]["errorMessage"]["message"].as_str();
        assert_eq!(
            message,
            (expected == "FAIL")
                .then_some("late since 2026-11-01: no newer edition of its sources has arrived")
        );
        assert_eq!(
            events[2]["outputs"].as_array().unwrap().len(),
            2,
            "the outputs of the existing build are reported as well"
        );
    }
}

/// Returns the day since which a task is late, from `pubdata status`.
fn late_since(status: &serde_json::Value, task_id: &str) -> serde_json::Value {
    let tasks = status["tasks"].as_array().unwrap();
    tasks
        .iter()
        .find(|task| task["task_id"] == task_id)
        .unwrap()["late_since"]
        .clone()
}

#[test]
fn no_declaration_goes_stale_by_itself() {
    let declarations = Declarations::load(DeclarationFiles::built_in()).unwrap();
    let (mut typed, mut ranges) = (BTreeSet::new(), 0);
    for declaration in declarations.pipelines.values() {
        for source in &declaration.sources {
            for values in source.variables.values() {
                match values {
                    Variable::Values(values) if are_labels(values) => {
                        typed.insert(source.source_id.as_str());
                    }
                    Variable::Values(_) => {}
                    Variable::Range(range) => {
                        ranges += 1;
                        let editions = Editions::from_range(
                            range,
                            declaration.schedule(Some(source)).unwrap(),
                        )
                        .unwrap();
                        let at = |now: &str| editions.labels(now.parse().unwrap());
                        let (early, late) =
                            (at("2026-11-22T00:00:00Z"), at("2029-01-15T12:00:00Z"));
                        if range.to == "now" {
                            assert!(late.len() > early.len(), "{}: {late:?}", source.source_id);
                        }
                    }
                }
            }
        }
    }
    typed.retain(|source_id| !CLOSED.contains(source_id));
    assert_eq!(
        typed,
        BTreeSet::new(),
        "give these a range of labels that ends `now`; {ranges} have one"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn declared_sources_are_asked_only_for_files_that_can_exist() {
    let place = tempfile::tempdir().unwrap();
    let requested = async |now: &str| -> BTreeSet<String> {
        let empty = place.path().join("mirror");
        std::fs::create_dir_all(&empty).unwrap();
        let settings = settings(
            &place.path().join("home"),
            vec![empty.to_str().unwrap().to_owned()],
            DeclarationFiles::built_in(),
        );
        let fetch = FetchSettings {
            clock: Arc::new(ClockAt(now.parse().unwrap())),
            ..settings.fetch
        };
        plan_here(&RunSettings { fetch, ..settings })
            .await
            .sources
            .into_iter()
            .map(|source| source.url)
            .collect()
    };
    let (now, later) = (
        requested("2026-11-22T12:00:00Z").await,
        requested("2029-01-15T12:00:00Z").await,
    );
    let declarations = Declarations::load(DeclarationFiles::built_in()).unwrap();
    let contains = |urls: &BTreeSet<String>, part: &str| urls.iter().any(|url| url.contains(part));
    // Source; in November 2026, what is requested and what is too early; the same in January 2029.
    for (source_id, today, too_early, then, then_too_early) in [
        (
            "sec.xbrl_index",
            "2026/QTR4/xbrl.idx",
            "2027/QTR1",
            "2028/QTR4/xbrl.idx",
            "2029/QTR2",
        ),
        (
            "census.acs5_table",
            "acsdt5y2024-b01003",
            "acsdt5y2026",
            "acsdt5y2027-b01003",
            "acsdt5y2028",
        ),
        (
            "census.gazetteer_zcta",
            "2026_Gaz_zcta",
            "2027_Gaz",
            "2028_Gaz_zcta",
            "2029_Gaz",
        ),
        (
            "sec.us_gaap",
            "us-gaap-2026",
            "us-gaap-2028",
            "us-gaap-2028",
            "us-gaap-2030",
        ),
        (
            "business.fl_daily",
            "20261120c",
            "20261123c",
            "20290112c",
            "20290116c",
        ),
    ] {
        let (declaration, source) = declarations.source(source_id).unwrap();
        let has_no_end = source.range().is_some_and(|(_, range)| range.to == "now")
            || declaration
                .partition
                .as_ref()
                .is_some_and(|range| range.to.is_none());
        if has_no_end {
            assert!(
                contains(&now, today) && !contains(&now, too_early),
                "{source_id}: {now:#?}"
            );
            assert!(
                contains(&later, then) && !contains(&later, then_too_early),
                "{source_id}: {later:#?}"
            );
        }
    }
    assert!(contains(&now, "www.sec.gov"), "{now:#?}");
}
