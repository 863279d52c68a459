//! Provides steps that datasets share: conversion of text columns to numbers, with a reason for
//! each row that cannot be converted, and joins that preserve row order.

mod day;
mod dictionary_column;
mod distinct_texts;
mod instant;
mod lists;
mod pointer_rows;
mod sorted;

use polars::prelude::*;

pub use day::{day_from_epoch, day_from_pattern, without_time};
pub use dictionary_column::DictionaryColumnBuilder;
pub use distinct_texts::{DistinctTexts, distinct_texts};
pub use instant::{Zone, utc_from_digits, utc_from_rfc3339};
pub use lists::{ListRows, list_column};
pub use pointer_rows::PointerRows;
pub use pubdata_core::contract::Day;
pub use sorted::sorted;

use pubdata_core::error::{Error, Result};
use pubdata_core::provenance::POINTERS;

/// Rows in a frame that cannot be published, with the first reason for each row.
#[derive(Debug)]
pub struct Rejects {
    reasons: Vec<Option<(&'static str, String)>>,
}

impl Rejects {
    /// Creates a set without rejected rows.
    pub fn new(height: usize) -> Self {
        Self {
            reasons: vec![None; height],
        }
    }

    /// Rejects a row, unless it has already been rejected.
    pub fn add(&mut self, row: usize, code: &'static str, detail: String) {
        self.reasons[row].get_or_insert((code, detail));
    }

    /// Returns a mask of the rows to keep.
    pub fn kept(&self) -> BooleanChunked {
        self.reasons
            .iter()
            .map(Option::is_none)
            .collect::<BooleanChunked>()
    }

    /// Returns the rejected rows as row number, code and detail.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &'static str, &str)> {
        self.reasons.iter().enumerate().filter_map(|(row, reason)| {
            reason
                .as_ref()
                .map(|(code, detail)| (row, *code, detail.as_str()))
        })
    }
}

/// Converts a text column with `parse`. A cell that cannot be parsed rejects its row with
/// `bad_value`; null stays null.
pub fn convert<T>(
    frame: &DataFrame,
    name: &str,
    expected: &str,
    rejects: &mut Rejects,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<Option<T>>> {
    let cells = text(frame, name)?;
    let convert_one = |(row, cell): (usize, Option<&str>)| {
        let cell = cell?;
        let value = parse(cell);
        if value.is_none() {
            rejects.add(
                row,
                "bad_value",
                format!("{name} is `{cell}`, not {expected}"),
            );
        }
        value
    };
    Ok(cells.iter().enumerate().map(convert_one).collect())
}

/// Rejects rows that do not have a value in a required column.
pub fn require(frame: &DataFrame, name: &str, rejects: &mut Rejects) -> Result<()> {
    let column = frame.column(name)?;
    if column.null_count() == 0 {
        return Ok(());
    }
    for (row, is_null) in column.is_null().iter().enumerate() {
        if is_null == Some(true) {
            rejects.add(row, "missing_value", format!("{name} is empty"));
        }
    }
    Ok(())
}

/// Returns a text column of a frame.
pub fn text<'f>(frame: &'f DataFrame, name: &str) -> Result<&'f StringChunked> {
    Ok(frame.column(name)?.str()?)
}

