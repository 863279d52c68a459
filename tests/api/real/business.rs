//! Checks business registries on their real files: every record is published, superseded by a later
//! one or quarantined, and each cell equals the file's. The test reads the files byte by byte,
//! without code of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use pubdata_store::Record;
use serde_json::Value;

use pubdata_testing::{folders, rows_below, shared_data};

const SUNBIZ: &str = "sftp.floridados.gov/doc";
/// Number of records that the quarterly archive of this test lacks.
const ONLY_DAILY: usize = 100;
/// Number of officers that a record lists twice in the same words, apart from home streets of
/// persons.
const LISTED_TWICE: usize = 1;

type Rows = BTreeMap<String, Record>;

/// Publishes a mirror of some files and returns the rows by dataset.
fn publish(pipeline: &str, files: &[(String, Vec<u8>)]) -> BTreeMap<String, Rows> {
    let folder = tempfile::tempdir().unwrap();
    let (mirror, home) = (folder.path().join("mirror"), folder.path().join("home"));
    for (path, bytes) in files {
        let path: PathBuf = mirror.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    std::fs::write(mirror.join(".pubdata-mirror"), "sample = true\n").unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_pubdata"))
        .args(["run", pipeline])
        .arg("--mirror")
        .arg(&mirror)
        .arg("--home")
        .arg(&home)
        .output()
        .unwrap();
    // A few hundred rows may lack a value that the whole file has somewhere, so such issues are
    // expected here.
    assert!(
        matches!(run.status.code(), Some(0 | 10)),
        "{}{}",
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr)
    );
    let release = folders(&home.join("releases")).pop().unwrap();
    let of_records = |folder: &PathBuf| !folder.ends_with("declarations");
    folders(&release)
        .into_iter()
        .filter(of_records)
        .map(|folder| {
            (
                folder.file_name().unwrap().to_str().unwrap().to_owned(),
                rows_below(&folder),
            )
        })
        .collect()
}

/// Quarterly archive of some records: ten members, by the last digit of the number.
pub fn cordata(records: &[&[u8]]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let day = zip::DateTime::from_date_and_time(2023, 10, 1, 6, 0, 0).unwrap();
    for digit in b'0'..=b'9' {
        archive
            .start_file(
                format!("cordata{}.txt", char::from(digit)),
                zip::write::SimpleFileOptions::default().last_modified_time(day),
            )
            .unwrap();
        for record in records.iter().filter(|record| record[11] == digit) {
            archive.write_all(record).unwrap();
            archive.write_all(b"\n").unwrap();
        }
    }
    archive.finish().unwrap().into_inner()
}

/// Path of Iowa's list on its portal.
pub const IOWA: &str = "idh-be.iowa.gov/api/v1/datasets/554/rows.csv";

/// Packs a list as Iowa's portal does.
pub fn packed(list: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive
        .start_file(
            "active_iowa_business_entities.csv",
            zip::write::SimpleFileOptions::default(),
        )
        .unwrap();
    archive.write_all(list).unwrap();
    archive.finish().unwrap().into_inner()
}

