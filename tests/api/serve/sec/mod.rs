//! Tests the securities family on a small release. Revenue of Kimberly-Clark and figures of Apple
//! and NVIDIA are as filed. Accession numbers and registrants above 9,900,000 are invented.

mod companies;
mod filings;
mod financials;
mod frames;

use serde_json::{Value, json};

use super::home::{Draft, Table};
use super::{World, with};
use pubdata_core::ids::ReleaseId;
use pubdata_store::PartReport;

/// A home whose release has only the securities family.
pub async fn world() -> World {
    let world = World::empty(|_| {}).await;
    publish(&world, draft()).await;
    world
}

/// The same home, with NVIDIA as successor of another company.
pub async fn world_of_a_successor() -> World {
    let mut draft = draft();
    let filings = [
        ("0001045810-20-000001", "8-K", "2020-01-02"),
        ("0001045810-23-000007", "8-K12B", "2023-06-01"),
    ];
    let rows = filings
        .map(|(number, form, day)| filing("0001045810", number, form, day, json!({})))
        .to_vec();
    draft.tables.push(Table {
        dataset_id: "sec.filing",
        vintage_year: None,
        bucket: Some("810"),
        folders: &[],
        rows,
        report: PartReport::default(),
    });
    let world = World::empty(|_| {}).await;
    publish(&world, draft).await;
    world
}

pub async fn publish(world: &World, draft: Draft) -> ReleaseId {
    let id = world.publish(&draft).await;
    world.service.refresh().await.unwrap();
    id
}

pub fn draft() -> Draft {
    let table = |dataset_id, bucket, rows| Table {
        dataset_id,
        vintage_year: None,
        bucket: Some(bucket),
        folders: &[],
        rows,
        report: PartReport::default(),
    };
    let tables = vec![
        table(
            "sec.registrant",
            "193",
            vec![
                apple(),
                registrant(
                    "0009900193",
                    json!({"name": "Apple Orchard Partners LP", "fund_symbols": ["ORCHX"], "fund_series": ["S000000001"], "fund_classes": ["C000000001"]}),
                ),
            ],
        ),
        table("sec.registrant", "785", vec![kimberly_clark()]),
        table("sec.registrant", "810", vec![nvidia()]),
        table("sec.financial_value", "193", apple_values()),
        table("sec.financial_value", "785", kimberly_clark_values()),
        table(
            "sec.financial_value",
            "810",
            vec![annual(
                "0001045810",
                "revenue",
                2024,
                ("2023-01-30", "2024-01-28"),
                "60922000000",
            )],
        ),
        table("sec.statement_line", "193", apple_lines()),
        table("sec.filing", "193", apple_filings()),
        table(
            "sec.filing",
            "785",
            vec![filing(
                "0000055785",
                "0000055785-24-000018",
                "10-K",
                "2024-02-08",
                json!({}),
            )],
        ),
        table(
            "sec.archive_member",
            "193",
            vec![
                member("0000320193", "published"),
                member("0009900193", "foreign_filer"),
            ],
        ),
    ];
    Draft {
        tables,
        is_sample: false,
        published_at: "2026-01-10T01:00:00Z",
        due: None,
    }
}

fn bucket(cik: &str) -> &str {
    &cik[7..]
}

pub fn registrant(cik: &str, cells: Value) -> Value {
    let row = json!({
        "record_id": format!("sec.registrant:{cik}"), "bucket": bucket(cik), "cik": cik, "name": "A", "name_source": "submissions", "is_address_withheld": false,
        "has_submissions": true, "filings": 0, "annual_filings": 0, "quarterly_filings": 0, "missing_pages": 0, "missing_filings": 0,
    });
    with(row, &cells)
}

fn apple() -> Value {
    registrant(
        "0000320193",
        json!({
            "name": "Apple Inc.", "former_names": ["APPLE COMPUTER INC"], "former_names_from": ["unknown"], "former_names_to": ["2007-01-04"], "tickers": ["AAPL"],
            "exchanges": ["Nasdaq"], "entity_type": "operating", "filer_category": "Large accelerated filer", "sic": "3571", "sic_description": "Electronic Computers",
            "fiscal_year_end": "09-26", "state_of_incorporation": "CA", "business_city": "CUPERTINO", "business_state_or_country": "CA",
            "annual_filings": 2, "annual_first_filed": "2023-11-03", "annual_last_filed": "2024-11-01", "missing_filings": 3,
        }),
    )
}

fn kimberly_clark() -> Value {
    registrant(
        "0000055785",
        json!({"name": "KIMBERLY CLARK CORP", "tickers": ["KMB", "KMB-A"], "exchanges": ["unknown", "NYSE"], "filer_category": "Large accelerated filer"}),
    )
}

