//! Renders the trace of a record: the publisher's bytes with the cells that were read, and commands
//! to fetch the bytes. Also shows the result of a replay, and the record in earlier releases.

use futures_util::{FutureExt, try_join};
use minijinja::Value;
use serde_json::Value as Json;

use super::templates::{context, segment};
use super::visit::{Visit, target};
use super::words::{amount_of, as_published, separated, words};
use super::{Made, Page};
use crate::http::problem::Result;

pub const PAGES: &[Page] = &[Page {
    path: "/records/{record_id}",
    make: |visit| record(visit).boxed(),
}];

async fn record(visit: &Visit<'_>) -> Result<Made> {
    let id = segment(visit.value("record_id"));
    let release = visit.parameter("release");
    // A replay takes longer than a page should, so it runs only on request.
    let is_replayed = visit.parameter("replay").is_some();
    let include = if is_replayed { "bytes,replay" } else { "bytes" };
    let chain = target(
        &format!("/v1/provenance/{id}"),
        &[("include", Some(include)), ("release", release)],
    );
    let history = format!("/v1/records/{id}/history");
    let receipt = target(&format!("/v1/receipts/{id}"), &[("release", release)]);
    let (chain, history, receipt) = try_join!(
        visit.ask(chain),
        visit.ask_optional(history),
        visit.ask_optional(receipt)
    )?;
    let data = &chain["data"];
    let sources: Vec<Value> = data["sources"]
        .as_array()
        .into_iter()
        .flatten()
        .map(source)
        .collect();
    let columns = &data["record"]["columns"];
    let company = match columns["cik"].as_str() {
        Some(cik) => {
            visit
                .ask_for_name(format!("/v1/sec/companies/{}", segment(cik)))
                .await?
        }
        None => Json::Null,
    };
    let context = context! {
        id => visit.value("record_id"), record => data["record"], chain => data, sources, replay => data["replay"], is_replayed, history => history["data"],
        about => about(columns), name => name(columns, company["data"]["name"].as_str()), figure => figure(columns),
        unit => columns["unit"].as_str().unwrap_or_default(), asked_release => release, steps => steps(data), receipt => receipt["data"],
    };
    Ok(Made::Page("record.html", context))
}

/// Returns a short name of a record without its figure.
fn name(columns: &Json, company: Option<&str>) -> Option<String> {
    let text = |name: &str| columns[name].as_str();
    let company = company
        .map(str::to_owned)
        .or_else(|| Some(format!("CIK {}", text("cik")?)));
    let area = text("zcta")
        .map(|zcta| format!("ZCTA {zcta}"))
        .or_else(|| text("area_name").map(str::to_owned));
    let line = text("metric")
        .map(words)
        .or_else(|| text("line").and(text("label")).map(str::to_owned));
    if let (Some(line), Some(subject)) = (line, area.or_else(|| company.clone())) {
        let period = match (
            text("fiscal_period"),
            columns["fiscal_year"].as_i64(),
            text("as_of_date"),
        ) {
            (Some(period), Some(year), _) => format!(", {period} {year}"),
            (_, _, Some(day)) => format!(", {day}"),
            _ => String::new(),
        };
        return Some(format!("{line} of {subject}{period}"));
    }
    if let (Some(form), Some(company), Some(day)) = (text("form"), company, text("filed_date")) {
        return Some(format!("{form} of {company}, filed {day}"));
    }
    if let (Some(number), Some(place)) = (text("permit_number"), text("jurisdiction_name")) {
        return Some(format!("Permit {number} of {place}"));
    }
    let named = [
        "holder_name",
        "business_name",
        "name",
        "state_name",
        "permit_id",
        "license_id",
    ]
    .into_iter()
    .find_map(text);
    named
        .map(str::to_owned)
        .or_else(|| Some(format!("ZIP code {}", text("zip")?)))
}

