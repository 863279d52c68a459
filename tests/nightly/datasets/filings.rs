//! Checks registrants and filings: single cases of the fixtures, archives with damaged members, and
//! two nightly runs in sequence.

use std::path::{Path, PathBuf};

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::ids::Digest;
use pubdata_run::{ExitCode, RunReport};
use pubdata_store::Record;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::cases::{Published, case, publish};
use pubdata_testing::publisher::archive;
use pubdata_testing::{case_sources, files_below, project, rows_below, run_here, settings};

const ARCHIVE: &str = "www.sec.gov/Archives/edgar/daily-index/bulkdata/submissions.zip";
const INDEX: &str = "www.sec.gov/Archives/edgar/full-index/2023/QTR1/xbrl.idx";

fn columns(published: &Published, record_id: &str, names: &[&str]) -> Value {
    let (record, _) = &published.datasets[record_id.split(':').next().unwrap()][record_id];
    names.iter().map(|name| record[*name].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn filing_is_published_as_listed() {
    let published = publish(&case("sec.submissions", "basic")).await;
    let names = [
        "form",
        "is_amendment",
        "filed_date",
        "accepted_at",
        "period_of_report",
        "file_number",
        "size_bytes",
        "has_xbrl",
        "has_inline_xbrl",
        "primary_document",
        "listing",
    ];
    assert_eq!(
        columns(
            &published,
            "sec.filing:0000320193:0000320193-25-000079",
            &names
        ),
        json!([
            "10-K",
            false,
            "2025-10-31",
            "2025-10-31T06:01:26.000Z",
            "2025-09-27",
            "001-36743",
            9_392_337,
            true,
            true,
            "aapl-20250927.htm",
            "submissions"
        ])
    );
    // Only in the index: fields that the index lacks are null, not guessed.
    assert_eq!(
        columns(
            &published,
            "sec.filing:0000019617:0000019617-23-000231",
            &names
        ),
        json!([
            "10-K",
            false,
            "2023-02-21",
            null,
            null,
            null,
            null,
            true,
            null,
            null,
            "full_index"
        ])
    );
    // In both: the submissions have more fields.
    assert_eq!(
        columns(
            &published,
            "sec.filing:0000320193:0000320193-23-000006",
            &["listing", "period_of_report"]
        ),
        json!(["submissions", "2022-12-31"])
    );
    for (accession, items, items_text) in [
        ("0009900001-25-000008", json!(["2.02", "9.01"]), Value::Null),
        (
            "0009900001-25-000007",
            json!([]),
            json!("S-3,,2025-02-27 16:00:00"),
        ),
    ] {
        assert_eq!(
            columns(
                &published,
                &format!("sec.filing:0009900001:{accession}"),
                &["items", "items_text"]
            ),
            json!([items, items_text])
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn accession_number_under_two_forms_is_one_filing() {
    let published = publish(&case("sec.submissions", "basic")).await;
    for (accession, listing) in [
        ("0009900001-25-000009", "submissions"),
        ("0009900001-23-000001", "full_index"),
    ] {
        let record_id = format!("sec.filing:0009900001:{accession}");
        assert_eq!(
            columns(
                &published,
                &record_id,
                &["form", "forms", "is_amendment", "listing", "warnings"]
            ),
            json!(["SC 13D/A", ["SC 13D/A", "SC TO-T/A"], true, listing, []])
        );
        assert_eq!(
            published.datasets["sec.filing"][&record_id].1.len(),
            2,
            "one pointer to each"
        );
    }
    // The same filing in the member and on its page, with another size.
    let twice = columns(
        &published,
        "sec.filing:0009900001:0009900001-24-000005",
        &["size_bytes", "accepted_at", "file_number", "warnings"],
    );
    assert_eq!(twice, json!([null, null, null, ["filing_listed_twice"]]));
    let wrong = columns(
        &published,
        "sec.filing:0009900001:0009900001-25-000006",
        &[
            "period_of_report",
            "has_xbrl",
            "has_inline_xbrl",
            "warnings",
        ],
    );
    assert_eq!(wrong, json!([null, true, null, ["bad_value"]]));
}

#[tokio::test(flavor = "multi_thread")]
async fn registrant_is_found_in_every_list_that_names_it() {
    let published = publish(&case("sec.submissions", "basic")).await;
    let names = [
        "name",
        "name_source",
        "tickers",
        "exchanges",
        "has_submissions",
        "filings",
        "annual_filings",
    ];
    for (cik, expected) in [
        (
            "0000354950",
            json!([
                "HOME DEPOT, INC.",
                "submissions",
                ["HD"],
                ["NYSE"],
                true,
                40,
                9
            ]),
        ),
        (
            "0002046954",
            json!([
                "Ultratrex Inc.",
                "tickers",
                ["UTX"],
                ["unknown"],
                false,
                0,
                0
            ]),
        ),
        (
            "0001487326",
            json!([
                "OceanaGold Corp",
                "tickers",
                ["OGC"],
                ["unknown"],
                false,
                0,
                0
            ]),
        ),
        (
            "0001000045",
            json!(["NICHOLAS FINANCIAL INC", "full_index", [], [], false, 1, 0]),
        ),
        ("0000002110", json!([null, "none", [], [], false, 0, 0])),
        ("0009900003", json!([null, "none", [], [], false, 1, 1])),
        (
            "0009900001",
            json!([
                "TRAP HOLDINGS, INC.",
                "submissions",
                ["TRAP", "TRAPW"],
                ["NYSE", "Nasdaq"],
                true,
                7,
                2
            ]),
        ),
    ] {
        assert_eq!(
            columns(&published, &format!("sec.registrant:{cik}"), &names),
            expected,
            "{cik}"
        );
    }
    let funds = columns(
        &published,
        "sec.registrant:0001319067",
        &["fund_symbols", "fund_series", "fund_classes"],
    );
    let expected = json!([
        ["SRGAX", "SRGCX", "SRGIX"],
        ["S000040274", "S000040274", "S000040274"],
        ["C000125147", "C000125148", "C000125149"]
    ]);
    assert_eq!(funds, expected);
    let trap = "sec.registrant:0009900001";
    assert_eq!(
        columns(&published, trap, &["name_published"]),
        json!(["TRAP\u{a0} HOLDINGS,  INC."])
    );
    assert_eq!(
        columns(
            &published,
            trap,
            &[
                "former_names",
                "former_names_from",
                "former_names_to",
                "filer_category",
                "filer_statuses",
                "sic",
                "fiscal_year_end"
            ]
        ),
        json!([
            ["TRAP CORP"],
            ["2019-06-05"],
            ["unknown"],
            "Non-accelerated filer",
            ["Smaller reporting company", "Emerging growth company"],
            null,
            null
        ])
    );
    assert_eq!(
        columns(
            &published,
            trap,
            &["missing_pages", "missing_filings", "warnings"]
        ),
        json!([
            1,
            7,
            [
                "bad_value",
                "pages_missing",
                "ticker_lists_differ",
                "unknown_keys"
            ]
        ])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn possible_personal_data_is_not_published() {
    let published = publish(&case("sec.submissions", "basic")).await;
    let address = [
        "is_address_withheld",
        "business_street_1",
        "business_city",
        "business_postal_code",
        "business_state_or_country",
    ];
    assert_eq!(
        columns(&published, "sec.registrant:0009900002", &address),
        json!([true, null, null, null, "NE"])
    );
    let company = json!([false, "ONE APPLE PARK WAY", "CUPERTINO", "95014", "CA"]);
    assert_eq!(
        columns(&published, "sec.registrant:0000320193", &address),
        company
    );
    // No column of any row contains a tax number, a telephone number or the street of a person.
    for (record, _) in published.datasets["sec.registrant"].values() {
        let text = json!(record).to_string();
        assert!(
            !["000000000\"", "555-0100", "EXAMPLE STREET"]
                .iter()
                .any(|secret| text.contains(secret)),
            "{text}"
        );
    }
}

/// Publishes an archive of these members in `home`, with the lists and the index of the basic case.
async fn publish_members(home: &Path, members: &[(&str, &[u8])]) -> RunReport {
    publish_over_basic(home, ARCHIVE, &archive(members)).await
}

/// Publishes the basic case in `home` with other content for one file.
async fn publish_over_basic(home: &Path, file: &str, content: &[u8]) -> RunReport {
    let mirror = tempfile::tempdir().unwrap();
    let file = mirror.path().join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, content).unwrap();
    std::fs::write(mirror.path().join(".pubdata-mirror"), "sample = true\n").unwrap();
    let path = "pipelines/sec/submissions.toml";
    let declared = std::fs::read_to_string(project(path)).unwrap();
    let lenient = declared
        .replace(
            "max_quarantined_percent = 1.0",
            "max_quarantined_percent = 100.0",
        )
        .replace("max_shrink_percent = 2.0", "max_shrink_percent = 100.0");
    let files = DeclarationFiles::built_in().with(&[(path, &lenient)]);
    let mirrors = std::iter::once(mirror.path().to_owned())
        .chain(case_sources("basic"))
        .map(|folder| folder.display().to_string())
        .collect();
    let mut settings = settings(home, mirrors, files);
    settings.selectors = vec!["sec.submissions".to_owned()];
    run_here(&settings).await
}

/// Members of the basic case's archive.
fn basic_members() -> Vec<(String, String)> {
    let file = project(&format!("fixtures/sec/submissions/basic/source/{ARCHIVE}"));
    let mut archive = zip::ZipArchive::new(std::fs::File::open(file).unwrap()).unwrap();
    let read = |place| {
        let mut member = archive.by_index(place).unwrap();
        let name = member.name().unwrap().into_owned();
        (name, std::io::read_to_string(&mut member).unwrap())
    };
    (0..14)
        .map(read)
        .filter(|(name, _)| name.starts_with("CIK"))
        .collect()
}

fn borrowed(members: &[(String, String)]) -> Vec<(&str, &[u8])> {
    members
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect()
}

fn rows(
    home: &TempDir,
    report: &RunReport,
    dataset_id: &str,
) -> std::collections::BTreeMap<String, Record> {
    rows_below(
        &home
            .path()
            .join("releases")
            .join(report.release_id.as_ref().unwrap().as_str())
            .join(dataset_id),
    )
}

fn parts(home: &TempDir, report: &RunReport) -> Vec<(PathBuf, Vec<u8>)> {
    let release = home
        .path()
        .join("releases")
        .join(report.release_id.as_ref().unwrap().as_str());
    let parts = files_below(&release)
        .into_iter()
        .filter(|file| file.extension().is_some_and(|ending| ending == "parquet"));
    parts
        .map(|file| {
            (
                file.strip_prefix(&release).unwrap().to_owned(),
                std::fs::read(file).unwrap(),
            )
        })
        .collect()
}

fn edit(members: &mut [(String, String)], name: &str, from: &str, to: &str) {
    let text = &mut members
        .iter_mut()
        .find(|(known, _)| known == name)
        .unwrap()
        .1;
    assert!(text.contains(from), "{name}");
    *text = text.replace(from, to);
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_filing_is_quarantined_and_the_others_are_published() {
    let mut members = basic_members();
    edit(
        &mut members,
        "CIK0009900002.json",
        "2025-02-28",
        "28 Feb 2025",
    );
    edit(
        &mut members,
        "CIK0009900001.json",
        "0009900001-25-000008",
        "9900001-25-8",
    );
    let home = tempfile::tempdir().unwrap();
    let report = publish_members(home.path(), &borrowed(&members)).await;
    assert_eq!(report.exit_code, ExitCode::Quarantined, "{report:#?}");
    assert!(rows(&home, &report, "sec.registrant").contains_key("sec.registrant:0009900002"));
    let filings = rows(&home, &report, "sec.filing");
    let of = |cik: &str| {
        filings
            .keys()
            .filter(|record| record.starts_with(&format!("sec.filing:{cik}:")))
            .count()
    };
    assert_eq!(
        (of("0009900002"), of("0009900001"), of("0000320193")),
        (0, 6, 56)
    );
    let quarantine = rows(&home, &report, "pubdata.quarantine");
    let found: Vec<&Value> = quarantine
        .values()
        .map(|(record, _)| &record["rule"])
        .collect();
    assert_eq!(found, ["filing_unreadable", "filing_unreadable"]);
    for (accession, detail) in [
        ("9900001-25-8", "place 2 of the arrays"),
        ("0009900002-25-000001", "filing date `28 Feb 2025`"),
    ] {
        let is_it = |(record, _): &Record| {
            record["record_id"].as_str().unwrap().contains(accession)
                && record["reason"].as_str().unwrap().contains(detail)
        };
        assert!(
            quarantine.values().any(is_it),
            "{accession}: {quarantine:#?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_member_blocks_and_is_named() {
    // One form more than accession numbers; a member of another registrant; a truncated page.
    for (name, from, to, reason) in [
        (
            "CIK0000354950.json",
            "\"form\":[\"",
            "\"form\":[\"X\",\"",
            "`form` has 39 values and `accessionNumber` has 38",
        ),
        (
            "CIK0000055785.json",
            "\"cik\":\"0000055785\"",
            "\"cik\":\"0000055786\"",
            "says that its CIK is `0000055786`",
        ),
        (
            "CIK0000749647-submissions-001.json",
            "]}",
            "]",
            "EOF while parsing",
        ),
    ] {
        let mut members = basic_members();
        edit(&mut members, name, from, to);
        let home = tempfile::tempdir().unwrap();
        let report = publish_members(home.path(), &borrowed(&members)).await;
        assert_eq!(
            (report.exit_code, report.release_id),
            (ExitCode::Blocked, None),
            "{name}"
        );
        let reasons = report.tasks[0].reasons.join("; ");
        assert!(
            reasons.contains(name) && reasons.contains(reason),
            "{reasons}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn member_with_another_name_stops_the_build() {
    let mut members = basic_members();
    members.push(("CIK0000320193-summary.json".to_owned(), "{}".to_owned()));
    let home = tempfile::tempdir().unwrap();
    let report = publish_members(home.path(), &borrowed(&members)).await;
    assert_eq!(report.exit_code, ExitCode::Blocked);
    assert!(
        format!("{report:?}").contains("CIK0000320193-summary.json"),
        "{report:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn second_run_publishes_the_same_as_a_clean_build() {
    let members = basic_members();
    let mut tonight = members.clone();
    let apple = &mut tonight
        .iter_mut()
        .find(|(name, _)| name == "CIK0000320193.json")
        .unwrap()
        .1;
    *apple = apple.replace("ONE APPLE PARK WAY", "TWO APPLE PARK WAY");
    tonight.retain(|(name, _)| name != "CIK0001494730.json");
    let (home, afresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    publish_members(home.path(), &borrowed(&members)).await;
    let second = publish_members(home.path(), &borrowed(&tonight)).await;
    let alone = publish_members(afresh.path(), &borrowed(&tonight)).await;
    assert_eq!(second.release_id, alone.release_id);
    assert!(
        parts(&home, &second) == parts(&afresh, &alone),
        "parts are reused byte for byte or rebuilt identically"
    );
    let registrants = rows(&home, &second, "sec.registrant");
    assert_eq!(
        registrants["sec.registrant:0000320193"].0["business_street_1"],
        "TWO APPLE PARK WAY"
    );
    assert!(!registrants.contains_key("sec.registrant:0001494730"));
}

/// The publisher replaces a quarter's index every night and inserts rows between the old ones.
#[tokio::test(flavor = "multi_thread")]
async fn unreadable_index_rows_are_reported_at_their_current_lines() {
    let basic =
        std::fs::read_to_string(project("fixtures/sec/submissions/basic/source").join(INDEX))
            .unwrap();
    // In another registrant's folder, and truncated.
    let (elsewhere, short) = (
        "9900900|ELSEWHERE LP|10-K|2023-03-01|edgar/data/9900901/0009900901-23-000001.txt",
        "9900910|SHORT LP|10-K",
    );
    let first_night = format!("{basic}{elsewhere}\n{short}\n");
    // This registrant falls into the bucket of one of the rows and not of the other.
    let new = "1000900|NEW LP|10-K|2023-03-30|edgar/data/1000900/0001000900-23-000001.txt";
    let tonight = first_night.replacen("1000045|", &format!("{new}\n1000045|"), 1);
    let (home, afresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = publish_over_basic(home.path(), INDEX, first_night.as_bytes()).await;
    let second = publish_over_basic(home.path(), INDEX, tonight.as_bytes()).await;
    let alone = publish_over_basic(afresh.path(), INDEX, tonight.as_bytes()).await;
    for (report, index) in [(&first, &first_night), (&second, &tonight)] {
        let quarantine = rows(&home, report, "pubdata.quarantine");
        for (rule, row) in [
            ("index_row_unreadable", elsewhere),
            ("malformed_record", short),
        ] {
            let (record, pointers) = quarantine
                .values()
                .find(|(record, _)| record["rule"] == rule)
                .unwrap_or_else(|| panic!("{rule}: {quarantine:#?}"));
            let [pointer] = pointers.as_slice() else {
                panic!("{record:?} {pointers:?}")
            };
            let (offset, length) = (
                usize::try_from(pointer.offset).unwrap(),
                usize::try_from(pointer.length).unwrap(),
            );
            assert_eq!(
                (&index[offset..offset + length], pointer.snapshot),
                (row, Digest::sha256(index.as_bytes())),
                "{rule}"
            );
            assert!(
                record["record_id"]
                    .as_str()
                    .unwrap()
                    .contains(&format!(":sec.xbrl_index@{offset}:")),
                "{record:?}"
            );
        }
    }
    assert_eq!(second.release_id, alone.release_id);
    assert!(parts(&home, &second) == parts(&afresh, &alone));
}