/// Field by its first byte (counted from 1) and its length, without surrounding blanks.
fn field(record: &[u8], first: usize, length: usize) -> Option<String> {
    let bytes = &record[first - 1..first - 1 + length];
    // A few records have accents in UTF-8; the only other non-ASCII byte is the no-break space.
    let text = std::str::from_utf8(bytes).map_or_else(
        |_| bytes.iter().map(|byte| char::from(*byte)).collect(),
        str::to_owned,
    );
    let text = text.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn iso(day: Option<String>) -> Option<String> {
    day.map(|day| format!("{}-{}-{}", &day[4..], &day[..2], &day[2..4]))
}

#[test]
fn every_sunbiz_record_is_published_or_superseded() {
    let Some(path) = shared_data("general/business/20230929c.txt") else {
        return;
    };
    let daily = std::fs::read(path).unwrap();
    let records: Vec<&[u8]> = daily
        .split(|byte| *byte == b'\n')
        .filter(|record| !record.is_empty())
        .collect();
    assert_eq!(records.len(), 1_500);
    assert!(records.iter().all(|record| record.len() == 1_440));
    let quarterly = cordata(&records[..records.len() - ONLY_DAILY]);
    let files = [
        (format!("{SUNBIZ}/quarterly/cor/cordata.zip"), quarterly),
        (format!("{SUNBIZ}/cor/20230929c.txt"), daily.clone()),
    ];
    let published = publish("business.fl_sunbiz", &files);
    assert_eq!(
        published.keys().collect::<Vec<_>>(),
        ["business.entity", "business.officer"],
        "no record is quarantined"
    );
    let entities = &published["business.entity"];
    assert_eq!(entities.len(), records.len());
    let of_archive = entities
        .values()
        .filter(|(_, pointers)| pointers[0].source_id == "business.fl_cordata")
        .count();
    assert_eq!(
        of_archive,
        records.len() - ONLY_DAILY,
        "the archive is later than the daily file"
    );

    let mut officers = 0;
    let mut withheld = BTreeSet::new();
    let mut titles = BTreeSet::new();
    for record in &records {
        let number = field(record, 1, 12).unwrap();
        let (row, pointers) = &entities[&format!("business.entity:FL-{number}")];
        assert_eq!((pointers.len(), pointers[0].length), (1, 1_440));
        let cells = [
            ("name", 13, 192),
            ("status_raw", 205, 1),
            ("entity_type_raw", 206, 15),
            ("principal_line1", 221, 42),
            ("principal_line2", 263, 42),
        ];
        let more = [
            ("principal_city", 305, 28),
            ("principal_state", 333, 2),
            ("mailing_line1", 347, 42),
            ("mailing_line2", 389, 42),
            ("mailing_city", 431, 28),
        ];
        let rest = [
            ("mailing_state", 459, 2),
            ("mailing_country", 471, 2),
            ("agent_city", 630, 28),
            ("agent_state", 658, 2),
            ("jurisdiction_of_formation", 504, 2),
        ];
        for (column, first, length) in cells.into_iter().chain(more).chain(rest) {
            // One business has an e-mail address in its street field.
            let is_withheld = number == "P23000070063" && column.ends_with("line1");
            assert_eq!(
                text(&row[column]),
                field(record, first, length).filter(|_| !is_withheld),
                "{column} of {number}"
            );
        }
        assert_eq!(
            text(&row["formation_date"]),
            iso(field(record, 473, 8)),
            "{number}"
        );
        assert_eq!(
            text(&row["last_transaction_date"]),
            iso(field(record, 496, 8)),
            "{number}"
        );
        assert_eq!(
            row["is_foreign"].as_bool(),
            Some(record[205..208] == *b"FOR"),
            "{number}"
        );
        assert_eq!(
            row["officers_complete"].as_bool(),
            field(record, 495, 1).map(|flag| flag == "N"),
            "{number}"
        );
        let is_person = record[586] == b'P';
        assert_eq!(
            row["agent_type"],
            if is_person { "person" } else { "organization" },
            "{number}"
        );
        let street = text(&row["agent_line1"]);
        assert!(
            street.is_none() || (!is_person && street == field(record, 588, 42)),
            "{number}"
        );
        if street.is_none() && !is_person && field(record, 588, 42).is_some() {
            withheld.insert(row["agent_name"].as_str().unwrap().to_owned());
        }
        let agent = field(record, 545, 42).unwrap();
        assert_eq!(
            letters(row["agent_name"].as_str().unwrap()),
            letters(&agent),
            "{number}"
        );
        officers += check_officers(record, &number, &published["business.officer"], &mut titles);
    }
    // Persons whom the file lists as organisations: no street.
    for name in [
        "RUDYS I. VELASQUEZ REYEZ",
        "VLADYSLAV PSHENIANIK",
        "WILLIAM HENRY HARRISON WALKER",
        "LUCYLINA MONTERO SALAZAR",
    ] {
        assert!(
            withheld.iter().any(|known| letters(known) == letters(name)),
            "{name} is not among {withheld:?}"
        );
    }
    let published_streets = entities
        .values()
        .filter(|(row, _)| !row["agent_line1"].is_null())
        .count();
    assert!(
        published_streets > 300 && withheld.len() < 60,
        "{published_streets} {withheld:?}"
    );
    assert_eq!(officers, published["business.officer"].len());
    let blocks = records
        .iter()
        .flat_map(|record| (0..6).filter(|block| field(record, 674 + 128 * block, 42).is_some()))
        .count();
    assert_eq!((blocks, officers), (2_149, 2_149 - LISTED_TWICE));
    // The records have more than twenty kinds of titles.
    assert!(titles.len() > 60, "{titles:?}");
    let unknown = published["business.officer"]
        .values()
        .filter(|(row, _)| row["title"] == "unknown")
        .count();
    assert!(
        unknown * 20 < officers,
        "{unknown} of {officers} titles are not in the table"
    );
}

/// Letters and digits of a name, sorted: equal for `HALKO OKSANA` and `OKSANA HALKO`.
fn letters(name: &str) -> Vec<char> {
    let mut letters: Vec<char> = name.chars().filter(|c| c.is_alphanumeric()).collect();
    letters.sort_unstable();
    letters
}

/// Compares the six blocks of a record with the published officers and returns their number.
fn check_officers(
    record: &[u8],
    number: &str,
    published: &Rows,
    titles: &mut BTreeSet<String>,
) -> usize {
    let (mut seq, mut seen) = (0, BTreeSet::new());
    for first in (0..6).map(|block| 669 + 128 * block) {
        let Some(name) = field(record, first + 5, 42) else {
            continue;
        };
        let is_person = record[first + 3] == b'P';
        let street = field(record, first + 47, 42).filter(|_| !is_person);
        let words = [(0, 4), (4, 1), (5, 42), (89, 28), (117, 2), (119, 5)]
            .map(|(place, length)| field(record, first + place, length));
        if !seen.insert((words, street.clone())) {
            continue;
        }
        seq += 1;
        let (row, _) = &published[&format!("business.officer:FL-{number}:{seq}")];
        assert_eq!(
            letters(row["name"].as_str().unwrap()),
            letters(&name),
            "{number}"
        );
        assert_eq!(
            row["type"],
            if is_person { "person" } else { "organization" },
            "{number}"
        );
        assert_eq!(text(&row["title_raw"]), field(record, first, 4), "{number}");
        assert!(
            row["line1"].is_null() || text(&row["line1"]) == street,
            "{number}"
        );
        assert_eq!(
            text(&row["city"]),
            field(record, first + 89, 28),
            "{number}"
        );
        titles.extend(text(&row["title_raw"]));
    }
    assert!(
        !published.contains_key(&format!("business.officer:FL-{number}:{}", seq + 1)),
        "{number}"
    );
    seq
}

/// Rows of a CSV file as maps from column to cell; an empty cell is none.
fn csv_rows(path: &Path) -> Vec<BTreeMap<String, Option<String>>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let header = reader.headers().unwrap().clone();
    let row = |record: csv::StringRecord| {
        header
            .iter()
            .map(str::to_owned)
            .zip(
                record
                    .iter()
                    .map(|cell| (!cell.is_empty()).then(|| cell.to_owned())),
            )
            .collect()
    };
    reader
        .records()
        .map(|record| row(record.unwrap()))
        .collect()
}

