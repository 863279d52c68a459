//! Reads a registrant's periodic reports from its submissions member and older pages, and parses
//! the names of these members. Omits unreadable rows, because `sec.filing` quarantines them.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;

use super::fact::Form;
use super::json::Text;
use crate::datasets::SourceDocument;
use crate::normalise::Day;
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::{AccessionNumber, Cik};

/// Fields of a registrant's filing that the selection of figures needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filing {
    pub accession: AccessionNumber,
    pub form: Form,
    pub filed: Day,
    /// `acceptanceDateTime` as published. Used only to order filings with the same filing date.
    pub accepted_at: Option<String>,
    /// Period of report, which is the end of the filing's own period. Blank for some forms.
    pub report_date: Option<Day>,
}

/// Indexes documents by CIK. Each document is about one registrant, and the CIK is in its URL's
/// variable.
///
/// # Errors
/// `Format` if a document's URL does not have this variable.
pub fn by_cik(documents: Vec<SourceDocument>) -> Result<BTreeMap<Cik, SourceDocument>> {
    let keyed = |document: SourceDocument| {
        let cik = document
            .snapshot
            .keys
            .get("cik")
            .and_then(|cik| cik.parse().ok());
        Ok((
            cik.ok_or_else(|| {
                Error::format(format!("{} is about no registrant", document.snapshot.url))
            })?,
            document,
        ))
    };
    documents.into_iter().map(keyed).collect()
}

/// Reads the periodic reports (10-K and 10-Q, with their transition reports and amendments) from a
/// registrant's submissions member and its older pages.
///
/// # Shape
/// One filing per accession number, in the order of the member, followed by the pages. Omits rows
/// without a readable accession number or filing date, because `sec.filing` quarantines them.
///
/// # Errors
/// `Format` if the member or a page does not have the expected layout: it is not JSON, or its
/// parallel arrays differ in length.
pub fn periodic_filings(member: &[u8], pages: &[&[u8]]) -> Result<Vec<Filing>> {
    #[derive(Deserialize)]
    struct Member<'m> {
        #[serde(borrow)]
        filings: Filings<'m>,
    }
    #[derive(Deserialize)]
    struct Filings<'m> {
        #[serde(borrow)]
        recent: Periodic<'m>,
    }
    let mut filings = Vec::new();
    let member: Member<'_> = serde_json::from_slice(member).map_err(not_as_declared)?;
    member
        .filings
        .recent
        .push_to(&mut filings)
        .context(|| "filings.recent".to_owned())?;
    for (number, page) in pages.iter().enumerate() {
        let page: Periodic<'_> = serde_json::from_slice(page)
            .map_err(not_as_declared)
            .context(|| format!("page {}", number + 1))?;
        page.push_to(&mut filings)
            .context(|| format!("page {}", number + 1))?;
    }
    let mut seen = HashSet::with_capacity(filings.len());
    filings.retain(|filing| seen.insert(filing.accession));
    Ok(filings)
}

#[expect(clippy::needless_pass_by_value, reason = "the form `map_err` wants")]
fn not_as_declared(error: serde_json::Error) -> Error {
    Error::format(error.to_string())
}

/// Arrays in a member or page that identify periodic reports and their periods.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Periodic<'m> {
    #[serde(borrow)]
    accession_number: Vec<Text<'m>>,
    #[serde(borrow)]
    filing_date: Vec<Text<'m>>,
    #[serde(borrow)]
    report_date: Vec<Text<'m>>,
    #[serde(borrow)]
    acceptance_date_time: Vec<Text<'m>>,
    #[serde(borrow)]
    form: Vec<Text<'m>>,
}

impl Periodic<'_> {
    fn push_to(&self, filings: &mut Vec<Filing>) -> Result<()> {
        let count = self.accession_number.len();
        if [
            &self.filing_date,
            &self.report_date,
            &self.acceptance_date_time,
            &self.form,
        ]
        .iter()
        .any(|array| array.len() != count)
        {
            return Err(Error::format("the parallel arrays differ in length"));
        }
        for row in 0..count {
            let form = Form::from_text(self.form[row].as_str().trim().as_bytes());
            let accession =
                AccessionNumber::from_bytes(self.accession_number[row].as_str().as_bytes());
            let filed = Day::from_iso(self.filing_date[row].as_str().as_bytes());
            if let (Some(accession), Some(filed)) = (accession, filed)
                && form != Form::Other
            {
                let report_date = Day::from_iso(self.report_date[row].as_str().as_bytes());
                let accepted_at = self.acceptance_date_time[row].given().map(str::to_owned);
                filings.push(Filing {
                    accession,
                    form,
                    filed,
                    accepted_at,
                    report_date,
                });
            }
        }
        Ok(())
    }
}

