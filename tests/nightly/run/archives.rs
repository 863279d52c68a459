//! The archive of facts in every state a publisher or a line has left one in: what the run says,
//! and that the last good release stays.

use std::collections::BTreeMap;

use pubdata_core::declared::DeclarationFiles;
use pubdata_run::{ExitCode, RunReport, RunSettings, SubjectCounts, TaskReport};

use pubdata_testing::publisher::{Publisher, Reply, archive};
use pubdata_testing::{Place, members, packed, project, run_here, settings};

const FINANCIALS: &str = "sec.financials";
const FACTS: &str = "companyfacts.zip";
const TARGET: &str = "/www.sec.gov/Archives/edgar/daily-index/xbrl/companyfacts.zip";
const AMD: &str = "CIK0000002488.json";
const NO_FACTS: &str = "CIK0009900006.json";

/// A home that has published the archive from a publisher over HTTP.
struct Site {
    place: Place,
    publisher: Publisher,
    files: DeclarationFiles,
    accepted: Vec<String>,
}

impl Site {
    async fn published() -> Self {
        Self::published_with(DeclarationFiles::built_in()).await
    }

    async fn published_with(files: DeclarationFiles) -> Self {
        let (place, publisher) = (Place::new(), Publisher::start().await);
        publisher.serve_folder(&place.mirror());
        let packed_here = packed(&members(&place.file(FACTS)));
        std::fs::write(place.file(FACTS), packed_here).unwrap();
        let site = Self {
            place,
            publisher,
            files,
            accepted: Vec::new(),
        };
        site.serve(&site.archive(), "\"good\"");
        let report = site.run().await;
        assert_eq!(
            (report.exit_code, report.outcome),
            (ExitCode::Ok, "published"),
            "{report:#?}"
        );
        site
    }

    fn members(&self) -> BTreeMap<String, String> {
        members(&self.place.file(FACTS))
    }

    fn archive(&self) -> Vec<u8> {
        std::fs::read(self.place.file(FACTS)).unwrap()
    }

    fn serve(&self, archive: &[u8], etag: &str) {
        self.publisher
            .route(TARGET, vec![Reply::file(archive.to_vec()).etag(etag)]);
    }

    fn settings(&self) -> RunSettings {
        let settings = settings(
            &self.place.home(),
            vec![self.publisher.base_url()],
            self.files.clone(),
        );
        RunSettings {
            selectors: vec![FINANCIALS.to_owned()],
            accepted: self.accepted.clone(),
            ..settings
        }
    }

    async fn run(&self) -> RunReport {
        run_here(&self.settings()).await
    }

    /// Runs, and expects an exit code, words in the reason, and that the release of before has
    /// every part of its own.
    async fn refused(&self, exit_code: ExitCode, says: &[&str]) {
        let before = self.place.manifest();
        let report = self.run().await;
        assert_eq!(report.exit_code, exit_code, "{report:#?}");
        let reasons = task(&report).reasons.join("\n");
        for text in says {
            assert!(reasons.contains(text), "`{text}` is not in: {reasons}");
        }
        let after = self.place.manifest();
        assert_eq!(after["datasets"], before["datasets"]);
        assert!(self.place.stale_tasks().contains_key(FINANCIALS));
    }

    /// Runs, and expects that the publisher's archive of tonight is published.
    async fn healed(&self) -> RunReport {
        let report = self.run().await;
        assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
        assert!(!self.place.stale_tasks().contains_key(FINANCIALS));
        report
    }
}

#[track_caller]
fn task(report: &RunReport) -> &TaskReport {
    assert_eq!(report.tasks.len(), 1, "{report:#?}");
    &report.tasks[0]
}

/// Publishes, lets the publisher answer so, expects a refusal, and that the next good archive is
/// published.
async fn refused(reply: impl FnOnce(&Site) -> Reply, exit_code: ExitCode, says: &[&str]) {
    let site = Site::published().await;
    let reply = reply(&site);
    site.publisher.route(TARGET, vec![reply]);
    site.refused(exit_code, says).await;
    site.serve(&site.archive(), "\"good\"");
    site.healed().await;
}

/// An archive in which some members are others.
fn changed(site: &Site, change: impl FnOnce(&mut BTreeMap<String, String>)) -> Reply {
    let mut members = site.members();
    change(&mut members);
    Reply::file(packed(&members)).etag("\"changed\"")
}

