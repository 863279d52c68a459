//! Builds the rows of `sec.registrant`, one per registrant, from the registrant's own member, the
//! ticker lists and the indexes. Withholds street, city and postal code if they may be a person's.

use polars::prelude::*;

use super::member::{Address, Head};
use super::tickers::Tickers;
use super::{REGISTRANT, registrant_record};
use crate::datasets::context::finding;
use crate::datasets::sec::fact::Form;
use crate::datasets::sec::json::Text;
use crate::normalise::{Day, pointer_column};
use pubdata_core::error::Result;
use pubdata_core::ids::Cik;
use pubdata_core::issue::{Issue, Severity};

/// Entry that replaces a missing value in a list, to keep parallel lists aligned.
const UNKNOWN: &str = "unknown";

/// Number of filings in a family of forms, with the first and last filing date.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Span {
    count: i64,
    first: Option<Day>,
    last: Option<Day>,
}

/// Counts of a registrant's filings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Activity {
    all: Span,
    annual: Span,
    quarterly: Span,
    /// Number of pages with older filings that the member names but the archive does not contain.
    /// The next field is the number of filings on these pages.
    pub(super) missing_pages: i64,
    pub(super) missing_filings: i64,
}

impl Span {
    fn add(&mut self, filed: Day) {
        self.count += 1;
        self.first = Some(self.first.map_or(filed, |day| day.min(filed)));
        self.last = Some(self.last.map_or(filed, |day| day.max(filed)));
    }
}

impl Activity {
    /// Counts a filing.
    pub(super) fn add(&mut self, form: &str, filed: Day) {
        let form = Form::from_text(form.as_bytes());
        self.all.add(filed);
        if form.is_annual() {
            self.annual.add(filed);
        }
        if form.is_quarterly() {
            self.quarterly.add(filed);
        }
    }
}

/// Source data for one registrant.
pub(super) struct Registrant<'m> {
    pub(super) cik: Cik,
    /// The registrant's own member; `None` if the archive does not contain it.
    pub(super) head: Option<&'m Head<'m>>,
    pub(super) tickers: Option<&'m Tickers>,
    pub(super) index_name: Option<&'m str>,
    pub(super) activity: Activity,
    pub(super) pointers: Vec<u64>,
}

/// A registrant's ticker, and the sources that contain it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ticker<'m> {
    symbol: &'m str,
    exchange: Option<&'m str>,
    is_in_lists: bool,
    is_in_member: bool,
}

impl Registrant<'_> {
    /// Returns the tickers from the lists in list order, followed by those found only in the
    /// registrant's own member. The exchange in the list takes precedence over the one in the
    /// member.
    fn tickers(&self) -> Vec<Ticker<'_>> {
        let mut tickers: Vec<Ticker<'_>> = Vec::new();
        for listed in self
            .tickers
            .iter()
            .flat_map(|tickers| tickers.listed.iter().chain(&tickers.plain))
        {
            match tickers
                .iter_mut()
                .find(|ticker| ticker.symbol == listed.ticker)
            {
                Some(ticker) => ticker.exchange = ticker.exchange.or(listed.exchange.as_deref()),
                None => tickers.push(Ticker {
                    symbol: &listed.ticker,
                    exchange: listed.exchange.as_deref(),
                    is_in_lists: true,
                    is_in_member: false,
                }),
            }
        }
        let Some(head) = self.head else {
            return tickers;
        };
        let exchanges = head.exchanges.as_deref().unwrap_or_default();
        for (place, symbol) in head.tickers.iter().flatten().enumerate() {
            let Some(symbol) = symbol.given() else {
                continue;
            };
            let exchange = exchanges.get(place).and_then(Text::given);
            match tickers.iter_mut().find(|ticker| ticker.symbol == symbol) {
                Some(ticker) => {
                    ticker.exchange = ticker.exchange.or(exchange);
                    ticker.is_in_member = true;
                }
                None => tickers.push(Ticker {
                    symbol,
                    exchange,
                    is_in_lists: false,
                    is_in_member: true,
                }),
            }
        }
        tickers
    }

    /// Returns the name and its source. Never uses an entity name from companyfacts, which may be a
    /// co-registrant's.
    fn name(&self) -> (Option<&str>, &'static str) {
        let own = self
            .head
            .and_then(|head| head.name.as_ref())
            .and_then(Text::given);
        let of_lists = || {
            self.tickers
                .and_then(Tickers::name)
                .map(|name| (Some(name), "tickers"))
        };
        let of_index = || self.index_name.map(|name| (Some(name), "full_index"));
        own.map(|name| (Some(name), "submissions"))
            .or_else(of_lists)
            .or_else(of_index)
            .unwrap_or((None, "none"))
    }
}

