//! Checks every row of the cities' real files: published, merged into another or quarantined with a
//! reason, as counted by an independent reader.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use csv::StringRecord;
use pubdata_core::provenance::SourceRows;
use pubdata_store::Manifest;
use serde_json::Value;

use pubdata_testing::{folders, rows_below, shared_data};

/// Real file of a pipeline: its path at the publisher, and the expected numbers of permits and
/// quarantined rows, counted below.
struct City {
    pipeline_id: &'static str,
    file: &'static str,
    at: &'static str,
}

/// The city's file, which its service returns in pages of a thousand records.
const NASHVILLE: &str = "nashville_building_permits.csv";

const SOCRATA: &str = "rows.csv@accessType=DOWNLOAD";

const fn city(pipeline_id: &'static str, file: &'static str, at: &'static str) -> City {
    City {
        pipeline_id,
        file,
        at,
    }
}

const CITIES: &[City] = &[
    city(
        "permit.austin",
        "austin_3syk-w9eu.excerpt.csv",
        "data.austintexas.gov/api/views/3syk-w9eu",
    ),
    city(
        "permit.chicago",
        "chicago_Building_Permits.csv",
        "data.cityofchicago.org/api/views/ydr8-5enu",
    ),
    city(
        "permit.la_before_2020",
        "la_yv23-pmwf.excerpt.csv",
        "data.lacity.org/api/views/yv23-pmwf",
    ),
    city(
        "permit.nashville",
        NASHVILLE,
        "services2.arcgis.com/HdTo6HJqh92wn4D8/arcgis/rest/services/Building_Permits_Issued_2/FeatureServer/0",
    ),
    city(
        "permit.nola",
        "nola_blds_72f9-bi28.excerpt.csv",
        "data.nola.gov/api/views/72f9-bi28",
    ),
    city(
        "permit.nyc_bis",
        "nyc_dob_permit_issuance_2024_subset.csv",
        "data.cityofnewyork.us/api/views/ipu4-2q9a",
    ),
    city(
        "permit.nyc_now",
        "nyc_now_rbx6-tga4.excerpt.csv",
        "data.cityofnewyork.us/api/views/rbx6-tga4",
    ),
    city(
        "permit.seattle",
        "seattle_permits_cleaned_20251106.csv",
        "data.seattle.gov/api/views/76t5-zqzr",
    ),
    city(
        "permit.seattle_before_2018",
        "seattle_mags-97de.excerpt.csv",
        "data.seattle.gov/api/views/mags-97de",
    ),
    city(
        "permit.sf",
        "sf_Building_Permits.csv",
        "data.sf.gov/api/views/i98e-djp9",
    ),
];

/// The same datasets as their APIs return them.
const APIS: &[City] = &[
    city(
        "permit.nyc_bis",
        "nyc_ipu4-2q9a.excerpt.csv",
        "data.cityofnewyork.us/api/views/ipu4-2q9a",
    ),
    city(
        "permit.sf",
        "sf_i98e-djp9.excerpt.csv",
        "data.sf.gov/api/views/i98e-djp9",
    ),
];

/// Published data of some cities: the rows of a dataset by pipeline.
struct Published {
    permits: BTreeMap<String, BTreeMap<String, Value>>,
    /// Row positions by pipeline: those of permits, and those of quarantined rows.
    places: BTreeMap<String, (Vec<u64>, Vec<u64>)>,
    warnings: BTreeMap<String, BTreeMap<String, u64>>,
    parties: Vec<Value>,
    /// Row counts by source, from `status --json`.
    source_rows: BTreeMap<String, SourceRows>,
}