fn nvidia() -> Value {
    registrant(
        "0001045810",
        json!({"name": "NVIDIA CORP", "tickers": ["NVDA"], "exchanges": ["Nasdaq"], "filer_category": "Large accelerated filer"}),
    )
}

/// Statement of one report about one period.
pub fn value(
    cik: &str,
    metric: &str,
    series: &str,
    (start, end): (Option<&str>, &str),
    amount: &str,
    cells: Value,
) -> Value {
    let (number, filed_date) = (
        cells["accession_number"].as_str().unwrap(),
        cells["filed_date"].as_str().unwrap(),
    );
    let unit = if metric == "eps_diluted" {
        "USD/shares"
    } else {
        "USD"
    };
    let period = start.map_or_else(|| end.to_owned(), |start| format!("{start}..{end}"));
    let row = json!({
        "record_id": format!("sec.financial_value:{cik}:{metric}:{period}:{number}"), "bucket": bucket(cik), "cik": cik, "metric": metric, "unit": unit, "series": series,
        "period_start": start, "period_end": end, "is_ytd": false, "value": amount, "concept": "us-gaap:Revenues", "filed_date": filed_date, "observation": 1,
        "form": if series == "annual" { "10-K" } else { "10-Q" }, "is_latest": true, "change": "first", "supersedes": true, "is_restated": false, "fiscal_period": "FY",
    });
    with(row, &cells)
}

/// Microsoft's revenue of two years, restated by the report of 2018 under the concept of a new
/// standard; and Goldman Sachs' assets at the end of 2008, which two reports date differently. As
/// filed.
pub fn restated_and_stated_twice() -> [Table; 4] {
    let table = |dataset_id, bucket, rows| Table {
        dataset_id,
        vintage_year: None,
        bucket: Some(bucket),
        folders: &[],
        rows,
        report: PartReport::default(),
    };
    let cells = |fiscal_year: i32,
                 observation: i32,
                 number: &str,
                 filed_date: &str,
                 more: Value| {
        with(
            json!({"fiscal_year": fiscal_year, "observation": observation, "accession_number": number, "filed_date": filed_date}),
            &more,
        )
    };
    let (sales, contracts) = (
        "us-gaap:SalesRevenueNet",
        "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax",
    );
    let revenue = |(start, end): (&str, &str), amount: &str, cells: Value| {
        value(
            "0000789019",
            "revenue",
            "annual",
            (Some(start), end),
            amount,
            cells,
        )
    };
    let (of_2016, of_2017) = (("2015-07-01", "2016-06-30"), ("2016-07-01", "2017-06-30"));
    let first = || json!({"concept": sales, "is_latest": false});
    let equal = json!({"concept": sales, "change": "equal", "is_latest": false});
    let changed = json!({"concept": contracts, "change": "concept_changed", "is_restated": true});
    let again = json!({"concept": contracts, "change": "equal", "is_restated": true});
    let microsoft = vec![
        revenue(
            of_2016,
            "85320000000",
            cells(2016, 1, "0001193125-16-662209", "2016-07-28", first()),
        ),
        revenue(
            of_2016,
            "85320000000",
            cells(2016, 2, "0001564590-17-014900", "2017-08-02", equal),
        ),
        revenue(
            of_2016,
            "91154000000",
            cells(
                2016,
                3,
                "0001564590-18-019062",
                "2018-08-03",
                changed.clone(),
            ),
        ),
        revenue(
            of_2017,
            "89950000000",
            cells(2017, 1, "0001564590-17-014900", "2017-08-02", first()),
        ),
        revenue(
            of_2017,
            "96571000000",
            cells(2017, 2, "0001564590-18-019062", "2018-08-03", changed),
        ),
        revenue(
            of_2017,
            "96571000000",
            cells(2017, 3, "0001564590-19-027952", "2019-08-01", again),
        ),
    ];
    let assets = |cells: Value| {
        value(
            "0000886982",
            "total_assets",
            "annual",
            (None, "2008-11-30"),
            "884547000000",
            cells,
        )
    };
    let warned = |more: Value| {
        with(
            json!({"concept": "us-gaap:Assets", "warnings": ["period_end_differs"]}),
            &more,
        )
    };
    let goldman = vec![
        assets(cells(
            2008,
            1,
            "0000950123-10-018464",
            "2010-03-01",
            warned(json!({"reported_end": "2008-11-28", "is_latest": false})),
        )),
        assets(cells(
            2008,
            2,
            "0000950123-11-020067",
            "2011-03-01",
            warned(json!({"change": "equal"})),
        )),
    ];
    [
        table(
            "sec.registrant",
            "019",
            vec![registrant("0000789019", json!({"name": "MICROSOFT CORP"}))],
        ),
        table(
            "sec.registrant",
            "982",
            vec![registrant(
                "0000886982",
                json!({"name": "GOLDMAN SACHS GROUP INC"}),
            )],
        ),
        table("sec.financial_value", "019", microsoft),
        table("sec.financial_value", "982", goldman),
    ]
}

