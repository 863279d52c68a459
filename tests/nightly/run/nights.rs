//! Makes two runs of the archives of facts and filings: only changed registrants are built, and the
//! release equals that of a clean build.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use pubdata_build::publish::fault::{FAULT_POINTS, VARIABLE};
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::ids::ReleaseId;
use pubdata_run::{ExitCode, RunReport, RunSettings, SubjectCounts, explained_diff};
use pubdata_store::{self as store, Cause, DatasetDiff, RecordCause, RecordChange, ReleaseDiff};
use serde_json::Value;

use pubdata_testing::publisher::Publisher;
use pubdata_testing::{Place, copy_folder, project, run_here, settings};

const FINANCIALS: &str = "sec.financials";
const FACTS: &str = "companyfacts.zip";
const KIMBERLY_CLARK: &str = "CIK0000055785.json";
const META: &str = "CIK0001326801.json";
const JPMORGAN: &str = "CIK0000019617.json";

/// Kimberly-Clark's 10-K of 2025.
const NEW_FILING: &str = "0001628280-26-007567";

/// Number of registrants of the fixture.
const REGISTRANTS: usize = 14;

/// Returns a companyfacts member as it was before a filing.
fn before_filing(member: &str, accession: &str) -> String {
    let mut text = member.to_owned();
    while let Some(at) = text.find(accession) {
        let from = text[..at].rfind('{').unwrap();
        let to = at + text[at..].find('}').unwrap() + 1;
        let is_followed = text[to..].starts_with(',');
        let is_preceded = text[..from].ends_with(',');
        text.replace_range(
            from - usize::from(!is_followed && is_preceded)..to + usize::from(is_followed),
            "",
        );
    }
    text
}

/// Builds the data of the run before the fixture's: without the new filing, without one registrant,
/// and with other stamps in Meta's last annual report.
fn make_first_night(members: &mut BTreeMap<String, String>) {
    let earlier = before_filing(&members[KIMBERLY_CLARK], NEW_FILING);
    members.insert(KIMBERLY_CLARK.to_owned(), earlier);
    members.remove(JPMORGAN).unwrap();
    let stamped = members[META]
        .replace("\"fy\": 2024,", "\"fy\": null,")
        .replace("\"fp\": \"FY\"", "\"fp\": null");
    members.insert(META.to_owned(), stamped);
}

/// Changes a registrant that shares its bucket with one that has quarantined rows.
fn rename_only_fees(members: &mut BTreeMap<String, String>) {
    let member = members.get_mut("CIK0009901001.json").unwrap();
    *member = member.replace("ONLY FEES TRUST", "ONLY FEES FUND");
}

/// A publisher with the data of the first run, and a home that has published it.
struct Nights {
    place: Place,
    publisher: Publisher,
    second_night: Vec<u8>,
}

impl Nights {
    async fn first() -> Self {
        let (place, publisher) = (Place::new(), Publisher::start().await);
        let second_night = std::fs::read(place.file(FACTS)).unwrap();
        place.edit_archive(FACTS, make_first_night);
        publisher.serve_folder(&place.mirror());
        let nights = Self {
            place,
            publisher,
            second_night,
        };
        let report = nights.run().await;
        assert_eq!(
            subjects(&report),
            SubjectCounts {
                built: REGISTRANTS - 1,
                reused: 0
            }
        );
        nights
    }

    fn night_falls(&self) {
        std::fs::write(self.place.file(FACTS), &self.second_night).unwrap();
    }

    fn settings(&self, home: &Path, files: DeclarationFiles) -> RunSettings {
        let settings = settings(home, vec![self.publisher.base_url()], files);
        RunSettings {
            selectors: vec![FINANCIALS.to_owned()],
            ..settings
        }
    }

    async fn run(&self) -> RunReport {
        self.run_with(DeclarationFiles::built_in()).await
    }

    async fn run_with(&self, files: DeclarationFiles) -> RunReport {
        let report = run_here(&self.settings(&self.place.home(), files)).await;
        assert_eq!(
            (report.exit_code, report.outcome),
            (ExitCode::Ok, "published"),
            "{report:#?}"
        );
        report
    }

