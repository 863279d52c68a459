//! Renders the pages of an SEC registrant: metrics as charts with restatements, filings, and
//! statements.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use futures_util::{FutureExt, try_join};
use minijinja::Value;
use serde_json::Value as Json;

use super::chart::{Figure, columns};
use super::templates::{context, segment};
use super::visit::{Visit, target};
use super::words::words;
use super::{Made, Page};
use crate::http::problem::{Code, Problem, Result};

pub const PAGES: &[Page] = &[
    Page {
        path: "/company/{cik}",
        make: |visit| company(visit).boxed(),
    },
    Page {
        path: "/company/{cik}/statements",
        make: |visit| statements(visit).boxed(),
    },
    Page {
        path: "/company/{cik}/filings",
        make: |visit| filings(visit).boxed(),
    },
    Page {
        path: "/filing/{accession}",
        make: |visit| filing(visit).boxed(),
    },
];

const QUARTERLY: &str = "quarterly";

/// Returns the periods that the page's choice selects.
fn period<'v>(visit: &'v Visit<'_>) -> &'v str {
    if visit.parameter("period") == Some(QUARTERLY) {
        QUARTERLY
    } else {
        "annual"
    }
}

async fn company(visit: &Visit<'_>) -> Result<Made> {
    let cik = segment(visit.value("cik"));
    let period = period(visit);
    let company = visit.ask(format!("/v1/sec/companies/{cik}")).await?;
    let financials = |span| {
        target(
            &format!("/v1/sec/companies/{cik}/financials"),
            &[("period", Some(period)), ("span", span)],
        )
    };
    let reports = format!("/v1/sec/companies/{cik}/filings?limit=8");
    let (figures, to_date_answer) = match period {
        QUARTERLY => try_join!(
            visit.ask_optional(financials(Some("quarter"))),
            visit.ask_optional(financials(Some("ytd")))
        )?,
        _ => (visit.ask_optional(financials(None)).await?, Json::Null),
    };
    let filings = visit.ask_optional(reports).await?;
    let to_date = |number: usize| &to_date_answer["data"]["series"][number];
    let of_metrics = figures["data"]["series"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate();
    let splits = splits(
        [&figures, &to_date_answer]
            .into_iter()
            .flat_map(|answer| answer["data"]["series"].as_array().into_iter().flatten()),
    );
    let series = of_metrics
        .map(|(number, of_metric)| series(of_metric, to_date(number), period, &splits))
        .collect::<Vec<_>>();
    let number = visit.value("cik").trim_start_matches('0');
    Ok(Made::Page(
        "company.html",
        context! { company => company["data"], cik => number, period, series, filings => filings["data"]["filings"] },
    ))
}

/// Returns a metric with its chart, and for quarters also the year-to-date figures.
fn series(series: &Json, to_date: &Json, period: &str, splits: &[&str]) -> Value {
    let (metric, unit) = (
        series["metric"].as_str().unwrap_or_default(),
        series["unit"].as_str().unwrap_or_default(),
    );
    let list = |series: &'_ Json| series["values"].as_array().cloned().unwrap_or_default();
    let (of_periods, to_date) = (list(series), list(to_date));
    // A chart has one figure for each period, and a year-to-date figure is not a quarter.
    let figures: Vec<Figure> = of_periods
        .iter()
        .filter_map(|value| figure(value, splits))
        .collect();
    let chart = columns(
        &format!("{} by fiscal period", words(metric)),
        unit,
        if period == QUARTERLY { 3 } else { 12 },
        &figures,
    );
    let ends_with = |value: &Json, other: &Json| {
        last_day(value).is_some() && last_day(value) == last_day(other)
    };
    // Both answers contain figures for first quarters and balances, so these are filtered out.
    let longer = to_date.iter().filter(|value| {
        of_periods
            .iter()
            .all(|other| other["provenance"]["record_id"] != value["provenance"]["record_id"])
    });
    let mut rows: Vec<(&Json, Option<&str>)> = longer
        .map(
            |value| match of_periods.iter().any(|other| ends_with(value, other)) {
                true => (value, Some("year to date")),
                false => (value, Some("published only as year to date")),
            },
        )
        .collect();
    rows.extend(of_periods.iter().map(|value| (value, None)));
    // Sorts the newest figures first, and a quarter before the year to date.
    rows.sort_by_key(|&(value, span)| (Reverse(last_day(value)), span.is_some()));
    let rows: Vec<Value> = rows
        .into_iter()
        .map(|(value, span)| context! { value, span })
        .collect();
    context! { metric, label => words(metric), unit, null_reason => series["null_reason"], other_concepts => series["other_concepts"], chart, rows }
}

/// Returns the last day of a figure's period.
fn last_day(value: &Json) -> Option<&str> {
    value["period_end"]
        .as_str()
        .or_else(|| value["as_of_date"].as_str())
}

/// Returns, for each stock split, the last day on which reports still count shares as before the
/// split. The two reports of a figure restated for a split bound the day of the split. Figures with
/// overlapping bounds count as restated for the same split.
fn splits<'j>(series: impl Iterator<Item = &'j Json>) -> Vec<&'j str> {
    let values = series
        .flat_map(|of_metric| of_metric["values"].as_array().into_iter().flatten())
        .filter(|value| value["restatement_kind"] == "split");
    let mut bounds: Vec<(&str, &str)> = values
        .filter_map(|value| {
            Some((
                value["filed_date"].as_str()?,
                value["first_reported"]["filed_date"].as_str()?,
            ))
        })
        .collect();
    bounds.sort_unstable();
    let mut found: Vec<(&str, &str)> = Vec::new();
    for (after, before) in bounds {
        match found.last_mut() {
            Some((first_after, last_before)) if before < *first_after => {
                *last_before = before.max(*last_before);
            }
            _ => found.push((after, before)),
        }
    }
    found.into_iter().map(|(_, before)| before).collect()
}

