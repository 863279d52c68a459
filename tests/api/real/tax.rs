//! Checks sales tax on the states' complete files, counted and read a second time line by line.

use std::collections::BTreeMap;
use std::path::Path;

use pubdata_core::declared::DeclarationFiles;
use pubdata_run::{ExitCode, trace};
use pubdata_store::Record;
use serde_json::{Value, json};

use pubdata_testing::{Place, run_here, settings, shared_data};

const FOLDER: &str = "www.streamlinedsalestax.org/ratesandboundry";

/// The fixtures' mirror with the states' own files, and pages that list them.
fn place(data: &Path) -> Place {
    let place = Place::new();
    for (kind, files) in [
        (
            "Rates",
            [
                ("MNR2026Q2FEB18.csv", "MNR2026Q2FEB18.csv"),
                ("WIR2026Q2FEB18.csv", "WIR2026Q2FEB18.csv"),
                ("NER2013Q2FEB25.txt", "NER2013Q2FEB25.txt"),
            ]
            .as_slice(),
        ),
        (
            "Boundary",
            [("MNB2026Q2FEB18-sample.csv", "MNB2026Q2FEB18.csv")].as_slice(),
        ),
    ] {
        let folder = place.mirror().join(FOLDER).join(kind);
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        let mut page = format!("<html><body><H1>/ratesandboundry/{kind}/</H1><pre>");
        for (from, to) in files {
            std::fs::copy(data.join(from), folder.join(to)).unwrap();
            page.push_str(&format!(
                "<A HREF=\"/ratesandboundry/{kind}/{to}\">{to}</A><br>"
            ));
        }
        std::fs::write(folder.join("index.html"), page + "</pre></body></html>").unwrap();
    }
    place
}