    /// Runs in an empty home on the publisher's current files.
    async fn built_from_nothing(&self) -> RunReport {
        run_here(&self.settings(
            &self.place.root().join("other-home"),
            DeclarationFiles::built_in(),
        ))
        .await
    }

    async fn diff(&self, from: &RunReport, to: &RunReport) -> ReleaseDiff {
        let settings = self.settings(&self.place.home(), DeclarationFiles::built_in());
        let (from, to) = (
            settings.releases.manifest(release_id(from)).await.unwrap(),
            settings.releases.manifest(release_id(to)).await.unwrap(),
        );
        store::diff(&settings.releases, (&from, &to), 5, &[])
            .await
            .unwrap()
    }

    fn inodes(&self, report: &RunReport, dataset_id: &str) -> BTreeMap<String, u64> {
        let folder = self
            .place
            .home()
            .join("releases")
            .join(release_id(report).as_str())
            .join(dataset_id);
        let files = pubdata_testing::files_below(&folder);
        let buckets = files.iter().filter(|file| {
            file.extension()
                .is_some_and(|extension| extension == "parquet")
        });
        buckets
            .map(|bucket| {
                (
                    bucket.file_name().unwrap().to_str().unwrap().to_owned(),
                    inode(bucket),
                )
            })
            .collect()
    }
}

fn inode(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().ino()
}

#[track_caller]
fn release_id(report: &RunReport) -> &ReleaseId {
    report.release_id.as_ref().unwrap()
}

#[track_caller]
fn subjects(report: &RunReport) -> SubjectCounts {
    assert_eq!(report.tasks.len(), 1, "{report:#?}");
    report.tasks[0].subjects.unwrap()
}

