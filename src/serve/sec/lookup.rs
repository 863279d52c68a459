//! Finds registrants by what a request names: tickers, and names that are checked first.

use super::registrants::Registrants;
use crate::http::meta::Meta;
use crate::http::problem::{Code, Problem, Result};

/// The most tickers of one request.
const MAX_TICKERS: usize = 20;

/// The rows of each ticker of a comma list, in its order. Notes that tickers are of today, and which are unknown.
///
/// # Errors
/// `invalid_parameter`, when the list is too long, or an item is empty.
pub fn with_tickers(registrants: &Registrants, list: &str, meta: &mut Meta) -> Result<Vec<Vec<usize>>> {
    let tickers: Vec<&str> = list.split(',').collect();
    if tickers.len() > MAX_TICKERS || tickers.iter().any(|ticker| ticker.trim().is_empty()) {
        return Err(Problem::of_field(Code::InvalidParameter, "ticker", format!("`ticker`: expected 1 to {MAX_TICKERS} tickers with commas between them")));
    }
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut unknown = Vec::new();
    for ticker in tickers {
        let rows: Vec<usize> = registrants.with_ticker(ticker).filter(|row| !found.iter().flatten().any(|known| known == row)).collect();
        if registrants.with_ticker(ticker).next().is_none() {
            unknown.push(ticker.trim().to_ascii_uppercase());
        }
        found.push(rows);
    }
    meta.notice(
        "TICKER_IS_CURRENT",
        "Tickers are those of today: a former ticker finds nobody, and a ticker that was given to another company finds that one.",
    );
    if !unknown.is_empty() {
        meta.notice("TICKER_UNKNOWN", format!("no registrant has the ticker {} today; delisted companies are found by name", unknown.join(", ")));
    }
    Ok(found)
}

/// Checks a name that is looked for.
///
/// # Errors
/// `invalid_parameter`, when it is blank, longer than 120 characters or more than one line.
pub fn check_name(field: &'static str, text: &str) -> Result<()> {
    let is_line_end = |c: char| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
    if text.trim().is_empty() || text.chars().count() > 120 || text.contains(is_line_end) {
        let message = format!("`{field}`: expected one line of 1 to 120 characters");
        return Err(Problem::of_field(Code::InvalidParameter, field, message));
    }
    Ok(())
}