fn lines(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.split(',').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// Converts `0.0050` to the published number.
fn number(cell: &str) -> Value {
    let number: f64 = match cell {
        "" => return Value::Null,
        cell => cell.parse().unwrap(),
    };
    if number.fract() == 0.0 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

fn day(cell: &str) -> Value {
    if ["29991231", "99991231"].contains(&cell) {
        Value::Null
    } else {
        json!(format!("{}-{}-{}", &cell[..4], &cell[4..6], &cell[6..]))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_of_the_states_tax_files_is_published_unchanged() {
    let Some(data) = shared_data("general/tax") else {
        return;
    };
    let place = place(&data);
    let mut settings = settings(
        &place.home(),
        vec![place.mirror().display().to_string()],
        DeclarationFiles::built_in(),
    );
    settings.selectors = vec!["tax.sst_rates".to_owned(), "tax.sst_boundaries".to_owned()];
    let report = run_here(&settings).await;
    assert_eq!(report.exit_code, ExitCode::Ok, "{report:#?}");
    assert!(place.rows("pubdata.quarantine").is_empty());

    let rates = place.rows("tax.rate");
    let mut seen = 0;
    for (file, usps, count) in [
        ("MNR2026Q2FEB18.csv", "MN", 148),
        ("WIR2026Q2FEB18.csv", "WI", 1941),
        ("NER2013Q2FEB25.txt", "NE", 246),
    ] {
        let lines = lines(&data.join(file));
        assert_eq!(lines.len(), count, "{file}");
        for cells in &lines {
            let begin = day(&cells[7]);
            let code = match cells[1].as_str() {
                "45" => format!("{:0>2}", cells[2]),
                "00" => format!("{:0>3}", cells[2]),
                "01" => format!("{:0>5}", cells[2]),
                _ => cells[2].clone(),
            };
            let record = format!(
                "tax.rate:{usps}:{}:{code}:{}",
                cells[1],
                begin.as_str().unwrap()
            );
            let (row, _) = rates.get(&record).unwrap_or_else(|| panic!("no {record}"));
            let expected = json!([
                number(&cells[3]),
                number(&cells[4]),
                number(&cells[5]),
                number(&cells[6]),
                day(&cells[8])
            ]);
            let names = [
                "general_intrastate",
                "general_interstate",
                "food_drug_intrastate",
                "food_drug_interstate",
                "end_date",
            ];
            assert_eq!(
                names
                    .iter()
                    .map(|name| row[*name].clone())
                    .collect::<Value>(),
                expected,
                "{record}"
            );
            seen += 1;
        }
    }
    assert_eq!(rates.len(), seen);
    let kinds = |usps: &str| count_by(&rates, usps);
    assert_eq!(
        kinds("MN"),
        BTreeMap::from([("city", 73), ("county", 64), ("special", 10), ("state", 1)])
    );
    assert_eq!(
        kinds("WI"),
        BTreeMap::from([("city", 1853), ("county", 85), ("special", 2), ("state", 1)])
    );
    assert_eq!(
        kinds("NE"),
        BTreeMap::from([("city", 244), ("county", 1), ("state", 1)])
    );

    let boundaries = place.rows("tax.boundary");
    let lines = lines(&data.join("MNB2026Q2FEB18-sample.csv"));
    assert_eq!((lines.len(), boundaries.len()), (100, 100));
    let text = |cell: &str| {
        if cell.is_empty() {
            Value::Null
        } else {
            json!(cell)
        }
    };
    for cells in &lines {
        let is_same = |row: &serde_json::Map<String, Value>| {
            let special: Vec<String> = (0..20)
                .map(|place| (&cells[31 + 3 * place], &cells[30 + 3 * place]))
                .filter(|(_, code)| !code.is_empty())
                .map(|(kind, code)| format!("{kind}={code}"))
                .collect();
            let plus4 = |cell: &str| {
                if cell.is_empty() {
                    Value::Null
                } else {
                    json!(format!("{cell:0>4}"))
                }
            };
            row["record_type"] == if cells[0] == "4" { "zip9" } else { "zip5" }
                && row["begin_date"] == day(&cells[1])
                && row["end_date"] == day(&cells[2])
                && (row["zip_low"] == text(&cells[17]) && row["zip_high"] == text(&cells[19]))
                && (row["plus4_low"] == plus4(&cells[18]) && row["plus4_high"] == plus4(&cells[20]))
                && row["has_state_tax"] == json!(!cells[23].is_empty())
                && (row["county_code"] == text(&cells[24]) && row["place_code"] == text(&cells[25]))
                && row["special_codes"] == json!(special)
        };
        assert_eq!(
            boundaries.values().filter(|(row, _)| is_same(row)).count(),
            1,
            "{cells:?}"
        );
    }
    // Entries of the files for two ZIP codes, until the last day of March 2019.
    let at = |zip: &str| {
        let covers = |row: &serde_json::Map<String, Value>| {
            row["record_type"] == "zip5"
                && row["zip_low"].as_str().unwrap() <= zip
                && zip <= row["zip_high"].as_str().unwrap()
        };
        let found: Vec<Value> = boundaries
            .values()
            .filter(|(row, _)| covers(row))
            .map(|(row, _)| json!([row["county_code"], row["place_code"], row["special_codes"]]))
            .collect();
        found
    };
    assert_eq!(at("55103"), [json!(["123", "58000", []])]);
    for zip in ["55401", "55402", "55403", "55404", "55405"] {
        assert_eq!(at(zip), [json!(["053", "43000", ["63=80004"]])], "{zip}");
    }
    assert!(
        boundaries
            .values()
            .all(|(row, _)| row["end_date"] == "2019-03-31")
    );
    for record in [
        "tax.rate:MN:01:58000:2005-10-01",
        "tax.rate:WI:00:079:2024-01-01",
        "tax.boundary:MN:Z~2017-10-01~55103~~55103~~27~123~58000",
    ] {
        let traced = trace(&settings, &record.parse().unwrap(), None)
            .await
            .unwrap();
        assert!(traced.is_match, "{record}: {:?}", traced.differences);
    }
}

fn count_by<'r>(rates: &'r BTreeMap<String, Record>, usps: &str) -> BTreeMap<&'r str, usize> {
    let mut counts = BTreeMap::new();
    for (row, _) in rates.values().filter(|(row, _)| row["state"] == usps) {
        *counts.entry(row["type"].as_str().unwrap()).or_insert(0) += 1;
    }
    counts
}
