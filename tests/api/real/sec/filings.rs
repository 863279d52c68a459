//! Compares published filings with the arrays of the submissions and the lines of the index.

use std::collections::{BTreeMap, BTreeSet};

use pubdata_store::Record;
use serde_json::{Value, json};

use super::site::Site;

/// Entry of a filing in a member of the submissions.
pub struct Listed {
    form: String,
    filing_date: String,
    pub report_date: String,
    acceptance: String,
    items: String,
    size: u64,
    is_xbrl: bool,
    primary_document: String,
}

/// Every filing of every member by registrant and accession number; each is listed once.
pub fn listed(site: &Site) -> BTreeMap<(String, String), Listed> {
    let mut listed = BTreeMap::new();
    for (name, text) in &site.submissions {
        let document: Value = serde_json::from_str(text).unwrap();
        let arrays = document.pointer("/filings/recent").unwrap_or(&document);
        let accessions = arrays["accessionNumber"].as_array().unwrap();
        for (place, accession) in accessions.iter().enumerate() {
            let text = |array: &str| arrays[array][place].as_str().unwrap().to_owned();
            let filing = Listed {
                form: text("form"),
                filing_date: text("filingDate"),
                report_date: text("reportDate"),
                acceptance: text("acceptanceDateTime"),
                items: text("items"),
                size: arrays["size"][place].as_u64().unwrap(),
                is_xbrl: arrays["isXBRL"][place].as_u64().unwrap() == 1,
                primary_document: text("primaryDocument"),
            };
            let key = (
                name[3..13].to_owned(),
                accession.as_str().unwrap().to_owned(),
            );
            assert!(
                listed.insert(key, filing).is_none(),
                "{name} lists {accession} twice"
            );
        }
    }
    listed
}

/// Checks that each listed filing is published once, as listed; any further published filing
/// appears only in the index.
pub fn check(
    listed: &BTreeMap<(String, String), Listed>,
    index: &str,
    published: &BTreeMap<String, Record>,
) {
    assert!(listed.len() > 20_000, "{}", listed.len());
    for ((cik, accession), filing) in listed {
        let record = &published[&format!("sec.filing:{cik}:{accession}")].0;
        let text = |text: &str| {
            if text.is_empty() {
                Value::Null
            } else {
                text.into()
            }
        };
        let expected = json!([
            cik,
            accession,
            filing.form,
            filing.filing_date,
            text(&filing.report_date),
            text(&filing.acceptance),
            filing.size,
            filing.is_xbrl,
            text(&filing.primary_document),
            "submissions",
        ]);
        let names = [
            "cik",
            "accession_number",
            "form",
            "filed_date",
            "period_of_report",
            "accepted_at",
            "size_bytes",
            "has_xbrl",
            "primary_document",
            "listing",
        ];
        assert_eq!(
            names.map(|name| record[name].clone()).as_slice(),
            expected.as_array().unwrap().as_slice()
        );
        let items: Vec<&str> = record["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item.as_str().unwrap())
            .collect();
        assert_eq!(
            record["items_text"]
                .as_str()
                .map_or_else(|| items.join(","), str::to_owned),
            filing.items,
            "{cik} {accession}"
        );
    }
    let mut of_index = BTreeSet::new();
    for line in index.lines().filter(|line| line.ends_with(".txt")) {
        let cells: Vec<&str> = line.split('|').collect();
        let accession = cells[4]
            .rsplit('/')
            .next()
            .unwrap()
            .trim_end_matches(".txt");
        let cik = format!("{:0>10}", cells[0]);
        let record = &published[&format!("sec.filing:{cik}:{accession}")].0;
        assert_eq!(
            (&record["form"], &record["filed_date"]),
            (&json!(cells[2]), &json!(cells[3])),
            "{line}"
        );
        if !listed.contains_key(&(cik.clone(), accession.to_owned())) {
            assert_eq!(record["listing"], "full_index", "{line}");
            of_index.insert((cik, accession));
        }
    }
    assert!(!of_index.is_empty());
    assert_eq!(published.len(), listed.len() + of_index.len());
}
