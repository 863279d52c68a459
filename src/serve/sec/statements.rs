//! Answers `GET /v1/financials/{cik}`: statements by period, newest first, with a fixed list of lines. A line that was not reported is
//! null.

use super::periods::add_as_filed_notice;
use super::periods::add_fiscal_periods_notice;
use super::periods::add_instant_notice;
use super::periods::fiscal_years;
use super::tables::REGISTRANTS;
use crate::sec::tables::SecTables;
use std::collections::BTreeMap;

use arrow::array::{Array, Decimal128Array};
use futures_util::FutureExt;

use crate::http::components::Data;
use crate::http::cursor;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::{Coverage, Meta, Page};
use crate::http::paging::Paging;
use crate::http::parameters::{AS_OF, CURSOR, Kind, Parameter, RELEASE, format};
use crate::http::problem::Result;
use crate::json::Json;
use crate::release::provenance::ProvenanceWriter;
use crate::sec::company::Company;
use crate::sec::financials::why_none;
use crate::sec::line_table::LineTable;
use crate::sec::links::FilingKey;
use crate::sec::periods::{ANNUAL, FISCAL_YEAR, FISCAL_YEAR_FROM, FISCAL_YEAR_TO, KNOWN_AT, PERIOD, known_at};
use crate::sec::tables::LINES;
use crate::sec::versions::Versions;
use pubdata_core::contract::ValueNotes;
use pubdata_core::ids::Cik;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/financials/{cik}",
    operation_id: "getStatements",
    summary: "Financial statements of a company, as filed",
    access: Access::Scope(Scope::General),
    parameters: PARAMETERS,
    body: None,
    data: Data::Written("Statements"),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

const ALL: &str = "all";
const STATEMENTS: [&str; 3] = ["income", "balance", "cash_flow"];
/// Reason of a line that the company did not report for the period under any concept of the line's list.
const NOT_REPORTED: &str = "not_reported";

/// The endpoint's parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "statement",
        kind: Kind::Word(&["income", "balance", "cash_flow", ALL]),
        description: "Which statement; `all` (default) gives the three.",
    },
    PERIOD,
    FISCAL_YEAR,
    FISCAL_YEAR_FROM,
    FISCAL_YEAR_TO,
    KNOWN_AT,
    Parameter { name: "limit", kind: Kind::Integer { min: 1, max: 40, default: Some(4) }, description: "Number of periods on a page." },
    CURSOR,
    format("statements/lines"),
    RELEASE,
    AS_OF,
];

/// Reason of a company whose statements had not been filed by the day asked about.
const NOT_KNOWN_YET: &str = "not_known_yet";

/// The lines of one statement and period.
type Rows<'a> = BTreeMap<&'a str, Versions>;

