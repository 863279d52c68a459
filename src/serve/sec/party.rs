//! Defines a party of a filing.

use schemars::JsonSchema;
use serde::Serialize;

use super::registrants::Registrants;

/// A party of a filing, from the source or from the release's data about the registrant.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FilingEntity")]
pub struct Party<'a> {
    /// The party's CIK: ten digits, with leading zeros.
    #[schemars(extend("$field" = "sec.registrant/cik"))]
    pub cik: String,
    /// Conformed name of the registrant; null if it is not published.
    pub name: Option<&'a str>,
    /// Role of the party; always null, because the source does not publish roles.
    #[schemars(with = "()")]
    pub role: Option<&'a str>,
    /// The registrant's first current ticker symbol; null if it has none.
    pub ticker: Option<&'a str>,
    /// Standard Industrial Classification code of the registrant, four digits; null if the SEC
    /// assigns none.
    pub sic: Option<&'a str>,
    /// The SEC's code for the state or country of the registrant's business address; null if it is
    /// not published.
    pub state: Option<&'a str>,
}

impl<'a> Party<'a> {
    /// Builds a party from the release's data about a registrant.
    pub fn new(cik: String, known: Option<(&'a Registrants, usize)>) -> Self {
        let (name, ticker, sic, state) =
            known.map_or((None, None, None, None), |(registrants, row)| {
                (
                    registrants.name(row),
                    registrants.tickers(row).next(),
                    registrants.sic(row),
                    registrants.state(row),
                )
            });
        Self {
            cik,
            name,
            role: None,
            ticker,
            sic,
            state,
        }
    }
}
