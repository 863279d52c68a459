//! Rates and amounts as answers show them, to the digit.

use crate::answer::{Decimal, Fixed};

/// A rate as a fraction.
pub fn rate(millionths: i64) -> Decimal {
    Decimal {
        units: millionths.into(),
        scale: 6,
    }
}

/// An amount of money.
pub fn dollars(cents: i64) -> Fixed {
    Fixed {
        units: cents,
        scale: 2,
    }
}