/// Returns the figure of a record as its publisher writes it, or the reason why it is missing.
fn figure(columns: &Json) -> Option<String> {
    let unit = columns["unit"].as_str().unwrap_or_default();
    let written = |name: &str| {
        // Company figures are strings, so that no digit is lost.
        let digits = columns[name]
            .as_str()
            .map(str::to_owned)
            .or_else(|| columns[name].is_number().then(|| columns[name].to_string()))?;
        Some(amount_of(as_published(&digits, unit), unit))
    };
    let bound = || {
        Some(format!(
            "{} or {}",
            written("bound")?,
            if columns["bound_type"] == "at_most" {
                "less"
            } else {
                "more"
            }
        ))
    };
    written("value")
        .or_else(bound)
        .or_else(|| columns["null_reason"].as_str().map(words))
}

/// Returns the derivations in which the bytes and the record differ: the value read, the result,
/// and the reason.
fn steps(chain: &Json) -> Vec<Value> {
    let columns = &chain["record"]["columns"];
    let mut steps = Vec::new();
    if let Some(fy) = fiscal_year_of_report(chain)
        && let Some(year) = columns["fiscal_year"].as_i64().filter(|year| *year != fy)
    {
        let (report, day) = (
            columns["form"].as_str().unwrap_or_default(),
            columns["filed_date"].as_str().unwrap_or_default(),
        );
        let first = columns["period_start"]
            .as_str()
            .map(|day| format!("from {day} "))
            .unwrap_or_default();
        let last = columns["period_end"].as_str().unwrap_or_default();
        let why = format!(
            "`fy` is the fiscal year of the report that states the figure, the {report} filed {day}. `fiscal_year` is that of the period itself, {first}to {last}."
        );
        steps.push(context! { read => format!("\"fy\":{fy}"), became => format!("fiscal_year {year}"), why });
    }
    if columns["bound"].is_number() {
        let why = "The Bureau writes a median in an open-ended interval as a special number. The record has the interval's bound, and no value.";
        let read = columns["qualifier"].as_str().unwrap_or_default();
        steps.push(context! { read, became => format!("bound {}", as_published(&columns["bound"].to_string(), "")), why });
    }
    steps
}

/// Returns the fiscal year that the SEC's archive states next to a figure. This is the fiscal year
/// of the report.
fn fiscal_year_of_report(chain: &Json) -> Option<i64> {
    let excerpts = chain["sources"]
        .as_array()?
        .iter()
        .map(|source| &source["bytes"]["excerpt"]);
    let mut objects = excerpts.filter_map(|excerpt| {
        let [from, to] = ["start", "end"].map(|name| {
            excerpt[name]
                .as_u64()
                .and_then(|place| usize::try_from(place).ok())
        });
        let (from, to) = (from?, to?);
        let text: String = excerpt["text"]
            .as_str()?
            .chars()
            .skip(from)
            .take(to.checked_sub(from)?)
            .collect();
        serde_json::from_str::<Json>(&text).ok()
    });
    objects.find_map(|object| object["fy"].as_i64())
}

/// Returns the page about the record's subject.
fn about(columns: &Json) -> Option<Value> {
    let pages = [
        ("zcta", "/zip/", "ZIP code area"),
        ("permit_id", "/permit/", "Permit"),
        ("license_id", "/license/", "License"),
        ("entity_id", "/business/", "Business"),
        ("cik", "/company/", "Company"),
        ("county_fips", "/county/", "County"),
        // Records of other kinds may have a ZIP code in their address.
        ("zip", "/zip/", "ZIP code"),
    ];
    let found = pages
        .into_iter()
        .find_map(|(column, page, words)| Some((columns[column].as_str()?, page, words)));
    found.map(|(code, page, words)| {
        let code = if page == "/company/" {
            code.trim_start_matches('0')
        } else {
            code
        };
        context! { page => format!("{page}{}", segment(code)), words, code }
    })
}

/// A segment of the publisher's text, whether the record was derived from it, and the name of its
/// column.
struct TextSegment {
    text: String,
    is_read: bool,
    column: Option<String>,
}

/// Number of characters shown before and after a segment that was read.
const AROUND: usize = 200;

