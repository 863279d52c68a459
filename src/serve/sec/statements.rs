//! Answers `GET /v1/financials/{cik}`: statements by period, newest first, with a fixed list of
//! lines. A line that was not reported is null.

use super::periods::add_as_filed_notice;
use super::periods::add_fiscal_periods_notice;
use super::periods::add_instant_notice;
use super::periods::fiscal_years;
use super::tables::REGISTRANTS;
use crate::days::since_epoch;
use crate::sec::tables::SecTables;
use std::collections::BTreeMap;

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Date, Decimal};
use crate::http::components::Data;
use crate::http::cursor;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::{Coverage, Meta, Page};
use crate::http::paging::Paging;
use crate::http::parameters::{AS_OF, CURSOR, Kind, RELEASE, format};
use crate::http::problem::Result;
use crate::json::Json;
use crate::release::bucketed::Bucket;
use crate::release::key_columns::cell;
use crate::release::provenance::{Provenance, ProvenanceWriter};
use crate::sec::company::{Company, CompanyName};
use crate::sec::financials::reason_without_figures;
use crate::sec::line_table::LineTable;
use crate::sec::owners::Owned;
use crate::sec::periods::{
    ANNUAL, FISCAL_YEAR, FISCAL_YEAR_FROM, FISCAL_YEAR_TO, KNOWN_AT, PERIOD,
};
use crate::sec::report::{Report, ReportedValue, Reports};
use crate::sec::tables::LINES;
use crate::sec::versions::{RestatementKind, Versions};
use pubdata_core::contract::ValueNotes;
use pubdata_core::ids::Cik;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/financials/{cik}",
    operation_id: "getStatements",
    summary: "Financial statements of a company, as filed",
    access: Access::Scope(Scope::General),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Statements<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

const ALL: &str = "all";
const STATEMENTS: [&str; 3] = ["income", "balance", "cash_flow"];
/// Reason for a line that the company did not report for the period under any of the line's
/// concepts.
const NOT_REPORTED: &str = "not_reported";

query! {
    pub struct Parameters<'a> {
        /// Statement to return; `all` (default) returns all three.
        statement: Option<&'a str> = Kind::Word(&["income", "balance", "cash_flow", ALL]),
        period: Option<&'a str> = PERIOD,
        fiscal_year: Option<i32> = FISCAL_YEAR, fiscal_year_from: Option<i32> = FISCAL_YEAR_FROM, fiscal_year_to: Option<i32> = FISCAL_YEAR_TO,
        known_at: Option<jiff::civil::Date> = KNOWN_AT,
        /// Number of periods on a page.
        limit: usize = Kind::Integer { min: 1, max: 40 }.or("4"),
        cursor: Option<&'a str> = CURSOR,
        ..format("statements/lines"), ..RELEASE, ..AS_OF,
    }
}

/// Reason for a company whose statements had not been filed by the requested day.
const NOT_KNOWN_YET: &str = "not_known_yet";

#[derive(Serialize, JsonSchema)]
struct Statements<'a> {
    #[serde(flatten)]
    company: CompanyName<'a>,
    /// Currency of all amounts.
    #[schemars(extend("enum" = ["USD"]))]
    currency: &'static str,
    /// Last day of the fiscal year, `MM-DD`, as stated in the last report; null if it is not
    /// published.
    fiscal_year_end: Option<&'a str>,
    /// Length of the periods: fiscal years (`annual`) or fiscal quarters (`quarterly`).
    #[schemars(extend("enum" = ["annual", "quarterly"]))]
    period_type: &'a str,
    /// Date from the request: only reports filed on or before this date count. Null if the request
    /// has no date.
    #[schemars(with = "Option<&str>")]
    known_at: Option<jiff::civil::Date>,
    /// Statements of the company, ordered by period, newest first.
    statements: Vec<Statement<'a>>,
    /// Reason for an empty answer; `not_known_yet` if no statement had been filed on or before the
    /// date in `known_at`. Null if the answer contains statements.
    null_reason: Option<&'a str>,
}

