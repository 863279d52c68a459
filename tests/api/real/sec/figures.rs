//! Checks well-known figures, and the changes that reports made to them.

use std::collections::BTreeMap;

use pubdata_store::Record;

use super::Row;

const AMD: &str = "0000002488";
const APPLE: &str = "0000320193";
const HOME_DEPOT: &str = "0000354950";
const JPMORGAN: &str = "0000019617";
const KIMBERLY_CLARK: &str = "0000055785";
const MICROSOFT: &str = "0000789019";
const META: &str = "0001326801";
const NVIDIA: &str = "0001045810";

pub fn check(rows: &[Row]) {
    check_annual_figures(rows);
    check_reasons(rows);
    check_scale_error(rows);
    check_splits(rows);
    check_other_concept(rows);
}

/// Reports of a metric and period (`start..end`, or the end alone) in filing order.
#[track_caller]
fn reports<'a>(rows: &'a [Row], cik: &str, metric: &str, period: &str) -> Vec<&'a Row> {
    let prefix = format!("sec.financial_value:{cik}:{metric}:{period}:");
    let mut reports: Vec<&Row> = rows
        .iter()
        .filter(|row| row.record_id.starts_with(&prefix))
        .collect();
    assert!(!reports.is_empty(), "{prefix}");
    reports.sort_by_key(|row| row.observation);
    reports
}

fn check_annual_figures(rows: &[Row]) {
    const APPLE_2010: &str = "2009-09-27..2010-09-25";
    let known = [
        (
            APPLE,
            "revenue",
            "2019-09-29..2020-09-26",
            2020,
            "274515000000",
        ),
        (APPLE, "revenue", APPLE_2010, 2010, "65225000000"),
        (APPLE, "net_income", APPLE_2010, 2010, "14013000000"),
        (APPLE, "total_assets", "2010-09-25", 2010, "75183000000"),
        (
            APPLE,
            "total_liabilities",
            "2010-09-25",
            2010,
            "27392000000",
        ),
        (
            APPLE,
            "stockholders_equity",
            "2010-09-25",
            2010,
            "47791000000",
        ),
        (
            APPLE,
            "operating_cash_flow",
            APPLE_2010,
            2010,
            "18595000000",
        ),
        (APPLE, "eps_diluted", APPLE_2010, 2010, "15.15"),
        (APPLE, "shares_outstanding", "2010-09-25", 2010, "917307099"),
        (
            NVIDIA,
            "revenue",
            "2023-01-30..2024-01-28",
            2024,
            "60922000000",
        ),
        (
            JPMORGAN,
            "revenue",
            "2023-01-01..2023-12-31",
            2023,
            "158104000000",
        ),
        // A year that ends in January has the number of the year before, as the company names it.
        (
            HOME_DEPOT,
            "revenue",
            "2023-01-30..2024-01-28",
            2023,
            "152669000000",
        ),
    ];
    for (cik, metric, period, year, value) in known {
        let reports = reports(rows, cik, metric, period);
        let first = reports[0];
        let label = (
            first.series.as_str(),
            first.fiscal_year,
            first.fiscal_period.as_deref(),
        );
        assert_eq!(
            (label, first.value.as_deref()),
            (("annual", Some(year), Some("FY")), Some(value)),
            "{first:#?}"
        );
        assert_eq!(first.form.as_deref(), Some("10-K"), "{first:#?}");
        assert!(
            reports
                .iter()
                .all(|row| row.value.as_deref() == Some(value)),
            "no later report differs: {reports:#?}"
        );
    }
    let cover = reports(rows, APPLE, "shares_outstanding", "2010-09-25")[0];
    assert_eq!(cover.as_of_date.as_deref(), Some("2010-10-15"));
}

/// Checks lines that statements show besides the metrics: separately stated expense and debt,
/// retained earnings, the change in cash.
pub fn check_lines(lines: &BTreeMap<String, Record>) {
    let known = [
        (
            META,
            "income:annual:2023-01-01..2023-12-31",
            "selling_and_marketing",
            "0001326801-24-000012",
            "12301000000",
        ),
        (
            META,
            "income:annual:2023-01-01..2023-12-31",
            "general_and_administrative",
            "0001326801-24-000012",
            "11408000000",
        ),
        (
            APPLE,
            "balance:annual:2020-09-26",
            "retained_earnings",
            "0000320193-20-000096",
            "14966000000",
        ),
        (
            APPLE,
            "balance:annual:2020-09-26",
            "long_term_debt_current",
            "0000320193-20-000096",
            "8773000000",
        ),
        (
            APPLE,
            "balance:annual:2020-09-26",
            "short_term_borrowings",
            "0000320193-20-000096",
            "4996000000",
        ),
        (
            APPLE,
            "cash_flow:annual:2019-09-29..2020-09-26",
            "net_change_in_cash",
            "0000320193-20-000096",
            "-10435000000",
        ),
        (
            KIMBERLY_CLARK,
            "balance:annual:2023-12-31",
            "debt_current",
            "0000055785-24-000018",
            "567000000",
        ),
    ];
    for (cik, statement, line, report, value) in known {
        let id = format!("sec.statement_line:{cik}:{statement}:{line}:{report}");
        let (record, _) = lines.get(&id).unwrap_or_else(|| panic!("{id}"));
        assert_eq!(
            (
                record["value"].to_string().as_str(),
                record["is_restated"].as_bool()
            ),
            (value, Some(false)),
            "{id}"
        );
    }
}

