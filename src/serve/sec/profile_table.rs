//! Reads registrant rows for profiles. [`Registrants`](super::registrants::Registrants) holds the
//! names and tickers of all registrants, because searches need them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Date;
use crate::release::row::{Columns, row};
use crate::release::row_cells::Texts;
use crate::release::rows::{Dataset, Record};
use crate::sec::registrants::UNKNOWN;

/// Dataset of registrants.
#[derive(Debug)]
pub struct Registrant;

impl Registrant {
    const ALL: &'static Columns = &CompanyFields::COLUMNS
        .and(&[
            "record_id",
            "former_names",
            "former_names_from",
            "former_names_to",
            "tickers",
            "exchanges",
            "fund_symbols",
            "fund_series",
            "fund_classes",
            "is_address_withheld",
            "missing_filings",
            "validation_status",
        ])
        .and(&ANNUAL)
        .and(&QUARTERLY);
}

/// Columns that contain the number of reports of a kind, and the first and last filing date.
const ANNUAL: [&str; 3] = ["annual_filings", "annual_first_filed", "annual_last_filed"];
const QUARTERLY: [&str; 3] = [
    "quarterly_filings",
    "quarterly_first_filed",
    "quarterly_last_filed",
];

impl Dataset for Registrant {
    const ID: &'static str = "sec.registrant";
    const KEY: &'static str = "cik";
    const COLUMNS: &'static [&'static str] = Self::ALL.names();
}

row! {
    pub struct CompanyFields<'a> of Registrant {
        /// The registrant's CIK: ten digits, with leading zeros.
        cik: &'a str,
        /// Conformed name of the registrant; null if it is not published.
        name: Option<&'a str>,
        /// Former names of the registrant, newest first.
        former_names: Vec<FormerName<'a>> = Vec::new(),
        /// Current tickers, in the order of the SEC's list.
        tickers: Vec<Ticker<'a>> = Vec::new(),
        /// Share classes of a fund.
        fund_classes: Vec<FundClass<'a>> = Vec::new(),
        entity_type: Option<&'a str>,
        filer_category: Option<&'a str>,
        filer_statuses: Texts<'a>,
        sic: Option<&'a str>,
        sic_description: Option<&'a str>,
        fiscal_year_end: Option<&'a str>,
        state_of_incorporation: Option<&'a str>,
        state_of_incorporation_name: Option<&'a str>,
        lei: Option<&'a str>,
        /// Business address of the registrant; null if it is not published.
        business_address: Option<BusinessAddress<'a>>,
        /// URL of the registrant's website; null if the SEC publishes none.
        website: Option<&'a str>,
        /// URL of the registrant's investor pages; null if the SEC publishes none.
        investor_website: Option<&'a str>,
    }
}

row! {
    #[schemars(rename = "CompanyBusinessAddress")]
    pub struct BusinessAddress<'a> of Registrant {
        /// First street line; null if it is not published or may be a person's.
        #[serde(rename = "street_1")]
        business_street_1: Option<&'a str>,
        /// Second street line; null if there is none or it may be a person's.
        #[serde(rename = "street_2")]
        business_street_2: Option<&'a str>,
        /// City; null if it is not published or may be a person's.
        #[serde(rename = "city")]
        business_city: Option<&'a str>,
        /// The SEC's code for the state or country; null if it is not published.
        #[serde(rename = "state_or_country")]
        business_state_or_country: Option<&'a str>,
        /// Name of the state or country; null if it is not published.
        #[serde(rename = "state_or_country_name")]
        business_state_or_country_name: Option<&'a str>,
        /// Postal code; null if it is not published or may be a person's.
        #[serde(rename = "postal_code")]
        business_postal_code: Option<&'a str>,
        /// Country of a foreign address; null if it is not published separately from
        /// `state_or_country`.
        #[serde(rename = "country")]
        business_country: Option<&'a str>,
        /// The SEC's code for `country`; null if it is not published separately from
        /// `state_or_country`.
        #[serde(rename = "country_code")]
        business_country_code: Option<&'a str>,
    }
}

/// Number of periodic reports of each kind.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CompanyFilings")]
pub struct ReportCounts {
    /// Annual reports: 10-K, 10-KT and their amendments.
    annual: ReportCount,
    /// Quarterly reports: 10-Q, 10-QT and their amendments.
    quarterly: ReportCount,
}

#[derive(Serialize, JsonSchema)]
struct ReportCount {
    /// Number of reports of this kind.
    count: i64,
    /// Date on which the first report was filed, YYYY-MM-DD; null if there is no report.
    first_filed: Option<Date>,
    /// Date on which the last report was filed, YYYY-MM-DD; null if there is no report.
    last_filed: Option<Date>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "CompanyFormerName")]
pub struct FormerName<'a> {
    /// Earlier name of the company, as the SEC publishes it.
    name: &'a str,
    /// First day on which the name was used, YYYY-MM-DD; null if the SEC does not state it.
    from: Option<&'a str>,
    /// Last day on which the name was used, YYYY-MM-DD; null if the SEC does not state it.
    to: Option<&'a str>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "CompanyTicker")]
pub struct Ticker<'a> {
    /// Current ticker symbol of the company.
    ticker: &'a str,
    /// Exchange on which the ticker is listed; null if it is not published.
    exchange: Option<&'a str>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "CompanyFundClass")]
pub struct FundClass<'a> {
    /// Ticker symbol of the share class.
    symbol: &'a str,
    /// SEC identifier of the fund series, such as `S000009184`.
    series_id: &'a str,
    /// SEC identifier of the share class, such as `C000024954`.
    class_id: &'a str,
}

/// Returns the columns of a registrant that the profile shows.
pub fn shown<'a>(record: &'a Record<'_, Registrant>) -> CompanyFields<'a> {
    let zipped = |lists: [&str; 3]| {
        let [first, second, third] = lists.map(|list| record.texts(list).into_iter());
        first.zip(second.zip(third))
    };
    let former_names = zipped(["former_names", "former_names_from", "former_names_to"]);
    let fund_classes = zipped(["fund_symbols", "fund_series", "fund_classes"]);
    let tickers = record
        .texts("tickers")
        .into_iter()
        .zip(record.texts("exchanges"));
    CompanyFields {
        former_names: former_names
            .map(|(name, (from, to))| FormerName {
                name,
                from: known(from),
                to: known(to),
            })
            .collect(),
        tickers: tickers
            .map(|(ticker, exchange)| Ticker {
                ticker,
                exchange: known(exchange),
            })
            .collect(),
        fund_classes: fund_classes
            .map(|(symbol, (series_id, class_id))| FundClass {
                symbol,
                series_id,
                class_id,
            })
            .collect(),
        ..CompanyFields::from_record(record)
    }
}

impl ReportCounts {
    pub fn from_record(record: &Record<'_, Registrant>) -> Self {
        let count = |[count, first, last]: [&str; 3]| ReportCount {
            count: record.long_integer(count).unwrap_or_default(),
            first_filed: record.day(first).map(Date),
            last_filed: record.day(last).map(Date),
        };
        Self {
            annual: count(ANNUAL),
            quarterly: count(QUARTERLY),
        }
    }
}

fn known(text: &str) -> Option<&str> {
    Some(text).filter(|text| *text != UNKNOWN)
}