/// Parses a decimal as units of `10^-scale`: `unscaled("30.327", 3)` returns 30327. Further decimal
/// places must be zeros. Rejects `-0`.
pub fn unscaled(text: &str, scale: usize) -> Option<i64> {
    let (sign, digits) = text
        .strip_prefix('-')
        .map_or((1, text), |digits| (-1, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let (kept, rest) = fraction.split_at(fraction.len().min(scale));
    if rest.bytes().any(|byte| byte != b'0') {
        return None;
    }
    let number: i64 = format!("{whole}{kept:0<scale$}").parse().ok()?;
    // No publisher writes zero as `-0`, so a sign without digits is left over from a code.
    (number != 0 || sign > 0).then_some(sign * number)
}

/// Parses a count of people or things, which consists of digits only, without a sign.
pub fn whole(text: &str) -> Option<i64> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

/// Parses a coordinate in degrees. Accepts a leading plus sign.
pub fn degrees(text: &str, limit: f64) -> Option<f64> {
    let value: f64 = text.strip_prefix('+').unwrap_or(text).parse().ok()?;
    (value.is_finite() && value.abs() <= limit).then_some(value)
}

/// Converts `MM/DD/YYYY` to an ISO date.
pub fn us_date(text: &str) -> Option<String> {
    let mut parts = text.splitn(3, '/');
    let (month, day, year) = (
        parts.next()?.parse().ok()?,
        parts.next()?.parse().ok()?,
        parts.next()?.parse().ok()?,
    );
    jiff::civil::Date::new(year, month, day)
        .ok()
        .map(|date| date.to_string())
}

/// Formats an integer with thousands separators, as in publishers' phrases and in text for readers.
pub fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Joins on a text key and keeps every left row in its order. Each key must occur only once in the
/// right frame.
///
/// # Errors
/// `Format` if a key occurs twice in the right frame; the message names the key.
pub fn left_join(left: DataFrame, right: DataFrame, key: &str) -> Result<DataFrame> {
    let keys = text(&right, key)?;
    let mut rows: PlHashMap<Option<&str>, IdxSize> = PlHashMap::with_capacity(keys.len());
    for (row, text) in keys.iter().enumerate() {
        if rows.insert(text, row as IdxSize).is_some() {
            return Err(Error::format(format!(
                "{key} {} occurs more than once with different content",
                text.unwrap_or("(empty)")
            ))
            .hint("the file contradicts itself: only the publisher can correct it"));
        }
    }
    let found: IdxCa = text(&left, key)?
        .iter()
        .map(|text| rows.get(&text).filter(|_| text.is_some()).copied())
        .collect();
    let right = right.drop(key)?;
    if found.len() < FEW {
        return Ok(left.hstack(
            &right
                .columns()
                .iter()
                .map(|column| column.take(&found))
                .collect::<PolarsResult<Vec<_>>>()?,
        )?);
    }
    Ok(left.hstack(right.take(&found)?.columns())?)
}

/// Number of rows below which sequential code is faster than starting threads, as in the replay of
/// a single record.
const FEW: usize = 1_024;

/// Returns the rows of a frame for which the mask is true.
pub fn filtered(frame: &DataFrame, mask: &BooleanChunked) -> Result<DataFrame> {
    Ok(if frame.height() < FEW {
        frame.filter_seq(mask)?
    } else {
        frame.filter(mask)?
    })
}

/// Drops rows that equal an earlier row in every column except the pointers.
pub fn without_repeats(frame: &DataFrame) -> Result<DataFrame> {
    // Most files do not repeat any row, which the key column alone is enough to show.
    let first = frame.columns().first().and_then(|column| column.str().ok());
    if first.is_some_and(|texts| texts.iter().collect::<PlHashSet<_>>().len() == texts.len()) {
        return Ok(frame.clone());
    }
    let names: Vec<String> = frame
        .get_column_names()
        .iter()
        .filter(|name| **name != POINTERS)
        .map(ToString::to_string)
        .collect();
    Ok(frame.unique_stable(Some(&names), UniqueKeepStrategy::First, None)?)
}

/// Returns each row's pointer numbers, or none for a row that a join did not match.
pub fn pointers(frame: &DataFrame, name: &str) -> Result<Vec<Option<Vec<u64>>>> {
    let rows = PointerRows::from_series(frame.column(name)?.as_materialized_series())?;
    Ok(rows
        .iter()
        .map(|numbers| numbers.map(<[u64]>::to_vec))
        .collect())
}

/// Builds a text column.
pub fn text_column<T: AsRef<str>>(name: &str, cells: impl Iterator<Item = Option<T>>) -> Column {
    StringChunked::from_iter(cells)
        .with_name(name.into())
        .into_column()
}

/// Builds a pointer column from each row's numbers.
pub fn pointer_column<'r>(rows: impl ExactSizeIterator<Item = &'r [u64]> + Clone) -> Column {
    let numbers = rows.clone().map(<[u64]>::len).sum();
    let mut list = ListPrimitiveChunkedBuilder::<UInt64Type>::new(
        POINTERS.into(),
        rows.len(),
        numbers,
        DataType::UInt64,
    );
    rows.for_each(|numbers| list.append_slice(numbers));
    list.finish().into_column()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_every_digit_or_are_refused() {
        assert_eq!(unscaled("30.327", 3), Some(30_327));
        assert_eq!(unscaled("1.71", 3), Some(1_710));
        assert_eq!(unscaled("594", 3), Some(594_000));
        assert_eq!(unscaled("-0.5", 1), Some(-5));
        assert_eq!(unscaled("1.2340", 3), Some(1_234));
        assert_eq!(unscaled("1.2345", 3), None);
        assert_eq!(unscaled("-0", 3), None);
        assert_eq!(unscaled("-0.000", 3), None);
        assert_eq!(unscaled("0", 3), Some(0));
        assert_eq!(unscaled("", 3), None);
        assert_eq!(unscaled("1e3", 3), None);
        assert_eq!(
            (unscaled("1.5é", 2), unscaled("1.é", 1), unscaled("é", 0)),
            (None, None, None)
        );
        assert_eq!(unscaled("99999999999999999999", 3), None);
    }

    /// Polars joins and filters small frames with different code than large ones.
    #[test]
    fn rows_find_their_partners_however_many_they_are() {
        for height in [0, 1, 3, FEW - 1, FEW, 2 * FEW] {
            let keys = |step: usize| {
                text_column(
                    "key",
                    (0..height)
                        .step_by(step)
                        .map(|row| Some(format!("{row:05}"))),
                )
            };
            let left = DataFrame::new(height, vec![keys(1)]).unwrap();
            let places: Vec<Vec<u64>> = (0..height)
                .step_by(2)
                .map(|row| vec![0, 0, row as u64, 1])
                .collect();
            let right = DataFrame::new(
                places.len(),
                vec![keys(2), pointer_column(places.iter().map(Vec::as_slice))],
            )
            .unwrap();
            let joined = left_join(left, right, "key").unwrap();
            let expected: Vec<Option<Vec<u64>>> = (0..height)
                .map(|row| (row % 2 == 0).then(|| places[row / 2].clone()))
                .collect();
            assert_eq!(pointers(&joined, POINTERS).unwrap(), expected);
            let is_third: BooleanChunked = (0..height)
                .map(|row| (row % 5 != 0).then_some(row % 3 == 0))
                .collect();
            let kept: Vec<usize> = text(&filtered(&joined, &is_third).unwrap(), "key")
                .unwrap()
                .iter()
                .map(|key| key.unwrap().parse().unwrap())
                .collect();
            assert_eq!(
                kept,
                (0..height)
                    .filter(|row| row % 5 != 0 && row % 3 == 0)
                    .collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn dates_and_degrees_are_checked() {
        assert_eq!(us_date("10/01/2025").as_deref(), Some("2025-10-01"));
        assert_eq!(us_date("13/01/2025"), None);
        assert_eq!(degrees("+18.180555", 90.0), Some(18.180_555));
        assert_eq!(degrees("91", 90.0), None);
        assert_eq!(degrees("NaN", 90.0), None);
    }
}
