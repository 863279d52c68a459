//! Finds rows outside a column's bounds and formats bounds for messages. Compares decimals exactly,
//! as integers, and dates by year.

use polars::prelude::*;

use super::{Error, Physical, Result};
use crate::normalise::{ListRows, distinct_texts};
use pubdata_core::contract::{Column, Day, parse_decimal};

/// Returns the rows in a column of numbers or dates whose value is outside the bounds. Nulls count
/// as inside. Compares decimals exactly, as unscaled units. Bounds on decimals stored as text are
/// integers; bounds on dates are years.
///
/// # Errors
/// `Config` if the column holds neither numbers nor dates.
pub fn rows_outside(
    column: &Column,
    cells: &Series,
    min: Option<f64>,
    max: Option<f64>,
) -> Result<Vec<usize>> {
    match column.column_type.physical {
        Physical::Decimal if column.column_type.is_decimal_text() => {
            let scale = column.column_type.scale;
            let units = power_of_ten(scale);
            let low = min.map_or(i128::MIN, |bound| i128::from(up(bound)) * units as i128);
            let high = max.map_or(i128::MAX, |bound| i128::from(-up(-bound)) * units as i128);
            Ok(rows_matching(cells.str()?.iter(), |text| {
                parse_decimal(text, scale).is_some_and(|value| !(low..=high).contains(&value))
            }))
        }
        Physical::Int32 => {
            let (low, high) = whole_bounds(min, max, 1.0);
            Ok(numbers_outside(cells.i32()?, |value| {
                (low..=high).contains(&i64::from(value))
            }))
        }
        Physical::Int64 | Physical::Decimal => {
            let (low, high) = whole_bounds(min, max, power_of_ten(column.column_type.scale));
            Ok(numbers_outside(cells.i64()?, |value| {
                (low..=high).contains(&value)
            }))
        }
        Physical::Float64 => {
            let (low, high) = (
                min.unwrap_or(f64::NEG_INFINITY),
                max.unwrap_or(f64::INFINITY),
            );
            Ok(rows_matching(cells.f64()?.iter(), |value| {
                !(low..=high).contains(&value)
            }))
        }
        Physical::Date => {
            let (low, high) = (
                min.map_or(i32::MIN, |bound| up(bound) as i32),
                max.map_or(i32::MAX, |bound| -up(-bound) as i32),
            );
            let is_outside = |day: Day| !(low..=high).contains(&day.civil().0);
            Ok(match cells.dtype() {
                DataType::Date => numbers_outside(cells.to_physical_repr().i32()?, |day| {
                    !is_outside(Day::from_number(day))
                }),
                // Another rule reports text that is not a date.
                _ => rows_matching(cells.str()?.iter(), |text| {
                    Day::from_iso(text.as_bytes()).is_some_and(is_outside)
                }),
            })
        }
        other => Err(Error::config(format!(
            "column `{}` is {other:?}: `min` and `max` are for numbers and dates",
            column.name
        ))),
    }
}

/// Returns the rows whose number is present and outside the bounds. If the column's minimum and
/// maximum are inside, no row is outside.
fn numbers_outside<T: PolarsNumericType>(
    cells: &ChunkedArray<T>,
    is_inside: impl Fn(T::Native) -> bool,
) -> Vec<usize>
where
    ChunkedArray<T>: ChunkAgg<T::Native>,
{
    match cells.min_max() {
        Some((least, greatest)) if !(is_inside(least) && is_inside(greatest)) => {
            rows_matching(cells.iter(), |value| !is_inside(value))
        }
        _ => Vec::new(),
    }
}

/// Converts bounds to integer units.
fn whole_bounds(min: Option<f64>, max: Option<f64>, units: f64) -> (i64, i64) {
    (
        min.map_or(i64::MIN, |bound| up(bound * units)),
        max.map_or(i64::MAX, |bound| -up(-bound * units)),
    )
}