/// One fiscal period, with the rows of each statement.
struct Period<'a> {
    fiscal_year: i32,
    fiscal_period: String,
    /// The last day of the newest of its rows, by which periods are sorted.
    end: i32,
    statements: [Rows<'a>; 3],
}

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let company = Company::of_path(call).await?;
    let (from, to) = fiscal_years(call)?;
    let series = call.query.get("period").unwrap_or(ANNUAL);
    let wanted = call.query.get("statement").unwrap_or(ALL);
    let paging = Paging::of(call)?;
    let limit = paging.limit;
    let bucket = SecTables::of(call.release).lines.about(call.reader(), company.cik).await?;
    let is_wanted = |year: i32| from.is_none_or(|from| from <= year) && to.is_none_or(|to| year <= to);
    let lines: Vec<&ValueNotes> = call.contracts().get(LINES).into_iter().flat_map(|contract| contract.values_of("line")).collect();
    let known_at = known_at(call);
    let read = |known_at| bucket.as_ref().map(|bucket| periods(&bucket.table, &lines, company.cik, Asked { series, known_at })).unwrap_or_default();
    let mut periods = read(known_at);
    let null_reason = match periods.is_empty() {
        false => None,
        true if known_at.is_some() && !read(None).is_empty() => Some(NOT_KNOWN_YET),
        true => Some(why_none(call, company.cik)),
    };
    periods.retain(|period| is_wanted(period.fiscal_year));
    let total = periods.len();

    let key = |period: &Period<'_>| format!("{}:{}:{}", period.end, period.fiscal_year, period.fiscal_period);
    if let Some(after) = &paging.after {
        let position = periods.iter().position(|period| key(period) == *after).ok_or_else(cursor::not_a_cursor)?;
        periods.drain(..=position);
    }
    let has_more = periods.len() > limit;
    periods.truncate(limit);
    let next_cursor = periods.last().filter(|_| has_more).map(|last| paging.cursor(&key(last)));

    let registrants = SecTables::of(call.release).registrants.as_ref().zip(company.row);
    json.object(|json| {
        json.key("cik").text(&company.cik.to_string());
        json.key("name").optional_text(company.name);
        json.key("currency").text("USD");
        json.key("fiscal_year_end").optional_text(registrants.and_then(|(registrants, row)| registrants.fiscal_year_end(row)));
        json.key("period_type").text(series);
        json.key("known_at").optional_text(call.query.get("known_at"));
        json.key("statements").array(|json| {
            let Some(bucket) = bucket.as_ref() else { return };
            let provenance = ProvenanceWriter::new(&call.release.manifest, LINES, bucket.part);
            let writer = Writer { call, cik: company.cik, table: &bucket.table, lines: &lines, provenance };
            for period in &periods {
                let chosen = STATEMENTS.iter().zip(&period.statements).filter(|(statement, rows)| (wanted == ALL || wanted == **statement) && !rows.is_empty());
                chosen.for_each(|(statement, rows)| writer.write_statement(json, period, statement, rows));
            }
        });
        json.key("null_reason").optional_text(null_reason);
    });
    let mut meta = Meta { datasets: vec![LINES.into(), REGISTRANTS.into()], ..Meta::default() };
    let scope = format!("{} lines of statements of registrants that file annual and quarterly reports in XBRL", call.release.manifest.rows(LINES));
    meta.coverage = Some(Coverage { scope, ..Coverage::default() });
    meta.page = Some(Page { limit, count: periods.len(), next_cursor, total, is_total_exact: true, is_cut: false });
    add_as_filed_notice(&mut meta);
    add_fiscal_periods_notice(&mut meta, series);
    let shown = periods.iter().flat_map(|period| STATEMENTS.iter().zip(&period.statements)).filter(|(statement, _)| wanted == ALL || wanted == **statement);
    let rows = shown.flat_map(|(_, rows)| rows.values().map(Versions::latest));
    add_instant_notice(&mut meta, rows.filter_map(|row| Some(bucket.as_ref()?.table.period_start(row))));
    Ok(meta)
}

/// Which statements are asked for.
#[derive(Clone, Copy)]
struct Asked<'a> {
    /// `annual` or `quarterly`.
    series: &'a str,
    /// Days since 1970-01-01.
    known_at: Option<i32>,
}

/// Groups a registrant's lines of one series by fiscal period, newest first.
fn periods<'a>(table: &LineTable, lines: &[&'a ValueNotes], cik: Cik, asked: Asked<'_>) -> Vec<Period<'a>> {
    let mut found: BTreeMap<(i32, &str), Period<'a>> = BTreeMap::new();
    for reports in table.periods(cik).filter(|reports| table.series.at(reports.start) == asked.series) {
        // Reports are sorted by the time they were filed.
        let known = reports.clone().take_while(|row| asked.known_at.is_none_or(|day| table.filed_dates.value(*row) <= day)).count();
        let known = reports.start..reports.start + known;
        let Some(versions) = Versions::new(known, |row| table.changes.get(row), |row| table.supersedes.value(row)) else { continue };
        let row = versions.latest();
        let (Some(fiscal_period), false) = (table.fiscal_periods.get(row), table.fiscal_years.is_null(row)) else { continue };
        let statement = table.statements.at(row);
        let known = lines.iter().find(|line| line.value == table.lines.at(row) && line.note("statement") == Some(statement));
        let Some(line) = known.map(|line| line.value.as_str()) else { continue };
        let (fiscal_year, end) = (table.fiscal_years.value(row), table.period_ends.value(row));
        let period = found.entry((fiscal_year, fiscal_period)).or_insert_with(|| Period {
            fiscal_year,
            fiscal_period: fiscal_period.to_owned(),
            end,
            statements: Default::default(),
        });
        period.end = period.end.max(end);
        let Some(rows) = STATEMENTS.iter().position(|known| *known == statement).map(|index| &mut period.statements[index]) else { continue };
        let kept = rows.entry(line).or_insert_with(|| versions.clone());
        if preference(table, row) > preference(table, kept.latest()) {
            *kept = versions;
        }
    }
    let mut periods: Vec<Period<'_>> = found.into_values().collect();
    periods.sort_by(|a, b| (b.end, b.fiscal_year, &b.fiscal_period).cmp(&(a.end, a.fiscal_year, &a.fiscal_period)));
    periods
}

/// The later period comes first when two have one label (a changed fiscal year), then the quarter alone before the year to date.
fn preference(table: &LineTable, row: usize) -> (i32, bool) {
    (table.period_ends.value(row), !table.ytd.value(row))
}

