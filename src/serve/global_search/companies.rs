//! Searches companies by CIK, ticker or name, and filings by accession number.

use super::hit::{EXACT, FEW, Found, Hit, Matched, joined, path};
use super::query::SearchQuery;
use crate::http::endpoint::Call;
use crate::http::meta::Notice;
use crate::http::problem::Result;
use crate::sec::registrants::Registrants;
use crate::sec::tables::{FILINGS, REGISTRANTS, SecTables};
use pubdata_core::ids::{AccessionNumber, Cik};

/// Finds companies and filings.
pub async fn find(call: &Call<'_>, query: &SearchQuery<'_>, found: &mut Found) -> Result<()> {
    let tables = SecTables::from_release(call.release);
    if let Some(registrants) = found.searches(REGISTRANTS, tables.registrants.as_deref()) {
        add_companies(found, registrants, query);
    }
    if let Ok(accession) = query.text.parse::<AccessionNumber>() {
        found.read_as("filing", query.text);
        add_filing(call, found, accession).await?;
    }
    Ok(())
}

/// Parses a CIK with or without the letters `CIK`.
fn cik_of(text: &str) -> Option<Cik> {
    let digits = text
        .get(..3)
        .filter(|head| head.eq_ignore_ascii_case("cik"))
        .map_or(text, |_| text[3..].trim_start());
    digits.parse().ok()
}

fn add_companies(found: &mut Found, registrants: &Registrants, query: &SearchQuery<'_>) {
    if let Some(cik) = cik_of(query.text) {
        found.read_as("cik", &cik.to_string());
        if let Some(row) = registrants.find(cik) {
            found.add(company(registrants, row, EXACT, "cik"));
        }
    }
    if registrants.with_ticker(query.text).next().is_some() {
        found.read_as("ticker", &query.text.to_ascii_uppercase());
    }
    if query.is_number() {
        return;
    }
    let (named, _) = registrants.search(query.text, FEW);
    for hit in named.iter().take(FEW) {
        found.add(company(
            registrants,
            hit.row as usize,
            hit.matched.score(),
            hit.matched.name(),
        ));
    }
}

fn company(registrants: &Registrants, row: usize, score: i32, label: &'static str) -> Hit {
    let cik = registrants.cik(row).to_string();
    let tickers = registrants.tickers(row).collect::<Vec<_>>().join(", ");
    Hit {
        kind: "company",
        title: registrants.name(row).unwrap_or(&cik).to_owned(),
        subtitle: joined([
            Some("registrant"),
            Some(tickers.as_str()),
            registrants.sic_description(row),
            registrants.state(row),
        ]),
        path: path("/v1/sec/companies/", &cik),
        page: path("/company/", &cik),
        record_id: Some(format!("{REGISTRANTS}:{cik}")),
        id: cik,
        matched: Matched::new(score, label),
    }
}

/// Finds a filing whose accession number starts with its registrant's CIK. Other accession numbers
/// do not identify the registrant.
async fn add_filing(call: &Call<'_>, found: &mut Found, accession: AccessionNumber) -> Result<()> {
    let tables = SecTables::from_release(call.release);
    let number = accession.to_string();
    let own = number[..10].parse::<Cik>().ok();
    let bucket = match own {
        Some(cik) if !tables.filings.is_empty() => tables.filings.about(call.reader(), cik).await?,
        _ => None,
    };
    let row = own.zip(bucket.as_ref()).and_then(|(cik, bucket)| {
        bucket
            .table
            .rows(cik)
            .find(|row| bucket.table.accession_number.at(*row) == number)
    });
    let Some(((cik, bucket), row)) = own.zip(bucket.as_ref()).zip(row) else {
        found.notices.push(Notice {
            code: "FILING_NOT_FOUND",
            message: "this search finds a filing only if its accession number begins with its registrant's CIK; for a filing by an agent, see the company's list of filings".into(),
        });
        return Ok(());
    };
    found.datasets.push(FILINGS);
    let company = tables
        .registrants
        .as_ref()
        .and_then(|registrants| registrants.name(registrants.find(cik)?).map(str::to_owned));
    let record_id = format!("{FILINGS}:{cik}:{number}");
    found.add(Hit {
        kind: "filing",
        title: joined([Some(bucket.table.form.at(row)), company.as_deref()]),
        subtitle: joined([Some("filing"), Some(number.as_str())]),
        path: path("/v1/provenance/", &record_id),
        page: path("/filing/", &number),
        id: number,
        matched: Matched::new(EXACT, "accession_number"),
        record_id: Some(record_id),
    });
    Ok(())
}
