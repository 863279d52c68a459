//! Answers `GET companies/{cik}/filings`, the periodic reports of one registrant, and `GET /v1/filings/search`, filings of all forms by
//! registrant or by date.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, BooleanArray};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join_all};

use super::company::{Company, cik_of};
use super::links::FilingKey;
use super::search::{OF_FILINGS, with_tickers};
use super::{FILINGS, REGISTRANTS};
use crate::ids::Cik;
use crate::serve::call::{Call, Coverage, Meta, Page, not_published};
use crate::serve::cursor;
use crate::serve::index::{Bucket, FilingDates, FilingFilter, FilingTable, Registrants, Stamps};
use crate::serve::json::Json;
use crate::serve::parameters::{AS_OF, CURSOR, Kind, LIMIT, Parameter, RELEASE};
use crate::serve::problem::{Code, Problem, Result};

const DEFAULT_LIMIT: usize = 25;
/// Beyond this a total is only said to be at least so many.
const MAX_COUNTED: usize = 10_000;
/// The most registrants whose filings one search joins.
const MAX_REGISTRANTS: usize = 20;
/// Forms of periodic reports: annual and quarterly, for a changed fiscal year, and their amendments.
const PERIODIC: &[&str] = &["10-K", "10-K/A", "10-KT", "10-KT/A", "10-Q", "10-Q/A", "10-QT", "10-QT/A"];

/// The parameters of one registrant's reports.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "form",
        kind: Kind::Words(PERIODIC),
        description: "Comma list of form types; all periodic reports when absent. `10-K` does not include `10-K/A`.",
    },
    FILED_FROM,
    FILED_TO,
    PERIOD_FROM,
    PERIOD_TO,
    LIMIT,
    CURSOR,
    RELEASE,
    AS_OF,
];

/// The parameters of the search over all registrants.
pub const SEARCH_PARAMETERS: &[Parameter] = &[
    Parameter { name: "ticker", kind: Kind::Form("^[A-Za-z0-9./-]{1,16}(,[A-Za-z0-9./-]{1,16}){0,19}$"), description: "Comma list of today's tickers, exact." },
    Parameter { name: "cik", kind: Kind::Form("^0{0,9}[1-9][0-9]{0,9}$"), description: "CIK, with or without leading zeros." },
    Parameter { name: "company", kind: Kind::Form("^.{1,120}$"), description: "Name or part of it: filings of the 20 registrants that fit best." },
    FORM,
    Parameter { name: "form_type", kind: FORM.kind, description: "The same as `form`." },
    Parameter { name: "include_amendments", kind: Kind::Flag, description: "`true`: each form of `form` also stands for its amendments (`/A`)." },
    FILED_FROM,
    FILED_TO,
    Parameter { name: "date_from", kind: Kind::Date, description: "The same as `filed_from`." },
    Parameter { name: "date_to", kind: Kind::Date, description: "The same as `filed_to`." },
    PERIOD_FROM,
    PERIOD_TO,
    Parameter {
        name: "items",
        kind: Kind::Form("^[0-9]{1,2}(\\.[0-9]{2})?(,[0-9]{1,2}(\\.[0-9]{2})?)*$"),
        description: "Comma list of item numbers of current reports, such as `2.02`; needs `ticker`, `cik` or `company`.",
    },
    Parameter {
        name: "accession_number",
        kind: Kind::Form("^[0-9]{10}-[0-9]{2}-[0-9]{6}$"),
        description: "Only this filing; needs `ticker`, `cik` or `company`.",
    },
    LIMIT,
    CURSOR,
    RELEASE,
    AS_OF,
];

const FORM: Parameter = Parameter {
    name: "form",
    kind: Kind::Form("^[A-Za-z0-9 ./-]{1,20}(,[A-Za-z0-9 ./-]{1,20})*$"),
    description: "Comma list of form types, such as `10-K,8-K`.",
};
const FILED_FROM: Parameter = Parameter { name: "filed_from", kind: Kind::Date, description: "First filing date, inclusive." };
const FILED_TO: Parameter = Parameter { name: "filed_to", kind: Kind::Date, description: "Last filing date, inclusive." };
const PERIOD_FROM: Parameter = Parameter { name: "period_from", kind: Kind::Date, description: "First period of report, inclusive." };
const PERIOD_TO: Parameter = Parameter { name: "period_to", kind: Kind::Date, description: "Last period of report, inclusive." };