fn publish(permits: &Path, cities: &[City]) -> Published {
    let folder = tempfile::tempdir().unwrap();
    let (mirror, home) = (folder.path().join("mirror"), folder.path().join("home"));
    for City { file, at, .. } in cities {
        let target = mirror.join(at).join(SOCRATA);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        match *file {
            NASHVILLE => write_pages(&permits.join(file), &mirror.join(at)),
            _ => drop(std::fs::copy(permits.join(file), target).unwrap()),
        }
    }
    std::fs::write(mirror.join(".pubdata-mirror"), "sample = true\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pubdata"));
    command
        .arg("run")
        .args(cities.iter().map(|city| city.pipeline_id))
        .arg("--mirror")
        .arg(&mirror)
        .arg("--home")
        .arg(&home);
    let run = command.output().unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr)
    );
    assert!(matches!(run.status.code(), Some(0 | 10)), "{said}");

    let release = folders(&home.join("releases")).pop().unwrap();
    let manifest =
        Manifest::from_json(&std::fs::read(release.join("manifest.json")).unwrap()).unwrap();
    let source_rows = manifest
        .tasks
        .into_values()
        .flat_map(|task| task.source_rows)
        .collect();
    let mut published = Published {
        permits: BTreeMap::new(),
        places: BTreeMap::new(),
        warnings: BTreeMap::new(),
        parties: Vec::new(),
        source_rows,
    };
    published.parties.extend(
        rows_below(&release.join("permit.contact"))
            .into_values()
            .map(|(party, _)| Value::Object(party)),
    );
    for (_, (row, pointers)) in rows_below(&release.join("permit.permit")) {
        let source = row["source_id"].as_str().unwrap().to_owned();
        published
            .places
            .entry(source.clone())
            .or_default()
            .0
            .extend(pointers.iter().map(|pointer| pointer.offset));
        for warning in row["warnings"].as_array().unwrap() {
            *published
                .warnings
                .entry(source.clone())
                .or_default()
                .entry(warning.as_str().unwrap().to_owned())
                .or_default() += 1;
        }
        let permit_id = row["permit_id"].as_str().unwrap().to_owned();
        published
            .permits
            .entry(source)
            .or_default()
            .insert(permit_id, Value::Object(row));
    }
    for (_, pointers) in rows_below(&release.join("pubdata.quarantine")).into_values() {
        for pointer in pointers {
            published
                .places
                .entry(pointer.source_id.clone())
                .or_default()
                .1
                .push(pointer.offset);
        }
    }
    published
}

/// Writes a file as the pages of a service: numbers as numbers, empty cells as null.
fn write_pages(file: &Path, folder: &Path) {
    let (header, records) = read(file);
    let value = |name: &str, cell: &str| match name {
        _ if cell.is_empty() => Value::Null,
        "Date_Entered" | "Date_Issued" | "Const_Cost" | "IVR_Trk_" | "Council_Dist" | "Lon"
        | "Lat" | "ObjectId" => serde_json::from_str(cell).unwrap(),
        _ => Value::from(cell),
    };
    let feature = |record: &StringRecord| -> Value {
        let attributes: serde_json::Map<String, Value> = header
            .iter()
            .zip(record)
            .map(|(name, cell)| (name.to_owned(), value(name, cell)))
            .collect();
        serde_json::json!({ "attributes": attributes })
    };
    for (page, records) in records.chunks(1_000).enumerate() {
        let features: Vec<Value> = records.iter().map(|(_, record)| feature(record)).collect();
        let query = "where=1%3D1&outFields=*&orderByFields=ObjectId&returnGeometry=false&f=json";
        let name = format!(
            "query@{query}&resultOffset={}&resultRecordCount=1000",
            page * 1_000
        );
        std::fs::write(
            folder.join(name),
            serde_json::json!({ "features": features }).to_string(),
        )
        .unwrap();
    }
}

/// Records of a file with their byte positions, and its columns.
fn read(path: &Path) -> (StringRecord, Vec<(u64, StringRecord)>) {
    let bytes = std::fs::read(path).unwrap();
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let header = reader.headers().unwrap().clone();
    let header = StringRecord::from(header.iter().map(str::trim).collect::<Vec<_>>());
    // The CSV reader takes the second byte of a line ending for the first byte of the next record.
    let place = |record: &StringRecord| {
        let start = record.position().unwrap().byte();
        start + u64::from(bytes[usize::try_from(start).unwrap()] == b'\n')
    };
    let records = reader
        .records()
        .map(Result::unwrap)
        .map(|record| (place(&record), record))
        .collect();
    (header, records)
}

#[test]
fn every_real_permit_row_is_published_folded_or_quarantined() {
    let Some(permits) = shared_data("general/permits") else {
        return;
    };
    for cities in [CITIES, APIS] {
        let published = publish(&permits, cities);
        for City {
            pipeline_id, file, ..
        } in cities
        {
            let (_, records) = read(&permits.join(file));
            let expected: BTreeSet<u64> = records.iter().map(|(place, _)| *place).collect();
            let (used, quarantined) = &published.places[*pipeline_id];
            let found: BTreeSet<u64> = used.iter().chain(quarantined).copied().collect();
            assert_eq!(
                used.len() + quarantined.len(),
                records.len(),
                "{pipeline_id}: a row counts once"
            );
            // Positions in pages differ from those in the file.
            assert!(
                *file == NASHVILLE || found == expected,
                "{pipeline_id}: every row is accounted for"
            );
            let account = &published.source_rows[*pipeline_id];
            let permits = published.permits[*pipeline_id].len();
            let counts = (
                account.read,
                account.records,
                account.merged,
                account.quarantined,
                account.left_out.len(),
            );
            assert_eq!(
                counts,
                (
                    records.len() as u64,
                    permits as u64,
                    (used.len() - permits) as u64,
                    quarantined.len() as u64,
                    0
                ),
                "{pipeline_id}"
            );
            let unmapped = published
                .warnings
                .get(*pipeline_id)
                .into_iter()
                .flatten()
                .filter(|(code, _)| code.starts_with("unmapped"));
            assert_eq!(
                unmapped.count(),
                0,
                "{pipeline_id}: every word of the file is in a table"
            );
        }
    }
}

