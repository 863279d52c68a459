//! Tests `/v1/provenance` with `include`: the publisher's bytes, the replay on request, and the
//! cells that are never shown.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pubdata_core::error::Result;
use pubdata_core::ids::Digest;
use pubdata_serve::Tracer;
use pubdata_store::evidence::{DifferenceView, Replay, ReplayView, Shown, ShownBytes};
use pubdata_store::{FoundRecord, Manifest};
use serde_json::{Value, json};

use super::World;
use super::pages::{browse, text};
use super::served::Served;
use pubdata_testing::{members, rows_below};

const SHARE: &str = "/v1/provenance/geo.zcta_metric:2023:90210:owner_occupied_share";

fn cell<'a>(bytes: &'a Value, column: &str) -> &'a Value {
    bytes["cells"]
        .as_array()
        .unwrap()
        .iter()
        .find(|cell| cell["column"] == column)
        .unwrap_or_else(|| panic!("no cell {column}: {bytes:#}"))
}

/// Characters of a text from one position to another.
fn part(text: &Value, from: &Value, to: &Value) -> String {
    let (from, to) = (
        from.as_u64().unwrap() as usize,
        to.as_u64().unwrap() as usize,
    );
    text.as_str()
        .unwrap()
        .chars()
        .skip(from)
        .take(to - from)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_a_figure_are_shown_with_cells_and_replayed() {
    let served = Served::new().await;
    let data = served.ok(&format!("{SHARE}?include=bytes,replay")).await["data"].take();
    assert_eq!(
        data["replay"],
        json!({"verdict": "match", "reason": null, "differences": [], "notes": []})
    );
    assert_eq!(
        data["formula"],
        "100 * (B25003_E002) / B25003_E001, rounded to a tenth, half a tenth up"
    );
    let source = &data["sources"][0];
    let bytes = &source["bytes"];
    // The row of the file itself, found without the program.
    let file = std::fs::read_to_string(served.place.snapshot("-acsdt5y2023-b25003.dat")).unwrap();
    let row = file
        .lines()
        .find(|line| line.starts_with("860Z200US90210|"))
        .unwrap();
    let header = file.lines().next().unwrap();
    let offset = file.find(row).unwrap();
    assert_eq!(
        (&bytes["shown"], &bytes["header"]),
        (
            &json!("whole"),
            &json!({"text": header, "offset": 0, "length": header.len()})
        )
    );
    assert_eq!(
        bytes["excerpt"],
        json!({"text": row, "offset": offset, "length": row.len(), "start": 0, "end": row.len()})
    );
    assert_eq!(bytes["sha256"], Digest::sha256(row.as_bytes()).to_string());
    for (column, text) in header.split('|').zip(row.split('|')) {
        let cell = cell(bytes, column);
        let first = cell["offset"].as_u64().unwrap() as usize;
        assert_eq!(
            (
                &cell["text"],
                &file[first..first + cell["length"].as_u64().unwrap() as usize]
            ),
            (&json!(text), text),
            "{column}"
        );
        assert_eq!(
            part(&bytes["excerpt"]["text"], &cell["start"], &cell["end"]),
            text,
            "{column}"
        );
        let used = [
            "GEO_ID",
            "B25003_E001",
            "B25003_M001",
            "B25003_E002",
            "B25003_M002",
        ];
        assert_eq!(cell["is_used"], json!(used.contains(&column)), "{column}");
    }
    assert_eq!(
        (
            &cell(bytes, "GEO_ID")["read_as"],
            &cell(bytes, "B25003_E002")["read_as"]
        ),
        (&json!("geo_id"), &Value::Null)
    );
    // The publisher's own file has other bytes than its copy on a mirror.
    assert_eq!(
        (&source["snapshot"]["mirror"], &source["commands"]),
        (&json!("fixtures of pubdata"), &json!([]))
    );
    let plain = served.ok(SHARE).await["data"].take();
    assert!(
        plain.get("replay").is_none()
            && plain["sources"][0].get("bytes").is_none()
            && plain["sources"][0].get("commands").is_none()
    );
    let wrong = served.get(&format!("{SHARE}?include=bites")).await;
    assert_eq!(wrong.problem(), (400, "invalid_parameter".to_owned()));
    assert!(
        wrong.json()["detail"].as_str().unwrap().contains("`bytes`"),
        "{}",
        wrong.json()["detail"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn value_in_a_document_is_shown_with_its_context() {
    let served = Served::new().await;
    let record =
        "sec.financial_value:0000002488:eps_diluted:2023-01-01..2023-12-30:0000002488-25-000012";
    let data = served
        .ok(&format!("/v1/provenance/{record}?include=bytes,replay"))
        .await["data"]
        .take();
    assert_eq!(data["replay"]["verdict"], "match");
    let source = data["sources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|source| source["source_id"] == "sec.companyfacts")
        .unwrap();
    let archive = served.place.snapshot("-companyfacts.zip");
    let member = &members(&archive)["CIK0000002488.json"];
    let (offset, length) = (
        source["offset"].as_u64().unwrap() as usize,
        source["length"].as_u64().unwrap() as usize,
    );
    let excerpt = &source["bytes"]["excerpt"];
    assert_eq!(
        part(&excerpt["text"], &excerpt["start"], &excerpt["end"]),
        member[offset..offset + length]
    );
    let first = excerpt["offset"].as_u64().unwrap() as usize;
    assert_eq!(
        excerpt["text"],
        member[first..first + excerpt["length"].as_u64().unwrap() as usize]
    );
    assert_eq!(first, offset - 1024);
    assert_eq!(
        (&source["bytes"]["shown"], &source["bytes"]["header"]),
        (&json!("whole"), &Value::Null)
    );
    assert_eq!(
        (&source["snapshot"]["mirror"], &source["commands"]),
        (&json!("fixtures of pubdata"), &json!([]))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn unpublished_data_of_a_person_is_never_shown() {
    let served = Served::new().await;
    let data = served
        .ok("/v1/provenance/license.license:OH-ocilb-EL90001?include=bytes,replay")
        .await["data"]
        .take();
    let file = std::fs::read_to_string(served.place.snapshot("-GenerateRoster.aspx")).unwrap();
    assert_eq!(data["replay"]["verdict"], "match");
    let bytes = &data["sources"][0]["bytes"];
    assert_eq!(
        (&bytes["shown"], &bytes["excerpt"], &bytes["sha256"]),
        (&json!("published"), &Value::Null, &Value::Null)
    );
    assert_eq!(bytes["header"]["text"], file.lines().next().unwrap());
    for (column, text) in [
        ("name", "JAN Q SAMPLE"),
        ("status", "ACTIVE"),
        ("effective_date", "06/15/2020"),
        ("company", "SAMPLE BUILDERS, LLC"),
        ("company_zip", "45202"),
        ("lastname", "SAMPLE"),
    ] {
        assert_eq!(
            (
                &cell(bytes, column)["text"],
                &cell(bytes, column)["is_withheld"]
            ),
            (&json!(text), &json!(false)),
            "{column}"
        );
    }
    for column in [
        "company_address",
        "company_phone",
        "company_email",
        "county",
    ] {
        assert_eq!(
            (
                &cell(bytes, column)["text"],
                &cell(bytes, column)["is_withheld"]
            ),
            (&Value::Null, &json!(true)),
            "{column}"
        );
    }
    let text = data.to_string();
    for unpublished in ["5135550101", "sample@example.com", "100 EXAMPLE RD"] {
        assert!(
            file.contains(unpublished) && !text.contains(unpublished),
            "{unpublished}"
        );
    }
    // The complete row with its withheld cells, and each such cell, by digests that an attacker
    // could try.
    let row = file
        .lines()
        .find(|line| line.starts_with("EL.90001,"))
        .unwrap();
    for guessed in [row, "5135550101", "sample@example.com"] {
        assert!(
            !text.contains(&Digest::sha256(guessed.as_bytes()).to_string()),
            "{guessed}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replay_differences_of_a_person_are_shown_by_column_only() {
    let served = Served::new().await;
    let file = served.place.snapshot("-GenerateRoster.aspx");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, text.replace("JAN Q SAMPLE,", "JAN Q SIMPLE,")).unwrap();
    let answer = served
        .ok("/v1/provenance/license.license:OH-ocilb-EL90001?include=bytes,replay")
        .await;
    let replay = &answer["data"]["replay"];
    assert_eq!(replay["verdict"], "mismatch");
    let differences = replay["differences"].as_array().unwrap();
    assert!(
        differences
            .iter()
            .any(|difference| difference["column"] == "holder_name"),
        "{differences:?}"
    );
    assert!(
        differences
            .iter()
            .all(|difference| difference["detail"].is_null()),
        "{differences:?}"
    );
    assert!(!answer.to_string().contains("SIMPLE"));
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_in_descriptions_and_of_reporting_persons_are_hidden() {
    let served = Served::new().await;
    let permit = served
        .ok("/v1/provenance/permit.permit:us-md-baltimore:COM2026-99001?include=bytes")
        .await["data"]
        .take();
    let bytes = &permit["sources"][0]["bytes"];
    let (_, source) = bytes["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| (cell["column"].as_str().unwrap().to_lowercase(), cell))
        .find(|(name, _)| name.contains("description"))
        .unwrap();
    assert_eq!(
        (&source["text"], &source["is_withheld"], &bytes["excerpt"]),
        (&Value::Null, &json!(true), &Value::Null)
    );
    assert!(!permit.to_string().contains("jane@example.com"));
    // A person of the SEC's archive: the head of the document holds street and telephone, and is
    // not a JSON value.
    let person = served
        .ok("/v1/provenance/sec.registrant:0009900002?include=bytes,replay")
        .await["data"]
        .take();
    assert_eq!(person["record"]["columns"]["is_address_withheld"], true);
    let bytes = &person["sources"][0]["bytes"];
    assert_eq!(
        (&bytes["shown"], &bytes["cells"], &bytes["sha256"]),
        (&json!("withheld"), &json!([]), &Value::Null)
    );
    let member = &members(&served.place.snapshot("-submissions.zip"))["CIK0009900002.json"];
    for unpublished in ["1 EXAMPLE STREET", "555-0100"] {
        assert!(
            member.contains(unpublished) && !person.to_string().contains(unpublished),
            "{unpublished}"
        );
    }
    assert_eq!(person["replay"]["verdict"], "match");
    // A filing points to its number alone, which is published.
    let filing = served
        .ok("/v1/provenance/sec.filing:0000055785:0000055785-16-000194?include=bytes")
        .await["data"]
        .take();
    let bytes = &filing["sources"][0]["bytes"];
    assert_eq!(
        (&bytes["shown"], &bytes["cells"][0]["text"]),
        (&json!("published"), &json!("0000055785-16-000194"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn program_table_is_not_shown_as_a_publishers_file() {
    let served = Served::new().await;
    let page = text(
        &browse(
            &served.router,
            "/records/tax.taxability:FL:general:local:undated?replay=now",
            "",
        )
        .await,
    );
    assert!(
        page.contains("compiled by pubdata from the cited sources, part of the program")
            && page.contains("from these bytes"),
        "{page}"
    );
    assert!(
        !page.contains("by program") && !page.contains("rebuilt from the publisher"),
        "{page}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_published_in_another_form_are_shown() {
    let served = Served::new().await;
    let permit = served
        .ok("/v1/provenance/permit.permit:us-tx-austin:2007-115377-BP?include=bytes")
        .await["data"]
        .take();
    let (columns, bytes) = (&permit["record"]["columns"], &permit["sources"][0]["bytes"]);
    assert_eq!(columns["issued_date"], "2007-04-20");
    let link = "[https://www.austintexas.gov/devreview/b_showpublicpermitfolderdetails.jsp?FolderRSN=10024951, null]";
    let shown = [
        ("issue_date", "2007-04-20T00:00:00"),
        ("expiresdate", "2008-03-24T00:00:00"),
        ("original_address1", "11436 FLUSHWING DR"),
        ("link", link),
        // The declaration reads BP as `building`.
        ("permittype", "BP"),
    ];
    for (column, text) in shown {
        assert_eq!(
            (
                &cell(bytes, column)["text"],
                &cell(bytes, column)["is_withheld"]
            ),
            (&json!(text), &json!(false)),
            "{column}"
        );
    }
    // The time of day, the contractor's telephone and the addresses of parties are not published. A
    // cell that is not read may contain anything.
    for column in [
        "statusdate",
        "contractor_phone",
        "contractor_address1",
        "contractor_zip",
        "permit_location",
    ] {
        assert_eq!(
            (
                &cell(bytes, column)["text"],
                &cell(bytes, column)["is_withheld"]
            ),
            (&Value::Null, &json!(true)),
            "{column}"
        );
    }
    assert!(!permit.to_string().contains("5125550100"));
    let page = text(
        &browse(
            &served.router,
            "/records/permit.permit:us-tx-austin:2007-115377-BP",
            "",
        )
        .await,
    );
    assert!(
        page.contains("withheld, 19 bytes: the cell has more than the published record"),
        "{page}"
    );
    let (_, unread) = page.split_once("Not read for this dataset: ").unwrap();
    assert!(
        unread.contains("even if it repeats a published value")
            && unread.contains("<code>permit_<wbr>location</code>"),
        "{unread}"
    );
    // The street in parts, and the day as ArcGIS writes it.
    let permit = served
        .ok("/v1/provenance/permit.permit:us-il-chicago:100090924?include=bytes")
        .await["data"]
        .take();
    let bytes = &permit["sources"][0]["bytes"];
    assert_eq!(permit["record"]["columns"]["line1"], "901 W MADISON ST");
    for (column, text) in [
        ("street_number", "901"),
        ("street_direction", "W"),
        ("street_name", "MADISON"),
        ("suffix", "ST"),
    ] {
        assert_eq!(cell(bytes, column)["text"], text, "{column}");
    }
    assert_eq!(
        (
            &cell(bytes, "contractor_1_name")["text"],
            &cell(bytes, "contractor_1_name")["is_withheld"]
        ),
        (&Value::Null, &json!(true))
    );
    let permit = served
        .ok("/v1/provenance/permit.permit:us-md-baltimore_county:R26-99001?include=bytes")
        .await["data"]
        .take();
    assert_eq!(permit["record"]["columns"]["issued_date"], "2026-06-01");
    assert_eq!(
        cell(&permit["sources"][0]["bytes"], "attributes_issdate")["text"],
        "1780286400000"
    );
}

/// Day in a text that ends with midnight or without a time, as pages and portals write it.
fn day_of(text: &str) -> Option<String> {
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let is_midnight = time
        .trim_start_matches("12:00:00 AM")
        .bytes()
        .all(|byte| matches!(byte, b'0' | b':' | b'.' | b'Z'));
    let [first, second, third] = date.split(['-', '/']).collect::<Vec<_>>()[..] else {
        return (date.len() == 8 && date.is_ascii())
            .then(|| format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]));
    };
    let (year, month, day) = if third.len() == 4 {
        (third, first, second)
    } else {
        (first, second, third)
    };
    is_midnight.then(|| format!("{year}-{month:0>2}-{day:0>2}"))
}

/// Returns true if the meaning of a cell concerns a party.
fn is_of_party(read_as: &Value) -> bool {
    let name = read_as.as_str().unwrap_or_default();
    name != "street_name"
        && [
            "name",
            "phone",
            "email",
            "owner",
            "applicant",
            "contractor",
            "contact",
            "party",
            "agent",
        ]
        .iter()
        .any(|word| name.contains(word))
}

/// Day in a text of milliseconds since 1970.
fn day_of_milliseconds(text: &str) -> Option<String> {
    let milliseconds = text.parse().ok().filter(|_| text.len() > 10)?;
    Some(
        jiff::Timestamp::from_millisecond(milliseconds)
            .ok()?
            .strftime("%Y-%m-%d")
            .to_string(),
    )
}

/// Returns true if a text consists of words and coordinates of a published address; the meaning of
/// the cell must be a part of an address.
fn is_of_address(text: &str, published: &str) -> bool {
    let is_coordinate = |part: &str| {
        part.parse::<f64>()
            .is_ok_and(|number| published.contains(&format!("{number:.5}")))
    };
    let mut parts = text
        .split([' ', ',', '(', ')', '\n'])
        .filter(|part| !part.is_empty() && *part != "POINT");
    parts.all(|part| {
        let mut words = part.split(|character: char| !character.is_alphanumeric());
        is_coordinate(part)
            || words.all(|word| published.contains(&word.to_lowercase()))
            || part.len() == 9 && published.contains(&part[..5])
    })
}

/// Some records of each part of each dataset: one place in the code decides for all lists what may
/// be shown.
#[tokio::test(flavor = "multi_thread")]
async fn lists_about_persons_show_no_more_than_is_published() {
    let served = Served::new().await;
    let manifest = Manifest::from_json(served.place.manifest().to_string().as_bytes()).unwrap();
    let (mut shown, mut withheld, mut unseen) = (0, 0, BTreeSet::new());
    for dataset_id in [
        "business.entity",
        "business.officer",
        "license.license",
        "permit.permit",
        "permit.contact",
        "pubdata.quarantine",
    ] {
        for part in &manifest.datasets[dataset_id].parts {
            if dataset_id == "pubdata.quarantine"
                && !part.partition["dataset_id"].starts_with(['b', 'l', 'p'])
            {
                continue;
            }
            for (record_id, record) in rows_below(&served.place.part(&part.path))
                .into_iter()
                .take(2)
            {
                let path = format!(
                    "/v1/provenance/{}?include=bytes",
                    percent_encoding::utf8_percent_encode(
                        &record_id,
                        percent_encoding::NON_ALPHANUMERIC
                    )
                );
                let data = served.ok(&path).await["data"].take();
                let declared = std::fs::read_to_string(format!(
                    "pipelines/{}.toml",
                    part.task_id.split('/').next().unwrap().replace('.', "/")
                ))
                .unwrap_or_default();
                let columns = Value::Object(record.0);
                let published = columns.to_string().to_lowercase();
                for bytes in data["sources"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|source| &source["bytes"])
                {
                    assert!(
                        bytes["shown"] == "published" || bytes["shown"] == "withheld",
                        "{record_id}: {bytes:#}"
                    );
                    assert!(bytes["excerpt"].is_null(), "{record_id}");
                    if bytes["shown"] == "withheld" {
                        unseen.insert(part.task_id.clone());
                    }
                    for cell in bytes["cells"].as_array().unwrap() {
                        withheld += usize::from(cell["is_withheld"] == true);
                        let Some(text) = cell["text"].as_str() else {
                            continue;
                        };
                        shown += 1;
                        let written = json!(text.to_lowercase()).to_string();
                        let number = text
                            .parse::<f64>()
                            .map(|number| json!(number).to_string())
                            .unwrap_or_default();
                        let is_published = published.contains(written.trim_matches('"'))
                            || published.contains(number.trim_end_matches(".0"))
                            || day_of(text)
                                .or_else(|| day_of_milliseconds(text))
                                .is_some_and(|day| published.contains(&day))
                            || columns[cell["read_as"].as_str().unwrap_or_default()]
                                .as_str()
                                .is_some_and(|value| {
                                    declared.contains(&format!(
                                        "{} = {}",
                                        json!(text),
                                        json!(value)
                                    ))
                                })
                            || (!is_of_party(&cell["read_as"]) && is_of_address(text, &published))
                            || text
                                .strip_prefix('[')
                                .and_then(|text| text.strip_suffix(", null]"))
                                .is_some_and(|text| published.contains(&text.to_lowercase()));
                        assert!(is_published, "{record_id}: {cell}");
                    }
                }
            }
        }
    }
    assert!(
        shown > 500 && withheld > 500,
        "{shown} shown, {withheld} withheld"
    );
    assert!(
        unseen.len() < 10,
        "lists whose cells cannot be told apart: {unseen:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_this_server_lacks_is_reported_and_not_cached() {
    let served = Served::new().await;
    let path = format!("{SHARE}?include=bytes,replay");
    let seen = served.get(&path).await;
    assert!(!seen.header("etag").is_empty());
    std::fs::remove_dir_all(served.place.home().join("snapshots")).unwrap();
    let gone = served
        .get("/v1/provenance/geo.zcta_metric:2023:90210:population?include=bytes,replay")
        .await;
    assert_eq!(
        (gone.header("etag"), gone.header("cache-control")),
        ("", "no-store")
    );
    let data = gone.json()["data"].take();
    let reason = json!("this server has no copy of the publisher's file");
    assert_eq!(
        (&data["replay"]["verdict"], &data["replay"]["reason"]),
        (&Value::Null, &reason)
    );
    for source in data["sources"].as_array().unwrap() {
        assert_eq!(
            (&source["bytes"]["shown"], &source["bytes"]["reason"]),
            (&json!("unavailable"), &reason)
        );
        assert_eq!(
            source["commands"],
            json!([]),
            "the publisher does not have the mirror's copy"
        );
    }
    assert_eq!(
        served.ok(&path).await["data"]["replay"]["verdict"],
        "match",
        "a result stays in the cache"
    );
    let world = World::new().await;
    let nobody = world
        .ok("/v1/provenance/geo.zcta_metric:2023:90210:population?include=bytes,replay")
        .await["data"]
        .take();
    assert_eq!(
        nobody["replay"]["reason"],
        "this server has no access to the publishers' files"
    );
    assert_eq!(nobody["sources"][1]["bytes"]["shown"], "unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_file_is_a_mismatch_and_names_no_server_folder() {
    let served = Served::new().await;
    let file = served.place.snapshot("-acsdt5y2023-b25003.dat");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    std::fs::write(
        &file,
        text.replace("860Z200US90210|8025", "860Z200US90210|8026"),
    )
    .unwrap();
    let answer = served.get(&format!("{SHARE}?include=replay")).await;
    let replay = answer.json()["data"]["replay"].take();
    assert_eq!(replay["verdict"], "mismatch", "{replay:#}");
    let details = replay["differences"].to_string();
    assert!(
        details.contains("is not what was fetched")
            && !details.contains(served.place.root().to_str().unwrap()),
        "{details}"
    );
    std::fs::write(&file, text).unwrap();
    assert_eq!(
        served.ok(&format!("{SHARE}?include=replay")).await["data"]["replay"]["verdict"],
        "match",
        "a difference is not cached"
    );
}

/// Returns the same for every record: bytes with all members, and a difference.
#[derive(Debug)]
pub struct Fixed;

impl Tracer for Fixed {
    fn bytes<'a>(&'a self, found: FoundRecord<'a>) -> BoxFuture<'a, Result<Vec<ShownBytes>>> {
        async move {
            Ok(found
                .pointers
                .iter()
                .map(|_| ShownBytes::nothing(Shown::Withheld, "made up"))
                .collect())
        }
        .boxed()
    }

    fn is_open(&self, _: &str) -> bool {
        false
    }

    fn replay<'a>(&'a self, _: FoundRecord<'a>) -> BoxFuture<'a, Result<ReplayView>> {
        let differences = vec![DifferenceView {
            column: Some("name".to_owned()),
            detail: None,
        }];
        async {
            Ok(ReplayView {
                verdict: Some(Replay::Mismatch),
                reason: None,
                differences,
                notes: vec!["made up".to_owned()],
            })
        }
        .boxed()
    }
}

/// Blocks until it is released.
#[derive(Debug)]
struct Slow(Mutex<Receiver<()>>);

impl Slow {
    fn new() -> (Arc<Self>, Sender<()>) {
        let (sender, receiver) = channel();
        (Arc::new(Self(Mutex::new(receiver))), sender)
    }
}

impl Tracer for Slow {
    fn bytes<'a>(&'a self, _: FoundRecord<'a>) -> BoxFuture<'a, Result<Vec<ShownBytes>>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn is_open(&self, _: &str) -> bool {
        false
    }

    fn replay<'a>(&'a self, _: FoundRecord<'a>) -> BoxFuture<'a, Result<ReplayView>> {
        async {
            let _ = self.0.lock().unwrap().recv();
            Ok(ReplayView {
                verdict: Some(Replay::Match),
                reason: None,
                differences: Vec::new(),
                notes: Vec::new(),
            })
        }
        .boxed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_replay_asks_to_retry_and_is_done_at_the_retry() {
    let (slow, go) = Slow::new();
    let world = World::with(|settings| {
        settings.tracer = Some(slow);
        settings.limits.trace_time = Duration::from_millis(50);
    })
    .await;
    let path = "/v1/provenance/geo.zcta_metric:2023:90210:population?include=replay";
    let busy = world.get(path).await;
    assert_eq!(
        (busy.problem(), busy.header("retry-after")),
        ((503, "busy".to_owned()), "5")
    );
    go.send(()).unwrap();
    let done = loop {
        let again = world.get(path).await;
        if again.status == 200 {
            break again.json();
        }
    };
    assert_eq!(done["data"]["replay"]["verdict"], "match");
}
