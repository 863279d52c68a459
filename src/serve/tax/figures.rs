//! Writes rates and amounts as JSON, to the digit.

use crate::json::{Json, Trim};

/// Decimals of a rate.
const RATE_SCALE: u8 = 6;

/// Writes a rate as a fraction.
pub fn write_rate(json: &mut Json, millionths: i64) {
    json.decimal(millionths, RATE_SCALE, Trim::Zeros);
}

/// Writes a rate, or null where it is not known.
pub fn write_known(json: &mut Json, rate: Option<i64>) {
    match rate {
        Some(rate) => write_rate(json, rate),
        None => json.null(),
    }
}

/// Writes an amount of money.
pub fn write_cents(json: &mut Json, cents: i64) {
    json.decimal(cents, 2, Trim::Keep);
}