/// One statement for a period; its report is the newest report among its lines.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StatementsStatement")]
struct Statement<'a> {
    #[schemars(extend("$field" = "sec.statement_line/statement"))]
    statement: &'static str,
    /// The company's own fiscal year. It is only a label; the dates identify the period.
    fiscal_year: i32,
    #[schemars(extend("$field" = "sec.statement_line/fiscal_period"))]
    fiscal_period: &'a str,
    /// First day of the period, YYYY-MM-DD; null if all lines are balances. A line that covers
    /// other days states its own period.
    period_start: Option<Date>,
    /// Last day of the period, or the day of the balance, YYYY-MM-DD.
    period_end: Option<Date>,
    #[serde(flatten)]
    report: Report<'a>,
    /// True if any line of the statement was restated.
    is_restated: bool,
    /// The same lines in every statement, in statement order.
    lines: Vec<StatementLine<'a>>,
    /// Record of one line from the newest report, with the worst validation status of all lines.
    /// Each line also carries its own record.
    provenance: Provenance<'a>,
}

/// One line; without a value, the fields that describe its report are null.
#[derive(Serialize, JsonSchema)]
struct StatementLine<'a> {
    /// Stable key of the line, such as `gross_profit`.
    key: &'a str,
    /// Display name of the line.
    label: &'a str,
    /// Value as filed; null if not reported.
    value: Option<Decimal>,
    #[schemars(extend("$field" = "sec.statement_line/unit"))]
    unit: Option<&'a str>,
    /// Taxonomy concept of the figure; null without a value.
    concept: Option<&'a str>,
    /// True if the figure covers more than one quarter from the fiscal year's first day; false for
    /// a first quarter, a year and a balance, and without a value.
    is_ytd: bool,
    /// Always false, because no value is computed.
    #[schemars(extend("enum" = [false]))]
    is_derived: bool,
    /// First day of the figure's period, YYYY-MM-DD; null for a balance and without a value.
    period_start: Option<Date>,
    #[serde(flatten)]
    report: Report<'a>,
    /// True if the value differs from the value first reported for the period by more than
    /// rounding, and no report states both values under their own concepts.
    is_restated: bool,
    /// Kind of the last restatement; null unless the figure was restated.
    restatement_kind: Option<RestatementKind>,
    /// The figure as first reported; null unless it was restated.
    first_reported: Option<ReportedValue<'a>>,
    /// `not_reported`: the company did not report the line for the period under any of the line's
    /// concepts. Null if the line has a value.
    #[schemars(extend("enum" = ["not_reported", null]))]
    null_reason: Option<&'static str>,
    /// Codes of the warnings that the record carries; empty if it has no warnings.
    warnings: Vec<&'a str>,
    /// Id of the figure's record in `sec.statement_line`, for `/v1/provenance/{record_id}`; null
    /// without a value.
    record_id: Option<&'a str>,
}

/// The lines of one statement and period.
type Rows<'a> = BTreeMap<&'a str, Versions>;

