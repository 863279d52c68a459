//! Serves the archive of facts in every broken state that a publisher or a transfer has produced.
//! Checks the run's message and that the last good release stays.

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

    /// Runs, and expects an exit code, texts in the reason, and that the last release keeps every
    /// part.
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

    /// Runs, and expects that the publisher's current archive is published.
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

/// Publishes, changes the publisher's response, expects a refusal, and expects that the next good
/// archive is published.
async fn refused(reply: impl FnOnce(&Site) -> Reply, exit_code: ExitCode, says: &[&str]) {
    let site = Site::published().await;
    let reply = reply(&site);
    site.publisher.route(TARGET, vec![reply]);
    site.refused(exit_code, says).await;
    site.serve(&site.archive(), "\"good\"");
    site.healed().await;
}

/// Returns an archive in which some members are changed.
fn changed(site: &Site, change: impl FnOnce(&mut BTreeMap<String, String>)) -> Reply {
    let mut members = site.members();
    change(&mut members);
    Reply::file(packed(&members)).etag("\"changed\"")
}

/// Returns the archive with one byte of a member's compressed content flipped. As a file it is
/// complete.
fn damaged(archive: &[u8], member: &str) -> Vec<u8> {
    let mut archive = archive.to_vec();
    let at = memchr::memmem::find(&archive, member.as_bytes()).unwrap();
    archive[at + member.len() + 200] ^= 0xFF;
    archive
}

#[tokio::test(flavor = "multi_thread")]
async fn page_with_status_403_makes_the_source_missing() {
    refused(
        |_| Reply::page(403),
        ExitCode::SourceMissing,
        &["companyfacts.zip", "403"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_with_status_200_is_not_taken_for_the_archive() {
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
async fn truncated_archive_is_refused() {
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
async fn transfer_that_always_breaks_off_makes_the_source_missing() {
    let broken = |site: &Site| Reply::body(200, site.archive()).cut_after(5_000);
    refused(broken, ExitCode::SourceMissing, &["companyfacts.zip"]).await;
}

/// The archive is rebuilt nightly: a long download can span the replacement.
#[tokio::test(flavor = "multi_thread")]
async fn archive_replaced_during_the_download_is_fetched_whole() {
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
        "no mixture of two editions"
    );
    assert_eq!(
        site.place.rows("sec.archive_member")["sec.archive_member:0000002488"].0["entity_name"],
        "THIRD NIGHT, INC."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn member_that_is_not_json_blocks_and_is_named() {
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
            drop(members.insert(NO_FACTS.to_owned(), members[NO_FACTS].replacen('{', "<", 1)));
        })
    };
    refused(page, ExitCode::Blocked, &[NO_FACTS]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn member_about_another_registrant_blocks_and_is_named() {
    let exchanged = |site: &Site| {
        changed(site, |members| {
            drop(members.insert(NO_FACTS.to_owned(), members["CIK0009900005.json"].clone()));
        })
    };
    refused(exchanged, ExitCode::Blocked, &[NO_FACTS, "9900005"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_submissions_block_and_are_named() {
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

/// Removes limits of the declaration that one registrant of fourteen exceeds and one of nineteen
/// thousand does not.
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
async fn accepted_loss_quarantines_the_unreadable_registrant_only() {
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

    // The member returns in the next run, without an acceptance.
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

/// The archive was damaged in transfer and has the publisher's ETag: a conditional request would
/// answer "not modified" forever.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_checksum_blocks_and_the_next_run_fetches_the_whole_archive() {
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
async fn duplicate_member_blocks() {
    let twice = |site: &Site| {
        let members = site.members();
        let mut list: Vec<(String, &[u8])> = members
            .iter()
            .map(|(name, text)| (name.clone(), text.as_bytes()))
            .collect();
        // A name of the same length, so that the writer accepts it.
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
async fn member_not_named_after_a_registrant_blocks() {
    let misnamed = |site: &Site| {
        changed(site, |members| {
            drop(members.insert("CIK2488.json".to_owned(), members[AMD].clone()));
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
async fn archive_without_members_is_refused() {
    refused(
        |site| changed(site, BTreeMap::clear),
        ExitCode::SourceMissing,
        &["companyfacts.zip"],
    )
    .await;
}

/// Its size is refused first. After an acceptance, its row count is refused.
#[tokio::test(flavor = "multi_thread")]
async fn archive_that_lost_most_of_its_members_is_refused() {
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
    // Complete parts of the refused build are on disk: they are not used.
    site.refused(ExitCode::Blocked, &says).await;
    site.accepted.clear();
    site.serve(&site.archive(), "\"good\"");
    site.healed().await;
}
