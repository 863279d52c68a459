//! Turns the Department of Revenue's location codes and rates, and its address file, into
//! jurisdictions and the places where they apply. Layouts: Washington State Department of Revenue,
//! "Location codes and rate tables – field descriptions" and "Data field descriptions" (address
//! database). A location code's local rate is a single figure for county, city and transit,
//! including regional transit. If two files cover the same period, the later file counts. The
//! state's Streamlined files are not read, because they repeat the same rates.

use serde::Deserialize;

use super::boundary::{Boundary, Street, parity};
use super::rate::Rate;
use super::{
    BOUNDARY, RATE, Refusal, StateRows, begin_date, end_date, quarantined, quarter_days, rate,
    required, state_name,
};
use crate::datasets::Fault;
use crate::datasets::{Build, Builder, Context, SourceFrame, Table, settings};
use crate::normalise::{pointers, text};
use pubdata_core::canonical::state;
use pubdata_core::error::Result;
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::POINTERS;

const RATES: &str = "tax.washington_rate";
const ADDRESSES: &str = "tax.washington_address";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    state: String,
    open_end: Vec<String>,
}

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 2,
    build: Build::Whole(build),
    check,
    vocabulary: None,
};

fn check(declaration: &Declaration) -> std::result::Result<(), Fault> {
    let settings: Settings = settings(declaration)?;
    state::fips(&settings.state)
        .map(drop)
        .ok_or_else(|| Fault::in_settings("state", format!("`{}` is no state", settings.state)))
}

fn build(context: &Context<'_>) -> Result<Vec<Table>> {
    let settings: Settings = settings(context.declaration)?;
    let mut rows = StateRows::default();
    // Files arrive in quarter order.
    for file in context.read(RATES)? {
        rows.rate_issues.extend(file.issues(RATE));
        let mut of_file = StateRows::default();
        read_rates(context, &file, &settings, &mut of_file)?;
        let tells_of = |old: &Rate| {
            of_file.rates.iter().any(|new| {
                (&new.type_raw, &new.code, &new.begin_date)
                    == (&old.type_raw, &old.code, &old.begin_date)
            })
        };
        let (replaced, kept): (Vec<Rate>, Vec<Rate>) = rows.rates.into_iter().partition(tells_of);
        context.exclude_rows(
            "replaced",
            replaced
                .into_iter()
                .flat_map(|rate| rate.pointers)
                .collect(),
        );
        rows.rates = kept.into_iter().chain(of_file.rates).collect();
        rows.rate_issues.extend(of_file.rate_issues);
    }
    for file in context.read(ADDRESSES)? {
        rows.boundary_issues.extend(file.issues(BOUNDARY));
        read_addresses(context, &file, &settings, &mut rows)?;
    }
    rows.tables(&settings.state, context)
}

fn read_rates(
    context: &Context<'_>,
    file: &SourceFrame,
    settings: &Settings,
    rows: &mut StateRows,
) -> Result<()> {
    let usps = settings.state.as_str();
    let column = |name: &str| text(&file.frame, name);
    let (name, code, state_rate, local, combined) = (
        column("name")?,
        column("code")?,
        column("state_rate")?,
        column("local_rate")?,
        column("rate")?,
    );
    let transit = column("rta_rate")?;
    let (begin, end) = (column("begin_date")?, column("end_date")?);
    let mut state_rates: Vec<(String, i64)> = Vec::new();
    for (row, pointers) in pointers(&file.frame, POINTERS)?.into_iter().enumerate() {
        let pointers = pointers.unwrap_or_default();
        let read = || -> std::result::Result<(Rate, i64), Refusal> {
            let code = location(required(code.get(row), "location code")?)?;
            let missing = |what: &str| ("missing_value", format!("{what} is empty"));
            let own =
                rate(state_rate.get(row), "state rate")?.ok_or_else(|| missing("state rate"))?;
            let local = rate(local.get(row), "local rate")?.ok_or_else(|| missing("local rate"))?;
            let transit = rate(transit.get(row), "regional transit's rate")?.unwrap_or_default();
            let local = match rate(combined.get(row), "rate")? {
                Some(combined) if combined == own + local + transit => local + transit,
                Some(combined) if combined != own + local => {
                    return Err((
                        "sum_differs",
                        "the state's and the local rate do not come to the combined rate"
                            .to_owned(),
                    ));
                }
                _ => local,
            };
            let rate = Rate {
                state: usps.to_owned(),
                source_id: RATES.to_owned(),
                kind: "special",
                type_raw: "location".to_owned(),
                name: name.get(row).map(|name| format!("Local rate of {name}")),
                code,
                general_intrastate: Some(local),
                general_interstate: Some(local),
                begin_date: begin_date(begin.get(row))?,
                end_date: end_date(end.get(row), &settings.open_end)?,
                pointers: pointers.clone(),
                ..Rate::default()
            };
            Ok((rate, own))
        };
        match read() {
            Ok((rate, own)) => {
                // Every line repeats the state's rate. The rate's record points to the first line
                // for a period.
                if !state_rates
                    .iter()
                    .any(|(begin, _)| *begin == rate.begin_date)
                {
                    rows.rates.push(Rate {
                        state: usps.to_owned(),
                        source_id: RATES.to_owned(),
                        kind: "state",
                        type_raw: "state".to_owned(),
                        code: state::fips(usps).unwrap_or_default().to_owned(),
                        name: Some(state_name(usps)),
                        general_intrastate: Some(own),
                        general_interstate: Some(own),
                        begin_date: rate.begin_date.clone(),
                        end_date: rate.end_date.clone(),
                        pointers: pointers.clone(),
                        ..Rate::default()
                    });
                    state_rates.push((rate.begin_date.clone(), own));
                }
                rows.rates.push(rate);
            }
            Err(refusal) => rows
                .rate_issues
                .push(quarantined(context, RATE, refusal, &pointers)),
        }
    }
    Ok(())
}