/// One fiscal period, with the rows of each statement.
struct Period<'a> {
    fiscal_year: i32,
    fiscal_period: String,
    /// Last day of the period's newest row; periods are sorted by this day.
    end: i32,
    statements: [Rows<'a>; 3],
}

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let company = Company::of_path(call).await?;
    let query = Parameters::read(call)?;
    let (from, to) = fiscal_years(
        query.fiscal_year,
        (query.fiscal_year_from, query.fiscal_year_to),
    )?;
    let (series, requested, limit) = (
        query.period.unwrap_or(ANNUAL),
        query.statement.unwrap_or(ALL),
        query.limit,
    );
    let paging = Paging::new(call, limit, query.cursor)?;
    let bucket = SecTables::from_release(call.release)
        .lines
        .about(call.reader(), company.cik)
        .await?;
    let is_selected =
        |year: i32| from.is_none_or(|from| from <= year) && to.is_none_or(|to| year <= to);
    let lines: Vec<&ValueNotes> = call
        .contracts()
        .get(LINES)
        .into_iter()
        .flat_map(|contract| contract.values_of("line"))
        .collect();
    let known_at = query.known_at.map(since_epoch);
    let read = |known_at| {
        bucket
            .as_ref()
            .map(|bucket| {
                periods(
                    &bucket.table,
                    &lines,
                    company.cik,
                    StatementFilter { series, known_at },
                )
            })
            .unwrap_or_default()
    };
    let mut periods = read(known_at);
    let null_reason = match periods.is_empty() {
        false => None,
        true if known_at.is_some() && !read(None).is_empty() => Some(NOT_KNOWN_YET),
        true => Some(reason_without_figures(call, company.cik)),
    };
    periods.retain(|period| is_selected(period.fiscal_year));
    let total = periods.len();

    let key = |period: &Period<'_>| {
        format!(
            "{}:{}:{}",
            period.end, period.fiscal_year, period.fiscal_period
        )
    };
    if let Some(after) = &paging.after {
        let position = periods
            .iter()
            .position(|period| key(period) == *after)
            .ok_or_else(cursor::malformed_cursor)?;
        periods.drain(..=position);
    }
    let has_more = periods.len() > limit;
    periods.truncate(limit);
    let next_cursor = periods
        .last()
        .filter(|_| has_more)
        .map(|last| paging.cursor(&key(last)));

    let registrants = SecTables::from_release(call.release)
        .registrants
        .as_ref()
        .zip(company.row);
    let source = bucket
        .as_ref()
        .map(|bucket| Source::new(call, company.cik, bucket, &lines));
    let mut statements = Vec::new();
    for (period, source) in source
        .iter()
        .flat_map(|source| periods.iter().map(move |period| (period, source)))
    {
        let chosen = STATEMENTS
            .iter()
            .zip(&period.statements)
            .filter(|(statement, _)| requested == ALL || requested == **statement);
        statements.extend(
            chosen.filter_map(|(statement, rows)| source.statement(period, statement, rows)),
        );
    }
    json.value(&Statements {
        company: company.shown(),
        currency: "USD",
        fiscal_year_end: registrants
            .and_then(|(registrants, row)| registrants.fiscal_year_end(row)),
        period_type: series,
        known_at: query.known_at,
        statements,
        null_reason,
    });
    let mut meta = Meta {
        datasets: vec![LINES.into(), REGISTRANTS.into()],
        ..Meta::default()
    };
    let scope = format!(
        "{} lines of statements of registrants that file annual and quarterly reports in XBRL",
        call.release.manifest.rows(LINES)
    );
    meta.coverage = Some(Coverage {
        scope,
        ..Coverage::default()
    });
    meta.page = Some(Page {
        limit,
        count: periods.len(),
        next_cursor,
        total,
        is_total_exact: true,
        is_cut: false,
    });
    add_as_filed_notice(&mut meta);
    add_fiscal_periods_notice(&mut meta, series);
    let shown = periods
        .iter()
        .flat_map(|period| STATEMENTS.iter().zip(&period.statements))
        .filter(|(statement, _)| requested == ALL || requested == **statement);
    let rows = shown.flat_map(|(_, rows)| rows.values().map(Versions::latest));
    add_instant_notice(
        &mut meta,
        rows.filter_map(|row| Some(bucket.as_ref()?.table.period_start(row))),
    );
    Ok(meta)
}

/// Selection of statements.
#[derive(Clone, Copy)]
struct StatementFilter<'a> {
    /// Series of the statements: `annual` or `quarterly`.
    series: &'a str,
    /// Date until which reports count, in days since 1970-01-01.
    known_at: Option<i32>,
}

/// Groups a registrant's lines of one series by fiscal period, newest first.
fn periods<'a>(
    table: &Owned<LineTable>,
    lines: &[&'a ValueNotes],
    cik: Cik,
    filter: StatementFilter<'_>,
) -> Vec<Period<'a>> {
    let mut found: BTreeMap<(i32, &str), Period<'a>> = BTreeMap::new();
    for reports in table
        .periods(cik)
        .filter(|reports| table.series.at(reports.start) == filter.series)
    {
        // Reports are sorted by filing time.
        let known = reports
            .clone()
            .take_while(|row| {
                filter
                    .known_at
                    .is_none_or(|day| table.filed_date.value(*row) <= day)
            })
            .count();
        let known = reports.start..reports.start + known;
        let Some(versions) = Versions::new(
            known,
            |row| table.change.get(row),
            |row| table.supersedes.value(row),
        ) else {
            continue;
        };
        let row = versions.latest();
        let (Some(fiscal_period), Some(fiscal_year)) =
            (table.fiscal_period.get(row), cell(&table.fiscal_year, row))
        else {
            continue;
        };
        let statement = table.statement.at(row);
        let known = lines.iter().find(|line| {
            line.value == table.line.at(row) && line.note("statement") == Some(statement)
        });
        let Some(line) = known.map(|line| line.value.as_str()) else {
            continue;
        };
        let end = table.period_end.value(row);
        let period = found
            .entry((fiscal_year, fiscal_period))
            .or_insert_with(|| Period {
                fiscal_year,
                fiscal_period: fiscal_period.to_owned(),
                end,
                statements: Default::default(),
            });
        period.end = period.end.max(end);
        let Some(rows) = STATEMENTS
            .iter()
            .position(|known| *known == statement)
            .map(|index| &mut period.statements[index])
        else {
            continue;
        };
        let kept = rows.entry(line).or_insert_with(|| versions.clone());
        if preference(table, row) > preference(table, kept.latest()) {
            *kept = versions;
        }
    }
    let mut periods: Vec<Period<'_>> = found.into_values().collect();
    periods.sort_by(|a, b| {
        (b.end, b.fiscal_year, &b.fiscal_period).cmp(&(a.end, a.fiscal_year, &a.fiscal_period))
    });
    periods
}