/// What form types are, for those that are asked for most. Source: SEC, "EDGAR Filer Manual", volume II, submission types.
const DESCRIPTIONS: [(&str, &str); 24] = [
    ("10-K", "Annual report"),
    ("10-KT", "Annual report for a transition period"),
    ("10-Q", "Quarterly report"),
    ("10-QT", "Quarterly report for a transition period"),
    ("11-K", "Annual report of employee stock plans"),
    ("13F-HR", "Holdings of institutional investment managers"),
    ("144", "Proposed sale of securities"),
    ("20-F", "Annual report of a foreign private issuer"),
    ("3", "Initial statement of beneficial ownership"),
    ("4", "Changes in beneficial ownership"),
    ("40-F", "Annual report of a Canadian issuer"),
    ("424B2", "Prospectus"),
    ("424B5", "Prospectus"),
    ("5", "Annual changes in beneficial ownership"),
    ("6-K", "Report of a foreign private issuer"),
    ("8-K", "Current report"),
    ("ARS", "Annual report to security holders"),
    ("D", "Exempt offering of securities"),
    ("DEF 14A", "Definitive proxy statement"),
    ("S-1", "Registration of securities"),
    ("S-3", "Registration of securities, short form"),
    ("S-8", "Registration of securities of employee plans"),
    ("SC 13D", "Beneficial ownership of more than five percent"),
    ("SC 13G", "Beneficial ownership of more than five percent, passive"),
];

/// The handler of one registrant's reports.
pub fn of_company<'a>(call: &'a Call<'a>, json: &'a mut Json) -> BoxFuture<'a, Result<Meta>> {
    answer_company(call, json).boxed()
}

/// The handler of the search.
pub fn search<'a>(call: &'a Call<'a>, json: &'a mut Json) -> BoxFuture<'a, Result<Meta>> {
    answer_search(call, json).boxed()
}

/// What the query says of filings.
struct Filter<'a> {
    /// Any form when empty.
    forms: Vec<String>,
    filed: (Option<i32>, Option<i32>),
    period: (Option<i32>, Option<i32>),
    items: Vec<&'a str>,
    accession_number: Option<&'a str>,
}

impl<'a> Filter<'a> {
    /// Reads the query; a name and its alias cannot both be given.
    fn read(call: &'a Call<'_>) -> Result<Self> {
        let either = |name: &'static str, alias: &'static str| match (call.query.get(name), call.query.get(alias)) {
            (Some(_), Some(_)) => Err(Problem::of_field(Code::InvalidParameter, alias, format!("`{alias}` is the same as `{name}`: give one of them"))),
            (None, Some(_)) => Ok(alias),
            _ => Ok(name),
        };
        let (from, to, form) = (either("filed_from", "date_from")?, either("filed_to", "date_to")?, either("form", "form_type")?);
        let is_form = |text: &str| (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" ./-".contains(&byte));
        let listed: Vec<&str> = call.query.get(form).map(|list| list.split(',').collect()).unwrap_or_default();
        if let Some(wrong) = listed.iter().find(|text| !is_form(text)) {
            return Err(Problem::of_field(Code::InvalidParameter, form, format!("`{form}`: `{wrong}` is not a form type such as `10-K` or `8-K`")));
        }
        let mut forms: Vec<String> = listed.into_iter().map(|form| form.trim().to_ascii_uppercase()).collect();
        if call.query.get("include_amendments") == Some("true") {
            let amendments: Vec<String> = forms.iter().filter(|form| !form.ends_with("/A")).map(|form| format!("{form}/A")).collect();
            forms.extend(amendments);
        }
        Ok(Self {
            forms,
            filed: range(call, from, to)?,
            period: range(call, "period_from", "period_to")?,
            items: call.query.get("items").map(|list| list.split(',').collect()).unwrap_or_default(),
            accession_number: call.query.get("accession_number"),
        })
    }