fn texts<'p>(
    permits: &'p BTreeMap<String, Value>,
    column: &'p str,
) -> impl Iterator<Item = &'p str> {
    permits
        .values()
        .filter_map(move |permit| permit[column].as_str())
}

fn tally<'t>(texts: impl Iterator<Item = &'t str>) -> BTreeMap<&'t str, usize> {
    let mut counts = BTreeMap::new();
    texts.for_each(|text| *counts.entry(text).or_default() += 1);
    counts
}

/// Column of a file, without blanks at the ends; empty cells are left out.
fn column<'r>(
    header: &StringRecord,
    records: &'r [(u64, StringRecord)],
    name: &str,
) -> impl Iterator<Item = &'r str> {
    let place = header
        .iter()
        .position(|column| column == name)
        .unwrap_or_else(|| panic!("no column {name}"));
    records
        .iter()
        .map(move |(_, record)| record[place].trim())
        .filter(|cell| !cell.is_empty())
}

/// Digits of a column's figures.
fn figures<'p>(
    permits: &'p BTreeMap<String, Value>,
    column: &'p str,
) -> impl Iterator<Item = String> {
    permits
        .values()
        .map(move |permit| &permit[column])
        .filter(|figure| !figure.is_null())
        .map(Value::to_string)
}

fn cents(text: &str) -> i64 {
    let plain = text.trim_start_matches('$').replace(',', "");
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, "0"));
    whole.parse::<i64>().unwrap() * 100 + format!("{fraction:0<2}").parse::<i64>().unwrap()
}

#[test]
fn real_permit_figures_equal_those_of_the_files() {
    let Some(folder) = shared_data("general/permits") else {
        return;
    };
    let published = publish(&folder, CITIES);

    // Seattle: one permit a row.
    let (header, records) = read(&folder.join("seattle_permits_cleaned_20251106.csv"));
    let seattle = &published.permits["permit.seattle"];
    assert_eq!(seattle.len(), 4_180);
    assert_eq!(
        tally(texts(seattle, "status_raw")),
        tally(column(&header, &records, "StatusCurrent"))
    );
    assert_eq!(
        texts(seattle, "status")
            .filter(|status| *status == "final")
            .count(),
        2_973 + 5 + 4
    );
    assert_eq!(
        texts(seattle, "issued_date").count(),
        column(&header, &records, "IssuedDate").count()
    );
    let total: i64 = column(&header, &records, "EstProjectCost").map(cents).sum();
    assert_eq!(
        figures(seattle, "job_value")
            .map(|figure| cents(&figure))
            .sum::<i64>(),
        total
    );
    assert_eq!(
        published.warnings["permit.seattle"],
        BTreeMap::from([
            ("bad_zip".to_owned(), 1),
            ("completed_before_issued".to_owned(), 1)
        ])
    );

    // Chicago: the same, with dates and money in the city's form.
    let (header, records) = read(&folder.join("chicago_Building_Permits.csv"));
    let chicago = &published.permits["permit.chicago"];
    assert_eq!(chicago.len(), 441);
    let days = |day: &str| format!("{}-{}-{}", &day[6..], &day[..2], &day[3..5]);
    let issued: Vec<String> = column(&header, &records, "ISSUE_DATE").map(days).collect();
    assert_eq!(
        tally(texts(chicago, "issued_date")),
        tally(issued.iter().map(String::as_str))
    );
    for (ours, theirs) in [("job_value", "ESTIMATED_COST"), ("fees", "TOTAL_FEE")] {
        assert_eq!(
            figures(chicago, ours)
                .map(|figure| cents(&figure))
                .sum::<i64>(),
            column(&header, &records, theirs).map(cents).sum::<i64>(),
            "{ours}"
        );
    }

    // Nashville: two rows with the same number contradict each other and are quarantined; two
    // others are identical.
    let (header, records) = read(&folder.join("nashville_building_permits.csv"));
    let nashville = &published.permits["permit.nashville"];
    let numbers: BTreeSet<&str> = column(&header, &records, "Permit__").collect();
    assert_eq!(
        (records.len(), numbers.len(), nashville.len()),
        (5_996, 5_994, 5_993)
    );
    assert_eq!(published.places["permit.nashville"].1.len(), 2);
    let types = tally(texts(nashville, "type"));
    let demolitions = column(&header, &records, "Permit_Type_Description")
        .filter(|kind| kind.contains("Demolition"))
        .count();
    assert_eq!(
        (types["demolition"], types["sign"], types["roof"]),
        (demolitions, 128, 156 + 16)
    );
    let first = records
        .iter()
        .find(|(_, record)| &record[0] == "2023023374")
        .unwrap();
    // 1681189200000 ms is 05:00 UTC on 11 April 2023: midnight in Nashville, where summer time is
    // UTC-5.
    assert_eq!(
        (
            &first.1[4],
            nashville["us-tn-nashville:2023023374"]["applied_date"].as_str()
        ),
        ("1681189200000", Some("2023-04-11"))
    );

    // New York: one permit for each job, type, work and start day of the work.
    let (header, records) = read(&folder.join("nyc_dob_permit_issuance_2024_subset.csv"));
    let cell = |record: &StringRecord, name: &str| {
        record[header.iter().position(|column| column == name).unwrap()]
            .trim()
            .to_owned()
    };
    let key = |record: &StringRecord| {
        ["Job #", "Permit Type", "Work Type", "Job Start Date"].map(|name| cell(record, name))
    };
    let mut groups: BTreeMap<[String; 4], Vec<&StringRecord>> = BTreeMap::new();
    records
        .iter()
        .for_each(|(_, record)| groups.entry(key(record)).or_default().push(record));
    let new_york = &published.permits["permit.nyc_bis"];
    assert_eq!(new_york.len(), groups.len());
    let is_issued = |group: &Vec<&StringRecord>| {
        group
            .iter()
            .any(|record| !cell(record, "Issuance Date").is_empty())
    };
    assert_eq!(
        texts(new_york, "status")
            .filter(|status| *status == "active")
            .count(),
        groups.values().filter(|group| is_issued(group)).count()
    );
    let renewed = groups
        .values()
        .filter(|group| {
            group
                .iter()
                .any(|record| cell(record, "Filing Status") == "RENEWAL")
        })
        .count();
    assert_eq!(
        new_york
            .values()
            .filter(|permit| permit["renewals"].as_i64().unwrap() > 0)
            .count(),
        renewed
    );
}