fn annual(
    cik: &str,
    metric: &str,
    fiscal_year: i32,
    (start, end): (&str, &str),
    amount: &str,
) -> Value {
    let cells = json!({"fiscal_year": fiscal_year, "accession_number": format!("{cik}-{:02}-000001", fiscal_year % 100), "filed_date": format!("{fiscal_year}-12-01")});
    value(cik, metric, "annual", (Some(start), end), amount, cells)
}

fn none(cik: &str, metric: &str, series: &str, reason: &str) -> Value {
    json!({
        "record_id": format!("sec.financial_value:{cik}:{metric}:{series}:none"), "bucket": bucket(cik), "cik": cik, "metric": metric, "unit": "USD", "series": series,
        "is_ytd": false, "is_latest": true, "supersedes": true, "is_restated": false, "null_reason": reason,
    })
}

fn apple_values() -> Vec<Value> {
    let quarter = |fiscal_period: &str, is_ytd: bool, (start, end): (&str, &str), amount: &str| {
        let cells = json!({"fiscal_year": 2024, "fiscal_period": fiscal_period, "is_ytd": is_ytd, "accession_number": format!("0000320193-24-{}", end.replace('-', "").get(2..).unwrap()), "filed_date": "2024-08-02"});
        value(
            "0000320193",
            "operating_cash_flow",
            "quarterly",
            (Some(start), end),
            amount,
            cells,
        )
    };
    let eps = json!({"fiscal_year": 2023, "accession_number": "0000320193-23-000106", "filed_date": "2023-11-03", "concept": "us-gaap:EarningsPerShareDiluted"});
    vec![
        value(
            "0000320193",
            "eps_diluted",
            "annual",
            (Some("2022-09-25"), "2023-09-30"),
            "6.13",
            eps,
        ),
        quarter("Q1", false, ("2023-10-01", "2023-12-30"), "39895000000"),
        quarter("Q2", true, ("2023-10-01", "2024-03-30"), "62585000000"),
        annual(
            "0000320193",
            "revenue",
            2023,
            ("2022-09-25", "2023-09-30"),
            "383285000000",
        ),
        annual(
            "0000320193",
            "revenue",
            2024,
            ("2023-10-01", "2024-09-28"),
            "391035000000",
        ),
        none("0000320193", "revenue", "quarterly", "not_tagged"),
    ]
}

/// Revenue of 2023 was 20,431 million as first reported and 17,146 million after the sale of a
/// business; that of 2024 was only rounded.
fn kimberly_clark_values() -> Vec<Value> {
    let of_2023 = |observation: i32, number: &str, filed_date: &str, amount: &str, change: &str| {
        let cells = json!({"fiscal_year": 2023, "observation": observation, "accession_number": number, "filed_date": filed_date, "change": change, "is_latest": observation == 3, "is_restated": change == "value"});
        value(
            "0000055785",
            "revenue",
            "annual",
            (Some("2023-01-01"), "2023-12-31"),
            amount,
            cells,
        )
    };
    let of_2024 = |observation: i32, amount: &str, change: &str| {
        let number = format!("0000055785-25-{observation:06}");
        let cells = json!({"fiscal_year": 2024, "observation": observation, "accession_number": number, "filed_date": format!("2025-02-1{observation}"), "change": change, "conflicts": ["us-gaap:SalesRevenueNet=1"]});
        value(
            "0000055785",
            "revenue",
            "annual",
            (Some("2024-01-01"), "2024-12-31"),
            amount,
            cells,
        )
    };
    vec![
        of_2023(
            1,
            "0000055785-24-000018",
            "2024-02-08",
            "20431000000",
            "first",
        ),
        of_2023(
            2,
            "0000055785-25-000013",
            "2025-02-13",
            "20431000000",
            "equal",
        ),
        of_2023(
            3,
            "0001628280-26-007567",
            "2026-02-12",
            "17146000000",
            "value",
        ),
        of_2024(1, "20058123456", "first"),
        of_2024(2, "20058000000", "rounding"),
        none("0000055785", "total_liabilities", "annual", "not_tagged"),
    ]
}

