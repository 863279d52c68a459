use pubdata_fetch::FetchSettings;
use pubdata_run::follow::{FollowSettings, Follower, once};
use pubdata_store::{EventKind, Feed};

use super::desk::{Desk, Entry, accession};
use pubdata_testing::project;
use pubdata_testing::publisher::Reply;

#[tokio::test]
async fn repetitive_feed_logs_each_filing_once() {
    let desk = Desk::new().await;
    let mut follower = desk.follower();
    desk.show(&[Entry::new(2), Entry::new(1)]);
    let report = desk.poll(&mut follower).await;
    assert_eq!(
        (
            report.outcome,
            report.entries,
            report.new_filings,
            report.updates
        ),
        ("read", 2, 2, 0)
    );
    for _ in 0..3 {
        let report = desk.poll(&mut follower).await;
        assert_eq!(
            (
                report.outcome,
                report.new_filings,
                report.updates,
                report.findings
            ),
            ("read", 0, 0, 0)
        );
    }
    let events = desk.assert_once(1..=2);
    let order: Vec<&str> = events
        .iter()
        .map(|event| event.accession_number.as_str())
        .collect();
    assert_eq!(order, [accession(1), accession(2)], "oldest first");
    assert_eq!(
        events[0].filing.accepted_at.as_deref(),
        Some("2026-01-15T21:00:01Z")
    );
}

#[tokio::test]
async fn entries_of_one_filing_are_merged_and_a_later_party_is_an_update() {
    let desk = Desk::new().await;
    let mut follower = desk.follower();
    let party = |cik, role| Entry {
        number: 7,
        cik,
        role,
        form: "4",
    };
    desk.show(&[party(71, "Reporting"), Entry::new(6), party(72, "Issuer")]);
    assert_eq!(desk.poll(&mut follower).await.new_filings, 2);
    desk.show(&[
        party(73, "Reporting"),
        party(71, "Reporting"),
        Entry::new(6),
        party(72, "Issuer"),
    ]);
    let report = desk.poll(&mut follower).await;
    assert_eq!((report.new_filings, report.updates), (0, 1));
    let events = desk.assert_once([6, 7]);
    let parties = |event: &pubdata_store::Event| -> Vec<(String, Option<String>)> {
        event
            .filing
            .entities
            .iter()
            .map(|entity| {
                (
                    entity.cik.trim_start_matches('0').to_owned(),
                    entity.role.clone(),
                )
            })
            .collect()
    };
    let named = |list: &[(&str, &str)]| -> Vec<(String, Option<String>)> {
        list.iter()
            .map(|(cik, role)| ((*cik).to_owned(), Some((*role).to_owned())))
            .collect()
    };
    let of_seven: Vec<_> = events
        .iter()
        .filter(|event| event.accession_number == accession(7))
        .collect();
    assert_eq!(
        of_seven.iter().map(|event| event.event).collect::<Vec<_>>(),
        [EventKind::Filing, EventKind::Update]
    );
    assert_eq!(
        parties(of_seven[0]),
        named(&[("72", "issuer"), ("71", "reporting")])
    );
    assert_eq!(
        parties(of_seven[1]),
        named(&[("72", "issuer"), ("71", "reporting"), ("73", "reporting")])
    );
    assert_eq!(
        of_seven[0].filing.first_seen_at,
        of_seven[1].filing.first_seen_at
    );
}

#[tokio::test]
async fn burst_beyond_a_page_is_read_up_to_the_known_entries() {
    let desk = Desk::new().await;
    let mut follower = desk.follower();
    let newest_first = |last: u32| (1..=last).rev().map(Entry::new).collect::<Vec<_>>();
    desk.show(&newest_first(40));
    desk.poll(&mut follower).await;
    desk.show(&newest_first(371));
    let report = desk.poll(&mut follower).await;
    assert_eq!((report.new_filings, report.detail), (331, None));
    assert_eq!(
        report.entries, 371,
        "four pages: the fourth reaches the known entries"
    );
    desk.assert_once(1..=371);
    desk.show(&newest_first(372));
    assert_eq!(
        desk.poll(&mut follower).await.entries,
        100,
        "one page is enough"
    );
    desk.assert_once(1..=372);
}

#[tokio::test]
async fn filings_out_of_order_are_not_missed() {
    let desk = Desk::new().await;
    let mut follower = desk.follower();
    desk.show(&[5, 3, 1].map(Entry::new));
    desk.poll(&mut follower).await;
    // Two filings accepted earlier appear below the known ones.
    desk.show(&[6, 5, 4, 3, 2, 1].map(Entry::new));
    assert_eq!(desk.poll(&mut follower).await.new_filings, 3);
    desk.assert_once(1..=6);
}