/// Ranks rows with the same label. The later period comes first (after a change of the fiscal
/// year), then the figure for the quarter alone before the year to date.
fn preference(table: &LineTable, row: usize) -> (i32, bool) {
    (table.period_end.value(row), !table.is_ytd.value(row))
}

/// Data from which statements are built.
struct Source<'a> {
    table: &'a Owned<LineTable>,
    reports: Reports<'a>,
    lines: &'a [&'a ValueNotes],
    provenance: ProvenanceWriter<'a>,
}

impl<'a> Source<'a> {
    fn new(
        call: &'a Call<'_>,
        cik: Cik,
        bucket: &'a Bucket<'_, Owned<LineTable>>,
        lines: &'a [&'a ValueNotes],
    ) -> Self {
        let LineTable {
            record_id,
            value,
            concept,
            form,
            filed_date,
            accession_number,
            ..
        } = &**bucket.table;
        let links = &SecTables::from_release(call.release).links;
        Self {
            table: &bucket.table,
            reports: Reports {
                links,
                cik,
                record_id,
                value,
                concept,
                form,
                filed_date,
                accession_number,
            },
            lines,
            provenance: ProvenanceWriter::new(&call.release.manifest, LINES, bucket.part),
        }
    }

    /// Builds one statement; returns `None` without rows. The statement's filing is the newest
    /// filing among its lines.
    fn statement(
        &self,
        period: &'a Period<'_>,
        statement: &'static str,
        rows: &Rows<'_>,
    ) -> Option<Statement<'a>> {
        let table = self.table;
        let filed = |row: usize| (table.filed_date.value(row), table.accession_number.at(row));
        let latest_rows = || rows.values().map(Versions::latest);
        let newest = latest_rows().max_by_key(|row| filed(*row))?;
        let worst = latest_rows()
            .map(|row| table.validation_status.at(row))
            .max()
            .unwrap_or_default();
        let lines = self
            .lines
            .iter()
            .filter(|line| line.note("statement") == Some(statement));
        Some(Statement {
            statement,
            fiscal_year: period.fiscal_year,
            fiscal_period: &period.fiscal_period,
            // Most lines cover the same days; a line that covers other days states its own.
            period_start: latest_rows()
                .filter_map(|row| table.period_start(row))
                .max()
                .map(Date),
            period_end: latest_rows()
                .map(|row| table.period_end.value(row))
                .max()
                .map(Date),
            report: self.reports.report(newest),
            is_restated: latest_rows().any(|row| table.is_restated.value(row)),
            lines: lines
                .map(|line| self.line(line, rows.get(line.value.as_str())))
                .collect(),
            provenance: self.provenance.for_row(
                &table.row_sources,
                newest,
                worst,
                table.record_id.at(newest),
            ),
        })
    }

    fn line(&self, line: &'a ValueNotes, reported: Option<&Versions>) -> StatementLine<'a> {
        let table = self.table;
        let row = reported.map(Versions::latest);
        let restated = reported.filter(|reported| table.is_restated.value(reported.latest()));
        StatementLine {
            key: &line.value,
            label: line.note("label").unwrap_or(&line.value),
            value: row.and_then(|row| self.reports.value(row)),
            unit: row
                .map(|row| table.unit.at(row))
                .or_else(|| line.note("unit")),
            concept: row.and_then(|row| table.concept.get(row)),
            is_ytd: row.is_some_and(|row| table.is_ytd.value(row)),
            is_derived: false,
            period_start: row.and_then(|row| table.period_start(row)).map(Date),
            report: row.map(|row| self.reports.report(row)).unwrap_or_default(),
            is_restated: restated.is_some(),
            restatement_kind: restated
                .map(|reported| reported.restatement_kind(|row| table.change.get(row))),
            first_reported: restated.map(|reported| self.reports.first_reported(reported.first())),
            null_reason: row.is_none().then_some(NOT_REPORTED),
            warnings: row
                .map(|row| table.warnings.at(row).collect())
                .unwrap_or_default(),
            record_id: row.map(|row| table.record_id.at(row)),
        }
    }
}