    fn takes(&self, table: &FilingTable, row: usize) -> bool {
        let within = |day: Option<i32>, (from, to): (Option<i32>, Option<i32>)| {
            from.is_none_or(|from| day.is_some_and(|day| from <= day)) && to.is_none_or(|to| day.is_some_and(|day| day <= to))
        };
        within(Some(table.filed_dates.value(row)), self.filed)
            && (self.forms.is_empty() || self.forms.iter().any(|form| form == table.forms.at(row)))
            && within(table.period_of_report(row), self.period)
            && (self.items.is_empty() || table.items.at(row).any(|item| self.items.contains(&item)))
            && self.accession_number.is_none_or(|accession_number| accession_number == table.accession_numbers.at(row))
    }

    /// Names a filter that only rows of known registrants can be asked for.
    fn needs_registrant(&self) -> Option<&'static str> {
        let is_open = |range: (Option<i32>, Option<i32>)| range == (None, None);
        match self {
            Self { accession_number: Some(_), .. } => Some("accession_number"),
            Self { items, .. } if !items.is_empty() => Some("items"),
            Self { period, .. } if !is_open(*period) => Some("period_from"),
            _ => None,
        }
    }
}

fn range(call: &Call<'_>, from: &str, to: &str) -> Result<(Option<i32>, Option<i32>)> {
    match (super::day_of(call, from), super::day_of(call, to)) {
        (Some(first), Some(last)) if first > last => Err(Problem::of_field(Code::InvalidParameter, from, format!("`{from}` is after `{to}`"))),
        days => Ok(days),
    }
}

/// A filing of a page: its rows, one for each registrant that is known here.
type Rows = Vec<(Cik, Arc<FilingTable>, usize)>;

/// A registrant's row of a bucket.
type BucketRow<'a, 'b> = (Cik, &'a Bucket<'b, FilingTable>, usize);

async fn answer_company(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let company = Company::of_path(call).await?;
    let mut filter = Filter::read(call)?;
    if filter.forms.is_empty() {
        filter.forms = PERIODIC.iter().map(|form| (*form).to_owned()).collect();
    }
    let (page, found) = of_registrants(call, &[company.cik], &filter).await?;
    let writer = Writer { call, stamps: Stamps::of_dataset(&call.release.manifest, FILINGS) };
    json.array(|json| found.iter().for_each(|rows| json.object(|json| writer.write_report(json, rows))));
    let mut meta = describe(call, page);
    meta.notice("PERIODIC_REPORTS", "Annual and quarterly reports and their amendments; /v1/filings/search has filings of all forms.");
    Ok(meta)
}

async fn answer_search(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let registrants = call.release.sec.registrants.as_ref().ok_or_else(|| not_published(REGISTRANTS))?;
    let filter = Filter::read(call)?;
    let mut notes = Meta::default();
    let (page, found) = match registrants_of(call, registrants, &mut notes)? {
        Some(ciks) => of_registrants(call, &ciks, &filter).await?,
        None => of_all(call, &filter, &mut notes).await?,
    };
    let writer = Writer { call, stamps: Stamps::of_dataset(&call.release.manifest, FILINGS) };
    json.array(|json| found.iter().for_each(|rows| json.object(|json| writer.write_item(json, registrants, rows))));
    let mut meta = describe(call, page);
    meta.notices.extend(notes.notices);
    Ok(meta)
}

fn describe(call: &Call<'_>, page: Page) -> Meta {
    let scope = format!("{} filings of {} registrants", call.release.manifest.rows(FILINGS), call.release.manifest.rows(REGISTRANTS));
    Meta { datasets: OF_FILINGS.map(str::to_owned).into(), page: Some(page), coverage: Some(Coverage { scope, ..Coverage::default() }), ..Meta::default() }
}

