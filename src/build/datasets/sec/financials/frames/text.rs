//! Formats numbers and days for the figure tables.

use crate::datasets::sec::fact::Amount;
use crate::datasets::sec::financials::period::NO_START;
use crate::normalise::Day;

/// Appends a period in the format used in record ids: `2019-09-29..2020-09-26`, or the day for an
/// instant.
pub fn push_period(text: &mut String, start: Day, end: Day) {
    if start != NO_START {
        push_day(text, start);
        text.push_str("..");
    }
    push_day(text, end);
}

/// Appends a day as `YYYY-MM-DD`. Avoids the formatting machinery for speed, because every row
/// contains several days.
fn push_day(text: &mut String, day: Day) {
    let (year, month, day_of_month) = day.civil();
    let year = u32::try_from(year).unwrap_or(0);
    push_digits(text, year / 100);
    push_digits(text, year % 100);
    text.push('-');
    push_digits(text, u32::from(month));
    text.push('-');
    push_digits(text, u32::from(day_of_month));
}

fn push_digits(text: &mut String, number: u32) {
    for digit in [number / 10 % 10, number % 10] {
        text.push(char::from_digit(digit, 10).unwrap_or('0'));
    }
}

const ONE: u128 = 10_000_000_000;

/// Splits a number of ten-billionths into its integer part and fraction.
///
/// Optimised, because every row contains such a number. Ten billion equals 2^10 times 5^10, and
/// after the shift nearly all numbers fit into a machine word.
fn parts(magnitude: u128) -> (u128, u128) {
    const FIVES: u64 = 5_u64.pow(10);
    match u64::try_from(magnitude >> 10) {
        Ok(shifted) => {
            let whole = u128::from(shifted / FIVES);
            (whole, magnitude - whole * ONE)
        }
        Err(_) => (magnitude / ONE, magnitude % ONE),
    }
}

/// Appends a decimal number without an exponent or trailing zeros.
pub fn push_amount(text: &mut String, amount: Amount) {
    use std::fmt::Write;
    if amount.0 < 0 {
        text.push('-');
    }
    let magnitude = amount.0.unsigned_abs();
    let (whole, fraction) = parts(magnitude);
    match u64::try_from(whole) {
        Ok(whole) => text.push_str(itoa::Buffer::new().format(whole)),
        Err(_) => text.push_str(itoa::Buffer::new().format(whole)),
    }
    if fraction > 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, ".{fraction:010}");
        text.truncate(text.trim_end_matches('0').len());
    }
}

#[cfg(test)]
mod tests {
    use super::{Amount, Day, NO_START, push_amount, push_period};

    #[test]
    fn numbers_and_periods_are_written_exactly() {
        let written = |amount: i128| {
            let mut text = String::new();
            push_amount(&mut text, Amount(amount));
            text
        };
        assert_eq!(written(2_745_150_000_000_000_000_000), "274515000000");
        assert_eq!(written(-151_500_000_000), "-15.15");
        assert_eq!(written(60_000), "0.000006");
        assert_eq!(written(0), "0");
        assert_eq!(written(100_000_000_000), "10");
        assert_eq!(written(-20_000_000_001), "-2.0000000001");
        // The largest number whose shifted magnitude fits into a machine word, the next number, and
        // the largest number overall.
        assert_eq!(
            written((i128::from(u64::MAX) << 10) + 1_023),
            "1888946593147.8580854783"
        );
        assert_eq!(
            written((i128::from(u64::MAX) << 10) + 1_024),
            "1888946593147.8580854784"
        );
        assert_eq!(
            written(i128::MAX),
            "17014118346046923173168730371.5884105727"
        );
        let mut text = String::new();
        let day = |iso: &str| Day::from_iso(iso.as_bytes()).unwrap();
        push_period(&mut text, day("2019-09-29"), day("2020-09-26"));
        text.push(' ');
        push_period(&mut text, NO_START, day("2009-01-03"));
        assert_eq!(text, "2019-09-29..2020-09-26 2009-01-03");
    }
}