/// Returns true if the business address may be a person's. This applies to an `other` filer that
/// owns securities and is not an issuer, or has no industry code. It also withholds addresses of
/// funds, banks and companies until the SEC classifies them. Never applies to listed companies.
fn is_address_withheld(head: &Head<'_>, has_tickers: bool) -> bool {
    let is_other = head
        .entity_type
        .as_ref()
        .and_then(Text::given)
        .is_none_or(|entity_type| entity_type == "other");
    let has_industry = head.sic.as_ref().and_then(Text::given).is_some();
    let is_owner_only = head.is_insider_owner == Some(1) && head.is_insider_issuer != Some(1);
    is_other && !has_tickers && (!has_industry || is_owner_only)
}

/// Replaces every run of blanks, including no-break spaces, with a single space.
fn normalized(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Converts `0926` to `09-26`. Returns `None` for text that is not a possible date in any year.
fn month_and_day(text: &str) -> Option<String> {
    let (month, day) = text.split_at_checked(2)?;
    // 2000 was a leap year, so it contains every possible day.
    Day::from_iso(format!("2000-{month}-{day}").as_bytes()).map(|_| format!("{month}-{day}"))
}

/// Collects the rows of `sec.registrant`.
pub(super) struct RegistrantTable {
    bucket: String,
    texts: Vec<StringChunkedBuilder>,
    lists: [ListStringChunkedBuilder; LIST_COLUMNS.len()],
    is_address_withheld: Vec<bool>,
    has_submissions: Vec<bool>,
    activity: Vec<Activity>,
    pointers: Vec<Vec<u64>>,
}

/// Text columns, in the order in which rows are pushed.
const TEXT_COLUMNS: [&str; 23] = [
    "record_id",
    "cik",
    "name",
    "name_source",
    "name_published",
    "entity_type",
    "filer_category",
    "sic",
    "sic_description",
    "fiscal_year_end",
    "state_of_incorporation",
    "state_of_incorporation_name",
    "business_street_1",
    "business_street_2",
    "business_city",
    "business_state_or_country",
    "business_state_or_country_name",
    "business_postal_code",
    "business_country",
    "business_country_code",
    "website",
    "investor_website",
    "lei",
];

/// List columns, in the order in which rows are pushed.
const LIST_COLUMNS: [&str; 9] = [
    "former_names",
    "former_names_from",
    "former_names_to",
    "tickers",
    "exchanges",
    "fund_symbols",
    "fund_series",
    "fund_classes",
    "filer_statuses",
];

impl RegistrantTable {
    /// Creates an empty table; `bucket` is the value of the partition column.
    pub(super) fn new(bucket: &str) -> Self {
        let texts = TEXT_COLUMNS
            .iter()
            .map(|name| StringChunkedBuilder::new((*name).into(), 1024))
            .collect();
        Self {
            bucket: bucket.to_owned(),
            texts,
            lists: LIST_COLUMNS.map(|name| ListStringChunkedBuilder::new(name.into(), 1024, 0)),
            is_address_withheld: Vec::new(),
            has_submissions: Vec::new(),
            activity: Vec::new(),
            pointers: Vec::new(),
        }
    }

    /// Adds one registrant's row.
    ///
    /// # Issues
    /// Only warnings: `ticker_lists_differ`, `pages_missing`, and `bad_value` for a value that is
    /// published as null.
    pub(super) fn push(&mut self, registrant: Registrant<'_>, issues: &mut Vec<Issue>) {
        let cik = registrant.cik;
        let record_id = registrant_record(cik);
        let mut warn = |code: &str, detail: String| {
            issues.push(finding(
                code,
                Severity::Warning,
                REGISTRANT,
                &record_id,
                detail,
            ));
        };
        let (name, name_source) = registrant.name();
        let normalized_name = name.map(normalized);
        let name_published = name.filter(|name| Some(*name) != normalized_name.as_deref());
        let tickers = registrant.tickers();
        warn_of_tickers(
            &tickers,
            registrant.head.is_some() && registrant.tickers.is_some(),
            &mut warn,
        );
        if registrant.activity.missing_pages > 0 {
            let Activity {
                missing_pages,
                missing_filings,
                ..
            } = registrant.activity;
            warn(
                "pages_missing",
                format!(
                    "{missing_pages} pages with {missing_filings} older filings are named and not in the archive"
                ),
            );
        }
        let empty = Head::default();
        let head = registrant.head.unwrap_or(&empty);
        let is_withheld =
            registrant.head.is_some() && is_address_withheld(head, !tickers.is_empty());
        let fiscal_year_end = checked(
            head.fiscal_year_end.as_ref(),
            "fiscalYearEnd",
            "a month and a day",
            month_and_day,
            &mut warn,
        );
        let is_sic = |text: &str| {
            (text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| text.to_owned())
        };
        let sic = checked(head.sic.as_ref(), "sic", "four digits", is_sic, &mut warn);
        let former_names = former_names(head, &mut warn);
        let (filer_category, filer_statuses) = filer_category(head);
        let no_address = Address::default();
        let address = head
            .addresses
            .as_ref()
            .and_then(|addresses| addresses.business.as_ref())
            .unwrap_or(&no_address);
        let precise = |text: &'_ Option<Text<'_>>| {
            if is_withheld {
                None
            } else {
                given(text).map(str::to_owned)
            }
        };
        let classes = || {
            registrant
                .tickers
                .iter()
                .flat_map(|tickers| &tickers.classes)
        };
        let plain = |text: &Option<Text<'_>>| given(text).map(str::to_owned);
        let cells: [Option<String>; TEXT_COLUMNS.len()] = [
            Some(record_id.clone()),
            Some(cik.to_string()),
            normalized_name.clone(),
            Some(name_source.to_owned()),
            name_published.map(str::to_owned),
            plain(&head.entity_type),
            filer_category,
            sic,
            plain(&head.sic_description),
            fiscal_year_end,
            plain(&head.state_of_incorporation),
            plain(&head.state_of_incorporation_name),
            precise(&address.street_1),
            precise(&address.street_2),
            precise(&address.city),
            plain(&address.state_or_country),
            plain(&address.state_or_country_name),
            precise(&address.postal_code),
            plain(&address.country),
            plain(&address.country_code),
            plain(&head.website),
            plain(&head.investor_website),
            plain(&head.lei),
        ];
        for (column, cell) in self.texts.iter_mut().zip(cells) {
            column.append_option(cell.as_deref());
        }
        let [names, from, to] = &former_names;
        let lists: [Vec<&str>; LIST_COLUMNS.len()] = [
            names.iter().map(String::as_str).collect(),
            from.iter().map(String::as_str).collect(),
            to.iter().map(String::as_str).collect(),
            tickers.iter().map(|ticker| ticker.symbol).collect(),
            tickers
                .iter()
                .map(|ticker| ticker.exchange.unwrap_or(UNKNOWN))
                .collect(),
            classes().map(|class| class.symbol.as_str()).collect(),
            classes().map(|class| class.series_id.as_str()).collect(),
            classes().map(|class| class.class_id.as_str()).collect(),
            filer_statuses,
        ];
        for (column, items) in self.lists.iter_mut().zip(lists) {
            column.append_values_iter(items.into_iter());
        }
        self.is_address_withheld.push(is_withheld);
        self.has_submissions.push(registrant.head.is_some());
        self.activity.push(registrant.activity);
        self.pointers.push(registrant.pointers);
    }

    /// Returns the rows as a frame.
    pub(super) fn finish(mut self) -> Result<DataFrame> {
        let height = self.activity.len();
        let mut columns: Vec<Column> = self
            .texts
            .into_iter()
            .map(|builder| builder.finish().into_column())
            .chain(
                self.lists
                    .iter_mut()
                    .map(|builder| builder.finish().into_column()),
            )
            .collect();
        columns.push(Column::new_scalar(
            "bucket".into(),
            Scalar::from(PlSmallStr::from_string(self.bucket)),
            height,
        ));
        columns.push(Column::new(
            "is_address_withheld".into(),
            self.is_address_withheld,
        ));
        columns.push(Column::new("has_submissions".into(), self.has_submissions));
        type Part = fn(&Activity) -> Span;
        let parts: [(&str, Part); 3] = [
            ("", |activity| activity.all),
            ("annual_", |activity| activity.annual),
            ("quarterly_", |activity| activity.quarterly),
        ];
        for (prefix, part) in parts {
            let spans: Vec<Span> = self.activity.iter().map(part).collect();
            let days = |day: fn(&Span) -> Option<Day>| {
                spans
                    .iter()
                    .map(|span| day(span).map(Day::number))
                    .collect::<Vec<_>>()
            };
            columns.push(
                Column::new(
                    format!("{prefix}first_filed").into(),
                    days(|span| span.first),
                )
                .cast(&DataType::Date)?,
            );
            columns.push(
                Column::new(format!("{prefix}last_filed").into(), days(|span| span.last))
                    .cast(&DataType::Date)?,
            );
            columns.push(Column::new(
                format!("{prefix}filings").into(),
                spans.iter().map(|span| span.count).collect::<Vec<_>>(),
            ));
        }
        columns.push(Column::new(
            "missing_pages".into(),
            self.activity
                .iter()
                .map(|activity| activity.missing_pages)
                .collect::<Vec<_>>(),
        ));
        columns.push(Column::new(
            "missing_filings".into(),
            self.activity
                .iter()
                .map(|activity| activity.missing_filings)
                .collect::<Vec<_>>(),
        ));
        columns.push(pointer_column(self.pointers.iter().map(Vec::as_slice)));
        Ok(DataFrame::new(height, columns)?)
    }
}

fn given<'t>(text: &'t Option<Text<'_>>) -> Option<&'t str> {
    text.as_ref().and_then(Text::given)
}

/// Reads text that must have a given format. Invalid text becomes null with a warning.
fn checked(
    text: Option<&Text<'_>>,
    name: &str,
    expected: &str,
    read: impl Fn(&str) -> Option<String>,
    warn: &mut impl FnMut(&str, String),
) -> Option<String> {
    let text = text.and_then(Text::given)?;
    let value = read(text);
    if value.is_none() {
        warn("bad_value", format!("{name} is `{text}`, not {expected}"));
    }
    value
}

fn warn_of_tickers(
    tickers: &[Ticker<'_>],
    is_comparable: bool,
    warn: &mut impl FnMut(&str, String),
) {
    let differing: Vec<&str> = tickers
        .iter()
        .filter(|ticker| ticker.is_in_lists != ticker.is_in_member)
        .map(|ticker| ticker.symbol)
        .collect();
    if is_comparable && !differing.is_empty() {
        warn(
            "ticker_lists_differ",
            format!(
                "the ticker lists and the registrant's own member do not both have {}",
                differing.join(", ")
            ),
        );
    }
}

/// Returns former names with each name's first and last day, as three lists of equal length.
fn former_names(head: &Head<'_>, warn: &mut impl FnMut(&str, String)) -> [Vec<String>; 3] {
    let mut lists: [Vec<String>; 3] = Default::default();
    for former in head.former_names.iter().flatten() {
        let Some(name) = given(&former.name) else {
            continue;
        };
        let mut day = |text: Option<&Text<'_>>| {
            // Midnight UTC: `2019-06-05T00:00:00.000Z`.
            let date = |text: &str| {
                text.get(..10)
                    .filter(|date| Day::from_iso(date.as_bytes()).is_some())
                    .map(str::to_owned)
            };
            checked(text, "a former name's date", "a date", date, warn)
                .unwrap_or_else(|| UNKNOWN.to_owned())
        };
        lists[1].push(day(former.from.as_ref()));
        lists[2].push(day(former.to.as_ref()));
        lists[0].push(normalized(name));
    }
    lists
}

/// Splits the filer category from the statuses that follow it: `Non-accelerated filer<br>Smaller
/// reporting company`.
fn filer_category<'h>(head: &'h Head<'_>) -> (Option<String>, Vec<&'h str>) {
    let Some(text) = given(&head.category) else {
        return (None, Vec::new());
    };
    let mut parts = text.split("<br>").map(str::trim);
    let category = parts
        .next()
        .filter(|part| !part.is_empty())
        .map(str::to_owned);
    (category, parts.filter(|part| !part.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonexistent_day_of_the_year_is_rejected() {
        assert_eq!(month_and_day("0926").as_deref(), Some("09-26"));
        assert_eq!(month_and_day("0229").as_deref(), Some("02-29"));
        for wrong in ["0230", "1301", "926", "", "09-26"] {
            assert_eq!(month_and_day(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn blanks_of_every_kind_fold() {
        assert_eq!(normalized("HOME DEPOT,\u{a0}INC."), "HOME DEPOT, INC.");
        assert_eq!(normalized(" A  B\t C "), "A B C");
    }

    #[test]
    fn address_of_a_possible_person_is_withheld() {
        let head = |text: &str| {
            serde_json::from_str::<Head<'static>>(Box::leak(text.to_owned().into_boxed_str()))
                .unwrap()
        };
        let person = head(
            r#"{"entityType":"other","sic":"","insiderTransactionForOwnerExists":1,"insiderTransactionForIssuerExists":0}"#,
        );
        let person_with_industry = head(
            r#"{"entityType":"other","sic":"7372","insiderTransactionForOwnerExists":1,"insiderTransactionForIssuerExists":0}"#,
        );
        let nobody_known = head("{}");
        let foreign_issuer = head(
            r#"{"entityType":"other","sic":"2741","insiderTransactionForOwnerExists":0,"insiderTransactionForIssuerExists":0}"#,
        );
        let company = head(
            r#"{"entityType":"operating","sic":"3571","insiderTransactionForOwnerExists":1,"insiderTransactionForIssuerExists":1}"#,
        );
        let fund = head(r#"{"entityType":"investment","sic":""}"#);
        let withheld = [
            &person,
            &person_with_industry,
            &nobody_known,
            &foreign_issuer,
            &company,
            &fund,
        ]
        .map(|head| is_address_withheld(head, false));
        assert_eq!(withheld, [true, true, true, false, false, false]);
        assert!(!is_address_withheld(&person, true), "listed");
    }
}
