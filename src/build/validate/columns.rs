//! Checks each cell against the type of its column: presence, format, known values and bounds.

use polars::prelude::*;
use rayon::prelude::*;

use super::{Breach, Contract, Error, Physical, Result, range, rows_where, show};
use crate::normalise::ListRows;
use pubdata_core::contract::{Column, Day, Severity, parse_decimal};

/// Checks each cell against the type of its column: presence, digits, values, bounds, dates, list
/// items, and the format of `record_id`.
///
/// # Errors
/// `Config` if a type's rule does not fit its physical representation.
pub fn check(contract: &Contract, frame: &DataFrame) -> Result<Vec<Breach>> {
    let is_checked =
        |column: &&Column| column.name != "validation_status" && column.name != "warnings";
    let breaches_of = |column: &Column| {
        let mut breaches = Vec::new();
        let cells = frame.column(&column.name)?.as_materialized_series();
        for (code, rows, expected) in broken_rules(contract, column, cells)? {
            for row in rows {
                let detail = format!(
                    "`{}` is {}, expected {expected}",
                    column.name,
                    show(contract, frame, &column.name, row)?
                );
                breaches.push(Breach {
                    code: code.to_owned(),
                    severity: Severity::Quarantine,
                    row,
                    detail,
                });
            }
        }
        Ok(breaches)
    };
    let breaches: Vec<Vec<Breach>> = contract
        .columns
        .par_iter()
        .filter(is_checked)
        .map(breaches_of)
        .collect::<Result<_>>()?;
    Ok(breaches.into_iter().flatten().collect())
}

type BrokenRule = (&'static str, Vec<usize>, String);

fn broken_rules(contract: &Contract, column: &Column, cells: &Series) -> Result<Vec<BrokenRule>> {
    let column_type = &column.column_type;
    let mut broken = Vec::new();
    if !column.nullable && cells.null_count() > 0 {
        broken.push((
            "missing_value",
            rows_where(&cells.is_null()),
            "a value".to_owned(),
        ));
    }
    if let Some(width) = column_type.digits {
        let is_code =
            |text: &str| text.len() == width && text.bytes().all(|byte| byte.is_ascii_digit());
        broken.push((
            "malformed_code",
            rows_unlike(column, cells, is_code)?,
            format!("exactly {width} digits"),
        ));
    }
    if !column_type.values.is_empty() {
        let is_known = |text: &str| column_type.values.iter().any(|value| value == text);
        broken.push((
            "unknown_category",
            rows_unlike(column, cells, is_known)?,
            format!("one of `{}`", column_type.values.join("`, `")),
        ));
    }
    if column_type.min.is_some() || column_type.max.is_some() {
        let rows = range::rows_outside(column, cells, column_type.min, column_type.max)?;
        broken.push((
            "out_of_range",
            rows,
            range::words(column_type.min, column_type.max),
        ));
    }
    match column_type.physical {
        Physical::Date if cells.dtype() == &DataType::Date => {}
        Physical::Date => {
            let is_date = |text: &str| Day::from_iso(text.as_bytes()).is_some();
            broken.push((
                "invalid_date",
                rows_unlike(column, cells, is_date)?,
                "a calendar date YYYY-MM-DD".to_owned(),
            ));
        }
        Physical::Decimal => {
            let limit = 10i128.saturating_pow(u32::from(column_type.precision));
            let is_too_long = |units: i128| units <= -limit || units >= limit;
            let rows = if column_type.is_decimal_text() {
                // Most numbers are integers far below the limit, so they do not have to be parsed.
                let is_short = |text: &str| {
                    text.len() + usize::from(column_type.scale.unsigned_abs())
                        <= usize::from(column_type.precision)
                };
                let are_digits = |text: &str| {
                    !text.is_empty()
                        && text
                            .bytes()
                            .fold(true, |are_digits, byte| are_digits & byte.is_ascii_digit())
                };
                range::rows_matching(cells.str()?.iter(), |text| {
                    !(is_short(text) && are_digits(text.strip_prefix('-').unwrap_or(text)))
                        && parse_decimal(text, column_type.scale).is_none_or(is_too_long)
                })
            } else {
                range::rows_matching(cells.i64()?.iter(), |units| is_too_long(i128::from(units)))
            };
            broken.push((
                "too_many_digits",
                rows,
                format!("at most {} digits", column_type.precision),
            ));
        }
        Physical::StringList => {
            broken.push((
                "empty_list_item",
                range::lists_with(&ListRows::of(cells)?, str::is_empty),
                "a list without empty items".to_owned(),
            ));
        }
        Physical::Float64 => broken.push((
            "not_finite",
            range::rows_matching(cells.f64()?.iter(), |value| !value.is_finite()),
            "a finite number".to_owned(),
        )),
        _ => {}
    }
    if column.name == "record_id" {
        let prefix = format!("{}:", contract.dataset_id);
        let is_own = |text: &str| {
            text.len() > prefix.len() && text.len() <= 512 && text.starts_with(&prefix)
        };
        broken.push((
            "malformed_record_id",
            rows_unlike(column, cells, is_own)?,
            format!("`{prefix}` and the record's key"),
        ));
    }
    Ok(broken)
}

/// Returns the rows with text that is not accepted, either as a value or as a list item. Nulls are
/// accepted.
fn rows_unlike(
    column: &Column,
    cells: &Series,
    is_accepted: impl Fn(&str) -> bool,
) -> Result<Vec<usize>> {
    match column.column_type.physical {
        Physical::String | Physical::Date => Ok(range::text_rows_matching(cells.str()?, |text| {
            !is_accepted(text)
        })),
        Physical::StringList => Ok(range::lists_with(&ListRows::of(cells)?, |item| {
            !is_accepted(item)
        })),
        other => Err(Error::config(format!(
            "column `{}` is {other:?}: `digits` and `values` are for texts",
            column.name
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pubdata_core::declared::DeclarationFiles;
    use pubdata_core::pipeline::Declarations;

    /// Reported figures have at most 28 digits, including ten decimal places.
    #[test]
    fn decimals_of_too_many_digits_are_found_however_they_are_written() {
        let declarations = Declarations::load(DeclarationFiles::built_in()).unwrap();
        let contract = &declarations.contracts["sec.statement_line"];
        let column = contract.column("value").unwrap();
        assert_eq!(
            (column.column_type.precision, column.column_type.scale),
            (28, 10)
        );
        let nines = |digits: usize| "9".repeat(digits);
        let kept = [
            nines(18),
            format!("-{}", nines(18)),
            format!("{}.{}", nines(18), nines(10)),
            "0".to_owned(),
            "-15.15".to_owned(),
        ];
        let broken = [
            nines(19),
            format!("-{}", nines(19)),
            nines(60),
            format!("1.{}", nines(11)),
            String::new(),
            "-".to_owned(),
            "1e3".to_owned(),
            "12a".to_owned(),
        ];
        let cells = StringChunked::from_iter_values(
            "value".into(),
            kept.iter().chain(&broken).map(String::as_str),
        )
        .into_series();
        let rules = broken_rules(contract, column, &cells).unwrap();
        let rows = &rules
            .iter()
            .find(|(code, ..)| *code == "too_many_digits")
            .unwrap()
            .1;
        assert_eq!(*rows, (kept.len()..cells.len()).collect::<Vec<_>>());
    }
}