/// The registrants that a search names; none when it names none.
fn registrants_of(call: &Call<'_>, registrants: &Registrants, notes: &mut Meta) -> Result<Option<Vec<Cik>>> {
    let given: Vec<(&str, &str)> = ["ticker", "cik", "company"].iter().filter_map(|name| Some((*name, call.query.get(name)?))).collect();
    let (name, text) = match given.as_slice() {
        [] => return Ok(None),
        [one] => *one,
        [_, second, ..] => return Err(Problem::of_field(Code::InvalidParameter, second.0, "give only one of `ticker`, `cik` and `company`")),
    };
    let ciks = match name {
        "ticker" => with_tickers(registrants, text, notes)?.into_iter().flatten().map(|row| registrants.cik(row)).collect(),
        "cik" => vec![cik_of(text, "cik")?],
        _ => {
            super::check_name("company", text)?;
            let (found, has_more) = registrants.search(text, MAX_REGISTRANTS);
            if found.is_empty() {
                notes.notice("COMPANY_UNKNOWN", "no registrant has such a name");
            } else if has_more {
                notes.notice("COMPANIES_CUT", format!("more registrants fit the name; these are filings of the {MAX_REGISTRANTS} that fit best"));
            }
            found.iter().map(|found| registrants.cik(found.row as usize)).collect()
        }
    };
    if name == "cik" && ciks.iter().any(|cik| registrants.find(*cik).is_none()) {
        notes.notice("CIK_UNKNOWN", "no registrant with this CIK is published");
    }
    Ok(Some(ciks))
}

/// Filings of some registrants, newest first.
async fn of_registrants(call: &Call<'_>, ciks: &[Cik], filter: &Filter<'_>) -> Result<(Page, Vec<Rows>)> {
    if call.release.sec.filings.is_empty() {
        return Err(not_published(FILINGS));
    }
    let buckets = try_join_all(ciks.iter().map(|cik| call.release.sec.filings.about(call, *cik))).await?;
    // By date, then number; one filing may be of several of the registrants.
    let mut found: BTreeMap<(i32, &str), Vec<BucketRow<'_, '_>>> = BTreeMap::new();
    for (cik, bucket) in ciks.iter().zip(&buckets) {
        let Some(bucket) = bucket else { continue };
        let table = &bucket.table;
        for row in table.rows(*cik).filter(|row| filter.takes(table, *row)) {
            found.entry((table.filed_dates.value(row), table.accession_numbers.at(row))).or_default().push((*cik, bucket, row));
        }
    }
    let total = found.len();
    let (limit, filters, release_id) =
        (call.query.parsed("limit").unwrap_or(DEFAULT_LIMIT), cursor::mark(call.path, call.query), &call.release.manifest.release_id);
    let after = match call.query.get("cursor") {
        Some(text) => {
            let key = cursor::sort_key(text, release_id, &filters)?;
            let (day, number) = key.split_once(':').ok_or_else(cursor::not_one)?;
            Some((day.parse::<i32>().map_err(|_| cursor::not_one())?, number.to_owned()))
        }
        None => None,
    };
    let is_after = |key: &(i32, &str)| after.as_ref().is_none_or(|(day, number)| *key < (*day, number.as_str()));
    let mut rest = found.iter().rev().filter(|(key, _)| is_after(key));
    let page: Vec<_> = rest.by_ref().take(limit).collect();
    let next_cursor = page.last().filter(|_| rest.next().is_some()).map(|((day, number), _)| cursor::write(release_id, &filters, &format!("{day}:{number}")));
    let filings = page.iter().map(|(_, rows)| rows.iter().map(|(cik, bucket, row)| (*cik, bucket.table.clone(), *row)).collect()).collect();
    Ok((Page { limit, count: page.len(), next_cursor, total, is_total_exact: true }, filings))
}