/// Added, removed, changed, provenance only, unchanged.
fn counts(diff: &DatasetDiff) -> [u64; 5] {
    [
        diff.added,
        diff.removed,
        diff.changed,
        diff.provenance_only,
        diff.unchanged,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn only_changed_registrants_are_built_as_in_a_clean_build() {
    let nights = Nights::first().await;
    let first = nights.place.manifest();
    nights.night_falls();
    let report = nights.run().await;
    assert_eq!(
        subjects(&report),
        SubjectCounts {
            built: 3,
            reused: REGISTRANTS - 3
        }
    );
    assert_ne!(nights.place.manifest()["datasets"], first["datasets"]);
    let from_nothing = nights.built_from_nothing().await;
    assert_eq!(
        subjects(&from_nothing),
        SubjectCounts {
            built: REGISTRANTS,
            reused: 0
        }
    );
    assert_eq!(release_id(&report), release_id(&from_nothing));
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_parts_link_to_those_of_the_run_before() {
    let nights = Nights::first().await;
    let publish = |report: &RunReport| nights.inodes(report, "sec.financial_value");
    let first =
        run_here(&nights.settings(&nights.place.home(), DeclarationFiles::built_in())).await;
    assert_eq!(first.outcome, "unchanged");
    nights.night_falls();
    let second = nights.run().await;
    let (first, second) = (publish(&first), publish(&second));
    let changed: Vec<&str> = second
        .iter()
        .filter(|(bucket, inode)| first.get(*bucket) != Some(inode))
        .map(|(bucket, _)| bucket.as_str())
        .collect();
    assert_eq!(changed, ["617.parquet", "785.parquet", "801.parquet"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn new_filing_adds_values_and_new_stamps_change_none() {
    let nights = Nights::first().await;
    let first =
        run_here(&nights.settings(&nights.place.home(), DeclarationFiles::built_in())).await;
    let before = nights.place.rows("sec.financial_value");
    nights.night_falls();
    let second = nights.run().await;
    let after = nights.place.rows("sec.financial_value");
    let diff = nights.diff(&first, &second).await;

    let [
        Cause::SourceChanged {
            source_id,
            url,
            from: Some(_),
            to: Some(_),
        },
    ] = diff.causes[FINANCIALS].as_slice()
    else {
        panic!("{:?}", diff.causes)
    };
    assert_eq!(
        (source_id.as_str(), url.as_str()),
        (
            "sec.companyfacts",
            "https://www.sec.gov/Archives/edgar/daily-index/xbrl/companyfacts.zip"
        )
    );

    let is_of = |record: &store::Record, cik: &str| record.0["cik"] == cik;
    let count = |cik: &str| after.values().filter(|record| is_of(record, cik)).count() as u64;
    let of_new_filing = after
        .values()
        .filter(|record| record.0["accession_number"] == NEW_FILING)
        .count() as u64;
    let is_superseded = |id: &String| {
        after
            .get(id)
            .is_some_and(|record| record.0["is_latest"] == false)
    };
    let superseded = before
        .iter()
        .filter(|(id, record)| {
            is_of(record, "0000055785") && record.0["is_latest"] == true && is_superseded(id)
        })
        .count() as u64;
    // The list of filings had this filing and the earlier ones, and the archive did not.
    let absent: Vec<&store::Record> = before
        .iter()
        .filter(|(id, _)| !after.contains_key(*id))
        .map(|(_, record)| record)
        .collect();
    assert!(
        absent
            .iter()
            .all(|record| record.0["null_reason"] == "filed_not_in_archive"),
        "{absent:?}"
    );
    let removed = absent.len() as u64;
    assert!(
        of_new_filing > 10 && superseded > 3 && removed > 3,
        "{of_new_filing} {superseded} {removed}"
    );
    let values = &diff.datasets["sec.financial_value"];
    let (kimberly_clark, meta, jpmorgan) = (
        count("0000055785"),
        count("0001326801"),
        count("0000019617"),
    );
    // A metric that was never reported points to the whole member that lacks it.
    let rebuilt = kimberly_clark - of_new_filing - superseded + meta;
    let untouched = after.len() as u64 - kimberly_clark - meta - jpmorgan;
    assert_eq!(
        counts(values),
        [
            of_new_filing + jpmorgan,
            removed,
            superseded,
            rebuilt,
            untouched
        ]
    );
    assert!(
        values
            .examples
            .iter()
            .filter(|example| example.change == RecordChange::Changed)
            .all(|example| example
                .columns
                .iter()
                .all(|column| column.column == "is_latest"))
    );

    // Meta's rows have the earlier values, from a member with other bytes.
    for (id, record) in after
        .iter()
        .filter(|(_, record)| is_of(record, "0001326801"))
    {
        assert_eq!(record.0, before[id].0);
        assert_ne!(record.1, before[id].1, "{id}");
    }
    let restated = &after["sec.financial_value:0000055785:revenue:2023-01-01..2023-12-31:0001628280-26-007567"].0;
    assert_eq!(
        (&restated["value"], &restated["change"]),
        (&17_146_000_000_u64.into(), &"value".into())
    );
    let members = &diff.datasets["sec.archive_member"];
    assert_eq!(counts(members), [1, 0, 2, 0, REGISTRANTS as u64 - 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn repacked_archive_changes_no_record_and_builds_no_registrant() {
    let nights = Nights::first().await;
    let first =
        run_here(&nights.settings(&nights.place.home(), DeclarationFiles::built_in())).await;
    nights.place.edit_archive(FACTS, |members| {
        members.insert(
            "a-note.txt".to_owned(),
            "not a member that is read".to_owned(),
        );
    });
    let second = nights.run().await;
    assert_eq!(
        subjects(&second),
        SubjectCounts {
            built: 0,
            reused: REGISTRANTS - 1
        }
    );
    let diff = nights.diff(&first, &second).await;
    assert!(
        diff.datasets
            .values()
            .all(|dataset| counts(dataset)[..4] == [0; 4]),
        "{diff:#?}"
    );
    assert_eq!(
        nights.place.manifest()["release_id"].as_str(),
        Some(release_id(&nights.built_from_nothing().await).as_str())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn new_submissions_rebuild_their_registrant() {
    let nights = Nights::first().await;
    let first =
        run_here(&nights.settings(&nights.place.home(), DeclarationFiles::built_in())).await;
    // NVIDIA's report of fiscal 2025 states another day of the same week as the end of its period.
    nights.place.edit_archive("submissions.zip", |members| {
        let member = members.get_mut("CIK0001045810.json").unwrap();
        *member = member.replace("2025-01-26", "2025-01-25");
    });
    let second = nights.run().await;
    assert_eq!(
        subjects(&second),
        SubjectCounts {
            built: 1,
            reused: REGISTRANTS - 2
        }
    );
    let diff = nights.diff(&first, &second).await;
    assert!(
        matches!(diff.causes[FINANCIALS].as_slice(), [Cause::SourceChanged { source_id, .. }] if source_id == "sec.submissions"),
        "{:?}",
        diff.causes
    );
    assert_eq!(
        release_id(&second),
        release_id(&nights.built_from_nothing().await)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_of_a_registrant_are_reused_with_it() {
    let nights = Nights::first().await;
    nights.place.edit_archive(FACTS, rename_only_fees);
    let report = nights.run().await;
    assert_eq!(
        subjects(&report),
        SubjectCounts {
            built: 1,
            reused: REGISTRANTS - 2
        },
        "the other registrant of bucket 001 has quarantined rows"
    );
    assert_eq!(report.tasks[0].quarantined_total(), 5);
    let from_nothing = nights.built_from_nothing().await;
    assert_eq!(
        (release_id(&report), &report.tasks[0].quarantined),
        (
            release_id(&from_nothing),
            &from_nothing.tasks[0].quarantined
        )
    );
}

/// A row of the year 2201 breaks a rule of its year and one of its filing date. The alphabetical
/// order of the rules is the reverse.
#[tokio::test(flavor = "multi_thread")]
async fn row_that_breaks_two_rules_counts_once_whether_built_or_reused() {
    let nights = Nights::first().await;
    nights.place.edit_archive(FACTS, |members| {
        let member = members.get_mut("CIK0009900001.json").unwrap();
        let known =
            r#"{"start":"2024-01-01","end":"2024-12-31","val":2000000,"accn":"0009900001-25-000006","fy":2024,"fp":"FY","form":"10-K","filed":"2025-02-20"}"#;
        let late = r#"{"start":"2201-01-01","end":"2201-12-31","val":7,"accn":"0009900001-02-000001","fy":2201,"fp":"FY","form":"10-K","filed":"2202-02-20"}"#;
        *member = member.replace(known, &format!("{known},{late}"));
    });
    let settings = nights.settings(&nights.place.home(), DeclarationFiles::built_in());
    let built = run_here(&settings).await;
    let quarantine = nights.place.rows("pubdata.quarantine");
    let of_value = quarantine.iter().filter(|(record_id, _)| {
        record_id.contains("sec.financial_value") && record_id.contains("2201-")
    });
    let rules: Vec<&Value> = of_value.map(|(_, (record, _))| &record["rule"]).collect();
    assert_eq!(rules, ["filed_date_believable", "out_of_range"]);
    nights.place.edit_archive(FACTS, rename_only_fees);
    let reused = run_here(&settings).await;
    assert_eq!(
        subjects(&reused),
        SubjectCounts {
            built: 1,
            reused: REGISTRANTS - 2
        }
    );
    assert_eq!(reused.tasks[0].quarantined, built.tasks[0].quarantined);
    assert_eq!(
        release_id(&reused),
        release_id(&nights.built_from_nothing().await)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_declaration_builds_everything_and_is_named_as_the_cause() {
    let nights = Nights::first().await;
    let first =
        run_here(&nights.settings(&nights.place.home(), DeclarationFiles::built_in())).await;
    let path = "pipelines/sec/financials.toml";
    let text = std::fs::read_to_string(project(path)).unwrap();
    let changed = text.replace("split_permille = 12", "split_permille = 11");
    assert_ne!(text, changed);
    let second = nights
        .run_with(DeclarationFiles::built_in().with(&[(path, &changed)]))
        .await;
    assert_eq!(
        subjects(&second),
        SubjectCounts {
            built: REGISTRANTS - 1,
            reused: 0
        }
    );
    let diff = nights.diff(&first, &second).await;
    assert_eq!(diff.causes[FINANCIALS], [Cause::DeclarationChanged]);
    assert!(
        diff.datasets
            .values()
            .all(|dataset| counts(dataset)[..4] == [0; 4]),
        "{diff:#?}"
    );
}

#[test]
fn parts_staged_on_a_release_that_is_no_longer_the_last_are_rebuilt() {
    let place = Place::new();
    let second_night = std::fs::read(place.file(FACTS)).unwrap();
    place.edit_archive(FACTS, make_first_night);
    let run = &[FINANCIALS];
    place.run(run).expect(0);
    std::fs::write(place.file(FACTS), second_night).unwrap();
    place.run(run).expect(0);
    place.edit_archive(FACTS, rename_only_fees);
    let killed = place
        .run_command(run)
        .env(VARIABLE, "commit.begun")
        .output()
        .unwrap();
    assert_eq!(killed.status.signal(), Some(6), "{killed:?}");
    place.pubdata(&["releases", "rollback"]).expect(0);
    let next = place.run(run).expect(0);
    assert_eq!(next.task(FINANCIALS)["outcome"], "built");
    std::fs::remove_dir_all(place.home()).unwrap();
    assert_eq!(place.run(run).expect(0).release_id(), next.release_id());
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_data_and_of_an_ineffective_declaration_are_separate() {
    let nights = Nights::first().await;
    let first =
        run_here(&nights.settings(&nights.place.home(), DeclarationFiles::built_in())).await;
    nights.night_falls();
    let path = "pipelines/sec/financials.toml";
    let changed = std::fs::read_to_string(project(path))
        .unwrap()
        .replace("split_permille = 12", "split_permille = 11");
    let second = nights
        .run_with(DeclarationFiles::built_in().with(&[(path, &changed)]))
        .await;
    let settings = nights.settings(&nights.place.home(), DeclarationFiles::built_in());
    let (from, to) = (
        settings
            .releases
            .manifest(release_id(&first))
            .await
            .unwrap(),
        settings
            .releases
            .manifest(release_id(&second))
            .await
            .unwrap(),
    );
    let diff = explained_diff(&settings, (&from, &to), 5, &[])
        .await
        .unwrap();
    assert_eq!(
        (diff.causes[FINANCIALS].last(), diff.not_distinguished),
        (Some(&Cause::DeclarationChanged), Some(BTreeMap::new()))
    );
    let of_source = |dataset: &DatasetDiff| {
        let why = dataset.why.as_ref().unwrap();
        assert!(
            why.iter()
                .all(|why| why.causes.causes == [RecordCause::SourceBytes]
                    && why.causes.is_distinguished),
            "{why:#?}"
        );
        why.iter()
            .map(|why| why.added + why.removed + why.changed + why.provenance_only)
            .sum::<u64>()
    };
    let reported: u64 = diff.datasets.values().map(of_source).sum();
    assert_eq!(
        reported,
        diff.datasets
            .values()
            .map(|dataset| counts(dataset)[..4].iter().sum::<u64>())
            .sum::<u64>()
    );
    assert!(diff.datasets["sec.financial_value"].added > 0 && reported > 0);
}

#[test]
fn kill_anywhere_in_the_second_run_recovers_to_the_undisturbed_result() {
    let place = Place::new();
    let second_night = std::fs::read(place.file(FACTS)).unwrap();
    place.edit_archive(FACTS, make_first_night);
    let run = &[FINANCIALS];
    let old = place.run(run).expect(0).release_id();
    let aside = place.root().join("old");
    copy_folder(&place.home(), &aside);
    std::fs::write(place.file(FACTS), second_night).unwrap();
    let expected = place.run(run).expect(0).release_id();
    for point in FAULT_POINTS {
        std::fs::remove_dir_all(place.home()).unwrap();
        copy_folder(&aside, &place.home());
        let killed = place
            .run_command(run)
            .env(VARIABLE, point)
            .output()
            .unwrap();
        assert_eq!(
            killed.status.signal(),
            Some(6),
            "{point}: died there: {killed:?}"
        );
        let current = place.current();
        assert!(current == old || current == expected, "{point}: {current}");
        place.pubdata(&["verify"]).expect(0);
        let next = place.run(run).expect(0);
        assert_eq!(
            next.release_id(),
            expected,
            "{point}: as an undisturbed run"
        );
        place.pubdata(&["verify"]).expect(0);
    }
}
