//! Days as tables keep them: numbers of days since 1970-01-01.

use jiff::civil::Date;

const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// The number of a date.
pub fn since_epoch(date: Date) -> i32 {
    date.since(EPOCH).map_or(0, |span| span.get_days())
}

/// The date of a number; the nearest that there is, beyond the calendar's ends.
pub fn date(days: i32) -> Date {
    EPOCH.saturating_add(jiff::Span::new().days(days))
}

/// Year, month and day of a number of days since 1970-01-01.
///
/// Source of the formula: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
pub fn civil(days: i32) -> (i64, i64, i64) {
    let shifted = i64::from(days) + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day_of_year - (153 * shifted_month + 2) / 5 + 1)
}