/// Returns the indices of non-null rows whose text is broken. Evaluates each distinct text once if
/// there are few distinct texts. Usually no text is broken.
pub fn text_rows_matching(cells: &StringChunked, is_broken: impl Fn(&str) -> bool) -> Vec<usize> {
    match distinct_texts(cells) {
        Some(texts) if !texts.iter().any(|text| is_broken(text)) => Vec::new(),
        _ => rows_matching(cells.iter(), is_broken),
    }
}

/// Returns the indices of rows whose list contains a broken item. Evaluates each distinct item once
/// if the items are dictionary-encoded.
pub fn lists_with(lists: &ListRows, is_broken: impl Fn(&str) -> bool) -> Vec<usize> {
    match distinct_texts(lists.items()) {
        Some(items) if !items.iter().any(|item| is_broken(item)) => Vec::new(),
        _ => rows_matching(lists.iter(), |mut items| items.any(&is_broken)),
    }
}

/// Returns the indices of non-null rows whose value is broken.
pub fn rows_matching<T>(
    cells: impl Iterator<Item = Option<T>>,
    is_broken: impl Fn(T) -> bool,
) -> Vec<usize> {
    cells
        .enumerate()
        .filter_map(|(row, value)| value.is_some_and(&is_broken).then_some(row))
        .collect()
}

/// Formats bounds as words, as in `between 0 and 100`.
pub fn words(min: Option<f64>, max: Option<f64>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("between {min} and {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "any number".to_owned(),
    }
}

/// Formats unscaled units as a decimal: 396 with scale 1 becomes `39.6`.
pub fn decimal(units: i64, scale: i8) -> String {
    let scale = usize::try_from(scale).unwrap_or(0);
    let sign = if units < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", units.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    if scale == 0 {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    }
}

/// Returns ten to the power of `scale`.
pub fn power_of_ten(scale: i8) -> f64 {
    10f64.powi(i32::from(scale))
}

/// Returns the smallest integer that is not below a bound. A bound that misses an integer only
/// because of binary rounding counts as that integer.
fn up(bound: f64) -> i64 {
    let nearest = bound.round();
    if (bound - nearest).abs() < 1e-6 {
        nearest as i64
    } else {
        bound.ceil() as i64
    }
}

#[cfg(test)]
mod tests {
    use polars::prelude::*;

    use super::{numbers_outside, rows_matching, text_rows_matching};

    #[test]
    fn numbers_beyond_either_bound_are_found_and_what_is_null_is_not() {
        let outside = |numbers: &[Option<i32>]| {
            numbers_outside(&Int32Chunked::new("numbers".into(), numbers), |number| {
                (0..=10).contains(&number)
            })
        };
        assert_eq!(outside(&[Some(5), None, Some(11), Some(0)]), [2]);
        assert_eq!(outside(&[Some(10), Some(-1), None]), [1]);
        assert_eq!(outside(&[Some(-1), Some(12), Some(3)]), [0, 1]);
        assert!(
            outside(&[Some(0), None, Some(10)]).is_empty()
                && outside(&[None, None]).is_empty()
                && outside(&[]).is_empty()
        );
    }

    #[test]
    fn each_row_of_a_broken_text_is_found_whether_few_texts_differ_or_many() {
        let few = StringChunked::from_iter_options(
            "few".into(),
            (0..10_000)
                .map(|row| (row % 11 > 0).then_some(["good", "bad"][usize::from(row % 7 == 0)])),
        );
        let many = StringChunked::from_iter_values(
            "many".into(),
            (0..10_000)
                .map(|row| format!("{row} is {}", ["good", "bad"][usize::from(row % 7 == 0)])),
        );
        for cells in [&few, &many] {
            let is_bad = |text: &str| text.ends_with("bad");
            let rows = text_rows_matching(cells, is_bad);
            assert_eq!(rows, rows_matching(cells.iter(), is_bad));
            assert!(rows.len() > 1_000 && rows.contains(&7));
            assert!(text_rows_matching(cells, str::is_empty).is_empty());
        }
    }
}
