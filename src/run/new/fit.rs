//! Checks that the cells of a column agree with the meaning of the column's name. A name alone is
//! not sufficient evidence, because a misinterpreted column yields wrong figures.

use super::dates::Form;
use super::sample::Column;
use pubdata_build::normalise::{degrees, unscaled};

/// Predicate that returns true if a cell has the expected kind of content.
type IsSuch<'c> = &'c dyn Fn(&str) -> bool;

/// Our date columns.
pub(super) const DAYS: &[&str] = &[
    "applied_date",
    "issued_date",
    "completed_date",
    "expires_date",
    "status_date",
];

/// Our columns with terms that are looked up in tables or published unchanged.
const CODES: &[&str] = &[
    "type",
    "type_raw",
    "sub_type",
    "status",
    "status_raw",
    "status_detail",
    "work_class",
    "work_class_raw",
    "property_class",
    "property_class_raw",
];

/// Maximum number of distinct values in a column of codes.
const MAX_WORDS: usize = 500;

/// Returns true if the cells of a column can be checked.
pub(super) fn is_checked(ours: &str) -> bool {
    const OTHERS: &[&str] = &[
        "permit_number",
        "description",
        "job_value",
        "fees",
        "square_feet",
        "housing_units",
        "line1",
        "city",
        "address_state",
        "zip",
        "lat",
        "lon",
        "location",
        "link",
        "parcel",
        "contractor_name",
        "contractor_business_name",
        "contractor_license_number",
        "unit",
    ];
    DAYS.contains(&ours)
        || CODES.contains(&ours)
        || OTHERS.contains(&ours)
        || super::known::PIECES.contains(&ours)
}

/// Returns the evidence that the cells provide for a column, or the reason why they contradict it.
pub(super) fn fit(
    ours: &str,
    column: &Column,
    form: &Form,
    records: usize,
) -> Result<String, String> {
    let filled = column.filled();
    if filled == 0 {
        return Err("it is empty in all rows that were seen".to_owned());
    }
    if DAYS.contains(&ours) {
        return days(form);
    }
    if CODES.contains(&ours) {
        let words = column.counts().len();
        let most = (records / 10).clamp(30, MAX_WORDS);
        return if words <= most {
            Ok(format!("{} in it", counted(words, "word")))
        } else {
            Err(format!(
                "{} in {records} rows are no codes",
                counted(words, "text")
            ))
        };
    }
    let (percent, what, is_such): (usize, &str, IsSuch<'_>) = match ours {
        "permit_number" => return number(column, records),
        "lat" => (95, "latitudes of the United States", &|text| {
            degrees(text, 90.0)
                .is_some_and(|value| (17.0..72.0).contains(&value) || value.abs() < f64::EPSILON)
        }),
        "lon" => (95, "longitudes of the United States", &|text| {
            degrees(text, 180.0)
                .is_some_and(|value| (-180.0..-60.0).contains(&value) || value.abs() < f64::EPSILON)
        }),
        "location" => (80, "points", &|text| {
            text.starts_with('(') || text.to_ascii_uppercase().starts_with("POINT")
        }),
        "job_value" | "fees" | "square_feet" | "housing_units" => (95, "amounts", &is_amount),
        "zip" => (90, "ZIP codes", &|text| {
            text.len() >= 5 && text.bytes().take(5).all(|byte| byte.is_ascii_digit())
        }),
        "link" => (90, "links", &|text| text.contains("http")),
        "line1" => (70, "texts with a number and a street", &|text| {
            has_digit(text) && has_letter(text)
        }),
        "house_number" => (90, "numbers", &has_digit),
        "parcel" => (70, "numbers", &has_digit),
        "city" => (90, "names", &|text| has_letter(text) && !has_digit(text)),
        "address_state" => (90, "states", &|text| {
            text.len() == 2 && has_letter(text) && !has_digit(text)
        }),
        _ => return Ok(format!("{filled} of {records} rows have it")),
    };
    match column.is_mostly(percent, is_such) {
        true => Ok(what.to_owned()),
        false => Err(format!("its cells are not {what}")),
    }
}

fn days(form: &Form) -> Result<String, String> {
    match form {
        Form::Days(form) => Ok(format!("days as {form}")),
        Form::Ambiguous(text) => Err(format!(
            "its cells do not show if `{text}` has the month or the day first; if it is the month, map it and add `month_day_year` to `dates`"
        )),
        Form::DayFirst(text) => Err(format!("`{text}` has the day first, which is not read")),
        Form::Other | Form::Empty => Err("its cells are no days in a form that is read".to_owned()),
    }
}

fn number(column: &Column, records: usize) -> Result<String, String> {
    let (filled, different) = (column.filled(), column.counts().len());
    if filled * 100 < records * 99 {
        return Err(format!(
            "{} of {records} rows have no number there",
            records - filled
        ));
    }
    if !column.is_mostly(90, has_digit) || different * 2 < filled {
        return Err(format!(
            "{different} different texts in {records} rows are no numbers of permits"
        ));
    }
    Ok(if different == filled {
        format!("all {filled} differ")
    } else {
        format!("{different} of {filled} differ")
    })
}

fn is_amount(text: &str) -> bool {
    let plain: String = text
        .trim_start_matches('$')
        .chars()
        .filter(|character| *character != ',' && *character != ' ')
        .collect();
    unscaled(&plain, 2).is_some_and(|units| units >= 0)
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

fn has_letter(text: &str) -> bool {
    text.chars().any(char::is_alphabetic)
}

/// Returns true if our column contains codes, which do not name persons.
pub(super) fn is_code(ours: &str) -> bool {
    CODES.contains(&ours)
}

/// Formats a count: `1 row`, `2 rows`.
pub(super) fn counted(number: usize, thing: &str) -> String {
    if number == 1 {
        format!("1 {thing}")
    } else {
        format!("{number} {thing}s")
    }
}