/// The archive with one byte of a member's packed content flipped: whole as a file.
fn damaged(archive: &[u8], member: &str) -> Vec<u8> {
    let mut archive = archive.to_vec();
    let at = memchr::memmem::find(&archive, member.as_bytes()).unwrap();
    archive[at + member.len() + 200] ^= 0xFF;
    archive
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_status_403_is_a_source_that_is_missing() {
    refused(
        |_| Reply::page(403),
        ExitCode::SourceMissing,
        &["companyfacts.zip", "403"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_status_200_is_not_taken_for_the_archive() {
    refused(
        |_| Reply::page(200),
        ExitCode::SourceMissing,
        &["companyfacts.zip", "web page"],
    )
    .await;
    let untyped = |_: &Site| {
        Reply::body(
            200,
            "<html><body>Request Rate Threshold Exceeded</body></html>",
        )
        .content_type("application/zip")
    };
    refused(
        untyped,
        ExitCode::SourceMissing,
        &["companyfacts.zip", "web page"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_cut_short_at_the_publisher() {
    let cut = |site: &Site| {
        let archive = site.archive();
        Reply::file(archive[..archive.len() / 2].to_vec()).etag("\"cut\"")
    };
    refused(
        cut,
        ExitCode::SourceMissing,
        &["companyfacts.zip", "cut short"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_that_always_breaks_off() {
    let broken = |site: &Site| Reply::body(200, site.archive()).cut_after(5_000);
    refused(broken, ExitCode::SourceMissing, &["companyfacts.zip"]).await;
}

/// Recompiled nightly: a long download can reach across the exchange.
#[tokio::test(flavor = "multi_thread")]
async fn an_archive_replaced_during_the_download_is_taken_whole() {
    let site = Site::published().await;
    let text = |company: &str| site.members()[AMD].replace("ADVANCED MICRO DEVICES, INC.", company);
    let night = |company: &str| {
        packed(
            &site
                .members()
                .into_iter()
                .map(|(name, old)| {
                    if name == AMD {
                        (name, text(company))
                    } else {
                        (name, old)
                    }
                })
                .collect(),
        )
    };
    let (second, third) = (night("SECOND NIGHT, INC."), night("THIRD NIGHT, INC."));
    let broken = Reply::file(second).etag("\"second\"").cut_after(6_000);
    site.publisher.route(
        TARGET,
        vec![broken, Reply::file(third.clone()).etag("\"third\"")],
    );
    site.healed().await;
    let requested = site.publisher.requests(TARGET);
    assert_eq!(
        requested.last().unwrap().header("if-range"),
        "\"second\"",
        "{requested:#?}"
    );
    let snapshots =
        pubdata_testing::files_below(&site.place.home().join("snapshots/sec.companyfacts"));
    let archives: Vec<Vec<u8>> = snapshots
        .iter()
        .filter(|path| path.to_str().unwrap().ends_with(FACTS))
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    assert!(
        archives.len() == 2 && archives.contains(&site.archive()) && archives.contains(&third),
        "no mixture of two nights"
    );
    assert_eq!(
        site.place.rows("sec.archive_member")["sec.archive_member:0000002488"].0["entity_name"],
        "THIRD NIGHT, INC."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_is_no_json_blocks_and_is_named() {
    let broken = |site: &Site| {
        changed(site, |members| {
            let text = &members[NO_FACTS];
            let half = text[..text.len() / 2].to_owned();
            members.insert(NO_FACTS.to_owned(), half);
        })
    };
    refused(broken, ExitCode::Blocked, &[NO_FACTS, "sec.archive_member"]).await;
    let page = |site: &Site| {
        changed(site, |members| {
            drop(members.insert(NO_FACTS.to_owned(), members[NO_FACTS].replacen('{', "<", 1)))
        })
    };
    refused(page, ExitCode::Blocked, &[NO_FACTS]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_about_another_registrant_blocks_and_is_named() {
    let exchanged = |site: &Site| {
        changed(site, |members| {
            drop(members.insert(NO_FACTS.to_owned(), members["CIK0009900005.json"].clone()))
        })
    };
    refused(exchanged, ExitCode::Blocked, &[NO_FACTS, "9900005"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn submissions_that_cannot_be_read_block_and_are_named() {
    let site = Site::published().await;
    let path = site.place.file("submissions.zip");
    let good = std::fs::read(&path).unwrap();
    site.place.edit_archive("submissions.zip", |members| {
        let member = members.get_mut("CIK0000320193.json").unwrap();
        *member = member.replace("\"accessionNumber\"", "\"accessionNumbers\"");
    });
    site.refused(
        ExitCode::Blocked,
        &["CIK0000320193.json", "submissions", "accessionNumber"],
    )
    .await;
    std::fs::write(path, good).unwrap();
    site.healed().await;
}

/// Limits of the declaration that one registrant of fourteen passes and one of nineteen thousand
/// does not.
fn without_limits() -> DeclarationFiles {
    let path = "pipelines/sec/financials.toml";
    let mut text = std::fs::read_to_string(project(path)).unwrap();
    for limit in [
        "max_shrink_percent = 2.0",
        "max_quarantined_percent = 1.0",
        "max_quarantined_percent = 5.0",
    ] {
        assert!(text.contains(limit));
        text = text.replace(
            limit,
            &format!("{} = 90.0", limit.split(' ').next().unwrap()),
        );
    }
    DeclarationFiles::built_in().with(&[(path, &text)])
}

#[tokio::test(flavor = "multi_thread")]
async fn with_its_loss_accepted_an_unreadable_registrant_is_quarantined_and_the_others_are_published()
 {
    let mut site = Site::published_with(without_limits()).await;
    let mut broken = site.members();
    broken.insert(AMD.to_owned(), "{\"cik\":2488,\"entityName\":".to_owned());
    let renamed = broken[NO_FACTS].replace("OTHER CONCEPTS LP", "STILL OTHER CONCEPTS LP");
    broken.insert(NO_FACTS.to_owned(), renamed);
    site.serve(&packed(&broken), "\"broken\"");
    site.refused(ExitCode::Blocked, &[AMD]).await;
    site.refused(ExitCode::Blocked, &[AMD]).await;

    site.accepted = vec!["sec.archive_member".to_owned()];
    let report = site.run().await;
    assert_eq!(
        (report.exit_code, report.outcome),
        (ExitCode::Quarantined, "published"),
        "{report:#?}"
    );
    assert_eq!(
        task(&report).quarantined["sec.archive_member"],
        BTreeMap::from([("member_unreadable".to_owned(), 1)])
    );
    let listed = site.place.rows("pubdata.quarantine");
    let listed: Vec<_> = listed
        .values()
        .filter(|record| record.0["rule"] == "member_unreadable")
        .collect();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert!(
        listed[0].0["reason"].as_str().unwrap().contains(AMD),
        "{listed:?}"
    );
    for dataset_id in [
        "sec.archive_member",
        "sec.financial_value",
        "sec.statement_line",
    ] {
        assert!(
            site.place
                .rows(dataset_id)
                .values()
                .all(|record| record.0["cik"] != "0000002488"),
            "{dataset_id}"
        );
    }
    let members = site.place.rows("sec.archive_member");
    assert_eq!(
        members["sec.archive_member:0009900006"].0["entity_name"],
        "STILL OTHER CONCEPTS LP"
    );

    // Back again the next night, with nothing to be accepted.
    site.accepted.clear();
    site.serve(&site.archive(), "\"good\"");
    let report = site.healed().await;
    assert_eq!(
        task(&report).subjects,
        Some(SubjectCounts {
            built: 2,
            reused: 12
        })
    );
    assert_eq!(site.place.rows("sec.archive_member").len(), 14);
}

/// Damaged on its way, the archive has the publisher's ETag: asked only whether it changed, the
/// publisher would say no for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_checksum_blocks_and_the_next_run_asks_for_the_archive_whole() {
    let site = Site::published().await;
    let mut members = site.members();
    let renamed =
        members[AMD].replace("ADVANCED MICRO DEVICES, INC.", "ADVANCED MICRO DEVICES INC");
    members.insert(AMD.to_owned(), renamed);
    let night = packed(&members);
    site.serve(&damaged(&night, AMD), "\"night\"");
    site.refused(ExitCode::Blocked, &["sec.companyfacts", AMD])
        .await;
    site.serve(&night, "\"night\"");
    site.healed().await;
    let last = site.publisher.requests(TARGET).pop().unwrap();
    assert_eq!(last.header("if-none-match"), "", "{last:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_is_there_twice() {
    let twice = |site: &Site| {
        let members = site.members();
        let mut list: Vec<(String, &[u8])> = members
            .iter()
            .map(|(name, text)| (name.clone(), text.as_bytes()))
            .collect();
        // A name of the same length, so that the writer takes it.
        list.push((
            AMD.replace("0000002488", "0000002489"),
            members[NO_FACTS].as_bytes(),
        ));
        let list: Vec<(&str, &[u8])> = list
            .iter()
            .map(|(name, bytes)| (name.as_str(), *bytes))
            .collect();
        let mut bytes = archive(&list);
        while let Some(at) = memchr::memmem::find(&bytes, b"CIK0000002489") {
            bytes[at + 12] = b'8';
        }
        Reply::file(bytes).etag("\"twice\"")
    };
    refused(twice, ExitCode::Blocked, &["twice, so it is unclear", AMD]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_is_named_after_no_registrant() {
    let misnamed = |site: &Site| {
        changed(site, |members| {
            drop(members.insert("CIK2488.json".to_owned(), members[AMD].clone()))
        })
    };
    refused(
        misnamed,
        ExitCode::Blocked,
        &["CIK2488.json", "not named after a registrant"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_without_members() {
    refused(
        |site| changed(site, BTreeMap::clear),
        ExitCode::SourceMissing,
        &["companyfacts.zip"],
    )
    .await;
}

/// First its size is not believed, and when that is accepted, its rows are not.
#[tokio::test(flavor = "multi_thread")]
async fn an_archive_that_lost_most_of_its_members() {
    let mut site = Site::published().await;
    let few: BTreeMap<String, String> = site
        .members()
        .into_iter()
        .filter(|(name, _)| name.as_str() > AMD && !name.contains("320193"))
        .collect();
    site.serve(&packed(&few), "\"few\"");
    site.refused(ExitCode::Blocked, &["companyfacts.zip", "% fewer"])
        .await;
    site.accepted = vec!["sec.companyfacts".to_owned()];
    let says = [
        "sec.financial_value",
        "sec.statement_line",
        "in the last release",
    ];
    site.refused(ExitCode::Blocked, &says).await;
    // Whole parts of a build that was refused are on disk: they are not taken up.
    site.refused(ExitCode::Blocked, &says).await;
    site.accepted.clear();
    site.serve(&site.archive(), "\"good\"");
    site.healed().await;
}