/// Kind of a member in the submissions archive, determined by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubmissionsMember {
    pub cik: Cik,
    /// Page number. Page 0 is the registrant's own member, `CIK0000320193.json`; page 1 is
    /// `CIK0000320193-submissions-001.json`.
    pub page: u16,
}

impl SubmissionsMember {
    /// Parses a member's name. Returns `None` for any other name.
    pub fn of_name(name: &str) -> Option<Self> {
        let (cik, rest) = name.strip_prefix("CIK")?.split_at_checked(10)?;
        let cik = cik.parse().ok()?;
        let page = match rest {
            ".json" => 0,
            _ => rest
                .strip_prefix("-submissions-")?
                .strip_suffix(".json")?
                .parse()
                .ok()
                .filter(|page| *page > 0)?,
        };
        Some(Self { cik, page })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(recent: &str) -> String {
        format!(
            r#"{{"cik":"0000320193","name":"Apple Inc.","filings":{{"recent":{recent},"files":[]}}}}"#
        )
    }

    const RECENT: &str = r#"{"accessionNumber":["0000320193-25-000079","0001140361-25-040000","0000320193-25-000073"],"filingDate":["2025-10-31","2025-10-30","2025-08-01"],"reportDate":["2025-09-27","","2025-06-28"],"acceptanceDateTime":["2025-10-31T10:01:26.000Z","2025-10-30T20:30:32.000Z",""],"form":["10-K","4","10-Q"],"size":[1,2,3]}"#;
    const PAGE: &str = r#"{"accessionNumber":["0001193125-10-012091","0000320193-25-000073"],"filingDate":["2010-01-25","2025-08-01"],"reportDate":["2009-09-26","2025-06-28"],"acceptanceDateTime":["2010-01-25T16:46:45.000Z",""],"form":["10-K/A","10-Q"]}"#;

    #[test]
    fn periodic_reports_are_read_from_member_and_pages_once() {
        let filings = periodic_filings(member(RECENT).as_bytes(), &[PAGE.as_bytes()]).unwrap();
        let short: Vec<String> = filings
            .iter()
            .map(|filing| format!("{} {:?} {}", filing.accession, filing.form, filing.filed))
            .collect();
        assert_eq!(
            short,
            [
                "0000320193-25-000079 TenK 2025-10-31",
                "0000320193-25-000073 TenQ 2025-08-01",
                "0001193125-10-012091 TenKA 2010-01-25"
            ]
        );
        assert_eq!(filings[0].report_date.unwrap().to_string(), "2025-09-27");
        assert_eq!(
            (
                filings[0].accepted_at.as_deref(),
                filings[1].accepted_at.as_deref()
            ),
            (Some("2025-10-31T10:01:26.000Z"), None)
        );
    }

    #[test]
    fn arrays_of_unequal_length_are_refused() {
        let shorter = RECENT.replace(r#""4","#, "");
        let error = periodic_filings(member(&shorter).as_bytes(), &[])
            .unwrap_err()
            .to_string();
        assert!(error.contains("differ in length"), "{error}");
        assert!(periodic_filings(b"<html>", &[]).is_err());
    }

    #[test]
    fn members_are_known_by_their_names() {
        let read = |name| {
            SubmissionsMember::of_name(name).map(|member| (member.cik.number(), member.page))
        };
        assert_eq!(read("CIK0000320193.json"), Some((320_193, 0)));
        assert_eq!(
            read("CIK0000320193-submissions-012.json"),
            Some((320_193, 12))
        );
        for wrong in [
            "CIK320193.json",
            "CIK0000320193.txt",
            "CIK0000320193-submissions-000.json",
            "CIK0000320193-facts-001.json",
            "placeholder.txt",
            "CIKé000320193.json",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
