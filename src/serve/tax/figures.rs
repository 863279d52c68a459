//! Formats rates and amounts for answers, exact to the digit.

use crate::answer::{Decimal, Fixed};

/// Returns a rate as a fraction.
pub fn rate(millionths: i64) -> Decimal {
    Decimal {
        units: millionths.into(),
        scale: 6,
    }
}

/// Returns an amount of money.
pub fn dollars(cents: i64) -> Fixed {
    Fixed {
        units: cents,
        scale: 2,
    }
}
