//! Lays out the agency's files as on its site, and keeps them as texts for the checks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use pubdata_testing::{files_below, packed};

/// Files that the agency's site serves in this test, as texts for the checks; nothing in it comes
/// from the program.
pub struct Site {
    /// Members of the archive of facts by name.
    pub facts: BTreeMap<String, String>,
    /// Members of the archive of submissions by name, pages of older filings among them.
    pub submissions: BTreeMap<String, String>,
    /// Index of the first quarter of 2023, without companies that are in neither archive: some
    /// 9,000 registrants with nothing to check would take most of the time.
    pub index: String,
    /// Lists of tickers by name, reduced in the same way.
    tickers: BTreeMap<String, String>,
}

/// Member of the archive of facts, or a capture of one in another wrapping: some lack most
/// concepts.
#[derive(Deserialize)]
struct Capture<'a> {
    cik: Value,
    #[serde(rename = "entityName", borrow)]
    entity_name: &'a RawValue,
    #[serde(borrow)]
    facts: &'a RawValue,
}

type Concepts<'a> = BTreeMap<String, BTreeMap<String, &'a RawValue>>;

impl Site {
    pub fn read(agency: &Path) -> Self {
        let facts = fact_members(agency);
        let submissions = texts(&agency.join("submissions"));
        let companies: BTreeSet<u64> = facts
            .keys()
            .chain(submissions.keys())
            .map(|name| name[3..13].parse().unwrap())
            .collect();
        let index = std::fs::read_to_string(agency.join("feeds/xbrl.idx")).unwrap();
        let is_kept = |line: &&str| {
            let cik = line.split_once('|').and_then(|(cik, _)| cik.parse().ok());
            cik.is_none_or(|cik| companies.contains(&cik))
        };
        let index = index.split_inclusive('\n').filter(is_kept).collect();
        let tickers = [
            "company_tickers.json",
            "company_tickers_exchange.json",
            "company_tickers_mf.json",
        ];
        let cut = |name: &str| {
            (
                name.to_owned(),
                cut_tickers(
                    &std::fs::read_to_string(agency.join("tickers").join(name)).unwrap(),
                    &companies,
                ),
            )
        };
        Self {
            facts,
            submissions,
            index,
            tickers: tickers.map(cut).into(),
        }
    }

    /// Writes the files to their paths on the agency's site.
    pub fn lay_out(&self, mirror: &Path) {
        let put = |url: &str, bytes: &[u8]| {
            let path = mirror.join(url);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        put(".pubdata-mirror", b"sample = true\n");
        put(
            "www.sec.gov/Archives/edgar/daily-index/xbrl/companyfacts.zip",
            &packed(&self.facts),
        );
        put(
            "www.sec.gov/Archives/edgar/daily-index/bulkdata/submissions.zip",
            &packed(&self.submissions),
        );
        put(
            "www.sec.gov/Archives/edgar/full-index/2023/QTR1/xbrl.idx",
            self.index.as_bytes(),
        );
        for (name, text) in &self.tickers {
            put(&format!("www.sec.gov/files/{name}"), text.as_bytes());
        }
    }
}

/// Members by name: complete ones as published, else the contents of reduced captures in the
/// wrapping of a member, with every fact as captured.
fn fact_members(agency: &Path) -> BTreeMap<String, String> {
    let mut members: BTreeMap<String, String> = BTreeMap::new();
    for text in texts(&agency.join("companyfacts_reduced18"))
        .values()
        .chain(texts(&agency.join("companyfacts_reduced")).values())
    {
        let capture: Capture<'_> = serde_json::from_str(text).unwrap();
        let cik: u64 = capture
            .cik
            .as_str()
            .map_or_else(|| capture.cik.as_u64().unwrap(), |cik| cik.parse().unwrap());
        let name = format!("CIK{cik:010}.json");
        // The first captures have the complete history of their concepts. If two captures of a
        // company share a concept, the first one is kept.
        let facts = members.get(&name).map_or_else(
            || capture.facts.get().to_owned(),
            |known| merged(capture.facts, known),
        );
        members.insert(
            name,
            format!(
                r#"{{"cik":{cik},"entityName":{},"facts":{facts}}}"#,
                capture.entity_name
            ),
        );
    }
    members.extend(texts(&agency.join("companyfacts")));
    members
}

/// Merges the concepts of both; a concept in both is taken from the member.
fn merged(facts: &RawValue, member: &str) -> String {
    let member: Capture<'_> = serde_json::from_str(member).unwrap();
    let mut merged: Concepts<'_> = serde_json::from_str(facts.get()).unwrap();
    for (taxonomy, concepts) in serde_json::from_str::<Concepts<'_>>(member.facts.get()).unwrap() {
        merged.entry(taxonomy).or_default().extend(concepts);
    }
    serde_json::to_string(&merged).unwrap()
}

/// Removes other companies from a list of tickers. The list has either entries by number or rows of
/// cells, the CIK first.
fn cut_tickers(text: &str, companies: &BTreeSet<u64>) -> String {
    let is_kept = |cik: &Value| companies.contains(&cik.as_u64().unwrap());
    let mut list: Value = serde_json::from_str(text).unwrap();
    match list.get_mut("data") {
        Some(rows) => rows.as_array_mut().unwrap().retain(|row| is_kept(&row[0])),
        None => list
            .as_object_mut()
            .unwrap()
            .retain(|_, entry| is_kept(&entry["cik_str"])),
    }
    list.to_string()
}

/// Files of a folder by name.
fn texts(folder: &Path) -> BTreeMap<String, String> {
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    files_below(folder)
        .into_iter()
        .map(|path| (name(&path), std::fs::read_to_string(&path).unwrap()))
        .collect()
}