/// Asserts that published columns equal those of the file for every row; `key` is the column of the
/// number.
fn check_rows(
    rows: &[BTreeMap<String, Option<String>>],
    entities: &Rows,
    state: &str,
    key: &str,
    pairs: &[(&str, &str)],
) {
    assert_eq!((rows.len(), entities.len()), (10, 10));
    for row in rows {
        let number = row[key].clone().unwrap();
        let (entity, _) = &entities[&format!("business.entity:{state}-{number}")];
        for (column, source) in pairs {
            assert_eq!(text(&entity[*column]), row[*source], "{column} of {number}");
        }
        assert_eq!(
            (
                &entity["status"],
                &entity["status_basis"],
                &entity["status_raw"]
            ),
            (&"active".into(), &"implied_by_dataset".into(), &Value::Null)
        );
        assert_ne!(entity["entity_type"], "unknown", "{number}");
    }
}

#[test]
fn every_row_of_new_york_and_iowa_is_published() {
    let Some(folder) = shared_data("general/business") else {
        return;
    };
    let new_york = folder.join("ny_active_corporations.excerpt.csv");
    let file = (
        "data.ny.gov/api/views/n9v6-gdp6/rows.csv@accessType=DOWNLOAD".to_owned(),
        std::fs::read(&new_york).unwrap(),
    );
    let published = publish("business.ny_dos", &[file]);
    let rows = csv_rows(&new_york);
    let pairs = [
        ("name", "current_entity_name"),
        ("entity_number", "dos_id"),
        ("county", "county"),
        ("entity_type_raw", "entity_type"),
        ("mailing_city", "dos_process_city"),
        ("mailing_zip", "dos_process_zip"),
        ("principal_line1", "location_address_1"),
        ("agent_name", "registered_agent_name"),
    ];
    check_rows(&rows, &published["business.entity"], "NY", "dos_id", &pairs);
    for row in &rows {
        let (entity, _) = &published["business.entity"]
            [&format!("business.entity:NY-{}", row["dos_id"].as_ref().unwrap())];
        assert_eq!(
            text(&entity["formation_date"]),
            row["initial_dos_filing_date"]
                .as_ref()
                .map(|day| day[..10].to_owned())
        );
        assert_eq!(
            text(&entity["mailing_state"]),
            row["dos_process_state"]
                .as_ref()
                .map(|state| state.replace("NEW YORK", "NY"))
        );
        assert_eq!(entity["jurisdiction_of_formation"], "NY");
        // For these two, the data cannot exclude that a person lives at the address for service of
        // process.
        let is_withheld = matches!(
            row["dos_process_name"].as_deref(),
            Some("ABE ZUCKERMAN" | "S/SFEDER BARNETT & PLATT")
        );
        for (column, source) in [
            ("mailing_line1", "dos_process_address_1"),
            ("mailing_line2", "dos_process_address_2"),
        ] {
            assert_eq!(
                text(&entity[column]),
                row[source].clone().filter(|_| !is_withheld),
                "{column} of {:?}",
                row["dos_id"]
            );
        }
    }
    let chairmen: Vec<&str> = published["business.officer"]
        .values()
        .map(|(row, _)| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        chairmen,
        rows.iter()
            .filter_map(|row| row["chairman_name"].as_deref())
            .collect::<Vec<_>>()
    );

    let iowa = folder.join("ia_active_business_entities.excerpt.csv");
    let file = (IOWA.to_owned(), packed(&std::fs::read(&iowa).unwrap()));
    let published = publish("business.ia_sos", &[file]);
    let rows = csv_rows(&iowa);
    let pairs = [
        ("name", "legal_name"),
        ("entity_number", "corp_number"),
        ("entity_type_raw", "corporation_type"),
        ("principal_line1", "ho_address_1"),
        ("principal_line2", "ho_address_2"),
        ("principal_city", "ho_city"),
        ("principal_state", "ho_state"),
        ("agent_name", "registered_agent"),
        ("agent_city", "ra_city"),
    ];
    check_rows(
        &rows,
        &published["business.entity"],
        "IA",
        "corp_number",
        &pairs,
    );
    for row in &rows {
        let (entity, _) = &published["business.entity"][&format!(
            "business.entity:IA-{}",
            row["corp_number"].as_ref().unwrap()
        )];
        let zip = row["ho_zip"].as_ref().unwrap();
        assert_eq!(
            entity["principal_zip"],
            zip[..5],
            "{zip}, which once is `52244-190`"
        );
        assert_eq!(entity["principal_zip4"].is_null(), zip.len() != 10, "{zip}");
    }
    assert!(
        published["business.entity"]
            .values()
            .all(|(row, _)| row["agent_line1"].is_null()),
        "no agent is certain to be an organisation"
    );
    assert_eq!(published["business.officer"].len(), 0);
}