fn figure(value: &Json, splits: &[&str]) -> Option<Figure> {
    let end = last_day(value)?;
    let mut numbers = end.split('-').map(str::parse::<i64>);
    let month = numbers.next()?.ok()? * 12 + numbers.next()?.ok()?;
    let label = match (
        value["fiscal_year"].as_i64(),
        value["fiscal_period"].as_str().unwrap_or("FY"),
    ) {
        (Some(year), "FY") => year.to_string(),
        (Some(year), quarter) => format!("{quarter} {year}"),
        (None, _) => end.to_owned(),
    };
    // A figure from before a split is based on a different share count, so only the table shows it.
    let first_reported = value["first_reported"]["value"]
        .as_f64()
        .filter(|_| value["is_restated"] == true && value["restatement_kind"] != "split");
    let page = value["provenance"]["record_id"]
        .as_str()
        .map(|id| format!("/records/{}", segment(id)));
    let counts_shares = value["unit"]
        .as_str()
        .is_some_and(|unit| unit.contains("shares"));
    let filed = value["filed_date"].as_str().filter(|_| counts_shares);
    let splits = filed.map_or(0, |filed| {
        splits.iter().filter(|before| filed > **before).count()
    });
    Some(Figure {
        month,
        label,
        value: value["value"].as_f64()?,
        first_reported,
        splits,
        page,
    })
}