struct Writer<'a> {
    call: &'a Call<'a>,
    cik: Cik,
    table: &'a LineTable,
    lines: &'a [&'a ValueNotes],
    provenance: ProvenanceWriter<'a>,
}

impl Writer<'_> {
    /// Writes one statement. Its filing is the last one that a line comes from.
    fn write_statement(&self, json: &mut Json, period: &Period<'_>, statement: &str, rows: &Rows<'_>) {
        let table = self.table;
        let filed = |row: usize| (table.filed_dates.value(row), table.accession_numbers.at(row));
        let latest_rows = || rows.values().map(Versions::latest);
        let Some(newest) = latest_rows().max_by_key(|row| filed(*row)) else { return };
        // Most lines cover the same days; a line that does not says so itself.
        let start = latest_rows().filter_map(|row| table.period_start(row)).max();
        let worst = latest_rows().map(|row| table.validation_statuses.at(row)).max().unwrap_or_default();
        json.object(|json| {
            json.key("statement").text(statement);
            json.key("fiscal_year").integer(i64::from(period.fiscal_year));
            json.key("fiscal_period").text(&period.fiscal_period);
            json.key("period_start").optional_day(start);
            json.key("period_end").optional_day(latest_rows().map(|row| table.period_ends.value(row)).max());
            self.write_filing(json, newest);
            json.key("is_restated").flag(latest_rows().any(|row| table.restated.value(row)));
            json.key("lines").array(|json| {
                for line in self.lines.iter().filter(|line| line.note("statement") == Some(statement)) {
                    self.write_line(json, line, rows.get(line.value.as_str()));
                }
            });
            self.provenance.write(json.key("provenance"), &table.row_sources, newest, worst, table.record_ids.at(newest));
        });
    }

    fn write_line(&self, json: &mut Json, line: &ValueNotes, reported: Option<&Versions>) {
        let table = self.table;
        let row = reported.map(Versions::latest);
        let restated = reported.filter(|reported| table.restated.value(reported.latest()));
        json.object(|json| {
            json.key("key").text(&line.value);
            json.key("label").text(line.note("label").unwrap_or(&line.value));
            match row {
                Some(row) => write_decimal(json.key("value"), &table.values, row),
                None => json.key("value").null(),
            }
            json.key("unit").optional_text(row.map(|row| table.units.at(row)).or_else(|| line.note("unit")));
            json.key("concept").optional_text(row.and_then(|row| table.concepts.get(row)));
            json.key("is_ytd").flag(row.is_some_and(|row| table.ytd.value(row)));
            json.key("is_derived").flag(false);
            json.key("period_start").optional_day(row.and_then(|row| table.period_start(row)));
            match row {
                Some(row) => self.write_filing(json, row),
                None => ["form", "filed_date", "accession_number", "evidence_url"].iter().for_each(|name| json.key(name).null()),
            }
            json.key("is_restated").flag(restated.is_some());
            json.key("restatement_kind").optional_text(restated.map(|reported| reported.restatement_kind(|row| table.changes.get(row))));
            json.key("first_reported");
            match restated.map(Versions::first) {
                Some(first) => json.object(|json| {
                    write_decimal(json.key("value"), &table.values, first);
                    json.key("concept").optional_text(table.concepts.get(first));
                    self.write_filing(json, first);
                    json.key("record_id").text(table.record_ids.at(first));
                }),
                None => json.null(),
            }
            json.key("null_reason").optional_text(if row.is_none() { Some(NOT_REPORTED) } else { None });
            json.key("warnings").array(|json| row.into_iter().flat_map(|row| table.warnings.at(row)).for_each(|warning| json.text(warning)));
            json.key("record_id").optional_text(row.map(|row| table.record_ids.at(row)));
        });
    }

    fn write_filing(&self, json: &mut Json, row: usize) {
        let table = self.table;
        let accession_number = table.accession_numbers.get(row);
        let key = accession_number.map(|accession_number| FilingKey { cik: self.cik, accession_number, primary_document: None });
        json.key("form").optional_text(table.forms.get(row));
        json.key("filed_date").optional_day((!table.filed_dates.is_null(row)).then(|| table.filed_dates.value(row)));
        json.key("accession_number").optional_text(accession_number);
        json.key("evidence_url").optional_text(key.and_then(|key| SecTables::of(self.call.release).links.evidence(key)).as_deref());
    }
}

fn write_decimal(json: &mut Json, values: &Decimal128Array, row: usize) {
    let scale = u8::try_from(values.scale()).unwrap_or_default();
    if values.is_null(row) { json.null() } else { json.wide_decimal(values.value(row), scale) }
}