#[tokio::test]
async fn unreadable_entries_are_findings_and_do_not_hide_others() {
    let desk = Desk::new().await;
    let mut follower = desk.follower();
    let entry = |text: &str| format!("<entry>\n{text}\n</entry>\n");
    let whole = |number: u32| {
        let id = accession(number);
        entry(&format!(
            "<title>8-K - A (0000000009) (Filer)</title><category term=\"8-K\"/><id>x={id}</id><summary>Filed: 2026-01-15</summary>"
        ))
    };
    let bad = [
        entry("<title>8-K - A & B (0000000009) (Filer)</title>"),
        entry("<title>8-K - No number (0000000009) (Filer)</title><category term=\"8-K\"/>"),
        entry("<title>No CIK</title><category term=\"8-K\"/><id>x=0009999999-26-000008</id>"),
        entry(
            "<title>8-K - Two numbers (0000000009) (Filer)</title><category term=\"8-K\"/><id>x=0009999999-26-000008</id><accession-number>0009999999-26-000009</accession-number>",
        ),
        entry(
            "<title>8-K - Day (0000000009) (Filer)</title><category term=\"8-K\"/><id>x=0009999999-26-000008</id><summary>Filed: 2026-02-30</summary>",
        ),
        "<entry>\n<title>8-K - Never ends (0000000009) (Filer)</title>\n".to_owned(),
    ];
    let shown: Vec<String> = [vec![whole(2)], bad.to_vec(), vec![whole(1)]].concat();
    desk.show_texts(&shown);
    let report = desk.poll(&mut follower).await;
    assert_eq!(
        (report.entries, report.new_filings, report.findings),
        (8, 2, 6)
    );
    assert_eq!(
        desk.poll(&mut follower).await.findings,
        0,
        "each is reported once"
    );
    drop(follower);
    let report = desk.poll(&mut desk.follower()).await;
    assert_eq!(
        (report.new_filings, report.findings),
        (0, 0),
        "also after a restart"
    );
    desk.assert_once(1..=2);
    let findings = desk.findings();
    assert_eq!(findings.lines().count(), 6, "{findings}");
    for word in [
        "No number",
        "No CIK",
        "Two numbers",
        "2026-02-30",
        "Never ends",
        "A & B",
    ] {
        assert!(findings.contains(word), "{word}: {findings}");
    }
}

/// Every follower of the stream receives each logged event.
#[tokio::test]
async fn entry_larger_than_any_filing_is_a_finding() {
    let desk = Desk::new().await;
    let mut follower = desk.follower();
    let entry = |number: u32, name: &str, more: &str| {
        let id = accession(number);
        format!(
            "<entry>\n<title>8-K - {name} (0000000009) (Filer)</title><category term=\"8-K\"/><id>x={id}</id><summary>Filed: 2026-01-15 {more}</summary>\n</entry>\n"
        )
    };
    let items = "Item 2.02 Item 2.03 ".repeat(600);
    let texts = [
        entry(4, &"N".repeat(4_800_000), ""),
        entry(3, &"M".repeat(3_000), ""),
        entry(2, "B", &items),
        entry(1, "A", ""),
    ];
    desk.show_texts(&texts);
    let report = desk.poll(&mut follower).await;
    assert_eq!(
        (report.entries, report.new_filings, report.findings),
        (4, 1, 3)
    );
    let findings = desk.findings();
    assert!(findings.len() < 20_000, "{} bytes", findings.len());
    for words in [
        "bytes, an entry has 1048576 at most",
        "a text has 3000 bytes, a text of an entry has 2000 at most: `MMM",
        "1 parties and 1200 items",
    ] {
        assert!(findings.contains(words), "{words}: {findings}");
    }
    desk.assert_once(1..=1);
}

#[tokio::test]
async fn all_filings_are_caught_up_after_an_outage() {
    let desk = Desk::new().await;
    let mut follower = desk.follower();
    let newest_first = |last: u32| (1..=last).rev().map(Entry::new).collect::<Vec<_>>();
    desk.show(&newest_first(10));
    desk.poll(&mut follower).await;
    for reply in [
        Reply::status(503),
        Reply::page(403),
        Reply::status(429),
        Reply::page(200),
        Reply::file("<html/>"),
        Reply::file("{}"),
    ] {
        desk.fail(&reply);
        let report = desk.poll(&mut follower).await;
        assert_eq!(
            (report.outcome, report.new_filings),
            ("failed", 0),
            "{report:?}"
        );
        assert!(report.detail.is_some());
    }
    // The outage also occurs between two pages: the first page must not count as read.
    desk.show(&newest_first(350));
    desk.publisher.route(
        "/www.sec.gov/cgi-bin/browse-edgar@action=getcurrent&type=&owner=include&start=100&count=100&output=atom",
        vec![Reply::status(500), Reply::status(500), Reply::status(500)],
    );
    assert_eq!(desk.poll(&mut follower).await.outcome, "failed");
    desk.assert_once(1..=10);
    desk.show(&newest_first(350));
    assert_eq!(desk.poll(&mut follower).await.new_filings, 340);
    desk.assert_once(1..=350);
}