/// Filings of all registrants, newest first.
async fn of_all(call: &Call<'_>, filter: &Filter<'_>, notes: &mut Meta) -> Result<(Page, Vec<Rows>)> {
    if let Some(field) = filter.needs_registrant() {
        return Err(Problem::of_field(Code::MissingParameter, "ticker", format!("`{field}` needs `ticker`, `cik` or `company`")));
    }
    if filter.forms.is_empty() && filter.filed == (None, None) {
        return Err(Problem::of_field(
            Code::MissingParameter,
            "ticker",
            "give at least one of `ticker`, `cik`, `company`, `form`, `filed_from` and `filed_to`",
        ));
    }
    let sec = &call.release.sec;
    if sec.filings.is_empty() {
        return Err(not_published(FILINGS));
    }
    let (limit, filters, release_id) =
        (call.query.parsed("limit").unwrap_or(DEFAULT_LIMIT), cursor::mark(call.path, call.query), &call.release.manifest.release_id);
    let dates = sec.filing_dates.get(&call.service.parts, release_id, sec.filings.parts()).await.map_err(|error| Problem::internal(&error))?;
    for form in filter.forms.iter().filter(|form| !dates.has_form(form) && !form.ends_with("/A")) {
        notes.notice("FORM_UNKNOWN", format!("this release has no filing of form `{form}`; form types are spelled as EDGAR does, such as 10-K, 8-K, DEF 14A"));
    }
    let after: usize = match call.query.get("cursor") {
        Some(text) => cursor::sort_key(text, release_id, &filters)?.parse().map_err(|_| cursor::not_one())?,
        None => 0,
    };
    let wanted = FilingFilter { from: filter.filed.0, to: filter.filed.1, forms: filter.forms.clone() };
    let (mut page, mut total, mut has_more): (Vec<Range<usize>>, usize, bool) = (Vec::new(), 0, false);
    for places in dates.find(&wanted) {
        total += 1;
        if places.start >= after && page.len() < limit {
            page.push(places);
        } else if places.start >= after {
            has_more = true;
        }
        if has_more && total > MAX_COUNTED {
            break;
        }
    }
    let next_cursor = page.last().filter(|_| has_more).map(|last| cursor::write(release_id, &filters, &last.end.to_string()));
    let rows = rows_of(call, &dates, &page).await?;
    Ok((Page { limit, count: page.len(), next_cursor, total: total.min(MAX_COUNTED), is_total_exact: total <= MAX_COUNTED }, rows))
}

/// The rows of places of the index, from their buckets.
async fn rows_of(call: &Call<'_>, dates: &FilingDates, page: &[Range<usize>]) -> Result<Vec<Rows>> {
    let mut names: Vec<&str> = page.iter().cloned().flatten().map(|place| dates.row(place).0).collect();
    names.sort_unstable();
    names.dedup();
    let buckets = try_join_all(names.iter().map(|name| call.release.sec.filings.bucket(call, name))).await?;
    let tables: BTreeMap<&str, Arc<FilingTable>> = names.into_iter().zip(buckets).filter_map(|(name, bucket)| Some((name, bucket?.table))).collect();
    let row_of = |place: usize| {
        let (bucket, row) = dates.row(place);
        let table = tables.get(bucket)?;
        let cik = table.owners.owner(row)?;
        Some((cik, table.clone(), row))
    };
    Ok(page.iter().map(|places| places.clone().filter_map(row_of).collect()).collect())
}

struct Writer<'a> {
    call: &'a Call<'a>,
    stamps: Stamps<'a>,
}