fn read_addresses(
    context: &Context<'_>,
    file: &SourceFrame,
    settings: &Settings,
    rows: &mut StateRows,
) -> Result<()> {
    let column = |name: &str| text(&file.frame, name);
    let (low, high, side, street, zip) = (
        column("number_low")?,
        column("number_high")?,
        column("parity")?,
        column("street")?,
        column("zip")?,
    );
    let (plus4, period, code) = (column("plus4")?, column("period")?, column("code")?);
    for (row, pointers) in pointers(&file.frame, POINTERS)?.into_iter().enumerate() {
        let pointers = pointers.unwrap_or_default();
        let read = || -> std::result::Result<Boundary, Refusal> {
            let code = location(required(code.get(row), "location code")?)?;
            let zip = required(zip.get(row), "ZIP code")?;
            let zip =
                digits(zip, 5).ok_or_else(|| ("bad_value", format!("ZIP code is `{zip}`")))?;
            let plus4 = plus4
                .get(row)
                .and_then(|plus4| digits(plus4, 4))
                .filter(|plus4| plus4 != "0000");
            let text = required(period.get(row), "period")?;
            let (begin_date, end_date) = quarter_of(text).ok_or_else(|| {
                (
                    "bad_value",
                    format!("period is `{text}`, not a year and a quarter"),
                )
            })?;
            let cell = |cell: Option<&str>| cell.unwrap_or_default().to_owned();
            Ok(Boundary {
                state: settings.state.clone(),
                source_id: ADDRESSES.to_owned(),
                key: vec![
                    "A".to_owned(),
                    begin_date.clone(),
                    zip.clone(),
                    plus4.clone().unwrap_or_default(),
                    cell(low.get(row)),
                    cell(high.get(row)),
                    cell(side.get(row)),
                    cell(street.get(row)),
                ],
                record_type: "address",
                begin_date,
                end_date: Some(end_date),
                zip_low: Some(zip.clone()),
                zip_high: Some(zip),
                plus4_low: plus4.clone(),
                plus4_high: plus4,
                number_low: low.get(row).map(str::to_owned),
                number_high: high.get(row).map(str::to_owned),
                parity: parity(side.get(row)),
                street: Street::from_parts(&[street.get(row)]),
                has_state_tax: true,
                special_codes: vec![("location".to_owned(), code)],
                pointers: pointers.clone(),
                ..Boundary::default()
            })
        };
        match read() {
            Ok(boundary) => rows.boundaries.push(boundary),
            Err(refusal) => rows
                .boundary_issues
                .push(quarantined(context, BOUNDARY, refusal, &pointers)),
        }
    }
    Ok(())
}

/// Parses a four-digit location code.
fn location(text: &str) -> std::result::Result<String, Refusal> {
    digits(text, 4).ok_or_else(|| {
        (
            "bad_value",
            format!("location code is `{text}`, not four digits"),
        )
    })
}

fn digits(text: &str, width: usize) -> Option<String> {
    (text.len() <= width && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| format!("{text:0>width$}"))
}

/// Returns the first and last day of a quarter written as `2026Q3`, `Q32026`, `20263` or `Q3 2026`.
/// The description names the column but not its format.
fn quarter_of(text: &str) -> Option<(String, String)> {
    let numbers: String = text.chars().filter(char::is_ascii_digit).collect();
    if numbers.len() != 5
        || text
            .chars()
            .any(|c| !c.is_ascii_digit() && !matches!(c, 'Q' | 'q' | ' ' | '-'))
    {
        return None;
    }
    let (year, quarter) = if numbers.starts_with("20") {
        numbers.split_at(4)
    } else {
        (&numbers[1..], &numbers[..1])
    };
    quarter_days(year.parse().ok()?, quarter.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::quarter_of;

    #[test]
    fn quarters_are_read_in_any_order() {
        let third = Some(("2026-07-01".to_owned(), "2026-09-30".to_owned()));
        for text in ["2026Q3", "Q32026", "20263", "Q3 2026", "32026"] {
            assert_eq!(quarter_of(text), third, "{text}");
        }
        for text in ["2026", "2026Q5", "third", "2026/3", ""] {
            assert_eq!(quarter_of(text), None, "{text}");
        }
    }
}