fn apple_lines() -> Vec<Value> {
    let line = |statement: &str,
                line: &str,
                (series, fiscal_year, fiscal_period): (&str, i32, &str),
                (start, end): (Option<&str>, &str),
                cells: Value| {
        let row = json!({
            "record_id": format!("sec.statement_line:0000320193:{statement}:{series}:{end}:{line}:{}", cells["accession_number"].as_str().unwrap_or("0000320193-24-000123")), "bucket": "193", "cik": "0000320193", "statement": statement, "line": line,
            "label": line, "unit": "USD", "series": series, "fiscal_year": fiscal_year, "fiscal_period": fiscal_period, "period_start": start, "period_end": end,
            "is_ytd": false, "value": "1000000", "concept": "us-gaap:Revenues", "form": "10-K", "filed_date": "2024-11-01", "accession_number": "0000320193-24-000123",
            "observation": 1, "is_latest": true, "change": "first", "supersedes": true, "is_restated": false,
        });
        with(row, &cells)
    };
    let first = json!({"value": "5", "accession_number": "0000320193-22-000108", "filed_date": "2022-10-28", "is_latest": false});
    let restated = json!({"observation": 2, "change": "value", "is_restated": true});
    let year = |fiscal_year: i32| {
        (
            format!("{}-10-01", fiscal_year - 1),
            format!("{fiscal_year}-09-28"),
        )
    };
    let mut rows = Vec::new();
    for fiscal_year in 2019..=2024 {
        let end = year(fiscal_year).1;
        rows.push(line(
            "balance",
            "cash",
            ("annual", fiscal_year, "FY"),
            (None, &end),
            json!({}),
        ));
    }
    let (start, end) = year(2024);
    rows.push(line(
        "cash_flow",
        "operating_cash_flow",
        ("quarterly", 2024, "Q2"),
        (Some(&start), "2024-03-30"),
        json!({"is_ytd": true, "form": "10-Q"}),
    ));
    rows.extend([first, restated].map(|cells| {
        line(
            "income",
            "net_income",
            ("annual", 2022, "FY"),
            (Some("2021-10-01"), "2022-09-28"),
            cells,
        )
    }));
    rows.push(line(
        "income",
        "net_income",
        ("annual", 2024, "FY"),
        (Some(&start), &end),
        json!({"value": "93736000000"}),
    ));
    rows
}

pub fn filing(cik: &str, number: &str, form: &str, filed_date: &str, cells: Value) -> Value {
    let row = json!({
        "record_id": format!("sec.filing:{cik}:{number}"), "bucket": bucket(cik), "cik": cik, "accession_number": number, "form": form, "forms": [form],
        "is_amendment": form.ends_with("/A"), "filed_date": filed_date, "listing": "submissions", "has_xbrl": true, "has_inline_xbrl": true, "size_bytes": 1_000,
        "primary_document": "report.htm", "period_of_report": "2023-12-31",
    });
    with(row, &cells)
}

fn apple_filings() -> Vec<Value> {
    let cik = "0000320193";
    vec![
        filing(
            cik,
            "0000320193-23-000106",
            "10-K",
            "2023-11-03",
            json!({"period_of_report": "2023-09-30"}),
        ),
        filing(cik, "0000320193-24-000006", "10-Q", "2024-02-02", json!({})),
        // Also a filing of Kimberly-Clark, as the search over all registrants shows.
        filing(cik, "0000055785-24-000018", "10-K", "2024-02-08", json!({})),
        filing(
            cik,
            "0000320193-24-000067",
            "8-K",
            "2024-05-02",
            json!({"items": ["2.02", "9.01"], "primary_document": null}),
        ),
        filing(
            cik,
            "0000320193-24-000123",
            "10-K",
            "2024-11-01",
            json!({"period_of_report": "2024-09-28"}),
        ),
        filing(
            cik,
            "0000320193-24-000124",
            "10-K/A",
            "2024-11-01",
            json!({"period_of_report": "2024-09-28"}),
        ),
        filing(
            "0009900193",
            "0009900193-24-000001",
            "D",
            "2024-05-02",
            json!({"listing": "full_index", "has_inline_xbrl": null, "size_bytes": null, "period_of_report": null}),
        ),
    ]
}

fn member(cik: &str, outcome: &str) -> Value {
    json!({
        "record_id": format!("sec.archive_member:{cik}"), "bucket": bucket(cik), "cik": cik, "source_id": "sec.companyfacts", "member": format!("CIK{cik}.json"),
        "member_digest": "blake3:0", "size_bytes": 1, "entity_name": "A", "facts_total": 1, "facts_used": 1, "decoder": "fast", "outcome": outcome,
    })
}