/// Returns a source with its bytes split into segments.
fn source(source: &Json) -> Value {
    let bytes = &source["bytes"];
    let stretches = stretches(&bytes["excerpt"], &bytes["cells"]);
    let last = stretches.len().saturating_sub(1);
    let shown = stretches
        .into_iter()
        .enumerate()
        .flat_map(|(number, stretch)| shortened(stretch, number == 0, number == last));
    let stretches: Vec<Value> = shown.collect();
    let unread = bytes["cells"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|cell| cell["is_used"] == false);
    let unread: Vec<&str> = unread.filter_map(|cell| cell["column"].as_str()).collect();
    let read: Vec<&Json> = bytes["cells"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|cell| cell["is_used"] == true)
        .collect();
    context! { source, bytes, stretches, read, unread }
}

/// Shortens a segment by replacing text far from all cells that were read with its length.
fn shortened(stretch: TextSegment, is_first: bool, is_last: bool) -> Vec<Value> {
    let TextSegment {
        text,
        is_read,
        column,
    } = stretch;
    let whole = |text: &str| context! { text, is_read, column => column, is_cut => false };
    let characters: Vec<char> = text.chars().collect();
    let (before, behind) = (
        if is_first { 0 } else { AROUND },
        if is_last { 0 } else { AROUND },
    );
    let left_out = characters.len().saturating_sub(before + behind);
    if is_read || left_out <= AROUND {
        return vec![whole(&text)];
    }
    let part = |from: usize, to: usize| characters[from..to].iter().collect::<String>();
    let cut = context! { text => format!(" … {} characters … ", separated(&left_out.to_string())), is_read, column => None::<&str>, is_cut => true };
    vec![
        whole(&part(0, before)),
        cut,
        whole(&part(before + left_out, characters.len())),
    ]
}