/// Checks that a metric that a company never tags has a reason instead of a figure.
fn check_reasons(rows: &[Row]) {
    for (cik, metric, reason) in [
        (AMD, "total_liabilities", "not_tagged"),
        (META, "shares_outstanding", "multi_class"),
    ] {
        let said: Vec<(&str, Option<&str>, Option<&str>)> = rows
            .iter()
            .filter(|row| row.cik == cik && row.metric == metric)
            .map(|row| {
                (
                    row.series.as_str(),
                    row.value.as_deref(),
                    row.null_reason.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            said,
            [
                ("annual", None, Some(reason)),
                ("quarterly", None, Some(reason))
            ],
            "{cik} {metric}"
        );
    }
}

/// Kimberly-Clark's report of 2010-05-07 states millions as units; a week later an amended report
/// was filed.
fn check_scale_error(rows: &[Row]) {
    const QUARTER: &str = "2010-01-01..2010-03-31";
    let amended = [
        ("revenue", QUARTER, "4835", "4835000000"),
        ("net_income", QUARTER, "384", "384000000"),
        ("operating_cash_flow", QUARTER, "464", "464000000"),
        ("total_assets", "2010-03-31", "18997", "18997000000"),
        ("stockholders_equity", "2010-03-31", "5396", "5396000000"),
    ];
    for (metric, period, wrong, right) in amended {
        let reports = reports(rows, KIMBERLY_CLARK, metric, period);
        let [original, amendment, later @ ..] = reports.as_slice() else {
            panic!("{reports:#?}")
        };
        let of = |row: &Row| {
            [&row.form, &row.filed_date, &row.value, &row.change].map(|cell| cell.clone().unwrap())
        };
        assert_eq!(of(original), ["10-Q", "2010-05-07", wrong, "first"]);
        assert_eq!(original.warnings, ["scale_suspect"]);
        assert_eq!(
            of(amendment),
            ["10-Q/A", "2010-05-14", right, "scale_error"]
        );
        assert!(
            !original.is_latest && (amendment.is_latest || !later.is_empty()),
            "{reports:#?}"
        );
        assert!(
            later.iter().all(|row| row.value.as_deref() == Some(right)),
            "{reports:#?}"
        );
    }
    // Figures per share were correct in both.
    let per_share = reports(rows, KIMBERLY_CLARK, "eps_diluted", QUARTER);
    assert!(
        per_share
            .iter()
            .all(|row| row.value.as_deref() == Some("0.92")),
        "{per_share:#?}"
    );
}

/// Microsoft's report of 2018 restates revenue of two years under the concept of the new standard.
fn check_other_concept(rows: &[Row]) {
    let years = [
        ("2015-07-01..2016-06-30", "85320000000", "91154000000"),
        ("2016-07-01..2017-06-30", "89950000000", "96571000000"),
    ];
    for (period, first, latest) in years {
        let reports = reports(rows, MICROSOFT, "revenue", period);
        assert_eq!(reports[0].value.as_deref(), Some(first));
        let last = reports[reports.len() - 1];
        assert_eq!(
            (last.value.as_deref(), last.is_restated, last.is_latest),
            (Some(latest), true, true),
            "{reports:#?}"
        );
    }
}

/// Apple's shares were split seven for one in June 2014 and four for one in August 2020: later
/// reports restate the earlier periods.
fn check_splits(rows: &[Row]) {
    let restated = [
        ("2012-09-30..2013-09-28", "39.75", "5.68", "2014-10-27"),
        ("2013-03-31..2013-06-29", "7.47", "1.07", "2014-07-23"),
        ("2013-09-29..2013-12-28", "14.5", "2.07", "2015-01-28"),
        ("2013-12-29..2014-03-29", "11.62", "1.66", "2015-04-28"),
        ("2018-09-30..2019-09-28", "11.89", "2.97", "2020-10-30"),
        ("2019-09-29..2019-12-28", "4.99", "1.25", "2021-01-28"),
        ("2019-12-29..2020-03-28", "2.55", "0.64", "2021-04-29"),
        ("2020-03-29..2020-06-27", "2.58", "0.65", "2021-07-28"),
    ];
    for (period, before, after, filed) in restated {
        let reports = reports(rows, APPLE, "eps_diluted", period);
        assert_eq!(reports[0].value.as_deref(), Some(before), "{period}");
        let split: Vec<(Option<&str>, Option<&str>)> = reports
            .iter()
            .filter(|row| row.change.as_deref() == Some("split"))
            .map(|row| (row.value.as_deref(), row.filed_date.as_deref()))
            .collect();
        assert_eq!(split, [(Some(after), Some(filed))], "{period}");
    }
    // This is not a split: Apple applied a new rule of 2009 to its sales, which its reports of 2010
    // restate.
    for row in rows
        .iter()
        .filter(|row| row.cik == APPLE && row.metric == "eps_diluted")
    {
        let restatement = if row.filed_date.as_deref() < Some("2011") {
            "value"
        } else {
            "split"
        };
        let change = row.change.as_deref().unwrap();
        assert!(
            ["first", "equal", restatement].contains(&change),
            "{row:#?}"
        );
    }
    let restated = reports(rows, APPLE, "eps_diluted", "2007-09-30..2008-09-27");
    let reported: Vec<[&str; 4]> = restated
        .iter()
        .map(|row| {
            [&row.form, &row.filed_date, &row.value, &row.change]
                .map(|cell| cell.as_deref().unwrap())
        })
        .collect();
    assert_eq!(
        reported[..2],
        [
            ["10-K", "2009-10-27", "5.36", "first"],
            ["10-K/A", "2010-01-25", "6.78", "value"]
        ]
    );
}