#[tokio::test]
async fn daily_index_adds_filings_that_the_feeds_missed() {
    let desk = Desk::new().await;
    let mut follower = desk.follower();
    desk.show(&[2, 1].map(Entry::new));
    desk.poll(&mut follower).await;
    desk.show_index(
        "2026/QTR1/master.20260115.idx",
        &[
            (1, 1_001),
            (2, 1_002),
            (2, 555),
            (3, 1_003),
            (4, 1_004),
            (4, 556),
        ],
    );
    let day = "2026-01-15".parse().unwrap();
    let report = follower.reconcile(day).await.unwrap();
    assert_eq!(
        (
            report.outcome,
            report.entries,
            report.filings,
            report.new_filings,
            report.updates
        ),
        ("read", 6, 4, 2, 1)
    );
    let report = follower.reconcile(day).await.unwrap();
    assert_eq!((report.new_filings, report.updates), (0, 0));
    let events = desk.assert_once(1..=4);
    assert_eq!(
        events
            .iter()
            .filter(|event| event.source == Feed::DailyIndex)
            .count(),
        3
    );
    assert_eq!(
        follower
            .reconcile("2026-01-16".parse().unwrap())
            .await
            .unwrap()
            .outcome,
        "absent"
    );
    // A feed that later shows a filing of the index, with a role, adds the role.
    desk.show(&[3, 2, 1].map(Entry::new));
    let report = desk.poll(&mut follower).await;
    assert_eq!((report.new_filings, report.updates), (0, 1));
}

#[tokio::test]
async fn fixtures_show_every_quirk_of_the_feeds() {
    let desk = Desk::new().await;
    let mirror = project("fixtures/sec/current_filings/basic/source")
        .display()
        .to_string();
    let fetch = FetchSettings {
        mirrors: vec![mirror],
        ..pubdata_testing::instant_waits()
    };
    let settings = FollowSettings {
        fetch,
        days: vec!["2023-07-03".parse().unwrap()],
        ..desk.settings()
    };
    let report = once(settings).await.unwrap();
    let counts: Vec<_> = report
        .polls
        .iter()
        .map(|poll| {
            (
                poll.outcome,
                poll.entries,
                poll.filings,
                poll.new_filings,
                poll.findings,
            )
        })
        .collect();
    assert_eq!(
        counts,
        [
            ("read", 7, 3, 3, 2),
            ("read", 2, 2, 2, 0),
            ("read", 9, 4, 4, 2)
        ]
    );
    let events = desk.events();
    let of = |number: &str| {
        events
            .iter()
            .find(|event| event.accession_number == number)
            .unwrap()
    };
    let entity = |number: &str, index: usize| {
        let entity = &of(number).filing.entities[index];
        (
            entity.cik.clone(),
            entity.name.clone().unwrap_or_default(),
            entity.role.clone().unwrap_or_default(),
        )
    };
    let expected =
        |cik: &str, name: &str, role: &str| (cik.to_owned(), name.to_owned(), role.to_owned());
    let current = "0009999001-24-000001";
    assert_eq!(
        entity(current, 0),
        expected(
            "0009999001",
            "SYNTHETIC & SONS - CAFÉ (HOLDINGS) INC",
            "filer"
        )
    );
    assert_eq!(of(current).filing.items, ["2.02", "9.01"]);
    assert_eq!(
        (
            of(current).filing.filed_date.as_deref(),
            of(current).filing.accepted_at.as_deref()
        ),
        (Some("2024-03-18"), Some("2024-03-16T01:50:00Z"))
    );
    let acquired = "0009999003-24-000002";
    assert_eq!(
        [entity(acquired, 0).2, entity(acquired, 1).2],
        ["filed_by", "subject"]
    );
    let with_data = &of("0000753308-25-000003").filing;
    assert_eq!(
        (
            with_data.period_of_report.as_deref(),
            with_data.has_inline_xbrl,
            with_data.entities.len()
        ),
        (Some("2025-01-24"), Some(true), 2)
    );
    assert_eq!(with_data.entities[0].sic.as_deref(), Some("4911"));
    assert_eq!(
        of("0001493152-23-023239").filing.forms,
        ["SC 13E3/A", "SC TO-I/A"]
    );
}

#[tokio::test]
async fn second_follower_of_a_home_is_refused() {
    let desk = Desk::new().await;
    let first = desk.follower();
    let error = Follower::open(desk.settings()).err().unwrap();
    assert_eq!(
        error.kind(),
        pubdata_core::error::ErrorKind::Busy,
        "{error}"
    );
    drop(first);
    desk.follower();
}