/// Splits an excerpt at the borders of the cells that were read; for a document, at the borders of
/// the value.
fn stretches(excerpt: &Json, cells: &Json) -> Vec<TextSegment> {
    let Some(text) = excerpt["text"].as_str() else {
        return Vec::new();
    };
    let place = |of: &Json, name: &str| {
        of[name]
            .as_u64()
            .and_then(|place| usize::try_from(place).ok())
    };
    let used = cells
        .as_array()
        .into_iter()
        .flatten()
        .filter(|cell| cell["is_used"] == true);
    let mut read: Vec<(usize, usize, Option<String>)> = used
        .filter_map(|cell| {
            Some((
                place(cell, "start")?,
                place(cell, "end")?,
                cell["column"].as_str().map(str::to_owned),
            ))
        })
        .collect();
    if cells.as_array().is_none_or(Vec::is_empty)
        && let (Some(start), Some(end)) = (place(excerpt, "start"), place(excerpt, "end"))
    {
        read.push((start, end, None));
    }
    read.sort();
    let characters: Vec<char> = text.chars().collect();
    let part = |from: usize, to: usize| {
        characters[from.min(characters.len())..to.min(characters.len())]
            .iter()
            .collect::<String>()
    };
    let (mut stretches, mut at) = (Vec::new(), 0);
    for (start, end, column) in read {
        if start < at || end <= start {
            continue;
        }
        stretches.push(TextSegment {
            text: part(at, start),
            is_read: false,
            column: None,
        });
        stretches.push(TextSegment {
            text: part(start, end),
            is_read: true,
            column,
        });
        at = end;
    }
    stretches.push(TextSegment {
        text: part(at, characters.len()),
        is_read: false,
        column: None,
    });
    stretches.retain(|stretch| !stretch.text.is_empty());
    stretches
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{TextSegment, figure, fiscal_year_of_report, name, shortened, stretches};

    fn cut(excerpt: &serde_json::Value, cells: &serde_json::Value) -> Vec<(String, bool)> {
        stretches(excerpt, cells)
            .into_iter()
            .map(|stretch| (stretch.text, stretch.is_read))
            .collect()
    }

    #[test]
    fn headings_say_what_the_record_is_and_its_figure() {
        let of = |columns: serde_json::Value, company| {
            (
                name(&columns, company).unwrap_or_default(),
                figure(&columns).unwrap_or_default(),
            )
        };
        let population =
            json!({"metric": "population", "zcta": "90210", "value": 19652.0, "unit": "persons"});
        assert_eq!(
            of(population, None),
            ("Population of ZCTA 90210".to_owned(), "19,652".to_owned())
        );
        let revenue = json!({"metric": "revenue", "cik": "0000320193", "fiscal_period": "FY", "fiscal_year": 2009, "value": "42905000000", "unit": "USD", "form": "10-K"});
        assert_eq!(
            of(revenue, Some("Apple Inc.")),
            (
                "Revenue of Apple Inc., FY 2009".to_owned(),
                "$42,905,000,000".to_owned()
            )
        );
        let open = json!({"metric": "median_household_income", "area_name": "Santa Clara County", "value": null, "bound": 250000.0, "bound_type": "at_least", "unit": "usd"});
        assert_eq!(
            of(open, None),
            (
                "Median household income of Santa Clara County".to_owned(),
                "$250,000 or more".to_owned()
            )
        );
        let filing = json!({"cik": "0000320193", "form": "10-K", "filed_date": "2024-11-01"});
        assert_eq!(
            of(filing, None),
            (
                "10-K of CIK 0000320193, filed 2024-11-01".to_owned(),
                String::new()
            )
        );
        assert_eq!(
            of(
                json!({"permit_number": "2007-115377 BP", "jurisdiction_name": "Austin"}),
                None
            )
            .0,
            "Permit 2007-115377 BP of Austin"
        );
    }

    #[test]
    fn fiscal_year_of_the_report_is_read_from_the_marked_bytes() {
        let text = r#"{"fy":2009},{"val":42905000000,"fy":2010,"fp":"FY"},{"fy":2011}"#;
        let chain = |start: usize, end: usize| json!({"sources": [{"bytes": {"excerpt": {"text": text, "start": start, "end": end}}}]});
        assert_eq!(fiscal_year_of_report(&chain(12, 51)), Some(2010));
        assert_eq!(fiscal_year_of_report(&chain(13, 51)), None);
        assert_eq!(
            fiscal_year_of_report(&json!({"sources": [{"bytes": null}]})),
            None
        );
    }

    #[test]
    fn text_far_from_what_was_read_is_left_out() {
        let long = |is_read| TextSegment {
            text: "x".repeat(1_000),
            is_read,
            column: None,
        };
        let lengths = |parts: Vec<minijinja::Value>| {
            parts
                .iter()
                .map(|part| part.get_attr("text").unwrap().to_string().len())
                .collect::<Vec<_>>()
        };
        let cut = " … 800 characters … ".len();
        assert_eq!(lengths(shortened(long(false), true, false)), [0, cut, 200]);
        assert_eq!(lengths(shortened(long(false), false, true)), [200, cut, 0]);
        assert_eq!(
            lengths(shortened(long(false), false, false)),
            [200, cut, 200]
        );
        assert_eq!(lengths(shortened(long(true), false, false)), [1_000]);
    }

    #[test]
    fn excerpts_split_at_cells_that_were_read() {
        let row = json!({"text": "É|19652|x", "start": 0, "end": 9});
        let cells = json!([
            {"column": "NAME", "is_used": false, "start": 0, "end": 1},
            {"column": "B01003_E001", "is_used": true, "start": 2, "end": 7},
            {"column": "twice", "is_used": true, "start": 3, "end": 5},
        ]);
        assert_eq!(
            cut(&row, &cells),
            [
                ("É|".to_owned(), false),
                ("19652".to_owned(), true),
                ("|x".to_owned(), false)
            ]
        );
        let document = json!({"text": "{\"val\": 12}", "start": 8, "end": 10});
        assert_eq!(
            cut(&document, &json!([])),
            [
                ("{\"val\": ".to_owned(), false),
                ("12".to_owned(), true),
                ("}".to_owned(), false)
            ]
        );
        assert_eq!(cut(&json!(null), &json!([])), []);
        assert_eq!(
            cut(&json!({"text": "ab", "start": 7, "end": 9}), &json!([])),
            [("ab".to_owned(), false)]
        );
    }
}
