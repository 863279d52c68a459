//! Finds registrants by ticker, and checks names in requests.

use super::registrants::Registrants;
use crate::http::meta::Meta;
use crate::http::problem::{Code, Problem, Result};

/// Returns the rows for each ticker in a list, in the order of the list. Adds notices that tickers
/// are current, and about unknown tickers.
pub fn with_tickers(
    registrants: &Registrants,
    tickers: &[&str],
    meta: &mut Meta,
) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut unknown = Vec::new();
    for ticker in tickers {
        let rows: Vec<usize> = registrants
            .with_ticker(ticker)
            .filter(|row| !found.iter().flatten().any(|known| known == row))
            .collect();
        if registrants.with_ticker(ticker).next().is_none() {
            unknown.push(ticker.trim().to_ascii_uppercase());
        }
        found.push(rows);
    }
    meta.notice(
        "TICKER_IS_CURRENT",
        "Tickers are current: a former ticker matches no company, and a reassigned ticker matches its current company.",
    );
    if !unknown.is_empty() {
        meta.notice(
            "TICKER_UNKNOWN",
            format!(
                "no registrant currently has the ticker {}; search for delisted companies by name",
                unknown.join(", ")
            ),
        );
    }
    found
}

/// Checks that at most one of several mutually exclusive parameters is given; the error names the
/// second parameter.
pub fn check_alternatives(
    parameters: &[(&'static str, bool)],
    message: &'static str,
) -> Result<()> {
    match parameters.iter().filter(|(_, is_given)| *is_given).nth(1) {
        Some((second, _)) => Err(Problem::of_field(Code::InvalidParameter, second, message)),
        None => Ok(()),
    }
}

/// Checks a name in a request: not blank, at most 120 characters, one line.
pub fn check_name(field: &'static str, text: &str) -> Result<()> {
    let is_line_end = |c: char| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
    if text.trim().is_empty() || text.chars().count() > 120 || text.contains(is_line_end) {
        let message = format!("`{field}`: expected one line of 1 to 120 characters");
        return Err(Problem::of_field(Code::InvalidParameter, field, message));
    }
    Ok(())
}