async fn statements(visit: &Visit<'_>) -> Result<Made> {
    let (cik, period) = (segment(visit.value("cik")), period(visit));
    let statement = visit.parameter("statement").unwrap_or("income");
    let query = [
        ("statement", Some(statement)),
        ("period", Some(period)),
        ("limit", Some("5")),
        ("cursor", visit.parameter("cursor")),
    ];
    let answer = visit
        .ask(target(&format!("/v1/financials/{cik}"), &query))
        .await?;
    let periods: Vec<&Json> = answer["data"]["statements"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let mut keys: Vec<&str> = Vec::new();
    let mut lines: BTreeMap<&str, Vec<&Json>> = BTreeMap::new();
    for (number, statement) in periods.iter().enumerate() {
        for line in statement["lines"].as_array().into_iter().flatten() {
            let key = line["key"].as_str().unwrap_or_default();
            let of_key = lines.entry(key).or_default();
            if of_key.is_empty() {
                keys.push(key);
            }
            // A line that an earlier period lacks keeps its position.
            of_key.resize(number, &Json::Null);
            of_key.push(line);
        }
    }
    let rows = keys.into_iter().map(|key| {
        let cells = &lines[key];
        let text = |name: &str| cells.iter().find_map(|line| line[name].as_str());
        let has_cents = text("unit").is_some_and(|unit| unit.contains('/')) && cells.iter().any(|line| line["value"].to_string().contains('.'));
        context! { key, label => text("label"), unit => text("unit").unwrap_or_default(), has_cents, cells }
    });
    let rows: Vec<Value> = rows.collect();
    let has_restated = lines
        .values()
        .flatten()
        .any(|line| line["is_restated"] == true);
    let number = visit.value("cik").trim_start_matches('0');
    let context = context! {
        cik => number, name => answer["data"]["name"], statement, period, missing => missing_years(&periods), has_restated, rows, data => answer["data"],
        page => answer["meta"]["page"], periods
    };
    Ok(Made::Page("statements.html", context))
}

/// Returns the fiscal years without a period, between the first and the last period.
fn missing_years(periods: &[&Json]) -> Vec<i64> {
    let years: BTreeSet<i64> = periods
        .iter()
        .filter_map(|period| period["fiscal_year"].as_i64())
        .collect();
    let (first, last) = (
        years.first().copied().unwrap_or_default(),
        years.last().copied().unwrap_or_default(),
    );
    (first..last).filter(|year| !years.contains(year)).collect()
}

async fn filings(visit: &Visit<'_>) -> Result<Made> {
    let number = visit.value("cik").trim_start_matches('0').to_owned();
    let query = [
        ("cik", Some(number.as_str())),
        ("form", visit.parameter("form")),
        ("limit", Some("50")),
        ("cursor", visit.parameter("cursor")),
    ];
    let (company, answer) = (
        format!("/v1/sec/companies/{}", segment(&number)),
        target("/v1/filings/search", &query),
    );
    let (company, answer) = (visit.ask(company).await?, visit.ask(answer).await?);
    let context = context! { cik => number, company => company["data"], filings => answer["data"], form => visit.parameter("form"), page => answer["meta"]["page"] };
    Ok(Made::Page("filings.html", context))
}

/// Renders a filing by its number; the search finds its registrant.
async fn filing(visit: &Visit<'_>) -> Result<Made> {
    let accession = visit.value("accession");
    let found = visit
        .ask(target("/v1/search", &[("q", Some(accession))]))
        .await?;
    let filing = found["data"]["results"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|result| result["kind"] == "filing");
    let record = filing.and_then(|filing| filing["record_id"].as_str());
    let Some(record) = record else {
        return Err(Problem::of_field(
            Code::NotFound,
            "accession",
            format!(
                "no filing is found by the number `{accession}` alone; for a filing by an agent, see the company's list of filings"
            ),
        ));
    };
    Ok(Made::Redirect(
        format!("/records/{}", segment(record)),
        None,
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{figure, missing_years, splits};

    #[test]
    fn years_without_a_statement_are_named() {
        let period = |year: i64| json!({"fiscal_year": year});
        let periods = [period(2024), period(2023), period(2020)];
        assert_eq!(
            missing_years(&periods.iter().collect::<Vec<_>>()),
            [2021, 2022]
        );
        assert_eq!(missing_years(&[]), [0; 0]);
    }

    #[test]
    fn figures_of_before_a_split_are_not_drawn_beside_those_of_after() {
        let value = |kind: &str| json!({"period_end": "2012-09-29", "fiscal_year": 2012, "fiscal_period": "FY", "value": 6.31, "is_restated": true, "restatement_kind": kind, "first_reported": {"value": 44.15}});
        assert_eq!(figure(&value("split"), &[]).unwrap().first_reported, None);
        assert_eq!(
            figure(&value("value"), &[]).unwrap().first_reported,
            Some(44.15)
        );
    }

    #[test]
    fn split_date_lies_between_the_reports_of_restated_figures() {
        let value = |filed: &str, first: &str| json!({"restatement_kind": "split", "filed_date": filed, "first_reported": {"filed_date": first}});
        let quarters = json!({"values": [value("2014-07-23", "2013-07-24"), value("2015-04-28", "2014-04-24"), value("2020-10-30", "2018-11-05")]});
        let others = json!({"values": [{"restatement_kind": "value", "filed_date": "2010-01-25", "first_reported": {"filed_date": "2009-10-27"}}]});
        let found = splits([&quarters, &others].into_iter());
        assert_eq!(found, ["2014-04-24", "2018-11-05"]);
        let counted = |unit: &str, filed: &str| {
            let value = json!({"period_end": "2014-06-28", "unit": unit, "value": 1.28, "filed_date": filed});
            figure(&value, &found).unwrap().splits
        };
        let filed = ["2014-04-24", "2014-07-23", "2020-10-30"];
        assert_eq!(filed.map(|filed| counted("USD/shares", filed)), [0, 1, 2]);
        assert_eq!(filed.map(|filed| counted("USD", filed)), [0, 0, 0]);
    }
}