#[test]
fn persons_of_the_real_permits_are_not_named() {
    let Some(folder) = shared_data("general/permits") else {
        return;
    };
    let published = publish(&folder, CITIES);
    let is_trade = |party: &Value| {
        matches!(
            party["role"].as_str().unwrap(),
            "contractor" | "architect" | "engineer" | "expediter"
        )
    };
    let others = || published.parties.iter().filter(|party| !is_trade(party));
    let named: BTreeSet<&str> = others()
        .filter_map(|party| party["name"].as_str())
        .collect();
    assert!(
        others().count() > 2_000 && named.len() > 500,
        "{} {}",
        others().count(),
        named.len()
    );

    // New York marks which owners are individuals; some of these give the name of their company,
    // which other owners give too.
    let (header, records) = read(&folder.join("nyc_dob_permit_issuance_2024_subset.csv"));
    let [kind, name] = ["Owner's Business Type", "Owner's Business Name"]
        .map(|name| header.iter().position(|column| column == name).unwrap());
    let names = |is_individual: bool| -> BTreeSet<&str> {
        records
            .iter()
            .filter(|(_, record)| (&record[kind] == "INDIVIDUAL") == is_individual)
            .map(|(_, record)| record[name].trim())
            .collect()
    };
    let (individuals, organizations) = (names(true), names(false));
    assert!(individuals.contains("ZAKIA HOSSAIN"));
    for individual in individuals.difference(&organizations) {
        assert!(!named.contains(individual), "{individual}");
    }
    let (header, records) = read(&folder.join("chicago_Building_Permits.csv"));
    let blocks = (1..=15).map(|number| {
        header
            .iter()
            .position(|column| column == format!("CONTRACTOR_{number}_TYPE"))
            .unwrap()
    });
    for place in blocks {
        for (_, record) in records
            .iter()
            .filter(|(_, record)| record[place].starts_with("OWNER"))
        {
            assert!(
                !named.contains(record[place + 1].trim())
                    || organizations.contains(record[place + 1].trim()),
                "{}",
                &record[place + 1]
            );
        }
    }
    // Account owners in Nashville write their names in lower case.
    for account in [
        "duane cuthbertson",
        "adam kan",
        "justin crandall",
        "jen mcbride",
        "laurie schwartz",
    ] {
        assert!(
            published
                .parties
                .iter()
                .all(|party| party["name"].as_str() != Some(account)),
            "{account}"
        );
    }
    for permit in published.permits.values().flat_map(BTreeMap::values) {
        let text = permit["description"].as_str().unwrap_or_default();
        assert!(
            !text
                .split_whitespace()
                .any(|word| word.trim_matches(['@', '.']).contains('@') && word.contains('.')),
            "{text}"
        );
    }
}