impl Writer<'_> {
    /// Writes the members of a periodic report.
    fn write_report(&self, json: &mut Json, rows: &Rows) {
        let Some((cik, table, row)) = rows.first().map(|(cik, table, row)| (*cik, table, *row)) else { return };
        json.key("accession_number").text(table.accession_numbers.at(row));
        json.key("form").text(table.forms.at(row));
        write_dates(json, table, row);
        json.key("file_number").optional_text(table.file_numbers.get(row));
        json.key("film_number").optional_text(table.film_numbers.get(row));
        let links = &self.call.service.links;
        let key = FilingKey { cik, accession_number: table.accession_numbers.at(row), primary_document: table.primary_documents.get(row) };
        json.key("primary_document_url").optional_text(links.primary_document(key).as_deref());
        json.key("evidence_url").optional_text(links.evidence(key).as_deref());
        self.write_size(json, table, row);
    }

    /// Writes the members of a search item.
    fn write_item(&self, json: &mut Json, registrants: &Registrants, rows: &Rows) {
        let Some((cik, table, row)) = rows.first().map(|(cik, table, row)| (*cik, table, *row)) else { return };
        let form = table.forms.at(row);
        json.key("accession_number").text(table.accession_numbers.at(row));
        json.key("form").text(form);
        json.key("form_description").optional_text(description_of(form));
        write_dates(json, table, row);
        json.key("entities").array(|json| {
            for (cik, ..) in rows {
                // The lists of filings by registrant do not say whether it is the filer, the subject or an owner.
                write_entity(json, registrants.find(*cik).map(|row| (registrants, row)), &cik.to_string(), Said::default());
            }
        });
        json.key("primary_cik").text(&primary(registrants, rows).unwrap_or(cik).to_string());
        json.key("items").texts(table.items.at(row));
        json.key("act").optional_text(table.acts.get(row));
        json.key("file_number").optional_text(table.file_numbers.get(row));
        json.key("film_number").optional_text(table.film_numbers.get(row));
        let links = &self.call.service.links;
        let key = FilingKey { cik, accession_number: table.accession_numbers.at(row), primary_document: table.primary_documents.get(row) };
        json.key("primary_document_url").optional_text(links.primary_document(key).as_deref());
        json.key("primary_document_description").optional_text(table.document_descriptions.get(row));
        json.key("index_url").optional_text(links.evidence(key).as_deref());
        json.key("text_url").optional_text(links.text(key).as_deref());
        self.write_size(json, table, row);
    }

    fn write_size(&self, json: &mut Json, table: &FilingTable, row: usize) {
        let flag = |flags: &BooleanArray| (!flags.is_null(row)).then(|| flags.value(row));
        json.key("size_bytes").optional_integer((!table.sizes.is_null(row)).then(|| table.sizes.value(row)));
        json.key("has_xbrl").optional_flag(flag(&table.xbrl));
        json.key("has_inline_xbrl").optional_flag(flag(&table.inline_xbrl));
        self.stamps.write(json.key("provenance"), &table.heads, row, table.validation_statuses.at(row), table.record_ids.at(row));
    }
}

fn write_dates(json: &mut Json, table: &FilingTable, row: usize) {
    json.key("is_amendment").flag(table.amendments.value(row));
    json.key("filed_date").day(table.filed_dates.value(row));
    json.key("accepted_at").optional_text(table.accepted_at.get(row));
    json.key("period_of_report").optional_day(table.period_of_report(row));
}

/// What a form type is, amendments included; none for one that is rarely asked for.
pub fn description_of(form: &str) -> Option<&'static str> {
    DESCRIPTIONS.iter().find(|(known, _)| *known == form.trim_end_matches("/A")).map(|(_, description)| *description)
}

/// What a source says of a party itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Said<'a> {
    pub name: Option<&'a str>,
    pub role: Option<&'a str>,
    pub sic: Option<&'a str>,
}

/// Writes a party of a filing: what is said of it, else what the release knows of the registrant.
pub fn write_entity(json: &mut Json, known: Option<(&Registrants, usize)>, cik: &str, said: Said<'_>) {
    json.object(|json| {
        json.key("cik").text(cik);
        json.key("name").optional_text(said.name.or_else(|| known.and_then(|(registrants, row)| registrants.name(row))));
        json.key("role").optional_text(said.role);
        json.key("ticker").optional_text(known.and_then(|(registrants, row)| registrants.tickers(row).next()));
        json.key("sic").optional_text(said.sic.or_else(|| known.and_then(|(registrants, row)| registrants.sic(row))));
        json.key("state").optional_text(known.and_then(|(registrants, row)| registrants.state(row)));
    });
}

/// Of several registrants the first that has a ticker.
fn primary(registrants: &Registrants, rows: &Rows) -> Option<Cik> {
    rows.iter().map(|(cik, ..)| *cik).find(|cik| registrants.find(*cik).is_some_and(|row| registrants.tickers(row).next().is_some()))
}
